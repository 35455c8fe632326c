/* SPDX-License-Identifier: MIT */
/** \file
 * Operator specifications: one YAML file per operator under datasets/<set>/<source>/, case sets
 * shared by name under datasets/<set>/cases/. A spec is data; this module turns it into structs
 * that live in one arena. The format is documented in docs/operator-spec.md.
 */
#ifndef KGB_VERIFY_SPEC_SPEC_H
#define KGB_VERIFY_SPEC_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/formats/decode.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "verify/spec/expr.h"

enum kgb_triton_rule {
	KGB_TRITON_REQUIRED, /* the result must come from the candidate's own Triton kernels */
	KGB_TRITON_MOVES, /* and the operator only moves elements: torch may not lay them out,
			     before or after those kernels */
	KGB_TRITON_ALONE, /* and from nothing else: the operator is a fill or a copy itself, so
			     torch's fills and copies would do its work */
	KGB_TRITON_NONE, /* metadata operator: judged on shape, strides and aliasing only */
};

enum kgb_launches_rule {
	KGB_LAUNCHES_FIXED, /* what is launched depends on shapes, strides, dtypes and values only
			     */
	KGB_LAUNCHES_BY_DATA, /* also on the elements of tensors, as for nonzero */
};

enum kgb_param_kind {
	KGB_PARAM_TENSOR, /* input; also an in-place result when result >= 0 */
	KGB_PARAM_OUT, /* buffer for result number `result`, allocated and poisoned by the judge */
	KGB_PARAM_VALUE, /* number, bool, None, list of ints, dtype name, string */
};

/** How a VALUE is read: whole numbers are integers and others floats, unless the spec declares a
 * kind. */
enum kgb_value_as {
	KGB_AS_AUTO,
	KGB_AS_FLOAT, /* a number, always passed as float */
	KGB_AS_COMPLEX, /* a number or [real part, imaginary part], passed as complex */
	KGB_AS_DTYPE, /* a dtype name, passed as torch.dtype; null stays None */
	KGB_AS_DEVICE, /* "here", passed as the torch.device of the case; null stays None */
};

#define KGB_MAX_RESULTS 8
#define KGB_MAX_ARGS 24 /* parameters of an interface */

struct kgb_param {
	const char *name;
	enum kgb_param_kind kind;
	bool keyword; /* passed by name */
	int64_t result; /* result that this parameter holds after the call; -1 none */
	bool is_kept; /* that result is the argument as it was: the schema has "Tensor(a) NAME" */
	const cJSON *shape; /* TENSOR: "$a" or [4, 5], null for None; borrowed from the document,
			       like `value` */
	const char *layout; /* TENSOR, OUT: "$a_layout" or a layout name; default contiguous */
	const char *dtype; /* TENSOR: "$dtype" (default) or a dtype name */
	const char *fill; /* TENSOR: "normal" (default), "int(lo,hi)" ...: docs/operator-spec.md */
	const char *read; /* TENSOR: which elements are read, "lower(5,8)" ...; NULL: all */
	const cJSON *value; /* VALUE: "$alpha", "$alpha|1" (with a default) or a literal */
	enum kgb_value_as as;
	const char *list; /* TENSOR: neighbours of the same name here are passed as one Python list,
			     which has that name; NULL: passed on its own */
	const char *into; /* TENSOR: its elements are numbers of rows of this other parameter; the
			     callee gets the addresses of those rows */
	const char *may_be; /* TENSOR: name of an earlier one that may be this very tensor though
			       one of both is changed; "$variable" or a name, "none" or NULL: no */
	bool unused; /* its value changes no result, which lints check */
	bool is_behind; /* another parameter's addresses point into it (`into`); it is passed to
			   references only */
	const cJSON *node; /* the parameter's own mapping, for messages */
};

