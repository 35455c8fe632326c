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
#include "verify/cmd/cli.h"
#include "verify/process/zygote.h"
#include "verify/protocol/judge_request.h"

enum { READY_MS = 120 * 1000 };

struct server {
	struct kgb_zygote zygotes[KGB_N_ROLES];
	int listeners[KGB_N_ROLES];
	int signals; /* signalfd: TERM, INT, HUP */
	int dir_fd;
};

enum { SPARES_CPU = 1, SPARES_GPU = 8, SPARES_MAX = 64, AS_DEVICE = -1 };

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
	if (kgb_isolation_probe(NULL, NULL, &isolation, err) < 0 ||
	    kgb_zygotes_write_isolation(&isolation, server->dir_fd, err) < 0)
		return -1;
	for (int role = 0; role < KGB_N_ROLES; role++)
		if (kgb_zygote_wait_ready(&server->zygotes[role], READY_MS, err) < 0)
			return -1;
	/* Make the sockets last: a process that can connect then gets an answer. */
	for (int role = 0; role < KGB_N_ROLES; role++)
		if (kgb_zygote_tell_identity(&server->zygotes[role], server->dir_fd, err) < 0 ||
		    kgb_zygote_listen(server->dir_fd, (enum kgb_role)role, &server->listeners[role],
				      err) < 0)
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
	return kgb_zygote_forward(&server->zygotes[role], control, err);
}

/* A zygote sends nothing after its hello: any event of its socket is its end. */
static int serve(struct server *server, struct kgb_err *err)
{
	struct pollfd fds[2 + 2 * KGB_N_ROLES] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = server->signals, .events = POLLIN},
	};
	char ignored[256];

	for (int role = 0; role < KGB_N_ROLES; role++) {
		fds[2 + role] = (struct pollfd){.fd = server->listeners[role], .events = POLLIN};
		fds[2 + KGB_N_ROLES + role] =
			(struct pollfd){.fd = server->zygotes[role].hub_fd, .events = POLLIN};
	}
	for (;;) {
		if (poll(fds, KGB_ARRAY_LEN(fds), -1) < 0) {
			if (errno == EINTR)
				continue;
			return kgb_fail_errno(err, errno, "poll");
		}
		if (fds[1].revents ||
		    (fds[0].revents && read(STDIN_FILENO, ignored, sizeof(ignored)) <= 0))
			return 0;
		for (int role = 0; role < KGB_N_ROLES; role++) {
			if (fds[2 + KGB_N_ROLES + role].revents)
				return kgb_fail(err, KGB_ERR_UNAVAILABLE, "the %s process ended",
						kgb_role_name((enum kgb_role)role));
			if (fds[2 + role].revents && pass_on(server, role, err) < 0)
				return -1;
		}
	}
}

static void stop(struct server *server)
{
	for (int role = 0; role < KGB_N_ROLES; role++) {
		KGB_AUTO(free)
		char *name = kgb_xasprintf("%s.sock", kgb_role_name((enum kgb_role)role));
		KGB_AUTO(free)
		char *identity = kgb_xasprintf("%s.identity", kgb_role_name((enum kgb_role)role));
		if (server->listeners[role] >= 0) {
			(void)unlinkat(server->dir_fd, name, 0);
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
	struct server server = {.listeners = {-1, -1, -1}, .signals = -1, .dir_fd = -1};
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
