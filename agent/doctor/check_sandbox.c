/* SPDX-License-Identifier: MIT */
/** \file
 * Checks of the sandbox and of folders for files: each check tries the feature. */
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/devices/devices.h"
#include "agent/doctor/checks.h"
#include "base/mem.h"
#include "base/system/fs.h"

#define GIB ((double)((int64_t)1 << 30))
#define MIN_FREE_FILES 10000

enum {
	MAGIC_NFS = 0x6969,
	MAGIC_TMPFS = 0x01021994,
	MAGIC_SMB2 = (int)0xFE534D42,
	MAGIC_FUSE = 0x65735546
};

const struct kgb_ladder *kgb_checks_ladder(const struct kgb_cli *cli)
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

bool kgb_check_needs_sandbox(struct kgb_check_result *f)
{
	if (kgb_checks_ladder(f->cli)->level >= KGB_ISOLATION_L3)
		return false;
	kgb_found_fix(f, KGB_FAIL, "see the line `sandbox`", "not tried without a sandbox");
	return true;
}

void kgb_check_namespaces(struct kgb_check_result *f)
{
	const struct kgb_ladder *ladder = kgb_checks_ladder(f->cli);
	struct kgb_room room;
	kgb_room_find(f->cli, 1, &room);
	if (ladder->level < KGB_ISOLATION_L3)
		kgb_found_fix(f, KGB_FAIL, room.fits < 1 ? "see the line `limits`" : "", "%s",
			      ladder->no_sandbox);
	else
		kgb_found(f, KGB_PASS,
			  "bubblewrap %s: all namespaces, system-call filter; started in %lld ms",
			  ladder->info.bwrap_version, (long long)ladder->info.start_ms);
}

void kgb_check_network(struct kgb_check_result *f)
{
	const struct kgb_ladder *ladder = kgb_checks_ladder(f->cli);
	if (kgb_check_needs_sandbox(f))
		return;
	if (ladder->info.listener)
		kgb_found(f, KGB_PASS, "a socket of ours listens in an empty network namespace");
	else
		kgb_found(f, KGB_FAIL, "no socket can be made in an empty network namespace");
}

void kgb_check_nested(struct kgb_check_result *f)
{
	const struct kgb_ladder *ladder = kgb_checks_ladder(f->cli);
	if (kgb_check_needs_sandbox(f))
		return;
	if (ladder->info.nested_userns)
		kgb_found(f, KGB_PASS, "namespaces can be made inside of namespaces");
	else
		kgb_found(f, KGB_FAIL, "no namespaces can be made inside of namespaces");
}

void kgb_check_landlock(struct kgb_check_result *f)
{
	const struct kgb_ladder *ladder = kgb_checks_ladder(f->cli);
	if (kgb_check_needs_sandbox(f))
		return;
	if (ladder->confinement.landlock_abi > 0)
		kgb_found(f, KGB_PASS, "rules of version %d hold",
			  ladder->confinement.landlock_abi);
	else
		kgb_found(f, KGB_WARN, "%s", ladder->no_landlock);
}

void kgb_check_calls(struct kgb_check_result *f)
{
	const struct kgb_ladder *ladder = kgb_checks_ladder(f->cli);
	if (kgb_check_needs_sandbox(f))
		return;
	if (ladder->confinement.watch_calls)
		kgb_found(f, KGB_PASS, "a refused call was recorded with its name");
	else
		kgb_found(f, KGB_WARN, "%s", ladder->no_calls);
}

void kgb_check_cgroup(struct kgb_check_result *f)
{
	const struct kgb_ladder *ladder = kgb_checks_ladder(f->cli);
	if (kgb_check_needs_sandbox(f))
		return;
	if (!*ladder->no_cgroup)
		kgb_found(f, KGB_PASS,
			  "cgroup %s: limits of memory and processes hold, tried with both",
			  kgb_ladder_cgroup_name(ladder));
	else
		kgb_found(f, KGB_WARN, "limits are checked once a second instead: %s",
			  ladder->no_cgroup);
}

void kgb_check_isolation(struct kgb_check_result *f)
{
	const struct kgb_ladder *ladder = kgb_checks_ladder(f->cli);
	enum kgb_isolation_level minimum =
		(enum kgb_isolation_level)f->cli->config.settings.sandbox.isolation;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_ladder_require(ladder, minimum, &err) < 0)
		kgb_found_fix(f, KGB_FAIL,
			      ladder->level >= KGB_ISOLATION_L3 ? ""
			      : f->quick ? "`kgb-agent doctor` tries each wall"
					 : "see the line `sandbox`",
			      "%s", err.msg);
	else
		kgb_found(f, KGB_PASS, "level %s (%s is required)",
			  kgb_isolation_level_name(ladder->level),
			  kgb_isolation_level_name(minimum));
}

