"""Sentences made together with the programs that say what they mean.

boxes/        statements about NLVR's drawings, true of two and false of two: `boxes.statements.write`
pairs/        sentences about two photographs, true of some pairs and false of others: `pairs.statements.write`
drafting.py   what both use: chance, the things spoken of, and a draft that comes to nothing
"""
