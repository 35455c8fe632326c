/* SPDX-License-Identifier: MIT */
/** \file
 * How much a directory tree takes on its disk, when somebody else may be changing it meanwhile. May
 * be called on any thread.
 */
#ifndef KGB_SANDBOX_ISOLATION_DISK_H
#define KGB_SANDBOX_ISOLATION_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct kgb_disk_usage {
	int64_t bytes; /* blocks that are really there: holes of sparse files take none */
	int64_t files; /* names of any kind */
	bool is_partial; /* it is nested so deep and wide that not all could be looked at */
};

/** Add what lies below a directory (by descriptor and name; not followed when it is a link). What
 * vanishes meanwhile counts nothing. NOT_FOUND when the directory itself is not there. */
KGB_MUST_CHECK int kgb_disk_usage_add(int dir_fd, const char *name, struct kgb_disk_usage *usage,
				      struct kgb_err *err);

/** What is left on a file system for those without privileges; -1: not known. */
struct kgb_disk_room {
	int64_t bytes;
	int64_t files;
};
void kgb_disk_room(int dir_fd, struct kgb_disk_room *out);

#endif
