"""One look for every page: escaped markup, plots, pictures of items, and the style."""
