/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "verify/cmd/cli.h"
#include "verify/gpu/gpu_lease.h"
#include "verify/process/exec_pool.h"
#include "verify/process/zygote.h"
#include "verify/protocol/judge_request.h"

enum {
	READY_MS = 120 * 1000,
	/* A starting verification needs the driver, or on the CPU the processors, for its own
	 * processes: spares are made after so long without requests. */
	PAUSE_MS = 400,
	RETRY_MS = 20, /* until the GPU may be shared again */
	POOL_MS = 1000, /* between turns of a pool whose processes are being emptied */
	LEASE_MS = 10 * 1000, /* most that a spare delays those who need the GPU alone */
	NOBODY = -1,
	POOLS = KGB_N_ROLES, /* makers of spares beside the zygotes, which have their roles */
	OF_GPU = 0, /* pools: of kgb-exec (NULL without a GPU), */
	OF_CPU, /* of kgb-exec-cpu */
	N_POOLS,
	N_MAKERS = POOLS + N_POOLS
};

struct server {
	struct kgb_zygote zygotes[KGB_N_ROLES];
	int listeners[KGB_N_ROLES];
	struct kgb_exec_pool *pools[N_POOLS];
	int device;
	enum { HAS_ENOUGH, LACKS, IS_OUT } spares[N_MAKERS]; /* what they have */
	int maker; /* who makes a spare; NOBODY */
	int last_maker;
	struct kgb_gpu_lease lease; /* the GPU is shared with others while a spare is made */
	int64_t lease_ends_ms; /* monotonic, as the following */
	int64_t asked_ms; /* time of the last request */
	int signals; /* signalfd: TERM, INT, HUP */
	int dir_fd;
};

enum { SPARES_CPU = 1, SPARES_GPU = 8, SPARES_MAX = 64, LANES = 2, AS_DEVICE = -1 };

struct arguments {
	const char *dir, *python, *device, *cupti;
	int64_t spares; /* AS_DEVICE: the device's default */
	int64_t die_with_parent; /* number of the parent process; 0: the option is absent */
};

#define ROW(type, member, ...) KGB_FIELD_ROW(type, arguments, member, __VA_ARGS__)
static const struct kgb_field arguments_table[] = {
	ROW(STR, dir, "folder of the sockets", .required = true),
	ROW(STR, python, "interpreter with torch and triton"),
	ROW(STR, device, "cpu, cuda, cuda:N or auto"),
	ROW(STR, cupti, "libcupti.so.N"),
	ROW(I64, spares, "workers of each kind that are made before they are needed",
	    .min = AS_DEVICE, .max = SPARES_MAX, .def = "-1"),
	ROW(I64, die_with_parent, "end when this process ends", .min = 1, .max = INT_MAX),
	KGB_FIELD_END,
};
#undef ROW

static int parse(struct arguments *a, struct kgb_arena *arena, int argc, char **argv,
		 struct kgb_err *err)
{
	size_t n_others;

	kgb_decode_defaults(arguments_table, a, arena);
	if (kgb_options_parse(arguments_table, a, arena, argc, argv, &n_others, err) < 0)
		return -1;
	if (n_others > 0)
		return kgb_fail(err, KGB_ERR_INVALID, "unexpected argument '%s'", argv[1]);
	if (!a->dir)
		return kgb_fail(err, KGB_ERR_INVALID, "--dir DIR is missing");
	if (a->die_with_parent > 0)
		kgb_die_with_parent(a->die_with_parent);
	return 0;
}

/* Contexts are made while the zygotes import torch. Every lane has a process of the machine. */
static int open_pools(struct server *server, const struct kgb_zygote_spec *spec,
		      struct kgb_err *err)
{
	const struct kgb_exec_spec gpu = {.cupti = spec->cupti, .device = (uint32_t)spec->device};
	const struct kgb_exec_spec machine = {.on_cpu = true, .n_threads = 1};
	const size_t n_spares = (size_t)spec->spares;

