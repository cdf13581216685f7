"""Writes values.json: inputs and the outputs an independent package gives for them.

Run: python3 -m venv VENV && VENV/bin/pip install numpy scipy && VENV/bin/python make_reference.py
Made with NumPy 2.4.6 and SciPy 1.17.1. Where SciPy has no such function, the definition is followed literally: all pairs are
made and sorted, all signs are enumerated, nothing is approximated that the definition does not approximate.
"""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import special, stats

random = np.random.default_rng(20240611)


def rounded(values):
    """Few digits keep the file readable; the rounded numbers are the inputs on both sides."""
    return [float(f"{value:.7g}") for value in values]


def series():
    """Samples of many sizes and shapes; times, hence positive."""
    yield "two", [3.0, 5.0]
    yield "few", [2.5, 0.5, 9.0, 4.0, 4.5, 1.0]
    yield "ties", [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 7.0, 7.0, 1.0, 2.0]
    yield "normal", rounded(random.normal(100, 5, 30))
    yield "skewed", rounded(random.lognormal(3, 0.4, 51))
    yield "large", rounded(random.gamma(2.0, 30.0, 200))
    yield "steps", rounded(np.concatenate([random.normal(50, 2, 33), random.normal(52, 2, 40)]))


def differences():
    """Paired differences; the last ones have ties and zeros."""
    for count in (6, 7, 10, 25, 49, 50, 51, 120):
        yield rounded(random.standard_t(4, count) + 0.3)
    yield [1.0, -1.0, 2.0, 2.0, 0.0, 3.0, -2.0, 4.0, 5.0, 0.0, 6.0, 1.0]
    yield [float(value) for value in random.integers(-3, 6, 80)]


def descriptive(x):
    n = len(x)
    out = {
        "mean": np.mean(x),
        "standard_deviation": np.std(x, ddof=1),
        "median": np.median(x),
        "quantiles": [[p, np.quantile(x, p, method="linear")] for p in (0.0, 0.1, 0.25, 0.9, 0.99, 1.0)],
        "error_999": stats.t.isf(0.0005, n - 1) * stats.sem(x),
    }
    return out


def median_interval(x, confidence):
    """Order statistics by the binomial distribution function, searched from the ends."""
    n, tail = len(x), (1 - confidence) / 2
    ranks = [k for k in range((n + 1) // 2) if stats.binom.cdf(k, n, 0.5) <= tail]
    if not ranks:
        return None
    ordered = np.sort(x)
    return [np.median(x), ordered[ranks[-1]], ordered[n - 1 - ranks[-1]]]


def signed_rank_counts(n):
    """Exact integers: the number of sign vectors with each rank sum."""
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for value, ways in enumerate(counts):
            longer[value + rank] += ways
        counts = longer
    return counts


def hodges_lehmann(d, confidence):
    n, tail = len(d), (1 - confidence) / 2
    walsh = np.sort([(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)])
    if n <= 50:
        total, so_far, outside = 2**n, 0, -1
        for value, ways in enumerate(signed_rank_counts(n)):
            so_far += ways
            if Fraction(so_far, total) > Fraction(tail):
                break
            outside = value
    else:
        deviation = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        outside = int(np.floor(n * (n + 1) / 4 - 0.5 - stats.norm.isf(tail) * deviation))
    if outside < 0:
        return None
    return [np.median(walsh), walsh[outside], walsh[len(walsh) - 1 - outside]]


def halves(x):
    """All differences of logs; ranks from SciPy's Mann-Whitney distribution."""
    half = len(x) // 2
    first, second = np.log(x[:half]), np.log(x[len(x) - half :])
    shifts = np.sort(np.subtract.outer(second, first).ravel())
    if 2 * half <= 50:
        pairs = np.zeros(half * half + 1)
        ways = rank_sum_counts(half, half)
        cumulative = np.cumsum(ways) / special.comb(2 * half, half, exact=True)
        outside = int(np.searchsorted(cumulative, 0.025, side="right")) - 1
        assert len(ways) == len(pairs)
    else:
        deviation = np.sqrt(half * half * (2 * half + 1) / 12)
        outside = int(np.floor(half * half / 2 - 0.5 - stats.norm.isf(0.025) * deviation))
    return list(np.exp([np.median(shifts), shifts[outside], shifts[len(shifts) - 1 - outside]]))


def rank_sum_counts(m, n):
    """Mann and Whitney's recursion on the series of the largest sample."""
    table = {(0, j): [1] for j in range(n + 1)} | {(i, 0): [1] for i in range(m + 1)}
    for i, j in itertools.product(range(1, m + 1), range(1, n + 1)):
        counts = [0] * (i * j + 1)
        for value, ways in enumerate(table[i - 1, j]):
            counts[value + j] += ways
        for value, ways in enumerate(table[i, j - 1]):
            counts[value] += ways
        table[i, j] = counts
    return table[m, n]


def pettitt(x):
    n = len(x)
    sign = np.sign(np.subtract.outer(x, x))
    statistics = [abs(sign[:t, t:].sum()) for t in range(1, n)]
    largest = max(statistics)
    p = min(1.0, 2 * np.exp(-6 * largest**2 / (n**3 + n**2)))
    return {"index": int(np.argmax(statistics)) + 1, "p": p}


def noise(x):
    n, centered = len(x), np.array(x) - np.mean(x)
    skewness, kurtosis = stats.skew(x, bias=False), stats.kurtosis(x, bias=False)
    return {
        "lag1_autocorrelation": np.sum(centered[1:] * centered[:-1]) / np.sum(centered**2),
        "change_point": pettitt(x),
        "halves_differ": halves(x) if n >= 8 else None,
        "bimodality_coefficient": (skewness**2 + 1) / (kurtosis + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))),
    }


