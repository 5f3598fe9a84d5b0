"""The program solver: reads a human sentence, finds the program it means, executes it on the scene and says why.

A sentence has several candidate programs (`language.reading.grammar`), weighed by a ranking learned from labels
(`veridical.solvers.learned`). The answer is their vote; the program shown is the likeliest that gives this answer.
Sentences that no program was found for are left to a trained `Fallback`, never to a crash.

`SHIPPED` is a solver that was trained on NLVR's `train` alone (scripts/program_weights.py makes it again, byte for
byte); it answers for benchmarks that have no training split of their own.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from veridical.benchmark import Benchmark
from veridical.common.files import decode_json, read_bytes, write_whole
from veridical.common.result import Caution, Table, remark
from veridical.errors import UserError
from veridical.language.programs.domain import Domain, domain_of
from veridical.language.programs.execution import compiled
from veridical.language.programs.explanations import Explanation, explain
from veridical.language.programs.terms import Term
from veridical.language.reading.grammar import candidates, template
from veridical.language.reading.lexicon import BOXES, World, read_words
from veridical.records import Item, Panel, Prediction, view_id
from veridical.solvers import learned
from veridical.solvers.learned import BUCKETS, Evidence, Fallback, FallbackConfig, RankingConfig
from veridical.solvers.solver import Solver

FORMAT = "veridical program solver"
FORMAT_VERSION = 1
SHIPPED = Path(__file__).with_name("nlvr-programs.json.gz")
_GZIPPED = b"\x1f\x8b"  # how such a file begins


@dataclass(frozen=True)
class SolverConfig:
    """How the solver is trained and votes."""

    ranking: RankingConfig = field(default_factory=RankingConfig)
    fallback: FallbackConfig = field(default_factory=FallbackConfig)
    least_share: float = 0.02  # programs with a smaller share of the probability have no vote
    remember: int = 65536  # sentences whose programs are kept in memory


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence about a scene, and whether it is true of it."""

    sentence: str
    panels: tuple[Panel, ...]
    label: bool
    group: str  # the presentation: its images are evidence for one reading


@dataclass(frozen=True)
class Answer:
    """What the solver says of one sentence and one scene."""

    scores: tuple[float, float]  # probability of false and of true
    program: Term | None  # the program behind the answer; None where the fallback answered
    parsed: bool
    panels: tuple[Panel, ...]
    sentence: str

    @property
    def truth(self) -> bool:
        """The answer itself."""
        return self.scores[1] > self.scores[0]

    @property
    def explanation(self) -> Explanation | None:
        """Which boxes and objects make the program true or false."""
        return None if self.program is None else explain(self.program, self.panels)


