/* SPDX-License-Identifier: MIT */
/** \file
 * How long a sandbox takes: its start (from the policy to the first word of the program inside) and
 * what parts of that cost by themselves, its whole life (until its end is proven), and the end of
 * one with many processes that do not want to die.
 *
 *     bench_sandbox [RUNS [PROCESSES]]
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
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
static const char program[] = "/bin/echo";

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

/* A sandbox with the base policy, not started yet. */
static int prepare(struct kgb_policy *policy, const struct kgb_confinement *confinement, int out_fd,
		   struct kgb_sandbox *sandbox, struct kgb_err *err)
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
	return kgb_sandbox_prepare(sandbox, &spec, err);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* ---- starting ---- */

enum part { PROGRAM, NAMESPACES, COMMAND, BWRAP, NO_NETWORK, LISTENER, AGENT, END, N_PARTS };

static const char *const part_names[N_PARTS] = {
	[PROGRAM] = "the program by itself",   [NAMESPACES] = "bwrap, namespaces alone",
	[COMMAND] = "policy and command line", [BWRAP] = "bwrap, our mounts",
	[NO_NETWORK] = "start, no network",    [LISTENER] = "start, listener",
	[AGENT] = "start as an agent",         [END] = "  and to its proven end",
};

/* One start of each kind; they take turns, so that a busy moment of the machine meets all. */
struct round {
	const struct kgb_ladder *ladder;
	int64_t ns[N_PARTS];
};

/* Until the program says its first word, and until its end. */
static int wait_for_word(int fd, pid_t pid, int64_t since_ns, int64_t *out_word_ns,
			 int64_t *out_end_ns, struct kgb_err *err)
{
	char byte;
	ssize_t got = read(fd, &byte, 1);

	*out_word_ns = kgb_mono_ns() - since_ns;
	int status = wait_for(pid);
	*out_end_ns = kgb_mono_ns() - since_ns;
	if (got != 1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return kgb_fail(err, KGB_ERR_FAILED, "the start ended with wait status %d", status);
	return 0;
}

/* A command without a sandbox of ours. */
static int start_plain(const char *const *argv, int64_t *out_ns, struct kgb_err *err)
{
	KGB_AUTO(sandbox) struct kgb_sandbox command = KGB_SANDBOX_INIT;
	int64_t end_ns;
	int out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int read_fd = out[0];
	kgb_strv_add_all(&command.argv, argv);
	command.fds[command.n_fds++] = (struct kgb_fdmap){.from = out[1], .to = 1, .owned = true};
	int64_t start_ns = kgb_mono_ns();
	if (kgb_sandbox_spawn(&command, &pid, err) < 0)
		return -1;
	return wait_for_word(read_fd, pid, start_ns, out_ns, &end_ns, err);
}

/* Leave of "kgb-launch ... -- bwrap ..." what follows the first "--". */
static void without_launcher(struct kgb_sandbox *sandbox)
{
	KGB_AUTO(strv) struct kgb_strv all = sandbox->argv;
	size_t i = 0;

	sandbox->argv = (struct kgb_strv)KGB_STRV_INIT;
	while (!kgb_str_eq(all.items[i], "--"))
		i++;
	for (i++; i < all.n; i++)
		kgb_strv_add(&sandbox->argv, all.items[i]);
}

static int start_sandbox(struct round *round, enum part part, struct kgb_err *err)
{
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(sandbox) struct kgb_sandbox sandbox = KGB_SANDBOX_INIT;
	int64_t end_ns;
	int out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int read_fd = out[0];
	int64_t start_ns = kgb_mono_ns();
	kgb_policy_init(&policy);
	policy.network =
		part == LISTENER || part == AGENT ? KGB_NETWORK_LISTENER : KGB_NETWORK_NONE;
	policy.listen_port = PORT;
	kgb_policy_arg(&policy, program);
	int rc = prepare(&policy, part == AGENT ? &round->ladder->confinement : NULL, out[1],
			 &sandbox, err);
	if (part == BWRAP && rc == 0) {
		round->ns[COMMAND] = kgb_mono_ns() - start_ns;
		without_launcher(&sandbox);
		start_ns = kgb_mono_ns();
	}
	rc = rc < 0 ? -1 : kgb_sandbox_spawn(&sandbox, &pid, err);
	kgb_close(out[1]);
	if (rc < 0)
		return -1;
	return wait_for_word(read_fd, pid, start_ns, &round->ns[part],
			     part == AGENT ? &round->ns[END] : &end_ns, err);
}

static int start_each(struct round *round, struct kgb_err *err)
{
	const char *const alone[] = {program, NULL};
	/* The same namespaces, /proc and /dev, and no walls. */
	const char *const namespaces[] = {round->ladder->info.bwrap_path,
					  "--unshare-all",
					  "--dev-bind",
					  "/",
					  "/",
					  "--proc",
					  "/proc",
					  "--dev",
					  "/dev",
					  program,
					  NULL};

	return start_plain(alone, &round->ns[PROGRAM], err) < 0 ||
			       start_plain(namespaces, &round->ns[NAMESPACES], err) < 0 ||
			       start_sandbox(round, BWRAP, err) < 0 ||
			       start_sandbox(round, NO_NETWORK, err) < 0 ||
			       start_sandbox(round, LISTENER, err) < 0 ||
			       start_sandbox(round, AGENT, err) < 0
		       ? -1
		       : 0;
}

static int measure_starts(const struct kgb_ladder *ladder, int64_t n, struct kgb_err *err)
{
	struct round round = {.ladder = ladder};
	int64_t *ns[N_PARTS];
	int rc = 0;

	for (int part = 0; part < N_PARTS; part++)
		ns[part] = kgb_xcalloc((size_t)n, sizeof(**ns));
	for (int64_t i = 0; i < n && rc == 0; i++) {
		rc = start_each(&round, err);
		for (int part = 0; part < N_PARTS; part++)
			ns[part][i] = round.ns[part];
	}
	for (int part = 0; part < N_PARTS; part++) {
		if (rc == 0)
			print_spread(part_names[part], ns[part], n,
				     part == AGENT ? "; goal 5 ms" : "");
		kgb_free(ns[part]);
	}
	return rc;
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
	kgb_policy_mount(&policy, KGB_MOUNT_RO, KGB_TEST_GUEST, "/opt/guest");
	int rc = prepare(&policy, confinement, out[1], &sandbox, err) < 0
			 ? -1
			 : kgb_sandbox_spawn(&sandbox, &pid, err);
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
	    measure_starts(&ladder, n, &err) < 0 ||
	    measure_kill("kill", NULL, n / KILLS_SHARE + 1, n_processes, &err) < 0 ||
	    measure_kill("kill as an agent", &ladder.confinement, n / KILLS_SHARE + 1, n_processes,
			 &err) < 0) {
		kgb_log_err(&err);
		return KGB_EXIT_FAILURES;
	}
	return KGB_EXIT_OK;
}
