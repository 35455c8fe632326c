/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/policy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

enum { ID_INSIDE = 1000, COVER_BYTES = 4096 };
static const int64_t default_tmp_bytes = INT64_C(1) << 30;
static const int64_t default_shm_bytes = INT64_C(256) << 20;

void kgb_policy_init(struct kgb_policy *policy)
{
	*policy = (struct kgb_policy){
		.uid = ID_INSIDE,
		.gid = ID_INSIDE,
		.network = KGB_NETWORK_NONE,
	};
}

void kgb_policy_release(struct kgb_policy *policy)
{
	kgb_arena_release(&policy->arena);
	KGB_VEC_RELEASE(&policy->mounts);
	KGB_VEC_RELEASE(&policy->env);
	kgb_strv_release(&policy->argv);
	kgb_policy_init(policy);
}

void kgb_auto_policy(struct kgb_policy *policy)
{
	kgb_policy_release(policy);
}

static void add_mount(struct kgb_policy *policy, struct kgb_mount mount)
{
	if (mount.source)
		mount.source = kgb_arena_strdup(&policy->arena, mount.source);
	mount.target = kgb_arena_strdup(&policy->arena, mount.target);
	KGB_VEC_ADD(&policy->mounts, mount);
}

void kgb_policy_mount(struct kgb_policy *policy, enum kgb_mount_kind kind, const char *source,
		      const char *target)
{
	add_mount(policy, (struct kgb_mount){.kind = kind, .source = source, .target = target});
}

void kgb_policy_tmpfs(struct kgb_policy *policy, const char *target, int64_t size_bytes)
{
	add_mount(policy, (struct kgb_mount){.kind = KGB_MOUNT_TMPFS,
					     .target = target,
					     .size_bytes = size_bytes});
}

void kgb_policy_setenv(struct kgb_policy *policy, const char *name, const char *value)
{
	const char *copy = kgb_arena_strdup(&policy->arena, value);

	for (size_t i = 0; i < policy->env.n; i++) {
		if (kgb_str_eq(policy->env.items[i].name, name)) {
			policy->env.items[i].value = copy;
			return;
		}
	}
	KGB_VEC_ADD(&policy->env, (struct kgb_env){.name = kgb_arena_strdup(&policy->arena, name),
						   .value = copy});
}

const char *kgb_policy_getenv(const struct kgb_policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->env.n; i++)
		if (kgb_str_eq(policy->env.items[i].name, name))
			return policy->env.items[i].value;
	return NULL;
}

void kgb_policy_arg(struct kgb_policy *policy, const char *arg)
{
	kgb_strv_add(&policy->argv, arg);
}

void kgb_policy_set_cwd(struct kgb_policy *policy, const char *cwd)
{
	policy->cwd = kgb_arena_strdup(&policy->arena, cwd);
}

/* /bin, /lib ...: links into /usr on a merged-usr system, separate directories elsewhere. */
static int add_root_dirs(struct kgb_policy *policy, struct kgb_err *err)
{
	static const char *const names[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

	kgb_policy_mount(policy, KGB_MOUNT_RO, "/usr", "/usr");
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		struct stat st;
		if (lstat(names[i], &st) < 0) {
			if (errno == ENOENT)
				continue;
			return kgb_fail_errno(err, errno, "read the kind of '%s'", names[i]);
		}
		if (!S_ISLNK(st.st_mode)) {
			kgb_policy_mount(policy, KGB_MOUNT_RO, names[i], names[i]);
			continue;
		}
		char text[256];
		ssize_t len = readlink(names[i], text, sizeof(text) - 1);
		if (len < 0)
			return kgb_fail_errno(err, errno, "read link '%s'", names[i]);
		text[len] = '\0';
		kgb_policy_mount(policy, KGB_MOUNT_SYMLINK, text, names[i]);
	}
	return 0;
}

/* The files of /etc that programs need. Our versions replace files of the host that reveal its
 * users. Bind whole directories only where nothing is private: a sandbox started by root reads
 * files as their owner, so mode bits do not stop it. */
static void add_etc(struct kgb_policy *policy)
{
	static const char *const dirs[] = {"/etc/ld.so.conf.d", "/etc/alternatives",
					   "/etc/ssl/certs"};
	static const char *const files[] = {"/etc/ld.so.cache", "/etc/ld.so.conf",
					    "/etc/ssl/openssl.cnf"};
	KGB_AUTO(free)
	char *passwd = kgb_xasprintf("root:x:0:0:root:/:/usr/sbin/nologin\n"
				     "agent:x:%u:%u:agent:/home/agent:/bin/sh\n"
				     "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
				     policy->uid, policy->gid);
	KGB_AUTO(free)
	char *group = kgb_xasprintf("root:x:0:\nagent:x:%u:\nnogroup:x:65534:\n", policy->gid);

	kgb_policy_mount(policy, KGB_MOUNT_DIR, NULL, "/etc");
	kgb_policy_mount(policy, KGB_MOUNT_DIR, NULL, "/etc/ssl");
	for (size_t i = 0; i < KGB_ARRAY_LEN(dirs); i++)
		kgb_policy_mount(policy, KGB_MOUNT_RO_TRY, dirs[i], dirs[i]);
	for (size_t i = 0; i < KGB_ARRAY_LEN(files); i++)
		kgb_policy_mount(policy, KGB_MOUNT_COPY, files[i], files[i]);
	kgb_policy_mount(policy, KGB_MOUNT_DATA, passwd, "/etc/passwd");
	kgb_policy_mount(policy, KGB_MOUNT_DATA, group, "/etc/group");
	kgb_policy_mount(policy, KGB_MOUNT_DATA, "127.0.0.1 localhost\n::1 localhost\n",
			 "/etc/hosts");
	kgb_policy_mount(policy, KGB_MOUNT_DATA, "passwd: files\ngroup: files\nhosts: files\n",
			 "/etc/nsswitch.conf");
}

