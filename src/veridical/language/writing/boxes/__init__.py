"""Statements about NLVR's boxes and towers.

pen           words, numbers and noun phrases, each with its meaning under every reading
conditions    what can be said of one box or tower
frames        openings that say how many boxes or towers fit a condition
families      every frame with every condition, and the families that stand alone: `FAMILIES`
statements    `write`: a presentation and a statement about it; `make_plan`: how often each family is written
"""
