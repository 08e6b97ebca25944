"""Medians of paired ratios with a 95 % interval that assumes nothing about the noise."""
import math
from statistics import median


def interval_of_median(values):
    """Order statistics between which the median lies with at least 95 %; the extremes when there are too few."""
    ordered = sorted(values)
    n = len(ordered)
    below = 0.0
    rank = 0  # how many values may be cut off at either end
    while rank < n // 2:
        below += math.comb(n, rank) / 2**n
        if 2 * below > 0.05:
            break
        rank += 1
    cut = max(rank - 1, 0)
    return ordered[cut], ordered[n - 1 - cut]


def ratio(numerators, denominators):
    """Of two series of trials taken in turn: {median, low, high, pairs}; trials that are None pair with nothing."""
    ratios = [a / b for a, b in zip(numerators, denominators) if a and b]
    if not ratios:
        return None
    low, high = interval_of_median(ratios)
    return {"median": median(ratios), "low": low, "high": high, "pairs": len(ratios)}
