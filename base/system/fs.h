/* SPDX-License-Identifier: MIT */
/** \file
 * Files: whole-file reads with a cap, atomic replacement, safe opening below a directory that an
 * adversary can write. */
#ifndef KGB_BASE_SYSTEM_FS_H
#define KGB_BASE_SYSTEM_FS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/** Read a whole regular file into *out (cleared first). LIMIT error when larger than `limit`. */
KGB_MUST_CHECK int kgb_fs_read(int dir_fd, const char *path, size_t limit, struct kgb_buf *out,
			       struct kgb_err *err);
/** Read everything that is left in fd, at most `limit` bytes. */
KGB_MUST_CHECK int kgb_fs_read_fd(int fd, size_t limit, struct kgb_buf *out, struct kgb_err *err);
/** Replace `path` atomically: temporary file in the same directory, write, fsync, rename, fsync the
 * directory. On failure the old file is untouched and the temporary is gone (only a failed fsync of
 * the directory, which is reported too, comes after the rename). The file gets exactly `mode`,
 * independent of the umask. `sync` false skips the fsyncs (progress files). */
KGB_MUST_CHECK int kgb_fs_write_atomic(int dir_fd, const char *path, const void *data, size_t len,
				       mode_t mode, bool sync, struct kgb_err *err);
/** write() until done; handles short writes and EINTR. */
KGB_MUST_CHECK int kgb_fs_write_all(int fd, const void *data, size_t len, struct kgb_err *err);
/** mkdir -p; existing directories are fine. */
KGB_MUST_CHECK int kgb_fs_mkdirs(int dir_fd, const char *path, mode_t mode, struct kgb_err *err);
struct kgb_strv;
/** Append the names in a directory, but those that begin with a dot, and sort the list. NOT_FOUND
 * when there is none. */
KGB_MUST_CHECK int kgb_fs_list(const char *path, struct kgb_strv *names, struct kgb_err *err);
/** Open a directory for use as dir_fd (O_PATH-free, O_CLOEXEC). */
KGB_MUST_CHECK int kgb_fs_opendir(int dir_fd, const char *path, int *out_fd, struct kgb_err *err);
/** Open a regular file for reading below dir_fd where an adversary may write:
 * openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, must be a
 * regular file with one link, size <= limit. Errors: DENIED (symlink, fifo, device, directory,
 * escapes), LIMIT (too large), NOT_FOUND. */
KGB_MUST_CHECK int kgb_fs_open_untrusted(int dir_fd, const char *path, size_t limit, int *out_fd,
					 struct kgb_err *err);
/** kgb_fs_open_untrusted + read. */
KGB_MUST_CHECK int kgb_fs_read_untrusted(int dir_fd, const char *path, size_t limit,
					 struct kgb_buf *out, struct kgb_err *err);
/** rm -rf below dir_fd without following links; absent is fine. Makes directories writable first
 * when needed. Trees may be hostile: any depth, two descriptors, no recursion. */
KGB_MUST_CHECK int kgb_fs_remove_tree(int dir_fd, const char *path, struct kgb_err *err);
bool kgb_fs_exists(int dir_fd, const char *path);
/** "a/b" joined with exactly one slash; malloc'ed. */
char *kgb_path_join(const char *a, const char *b);
/** Absolute, symlink-free form; malloc'ed, NULL + err when it does not exist. */
char *kgb_path_real(const char *path, struct kgb_err *err);
/** Directory that holds the running program (from /proc/self/exe; "." without /proc); malloc'ed. */
char *kgb_path_self_dir(void);
/** First executable of that name in $PATH-like `path` (empty entries are skipped), or NULL; names
 * with a slash are checked as they are. malloc'ed. */
char *kgb_path_which(const char *name, const char *path);

#endif
