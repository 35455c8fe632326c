/* SPDX-License-Identifier: MIT */
/** \file
 * Files in memory (memfd_create(2)), closed on exec. `name` shows up in /proc and in messages.
 * Seals F_SEAL_* are those of fcntl(2).
 */
#ifndef KGB_BASE_SYSTEM_MEMFD_H
#define KGB_BASE_SYSTEM_MEMFD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/** An empty file, to write to. */
KGB_MUST_CHECK int kgb_memfd_empty(const char *name, int *out_fd, struct kgb_err *err);
/** A file with these bytes, at its beginning, sealed against all changes. */
KGB_MUST_CHECK int kgb_memfd_of(const char *name, const void *data, size_t len, int *out_fd,
				struct kgb_err *err);
/** A file of `len` zero bytes; its size cannot change. */
KGB_MUST_CHECK int kgb_memfd_sized(const char *name, size_t len, unsigned int more_seals,
				   int *out_fd, struct kgb_err *err);
/** The same, and our own writable mapping of it in *out. With `read_only_for_others` no later
 * mapping can be written to. */
KGB_MUST_CHECK int kgb_memfd_mapped(const char *name, size_t len, bool read_only_for_others,
				    char **out, int *out_fd, struct kgb_err *err);
/** Seal the bytes against every change, and seek to their beginning. */
KGB_MUST_CHECK int kgb_memfd_seal(const char *name, int fd, struct kgb_err *err);
/** Seal the size, and the bytes against later writes and writable mappings. Unlike a file of
 * kgb_memfd_seal, it can be mapped as shared for reading before Linux 6.7. */
KGB_MUST_CHECK int kgb_memfd_end_writing(const char *name, int fd, struct kgb_err *err);

#endif
