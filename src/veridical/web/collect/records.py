"""What a collection is made of: a project, its tasks, the people who do them, what they said and what they are owed.

Frozen, of plain values only, so that each is a row of a database and a line of JSON. Money is in mills, tenths of a
cent: $0.07 is 70. Times are seconds since 1970, and are always given: nothing here asks a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "tutorial",  # a question about the guidelines, with options (qualification)
    "guideline",  # does this sentence follow the guidelines? (qualification)
    "prune",  # remove pictures from a set of up to sixteen, with reasons (NLVR2, 3.1)
    "sets",  # mark duplicates and what is not interesting (NLVR2, 3.1)
    "sentence",  # one sentence for four drawings (NLVR, Figure 2)
    "contrast",  # choose two of four pairs, and one sentence (NLVR2, 3.2)
    "validate",  # true, false, or no sense (NLVR, 4; NLVR2, 3.3)
    "questions",  # one to three questions with answers and rationales (VCR, 3)
    "accept",  # is this question, answer and rationale right? (VCR, 3)
    "choose",  # one of four or eight candidates, or skip (V-PROM, 3.3; VCR, 5.1)
]
Purpose = Literal["work", "gold", "qualification"]
Closed = Literal["done", "removed", "flagged"]
Ended = Literal["answered", "expired", "returned"]
Status = Literal["draft", "open", "paused", "finished"]
Stage = Literal["new", "questions", "review", "qualified", "failed"]
Platform = Literal["link", "prolific", "mturk", "simulated"]
Why = Literal["task", "bonus", "qualification", "adjustment"]

WRITING: tuple[Kind, ...] = ("sentence", "contrast", "questions")
FORGOTTEN = "forgotten"  # all that is left of an answer whose worker wanted it deleted
GOLD, MEANT = "gold", "meant"  # what workers are measured by: known answers, and what writers meant


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a task: `name` is a file in the project's folder `pictures/`."""

    name: str
    width: int = 0
    height: int = 0
    alt: str = ""  # for those who do not see it; empty where it would give the answer away
    order: tuple[int, ...] = ()  # of NLVR's three boxes, where they are shown in another order


@dataclass(frozen=True, slots=True)
class Tagged:
    """An object of a photograph that questions can point at."""

    name: str  # as it is shown: person1
    box: tuple[float, float, float, float]  # x1, y1, x2, y2 in pixels of the picture


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is asked to do at once. `payload` is of the shape that `kinds` gives for its kind."""

    id: str
    kind: Kind
    payload: Mapping[str, Any]
    needed: int = 1  # answers by different workers; 0: every worker may answer (gold, qualification)
    purpose: Purpose = "work"
    expected: Mapping[str, Any] | None = None  # the right answer of gold and qualification; never shown
    once: str = ""  # a worker answers one task of this name at most; the id unless given
    author: str = ""  # whose sentence it is, who should not judge it
    camp: str = ""  # workers of one camp never do tasks of another (VCR's answers and rationales)
    stratum: str = ""  # each worker gets about as many of each (V-PROM's relations)
    pool: int = 0  # 0: for everybody; 1: for those who passed a round
    origin: str = ""  # the set, presentation or photograph that it is about
    split: str = "train"  # of its origin; items of others get more judgements
    step: int = 0  # of qualification: its place
    role: str = ""  # of qualification: for which role
    created: float = 0.0  # when it was first offered

    @property
    def key(self) -> str:
        return self.once or self.id


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that is open, as assignment looks at it."""

    id: str
    kind: Kind
    key: str
    needed: int
    done: int  # answers that count
    leased: int  # leases that are open
    author: str = ""
    camp: str = ""
    stratum: str = ""
    pool: int = 0
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a worker is with one role."""

    stage: Stage = "new"
    asked: int = 0  # questions of the qualification that were answered
    right: int = 0
    review: str = ""  # the answer that a person has to look at
    reason: str = ""  # why not, in words for the worker


@dataclass(frozen=True, slots=True)
class Worker:
    """Somebody who does tasks. What identifies a person is `platform_id` and
    `session` alone, and goes when they ask."""

    id: str  # ours: w1, w2 ...; the only name that exports have
    platform: Platform = "link"
    platform_id: str = ""  # PROLIFIC_PID, MTurk's workerId; needed to pay, empty otherwise
    session: str = ""  # MTurk's assignmentId, which its bonuses need; Prolific's SESSION_ID
    joined: float = 0.0
    consented: float | None = None
    consent: str = ""  # the version of the text that was agreed to
    withdrawn: float | None = None
    blocked: float | None = None
    blocked_because: str = ""
    standings: Mapping[str, Standing] = field(default_factory=dict)  # by role; and against `GOLD` and `MEANT`
    tier: int = 0  # 1: may take from the whole pool
    camp: str = ""
    given: int = 0  # leases of work and gold so far: decides when gold is due
    seen: float = 0.0

    @property
    def active(self) -> bool:
        return self.consented is not None and self.withdrawn is None and self.blocked is None


@dataclass(frozen=True, slots=True)
class Lease:
    """A task that a worker holds; a worker holds one at a time, in however many tabs."""

    id: str
    task: str
    worker: str
    start: float
    expires: float
    purpose: Purpose = "work"
    view: int = 0  # which of NLVR's six orders of boxes is shown
    ended: Ended | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker said; its id is that of the lease, so that there is one at most."""

    id: str
    task: str
    worker: str
    kind: Kind
    purpose: Purpose
    value: Mapping[str, Any]
    start: float
    time: float
    round: int = 0
    right: bool | None = None  # against `expected`, where there is one
    warnings: tuple[str, ...] = ()  # guidelines that it seems to break
    void: str = ""  # why it does not count (a blocked worker's, a withdrawn one's)


