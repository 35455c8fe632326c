/* SPDX-License-Identifier: MIT */
#include "verify/program/memory.h"

#include "base/mem.h"

#define SHADOW_BYTES_MAX (UINT64_C(4) << 30) /* all shadows of a launch */
#define RACE_PROGRAMS_MAX (UINT64_C(1) << 24)
#define STORE_BITS 8 /* of a mark's phase */

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

/* Elements are counted from a multiple of their size. */
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

static uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void store(uint32_t *p, uint32_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELAXED);
}

static struct kgb_mark read_mark(const struct kgb_mark *mark)
{
	return (struct kgb_mark){load(&mark->program), load(&mark->time), load(&mark->lane),
				 load(&mark->phase)};
}

static void set_mark(struct kgb_mark *mark, const struct kgb_mark *to)
{
	store(&mark->time, to->time);
	store(&mark->lane, to->lane);
	store(&mark->phase, to->phase);
	store(&mark->program, to->program);
}

/* Whether two warps of one program are meant, which no barrier has held back since. */
static bool are_warps_apart(const struct kgb_mark *a, const struct kgb_mark *b)
{
	return a->lane && b->lane && (a->phase ^ b->phase) >> STORE_BITS == 0 &&
	       (a->lane - 1) / KGB_MACHINE_WARP != (b->lane - 1) / KGB_MACHINE_WARP;
}

/* No barrier orders the lanes of one store: one of them is the last, as a program means it. */
static bool needs_barrier(const struct kgb_mark *theirs, const struct kgb_mark *mine,
			  enum kgb_access access)
{
	return are_warps_apart(theirs, mine) &&
	       (access == KGB_ACCESS_READ || theirs->phase != mine->phase);
}

static bool conflicts(const struct kgb_memory *memory, const struct kgb_mark *mark,
		      const struct kgb_mark *mine, enum kgb_access access, struct kgb_mark *other)
{
	const struct kgb_mark theirs = read_mark(mark);

	if (theirs.program == 0 ||
	    (theirs.program == mine->program ? !needs_barrier(&theirs, mine, access)
					     : kgb_order__holds(memory->order, theirs.program - 1,
								theirs.time, mine->program - 1)))
		return false;
	*other = theirs;
	return true;
}

/* Another program's mark is never given up for a second one of this program. */
static void set_reader(struct kgb_shadow *shadow, const struct kgb_mark *mine)
{
	struct kgb_mark *last = &shadow->readers[0], *before = &shadow->readers[1];
	const struct kgb_mark theirs = read_mark(last);
	const uint32_t kept = load(&before->program);

	if (theirs.program == mine->program
		    ? (kept == 0 || kept == mine->program) && are_warps_apart(&theirs, mine)
		    : theirs.program != 0)
		set_mark(before, &theirs);
	set_mark(last, mine);
}

/* Atomics leave no mark: they race with what is not atomic only. A repeated write is marked as a
 * read: it races with what another thread changes later. Values that moved between lanes since a
 * lane read say that it has read, not that another one has written. */
static int note_element(struct kgb_memory *memory, struct kgb_shadow *shadow,
			enum kgb_access access, const struct kgb_thread *who,
			struct kgb_mark *other)
{
	const uint32_t now = kgb_order__time(memory->order);
	const uint32_t store = who->stores & ((1u << STORE_BITS) - 1);
	const struct kgb_mark as_writer = {who->program + 1, now, who->lane,
					   who->barriers << STORE_BITS | store};
	const struct kgb_mark as_reader = {who->program + 1, now, who->lane,
					   who->moves << STORE_BITS | store};

	if (access != KGB_ACCESS_REPEAT &&
	    conflicts(memory, &shadow->writer, &as_writer, access, other))
		return -1;
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
