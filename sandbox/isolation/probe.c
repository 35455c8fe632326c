/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/probe.h"

#include <signal.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/proc.h"
#include "base/time.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/status.h"

enum { OUTPUT_MAX = 4096, LIMIT_MS = 30000, PROBE_PORT = 8123, PROBE_TMP_BYTES = 1 << 20 };

/* Prints the kernel's state of the filter, with builtins of sh only. */
static const char seccomp_script[] = "while read -r key value; do "
				     "[ \"$key\" != Seccomp: ] || echo \"seccomp $value\"; "
				     "done </proc/self/status; exit 0";

static const char *const level_names[] = {
	[KGB_ISOLATION_L3] = "L3",
	[KGB_ISOLATION_L4] = "L4",
};

const char *kgb_isolation_level_name(enum kgb_isolation_level level)
{
	if (level == KGB_ISOLATION_NONE)
		return "none";
	KGB_ASSERT((size_t)level < KGB_ARRAY_LEN(level_names));
	return level_names[level];
}

/* Fail with bwrap's first line, or else with the exit status. */
static int refuse(const struct kgb_sandbox_status *status, const struct kgb_buf *output,
		  int exit_code, struct kgb_err *err)
{
	const char *hint =
		"user namespaces must be allowed (sysctl kernel.unprivileged_userns_clone=1, "
		"kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces>0; in a container: "
		"run it with a seccomp profile that permits them)";
	int len = (int)strcspn(output->ptr, "\n");

	if (status->error[0])
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "sandbox: %s: %s", status->error, hint);
	if (len > 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "sandbox: %.*s: %s",
				len > 120 ? 120 : len, output->ptr, hint);
	return kgb_fail(err, KGB_ERR_UNAVAILABLE, "sandbox: the trial ended with status %d: %s",
			exit_code, hint);
}

int kgb_isolation__trial(const struct kgb_sandbox_spec *base, struct kgb_policy *policy,
			 const char *script, struct kgb_sandbox_status *status,
			 struct kgb_buf *output, struct kgb_err *err)
{
	struct kgb_sandbox_spec spec = *base;
	const struct kgb_policy_base_spec base_spec = {.tmp_bytes = PROBE_TMP_BYTES,
						       .shm_bytes = PROBE_TMP_BYTES};
	int exit_code;

	if (kgb_policy_base(policy, &base_spec, err) < 0)
		return -1;
	kgb_policy_arg(policy, "/bin/sh");
	kgb_policy_arg(policy, "-c");
	kgb_policy_arg(policy, script);
	spec.policy = policy;
	spec.stdio[0] = -1;
	if (kgb_sandbox_run(&spec, true, LIMIT_MS, output, status, &exit_code, err) < 0) {
		if (err && err->kind == KGB_ERR_TIMEOUT)
			err->kind = KGB_ERR_UNAVAILABLE;
		return -1;
	}
	return exit_code == 0 && status->tree_empty && status->exit_code == 0
		       ? 0
		       : refuse(status, output, exit_code, err);
}

/* The same for callers that need the output alone. */
static int trial(const struct kgb_sandbox_spec *base, struct kgb_policy *policy, const char *script,
		 struct kgb_buf *output, struct kgb_err *err)
{
	struct kgb_sandbox_status status;

	kgb_sandbox_status_init(&status);
	int rc = kgb_isolation__trial(base, policy, script, &status, output, err);
	kgb_sandbox_status_release(&status);
	return rc;
}

