"""NLVR's world of boxes: scenes sampled, drawn and seen (Suhr et al. 2017, sections 3 and 4).

    scene = sample_scene(np.random.default_rng(0), "scatter")
    see(draw_png(scene)) == scene

    scenes      the vocabulary: shapes, colours, sizes (a new size of objects is a line there); a scene as records;
                random scenes and presentations, scattered or in towers
    sprites     the pixels of one object
    drawings    `draw`, `draw_png`, `draw_views`: a scene as a picture; `see`: the way back
    png         the encoder of drawings

Import from the files; the package itself imports nothing.
"""
