/* SPDX-License-Identifier: MIT */
#include "verify/exec/cpu/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "verify/exec/serve.h"
#include "verify/protocol/exec_request.h"

/* Bytes. The data of a span and its address are equal modulo this. */
#define ALIGNMENT UINT64_C(64)
#define IDLE_BYTES_MAX (UINT64_C(64) << 20)

void kgb_cpu_memory_init(struct kgb_cpu_memory *memory)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	*memory = (struct kgb_cpu_memory){0};
	if (pages > 0 && page > 0)
		memory->limit_bytes = (uint64_t)pages * (uint64_t)page / 2;
}

static void unmap(struct kgb_cpu_memory *memory)
{
	if (memory->region)
		munmap(memory->region, memory->region_bytes);
	memory->region = NULL;
	memory->region_bytes = 0;
}

void kgb_cpu_memory_release(struct kgb_cpu_memory *memory)
{
	unmap(memory);
	kgb_free(memory->buffers);
	memory->buffers = NULL;
	memory->n_buffers = 0;
}

void kgb_cpu_memory_forget(struct kgb_cpu_memory *memory)
{
	memory->n_buffers = 0;
	if (memory->region_bytes > IDLE_BYTES_MAX)
		unmap(memory);
}

/* A region for so many bytes; an old one that is large enough stays. */
static int reserve(struct kgb_cpu_memory *memory, uint64_t bytes, struct kgb_err *err)
{
	if (bytes <= memory->region_bytes)
		return 0;
	unmap(memory);
	void *region =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED)
		return kgb_exec_fail(err, KGB_EXEC_NO_MEMORY, "%llu bytes of memory: %s",
				     (unsigned long long)bytes, strerrordesc_np(errno));
	memory->region = region;
	memory->region_bytes = bytes;
	return 0;
}

int kgb_cpu_memory_lay(struct kgb_cpu_memory *memory, const struct kgb_spans *spans,
		       struct kgb_err *err)
{
	const uint64_t total = kgb_spans_total(spans);
	uint64_t at = 0;

	memory->n_buffers = 0;
	if (total > memory->limit_bytes)
		return kgb_exec_fail(err, KGB_EXEC_NO_MEMORY,
				     "%llu bytes of memory, the limit of this machine is %llu",
				     (unsigned long long)total,
				     (unsigned long long)memory->limit_bytes);
	if (reserve(memory, total + spans->n * 2 * ALIGNMENT + 1, err) < 0)
		return -1;
	kgb_free(memory->buffers);
	memory->buffers = kgb_xcalloc(spans->n + 1, sizeof(*memory->buffers));
	for (size_t i = 0; i < spans->n; i++) {
		const struct kgb_span *span = &spans->items[i];
		at = (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + span->start % ALIGNMENT;
		memory->buffers[i] = (struct kgb_machine_buffer){.data = memory->region + at,
								 .bytes = span->bytes,
								 .address = span->start,
								 .is_writable = true};
		at += span->bytes;
	}
	memory->n_buffers = spans->n;
	return 0;
}

void *kgb_cpu_memory_at(const struct kgb_cpu_memory *memory, uint64_t address, uint64_t bytes)
{
	size_t low = 0, high = memory->n_buffers;

	if (bytes == 0)
		return memory->region;
	while (low < high) { /* the first span behind the address */
		const size_t middle = low + (high - low) / 2;
		if (memory->buffers[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	const struct kgb_machine_buffer *buffer = &memory->buffers[low - 1];
	const uint64_t offset = address - buffer->address;
	if (offset >= buffer->bytes || bytes > buffer->bytes - offset)
		return NULL;
	return (char *)buffer->data + offset;
}

/* Writes the bytes of one word of poison that lie in a span from `address` on; returns how many. */
static uint64_t poison_part(char *data, uint64_t address, uint64_t bytes, uint64_t seed)
{
	const uint64_t word = kgb_exec_poison_word(seed, address) >> (address % 8 * 8);
	const uint64_t left = 8 - address % 8;
	const uint64_t n = left < bytes ? left : bytes;

	memcpy(data, &word, n);
	return n;
}

void kgb_cpu_memory_poison(const struct kgb_cpu_memory *memory, const struct kgb_spans *spans,
			   uint64_t seed)
{
	for (size_t i = 0; i < spans->n; i++) {
		const struct kgb_span *span = &spans->items[i];
		char *data = kgb_cpu_memory_at(memory, span->start, span->bytes);
		uint64_t done = poison_part(data, span->start, span->bytes, seed);
		for (; done + 8 <= span->bytes; done += 8) {
			const uint64_t word = kgb_exec_poison_word(seed, span->start + done);
			memcpy(data + done, &word, sizeof(word));
		}
		(void)poison_part(data + done, span->start + done, span->bytes - done, seed);
	}
}