/* `bwrap --version` prints "bubblewrap 0.8.0". */
static int read_version(struct kgb_isolation_info *info, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf output = KGB_BUF_INIT(OUTPUT_MAX);
	const char *const argv[] = {info->bwrap_path, "--version", NULL};
	const char *const no_env[] = {NULL};
	const struct kgb_proc_spec spec = {.argv = argv,
					   .env = no_env,
					   .capture_fd = STDOUT_FILENO,
					   .limit = OUTPUT_MAX,
					   .timeout_ms = LIMIT_MS};
	struct kgb_proc_end end = {0};

	int rc = kgb_proc_run(&spec, &output, &end, NULL);
	if (end.interrupted)
		raise(end.interrupted);
	const char *word = strchr(output.ptr, ' ');
	if (rc < 0 || !kgb_str_starts(output.ptr, "bubblewrap ") || !word)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"sandbox: '%s --version' does not name bubblewrap",
				info->bwrap_path);
	word++;
	(void)snprintf(info->bwrap_version, sizeof(info->bwrap_version), "%.*s",
		       (int)strcspn(word, "\n"), word);
	return 0;
}

static bool try_listener(const struct kgb_sandbox_spec *spec)
{
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(buf) struct kgb_buf output = KGB_BUF_INIT(OUTPUT_MAX);

	kgb_policy_init(&policy);
	policy.network = KGB_NETWORK_LISTENER;
	policy.listen_port = PROBE_PORT;
	return trial(spec, &policy, "true", &output, NULL) == 0;
}

static bool try_nested(const struct kgb_sandbox_spec *spec)
{
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(buf) struct kgb_buf output = KGB_BUF_INIT(OUTPUT_MAX);

	kgb_policy_init(&policy);
	policy.allow_nested_userns = true;
	return trial(spec, &policy,
		     "unshare --user --map-current-user --mount --pid --fork --ipc --net true",
		     &output, NULL) == 0;
}

int kgb_isolation_probe(const char *launcher, const char *bwrap, struct kgb_isolation_info *out,
			struct kgb_err *err)
{
	const struct kgb_sandbox_spec spec = {.launcher = launcher, .bwrap = bwrap};
	struct kgb_isolation_info info = {.level = KGB_ISOLATION_NONE};
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(buf) struct kgb_buf output = KGB_BUF_INIT(OUTPUT_MAX);
	KGB_AUTO(free) char *path = kgb_sandbox_find_bwrap(bwrap, err);

	kgb_policy_init(&policy);
	if (!path)
		return -1;
	(void)snprintf(info.bwrap_path, sizeof(info.bwrap_path), "%s", path);
	if (read_version(&info, err) < 0)
		return -1;
	int64_t start_ms = kgb_mono_ms();
	if (trial(&spec, &policy, seccomp_script, &output, err) < 0)
		return -1;
	info.start_ms = kgb_mono_ms() - start_ms;
	info.seccomp = strstr(output.ptr, "seccomp 2") != NULL;
	if (!info.seccomp)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"sandbox: the kernel did not take the seccomp filter: it needs CONFIG_SECCOMP_FILTER");
	info.listener = try_listener(&spec);
	info.nested_userns = try_nested(&spec);
	info.level = KGB_ISOLATION_L3;
	*out = info;
	return 0;
}

void kgb_isolation_write(const struct kgb_isolation_info *info, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "{level: %s, bwrap_version: %s, seccomp: %hhd, listener: %hhd",
		      kgb_isolation_level_name(info->level),
		      info->bwrap_version[0] ? info->bwrap_version : NULL, info->seccomp,
		      info->listener);
	kgb_jsonw_put(w, "nested_userns: %hhd}", info->nested_userns);
}

bool kgb_isolation_read(const cJSON *node, struct kgb_isolation_info *out)
{
	const char *level = kgb_json_str(node, "level", NULL);
	const char *version = kgb_json_str(node, "bwrap_version", "");

	for (size_t i = 0; level && i < KGB_ARRAY_LEN(level_names); i++) {
		if (!kgb_str_eq(level, level_names[i]))
			continue;
		*out = (struct kgb_isolation_info){
			.level = (enum kgb_isolation_level)i,
			.seccomp = kgb_json_bool(node, "seccomp", false),
			.listener = kgb_json_bool(node, "listener", false),
			.nested_userns = kgb_json_bool(node, "nested_userns", false),
		};
		(void)snprintf(out->bwrap_version, sizeof(out->bwrap_version), "%s", version);
		return true;
	}
	return false;
}
