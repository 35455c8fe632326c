/* SPDX-License-Identifier: MIT */
#include "verify/judge/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"

enum { RETRY_MS = 20 };

/* Everybody may lock it: the machine is everybody's too. */
static int open_lock(const char *kind, size_t number, int *out_fd, struct kgb_err *err)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/tmp/kgb-%s-%zu.lock", kind, number);
	KGB_AUTO(fd)
	int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0444);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_DENIED, "'%s' is not a regular file: remove it", path);
	*out_fd = kgb_take_fd(&fd);
	return 0;
}

int kgb_lease_take(struct kgb_lease *lease, int device, bool alone, int64_t deadline_ms,
		   struct kgb_err *err)
{
	if (lease->fd < 0 && open_lock("gpu", (size_t)device, &lease->fd, err) < 0)
		return -1;
	while (flock(lease->fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0) {
		int saved = errno;
		if (saved != EWOULDBLOCK && saved != EINTR) {
			kgb_lease_give(lease);
			return kgb_fail_errno(err, saved, "lock GPU %d", device);
		}
		if (kgb_mono_ms() >= deadline_ms) {
			kgb_lease_give(lease);
			return kgb_fail(err, KGB_ERR_TIMEOUT,
					"GPU %d is in use by other verifications", device);
		}
		(void)poll(NULL, 0, RETRY_MS);
	}
	return 0;
}

void kgb_lease_give(struct kgb_lease *lease)
{
	kgb_close(lease->fd);
	lease->fd = -1;
}

void kgb_seats_take(struct kgb_seats *seats, size_t wanted, size_t n_all)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	seats->n = 0;
	for (size_t i = 0; i < n_all && seats->n < wanted && seats->n < KGB_SEATS_MAX; i++) {
		int fd;
		if (open_lock("seat", i, &fd, &ignored) < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			seats->fds[seats->n++] = fd;
		else
			kgb_close(fd);
	}
}

void kgb_seats_give(struct kgb_seats *seats)
{
	while (seats->n > 0)
		kgb_close(seats->fds[--seats->n]);
}