def fits():
    for count in (5, 8, 30, 101):
        x = rounded(np.sort(random.uniform(1, 100, count)))
        y = rounded(3 * np.array(x) ** 1.3 * random.lognormal(0, 0.2, count))
        yield x, y
    # Ties in x as in repeated populations, ties in y as with a coarse clock.
    yield [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0], [3.0, 4.0, 4.0, 5.0, 5.0, 7.0, 6.0, 8.0, 9.0, 9.0]


def fit(x, y):
    def sen(confidence):
        slopes = stats.theilslopes(y, x, alpha=confidence)
        return [confidence, [slopes.slope, slopes.low_slope, slopes.high_slope]]

    line = stats.linregress(np.log(x), np.log(y))
    # For 5 samples SciPy's interval at 99 % is all slopes; the crate returns none.
    levels = (0.9, 0.95) if len(x) == 5 else (0.9, 0.95, 0.99)
    return {
        "x": x,
        "y": y,
        "theil_sen": [sen(level) for level in levels],
        "power_law": line.slope,
    }


def holm(p):
    """Step by step with the closed testing definition: reject while p_(i) <= alpha / (m - i)."""
    order, m = np.argsort(p, kind="stable"), len(p)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(1, np.maximum.accumulate((m - np.arange(m)) * np.array(p)[order]))
    return adjusted


def hodges_lehmann_of_rows(x):
    """The median of all Walsh averages of each row."""
    i, j = np.triu_indices(x.shape[1])
    return np.median((x[:, i] + x[:, j]) / 2, axis=1)


def hierarchical(epochs, draws=100_000, seed=5):
    """Literally: draw epochs, draw the rounds of each, take the mean of the centers. 100 000 draws leave 0.3 % of error.

    The deviation of the draws is multiplied by sqrt(E / (E - 1)); the interval is Student's.
    """
    # Separate generator, so that later inputs do not depend on the number of draws.
    random = np.random.default_rng(seed)
    count = len(epochs)
    chosen = random.integers(0, count, (draws, count))
    means = np.zeros(draws)
    for number, rounds in enumerate(np.array(epoch) for epoch in epochs):
        for place in range(count):
            rows = np.flatnonzero(chosen[:, place] == number)
            drawn = rounds[random.integers(0, len(rounds), (len(rows), len(rounds)))]
            means[rows] += hodges_lehmann_of_rows(drawn) / count
    error = np.std(means) * np.sqrt(count / (count - 1))
    centers = [hodges_lehmann_of_rows(np.array([epoch]))[0] for epoch in epochs]
    t = np.mean(centers) / error
    return {
        "epochs": epochs,
        "value": np.mean(centers),
        "standard_error": error,
        "critical": [[level, stats.t.isf((1 - level) / 2, count - 1)] for level in (0.9, 0.95, 0.99)],
        "p": 2 * stats.t.sf(abs(t), count - 1),
    }


