/* SPDX-License-Identifier: MIT */
/* One row for an operation and its corners: four lanes of up to three operands, and the lanes of
 * the result. */
#include "tests/unit/verify/machine/machine_module.h"

#include <ctype.h>
#include <math.h>

#include "verify/lanes/narrow.h"

#define N 4

struct integer_row {
	const char *type, *result; /* of operands and result */
	const char *statement; /* %r from %x, %y, %z; T stands for tensor<4x*type*>, R for the
				  result's */
	int64_t x[N], y[N], z[N];
	int64_t want[N];
};

static const struct integer_row integer_rows[] = {
	{"i32",
	 "i32",
	 "arith.addi %x, %y : T",
	 {1, INT32_MAX, -1, 7},
	 {2, 1, 1, -8},
	 {0},
	 {3, INT32_MIN, 0, -1}},
	{"i8",
	 "i8",
	 "arith.addi %x, %y : T",
	 {127, -128, 1, 0},
	 {1, -1, 1, 0},
	 {0},
	 {-128, 127, 2, 0}},
	{"i1", "i1", "arith.addi %x, %y : T", {0, 1, 0, 1}, {0, 0, 1, 1}, {0}, {0, 1, 1, 0}},
	{"i16",
	 "i16",
	 "arith.subi %x, %y : T",
	 {INT16_MIN, 0, 5, 1},
	 {1, 1, 5, 2},
	 {0},
	 {INT16_MAX, -1, 0, -1}},
	{"i64",
	 "i64",
	 "arith.muli %x, %y : T",
	 {INT64_MAX, 3, -3, 0},
	 {2, 4, 5, 9},
	 {0},
	 {-2, 12, -15, 0}},
	{"i32",
	 "i32",
	 "arith.muli %x, %y overflow<nsw> : T",
	 {65536, -1, 3, 2},
	 {65536, 7, 5, 2},
	 {0},
	 {0, -7, 15, 4}},
	{"i32",
	 "i32",
	 "arith.divsi %x, %y : T",
	 {7, -7, INT32_MIN, 5},
	 {2, 2, -1, 0},
	 {0},
	 {3, -3, INT32_MIN, -1}},
	{"i64",
	 "i64",
	 "arith.divsi %x, %y : T",
	 {INT64_MIN, 1, -9, 9},
	 {-1, 0, 4, -4},
	 {0},
	 {INT64_MIN, -1, -2, -2}},
	{"i8",
	 "i8",
	 "arith.divsi %x, %y : T",
	 {-128, -128, 100, 1},
	 {-1, 2, 0, 1},
	 {0},
	 {-128, -64, -1, 1}},
	{"i32",
	 "i32",
	 "arith.remsi %x, %y : T",
	 {7, -7, INT32_MIN, 5},
	 {4, 4, -1, 0},
	 {0},
	 {3, -3, 0, 5}},
	{"i32",
	 "i32",
	 "arith.divui %x, %y : T",
	 {-1, 7, 7, 0},
	 {2, 0, 2, 5},
	 {0},
	 {INT32_MAX, -1, 3, 0}},
	{"i32", "i32", "arith.remui %x, %y : T", {-1, 7, 7, 0}, {10, 0, 2, 5}, {0}, {5, 7, 1, 0}},
	{"i32",
	 "i32",
	 "arith.ceildivsi %x, %y : T",
	 {7, -7, 8, 1},
	 {2, 2, 2, 0},
	 {0},
	 {4, -3, 4, -1}},
	{"i32",
	 "i32",
	 "arith.floordivsi %x, %y : T",
	 {7, -7, 8, 1},
	 {2, 2, -3, 0},
	 {0},
	 {3, -4, -3, -1}},
	{"i32",
	 "i32",
	 "arith.ceildivui %x, %y : T",
	 {7, 8, -1, 1},
	 {2, 2, 2, 0},
	 {0},
	 {4, 4, INT32_MIN, -1}},
	{"i32", "i32", "arith.andi %x, %y : T", {12, -1, 0, 6}, {10, 7, 7, 3}, {0}, {8, 7, 0, 2}},
	{"i32", "i32", "arith.ori %x, %y : T", {12, -1, 0, 6}, {10, 7, 7, 3}, {0}, {14, -1, 7, 7}},
	{"i32", "i32", "arith.xori %x, %y : T", {12, -1, 0, 6}, {10, 7, 7, 3}, {0}, {6, -8, 7, 5}},
	{"i32",
	 "i32",
	 "arith.shli %x, %y : T",
	 {1, 1, 1, -1},
	 {31, 32, 0, 100},
	 {0},
	 {INT32_MIN, 0, 1, 0}},
	{"i32",
	 "i32",
	 "arith.shrui %x, %y : T",
	 {-1, -1, 8, -1},
	 {31, 32, 2, -1},
	 {0},
	 {1, 0, 2, 0}},
	{"i32",
	 "i32",
	 "arith.shrsi %x, %y : T",
	 {-8, -8, 8, 8},
	 {1, 99, 2, 99},
	 {0},
	 {-4, -1, 2, 0}},
	{"i8",
	 "i8",
	 "arith.shrsi %x, %y : T",
	 {-128, 127, -1, 64},
	 {7, 8, 1, 6},
	 {0},
	 {-1, 0, -1, 1}},
	{"i32", "i32", "arith.maxsi %x, %y : T", {1, -1, 5, 0}, {2, -2, 5, 0}, {0}, {2, -1, 5, 0}},
	{"i1", "i1", "arith.maxsi %x, %y : T", {0, 1, 0, 1}, {0, 0, 1, 1}, {0}, {0, 0, 0, 1}},
	{"i1", "i1", "arith.maxui %x, %y : T", {0, 1, 0, 1}, {0, 0, 1, 1}, {0}, {0, 1, 1, 1}},
	{"i32", "i32", "arith.minsi %x, %y : T", {1, -1, 5, 0}, {2, -2, 5, 0}, {0}, {1, -2, 5, 0}},
	{"i32", "i32", "arith.maxui %x, %y : T", {1, -1, 5, 0}, {2, 2, 5, 0}, {0}, {2, -1, 5, 0}},
	{"i32", "i32", "arith.minui %x, %y : T", {1, -1, 5, 0}, {2, 2, 5, 0}, {0}, {1, 2, 5, 0}},
	{"i32", "i32", "math.absi %x : T", {-3, INT32_MIN, 3, 0}, {0}, {0}, {3, INT32_MIN, 3, 0}},
	{"i32",
	 "i32",
	 "tt.mulhiui %x, %y : T",
	 {-1, 65536, 3, 0},
	 {-1, 65536, 5, 9},
	 {0},
	 {-2, 1, 0, 0}},
	{"i64",
	 "i64",
	 "tt.mulhiui %x, %y : T",
	 {-1, 1, INT64_MIN, 0},
	 {-1, 1, 4, 9},
	 {0},
	 {-2, 0, 2, 0}},
	{"i32", "i32", "math.ctpop %x : T", {-1, 0, 5, INT32_MIN}, {0}, {0}, {32, 0, 2, 1}},
	{"i32", "i32", "math.ctlz %x : T", {-1, 0, 5, 1}, {0}, {0}, {0, 32, 29, 31}},
	{"i32", "i1", "arith.cmpi eq, %x, %y : T", {1, -1, 0, 2}, {1, 1, 0, 3}, {0}, {1, 0, 1, 0}},
	{"i32", "i1", "arith.cmpi ne, %x, %y : T", {1, -1, 0, 2}, {1, 1, 0, 3}, {0}, {0, 1, 0, 1}},
	{"i32", "i1", "arith.cmpi slt, %x, %y : T", {1, -1, 0, 2}, {1, 1, 0, 3}, {0}, {0, 1, 0, 1}},
	{"i32", "i1", "arith.cmpi sle, %x, %y : T", {1, -1, 9, 2}, {1, 1, 0, 3}, {0}, {1, 1, 0, 1}},
	{"i32", "i1", "arith.cmpi sgt, %x, %y : T", {1, -1, 9, 2}, {1, 1, 0, 3}, {0}, {0, 0, 1, 0}},
	{"i32", "i1", "arith.cmpi sge, %x, %y : T", {1, -1, 9, 2}, {1, 1, 0, 3}, {0}, {1, 0, 1, 0}},
	{"i32", "i1", "arith.cmpi ult, %x, %y : T", {1, -1, 0, 2}, {1, 1, 0, 3}, {0}, {0, 0, 0, 1}},
	{"i32", "i1", "arith.cmpi ule, %x, %y : T", {1, -1, 0, 2}, {1, 1, 0, 3}, {0}, {1, 0, 1, 1}},
	{"i32", "i1", "arith.cmpi ugt, %x, %y : T", {1, -1, 0, 2}, {1, 1, 0, 3}, {0}, {0, 1, 0, 0}},
	{"i32", "i1", "arith.cmpi uge, %x, %y : T", {1, -1, 0, 2}, {1, 1, 0, 3}, {0}, {1, 1, 1, 0}},
	{"i1", "i1", "arith.cmpi slt, %x, %y : T", {0, 1, 0, 1}, {0, 0, 1, 1}, {0}, {0, 1, 0, 0}},
	{"i1", "i1", "arith.cmpi ult, %x, %y : T", {0, 1, 0, 1}, {0, 0, 1, 1}, {0}, {0, 0, 1, 0}},
	{"i1",
	 "i1",
	 "arith.select %x, %y, %z : T, T",
	 {0, 1, 0, 1},
	 {0, 0, 1, 1},
	 {1, 1, 0, 0},
	 {1, 0, 0, 1}},
	{"i8", "i32", "arith.extsi %x : T to R", {-1, 127, -128, 0}, {0}, {0}, {-1, 127, -128, 0}},
	{"i8", "i32", "arith.extui %x : T to R", {-1, 127, -128, 0}, {0}, {0}, {255, 127, 128, 0}},
	{"i1", "i32", "arith.extsi %x : T to R", {0, 1, 0, 1}, {0}, {0}, {0, -1, 0, -1}},
	{"i1", "i64", "arith.extui %x : T to R", {0, 1, 0, 1}, {0}, {0}, {0, 1, 0, 1}},
	{"i64", "i8", "arith.trunci %x : T to R", {256, 255, -129, 1}, {0}, {0}, {0, -1, 127, 1}},
	{"i32", "i1", "arith.trunci %x : T to R", {2, 3, -1, 0}, {0}, {0}, {0, 1, 1, 0}},
	{"i32", "i64", "arith.index_cast %x : T to R", {2, 3, -1, 0}, {0}, {0}, {2, 3, -1, 0}},
};

