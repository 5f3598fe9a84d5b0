"""One look for every page: Jinja2 templates with autoescape, plots, and cards of items.

    markup      what is escaped and how; blocks, sections and chapters; `page` puts them into one HTML file
    drawing     what plots are drawn with: lines, labels that fit, axes
    plots       plots as SVG: dots, bars, stacks, lines, ranks; `picture` makes a file of them
    cards       an item as a card: pictures, text, program, candidates, answers; scenes drawn as shapes
    tables      tables of results: on the page, in Markdown, in LaTeX
    templates/  base.html, page.html, blocks.html (a macro for each block); plot.css, style.css (sheet.css, dark.css)

Other rooms make blocks and hand them to `page`; none writes HTML or SVG of its own.
"""