	server->device = spec->device;
	if (spec->device != KGB_DEVICE_CPU &&
	    kgb_exec_pool_new(&gpu, n_spares, server->dir_fd, &server->pools[OF_GPU], err) < 0)
		return -1;
	return kgb_exec_pool_new(&machine, n_spares * LANES, server->dir_fd, &server->pools[OF_CPU],
				 err);
}

static int start(struct server *server, const struct arguments *a,
		 const struct kgb_judge_paths *places, struct kgb_err *err)
{
	struct kgb_zygote_spec spec = {.python = places->python,
				       .data_dir = places->data_dir,
				       .library = places->library,
				       .cupti = a->cupti};
	struct kgb_isolation_info isolation;

	if (kgb_judge_paths_device(places, a->device, &spec, err) < 0)
		return -1;
	spec.spares = a->spares != AS_DEVICE          ? (int)a->spares
		      : spec.device == KGB_DEVICE_CPU ? SPARES_CPU
						      : SPARES_GPU;
	if (kgb_fs_mkdirs(AT_FDCWD, a->dir, 0700, err) < 0 ||
	    kgb_fs_opendir(AT_FDCWD, a->dir, &server->dir_fd, err) < 0)
		return -1;
	for (int role = 0; role < KGB_N_ROLES; role++)
		server->zygotes[role] =
			(struct kgb_zygote){.hub_fd = -1, .log_fd = -1, .status_fd = -1};
	for (int role = 0; role < KGB_N_ROLES; role++)
		if (kgb_zygote_start(&server->zygotes[role], (enum kgb_role)role, &spec, err) < 0)
			return -1;
	if (open_pools(server, &spec, err) < 0 ||
	    kgb_isolation_probe(NULL, NULL, &isolation, err) < 0 ||
	    kgb_zygotes_write_isolation(&isolation, server->dir_fd, err) < 0)
		return -1;
	for (int role = 0; role < KGB_N_ROLES; role++)
		if (kgb_zygote_wait_ready(&server->zygotes[role], READY_MS, err) < 0)
			return -1;
	/* Make the sockets last: a process that can connect then gets an answer. */
	for (int role = 0; role < KGB_N_ROLES; role++)
		if (kgb_zygote_tell_identity(&server->zygotes[role], server->dir_fd, err) < 0 ||
		    kgb_zygotes_listen(server->dir_fd, kgb_zygote_socket((enum kgb_role)role),
				       &server->listeners[role], err) < 0)
			return -1;
	KGB_AUTO(free) char *stack = kgb_zygotes_stack(places->python, places->data_dir);
	if ((unlinkat(server->dir_fd, KGB_ZYGOTES_STACK, 0) < 0 && errno != ENOENT) ||
	    symlinkat(stack, server->dir_fd, KGB_ZYGOTES_STACK) < 0)
		return kgb_fail_errno(err, errno, "link '%s/" KGB_ZYGOTES_STACK "'", a->dir);
	return 0;
}

/* Hand the new connection to the zygote. */
static int pass_on(struct server *server, int role, struct kgb_err *err)
{
	KGB_AUTO(fd) int control = accept4(server->listeners[role], NULL, NULL, SOCK_CLOEXEC);

	if (control < 0)
		return 0; /* the client has closed the connection */
	server->asked_ms = kgb_mono_ms();
	return kgb_zygote_forward(&server->zygotes[role], control, err);
}

/* ---- spares ---- */

/* The next, in turn, that has too few spares; while a verification uses the GPU, that has none.
 * NOBODY. */
static int find_maker(const struct server *server)
{
	const struct kgb_exec_pool *gpu = server->pools[OF_GPU];
	const bool is_busy = gpu && kgb_exec_pool_n_lent(gpu) > 0;

	for (int i = 1; i <= N_MAKERS; i++) {
		const int maker = (server->last_maker + i) % N_MAKERS;
		if (server->spares[maker] == IS_OUT || (server->spares[maker] == LACKS && !is_busy))
			return maker;
	}
	return NOBODY;
}

static void end_making(struct server *server, int maker)
{
	if (server->maker != maker)
		return;
	server->maker = NOBODY;
	kgb_gpu_lease_give(&server->lease);
}

/* Let one more spare be made: one after the other, because a context that is made delays all work
 * on the GPU, and never while a verification has the GPU alone. */
