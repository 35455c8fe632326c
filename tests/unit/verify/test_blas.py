#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares each formula of datasets/kernelgenbench/cublas/reference/blas.py with loops over single elements, on every case of
every cuBLAS operator that is not a benchmark. Also checks that the names agree with other files.
"""

import importlib.util
import operator
import os
import pathlib
import random
import re
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]

if not importlib.util.find_spec("torch"):
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with torch; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "verify" / "python" / "reference")]
import torch  # noqa: E402
from test_reference import Tap  # noqa: E402

DATA = ROOT / "datasets" / "kernelgenbench"
WIDE = {"float16": "float64", "float32": "float64", "float64": "float64", "complex64": "complex128",
        "complex128": "complex128"}


# ---- loops over elements; memory is a list of numbers ----

def conj(value):
    return value.conjugate() if isinstance(value, complex) else value


def index(i, n, inc):
    return i * inc if inc > 0 else (i - n + 1) * inc


class Matrix:
    """op(A) of a matrix stored by columns."""

    def __init__(self, memory, ld, operation=0, at=0):
        self.memory, self.ld, self.operation, self.at = memory, ld, operation, at

    def __call__(self, i, j):
        if self.operation:
            i, j = j, i
        value = self.memory[self.at + i + j * self.ld]
        return conj(value) if self.operation == 2 else value

    def set(self, i, j, value):
        self.memory[self.at + i + j * self.ld] = value


def combined(alpha, value, beta, old):
    return alpha * value + (beta * old if beta != 0 else 0)


def copy(n, x, incx, y, incy):
    for i in range(n):
        y[index(i, n, incy)] = x[index(i, n, incx)]


def swap(n, x, incx, y, incy):
    for i in range(n):
        a, b = index(i, n, incx), index(i, n, incy)
        x[a], y[b] = y[b], x[a]


def scal(n, alpha, x, incx):
    for i in range(n):
        x[i * incx] *= alpha


def axpy(n, alpha, x, incx, y, incy):
    for i in range(n):
        y[index(i, n, incy)] += alpha * x[index(i, n, incx)]


def dot(n, x, incx, y, incy, result):
    result[0] = sum(x[index(i, n, incx)] * y[index(i, n, incy)] for i in range(n))


def dotc(n, x, incx, y, incy, result):
    result[0] = sum(conj(x[index(i, n, incx)]) * y[index(i, n, incy)] for i in range(n))


def asum(n, x, incx, result):
    result[0] = sum(abs(x[i * incx]) for i in range(n))


def gemv_one(trans, m, n, alpha, a, lda, x, at_x, incx, beta, y, at_y, incy, at_a):
    matrix = Matrix(a, lda, trans, at_a)
    rows, columns = (n, m) if trans else (m, n)
    if columns == 0:
        return
    for i in range(rows):
        total = sum(matrix(i, j) * x[at_x + index(j, columns, incx)] for j in range(columns))
        place = at_y + index(i, rows, incy)
        y[place] = combined(alpha, total, beta, y[place])


def gemv(trans, m, n, alpha, a, lda, x, incx, beta, y, incy):
    gemv_one(trans, m, n, alpha, a, lda, x, 0, incx, beta, y, 0, incy, 0)


def gemv_strided(trans, m, n, alpha, a, lda, sa, x, incx, sx, beta, y, incy, sy, count):
    for b in range(count):
        gemv_one(trans, m, n, alpha, a, lda, x, b * sx, incx, beta, y, b * sy, incy, b * sa)


def gemv_array(trans, m, n, alpha, a_rows, lda, x_rows, incx, beta, y_rows, incy, count, a, x, y):
    for b in range(count):
        gemv(trans, m, n, alpha, a[a_rows[b]], lda, x[x_rows[b]], incx, beta, y[y_rows[b]], incy)


def ger(m, n, alpha, x, incx, y, incy, a, lda):
    for i in range(m):
        for j in range(n):
            a[i + j * lda] += alpha * x[index(i, m, incx)] * y[index(j, n, incy)]


def gerc(m, n, alpha, x, incx, y, incy, a, lda):
    for i in range(m):
        for j in range(n):
            a[i + j * lda] += alpha * x[index(i, m, incx)] * conj(y[index(j, n, incy)])


def wanted(uplo, i, j):
    return i <= j if uplo == 1 else i >= j


def syr2(uplo, n, alpha, x, incx, y, incy, a, lda):
    for i in range(n):
        for j in range(n):
            if wanted(uplo, i, j):
                both = (x[index(i, n, incx)] * y[index(j, n, incy)] + y[index(i, n, incy)] * x[index(j, n, incx)])
                a[i + j * lda] += alpha * both


def mirrored(matrix, uplo):
    return lambda i, j: matrix(i, j) if wanted(uplo, i, j) else matrix(j, i)


def symv(uplo, n, alpha, a, lda, x, incx, beta, y, incy):
    element = mirrored(Matrix(a, lda), uplo)
    for i in range(n):
        total = sum(element(i, j) * x[index(j, n, incx)] for j in range(n))
        y[index(i, n, incy)] = combined(alpha, total, beta, y[index(i, n, incy)])


def band(a, lda, k, uplo):
    """Element (i, j) of the stored triangle of a band."""
    def element(i, j):
        if not wanted(uplo, i, j) or abs(i - j) > k:
            return 0
        return a[k + i - j + j * lda] if uplo == 1 else a[i - j + j * lda]
    return element


def sbmv(uplo, n, k, alpha, a, lda, x, incx, beta, y, incy):
    element = mirrored(band(a, lda, k, uplo), uplo)
    for i in range(n):
        near = range(max(0, i - k), min(n, i + k + 1))
        total = sum(element(i, j) * x[index(j, n, incx)] for j in near)
        y[index(i, n, incy)] = combined(alpha, total, beta, y[index(i, n, incy)])


def tbmv(uplo, trans, diag, n, k, a, lda, x, incx):
    element, old = band(a, lda, k, uplo), list(x)
    for i in range(n):
        total = 0
        for j in range(max(0, i - k), min(n, i + k + 1)):
            factor = element(j, i) if trans else element(i, j)
            total += (1 if i == j and diag == 1 else factor) * old[index(j, n, incx)]
        x[index(i, n, incx)] = total


def gemm_one(transa, transb, m, n, k, alpha, a, lda, at_a, b, ldb, at_b, beta, c, ldc, at_c):
    left, right, target = Matrix(a, lda, transa, at_a), Matrix(b, ldb, transb, at_b), Matrix(c, ldc, 0, at_c)
    columns = [[right(p, j) for p in range(k)] for j in range(n)]
    for i in range(m):
        row = [left(i, p) for p in range(k)]
        for j in range(n):
            total = sum(map(operator.mul, row, columns[j]))
            target.set(i, j, combined(alpha, total, beta, target(i, j)))


def gemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    gemm_one(transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0)


def gemm_ex(transa, transb, m, n, k, alpha, a, _a, lda, b, _b, ldb, beta, c, _c, ldc):
    gemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)


def gemm_strided(transa, transb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, count):
    for i in range(count):
        gemm_one(transa, transb, m, n, k, alpha, a, lda, i * sa, b, ldb, i * sb, beta, c, ldc, i * sc)


def gemm_array(transa, transb, m, n, k, alpha, a_rows, lda, b_rows, ldb, beta, c_rows, ldc, count, a, b, c):
    for i in range(count):
        gemm(transa, transb, m, n, k, alpha, a[a_rows[i]], lda, b[b_rows[i]], ldb, beta, c[c_rows[i]], ldc)


def symm(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc):
    element, other, target = mirrored(Matrix(a, lda), uplo), Matrix(b, ldb), Matrix(c, ldc)
    for i in range(m):
        for j in range(n):
            total = sum(element(i, p) * other(p, j) for p in range(m)) if side == 0 else \
                sum(other(i, p) * element(p, j) for p in range(n))
            target.set(i, j, combined(alpha, total, beta, target(i, j)))


def syrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc):
    factor, target = Matrix(a, lda, 1 if trans else 0), Matrix(c, ldc)
    for i in range(n):
        for j in range(n):
            if wanted(uplo, i, j):
                total = sum(factor(i, p) * factor(j, p) for p in range(k))
                target.set(i, j, combined(alpha, total, beta, target(i, j)))


def syrk_ex(uplo, trans, n, k, alpha, a, _a, lda, beta, c, _c, ldc):
    syrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc)


def geam(transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, ldc):
    left, right = Matrix(a, lda, transa), Matrix(b, ldb, transb)
    for i in range(m):
        for j in range(n):
            c[i + j * ldc] = sum(factor * term(i, j) for factor, term in ((alpha, left), (beta, right)) if factor != 0)


def dgmm(side, m, n, a, lda, x, incx, c, ldc):
    for i in range(m):
        for j in range(n):
            c[i + j * ldc] = a[i + j * lda] * (x[index(i, m, incx)] if side == 0 else x[index(j, n, incx)])


def solve(uplo, trans, diag, n, a, lda, side):
    """The unknowns of one right side by substitution, the one that stands alone first."""
    stored = Matrix(a, lda)

    def coefficient(i, j):  # of op(A), or with side 1 of its transpose
        if side == 1:
            i, j = j, i
        if trans:
            i, j = j, i
        value = stored(i, j) if i != j or diag == 0 else 1
        value = value if wanted(uplo, i, j) else 0
        return conj(value) if trans == 2 else value

    is_lower = n < 2 or coefficient(0, n - 1) == 0
    order = list(range(n)) if is_lower else list(range(n - 1, -1, -1))

    def solved(known):
        known = list(known)
        for place, i in enumerate(order):
            rest = sum(coefficient(i, j) * known[j] for j in order[:place])
            known[i] = (known[i] - rest) / coefficient(i, i)
        return known
    return solved


def trsv(uplo, trans, diag, n, a, lda, x, incx):
    values = solve(uplo, trans, diag, n, a, lda, 0)([x[index(i, n, incx)] for i in range(n)])
    for i in range(n):
        x[index(i, n, incx)] = values[i]


def trsm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
    size, n_sides = (m, n) if side == 0 else (n, m)
    solver = solve(uplo, trans, diag, size, a, lda, side)
    for s in range(n_sides):
        places = [p + s * ldb if side == 0 else s + p * ldb for p in range(size)]
        for place, value in zip(places, solver([alpha * b[place] for place in places]) if alpha else [0.0] * size):
            b[place] = value


def trsm_array(side, uplo, trans, diag, m, n, alpha, a_rows, lda, b_rows, ldb, count, a, b):
    for i in range(count):
        trsm(side, uplo, trans, diag, m, n, alpha, a[a_rows[i]], lda, b[b_rows[i]], ldb)


# ---- the data set ----

def mapping(text):
    """One line of YAML: {name: value, ...} with numbers, words, texts and lists of numbers."""
    return {key: value_of(value) for key, value in re.findall(r'(\w+): (\[[^\]]*\]|"[^"]*"|[^,}]+)', text)}


def value_of(text):
    text = text.strip()
    if text.startswith("["):
        return [value_of(item) for item in text[1:-1].split(",") if item.strip()]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text.strip('"')


def is_read(text, at):
    """Element `at` of memory, as docs/operator-spec.md defines `read`."""
    form, numbers = re.fullmatch(r"(\w+)\(([\d,]+)\)", text).groups()
    numbers = [int(number) for number in numbers.split(",")]
    if form in ("vector", "matrix"):
        rows, columns, ld, stride = ([1] if form == "vector" else []) + numbers + [0] * (len(numbers) == 2 + (form == "matrix"))
        i, j = (at % stride if stride else at) % ld, (at % stride if stride else at) // ld
        return i < rows and j < columns
    unit, upper, n, ld = form.startswith("unit"), "upper" in form, numbers[0], numbers[-1]
    i, j = at % ld, at // ld
    if form.endswith("band"):
        i = i + j - numbers[1] if upper else i + j
        if abs(i - j) > numbers[1]:
            return False
    return 0 <= i < n and j < n and wanted(upper, i, j) and not (unit and i == j)


class Operator:
    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.name = re.search(r"^operator: cublas::(\w+)", text, re.M).group(1)
        self.dtype = re.search(r"^dtypes: \[(\w+)\]", text, re.M).group(1)
        self.params = [mapping(line) for line in re.findall(r"^      - (\{name: .*\})$", text, re.M)]
        self.behind = {param["into"] for param in self.params if "into" in param}
        self.functions = re.findall(r'^    (?:reference|baseline): \{python: "blas.py:(\w+)"\}', text, re.M)
        self.schema = re.search(r'schema: "\w+\((.*)\) ->', text).group(1)
        self.lines = []
        for name in re.search(r"^    cases: \[(.*)\]", text, re.M).group(1).split(", "):
            lines = (DATA / "cases" / (name + ".yaml")).read_text(encoding="utf-8")
            self.lines += [mapping(line) for line in re.findall(r"^  - (\{.*\})$", lines, re.M)]
        self.correctness = [line for line in self.lines if line.get("mode") != "benchmark"]

    def arguments(self, line, draws):
        """The arguments as the reference gets them: numbers, and memory as nested lists."""
        result = []
        for param in self.params:
            # "$read_slots|$slots": the first of these that the line has.
            given = lambda key: next((line[name] for name in str(param[key]).replace("$", "").split("|") if name in line), param[key])
            if "value" in param:
                value = given("value")
                result.append(complex(*value) if isinstance(value, list) else value)
                continue
            sizes, fill = given("tensor"), given("fill") if "fill" in param else "normal"
            read = line.get(param.get("read", "").lstrip("$"))
            one = lambda i: self.draw("nan" if read and not is_read(read, i) else str(fill), i, draws)
            if param.get("dtype") == "int64":
                rows = list(range(int(fill[fill.index(",") + 1:-1]) + 1))
                draws.shuffle(rows)
                # Other fills than `distinct` may name a row twice.
                result.append(rows[:sizes[0]] if fill.startswith("distinct") else draws.choices(rows, k=sizes[0]))
            elif len(sizes) == 2:
                result.append([[one(i) for i in range(sizes[1])] for _ in range(sizes[0])])
            else:
                result.append([one(i) for i in range(sizes[0])])
        return result

    def draw(self, fill, i, draws):
        if fill == "nan":
            return complex("nan+nanj") if "complex" in self.dtype else float("nan")
        rows = int(fill[len("triangle("):-1]) if fill.startswith("triangle") else 0
        part = (lambda: draws.gauss(0, 1)) if not rows else \
            (lambda: draws.choice((-1, 1)) * (1 + draws.random())) if i % (rows + 1) == 0 else \
            (lambda: draws.uniform(-1, 1) / rows ** 0.5)
        return complex(part(), part()) if "complex" in self.dtype else part()


def flat(value):
    return [item for part in value for item in flat(part)] if isinstance(value, list) else [value]


def same(a, b):
    if isinstance(a, complex) or isinstance(b, complex):
        return same(complex(a).real, complex(b).real) and same(complex(a).imag, complex(b).imag)
    return a == b or (a != a and b != b) or abs(a - b) <= 1e-11 * max(1, abs(a), abs(b))


OPERATORS = [Operator(path) for path in sorted((DATA / "cublas").glob("*.yaml"))]


def load():
    module = types.ModuleType("blas")
    exec(compile((DATA / "cublas" / "reference" / "blas.py").read_text(encoding="utf-8"), "blas.py", "exec"),
         module.__dict__)
    return module


class Formulas(unittest.TestCase):
    """Names of blas.py and of the loops here are the same."""

    @classmethod
    def setUpClass(cls):
        cls.blas = load()
        torch.set_default_dtype(torch.float64)

    def formula_of(self, op):
        source = (DATA / "cublas" / "reference" / "blas.py").read_text(encoding="utf-8")
        return re.search(r'^%s = routine\("%s", (\w+)' % (op.name, op.name), source, re.M).group(1)

    def tensors(self, args, op):
        wide = getattr(torch, WIDE[op.dtype])
        whole = [param.get("dtype") == "int64" for param in op.params]
        return [torch.tensor(arg, dtype=torch.int64 if is_whole else wide) if isinstance(arg, list) else arg
                for arg, is_whole in zip(args, whole)]

    def test_every_case_agrees_with_loops_over_elements(self):
        seen, draws = set(), random.Random(1)
        for op in OPERATORS:
            formula = self.formula_of(op)
            for line in op.correctness:
                key = (formula, "complex" in op.dtype, line["id"])
                if key in seen:
                    continue
                seen.add(key)
                args = op.arguments(line, draws)
                tensors = self.tensors(args, op)
                getattr(self.blas, op.name)(*tensors)
                globals()[formula](*args)
                for arg, tensor, param in zip(args, tensors, op.params):
                    if not isinstance(arg, list):
                        continue
                    got, want = flat(tensor.tolist()), flat(arg)
                    wrong = [i for i in range(len(want)) if not same(got[i], want[i])]
                    self.assertEqual(wrong[:3], [], "%s %s: %s" % (op.name, line["id"], param["name"]))
        self.assertGreater(len(seen), 400)

    def test_magnitudes_are_not_less_than_results(self):
        draws = random.Random(2)
        for op in OPERATORS:
            formula = self.formula_of(op)
            if formula not in ("trsv", "trsm", "trsm_array"):
                continue
            for line in op.correctness:
                tensors = self.tensors(op.arguments(line, draws), op)
                terms = getattr(self.blas, formula + "_terms")(*[t.clone() if isinstance(t, torch.Tensor) else t
                                                                 for t in tensors])
                result = getattr(self.blas, op.name)(*tensors)
                result = result[0] if isinstance(result, list) else result
                sizes = result.abs().nan_to_num(0.0)
                terms = terms.nan_to_num(0.0)  # what lies between the elements may be NaN
                self.assertTrue(bool((terms >= sizes * (1 - 1e-12)).all()), (op.name, line["id"]))
                self.assertTrue(bool((terms <= 1e4 * sizes.max()).all()) or terms.numel() == 0)


class Names(unittest.TestCase):
    def test_all_fifty_routines_are_there_and_called_as_their_prototypes_say(self):
        table = (ROOT / "verify" / "cublas" / "routines.h").read_text(encoding="utf-8")
        rows = re.findall(r"X\((\w+), (\w+), (\w), (\w+)\)", table)
        letters = dict(re.findall(r'#define KGB_CUBLAS_LETTERS_(\w+) "(\w+)"', table))
        self.assertEqual(sorted(row[0] for row in rows), sorted(op.name for op in OPERATORS))
        types_of = {"S": "float32", "D": "float64", "C": "complex64", "Z": "complex128", "H": "float16"}
        for name, family, letter, _ in rows:
            op = next(op for op in OPERATORS if op.name == name)
            self.assertEqual(op.dtype, types_of[letter])
            passed = [param for param in op.params if param["name"] not in op.behind]
            self.assertEqual(len(passed), len(letters[family]), name)
            for param, kind in zip(passed, letters[family]):
                wanted_kind = "x" if "as" in param else "pr" if "tensor" in param else "oustdil"
                self.assertIn(kind, wanted_kind, (name, param["name"]))
            self.assertEqual([part.split()[-1] for part in op.schema.split(", ")],
                             [param["name"] for param in passed])

    def test_the_routine_itself_is_the_reference_and_what_kernels_are_timed_against(self):
        source = (DATA / "cublas" / "reference" / "blas.py").read_text(encoding="utf-8")
        for op in OPERATORS:
            self.assertEqual(op.functions, [op.name, op.name + "_call"] if op.behind else [op.name])
            self.assertIn('%s = routine("%s", ' % (op.name, op.name), source)
            if op.behind:
                self.assertIn('%s_call = baseline("%s", %d)' % (op.name, op.name, len(op.behind)), source)

    def test_each_operator_has_cases_enough(self):
        for op in OPERATORS:
            self.assertTrue(8 <= len(op.correctness) <= 40, op.name)
            benchmarks = [line for line in op.lines if line.get("mode") == "benchmark"]
            self.assertTrue(4 <= len(benchmarks) <= 9, op.name)
            self.assertEqual(sum(line["id"] == "launch_bound" for line in benchmarks), 1, op.name)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    print("1..%d" % suite.countTestCases())
    result = Tap()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
