"""Sources of annotated images. Each yields panels; adding one costs a file here and a line in `SOURCES`."""

SOURCES = {
    "boxes": "veridical.sources.boxes:panels",
}
