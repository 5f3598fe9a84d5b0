"""What every room shares. Each file stands alone; nothing here knows of benchmarks.

    files       read and write whole files: atomic writes, JSON, JSON lines, text, locks; errors name file and line
    addresses   places in object stores: what lies there is fetched by its hash, once; `publishing` writes there
    workplaces  folders to write in that a kill leaves to the next run; copies of folders of files alone
    places      where a verb reads and writes, whichever it is
    arrays      typed names of NumPy arrays, one meaning each; functions on them as machine code, by numba
    intervals   `Estimate`: a number with its 95% interval
    characters  characters that people's texts must not have
    registry    from a name to what it stands for: a room's own dict, then entry points of other packages
    result      what a verb returns: tables, HTML, JSON

Import from the files; the package itself imports nothing.
"""
