/* SPDX-License-Identifier: MIT */
/** \file
 * Private to the lints: the current operator and interface, and the processes that compute
 * references. */
#ifndef KGB_VERIFY_LINT_LINT_PARTS_H
#define KGB_VERIFY_LINT_LINT_PARTS_H

#include "verify/lint/lint.h"

/* Wrong results: each must be refused for every result in at least one case of an interface. */
enum kgb_lint_wrong {
	KGB_WRONG_ZEROS,
	KGB_WRONG_ONES,
	KGB_WRONG_CONSTANT, /* one of the result's elements everywhere */
	KGB_WRONG_INPUT, /* the first input of the same number of elements */
	KGB_WRONG_UNCHANGED, /* the parameter's elements before the call */
	KGB_WRONG_PREVIOUS, /* the result for other inputs */
	KGB_WRONG_COARSE, /* half the precision */
	KGB_WRONG_LAST, /* the last element is missing */
	KGB_WRONG_SKIPPED, /* a hundredth of the elements, side by side, is missing */
	KGB_N_WRONG,
};

/** Observations of one parameter. */
struct kgb_lint_param {
	bool is_given; /* some case passes it */
	bool is_varied; /* cases pass different values */
	bool matters; /* another value of it changes the result */
	int n_tried;
};

struct kgb_lint {
	struct kgb_zygote zygotes[KGB_N_ROLES], cpu_zygotes[KGB_N_ROLES];
	struct kgb_judge judge;
	struct kgb_judge cpu_judge; /* the same, with processes on the CPU */
	struct kgb_lane lane; /* requests to one process */
	struct kgb_lane other; /* requests to another one */
	struct kgb_lane witness; /* requests to one on the CPU, if the device is a GPU */
	const struct kgb_lint_options *options; /* borrowed */
	struct kgb_lint_report *report;
	const struct kgb_interface *interface; /* the current one; observations of it: */
	struct kgb_lint_seen {
		bool refused[KGB_MAX_RESULTS][KGB_N_WRONG];
		bool tried[KGB_MAX_RESULTS][KGB_N_WRONG];
		bool has_elements[KGB_MAX_RESULTS];
		/* By type. wants_zeros: the sign of a zero in a result counts. has_zeros: a result
		 * had a -0, and +0 in its place was refused. */
		bool wants_zeros[KGB_N_DTYPES], has_zeros[KGB_N_DTYPES];
		bool does_something; /* a case of it changes an argument or gives a new tensor */
		bool tells; /* a case of it shows whether kernels compute
			       (kgb_ablation_is_sensitive) */
		struct kgb_lint_param params[KGB_MAX_ARGS];
	} seen;
	bool *swap_differs, *swap_refused; /* owned; by other interface: for some case of the
					      current one, it gave another result; its result was
					      refused */
};

/** The native results of `lane`'s process for the case with these storages (borrowed). `slack`:
 * kgb_case_data.slack. Release *out with kgb_lint_forget. */
KGB_MUST_CHECK int kgb_lint_ask(struct kgb_lane *lane, const struct kgb_case *c,
				const struct kgb_case_data *storages, uint32_t slack,
				struct kgb_case_data *out, struct kgb_err *err);
void kgb_lint_forget(struct kgb_case_data *data);
/** Whether the results are the same, bit by bit, with the same sizes and strides. */
bool kgb_lint_same(const struct kgb_case_data *a, const struct kgb_case_data *b);
/** Whether the judge would accept the native results of `answer`. *result: number of a refused
 * one. */
bool kgb_lint_accepts(const struct kgb_case_data *data, const struct kgb_case_data *answer,
		      size_t *result);

/** lint_values.c: right results are accepted, wrong ones are refused. `previous`: results for other
 * inputs, NULL if there are none. */
void kgb_lint_values(struct kgb_lint *lint, const struct kgb_case_data *data,
		     const struct kgb_case_data *previous);
bool kgb_lint_wants_previous(const struct kgb_lint *lint, const struct kgb_case_data *data);
void kgb_lint_settle_values(struct kgb_lint *lint);

/** lint_inputs.c: the reference gives the same results in another process and among other memory,
 * and its results depend on each parameter, but not on elements declared as unread. */
void kgb_lint_again(struct kgb_lint *lint, const struct kgb_case_data *data);
void kgb_lint_unread(struct kgb_lint *lint, const struct kgb_case_data *data);
void kgb_lint_inputs(struct kgb_lint *lint, const struct kgb_case_data *data,
		     const struct kgb_case_data *other_inputs);
void kgb_lint_swapped(struct kgb_lint *lint, const struct kgb_case_data *data);
void kgb_lint_settle_inputs(struct kgb_lint *lint);

/** lint_schema.c */
KGB_MUST_CHECK int kgb_lint_schemas(struct kgb_lint *lint, struct kgb_err *err);
/** lint_coverage.c: drawn cases have the properties of the listed ones. */
KGB_MUST_CHECK int kgb_lint_coverage(struct kgb_lint *lint, struct kgb_err *err);
/** lint_benchmarks.c: there are enough cases and benchmarks, and these are large enough. On the
 * CPU. */
KGB_MUST_CHECK int kgb_lint_benchmarks(struct kgb_lint *lint, struct kgb_err *err);
/** Time the baseline on every benchmark. Verdicts use another method of timing. */
KGB_MUST_CHECK int kgb_lint_time(struct kgb_lint *lint, struct kgb_err *err);

#endif
