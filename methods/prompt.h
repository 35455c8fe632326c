/* SPDX-License-Identifier: MIT */
/** \file
 * Prompts: methods/data/prompt.md filled from an operator's spec, with the method's instructions at
 * its end, and the text of each round of a method that works in rounds. Every CLI gets the same
 * text; nothing in it comes from a test's hidden values. */
#ifndef KGB_METHODS_PROMPT_H
#define KGB_METHODS_PROMPT_H

#include "base/buf.h"
#include "base/err.h"
#include "methods/method.h"
#include "verify/spec/spec.h"
#include "verify/tensor/dtype.h"

struct kgb_prompt_vars {
	const char *platform; /* "cpu": selects methods/data/platform/<platform>.md */
	const char *versions; /* versions that run kernels: "Python 3.11.2, torch ..."; NULL: not
				 known */
	const char *target; /* the GPU that they are compiled for, "NVIDIA H200, sm_90"; NULL: not
			       known */
	int64_t max_verify_calls; /* checks that the agent may ask for */
	int64_t call_timeout_ms, verify_timeout_ms; /* of a call of the kernel, of a verification */
	bool sees_gpu; /* in its sandbox, with PyTorch and Triton */
};

/** The platforms with a text: names of methods/data/platform/NAME.md, sorted. */
KGB_MUST_CHECK int kgb_prompt_platforms(const char *data_dir, struct kgb_strv *out,
					struct kgb_err *err);
/** The text of an operator that is the same for every method and platform: made once
 * (prompt_operator.c). */
struct kgb_prompt_operator {
	const struct kgb_spec *spec; /* borrowed */
	/* Texts: functions, a case and all benchmarks of each, element types; functions whose
	 * results are exact; spacings of floating types. */
	struct kgb_buf interfaces, checked, timed, dtypes, exact, spacings;
	struct kgb_buf rounded; /* tolerance of a quantised result before it is rounded */
	/* Facts of the cases that decide on correctness: */
	bool dtypes_seen[KGB_N_DTYPES];
	int rank; /* most dimensions of a tensor; -1: no tensor is passed */
	bool has_empty, has_single, has_sizes /* above 1 */, has_views, has_outliers, has_specials;
	bool has_float_values; /* Python floats, or complex numbers, are passed */
	bool has_narrow_floats, has_wide_floats; /* up to float32; float64 */
	bool is_timed; /* there are benchmarks */
	/* Facts of the tolerance: */
	bool allows_errors, has_signed_zeros, has_nan_bits;
	bool adds_up; /* terms, in float32 */
	bool rounds_terms; /* each term may be rounded to the result's type */
	double factor, ulps;
};
/** Fails where the spec's cases cannot be expanded; then nothing is to be released. */
KGB_MUST_CHECK int kgb_prompt_operator_init(struct kgb_prompt_operator *op,
					    const struct kgb_spec *spec, struct kgb_err *err);
void kgb_prompt_operator_release(struct kgb_prompt_operator *op);
/** Render into out (cleared by the caller, cap KGB_LIMIT_PROMPT). Unknown placeholders and missing
 * files are errors. */
KGB_MUST_CHECK int kgb_prompt_operator_render(const char *data_dir, const struct kgb_method *method,
					      const struct kgb_prompt_operator *op,
					      const struct kgb_prompt_vars *vars,
					      struct kgb_buf *out, struct kgb_err *err);
/** The same for a single prompt of an operator. */
KGB_MUST_CHECK int kgb_prompt_render(const char *data_dir, const struct kgb_method *method,
				     const struct kgb_spec *spec,
				     const struct kgb_prompt_vars *vars, struct kgb_buf *out,
				     struct kgb_err *err);

/** The values of one round (struct kgb_method_loop). */
struct kgb_prompt_round {
	const char *platform;
	int64_t round, rounds; /* {{round}} of {{rounds}} */
	const char *state; /* {{state}}: the content of kernel.py, and its verdict */
	const char *log; /* {{log}}: the rounds so far */
	const char *memory; /* {{memory}}: rounds on other operators */
};
/** Append the method's loop.prompt, filled in. */
KGB_MUST_CHECK int kgb_prompt_round_render(const struct kgb_method *method,
					   const struct kgb_prompt_round *round,
					   struct kgb_buf *out, struct kgb_err *err);
/** A kernel.py with a stub for every function of the operator. */
void kgb_prompt_stub(const struct kgb_spec *spec, struct kgb_buf *out);

#endif
