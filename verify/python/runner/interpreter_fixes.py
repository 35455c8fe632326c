# SPDX-License-Identifier: MIT
"""Makes Triton's interpreter agree with a GPU where an honest kernel would otherwise be rejected.

bfloat16 is stored as uint16 there. Arithmetic, comparisons, tl.dot and conversions other than to and from float32 work on
those integers, and rounding from float32 truncates. Here they go through float32 and round to nearest even, as the
hardware does. So do conversions to and from float8e4nv, whose carries got lost and whose NaN was a number. Autotuning has no
device to measure on: every configuration takes the same time, so the first one is used. Functions of libdevice, of which the
interpreter has names only, are computed with NumPy. tl.argmax and tl.argmin of nothing but NaN give some index.

One fix refuses kernels that a GPU computes otherwise: a float in a call is a float32 for the compiler, unless the kernel
declares float64.
"""

import functools
import inspect
import math
import types

import numpy as np
import triton.language as tl
import triton.language.extra.cuda.libdevice as cuda_libdevice
import triton.language.extra.libdevice as any_libdevice
import triton.runtime.autotuner as autotuner
import triton.runtime.interpreter as interpreter
import triton.runtime.jit as jit

ARITHMETIC = (
    "create_fadd", "create_fsub", "create_fmul", "create_fdiv", "create_frem", "create_fneg", "create_precise_divf",
    "create_approx_divf", "create_minimumf", "create_minnumf", "create_maximumf", "create_maxnumf", "create_clampf",
    "create_fma", "create_cos", "create_exp", "create_exp2", "create_floor", "create_ceil", "create_log", "create_log2",
    "create_precise_sqrt", "create_sqrt", "create_sin", "create_erf", "create_rsqrt",
    "create_fcmpOLT", "create_fcmpOGT", "create_fcmpOLE", "create_fcmpOGE", "create_fcmpOEQ", "create_fcmpONE",
    "create_fcmpULT", "create_fcmpUGT", "create_fcmpULE", "create_fcmpUGE", "create_fcmpUEQ", "create_fcmpUNE",
)


