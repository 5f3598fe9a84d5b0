"""Adversarial Matching: right answers are handed out again as wrong choices (VCR, section 4).

In reading order:

    match           a question/answer file, or a benchmark of choices, to a benchmark or table: `veridical match`
    stages          one stage (answers, or rationales) matched fold by fold; questions that fit nowhere left out
    folds           one fold matched, by fours or by the paper's rounds
    questions       questions with right answers, from a file or a benchmark, dealt to folds
    items           matched questions as items, choices and rows of tables; tags re-pointed to other photographs
    scores/         P_rel and P_sim of all pairs: relevance, similarity, cross-encoders
    fours/          blocks of questions that share their responses, each right once: the default
    assignment/     the paper's assignment problem and its certified solution: an auction with prices tried on all pairs
    blind_readers   small networks that look for the right choice without the question
    joint           reading questions together: each response is right once
    readings        what blind readers make of random, the paper's and fours' choices: in every report
    lambda_curve    how hard the choices are as lambda grows (`--sweep`)
    report          what `match` tells of its work, and what the choices give away, before and after matching

From outside: `match.match_file`, `stages` (the VCR builder's answers and rationales), `questions`, `items`, `report`.
"""
