"""Finding sets of similar photographs (NLVR2, section 3.1): an image search, and the rule of when to stop.

Two searches: `LocalSearch` over the photographs of a source (queries match annotations and captions, similarity is
the cosine of embeddings), and `SavedSearch` over a file of what an image search once answered.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from veridical.builders.nlvr2.queries import NUMBERS, Query, Synset, first_queries
from veridical.builders.nlvr2.work import Found, Seen
from veridical.common.files import Json, in_words, read_lines, read_text
from veridical.engine.progress import Progress
from veridical.errors import UserError, missing_extra
from veridical.language.english import plural

SIMILAR = 15  # most similar photographs that are saved with a retrieved one
BARREN = 5  # photographs in a row without similar ones, after which a query ends
SCORED_QUERIES, SCORED_IMAGES, SCORED_SIMILAR = 5, 5, 7  # section 3.1: five sets of eight a query
NO_ANNOTATIONS = "Label the photographs, or let --detector find what is in them."


@dataclass(frozen=True)
class Limits:
    """How far the results of a query are followed."""

    images: int
    sets: int


NARROW = Limits(30, 30)
WIDE = Limits(100, 60)  # collective nouns and "two" (footnote 5 of the draft)


class Search(Protocol):
    """An image search with a similar-images tool."""

    def ranked(self, query: Query, limit: int) -> Sequence[str]:
        """Photographs in the order of the results."""

    def similar(self, photograph: str, query: Query, limit: int) -> Sequence[tuple[str, float]]:
        """The photographs most similar to one, itself and duplicates left out, most similar first."""


def find_sets(search: Search, queries: Sequence[Query]) -> list[Found]:
    """All sets of all queries, numbered. A photograph starts one set of a synset, for the query that ranks it best."""
    by_synset: dict[str, list[Query]] = {}
    for query in queries:
        by_synset.setdefault(query.synset, []).append(query)
    out: list[Found] = []
    with Progress("searching", len(queries), "queries") as progress:
        for synset, own in by_synset.items():
            rows = []
            for place, query in enumerate(own):
                for rank, photograph, near in follow(search, query, WIDE if query.wide else NARROW):
                    rows.append((rank, place, photograph, near))
                progress.advance()
            started: set[str] = set()
            for rank, place, photograph, near in sorted(rows, key=lambda row: row[:2]):
                if photograph not in started:
                    started.add(photograph)
                    names = (photograph, *(name for name, _ in near))
                    similarities = (1.0, *(round(float(s), 6) for _, s in near))
                    out.append(Found(str(len(out)), synset, own[place].text, rank, names, similarities))
    return out


def first_sets(search: Search, queries: Sequence[Query]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A few sets of a few queries of each synset, by which it is scored: section 3.1."""
    for query in first_queries(queries, SCORED_QUERIES):
        for _, photograph, near in follow(search, query, Limits(SCORED_IMAGES, SCORED_IMAGES), SCORED_SIMILAR):
            yield query.synset, (photograph, *(name for name, _ in near))


def nothing_found(seen: Sequence[Seen], synsets: int, saved: str | Path | None) -> UserError:
    """Why there are no sets, and what would help."""
    if saved is not None:
        fix = "Search for the texts of queries.jsonl, and save similar photographs, too."
        return UserError(f"{saved} has no similar photographs for any query.", fix)
    good = [one for one in seen if not one.problem]
    if not good:
        return UserError(f"No photograph can be used: {seen[0].problem}", "Check the source's files.")
    if not any(one.objects or one.words for one in good):
        return UserError(f"Nothing is known of what {len(good):,} photographs show.", NO_ANNOTATIONS)
    problem = f"None of {len(good):,} photographs matches any of {synsets:,} synsets, with others like it."
    return UserError(problem, f"{NO_ANNOTATIONS[:-1]}; name in --synsets what they show.")