/* Entries that describe the host and no process inside needs (the list of container runtimes, and
 * more). */
static const char *const hidden_in_proc[] = {
	"acpi", "asound",   "interrupts",    "kallsyms",   "kcore",
	"keys", "kmsg",     "latency_stats", "pressure",   "sched_debug",
	"scsi", "slabinfo", "timer_list",    "vmallocinfo"};

static bool is_hidden_in_proc(const char *name)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(hidden_in_proc); i++)
		if (kgb_str_eq(name, hidden_in_proc[i]))
			return true;
	return false;
}

/* Mask only readable files: root reads everything, and each mount costs a seventh of a
 * millisecond. */
static void hide_in_proc(struct kgb_policy *policy)
{
	bool is_root = geteuid() == 0;

	for (size_t i = 0; i < KGB_ARRAY_LEN(hidden_in_proc); i++) {
		char path[64];
		struct stat st;
		(void)snprintf(path, sizeof(path), "/proc/%s", hidden_in_proc[i]);
		if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode) ||
		    !(is_root || st.st_mode & (S_IROTH | S_IWOTH)))
			continue;
		if (S_ISDIR(st.st_mode))
			kgb_policy_tmpfs(policy, path, COVER_BYTES);
		else
			kgb_policy_mount(policy, KGB_MOUNT_RO, "/dev/null", path);
	}
}

