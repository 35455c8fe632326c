/* SPDX-License-Identifier: MIT */
/** \file
 * From a spec to concrete cases: every interface x case line x dtype, with shapes, strides and
 * literal values, but without data (fill.h makes that, fresh for each verification).
 */
#ifndef KGB_VERIFY_CASES_CASES_H
#define KGB_VERIFY_CASES_CASES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "verify/cases/read_mask.h"
#include "verify/spec/spec.h"
#include "verify/tensor/tensor_view.h"

#define KGB_MAX_CASES 4096 /* of one spec */

enum kgb_value_kind {
	KGB_VALUE_NONE,
	KGB_VALUE_BOOL,
	KGB_VALUE_INT,
	KGB_VALUE_FLOAT,
	KGB_VALUE_COMPLEX,
	KGB_VALUE_INTS,
	KGB_VALUE_DTYPE,
	KGB_VALUE_DEVICE, /* that of the verification */
	KGB_VALUE_STR
};
struct kgb_value {
	enum kgb_value_kind kind;
	bool boolean;
	int64_t integer;
	double number; /* FLOAT; of COMPLEX the real part */
	double imaginary;
	const int64_t *ints; /* arena */
	size_t n_ints;
	enum kgb_dtype dtype;
	const char *str;
};

/** As Python would read it: "0.5", "100.0", "complex(0.5, -1.0)", "None", "[0, 1]",
 * "torch.float16"; appends. */
void kgb_value_describe(const struct kgb_value *value, struct kgb_buf *out);

enum kgb_fill_kind {
	KGB_FILL_NORMAL,
	KGB_FILL_POSITIVE,
	KGB_FILL_UNIFORM,
	KGB_FILL_INT,
	KGB_FILL_BOOL,
	KGB_FILL_ONES,
	KGB_FILL_NAN,
	KGB_FILL_SIGNS, /* -1, -0, 0 or 1 */
	KGB_FILL_TRIANGLE, /* matrices with columns of lo elements whose triangles can be solved */
	/* structured (fill_structured.c) */
	KGB_FILL_DISTINCT, /* no number of lo .. hi twice */
	KGB_FILL_SLOTS, /* the same, but about every eighth is -1 */
	KGB_FILL_CHOICE, /* no number twice along the last dimension */
	KGB_FILL_SORTED, /* the same, ascending */
	KGB_FILL_SORTED_DOWN, /* the same, descending */
	KGB_FILL_OFFSETS, /* ascending from 0 to hi, some of them equal */
	KGB_FILL_STEPS, /* element i is i / lo */
	KGB_FILL_BLOCKS, /* of lo random bytes, each begins with a float16 that is a number */
	KGB_FILL_PAIRS, /* fields of 4 bits, each of two numbers 0 .. 3 that ascend */
	KGB_FILL_OWNERS, /* of the offsets in another argument */
};
bool kgb_fill_is_structured(enum kgb_fill_kind fill);

enum kgb_mode { KGB_MODE_STANDARD, KGB_MODE_OUTLIER, KGB_MODE_SPECIAL, KGB_MODE_BENCHMARK };
const char *kgb_mode_name(enum kgb_mode mode);

struct kgb_arg {
	const struct kgb_param *param; /* borrowed from the spec */
	struct kgb_tensor_view
		view; /* TENSOR; zero for OUT, whose sizes and dtype the reference tells */
	bool is_absent; /* TENSOR: its shape is null; None is passed, and `view` has no elements */
	const char *layout; /* TENSOR, OUT: layout name */
	enum kgb_fill_kind fill; /* TENSOR; already fitted to the dtype: integers are never NORMAL,
				    POSITIVE or UNIFORM */
	double lo, hi; /* UNIFORM, INT and structured ones */
	size_t behind; /* TENSOR with param->into: number of the argument with the rows */
	size_t sibling; /* OWNERS: number of the argument with the offsets, an earlier one */
	bool bounded; /* the spec gives the range: no mode leaves it (indices, probabilities, masks)
		       */
	struct kgb_read read; /* TENSOR */
	struct kgb_value value; /* VALUE */
};

struct kgb_case {
	const char *name; /* "add_Tensor/float32/tail_1000/standard" */
	const struct kgb_interface *interface;
	const struct kgb_case_vars *line; /* borrowed from the spec */
	enum kgb_dtype dtype;
	enum kgb_mode mode;
	struct kgb_arg args[KGB_MAX_ARGS];
	size_t n_args;
};

struct kgb_cases {
	struct kgb_arena arena;
	struct kgb_case *items; /* benchmarks come behind the others */
	size_t n; /* cases that decide on correctness */
	size_t n_benchmarks; /* large ones, behind those: for timing on a device */
};

/** All cases of a spec in a fixed order: by interface, then case set, line and dtype, each as
 * written. Names are unique (checked) and every timing case of the spec is among them (checked).
 * The cases borrow from the spec. */
KGB_MUST_CHECK int kgb_cases_expand(const struct kgb_spec *spec, struct kgb_cases *out,
				    struct kgb_err *err);
void kgb_cases_release(struct kgb_cases *cases);
/** What is passed, as "self=float32[1000], other=float32[1000], alpha=0.5, out=<contiguous output
 * buffer>"; appends. */
void kgb_case_describe(const struct kgb_case *c, struct kgb_buf *out);
/** The parts of "(a,b,c)", as arguments are written in specs; appends. -1: it is not that. */
int kgb_split_args(const char *text, struct kgb_strv *out);
/** SHA-256 over what the times of the benchmarks depend on: the functions that are timed, and what
 * they are called with. Words, tolerances, costs and the cases that are not timed may change, and
 * what was measured stays true. */
void kgb_cases_hash_benchmarks(const struct kgb_cases *cases, char out[KGB_SHA256_HEX_LEN]);
/** Elements of all its input tensors: what it costs, roughly. */
int64_t kgb_case_elements(const struct kgb_case *c);

#endif
