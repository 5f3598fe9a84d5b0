"""The models of the plug-in, by name."""

AVAILABLE_MODELS = {"colours": "Colours"}
