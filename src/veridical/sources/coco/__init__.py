"""COCO: photographs with objects of 80 categories, outlines and captions (Lin et al. 2014)."""
