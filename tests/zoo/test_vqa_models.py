"""VCR's VQA baselines: what they are shown, and how they fuse it."""

from __future__ import annotations

import torch

from veridical.zoo.mutan import Tucker
from veridical.zoo.vqa_parts import glimpse, named


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
