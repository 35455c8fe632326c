/* SPDX-License-Identifier: MIT */
#include "base/system/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"

#define SEAL_SIZE ((unsigned int)(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))

static int seal(const char *name, int fd, unsigned int seals, struct kgb_err *err)
{
	if (fcntl(fd, F_ADD_SEALS, seals) < 0)
		return kgb_fail_errno(err, errno, "seal memfd '%s'", name);
	return 0;
}

int kgb_memfd_empty(const char *name, int *out_fd, struct kgb_err *err)
{
	const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return kgb_fail_errno(err, errno, "memfd '%s'", name);
	*out_fd = fd;
	return 0;
}

int kgb_memfd_seal(const char *name, int fd, struct kgb_err *err)
{
	if (lseek(fd, 0, SEEK_SET) < 0)
		return kgb_fail_errno(err, errno, "rewind memfd '%s'", name);
	return seal(name, fd, SEAL_SIZE | F_SEAL_WRITE, err);
}

int kgb_memfd_end_writing(const char *name, int fd, struct kgb_err *err)
{
	return seal(name, fd, SEAL_SIZE | F_SEAL_FUTURE_WRITE, err);
}

int kgb_memfd_of(const char *name, const void *data, size_t len, int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;

	if (kgb_memfd_empty(name, &fd, err) < 0)
		return -1;
	if (kgb_fs_write_all(fd, data, len, err) < 0)
		return kgb_ctx(err, "memfd '%s'", name);
	if (kgb_memfd_seal(name, fd, err) < 0)
		return -1;
	*out_fd = kgb_take_fd(&fd);
	return 0;
}

static int make_sized(const char *name, size_t len, int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;

	if (kgb_memfd_empty(name, &fd, err) < 0)
		return -1;
	if (ftruncate(fd, (off_t)len) < 0)
		return kgb_fail_errno(err, errno, "memfd '%s' of %zu bytes", name, len);
	*out_fd = kgb_take_fd(&fd);
	return 0;
}

int kgb_memfd_sized(const char *name, size_t len, unsigned int more_seals, int *out_fd,
		    struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;

	if (make_sized(name, len, &fd, err) < 0 || seal(name, fd, SEAL_SIZE | more_seals, err) < 0)
		return -1;
	*out_fd = kgb_take_fd(&fd);
	return 0;
}

/* Make our writable mapping before the seal against later ones. */
int kgb_memfd_mapped(const char *name, size_t len, bool read_only_for_others, char **out,
		     int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;
	const unsigned int more = read_only_for_others ? (unsigned int)F_SEAL_FUTURE_WRITE : 0;

	if (make_sized(name, len, &fd, err) < 0)
		return -1;
	void *mapped = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return kgb_fail_errno(err, errno, "map memfd '%s' of %zu bytes", name, len);
	if (seal(name, fd, SEAL_SIZE | more, err) < 0) {
		munmap(mapped, len);
		return -1;
	}
	*out = mapped;
	*out_fd = kgb_take_fd(&fd);
	return 0;
}
