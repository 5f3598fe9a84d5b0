"""No tasks: lmms-eval asks a plug-in for the folder."""
