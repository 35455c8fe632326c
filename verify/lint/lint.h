/* SPDX-License-Identifier: MIT */
/** \file
 * Checks of one operator's spec: the reference answers every case, and known right and wrong
 * results are compared with its answer by the tolerance for candidates. docs/operator-spec.md lists
 * the lints. */
#ifndef KGB_VERIFY_LINT_LINT_H
#define KGB_VERIFY_LINT_LINT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "verify/lane/lane.h"

/** Part of the key of cached results: raise it with every change of the lints. */
#define KGB_LINT_VERSION 6
#define KGB_LINT_PROBLEMS_MAX 16 /* of one operator that are listed */

struct kgb_lint_options {
	const struct kgb_judge_options *judge; /* borrowed: device, data_dir */
	struct kgb_zygote zygote; /* of references, on the device */
	struct kgb_zygote witness; /* of references on the CPU; it has a process only if the device
				      is a GPU */
	struct kgb_seed seed;
	/** A thread holds the lock exclusively to time baselines, and shared for all other work on
	 * the device. NULL: nothing is timed. */
	pthread_rwlock_t *quiet;
};

struct kgb_lint_report {
	char spec_sha256[KGB_SHA256_HEX_LEN];
	char benchmarks_sha256[KGB_SHA256_HEX_LEN]; /* of all that is timed; "": not computed, as
						       the report is cached */
	size_t n_interfaces, n_cases, n_benchmarks;
	size_t n_problems;
	struct kgb_strv problems; /* "<lint>: <what is wrong>", the first ones */
	struct kgb_strv medians; /* "<case> <milliseconds>" */
	int64_t wall_ms;
	bool is_kept; /* the cached report of an earlier lint */
};

/** Lint the spec in the file `path`. *report lists all faults; the caller releases it. */
void kgb_lint_spec(const struct kgb_lint_options *options, const char *path,
		   struct kgb_lint_report *report);
void kgb_lint_report_release(struct kgb_lint_report *report);
/** Check that each operator in operators.yaml has a spec, and each spec its name there. */
void kgb_lint_names(const struct kgb_spec_index *index, struct kgb_lint_report *report);
/** Add to the problems. */
void kgb_lint_note(struct kgb_lint_report *report, const char *lint, const char *fmt, ...)
	KGB_PRINTF(3, 4);

#endif
