"""A member of a team normalises its share of a batch; the first compares with the whole: `torchrun ... _norm.py`."""

from __future__ import annotations

import torch
from torch import nn

from veridical.training.team import join


def main() -> None:
    team = join("cpu")
    whole = torch.randn(7, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    weights = torch.randn(7, 3, 4, 5, generator=torch.Generator().manual_seed(1))
    mine = torch.arange(7)[team.rank :: team.size]
    ours, theirs = (nn.Sequential(nn.BatchNorm2d(3)) for _ in range(2))
    team.join_norms(ours)
    share, all_of_it = whole[mine].requires_grad_(), whole.clone().requires_grad_()
    for _ in range(2):
        (ours(share) * weights[mine]).sum().backward()
        (theirs(all_of_it) * weights).sum().backward()
    team.sum_gradients(ours.parameters())
    assert share.grad is not None
    assert all_of_it.grad is not None
    torch.testing.assert_close(share.grad, all_of_it.grad[mine])
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())
    for left, right in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(left.grad, right.grad)
    print("the same")


if __name__ == "__main__":
    main()