class ProgramSolver:
    """Answers sentences about scenes by programs. Train it with `fit`, keep it with `save`."""

    def __init__(self, config: SolverConfig | None = None, world: World = BOXES) -> None:
        self.config = config or SolverConfig()
        self.world = world
        self.weights_: dict[str, float] = {}
        self.fallback_ = Fallback(world=world)
        self.trained_on_: str | None = None
        self._read: dict[str, tuple[tuple[Term, float], ...]] = {}

    def fit(self, examples: Iterable[JudgedSentence]) -> ProgramSolver:
        """Learn the ranking and the fallback from labelled examples."""
        known = list(examples)
        domains = [domain_of(e.panels) for e in known]
        self.weights_ = learned.learn(self._evidence(known, domains), self.config.ranking)
        self.fallback_ = Fallback(world=self.world)
        labels = [e.label for e in known]
        self.fallback_.fit([e.sentence for e in known], domains, labels, self.config.fallback)
        self.trained_on_ = fingerprint(known)
        self._read.clear()
        return self

    def _evidence(self, known: Sequence[JudgedSentence], domains: Sequence[Domain]) -> list[Evidence]:
        """Per presentation and sentence: how many images each candidate gets right."""
        together: dict[tuple[str, str], list[int]] = {}
        for k, example in enumerate(known):
            together.setdefault((example.group, example.sentence), []).append(k)
        read: dict[str, tuple[list[Any], list[list[str]]]] = {}
        out = []
        for (_, sentence), members in together.items():
            if sentence not in read:
                found = candidates(sentence, self.world)
                shape = template(read_words(sentence), self.world)
                read[sentence] = [compiled(c.program) for c in found], [learned.features(c, shape) for c in found]
            runs, named = read[sentence]
            right = [sum(bool(run(domains[k])) == known[k].label for k in members) for run in runs]
            if runs:
                out.append(Evidence(named, right, len(members)))
        return out

    def programs(self, sentence: str) -> tuple[tuple[Term, float], ...]:
        """The programs a sentence may mean with their probabilities, likeliest first; empty where none was found."""
        if sentence not in self._read:
            if len(self._read) >= self.config.remember:
                self._read.clear()
            self._read[sentence] = self._rank(sentence)
        return self._read[sentence]

    def _rank(self, sentence: str) -> tuple[tuple[Term, float], ...]:
        found = candidates(sentence, self.world)
        if not found:
            return ()
        shape = template(read_words(sentence), self.world)
        named = [learned.features(c, shape) for c in found]
        shares = learned.posterior(learned.scores(self.weights_, named))
        ranked = sorted(zip(found, shares.tolist(), strict=True), key=lambda pair: -pair[1])
        kept = [pair for pair in ranked if pair[1] >= self.config.least_share] or ranked[:1]
        total = sum(share for _, share in kept)
        return tuple((c.program, share / total) for c, share in kept)

    def solve(self, sentence: str, panels: Sequence[Panel]) -> Answer:
        """Whether the sentence is true of the panels, with the program that says so."""
        domain, panels = domain_of(panels), tuple(panels)
        ranked = self.programs(sentence)
        if not ranked:
            p = self.fallback_.probability(sentence, domain)
            return Answer((1 - p, p), None, False, panels, sentence)
        votes = [bool(compiled(program)(domain)) for program, _ in ranked]
        p = min(1.0, sum((share for (_, share), vote in zip(ranked, votes, strict=True) if vote), 0.0))
        answer = p > 0.5
        program = next(program for (program, _), vote in zip(ranked, votes, strict=True) if vote == answer)
        return Answer((1 - p, p), program, True, panels, sentence)

    def state(self) -> bytes:
        """The trained solver as JSON: config, weights, and the hash of what it was trained on."""
        weights = self.fallback_.weights
        used = np.flatnonzero(np.abs(weights) > 1e-6)
        fallback = _FallbackState(used.tolist(), [round(float(w), 6) for w in weights[used]])
        ranking = dict(sorted(self.weights_.items()))
        return msgspec.json.encode(_State(FORMAT, FORMAT_VERSION, self.config, self.trained_on_, ranking, fallback))

    @property
    def digest(self) -> str:
        """The SHA-256 of what `save` writes, before it is compressed: the name of exactly these weights."""
        return hashlib.sha256(self.state()).hexdigest()

    def save(self, path: Path | str) -> None:
        """Write the trained solver as one JSON file, compressed where its name ends in .gz."""
        data = compressed(self.state()) if Path(path).suffix == ".gz" else self.state()
        write_whole(Path(path), data, "Choose another place for the solver.")

    @classmethod
    def load(cls, path: Path | str, world: World = BOXES) -> ProgramSolver:
        """Read a solver that `save` wrote."""
        fix = "Train and save it again, or name the file of a saved solver."
        data = read_bytes(Path(path), fix)
        try:
            data = gzip.decompress(data) if data.startswith(_GZIPPED) else data
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{path} is not a saved program solver: {error}.", fix) from None
        state = decode_json(data, Path(path), _State, "a saved program solver", fix)
        if state.format != FORMAT or state.version != FORMAT_VERSION:
            found = f"'{state.format}' version {state.version}"
            raise UserError(f"{path} is {found}, not '{FORMAT}' version {FORMAT_VERSION}.", "Train and save it again.")
        buckets, values = state.fallback.buckets, state.fallback.weights
        if len(buckets) != len(values) or not all(0 <= b < BUCKETS for b in buckets):
            found = f"{len(values):,} weights for {len(buckets):,} buckets, which are numbered below {BUCKETS:,}"
            raise UserError(f"{path} is not a saved program solver: {found}.", "Train and save it again.")
        solver = cls(state.config, world)
        solver.weights_, solver.trained_on_ = state.ranking, state.trained_on
        weights = np.zeros(BUCKETS)
        weights[np.array(buckets, np.int64)] = values
        solver.fallback_ = Fallback(weights, world)
        return solver


