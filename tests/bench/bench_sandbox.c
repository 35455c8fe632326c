/* SPDX-License-Identifier: MIT */
/** \file
 * How long a sandbox takes: from the policy to the launcher's end, the program being `true`.
 *
 *     bench_sandbox [N]
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/isolation/bwrap.h"

enum { RUNS_DEFAULT = 100, RUNS_MAX = 100000, PORT = 8123 };

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* One sandbox with the base policy. */
static int run_once(enum kgb_network network, int64_t *out_prepare_ns, int64_t *out_total_ns,
		    struct kgb_err *err)
{
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(sandbox) struct kgb_sandbox sandbox = KGB_SANDBOX_INIT;
	const struct kgb_sandbox_spec spec = {.policy = &policy,
					      .launcher = KGB_TEST_BIN_DIR "/kgb-launch",
					      .stdio = {-1, -1, 2}};
	int64_t start_ns = kgb_mono_ns();
	int status;
	pid_t pid;

	kgb_policy_init(&policy);
	policy.network = network;
	policy.listen_port = PORT;
	kgb_policy_arg(&policy, "true");
	if (kgb_policy_base(&policy, &(struct kgb_policy_base_spec){0}, err) < 0 ||
	    kgb_sandbox_prepare(&sandbox, &spec, err) < 0)
		return -1;
	*out_prepare_ns = kgb_mono_ns() - start_ns;
	if (kgb_sandbox_spawn(&sandbox, &pid, err) < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	*out_total_ns = kgb_mono_ns() - start_ns;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return kgb_fail(err, KGB_ERR_FAILED, "the sandbox ended with wait status %d",
				status);
	return 0;
}

static double milliseconds(int64_t ns)
{
	return (double)ns / 1e6;
}

static int measure(const char *name, enum kgb_network network, int64_t n, struct kgb_err *err)
{
	KGB_AUTO(free) int64_t *prepare_ns = kgb_xcalloc((size_t)n, sizeof(*prepare_ns));
	KGB_AUTO(free) int64_t *total_ns = kgb_xcalloc((size_t)n, sizeof(*total_ns));

	for (int64_t i = 0; i < n; i++)
		if (run_once(network, &prepare_ns[i], &total_ns[i], err) < 0)
			return -1;
	qsort(prepare_ns, (size_t)n, sizeof(*prepare_ns), compare);
	qsort(total_ns, (size_t)n, sizeof(*total_ns), compare);
	printf("%-9s median %.2f ms, best %.2f ms, p90 %.2f ms; of this preparing %.2f ms (%lld runs)\n",
	       name, milliseconds(total_ns[n / 2]), milliseconds(total_ns[0]),
	       milliseconds(total_ns[n * 9 / 10]), milliseconds(prepare_ns[n / 2]), (long long)n);
	return 0;
}

int main(int argc, char **argv)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t n = RUNS_DEFAULT;

	kgb_log_init("bench_sandbox", KGB_LOG_INFO);
	if ((argc > 1 && kgb_parse_i64(argv[1], 1, RUNS_MAX, &n, &err) < 0) ||
	    measure("none", KGB_NETWORK_NONE, n, &err) < 0 ||
	    measure("listener", KGB_NETWORK_LISTENER, n, &err) < 0) {
		kgb_log_err(&err);
		return KGB_EXIT_FAILURES;
	}
	return KGB_EXIT_OK;
}
