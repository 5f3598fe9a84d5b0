"""Reading people's sentences: words and their repair, a grammar, and the programs that a sentence may mean."""
