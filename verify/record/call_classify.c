/* SPDX-License-Identifier: MIT */
#include "verify/record/call_classify.h"

#include <inttypes.h>

#include "verify/record/record_canonical.h"

/* -1: the call launches code that a candidate may not use. *err names the first such launch; a
 * launch with a known owner comes before one whose owner could not be found out. */
static int check_owners(const struct kgb_canonical *canonical, enum kgb_replay_class *replay,
			struct kgb_err *err)
{
	const struct kgb_canonical_op *found = NULL;

	for (size_t i = 0; i < canonical->n_ops; i++) {
		const struct kgb_canonical_op *kept = &canonical->ops[i];
		if (kept->op->kind != KGB_OP_LAUNCH || kept->owner == KGB_OWNER_TRITON ||
		    kept->owner == KGB_OWNER_TORCH_MOVE)
			continue;
		if (!found ||
		    (found->owner == KGB_OWNER_UNDECIDED && kept->owner != KGB_OWNER_UNDECIDED))
			found = kept;
	}
	if (!found)
		return 0;
	*replay = found->owner == KGB_OWNER_UNDECIDED ? KGB_REPLAY_UNDECIDED : KGB_REPLAY_LIBRARY;
	return kgb_fail(err, KGB_ERR_INVALID,
			"op %zu launches kernel %.200s, which is %s: only the candidate's own "
			"Triton kernels and fills and copies of torch may run",
			found->source, found->op->launch.kernel, kgb_owner_name(found->owner));
}

static int check_work(const struct kgb_canonical *canonical, struct kgb_err *err)
{
	for (size_t i = 0; i < canonical->n_ops; i++)
		if (canonical->ops[i].op->kind == KGB_OP_LAUNCH &&
		    canonical->ops[i].owner == KGB_OWNER_TRITON)
			return 0;
	return kgb_fail(err, KGB_ERR_INVALID,
			"window %" PRIu32 ": no Triton kernel ran during the call (%zu ops in all)",
			canonical->capture->window->number, canonical->n_ops);
}

static enum kgb_replay_class classify(struct kgb_canonical *a, struct kgb_canonical *b,
				      struct kgb_err *reason)
{
	enum kgb_replay_class replay = KGB_REPLAY_REPLAYABLE;

	/* Certain refusals come first, then undecided owners, then what another stage may judge. */
	if (check_owners(b, &replay, reason) < 0 && replay == KGB_REPLAY_LIBRARY)
		return replay;
	if (check_owners(a, &replay, reason) < 0 || replay == KGB_REPLAY_UNDECIDED)
		return replay;
	if (kgb_canonical_check(b, reason) < 0 || kgb_canonical_check(a, reason) < 0)
		return KGB_REPLAY_UNSUPPORTED;
	if (kgb_canonical_check_downloads(b, reason) < 0 ||
	    kgb_canonical_check_downloads(a, reason) < 0)
		return KGB_REPLAY_HOST;
	switch (kgb_canonical_compare(a, b, reason)) {
	case KGB_SAME:
		return kgb_canonical_check_joined(b, reason) == 0 ? KGB_REPLAY_REPLAYABLE
								  : KGB_REPLAY_UNSUPPORTED;
	case KGB_SCALARS_DIFFER:
		return KGB_REPLAY_RANDOM;
	case KGB_WORK_DIFFERS:
		return KGB_REPLAY_HOST;
	}
	KGB_UNREACHABLE();
}

static void measure(const struct kgb_canonical *canonical, struct kgb_classification *out)
{
	for (size_t i = 0; i < canonical->n_ops; i++) {
		const struct kgb_op *op = canonical->ops[i].op;
		/* The record may hold any sizes: saturate their sum. */
		if (op->kind == KGB_OP_UPLOAD &&
		    __builtin_add_overflow(out->upload_bytes, op->upload.bytes, &out->upload_bytes))
			out->upload_bytes = UINT64_MAX;
	}
	for (size_t i = 0; i < canonical->n_regions; i++)
		out->older_memory |= canonical->regions[i].used && canonical->regions[i].before;
}

static bool check_prologue(const struct kgb_recorded_call *call, const struct kgb_owners *owners)
{
	struct kgb_canonical canonical;
	struct kgb_err ignored = KGB_ERR_INIT;
	enum kgb_replay_class replay;

	kgb_canonical_init(&canonical, call, owners);
	const bool good = check_owners(&canonical, &replay, &ignored) == 0 &&
			  kgb_canonical_check(&canonical, &ignored) == 0 &&
			  kgb_canonical_check_downloads(&canonical, &ignored) == 0;
	kgb_canonical_release(&canonical);
	return good;
}

void kgb_calls_classify(const struct kgb_recorded_call *calls, size_t n_calls,
			const struct kgb_owners *owners, struct kgb_classification *out)
{
	struct kgb_canonical a, b;

	KGB_ASSERT(n_calls == 2 || n_calls == 3);
	*out = (struct kgb_classification){.reason = KGB_ERR_INIT, .idle = KGB_ERR_INIT};
	kgb_canonical_init(&a, &calls[n_calls - 2], owners);
	kgb_canonical_init(&b, &calls[n_calls - 1], owners);
	out->replay = classify(&a, &b, &out->reason);
	if (check_work(&b, &out->idle) == 0)
		(void)check_work(&a, &out->idle);
	measure(&b, out);
	kgb_canonical_release(&a);
	kgb_canonical_release(&b);
	out->prologue_ok = n_calls == 3 && check_prologue(&calls[0], owners);
}
