#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares cuBLAS with reference BLAS where a routine has nothing to add up: sizes of 0, alpha = 0, beta = 0, with NaN in the
elements that reference BLAS then does not read. Each call runs twice, in cuBLAS on the GPU and by the formula of blas.py (reference
BLAS) on the CPU.

    cublas_corners.py [--library build/release/bin/libkgb_cublas.so] [--dry-run]

Prints one line for each call: ok, DIFFERS (with both results) or ERROR (the status). Exit status 0 if every call agrees. The
exceptions are calls without a promise in any spec: alpha = 0 with NaN in A, B or x, which some cuBLAS routines read all the same.
Needs torch with CUDA, except with --dry-run.
"""

import argparse
import itertools
import pathlib
import re
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAN = float("nan")
UNPROMISED = re.compile("alpha 0 .*NaN in [ABx]$")


def filled(n, dtype, nan, seed):
    part = {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)
    generator = torch.Generator().manual_seed(seed)
    shape = (n, 2) if dtype.is_complex else (n,)
    values = torch.randn(shape, generator=generator).to(part)
    if nan:
        values.fill_(NAN)
    return torch.view_as_complex(values) if dtype.is_complex else values


S, D, C, Z, H = torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float16


def gemv_calls():
    """(name, what, arguments on the CPU): y of 7 or 5 elements, 7 x 5 matrices."""
    routines = [("cublasDgemv_v2", D), ("cublasCgemv_v2", C)]
    strided = [("cublasSgemvStridedBatched", S), ("cublasDgemvStridedBatched", D), ("cublasCgemvStridedBatched", C),
               ("cublasZgemvStridedBatched", Z)]
    arrays = [("cublasSgemvBatched", S), ("cublasDgemvBatched", D), ("cublasCgemvBatched_64", C), ("cublasZgemvBatched", Z)]
    cases = []
    for trans, (m, n) in itertools.product((0, 1, 2), ((7, 0), (0, 5), (7, 5))):
        for alpha, beta in ((1.0, 0.5), (1.0, 0.0), (1.0, 1.0), (0.0, 0.5), (0.0, 0.0), (0.0, 1.0)):
            if m and n and alpha:
                continue
            for nan in ("", "A", "x", "y"):
                if nan == "y" and beta != 0:
                    continue
                if nan in ("A", "x") and not (m and n):
                    continue
                cases.append((trans, m, n, alpha, beta, nan))
    for trans, m, n, alpha, beta, nan in cases:
        what = "trans %d m %d n %d alpha %g beta %g%s" % (trans, m, n, alpha, beta, " NaN in " + nan if nan else "")
        n_x, n_y = (m, n) if trans else (n, m)

        def make(dtype, count=1):
            return (filled(max(m * n, 1) * count, dtype, nan == "A", 1), filled(max(n_x, 1) * count, dtype, nan == "x", 2),
                    filled(max(n_y, 1) * count, dtype, nan == "y", 3))

        lda = max(m, 1)
        for name, dtype in routines:
            a, x, y = make(dtype)
            yield name, what, (trans, m, n, alpha, a, lda, x, 1, beta, y, 1)
        for name, dtype in strided:
            a, x, y = make(dtype, 2)
            yield name, what, (trans, m, n, alpha, a, lda, a.numel() // 2, x, 1, x.numel() // 2, beta, y, 1, y.numel() // 2, 2)
        for name, dtype in arrays:
            a, x, y = (t.reshape(2, -1) for t in make(dtype, 2))
            rows = torch.tensor([0, 1])
            yield name, what, (trans, m, n, alpha, rows, lda, rows.clone(), 1, beta, rows.clone(), 1, 2, a, x, y)


def gemm_calls():
    for m, n, k in ((6, 5, 0), (0, 5, 4), (6, 0, 4), (6, 5, 4)):
        for alpha, beta in ((1.0, 0.5), (1.0, 0.0), (0.0, 0.5), (0.0, 0.0), (0.0, 1.0)):
            if m and n and k and alpha:
                continue
            for nan in ("", "A", "B", "C"):
                if nan == "C" and beta != 0 or nan in ("A", "B") and not (m and n and k):
                    continue
                what = "m %d n %d k %d alpha %g beta %g%s" % (m, n, k, alpha, beta, " NaN in " + nan if nan else "")

                def make(dtype, count=1):
                    return tuple(filled(max(size, 1) * count, dtype, nan == letter, seed)
                                 for seed, (letter, size) in enumerate((("A", m * k), ("B", k * n), ("C", m * n))))

                lda, ldb, ldc = max(m, 1), max(k, 1), max(m, 1)
                for name, dtype in (("cublasSgemm_v2", S), ("cublasCgemm_v2", C)):
                    a, b, c = make(dtype)
                    yield name, what, (0, 0, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
                for name, dtype in (("cublasSgemmStridedBatched", S), ("cublasDgemmStridedBatched", D), ("cublasHgemmStridedBatched", H),
                                    ("cublasCgemmStridedBatched", C), ("cublasZgemmStridedBatched", Z),
                                    ("cublasDgemmStridedBatched_64", D), ("cublasCgemmStridedBatched_64", C)):
                    a, b, c = make(dtype, 2)
                    yield name, what, (0, 0, m, n, k, alpha, a, lda, a.numel() // 2, b, ldb, b.numel() // 2, beta, c, ldc,
                                       c.numel() // 2, 2)
                for name, dtype in (("cublasDgemmBatched", D), ("cublasHgemmBatched", H), ("cublasZgemmBatched", Z),
                                    ("cublasSgemmBatched_64", S)):
                    a, b, c = (t.reshape(2, -1) for t in make(dtype, 2))
                    rows = torch.tensor([0, 1])
                    yield name, what, (0, 0, m, n, k, alpha, rows, lda, rows.clone(), ldb, beta, rows.clone(), ldc, 2, a, b, c)


def other_calls():
    n, k = 6, 2
    for alpha, beta, nan in ((0.0, 0.5, ""), (0.0, 0.5, "A"), (0.0, 0.5, "x"), (0.0, 0.0, "y"), (0.0, 1.0, "A"), (1.0, 0.0, "y")):
        what = "alpha %g beta %g%s" % (alpha, beta, " NaN in " + nan if nan else "")

        def of(letter, size, dtype):
            return filled(size, dtype, nan == letter, ord(letter))

        yield "cublasCsymv_v2", what, (0, n, alpha, of("A", n * n, C), n, of("x", n, C), 1, beta, of("y", n, C), 1)
        yield "cublasDsbmv_v2", what, (0, n, k, alpha, of("A", n * (k + 1), D), k + 1, of("x", n, D), 1, beta, of("y", n, D), 1)
        yield "cublasCsymm_v2", what, (0, 0, n, 5, alpha, of("A", n * n, C), n, of("x", n * 5, C), n, beta, of("y", n * 5, C), n)
        yield "cublasSsyrk_v2", what, (0, 0, n, 5, alpha, of("A", n * 5, S), n, beta, of("y", n * n, S), n)
        if beta == 1.0 or beta == 0.5:  # these have no beta
            only = "alpha %g%s" % (alpha, " NaN in " + nan if nan else "")
            yield "cublasDaxpy_v2", only, (n, alpha, of("x", n, D), 1, of("z", n, D), 1)
            yield "cublasSger_v2", only, (n, 5, alpha, of("x", n, S), 1, of("v", 5, S), 1, of("z", n * 5, S), n)
            yield "cublasDsyr2_v2", only, (0, n, alpha, of("x", n, D), 1, of("v", n, D), 1, of("z", n * n, D), n)
    for nan in ("", "x"):  # scal has no alpha = 0 that BLAS would treat apart: 0 * NaN is NaN there
        yield "cublasSscal_v2", "alpha 0%s" % (" NaN in x" if nan else ""), (n, 0.0, filled(n, S, nan == "x", 9), 1)


def show(tensor):
    flat = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return [round(float(v), 4) for v in flat.flatten()[:6]]


def same(a, b):
    a, b = (torch.view_as_real(t) if t.is_complex() else t for t in (a, b))
    return torch.allclose(a.double(), b.double(), rtol=1e-2 if a.dtype == H else 1e-4, atol=1e-5, equal_nan=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "libkgb_cublas.so")
    parser.add_argument("--dry-run", action="store_true", help="formulas only: does every call have the right arguments?")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "verify" / "python" / "reference"), str(ROOT / "datasets" / "kernelgenbench" / "cublas" / "reference")]
    import blas
    import cublas
    cublas.LIBRARY = str(options.library)
    n_calls = n_differ = n_promised = 0
    for name, what, args in itertools.chain(gemv_calls(), gemm_calls(), other_calls()):
        n_calls += 1
        ours = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
        getattr(blas, name)(*ours)
        if options.dry_run:
            continue
        theirs = [arg.cuda() if isinstance(arg, torch.Tensor) else arg for arg in args]
        try:
            getattr(blas, name)(*theirs)
            torch.cuda.synchronize()
        except RuntimeError as error:
            n_differ += 1
            n_promised += 1
            print("ERROR   %s: %s: %s" % (name, what, str(error).split("\n")[0]))
            continue
        wrong = [i for i, (a, b) in enumerate(zip(ours, theirs)) if isinstance(a, torch.Tensor) and not same(a, b.cpu())]
        n_differ += bool(wrong)
        if wrong:
            n_promised += not UNPROMISED.search(what)
            print("DIFFERS %s: %s: reference BLAS %s, cuBLAS %s" % (name, what, show(ours[wrong[-1]]), show(theirs[wrong[-1]].cpu())))
        else:
            print("ok      %s: %s" % (name, what))
    print("%d calls, %d not as reference BLAS, %d of them where specs promise it" % (n_calls, n_differ, n_promised))
    return 1 if n_promised else 0


if __name__ == "__main__":
    sys.exit(main())