def widen(bits):
    """bfloat16 bits -> float32."""
    return (np.asarray(bits, dtype=np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def narrow(values):
    """float32 -> bfloat16 bits, to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(is_nan, (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype(np.uint16)


def float8_table():
    """float32 values of all patterns of float8e4nv: 4 bits of exponent, 3 of mantissa, no infinities."""
    bits = np.arange(256)
    exponent, mantissa = bits >> 3 & 15, bits & 7
    sizes = np.where(exponent == 0, np.ldexp(mantissa, -9), np.ldexp(1 + mantissa / 8, exponent - 7))
    sizes = np.where((bits & 127) == 127, np.nan, sizes)
    return np.where(bits < 128, sizes, -sizes).astype(np.float32)


FLOAT8 = float8_table()


def narrow_to_float8(values):
    """float32 -> float8e4nv bits, to nearest even; a value that is too large becomes the largest, as on hardware."""
    values = np.asarray(values, dtype=np.float32)
    sizes = np.minimum(np.abs(values.astype(np.float64)), 448.0)
    exponents = np.where(sizes >= 2.0 ** -6, np.frexp(sizes)[1] - 1, -6)
    steps = np.rint(np.ldexp(np.nan_to_num(sizes), 3 - exponents)).astype(np.int64)  # 8 .. 16, below 8 only if subnormal
    bits = ((exponents + 6) << 3) + steps
    return (np.where(np.isnan(sizes), 127, bits) | np.signbit(values) << 7).astype(np.uint8)


def is_bfloat16(value):
    return isinstance(value, interpreter.TensorHandle) and value.dtype.scalar == tl.bfloat16


def is_float8(value):
    return isinstance(value, interpreter.TensorHandle) and value.dtype.scalar == tl.float8e4nv


def widened(value):
    if is_float8(value):
        return interpreter.TensorHandle(FLOAT8[value.data], tl.float32)
    return interpreter.TensorHandle(widen(value.data), tl.float32) if is_bfloat16(value) else value


def through_float32(function):
    """The same operation, computed in float32 when an operand is bfloat16. Comparisons stay booleans."""

    def computed(self, *args, **kwargs):
        if not any(is_bfloat16(arg) for arg in args):
            return function(self, *args, **kwargs)
        result = function(self, *(widened(arg) for arg in args), **kwargs)
        if result.data.dtype == np.bool_:
            return interpreter.TensorHandle(result.data, tl.int1)
        return interpreter.TensorHandle(narrow(result.data), tl.bfloat16)

    return computed


def fixed_cast(function):
    """Conversions to and from bfloat16 and float8e4nv by way of float32."""
    narrowed = {tl.bfloat16: narrow, tl.float8e4nv: narrow_to_float8}

    def cast(self, src, dst_type):
        source, target = src.dtype.scalar, dst_type.scalar
        if source != target and source in narrowed:
            src, source = widened(src), tl.float32
            if target == tl.float32:
                return src
        if source != target and target in narrowed:
            return interpreter.TensorHandle(narrowed[target](src.data.astype(np.float32)), target)
        return function(self, src, dst_type)

    return cast


def fixed_fp_to_fp(function):
    def convert(self, src, dst_type, rounding_mode):
        nearest = rounding_mode is None or rounding_mode == interpreter._ir.ROUNDING_MODE.RTNE
        plain = (tl.float16, tl.float32, tl.float64, tl.bfloat16, tl.float8e4nv)
        pair = (src.dtype.scalar, dst_type.scalar)
        narrow_one = tl.bfloat16 in pair or tl.float8e4nv in pair
        if nearest and narrow_one and all(dtype in plain for dtype in pair):
            return self.cast_impl(src, dst_type)
        return function(self, src, dst_type, rounding_mode)

    return convert


def fixed_dot(function):
    def dot(self, a, b, d, *args, **kwargs):
        result = function(self, widened(a), widened(b), widened(d), *args, **kwargs)
        if is_bfloat16(d):
            return interpreter.TensorHandle(narrow(result.data), tl.bfloat16)
        return result

    return dot


def fixed_reduce(function):
    """Reductions and scans take and give triton.language tensors and compute on their data with NumPy."""

    def retyped(tensor, handle, dtype):
        kind = tl.block_type(dtype, [int(size) for size in tensor.shape]) if tensor.type.is_block() else dtype
        return tl.core.tensor(handle, kind)

    def reduce(self, input):
        if not isinstance(input, tuple):
            return self.apply((input,))[0]
        half = [isinstance(arg, tl.core.tensor) and is_bfloat16(arg.handle) for arg in input]
        if not any(half):
            return function(self, input)
        results = function(self, tuple(retyped(arg, widened(arg.handle), tl.float32) if is_half else arg
                                       for arg, is_half in zip(input, half)))
        return tuple(retyped(result, interpreter.TensorHandle(narrow(result.handle.data), tl.bfloat16), tl.bfloat16)
                     if is_half else result for result, is_half in zip(results, half))

    return reduce


def fixed_splat(function):
    """A comparison of scalars carries its operands' type; spread over a block it became an integer, which no mask may be:
    (cols < n) & (row < n_rows) was an error."""

    def splat(self, *args):
        handle = args[-1]
        if handle.data.dtype == np.bool_:
            args = (*args[:-1], interpreter.TensorHandle(handle.data, tl.int1))
        return function(self, *args)

    return splat


class TypedFloat(float):
    """An argument of a kernel that declares `name: tl.float64`."""


@functools.lru_cache(maxsize=1024)
def doubles_of(function):
    """(place, name) of such parameters. The interpreter turns annotations into text, and text into text in quotes."""
    return [(place, name) for place, (name, parameter) in enumerate(inspect.signature(function).parameters.items())
            if jit._normalize_ty(str(parameter.annotation).strip("'\"")) == "fp64"]


def fixed_launch(function):
    def launch(self, *args, **kwargs):
        for place, name in doubles_of(self.fn):
            if place < len(args) and isinstance(args[place], (int, float)):
                args = (*args[:place], TypedFloat(args[place]), *args[place + 1:])
            elif isinstance(kwargs.get(name), (int, float)):
                kwargs[name] = TypedFloat(kwargs[name])
        return function(self, *args, **kwargs)

    return launch


def fixed_argument(function):
    """A Python float would keep all its digits and take the type of the other operand."""

    def convert(arg):
        if not isinstance(arg, float):
            return function(arg)
        dtype, kind = (np.float64, tl.float64) if isinstance(arg, TypedFloat) else (np.float32, tl.float32)
        with np.errstate(over="ignore"):
            return tl.tensor(interpreter.TensorHandle(np.array([arg], dtype=dtype), kind), kind)

    return convert


def pairwise_sum(self, input):
    """tl.sum. NumPy adds along the last dimension in pairs and along others one after the other, which in float32 loses
    digits that a GPU's tree of additions keeps."""
    data, axis = input.handle.data, self.axis
    if axis is not None and axis != data.ndim - 1:
        total = np.sum(np.ascontiguousarray(np.moveaxis(data, axis, -1)), axis=-1)
        if self.keep_dims:
            total = np.expand_dims(total, axis)
    else:
        total = np.sum(data, axis=axis, keepdims=self.keep_dims)
    return self.to_tensor(total, input.dtype)


def index_of(function):
    """np.nanargmax and np.nanargmin, which raise where a row has nothing but NaN; hardware gives some index."""

    def index(data, axis=None, keepdims=False):
        if data.dtype.kind == "f":
            data = np.where(np.isnan(data).all(axis=axis, keepdims=True), data.dtype.type(0), data)
        return function(data, axis=axis, keepdims=keepdims)

    return index


def no_benchmark(call, quantiles=None):
    """Replaces a measurement: all configurations are equally fast."""
    return [0.0, 0.0, 0.0]


def no_disk_cache(self, tuning_key, configs, bench_fn):
    bench_fn()
    return False


def toward_zero(quotient, dtype):
    near = quotient.astype(dtype)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(quotient), np.nextafter(near, dtype(0)), near)


def each(function):
    return np.vectorize(function, otypes=[np.float64])


def guarded(function, otherwise):
    def value(x):
        try:
            return function(x)
        except (ValueError, OverflowError):
            return otherwise(x)
    return each(value)


LIBDEVICE = {  # without __nv_, and without the f of float32
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "exp": np.exp, "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x), "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2)), "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2)),
    "erf": each(math.erf), "erfc": each(math.erfc),
    "tgamma": guarded(math.gamma, lambda x: math.inf if x >= 0 else math.nan), "lgamma": guarded(math.lgamma, lambda x: math.inf),
    "fabs": np.abs, "abs": np.abs, "llabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "nearbyint": np.rint, "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "pow": np.power, "fmod": np.fmod,
    "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign, "fmax": np.fmax, "fmin": np.fmin, "max": np.maximum,
    "min": np.minimum, "fdim": lambda x, y: np.where(x > y, x - y, np.where(np.isnan(x - y), np.nan, 0.0)),
    "remainder": lambda x, y: x - y * np.rint(x / y), "nextafter": np.nextafter, "fma": lambda x, y, z: x * y + z,
    "fdiv_rn": np.divide, "ddiv_rn": np.divide, "fdividef": np.divide, "fsqrt_rn": np.sqrt, "dsqrt_rn": np.sqrt,
    "fadd_rn": np.add, "fmul_rn": np.multiply, "fsub_rn": np.subtract, "ldexp": lambda x, n: np.ldexp(x, n.astype(np.int32)),
    "powi": np.power, "isnan": np.isnan, "isinf": np.isinf, "signbit": np.signbit, "finite": np.isfinite, "isfinite": np.isfinite,
    "fdiv_rz": np.divide, "ddiv_rz": np.divide,
}
TOWARD_ZERO = ("fdiv_rz", "ddiv_rz")
EXACT = ("nextafter", "max", "min", "abs", "llabs")