/** Precision in which an honest implementation holds the terms that it adds up. */
enum kgb_accumulate {
	KGB_ACCUMULATE_FLOAT32, /* reductions and contractions: float32 even for half-precision
				   results */
	KGB_ACCUMULATE_RESULT, /* pointwise sums: the result's own dtype is good enough */
};

/** Whether the sign of a zero counts. POSITIVE: it does, and no right result is -0. */
enum kgb_zeros { KGB_ZEROS_ANY, KGB_ZEROS_SIGNED, KGB_ZEROS_POSITIVE };

/** See verify/comparator/compare.h for the formula and docs/tolerance.md for the reasons. */
struct kgb_tolerance {
	double factor; /* allowed error in units of the trusted same-precision implementation's own
			  error */
	double ulps; /* plus this many units of eps(dtype), relative to the element */
	enum kgb_accumulate
		accumulate; /* precision that goes with the magnitudes (kgb_magnitude_kind) */
	enum kgb_accumulate before_rounding; /* precision of what `rounded` results are rounded from
					      */
	double n_terms; /* of an element, about; of a case, not of the spec; 0: not known */
	bool cuts_off; /* of a case, too: tensor cores may add up the terms, which round towards
			  zero */
	bool has_equal_terms; /* of a case, too: the terms of an element are about equal, so that
				 their rounding errors do not cancel */
	enum kgb_zeros zeros;
	bool has_nan_bits; /* elements are moved bit by bit: so are NaN, where no type changes */
	bool is_exact; /* copies and conversions: nothing but the exact number, rounded once, is
			  right */
	bool is_flushed; /* although it is exact, hardware flushes subnormal arguments */
};

/** Distributions of a result's elements; the parameters `args` give their arguments. See
 * verify/lane/random_results.h. */
enum kgb_random_kind {
	KGB_RANDOM_NONE, /* not random */
	KGB_RANDOM_BERNOULLI, /* (p): 1 with probability p, else 0 */
	KGB_RANDOM_EXPONENTIAL, /* (rate) */
	KGB_RANDOM_POISSON, /* (rate) */
	KGB_RANDOM_RRELU, /* (x, low, high): uniform where x <= 0, 1 elsewhere */
	KGB_RANDOM_PRODUCT, /* (x, draws): x times the result that is drawn into `draws` */
	KGB_N_RANDOM_KINDS,
};
#define KGB_RANDOM_ARGS 3
struct kgb_random_result {
	enum kgb_random_kind kind;
	const char *text; /* the spec's text */
	size_t args[KGB_RANDOM_ARGS]; /* numbers of parameters */
};

struct kgb_interface {
	const char *entry; /* Python function that kernel.py must define: "add_Tensor" */
	const char *schema; /* for the prompt and the signature check */
	const char *doc;
	const char *same_as; /* entry of another interface that is the same function; NULL */
	const char *target; /* the truth, as workers read it: "aten:add.Tensor", or
			       "python:mm.py:mm" below <source>/reference/ */
	const char *baseline; /* the same: what candidates are timed against */
	/* The source of the float64 magnitudes: per element of a result the sum of |term| over the
	 * terms that are added up in it. "abs": the reference called with the absolute value of
	 * every tensor and number; "python:FILE:FUNCTION", called like the reference; NULL: the
	 * element's own size stands in. */
	const char *magnitude;
	char baseline_sha256[KGB_SHA256_HEX_LEN]; /* of the file with that Python function; ATEN:
						   * empty
						   */
	struct kgb_param *params;
	size_t n_params;
	size_t n_results;
	size_t n_returned; /* of the results, the first ones: they come as return values (aliases of
			      OUT / in-place parameters where those exist); 0: returns None */
	size_t n_nones; /* number of None that are returned behind them */
	bool is_rounded[KGB_MAX_RESULTS]; /* the result is rounded to a coarse type (quantised): see
					     verify/comparator/compare.h */
	bool is_laid_out[KGB_MAX_RESULTS]; /* its strides must be those of the reference's result */
	bool is_number; /* a Python number is returned, no tensor */
	bool any_order; /* the reference may add up in another order in another process */
	bool is_unwritten; /* unwritten memory is returned: elements do not
			      count, strides do */
	bool is_random; /* some results are draws: */
	struct kgb_random_result random_results[KGB_MAX_RESULTS];
	const struct kgb_case_set **sets; /* in the order in which their cases run */
	size_t n_sets;
	struct kgb_tolerance tolerance;
	const struct kgb_expr *bytes; /* what a call must read and write; NULL: not given */
	const struct kgb_expr *flops; /* what it must compute; NULL: not given */
	const struct kgb_expr *terms; /* that an element of a result adds up; NULL: from flops */
	const struct kgb_expr *traffic; /* approximate bytes read and written; NULL: `bytes` */
	const cJSON *node; /* for messages */
};

