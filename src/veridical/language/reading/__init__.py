"""People's sentences about boxes become programs: `grammar.candidates(sentence)`.

    lexicon     words: spelling repaired, inflections and synonyms sent to one word; what the content words mean
                (all listed in `lexicon.json`)
    reader      the machine: memoised rules over the words, each giving every way to read on; and what they make,
                drafts: programs with open choices ("2 blocks": exactly two, or at least two)
    nouns       rules for noun phrases: quantifiers, adjectives, nouns
    modifiers   rules for what follows a noun: touching, positions, relations, attributes
    groups      rules for boxes and towers, and how they agree
    clauses     rules for conditions and clauses, and for the whole sentence
    grammar     from a sentence to its candidate programs; words are left out where no reading covers them all

Which of the candidates is meant is learned: `veridical.solvers.learned`.
"""