struct float_row {
	const char *type, *result;
	const char *statement;
	double x[N], y[N], z[N];
	double want[N];
};

#define INF ((double)INFINITY)
#define QNAN ((double)NAN)
static const struct float_row float_rows[] = {
	{"f32",
	 "f32",
	 "arith.addf %x, %y : T",
	 {1, 0x1p24, INF, -0.0},
	 {2, 1, -INF, -0.0},
	 {0},
	 {3, 0x1p24, QNAN, -0.0}},
	{"f16",
	 "f16",
	 "arith.addf %x, %y : T",
	 {1, 2048, 65504, 0x1p-24},
	 {0.00048828125, 1, 32, 0x1p-24},
	 {0},
	 {1, 2048, INF, 0x1p-23}},
	{"bf16",
	 "bf16",
	 "arith.addf %x, %y : T",
	 {1, 256, 1, 0x1p-133},
	 {0x1p-8, 1, 0x1.8p-7, 0x1p-133},
	 {0},
	 {1, 256, 0x1.04p0, 0x1p-132}},
	{"f64",
	 "f64",
	 "arith.subf %x, %y : T",
	 {1, 0x1p53, INF, 0},
	 {0x1p-53, 1, INF, 0},
	 {0},
	 {0x1.fffffffffffffp-1, 0x1.fffffffffffffp52, QNAN, 0}},
	{"f32",
	 "f32",
	 "arith.mulf %x, %y : T",
	 {3, 0x1p127, 0, 0x1p-100},
	 {5, 2, INF, 0x1p-49},
	 {0},
	 {15, INF, QNAN, 0x1p-149}},
	{"f32",
	 "f32",
	 "arith.divf %x, %y : T",
	 {1, 1, 0, 6},
	 {0, -0.0, 0, 3},
	 {0},
	 {INF, -INF, QNAN, 2}},
	{"f32",
	 "f32",
	 "arith.divf %x, %y : T",
	 {33, 22, 5, 0x1p-149},
	 {33, 7, 1, 0x1p-149},
	 {0},
	 {0x1.fffffep-1, 0x1.924926p+1, 5, 1}},
	{"f64",
	 "f64",
	 "arith.divf %x, %y : T",
	 {33, 22, 1, 6},
	 {33, 7, 3, 3},
	 {0},
	 {1, 0x1.9249249249249p+1, 0x1.5555555555555p-2, 2}},
	{"f32",
	 "f32",
	 "tt.precise_divf %x, %y : T",
	 {33, 22, 0, 6},
	 {33, 7, 0, 3},
	 {0},
	 {1, 0x1.924924p+1, QNAN, 2}},
	{"f32",
	 "f32",
	 "tt.precise_divf %x, %y : T",
	 {1, 1, 0, 6},
	 {3, -0.0, 0, 3},
	 {0},
	 {0x1.555556p-2, -INF, QNAN, 2}},
	{"f32",
	 "f32",
	 "arith.remf %x, %y : T",
	 {7, -7, 1, INF},
	 {4, 4, 0, 1},
	 {0},
	 {3, -3, QNAN, QNAN}},
	{"f16", "f16", "arith.negf %x : T", {1, -0.0, INF, 2}, {0}, {0}, {-1, 0.0, -INF, -2}},
	{"f32", "f32", "math.absf %x : T", {-1, -0.0, -INF, 2}, {0}, {0}, {1, 0, INF, 2}},
	{"f32",
	 "f32",
	 "arith.maxnumf %x, %y : T",
	 {1, QNAN, -0.0, QNAN},
	 {2, 5, 0.0, QNAN},
	 {0},
	 {2, 5, 0.0, QNAN}},
	{"f32",
	 "f32",
	 "arith.minnumf %x, %y : T",
	 {1, QNAN, -0.0, 7},
	 {2, 5, 0.0, QNAN},
	 {0},
	 {1, 5, -0.0, 7}},
	{"f32",
	 "f32",
	 "arith.maximumf %x, %y : T",
	 {1, QNAN, -0.0, 7},
	 {2, 5, 0.0, QNAN},
	 {0},
	 {2, QNAN, 0.0, QNAN}},
	{"bf16",
	 "bf16",
	 "arith.minimumf %x, %y : T",
	 {1, QNAN, 0.0, 7},
	 {2, 5, -0.0, QNAN},
	 {0},
	 {1, QNAN, -0.0, QNAN}},
	{"f32",
	 "f32",
	 "tt.clampf %x, %y, %z, propagateNan = none : T",
	 {5, -5, QNAN, 1},
	 {0, 0, 0, 0},
	 {2, 2, 2, 2},
	 {2, 0, 0, 1}},
	{"f32",
	 "f32",
	 "tt.clampf %x, %y, %z, propagateNan = all : T",
	 {5, -5, QNAN, 1},
	 {0, 0, 0, 0},
	 {2, 2, 2, 2},
	 {2, 0, QNAN, 1}},
	{"f32", "f32", "math.sqrt %x : T", {4, -1, 0, INF}, {0}, {0}, {2, QNAN, 0, INF}},
	{"f32",
	 "f32",
	 "tt.precise_sqrt %x : T",
	 {4, 2, 0, INF},
	 {0},
	 {0},
	 {2, 0x1.6a09e6p0, 0, INF}},
	{"f32", "f32", "math.rsqrt %x : T", {4, -1, 0, INF}, {0}, {0}, {0.5, QNAN, INF, 0}},
	{"f32", "f32", "math.exp %x : T", {0, -INF, INF, QNAN}, {0}, {0}, {1, 0, INF, QNAN}},
	{"f32",
	 "f32",
	 "math.exp %x : T",
	 {1, 89, -104, -103},
	 {0},
	 {0},
	 {0x1.5bf0a8p1, INF, 0, 0x1p-149}},
	{"f32", "f32", "math.exp2 %x : T", {3, 128, -149, -151}, {0}, {0}, {8, INF, 0x1p-149, 0}},
	{"f64", "f64", "math.exp2 %x : T", {3, 1024, -1074, 0.0}, {0}, {0}, {8, INF, 0x1p-1074, 1}},
	{"f32", "f32", "math.log %x : T", {1, 0, -1, INF}, {0}, {0}, {0, -INF, QNAN, INF}},
	{"f32", "f32", "math.log2 %x : T", {8, 0, -1, 0.5}, {0}, {0}, {3, -INF, QNAN, -1}},
	{"f32", "f32", "math.log1p %x : T", {0, -1, -2, INF}, {0}, {0}, {0, -INF, QNAN, INF}},
	{"f32", "f32", "math.sin %x : T", {0, INF, -0.0, QNAN}, {0}, {0}, {0, QNAN, -0.0, QNAN}},
	{"f32", "f32", "math.cos %x : T", {0, INF, -0.0, QNAN}, {0}, {0}, {1, QNAN, 1, QNAN}},
	{"f32", "f32", "math.tanh %x : T", {0, INF, -INF, QNAN}, {0}, {0}, {0, 1, -1, QNAN}},
	{"f32", "f32", "math.erf %x : T", {0, INF, -INF, QNAN}, {0}, {0}, {0, 1, -1, QNAN}},
	{"f32", "f32", "math.floor %x : T", {1.5, -1.5, -0.0, INF}, {0}, {0}, {1, -2, -0.0, INF}},
	{"f32", "f32", "math.ceil %x : T", {1.5, -1.5, -0.5, INF}, {0}, {0}, {2, -1, -0.0, INF}},
	{"f32", "f32", "math.trunc %x : T", {1.5, -1.5, -0.5, INF}, {0}, {0}, {1, -1, -0.0, INF}},
	{"f32", "f32", "math.roundeven %x : T", {0.5, 1.5, -2.5, 3.5}, {0}, {0}, {0, 2, -2, 4}},
	{"f32", "f32", "math.round %x : T", {0.5, 1.5, -2.5, 3.5}, {0}, {0}, {1, 2, -3, 4}},
	{"f32",
	 "f32",
	 "math.powf %x, %y : T",
	 {2, -8, 0, 9},
	 {10, 1, 0, 0.5},
	 {0},
	 {1024, -8, 1, 3}},
	{"f32",
	 "f32",
	 "math.copysign %x, %y : T",
	 {1, -1, QNAN, 0},
	 {-0.0, 2, 1, -3},
	 {0},
	 {-1, 1, QNAN, -0.0}},
	{"f32",
	 "f32",
	 "math.fma %x, %y, %z : T",
	 {0x1.000002p0, 2, INF, 0},
	 {0x1.000002p0, 3, 0, 1},
	 {-0x1.000004p0, 4, 1, 5},
	 {0x1p-46, 10, QNAN, 5}},
	{"f32",
	 "i1",
	 "arith.cmpf oeq, %x, %y : T",
	 {1, 1, QNAN, 0.0},
	 {1, 2, QNAN, -0.0},
	 {0},
	 {1, 0, 0, 1}},
	{"f32",
	 "i1",
	 "arith.cmpf one, %x, %y : T",
	 {1, 1, QNAN, 0.0},
	 {1, 2, QNAN, -0.0},
	 {0},
	 {0, 1, 0, 0}},
	{"f32",
	 "i1",
	 "arith.cmpf une, %x, %y : T",
	 {1, 1, QNAN, 0.0},
	 {1, 2, QNAN, -0.0},
	 {0},
	 {0, 1, 1, 0}},
	{"f32",
	 "i1",
	 "arith.cmpf ueq, %x, %y : T",
	 {1, 1, QNAN, 0.0},
	 {1, 2, QNAN, -0.0},
	 {0},
	 {1, 0, 1, 1}},
	{"f32",
	 "i1",
	 "arith.cmpf olt, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, 2, 1, 2},
	 {0},
	 {0, 1, 0, 0}},
	{"f32",
	 "i1",
	 "arith.cmpf ult, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, 2, 1, 2},
	 {0},
	 {0, 1, 1, 0}},
	{"f32",
	 "i1",
	 "arith.cmpf ole, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, 2, 1, 2},
	 {0},
	 {1, 1, 0, 0}},
	{"f32",
	 "i1",
	 "arith.cmpf ule, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, 2, 1, 2},
	 {0},
	 {1, 1, 1, 0}},
	{"f16",
	 "i1",
	 "arith.cmpf ogt, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, 2, 1, 2},
	 {0},
	 {0, 0, 0, 1}},
	{"f32",
	 "i1",
	 "arith.cmpf ugt, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, 2, 1, 2},
	 {0},
	 {0, 0, 1, 1}},
	{"f32",
	 "i1",
	 "arith.cmpf oge, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, 2, 1, 2},
	 {0},
	 {1, 0, 0, 1}},
	{"f32",
	 "i1",
	 "arith.cmpf uge, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, 2, 1, 2},
	 {0},
	 {1, 0, 1, 1}},
	{"f32",
	 "i1",
	 "arith.cmpf ord, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, QNAN, QNAN, 2},
	 {0},
	 {1, 0, 0, 1}},
	{"f32",
	 "i1",
	 "arith.cmpf uno, %x, %y : T",
	 {1, 1, QNAN, 3},
	 {1, QNAN, QNAN, 2},
	 {0},
	 {0, 1, 1, 0}},
	{"f32",
	 "f16",
	 "arith.truncf %x : T to R",
	 {65519, 65520, 0x1p-25, 0x1.002p0},
	 {0},
	 {0},
	 {65504, INF, 0, 1}},
	{"f32",
	 "f16",
	 "tt.fp_to_fp %x, rounding = rtz : T -> R",
	 {65520, 0x1.ffep0, -0x1.8p-24, INF},
	 {0},
	 {0},
	 {65504, 0x1.ffcp0, -0x1p-24, INF}},
	{"f32",
	 "bf16",
	 "arith.truncf %x : T to R",
	 {0x1.01p0, 0x1.03p0, 3.4e38, QNAN},
	 {0},
	 {0},
	 {1, 0x1.04p0, INF, QNAN}},
	{"f64",
	 "f16",
	 "arith.truncf %x : T to R",
	 {0x1.0020000001p0, 0x1.002p0, 1e9, QNAN},
	 {0},
	 {0},
	 {0x1.004p0, 1, INF, QNAN}},
	{"f64",
	 "f32",
	 "arith.truncf %x : T to R",
	 {0x1.000001p0, 1e300, 1e-300, QNAN},
	 {0},
	 {0},
	 {1, INF, 0, QNAN}},
	{"f16",
	 "f32",
	 "arith.extf %x : T to R",
	 {65504, 0x1p-24, -0.0, INF},
	 {0},
	 {0},
	 {65504, 0x1p-24, -0.0, INF}},
	{"f16",
	 "f64",
	 "arith.extf %x : T to R",
	 {65504, 0x1p-24, -0.0, INF},
	 {0},
	 {0},
	 {65504, 0x1p-24, -0.0, INF}},
	{"f32",
	 "f8E4M3FN",
	 "tt.fp_to_fp %x, rounding = rtne : T -> R",
	 {448, 1000, -INF, 0x1p-10},
	 {0},
	 {0},
	 {448, 448, -448, 0}},
	{"f32",
	 "f8E4M3FN",
	 "tt.fp_to_fp %x, rounding = rtne : T -> R",
	 {17, 0x1.8p-9, 0.3, QNAN},
	 {0},
	 {0},
	 {16, 0x1p-8, 0.3125, QNAN}},
	{"f32",
	 "f8E5M2",
	 "tt.fp_to_fp %x, rounding = rtne : T -> R",
	 {57344, 1e6, 0x1p-17, QNAN},
	 {0},
	 {0},
	 {57344, 57344, 0, QNAN}},
	{"f8E4M3FN",
	 "f16",
	 "tt.fp_to_fp %x : T -> R",
	 {448, 0x1p-9, -0.0, QNAN},
	 {0},
	 {0},
	 {448, 0x1p-9, -0.0, QNAN}},
	{"f8E5M2",
	 "f32",
	 "tt.fp_to_fp %x : T -> R",
	 {57344, 0x1p-16, -0.0, INF},
	 {0},
	 {0},
	 {57344, 0x1p-16, -0.0, 57344}},
	{"f32",
	 "i32",
	 "arith.fptosi %x : T to R",
	 {-1.9, 1e10, QNAN, -1e10},
	 {0},
	 {0},
	 {-1, INT32_MAX, 0, INT32_MIN}},
	{"f32",
	 "i8",
	 "arith.fptosi %x : T to R",
	 {-1.9, 127, 0, -128},
	 {0},
	 {0},
	 {-1, 127, 0, -128}},
	{"f64",
	 "i64",
	 "arith.fptosi %x : T to R",
	 {-1.9, 1e15, QNAN, -0x1p62},
	 {0},
	 {0},
	 {-1, 1e15, -0x1p63, -0x1p62}},
	{"bf16", "i32", "arith.fptoui %x : T to R", {1.5, -1, QNAN, 256}, {0}, {0}, {1, 0, 0, 256}},
	{"i32",
	 "f32",
	 "arith.sitofp %x : T to R",
	 {-1, 16777217, 0, INT32_MIN},
	 {0},
	 {0},
	 {-1, 16777216, 0, INT32_MIN}},
	{"i32", "f64", "arith.uitofp %x : T to R", {-1, 3, 0, 1}, {0}, {0}, {4294967295., 3, 0, 1}},
	{"i1", "f32", "arith.sitofp %x : T to R", {0, 1, 0, 1}, {0}, {0}, {0, -1, 0, -1}},
	{"i1", "f32", "arith.uitofp %x : T to R", {0, 1, 0, 1}, {0}, {0}, {0, 1, 0, 1}},
	{"i32",
	 "f16",
	 "arith.sitofp %x : T to R",
	 {2049, 65520, -1, 2051},
	 {0},
	 {0},
	 {2048, INF, -1, 2052}},
	{"i32", "bf16", "arith.sitofp %x : T to R", {257, 259, -1, 0}, {0}, {0}, {256, 260, -1, 0}},
	{"f32",
	 "f32",
	 "tt.extern_elementwise %x {symbol = \"__nv_fabsf\"} : (T) -> R",
	 {-1, 2, -INF, 0},
	 {0},
	 {0},
	 {1, 2, INF, 0}},
	{"f64",
	 "f64",
	 "tt.extern_elementwise %x, %y {symbol = \"__nv_pow\"} : (T, T) -> R",
	 {2, 3, 0, 1},
	 {3, 2, 0, 9},
	 {0},
	 {8, 9, 1, 1}},
	{"f32",
	 "i32",
	 "tt.extern_elementwise %x {symbol = \"__nv_isnanf\"} : (T) -> R",
	 {QNAN, 1, INF, 0},
	 {0},
	 {0},
	 {1, 0, 0, 0}},
	{"f32",
	 "i32",
	 "tt.extern_elementwise %x {symbol = \"__nv_isinff\"} : (T) -> R",
	 {QNAN, 1, -INF, INF},
	 {0},
	 {0},
	 {0, 0, 1, 1}},
	{"f32",
	 "i32",
	 "tt.extern_elementwise %x {symbol = \"__nv_finitef\"} : (T) -> R",
	 {QNAN, 1, -INF, 0},
	 {0},
	 {0},
	 {0, 1, 0, 1}},
	{"f32",
	 "i32",
	 "tt.extern_elementwise %x {symbol = \"__nv_signbitf\"} : (T) -> R",
	 {-0.0, 1, -INF, 0},
	 {0},
	 {0},
	 {1, 0, 1, 0}},
	{"f32",
	 "f32",
	 "tt.elementwise_inline_asm \"ex2.approx.f32 $0, $1;\" {constraints = \"=f,f\", packed_element = 1 : i32, pure = true} %x : T -> R",
	 {1, 3, -INF, QNAN},
	 {0},
	 {0},
	 {2, 8, 0, QNAN}},
};

