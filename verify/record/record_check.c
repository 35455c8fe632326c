/* SPDX-License-Identifier: MIT */
/* Checks whether a recorded call may be replayed. */
#include <inttypes.h>
#include <string.h>

#include "verify/protocol/op_limits.h"
#include "verify/record/record_canonical.h"

static int check_op(const struct kgb_canonical *canonical, const struct kgb_op *op,
		    struct kgb_err *err)
{
	struct kgb_op_range ranges[KGB_OP_RANGES_MAX];
	char word[KGB_WORD_TEXT];

	if (kgb_op_check(op, err) < 0)
		return -1;
	const size_t n = op->kind == KGB_OP_DOWNLOAD ? 0 : kgb_op_ranges(op, ranges);
	for (size_t i = 0; i < n; i++) {
		const struct kgb_op_range *range = &ranges[i];
		if (!kgb_canonical_holds(canonical, range->address, range->bytes))
			return kgb_fail(err, KGB_ERR_INVALID,
					"%s of %" PRIu64 " bytes at %s (0x%" PRIx64
					"), which is not wholly in an argument or in memory that "
					"torch allocated",
					range->name, range->bytes,
					kgb_canonical_word(canonical, range->address, word),
					range->address);
	}
	return 0;
}

int kgb_canonical_check(const struct kgb_canonical *canonical, struct kgb_err *err)
{
	char title[KGB_OP_TITLE];

	if (canonical->fault.msg[0] != '\0') {
		*err = canonical->fault;
		return -1;
	}
	for (size_t i = 0; i < canonical->n_ops; i++) {
		const struct kgb_canonical_op *kept = &canonical->ops[i];
		if (check_op(canonical, kept->op, err) < 0)
			return kgb_ctx(err, "op %zu (%s)", kept->source,
				       kgb_op_title(kept->op, title));
	}
	return 0;
}

int kgb_canonical_check_downloads(const struct kgb_canonical *canonical, struct kgb_err *err)
{
	char word[KGB_WORD_TEXT];

	for (size_t i = 0; i < canonical->n_ops; i++) {
		const struct kgb_canonical_op *kept = &canonical->ops[i];
		if (kept->op->kind == KGB_OP_DOWNLOAD)
			return kgb_fail(
				err, KGB_ERR_INVALID,
				"op %zu: the host reads %" PRIu64
				" bytes at %s (.item(), .cpu(), a condition on a tensor ...)",
				kept->source, kept->op->download.bytes,
				kgb_canonical_word(canonical, kept->op->download.src, word));
	}
	return 0;
}

/* ---- work that still runs after the call ---- */

/* For every stream: how many ops of every stream are over when its next one begins. */
struct clocks {
	uint32_t known[KGB_CANONICAL_STREAMS_MAX][KGB_CANONICAL_STREAMS_MAX];
	uint32_t host[KGB_CANONICAL_STREAMS_MAX]; /* the same of what the host does next */
	uint32_t n_ops[KGB_CANONICAL_STREAMS_MAX]; /* so far */
	size_t last[KGB_CANONICAL_STREAMS_MAX]; /* of each stream, in the canonical */
	uint32_t (*at_event)[KGB_CANONICAL_STREAMS_MAX]; /* for each event that is waited for */
};

/* Each element becomes the larger of the two. */
static void raise_to(uint32_t to[KGB_CANONICAL_STREAMS_MAX],
		     const uint32_t from[KGB_CANONICAL_STREAMS_MAX])
{
	for (size_t i = 0; i < KGB_CANONICAL_STREAMS_MAX; i++)
		to[i] = to[i] > from[i] ? to[i] : from[i];
}

static void tick(struct clocks *clocks, const struct kgb_canonical *canonical, size_t op)
{
	const struct kgb_canonical_op *kept = &canonical->ops[op];
	uint32_t *known = clocks->known[kept->stream];

	raise_to(known, clocks->host);
	if (kept->op->kind == KGB_OP_EVENT_WAIT) {
		raise_to(known, clocks->at_event[kept->event]);
	} else if (kept->op->kind == KGB_OP_EVENT_RECORD) {
		memcpy(clocks->at_event[kept->event], known, sizeof(clocks->known[0]));
	} else {
		known[kept->stream] = ++clocks->n_ops[kept->stream];
		clocks->last[kept->stream] = op;
	}
}

/* The caller's stream is the default one. A wait of the host counts as a wait for all streams; the
 * last wait of a window is the runner's own and does not count. */
static void run_clocks(struct clocks *clocks, const struct kgb_canonical *canonical)
{
	const struct kgb_window *window = canonical->capture->window;
	size_t next = 0;

	for (size_t i = 0; i < window->n_ops; i++) {
		if (window->ops[i].kind == KGB_OP_SYNC && i + 1 < window->n_ops)
			memcpy(clocks->host, clocks->n_ops, sizeof(clocks->host));
		if (next < canonical->n_ops && canonical->ops[next].source == i)
			tick(clocks, canonical, next++);
	}
}

int kgb_canonical_check_joined(const struct kgb_canonical *canonical, struct kgb_err *err)
{
	KGB_AUTO(free) struct clocks *clocks = NULL;
	KGB_AUTO(free) uint32_t(*at_event)[KGB_CANONICAL_STREAMS_MAX] = NULL;
	uint32_t *callers;
	char title[KGB_OP_TITLE];

	if (canonical->n_streams == 1 && canonical->streams[0] == 0)
		return 0;
	clocks = kgb_xcalloc(1, sizeof(*clocks));
	at_event = kgb_xcalloc(canonical->n_ops + 1, sizeof(*at_event));
	clocks->at_event = at_event;
	run_clocks(clocks, canonical);
	callers = clocks->host;
	for (size_t i = 0; i < canonical->n_streams; i++)
		if (canonical->streams[i] == 0)
			raise_to(callers, clocks->known[i]);
	for (size_t i = 0; i < canonical->n_streams; i++) {
		if (canonical->streams[i] == 0 || callers[i] >= clocks->n_ops[i])
			continue;
		const struct kgb_canonical_op *kept = &canonical->ops[clocks->last[i]];
		return kgb_fail(err, KGB_ERR_INVALID,
				"op %zu (%s) runs on another stream, and the caller's does not "
				"wait for it",
				kept->source, kgb_op_title(kept->op, title));
	}
	return 0;
}
