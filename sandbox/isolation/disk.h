/* SPDX-License-Identifier: MIT */
/** \file
 * Measures the disk usage of a directory tree that another process may be changing. May
 * be called on any thread.
 */
#ifndef KGB_SANDBOX_ISOLATION_DISK_H
#define KGB_SANDBOX_ISOLATION_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct kgb_disk_usage {
	int64_t bytes; /* allocated blocks: holes of sparse files take none */
	int64_t files; /* names of any kind */
	bool is_partial; /* too deep and wide to examine all of it */
};

/** Add what lies below a directory (by descriptor and name; not followed when it is a link). Files
 * that vanish meanwhile do not count. NOT_FOUND when the directory itself is not there. */
KGB_MUST_CHECK int kgb_disk_usage_add(int dir_fd, const char *name, struct kgb_disk_usage *usage,
				      struct kgb_err *err);

/** Free bytes on a file system for users without privileges; -1: unknown. */
struct kgb_disk_room {
	int64_t bytes;
	int64_t files;
};
void kgb_disk_room(int dir_fd, struct kgb_disk_room *out);

#endif
