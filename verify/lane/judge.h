/* SPDX-License-Identifier: MIT */
/** \file
 * The constant part of a verification: its options, and the objects that it loads before the first
 * case is judged. It does not change while lanes (lane.h) run, except through the pointers whose
 * comments allow it. */
#ifndef KGB_VERIFY_LANE_JUDGE_H
#define KGB_VERIFY_LANE_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/system/disk_cache.h"
#include "verify/cases/cases.h"
#include "verify/gpu/gpu_lease.h"
#include "verify/process/zygote.h"
#include "verify/protocol/judge_request.h"
#include "verify/spec/spec.h"
#include "verify/static/scan.h"

/** The baseline of a candidate's speed. */
enum kgb_baseline {
	KGB_BASELINE_TORCH, /* torch's own implementation, called eagerly */
	KGB_BASELINE_COMPILE, /* the same through torch.compile */
	KGB_BASELINE_KERNEL, /* another kernel file, which is trusted */
};

struct kgb_judge_options {
	struct kgb_judge_request request;
	/* Found by the caller for this request. */
	const char
		*data_dir; /* holds verify/python/runner, verify/python/reference, verify/policy */
	const char *python; /* NULL with zygotes */
	const char *library; /* _kgbrun.abi3.so; NULL with zygotes */
	int device; /* number of the GPU that the zygotes were started for; KGB_DEVICE_CPU: none */
	const char *trace_library; /* kgb_zygote_spec's; NULL with zygotes */
	enum kgb_baseline baseline;
};

struct kgb_compiler;

/** Counts of the cases of one interface with an ablation. Lanes add to these by atomic
 * operations. */
struct kgb_ablation_tally {
	unsigned char n_ablated; /* cases in which kernels were left out */
	unsigned char n_watched; /* cases whose memory was examined (result_origin.h) */
	unsigned char n_by_host; /* of the watched ones: cases whose result torch had arranged */
};

struct kgb_judge {
	const struct kgb_judge_options *options; /* borrowed */
	struct kgb_spec spec;
	struct kgb_cases cases;
	bool goes_outside; /* cases run on values that the spec excludes, too */
	struct kgb_buf source; /* kernel.py */
	struct kgb_dictionary *numbers; /* borrowed; of its text, by stage static */
	struct kgb_l1 *l1;
	struct kgb_strv allowed_ops; /* torch operators that may run outside a kernel */
	char *noise; /* KGB_NOISE_BYTES random bytes: redzones and poison are cut from it */
	unsigned char *may_be_sensitive; /* owned; for each case: whether it may show that kernels
					    compute */
	/* The following objects have locks. */
	struct kgb_zygote *zygotes; /* borrowed; KGB_N_ROLES */
	struct kgb_disk_cache *truths; /* owned; NULL: none */
	struct kgb_disk_cache *proofs; /* owned; NULL: none */
	struct kgb_compiler *compiler; /* owned */
	struct kgb_gpu_share *share; /* borrowed; NULL without a GPU */
	struct kgb_ablation_tally *tallies; /* owned; for each interface */
};
#define KGB_NOISE_BYTES ((size_t)1 << 20)

#endif
