/* SPDX-License-Identifier: MIT */
#include "verify/process/exec_pool.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "base/vec.h"
#include "verify/process/exec_client.h"
#include "verify/process/zygote.h"
#include "verify/protocol/wire.h"

enum {
	START_MS = 60 * 1000,
	FIRST_SPARES = 2, /* made before it is known how much memory they may take */
	STARTS_AT_ONCE =
		2, /* the driver makes one context at a time, and others wait for it, too */
	PAUSE_MS = 5000, /* after a process that could not be started */
};
/* Spares may take a quarter of the free memory: a context with its code takes half a GB. */
#define SPARE_BYTES (UINT64_C(1) << 30)
#define SPARE_PART 4

enum state { STARTING, READY, LENT, EMPTYING, ENDING };

struct member {
	enum state state;
	struct kgb_exec_client exec; /* a child of ours */
	int end_fd; /* pidfd of its launcher */
	bool was_lent;
	bool is_clean; /* EMPTYING: others may have it then */
	int64_t empty_until_ms; /* EMPTYING */
	int user_fd; /* LENT, ENDING: socket of its user; -1: nobody */
	struct kgb_gpu_lease lease; /* EMPTYING, ENDING: its user's */
};

struct kgb_exec_pool {
	struct kgb_exec_spec spec;
	size_t n_spares;
	int listener;
	KGB_VEC(struct member) members;
	KGB_VEC(int) waiting; /* sockets of those who get the next processes */
	uint64_t free_bytes; /* of memory, when the last context was made */
	int64_t pause_until_ms; /* no spares before that */
};

static size_t count(const struct kgb_exec_pool *pool, enum state state)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->members.n; i++)
		n += pool->members.items[i].state == state;
	return n;
}

/* Processes that will be ready soon, although nobody has asked for them. */
static size_t count_returning(const struct kgb_exec_pool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->members.n; i++)
		n += pool->members.items[i].state == EMPTYING && pool->members.items[i].is_clean;
	return n;
}

static bool has_event(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	return poll(&wait, 1, 0) > 0;
}

/* ---- one process ---- */

static int begin(struct kgb_exec_pool *pool, struct kgb_err *err)
{
	struct member member = {.state = STARTING,
				.exec = KGB_EXEC_CLIENT_INIT,
				.user_fd = -1,
				.lease = KGB_LEASE_NONE};

	if (kgb_exec_client_begin(&member.exec, &pool->spec, err) != KGB_EXEC_DONE)
		return -1;
	member.end_fd = (int)syscall(SYS_pidfd_open, member.exec.process.launcher, 0);
	KGB_VEC_ADD(&pool->members, member);
	return 0;
}

/* Its user hears of the end. */
static void release(struct member *member)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	kgb_exec_client_stop(&member->exec);
	if (member->user_fd >= 0)
		(void)!kgb_wire_send(member->user_fd, &member->exec.process.end_value,
				     sizeof(member->exec.process.end_value), NULL, 0, &ignored);
	kgb_close(member->user_fd);
	kgb_close(member->end_fd);
	kgb_gpu_lease_give(&member->lease);
}

/* Tells those who wait that no process can be started, and why. */
static void refuse_waiting(struct kgb_exec_pool *pool, const struct kgb_err *why)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	_Static_assert(sizeof(why->msg) < KGB_EXEC_POOL_TEXT, "a message fits");
	kgb_warn("no process with a context: %s", why->msg);
	pool->pause_until_ms = kgb_mono_ms() + PAUSE_MS;
	for (size_t i = 0; i < pool->waiting.n; i++) {
		(void)!kgb_wire_send(pool->waiting.items[i], why->msg, strlen(why->msg), NULL, 0,
				     &ignored);
		kgb_close(pool->waiting.items[i]);
	}
	pool->waiting.n = 0;
}

static void finish_start(struct kgb_exec_pool *pool, struct member *member)
{
	struct kgb_err err = KGB_ERR_INIT;
	const pid_t launcher = member->exec.process.launcher;

	if (!has_event(member->exec.process.channel_fd))
		return;
	if (kgb_exec_client_finish(&member->exec, &pool->spec, START_MS, &err) != KGB_EXEC_DONE) {
		refuse_waiting(pool, &err);
		member->state = ENDING;
		return;
	}
	if (member->exec.process.launcher != launcher) { /* it was started once more */
		kgb_close(member->end_fd);
		member->end_fd = (int)syscall(SYS_pidfd_open, member->exec.process.launcher, 0);
	}
	pool->free_bytes = member->exec.machine.free_bytes;
	member->state = READY;
}

