"""The board: `veridical serve` hosts hidden splits, teams send predictions, everybody sees the table.

In reading order:

    tables      boards, teams, tokens, entries and comparisons in the database
    hosted      a benchmark's hidden splits become boards
    teams       teams, their members and tokens
    scoring     one file against one split, in a process of its own with limits; what runs there and nothing else
    workers     who gives files to those processes, and gives again what was cut off
    entries     what teams send: limits, files that are on disk before anybody is told so, withdrawal
    standings   the table: rounding, order, marks of real differences; as JSON and CSV. `drawn` has its plots
    uploads     a request's body, bounded, into a file; `sent` makes it an entry
    site        what all routes share: who asks, and who may see what
    api         the routes for programs, with tokens
    pages       the routes for people: boards and entries; `people` signs them in, `hosting` is for hosts, `items` shows
                the public part of a benchmark where the host wants that
    app         the whole app
    serving     `veridical serve`; `demo` fills a board for a first look
    sending     `veridical submit`

Answers are read by `scoring` alone, which runs in processes that no request reaches. What a team is told before its
file counts (line numbers, what is missing) is found without the answers, so that it cannot tell any.
"""
