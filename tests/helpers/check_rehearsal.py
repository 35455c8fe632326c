#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the verdicts of an offline run of the method llm with the kinds of its answers.

    check_rehearsal.py RUN

The offline model says in each answer of what kind it is (datasets/offline/session.yaml). A right kernel must pass and no other
answer may, so half of all answers are right for each operator. Then pass@k of the run, for k = 1, 2, 5 and 10, must have
1 - 0.5^k in its interval of 95 %, widened to one of 99.9 % by the ratio of normal quantiles.
"""

import collections
import glob
import json
import sys

KINDS = ["A right kernel", "that cheats", "A wrong kernel", "with a mistake", "does not compile", "is no Python",
         "The beginning of", "has no code"]
WIDER = 3.29 / 1.96


def main():
    run = sys.argv[1]
    seen, wrong = collections.Counter(), []
    for line in open(run + "/samples.jsonl", encoding="utf-8"):
        row = json.loads(line)
        folder = "%s/attempts/%s/%03d/samples" % (run, row["operator"].replace("::", "__", 1), row["attempt"])
        words = open("%s/%04d.md" % (folder, row["sample"]), encoding="utf-8").read().split("```")[0]
        kinds = [kind for kind in KINDS if kind in words]
        if len(kinds) != 1:
            sys.exit("%s, sample %d is of the kinds %s" % (row["operator"], row["sample"], kinds))
        seen[kinds[0], row["status"]] += 1
        if (row["status"] == "passed") != (kinds[0] == KINDS[0]):
            wrong.append("%s, sample %d: '%s' is %s (%s)" % (row["operator"], row["sample"], kinds[0], row["status"], row["code"]))
    for (kind, status), n in sorted(seen.items()):
        print("%5d %-18s %s" % (n, kind, status))
    results = json.load(open(run + "/results.json", encoding="utf-8"))
    for k, estimate in results["summary"]["samples"]["pass_at_k"].items():
        estimate = estimate["correct"]
        theory = 1 - 0.5 ** int(k)
        low = estimate["value"] - WIDER * (estimate["value"] - estimate["low"])
        high = estimate["value"] + WIDER * (estimate["high"] - estimate["value"])
        print("pass@%s %.4f [%.4f, %.4f], by theory %.4f" % (k, estimate["value"], estimate["low"], estimate["high"], theory))
        if not low <= theory <= high:
            wrong.append("pass@%s of the mixture, %g, is not in its interval" % (k, theory))
    sys.exit("\n".join(wrong) or None)


main()