static void end(struct member *member)
{
	kgb_exec_client_leave(&member->exec, false, NULL);
	member->state = ENDING;
}

static void hear_user(struct member *member)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	char what = 0;
	size_t n_fds = 0;
	int fd = -1;
	const ssize_t n = kgb_wire_recv(member->user_fd, &what, 1, &fd, 1, &n_fds, &ignored);

	if (n == -2)
		return;
	member->lease.fd = fd;
	member->is_clean = n == 1 && what == KGB_EXEC_POOL_KEEP;
	if ((member->is_clean || fd >= 0) && !has_event(member->exec.process.channel_fd) &&
	    kgb_exec_client_begin_emptying(&member->exec)) {
		kgb_close(member->user_fd);
		member->user_fd = -1;
		member->empty_until_ms = kgb_mono_ms() + KGB_EXEC_EMPTY_MS;
		member->state = EMPTYING;
		return;
	}
	end(member);
}

static void finish_emptying(struct member *member)
{
	const bool has_said = has_event(member->exec.process.channel_fd);

	if (!has_said && kgb_mono_ms() < member->empty_until_ms)
		return;
	/* The reply of one that ends anyway does not matter. */
	if (!has_said || !member->is_clean || !kgb_exec_client_finish_emptying(&member->exec, 0)) {
		end(member);
		return;
	}
	kgb_gpu_lease_give(&member->lease);
	member->state = READY;
}

/* False: the process has ended, or its start has failed. */
static bool step(struct kgb_exec_pool *pool, struct member *member)
{
	if (member->state == STARTING)
		finish_start(pool, member);
	if (member->state == LENT)
		hear_user(member);
	if (member->state == EMPTYING)
		finish_emptying(member);
	/* A process that nobody asked says something only when it ends. */
	if (member->state == READY && has_event(member->exec.process.channel_fd))
		end(member);
	return kgb_exec_process_lives(&member->exec.process) && !has_event(member->end_fd);
}

/* ---- all of them ---- */

