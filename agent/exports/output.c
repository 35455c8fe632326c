/* SPDX-License-Identifier: MIT */
#include "agent/exports/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/system/fs.h"

int kgb_output_open(struct kgb_output *out, const char *name, struct kgb_err *err)
{
	struct stat st;
	uint64_t random;
	if (kgb_str_eq(name, "-")) {
		*out = (struct kgb_output){.fd = STDOUT_FILENO};
		return 0;
	}
	const bool is_there = stat(name, &st) == 0;
	if (is_there && !S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_DENIED,
				"'%s' is not a regular file: -o - writes to standard output", name);
	/* A link keeps its place: the file that it names is replaced. */
	char *path = is_there ? kgb_path_real(name, err) : kgb_xstrdup(name);
	if (!path)
		return -1;
	kgb_random(&random, sizeof(random));
	char *temporary = kgb_xasprintf("%s.%016" PRIx64 ".part", path, random);
	const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		const int code = errno;
		kgb_free(path);
		kgb_free(temporary);
		return kgb_fail_errno(err, code, "write '%s'", name);
	}
	*out = (struct kgb_output){.path = path, .temporary = temporary, .fd = fd};
	return 0;
}

int kgb_output_add(struct kgb_output *out, struct kgb_buf *piece, struct kgb_err *err)
{
	if (!out->is_closed_early && kgb_fs_write_all(out->fd, piece->ptr, piece->len, err) < 0) {
		if (out->path || err->domain != KGB_ERR_DOMAIN_ERRNO || err->code != EPIPE)
			return kgb_ctx(err, "%s", out->path ? out->path : "standard output");
		out->is_closed_early = true;
	}
	kgb_buf_clear(piece);
	return 0;
}

int kgb_output_commit(struct kgb_output *out, struct kgb_err *err)
{
	if (!out->path)
		return 0;
	if (fsync(out->fd) < 0 || rename(out->temporary, out->path) < 0)
		return kgb_fail_errno(err, errno, "write '%s'", out->path);
	kgb_free(KGB_TAKE(out->temporary));
	return 0;
}

void kgb_output_release(struct kgb_output *out)
{
	if (out->temporary)
		(void)!unlink(out->temporary);
	if (out->path)
		kgb_close(out->fd);
	kgb_free(out->temporary);
	kgb_free(out->path);
	*out = (struct kgb_output)KGB_OUTPUT_INIT;
}
