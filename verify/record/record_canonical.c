/* SPDX-License-Identifier: MIT */
#include "verify/record/record_canonical.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "verify/protocol/op_limits.h"

const char *kgb_op_title(const struct kgb_op *op, char out[KGB_OP_TITLE])
{
	if (op->kind == KGB_OP_LAUNCH)
		snprintf(out, KGB_OP_TITLE, "launch %.120s", op->launch.kernel);
	else
		snprintf(out, KGB_OP_TITLE, "%s", kgb_op_kind_name(op->kind));
	return out;
}

uint64_t kgb_word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Record a cause why no replay is possible, unless an earlier one is known. */
#define fault(canonical, ...)                                                        \
	do {                                                                         \
		if ((canonical)->fault.msg[0] == '\0')                               \
			kgb_fail(&(canonical)->fault, KGB_ERR_INVALID, __VA_ARGS__); \
	} while (0)

/* --- memory --- */

static void find_regions(struct kgb_canonical *canonical)
{
	const struct kgb_window *window = canonical->capture->window;
	struct kgb_canonical_region *last = NULL;

	canonical->regions =
		kgb_arena_array(&canonical->arena, window->n_blocks, sizeof(*canonical->regions));
	for (size_t i = 0; i < window->n_blocks; i++) {
		const struct kgb_block *block = &window->blocks[i];
		if (block->bytes == 0)
			continue;
		const char *wrong = kgb_block_fault(block);
		if (wrong) {
			fault(canonical, "a block of %" PRIu64 " bytes at 0x%" PRIx64 " %s",
			      block->bytes, block->address, wrong);
			continue;
		}
		const uint64_t end = block->address + block->bytes;
		if (!last || block->address >= last->end) {
			last = &canonical->regions[canonical->n_regions++];
			last->start = block->address;
			last->end = end;
		} else if (end > last->end) {
			last->end = end;
		}
		last->foreign |= block->foreign;
		last->before |= block->before;
	}
}

