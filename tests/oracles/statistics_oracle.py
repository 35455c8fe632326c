#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Computes the quantities of docs/statistics.md with scipy, statsmodels and exact arithmetic.

    statistics_oracle.py [--check FILE]

Prints the document that tests/fixtures/statistics.json holds and tests/unit/agent/test_statistics_oracle.c reads. --check
compares FILE with it instead, numbers to 1e-9. The packages are those of deps/oracles.txt.
"""

import argparse
import itertools
import json
import math
import sys

import numpy as np
import scipy.optimize
import scipy.stats
import statsmodels.api
import statsmodels.stats.contingency_tables
import statsmodels.stats.multitest
import statsmodels.stats.power
import statsmodels.stats.proportion

TOLERANCE = 1e-9


def wilson():
    for n in (1, 2, 3, 10, 37, 110, 210, 1000):
        for k in sorted({0, 1, n // 3, n // 2, n - 1, n}):
            low, high = statsmodels.stats.proportion.proportion_confint(k, n, method="wilson")
            yield {"k": k, "n": n, "low": float(low), "high": float(high)}


def mcnemar():
    for b, c in ((0, 0), (1, 0), (5, 5), (0, 6), (3, 9), (9, 3), (12, 30), (40, 41), (100, 150), (0, 500), (700, 1300)):
        table = [[10, b], [c, 10]]
        p = statsmodels.stats.contingency_tables.mcnemar(table, exact=True).pvalue
        yield {"only_a": b, "only_b": c, "p": 1.0 if b + c == 0 else float(p)}


def sign_flip():
    lists = ([0.5, 0.5], [1, 1, 1, 1, 1, 1], [1, -1, 0, 0, 1], [0.3, -0.1, 0.2, 0.25, -0.4, 0.9, 1.1], [0, 0, 0],
             [-2, -1, -1, -0.5, 0.25, -3, -0.75, -0.125], [round(math.sin(i) + 0.4, 3) for i in range(14)], [0.2] * 9 + [-0.2] * 3)
    for values in lists:
        exact = scipy.stats.permutation_test((np.array(values, float),), np.sum, permutation_type="samples",
                                             n_resamples=np.inf, vectorized=False)
        # scipy doubles the smaller tail; with all choices of signs the distribution is symmetric, so both are the same.
        yield {"differences": values, "p": float(exact.pvalue)}


def long_sign_flip():
    """More differences than are counted exactly: both are estimates, 4 standard errors of 100,000 draws apart at most."""
    for shift in (0.0, 0.1, 0.25):
        values = [round(math.sin(3 * i + i * i / 7) + shift, 3) for i in range(60)]
        drawn = scipy.stats.permutation_test((np.array(values),), lambda x, axis: np.sum(x, axis=axis), vectorized=True,
                                             permutation_type="samples", n_resamples=200000, rng=np.random.default_rng(1))
        yield {"differences": values, "p": float(drawn.pvalue)}


def holm():
    lists = ([0.01], [0.01, 0.04, 0.03, 0.005], [0.5, 0.5, 0.5], [0.2, 0.001, 0.6, 0.02, 0.02], [1, 1])
    for values in lists:
        yield {"p": values, "adjusted": list(statsmodels.stats.multitest.multipletests(values, method="holm")[1])}


def detectable():
    for sd in (math.sqrt(0.1), math.sqrt(0.2), math.sqrt(0.3), 0.3, 0.5, 0.8):
        for n in (10, 110, 210):
            for wanted in (0.5, 0.8, 0.9):
                # The effect by its formula; statsmodels gives the number of operators back.
                effect = (scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(wanted)) * sd / math.sqrt(n)
                needed = statsmodels.stats.power.normal_sample_size_one_tail(effect, wanted, 0.025, std_null=sd)
                assert abs(needed - n) < 1e-6 * n, (needed, n)
                # One of ten comparisons: a tenth of the level.
                of_ten = scipy.optimize.brentq(lambda e: statsmodels.stats.power.normal_sample_size_one_tail(
                    e, wanted, 0.0025, std_null=sd) - n, effect / 2, effect * 4, xtol=1e-14)
                yield {"sd": sd, "n": n, "power": wanted, "effect": effect, "of_10": of_ten}


def power():
    solver = statsmodels.stats.power.NormalIndPower(ddof=0)
    for effect, sd, n in ((0.05, 0.4, 210), (0.1, 0.4, 210), (0.02, 0.3, 110), (0, 0.5, 50), (-0.2, 0.5, 50), (0.3, 1, 8)):
        yield {"effect": effect, "sd": sd, "n": n,
               "power": float(solver.power(abs(effect) / sd, n, 0.05, ratio=0, alternative="two-sided"))}


def icc():
    """Variance components of uneven groups: mean squares of statsmodels' least squares, F of scipy."""
    tables = ([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]],
              [[1, 1], [0, 0], [1, 0], [1, 1], [0, 1]],
              [[1, 1, 0], [0], [1, 0, 1, 1, 1], [0, 0], [1, 1]])
    for table in tables:
        values = [float(v) for row in table for v in row]
        group = [i for i, row in enumerate(table) for _ in row]
        fit = statsmodels.api.OLS(values, np.eye(len(table))[group]).fit()
        f = scipy.stats.f_oneway(*table).statistic  # B / W
        sizes = [len(row) for row in table]
        m0 = (len(values) - sum(m * m for m in sizes) / len(values)) / (len(table) - 1)
        yield {"values": values, "sizes": sizes, "within": float(fit.mse_resid),
               "between": float(fit.mse_resid * (f - 1) / m0), "icc": float((f - 1) / (f + m0 - 1))}


