"""One typed language over panels and objects: parse it, execute it, explain it.

    terms         operators, their types, and the text form, which `Item.program` holds
    domain        the objects in view: what touches, stands on or is left of what; towers
    execution     what each operator means: `execute(program, panels)`
    explanations  which boxes and objects make a program true or false: `explain(program, panels)`

The language:

    truth   (and T..) (or T..) (not T) (count AMOUNT SET) (every SET TEST) (values ATTRIBUTE AMOUNT OBJECTS)
            (agree AMOUNT KEY GROUPS): so many groups share the same key
    objects things (keep TEST OBJECTS) (either OBJECTS OBJECTS) (others OBJECTS OBJECTS)
    groups  panels towers (where T GROUPS) (most OBJECTS GROUPS) (least OBJECTS GROUPS)
    test    (is ATTRIBUTE VALUE) (touching PLACE) (nearing PLACE) (at HEIGHT) (nth N HEIGHT)
            (related RELATION AMOUNT OBJECTS) (alike ATTRIBUTE AMOUNT OBJECTS) (inside T GROUPS) any and or not
    amount  (exactly N) (at-least N) (at-most N) (more-than N) (fewer-than N) (between N N) even odd
            where N is a number or (size SET)
    key     (tally OBJECTS) (value ATTRIBUTE OBJECTS)
"""