/* The region with the greatest start that is not above `address`, or NULL. */
static const struct kgb_canonical_region *region_below(const struct kgb_canonical *canonical,
						       uint64_t address)
{
	size_t low = 0, high = canonical->n_regions;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (canonical->regions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &canonical->regions[low - 1] : NULL;
}

static bool in_arena(const struct kgb_canonical *canonical, uint64_t address)
{
	return kgb_arena_has(address, canonical->capture->arena_bytes);
}

static struct kgb_location locate_in_arena(const struct kgb_recorded_call *capture,
					   uint64_t address)
{
	struct kgb_location location = {.kind = KGB_LOCATION_NONE};

	for (size_t i = 0; i < capture->n_places; i++) {
		const uint64_t start = capture->places[i].address;
		if (start > address || kgb_arena_window(start) != kgb_arena_window(address) ||
		    (location.kind != KGB_LOCATION_NONE && address - start > location.offset))
			continue;
		location = (struct kgb_location){KGB_LOCATION_ARGUMENT, i, address - start};
	}
	return location;
}

struct kgb_location kgb_canonical_locate(const struct kgb_canonical *canonical, uint64_t address)
{
	if (in_arena(canonical, address))
		return locate_in_arena(canonical->capture, address);
	const struct kgb_canonical_region *region = region_below(canonical, address);
	if (!region || address > region->end)
		return (struct kgb_location){.kind = KGB_LOCATION_NONE};
	return (struct kgb_location){KGB_LOCATION_REGION, (size_t)(region - canonical->regions),
				     address - region->start};
}

bool kgb_canonical_holds(const struct kgb_canonical *canonical, uint64_t address, uint64_t bytes)
{
	if (in_arena(canonical, address))
		return bytes <= canonical->capture->arena_bytes - kgb_arena_offset(address);
	const struct kgb_canonical_region *region = region_below(canonical, address);
	return region && address < region->end && bytes <= region->end - address &&
	       (!region->foreign || canonical->capture->foreign_ok);
}

const char *kgb_canonical_word(const struct kgb_canonical *canonical, uint64_t word,
			       char out[KGB_WORD_TEXT])
{
	const struct kgb_location location = kgb_canonical_locate(canonical, word);

	switch (location.kind) {
	case KGB_LOCATION_ARGUMENT:
		snprintf(out, KGB_WORD_TEXT, "%.48s+%" PRIu64,
			 canonical->capture->places[location.index].name, location.offset);
		return out;
	case KGB_LOCATION_REGION:
		snprintf(out, KGB_WORD_TEXT, "block %zu+%" PRIu64,
			 canonical->regions[location.index].number, location.offset);
		return out;
	case KGB_LOCATION_NONE:
		snprintf(out, KGB_WORD_TEXT, "0x%" PRIx64, word);
		return out;
	}
	KGB_UNREACHABLE();
}

static void use_word(struct kgb_canonical *canonical, uint64_t word)
{
	const struct kgb_location location = kgb_canonical_locate(canonical, word);

	if (location.kind != KGB_LOCATION_REGION || canonical->regions[location.index].used)
		return;
	canonical->regions[location.index].used = true;
	canonical->regions[location.index].number = canonical->n_used++;
}

static void use_bytes(struct kgb_canonical *canonical, const unsigned char *bytes, size_t len)
{
	for (size_t at = 0; at + 8 <= len; at += 8)
		use_word(canonical, kgb_word_at(bytes, at));
}

/* Every word of an op may be an address. */
static void use_op(struct kgb_canonical *canonical, const struct kgb_op *op)
{
	struct kgb_op_range ranges[KGB_OP_RANGES_MAX];
	const size_t n = kgb_op_ranges(op, ranges);

	for (size_t i = 0; i < n; i++)
		use_word(canonical, ranges[i].address);
	if (op->kind == KGB_OP_LAUNCH)
		use_bytes(canonical, op->launch.params, op->launch.params_bytes);
	else if (op->kind == KGB_OP_UPLOAD)
		use_bytes(canonical, op->upload.data, op->upload.bytes);
}

/* --- ops --- */

struct event_use {
	uint64_t event;
	size_t op; /* number in the window */
};

static int compare_uses(const void *pa, const void *pb)
{
	const struct event_use *a = pa, *b = pb;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	return a->op < b->op ? -1 : a->op > b->op;
}

/* For every op that waits for an event: the number of the op that last recorded it. For every such
 * record op: its number. KGB_NO_OP for a wait without a record in this window and for a record
 * without a wait. The driver reuses event numbers, so they mean nothing else. */
static size_t *pair_events(struct kgb_arena *arena, const struct kgb_window *window)
{
	size_t *partner = kgb_arena_array(arena, window->n_ops, sizeof(*partner));
	struct event_use *uses = kgb_arena_array(arena, window->n_ops, sizeof(*uses));
	size_t n = 0, record = KGB_NO_OP;

	for (size_t i = 0; i < window->n_ops; i++) {
		const struct kgb_op *op = &window->ops[i];
		partner[i] = KGB_NO_OP;
		if (op->kind == KGB_OP_EVENT_RECORD || op->kind == KGB_OP_EVENT_WAIT)
			uses[n++] = (struct event_use){op->event, i};
	}
	if (n > 1)
		qsort(uses, n, sizeof(*uses), compare_uses);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || uses[i].event != uses[i - 1].event)
			record = KGB_NO_OP;
		if (window->ops[uses[i].op].kind == KGB_OP_EVENT_RECORD) {
			record = uses[i].op;
		} else if (record != KGB_NO_OP) {
			partner[uses[i].op] = record;
			partner[record] = record;
		}
	}
	return partner;
}

