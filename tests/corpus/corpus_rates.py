# SPDX-License-Identifier: MIT
"""Rates of the corpus with 95 % Wilson intervals: over all, and by the stage of the judge that decided."""

import math

STAGES = ("contract", "l1", "correctness", "l2", "l3", "timing")


def wilson(hits, n):
    if n == 0:
        return 0.0, 1.0
    z = 1.959964
    p = hits / n
    middle = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (middle - spread) / (1 + z * z / n)), min(1.0, (middle + spread) / (1 + z * z / n))


def rate(hits, n):
    low, high = wilson(hits, n)
    return {"hits": hits, "of": n, "share": hits / n if n else None, "low": low, "high": high}


def rejected(verdict):
    return verdict is not None and verdict["status"] in ("failed", "refused", "cheated")


def rates(results):
    """results: list of (kernel, verdict or None), without the skipped kernels. Attacks without effect are no attacks here."""
    groups = {"attacks": [v for k, v in results if not k.honest and not k.harmless], "honest": [v for k, v in results if k.honest]}
    out = {
        "attack_success": rate(sum(v is not None and v["status"] == "passed" for v in groups["attacks"]), len(groups["attacks"])),
        "false_rejects": rate(sum(v is None or v["status"] != "passed" for v in groups["honest"]), len(groups["honest"])),
        "no_verdict": sum(v is None or v["status"] == "infra_error" for _, v in results),
        "stages": [],
    }
    left = {name: len(group) for name, group in groups.items()}
    for stage in STAGES:
        row = {"stage": stage}
        for name, group in groups.items():
            stopped = sum(rejected(v) and v.get("stage") == stage for v in group)
            row[name] = rate(stopped, left[name])
            left[name] -= stopped
        out["stages"].append(row)
    # The rules about text alone: contract is the form of a kernel file, l1 the list of names.
    out["l1_alone"] = {name: rate(sum(rejected(v) and v.get("stage") == "l1" for v in group), len(group))
                       for name, group in groups.items()}
    return out


def text(r):
    share = "-" if r["of"] == 0 else "%5.1f %% (%.1f to %.1f %%)" % (100 * r["share"], 100 * r["low"], 100 * r["high"])
    return "%d of %d = %s" % (r["hits"], r["of"], share)


def lines(figures):
    yield "attack success: %s" % text(figures["attack_success"])
    yield "false rejects: %s" % text(figures["false_rejects"])
    yield "rejected by stage, of those that reached it (95 % Wilson intervals):"
    yield "%-12s %-40s %s" % ("stage", "attacks", "honest kernels")
    for row in figures["stages"]:
        yield "%-12s %-40s %s" % (row["stage"], text(row["attacks"]), text(row["honest"]))
    alone = figures["l1_alone"]
    yield "l1 by itself: %s attacks, %s honest kernels" % (text(alone["attacks"]), text(alone["honest"]))
    if figures["no_verdict"]:
        yield "no verdict or infra_error: %d" % figures["no_verdict"]
