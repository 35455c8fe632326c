/* SPDX-License-Identifier: MIT */
/** \file
 * How long a sandbox takes: its start (from the policy to the first word of the program inside),
 * its whole life (until its end is proven), and the end of one with many processes that do not want
 * to die.
 *
 *     bench_sandbox [RUNS [PROCESSES]]
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/isolation/ladder.h"
#include "sandbox/isolation/pidns.h"
#include "sandbox/isolation/status.h"

enum {
	RUNS_DEFAULT = 100,
	RUNS_MAX = 100000,
	PROCESSES_DEFAULT = 1000,
	PROCESSES_MAX = 20000,
	KILLS_SHARE = 10, /* of the runs */
	PORT = 8123,
	LINE_MAX_BYTES = 4096,
};

static const char launcher[] = KGB_TEST_BIN_DIR "/kgb-launch";

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double milliseconds(int64_t ns)
{
	return (double)ns / 1e6;
}

static void print_spread(const char *name, int64_t *ns, int64_t n, const char *more)
{
	qsort(ns, (size_t)n, sizeof(*ns), compare);
	printf("%-28s median %.2f ms, best %.2f ms, p90 %.2f ms, worst %.2f ms (%lld runs)%s\n",
	       name, milliseconds(ns[n / 2]), milliseconds(ns[0]), milliseconds(ns[n * 9 / 10]),
	       milliseconds(ns[n - 1]), (long long)n, more);
}

/* A sandbox with the base policy, started. */
static int start(struct kgb_policy *policy, const struct kgb_confinement *confinement, int out_fd,
		 struct kgb_sandbox *sandbox, pid_t *pid, struct kgb_err *err)
{
	const struct kgb_sandbox_spec spec = {.policy = policy,
					      .launcher = launcher,
					      .confinement = confinement,
					      .stdio = {-1, out_fd, 2}};