@dataclass(frozen=True, slots=True)
class Review:
    """What a requester said of an answer: of a qualification, or of a round's sample."""

    answer: str
    worker: str
    about: Literal["qualification", "round"]
    round: int
    asked: float
    follows: bool | None = None  # None: not looked at yet
    note: str = ""
    by: str = ""
    time: float | None = None


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What a round's review means for a worker."""

    worker: str
    round: int
    sampled: int
    following: int
    written: int  # in that round
    bonus: int  # mills, all of it
    tier: int  # from now on
    blocked_because: str = ""
    void: bool = False  # so few follow the guidelines that none of it counts


@dataclass(frozen=True, slots=True)
class Payment:
    """A line of the ledger. The id says what it is for, so that nothing is paid twice."""

    id: str  # task:<answer>, bonus:<round>:<worker>, qualification:<role>:<worker>, adjustment:...
    worker: str
    why: Why
    mills: int
    time: float
    kind: Kind | None = None  # of a task
    note: str = ""
    batch: str = ""  # of the export it was paid by; empty: owed


@dataclass(frozen=True, slots=True)
class Role:
    """Some kinds of tasks, and what somebody shows before doing them (NLVR2, 3.5)."""

    name: str
    kinds: tuple[Kind, ...]
    tutorial: int = 0  # questions that must be answered until right
    questions: int = 0  # guideline or example judgements
    least_right: int = 0  # of them
    writing: bool = False  # a writing task that a person reviews
    pay: int = 0  # mills, for a qualification that was done to its end


@dataclass(frozen=True, slots=True)
class Bonus:
    """What each sentence of a round is worth where at least `least` of those looked at follow the guidelines."""

    least: float
    mills: int


@dataclass(frozen=True, slots=True)
class Project:
    """A collection, as its `project.json` says."""

    name: str
    benchmark: Literal["nlvr", "nlvr2", "vcr", "vprom"]
    title: str
    seed: int = 0
    roles: tuple[Role, ...] = ()
    pay: Mapping[str, int] = field(default_factory=dict)  # kind -> mills a task
    seconds: Mapping[str, float] = field(default_factory=dict)  # kind -> how long a lease lasts
    bonuses: tuple[Bonus, ...] = (Bonus(0.75, 70), Bonus(0.5, 30))
    sample: int = 20  # sentences of a worker that are reviewed after a round
    round_size: int = 0  # sentences by everybody together that end a round; 0: the requester ends it
    small_pool: float = 1.0  # share of writing tasks that are open to everybody
    strikes: int = 2  # rounds below the last bonus that block a writer
    training_judgements: int = 1
    judgements: int = 5  # of items that are held out
    held_out: float = 0.2  # share of origins
    stale_days: float = 3.0  # writing tasks that nobody took for so long are removed
    gold_every: int = 12  # about one of so many tasks is gold, and every second one until a worker is trusted
    gold_accuracy: float = 0.85  # how often honest people are right on gold, at least
    meant_accuracy: float = 0.75  # how often they judge as writers meant, at least, slips of the writers included
    false_alarms: float = 0.05  # how often somebody honest is ever blocked, at most; 0: nobody is
    fee: float = 0.0  # what the platform takes on top, as a share
    currency: str = "USD"
    consent: str = ""  # the text that workers agree to
    consent_version: str = "1"
    contact: str = ""
    completion_code: str = ""  # Prolific's
    screen_out_code: str = ""
    prolific_workspace: str = ""  # its id: only links that Prolific signed for a study of it let people in
    about: Mapping[str, Any] = field(default_factory=dict)  # what it was made from: source, options, hashes

    @property
    def chance(self) -> float:
        """How often somebody who guesses is right on gold."""
        if self.role_of("choose") is None:
            return 0.5
        return 1 / 8 if self.benchmark == "vprom" else 1 / 4

    def role_of(self, kind: str) -> Role | None:
        return next((role for role in self.roles if kind in role.kinds), None)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a worker does next: a lease and its task as it may be shown (no `expected`, no `author`)."""

    lease: Lease
    task: Task
    step: int = 0  # of qualification: the how-manieth
    steps: int = 0  # of how many


@dataclass(frozen=True, slots=True)
class Nothing:
    """Why there is nothing to do for a worker now."""

    why: Literal["consent", "paused", "finished", "waiting", "review", "failed", "blocked", "withdrawn"]
    words: str
    code: str = ""  # Prolific's completion or screen-out code, where there is one
