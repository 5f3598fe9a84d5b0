"""Collections to try in tests: one project with a task of every kind, with real pictures, and people who come to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from tests.web.board.town import PASSWORD, Person

from veridical.options.serving import ServeOptions
from veridical.web.board.app import make_app, make_site
from veridical.web.board.serving import claim_link, prepare
from veridical.web.board.site import Site
from veridical.web.collect import kinds
from veridical.web.collect.hosted import Collection
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Picture, Project, Role, Tagged, Task
from veridical.web.collect.starting.folder import ProjectFolder, making

SCRIPT = "<script>alert(1)</script> & <img src=x onerror=alert(2)>"
SENTENCE = "There are more yellow things than blue ones"
KINDS = ("prune", "sets", "sentence", "contrast", "validate", "questions", "accept", "choose")
STUDY = {"study": True}  # its export is of judgements alone
CODES = {"completion_code": "DONE1", "screen_out_code": "OUT1"}


def drawn(seed: int, width: int = 320, height: int = 240) -> bytes:
    """A picture of a few shapes."""
    import numpy as np
    from PIL import Image, ImageDraw

    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (width, height), "#eef1f4")
    pen = ImageDraw.Draw(image)
    for _ in range(5):
        x, y, size = rng.integers(0, width - 60), rng.integers(0, height - 60), rng.integers(20, 60)
        colour = ["#e0b000", "#1468b8", "#222222", "#b3432b"][rng.integers(4)]
        (pen.ellipse if rng.random() < 0.5 else pen.rectangle)((x, y, x + size, y + size), fill=colour)
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def boxes(seed: int) -> bytes:
    """A drawing of NLVR's size: three boxes side by side."""
    import numpy as np
    from PIL import Image, ImageDraw

    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (400, 100), "#ffffff")
    pen = ImageDraw.Draw(image)
    for left in (0, 150, 300):
        pen.rectangle((left, 0, left + 99, 99), fill="#d3d3d3")
        for _ in range(3):
            x, y = left + rng.integers(0, 80), rng.integers(0, 80)
            pen.rectangle((x, y, x + 18, y + 18), fill=["#e0b000", "#1468b8", "#222222"][rng.integers(3)])
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def payloads(made: ProjectFolder, origin: str, sentence: str = SENTENCE) -> dict[str, Any]:
    """What a task of each kind shows."""

    def photo(place: int) -> Picture:
        return made.add(f"{origin}-p{place}", drawn(hash_of(origin, place)))

    def drawing(place: int) -> Picture:
        return made.add(f"{origin}-d{place}", boxes(hash_of(origin, place)))

    pairs = tuple((photo(k), photo(k + 1)) for k in range(0, 8, 2))
    objects = (
        Tagged("person1", (20, 30, 140, 220)),
        Tagged("person2", (150, 60, 250, 230)),
        Tagged("dog1", (90, 150, 170, 235)),
    )
    said = (
        ("Why", "is", (0,), "pointing", "at", (1,), "?"),
        ((0,), "wants", "cake", "."),
        ("There", "is", "a", "cake", "."),
    )
    return {
        "prune": kinds.Prune("acorn", "two acorns", tuple(photo(k) for k in range(16))),
        "sets": kinds.Sets("acorn", tuple(photo(k) for k in range(12))),
        "sentence": kinds.Drawings(tuple(drawing(k) for k in range(4))),
        "contrast": kinds.Pairs("acorn", pairs),
        "validate": kinds.Validate(sentence, (photo(0), photo(1))),
        "questions": kinds.Asking(photo(2), objects, ("They have dinner.", sentence)),
        "accept": kinds.Accept(photo(2), objects, *said),
        "choose": kinds.Choose((photo(2),), (said[1], said[2], ("No", "."), ("Yes", ".")), "answer", objects, said[0]),
        "matrix": kinds.Choose(tuple(photo(k) for k in range(8)), tuple(photo(k) for k in range(8, 16)), "matrix"),
        "drawn": kinds.Validate(sentence, (drawing(0),)),
    }  # fmt: skip


def hash_of(origin: str, place: int) -> int:
    return sum(map(ord, origin)) * 100 + place


