"""Options of the verbs that make a benchmark: `build` with each of its builders, and `match`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from veridical.errors import UserError
from veridical.options.fields import COMMAS, LAMBDA, NEGATIVE


@dataclass(frozen=True)
class NLVROptions:
    """What decides an NLVR benchmark."""

    presentations: int = 3962  # of NLVR (Table 1)
    """Sentences, each about four images."""
    seed: int = 0
    """What decides everything random."""
    phenomenon: Mapping[str, float] | None = None
    """A share of statements, 'negation=0.3'; may be repeated. The paper's shares unless given."""
    split: Mapping[str, float] | None = None
    """A split and its share, 'dev=267'; may be repeated. The paper's splits unless given."""
    hide: Sequence[str] | None = None
    """A split whose answers are hidden; may be repeated. test-u unless given."""
    secret: str = ""
    """Mixed into the seed of hidden splits, so that the seed does not give them away; or random."""
    scenes: Path | str | None = None
    """The presentations that people saw: the folder of --until presentations, or its file."""
    statements: Path | str | None = None
    """What people wrote: JSON lines."""
    judgements: Path | str | None = None
    """How people judged it: JSON lines."""
    from_collection: Path | str | None = None
    """What people did: the folder of `collect export`, instead of the files above."""
    licence: str = ""
    """The licence of the benchmark, such as CC-BY-4.0."""


@dataclass(frozen=True)
class AugmentOptions:
    """How many items are made of known sentences, and of which."""

    split: str = "train"
    """Whose sentences."""
    items: int = 64
    """Of a sentence as it was written, half of them true."""
    variants: int = 8
    """Sentences made of each by exchanging colours, shapes, sizes, numbers and ends; of pairs of icons, how often the
    pictures of a set are paired anew, for two sentences each."""
    variant_items: int = 16
    """Of each of those."""
    plain: int = 2000
    """Plain generated sentences of one amount of one kind of things: what is learned first."""
    apart: float = 0.5
    """Share of items that need not come in pairs of the same objects, once true and once false."""
    presentations: int = 4000
    """New ones, four images each."""
    own: bool = True
    """Also the presentations of the split."""
    validation: float = 0.05
    """Share of the split that is left out, and becomes the split validation: as `train` holds it out by this seed."""
    seed: int = 0
    """What decides everything random."""


@dataclass(frozen=True)
class NLVR2Options:
    """What decides an NLVR2 benchmark."""

    source: Any = "icons"
    """icons, coco:PATH, vg:PATH, folder:PATH; none: addresses alone, of a saved search. Python: an open source, too."""
    detector: str | None = None
    """Finds objects in photographs without annotations: a checkpoint, or its name."""
    threshold: float = 0.5
    """The least score of a detection that counts, as NLVR2's authors chose."""
    exhaustive: Sequence[str] | None = None
    """A category whose every visible instance the source annotates, or all; may be repeated. COCO and detectors say."""
    sets: int | None = None
    """Sets of eight photographs, eight items each; all that can be made, or 250 of icons, unless given."""
    seed: int = 0
    """What decides everything random."""
    synsets: str | Path | None = None
    """A list of what to search for; the source's categories unless given."""
    best: int | None = None
    """Only so many synsets, the most interesting ones, as many animals as objects."""
    wordnet: str | None = None
    """A folder with WordNet."""
    vectors: str | None = None
    """A file of word vectors; none: no similar words."""
    search: str | Path | None = None
    """What an image search answered, instead of searching the source: JSON lines or CSV."""
    encoder: str | None = None
    """Whose image vectors say what is similar; annotations: what is annotated says it."""
    least_similarity: float | None = None
    """Cosine of similar photographs; the median of any two unless given."""
    distance: int = 6
    """Bits in which the perceptual hashes of duplicates may differ."""
    crowds: bool = False
    """Use photographs whose annotations mark a crowd as one object, too."""
    share: bool = False
    """Let sets share photographs, as in the paper."""
    removals: str | Path | None = None
    """Photographs that people removed: JSON lines."""
    dull: str | Path | None = None
    """Photographs that people did not find interesting."""
    labels: str | Path | None = None
    """Labels that train a classifier of interesting ones."""
    sentences: str | Path | None = None
    """What people wrote: JSON lines; generated unless given."""
    judgements: str | Path | None = None
    """How people judged it: JSON lines."""
    costs: str | Path | None = None
    """What each task cost: JSON, task -> {"cost": dollars, "workers": number}."""
    from_collection: str | Path | None = None
    """What people did: the folder of `collect export`, instead of the files above."""
    split: Mapping[str, float] | None = None
    """A split and its share; may be repeated. The paper's rule unless given."""
    hide: Sequence[str] | None = None
    """A split whose answers are hidden; may be repeated. test-u unless given."""
    secret: str = ""
    """Mixed into the seed of sentences where a split is hidden; or random."""
    licence: str = ""
    """The licence of the benchmark; the source's unless given."""


