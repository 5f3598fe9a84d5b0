"""Benchmarks in the files of others: official releases both ways, data set hubs, metadata.

    releases            import and export of official releases, and what a release format must offer
    table/              any table of questions becomes a benchmark; the imports below give it rows
    vlmevalkit, hf_reading   further sources of questions: VLMEvalKit's tables, folders and names of data set hubs
    nlvr, nlvr2, vcr    one release format each: how its files are read and written (nlvr2_lines, vcr_writing)
    lines, columns      a release's text files, line by line, and Arrow columns made from them without a record per item
    images              image files of a release: checked, not decoded
    download, fetch     `veridical get`: which files a release has, and how they are fetched and continued
    hf                  another export: a data set for hubs
    asked               items as a model is asked: pictures drawn, texts plain; for the two exports below
    lmms_eval/, vlmevalkit_writing   tasks for other evaluators of vision-language models
    card                what a benchmark is, in words: title, paper, canary; the dataset card; Croissant metadata

A format is one `Format` and one line in `FORMATS`, or an entry point of the group `veridical.formats` (of exports:
`veridical.exports`). From outside, use `releases`, `download`, and `card.describe`, which builders give to a writer.
"""

# release format -> its Format; tests/formats/test_formats.py runs the contract over every entry
FORMATS: dict[str, str] = {
    "nlvr": "veridical.formats.nlvr:FORMAT",
    "nlvr2": "veridical.formats.nlvr2:FORMAT",
    "vcr": "veridical.formats.vcr:FORMAT",
}
# a source of questions -> its function of a `Request` and `TableOptions`
QUESTIONS: dict[str, str] = {
    "table": "veridical.formats.table.importing:read_table",
    "vlmevalkit": "veridical.formats.vlmevalkit:read_vlmevalkit",
    "hf": "veridical.formats.hf_reading:read_hf",
}
# what `export` writes -> its function of a benchmark and a folder or file to write
EXPORTS: dict[str, str] = {
    "hf": "veridical.formats.hf:export_hf",
    "croissant": "veridical.formats.card:export_croissant",
    "official": "veridical.formats.releases:export_official",
    "lmms-eval": "veridical.formats.lmms_eval:export_lmms_eval",
    "vlmevalkit": "veridical.formats.vlmevalkit_writing:export_vlmevalkit",
}
