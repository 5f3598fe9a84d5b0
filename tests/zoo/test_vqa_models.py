"""VCR's VQA baselines: what they are shown, and how they fuse it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from veridical.training import configure
from veridical.zoo import load_model
from veridical.zoo.bottom_up_top_down import TopDown
from veridical.zoo.mlb import LowRank
from veridical.zoo.mutan import Tucker, TuckerAttention
from veridical.zoo.vqa_parts import glimpse, named

Asked = tuple[dict[str, torch.Tensor], torch.Tensor]
SIZES = {"responses": 16, "query": 16, "classes": 4, "regions": 4}


def test_bottom_up_top_down_is_shown_what_is_pointed_at() -> None:
    responses = torch.tensor([[[1, 3, 0], [1, 1, 1]]])  # the first response points at the object number 3
    query = torch.tensor([[1, 2, 0]])
    found = named(responses, query, 4)
    assert found.tolist() == [[[True, True, True, False], [True, True, False, False]]]


def test_tucker_fusion_is_a_tensor_of_low_rank() -> None:
    """z_k = sum_ij T_ijk q_i v_j, where slice k of T is a sum of `rank` products of two vectors (eq. 7 and 8)."""
    torch.manual_seed(0)
    fusion = Tucker(5, 6, 4, 3)
    for bias in (fusion.left.bias, fusion.right.bias):
        torch.nn.init.zeros_(bias)
    q, v = torch.rand(2, 5), torch.rand(2, 6)
    left, right = (m.weight.view(3, 4, 4) for m in (fusion.left, fusion.right))  # (R, k, i), (R, k, j)
    core = torch.einsum("rki,rkj->ijk", left, right)
    assert torch.linalg.matrix_rank(core[:, :, 0]) <= 3
    wanted = torch.einsum("ijk,bi,bj->bk", core, torch.tanh(fusion.first(q)), torch.tanh(fusion.second(v)))
    torch.testing.assert_close(fusion(q, v), wanted)


def test_a_glimpse_is_a_mean_over_what_is_there() -> None:
    seen = torch.tensor([[[1.0, 0], [0, 1], [5, 5]]])
    fit = torch.zeros(1, 3, 2)
    fit[0, 0, 1] = 50
    found = glimpse(fit, seen, torch.tensor([[True, True, False]]))
    torch.testing.assert_close(found, torch.tensor([[0.5, 0.5, 1, 0]]))


def questions(count: int) -> Asked:
    """Where is this? The photograph shows one of four places, all choices are the same four, questions say nothing."""
    places = torch.randint(4, (count,))
    order = torch.stack([torch.randperm(4) for _ in range(count)])
    words = torch.eye(16) * 4.0
    inputs = {
        "responses": words[torch.stack([torch.full_like(order, 5), order], dim=2)],  # two words each
        "response_tags": torch.ones(count, 4, 2, dtype=torch.int64),
        "query": words[torch.randint(6, 16, (count, 3))],
        "query_tags": torch.ones(count, 3, dtype=torch.int64),
        "classes": torch.tensor([2, 3, 3]).expand(count, 3),
        "places": torch.rand(count, 3, 5),
        "regions": torch.cat([2 * torch.eye(4)[places][:, None], torch.randn(count, 2, 4)], dim=1),
    }
    return inputs, (order == places[:, None]).int().argmax(1)


def about_one_of_four(count: int) -> Asked:
    """What colour is this one? Four people of four colours, and a tag says which is meant."""
    colours, asked = torch.stack([torch.randperm(4) for _ in range(count)]), torch.randint(4, (count,))
    inputs, _ = questions(count)
    order = inputs["responses"][:, :, 1, :4].argmax(2)  # (N, 4) the colour that each response names
    tags = torch.ones(count, 3, dtype=torch.int64)
    tags[:, 1] = asked + 2
    seen = torch.cat([torch.zeros(count, 1, 4), 2 * torch.eye(4)[colours]], dim=1)
    more = {"query_tags": tags, "regions": seen, "places": torch.rand(count, 5, 5)}
    inputs |= more | {"classes": torch.tensor([2, 3, 3, 3, 3]).expand(count, 5)}
    return inputs, (order == colours.gather(1, asked[:, None])).int().argmax(1)


@pytest.mark.parametrize("name", ["revisited-vqa", "bottom-up-top-down", "mlb", "mutan"])
def test_a_tag_says_who_is_meant(name: str) -> None:
    """To a model that is shown every region a tag is a name, which says nothing of where its owner stands."""
    assert learned(name, about_one_of_four, epochs=12) > 0.8
    assert learned(name, about_one_of_four, epochs=12, pointed=False) < 0.5


def test_a_perceptron_is_shown_the_mean_of_what_is_pointed_at() -> None:
    torch.manual_seed(0)
    inputs, _ = about_one_of_four(8)
    architecture = load_model("revisited-vqa")
    assert architecture.module is not None
    module = architecture.module(configure(architecture, {"around": 0})[0], SIZES).eval()
    other = dict(inputs, regions=inputs["regions"].clone())
    asked = inputs["query_tags"][:, 1] - 1
    for k in range(8):  # those who are not asked about change
        other["regions"][k, [n for n in range(1, 5) if n != asked[k]]] += 1
    assert torch.equal(module(**inputs), module(**other))
    other["regions"][torch.arange(8), asked] += 1
    assert not torch.isclose(module(**inputs), module(**other)).any()


@pytest.mark.parametrize("name", ["revisited-vqa", "bottom-up-top-down", "mlb", "mutan"])
@pytest.mark.parametrize("pointed", [True, False])
def test_what_only_the_photograph_shows_is_learned(name: str, pointed: bool) -> None:
    """Neither question nor response says anything: a blind one stays at a quarter."""
    assert learned(name, questions, pointed=pointed) > 0.8


def learned(name: str, ask: Callable[[int], Asked], epochs: int = 6, pointed: bool = True) -> float:
    """The share that is right of questions not seen in training."""
    torch.manual_seed(0)
    inputs, answers = ask(1024)
    architecture = load_model(name)
    assert architecture.module is not None
    config, _ = configure(architecture, {"hidden": 32, "around": 0, "pointed": pointed})
    module = architecture.module(config, SIZES)
    optimizer = torch.optim.AdamW(module.parameters(), 0.004)
    for _ in range(epochs):
        for rows in torch.randperm(768).split(32):
            scores = module(**{key: tensor[rows] for key, tensor in inputs.items()})
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores, answers[rows]).backward()
            optimizer.step()
    module.eval()
    scores = module(**{key: tensor[768:] for key, tensor in inputs.items()})
    return float((scores.argmax(1) == answers[768:]).float().mean())


@pytest.mark.parametrize(
    "fusion", [TopDown(32), LowRank(32, 2), TuckerAttention(32, 2, 5)], ids=lambda f: type(f).__name__
)
def test_before_training_what_is_seen_passes_whatever_is_asked(fusion: torch.nn.Module) -> None:
    """Questions with either sign would turn what is seen around: no two of them would learn the same."""
    torch.manual_seed(0)
    asked, seen = torch.randn(64, 32) / 3, torch.randn(2, 5, 32)  # a GRU's states are small
    there = torch.ones(64, 5, dtype=torch.bool)
    with torch.no_grad():
        one, other = (fusion(asked, shown.expand(64, 5, 32), there) for shown in seen)  # (64, H) each
    difference = one - other
    alike = torch.nn.functional.cosine_similarity(difference[:32], difference[32:]).mean()
    assert alike > 0.5
    assert difference.norm(dim=1).mean() > 0.3  # and it is not lost on the way
