/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/ladder.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/isolation/cgroup.h"

enum { OUTPUT_MAX = 4096, TRIAL_TASKS = 16, ABI_MAX = 7 };
/* bytes: enough for sh and its pipe, too little for the data that the script keeps */
static const int64_t trial_memory = 16LL << 20;

/* Making a whiteout needs no privilege; Landlock rules without that right refuse it. */
static const char landlock_script[] = "mknod /tmp/x c 0 0 2>/dev/null && echo made; exit 0";
/* dd needs a buffer for the whole block, and no other task waits for memory meanwhile. Then the
 * script starts more tasks than allowed. */
static const char cgroup_script[] = "dd if=/dev/zero of=/dev/null bs=32M count=1 2>/dev/null; "
				    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; "
				    "do sleep 5 & done; wait";
static const char calls_script[] = "unshare -U true 2>/dev/null; exit 0";

/* The outcome of one trial. */
struct outcome {
	int rc;
	struct kgb_err err;
	struct kgb_sandbox_status status;
	struct kgb_buf output;
};

static void try(const struct kgb_sandbox_spec *programs, const struct kgb_confinement *confinement,
		const struct kgb_limits *limits, const char *script, struct outcome *out)
{
	struct kgb_sandbox_spec spec = *programs;
	KGB_AUTO(policy) struct kgb_policy policy;

	*out = (struct outcome){.err = KGB_ERR_INIT, .output = KGB_BUF_INIT(OUTPUT_MAX)};
	kgb_sandbox_status_init(&out->status);
	kgb_policy_init(&policy);
	if (limits)
		policy.limits = *limits;
	spec.confinement = confinement;
	out->rc =
		kgb_isolation__trial(&spec, &policy, script, &out->status, &out->output, &out->err);
}

static void release(struct outcome *out)
{
	kgb_sandbox_status_release(&out->status);
	kgb_buf_release(&out->output);
}

/* The highest version that both the kernel and kgb-confine support; 0 with errno: none. */
static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi <= 0)
		return 0;
	return abi < ABI_MAX ? (int)abi : ABI_MAX;
}

static void try_landlock(const struct kgb_sandbox_spec *spec, struct kgb_ladder *ladder)
{
	static const char fix[] =
		"a kernel from 5.13 on with CONFIG_SECURITY_LANDLOCK and `landlock` in lsm=";
	struct kgb_confinement only = {0};
	struct outcome out;
	int abi = landlock_abi();

	if (abi == 0) {
		(void)snprintf(ladder->no_landlock, sizeof(ladder->no_landlock),
			       "the kernel has no Landlock (%s): %s", strerrordesc_np(errno), fix);
		return;
	}
	only.landlock_abi = abi;
	try(spec, &only, NULL, landlock_script, &out);
	if (out.rc == 0 && !strstr(out.output.ptr, "made"))
		ladder->confinement.landlock_abi = only.landlock_abi;
	else
		(void)snprintf(ladder->no_landlock, sizeof(ladder->no_landlock), "%.180s",
			       out.rc == 0 ? "Landlock rules have no effect" : out.err.msg);
	release(&out);
}

static void try_calls(const struct kgb_sandbox_spec *spec, struct kgb_ladder *ladder)
{
	const struct kgb_confinement only = {.watch_calls = true};
	struct outcome out;

	try(spec, &only, NULL, calls_script, &out);
	ladder->confinement.watch_calls = out.rc == 0 && out.status.n_probes == 1 &&
					  kgb_str_eq(out.status.probes[0].name, "user_namespace");
	if (!ladder->confinement.watch_calls)
		(void)snprintf(ladder->no_calls, sizeof(ladder->no_calls),
			       "refused system calls cannot be recorded (needs Linux 5.0): %.120s",
			       out.rc == 0 ? "the trial recorded none" : out.err.msg);
	release(&out);
}

static void try_cgroup(const struct kgb_sandbox_spec *spec, struct kgb_ladder *ladder)
{
	const struct kgb_limits limits = {.n_tasks = TRIAL_TASKS, .memory_bytes = trial_memory};
	struct kgb_confinement only = {
		.landlock_abi = ladder->confinement.landlock_abi,
	};
	struct kgb_err err = KGB_ERR_INIT;
	struct outcome out;

	if (kgb_cgroup_find(&only, &err) < 0) {
		(void)snprintf(ladder->no_cgroup, sizeof(ladder->no_cgroup), "%s", err.msg);
		return;
	}
	try(spec, &only, &limits, cgroup_script, &out);
	if (out.status.n_oom_kills > 0 && kgb_str_eq(out.status.limit, "processes") &&
	    out.status.cgroup_empty == 1) {
		memcpy(ladder->confinement.cgroup_v2, only.cgroup_v2, sizeof(only.cgroup_v2));
		memcpy(ladder->confinement.cgroup_pids, only.cgroup_pids, sizeof(only.cgroup_pids));
		memcpy(ladder->confinement.cgroup_memory, only.cgroup_memory,
		       sizeof(only.cgroup_memory));
	} else {
		(void)snprintf(
			ladder->no_cgroup, sizeof(ladder->no_cgroup),
			"the limits of a trial cgroup do not hold (memory %s, tasks %s): %.150s",
			out.status.n_oom_kills > 0 ? "holds" : "does not",
			*out.status.limit ? "hold" : "do not", out.err.msg);
	}
	release(&out);
}

void kgb_ladder_probe(const char *launcher, const char *bwrap, struct kgb_ladder *out)
{
	const struct kgb_sandbox_spec spec = {.launcher = launcher, .bwrap = bwrap};
	struct kgb_err err = KGB_ERR_INIT;

	*out = (struct kgb_ladder){.level = KGB_ISOLATION_NONE};
	if (kgb_isolation_probe(launcher, bwrap, &out->info, &err) < 0) {
		(void)snprintf(out->no_sandbox, sizeof(out->no_sandbox), "%s", err.msg);
		return;
	}
	try_landlock(&spec, out);
	try_calls(&spec, out);
	try_cgroup(&spec, out);
	bool has_cgroup = *out->confinement.cgroup_v2 || *out->confinement.cgroup_pids;
	out->level = out->confinement.landlock_abi > 0 && has_cgroup ? KGB_ISOLATION_L4
								     : KGB_ISOLATION_L3;
}

int kgb_ladder_require(const struct kgb_ladder *ladder, enum kgb_isolation_level minimum,
		       struct kgb_err *err)
{
	const char *why = *ladder->no_sandbox    ? ladder->no_sandbox
			  : *ladder->no_landlock ? ladder->no_landlock
						 : ladder->no_cgroup;

	if (ladder->level >= minimum)
		return 0;
	return kgb_fail(err, KGB_ERR_DENIED, "isolation %s is required, this machine has %s: %s",
			kgb_isolation_level_name(minimum), kgb_isolation_level_name(ladder->level),
			why);
}

const char *kgb_ladder_cgroup_name(const struct kgb_ladder *ladder)
{
	if (*ladder->confinement.cgroup_v2)
		return "v2";
	return *ladder->confinement.cgroup_pids ? "v1" : "none";
}

void kgb_ladder_write(const struct kgb_ladder *ladder, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "{level: %s, bwrap: %s, landlock_abi: %d, cgroup: %s",
		      kgb_isolation_level_name(ladder->level),
		      *ladder->info.bwrap_version ? ladder->info.bwrap_version : NULL,
		      ladder->confinement.landlock_abi, kgb_ladder_cgroup_name(ladder));
	kgb_jsonw_put(w, "calls_watched: %hhd}", ladder->confinement.watch_calls);
}
