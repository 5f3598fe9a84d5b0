"""Any table of questions becomes a benchmark: CSV, TSV, JSON, JSON lines, Parquet, with or without pictures.

    files       a table as columns and rows with their line numbers, whatever its format
    roles       which column holds what: guessed from names and values (`roles.json`), or named
    cells       one cell: a list of choices, a truth value, what is missing
    answers     what a column of answers means: letters, places from 0 or 1, texts, true and false
    pictures    a cell becomes panels: paths, addresses, base64, bytes
    questions   a row becomes a question
    importing   all of it: read twice, first the words, then the pictures, and written

A further source of rows (`import vlmevalkit`, `import hf`) gives `QuestionFile`s and what it knows of their columns.
From outside, use `importing.import_questions` and `files.open_file`.
"""
