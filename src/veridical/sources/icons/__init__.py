"""Pictures composed from the icons of a font, with exact truth: sources that need no download.

    worlds.py        `IconWorld`, what all worlds share; `Icons`, the world of single scenes (`--source icons`);
                     `IconSeries`, series of similar pictures: what `build nlvr2 --source icons` finds its sets in;
                     `IconPanels`, panels of equal icons: what `build vprom --source icons` makes matrices of
    stories.py       stories, told with the facts of stories.json: what `build vcr --source icons` asks about
    scene.py         composing a scene: which objects, with which attributes, doing what; place.py: where they stand
    draw.py          a scene as pixels and as a file, on its background; sprites.py: icons as masks
    glyphs.py        the font's icons: categories, what they are called, and what each can look like

From outside: the names of `worlds.py`, and stories.
"""