def epoch_sets():
    """Epochs with large, small and no differences; the last of unequal lengths."""
    for between, lengths in ((1.0, [8] * 5), (0.1, [12] * 6), (0.0, [6] * 9), (0.4, [3, 9, 14, 5, 7, 20, 4])):
        yield [rounded(random.normal(0.5 + random.normal(0, between), 0.5, length)) for length in lengths]


def resampled_quantiles(rounds, p, draws=20_000, seed=6):
    """Direct: draw rounds, pool their values, take the quantiles of type 1; expanded percentile interval."""
    random = np.random.default_rng(seed)
    count = len(rounds)
    values = [np.repeat([value for value, _ in round], [times for _, times in round]) for round in rounds]
    tail = stats.norm.cdf(-np.sqrt(count / (count - 1)) * stats.t.isf(0.025, count - 1))
    drawn = [
        np.quantile(np.concatenate([values[i] for i in random.integers(0, count, count)]), p, method="inverted_cdf")
        for _ in range(draws)
    ]
    observed = np.quantile(np.concatenate(values), p, method="inverted_cdf")
    # The ends depend on 1000 draws: they lie between the quantiles of tails some standard deviations apart.
    off = 4 * np.sqrt(tail * (1 - tail) / 1000) + 1 / 1000
    ends = lambda q: np.quantile(drawn, np.clip(q, 0, 1), axis=0, method="inverted_cdf")
    return {
        "rounds": rounds,
        "p": p,
        "value": list(observed),
        "low": [list(ends(tail - off)), list(ends(tail + off))],
        "high": [list(ends(1 - tail - off)), list(ends(1 - tail + off))],
    }


def latency_sets():
    """Rounds with a drifting level, of skewed latencies in whole nanoseconds, as [value, count]."""
    for count, operations in ((8, 60), (40, 100)):
        rounds = []
        for level in random.normal(6.0, 0.1, count):
            values, times = np.unique(random.lognormal(level, 0.3, operations).astype(int), return_counts=True)
            rounds.append([[int(v), int(t)] for v, t in zip(values, times)])
        yield rounds


def looks(first, last):
    """Each look after 1.5 times the rounds of the previous one, and the last round."""
    rounds = [first]
    while -(-rounds[-1] * 3 // 2) < last:
        rounds.append(-(-rounds[-1] * 3 // 2))
    return rounds if first == last else rounds + [last]


def narrow(new, old, confidence):
    """Half-widths of the intervals of ratio and difference."""
    ratio = hodges_lehmann(list(np.log(new) - np.log(old)), confidence)
    difference = hodges_lehmann(list(np.array(new) - np.array(old)), confidence)
    return {
        "new": new,
        "old": old,
        "confidence": confidence,
        "fraction": (np.exp(ratio[2]) - np.exp(ratio[1])) / 2,
        "absolute": (difference[2] - difference[1]) / 2,
    }


LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)

document = {
    "series": [
        {
            "name": name,
            "samples": x,
            **descriptive(x),
            "median_interval": [[level, median_interval(x, level)] for level in LEVELS],
            "noise": noise(x) if len(x) >= 4 else None,
        }
        for name, x in series()
    ],
    "paired": [
        {
            "differences": d,
            "hodges_lehmann": [[level, hodges_lehmann(d, level)] for level in LEVELS],
        }
        for d in differences()
    ],
    "fits": [fit(x, y) for x, y in fits()],
    "holm": [{"p": p, "adjusted": list(holm(p))} for p in ([0.01, 0.04, 0.03, 0.005], [0.5], rounded(random.uniform(0, 0.3, 12)))],
    "hierarchical": [hierarchical(epochs) for epochs in epoch_sets()],
    "resampled_quantiles": [resampled_quantiles(rounds, [0.5, 0.9, 0.99, 0.999]) for rounds in latency_sets()],
    "looks": [[[first, last], looks(first, last)] for first, last in ((30, 2000), (6, 6), (11, 400), (7, 11))],
    "narrow": [
        narrow(rounded(random.lognormal(5.1, 0.1, n)), rounded(random.lognormal(5, 0.1, n)), level)
        for n, level in ((20, 0.95), (45, 1 - 0.05 / 3), (90, 0.99))
    ],
}


def plain(value):
    """Converts NumPy numbers to Python's, for the JSON writer."""
    return value.item()


path = Path(__file__).with_name("values.json")
path.write_text(json.dumps(document, default=plain, indent=None, separators=(",", ":")).replace('{"', '\n{"') + "\n")
