"""Language over scenes: people's sentences to programs, programs to sentences, and what sentences show.

english.py    words that readers and writers share: numbers, plurals, articles, names for people, nouns for categories
wordnet.py    synonyms, hypernyms and meanings of words, where WordNet is installed
programs/     one typed language over panels and objects: parse it, execute it, explain it
reading/      a person's sentence becomes candidate programs: `reading.grammar.candidates`
writing/      programs with their English: about NLVR's boxes (boxes/), about pairs of photographs (pairs/)
phenomena/    the tagger: which linguistic phenomena a sentence shows, which inferences a question asks for
"""
