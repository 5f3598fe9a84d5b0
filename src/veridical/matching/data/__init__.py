"""What is matched and what comes out.

questions   questions with right answers, from a file or a benchmark, dealt to folds
tags        which photographs have what a response names, and re-pointing it to them
items       matched questions as items, choices and rows of tables, and how they are written
"""
