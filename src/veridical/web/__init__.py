"""One ASGI app: look at benchmarks, compete on them, make them.

    look        one look for every page of the app: templates, style, headers that keep strangers' text text
    explore/    `veridical show`: a benchmark in a browser, read-only, no database
    board/      `veridical serve`: the leaderboard of hidden splits
    templates/  what pages are made of, on top of the templates of `veridical.pages`
    static/     style sheets and small modules of JavaScript, served as they are

Nothing outside imports this room but `veridical.api`.
"""