def create_extern_elementwise(self, lib_name, lib_path, symbol, args, ret_type, is_pure):
    """libdevice: NumPy computes the functions that the compiler links from NVIDIA's library, in float64 and rounded once."""
    name = symbol.removeprefix("__nv_").removeprefix("fast_")
    function = next((LIBDEVICE[key] for key in (name, name.removesuffix("f"), name.removesuffix("d")) if key in LIBDEVICE), None)
    if function is None:
        raise NotImplementedError("%s of libdevice cannot be had in Triton's interpreter, in which kernels run here" % symbol)
    dtype = interpreter._get_np_dtype(ret_type)
    exact = name.removesuffix("f") in EXACT
    data = [arg.data if exact or arg.data.dtype.kind != "f" else arg.data.astype(np.float64) for arg in args]
    result = function(*data)
    if name in TOWARD_ZERO:
        result = toward_zero(result, np.dtype(dtype).type)
    return interpreter.TensorHandle(np.asarray(result).astype(dtype), ret_type.scalar)


WRAPPED = set()  # functions, which a candidate's own object never equals


def with_semantic(function):
    @functools.wraps(function)
    def called(*args, **kwargs):
        kwargs["_semantic"] = interpreter.interpreter_semantic
        return function(*args, **kwargs)

    WRAPPED.add(called)
    return called


def apply_libdevice():
    """triton.language.extra.libdevice has empty functions, for which the compiler takes those of the GPU's maker: called by Python
    they gave None."""
    interpreter.InterpreterBuilder.create_extern_elementwise = create_extern_elementwise
    for name, function in list(vars(cuda_libdevice).items()):
        if tl.core.is_builtin(function):
            setattr(cuda_libdevice, name, with_semantic(function))
            setattr(any_libdevice, name, getattr(cuda_libdevice, name))


def apply():
    interpreter.np = types.SimpleNamespace(**{**vars(np), "nanargmax": index_of(np.nanargmax), "nanargmin": index_of(np.nanargmin)})
    apply_libdevice()
    builder = interpreter.InterpreterBuilder
    for name in ARITHMETIC:
        setattr(builder, name, through_float32(getattr(builder, name)))
    builder.cast_impl = fixed_cast(builder.cast_impl)
    builder.create_fp_to_fp = fixed_fp_to_fp(builder.create_fp_to_fp)
    builder.create_dot = fixed_dot(builder.create_dot)
    builder.create_splat = fixed_splat(builder.create_splat)
    builder.create_unsplat = fixed_splat(builder.create_unsplat)
    interpreter.GridExecutor.__call__ = fixed_launch(interpreter.GridExecutor.__call__)
    interpreter._implicit_cvt = fixed_argument(interpreter._implicit_cvt)
    interpreter.ReduceOps.sum = pairwise_sum
    interpreter.ReduceScanOpInterface.apply = fixed_reduce(interpreter.ReduceScanOpInterface.apply)
    autotuner.Autotuner.do_bench = property(lambda self: no_benchmark)
    autotuner.Autotuner.check_disk_cache = no_disk_cache