void kgb_check_kill(struct kgb_check_result *f)
{
	KGB_AUTO(fd) int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (fd < 0 || syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) < 0)
		kgb_found(f, KGB_FAIL, "processes cannot be held by descriptors (pidfd): %s",
			  strerrordesc_np(errno));
	else if (access("/proc/self/ns/pid", R_OK) < 0)
		kgb_found_fix(f, KGB_FAIL, "mount /proc", "/proc does not show namespaces: %s",
			      strerrordesc_np(errno));
	else
		kgb_found(f, KGB_PASS,
			  "processes are signalled by descriptors and counted by their namespace");
}

char *kgb_checks_existing_parent(const struct kgb_cli *cli)
{
	char *dir = kgb_config_runs(&cli->config);
	while (!kgb_fs_exists(AT_FDCWD, dir)) {
		char *slash = strrchr(dir, '/');
		if (!slash || slash == dir) {
			kgb_free(dir);
			return kgb_xstrdup("/");
		}
		*slash = '\0';
	}
	return dir;
}

void kgb_check_runs(struct kgb_check_result *f)
{
	KGB_AUTO(free) char *runs = kgb_config_runs(&f->cli->config);
	KGB_AUTO(free) char *dir = kgb_checks_existing_parent(f->cli);
	KGB_AUTO(free) char *trial = kgb_path_join(dir, ".kgb-doctor.XXXXXX");
	struct statvfs fs;
	/* Create and remove a file: the mode bits let root write anywhere. */
	if (!mkdtemp(trial) || rmdir(trial) < 0 || statvfs(dir, &fs) < 0) {
		kgb_found(f, KGB_FAIL, "'%s' cannot be written: %s", dir, strerror(errno));
		return;
	}
	double free_gib = (double)fs.f_bavail * (double)fs.f_frsize / GIB;
	bool enough = free_gib >= 1 && (fs.f_files == 0 || fs.f_favail > MIN_FREE_FILES);
	kgb_found_fix(f, enough ? KGB_PASS : KGB_WARN,
		      enough ? "" : "free some space, or name another place with --runs-dir",
		      "%s: %.1f GiB free", runs, free_gib);
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

void kgb_check_disk(struct kgb_check_result *f)
{
	const struct kgb_settings *settings = &f->cli->config.settings;
	KGB_AUTO(free) char *dir = kgb_checks_existing_parent(f->cli);
	struct statvfs room;
	struct statfs kind;
	if (statvfs(dir, &room) < 0 || statfs(dir, &kind) < 0) {
		kgb_found(f, KGB_WARN, "'%s': %s", dir, strerrordesc_np(errno));
		return;
	}
	double free_gib = (double)room.f_bavail * (double)room.f_frsize / GIB;
	double needed_gib =
		(double)settings->sandbox.disk * (double)settings->run.device_count / GIB;
	const char *bad = bad_file_system(kind.f_type);
	if (bad)
		kgb_found_fix(f, KGB_WARN, "--runs-dir on a local disk",
			      "%s is on %s: locks and the journal are not safe there", dir, bad);
	else
		kgb_found(f, free_gib < needed_gib ? KGB_WARN : KGB_PASS,
			  "%.1f GiB free; %lld attempts at a time may write %.1f GiB", free_gib,
			  (long long)settings->run.device_count, needed_gib);
}

void kgb_check_memory(struct kgb_check_result *f)
{
	const struct kgb_settings *settings = &f->cli->config.settings;
	double total_gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / GIB;
	double needed_gib =
		(double)settings->sandbox.memory * (double)settings->run.device_count / GIB;
	kgb_found(f, total_gib < needed_gib ? KGB_WARN : KGB_PASS,
		  "%.1f GiB in this machine; %lld attempts at a time may use %.1f GiB", total_gib,
		  (long long)settings->run.device_count, needed_gib);
}

void kgb_check_gpu_policy(struct kgb_check_result *f)
{
	if (f->cli->config.settings.sandbox.gpu == KGB_SANDBOX_GPU_NONE)
		kgb_found(f, KGB_PASS, "agents see no GPU (sandbox.gpu is none)");
	else if (kgb_gpu_count() == 0)
		kgb_found(f, KGB_WARN, "sandbox.gpu is agent, but there is no NVIDIA GPU here");
	else
		kgb_found(
			f, KGB_WARN,
			"each agent sees the GPU on which its kernels are timed: it can disturb the timing of its own");
}