/* Elements of a type from doubles or integers. */
static void store(enum kgb_ttir_element element, double value, int64_t integer, void *to)
{
	float single = (float)value;

	if (kgb_ttir_is_integer(element))
		memcpy(to, &integer, kgb_ttir_element_size(element));
	else if (element == KGB_TTIR_F64)
		memcpy(to, &value, sizeof(value));
	else if (element == KGB_TTIR_F32)
		memcpy(to, &single, sizeof(single));
	else
		kgb_narrow_round_double(element, &value, 1, to);
}

static double load(enum kgb_ttir_element element, const void *from)
{
	const size_t size = kgb_ttir_element_size(element);
	double value;
	float single;
	uint64_t bits = 0;

	memcpy(&bits, from, size);
	if (element == KGB_TTIR_I1)
		return (double)bits;
	if (kgb_ttir_is_integer(element))
		return (double)((int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
	if (element == KGB_TTIR_F64) {
		memcpy(&value, from, sizeof(value));
		return value;
	}
	if (element == KGB_TTIR_F32)
		memcpy(&single, from, sizeof(single));
	else
		kgb_narrow_widen(element, from, 1, &single);
	return (double)single;
}

static enum kgb_ttir_element element_of(const char *name)
{
	return kgb_ttir_element_find(name, strlen(name));
}

/* The statement with types for T and R. */
static void expand_types(struct kgb_buf *out, const char *statement, const char *type,
			 const char *result)
{
	for (const char *c = statement; *c; c++) {
		bool begins = c == statement || !(isalnum((unsigned char)c[-1]) || c[-1] == '_');
		bool alone = begins && (c[1] == '\0' || strchr(", )*", c[1]));
		if ((*c == 'T' || *c == 'R') && alone)
			kgb_buf_addf(out, "tensor<%dx%s>", N, *c == 'T' ? type : result);
		else
			kgb_buf_addc(out, *c);
	}
}

/* Loads x, y and z, applies the statement, stores its result. */
static char *row_module(const char *type, const char *result, const char *statement)
{
	static const char *const names[] = {"x", "y", "z"};
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(8192);
	KGB_AUTO(free)
	char *signature = kgb_xasprintf(
		"%%px: !tt.ptr<%s>, %%py: !tt.ptr<%s>, %%pz: !tt.ptr<%s>, %%po: !tt.ptr<%s>", type,
		type, type, result);

	kgb_buf_addf(&body,
		     "%%i = tt.make_range {end = %d : i32, start = 0 : i32} : tensor<%dxi32>\n", N,
		     N);
	for (size_t k = 0; k < 4; k++) {
		const char *name = k < 3 ? names[k] : "o", *of = k < 3 ? type : result;
		kgb_buf_addf(&body,
			     "%%s%s = tt.splat %%p%s : !tt.ptr<%s> -> tensor<%dx!tt.ptr<%s>>\n",
			     name, name, of, N, of);
		kgb_buf_addf(
			&body,
			"%%a%s = tt.addptr %%s%s, %%i : tensor<%dx!tt.ptr<%s>>, tensor<%dxi32>\n",
			name, name, N, of, N);
		if (k < 3)
			kgb_buf_addf(&body, "%%%s = tt.load %%a%s : tensor<%dx!tt.ptr<%s>>\n", name,
				     name, N, of);
	}
	kgb_buf_adds(&body, "%r = ");
	expand_types(&body, statement, type, result);
	kgb_buf_addf(&body, "\ntt.store %%ao, %%r : tensor<%dx!tt.ptr<%s>>", N, result);
	return module_text(signature, body.ptr);
}

static void check_row(const char *type, const char *result, const char *statement,
		      const double in[3][N], const int64_t integers[3][N], const double *want)
{
	KGB_AUTO(free) char *text = row_module(type, result, statement);
	struct kgb_machine_program *program = parse_module(text);
	_Alignas(8) uint8_t data[4][N * 8] = {{0}};
	struct arrays arrays = {0};
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;
	const size_t size = kgb_ttir_element_size(element_of(type));
	const size_t out_size = kgb_ttir_element_size(element_of(result));

	for (int k = 0; k < 3; k++) {
		for (size_t i = 0; i < N; i++)
			store(element_of(type), in[k][i], integers[k][i], data[k] + i * size);
		add_array(&arrays, data[k], N * size);
	}
	add_array(&arrays, data[3], N * out_size);
	if (run_arrays(&arrays, program, &fault, &err) < 0)
		fail_msg("%s: %s", statement, err.msg);
	for (size_t i = 0; i < N; i++) {
		double got = load(element_of(result), data[3] + i * out_size);
		bool same = isnan(want[i]) ? isnan(got)
					   : got == want[i] && signbit(got) == signbit(want[i]);
		if (!same)
			fail_msg("%s of %s, lane %zu: %a where %a is right", statement, type, i,
				 got, want[i]);
	}
	kgb_machine_program_free(program);
}

static void test_operations_on_integers(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(integer_rows); i++) {
		const struct integer_row *row = &integer_rows[i];
		const double none[3][N] = {{0}};
		int64_t in[3][N];
		double want[N];
		memcpy(in[0], row->x, sizeof(in[0]));
		memcpy(in[1], row->y, sizeof(in[1]));
		memcpy(in[2], row->z, sizeof(in[2]));
		for (int k = 0; k < N; k++)
			want[k] = (double)row->want[k];
		check_row(row->type, row->result, row->statement, none, (const int64_t(*)[N])in,
			  want);
	}
}

static void test_operations_on_floats(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(float_rows); i++) {
		const struct float_row *row = &float_rows[i];
		double in[3][N];
		int64_t integers[3][N];
		memcpy(in[0], row->x, sizeof(in[0]));
		memcpy(in[1], row->y, sizeof(in[1]));
		memcpy(in[2], row->z, sizeof(in[2]));
		bool from_integer = kgb_ttir_is_integer(element_of(row->type));
		for (int k = 0; k < 3; k++)
			for (int m = 0; m < N; m++)
				integers[k][m] = from_integer ? (int64_t)in[k][m] : 0;
		check_row(row->type, row->result, row->statement, (const double(*)[N])in,
			  (const int64_t(*)[N])integers, row->want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations_on_integers),
		cmocka_unit_test(test_operations_on_floats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
