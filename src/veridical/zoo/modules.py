"""The modules of NMN and N2NMN, and a machine that runs a batch of layouts (`layouts`), all examples at once.

    find[x]          a_k = sigmoid(h_k . W x + b x)             h_k = relu(V [v_k; place]): what is seen at place k
    filter[x](a)     a and find[x]
    relocate[x](a)   a'_k = sigmoid(sum_j K_x(k - j) a_j - b x) a kernel over distances, made of the text
    and, or, not     a b,  a + b - a b,  1 - a                  (Hu et al.: minimum and maximum, whose gradient
                                                                reaches one argument only)
    count[x](a)      t_p = sigmoid(w(x) . hat(sum_{k in p} a_k) + u(x) . hat(sum_{k in p} o_k (1 - a_k)))
                     in each panel, the same at all its places; o_k = sigmoid(h_k . z + c): things that are not meant
    total[x](a)      the same of all panels together
    boxes[x](t)      the same of the number of panels that t holds in
    compare[x](a,b)  the same of the difference of two counts
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
from torch.nn import functional

from veridical.zoo.layers import perceptron
from veridical.zoo.layouts import MODULES, NUMBER, arguments
from veridical.zoo.towers import with_places

RARE = -4.5  # what `find` begins with: few places are anything
MOST, MOST_BOXES = 9, 3  # the largest numbers that are told apart
BASIS = 12  # kernels that those of `relocate` are mixed from
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

    found: Tensor  # (N, P, K)
    seen: Tensor  # (B, P, K, W), of all examples
    things: Tensor  # (N, P, K)
    texts: Tensor  # (N, D)
    amounts: Tensor  # (N, W)
    rows: Tensor  # (N,): which examples these are
    shape: tuple[int, int]  # of a panel's places


class Machine(nn.Module):
    """Runs layouts over maps; what it returns is the truth of the last step."""

    def __init__(self, channels: int, text: int, width: int, reach: int, modules: Sequence[str] = MODULES[1:]) -> None:
        super().__init__()
        self.modules_used, self.reach = frozenset(modules), reach
        self.see = nn.Conv2d(channels + 2, width, 1)
        self.seek = nn.Linear(text, width + 1)
        with torch.no_grad():
            self.seek.bias[-1] = RARE
        self.amount = perceptron([text, width, width])
        sizes = {"count": MOST + 2, "total": MOST + 2, "boxes": MOST_BOXES + 2, "compare": 2 * MOST + 2}
        self.fits = nn.ModuleDict({name: nn.Linear(width, size) for name, size in sizes.items() if name in modules})
        self.thing = nn.Linear(width, 1)
        self.others = nn.Linear(width, MOST + 2)
        with torch.no_grad():
            self.thing.bias.fill_(RARE)
        if "relocate" in modules:
            side = 2 * reach + 1
            self.kernels = nn.Parameter(torch.randn(BASIS, side * side) / side)
            self.shift = nn.Linear(text, BASIS + 1)
        if "describe" in modules:
            self.describe = perceptron([2 * width + text, width, 1])

    def forward(self, maps: Tensor, steps: Tensor, texts: Tensor) -> Tensor:
        """maps (B, P, C, h, w), steps (B, S) module numbers, texts (B, S, D) -> the probability of true, (B,)."""
        batch, panels, _, height, width = maps.shape
        seen = torch.relu(self.see(with_places(maps.flatten(0, 1))))  # (B P, W, h, w)
        seen = seen.unflatten(0, (batch, panels)).flatten(3).transpose(2, 3)  # (B, P, K, W)
        sought = self.seek(texts)  # (B, S, W + 1)
        found = torch.einsum("bpkw,bsw->bspk", seen, sought[..., :-1]) / seen.shape[-1] ** 0.5
        found = torch.sigmoid(found + sought[..., -1, None, None])  # (B, S, P, K)
        amounts = self.amount(texts)  # (B, S, W)
        things = torch.sigmoid(self.thing(seen)).squeeze(3)  # (B, P, K)
        taken = torch.from_numpy(arguments(steps.cpu().numpy()))  # (B, S + 1, 2)
        values = [torch.zeros_like(found[:, 0])]  # (B, P, K) each
        for step in range(steps.shape[1]):
            past = torch.stack(values, dim=1)  # (B, 1 + step, P, K)
            value = torch.zeros_like(values[0])
            for number in sorted(set(steps[:, step].tolist()) - {0}):
                rows = (steps[:, step] == number).nonzero()[:, 0]  # (N,)
                first, second = (past[rows, taken[rows.cpu(), step, n].to(rows.device)] for n in (0, 1))  # (N, P, K)
                own = _Asked(
                    found[rows, step], seen, things[rows], texts[rows, step], amounts[rows, step], rows, (height, width)
                )
                value = value.index_copy(0, rows, self._run(MODULES[number], first, second, own))
            values.append(value)
        last = torch.stack(values, dim=1)[torch.arange(batch), taken[:, -1, 0]]  # (B, P, K)
        return last.mean(dim=(1, 2)).clamp(SURE, 1 - SURE)

    def _run(self, module: str, first: Tensor, second: Tensor, own: _Asked) -> Tensor:
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
            return self._relocate(first, own)
        if module == "describe":
            return self._describe(first, own)
        if module == "boxes":
            numbers, least, most = first.mean(2).sum(1, keepdim=True), 0, MOST_BOXES  # (N, 1)
        elif module == "compare":
            numbers, least, most = first.sum(2) - second.sum(2), -MOST, MOST  # (N, P)
        elif module == "total":
            numbers, least, most = first.sum(dim=(1, 2))[:, None], 0, MOST  # (N, 1)
        else:
            numbers, least, most = first.sum(2), 0, MOST  # (N, P)
        weights = self.fits[module](own.amounts)[:, None]  # (N, 1, numbers told apart)
        fit = (hat(numbers, least, most) * weights).sum(2)  # (N, P or 1)
        if module in ("count", "total"):
            rest = (own.things * (1 - first)).sum(2)  # (N, P)
            rest = rest if module == "count" else rest.sum(1, keepdim=True)
            fit = fit + (hat(rest, 0, MOST) * self.others(own.amounts)[:, None]).sum(2)
        truth = torch.sigmoid(fit)  # (N, P or 1)
        return truth[:, :, None].expand_as(first)

    def _relocate(self, first: Tensor, own: _Asked) -> Tensor:
        """(N, P, K) -> (N, P, K): each example has a kernel of its own, so examples are groups of one convolution."""
        shifted = self.shift(own.texts)  # (N, BASIS + 1)
        side = 2 * self.reach + 1
        kernels = (shifted[:, :-1] @ self.kernels).view(-1, 1, side, side)  # (N, 1, side, side)
        maps = first.transpose(0, 1).unflatten(2, own.shape)  # (P, N, h, w)
        moved = functional.conv2d(maps, kernels, padding=self.reach, groups=len(kernels))  # (P, N, h, w)
        return torch.sigmoid(moved.flatten(2).transpose(0, 1) - shifted[:, -1, None, None])

    def _describe(self, first: Tensor, own: _Asked) -> Tensor:
        """(N, P, K) -> (N, P, K), the same at all places of a panel."""
        seen = own.seen[own.rows]  # (N, P, K, W)
        weighed = first[..., None] * seen  # (N, P, K, W)
        mean = weighed.sum(2) / (first.sum(2, keepdim=True) + 1)  # (N, P, W)
        texts = own.texts[:, None].expand(-1, seen.shape[1], -1)  # (N, P, D)
        truth = torch.sigmoid(self.describe(torch.cat([mean, weighed.amax(2), texts], dim=2)))  # (N, P, 1)
        return truth.expand_as(first)


def evidence(truth: Tensor) -> Tensor:
    """The probability of true (B,) as scores of false and true, (B, 2)."""
    logit = torch.log(truth) - torch.log1p(-truth)
    return torch.stack([-logit / 2, logit / 2], dim=1)


def numbered(layout: Sequence[str], length: int) -> list[int]:
    """Module numbers of a layout, filled up with 0."""
    return [NUMBER[name] for name in layout] + [0] * (length - len(layout))


def shortest(steps: Tensor) -> Tensor:
    """Steps without the columns that no layout reaches: (B, S') of (B, S), at least one."""
    used = int((steps != 0).any(0).sum())
    return steps[:, : max(used, 1)]