enum kgb_mode { KGB_MODE_STANDARD, KGB_MODE_OUTLIER, KGB_MODE_SPECIAL, KGB_MODE_BENCHMARK };
#define KGB_N_JUDGED_MODES KGB_MODE_BENCHMARK /* those of cases that decide on correctness */
const char *kgb_mode_name(enum kgb_mode mode);

/** The tier of a case: verify/cases/tier.h. */
enum kgb_tier { KGB_TIER_CORE, KGB_TIER_EDGE, KGB_N_TIERS, KGB_TIER_BY_RULE = KGB_N_TIERS };
/** "core", "edge". */
const char *kgb_tier_name(enum kgb_tier tier);

/** A value class of the mode `special`: docs/operator-spec.md. Bits of kgb_specials. */
enum kgb_special {
	KGB_SPECIAL_NAN,
	KGB_SPECIAL_INFINITY,
	KGB_SPECIAL_NEGATIVE_INFINITY,
	KGB_SPECIAL_ZEROS, /* +0 and -0 */
	KGB_SPECIAL_LARGEST, /* largest finite numbers of both signs */
	KGB_SPECIAL_SMALLEST, /* smallest normal numbers of both signs, and subnormal ones */
	KGB_SPECIAL_WIDE, /* integers: every element over the whole range of the type */
	KGB_N_SPECIALS,
};
typedef uint8_t kgb_specials;
#define KGB_SPECIALS_LISTED ((kgb_specials)(1U << KGB_SPECIAL_WIDE) - 1) /* all but WIDE */
/** "nan". */
const char *kgb_special_name(enum kgb_special special);

/** One line of a case set: variables that parameters refer to. */
struct kgb_case_vars {
	const char *id;
	enum kgb_mode mode;
	enum kgb_tier tier; /* BY_RULE: the line names none */
	struct kgb_strs dtypes; /* none: the spec's */
	kgb_specials specials; /* value classes of the mode `special` */
	const cJSON *vars; /* variable -> node (id, mode, tier and dtypes among them); borrowed:
			      from the document, or, of a drawn line, from the cases */
	const cJSON *node; /* in the document, for messages */
};
/** Whether cases of the template may have the mode `special`. */
bool kgb_template_may_be_special(const struct kgb_case_vars *from);
struct kgb_case_set {
	const char *name;
	struct kgb_yaml doc; /* owned by the spec */
	struct kgb_case_vars *cases;
	size_t n_cases;
	/* Templates from which the judge draws case lines (verify/draw/draw.h): `dtypes` and
	 * `specials` are the possible ones, `vars` has forms in the order in which they are drawn,
	 * the mode among them. */
	struct kgb_case_vars *drawn;
	size_t n_drawn;
	struct kgb_case_set *next; /* of the spec */
};

struct kgb_excluded {
	const char *overload;
	const char *reason;
};

