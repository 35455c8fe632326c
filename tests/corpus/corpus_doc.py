# SPDX-License-Identifier: MIT
"""Makes docs/redteam.md from the headers of tests/redteam, catalogue.tsv, bypasses.tsv and figures.md, and docs/rules.md from
verify/policy/l1.yaml and those headers."""

import pathlib
import re

from corpus_files import ROOT, header_of, numbers

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = ROOT / "docs" / "redteam.md"
RULES = ROOT / "docs" / "rules.md"
POLICY = ROOT / "verify" / "policy" / "l1.yaml"
CODES = ROOT / "base" / "codes.h"

INTRODUCTION = """\
# The red team

`tests/redteam` holds cheating kernels, `tests/honest` holds honest kernels in styles that a naive checker would flag.
`tests/corpus/run_corpus.py` (ctest label `corpus`) has the judge judge all of them. It prints, by stage, how many attacks were accepted
and how many honest kernels were refused, with 95 %% Wilson intervals:

    python3 tests/corpus/run_corpus.py --judge build/release/bin/kgb-judge [--device cuda --jobs 12] [--json FILE]

`tests/integration/t0300-judge.sh` judges the kernels of `process/` with rules that allow every name, so that it tests the stages after
the static stage alone. The codes below are those of the CPU platform; on a GPU, where other checks come first, any code counts.
An attack is rejected as `refused` (its text breaks a rule of contract or L1; it never ran), `failed` (wrong) or `cheated`: the judge
observed a result that depends on the input and holds no work of a kernel, or code of a library, or other work in timed calls.
`run_corpus.py --table` writes this page; a test fails when the page is stale, or when a known cheat has neither a kernel nor a reason.
There are %d attacks over %d operators, %d attacks on processes, and %d honest kernels over %d operators.
"""


