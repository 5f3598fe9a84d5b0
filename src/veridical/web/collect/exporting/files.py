"""The files of an export: for each benchmark what its builder reads, made of tasks and of the answers that count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from veridical.builders.collected import ANSWERS, DULL, JUDGEMENTS, QUESTIONS, REMOVALS, SCENES, SENTENCES, WORK
from veridical.builders.nlvr2 import sets
from veridical.builders.nlvr2.work import LEDGER, Found, ImageSet, PrunedSet
from veridical.common.files import read_json, write_json, write_lines
from veridical.common.workplaces import copy_files
from veridical.errors import UserError
from veridical.web.collect import kinds
from veridical.web.collect.following import question_id
from veridical.web.collect.progress import State
from veridical.web.collect.records import Answer, Project, Task
from veridical.web.collect.starting.folder import SOURCE, PictureLine, read_pictures

PEOPLE = "people"


@dataclass(frozen=True)
class Said:
    """A project with all that counts of what was said."""

    project: Project
    state: State
    folder: Path  # the project's
    pictures: Mapping[str, PictureLine]  # by name

    @classmethod
    def of(cls, project: Project, state: State, folder: Path) -> Said:
        return cls(project, state, folder, read_pictures(folder))

    @cached_property
    def answers(self) -> dict[str, list[Answer]]:
        """Those that count, by task, in the order of time."""
        out: dict[str, list[Answer]] = {}
        for one in sorted(self.state.answers, key=lambda a: (a.time, a.id)):
            if one.purpose == "work" and not one.void:
                out.setdefault(one.task, []).append(one)
        return out

    def tasks(self, kind: str) -> list[Task]:
        """The tasks of a kind, by id; those that were removed are not among them."""
        found = (one for one in self.state.tasks.values() if one.kind == kind and one.purpose == "work")
        return sorted((one for one in found if self.state.closed.get(one.id) != "removed"), key=lambda one: one.id)

    def done(self, kind: str) -> list[tuple[Task, Answer]]:
        """Tasks of a kind with their first answers."""
        return [(one, self.answers[one.id][0]) for one in self.tasks(kind) if one.id in self.answers]

    def photograph(self, name: str) -> str:
        return self.pictures[name].photograph

    def splits(self) -> dict[str, str]:
        """The split of every origin."""
        found = (one for one in self.state.tasks.values() if one.purpose == "work" and one.origin)
        return dict(sorted({one.origin: one.split for one in found}.items()))


def line_of(one: Answer) -> dict[str, Any]:
    """An answer, as the file of all answers has it."""
    return {
        "answer": one.id, "task": one.task, "kind": one.kind, "purpose": one.purpose, "worker": one.worker,
        "value": dict(one.value), "start": one.start, "time": one.time, "round": one.round, "right": one.right,
        "warnings": list(one.warnings), "void": one.void,
    }  # fmt: skip


def write(said: Said, out: Path) -> None:
    """The files of a project's benchmark."""
    needs = {"nlvr": "presentations.jsonl", "nlvr2": f"{WORK}/{LEDGER}"}.get(said.project.benchmark)
    if needs is not None and not (said.folder / SOURCE / needs).is_file():
        problem = f"{said.folder} has no {SOURCE}/{needs}, from which a benchmark would go on."
        raise UserError(problem, "Give the whole folder that `veridical collect init` made.")
    if said.project.about.get("study"):
        write_lines(out / ANSWERS, _human(said))
        return
    _WRITERS[said.project.benchmark](said, out)


def _human(said: Said) -> Iterable[dict[str, Any]]:
    for task in said.tasks("choose"):
        for one in said.answers.get(task.id, ()):
            verdict = "skip" if one.value["skip"] else one.value["choice"]
            yield {"item": task.key, "worker": one.worker, "verdict": verdict, "time": one.time}


def _judged(said: Said, kind: str) -> Iterable[tuple[Task, dict[str, Any]]]:
    for task in said.tasks(kind):
        for one in said.answers.get(task.id, ()):
            yield task, {"item": task.key, "worker": one.worker, "verdict": one.value["verdict"], "time": one.time}


# --- NLVR ------------------------------------------------------------------------------------------------------------


def _nlvr(said: Said, out: Path) -> None:
    copy_files(said.folder / SOURCE / "presentations.jsonl", out / SCENES)
    rows = [
        {"presentation": task.origin, "sentence": one.value["sentence"], "writer": one.worker}
        for task, one in said.done("sentence")
    ]
    write_lines(out / SENTENCES, rows)
    write_lines(out / JUDGEMENTS, (line for _, line in _judged(said, "validate")))


# --- NLVR2 -----------------------------------------------------------------------------------------------------------


