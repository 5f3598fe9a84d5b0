"""`veridical serve --demo`: small benchmarks with hidden splits, teams that are simulated, entries that are scored.

Whoever is simulated knows the answers that were just made, and errs as often as their skill says, more often on hard
items. What they send is taken, scored and ranked as anybody's. The program solver is the real one: it reads the
sentences and looks at the pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import msgspec
import numpy as np

from veridical.builders import load_builder
from veridical.common.files import write_whole
from veridical.common.result import remark
from veridical.evaluation.grade import AnswerKey, read_key
from veridical.options import BoardRows, ServeOptions, SolverOptions
from veridical.solvers.solver import solve
from veridical.web.accounts import digest
from veridical.web.board.entries import Entries, Rules, Said
from veridical.web.board.hosted import Hosted, hosted
from veridical.web.board.serving import Served, serve
from veridical.web.board.site import Site
from veridical.web.board.tables import Entry
from veridical.web.board.teams import make_team
from veridical.web.database import now


@dataclass(frozen=True)
class Simulated:
    """A team and what it sent: systems with the share of items that each gets right, in the order they came."""

    team: str
    systems: Mapping[str, float]


TEAMS = (
    Simulated("Tower Lab", {"TowerNet": 0.71, "TowerNet, larger": 0.78, "TowerNet 2": 0.86}),
    Simulated("Scatter", {"PatchFormer": 0.74, "PatchFormer, pretrained": 0.855}),
    Simulated("Two Readers", {"Parse then look": 0.90}),
    Simulated("A student project", {"LSTM and CNN": 0.58}),
)
BUILDS: Mapping[str, Mapping[str, object]] = {
    "nlvr": {"presentations": 110, "split": {"train": 0.1, "test": 0.9}, "hide": ("test",), "secret": "random"},
    "vcr": {"photographs": 240, "folds": 3, "hide": ("test",), "secret": "random"},
}
# rows beside the teams, simulated too, with the share of items that each gets right
BESIDE: Mapping[str, Mapping[str, tuple[str, float]]] = {
    "blind": {"nlvr": ("Reads the sentences only", 0.53), "vcr": ("Reads the questions only", 0.27)},
    "human": {"nlvr": ("Five people", 0.95), "vcr": ("Four people", 0.92)},
}
TITLE = "Demo board: its teams and people are simulated"
HARDNESS = 1.2  # how much items differ, in units of the logit


def serve_demo(data: Path, address: tuple[str, int], options: ServeOptions) -> Served:
    """Build, fill and serve."""
    folders = {name: built(data / "benchmarks" / name, name) for name in BUILDS}
    if options.title == ServeOptions.title:
        options = replace(options, title=TITLE)
    return serve(list(folders.values()), data, address, options, None, beside(folders), filled)


def beside(folders: Mapping[str, Path]) -> BoardRows:
    """The rows beside the teams, each in a file that is made once."""
    rows: dict[str, dict[str, str]] = {}
    for kind, of_builds in BESIDE.items():
        for place, (name, (called, skill)) in enumerate(of_builds.items()):
            [board] = hosted([folders[name]]).values()
            path = folders[name].parent / f"{kind}-{board.id}.jsonl"
            if not path.exists():
                write_whole(path, simulated(_key(board), skill, np.random.default_rng([place, len(kind)])))
            rows.setdefault(kind, {})[called] = str(path)
    programs = folders["nlvr"].parent / "programs.jsonl"
    if not programs.exists():
        solve("programs", folders["nlvr"], SolverOptions(source="pixels"), split="test", out=programs)
    return BoardRows(baseline={"Program solver": str(programs)}, **rows)


def built(out: Path, name: str) -> Path:
    """A benchmark of the demo, made once."""
    if not (out / "benchmark.json").exists():
        remark(f"Building {name}; this takes some seconds.")
        load_builder(name)(out, **BUILDS[name])
    return out


def filled(site: Site) -> None:
    """Teams that have been here for three weeks."""
    with site.database.read() as session:
        if session.query(Entry).filter(Entry.team_id.is_not(None)).first() is not None:
            return
    entries = Entries(site.database, site.entries.folder, Rules(per_day=1000))
    for place, one in enumerate(TEAMS):
        with site.database.write() as session:
            account = site.accounts.make(session, f"demo {place + 1}", digest(f"{site.accounts.keyed(one.team)}"))
            team = make_team(session, one.team, account.id).id
        for board in site.boards.values():
            _send(site, entries, board, team, one, np.random.default_rng([place, len(board.id)]))
    site.workers.look()


def _send(site: Site, entries: Entries, board: Hosted, team: int, one: Simulated, rng: np.random.Generator) -> None:
    key = _key(board)
    for number, (name, skill) in enumerate(one.systems.items()):
        folder = entries.new_folder()
        data = simulated(key, skill, rng)
        write_whole(folder / "predictions.jsonl", data)
        said = Said(name, paper="https://example.org/paper" if number else "", public=True)
        made = entries.take(folder, "predictions.jsonl", digest(data.decode()), team, board.id, said)
        with site.database.write() as session:
            kept = session.get(Entry, made.id)
            assert kept is not None
            kept.at = now() - timedelta(days=21 - 8 * number, hours=int(rng.integers(72)))


def _key(board: Hosted) -> AnswerKey:
    return read_key(board.benchmark, board.split, board.scheme)


def simulated(key: AnswerKey, skill: float, rng: np.random.Generator) -> bytes:
    """Predictions that are right on about a share of the items: which are hard is the same for every team."""
    hard = np.random.default_rng(len(key.ids)).normal(0, HARDNESS, len(key.ids))
    chance = 1 / (1 + np.exp(hard - np.log(skill / (1 - skill)) * np.sqrt(1 + HARDNESS**2 / 3)))
    right = rng.random(len(key.ids)) < chance
    lines = []
    for name, answer, count, good in zip(
        key.ids.to_pylist(), key.answer.tolist(), key.candidates.tolist(), right, strict=True
    ):
        chosen = answer if good and answer >= 0 else (max(answer, 0) + int(rng.integers(1, count))) % count
        scores = [float(place == chosen) for place in range(count)]
        lines.append(msgspec.json.encode({"item": name, "scores": scores}) + b"\n")
    return b"".join(lines)
