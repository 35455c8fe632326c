/* SPDX-License-Identifier: MIT */
/** \file
 * `doctor`'s lines on what holds an agent: each was tried, not looked up.
 */
#include <errno.h>
#include <signal.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/devices/devices.h"
#include "agent/doctor/doctor.h"
#include "base/mem.h"
#include "base/system/fs.h"

#define USERNS_FIX                                                                                        \
	"sudo sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0; " \
	"in a container: run it with a seccomp profile that permits user namespaces"
#define CGROUP_FIX \
	"systemd-run --user --scope -p Delegate=yes kgb-agent ...; in a container: mount cgroups writable"
#define GIB ((double)((int64_t)1 << 30))

enum {
	MAGIC_NFS = 0x6969,
	MAGIC_TMPFS = 0x01021994,
	MAGIC_SMB2 = (int)0xFE534D42,
	MAGIC_FUSE = 0x65735546
};

const struct kgb_ladder *kgb_doctor_ladder(const struct kgb_cli *cli)
{
	static struct kgb_ladder ladder;
	static bool is_tried;
	if (!is_tried) {
		KGB_AUTO(free) char *launcher = kgb_path_join(cli->bin_dir, "kgb-launch");
		kgb_ladder_probe(launcher, NULL, &ladder);
		is_tried = true;
	}
	return &ladder;
}

/** Lines that say nothing more once there is no sandbox at all. */
static bool needs_sandbox(const struct kgb_ladder *ladder, struct kgb_doctor_finding *f)
{
	if (ladder->level >= KGB_ISOLATION_L3)
		return false;
	kgb_doctor_finding_set(f, KGB_FAIL, "see the line `sandbox`",
			       "not tried without a sandbox");
	return true;
}

void kgb_check_namespaces(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_ladder *ladder = kgb_doctor_ladder(cli);
	if (ladder->level < KGB_ISOLATION_L3)
		kgb_doctor_finding_set(f, KGB_FAIL, "sudo apt-get install bubblewrap; " USERNS_FIX,
				       "%s", ladder->no_sandbox);
	else
		kgb_doctor_finding_set(
			f, KGB_PASS, "",
			"bubblewrap %s: all namespaces, system-call filter; started in %lld ms",
			ladder->info.bwrap_version, (long long)ladder->info.start_ms);
}

void kgb_check_network(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_ladder *ladder = kgb_doctor_ladder(cli);
	if (needs_sandbox(ladder, f))
		return;
	if (ladder->info.listener)
		kgb_doctor_finding_set(f, KGB_PASS, "",
				       "a socket of ours listens in an empty network namespace");
	else
		kgb_doctor_finding_set(f, KGB_FAIL, USERNS_FIX,
				       "no socket can be made in an empty network namespace");
}

void kgb_check_nested(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_ladder *ladder = kgb_doctor_ladder(cli);
	if (needs_sandbox(ladder, f))
		return;
	if (ladder->info.nested_userns)
		kgb_doctor_finding_set(f, KGB_PASS, "",
				       "namespaces can be made inside of namespaces");
	else
		kgb_doctor_finding_set(f, KGB_FAIL, "sudo sysctl user.max_user_namespaces=10000",
				       "no namespaces can be made inside of namespaces");
}

void kgb_check_landlock(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_ladder *ladder = kgb_doctor_ladder(cli);
	if (ladder->confinement.landlock_abi > 0)
		kgb_doctor_finding_set(f, KGB_PASS, "", "rules of version %d hold",
				       ladder->confinement.landlock_abi);
	else
		kgb_doctor_finding_set(
			f, KGB_WARN,
			"boot a kernel with CONFIG_SECURITY_LANDLOCK=y and lsm=landlock,...", "%s",
			ladder->no_landlock);
}

void kgb_check_calls(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_ladder *ladder = kgb_doctor_ladder(cli);
	if (needs_sandbox(ladder, f))
		return;
	if (ladder->confinement.watch_calls)
		kgb_doctor_finding_set(f, KGB_PASS, "", "a refused call was seen and named");
	else
		kgb_doctor_finding_set(
			f, KGB_WARN,
			"Linux 5.0 or later; in a container: a seccomp profile that permits seccomp(2)",
			"%s", ladder->no_calls);
}

void kgb_check_cgroup(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_ladder *ladder = kgb_doctor_ladder(cli);
	if (!*ladder->no_cgroup)
		kgb_doctor_finding_set(
			f, KGB_PASS, "",
			"cgroup %s: limits of memory and processes hold, tried with both",
			kgb_ladder_cgroup_name(ladder));
	else
		kgb_doctor_finding_set(f, KGB_WARN, CGROUP_FIX,
				       "limits are kept by looking each second instead: %s",
				       ladder->no_cgroup);
}

