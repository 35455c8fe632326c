/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/bare_policy.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/system/fs.h"

#define HOME_INSIDE "/home/agent"

/* What everybody needs of a host beyond the policy's mounts of /usr and the like. Not all of /dev,
 * no terminal of anybody, and of /proc nothing to write: the settings of the kernel are there. */
static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
				      "/dev/random", "/dev/urandom", "/dev/ptmx"};
static const char *const host_files[] = {"/etc/passwd", "/etc/group", "/etc/hosts",
					 "/etc/nsswitch.conf", "/etc/localtime"};

static const struct kgb_mount *home_of(const struct kgb_policy *policy)
{
	for (size_t i = 0; i < policy->mounts.n; i++)
		if (policy->mounts.items[i].kind == KGB_MOUNT_RW &&
		    kgb_str_eq(policy->mounts.items[i].target, HOME_INSIDE))
			return &policy->mounts.items[i];
	return NULL;
}

/* Where a mount lies on the host; malloc'ed, NULL for what has no place there. */
static char *place(const struct kgb_policy *policy, const struct kgb_mount *mount)
{
	const struct kgb_mount *home = home_of(policy);

	switch (mount->kind) {
	case KGB_MOUNT_RO:
	case KGB_MOUNT_RO_TRY:
	case KGB_MOUNT_RW:
	case KGB_MOUNT_DEV:
	case KGB_MOUNT_COPY:
		return kgb_str_starts(mount->target, "/proc/") ? NULL : kgb_xstrdup(mount->source);
	case KGB_MOUNT_TMPFS:
		if (!home || !kgb_str_eq(mount->target, "/tmp"))
			return NULL;
		return kgb_path_join(home->source, ".tmp");
	case KGB_MOUNT_DIR:
	case KGB_MOUNT_SYMLINK:
	case KGB_MOUNT_DATA:
	case KGB_MOUNT_PROC:
	case KGB_MOUNT_DEVFS:
	case KGB_MOUNT_SEAL:
		break;
	}
	return NULL;
}

/* The mount with the longest target that `text` begins with, as a whole name. */
static const struct kgb_mount *covering(const struct kgb_policy *policy, const char *text)
{
	const struct kgb_mount *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < policy->mounts.n; i++) {
		const char *target = policy->mounts.items[i].target;
		size_t len = strlen(target);
		if (len < best_len || strncmp(text, target, len) != 0 ||
		    !strchr("/:, \"'", text[len]))
			continue;
		best = &policy->mounts.items[i];
		best_len = len;
	}
	return best;
}

char *kgb_bare_translate(const struct kgb_policy *policy, const char *text)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	bool at_start = true;

	while (*text) {
		const struct kgb_mount *mount =
			at_start && *text == '/' ? covering(policy, text) : NULL;
		KGB_AUTO(free) char *real = mount ? place(policy, mount) : NULL;
		if (real) {
			kgb_buf_adds(&out, real);
			text += strlen(mount->target);
			at_start = false;
			continue;
		}
		at_start = strchr(":=, ", *text) != NULL;
		kgb_buf_addc(&out, *text++);
	}
	return kgb_buf_take(&out);
}

static void allow(struct kgb_strv *args, const char *option, const char *path)
{
	kgb_strv_add(args, option);
	kgb_strv_add(args, path);
}

static void add_rules(const struct kgb_policy *policy, struct kgb_strv *args)
{
	for (size_t i = 0; i < policy->mounts.n; i++) {
		const struct kgb_mount *mount = &policy->mounts.items[i];
		KGB_AUTO(free) char *real = place(policy, mount);
		bool writable = mount->kind == KGB_MOUNT_RW || mount->kind == KGB_MOUNT_TMPFS;
		if (real)
			allow(args,
			      writable                       ? "--rw"
			      : mount->kind == KGB_MOUNT_DEV ? "--dev"
							     : "--ro",
			      real);
		else if (mount->kind == KGB_MOUNT_SYMLINK) /* /bin, /lib */
			allow(args, "--ro", mount->target);
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(devices); i++)
		allow(args, "--dev", devices[i]);
	for (size_t i = 0; i < KGB_ARRAY_LEN(host_files); i++)
		allow(args, "--ro", host_files[i]);
	allow(args, "--ro", "/proc");
}

void kgb_bare_command(const struct kgb_policy *policy, int landlock_abi, struct kgb_strv *argv,
		      struct kgb_strv *confine_args)
{
	KGB_AUTO(free) char *cwd = kgb_bare_translate(policy, policy->cwd ? policy->cwd : "/");

	if (landlock_abi > 0) {
		kgb_strv_add(confine_args, "--landlock");
		kgb_strv_addf(confine_args, "%d", landlock_abi);
		kgb_strv_add(confine_args, "--connect");
		kgb_strv_addf(confine_args, "%u",
			      policy->network == KGB_NETWORK_HOST ? policy->listen_port : 0U);
		add_rules(policy, confine_args);
	}
	bool is_there = access(cwd, F_OK) == 0; /* not when it is a memory file system inside */
	allow(confine_args, "--chdir", is_there ? cwd : "/");
	for (size_t i = 0; i < confine_args->n; i++)
		kgb_strv_add(argv, confine_args->items[i]);
	kgb_strv_add(argv, "--");
	for (size_t i = 0; i < policy->argv.n; i++) {
		KGB_AUTO(free) char *word = kgb_bare_translate(policy, policy->argv.items[i]);
		kgb_strv_add(argv, word);
	}
}

int kgb_bare_make_dirs(const struct kgb_policy *policy, struct kgb_err *err)
{
	for (size_t i = 0; i < policy->mounts.n; i++) {
		if (policy->mounts.items[i].kind != KGB_MOUNT_TMPFS)
			continue;
		KGB_AUTO(free) char *real = place(policy, &policy->mounts.items[i]);
		if (real && kgb_fs_mkdirs(AT_FDCWD, real, 0700, err) < 0)
			return -1;
	}
	return 0;
}
