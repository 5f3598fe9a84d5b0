"""The modules of NMN and N2NMN, and a machine that runs a batch of layouts (`layouts`), all examples at once.

    find[x]          a_k = sigmoid(h_k . W x + b x)             h_k: what is seen at place k (`eyes`)
    filter[x](a)     a and find[x]
    relocate[x](a)   a'_k = sigmoid(c x moved_k - b x)          a, moved along the relation that the text names
    and, or, not     a b,  a + b - a b,  1 - a                  (Hu et al.: minimum and maximum, whose gradient
                                                                reaches one argument only)
    count[x](a)      t_p = sigmoid(w(x) . hat(sum_{k in p} a_k) + u(x) . hat(sum_{k in p} o_k (1 - a_k)))
                     in each panel, the same at all its places; o_k = sigmoid(h_k . z + c): things that are not meant
    total[x](a)      the same of all panels together
    boxes[x](t)      t = sigmoid(w(x) . hat(number of panels that t holds in))
    compare[x](a,b)  t_p = sigmoid(w(x) . hat(difference of the two counts))
    describe[x](a)   t_p = sigmoid(f([mean of h by a; max of a h; x]))

hat(n) spreads a count over 0, 1, 2 .. by its distance from each, so that w(x) can say of every number whether it fits.
(Andreas et al. 2016, section 4.1; Hu et al. 2017, table 1; `not`, `total` and `boxes` are ours: NLVR has boxes.)
Modules of one step are run together over the examples that ask for them, and all `find`s of a batch are one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.eyes import Cells, Seen, Slots
from veridical.zoo.layers import perceptron
from veridical.zoo.layouts import MODULES, NUMBER, arguments

RARE = -3.0  # what `find` begins with: few things are meant
RARE_CELLS = -4.5  # and of many cells still fewer
MOST, MOST_BOXES = 9, 3  # the largest numbers that are told apart
SURE = 1e-4  # how near a truth comes to 0 and 1


def hat(numbers: Tensor, least: int, most: int) -> Tensor:
    """Soft one-hot of numbers, past the ends that of the ends, and the number itself: (..., most - least + 2).

    The last keeps a gradient where there is far too much, as before training.

    >>> hat(torch.tensor([1.5]), 0, 3).tolist()
    [[0.0, 0.5, 0.5, 0.0, 0.5]]
    """
    ticks = torch.arange(least, most + 1, device=numbers.device, dtype=numbers.dtype)
    near = torch.relu(1 - (numbers.clamp(least, most)[..., None] - ticks).abs())
    return torch.cat([near, numbers[..., None] / most], dim=-1)


@dataclass
class _Asked:
    """What the modules of one step get beside their arguments, for the N examples that ask for them."""

    rows: Tensor  # (N,): which examples these are
    found: Tensor  # (N, P, K)
    things: Tensor  # (N, P, K)
    texts: Tensor  # (N, D)
    amounts: Tensor  # (N, W)


class Machine(nn.Module):
    """Runs layouts over what eyes see; what it returns is the truth of the last step."""

    def __init__(self, eyes: Cells | Slots, text: int, width: int, modules: Sequence[str] = MODULES[1:]) -> None:
        super().__init__()
        self.eyes = eyes
        self.seek = nn.Linear(text, width + 1)
        self.amount = perceptron([text, width, width])
        sizes = {"count": MOST + 2, "total": MOST + 2, "boxes": MOST_BOXES + 2, "compare": 2 * MOST + 2}
        self.fits = nn.ModuleDict({name: nn.Linear(width, size) for name, size in sizes.items() if name in modules})
        self.thing = nn.Linear(width, 1)
        self.others = nn.Linear(width, MOST + 2)
        self.reached = nn.Linear(text, 2)
        self.describe = perceptron([2 * width + text, width, 1])
        with torch.no_grad():
            self.seek.bias[-1] = self.thing.bias[0] = RARE if isinstance(eyes, Slots) else RARE_CELLS

    def forward(self, panels: Tensor, steps: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
        """panels as eyes see them, steps (B, S) module numbers, texts (B, S, D).

        Returns the probability of true, (B,), and how many things or panels each step came to, (B, S).
        """
        seen = self.eyes(panels)
        places, real = seen.places, seen.real  # (B, P, K, W), (B, P, K)
        sought = self.seek(texts)  # (B, S, W + 1)
        found = torch.einsum("bpkw,bsw->bspk", places, sought[..., :-1]) / places.shape[-1] ** 0.5
        found = torch.sigmoid(found + sought[..., -1, None, None]) * real[:, None]  # (B, S, P, K)
        things = torch.sigmoid(self.thing(places)).squeeze(3) * real  # (B, P, K)
        amounts = self.amount(texts)  # (B, S, W)
        taken = torch.from_numpy(arguments(steps.cpu().numpy())).to(steps.device)  # (B, S + 1, 2)
        values = [torch.zeros_like(things)]  # (B, P, K) each
        for step in range(steps.shape[1]):
            past = torch.stack(values, dim=1)  # (B, 1 + step, P, K)
            value = torch.zeros_like(things)
            for number in sorted(set(steps[:, step].tolist()) - {0}):
                rows = (steps[:, step] == number).nonzero()[:, 0]  # (N,)
                first, second = (past[rows, taken[rows, step, n]] for n in (0, 1))  # (N, P, K)
                own = _Asked(rows, found[rows, step], things[rows], texts[rows, step], amounts[rows, step])
                value = value.index_copy(0, rows, self._run(MODULES[number], first, second, own, seen))
            values.append(value)
        past = torch.stack(values, dim=1)  # (B, 1 + S, P, K)
        last = past[torch.arange(len(steps), device=steps.device), taken[:, -1, 0]]  # (B, P, K)
        of_panels = (steps >= NUMBER["count"])[:, :, None, None]  # truths, which are the same at all places of a panel
        each = torch.where(of_panels, past[:, 1:] / past.shape[3], past[:, 1:] * real[:, None])  # (B, S, P, K)
        return last.mean(dim=(1, 2)).clamp(SURE, 1 - SURE), each.sum(dim=(2, 3))

    def _run(self, module: str, first: Tensor, second: Tensor, own: _Asked, seen: Seen) -> Tensor:
        """One module over some examples: (N, P, K)."""
        if module == "find":
            return own.found
        if module == "filter":
            return first * own.found
        if module == "and":
            return first * second
        if module == "or":
            return first + second - first * second
        if module == "not":
            return 1 - first
        if module == "relocate":
            moved = self.eyes.move(first, own.texts, seen, own.rows)  # (N, P, K)
            scale, shift = self.reached(own.texts)[:, :, None, None].unbind(1)  # (N, 1, 1)
            return torch.sigmoid((4 + scale) * moved - 2 - shift)
        if module == "describe":
            return self._describe(first, own, seen)
        return torch.sigmoid(self._fit(module, first, second, own, seen.real[own.rows]))[:, :, None].expand_as(first)

    def _fit(self, module: str, first: Tensor, second: Tensor, own: _Asked, real: Tensor) -> Tensor:
        """How well a number fits what is said of it: (N, P), or (N, 1) where it is of all panels."""
        if module == "boxes":
            numbers, least, most = first.mean(2).sum(1, keepdim=True), 0, MOST_BOXES  # (N, 1)
        elif module == "compare":
            numbers, least, most = ((first - second) * real).sum(2), -MOST, MOST  # (N, P)
        else:
            numbers, least, most = (first * real).sum(2), 0, MOST  # (N, P)
            rest = (own.things * (1 - first)).sum(2)  # (N, P)
            if module == "total":
                numbers, rest = numbers.sum(1, keepdim=True), rest.sum(1, keepdim=True)  # (N, 1)
        fit: Tensor = (hat(numbers, least, most) * self.fits[module](own.amounts)[:, None]).sum(2)
        if module in ("count", "total"):
            fit = fit + (hat(rest, least, most) * self.others(own.amounts)[:, None]).sum(2)
        return fit

    def _describe(self, first: Tensor, own: _Asked, seen: Seen) -> Tensor:
        """(N, P, K) -> (N, P, K), the same at all places of a panel."""
        weighed = first[..., None] * seen.places[own.rows]  # (N, P, K, W)
        mean = weighed.sum(2) / (first.sum(2, keepdim=True) + 1)  # (N, P, W)
        texts = own.texts[:, None].expand(-1, first.shape[1], -1)  # (N, P, D)
        truth = torch.sigmoid(self.describe(torch.cat([mean, weighed.amax(2), texts], dim=2)))  # (N, P, 1)
        return truth.expand_as(first)


def evidence(truth: Tensor) -> Tensor:
    """The probability of true (B,) as scores of false and true, (B, 2)."""
    logit = torch.log(truth) - torch.log1p(-truth)
    return torch.stack([-logit / 2, logit / 2], dim=1)


def shortest(steps: Tensor) -> Tensor:
    """Steps without the columns that no layout reaches: (B, S') of (B, S), at least one."""
    used = int((steps != 0).any(0).sum())
    return steps[:, : max(used, 1)]
