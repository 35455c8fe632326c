/* SPDX-License-Identifier: MIT */
/** \file
 * Element types as torch names them, and exact conversion between their bits and double.
 */
#ifndef KGB_VERIFY_TENSOR_DTYPE_H
#define KGB_VERIFY_TENSOR_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Values are part of the wire format (verify/protocol/wire.h): append only. */
enum kgb_dtype {
	KGB_DTYPE_BOOL,
	KGB_DTYPE_UINT8,
	KGB_DTYPE_INT8,
	KGB_DTYPE_INT16,
	KGB_DTYPE_INT32,
	KGB_DTYPE_INT64,
	KGB_DTYPE_FLOAT16,
	KGB_DTYPE_BFLOAT16,
	KGB_DTYPE_FLOAT32,
	KGB_DTYPE_FLOAT64,
	KGB_DTYPE_FLOAT8_E4M3FN, /* 4 exponent bits, 3 of mantissa; no infinities */
	KGB_DTYPE_COMPLEX64, /* real and imaginary part, float32 each */
	KGB_DTYPE_COMPLEX128, /* float64 each */
	KGB_N_DTYPES,
};

const char *kgb_dtype_name(enum kgb_dtype dtype); /* "float32" */
KGB_MUST_CHECK int kgb_dtype_parse(const char *name, enum kgb_dtype *out, struct kgb_err *err);
size_t kgb_dtype_size(enum kgb_dtype dtype); /* bytes */
bool kgb_dtype_is_float(enum kgb_dtype dtype); /* or complex */
/** The dtype of a complex number's real and imaginary part; any other dtype itself. The functions
 * below give the values of a part, and load and store the real part (the imaginary one becomes 0).
 * kgb_tensor_view_parts makes a view of both parts. */
enum kgb_dtype kgb_dtype_part(enum kgb_dtype dtype);
bool kgb_dtype_is_complex(enum kgb_dtype dtype);
/** Spacing of 1.0 (2^-10 for float16, 2^-7 bfloat16, 2^-23 float32, 2^-52 float64, 2^-3
 * float8_e4m3fn; 0 for integers and bool). */
double kgb_dtype_eps(enum kgb_dtype dtype);
/** Largest finite value. */
double kgb_dtype_max(enum kgb_dtype dtype);
/** Smallest positive normal value (floats), 0 else. */
double kgb_dtype_tiny(enum kgb_dtype dtype);
/** Range of an integer dtype or bool; 0 for floats. */
int64_t kgb_dtype_min_i64(enum kgb_dtype dtype);
int64_t kgb_dtype_max_i64(enum kgb_dtype dtype);
/** Bits at p (no alignment needed) -> double (int64 beyond 2^53 rounds: compare integers with
 * kgb_dtype_load_i64). */
double kgb_dtype_load(enum kgb_dtype dtype, const void *p);
/** Integers and bool only. A bool is its byte, so that an invalid one (2..255) is detected. */
int64_t kgb_dtype_load_i64(enum kgb_dtype dtype, const void *p);
/** Round-to-nearest-even store; floats overflow to infinity (float8_e4m3fn, which has none: to NaN)
 * and NaN becomes the quiet NaN of the
 * same sign; integers saturate and turn NaN into 0; bool is value != 0. */
void kgb_dtype_store(enum kgb_dtype dtype, void *p, double value);
/** Integers and bool only; saturates. */
void kgb_dtype_store_i64(enum kgb_dtype dtype, void *p, int64_t value);
/** Store a floating number. A NaN is a quiet one whose sign and payload come from nan_bits, unless
 * these are 0. */
void kgb_dtype_store_special(enum kgb_dtype dtype, void *p, double value, uint64_t nan_bits);
/** kgb_dtype_load and kgb_dtype_store of `n` elements that lie one behind the other: the same bits,
 * faster. */
void kgb_dtype_load_array(enum kgb_dtype dtype, const void *p, size_t n, double *out);
void kgb_dtype_store_array(enum kgb_dtype dtype, const double *values, size_t n, void *p);
/** The same for float16, bfloat16 and float8_e4m3fn without the way through double: all their
 * values are float32, and values are rounded once. */
void kgb_dtype_load_floats(enum kgb_dtype dtype, const void *p, size_t n, float *out);
void kgb_dtype_store_floats(enum kgb_dtype dtype, const float *values, size_t n, void *p);
/** Round value to the dtype and back. */
double kgb_dtype_round(enum kgb_dtype dtype, double value);
/** Is `b` the number that a copy of `a` to another type gives in torch? Floats are rounded once,
 * integers keep their lowest bits. All NaN are the same, and -0 is 0. */
bool kgb_dtype_is_copy(enum kgb_dtype from, const void *a, enum kgb_dtype to, const void *b);

#endif