static int make_spare(struct server *server, struct kgb_err *err)
{
	const int maker = find_maker(server);
	struct kgb_err busy = KGB_ERR_INIT;

	if (server->maker != NOBODY || maker == NOBODY ||
	    kgb_mono_ms() < server->asked_ms + PAUSE_MS)
		return 0;
	if (server->device != KGB_DEVICE_CPU && maker != POOLS + OF_CPU &&
	    kgb_gpu_lease_take(&server->lease, server->device, false, kgb_mono_ms(), &busy) < 0)
		return 0;
	server->maker = server->last_maker = maker;
	server->spares[maker] = HAS_ENOUGH;
	server->lease_ends_ms = kgb_mono_ms() + LEASE_MS;
	if (maker < POOLS)
		return kgb_zygote_make_spare(&server->zygotes[maker], err);
	kgb_exec_pool_make_spare(server->pools[maker - POOLS]);
	if (!kgb_exec_pool_is_making(server->pools[maker - POOLS]))
		end_making(server, maker);
	return 0;
}

static bool is_emptying(const struct server *server)
{
	for (int i = 0; i < N_POOLS; i++)
		if (server->pools[i] && kgb_exec_pool_is_emptying(server->pools[i]))
			return true;
	return false;
}

/* Milliseconds until make_spare, end_lease or a pool has something to do; -1: an event comes first.
 */
static int time_to_next(const struct server *server)
{
	const bool is_leased = server->lease.fd >= 0;
	const int64_t next_ms = is_leased ? server->lease_ends_ms : server->asked_ms + PAUSE_MS;
	const int64_t left_ms = next_ms - kgb_mono_ms();

	if (!is_leased && (server->maker != NOBODY || find_maker(server) == NOBODY))
		return is_emptying(server) ? POOL_MS : -1;
	return left_ms > RETRY_MS ? (int)left_ms : RETRY_MS;
}

/* A spare that hangs must not keep the GPU from all others. */
static void end_lease(struct server *server)
{
	if (kgb_mono_ms() >= server->lease_ends_ms)
		kgb_gpu_lease_give(&server->lease);
}

/* ---- events ---- */

static int hear_zygote(struct server *server, int role, struct kgb_err *err)
{
	switch (kgb_zygote_hear(&server->zygotes[role])) {
	case KGB_ZYGOTE_LACKS:
		server->spares[role] = LACKS;
		return 0;
	case KGB_ZYGOTE_OUT:
		server->spares[role] = IS_OUT;
		return 0;
	case KGB_ZYGOTE_MADE:
		end_making(server, role);
		return 0;
	case KGB_ZYGOTE_NOTHING:
		return 0;
	case KGB_ZYGOTE_ENDED:
		break;
	}
	return kgb_zygote_fail_ended(&server->zygotes[role], "ended", err);
}

static void turn_pools(struct server *server)
{
	for (int i = 0; i < N_POOLS; i++) {
		struct kgb_exec_pool *pool = server->pools[i];
		if (!pool)
			continue;
		if (kgb_exec_pool_turn(pool))
			server->asked_ms = kgb_mono_ms();
		server->spares[POOLS + i] = !kgb_exec_pool_lacks(pool)        ? HAS_ENOUGH
					    : kgb_exec_pool_n_ready(pool) > 0 ? LACKS
									      : IS_OUT;
		if (!kgb_exec_pool_is_making(pool))
			end_making(server, POOLS + i);
	}
}

/* What the server waits for: its end, the zygotes, connections, and the pool. */
enum {
	FD_STDIN,
	FD_SIGNALS,
	FD_HUBS,
	FD_LISTENERS = FD_HUBS + KGB_N_ROLES,
	FD_POOLS = FD_LISTENERS + KGB_N_ROLES,
	N_FDS = FD_POOLS + N_POOLS * KGB_EXEC_POOL_LIST_MAX
};

