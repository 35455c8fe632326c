/* SPDX-License-Identifier: MIT */
/** \file
 * Directories of caches that outlive a verification. */
#ifndef KGB_BASE_SYSTEM_CACHE_DIR_H
#define KGB_BASE_SYSTEM_CACHE_DIR_H

#include <stdbool.h>

#include "base/err.h"

/** The directory for one kind of thing ("images"), which need not exist: below KGB_CACHE_DIR,
 * XDG_CACHE_HOME or HOME. malloc'ed; NULL when there is no such place. */
char *kgb_cache_dir(const char *kind);
/** The same, and the directory exists and is ours (kgb_cache_is_ours). malloc'ed; NULL when there
 * is no such place, or others may write to it. */
char *kgb_cache_dir_make(const char *kind);
/** Makes and opens a directory. *out_fd is the caller's. DENIED if it is not ours
 * (kgb_cache_is_ours). */
KGB_MUST_CHECK int kgb_cache_dir_open(const char *dir, int *out_fd, struct kgb_err *err);
/** Returns true when we own this file or directory and no other user may write to it. */
bool kgb_cache_is_ours(int fd);

#endif