def rows_of(name, columns):
    """The lines of a table with tabs, without comments."""
    rows = []
    for number, line in enumerate((HERE / name).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != columns:
            raise SystemExit("%s:%d: %d fields, not %d" % (name, number, len(fields), columns))
        rows.append(fields)
    return rows


def attacks():
    """'folder/name' -> header of every attack in tests/redteam that is on the page. An attack on processes without a number of the
    catalogue is not."""
    found = {}
    for path in sorted((ROOT / "tests" / "redteam").glob("*/*.py")):
        header = header_of(path)
        if path.parent.name != "process" or (header.get("expect", "passed") != "passed" and numbers(header)):
            found["%s/%s" % (path.parent.name, path.stem)] = header
    return found


def alternatives(expect):
    """The codes that a regular expression of a header allows, with its groups expanded."""
    found = []
    for part in re.findall(r"(?:[^|()]|\([^()]*\)\??)+", expect):
        group = re.search(r"\(([^()]*)\)(\??)", part)
        if group:
            choices = [""] if group.group(2) else group.group(1).split("|")
            written = [alternatives(part[:group.start()] + choice + part[group.end():]) for choice in choices]
            found += [code for codes_of_choice in written for code in codes_of_choice]
        else:
            found.append(part.replace("\\.", ".").replace("\\w+", "*"))
    return found


def codes(headers):
    seen = []
    for header in headers:
        seen += [code for code in alternatives(header["expect"]) if code not in seen]
    return ", ".join("`%s`" % code for code in seen)


def names(kernels, most):
    shown = ", ".join(kernels[:most])
    return shown + (" and %d more" % (len(kernels) - most) if len(kernels) > most else "")


def catalogue(found, problems):
    yield "## Known cheats"
    yield ""
    yield "| | cheat | kernels | rejected with, or why no kernel can do it |"
    yield "|---|---|---|---|"
    seen = []
    for number, what, reason in rows_of("catalogue.tsv", 3):
        kernels = [name for name, header in found.items() if int(number) in numbers(header)]
        seen.append(int(number))
        if not kernels and not reason:
            problems.append("cheat %s (%s) has neither a kernel nor a reason" % (number, what))
        if kernels and reason:
            problems.append("cheat %s (%s) has a reason why it has no kernel, and %s" % (number, what, kernels[0]))
        yield "| %s | %s | %s | %s |" % (number, what, names(kernels, 4) or "-",
                                         reason or codes([found[name] for name in kernels[:4]]))
    if seen != list(range(1, len(seen) + 1)):
        problems.append("catalogue.tsv: numbers do not count from 1")
    for name, header in found.items():
        if not numbers(header) or max(numbers(header)) > len(seen):
            problems.append("tests/redteam/%s.py: catalogue numbers are missing or unknown" % name)


def bypasses(found, problems):
    yield "## Attacks that KernelGenBench accepts"
    yield ""
    yield "KernelGenBench's verifier runs candidate, reference, comparison and clock in one process. We found these attacks by reading"
    yield "and running it; the five best known are in bold."
    yield ""
    yield "| | accepted there | our kernel | rejected with, or why it cannot be done here |"
    yield "|---|---|---|---|"
    for number, what, kernels, reason in rows_of("bypasses.tsv", 4):
        kernels = [] if kernels == "-" else kernels.split(" ")
        missing = [name for name in kernels if name not in found]
        problems.extend("bypasses.tsv: %s: no such attack: tests/redteam/%s.py" % (number, name) for name in missing)
        if bool(kernels) == bool(reason):
            problems.append("bypasses.tsv: %s needs kernels or a reason" % number)
        what = "**%s**" % what[1:] if what.startswith("*") else what
        yield "| %s | %s | %s | %s |" % (number, what, names(kernels, 9) or "-",
                                         reason or codes([found[name] for name in kernels if name in found]))


def document():
    """(text, problems)"""
    found, problems = attacks(), []
    honest = sorted((ROOT / "tests" / "honest").glob("*__*/*.py"))
    operators = {name.split("/")[0] for name in found} - {"process"}
    on_processes = sum(name.startswith("process/") for name in found)
    text = INTRODUCTION % (len(found) - on_processes, len(operators), on_processes, len(honest),
                           len({path.parent.name for path in honest}))
    parts = [text, (HERE / "figures.md").read_text(encoding="utf-8"), *catalogue(found, problems), "", *bypasses(found, problems)]
    return "\n".join(parts) + "\n", problems


RULES_INTRODUCTION = """\
# Rules on the text of a kernel

Replay decides whether a kernel does its operator's work (docs/architecture.md). Before it, the static stage reads the text of
kernel.py, never runs it, and refuses or notes what the rules in `verify/policy/l1.yaml` name; `verify/static/scan.c` applies them.
`run_corpus.py --table` writes this page.

## Refused

The prompt states these rules, and replay cannot check them: it shows only the sizes, the moments and the process that are
judged, and files, processes and other compilers leave no trace in the work. Each has attacks in `tests/redteam` that would pass
without it, or that carry out what it forbids.

| code | what is refused | instruction to the agent | attacks |
|---|---|---|---|
"""
NOTED = """
## Noted

The verdict lists these places (`noted`) and `results.json` counts them; they change no verdict. The attacks that use them either
have no effect, or are rejected for their work.

| code | what is noted | why it decides nothing |
|---|---|---|
"""


def policy_rules():
    """(code, message, hint, reason) of each rule that is no exception."""
    for text in re.split(r"(?m)^  - ", POLICY.read_text(encoding="utf-8"))[1:]:
        keys = dict(re.findall(r"(?m)^(?:    )?(code|message|hint|reason): (.*)$", text))
        if not keys["code"].startswith("ok."):
            yield tuple(re.sub(r"'?\.?\{\{\w+\}\}'?", "...", keys.get(key, "")).strip('"').replace("|", "\\|")
                        for key in ("code", "message", "hint", "reason"))


def rules():
    refused = set(re.findall(r'X\(\w+, "(l1\.\w+)", REFUSED', CODES.read_text(encoding="utf-8")))
    kernels = {}
    for name, header in attacks().items():
        for code in alternatives(header["expect"]):
            kernels.setdefault(code, []).append(name)
    parts = [RULES_INTRODUCTION, NOTED]
    for code, message, hint, reason in policy_rules():
        if code in refused:
            parts[0] += "| `%s` | %s | %s | %s |\n" % (code, message, hint, names(kernels.get(code, []), 3))
        else:
            parts[1] += "| `%s` | %s | %s |\n" % (code, message, reason)
    return "".join(parts)


def write():
    text, problems = document()
    DOCUMENT.write_text(text, encoding="utf-8")
    RULES.write_text(rules(), encoding="utf-8")
    return problems


def check():
    text, problems = document()
    for path, wanted in ((DOCUMENT, text), (RULES, rules())):
        if not path.is_file() or path.read_text(encoding="utf-8") != wanted:
            problems.append("docs/%s is stale: run tests/corpus/run_corpus.py --table" % path.name)
    return problems
