"""The tagger: linguistic phenomena of sentences, and the inferences that questions ask for.

parse       sentences to dependency parses (spaCy)
rules       a rule for each of the ten semantic phenomena and the three syntactic ambiguities (`words.json`)
pairs       what a sentence asks of the two images of a pair (NLVR2)
tagger      `tag`, `tag_many`, `tag_file`, `pair_reasoning`: the rules over sentences;
            `inferences`: what a question asks for (VCR), by its words alone (`inference.json`)
"""
