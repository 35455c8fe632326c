# SPDX-License-Identifier: MIT
"""Mutants of one module of Triton's IR: each changes one operation that a result depends on."""

import re

# Operations with the same operands and result. minimumf and maximumf keep NaN, minnumf and maxnumf skip it.
SWAPS = {
    "arith.addf": ["arith.subf"], "arith.subf": ["arith.addf"], "arith.mulf": ["arith.addf"], "arith.divf": ["arith.mulf"],
    "arith.remf": ["arith.divf"], "arith.addi": ["arith.subi"], "arith.subi": ["arith.addi"], "arith.muli": ["arith.addi"],
    "arith.divsi": ["arith.remsi"], "arith.remsi": ["arith.divsi"], "arith.divui": ["arith.remui"], "arith.remui": ["arith.divui"],
    "arith.andi": ["arith.ori"], "arith.ori": ["arith.andi"], "arith.xori": ["arith.ori"], "arith.shli": ["arith.shrsi"],
    "arith.shrsi": ["arith.shrui"], "arith.shrui": ["arith.shrsi"], "arith.maxnumf": ["arith.minnumf"],
    "arith.minnumf": ["arith.maxnumf"], "arith.maximumf": ["arith.minimumf", "arith.maxnumf"],
    "arith.minimumf": ["arith.maximumf", "arith.minnumf"], "arith.maxsi": ["arith.minsi", "arith.maxui"],
    "arith.minsi": ["arith.maxsi"], "arith.maxui": ["arith.minui"], "arith.minui": ["arith.maxui"], "math.exp": ["math.exp2"],
    "math.exp2": ["math.exp"], "math.log": ["math.log2"], "math.log2": ["math.log"], "math.sin": ["math.cos"],
    "math.cos": ["math.sin"], "math.floor": ["math.ceil"], "math.ceil": ["math.floor"], "math.rsqrt": ["math.sqrt"],
    "math.sqrt": ["math.rsqrt"], "math.absf": ["math.floor"],
}
PREDICATES = {
    "slt": ["sle"], "sle": ["slt"], "sgt": ["sge"], "sge": ["sgt"], "ult": ["ule", "slt"], "ule": ["ult"], "ugt": ["uge"],
    "uge": ["ugt"], "eq": ["ne"], "ne": ["eq"], "olt": ["ole", "ult"], "ole": ["olt"], "ogt": ["oge", "ugt"], "oge": ["ogt"],
    "oeq": ["ueq"], "une": ["one"], "ueq": ["oeq"], "one": ["une"], "uno": ["ord"], "ord": ["uno"],
}
NARROWER = {"f64": "f32", "f32": "bf16", "i64": "i32"}
ROUNDED = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "math.exp", "math.exp2", "math.fma", "tt.load", "tt.dot")
# What has no region, no effect and no result but its own, so that it is dead when that is not used.
PURE = re.compile(r"^\s*%\S+(:\d+)? = (arith|math|ub|tt\.(splat|expand_dims|broadcast|addptr|make_range|get_program_id|get_num_programs|"
                  r"load|reshape|trans|bitcast|dot|join|split|cat|fp_to_fp|extern_elementwise|clampf|int_to_ptr|ptr_to_int|unsplat|"
                  r"precise_divf|precise_sqrt|mulhiui|histogram|gather|make_tensor_descriptor|descriptor_load))\b")
DEFINED = re.compile(r"^\s*(%[\w$.-]+)(?::\d+)? = ([\w.]+)")
USED = re.compile(r"%[\w$.-]+")
LOCATION = re.compile(r" loc\((#loc\d*)\)$")
LOAD = re.compile(r" = tt\.load (%[^:]*?) ?(\{.*\})? : ")
COMBINES = re.compile(r"tt\.(reduce|scan|dot|gather|histogram|trans|reshape|join|cat|atomic)|tt\.descriptor")
ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")


def places(lines):
    """The text "LINE:COLUMN" of each alias: that of the innermost call. Code of Triton's own library has none."""
    aliases = dict(match.groups() for match in map(ALIAS.match, lines) if match)

    def find(name, depth=0):
        text = aliases.get(name, "")
        found = re.search(r'"([^"]*)":(\d+):(\d+)', text)
        if found:
            return "%s:%s" % found.groups()[1:] if found[1].endswith("kernel.py") else ""
        inner = re.search(r"#loc\d*", text)
        return find(inner.group(), depth + 1) if inner and depth < 16 else ""

    return {name: find(name) for name in aliases}


def statements(lines):
    """(name that a line defines, names that it reads), each with the number of its function: functions use the same names."""
    function = 0
    for line in lines:
        function += " tt.func " in line
        found, text = DEFINED.match(line), LOCATION.sub("", line)
        read = USED.findall(text.split(" = ", 1)[1] if found else text)
        yield (function, found[1]) if found else None, [(function, name) for name in read]


def live_lines(lines, parsed):
    """Numbers of the lines that a result, an effect or the control flow depends on."""
    defined = {}
    for number, (name, _) in enumerate(parsed):
        defined.setdefault(name, []).append(number)
    todo = [number for number, line in enumerate(lines) if not PURE.match(line) and " tt.assert " not in line]
    live = set(todo)
    while todo:
        user = todo.pop()
        for name in parsed[user][1]:
            # Regions side by side use the same names, too: the last definition before the use counts.
            number = max((number for number in defined.get(name, ()) if number < user), default=None)
            if number is not None and number not in live:
                live.add(number)
                todo.append(number)
    return live


