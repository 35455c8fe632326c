/* SPDX-License-Identifier: MIT */
#include "verify/protocol/exec_request.h"

#include "base/mem.h"
#include "verify/protocol/record.h"

enum { ALIGNMENT = 64, RECORD_FDS = 1, ARENA_FDS = 2, TURN_BYTES = 256 };

#define refuse(err, ...) kgb_fail((err), KGB_ERR_INVALID, "request: " __VA_ARGS__)

const char *kgb_exec_op_name(enum kgb_exec_op op)
{
	static const char *const names[KGB_EXEC_N_OPS] = {
		[KGB_EXEC_OPEN] = "open",
		[KGB_EXEC_ARENA] = "arena",
		[KGB_EXEC_PLAN] = "plan",
		[KGB_EXEC_RUN] = "run",
		[KGB_EXEC_TIME] = "time",
		[KGB_EXEC_PLACE] = "place",
		[KGB_EXEC_LOAD] = "load",
		[KGB_EXEC_SELECT] = "select",
		[KGB_EXEC_FORGET] = "forget",
		[KGB_EXEC_MEASURE] = "measure",
		[KGB_EXEC_CONDITIONS] = "conditions",
	};

	return op < KGB_EXEC_N_OPS ? names[op] : "unknown";
}

/* Parts of the arena, one behind the other. */
static int check_parts(const struct kgb_exec_request *request, struct kgb_err *err)
{
	uint64_t at = KGB_ARENA_ADDRESS;

	if (request->n_ranges > KGB_EXEC_RANGES)
		return refuse(err, "%u parts", request->n_ranges);
	for (uint32_t i = 0; i < request->n_ranges; i++) {
		const struct kgb_exec_range *part = &request->ranges[i];
		if (part->address < at || part->bytes == 0 ||
		    !kgb_arena_has(part->address, request->arena_bytes) ||
		    part->bytes > request->arena_bytes - kgb_arena_offset(part->address))
			return refuse(err, "part %u of %llu bytes at 0x%llx", i,
				      (unsigned long long)part->bytes,
				      (unsigned long long)part->address);
		at = part->address + part->bytes;
	}
	return 0;
}

static int check_arena(const struct kgb_exec_request *request, struct kgb_err *err)
{
	if (request->arena_bytes == 0 || request->arena_bytes > KGB_ARENA_BYTES_MAX)
		return refuse(err, "an arena of %llu bytes",
			      (unsigned long long)request->arena_bytes);
	if (request->n_slots == 0 || request->n_slots > KGB_EXEC_SLOTS_MAX)
		return refuse(err, "%u input images", request->n_slots);
	if (request->output_bytes < request->arena_bytes ||
	    request->output_bytes > KGB_EXEC_OUTPUT_MAX)
		return refuse(err, "output memory of %llu bytes",
			      (unsigned long long)request->output_bytes);
	if (request->n_turned >= request->n_slots)
		return refuse(err, "%u turned images of %u", request->n_turned, request->n_slots);
	if (request->n_turned > 0 && request->flags != 0)
		return refuse(err, "parts that no op may write to, beside turned images");
	if (request->n_ranges < 32 && request->flags >> request->n_ranges != 0)
		return refuse(err, "flags of more parts than there are");
	return check_parts(request, err);
}

static int check_ranges(const struct kgb_exec_request *request, struct kgb_err *err)
{
	if (request->n_ranges > KGB_EXEC_RANGES)
		return refuse(err, "%u ranges", request->n_ranges);
	for (uint32_t i = 0; i < request->n_ranges; i++) {
		const struct kgb_exec_range *range = &request->ranges[i];
		uint64_t end;
		if (__builtin_add_overflow(range->address, range->bytes, &end) ||
		    range->bytes > KGB_EXEC_OUTPUT_MAX)
			return refuse(err, "range %u of %llu bytes at 0x%llx", i,
				      (unsigned long long)range->bytes,
				      (unsigned long long)range->address);
	}
	return 0;
}

static int check_run(const struct kgb_exec_request *request, struct kgb_err *err)
{
	if (request->prologue >= KGB_EXEC_PLANS_MAX && request->prologue != KGB_EXEC_NO_PLAN)
		return refuse(err, "prologue %u", request->prologue);
	if (request->slot >= KGB_EXEC_SLOTS_MAX)
		return refuse(err, "slot %u", request->slot);
	if (request->skip < -1 || request->skip >= (int32_t)KGB_RECORD_OPS_MAX)
		return refuse(err, "skip %d", request->skip);
	return check_ranges(request, err);
}

static int check_time(const struct kgb_exec_request *request, struct kgb_err *err)
{
	if (check_run(request, err) < 0)
		return -1;
	if (request->skip != -1)
		return refuse(err, "skip %d, but a run with an op left out is not timed",
			      request->skip);
	if (request->n_samples == 0 || request->n_samples > KGB_EXEC_SAMPLES_MAX)
		return refuse(err, "%u samples", request->n_samples);
	if (request->n_slots == 0 || request->n_slots > KGB_EXEC_SLOTS_MAX ||
	    request->slot >= request->n_slots)
		return refuse(err, "slot %u of %u", request->slot, request->n_slots);
	if (request->flush_bytes > KGB_EXEC_FLUSH_MAX)
		return refuse(err, "flush of %llu bytes", (unsigned long long)request->flush_bytes);
	return 0;
}

