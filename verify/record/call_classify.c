/* SPDX-License-Identifier: MIT */
#include "verify/record/call_classify.h"

#include <inttypes.h>
#include <string.h>

#include "verify/record/record_canonical.h"

const char *kgb_owner_name(enum kgb_owner owner)
{
	static const char *const names[] = {
		[KGB_OWNER_TRITON] = "the candidate's",
		[KGB_OWNER_TORCH_MOVE] = "a fill or copy of torch",
		[KGB_OWNER_LIBRARY] = "of a library",
		[KGB_OWNER_UNKNOWN] = "of unknown origin",
		[KGB_OWNER_UNDECIDED] = "of an origin that could not be found out",
	};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_OWNERS, "one name per owner");

	KGB_ASSERT(owner < KGB_N_OWNERS);
	return names[owner];
}

const char *kgb_replay_class_name(enum kgb_replay_class replay)
{
	static const char *const names[] = {
		[KGB_REPLAY_REPLAYABLE] = "replayable",   [KGB_REPLAY_PROLOGUE] = "prologue",
		[KGB_REPLAY_LIBRARY] = "library",         [KGB_REPLAY_NO_WORK] = "no_work",
		[KGB_REPLAY_HOST] = "host_dependent",     [KGB_REPLAY_RANDOM] = "random",
		[KGB_REPLAY_UNSUPPORTED] = "unsupported", [KGB_REPLAY_TIMEOUT] = "timeout",
		[KGB_REPLAY_UNDECIDED] = "undecided",
	};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_REPLAY_CLASSES, "one name per class");

	KGB_ASSERT(replay < KGB_N_REPLAY_CLASSES);
	return names[replay];
}

/* --- classes --- */

/* False: a launch of code that a candidate may not use. *finding tells of the first, but of one
 * that is known to be refused before one of which nothing is known. */
static bool check_owners(const struct kgb_canonical *outline, struct kgb_window_finding *finding,
			 enum kgb_replay_class *replay)
{
	const struct kgb_canonical_op *found = NULL;

	for (size_t i = 0; i < outline->n_ops; i++) {
		const struct kgb_canonical_op *kept = &outline->ops[i];
		if (kept->op->kind != KGB_OP_LAUNCH || kept->owner == KGB_OWNER_TRITON ||
		    kept->owner == KGB_OWNER_TORCH_MOVE)
			continue;
		if (!found ||
		    (found->owner == KGB_OWNER_UNDECIDED && kept->owner != KGB_OWNER_UNDECIDED))
			found = kept;
	}
	if (!found)
		return true;
	*replay = found->owner == KGB_OWNER_UNDECIDED ? KGB_REPLAY_UNDECIDED : KGB_REPLAY_LIBRARY;
	*finding = (struct kgb_window_finding){.op = found->source};
	kgb_window_finding_set(finding, found->source,
			       "op %zu launches kernel %.200s, which is %s: only the candidate's "
			       "own Triton kernels and fills and copies of torch may run",
			       found->source, found->op->launch.kernel,
			       kgb_owner_name(found->owner));
	return false;
}

static size_t count_launches(const struct kgb_canonical *outline, size_t n_launches[KGB_N_OWNERS])
{
	memset(n_launches, 0, KGB_N_OWNERS * sizeof(n_launches[0]));
	for (size_t i = 0; i < outline->n_ops; i++) {
		if (outline->ops[i].op->kind == KGB_OP_LAUNCH)
			n_launches[outline->ops[i].owner]++;
	}
	return n_launches[KGB_OWNER_TRITON];
}

/* Do all of the last two calls launch a kernel of the candidate? */
static bool check_work(const struct kgb_canonical *outline, struct kgb_window_finding *finding)
{
	size_t n_launches[KGB_N_OWNERS];

	if (count_launches(outline, n_launches) > 0)
		return true;
	*finding = (struct kgb_window_finding){.op = KGB_NO_OP};
	kgb_window_finding_set(finding, KGB_NO_OP,
			       "window %" PRIu32
			       ": no Triton kernel ran during the call (%zu ops in all)",
			       outline->capture->window->number, outline->n_ops);
	return false;
}

