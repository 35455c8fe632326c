# SPDX-License-Identifier: MIT
"""The numbers that the text of a kernel.py names, for the judge's dictionary (verify/draw/dictionary.h).

A kernel that is wrong for one size or value names it: `n == 12347`, `LIMIT = 1 << 16`, `x > 1e30`. So drawn cases meet the numbers
of the text. Constant arithmetic counts as its result: `64 * 1024` is 65536 and neither 64 nor 1024. Strings, comments and what
stands below the main guard have no numbers."""

import ast
import math
import operator

from ast_scopes import is_main_guard

MAX_NUMBERS = 256
MAX_BITS = 1100  # of an intermediate result; no double is larger
BORDERS = (ast.Mod, ast.FloorDiv, ast.BitAnd, ast.RShift)  # x % 77, x // 512: the number on the right
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
             ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor}
SIGNS = {ast.USub: operator.neg, ast.UAdd: operator.pos}


def is_small(value):
    if type(value) is int:
        return value.bit_length() <= MAX_BITS
    return type(value) is float and math.isfinite(value)


def fold(node):
    """The value of constant arithmetic, else None."""
    if isinstance(node, ast.Constant):
        return node.value if is_small(node.value) else None
    if isinstance(node, ast.UnaryOp) and type(node.op) in SIGNS:
        value = fold(node.operand)
        return None if value is None else SIGNS[type(node.op)](value)
    if not isinstance(node, ast.BinOp) or type(node.op) not in OPERATORS:
        return None
    left = fold(node.left)
    right = None if left is None else fold(node.right)
    if right is None or (isinstance(node.op, (ast.Pow, ast.LShift)) and abs(right) > MAX_BITS):
        return None
    try:
        value = OPERATORS[type(node.op)](left, right)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return value if is_small(value) else None


def members(node):
    """What the node compares with: of a list, tuple, set or dict its members."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return [member for item in node.elts for member in members(item)]
    return node.keys if isinstance(node, ast.Dict) else [node]


def compared(node):
    """The parts of a node that are borders of the program."""
    if isinstance(node, ast.Compare):
        return [member for side in (node.left, *node.comparators) for member in members(side)]
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, BORDERS):
        return [node.right if isinstance(node, ast.BinOp) else node.value]
    return [node.value] if isinstance(node, ast.MatchValue) else []


def bound(node):
    """The pairs (name, value) that a node binds."""
    if isinstance(node, ast.Assign):
        return [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and isinstance(node.target, ast.Name):
        return [(node.target.id, node.value)]
    if isinstance(node, ast.arguments):
        plain = (node.posonlyargs + node.args)[len(node.posonlyargs) + len(node.args) - len(node.defaults):]
        return [(arg.arg, value) for arg, value in zip(plain + node.kwonlyargs, node.defaults + node.kw_defaults)]
    return [(node.arg, node.value)] if isinstance(node, ast.keyword) else []


def outer(tree):
    """All nodes in source order, but for what stands below a main guard and inside constant arithmetic."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.If) and is_main_guard(node):
            stack.extend(reversed(node.orelse))
        elif fold(node) is None:
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def written(value):
    """The text of a number of 64 bits or of a double; None: it is neither."""
    if type(value) is int and -2**63 <= value < 2**63:
        return str(value)
    try:
        value = float(value)
    except OverflowError:
        return None
    return repr(value) if math.isfinite(value) else None


def numbers(tree):
    """The numbers of a syntax tree, first those that it compares with: [{value: text, is_border: bool}], none of them twice."""
    nodes = list(outer(tree))
    parts = [part for node in nodes for part in compared(node)]
    borders = {id(part) for part in parts}
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    borders.update(id(value) for node in nodes for name, value in bound(node) if name in names and value is not None)
    found = {}
    for node in nodes:
        value = fold(node)
        text = None if value is None else written(value)
        if text is not None:
            found[text] = found.get(text, False) or id(node) in borders
    ordered = sorted(found.items(), key=lambda item: not item[1])  # a stable sort
    return [{"value": text, "is_border": is_border} for text, is_border in ordered[:MAX_NUMBERS]]