def _nlvr2(said: Said, out: Path) -> None:
    work = out / WORK
    copy_files(said.folder / SOURCE / WORK, work, but=".batches")
    if said.project.about.get("begin") == "prune":
        _redo(work, ("found.jsonl", "pruned.jsonl", "sets.jsonl", "tasks.jsonl"))
        _write_sets(said, out, work)
    write_lines(out / SENTENCES, _sentences(said))
    verdicts = (
        {**line, "kind": "extra" if task.id.startswith("extra:") else "validation"}
        for task, line in _judged(said, "validate")
    )
    write_lines(out / JUDGEMENTS, verdicts)


def _redo(work: Path, names: Iterable[str]) -> None:
    """Files that people made anew: the builder's ledger does not know them."""
    ledger = read_json(work / LEDGER, dict[str, Any])
    for name in names:
        ledger.pop(name, None)
        (work / name).unlink(missing_ok=True)
    write_json(work / LEDGER, ledger, indent=1)


def _write_sets(said: Said, out: Path, work: Path) -> None:
    """What was pruned, sorted and paired, as steps of the builder."""
    found, pruned, removals = [], [], []
    for task, one in said.done("prune"):
        shown = kinds.payload(task)
        names = [said.photograph(picture.name) for picture in shown.pictures]
        gone = {said.photograph(name): reason for name, reason in one.value["removed"].items()}
        left = tuple(name for name in names if name not in gone)
        found.append(Found(task.origin, shown.synset, shown.query, 1, tuple(names), (1.0,) * len(names)))
        discarded = sets.TOO_FEW if len(left) < sets.SIZE else ""
        pruned.append(PrunedSet(task.origin, shown.synset, shown.query, left, gone, discarded))
        removals += [{"set": task.origin, "photograph": name, "reason": reason} for name, reason in gone.items()]
    made, dull = [], []
    for task, one in said.done("sets"):
        shown = kinds.payload(task)
        doubled = {said.photograph(name) for name in one.value["duplicates"]}
        marked = {said.photograph(name) for name in one.value["dull"]}
        left = tuple(n for n in (said.photograph(p.name) for p in shown.pictures) if n not in doubled)
        made.append(_image_set(task, shown, left, marked, doubled))
        dull += [{"set": task.origin, "photograph": name} for name in sorted(marked)]
        dull += [{"set": task.origin, "photograph": name, "reason": sets.DUPLICATE} for name in sorted(doubled)]
    tasks = []
    for task in said.tasks("contrast"):
        shown = kinds.payload(task)
        pairs = [[said.photograph(left.name), said.photograph(right.name)] for left, right in shown.pairs]
        name = task.id.removeprefix("write:")
        line = {"task": name, "set": task.origin, "synset": shown.synset, "query": shown.query, "pairs": pairs}
        tasks.append(line)
    write_lines(work / "found.jsonl", found)
    write_lines(work / "pruned.jsonl", pruned)
    write_lines(work / "sets.jsonl", made)
    write_lines(work / "tasks.jsonl", tasks)
    write_lines(out / REMOVALS, removals)
    write_lines(out / DULL, dull)


def _image_set(task: Task, shown: kinds.Sets, left: tuple[str, ...], marked: set[str], doubled: set[str]) -> ImageSet:
    """A set after its second task, as `following` makes it."""
    removed = dict.fromkeys(sorted(doubled), sets.DUPLICATE)
    why = sets.TOO_FEW if len(left) < sets.SIZE else ""
    if not why and sum(name not in marked for name in left) < sets.LEAST_INTERESTING:
        why = sets.TOO_DULL
    eight = () if why else tuple(sorted(left, key=lambda name: name in marked)[: sets.SIZE])
    bright = {name: PEOPLE for name in eight if name not in marked}
    return ImageSet(task.origin, shown.synset, shown.query, eight, bright, removed, why)


def _sentences(said: Said) -> Iterable[dict[str, Any]]:
    for task, one in said.done("contrast"):
        name = task.id.removeprefix("write:")
        if one.value["flag"]:
            yield {"task": name, "flagged": one.value["flag"], "writer": one.worker}
        else:
            line = {"task": name, "sentence": one.value["sentence"], "selected": one.value["selected"]}
            yield {**line, "writer": one.worker}


# --- VCR -------------------------------------------------------------------------------------------------------------


def _vcr(said: Said, out: Path) -> None:
    rows = []
    for task, one in said.done("questions"):
        for number, asked in enumerate(one.value["questions"]):
            line = {"id": question_id(task, number), "image": task.origin, "writer": one.worker, **asked}
            rows.append(line)
    write_lines(out / QUESTIONS, rows)
    write_lines(out / JUDGEMENTS, (line for _, line in _judged(said, "accept")))


_WRITERS: dict[str, Callable[[Said, Path], None]] = {"nlvr": _nlvr, "nlvr2": _nlvr2, "vcr": _vcr}
