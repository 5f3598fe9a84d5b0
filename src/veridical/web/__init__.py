"""One ASGI app: look at benchmarks, compete on them, make them.

    look        one look for every page of the app: templates, style, headers that keep strangers' text text
    database    SQLite or PostgreSQL; `migrations/` are the steps that its tables came by
    grouped     writes of many requests that reach the disk together
    accounts    signing up and in, with limits; `tables` holds what is kept of people
    visitors    who sent a request, and forms that only our own pages can send
    listening   a port, bound before anything else
    beside      a process of ours that is asked a line and answers with one: scoring, long reads
    explore/    `veridical show`: a benchmark in a browser, read-only, no database
    board/      `veridical serve`: the leaderboard of hidden splits
    collect/    `veridical serve`, too: where people write, answer and judge
    templates/  what pages are made of, on top of the templates of `veridical.pages`
    static/     style sheets and small modules of JavaScript, served as they are

Nothing outside imports this room but `veridical.api`.
"""
