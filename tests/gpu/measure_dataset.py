#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lints all operators on a device and times the baseline on every benchmark, for the table of operators.

    measure_dataset.py --judge build/release/bin/kgb-judge --device cuda [--out datasets/kernelgenbench/measured/h200.json]
                       [--only NAME ...]

Writes the results after each operator, so that an early end loses none. With --only the file keeps its results of the other
operators, which must be from the same chip, driver and torch. Without --out the file has the chip's name. Afterwards run
kgb-agent dataset table >docs/operators.md. Exit status 0 if every operator is good and the run took less than LIMIT_S, 1 if not.
--device cpu only lints.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 15 * 60
ASK = """
import json, platform, sys, torch
gpu = sys.argv[1] != "cpu"
print(json.dumps({"chip": torch.cuda.get_device_name(0) if gpu else "CPU", "torch": torch.__version__,
                  "cuda": torch.version.cuda if gpu else None, "python": platform.python_version()}))
"""


def python():
    return os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")


def about(device):
    found = json.loads(subprocess.run([python(), "-I", "-c", ASK, device], check=True, capture_output=True).stdout)
    if device != "cpu":
        asked = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                               text=True, check=False)
        found["driver"] = asked.stdout.split("\n")[0].strip() or None
    return found


def short_name(chip):
    """"NVIDIA H200" -> "h200"."""
    return re.sub(r"[^a-z0-9]+", "_", chip.lower().replace("nvidia", "")).strip("_")


def write(path, document):
    new = path.with_suffix(".tmp")
    new.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    new.replace(path)


def kept(found):
    """The figures for the table."""
    return {key: found[key] for key in ("spec_sha256", "benchmarks_sha256", "ok", "n_problems", "problems", "wall_ms", "median_ms")}


def with_others(path, document):
    """The file's results of other operators, from the same chip, driver and torch, and the time of all."""
    if not path.exists():
        return document
    old = json.loads(path.read_text())
    for key in ("chip", "driver", "torch", "cuda", "timed"):
        if old.get(key) != document.get(key):
            raise SystemExit("%s: of %s %s, this is %s; measure all operators, or name another file with --out" % (
                path, key, old.get(key), document.get(key)))
    return dict(document, operators=old["operators"], wall_s=old["wall_s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    timed = arguments.device != "cpu"
    document = dict(about(arguments.device), schema="kgb.measured/1", timed=timed, operators={},
                    date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
    out = arguments.out or ROOT / "datasets" / "kernelgenbench" / "measured" / (short_name(document["chip"]) + ".json")
    out.parent.mkdir(exist_ok=True)
    if arguments.only:
        document = with_others(out, document)
    is_new = not document["operators"]
    command = [arguments.judge, "lint", "--dataset", "KernelGenBench", "--json", "--no-cache", "--device", arguments.device]
    command += ["--time"] if timed else []
    began, n_bad = time.monotonic(), 0
    with subprocess.Popen([*command, *arguments.only], stdout=subprocess.PIPE, text=True) as judge:
        for line in judge.stdout:
            found = json.loads(line)
            n_bad += not found["ok"]
            for problem in found["problems"]:
                print("%s: %s" % (found["operator"], problem), flush=True)
            if "::" not in found["operator"]:
                continue
            document["operators"][found["operator"]] = kept(found)
            if is_new:
                document["wall_s"] = round(time.monotonic() - began, 1)
            write(out, document)
    print("%s: %d operators, %d not good, %d benchmarks timed, %.0f s; exit status %d of kgb-judge" % (
        out, len(document["operators"]), n_bad, sum(len(each["median_ms"]) for each in document["operators"].values()),
        time.monotonic() - began, judge.returncode))
    return 1 if n_bad or judge.returncode or time.monotonic() - began > LIMIT_S else 0


if __name__ == "__main__":
    sys.exit(main())
