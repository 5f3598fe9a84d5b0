"""A project on disk: `project.json`, its first tasks, its pictures, and what it was made from.

project.json     how it is run: pay, rounds, qualification; to be edited before it starts
tasks.jsonl      the first tasks, with qualification and gold
pictures.jsonl   the name of each picture, and the photograph that it is
pictures/        the pictures
source/          what the builder needs later: presentations, or the work folder of photographs
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from veridical.common.files import read_json, read_lines, write_json, write_lines
from veridical.common.pictures import BadPicture, decoded
from veridical.common.workplaces import beside
from veridical.errors import UserError
from veridical.web.collect.pictures import PICTURES, is_name
from veridical.web.collect.records import GOLD, MEANT, Picture, Project, Task

PROJECT, TASKS, NAMES, SOURCE = "project.json", "tasks.jsonl", "pictures.jsonl", "source"
FORMAT = "veridical collection"
_JPEG = b"\xff\xd8\xff"  # how its files begin


@dataclass(frozen=True)
class PictureLine:
    """A picture and the photograph that it is."""

    name: str
    photograph: str
    width: int
    height: int


class ProjectFolder:
    """A project that is being made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pictures: dict[str, PictureLine] = {}  # by photograph
        (folder / PICTURES).mkdir(parents=True)

    @property
    def source(self) -> Path:
        return self.folder / SOURCE

    def add(self, photograph: str, data: bytes, *, alt: str = "") -> Picture:
        """Keep a picture; the same photograph is kept once."""
        if photograph not in self.pictures:
            try:
                width, height = decoded(data).size
            except BadPicture as error:
                raise UserError(
                    f"The picture {photograph} {error}.", "Put a whole one there, or leave it out."
                ) from None
            suffix = ".jpg" if data.startswith(_JPEG) else ".png"
            name = picture_name(photograph, suffix)
            (self.folder / PICTURES / name).write_bytes(data)
            self.pictures[photograph] = PictureLine(name, photograph, width, height)
        found = self.pictures[photograph]
        return Picture(found.name, found.width, found.height, alt)

    def write(self, project: Project, tasks: Iterable[Task]) -> None:
        """The project's files."""
        write_lines(self.folder / NAMES, self.pictures.values())
        write_lines(self.folder / TASKS, tasks)
        write_json(self.folder / PROJECT, {"format": FORMAT, **msgspec.to_builtins(project)}, indent=1)


def picture_name(photograph: str, suffix: str) -> str:
    """A file name for a photograph: its own where that is one.

    >>> picture_name("7-2", ".png"), picture_name("cats/a b.jpg", ".jpg")
    ('7-2.png', 'cats_a_b-38d32dbe.jpg')
    """
    stem = photograph.removesuffix(suffix)
    if is_name(stem + suffix):
        return stem + suffix
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in stem)[-80:].lstrip("-")
    digest = blake2b(photograph.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    return f"{plain or 'picture'}-{digest}{suffix}"


@contextmanager
def making(folder: Path) -> Iterator[ProjectFolder]:
    """A new project; nothing is left behind where it cannot be made."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already.", "Choose another folder for the project.")
    with beside(folder.absolute()) as work:
        yield ProjectFolder(work / "made")
        if folder.exists():
            folder.rmdir()
        (work / "made").rename(folder)


def is_project(folder: Path | str) -> bool:
    """Whether a folder is that of a collection."""
    return (Path(folder) / PROJECT).is_file() and (Path(folder) / TASKS).is_file()


def open_project(folder: Path | str) -> tuple[Project, list[Task]]:
    """A project and its first tasks; whatever is wrong with its files is said."""
    folder = Path(folder)
    if not is_project(folder):
        raise UserError(f"{folder} is no collection.", "Make one with `veridical collect init`.")
    fix = "Correct it, or make the project again with `veridical collect init`."
    found = read_json(folder / PROJECT, dict[str, Any], "a collection's project", fix)
    if unknown := sorted(found.keys() - {"format", *Project.__dataclass_fields__}):
        raise UserError(f"{folder / PROJECT} has no field {unknown[0]!r}: it would do nothing.", fix)
    try:
        project = msgspec.convert(found, Project)
    except msgspec.ValidationError as error:
        raise UserError(f"{folder / PROJECT}: {error}.", fix) from None
    tasks = read_lines(folder / TASKS, Task, fix)
    check(folder, project, tasks)
    return project, tasks


def check(folder: Path, project: Project, tasks: list[Task]) -> None:
    """Refuse what cannot be run."""
    from veridical.web.collect import kinds

    def wrong(problem: str) -> UserError:
        return UserError(
            f"{folder}: {problem}.", "Correct it, or make the project again with `veridical collect init`."
        )

    if len({one.id for one in tasks}) < len(tasks):
        raise wrong("two tasks have the same id")
    for name, mills in {**project.pay, **{f"the role {one.name}": one.pay for one in project.roles}}.items():
        if mills < 0:
            raise wrong(f"{name} is paid {mills} mills")
    if {GOLD, MEANT} & {one.name for one in project.roles}:
        raise wrong(f"a role cannot be called {GOLD} or {MEANT}")
    if not 0 <= project.held_out <= 1 or not 0 <= project.small_pool <= 1 or project.fee < 0:
        raise wrong("held_out and small_pool are shares from 0 to 1, and the fee is not negative")
    for task in tasks:
        try:
            kinds.payload(task)
        except msgspec.ValidationError as error:
            raise wrong(f"task {task.id}: {error}") from None
        if task.purpose == "work" and project.role_of(task.kind) is None:
            raise wrong(f"no role does tasks of the kind {task.kind}")


def read_pictures(folder: Path) -> dict[str, PictureLine]:
    """The pictures of a project, by name."""
    lines = read_lines(folder / NAMES, PictureLine, "Make the project again with `veridical collect init`.")
    return {one.name: one for one in lines}
