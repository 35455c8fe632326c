#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens pages of `kgb-agent report` in a headless Chromium and checks what they show and do.

    check_report.py FOLDER [--whole PAGE --structure FILE [--update]] [--cpu PAGE] [--crowd PAGE] [--many PAGE] [--hostile PAGE]

FOLDER holds the browser's profile and screenshots. --structure names what the page --whole must look like: marks of each plot, and
where its screenshot has ink; --update writes that file.
"""

import argparse
import json
import pathlib
import struct
import sys
import zlib

import browser

SCALE = 0.25  # of screenshots that are compared
BLOCK = 10  # pixels of such a screenshot that are one character
TOLERANCE = 0.12  # share of blocks that may differ: fonts differ among systems


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(part) for part in what))


# ---- pictures ----

def pixels(png):
    """Rows of (r, g, b) of a PNG with 8 bits a channel."""
    at, data, header = 8, b"", None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        header = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else header
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height, depth, color = header[:4]
    n = {2: 3, 6: 4}[color]
    check(depth == 8, "depth", depth)
    raw, before, rows = zlib.decompress(data), bytearray(width * n), []
    for y in range(height):
        kind, line = raw[y * (width * n + 1)], bytearray(raw[y * (width * n + 1) + 1:(y + 1) * (width * n + 1)])
        for i in range(width * n):
            left, up, corner = line[i - n] if i >= n else 0, before[i], before[i - n] if i >= n else 0
            if kind == 4:
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            else:
                near = (0, left, up, (left + up) // 2)[kind]
            line[i] = (line[i] + near) & 255
        rows.append([tuple(line[x * n:x * n + 3]) for x in range(width)])
        before = line
    return rows


def box_of(tab, section):
    """Where a section is on the page: x, y, width, height."""
    return tab.run(f"(() => {{ const b = document.getElementById('{section}').getBoundingClientRect();"
                   " return [b.x, b.y + scrollY, b.width, b.height]; })()")


def picture(tab, section):
    """A section as rows of characters: "#" where it has ink, "." where it is empty; and its background."""
    rows = pixels(tab.picture(*box_of(tab, section), SCALE))
    background = rows[0][0]
    blocks = []
    for y in range(0, len(rows), BLOCK):
        cells = [[pixel for row in rows[y:y + BLOCK] for pixel in row[x:x + BLOCK]] for x in range(0, len(rows[0]), BLOCK)]
        blocks.append("".join("#" if any(pixel != background for pixel in cell) else "." for cell in cells))
    return blocks, background


def difference(a, b):
    """Share of blocks in which two pictures differ."""
    a, b = ["".join(rows) for rows in (a, b)]
    return (sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b))) / max(len(a), len(b))


# ---- what a page has ----

MARKS = """[...document.querySelectorAll('main section')].map(section => [section.id, Object.fromEntries(d3.rollup(
    [...section.querySelectorAll('.plot svg g[aria-label]')]
        .filter(g => !g.parentNode.closest('g[aria-label]') && !/axis|grid|tip/.test(g.getAttribute('aria-label'))),
    groups => d3.sum(groups, g => g.querySelectorAll('rect, path, circle, line, text').length), g => g.getAttribute('aria-label')))])"""


def open_page(tab, path):
    """Open it and check that it did so in silence, without a word to anything but itself."""
    del tab.console[:], tab.requests[:]
    tab.open(pathlib.Path(path).resolve().as_uri())
    check(tab.console == [], "console:", tab.console)
    check([url for url in tab.requests if not url.startswith(("file:", "data:"))] == [], tab.requests)


def document_of(tab):
    return json.loads(tab.run("document.getElementById('document').textContent"))


def check_structure(tab, path, update):
    got = {section: {"marks": marks, "picture": picture(tab, section)[0]} for section, marks in tab.run(MARKS) if section != "summary"}
    if update:
        pathlib.Path(path).write_text(json.dumps(got, indent=1) + "\n")
    wanted = json.loads(pathlib.Path(path).read_text())
    check(got.keys() == wanted.keys(), "sections", list(got))
    for section, parts in wanted.items():
        check(got[section]["marks"] == parts["marks"], section, got[section]["marks"], "wanted", parts["marks"])
        check(all(n > 0 for n in parts["marks"].values()), section, "has an empty plot")
        differs = difference(got[section]["picture"], parts["picture"])
        check(differs <= TOLERANCE, section, "differs in", differs, "\n".join(got[section]["picture"]))


def check_cells(tab):
    """Each of some cells opens its own kernel, by mouse and by keyboard."""
    document = document_of(tab)
    names = [operator["name"] for operator in document["operators"]]
    for i in (0, len(names) // 2, len(names) - 1):
        label = document["runs"][1]["label"]
        selector = f".map rect[aria-label^='{names[i]}, {label}:']"
        tab.click(selector)
        cell = next(cell for cell in document["cells"] if cell["run"] == 1 and cell["operator"] == i)
        check(tab.run("document.getElementById('cell').open"), "no dialog")
        check(tab.run("document.getElementById('cell-title').textContent") == names[i], names[i])
        check(tab.run("document.querySelector('.kernel').textContent") == document["kernels"][cell["kernel"]]["text"], "kernel of", names[i])
        check(tab.run("document.querySelectorAll('#history tbody tr').length") == len(cell["steps"]), "history of", names[i])
        check(cell["status"] in tab.run("document.querySelector('#history tbody tr:last-child').textContent"), "verdict of", names[i])
        check(tab.run("location.hash").startswith("#cell=1,"), tab.run("location.hash"))
        tab.key("Escape", 27)
        check(not tab.run("document.getElementById('cell').open"), "Escape closes")
    tab.run("document.querySelector('.map rect[role=button]').focus()")
    tab.key("ArrowRight", 39)
    tab.key("ArrowDown", 40)
    focused = tab.run("document.activeElement.getAttribute('aria-label')")
    check(document["runs"][1]["label"] in focused, focused)
    tab.key("Enter", 13)
    check(tab.run("document.getElementById('cell-title').textContent") == focused.split(",")[0], focused)
    tab.run("document.querySelector('.tabs button').click()")
    check(tab.run("location.hash").startswith("#cell=0,"), "the other run")
    tab.run("document.querySelector('.close').click()")


def type_search(tab, text):
    tab.run(f"(() => {{ const box = document.querySelector('input[type=search]'); box.value = {json.dumps(text)};"
            " box.dispatchEvent(new Event('input')); })()")
    return tab.run("document.querySelectorAll('.map rect[role=button]').length")


def check_search(tab):
    document = document_of(tab)
    n_runs, n_cells = len(document["runs"]), len(document["cells"])
    wanted = sum(operator["category"] == "Attention" for operator in document["operators"])
    check(type_search(tab, "attention") == wanted * n_runs, "search")
    check(tab.run("document.querySelector('#map .note').textContent") == f"{wanted} of {len(document['operators'])} operators.", "count")
    tab.click(".map rect[role=button]")
    check("Attention" in tab.run("document.getElementById('cell').textContent"), "a cell that was found")
    tab.run("document.querySelector('.close').click()")
    check(type_search(tab, "no such operator") == 0, "nothing found")
    check("No operator fits" in tab.run("document.querySelector('#map').textContent"), "words for nothing")
    check(type_search(tab, "") == n_cells, "all again")


def open_tables(tab):
    """Open and close the table behind each plot; returns their numbers of rows."""
    return tab.run("[...document.querySelectorAll('details')].map(d => { d.open = true; d.refresh(); const n = d.querySelectorAll('tbody tr').length; d.open = false; return n; })")


def check_themes(tab, folder):
    """Dark by the system, light by the switch, whole on a narrow page and on paper."""
    tab.prefer("dark")
    check(sum(picture(tab, "fast")[1]) < 3 * 60, "dark", picture(tab, "fast")[1])
    tab.click("#theme")
    check(tab.run("document.getElementById('theme').textContent") == "Theme: light", "switch")
    check(sum(picture(tab, "fast")[1]) > 3 * 230, "light")
    tab.click("#theme")
    tab.click("#theme")
    tab.prefer("light")
    tab.size(400, 800)
    tab.run("new Promise(done => setTimeout(done, 300))")
    check(tab.run("document.documentElement.scrollWidth") <= 400, "wider than the page")
    wide = tab.run("[...document.querySelectorAll('.plot svg')].filter(s => s.getBoundingClientRect().width > 400).length")
    check(wide == 0, wide, "plots are wider than the page")
    tab.screenshot(pathlib.Path(folder, "narrow.png"))
    tab.size(1280, 900)
    tab.run("new Promise(done => setTimeout(done, 300))")
    tab.command("Emulation.setEmulatedMedia", media="print")
    check(tab.run("getComputedStyle(document.querySelector('nav')).display") == "none", "print")
    tab.command("Emulation.setEmulatedMedia", media="")


def check_cpu(tab):
    """Without speedups the plots of speed say so, and the others are there."""
    for section in ("fast", "groups"):
        check("worked on the CPU" in tab.run(f"document.getElementById('{section}').textContent"), section)
        check(tab.run(f"document.querySelectorAll('#{section} svg').length") == 0, section)
    for section in ("ladder", "anytime", "failures", "timeline", "map"):
        check(tab.run(f"document.querySelectorAll('#{section} .plot svg').length") > 0, section)
    check("OFFLINE" in tab.run("document.getElementById('warnings').textContent"), "warning")


def check_crowd(tab, folder):
    """However many agents work at once, the timeline fits a screen, has all of their bars, and names of rows do not overlap."""
    for width in (1280, 400):
        tab.size(width, 900)
        tab.run("new Promise(done => setTimeout(done, 300))")
        height = tab.run("document.querySelector('#timeline svg[class^=plot]').getBoundingClientRect().height")
        check(300 < height < 800, "timeline of", height, "pixels")
        bars = tab.run("[...document.querySelectorAll('#timeline g[aria-label=rect] rect')].map(bar => bar.getBoundingClientRect()).map(b => [b.width, b.height])")
        wanted = len(document_of(tab)["runs"][0]["timeline"]["bars"])
        check(len(bars) == wanted and all(h > 0 for _, h in bars), len(bars), "bars, not", wanted)
        at = sorted(tab.run("[...document.querySelectorAll('#timeline g[aria-label=\"y-axis tick label\"] text')].map(t => t.getBoundingClientRect().y)"))
        check(len(at) > 10 and all(b - a > 9 for a, b in zip(at, at[1:])), "names of rows", at)
        pathlib.Path(folder, f"crowd-{width}.png").write_bytes(tab.picture(*box_of(tab, "timeline")))
    tab.size(1280, 900)


def check_many(tab):
    """A page that leaves out histories says so where one looks for them, and names of many runs can be read."""
    check("histories of kernels are left out" in tab.run("document.getElementById('warnings').textContent"), "note")
    tab.run("openCell(report.cells[0])")
    check("verdicts are left out" in tab.run("document.getElementById('cell').textContent"), "history")
    check(tab.run("document.getElementById('history') === null"), "an empty table of verdicts")
    tab.run("document.querySelector('.close').click()")
    heights = tab.run("[...document.querySelectorAll('#fast .plot > svg:first-child text')].map(text => text.getBoundingClientRect().height)")
    check(len(heights) == len(document_of(tab)["runs"]) and min(heights) > 10, "legend of runs", heights)
    for width in (1280, 400):
        tab.size(width, 900)
        tab.run("new Promise(done => setTimeout(done, 300))")
        gaps = tab.run("""(() => {
            const names = [...document.querySelectorAll('.map g[aria-label="x-axis tick label"] text')].map(text => text.transform.baseVal.consolidate().matrix);
            return names.slice(1).map((m, i) => Math.abs((m.e - names[i].e) * Math.sin(Math.atan2(m.b, m.a))));
        })()""")
        check(len(gaps) > 0 and min(gaps) > 9, "lines of names of runs", gaps)
        over = tab.run("""(() => {
            const cell = document.querySelector('.map g[aria-label=cell] rect').getBoundingClientRect().width;
            return [...document.querySelectorAll('.map g[aria-label=text] text')].filter(text => text.getBoundingClientRect().width > cell).length;
        })()""")
        check(over == 0, over, "texts are wider than their cells")
    tab.size(1280, 900)


def check_hostile(tab):
    """Texts of agents are shown, and do nothing."""
    check(tab.run("document.title") == "kgb-agent report" and tab.run("window.owned === undefined"), "a script of an agent ran")
    check(tab.run("document.querySelectorAll('img, iframe, script').length") == 5, "elements of an agent")
    document = document_of(tab)
    for cell in document["cells"]:
        tab.run(f"openCell(report.cells[{document['cells'].index(cell)}])")
        shown = tab.run("document.getElementById('cell').textContent")
        check("\x1b" not in shown and "\u202e" not in shown, "characters that steer")
        if cell["operator"] == 0:
            check("</script><script>window.owned = 1</script>" in shown, "kernel as text")
            check("ESC[2J" in shown and "U+202E" in shown and "U+0007" in shown, "marks")
            check("<img src=x onerror=\"window.owned = 2\">" in shown, "message as text")
        else:
            check("The kernel is not here" in shown, cell["kernel_path"], shown)
    tab.run("document.querySelector('.close').click()")
    open_tables(tab)
    check(tab.run("window.owned === undefined") and tab.console == [], tab.console)


def check_whole(tab, options):
    check_structure(tab, options.structure, options.update)
    check_cells(tab)
    check_search(tab)
    check(len(open_tables(tab)) == 7 and all(open_tables(tab)), "tables", open_tables(tab))
    check_themes(tab, options.folder)
    check(tab.console == [], tab.console)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    for name in ("--whole", "--cpu", "--crowd", "--many", "--hostile", "--structure"):
        parser.add_argument(name)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    checks = {"whole": lambda tab: check_whole(tab, options), "cpu": check_cpu,
              "crowd": lambda tab: check_crowd(tab, options.folder), "many": check_many, "hostile": check_hostile}
    pages = {name: getattr(options, name) for name in checks if getattr(options, name)}
    if not pages:
        parser.error("no page is named")
    with browser.Browser(options.folder) as tab:
        tab.prefer("light")
        tab.size(1280, 900)
        for name, page in pages.items():
            open_page(tab, page)
            checks[name](tab)


if __name__ == "__main__":
    try:
        main()
    except AssertionError as problem:
        sys.exit(f"not as it should be: {problem}")
