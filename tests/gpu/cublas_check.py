#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls every cuBLAS routine that is an operator through libkgb_cublas.so, on every case of the operator but the benchmarks, and
compares the results with the float64 formulas of the dataset. It calls batches by addresses in two ways: as the judge's reference
does and as its baseline does.

    cublas_check.py --library build/release/bin/libkgb_cublas.so [--only REGEX]

Prints TAP: one line for each operator, with its largest error over the allowed error, and each case that differs or that cuBLAS
refuses. Exit status 0 if all agree, 77 without a GPU. --device cpu tries the script: the formulas in the routines' own types stand
in for cuBLAS.
"""

import argparse
import copy
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "unit" / "verify")]
sys.dont_write_bytecode = True

import test_blas  # noqa: E402
import torch  # noqa: E402
import cublas  # noqa: E402

SLACK = 32  # units of rounding of the terms that are added up


def absolute(arg):
    return arg.abs() if isinstance(arg, torch.Tensor) and arg.dtype != torch.int64 else \
        abs(arg) if isinstance(arg, (float, complex)) else arg


def copied(args):
    return [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]


def parts(tensor):
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


class Check:
    def __init__(self, device):
        self.device = device
        self.blas = test_blas.load()
        self.formulas = test_blas.Formulas()
        self.formulas.blas = self.blas

    def truth(self, op, args):
        """Results in float64, and the sizes of their terms."""
        formula = self.formulas.formula_of(op)
        torch.set_default_dtype(torch.float64)
        results = getattr(self.blas, op.name)(*copied(args))
        terms_of = getattr(self.blas, formula + "_terms", None)
        terms = terms_of(*copied(args)) if terms_of else getattr(self.blas, formula)(*[absolute(arg) for arg in args])
        terms = list(terms) if isinstance(terms, (tuple, list)) else [terms]
        return results, terms

    def native(self, op, args, addresses):
        """The routine's results for the arguments in its own types."""
        torch.set_default_dtype(torch.float32)
        dtype = getattr(torch, op.dtype)
        own = [arg if not isinstance(arg, torch.Tensor) else arg.to(self.device) if arg.dtype == torch.int64
               else arg.to(self.device, dtype) for arg in args]
        if not addresses:
            return getattr(self.blas, op.name)(*own)
        given = [param for param in op.params if param["name"] not in op.behind]
        for param, place in ((param, i) for i, param in enumerate(given) if "into" in param):
            rows = own[[p["name"] for p in op.params].index(param["into"])]
            own[place] = own[place] * (rows.stride(0) * rows.element_size()) + rows.data_ptr()
        return getattr(self.blas, op.name + "_call")(*own)

    def worst(self, op, got, want, terms):
        """The largest error over the allowed error; infinite where NaN stands elsewhere."""
        eps, worst = torch.finfo(getattr(torch, op.dtype)).eps, 0.0
        for g, w, s in zip(got, want, terms):
            g, w = parts(g.cpu().to(w.dtype)), parts(w)
            s = parts(s.to(torch.complex128)) if s.is_complex() else s.double()
            s = s.unsqueeze(-1) if s.dim() < g.dim() else s
            if bool((g.isnan() != w.isnan()).any()):
                return float("inf")
            error = ((g - w).abs() / (SLACK * eps * s.abs() + 1e-300)).nan_to_num(0.0)
            worst = max(worst, float(error.max()) if error.numel() else 0.0)
        return worst

    def case(self, op, line, addresses):
        """(error over the allowed error, the fault or None)"""
        args = op.arguments(line, random.Random(line["id"]))
        args = self.formulas.tensors(args, op)
        # The same numbers for both: those that the routine's type can hold.
        dtype = getattr(torch, op.dtype)
        args = [arg.to(dtype).to(arg.dtype) if isinstance(arg, torch.Tensor) and arg.dtype != torch.int64 else arg
                for arg in args]
        want, terms = self.truth(op, copy.copy(args))
        try:
            got = self.native(op, args, addresses)
        except RuntimeError as error:
            return 0.0, str(error)
        want = list(want) if isinstance(want, (tuple, list)) else [want]
        got = list(got) if isinstance(got, (tuple, list)) else [got]
        part = self.worst(op, got, want, terms)
        return part, None if part <= 1 else "error %.3g of what is allowed" % part

    def operator(self, op):
        ways = [False, True] if op.behind and self.device != "cpu" else [False]
        worst, problems = 0.0, []
        for line in op.correctness:
            for addresses in ways:
                part, problem = self.case(op, line, addresses)
                worst = max(worst, part)
                if problem:
                    problems.append("%s%s: %s" % (line["id"], " by addresses" if addresses else "", problem))
        return worst, problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library")
    parser.add_argument("--only", default="")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.device != "cpu" and not torch.cuda.is_available():
        print("1..0 # SKIP no GPU")
        return 77
    if options.library:
        cublas.LIBRARY = str(pathlib.Path(options.library).resolve())
    check = Check(options.device)
    chosen = [op for op in test_blas.OPERATORS if re.search(options.only, op.name)]
    print("1..%d" % len(chosen))
    failed = 0
    for number, op in enumerate(chosen, 1):
        worst, problems = check.operator(op)
        failed += bool(problems)
        print("%s %d - %s: %d cases, %.3f of what is allowed" % ("not ok" if problems else "ok", number, op.name,
                                                                 len(op.correctness), worst))
        for problem in problems:
            print("# " + problem)
    if options.device != "cpu":
        print("# cuBLAS of CUDA %s on %s, torch %s" % (torch.version.cuda, torch.cuda.get_device_name(0), torch.__version__))
    print("# %d of %d operators agree" % (len(chosen) - failed, len(chosen)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