def attempts():
    """Attempts needed: statsmodels' power of that many reaches the aim, and of one less does not."""
    solver = statsmodels.stats.power.NormalIndPower(ddof=0)

    def power_of(effect, within, between, n, m):
        # One attempt's difference of two methods has the variance 2 within / m about the operator's own difference.
        sd = float(np.std(np.add.outer(math.sqrt(between) * np.array([-1, 1]), math.sqrt(2 * within / m) * np.array([-1, 1]))))
        return float(solver.power(effect / sd, n, 0.05, ratio=0, alternative="two-sided"))

    for effect, within, between, n in ((0.05, 0.12, 0.02, 210), (0.03, 0.15, 0.01, 210), (0.2, 0.1, 0.05, 210), (0.05, 0.2, 0, 110)):
        needed = next(m for m in range(1, 1000) if power_of(effect, within, between, n, m) >= 0.8)
        yield {"effect": effect, "within": within, "between": between, "n": n, "power": 0.8, "needed": needed,
               "sd": [math.sqrt(between + 2 * within / m) for m in (1, 5)]}
    yield {"effect": 0.02, "within": 0.12, "between": 0.05, "n": 210, "power": 0.8, "needed": None,
           "sd": [math.sqrt(0.05 + 2 * 0.12 / m) for m in (1, 5)]}


def best_right():
    """The largest value of k of n samples, over all subsets with a right one."""
    for right, n in (([1.5, -0.5, 2.25], 5), ([0.3], 4), ([3.0, 1.0, 2.0, 2.0], 4), ([0.25, 8.0], 7)):
        samples = right + [None] * (n - len(right))
        for k in range(1, n + 1):
            best = [max(v for v in subset if v is not None) for subset in itertools.combinations(samples, k)
                    if any(v is not None for v in subset)]
            yield {"right": right, "n": n, "k": k, "best": float(np.mean(best))}


def geometric():
    lists = ([1.5, None, 0.5, 2.25, None, 1.0], [None, None], [0.03, 21.0, 1.1, 1.7], [1e-150, 1e-150, 1e-150])
    for values in lists:
        known = [v for v in values if v is not None]
        fallback = [1.0 if v is None else v for v in values]
        yield {"speedups": values,
               "correct": float(scipy.stats.gmean(known)) if known else None,
               "fallback": float(scipy.stats.gmean(fallback)) if known else None,
               "fast": {str(p): sum(v > p for v in known) for p in (0, 0.5, 1, 1.5, 2)}}


