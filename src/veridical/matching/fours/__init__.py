"""Matching by fours: a fold is cut into blocks of questions that all get the same responses, each right once.

weights     what a pair of rows in one block is worth, and which pairs may not be
search      `blocks(problem)`: cells of a large fold, greedy blocks, annealed swaps, repairs
shown       the wrong responses of each question of a block; larger blocks leave some out at random
kernels     the inner loops as machine code
"""
