#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts test cases over all suites of one CTest run and prints the closing line.

CTest counts programs; most of ours print TAP, one line for each case. A program that prints TAP counts
by its cases, any other program as one case. A case of the program's plan that it did not print counts as
failed, and so does a program that failed although each of its cases passed (a sanitizer's report at exit,
a time-out).

    summary.py [--ctest-status N] JUNIT.xml

Exit status: 0 all passed, 1 any failed or none ran, 2 the report cannot be read.
"""

import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree

CASE = re.compile(r"^(not )?ok\b[ \t]*(\d*)[ \t]*(?:- )?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)[ \t]*(#.*)?$")
SKIP = re.compile(r"#[ \t]*skip\b", re.IGNORECASE)
N_SLOWEST = 5


def count_tap(output):
    """(passed, failed names, skipped) of TAP text; None when it holds no TAP."""
    passed, failed, skipped, planned, seen = 0, [], 0, 0, 0
    has_tap = False
    for line in output.splitlines():
        plan = PLAN.match(line)
        case = CASE.match(line)
        if plan:
            has_tap = True
            planned += int(plan.group(1))
        elif line.startswith("Bail out!"):
            has_tap = True
            failed.append(line)
        elif case:
            has_tap = True
            seen += 1
            if SKIP.search(case.group(3)):
                skipped += 1
            elif case.group(1):
                failed.append(case.group(3))
            else:
                passed += 1
    if not has_tap:
        return None
    failed.extend(f"case {i + 1} of the plan did not report" for i in range(seen, planned))
    return passed, failed, skipped


def count_program(testcase):
    """(passed, failed names, skipped) of one program of the report."""
    status = testcase.get("status", "run")
    if status in ("disabled", "notrun"):
        reason = testcase.find("skipped")
        message = reason.get("message", "") if reason is not None else ""
        if status == "disabled" or message.startswith("SKIP"):
            return 0, [], 1
        return 0, [f"did not run: {message or 'no reason given'}"], 0
    output = testcase.findtext("system-out") or ""
    program_failed = status == "fail"
    counted = count_tap(output)
    if counted is None or counted == (0, [], 0):
        return (0, ["the program failed"], 0) if program_failed else (1, [], 0)
    passed, failed, skipped = counted
    if program_failed and not failed:
        failed.append("the program failed although none of its cases did")
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description="closing line over all suites of one CTest run")
    parser.add_argument("--ctest-status", type=int, default=0, help="exit status of ctest")
    parser.add_argument("junit", help="file that ctest --output-junit wrote")
    args = parser.parse_args()
    try:
        programs = ElementTree.parse(args.junit).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        print(f"summary: {args.junit}: {error}", file=sys.stderr)
        print("0 passed, 1 failed")
        return 2

    n_passed = n_failed = n_skipped = 0
    failures = []
    for program in programs:
        passed, failed, skipped = count_program(program)
        n_passed += passed
        n_failed += len(failed)
        n_skipped += skipped
        failures.extend(f"{program.get('name')}: {name}" for name in failed)
        if not passed and skipped and not failed:
            print(f"skipped: {program.get('name')}")
    if args.ctest_status and not n_failed:
        n_failed = 1
        failures.append(f"ctest ended with status {args.ctest_status}")

    slowest = sorted(programs, key=lambda p: float(p.get("time", 0)), reverse=True)[:N_SLOWEST]
    if slowest:
        print("slowest: " + ", ".join(f"{p.get('name')} {float(p.get('time', 0)):.1f} s" for p in slowest))
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{n_passed} passed, {n_failed} failed" + (f", {n_skipped} skipped" if n_skipped else ""))
    return 0 if n_passed and not n_failed else 1


if __name__ == "__main__":
    sys.exit(main())
