"""Icon scenes of 400 x 300 pixels composed, drawn and encoded, on two processes; beside a plain Pillow loop.

Ours goes through `engine.run`, from nothing: the workers' start, their caches and the way back of the files are in the
time. The plain loop draws the same scenes in one process as one would at first: the glyph from the font for every icon,
turned and scaled, its border and shadow by filters, fresh noise, and the same JPEG; it is not charged for composing.

    .venv/bin/python benchmarks/icons_speed.py [--scenes 4000] [--processes 2]
"""

from __future__ import annotations

import argparse
import io
import resource
import time
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from veridical import engine
from veridical.options import Workers
from veridical.sources.icons import draw as icon_draw
from veridical.sources.icons import scene as icon_scene
from veridical.sources.icons import worlds as icon_worlds
from veridical.sources.icons.draw import NOISE, QUALITY, TINTS
from veridical.sources.icons.glyphs import font_path

BATCH = 100


def ours(batch: range) -> list[bytes]:
    """The files of some photographs."""
    source = icon_worlds.Icons(count=batch.stop)
    return [icon_draw.encode(source.scene(k)) for k in batch]


def plain(scene: icon_scene.IconScene) -> bytes:
    """The scene as a plain Pillow script would draw it, people without hair and without patterns."""
    rng = np.random.default_rng(scene.texture)
    picture = Image.new("RGB", (scene.width, scene.height), TINTS[scene.background][0])
    for k, one in enumerate(scene.objects):
        left, top, right, bottom = (int(side) for side in scene.box(k))
        font = ImageFont.truetype(str(font_path()), 192)
        text = chr(int(one.look.glyph.codepoint, 16))
        box = font.getbbox(text)
        mask = Image.new("L", (int(box[2] - box[0]), int(box[3] - box[1])))
        ImageDraw.Draw(mask).text((-box[0], -box[1]), text, font=font, fill=255)
        mask = mask.rotate(one.look.glyph.turn + one.look.angle, Image.Resampling.BICUBIC, expand=True)
        mask = mask.crop(mask.getbbox()).resize((right - left, bottom - top), Image.Resampling.LANCZOS)
        framed = Image.new("L", (mask.width + 24, mask.height + 24))
        framed.paste(mask, (12, 12))
        border = framed.filter(ImageFilter.MaxFilter(5))
        shadow = border.filter(ImageFilter.GaussianBlur(3)).point(lambda value: value * 0.4)
        picture.paste((20, 18, 30), (left - 9, top - 8), shadow)
        picture.paste((253, 252, 248), (left - 12, top - 12), border)
        picture.paste(icon_draw.RGB[dict(one.attributes)["color"]], (left - 12, top - 12), framed)
    picture = picture.filter(ImageFilter.GaussianBlur(0.5))
    noisy = np.asarray(picture, float) + rng.normal(0, NOISE, (scene.height, scene.width, 3))
    out = io.BytesIO()
    Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=QUALITY, subsampling=0)
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=4000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()

    batches = [range(start, min(start + BATCH, options.scenes)) for start in range(0, options.scenes, BATCH)]
    start = time.perf_counter()
    files = [file for part in engine.run(ours, batches, workers=Workers(options.processes)) for file in part]
    elapsed = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    kilobytes = sum(map(len, files)) / len(files) / 1000
    print(
        f"{len(files):,} scenes composed, drawn and encoded on {options.processes} processes in {elapsed:.1f} s: "
        f"{len(files) / elapsed:.0f} scenes/s, {kilobytes:.0f} kB each; "
        f"by the workers' CPU time, whatever else the machine does: {len(files) / seconds:.0f} scenes/s per core"
    )

    sample = [icon_worlds.Icons(count=options.scenes).scene(k) for k in range(min(300, options.scenes))]
    ours_time = timed(lambda: [icon_draw.encode(scene) for scene in sample])
    plain_time = timed(lambda: [plain(scene) for scene in sample])
    print(
        f"one process, drawing and encoding the same {len(sample)} scenes, by CPU time: "
        f"ours {len(sample) / ours_time:.0f}/s, plain Pillow {len(sample) / plain_time:.0f}/s, "
        f"ratio {plain_time / ours_time:.1f}"
    )


def timed(work: Callable[[], object]) -> float:
    """CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
