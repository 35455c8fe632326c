/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* New memory is dear: the kernel takes 54 ms to hand out 64 MiB in pages of 4 KiB, 21 ms in pages
 * of 2 MiB (tensors of a benchmark, H200 machine, 2026-11-29), and longer to many threads at once.
 * So large blocks that are freed are kept for the next ones, and huge ones get large pages. Images
 * of small cases are not huge, and mostly holes: in large pages the holes would be cleared, too. */
#define LARGE_BYTES ((size_t)8 << 20)
#define HUGE_BYTES ((size_t)64 << 20)

#ifdef __SANITIZE_ADDRESS__ /* it shall see uses of freed memory */
#define KEEPS false
#else
#define KEEPS true
#endif
enum { KEPT_MAX = 64, KEPT_PART = 32, REUSED_TIMES = 4 };
#define KEPT_BYTES_LEAST ((size_t)512 << 20)
#define KEPT_BYTES_MOST ((size_t)4 << 30)

static struct {
	pthread_mutex_t lock;
	void *blocks[KEPT_MAX];
	size_t n, bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A part of the machine's memory. */
static size_t kept_bytes_max(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const size_t bytes = pages > 0 ? (size_t)pages * (size_t)page / KEPT_PART : 0;

	return bytes < KEPT_BYTES_LEAST  ? KEPT_BYTES_LEAST
	       : bytes > KEPT_BYTES_MOST ? KEPT_BYTES_MOST
					 : bytes;
}

static void *take_kept(size_t i)
{
	void *block = kept.blocks[i];

	kept.bytes -= malloc_usable_size(block);
	kept.blocks[i] = kept.blocks[--kept.n];
	return block;
}

/* The smallest kept block of at least `size` bytes, if it is not far larger; NULL: there is none.
 */
static void *reuse(size_t size)
{
	size_t best = SIZE_MAX, best_bytes = SIZE_MAX;
	void *block = NULL;

	pthread_mutex_lock(&kept.lock);
	for (size_t i = 0; i < kept.n; i++) {
		const size_t bytes = malloc_usable_size(kept.blocks[i]);
		if (bytes >= size && bytes / REUSED_TIMES <= size && bytes < best_bytes) {
			best = i;
			best_bytes = bytes;
		}
	}
	if (best != SIZE_MAX)
		block = take_kept(best);
	pthread_mutex_unlock(&kept.lock);
	return block;
}

static bool keep(void *block)
{
	const size_t bytes = block ? malloc_usable_size(block) : 0;
	bool done = false;

	if (!KEEPS || bytes < LARGE_BYTES)
		return false;
	pthread_mutex_lock(&kept.lock);
	if (kept.n < KEPT_MAX && kept.bytes + bytes <= kept_bytes_max()) {
		kept.blocks[kept.n++] = block;
		kept.bytes += bytes;
		done = true;
	}
	pthread_mutex_unlock(&kept.lock);
	return done;
}

/* Ask for large pages in the middle of a huge block; a refusal does not matter. */
static void *in_large_pages(void *ptr, size_t size)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t start = ((uintptr_t)ptr + page - 1) & ~(page - 1);
	const uintptr_t end = ((uintptr_t)ptr + size) & ~(page - 1);

	if (size >= HUGE_BYTES)
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
	return ptr;
}

KGB_NORETURN static void out_of_memory(size_t size)
{
	fprintf(stderr, "out of memory: %zu bytes\n", size);
	abort();
}

void *kgb_xmalloc(size_t size)
{
	void *ptr = size >= LARGE_BYTES ? reuse(size) : NULL;

	if (ptr)
		return ptr;
	ptr = malloc(size ? size : 1);
	if (!ptr)
		out_of_memory(size);
	return in_large_pages(ptr, size);
}

void *kgb_xcalloc(size_t count, size_t size)
{
	void *ptr = calloc(count ? count : 1, size ? size : 1);

	if (!ptr)
		out_of_memory(size);
	return ptr;
}

void *kgb_xreallocarray(void *ptr, size_t count, size_t size)
{
	void *grown = reallocarray(ptr, count ? count : 1, size ? size : 1);

	if (!grown)
		out_of_memory(size);
	return in_large_pages(grown, count * size);
}

char *kgb_xstrndup(const char *s, size_t len)
{
	char *copy = kgb_xmalloc(len + 1);

	if (len)
		memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *kgb_xstrdup(const char *s)
{
	return kgb_xstrndup(s, strlen(s));
}

char *kgb_xvasprintf(const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	KGB_ASSERT(n >= 0);

	size_t size = (size_t)n + 1;
	char *s = kgb_xmalloc(size);
	n = vsnprintf(s, size, fmt, ap);
	KGB_ASSERT(n >= 0 && (size_t)n < size);
	return s;
}

char *kgb_xasprintf(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *s = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

void kgb_free(const void *ptr)
{
	void *block = (void *)(uintptr_t)ptr;

	if (!keep(block))
		free(block);
}

int kgb_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

void kgb_auto_free(void *pptr)
{
	void *ptr;

	memcpy(&ptr, pptr, sizeof(ptr));
	kgb_free(ptr);
}

void kgb_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

void kgb_auto_fd(const int *fd)
{
	kgb_close(*fd);
}

/* Blocks grow by the page-sized default; a larger allocation gets a separate block. */
enum { ARENA_BLOCK = 8192 };

struct kgb_arena_block {
	struct kgb_arena_block *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

void *kgb_arena_alloc(struct kgb_arena *arena, size_t size)
{
	size_t align = alignof(max_align_t);

	if (size > SIZE_MAX / 2)
		out_of_memory(size);
	size = (size + align - 1) / align * align;

	struct kgb_arena_block *block = arena->head;
	if (!block || block->size - block->used < size) {
		size_t data_size = size > ARENA_BLOCK / 4 ? size : ARENA_BLOCK;
		struct kgb_arena_block *fresh = kgb_xcalloc(1, sizeof(*fresh) + data_size);
		fresh->size = data_size;
		if (block && data_size == size) {
			/* Full at birth: keep the half-empty block in front. */
			fresh->next = block->next;
			block->next = fresh;
		} else {
			fresh->next = block;
			arena->head = fresh;
		}
		block = fresh;
	}
	void *ptr = block->data + block->used;
	block->used += size;
	return ptr;
}

void *kgb_arena_array(struct kgb_arena *arena, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		out_of_memory(SIZE_MAX);
	return kgb_arena_alloc(arena, total);
}

char *kgb_arena_strndup(struct kgb_arena *arena, const char *s, size_t len)
{
	char *copy = kgb_arena_alloc(arena, len + 1);

	if (len)
		memcpy(copy, s, len);
	return copy;
}

char *kgb_arena_strdup(struct kgb_arena *arena, const char *s)
{
	return kgb_arena_strndup(arena, s, strlen(s));
}

char *kgb_arena_printf(struct kgb_arena *arena, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *s = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	char *copy = kgb_arena_strdup(arena, s);
	free(s);
	return copy;
}

void kgb_arena_join(struct kgb_arena *to, struct kgb_arena *from)
{
	struct kgb_arena_block **end = &to->head;

	while (*end)
		end = &(*end)->next;
	*end = from->head;
	from->head = NULL;
}

void kgb_arena_release(struct kgb_arena *arena)
{
	struct kgb_arena_block *block = arena->head;

	while (block) {
		struct kgb_arena_block *next = block->next;
		free(block);
		block = next;
	}
	arena->head = NULL;
}

void kgb_auto_arena(struct kgb_arena *arena)
{
	kgb_arena_release(arena);
}