static enum kgb_replay_class classify(struct kgb_canonical *a, struct kgb_canonical *b,
				      bool needs_kernel, struct kgb_window_finding *reason)
{
	enum kgb_replay_class replay = KGB_REPLAY_REPLAYABLE;

	/* What is refused for good comes before what may be judged in another way, and what is
	 * known before what is not. */
	if (!check_owners(b, reason, &replay) && replay == KGB_REPLAY_LIBRARY)
		return replay;
	if (!check_owners(a, reason, &replay) || replay == KGB_REPLAY_UNDECIDED)
		return replay;
	if (!kgb_canonical_check(b, reason) || !kgb_canonical_check(a, reason))
		return KGB_REPLAY_UNSUPPORTED;
	if (needs_kernel && (!check_work(b, reason) || !check_work(a, reason)))
		return KGB_REPLAY_NO_WORK;
	if (!kgb_canonical_check_downloads(b, reason) || !kgb_canonical_check_downloads(a, reason))
		return KGB_REPLAY_HOST;
	switch (kgb_canonical_compare(a, b, reason)) {
	case KGB_SAME:
		return kgb_canonical_check_joined(b, reason) ? KGB_REPLAY_REPLAYABLE
							     : KGB_REPLAY_UNSUPPORTED;
	case KGB_SCALARS_DIFFER:
		return KGB_REPLAY_RANDOM;
	case KGB_WORK_DIFFERS:
		return KGB_REPLAY_HOST;
	}
	KGB_UNREACHABLE();
}

/* Where a process has its own memory; GPUs have theirs at 0x7f... too, but then in a block. */
static bool looks_like_host(uint64_t word)
{
	return word >= UINT64_C(0x550000000000) && word < UINT64_C(0x800000000000);
}

static void find_host_pointer(const struct kgb_canonical *outline,
			      struct kgb_window_finding *finding)
{
	for (size_t i = 0; i < outline->n_ops && finding->text[0] == '\0'; i++) {
		const struct kgb_launch *launch = &outline->ops[i].op->launch;
		if (outline->ops[i].op->kind != KGB_OP_LAUNCH ||
		    outline->ops[i].owner != KGB_OWNER_TRITON)
			continue;
		for (size_t at = 0; at + 8 <= launch->params_bytes; at += 8) {
			const uint64_t word = kgb_word_at(launch->params, at);
			if (!looks_like_host(word) ||
			    kgb_canonical_locate(outline, word).kind != KGB_SPOT_NONE)
				continue;
			kgb_window_finding_set(
				finding, outline->ops[i].source,
				"op %zu (launch %.120s): parameter byte %zu, 0x%" PRIx64
				", may be the address of host memory, which a replay "
				"does not have",
				outline->ops[i].source, launch->kernel, at, word);
			break;
		}
	}
}

static void measure(const struct kgb_canonical *outline, struct kgb_windows *out)
{
	count_launches(outline, out->n_launches);
	for (size_t i = 0; i < outline->n_ops; i++) {
		const struct kgb_op *op = outline->ops[i].op;
		/* Sums of what may be any number: held at the greatest one. */
		if (op->kind == KGB_OP_UPLOAD &&
		    __builtin_add_overflow(out->upload_bytes, op->upload.bytes, &out->upload_bytes))
			out->upload_bytes = UINT64_MAX;
		if (op->kind == KGB_OP_DOWNLOAD &&
		    __builtin_add_overflow(out->download_bytes, op->download.bytes,
					   &out->download_bytes))
			out->download_bytes = UINT64_MAX;
	}
	for (size_t i = 0; i < outline->n_regions; i++)
		out->older_memory |= outline->regions[i].used && outline->regions[i].before;
	find_host_pointer(outline, &out->host_pointer);
}

static bool check_prologue(const struct kgb_recorded_call *capture, const struct kgb_owners *owners,
			   struct kgb_window_finding *finding)
{
	struct kgb_canonical outline;
	enum kgb_replay_class ignored;

	kgb_canonical_init(&outline, capture, owners);
	const bool good = check_owners(&outline, finding, &ignored) &&
			  kgb_canonical_check(&outline, finding) &&
			  kgb_canonical_check_downloads(&outline, finding);
	kgb_canonical_release(&outline);
	return good;
}

void kgb_windows_classify(const struct kgb_recorded_call *captures, size_t n_captures,
			  const struct kgb_owners *owners, bool needs_kernel,
			  struct kgb_windows *out)
{
	struct kgb_canonical a, b;

	KGB_ASSERT(n_captures == 2 || n_captures == 3);
	*out = (struct kgb_windows){
		.reason.op = KGB_NO_OP,
		.host_pointer.op = KGB_NO_OP,
		.prologue_reason.op = KGB_NO_OP,
	};
	kgb_canonical_init(&a, &captures[n_captures - 2], owners);
	kgb_canonical_init(&b, &captures[n_captures - 1], owners);
	out->replay = classify(&a, &b, needs_kernel, &out->reason);
	measure(&b, out);
	kgb_canonical_release(&a);
	kgb_canonical_release(&b);
	if (n_captures == 3)
		out->prologue_ok = check_prologue(&captures[0], owners, &out->prologue_reason);
}

