#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has the judge judge candidates of tests/redteam/process, with a static stage that allows every name.

    process.py --judge build/release/bin/kgb-judge --python PATH [--at DIRECTORY] NAME[,NAME...]
    process.py --judge build/release/bin/kgb-judge --python PATH serve:DIRECTORY

The second line of each candidate, `# expect:`, is a regular expression for the verdict's code, or "passed". Names that begin
with @ are separate checks, below. tests/integration/t0300-judge.sh has all of them too; this program runs a few at a time. Exit
status 0 only if all verdicts are right.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))
sys.dont_write_bytecode = True
import run_corpus  # noqa: E402
import warm_judge  # noqa: E402

PROCESS = ROOT / "tests" / "redteam" / "process"


class Judge:
    """The judge and the common part of its requests."""

    def __init__(self, judge, python, directory):
        self.judge, self.python, self.directory = judge, python, directory
        self.sockets = os.path.join(directory, "sockets")

    def request(self, name, **more):
        path = PROCESS / (name + ".py")
        operator = header(name)[0]
        spec = ROOT / "tests/fixtures/judge/aten" / (operator.replace("::", "__") + ".yaml")
        return {"spec": spec, "kernel": path, "zygotes": self.sockets, "python": self.python, "call_timeout": "3s",
                "memory": "512MiB", **more}

    def verdict(self, name, **more):
        done = warm_judge.ask(self.judge, 120, **self.request(name, **more))
        return parsed(done.stdout, done.stderr)


def header(name):
    """Operator and expected code."""
    lines = (PROCESS / (name + ".py")).read_text(encoding="utf-8").splitlines()
    return [line.split(": ", 1)[1] for line in lines[:2]]


def parsed(out, err=b""):
    try:
        verdict = json.loads(out)
    except ValueError:
        return {"code": "no verdict: " + err.decode("utf-8", "replace")[:200]}
    verdict["code"] = verdict["code"] or verdict["status"]
    return verdict


def check_candidate(name):
    def check(judge, zygotes):
        code = judge.verdict(name)["code"]
        return re.fullmatch(header(name)[1], code), code
    return check


def no_zygotes(judge, zygotes):
    """A fault of the judge is no pass, and the verdict has the reason."""
    code = judge.verdict("honest", zygotes=os.path.join(judge.directory, "nowhere"))["code"]
    return code == "infra.facts", code


def zygotes_die(judge, zygotes):
    """A fault of the judge in the middle of a call is no pass."""
    process = subprocess.Popen([judge.judge, "verify"], stdout=subprocess.PIPE,
                               stdin=warm_judge.request_fd(**judge.request("hang", call_timeout="60s")))
    time.sleep(3)
    zygotes.process.kill()
    out, _ = process.communicate(timeout=60)
    code = parsed(out)["code"]
    return code == "infra.correctness", code


def seeds(judge, zygotes):
    """Every verification draws a new seed, and a given one is used."""
    first, second = judge.verdict("nan"), judge.verdict("nan")
    again = judge.verdict("nan", seed=first["seed"])
    inputs = [[failure["expected"] for failure in verdict["failures"]] for verdict in (first, second, again)]
    return (first["seed"] != second["seed"] and again["seed"] == first["seed"] and inputs[0] == inputs[2]
            and inputs[0] != inputs[1]), first["seed"]


def jail(judge, zygotes):
    """A candidate cannot read anything of the reference, of the machine or of the judge's environment."""
    seen = judge.verdict("look_around").get("message") or ""
    wanted = ("/proc= ", "/kgb=facts,lib,runner,tmp ", "/kgb/reference:2 ", "/home/agent= ", "/etc/shadow:2 ", "ids=1000,2")
    return all(part in seen for part in wanted) and not re.search("SECRET|API|KEY", seen), seen[:200]


