"""The icon world: pictures composed from the icons of a font, with exact truth, so that nothing needs downloading."""
