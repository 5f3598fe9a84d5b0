"""From what was found in each panel to true or false: the last lines of NLVR's models, which their papers leave open
(CLEVR has one picture) or pool by a maximum.

    n_ps = sum_{k in p} sigmoid(m_ks)                      how many things of panel p belong to set s
    t_p = W2 relu(FiLM(W1 [steps(n_p); v_p] | q))          what holds in panel p; v_p: what else the model knows of it
    s   = W5 relu(W4 relu(FiLM(W3 [steps(sum_p n_p); steps(sum_p sigmoid(t_p)); max_p v_p] | q)))

`steps` writes a soft number as sigmoids at 1/2, 3/2 ...: counts are compared, not only added. Sets and truths are soft
numbers that a lesson can teach (`pointed`, `counted`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veridical.zoo.counted import SETS, close_to
from veridical.zoo.layers import perceptron
from veridical.zoo.pointed import TRUTHS, astray

NUMBERS = 8  # steps of a soft number
SHARP = 4.0  # of a step
FEW = 4.0  # things of a kind in a panel: sums are given in this unit
RARE, RARE_CELLS = -2.0, -4.5  # what logits of a set begin with, of objects and of many cells: few are meant
SOFT = 8  # soft sets of a model that has no number of its own for them; the first are taught
LESSON = 10.0  # what pointing weighs beside counting; both are auxiliary losses (`auxiliary_weight`)


def steps(numbers: Tensor) -> Tensor:
    """(..., M) -> (..., M x 8): which of 1/2, 3/2 ... a number is above."""
    thresholds = torch.arange(NUMBERS, device=numbers.device) + 0.5
    return torch.sigmoid(SHARP * (numbers[..., None] - thresholds)).flatten(-2)


class Verdict(nn.Module):
    """Scores false and true."""

    def __init__(self, sets: int, features: int, said: int, width: int, dropout: float) -> None:
        super().__init__()
        self.panel_in = nn.Linear(NUMBERS * sets + features, width)
        self.panel_film = nn.Linear(said, 2 * width)
        self.panel_out = nn.Linear(width, width)
        self.all_in = nn.Linear(NUMBERS * (sets + width) + features, width)
        self.all_film = nn.Linear(said, 2 * width)
        self.output = perceptron([width, width, 2], dropout)

    def forward(
        self, meant: Tensor, there: Tensor, features: Tensor | None, said: Tensor, wanted: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """meant (B, P, K, S) logits of sets, there (B, P, K), features (B, P, D), said (B, H) -> scores (B, 2); and
        what lessons are about: pointing where `wanted` (B, P, K + 1, 4) is given, else counting."""
        counts = (torch.sigmoid(meant) * there[..., None]).sum(2)  # (B, P, S)
        rest = [] if features is None else [features]
        scale, shift = self.panel_film(said)[:, None].chunk(2, dim=2)  # (B, 1, W)
        known = self.panel_in(torch.cat([steps(counts), *rest], dim=2))  # (B, P, W)
        truths = self.panel_out(torch.relu((1 + scale) * known + shift))  # (B, P, W)
        holds = torch.sigmoid(truths)
        largest = [one.amax(1) for one in rest]
        scale, shift = self.all_film(said).chunk(2, dim=1)  # (B, W)
        known = self.all_in(torch.cat([steps(counts.sum(1)), steps(holds.sum(1)), *largest], dim=1))
        scores: Tensor = self.output(torch.relu((1 + scale) * known + shift))
        if not self.training:
            return scores, {}
        if wanted is not None:
            return scores, {"astray": LESSON * astray(meant[..., :SETS], truths[..., :TRUTHS], wanted)}
        return scores, close_to(counts.sum(1)[:, :SETS], holds[:, :, 0].sum(1))
