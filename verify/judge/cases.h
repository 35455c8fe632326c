/* SPDX-License-Identifier: MIT */
/** \file
 * From a spec to concrete cases: every interface x case line x dtype, with shapes, strides and
 * literal values, but without data (fill.h makes that, fresh for each verification).
 */
#ifndef KGB_VERIFY_JUDGE_CASES_H
#define KGB_VERIFY_JUDGE_CASES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "verify/judge/dtype.h"
#include "verify/spec.h"

#define KGB_MAX_DIMS 8
#define KGB_MAX_CASES 4096 /* of one spec */

/** A strided view: element (i0, i1, ...) lies at offset + sum(i_k * stride_k), in elements of
 * `dtype`. */
struct kgb_view {
	enum kgb_dtype dtype;
	int ndim;
	int64_t sizes[KGB_MAX_DIMS];
	int64_t strides[KGB_MAX_DIMS];
	int64_t offset;
	int64_t storage_elements; /* of the storage that the view looks into, >= offset + reach */
};
int64_t kgb_view_numel(const struct kgb_view *view);
/** Row-major without gaps (dims of size 1 do not count), whatever the offset. */
bool kgb_view_is_contiguous(const struct kgb_view *view);
/** Lay out `sizes` by a layout name: contiguous, transposed (last two dims swapped in memory),
 * strided (every stride doubled: `base[..., ::2]`), row_strided (rows with a gap of 7 elements:
 * `base[..., :n]`), offset (3 elements into the storage), expanded (dim 0 has stride 0),
 * channels_last (4-d). INVALID if unknown or not applicable to that many dims; LIMIT over
 * KGB_LIMIT_TENSOR_BYTES or KGB_MAX_DIMS. */
KGB_MUST_CHECK int kgb_view_layout(struct kgb_view *view, enum kgb_dtype dtype,
				   const int64_t *sizes, int ndim, const char *layout,
				   struct kgb_err *err);
/** INVALID if `layout` is unknown, or, for something that results are written to, lets elements
 * overlap (expanded). */
KGB_MUST_CHECK int kgb_layout_check(const char *layout, bool is_written, struct kgb_err *err);
/** Row-major walk: element index (in elements of the storage) of the i-th element. */
int64_t kgb_view_element(const struct kgb_view *view, int64_t i);
/** The same for all elements in turn: `at` is the storage index of the current element, at first
 * element 0. */
struct kgb_view_walk {
	const struct kgb_view *view; /* borrowed */
	int64_t index[KGB_MAX_DIMS];
	int64_t at;
};
void kgb_view_walk_init(struct kgb_view_walk *walk, const struct kgb_view *view);
void kgb_view_walk_next(struct kgb_view_walk *walk);
/** "float32[33, 17] strides (1, 33) storage_offset 3" (strides only if not contiguous, offset only
 * if not 0); appends. */
void kgb_view_describe(const struct kgb_view *view, struct kgb_buf *out);

enum kgb_value_kind {
	KGB_VALUE_NONE,
	KGB_VALUE_BOOL,
	KGB_VALUE_INT,
	KGB_VALUE_FLOAT,
	KGB_VALUE_INTS,
	KGB_VALUE_DTYPE,
	KGB_VALUE_STR
};
struct kgb_value {
	enum kgb_value_kind kind;
	bool boolean;
	int64_t integer;
	double number;
	const int64_t *ints; /* arena */
	size_t n_ints;
	enum kgb_dtype dtype;
	const char *str;
};

/** As Python would print it: "0.5", "100.0", "None", "[0, 1]", "torch.float16"; appends. */
void kgb_value_describe(const struct kgb_value *value, struct kgb_buf *out);

enum kgb_fill_kind {
	KGB_FILL_NORMAL,
	KGB_FILL_POSITIVE,
	KGB_FILL_UNIFORM,
	KGB_FILL_INT,
	KGB_FILL_BOOL,
	KGB_FILL_ONES
};
enum kgb_mode { KGB_MODE_STANDARD, KGB_MODE_OUTLIER, KGB_MODE_SPECIAL, KGB_MODE_BENCHMARK };
const char *kgb_mode_name(enum kgb_mode mode);

struct kgb_arg {
	const struct kgb_param *param; /* borrowed from the spec */
	struct kgb_view view; /* TENSOR; zero for OUT, whose sizes and dtype the reference tells */
	bool is_absent; /* TENSOR: its shape is null; None is passed, and `view` has no elements */
	const char *layout; /* TENSOR, OUT: layout name */
	enum kgb_fill_kind fill; /* TENSOR; already fitted to the dtype: integers are never NORMAL,
				    POSITIVE or UNIFORM */
	double lo, hi; /* UNIFORM, INT */
	bool bounded; /* the spec gives the range: no mode leaves it (indices, probabilities, masks)
		       */
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
/** "self=float32[1000], other=float32[1000], alpha=0.5, out=<contiguous output buffer>"; appends.
 */
void kgb_case_describe(const struct kgb_case *c, struct kgb_buf *out);
/** Elements of all its input tensors: what it costs, roughly. */
int64_t kgb_case_elements(const struct kgb_case *c);

#endif
