/* SPDX-License-Identifier: MIT */
/** \file
 * Bytes under the digest of everything that they were made from, in a directory that only we can
 * write to. Whatever is not beyond doubt counts as not there. All functions may be called by
 * several threads and processes at once.
 */
#ifndef KGB_BASE_SYSTEM_DISK_CACHE_H
#define KGB_BASE_SYSTEM_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

struct kgb_disk_cache;

/** Open the directory, which is made when absent. Entries of more than `entry_max` bytes are not
 * kept; the directory holds `total_max`, give or take a sixteenth. DENIED when others own it or may
 * write to it. Pair with kgb_disk_cache_free. */
KGB_MUST_CHECK int kgb_disk_cache_new(struct kgb_disk_cache **out, const char *dir,
				      size_t entry_max, uint64_t total_max, struct kgb_err *err);
void kgb_disk_cache_free(struct kgb_disk_cache *store);
/** The same where a verification goes on without: NULL, with a warning where there could be one.
 * `dir` may be NULL. */
struct kgb_disk_cache *kgb_disk_cache_try(const char *dir, size_t entry_max, uint64_t total_max);

/* A store that is NULL holds nothing and keeps nothing. */

/** Read what was kept under `key`, a SHA-256 in hexadecimal digits, into *out. False: nothing, or
 * something that is damaged or that others may have written. */
bool kgb_disk_cache_get(const struct kgb_disk_cache *store, const char *key, struct kgb_buf *out);
/** Store `bytes` under `key`. Of two writers one wins whole. A failure stores nothing. */
void kgb_disk_cache_put(const struct kgb_disk_cache *store, const char *key, const void *bytes,
			size_t len);
/** If the directory is too large remove the oldest files until it is three quarters full. Putting
 * does this now and then. */
void kgb_disk_cache_sweep(const struct kgb_disk_cache *store);

#endif