def any_time():
    costs = [3.0, None, 1.0, 1.0, 8.5, None, 2.0]
    curve = scipy.stats.ecdf([1e300 if c is None else c for c in costs]).cdf
    yield {"costs": costs, "solved": {str(at): float(curve.evaluate(at)) for at in (0.5, 1, 2, 2.5, 8, 8.5, 100)}}


def deviance():
    """One factor: D2 = I(outcome; level) / H(outcome), with scipy's entropies."""
    for levels, k, m in ((4, 37, 3), (2, 20, 1), (15, 176, 5)):
        level = [(i // m * 7 + i // m * (i // m) % 5) % levels for i in range(k * m)]
        outcome = [1 if (i * i * 3 + level[i] * 5 + i) % 11 < 3 + level[i] % 4 else 0 for i in range(k * m)]
        counts = np.zeros((levels, 2))
        for a, b in zip(level, outcome):
            counts[a, b] += 1
        h = scipy.stats.entropy(counts.sum(axis=0))
        within = sum(row.sum() * scipy.stats.entropy(row) for row in counts if row.sum()) / len(level)
        yield {"outcomes": outcome, "levels": level, "n_levels": levels, "explained": float((h - within) / h)}


def permuted():
    """All permutations of the categories of six operators, by the definition: what 999 of them estimate."""
    outcomes = [[1, 1], [1, 1], [1, 0], [0, 0], [0, 0], [0, 1]]
    categories = [0, 0, 0, 1, 1, 1]

    def share(labels):
        def d(rows):
            values = [v for row in rows for v in row]
            k, n = sum(values), len(values)
            return -2 * sum(c * math.log(c / n) for c in (k, n - k) if c)
        groups = [[row for row, label in zip(outcomes, labels) if label == level] for level in (0, 1)]
        return 1 - sum(map(d, groups)) / d(outcomes)

    shares = [share(labels) for labels in itertools.permutations(categories)]
    own = share(categories)
    yield {"outcomes": [v for row in outcomes for v in row], "n_methods": 2, "categories": categories, "explained": own,
           "by_chance": float(np.mean(shares)), "p": float(np.mean([s >= own - 1e-12 for s in shares]))}


def ranks():
    """By the definition, pair by pair."""
    scores = [0.9, 0.5, 0.88, 0.7, 0.2]
    pairs = [(0, 1), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4), (2, 1)]
    separated = [[(i, k) in pairs or (k, i) in pairs for k in range(5)] for i in range(5)]
    better = [[separated[i][k] and scores[k] > scores[i] for k in range(5)] for i in range(5)]
    yield {"scores": scores, "separated": [v for row in separated for v in row],
           "best": [1 + sum(row) for row in better], "worst": [5 - sum(better[k][i] for k in range(5)) for i in range(5)]}


SECTIONS = (wilson, mcnemar, sign_flip, long_sign_flip, holm, detectable, power, icc, attempts,
            best_right, geometric, any_time, deviance, permuted,
            ranks)


def differ(a, b):
    """The first place where two documents differ, or None."""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return "keys %s and %s" % (sorted(a), sorted(b))
        return next(("%s: %s" % (k, d) for k in a for d in [differ(a[k], b[k])] if d), None)
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return "%d and %d entries" % (len(a), len(b))
        return next(("%d: %s" % (i, d) for i in range(len(a)) for d in [differ(a[i], b[i])] if d), None)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return None if abs(a - b) <= TOLERANCE * max(1, abs(a)) else "%r and %r" % (a, b)
    return None if a == b else "%r and %r" % (a, b)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="FILE")
    options = parser.parse_args()
    document = {section.__name__: json.loads(json.dumps(list(section()), default=lambda v: v.item())) for section in SECTIONS}
    if not options.check:
        rows = ",\n".join('"%s": [\n%s\n]' % (name, ",\n".join("  " + json.dumps(row) for row in rows))
                          for name, rows in document.items())
        print("{\n%s\n}" % rows)
        return 0
    with open(options.check, encoding="utf-8") as file:
        difference = differ(document, json.load(file))
    if difference:
        print("%s: %s" % (options.check, difference))
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
