"""How much can somebody gain by sending files and watching the score? What limits and rounding change of it.

The attacker knows nothing of the items. From a file of guesses it flips the answers of a few items at a time, keeps
what scored higher, and goes on (climbing); or it sends random files and has them vote, each weighted by its score above
chance (voting, which learns from every score). Both see scores rounded as the board rounds them.

    python benchmarks/board_probing.py
"""

from __future__ import annotations

import numpy as np

TRIALS = 40


def rounded(right: int, items: int, points: float) -> float:
    return round(100 * right / items / points) * points


def climb(items: int, tries: int, points: float, rng: np.random.Generator) -> float:
    """Flip a block at a time; keep it where the score rose. The final accuracy."""
    truth, guess = rng.integers(2, size=items), rng.integers(2, size=items)
    best = rounded(int((guess == truth).sum()), items, points)
    block = max(1, round(items**0.5))
    for _ in range(tries - 1):
        flipped = guess.copy()
        chosen = rng.choice(items, block, replace=False)
        flipped[chosen] ^= 1
        seen = rounded(int((flipped == truth).sum()), items, points)
        if seen > best:
            guess, best = flipped, seen
    return float((guess == truth).mean())


def vote(items: int, tries: int, points: float, rng: np.random.Generator) -> float:
    """Random files, weighted by how far their score is from the mean. The accuracy of their vote."""
    truth = rng.integers(2, size=items)
    files = rng.integers(2, size=(tries - 1, items))
    seen = np.array([rounded(int((one == truth).sum()), items, points) for one in files])
    votes = ((2 * files - 1) * (seen - 50)[:, None]).sum(0)
    guess = np.where(votes == 0, rng.integers(2, size=items), votes > 0)
    return float((guess == truth).mean())


def main() -> None:
    print("gain over guessing in points, mean of", TRIALS, "attacks on a two-way split")
    print(f"{'items':>7} {'tries':>6} {'rounded to':>11} {'climbing':>9} {'voting':>7}")
    for items in (400, 2000, 7000):
        for tries in (5, 35, 150, 1800):
            for points in (0.1, 1.0):
                rng = np.random.default_rng([items, tries])
                gains = [
                    100 * (np.mean([attack(items, tries, points, rng) for _ in range(TRIALS)]) - 0.5)
                    for attack in (climb, vote)
                ]
                print(f"{items:7,} {tries:6,} {points:11} {gains[0]:9.1f} {gains[1]:7.1f}", flush=True)


if __name__ == "__main__":
    main()