void kgb_check_isolation(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_ladder *ladder = kgb_doctor_ladder(cli);
	enum kgb_isolation_level minimum =
		(enum kgb_isolation_level)cli->config.settings.sandbox.isolation;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_ladder_require(ladder, minimum, &err) < 0)
		kgb_doctor_finding_set(f, KGB_FAIL,
				       "what the lines above say, or a lower --isolation", "%s",
				       err.msg);
	else
		kgb_doctor_finding_set(f, KGB_PASS, "", "level %s (%s is asked for)",
				       kgb_isolation_level_name(ladder->level),
				       kgb_isolation_level_name(minimum));
}

void kgb_check_kill(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	(void)cli;
	KGB_AUTO(fd) int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (fd < 0 || syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) < 0)
		kgb_doctor_finding_set(f, KGB_FAIL, "Linux 5.3 or later",
				       "processes cannot be held by descriptors (pidfd): %s",
				       strerrordesc_np(errno));
	else if (access("/proc/self/ns/pid", R_OK) < 0)
		kgb_doctor_finding_set(f, KGB_FAIL, "mount /proc",
				       "/proc does not show namespaces: %s",
				       strerrordesc_np(errno));
	else
		kgb_doctor_finding_set(
			f, KGB_PASS, "",
			"processes are signalled by descriptors and counted by their namespace");
}

static const char *bad_file_system(long type)
{
	switch ((int)type) {
	case MAGIC_NFS:
		return "NFS";
	case MAGIC_SMB2:
		return "SMB";
	case MAGIC_FUSE:
		return "FUSE";
	case MAGIC_TMPFS:
		return "tmpfs, which is memory";
	default:
		return NULL;
	}
}

void kgb_check_disk(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_settings *settings = &cli->config.settings;
	KGB_AUTO(free) char *runs = kgb_config_runs(&cli->config);
	KGB_AUTO(free) char *dir = kgb_doctor_existing_parent(runs);
	struct statvfs room;
	struct statfs kind;
	if (statvfs(dir, &room) < 0 || statfs(dir, &kind) < 0) {
		kgb_doctor_finding_set(f, KGB_WARN, "", "'%s': %s", dir, strerrordesc_np(errno));
		return;
	}
	double free_gib = (double)room.f_bavail * (double)room.f_frsize / GIB;
	double needed_gib =
		(double)settings->sandbox.disk * (double)settings->run.device_count / GIB;
	const char *bad = bad_file_system(kind.f_type);
	if (bad)
		kgb_doctor_finding_set(f, KGB_WARN, "--runs-dir on a local disk",
				       "%s is on %s: locks and the journal are not safe there", dir,
				       bad);
	else if (free_gib < needed_gib)
		kgb_doctor_finding_set(f, KGB_WARN,
				       "free some space, or lower sandbox.disk or --device-count",
				       "%.1f GiB free; %lld attempts at a time may write %.1f GiB",
				       free_gib, (long long)settings->run.device_count, needed_gib);
	else
		kgb_doctor_finding_set(
			f, KGB_PASS, "",
			"%.1f GiB free, %.1f GiB may be written by attempts at a time", free_gib,
			needed_gib);
}

void kgb_check_memory(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	const struct kgb_settings *settings = &cli->config.settings;
	double total_gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / GIB;
	double needed_gib =
		(double)settings->sandbox.memory * (double)settings->run.device_count / GIB;
	if (total_gib < needed_gib)
		kgb_doctor_finding_set(
			f, KGB_WARN, "lower sandbox.memory or --device-count",
			"%.1f GiB in this machine; %lld attempts at a time may use %.1f GiB",
			total_gib, (long long)settings->run.device_count, needed_gib);
	else
		kgb_doctor_finding_set(f, KGB_PASS, "",
				       "%.1f GiB, %.1f GiB may be used by attempts at a time",
				       total_gib, needed_gib);
}

void kgb_check_gpu_policy(const struct kgb_cli *cli, struct kgb_doctor_finding *f)
{
	if (cli->config.settings.sandbox.gpu == KGB_SANDBOX_GPU_NONE)
		kgb_doctor_finding_set(f, KGB_PASS, "", "agents see no GPU (sandbox.gpu is none)");
	else if (kgb_gpu_count() == 0)
		kgb_doctor_finding_set(f, KGB_WARN, "--set sandbox.gpu=none",
				       "sandbox.gpu is agent, but there is no NVIDIA GPU here");
	else
		kgb_doctor_finding_set(
			f, KGB_WARN, "--set sandbox.gpu=none",
			"each agent sees the GPU on which its kernels are timed: it can disturb the timing of its own");
}