def padding(lines, parsed):
    """Names that are read only as values of lanes that a mask leaves out, in a module that never combines lanes."""
    if any(map(COMBINES.search, lines)):
        return set()
    readers = {}  # the names that follow from a name: "" for such lanes of a load, None for another use
    for line, (defines, reads) in zip(lines, parsed):
        load = LOAD.search(line)
        others = load[1].split(", ")[2:] if load else []
        for name in reads:
            readers.setdefault(name, set()).add("" if name[1] in others else defines if PURE.match(line) else None)
    unread = {""}
    while more := {name for name, following in readers.items() if following <= unread} - unread:
        unread |= more
    return unread


def narrowed(body, name, op):
    """The operation's value, rounded to a narrower type."""
    kind = body.rsplit(" : ", 1)[-1].split(" -> ")[-1].strip()
    if op == "tt.load":
        kind = re.sub(r"!tt\.ptr<([^<>]+)>", r"\1", kind)
    element = re.search(r"(f64|f32|i64)>?$", kind)
    # 64-bit places need 2^31 elements; that values keep their 64 bits shows where they are loaded.
    if not element or element[1] == "i64" and op != "tt.load":
        return
    narrow = kind[:element.start(1)] + NARROWER[element[1]] + kind[element.end(1):]
    down, up = ("arith.truncf", "arith.extf") if element[1][0] == "f" else ("arith.trunci", "arith.extsi")
    yield ("narrow to %s" % NARROWER[element[1]],
           "%s\n%s_n = %s %s_w : %s to %s\n%s = %s %s_n : %s to %s" % (
               body.replace(name + " =", name + "_w =", 1), name, down, name, kind, narrow, name, up, name, narrow, kind))


def changed(line):
    """(what, new text) for each mutant of a line without its location."""
    found = DEFINED.match(line)
    name, op = found.groups() if found else ("", line.strip().split(" ")[0])
    for other in SWAPS.get(op, ()):
        yield "%s to %s" % (op, other), line.replace(op, other, 1)
    if op in ("arith.cmpi", "arith.cmpf"):
        before = re.search(r"cmp[if] (\w+),", line)[1]
        for other in PREDICATES.get(before, ()):
            yield "%s to %s" % (before, other), line.replace(" %s," % before, " %s," % other, 1)
    if op == "arith.select":
        parts = re.match(r"(.*arith\.select %[^,]+, )(%[^,]+), (%[^ ]+)(.*)", line)
        if parts:
            yield "swapped select", parts[1] + parts[3] + ", " + parts[2] + parts[4]
    if op in ("tt.load", "tt.store", "tt.atomic_rmw"):
        operands = re.search(r"tt\.\w+ ((?:\w+, )*(?:acq_rel|relaxed|acquire|release)?(?:, )?\w*(?:, )?)?(%[^:]*?) ?(\{.*\})? : ", line)
        names = operands[2].split(", ") if operands else []
        least = 1 if op == "tt.load" else 2
        if len(names) > least and op != "tt.atomic_rmw":
            yield "no mask", line.replace(operands[2], ", ".join(names[:least]), 1)
        if op == "tt.store":
            yield "no store", ""
    if op == "tt.dot" and "inputPrecision = tf32" not in line and re.search(r" : tensor<[\dx]+xf32> \*", line):
        yield "tf32", re.sub(r"(, inputPrecision = \w+)?( \{[^}]*\})? : tensor", r", inputPrecision = tf32\2 : tensor", line, count=1)
    if op == "arith.constant":
        number = re.search(r"(dense<)?(-?\d\.\d+E?e?[+-]\d+)(>)? : (tensor<\w+xf\d+>|f\d+)$", line)
        if number:
            yield "constant + 1", line[:number.start(2)] + "%.6e" % (float(number[2]) + 1) + line[number.end(2):]
    if op in ROUNDED and found:
        yield from narrowed(line, name, op)


def mutants(module):
    """{key: text} of a module; a text has the length of the module. A key is the place in kernel.py and what is changed there."""
    lines = module.split("\n")
    parsed = list(statements(lines))
    where, live, unread, counts, made = places(lines), live_lines(lines, parsed), padding(lines, parsed), {}, {}
    for number, line in enumerate(lines):
        location = LOCATION.search(line)
        if not location or number not in live or parsed[number][0] in unread or not where.get(location[1]):
            continue
        body = LOCATION.sub("", line)
        for what, new in changed(body):
            place = "%s_%s" % (where[location[1]], what.replace(" ", "_"))
            counts[place] = counts.get(place, 0) + 1
            text = "\n".join([*lines[:number], new, *lines[number + 1:]])
            if len(text) > len(module):  # locations are for messages only
                text = re.sub(r"^#loc\d* = .*\n?", "", text, flags=re.MULTILINE)
            if len(text) <= len(module):
                made["%s_%d" % (place, counts[place])] = text + " " * (len(module) - len(text))
    return made
