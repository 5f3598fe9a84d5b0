"""What the requester sees: how far, how fast, what it will cost, how people agree."""

from __future__ import annotations

import krippendorff
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.collect import making
from tests.web.collect.test_people import came, opened

from veridical.web.collect.progress import agreement, growth
from veridical.web.collect.records import Offer


def test_what_is_still_to_come_is_counted_along_the_pipeline() -> None:
    service, _tx, clock = opened(making.project(fee=0.5), [making.contrast_task(f"s{k}") for k in range(10)])
    before = service.progress()
    assert before.kinds["contrast"].wanted == 10
    assert before.kinds["validate"].wanted == 10 * 4 + round(0.2 * 10 * 4 * 4)  # a fifth is held out
    assert (before.per_hour, before.seconds_left, before.cost) == (0.0, None, 0)
    who = came(service)
    for _ in range(4):
        offer = service.next(who, "writer")
        assert isinstance(offer, Offer)
        clock[0] += 900
        service.submit(who, offer.lease.id, making.answer(offer))
    found = service.progress()
    assert (found.kinds["contrast"].done, found.kinds["contrast"].open, found.sentences) == (4, 6, 4)
    assert found.kinds["validate"].wanted == 40  # none of those written was held out
    assert found.kinds["contrast"].seconds == 900
    assert found.cost == 4 * 200 * 3 // 2
    assert found.projected == (10 * 200 + 40 * 25) * 3 // 2
    assert found.per_hour == 4.0
    assert found.seconds_left == (6 + 40) / 4 * 3600
    assert found.alpha is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from([True, False, "nonsense"]), min_size=1, max_size=5), min_size=1, max_size=12))
def test_agreement_is_what_others_compute(said: list[list[bool | str]]) -> None:
    alpha, _ = agreement({str(k): some for k, some in enumerate(said)})
    values = {True: 1.0, False: 0.0, "nonsense": 2.0}
    table = np.full((5, len(said)), np.nan)
    for k, some in enumerate(said):
        table[: len(some), k] = [values[one] for one in some]
    pairable = [some for some in said if len(some) > 1]
    if len({one for some in pairable for one in some}) < 2:
        assert alpha is None
        return
    assert alpha is not None
    assert abs(alpha - krippendorff.alpha(table, level_of_measurement="nominal")) < 1e-9


def test_agreement_is_seen_as_it_grows() -> None:
    rng = np.random.default_rng(0)
    said: list[tuple[str, object]] = []
    for _ in range(5):  # each of five people judges all of the items
        said += [(f"i{k}", bool(k % 2) if rng.random() < 0.9 else not k % 2) for k in range(40)]
    found = growth(said, 5)
    assert [one.judgements for one in found] == [40, 80, 120, 160, 200]
    assert (found[0].alpha, found[0].kappa) == (None, None)  # nobody has judged what another did
    for one in found[1:]:
        first: dict[str, list[object]] = {}
        for item, verdict in said[: one.judgements]:
            first.setdefault(item, []).append(verdict)
        assert (one.alpha, one.kappa) == agreement(first)
        assert one.alpha is not None
        assert 0.4 < one.alpha < 0.9
    assert growth([]) == ()
    assert [one.judgements for one in growth(said[:3])] == [1, 2, 3]