/* Make the entries that belong to no process read-only, one by one. */
static int cover_proc(struct kgb_policy *policy, struct kgb_err *err)
{
	bool is_root = geteuid() == 0;
	mode_t writable = is_root ? S_IWUSR | S_IWGRP | S_IWOTH : S_IWOTH;
	DIR *proc = opendir("/proc");

	if (!proc)
		return kgb_fail_errno(err, errno, "open '/proc'");
	for (struct dirent *entry; (entry = readdir(proc));) {
		const char *name = entry->d_name;
		char path[sizeof("/proc/") + sizeof(entry->d_name)];
		struct stat st;
		if (name[0] == '.' || (name[0] >= '0' && name[0] <= '9') ||
		    is_hidden_in_proc(name) ||
		    fstatat(dirfd(proc), name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s", name);
		/* Root owns the entries of directories. */
		if (st.st_mode & writable ||
		    (S_ISDIR(st.st_mode) && (is_root || kgb_str_eq(name, "sys"))))
			kgb_policy_mount(policy, KGB_MOUNT_RO, path, path);
	}
	closedir(proc);
	return 0;
}

/* The kernel's settings in /proc are writable for user id 0 by their mode bits alone, without any
 * capability, and not namespaced: core_pattern names a program that the kernel runs as root,
 * outside. A sandbox started by root has that user id, and bwrap 0.8 covers but a few of them. Seal
 * all of /proc at once where no process inside has to write there. */
static int protect_proc(struct kgb_policy *policy, struct kgb_err *err)
{
	hide_in_proc(policy);
	if (policy->allow_nested_userns)
		return cover_proc(policy, err);
	kgb_policy_mount(policy, KGB_MOUNT_SEAL, NULL, "/proc");
	return 0;
}

int kgb_policy_name_threads(struct kgb_policy *policy, struct kgb_err *err)
{
	for (size_t i = 0; i < policy->mounts.n; i++) {
		struct kgb_mount *mount = &policy->mounts.items[i];
		if (mount->kind != KGB_MOUNT_SEAL || !kgb_str_eq(mount->target, "/proc"))
			continue;
		memmove(mount, mount + 1, (policy->mounts.n - i - 1) * sizeof(*mount));
		policy->mounts.n--;
		return cover_proc(policy, err);
	}
	return 0;
}

int kgb_policy_base(struct kgb_policy *policy, const struct kgb_policy_base_spec *spec,
		    struct kgb_err *err)
{
	if (add_root_dirs(policy, err) < 0)
		return -1;
	add_etc(policy);
	kgb_policy_mount(policy, KGB_MOUNT_PROC, NULL, "/proc");
	if (protect_proc(policy, err) < 0)
		return -1;
	kgb_policy_mount(policy, KGB_MOUNT_DEVFS, NULL, "/dev");
	kgb_policy_tmpfs(policy, "/dev/shm", spec->shm_bytes ? spec->shm_bytes : default_shm_bytes);
	kgb_policy_mount(policy, KGB_MOUNT_SEAL, NULL, "/dev");
	kgb_policy_tmpfs(policy, "/tmp", spec->tmp_bytes ? spec->tmp_bytes : default_tmp_bytes);
	kgb_policy_mount(policy, KGB_MOUNT_DIR, NULL, "/run");
	kgb_policy_mount(policy, KGB_MOUNT_DIR, NULL, "/home");
	if (spec->home)
		kgb_policy_mount(policy, KGB_MOUNT_RW, spec->home, "/home/agent");
	else
		kgb_policy_tmpfs(policy, "/home/agent", default_shm_bytes);

	kgb_policy_setenv(policy, "HOME", "/home/agent");
	kgb_policy_setenv(policy, "USER", "agent");
	kgb_policy_setenv(policy, "LOGNAME", "agent");
	kgb_policy_setenv(policy, "PATH", "/usr/local/bin:/usr/bin:/bin");
	kgb_policy_setenv(policy, "TMPDIR", "/tmp");
	kgb_policy_setenv(policy, "LANG", "C.UTF-8");
	kgb_policy_setenv(policy, "TZ", "UTC");
	kgb_policy_set_cwd(policy, "/home/agent");
	return 0;
}

int kgb_policy_check_env(const char *name, struct kgb_err *err)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	if (!*name || strspn(name, letters) != strlen(name) || (*name >= '0' && *name <= '9'))
		return kgb_fail(err, KGB_ERR_INVALID,
				"sandbox: '%s' is not the name of an environment variable", name);
	/* The launcher and bwrap run with this environment too, outside of the sandbox. */
	if (kgb_str_starts(name, "LD_") || kgb_str_starts(name, "GCONV_") ||
	    kgb_str_eq(name, "GLIBC_TUNABLES"))
		return kgb_fail(
			err, KGB_ERR_DENIED,
			"sandbox: variable '%s' steers the dynamic loader and cannot be passed in",
			name);
	return 0;
}

static bool is_clean_path(const char *path)
{
	return path[0] == '/' && !strstr(path, "/../") && !kgb_str_ends(path, "/..");
}

static int check_mount(const struct kgb_mount *mount, struct kgb_err *err)
{
	bool is_bind = mount->kind == KGB_MOUNT_RO || mount->kind == KGB_MOUNT_RW ||
		       mount->kind == KGB_MOUNT_DEV;

	if (!is_clean_path(mount->target))
		return kgb_fail(err, KGB_ERR_INVALID,
				"sandbox: mount target '%s' is not a plain absolute path",
				mount->target);
	bool may_miss = mount->kind == KGB_MOUNT_RO_TRY || mount->kind == KGB_MOUNT_COPY;
	if ((is_bind || may_miss) && mount->source[0] != '/')
		return kgb_fail(err, KGB_ERR_INVALID,
				"sandbox: mount source '%s' is not an absolute path",
				mount->source);
	if (is_bind && access(mount->source, F_OK) < 0)
		return kgb_fail_errno(err, errno, "sandbox: mount '%s' at '%s'", mount->source,
				      mount->target);
	if (mount->kind == KGB_MOUNT_TMPFS && mount->size_bytes <= 0)
		return kgb_fail(err, KGB_ERR_INVALID, "sandbox: tmpfs '%s' has no size",
				mount->target);
	return 0;
}

/* Reject a file of data below a writable mount: its place must be sealed. */
static int check_data(const struct kgb_policy *policy, const struct kgb_mount *file,
		      struct kgb_err *err)
{
	for (size_t i = 0; i < policy->mounts.n; i++) {
		const struct kgb_mount *mount = &policy->mounts.items[i];
		size_t len = strlen(mount->target);
		if (mount->kind != KGB_MOUNT_DIR &&
		    strncmp(file->target, mount->target, len) == 0 && file->target[len] == '/')
			return kgb_fail(err, KGB_ERR_INVALID,
					"sandbox: the file '%s' would lie in the mount '%s'",
					file->target, mount->target);
	}
	return 0;
}

int kgb_policy_check(const struct kgb_policy *policy, struct kgb_err *err)
{
	if (policy->argv.n == 0 || !*policy->argv.items[0])
		return kgb_fail(err, KGB_ERR_INVALID, "sandbox: no command");
	if (policy->cwd && !is_clean_path(policy->cwd))
		return kgb_fail(err, KGB_ERR_INVALID,
				"sandbox: working directory '%s' is not a plain absolute path",
				policy->cwd);
	if (policy->network == KGB_NETWORK_LISTENER && policy->listen_port == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "sandbox: a listener needs a port");
	for (size_t i = 0; i < policy->env.n; i++)
		if (kgb_policy_check_env(policy->env.items[i].name, err) < 0)
			return -1;
	for (size_t i = 0; i < policy->mounts.n; i++) {
		const struct kgb_mount *mount = &policy->mounts.items[i];
		bool is_data = mount->kind == KGB_MOUNT_DATA || mount->kind == KGB_MOUNT_COPY;
		if (check_mount(mount, err) < 0 || (is_data && check_data(policy, mount, err) < 0))
			return -1;
	}
	return 0;
}
