#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks trajectories, one a line, by Harbor's validator of ATIF (deps/exports.txt).

    check_atif.py FILE [--steps RUN=N ...]

--steps also demands the number of steps of the trajectory of a run's aten::add. Exit status: 0 all are valid, 1 not.
"""

import argparse
import json
import sys

from harbor.utils.trajectory_validator import TrajectoryValidator


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--steps", nargs="*", default=[])
    options = parser.parse_args()
    wanted = dict(word.rsplit("=", 1) for word in options.steps)
    validator, n_bad, n = TrajectoryValidator(), 0, 0
    with open(options.file, encoding="utf-8") as lines:
        for line in lines:
            trajectory = json.loads(line)
            name, n = trajectory["trajectory_id"], n + 1
            errors = [] if validator.validate(trajectory) else list(validator.errors)
            steps = wanted.pop(name.split("/")[0], None) if "/aten__add/" in name else None
            if trajectory["schema_version"] != "ATIF-v1.7":
                errors.append("it is " + trajectory["schema_version"])
            if steps is not None and len(trajectory["steps"]) != int(steps):
                errors.append("%d steps, not %s" % (len(trajectory["steps"]), steps))
            for error in errors:
                print("%s: %s" % (name, error))
            n_bad += bool(errors)
    for run in wanted:
        print("no trajectory of " + run)
    print("%d trajectories, %d not valid" % (n, n_bad))
    sys.exit(1 if n_bad or wanted or not n else 0)


if __name__ == "__main__":
    main()