def follow(
    search: Search, query: Query, limits: Limits, similar: int = SIMILAR
) -> Iterator[tuple[int, str, Sequence[tuple[str, float]]]]:
    """One query's sets (rank, photograph, similar ones), by rank: until enough images or sets are saved, or five images
    in a row have no similar ones."""
    barren = saved = 0
    for rank, photograph in enumerate(search.ranked(query, limits.images), start=1):
        if rank > limits.images or saved == limits.sets or barren == BARREN:
            return
        near = search.similar(photograph, query, similar)[:similar]
        barren = 0 if near else barren + 1
        if near:
            saved += 1
            yield rank, photograph, near


class LocalSearch:
    """A search over photographs that are here: by what is annotated, and by embedding with exact nearest neighbours.

    Similar photographs are looked for among those that match the query's synset: what is here is no web, and most
    others would be removed again. Photographs in `left_out` (unreadable, or duplicates of others) are never found.
    """

    def __init__(
        self,
        seen: Sequence[Seen],
        vectors: np.ndarray,
        synsets: Sequence[Synset],
        *,
        left_out: Iterable[str] = (),
        least: float = 0.0,
    ) -> None:
        out = set(left_out)
        keep = [i for i, one in enumerate(seen) if one.id not in out]
        self.seen = [seen[i] for i in keep]
        self.vectors = np.ascontiguousarray(vectors[keep], np.float32)
        self.least = least
        self.synsets = {one.name: one for one in synsets}
        self._place = {one.id: i for i, one in enumerate(self.seen)}
        self._near: dict[str, dict[str, list[tuple[str, float]]]] = {}  # by synset, then photograph
        self._indexes: dict[str, tuple[list[int], Any]] = {}
        self._holding: dict[str, list[int]] = {}
        for i, one in enumerate(self.seen):
            for term in {*map(str.lower, one.objects), *one.words}:
                self._holding.setdefault(term, []).append(i)

    def ranked(self, query: Query, limit: int) -> list[str]:
        names = spellings(self.synsets[query.synset])
        places = self._index(query.synset)[0]
        if not places:
            return []

        def badness(place: int) -> tuple[float | bytes, ...]:
            """How badly a photograph fits; the order of those that fit equally well is drawn."""
            one = self.seen[place]
            drawn = hashlib.blake2b(f"{query.text}\n{one.id}".encode(), digest_size=8).digest()
            return (*_fit(one, query, names), drawn)

        best = [self.seen[i].id for i in sorted(places, key=badness)[:limit]]
        self._look_up(query.synset, best)
        return best

    def similar(self, photograph: str, query: Query, limit: int) -> list[tuple[str, float]]:
        self._look_up(query.synset, [photograph])
        return self._near[query.synset][photograph][:limit]

    def _look_up(self, synset: str, names: Sequence[str]) -> None:
        """Find the neighbours of photographs that have not been asked for yet."""
        known = self._near.setdefault(synset, {})
        new = [name for name in names if name not in known]
        places, index = self._index(synset)
        if not new or not places:
            known.update({name: [] for name in new})
            return
        rows = self.vectors[[self._place[name] for name in new]]
        cosine, found = index.search(rows, min(SIMILAR + 1, len(places)))
        for name, near, scores in zip(new, found.tolist(), cosine.tolist(), strict=True):
            pairs = [(self.seen[places[i]].id, s) for i, s in zip(near, scores, strict=True) if s >= self.least]
            known[name] = [(other, s) for other, s in pairs if other != name]

    def _index(self, synset: str) -> tuple[list[int], Any]:
        """The photographs that match a synset, and an index of their vectors."""
        if synset not in self._indexes:
            try:
                import faiss
            except ImportError:
                raise missing_extra("faiss-cpu", "build") from None
            names = spellings(self.synsets[synset])
            places = sorted({i for name in names for i in self._matching(name)})
            index = faiss.IndexFlatIP(self.vectors.shape[1])
            index.add(np.ascontiguousarray(self.vectors[places]))
            self._indexes[synset] = places, index
        return self._indexes[synset]

    def _matching(self, name: str) -> set[int]:
        """Photographs that have a category of this name, or all words of it."""
        found = set(self._holding.get(name, ()))
        parts = name.split()
        if len(parts) > 1:
            found |= set.intersection(*(set(self._holding.get(part, ())) for part in parts))
        return found


