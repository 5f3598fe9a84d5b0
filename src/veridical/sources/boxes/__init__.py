"""NLVR's world of boxes: scenes sampled, drawn and seen (Suhr et al. 2017, sections 3 and 4).

scene = sample_scene(np.random.default_rng(0), "scatter")
see(draw_png(scene)) == scene
"""

from veridical.sources.boxes.draw import draw, draw_boxes, draw_png, draw_views
from veridical.sources.boxes.sample import (
    KINDS,
    Kind,
    NoScene,
    Presentation,
    panels,
    presentations,
    reshuffle,
    sample_presentation,
    sample_scene,
)
from veridical.sources.boxes.scene import COLORS, ORDERS, SHAPES, SIZES, Placed, Scene, Thing, panel, placed
from veridical.sources.boxes.see import see

__all__ = [
    "COLORS",
    "KINDS",
    "ORDERS",
    "SHAPES",
    "SIZES",
    "Kind",
    "NoScene",
    "Placed",
    "Presentation",
    "Scene",
    "Thing",
    "draw",
    "draw_boxes",
    "draw_png",
    "draw_views",
    "panel",
    "panels",
    "placed",
    "presentations",
    "reshuffle",
    "sample_presentation",
    "sample_scene",
    "see",
]
