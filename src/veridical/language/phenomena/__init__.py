"""The tagger: linguistic phenomena of sentences, and kinds of inference of questions."""