def examples(benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[JudgedSentence]:
    """The labelled statements of a split, for `fit`."""
    for item in benchmark.items(split, scheme, answers=True):
        if item.query is not None and item.answer is not None:
            panels = tuple(benchmark.panels[p] for p in item.panels)
            yield JudgedSentence(item.query.words(), panels, bool(item.answer), item.group or item.id)


def compressed(data: bytes) -> bytes:
    """The same bytes for the same data: no name, no time, no system in the head."""
    out = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, out, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def solver_for(benchmark: Benchmark, split: str) -> tuple[ProgramSolver, str]:
    """A solver for a split and where its weights come from: the benchmark's own `train` (never hidden answers, never
    the split itself), or what ships where there is no such thing to learn from."""
    known: list[JudgedSentence] = []
    if split != "train" and "train" in benchmark.splits and not benchmark.is_hidden("train"):
        known = list(examples(benchmark, "train")) if has_scenes(benchmark) else []
    if known:
        return ProgramSolver().fit(known), "train"
    if split == "train":
        remark(Caution("The weights that ship were trained on NLVR's train: if these are its items, they were seen."))
    return ProgramSolver.load(SHIPPED), "shipped"


def has_scenes(benchmark: Benchmark) -> bool:
    """Whether any panel of a benchmark says what objects are in it."""
    return any(panel.objects for panel in benchmark.panels.values())


def need_scenes(benchmark: Benchmark) -> None:
    """Refuse a benchmark of photographs: nothing says what is in them."""
    if not has_scenes(benchmark):
        raise UserError(
            f"{benchmark.name} has no scene structure: no panel says what objects are in it.",
            "The program solver reads drawn boxes, such as NLVR's; ask a model about photographs.",
        )


class Coverage:
    """How many of the sentences were read as programs, and how many answers were left to the fallback."""

    def __init__(self) -> None:
        self.read: dict[str, bool] = {}  # by sentence
        self.answers = 0
        self.by_fallback = 0

    def add(self, answer: Answer) -> None:
        """Count an answer."""
        self.read[answer.sentence] = answer.parsed
        self.answers += 1
        self.by_fallback += not answer.parsed

    def to_json(self) -> dict[str, object]:
        return {"reading": self.figures()}

    def parts(self) -> Iterator[Table | str]:
        read = self.figures()
        yield f"{read['coverage'] or 0:.1%} of {read['sentences']:,} sentences were read as programs."
        yield f"{read['fallback_share'] or 0:.1%} of {read['answers']:,} answers come from the fallback."

    def figures(self) -> dict[str, float | None]:
        read = sum(self.read.values())
        return {
            "sentences": len(self.read),
            "sentences_read": read,
            "coverage": read / len(self.read) if self.read else None,
            "answers": self.answers,
            "answers_by_fallback": self.by_fallback,
            "fallback_share": self.by_fallback / self.answers if self.answers else None,
        }


Source = Literal["structure", "pixels"]
Scene = tuple[Panel, ...]


def predict(
    solver: ProgramSolver, benchmark: Benchmark, split: str, source: Source = "structure", every_view: bool = False
) -> Iterator[tuple[Prediction, Answer]]:
    """A prediction per item, from the stored scene or from the drawing alone; with `every_view`, one per view too."""
    if source == "structure":
        need_scenes(benchmark)
    for item in benchmark.items(split):
        if item.query is None:
            fix = "The program solver answers statements about scenes."
            raise UserError(f"{item.id} has no statement to read.", fix)
        for name, panels in _scenes(item, benchmark, source, every_view):
            answer = solver.solve(item.query.words(), panels)
            yield Prediction(name, answer.scores), answer


def _scenes(item: Item, benchmark: Benchmark, source: Source, every_view: bool) -> Iterator[tuple[str, Scene]]:
    """The scene of an item (or of each of its views) under the name its prediction takes."""
    if source == "structure":
        panels = tuple(benchmark.panels[p] for p in item.panels)
        yield item.id, panels
        if every_view:
            yield from ((view_id(item.id, k), tuple(panels[p] for p in v.order)) for k, v in enumerate(item.views))
        return
    from veridical.sources.boxes.drawings import see

    drawings = [(k, v.image) for k, v in enumerate(item.views) if v.image is not None]
    if not drawings:
        raise UserError(f"{item.id} has no image in this benchmark.", "Import the images, or solve from the structure.")
    seen = [(k, see(bytes(benchmark.image(address)))) for k, address in (drawings if every_view else drawings[:1])]
    yield item.id, seen[0][1]
    if every_view:
        yield from ((view_id(item.id, k), panels) for k, panels in seen)


class Programs(Solver):
    """`veridical solve programs`: a prediction per item, or with `views="all"` per view, read from its program."""

    def __init__(
        self,
        source: Source = "structure",
        views: Literal["first", "all"] = "first",
        weights: Path | str | None = None,
        save_weights: Path | str | None = None,
    ) -> None:
        self.source, self.every_view = source, views == "all"
        self.weights, self.save_weights = weights, save_weights
        self.details: Coverage = Coverage()
        self._made_by: dict[str, object] = {}

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        if scheme != "main":
            raise UserError("The program solver reads the scheme 'main' only.", "Leave out --scheme.")
        if self.source == "structure":
            need_scenes(benchmark)
        if self.weights is None:
            solver, origin = solver_for(benchmark, split)
        else:
            shipped = str(self.weights) == "shipped"
            solver, origin = ProgramSolver.load(SHIPPED if shipped else self.weights), str(self.weights)
        if self.save_weights is not None:
            solver.save(self.save_weights)
        self._made_by = {"weights": origin, "weights_hash": solver.digest, "trained_on": solver.trained_on_}
        viewed = {item.id for item in benchmark.items(split) if item.views} if self.every_view else set()
        for prediction, answer in predict(solver, benchmark, split, self.source, self.every_view):
            if prediction.item in viewed:
                continue  # its views follow, and a file is either about items or about views
            read_from = None if answer.program is None else str(answer.program)
            yield Prediction(prediction.item, prediction.scores, read_from)
            self.details.add(answer)  # after it was taken: a limit looks one prediction ahead

    def about(self) -> dict[str, object]:
        return {"source": self.source, **self._made_by, **self.details.to_json()}


class _FallbackState(msgspec.Struct):
    buckets: list[int]
    weights: list[float]


class _State(msgspec.Struct):
    format: str
    version: int
    config: SolverConfig
    trained_on: str | None
    ranking: dict[str, float]
    fallback: _FallbackState


def fingerprint(examples: Iterable[JudgedSentence]) -> str:
    """A hash of what a solver was trained on: sentences, labels and scenes, whatever their order."""
    lines = []
    for e in examples:
        scene = [[(o.category, o.attributes, o.box) for o in p.objects] for p in e.panels]
        lines.append(msgspec.json.encode([e.group, e.sentence, e.label, scene]))
    return hashlib.sha256(b"\n".join(sorted(lines))).hexdigest()