def spellings(synset: Synset) -> frozenset[str]:
    """All names of a synset, in the singular and plural, in lower case."""
    return frozenset(t.lower() for name in synset.synonyms for t in (name, plural(name)))


def instances(one: Seen, names: frozenset[str]) -> int:
    """How many annotated objects of a photograph are of a synset."""
    return sum(count for category, count in one.objects.items() if category.lower() in names)


def _fit(one: Seen, query: Query, names: frozenset[str]) -> tuple[float, ...]:
    """How badly a photograph fits a query: less is better."""
    count = instances(one, names)
    if query.added in NUMBERS:
        return (float(abs(count - NUMBERS[query.added])), float(-count))
    if query.heuristic in {"quantity", "collective"}:
        return (float(-min(count, 10)),)
    terms = {c.lower() for c in one.objects} | set(one.words)
    word = query.added.lower()
    stem = word.removesuffix("ing")
    wanted = {stem, stem + "s", stem + "e", word} if query.heuristic == "activity" else {word, plural(word)}
    return (float(not wanted & terms), float(-min(count, 10)))


class _SearchResult(msgspec.Struct):
    query: str
    rank: int
    address: str
    similar: list[str] = []


class SavedSearch:
    """What an image search answered, from a file: query, rank, address, and the addresses of similar images.

    JSON lines {"query": "two acorns", "rank": 1, "address": "https://...", "similar": ["https://...", ...]}, or a CSV
    file with these columns, the similar addresses divided by spaces.
    """

    def __init__(self, path: Path | str, left_out: Iterable[str] = (), names: Mapping[str, str] | None = None) -> None:
        self.path = Path(path)
        out, names = set(left_out), names or {}
        self._results: dict[str, list[str]] = {}
        self._similar: dict[tuple[str, str], list[str]] = {}
        for row in sorted(_read_results(self.path), key=lambda r: (r.query, r.rank)):
            address = names.get(row.address, row.address)
            near = [names.get(a, a) for a in row.similar]
            self._similar[row.query, address] = [a for a in dict.fromkeys(near) if a not in out and a != address]
            if address not in out:
                self._results.setdefault(row.query, []).append(address)
        if not self._results:
            raise UserError(f"{self.path} holds no result.", "Give a query, a rank and an address on each line.")

    @property
    def addresses(self) -> list[str]:
        """Every photograph that the file names, once, in the order of the results."""
        own = [a for query, results in self._results.items() for r in results for a in (r, *self._similar[query, r])]
        return list(dict.fromkeys(own))

    def ranked(self, query: Query, limit: int) -> list[str]:
        return self._results.get(query.text, [])[:limit]

    def similar(self, photograph: str, query: Query, limit: int) -> list[tuple[str, float]]:
        near = self._similar.get((query.text, photograph), [])[:limit]
        return [(name, 1 - place / (SIMILAR + 1)) for place, name in enumerate(near, start=1)]  # only ranks are known


def _whole_rows(rows: csv.DictReader[str], path: Path, fix: str) -> Iterator[Json]:
    """Rows of a CSV file that have no more cells than the header."""
    try:
        for row in rows:
            if None in row:
                raise UserError(f"{path}, line {rows.line_num}: more cells than the header has.", fix)
            yield dict(row)
    except csv.Error as error:
        raise UserError(f"{path}, line {rows.line_num}: {error}.", fix) from None


def _read_results(path: Path) -> list[_SearchResult]:
    fix = "Each result has a query, a rank, an address and similar addresses."
    if path.suffix != ".csv":
        return read_lines(path, _SearchResult, fix)
    out = []
    rows = csv.DictReader(read_text(path, "Give a file of search results.").splitlines(), restval="")
    for number, row in enumerate(_whole_rows(rows, path, fix), start=2):
        try:
            similar = (row.get("similar") or "").split()
            out.append(msgspec.convert({**row, "similar": similar}, _SearchResult, strict=False))
        except msgspec.ValidationError as error:
            raise UserError(f"{path}, line {number}: {in_words(error)}", fix) from None
    return out
