# SPDX-License-Identifier: MIT
"""Kills a run of a bare model with SIGKILL at random moments, resumes it each time, and compares what its journal says was sent
with what the server of fake_api.py got.

usage: kill_run.py KILLS SEED CALLS_FILE RUNS_DIR COMMAND... -- RESUME...

KILLS moments are drawn from SEED: some milliseconds after the start, or after another call of the server. The last start goes
on to its end. CALLS_FILE is the server's list of calls. Each sample of the run must have a body of its own (model.seed).
"""

import glob
import json
import os
import random
import subprocess
import sys
import time

kills, seed, calls_file, runs = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
split = sys.argv.index("--")
first, resume = sys.argv[5:split], sys.argv[split + 1:]
draw = random.Random(seed)


def calls():
    """The hash of the body of each call that the server got."""
    try:
        with open(calls_file, encoding="ascii") as file:
            return [line.split()[1] for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def ledger():
    """Samples, calls that were sent and calls that may have been, by the journal."""
    samples, totals = set(), {}
    for path in glob.glob(runs + "/*/journal.jsonl"):
        for line in open(path, encoding="utf-8"):
            if not line.endswith("\n"):
                break  # torn by the kill
            event = json.loads(line)
            data = event["data"]
            if event["type"] == "sample":
                key = data["operator"], data["sample"]
                assert key not in samples, f"{key} is there twice"
                samples.add(key)
            elif event["type"] in ("usage", "attempt_finished") and data.get("gateway"):
                totals[data["operator"], data["attempt"]] = data["gateway"]
    return len(samples), sum(t["calls"] for t in totals.values()), sum(t["calls_unsure"] for t in totals.values())


def compare(when):
    """The server has what was sent, and at most what may have been sent in addition. Returns both sums."""
    deadline = time.monotonic() + 30  # the server may be late
    samples, sent, unsure = ledger()
    while len(calls()) < sent and time.monotonic() < deadline:
        time.sleep(0.002)
    got = len(calls())
    assert sent <= got <= sent + unsure, f"{when}: the server got {got}, by the ledger {sent} were sent and {unsure} perhaps"
    return samples, got


def wait_for_moment(process):
    """A moment of the start, drawn at random; true: the process has not ended before."""
    more, delay = draw.choice([0, 1, 1, 2, 3, 5, 8]), draw.random() * 0.06
    if more == 0:
        delay *= 10
    wanted = len(calls()) + more
    while len(calls()) < wanted and process.poll() is None:
        time.sleep(0.0005)
    time.sleep(delay)
    return process.poll() is None


starts = []  # for each: samples in the journal and calls before it
for i in range(kills + 1):
    samples, got = compare(f"after kill {i}") if i > 0 else (0, 0)
    starts.append((samples, got))
    with open(f"{runs}.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(resume if os.path.isdir(runs) and glob.glob(runs + "/*/journal.jsonl") else first, stdout=log, stderr=log)
    if i < kills:
        assert wait_for_moment(process), f"start {i} ended with {process.wait()} before kill {i + 1} of {kills}: see {runs}.log"
        process.kill()
    process.wait()

n, got = compare("at the end")
all_calls = calls()
for i, (samples, before) in enumerate(starts):
    after = starts[i + 1][1] if i < kills else got
    in_start, later = all_calls[before:after], set(all_calls[before:])
    assert len(set(in_start)) == len(in_start), f"start {i} asked for a sample twice"
    assert len(later) == n - samples, f"of {n} samples start {i} found {samples}, and {len(later)} were asked for from then on"
_, sent, unsure = ledger()
assert unsure <= kills / 2, f"{unsure} calls are not known to have left: too many for {kills} kills"
print(f"kills {kills} samples {n} server {got} sent {sent} unsure {unsure} again {got - n}")
