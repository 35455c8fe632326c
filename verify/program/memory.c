/* SPDX-License-Identifier: MIT */
#include "verify/program/memory.h"

#include "base/mem.h"

#define SHADOW_BYTES_MAX (UINT64_C(4) << 30) /* all shadows of a launch */
#define RACE_PROGRAMS_MAX (UINT64_C(1) << 24)
#define PROGRAM_BITS 25
#define LANE_BITS 22
#define LOW_STORE_BITS 17
#define PHASE_BITS 24
#define STORE_BITS 25
#define LOW(value, bits) ((value) & ((UINT64_C(1) << (bits)) - 1))

static int by_address(const void *a, const void *b)
{
	const struct kgb_memory_range *x = a, *y = b;

	return (x->buffer->address > y->buffer->address) -
	       (x->buffer->address < y->buffer->address);
}

static int check_buffers(const struct kgb_memory *memory, struct kgb_err *err)
{
	for (uint32_t i = 0; i < memory->n_ranges; i++) {
		const struct kgb_machine_buffer *buffer = memory->ranges[i].buffer;
		uint64_t end;
		if ((buffer->address - (uintptr_t)buffer->data) % 8 ||
		    (!buffer->data && buffer->bytes) ||
		    __builtin_add_overflow(buffer->address, buffer->bytes, &end) ||
		    buffer->address == 0)
			return kgb_fail(err, KGB_ERR_INVALID,
					"buffer %u: its address and its data differ modulo 8",
					memory->ranges[i].index);
		if (i + 1 < memory->n_ranges && memory->ranges[i + 1].buffer->address < end)
			return kgb_fail(err, KGB_ERR_INVALID, "buffers %u and %u overlap",
					memory->ranges[i].index, memory->ranges[i + 1].index);
	}
	return 0;
}

/* Entries begin at multiples of 2^shift bytes, so a buffer may touch an entry at each end in part.
 */
static size_t shadow_elements(const struct kgb_memory *memory, const struct kgb_memory_range *range)
{
	return (range->buffer->bytes >> memory->shift) + 2;
}

static int add_shadows(struct kgb_memory *memory, uint64_t n_programs, uint32_t least_access,
		       struct kgb_err *err)
{
	uint64_t total = 0;

	while (least_access >> memory->shift > 1)
		memory->shift++;
	for (uint32_t i = 0; i < memory->n_ranges; i++)
		if (memory->ranges[i].buffer->is_writable)
			total += shadow_elements(memory, &memory->ranges[i]);
	if (n_programs > RACE_PROGRAMS_MAX || total > SHADOW_BYTES_MAX / sizeof(struct kgb_shadow))
		return kgb_fail(err, KGB_ERR_LIMIT,
				"races of %llu programs in %llu elements: too much memory",
				(unsigned long long)n_programs, (unsigned long long)total);
	for (uint32_t i = 0; i < memory->n_ranges; i++)
		if (memory->ranges[i].buffer->is_writable)
			memory->ranges[i].shadow =
				kgb_xcalloc(shadow_elements(memory, &memory->ranges[i]),
					    sizeof(struct kgb_shadow));
	memory->order = kgb_order__new(n_programs);
	return 0;
}

int kgb_memory__init(struct kgb_memory *memory, const struct kgb_machine_launch *launch,
		     uint64_t n_programs, uint32_t least_access, struct kgb_err *err)
{
	*memory =
		(struct kgb_memory){.n_ranges = launch->n_buffers, .has_warps = launch->has_warps};
	memory->ranges = kgb_xcalloc(launch->n_buffers + 1, sizeof(*memory->ranges));
	for (uint32_t i = 0; i < launch->n_buffers; i++)
		memory->ranges[i] = (struct kgb_memory_range){&launch->buffers[i], i, NULL};
	qsort(memory->ranges, memory->n_ranges, sizeof(*memory->ranges), by_address);
	if (check_buffers(memory, err) < 0 ||
	    (launch->finds_races && add_shadows(memory, n_programs, least_access, err) < 0)) {
		kgb_memory__release(memory);
		return -1;
	}
	return 0;
}

