/* SPDX-License-Identifier: MIT */
/** \file
 * Bytes stored under the digest of all their sources, in a directory that only this user can write
 * to. A doubtful entry counts as missing. All functions may be called by several threads and
 * processes at once. */
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
 * kept; the directory holds `total_max`, give or take a sixteenth. DENIED when another user owns it
 * or may write to it. Pair with kgb_disk_cache_free. */
KGB_MUST_CHECK int kgb_disk_cache_new(struct kgb_disk_cache **out, const char *dir,
				      size_t entry_max, uint64_t total_max, struct kgb_err *err);
void kgb_disk_cache_free(struct kgb_disk_cache *store);
/** The same for callers that can do without: returns NULL, with a warning unless no directory is
 * set. `dir` may be NULL. */
struct kgb_disk_cache *kgb_disk_cache_try(const char *dir, size_t entry_max, uint64_t total_max);

/* A cache that is NULL is empty and stores nothing. */

/** Read the entry of `key`, a SHA-256 in hexadecimal digits, into *out. False: no entry, or one
 * that is damaged or that another user may have written. */
bool kgb_disk_cache_get(const struct kgb_disk_cache *store, const char *key, struct kgb_buf *out);
/** Store `bytes` under `key`. With two writers the entry of one of them stays whole. A failure
 * stores nothing. */
void kgb_disk_cache_put(const struct kgb_disk_cache *store, const char *key, const void *bytes,
			size_t len);
/** If the directory is too large remove the oldest files until it is three quarters full. Putting
 * does this now and then. */
void kgb_disk_cache_sweep(const struct kgb_disk_cache *store);

#endif