/* An op that does nothing. */
static bool is_empty(const struct kgb_op *op)
{
	switch (op->kind) {
	case KGB_OP_MEMSET:
		return op->memset.width == 0 || op->memset.height == 0;
	case KGB_OP_COPY:
		return op->copy.bytes == 0;
	case KGB_OP_UPLOAD:
		return op->upload.bytes == 0;
	case KGB_OP_DOWNLOAD:
		return op->download.bytes == 0;
	case KGB_OP_SYNC:
		return true;
	case KGB_OP_LAUNCH:
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
	case KGB_OP_UNSUPPORTED:
	case KGB_OP_REPLACES:
		return false;
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

static uint32_t number_stream(struct kgb_canonical *canonical, uint64_t stream, size_t op)
{
	for (size_t i = 0; i < canonical->n_streams; i++) {
		if (canonical->streams[i] == stream)
			return (uint32_t)i;
	}
	if (canonical->n_streams == KGB_CANONICAL_STREAMS_MAX) {
		fault(canonical, "op %zu uses one more than %d streams", op,
		      KGB_CANONICAL_STREAMS_MAX);
		return KGB_CANONICAL_STREAMS_MAX;
	}
	canonical->streams[canonical->n_streams] = stream;
	return (uint32_t)canonical->n_streams++;
}

static enum kgb_owner ask_owner(const struct kgb_record *record, const struct kgb_op *op,
				const struct kgb_owners *owners)
{
	if (op->kind != KGB_OP_LAUNCH || !owners)
		return KGB_OWNER_UNKNOWN;
	return owners->find(kgb_record_image(record, op->launch.image), op->launch.kernel,
			    owners->payload);
}

static void keep_ops(struct kgb_canonical *canonical, const struct kgb_owners *owners)
{
	const struct kgb_window *window = canonical->capture->window;
	const size_t *partner = pair_events(&canonical->arena, window);
	uint32_t *events = kgb_arena_array(&canonical->arena, window->n_ops, sizeof(*events));
	uint32_t n_events = 0;

	canonical->ops = kgb_arena_array(&canonical->arena, window->n_ops, sizeof(*canonical->ops));
	for (size_t i = 0; i < window->n_ops; i++) {
		const struct kgb_op *op = &window->ops[i];
		const bool is_record = op->kind == KGB_OP_EVENT_RECORD;
		const bool is_event = is_record || op->kind == KGB_OP_EVENT_WAIT;
		if (is_empty(op) || (is_event && partner[i] == KGB_NO_OP))
			continue;
		struct kgb_canonical_op *kept = &canonical->ops[canonical->n_ops++];
		*kept = (struct kgb_canonical_op){
			.op = op,
			.source = i,
			.stream = number_stream(canonical, op->stream, i),
			.owner = ask_owner(canonical->capture->record, op, owners),
		};
		if (is_record)
			events[i] = n_events++;
		if (is_event)
			kept->event = events[partner[i]];
	}
}

/* Refuse work on one stream, a wait of the host, then work on another stream: only the wait orders
 * the two, and a replay has no waits. */
static void find_host_ordering(struct kgb_canonical *canonical)
{
	const struct kgb_window *window = canonical->capture->window;
	size_t next = 0;
	uint32_t seen = 0, before_wait = 0; /* sets of streams */

	_Static_assert(KGB_CANONICAL_STREAMS_MAX <= 32, "a set is a word");
	for (size_t i = 0; i < window->n_ops; i++) {
		if (window->ops[i].kind == KGB_OP_SYNC)
			before_wait = seen;
		if (next == canonical->n_ops || canonical->ops[next].source != i)
			continue;
		const uint32_t stream = canonical->ops[next++].stream;
		if (stream == KGB_CANONICAL_STREAMS_MAX)
			return;
		seen |= UINT32_C(1) << stream;
		if ((before_wait & ~(UINT32_C(1) << stream)) == 0)
			continue;
		fault(canonical,
		      "op %zu (%s) and work on another stream are ordered by the host's waiting: "
		      "use events between streams",
		      i, kgb_op_kind_name(window->ops[i].kind));
		return;
	}
}

void kgb_canonical_init(struct kgb_canonical *canonical, const struct kgb_recorded_call *capture,
			const struct kgb_owners *owners)
{
	*canonical = (struct kgb_canonical){
		.capture = capture,
		.arena = KGB_ARENA_INIT,
		.fault = KGB_ERR_INIT,
	};
	KGB_ASSERT(capture->arena_bytes <= KGB_ARENA_BYTES_MAX);
	find_regions(canonical);
	keep_ops(canonical, owners);
	find_host_ordering(canonical);
	for (size_t i = 0; i < canonical->n_ops; i++)
		use_op(canonical, canonical->ops[i].op);
}

void kgb_canonical_release(struct kgb_canonical *canonical)
{
	kgb_arena_release(&canonical->arena);
	*canonical = (struct kgb_canonical){.arena = KGB_ARENA_INIT};
}