def every_kind(made: ProjectFolder) -> tuple[Project, list[Task]]:
    """A role for each kind, so that a worker can be sent to it; writers of contrasts qualify first."""
    roles = [Role(kind, (kind,)) for kind in KINDS if kind != "contrast"]  # type: ignore[arg-type]
    roles.append(Role("contrast", ("contrast",), tutorial=1, questions=1, least_right=1, writing=True, pay=500))
    shown = payloads(made, "a", SCRIPT)
    tasks = [Task(f"{kind}:a", kind, plain(shown[kind]), origin="a") for kind in KINDS]  # type: ignore[arg-type]
    tasks += [Task("choose:m", "choose", plain(shown["matrix"])), Task("validate:d", "validate", plain(shown["drawn"]))]
    quest: dict[str, Any] = {"purpose": "qualification", "needed": 0, "role": "contrast"}
    asked = plain(kinds.Tutorial("Which may a sentence mention?", ("the photograph", "what it shows"), "Only that."))
    tasks.append(Task("q0", "tutorial", asked, expected={"choice": 1}, step=0, **quest))
    judged = plain(kinds.Guideline(SCRIPT, shown["contrast"].pairs, (0, 1)))
    tasks.append(Task("q1", "guideline", judged, expected={"follows": False}, step=1, **quest))
    tasks.append(Task("q2", "contrast", plain(shown["contrast"]), step=2, **quest))
    project = Project(
        "every", "vprom", "A study of pictures", roles=tuple(roles), pay=dict.fromkeys(KINDS, 100), gold_every=0,
        consent="We study pictures.\n\nYou may stop at any moment.", contact="us@example.org", about=STUDY, **CODES,
    )  # fmt: skip
    return project, tasks


def write_every(folder: Path) -> Path:
    with making(folder) as made:
        made.write(*every_kind(made))
    return folder


def write_judging(folder: Path, count: int, needed: int = 3, pictures: int = 8) -> Path:
    """Many sentences to be judged."""
    with making(folder) as made:
        photos = [made.add(f"p{k}", drawn(k)) for k in range(pictures)]
        tasks = []
        for k in range(count):
            two = (photos[k % pictures], photos[(k + 1) % pictures])
            tasks.append(
                Task(f"validate:i{k}", "validate", plain(kinds.Validate(f"{SENTENCE} in set {k}", two)), needed)
            )
        project = Project("judging", "vprom", "Judge sentences", roles=(Role("validator", ("validate",)),),
                          pay={"validate": 25}, gold_every=0, about=STUDY)  # fmt: skip
        made.write(project, tasks)
    return folder


@dataclass
class Camp:
    """A running server with a collection, and whoever comes to it."""

    site: Site
    client: TestClient
    one: Collection

    @property
    def path(self) -> str:
        return f"/collections/{self.one.name}"

    def stranger(self) -> Person:
        return Person(self.client)

    def entry(self, platform: str = "link", number: int | None = None) -> str:
        return f"{self.path}/join/{platform}/{self.site.signing.entry(self.one.name, platform, number)}"  # type: ignore[arg-type]

    def worker(self) -> Person:
        """Somebody who agreed."""
        made = self.stranger()
        assert made.post(self.entry(), {"agree": "yes", "version": "1"}).status_code == 303
        return made

    def name_of(self, person: Person) -> str:
        return person.cookies[f"worker-{self.one.name}"].partition(".")[0]

    def admin(self) -> Person:
        path = claim_link(self.site, "")
        assert path is not None
        made = Person(self.client, "admin")
        assert made.post(path, {"name": "admin", "password": PASSWORD}).status_code == 303
        return made


def lease_on(page: str) -> str:
    return re.search(r'name="lease" value="([^"]+)"', page)[1]  # type: ignore[index]


@contextmanager
def camp(
    folder: Path, data: Path, database: str | None = None, start: bool = True, options: ServeOptions = ServeOptions()
) -> Iterator[Camp]:
    site = make_site({}, data, options, database, [folder])
    prepare(site)
    [one] = site.collections.values()
    if start:
        one.service.start()
    with TestClient(make_app(site, options.largest_file << 20), raise_server_exceptions=False) as client:
        yield Camp(site, client, one)
