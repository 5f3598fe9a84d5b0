"""The explorer, `veridical show`: a benchmark in a browser, read-only, with what solvers and an audit said about it.

    filters     which items are looked at, as the query of an address and back
    solvers     prediction files, marked by `veridical.evaluation`, item by item
    findings    what an audit found, item by item
    facets      what items can be told apart by: their split, answer and tags, how solvers did, what the audit found
    shelf       rows of large tables, one by one
    queries     how things are said to DuckDB
    catalogue   one scheme for DuckDB: items with their facets, filtered, counted and read
    explorer    `Explorer`: a benchmark opened with its solvers and findings, one catalogue for each scheme
    cards       items as the cards of `veridical.pages`, and everything that an item's own page shows
    pictures    thumbnails: made once, kept within a bound, named by what they show
    diff        two solvers beside each other
    app         the routes
    server      on this machine's loopback: for the command, and for a notebook
    export      a sample as files that any web server, or none, can show

A filter is some values of some facets and some words, and stands in the address.
"""