struct kgb_spec {
	struct kgb_arena arena;
	struct kgb_yaml doc;
	char sha256[KGB_SHA256_HEX_LEN]; /* over the spec, its case sets and reference files */
	const char *name; /* "aten::add" */
	const char *safe_name; /* "aten__add" */
	const char *source; /* "aten", "vllm", "cublas" */
	const char *category;
	const char *summary;
	const char *semantics;
	const char *path; /* of the YAML file */
	const char *reference_dir; /* "<directory of the spec>/reference", as given by `path` */
	struct kgb_strv reference_files; /* of that directory: those whose functions are called */
	enum kgb_triton_rule triton;
	enum kgb_launches_rule launches;
	struct kgb_strs dtypes;
	struct kgb_interface *interfaces;
	size_t n_interfaces;
	struct kgb_objects excluded; /* kgb_excluded */
	struct kgb_case_set *case_sets; /* a list: each set that an interface names, once */
};

/** Load one spec file and its case sets. Errors carry file:line:col, the key and a remedy. */
KGB_MUST_CHECK int kgb_spec_load(const char *path, struct kgb_spec *out, struct kgb_err *err);
/** Reads the whole file `path` into *out; 0 or -1. */
typedef int (*kgb_spec_read_fn)(void *payload, const char *path, struct kgb_buf *out,
				struct kgb_err *err);
/** The same with files from anywhere (tests, fuzzing). `reader` is called for the spec, its case
 * sets and its references. */
KGB_MUST_CHECK int kgb_spec_load_with(const char *path, kgb_spec_read_fn reader, void *payload,
				      struct kgb_spec *out, struct kgb_err *err);
void kgb_spec_release(struct kgb_spec *spec);
/** The default baseline of the operator's kernels: "torch" (torch's operators), "cuBLAS" (the
 * routine itself), "reference" (a Python function beside the spec that calls torch), or "torch,
 * reference" where interfaces differ. Static. */
const char *kgb_spec_baseline(const struct kgb_spec *spec);
/** The parameters from the caller's view: those of one list are one, under the list's name, and
 * memory behind addresses is none. Returns how many; `out` has room for KGB_MAX_ARGS. */
size_t kgb_interface_called_params(const struct kgb_interface *interface, struct kgb_param *out);

/** Append the names of the datasets below <data_dir>/datasets. A folder with operators.yaml is a
 * set; its dataset has the set's name and all operators, and each source is a dataset of its own,
 * "NAME-SOURCE". */
KGB_MUST_CHECK int kgb_spec_datasets(const char *data_dir, struct kgb_strv *names,
				     struct kgb_err *err);
/** The operators of a dataset. */
struct kgb_spec_index {
	struct kgb_strv names; /* of the files of specs: "aten::add"; sorted */
	struct kgb_strv paths; /* same order */
	struct kgb_strv listed; /* in operators.yaml */
};
#define KGB_SPEC_INDEX_INIT         \
	{                           \
		.names.items = NULL \
	}
/** Read the names of the specs below <data_dir>/datasets; *out is empty when that fails. Unknown
 * dataset: NOT_FOUND with the nearest names. */
KGB_MUST_CHECK int kgb_spec_index_load(const char *data_dir, const char *dataset,
				       struct kgb_spec_index *out, struct kgb_err *err);
/** Resolve what a user typed: "add", "aten::add", "aten__add". Ambiguous or unknown: INVALID with
 * the candidates or nearest names. */
KGB_MUST_CHECK int kgb_spec_index_find(const struct kgb_spec_index *index, const char *typed,
				       const char **name, const char **path, struct kgb_err *err);
void kgb_spec_index_release(struct kgb_spec_index *index);
/** "result" (number 0) or "result1", "result2" ...: how expressions name results. */
bool kgb_spec_is_result(const char *name, int64_t *number);
/** The place in a schema behind the name of a parameter, where ',', '=' or ')' stands. NULL: the
 * schema does not name the parameter. */
const char *kgb_schema_find_param(const char *schema, const char *name);
/** "aten::add" -> "aten__add"; malloc'ed. */
char *kgb_safe_name(const char *name);

#endif