@dataclass(frozen=True)
class Mining:
    """V-PROM's principles for visual elements (section 3.1); the defaults suit Visual Genome."""

    least_images: int = 12
    """Photographs that an element needs (richness)."""
    most_others: int = 6
    """Other objects that a crop may show (purity)."""
    least_side: int = 100
    """Pixels of a crop, each way (quality)."""


@dataclass(frozen=True)
class VPROMOptions:
    """What decides a V-PROM benchmark."""

    source: Any = "icons"
    """icons, coco:PATH or vg:PATH. Python: an open source, too."""
    matrices: int = 15_000  # the paper's neutral scheme has 155,000
    """Matrices of each scheme, two thirds for training."""
    schemes: Annotated[Sequence[str] | None, COMMAS] = None
    """A scheme of splits, or several with commas; may be repeated. All seven unless given."""
    seed: int = 0
    """What decides everything random."""
    images: int | None = None
    """Panels of the icon world to draw from."""
    categories: int | None = None
    """Categories that icons show beside people; all 133 unless given."""
    lists: Path | str | None = None
    """A folder of lists (super-attributes, what is left out) instead of ours."""
    hide: Sequence[str] = ()
    """A split whose answers are hidden: test."""
    secret: str = ""
    """Mixed into the seed where a split is hidden, so that it does not give it away; or random."""
    judgements: Path | str | None = None
    """People's answers to an earlier build with the same options: JSON lines."""
    from_collection: Path | str | None = None
    """The same, as the folder of `collect export`, which knows some of the options."""
    licence: str = ""
    """The licence of the benchmark; the source's unless given."""


def is_run(model: str) -> bool:
    """Whether a model is named by the folder of a run of `veridical train`; an error where by that of a trial."""
    folder = Path(model)
    if folder.name.startswith("trial-") and (folder.parent / "run.json").is_file():
        raise UserError(f"{model} is a trial of a run.", f"Give the run's own folder: {folder.parent}.")
    return (folder / "run.json").is_file()


@dataclass(frozen=True)
class Matching:
    """The models and the trade-off of Adversarial Matching (VCR, section 4)."""

    relevance: str = "minilm"
    """Model of relevance, P_rel: a text encoder, or bm25, or tfidf; of match also a run of bert or esim, whose model is
    trained anew for each part of the folds."""
    similarity: str = "minilm"
    """Model of similarity, P_sim: a text encoder, or tfidf; of match also a run of bert or esim that learned elsewhere
    which texts follow from each other."""
    learn: bool = True
    """Learn relevance on the data, on other folds than it scores."""
    weight: Annotated[float, LAMBDA] = 1.0
    """How much wrong choices are kept from being like the right one."""
    precision: str = "fp32"
    """Of text encoders: fp32, or bf16, quicker where the processor has it (fp32 elsewhere)."""
    method: str = "fours"
    """fours: four questions share their four answers, each right once, so that the choices alone say nothing; or
    paper: the paper's equation, round after round."""