/* Bytes that a request of this kind does not use are zero: this detects a request of another
 * version of the protocol, and no field is silently ignored. */
static int check_unused(const struct kgb_exec_request *request, struct kgb_err *err)
{
	const bool runs = request->op == KGB_EXEC_RUN || request->op == KGB_EXEC_TIME;
	const bool times = request->op == KGB_EXEC_TIME;
	const bool arena = request->op == KGB_EXEC_ARENA;
	const struct kgb_exec_range none = {0};

	if ((request->op != KGB_EXEC_OPEN && request->device != 0) ||
	    (!runs && request->op != KGB_EXEC_PLAN && request->plan != 0) ||
	    (!runs && (request->prologue || request->skip || request->slot || request->poison)) ||
	    (!runs && !arena && request->n_ranges) || (!arena && !times && request->n_slots) ||
	    (!times && request->n_samples) || (!times && request->flush_bytes) ||
	    (!times && request->op != KGB_EXEC_PLACE && request->placement) ||
	    (!runs && !arena && request->flags) ||
	    (!arena && (request->arena_bytes || request->output_bytes || request->n_turned)) ||
	    (request->op != KGB_EXEC_SELECT && request->set) ||
	    (!times && runs && (request->flags & ~(KGB_EXEC_WITHOUT_ARENA | KGB_EXEC_OUTSIDE))) ||
	    (times && (request->flags & ~(KGB_EXEC_WITH_ACTIVITY | KGB_EXEC_WITHOUT_ARENA))))
		return refuse(err, "a field that '%s' does not use is set",
			      kgb_exec_op_name((enum kgb_exec_op)request->op));
	for (size_t i = request->n_ranges; i < KGB_EXEC_RANGES; i++)
		if (memcmp(&request->ranges[i], &none, sizeof(none)) != 0)
			return refuse(err, "an unused range is set");
	return 0;
}

int kgb_exec_request_check(const struct kgb_exec_request *request, size_t len, size_t n_fds,
			   struct kgb_err *err)
{
	if (len != sizeof(*request))
		return refuse(err, "%zu bytes, not %zu", len, sizeof(*request));
	if (request->magic != KGB_EXEC_MAGIC)
		return refuse(err, "magic %08x", request->magic);
	if (request->version != KGB_EXEC_VERSION)
		return refuse(err, "version %u, not %d", request->version, KGB_EXEC_VERSION);
	if (request->op >= KGB_EXEC_N_OPS)
		return refuse(err, "op %u", request->op);

	const enum kgb_exec_op op = (enum kgb_exec_op)request->op;
	const size_t wanted = op == KGB_EXEC_ARENA  ? ARENA_FDS
			      : op == KGB_EXEC_PLAN ? RECORD_FDS
						    : 0;
	if (n_fds != wanted)
		return refuse(err, "%zu descriptors with '%s', not %zu", n_fds,
			      kgb_exec_op_name(op), wanted);
	if (op == KGB_EXEC_ARENA && check_arena(request, err) < 0)
		return -1;
	if (op == KGB_EXEC_RUN && check_run(request, err) < 0)
		return -1;
	if (op == KGB_EXEC_TIME && check_time(request, err) < 0)
		return -1;
	if (request->plan >= KGB_EXEC_PLANS_MAX)
		return refuse(err, "plan %u", request->plan);
	if (request->placement == KGB_EXEC_NO_PLACEMENT)
		return refuse(err, "placement %u", request->placement);
	if (request->set >= KGB_EXEC_SETS_MAX)
		return refuse(err, "set %u", request->set);
	return check_unused(request, err);
}

static int take(uint64_t *at, uint64_t bytes, uint64_t *out, struct kgb_err *err)
{
	*at = (*at + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	*out = *at;
	*at += bytes; /* both are at most KGB_EXEC_OUTPUT_MAX here */
	if (*at > KGB_EXEC_OUTPUT_MAX)
		return refuse(err, "more than %llu bytes to bring back",
			      (unsigned long long)KGB_EXEC_OUTPUT_MAX);
	return 0;
}

int kgb_exec_layout(const struct kgb_exec_request *request, uint64_t arena_bytes,
		    struct kgb_exec_layout *out, struct kgb_err *err)
{
	struct kgb_exec_layout made = {0};
	uint64_t at = arena_bytes;

	for (uint32_t i = 0; i < request->n_ranges; i++)
		if (take(&at, request->ranges[i].bytes, &made.ranges[i], err) < 0)
			return -1;
	if (request->op == KGB_EXEC_TIME &&
	    take(&at, request->n_samples * sizeof(struct kgb_exec_sample), &made.samples, err) < 0)
		return -1;
	made.bytes = at;
	*out = made;
	return 0;
}

uint64_t kgb_exec_turn(uint64_t bytes, uint32_t slot, uint32_t n_slots)
{
	return bytes / n_slots * slot / TURN_BYTES * TURN_BYTES;
}

uint64_t kgb_exec_poison_word(uint64_t seed, uint64_t address)
{
	uint64_t x = seed + (address >> 3) * UINT64_C(0x9e3779b97f4a7c15);

	for (int i = 0; i < 2; i++)
		x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}
