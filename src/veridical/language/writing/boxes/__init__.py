"""Statements about three boxes, written by NLVR's contrast: true of two images, false of two (section 4)."""
