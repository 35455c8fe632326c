/* SPDX-License-Identifier: MIT */
/** \file
 * Allocation that aborts when memory is exhausted, scope-bound cleanup, and an arena for documents
 * whose parts are freed together. */
#ifndef KGB_BASE_MEM_H
#define KGB_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

#include "base/err.h"

void *kgb_xmalloc(size_t size);
void *kgb_xcalloc(size_t count, size_t size);
/** Aborts on overflow of count * size too. */
void *kgb_xreallocarray(void *ptr, size_t count, size_t size);
char *kgb_xstrdup(const char *s);
char *kgb_xstrndup(const char *s, size_t len);
/** A new string from a format; the caller frees it. */
char *kgb_xasprintf(const char *fmt, ...) KGB_PRINTF(1, 2);
char *kgb_xvasprintf(const char *fmt, va_list ap) KGB_PRINTF(1, 0);
/** free() that accepts pointers to const and NULL. */
void kgb_free(const void *ptr);

/** Cleanup at scope end: `KGB_AUTO(free) char *p = NULL;` calls kgb_auto_free(&p). */
#define KGB_AUTO(kind) __attribute__((cleanup(kgb_auto_##kind), unused))
/** Hand a KGB_AUTO pointer out: yields it and sets the variable to NULL. */
#define KGB_TAKE(p)                            \
	__extension__({                        \
		__typeof__(p) kgb_taken = (p); \
		(p) = NULL;                    \
		kgb_taken;                     \
	})
/** Hand a KGB_AUTO(fd) descriptor out: yields it and sets the variable to -1. */
int kgb_take_fd(int *fd);

void kgb_auto_free(void *pptr); /* char **, or any pointer to pointer */
void kgb_auto_fd(const int *fd);
void kgb_close(int fd); /* close() that keeps errno; negative is fine */

/** Memory that is freed as a whole. Pointers stay valid until kgb_arena_release. */
struct kgb_arena {
	struct kgb_arena_block *head;
};
#define KGB_ARENA_INIT \
	{              \
		NULL   \
	}
void *kgb_arena_alloc(struct kgb_arena *arena, size_t size); /* zeroed, max-aligned */
void *kgb_arena_array(struct kgb_arena *arena, size_t count, size_t size);
char *kgb_arena_strdup(struct kgb_arena *arena, const char *s);
char *kgb_arena_strndup(struct kgb_arena *arena, const char *s, size_t len);
char *kgb_arena_printf(struct kgb_arena *arena, const char *fmt, ...) KGB_PRINTF(2, 3);
/** Move all memory of `from` to `to`; `from` is empty afterwards. */
void kgb_arena_join(struct kgb_arena *to, struct kgb_arena *from);
void kgb_arena_release(struct kgb_arena *arena);
void kgb_auto_arena(struct kgb_arena *arena);

#define KGB_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
