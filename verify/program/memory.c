/* SPDX-License-Identifier: MIT */
#include "verify/program/memory.h"

#include "base/mem.h"

#define SHADOW_BYTES_MAX (UINT64_C(4) << 30) /* all shadows of a launch */
#define RACE_PROGRAMS_MAX (UINT64_C(1) << 24)

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
		total += shadow_elements(memory, &memory->ranges[i]);
	if (n_programs > RACE_PROGRAMS_MAX || total > SHADOW_BYTES_MAX / sizeof(struct kgb_shadow))
		return kgb_fail(err, KGB_ERR_LIMIT,
				"races of %llu programs in %llu elements: too much memory",
				(unsigned long long)n_programs, (unsigned long long)total);
	for (uint32_t i = 0; i < memory->n_ranges; i++)
		memory->ranges[i].shadow = kgb_xcalloc(shadow_elements(memory, &memory->ranges[i]),
						       sizeof(struct kgb_shadow));
	memory->order = kgb_order__new(n_programs);
	return 0;
}

int kgb_memory__init(struct kgb_memory *memory, const struct kgb_machine_launch *launch,
		     uint64_t n_programs, uint32_t least_access, struct kgb_err *err)
{
	*memory = (struct kgb_memory){.n_ranges = launch->n_buffers};
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

static bool conflicts(const struct kgb_memory *memory, const struct kgb_mark *mark,
		      uint32_t program, uint32_t *other)
{
	const uint32_t who = load(&mark->program);

	if (who == 0 || who == program + 1 ||
	    kgb_order__holds(memory->order, who - 1, load(&mark->time), program))
		return false;
	*other = who - 1;
	return true;
}

static void set_mark(struct kgb_mark *mark, uint32_t program, uint32_t time)
{
	store(&mark->time, time);
	store(&mark->program, program + 1);
}

static void set_reader(struct kgb_shadow *shadow, uint32_t program, uint32_t now)
{
	struct kgb_mark *last = &shadow->readers[0];

	if (load(&last->program) != program + 1 && load(&last->program) != 0)
		set_mark(&shadow->readers[1], load(&last->program) - 1, load(&last->time));
	set_mark(last, program, now);
}

/* Atomics leave no mark: they race with what is not atomic only. A repeated write is marked as a
 * read: it races with what another program changes later. */
static int note_element(struct kgb_memory *memory, struct kgb_shadow *shadow,
			enum kgb_access access, uint32_t program, uint32_t *other)
{
	const uint32_t now = kgb_order__time(memory->order);

	if (access != KGB_ACCESS_REPEAT && conflicts(memory, &shadow->writer, program, other))
		return -1;
	if (access == KGB_ACCESS_READ || access == KGB_ACCESS_REPEAT) {
		set_reader(shadow, program, now);
		return 0;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(shadow->readers); i++)
		if (conflicts(memory, &shadow->readers[i], program, other))
			return -1;
	if (access == KGB_ACCESS_WRITE)
		set_mark(&shadow->writer, program, now);
	return 0;
}

int kgb_memory__note(struct kgb_memory *memory, const struct kgb_memory_range *range,
		     uint64_t address, uint64_t bytes, enum kgb_access access, uint32_t program,
		     uint32_t *other)
{
	const uint64_t base = range->buffer->address >> memory->shift;
	const uint64_t first = (address >> memory->shift) - base;
	const uint64_t end = ((address + bytes - 1) >> memory->shift) - base;

	for (uint64_t i = first; i <= end; i++)
		if (note_element(memory, &range->shadow[i], access, program, other) < 0)
			return -1;
	return 0;
}