static size_t list(const struct server *server, struct pollfd fds[N_FDS])
{
	size_t n = FD_POOLS;

	fds[FD_STDIN] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	fds[FD_SIGNALS] = (struct pollfd){.fd = server->signals, .events = POLLIN};
	for (int role = 0; role < KGB_N_ROLES; role++) {
		fds[FD_HUBS + role] =
			(struct pollfd){.fd = server->zygotes[role].hub_fd, .events = POLLIN};
		fds[FD_LISTENERS + role] =
			(struct pollfd){.fd = server->listeners[role], .events = POLLIN};
	}
	for (int i = 0; i < N_POOLS; i++)
		if (server->pools[i])
			n += kgb_exec_pool_list(server->pools[i], &fds[n], KGB_EXEC_POOL_LIST_MAX);
	return n;
}

static int serve(struct server *server, struct kgb_err *err)
{
	struct pollfd fds[N_FDS];
	char ignored[256];

	for (;;) {
		const size_t n = list(server, fds);
		if (poll(fds, n, time_to_next(server)) < 0) {
			if (errno == EINTR)
				continue;
			return kgb_fail_errno(err, errno, "poll");
		}
		if (fds[FD_SIGNALS].revents ||
		    (fds[FD_STDIN].revents && read(STDIN_FILENO, ignored, sizeof(ignored)) <= 0))
			return 0;
		for (int role = 0; role < KGB_N_ROLES; role++) {
			if (fds[FD_HUBS + role].revents && hear_zygote(server, role, err) < 0)
				return -1;
			if (fds[FD_LISTENERS + role].revents && pass_on(server, role, err) < 0)
				return -1;
		}
		turn_pools(server);
		end_lease(server);
		if (make_spare(server, err) < 0)
			return -1;
	}
}

static void stop(struct server *server)
{
	for (int i = 0; i < N_POOLS; i++) {
		if (server->pools[i])
			(void)unlinkat(server->dir_fd, kgb_exec_pool_socket(i == OF_CPU), 0);
		kgb_exec_pool_free(server->pools[i]);
	}
	for (int role = 0; role < KGB_N_ROLES; role++) {
		KGB_AUTO(free)
		char *identity = kgb_xasprintf("%s.identity", kgb_role_name((enum kgb_role)role));
		if (server->listeners[role] >= 0) {
			(void)unlinkat(server->dir_fd, kgb_zygote_socket((enum kgb_role)role), 0);
			(void)unlinkat(server->dir_fd, identity, 0);
		}
		kgb_close(server->listeners[role]);
		kgb_zygote_stop(&server->zygotes[role]);
	}
	if (server->dir_fd >= 0) {
		(void)unlinkat(server->dir_fd, KGB_ZYGOTES_ISOLATION, 0);
		(void)unlinkat(server->dir_fd, KGB_ZYGOTES_STACK, 0);
	}
	kgb_close(server->dir_fd);
	kgb_close(server->signals);
	kgb_gpu_lease_give(&server->lease);
}

static int catch_signals(int *out_fd, struct kgb_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return kgb_fail_errno(err, errno, "sigprocmask");
	*out_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *out_fd < 0 ? kgb_fail_errno(err, errno, "signalfd") : 0;
}

int kgb_cmd_zygotes(int argc, char **argv)
{
	struct server server = {.listeners = {-1, -1, -1},
				.maker = NOBODY,
				.lease = KGB_LEASE_NONE,
				.signals = -1,
				.dir_fd = -1};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_judge_paths places = {0};
	struct kgb_arena arena = {0};
	struct arguments a;

	(void)signal(SIGPIPE, SIG_IGN);
	int rc = parse(&a, &arena, argc, argv, &err);
	if (rc == 0)
		rc = kgb_judge_paths_find(&places, a.python, &err);
	if (rc == 0)
		rc = start(&server, &a, &places, &err);
	/* Block signals after starting the children, which must not inherit the mask. */
	if (rc == 0)
		rc = catch_signals(&server.signals, &err);
	if (rc == 0) {
		puts("ready");
		(void)fflush(stdout);
		rc = serve(&server, &err);
	}
	stop(&server);
	kgb_judge_paths_release(&places);
	kgb_arena_release(&arena);
	return rc < 0 ? kgb_exit_of(&err) : KGB_EXIT_OK;
}