void kgb_memory__release(struct kgb_memory *memory)
{
	for (uint32_t i = 0; i < memory->n_ranges; i++)
		kgb_free(memory->ranges[i].shadow);
	kgb_free(memory->ranges);
	kgb_order__free(memory->order);
	*memory = (struct kgb_memory){0};
}

const struct kgb_memory_range *kgb_memory__find(const struct kgb_memory *memory, uint64_t address)
{
	uint32_t low = 0, high = memory->n_ranges;

	while (low < high) { /* the first range behind the address */
		uint32_t middle = low + (high - low) / 2;
		if (memory->ranges[middle].buffer->address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &memory->ranges[low - 1] : NULL;
}

bool kgb_memory__holds(const struct kgb_memory_range *range, uint64_t address, size_t bytes)
{
	const uint64_t offset = address - range->buffer->address;

	return offset < range->buffer->bytes && range->buffer->bytes - offset >= bytes;
}

/* ---- races ---- */

static struct kgb_mark read_mark(const struct kgb_packed_mark *mark)
{
	const uint64_t who = __atomic_load_n(&mark->who, __ATOMIC_RELAXED);
	const uint64_t when = __atomic_load_n(&mark->when, __ATOMIC_RELAXED);

	return (struct kgb_mark){
		.program = (uint32_t)LOW(who, PROGRAM_BITS),
		.time = (uint32_t)when,
		.lane = (uint32_t)LOW(who >> PROGRAM_BITS, LANE_BITS),
		.phase = (uint32_t)LOW(when >> 32, PHASE_BITS),
		.store = (uint32_t)(who >> (PROGRAM_BITS + LANE_BITS) |
				    when >> (32 + PHASE_BITS) << LOW_STORE_BITS),
	};
}

/* Most marks are: a quick check. */
static bool is_unset(const struct kgb_packed_mark *mark)
{
	return __atomic_load_n(&mark->who, __ATOMIC_RELAXED) == 0;
}

static void set_mark(struct kgb_packed_mark *mark, const struct kgb_mark *to)
{
	const uint64_t store = to->store;

	__atomic_store_n(&mark->when,
			 to->time | (uint64_t)to->phase << 32 |
				 store >> LOW_STORE_BITS << (32 + PHASE_BITS),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&mark->who,
			 to->program | (uint64_t)to->lane << PROGRAM_BITS |
				 store << (PROGRAM_BITS + LANE_BITS),
			 __ATOMIC_RELAXED);
}

/* Whether the accesses are of two warps, without a barrier between them. */
static bool are_warps_apart(const struct kgb_mark *a, const struct kgb_mark *b)
{
	return a->lane && b->lane && ((a->lane | b->lane) & KGB_LANE_OF_NO_WARP) == 0 &&
	       a->phase == b->phase &&
	       (a->lane - 1) / KGB_MACHINE_WARP != (b->lane - 1) / KGB_MACHINE_WARP;
}

/* Whether a lane's store may come after a load by all warps, without a barrier between them. */
static bool is_missed_by_warps(const struct kgb_mark *store, const struct kgb_mark *load)
{
	return load->lane == KGB_LANE_OF_ALL_WARPS && store->lane &&
	       !(store->lane & KGB_LANE_OF_NO_WARP) && store->phase == load->phase;
}

/* Whether two accesses of one program have no order. The lanes of one store have none; lanes that
 * store the same bits do not race: the later one is a KGB_ACCESS_REPEAT. */
static bool are_lanes_apart(const struct kgb_mark *theirs, const struct kgb_mark *mine,
			    enum kgb_access access)
{
	if (access == KGB_ACCESS_WRITE && theirs->store == mine->store)
		return theirs->lane && mine->lane && theirs->lane != mine->lane;
	if (access == KGB_ACCESS_READ && is_missed_by_warps(theirs, mine))
		return true;
	return are_warps_apart(theirs, mine);
}

bool kgb_memory__is_missed(const struct kgb_mark *mark, const struct kgb_thread *who)
{
	return who->is_early && mark->program == who->program + 1 &&
	       LOW(mark->store - who->found - 1, STORE_BITS) < who->stores - who->found;
}

static bool conflicts(const struct kgb_memory *memory, const struct kgb_packed_mark *mark,
		      const struct kgb_mark *mine, enum kgb_access access, struct kgb_mark *other)
{
	if (is_unset(mark))
		return false;
	const struct kgb_mark theirs = read_mark(mark);
	if (theirs.program == 0 ||
	    (theirs.program == mine->program ? !are_lanes_apart(&theirs, mine, access)
					     : kgb_order__holds(memory->order, theirs.program - 1,
								theirs.time, mine->program - 1)))
		return false;
	*other = theirs;
	return true;
}

/* Logs a read. Two marks of one program never displace the only mark of another program. */
static void set_reader(struct kgb_shadow *shadow, const struct kgb_mark *mine)
{
	struct kgb_packed_mark *last = &shadow->readers[0], *before = &shadow->readers[1];

	if (is_unset(last)) {
		set_mark(last, mine);
		return;
	}
	const struct kgb_mark theirs = read_mark(last);
	const uint32_t kept = read_mark(before).program;

	if (theirs.program == mine->program
		    ? (kept == 0 || kept == mine->program) && are_warps_apart(&theirs, mine)
		    : theirs.program != 0)
		set_mark(before, &theirs);
	set_mark(last, mine);
}

/* An atomic leaves no mark and is compared with the marks of other accesses. A KGB_ACCESS_REPEAT is
 * logged as a read: it races with a later change by another thread. If values moved between lanes
 * after a read, the read is over; a write may still be pending. Hence readers count moves, and
 * writers count barriers. */
static int note_element(struct kgb_memory *memory, struct kgb_shadow *shadow,
			enum kgb_access access, const struct kgb_thread *who,
			struct kgb_mark *other)
{
	const uint32_t now = kgb_order__time(memory->order);
	const struct kgb_mark as_writer = {who->program + 1, now, who->lane,
					   (uint32_t)LOW(who->barriers, PHASE_BITS),
					   (uint32_t)LOW(who->stores, STORE_BITS)};
	struct kgb_mark as_reader = as_writer;

	as_reader.phase = (uint32_t)LOW(who->moves, PHASE_BITS);
	if (access != KGB_ACCESS_REPEAT &&
	    conflicts(memory, &shadow->writer, &as_writer, access, other))
		return -1;
	if (access == KGB_ACCESS_READ && who->is_early) {
		*other = read_mark(&shadow->writer);
		if (kgb_memory__is_missed(other, who))
			return -1;
	}
	if (access == KGB_ACCESS_READ || access == KGB_ACCESS_REPEAT) {
		set_reader(shadow, &as_reader);
		return 0;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(shadow->readers); i++)
		if (conflicts(memory, &shadow->readers[i], &as_reader, access, other))
			return -1;
	if (access == KGB_ACCESS_WRITE)
		set_mark(&shadow->writer, &as_writer);
	return 0;
}

int kgb_memory__note(struct kgb_memory *memory, const struct kgb_memory_range *range,
		     uint64_t address, uint64_t bytes, enum kgb_access access,
		     const struct kgb_thread *who, struct kgb_mark *other)
{
	const uint64_t base = range->buffer->address >> memory->shift;
	const uint64_t first = (address >> memory->shift) - base;
	const uint64_t end = ((address + bytes - 1) >> memory->shift) - base;

	for (uint64_t i = first; i <= end; i++)
		if (note_element(memory, &range->shadow[i], access, who, other) < 0)
			return -1;
	return 0;
}