def lanes(judge, zygotes):
    """Several lanes find the same as one."""
    found = {}
    for name in ("honest", "unwritten_tail"):
        one, several = (judge.verdict(name, seed="00112233445566778899aabbccddeeff", lanes=n) for n in (1, 4))
        same = ("status", "code", "total_tests", "passed_tests", "failed_tests", "interfaces", "launches")
        found[name] = [(key, one.get(key), several.get(key)) for key in same if one.get(key) != several.get(key)]
        if one.get("failures") != several.get("failures"):
            found[name].append("failures")
    return not any(found.values()), found


def descriptors(judge, zygotes):
    """Of our descriptors a candidate has only its channel and the memory that it shares with the judge."""
    seen = judge.verdict("descriptors").get("message") or ""
    return bool(re.search(r"fds=0:2,1:2,2:1,3:14(,\d+:10)*;", seen)), seen[:200]


def unwritten(judge, zygotes):
    """Unwritten elements are NaN, not values that are right by chance."""
    failures = judge.verdict("unwritten_tail").get("failures") or []
    got = {failure["got"] for failure in failures if "tail_1000" in failure["case"]}
    return got == {"nan"}, got


def stages(judge, zygotes):
    """The stage that decides is the layer that found it."""
    wanted = {"zeros": "correctness", "forged_module": "l3", "host_read": "l3", "forged_header": "l3", "half turn": "l2"}
    turned = judge.verdict("honest", spec=ROOT / "datasets/kernelgenbench/aten/aten__rot90.yaml",
                           kernel=ROOT / "tests/redteam/aten__rot90/half_turn_without_kernel.py")
    found = {name: (turned if name == "half turn" else judge.verdict(name))["stage"] for name in wanted}
    return found == wanted, found


def repeated(judge, zygotes):
    """Results that vary are told."""
    found = [judge.verdict(name)["deterministic"] for name in ("honest", "nondeterministic")]
    return found == [True, False], found


SPECIAL = {"@" + check.__name__: check for check in (no_zygotes, zygotes_die, seeds, jail, descriptors,
                                                 lanes, repeated, stages, unwritten)}


class Place:
    """A directory with warm processes, and a data directory whose static stage allows everything."""

    def __init__(self, options, directory):
        data = os.path.join(directory, "data")
        self.sockets = os.path.join(directory, "sockets")
        self.zygotes = None
        if os.path.exists(data):
            os.environ["KGB_DATA_DIR"] = data
        else:
            run_corpus.open_rules(directory)
        os.environ["KGB_SECRET_KEY"] = "hunter2"  # no worker may have it
        if not os.path.exists(self.sockets):
            self.zygotes = run_corpus.Zygotes(options.judge, self.sockets, "cpu", options.python)

    def is_ready(self):
        return self.zygotes is None or self.zygotes.ready

    def close(self):
        if self.zygotes:
            self.zygotes.close()


def run(options, directory):
    names = options.names.split(",")
    place = Place(options, directory)
    if not place.is_ready():
        print("# SKIP no Python with torch and triton, or no sandbox")
        return 77
    status = 0
    judge = Judge(options.judge, options.python, directory)
    print("TAP version 13\n1..%d" % len(names), flush=True)
    for number, name in enumerate(names, 1):
        right, got = (SPECIAL.get(name) or check_candidate(name))(judge, place.zygotes)
        status |= not right
        print("%s %d - %s (%s)" % ("ok" if right else "not ok", number, name, got), flush=True)
    place.close()
    return status


def serve(options, directory):
    """Keeps warm processes in the directory until stdin closes."""
    place = Place(options, directory)
    print("ready" if place.is_ready() else "# SKIP no Python with torch and triton, or no sandbox", flush=True)
    sys.stdin.read()
    place.close()
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judge", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--at", help="directory in which another process.py serves")
    parser.add_argument("names", help="names with commas between, or serve:DIRECTORY")
    options = parser.parse_args()
    if options.names.startswith("serve:"):
        return serve(options, options.names[len("serve:"):])
    if options.at:
        return int(run(options, options.at))
    with tempfile.TemporaryDirectory(prefix="kgb-process-") as directory:
        return int(run(options, directory))


if __name__ == "__main__":
    sys.exit(main())
