/* SPDX-License-Identifier: MIT */
#include "verify/gpu/gpu_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"

enum { RETRY_MS = 4, ROOM_RETRY_MS = 100 };
#define LOCK_PATH "/tmp/kgb-%s-%zu.lock"

static const int open_flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

/* Opens a lock file; -1 with errno. All users may lock it: they share the machine. A file that
 * exists is opened without O_CREAT, because the kernel refuses O_CREAT for another user's file in
 * /tmp (fs.protected_regular). */
static int open_or_make(const char *path)
{
	int fd = open(path, open_flags);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	fd = open(path, open_flags | O_CREAT | O_EXCL, 0444);
	if (fd < 0 && errno == EEXIST)
		return open(path, open_flags);
	if (fd >= 0)
		(void)fchmod(fd, 0444); /* against the umask */
	return fd;
}

static int open_lock(const char *kind, size_t number, int *out_fd, struct kgb_err *err)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), LOCK_PATH, kind, number);
	KGB_AUTO(fd)
	int fd = open_or_make(path);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_DENIED, "'%s' is not a regular file: remove it", path);
	*out_fd = kgb_take_fd(&fd);
	return 0;
}

static int wait_for(int fd, int kind, int device, int64_t deadline_ms, struct kgb_err *err)
{
	while (flock(fd, kind | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return kgb_fail_errno(err, errno, "lock GPU %d", device);
		if (kgb_mono_ms() >= deadline_ms)
			return kgb_fail(err, KGB_ERR_BUSY,
					"GPU %d is in use by other verifications", device);
		(void)poll(NULL, 0, RETRY_MS);
	}
	return 0;
}

int kgb_gpu_lease_take(struct kgb_gpu_lease *lease, int device, bool alone, int64_t deadline_ms,
		       struct kgb_err *err)
{
	const int kind = alone ? LOCK_EX : LOCK_SH;
	KGB_AUTO(fd) int turn = -1;

	if (lease->fd < 0 && open_lock("gpu", (size_t)device, &lease->fd, err) < 0)
		return -1;
	/* Release the lease before waiting: a judge that waits must not hold a share. */
	(void)flock(lease->fd, LOCK_UN);
	/* A judge that needs the GPU alone takes the turn lock and keeps it while it waits: else
	 * later judges could share the GPU for ever. */
	if (open_lock("gpu-turn", (size_t)device, &turn, err) < 0 ||
	    wait_for(turn, kind, device, deadline_ms, err) < 0 ||
	    wait_for(lease->fd, kind, device, deadline_ms, err) < 0) {
		kgb_gpu_lease_give(lease);
		return -1;
	}
	return 0;
}

void kgb_gpu_lease_give(struct kgb_gpu_lease *lease)
{
	kgb_close(lease->fd);
	lease->fd = -1;
}

int kgb_gpu_lease_look(int device, enum kgb_gpu_use *out, struct kgb_err *err)
{
	/* A lock that a try gets lasts until the file is closed. */
	static const struct {
		int kind;
		enum kgb_gpu_use use;
	} tries[] = {{LOCK_EX, KGB_GPU_IDLE}, {LOCK_SH, KGB_GPU_SHARED}};
	enum kgb_gpu_use use = KGB_GPU_ALONE;
	char path[64];

	(void)snprintf(path, sizeof(path), LOCK_PATH, "gpu", (size_t)device);
	KGB_AUTO(fd) int fd = open(path, open_flags);
	if (fd < 0 && errno != ENOENT)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	if (fd < 0)
		use = KGB_GPU_IDLE;
	for (size_t i = 0; i < KGB_ARRAY_LEN(tries) && use == KGB_GPU_ALONE; i++) {
		if (flock(fd, tries[i].kind | LOCK_NB) == 0)
			use = tries[i].use;
		else if (errno != EWOULDBLOCK)
			return kgb_fail_errno(err, errno, "look at the lock of GPU %d", device);
	}
	*out = use;
	return 0;
}

static int64_t waited_ms(const struct kgb_gpu_share *share)
{
	return share->waited_ms + (share->n_waiting > 0 ? kgb_mono_ms() - share->since_ms : 0);
}

int64_t kgb_gpu_share_waited_ms(struct kgb_gpu_share *share)
{
	pthread_mutex_lock(&share->lock);
	const int64_t ms = waited_ms(share);
	pthread_mutex_unlock(&share->lock);
	return ms;
}

/* Returns the milliseconds that are left to wait. */
static int64_t begin_wait(struct kgb_gpu_share *share)
{
	pthread_mutex_lock(&share->lock);
	const int64_t left_ms = KGB_WAITS_MAX_MS - waited_ms(share);
	if (share->n_waiting++ == 0)
		share->since_ms = kgb_mono_ms();
	pthread_mutex_unlock(&share->lock);
	return left_ms;
}

static void end_wait(struct kgb_gpu_share *share)
{
	pthread_mutex_lock(&share->lock);
	if (--share->n_waiting == 0)
		share->waited_ms += kgb_mono_ms() - share->since_ms;
	pthread_mutex_unlock(&share->lock);
}

static int wait_for_lease(struct kgb_gpu_share *share, struct kgb_gpu_lease *lease, bool alone,
			  struct kgb_err *err)
{
	const int64_t left_ms = begin_wait(share);
	const int rc =
		kgb_gpu_lease_take(lease, share->device, alone, kgb_mono_ms() + left_ms, err);

	end_wait(share);
	return rc;
}

int kgb_gpu_share_join(struct kgb_gpu_share *share, bool (*has_room)(void *payload), void *payload,
		       struct kgb_err *err)
{
	if (open_lock("gpu-users", (size_t)share->device, &share->joined.fd, err) < 0)
		return -1;
	const int64_t deadline_ms = kgb_mono_ms() + begin_wait(share);
	while (!has_room(payload) && flock(share->joined.fd, LOCK_EX | LOCK_NB) < 0 &&
	       kgb_mono_ms() < deadline_ms)
		(void)poll(NULL, 0, ROOM_RETRY_MS);
	end_wait(share);
	/* Only for a moment has another one this lock alone. */
	return wait_for(share->joined.fd, LOCK_SH, share->device, INT64_MAX, err);
}

void kgb_gpu_share_leave(struct kgb_gpu_share *share)
{
	kgb_gpu_share_leave_line(share);
	kgb_gpu_lease_give(&share->joined);
}

/* Whether one of the places was free. */
static bool take_place(struct kgb_gpu_share *share, int fds[KGB_GPU_LINE])
{
	for (int i = 0; i < KGB_GPU_LINE; i++) {
		if (flock(fds[i], LOCK_EX | LOCK_NB) < 0)
			continue;
		share->line.fd = kgb_take_fd(&fds[i]);
		return true;
	}
	return false;
}

int kgb_gpu_share_enter_line(struct kgb_gpu_share *share, struct kgb_err *err)
{
	int fds[KGB_GPU_LINE], rc = 0;

	for (int i = 0; i < KGB_GPU_LINE; i++)
		fds[i] = -1;
	for (int i = 0; i < KGB_GPU_LINE && rc == 0; i++)
		rc = open_lock("gpu-line", (size_t)share->device * KGB_GPU_LINE + (size_t)i,
			       &fds[i], err);
	if (rc == 0) {
		const int64_t deadline_ms = kgb_mono_ms() + begin_wait(share);
		while (!take_place(share, fds) && kgb_mono_ms() < deadline_ms)
			(void)poll(NULL, 0, RETRY_MS);
		end_wait(share);
	}
	for (int i = 0; i < KGB_GPU_LINE; i++)
		kgb_close(fds[i]);
	return rc;
}

void kgb_gpu_share_leave_line(struct kgb_gpu_share *share)
{
	kgb_gpu_lease_give(&share->line);
}

int kgb_gpu_share_enter(struct kgb_gpu_share *share, struct kgb_gpu_lease *lease,
			struct kgb_err *err)
{
	if (!share || share->alone.fd >= 0)
		return 0;
	return wait_for_lease(share, lease, false, err);
}

int kgb_gpu_share_take_alone(struct kgb_gpu_share *share, struct kgb_err *err)
{
	return wait_for_lease(share, &share->alone, true, err);
}

void kgb_gpu_share_give_alone(struct kgb_gpu_share *share)
{
	kgb_gpu_lease_give(&share->alone);
}

void kgb_seats_take(struct kgb_seats *seats, size_t wanted, size_t n_all)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	seats->n = 0;
	for (size_t i = 0; i < n_all && seats->n < wanted && seats->n < KGB_SEATS_MAX; i++) {
		int fd = -1;
		if (open_lock("seat", i, &fd, &ignored) < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			seats->fds[seats->n++] = fd;
		else
			kgb_close(fd);
	}
}

void kgb_seats_keep(struct kgb_seats *seats, size_t n)
{
	while (seats->n > n)
		kgb_close(seats->fds[--seats->n]);
}

void kgb_seats_give(struct kgb_seats *seats)
{
	kgb_seats_keep(seats, 0);
}