/* --- for people --- */

#define WORDS_SHOWN 24

static void describe_params(const struct kgb_canonical *outline, const struct kgb_launch *launch,
			    struct kgb_buf *out)
{
	char word[KGB_WORD_TEXT];
	size_t at = 0;

	for (; at + 8 <= launch->params_bytes && at < 8 * WORDS_SHOWN; at += 8)
		kgb_buf_addf(out, " %s",
			     kgb_canonical_word(outline, kgb_word_at(launch->params, at), word));
	if (at + 8 <= launch->params_bytes)
		kgb_buf_addf(out, " ... (%" PRIu32 " bytes)", launch->params_bytes);
	else if (at < launch->params_bytes)
		kgb_buf_adds(out, " ");
	for (; launch->params_bytes - at < 8 && at < launch->params_bytes; at++)
		kgb_buf_addf(out, "%02x", launch->params[at]);
}

static void describe_launch(struct kgb_canonical *outline, const struct kgb_launch *launch,
			    enum kgb_owner owner, struct kgb_buf *out)
{
	char hash[KGB_SHA256_HEX_LEN];

	kgb_canonical_image_hash(outline, launch->image, hash);
	kgb_buf_addf(out, " %.200s (%s, image %.12s) grid %ux%ux%u block %ux%ux%u", launch->kernel,
		     kgb_owner_name(owner), hash, launch->grid[0], launch->grid[1], launch->grid[2],
		     launch->block[0], launch->block[1], launch->block[2]);
	if (launch->shared_bytes)
		kgb_buf_addf(out, " shared %u", launch->shared_bytes);
	if (launch->carveout >= 0)
		kgb_buf_addf(out, " carveout %d", launch->carveout);
	for (size_t i = 0; i < launch->n_attrs; i++)
		kgb_buf_addf(out, " attribute %u", launch->attrs[i].id);
	kgb_buf_adds(out, ":");
	describe_params(outline, launch, out);
}

static void describe_body(struct kgb_canonical *outline, const struct kgb_op *op,
			  enum kgb_owner owner, struct kgb_buf *out)
{
	char dst[KGB_WORD_TEXT], src[KGB_WORD_TEXT];

	switch (op->kind) {
	case KGB_OP_LAUNCH:
		describe_launch(outline, &op->launch, owner, out);
		return;
	case KGB_OP_MEMSET:
		kgb_buf_addf(out, " %s, %" PRIu64 "x%" PRIu64 " elements of %u bytes = 0x%x",
			     kgb_canonical_word(outline, op->memset.dst, dst), op->memset.height,
			     op->memset.width, op->memset.element_bytes, op->memset.value);
		return;
	case KGB_OP_COPY:
		kgb_buf_addf(out, " %s from %s, %" PRIu64 " bytes",
			     kgb_canonical_word(outline, op->copy.dst, dst),
			     kgb_canonical_word(outline, op->copy.src, src), op->copy.bytes);
		return;
	case KGB_OP_UPLOAD:
		kgb_buf_addf(out, " %s, %" PRIu64 " bytes",
			     kgb_canonical_word(outline, op->upload.dst, dst), op->upload.bytes);
		return;
	case KGB_OP_DOWNLOAD:
		kgb_buf_addf(out, " %s, %" PRIu64 " bytes",
			     kgb_canonical_word(outline, op->download.src, src),
			     op->download.bytes);
		return;
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
		kgb_buf_addf(out, " 0x%" PRIx64, op->event);
		return;
	case KGB_OP_UNSUPPORTED:
		kgb_buf_addf(out, ": %.300s", op->why);
		return;
	case KGB_OP_SYNC:
		return;
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

void kgb_window_describe(const struct kgb_recorded_call *capture, const struct kgb_owners *owners,
			 struct kgb_buf *out)
{
	const struct kgb_window *window = capture->window;
	struct kgb_canonical outline;

	kgb_canonical_init(&outline, capture, owners);
	for (size_t i = 0, next = 0; i < window->n_ops; i++) {
		const struct kgb_op *op = &window->ops[i];
		enum kgb_owner owner = KGB_OWNER_UNKNOWN;
		if (next < outline.n_ops && outline.ops[next].source == i)
			owner = outline.ops[next++].owner;
		kgb_buf_addf(out, "op %zu, stream 0x%" PRIx64 ": %s", i, op->stream,
			     kgb_op_kind_name(op->kind));
		describe_body(&outline, op, owner, out);
		kgb_buf_addc(out, '\n');
	}
	kgb_canonical_release(&outline);
}
