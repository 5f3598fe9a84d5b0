"""Sentences about pairs of photographs.

phrases       noun phrases for what some pairs show, how many each image has, and the desk they are chosen at
claims        what can be said of one image, its denial, and how it is put about an image
quantified    sentences about all, none, some or the one of the things in an image
families      the other sentences, and the list of all: `FAMILIES`
statements    `write`: a sentence that is true of just the wanted pairs
"""