static bool accept_users(struct kgb_exec_pool *pool)
{
	int fd, n = 0;

	for (; (fd = accept4(pool->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0; n++)
		KGB_VEC_ADD(&pool->waiting, fd);
	return n > 0;
}

/* A user that waits says nothing: any event is its end. */
static void drop_gone_users(struct kgb_exec_pool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->waiting.n; i++) {
		if (has_event(pool->waiting.items[i]))
			kgb_close(pool->waiting.items[i]);
		else
			pool->waiting.items[n++] = pool->waiting.items[i];
	}
	pool->waiting.n = n;
}

static void lend(struct kgb_exec_pool *pool, struct member *member)
{
	const struct kgb_exec_process *process = &member->exec.process;
	const int fds[KGB_EXEC_POOL_FDS] = {process->channel_fd, process->log_fd,
					    process->status_fd};
	struct kgb_err ignored = KGB_ERR_INIT;

	member->user_fd = pool->waiting.items[0];
	member->state = LENT;
	member->was_lent = true;
	memmove(&pool->waiting.items[0], &pool->waiting.items[1],
		--pool->waiting.n * sizeof(pool->waiting.items[0]));
	if (kgb_wire_send(member->user_fd, "p", 1, fds, KGB_ARRAY_LEN(fds), &ignored) < 0)
		end(member);
}

/* The user that asked for a process may be gone when it is ready. Those that came back stay: they
 * cost nothing to make. */
static void end_surplus(struct kgb_exec_pool *pool)
{
	size_t n_ready = count(pool, READY);

	for (size_t i = 0; i < pool->members.n && n_ready > pool->n_spares; i++) {
		struct member *member = &pool->members.items[i];
		if (member->state != READY || member->was_lent)
			continue;
		end(member);
		n_ready--;
	}
}

size_t kgb_exec_pool_n_ready(const struct kgb_exec_pool *pool)
{
	return count(pool, READY);
}

size_t kgb_exec_pool_n_lent(const struct kgb_exec_pool *pool)
{
	return count(pool, LENT);
}

bool kgb_exec_pool_is_emptying(const struct kgb_exec_pool *pool)
{
	return count(pool, EMPTYING) > 0;
}

bool kgb_exec_pool_is_making(const struct kgb_exec_pool *pool)
{
	return count(pool, STARTING) > 0;
}

bool kgb_exec_pool_lacks(const struct kgb_exec_pool *pool)
{
	const size_t n_ready = count(pool, READY) + count_returning(pool);
	const uint64_t fit = pool->free_bytes / SPARE_PART / SPARE_BYTES;

	return n_ready < pool->n_spares && (n_ready < fit || pool->spec.on_cpu) &&
	       !kgb_exec_pool_is_making(pool) && pool->members.n < KGB_EXEC_POOL_MAX &&
	       kgb_mono_ms() >= pool->pause_until_ms;
}

void kgb_exec_pool_make_spare(struct kgb_exec_pool *pool)
{
	struct kgb_err err = KGB_ERR_INIT;

	if (begin(pool, &err) < 0)
		refuse_waiting(pool, &err);
}

bool kgb_exec_pool_turn(struct kgb_exec_pool *pool)
{
	const bool has_users = accept_users(pool);

	for (size_t i = 0; i < pool->members.n;) {
		if (step(pool, &pool->members.items[i])) {
			i++;
			continue;
		}
		release(&pool->members.items[i]);
		pool->members.items[i] = pool->members.items[--pool->members.n];
	}
	drop_gone_users(pool);
	/* The last that became ready were used last. */
	for (size_t i = pool->members.n; i-- > 0 && pool->waiting.n > 0;)
		if (pool->members.items[i].state == READY)
			lend(pool, &pool->members.items[i]);
	end_surplus(pool);
	while (count(pool, STARTING) + count_returning(pool) < pool->waiting.n &&
	       count(pool, STARTING) < STARTS_AT_ONCE && pool->members.n < KGB_EXEC_POOL_MAX)
		kgb_exec_pool_make_spare(pool);
	return has_users;
}

size_t kgb_exec_pool_list(const struct kgb_exec_pool *pool, struct pollfd *out, size_t cap)
{
	size_t n = 0;

	out[n++] = (struct pollfd){.fd = pool->listener, .events = POLLIN};
	for (size_t i = 0; i < pool->waiting.n && n < cap; i++)
		out[n++] = (struct pollfd){.fd = pool->waiting.items[i], .events = POLLIN};
	for (size_t i = 0; i < pool->members.n && n + 1 < cap; i++) {
		const struct member *member = &pool->members.items[i];
		out[n++] = (struct pollfd){.fd = member->end_fd, .events = POLLIN};
		if (member->state != ENDING)
			out[n++] = (struct pollfd){.fd = member->state == LENT
								 ? member->user_fd
								 : member->exec.process.channel_fd,
						   .events = POLLIN};
	}
	return n;
}

int kgb_exec_pool_new(const struct kgb_exec_spec *spec, size_t n_spares, int dir_fd,
		      struct kgb_exec_pool **out, struct kgb_err *err)
{
	struct kgb_exec_pool *pool = kgb_xmalloc(sizeof(*pool));

	*pool = (struct kgb_exec_pool){.spec = *spec, .n_spares = n_spares, .listener = -1};
	KGB_ASSERT(!spec->pool && n_spares <= KGB_EXEC_POOL_MAX);
	if (kgb_zygotes_listen(dir_fd, kgb_exec_pool_socket(spec->on_cpu), &pool->listener, err) <
	    0) {
		kgb_free(pool);
		return -1;
	}
	for (size_t i = 0; i < n_spares && i < FIRST_SPARES; i++)
		if (begin(pool, err) < 0) {
			kgb_exec_pool_free(pool);
			return -1;
		}
	*out = pool;
	return 0;
}

void kgb_exec_pool_free(struct kgb_exec_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < pool->members.n; i++)
		kgb_exec_client_leave(&pool->members.items[i].exec, false, NULL);
	for (size_t i = 0; i < pool->members.n; i++)
		release(&pool->members.items[i]);
	for (size_t i = 0; i < pool->waiting.n; i++)
		kgb_close(pool->waiting.items[i]);
	kgb_close(pool->listener);
	KGB_VEC_RELEASE(&pool->members);
	KGB_VEC_RELEASE(&pool->waiting);
	kgb_free(pool);
}