@dataclass(frozen=True)
class VCROptions:
    """What decides a benchmark of visual commonsense reasoning (VCR), beside its matching."""

    source: Any = "icons"
    """icons, coco:PATH, vg:PATH or folder:PATH. Python: an open source, too."""
    photographs: int = 1000
    """Pictures to draw, with --source icons; they come in fours."""
    detector: str | None = None
    """Finds objects in photographs without annotations: a checkpoint, or its name."""
    questions: Path | str | None = None
    """What people wrote: JSON lines, such as the form of --until sheets; generated with --source icons."""
    judgements: Path | str | None = None
    """Which of these questions people let pass: JSON lines."""
    from_collection: Path | str | None = None
    """What people wrote and let pass: the folder of `collect export`, instead of the files above."""
    answers: Path | str | None = None
    """People's answers to an earlier build with the same options: JSON lines, or the folder of a study's export."""
    each: int = 3
    """Questions about a picture, up to four, where they are generated."""
    labels: Path | str | None = None
    """Which photographs people find interesting: JSON lines; a rule otherwise."""
    encoder: str | None = None
    """Its vectors help to tell what is interesting."""
    folds: int = 11
    """Folds by movie or photograph; the first two are val and test."""
    hide: Sequence[str] = ("test",)
    """A split whose answers are hidden; may be repeated. test unless given."""
    secret: str = ""
    """Mixed into the seed of hidden splits, so that the seed does not give them away; or random."""
    seed: int = 0
    """What decides everything random."""
    licence: str = ""
    """The licence of the benchmark, such as CC-BY-4.0."""


@dataclass(frozen=True)
class Columns:
    """The names of a question/answer file's columns; None: the usual name, where the file has it."""

    question: str | None = None
    """The column of questions, if not 'question'."""
    answer: str | None = None
    """The column of right answers, if not 'answer'."""
    rationale: str | None = None
    """The column of reasons."""
    group: str | None = None
    """The column of what must stay together: movie, video, photograph."""
    fold: str | None = None
    """The column of folds (0 validates, 1 tests) or splits (names)."""
    id: str | None = None
    """The column of ids."""


@dataclass(frozen=True)
class MatchOptions:
    """What a matching makes, beside its models and columns."""

    wrong: int = 3
    """Wrong choices of a question."""
    rerank: Any = None
    """A cross-encoder for P_rel, trained on the data. Python: an object that scores pairs, too."""
    rerank_similarity: Any = None
    """An entailment or paraphrase model for P_sim."""
    shortlist: int = 64
    """Responses considered first for each question."""
    tolerance: float = 1e-3
    """The largest certified gap to the optimum, with --method paper."""
    folds: int | None = None
    """Folds by group: 0 is val, 1 is test, others train. 3 to 11, of 3,000 questions or more, unless given."""
    split: Mapping[str, float] | None = None
    """A split and its share, 'dev=1'; may be repeated."""
    hide: Sequence[str] = ()
    """A split whose answers are hidden; may be repeated."""
    secret: str | None = None
    """Mixed into the seed of what is hidden. Random if not given, and kept in OUT.hidden."""
    sweep: Annotated[Sequence[float], COMMAS] = ()
    """Lambdas to try, '0.01,0.1,0.3,1,3': machines, plot, advice."""
    people: Path | str | None = None
    """People's answers to a lambda curve (--sweep): lambda, id, choice."""
    integrity: Annotated[bool, NEGATIVE] = False
    """Report what the choices of each stage give away."""
    seed: int = 0
    """What decides everything random."""
    name: str = ""
    """The benchmark's name."""
    licence: str = ""
    """The licence of the benchmark."""
    keep_going: Annotated[bool, NEGATIVE] = False
    """Leave bad rows out."""
