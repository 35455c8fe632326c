# SPDX-License-Identifier: MIT
"""The text of an exception of the candidate's code: its type, its message, the line of kernel.py,
and the installed Triton's replacement of a missing name.
"""

import difflib
import re

import triton
import triton.language as tl
from triton.compiler.errors import CompilationError
from triton.language import extra
from triton.language.extra import libdevice

# Where a name may be found instead, and how a kernel file writes it there.
PLACES = ((tl, "tl.%s"), (libdevice, "libdevice.%s (from triton.language.extra import libdevice)"),
          (extra, "triton.language.extra.%s"), (triton, "triton.%s"))
# Names that are gone and lie in no such place.
GONE = {"make_block_ptr": "tl.make_tensor_descriptor, or pointers with offsets and masks",
        "advance": "new offsets of pointers or of a tensor descriptor",
        "any": "tl.reduce_or, or tl.max of the values as int32",
        "all": "tl.min of the values as int32"}
MISSING = (re.compile(r"module '(?P<owner>triton[\w.]*)' has no attribute '(?P<name>\w+)'"),
           re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<owner>triton[\w.]*)'"),
           re.compile(r"No module named '(?P<owner>triton[\w.]*)\.(?P<name>\w+)'"),
           re.compile(r"'(?P<owner>tensor)' object has no attribute '(?P<name>\w+)'"))
ON_HOST = "(cpu tensor?)"  # of a launch
REMOVED = re.compile(r"Block pointers have been removed")
LEAST_ALIKE = 0.8


def text_of(error):
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown)"


def innermost(error):
    """The exception of the kernel, or of the helper in it, that Triton did not compile."""
    while True:
        inner = error.__cause__ or error.__context__
        if not isinstance(inner, CompilationError) or inner is error:
            return error
        error = inner


def compiled_line(error, source):
    """(number in kernel.py or 0, text) of the line that Triton was compiling."""
    within = getattr(error.node, "lineno", 0)
    lines = (error.src or "").split("\n")
    if not 0 < within <= len(lines):
        return 0, ""
    at = source.find(error.src)
    return (source.count("\n", 0, at) + within if at >= 0 else 0), lines[within - 1].strip()


def instead(name, owner):
    """The spelling in a kernel file that replaces a name that `owner` does not have; "" unknown."""
    if name in GONE:
        return "use %s" % GONE[name]
    if name.startswith("_"):
        return ""
    for place, how in PLACES:
        if place.__name__ != owner and hasattr(place, name):
            return "use %s" % (how % name)
    place, how = PLACES[-1] if owner == "triton" else PLACES[0]
    near = difflib.get_close_matches(name, [known for known in dir(place) if known[0] != "_"], 1, LEAST_ALIKE)
    return "the nearest name is %s" % (how % near[0]) if near else ""


def advice(text):
    """The remedy, to be appended to the text of an error, for a name that the installed Triton does not have, or for a tensor
    without a device."""
    if ON_HOST in text:
        return "; make it on the device of an argument: device=x.device"
    if REMOVED.search(text):
        return "; use %s" % GONE["make_block_ptr"]
    for pattern in MISSING:
        found = pattern.search(text)
        what = instead(found["name"], found["owner"]) if found else ""
        if what:
            return "; Triton %s has no %s here: %s" % (triton.__version__, found["name"], what)
    return ""


def describe(error, source=""):
    """(text, line of kernel.py or 0)"""
    if isinstance(error, CompilationError):
        error = innermost(error)
        line, shown = compiled_line(error, source)
        text = error.error_message or describe(error.__cause__ or error.__context__ or Exception("unknown"))[0]
        return "%s: %s%s%s" % (type(error).__name__, text, ", in `%s`" % shown if shown else "", advice(text)), line
    text = text_of(error)
    return "%s: %s%s" % (type(error).__name__, text, advice(text)), 0
