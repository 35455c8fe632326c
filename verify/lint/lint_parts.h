/* SPDX-License-Identifier: MIT */
/** \file
 * Private to the lints: the operator and the interface at hand, and the processes that answer.
 */
#ifndef KGB_VERIFY_LINT_LINT_PARTS_H
#define KGB_VERIFY_LINT_LINT_PARTS_H

#include "verify/lint/lint.h"

/* Wrong results: each must be refused for every result in at least one case of an interface. */
enum kgb_lint_wrong {
	KGB_WRONG_ZEROS,
	KGB_WRONG_ONES,
	KGB_WRONG_CONSTANT, /* one of its own elements */
	KGB_WRONG_INPUT, /* the first input of the same number of elements */
	KGB_WRONG_UNCHANGED, /* what the parameter held before the call */
	KGB_WRONG_PREVIOUS, /* the result for other inputs */
	KGB_WRONG_COARSE, /* half the precision */
	KGB_WRONG_LAST, /* the last element is missing */
	KGB_WRONG_SKIPPED, /* one in a hundred is missing, side by side */
	KGB_N_WRONG,
};

/** What was seen of one parameter. */
struct kgb_lint_param {
	bool is_given, is_varied; /* in some case; not the same in all of them */
	bool matters; /* with something else for it the result is another one */
	int n_tried;
};

struct kgb_lint {
	struct kgb_zygote zygotes[KGB_N_ROLES], cpu_zygotes[KGB_N_ROLES];
	struct kgb_judge judge;
	struct kgb_judge cpu_judge; /* the same, with processes on the CPU */
	struct kgb_lane lane; /* asks one process */
	struct kgb_lane other; /* asks another one */
	struct kgb_lane witness; /* asks one on the CPU, if the device is a GPU */
	const struct kgb_lint_options *options; /* borrowed */
	struct kgb_lint_report *report;
	const struct kgb_interface *interface; /* at hand; what was seen of it: */
	struct kgb_lint_seen {
		bool refused[KGB_MAX_RESULTS][KGB_N_WRONG];
		bool tried[KGB_MAX_RESULTS][KGB_N_WRONG];
		bool has_elements[KGB_MAX_RESULTS];
		/* By type: results whose zeros have a sign that counts; one was -0, and +0 was
		 * refused. */
		bool wants_zeros[KGB_N_DTYPES], has_zeros[KGB_N_DTYPES];
		bool does_something; /* a case of it changes an argument or gives a new tensor */
		bool tells; /* a case of it shows whether kernels compute (kgb_ablation_tells) */
		struct kgb_lint_param params[KGB_MAX_ARGS];
	} seen;
	bool *swap_differs, *swap_refused; /* owned; by interface: it gave something else for a
					      case of this one, and that was refused */
};

/** What `lane`'s process gives for the case with these storages (borrowed), natively.
 * `slack`: kgb_case_data.slack. Release *out with kgb_lint_forget. */
KGB_MUST_CHECK int kgb_lint_ask(struct kgb_lane *lane, const struct kgb_case *c,
				const struct kgb_case_data *storages, uint32_t slack,
				struct kgb_case_data *out, struct kgb_err *err);
void kgb_lint_forget(struct kgb_case_data *data);
/** The same results, bit by bit, with the same sizes and strides? */
bool kgb_lint_same(const struct kgb_case_data *a, const struct kgb_case_data *b);
/** Would the judge accept the native results of `answer`? *result: number of one that it would not.
 */
bool kgb_lint_accepts(const struct kgb_case_data *data, const struct kgb_case_data *answer,
		      size_t *result);

/** lint_values.c: what is right is accepted, what is wrong is not. `previous`: results for other
 * inputs, NULL if there are none. */
void kgb_lint_values(struct kgb_lint *lint, const struct kgb_case_data *data,
		     const struct kgb_case_data *previous);
bool kgb_lint_wants_previous(const struct kgb_lint *lint, const struct kgb_case_data *data);
void kgb_lint_settle_values(struct kgb_lint *lint);

/** lint_inputs.c: the reference gives the same in another process and among other memory, and
 * whatever `other_inputs` has a parameter for matters, and nothing that is said not to be read. */
void kgb_lint_again(struct kgb_lint *lint, const struct kgb_case_data *data);
void kgb_lint_unread(struct kgb_lint *lint, const struct kgb_case_data *data);
void kgb_lint_inputs(struct kgb_lint *lint, const struct kgb_case_data *data,
		     const struct kgb_case_data *other_inputs);
void kgb_lint_swapped(struct kgb_lint *lint, const struct kgb_case_data *data);
void kgb_lint_settle_inputs(struct kgb_lint *lint);

/** lint_schema.c */
KGB_MUST_CHECK int kgb_lint_schemas(struct kgb_lint *lint, struct kgb_err *err);
/** lint_coverage.c: do drawn cases have whatever listed ones show of the domain? */
KGB_MUST_CHECK int kgb_lint_coverage(struct kgb_lint *lint, struct kgb_err *err);
/** lint_benchmarks.c: are there enough cases and benchmarks, and are these large enough? On the
 * CPU. */
KGB_MUST_CHECK int kgb_lint_benchmarks(struct kgb_lint *lint, struct kgb_err *err);
/** Time what candidates are measured against on every benchmark. Verdicts are timed another way. */
KGB_MUST_CHECK int kgb_lint_time(struct kgb_lint *lint, struct kgb_err *err);

#endif