	if (kgb_policy_base(policy, &(struct kgb_policy_base_spec){0}, err) < 0)
		return -1;
	if (confinement) {
		policy->limits.n_tasks = 2 * PROCESSES_MAX;
		policy->limits.memory_bytes = INT64_C(8) << 30;
		policy->limits.nameless_bytes = INT64_C(4) << 30;
	}
	return kgb_sandbox_prepare(sandbox, &spec, err) < 0 ? -1
							    : kgb_sandbox_spawn(sandbox, pid, err);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* ---- starting ---- */

/* What bubblewrap costs by itself: the same namespaces, /proc and /dev, and no walls. */
static int floor_once(const char *bwrap, int64_t *out_ns, struct kgb_err *err)
{
	int out[2];
	char byte;

	if (pipe2(out, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int read_fd = out[0];
	int64_t start_ns = kgb_mono_ns();
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		execl(bwrap, bwrap, "--unshare-all", "--dev-bind", "/", "/", "--proc", "/proc",
		      "--dev", "/dev", "/bin/echo", NULL);
		_exit(EXIT_FAILURE);
	}
	kgb_close(out[1]);
	if (pid < 0)
		return kgb_fail_errno(err, errno, "fork");
	ssize_t got = read(read_fd, &byte, 1);
	*out_ns = kgb_mono_ns() - start_ns;
	int status = wait_for(pid);
	if (got != 1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return kgb_fail(err, KGB_ERR_FAILED, "bwrap ended with wait status %d", status);
	return 0;
}

static int measure_floor(const char *bwrap, int64_t n, struct kgb_err *err)
{
	KGB_AUTO(free) int64_t *ns = kgb_xcalloc((size_t)n, sizeof(*ns));

	for (int64_t i = 0; i < n; i++)
		if (floor_once(bwrap, &ns[i], err) < 0)
			return -1;
	print_spread("bubblewrap alone", ns, n, "");
	return 0;
}

static int start_once(enum kgb_network network, const struct kgb_confinement *confinement,
		      int64_t *out_start_ns, int64_t *out_whole_ns, struct kgb_err *err)
{
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(sandbox) struct kgb_sandbox sandbox = KGB_SANDBOX_INIT;
	int out[2];
	char byte;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int read_fd = out[0];
	int64_t start_ns = kgb_mono_ns();
	kgb_policy_init(&policy);
	policy.network = network;
	policy.listen_port = PORT;
	kgb_policy_arg(&policy, "/bin/echo");
	int rc = start(&policy, confinement, out[1], &sandbox, &pid, err);
	kgb_close(out[1]);
	if (rc < 0)
		return -1;
	ssize_t got = read(read_fd, &byte, 1);
	*out_start_ns = kgb_mono_ns() - start_ns;
	int status = wait_for(pid);
	*out_whole_ns = kgb_mono_ns() - start_ns;
	if (got != 1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return kgb_fail(err, KGB_ERR_FAILED, "the sandbox ended with wait status %d",
				status);
	return 0;
}

static int measure_start(const char *name, enum kgb_network network,
			 const struct kgb_confinement *confinement, int64_t n, struct kgb_err *err)
{
	KGB_AUTO(free) int64_t *start_ns = kgb_xcalloc((size_t)n, sizeof(*start_ns));
	KGB_AUTO(free) int64_t *whole_ns = kgb_xcalloc((size_t)n, sizeof(*whole_ns));

	for (int64_t i = 0; i < n; i++)
		if (start_once(network, confinement, &start_ns[i], &whole_ns[i], err) < 0)
			return -1;
	print_spread(name, start_ns, n, "; goal 5 ms");
	print_spread("  and to its proven end", whole_ns, n, "");
	return 0;
}

/* ---- killing ---- */

/* The first lines of the status tell the PID namespace. A descriptor that holds it; -1. */
static int read_status(int fd, struct kgb_sandbox_status *status, struct kgb_err *err)
{
	while (status->init_pid == 0) {
		char text[LINE_MAX_BYTES];
		ssize_t len = read(fd, text, sizeof(text));
		if (len <= 0)
			return kgb_fail(err, KGB_ERR_FAILED, "the sandbox did not say where it is");
		kgb_sandbox_status_feed(status, text, (size_t)len);
	}
	int held = kgb_pidns_hold(status->init_pid, &status->pidns_inode);
	return held < 0 ? kgb_fail(err, KGB_ERR_FAILED, "the sandbox is gone already") : held;
}

static int kill_once(const struct kgb_confinement *confinement, int64_t n_processes,
		     int64_t *out_ns, int *survivors, struct kgb_err *err)
{
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(sandbox) struct kgb_sandbox sandbox = KGB_SANDBOX_INIT;
	KGB_AUTO(free) char *count = kgb_xasprintf("%lld", (long long)n_processes);
	struct kgb_sandbox_status status;
	int out[2];
	char byte;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int read_fd = out[0];
	kgb_policy_init(&policy);
	kgb_policy_arg(&policy, "/opt/guest");
	kgb_policy_arg(&policy, "crowd");
	kgb_policy_arg(&policy, count);
	kgb_policy_ro(&policy, KGB_TEST_GUEST, "/opt/guest");
	int rc = start(&policy, confinement, out[1], &sandbox, &pid, err);
	kgb_close(out[1]);
	if (rc < 0)
		return -1;
	kgb_sandbox_status_init(&status);
	KGB_AUTO(fd) int held = read_status(sandbox.status_fd, &status, err);
	rc = held < 0 ? -1 : 0;
	if (rc == 0 && read(read_fd, &byte, 1) != 1)
		rc = kgb_fail(err, KGB_ERR_FAILED, "the crowd did not gather");
	int64_t start_ns = kgb_mono_ns();
	(void)kill(pid, SIGTERM);
	(void)wait_for(pid);
	if (rc == 0)
		*survivors += kgb_pidns_count(status.pidns_inode);
	*out_ns = kgb_mono_ns() - start_ns;
	kgb_sandbox_status_release(&status);
	return rc;
}

static int measure_kill(const char *name, const struct kgb_confinement *confinement, int64_t n,
			int64_t n_processes, struct kgb_err *err)
{
	KGB_AUTO(free) int64_t *ns = kgb_xcalloc((size_t)n, sizeof(*ns));
	int survivors = 0;

	for (int64_t i = 0; i < n; i++)
		if (kill_once(confinement, n_processes, &ns[i], &survivors, err) < 0)
			return -1;
	KGB_AUTO(free)
	char *more = kgb_xasprintf(" of %lld processes, %d survivors; goal 350 ms and none",
				   (long long)n_processes, survivors);
	print_spread(name, ns, n, more);
	return survivors == 0 ? 0 : kgb_fail(err, KGB_ERR_FAILED, "%d survivors", survivors);
}

/* ---- what it was measured on ---- */

static void print_head(int argc, char **argv, const struct kgb_ladder *ladder)
{
	struct utsname machine;
	char date[KGB_TIME_LEN];

	kgb_time_format(kgb_wall_ms(), date);
	(void)uname(&machine);
	printf("date       %s\nmachine    %s %s, %ld processors\ncommand   ", date, machine.sysname,
	       machine.release, sysconf(_SC_NPROCESSORS_ONLN));
	for (int i = 0; i < argc; i++)
		printf(" %s", argv[i]);
	printf("\nisolation  %s, bubblewrap %s, Landlock %d, cgroup %s\n",
	       kgb_isolation_level_name(ladder->level), ladder->info.bwrap_version,
	       ladder->confinement.landlock_abi, kgb_ladder_cgroup_name(ladder));
}

int main(int argc, char **argv)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_ladder ladder;
	int64_t n = RUNS_DEFAULT;
	int64_t n_processes = PROCESSES_DEFAULT;

	kgb_log_init("bench_sandbox", KGB_LOG_INFO);
	kgb_ladder_probe(launcher, NULL, &ladder);
	print_head(argc, argv, &ladder);
	if ((argc > 1 && kgb_parse_i64(argv[1], 1, RUNS_MAX, &n, &err) < 0) ||
	    (argc > 2 && kgb_parse_i64(argv[2], 1, PROCESSES_MAX, &n_processes, &err) < 0) ||
	    measure_floor(ladder.info.bwrap_path, n, &err) < 0 ||
	    measure_start("start, no network", KGB_NETWORK_NONE, NULL, n, &err) < 0 ||
	    measure_start("start, listener", KGB_NETWORK_LISTENER, NULL, n, &err) < 0 ||
	    measure_start("start as an agent", KGB_NETWORK_LISTENER, &ladder.confinement, n, &err) <
		    0 ||
	    measure_kill("kill", NULL, n / KILLS_SHARE + 1, n_processes, &err) < 0 ||
	    measure_kill("kill as an agent", &ladder.confinement, n / KILLS_SHARE + 1, n_processes,
			 &err) < 0) {
		kgb_log_err(&err);
		return KGB_EXIT_FAILURES;
	}
	return KGB_EXIT_OK;
}
