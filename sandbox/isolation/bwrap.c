/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/bwrap.h"

static void add_mount_args(struct kgb_strv *argv, const struct kgb_mount *mount,
			   const int **data_fds)
{
	static const char *const options[] = {
		[KGB_MOUNT_RO] = "--ro-bind",      [KGB_MOUNT_RO_TRY] = "--ro-bind-try",
		[KGB_MOUNT_RW] = "--bind",         [KGB_MOUNT_DEV] = "--dev-bind",
		[KGB_MOUNT_TMPFS] = "--tmpfs",     [KGB_MOUNT_DIR] = "--dir",
		[KGB_MOUNT_SYMLINK] = "--symlink", [KGB_MOUNT_DATA] = "--file",
		[KGB_MOUNT_COPY] = "--file",       [KGB_MOUNT_PROC] = "--proc",
		[KGB_MOUNT_DEVFS] = "--dev",       [KGB_MOUNT_SEAL] = "--remount-ro",
	};

	if (mount->kind == KGB_MOUNT_DATA || mount->kind == KGB_MOUNT_COPY) {
		int fd = *(*data_fds)++;
		if (fd < 0)
			return;
		KGB_STRV_ADD(argv, "--perms", "0444", options[mount->kind]);
		kgb_strv_addf(argv, "%d", fd);
	} else if (mount->kind == KGB_MOUNT_TMPFS) {
		kgb_strv_add(argv, "--size");
		kgb_strv_addf(argv, "%lld", (long long)mount->size_bytes);
		kgb_strv_add(argv, options[mount->kind]);
	} else {
		KGB_STRV_ADD(argv, options[mount->kind], mount->source);
	}
	kgb_strv_add(argv, mount->target);
}

/* Path of kgb-confine inside. */
#define CONFINER_INSIDE "/opt/kgb/confine"

/* The option that grants the rights of a mount; NULL for kinds that need none. */
static const char *confine_option(const struct kgb_mount *mount)
{
	static const char *const options[] = {
		[KGB_MOUNT_RO] = "--ro",     [KGB_MOUNT_RO_TRY] = "--ro",
		[KGB_MOUNT_DATA] = "--ro",   [KGB_MOUNT_COPY] = "--ro",
		[KGB_MOUNT_DIR] = "--ro",    [KGB_MOUNT_RW] = "--rw",
		[KGB_MOUNT_TMPFS] = "--rw",  [KGB_MOUNT_DEV] = "--dev",
		[KGB_MOUNT_DEVFS] = "--dev", [KGB_MOUNT_PROC] = "--dev",
		[KGB_MOUNT_SYMLINK] = NULL,  [KGB_MOUNT_SEAL] = NULL,
	};

	/* Mounts over parts of /proc are read-only by themselves. */
	return kgb_str_starts(mount->target, "/proc/") ? NULL : options[mount->kind];
}

void kgb_confine_args(const struct kgb_policy *policy, int landlock_abi, struct kgb_strv *args)
{
	if (landlock_abi == 0)
		return;
	kgb_strv_add(args, "--landlock");
	kgb_strv_addf(args, "%d", landlock_abi);
	KGB_STRV_ADD(args, "--list", "/", "--ro", CONFINER_INSIDE);
	for (size_t i = 0; i < policy->mounts.n; i++) {
		const char *option = confine_option(&policy->mounts.items[i]);
		if (!option)
			continue;
		KGB_STRV_ADD(args, option, policy->mounts.items[i].target);
	}
}

void kgb_bwrap_argv(const struct kgb_policy *policy, const struct kgb_bwrap_options *options,
		    struct kgb_strv *argv)
{
	const int *data_fds = options->data_fds;
	static const char *const always[] = {
		"--unshare-user",       "--unshare-pid",     "--unshare-ipc", "--unshare-uts",
		"--unshare-cgroup-try", "--die-with-parent", "--new-session", NULL};

	kgb_strv_add(argv, options->bwrap);
	kgb_strv_add_all(argv, always);
	/* With a listener the launcher has made the network namespace, so that the socket is in it.
	 */
	if (policy->network == KGB_NETWORK_NONE)
		kgb_strv_add(argv, "--unshare-net");
	kgb_strv_add(argv, "--uid");
	kgb_strv_addf(argv, "%u", policy->uid);
	kgb_strv_add(argv, "--gid");
	kgb_strv_addf(argv, "%u", policy->gid);
	KGB_STRV_ADD(argv, "--hostname", policy->hostname ? policy->hostname : "kgb");
	if (options->status_fd >= 0) {
		kgb_strv_add(argv, "--json-status-fd");
		kgb_strv_addf(argv, "%d", options->status_fd);
	}
	/* kgb-confine installs the filter itself, to have its listener, and is the first process.
	 */
	if (options->confiner) {
		kgb_strv_add(argv, "--as-pid-1");
	} else if (options->seccomp_fd >= 0) {
		kgb_strv_add(argv, "--seccomp");
		kgb_strv_addf(argv, "%d", options->seccomp_fd);
	}
	/* A later call may add mounts below a sealed one: seals come last. */
	for (size_t i = 0; i < policy->mounts.n; i++)
		if (policy->mounts.items[i].kind != KGB_MOUNT_SEAL)
			add_mount_args(argv, &policy->mounts.items[i], &data_fds);
	for (size_t i = 0; i < policy->mounts.n; i++)
		if (policy->mounts.items[i].kind == KGB_MOUNT_SEAL)
			add_mount_args(argv, &policy->mounts.items[i], &data_fds);
	if (options->confiner) {
		KGB_STRV_ADD(argv, "--ro-bind", options->confiner, CONFINER_INSIDE);
	}
	/* The root is a tmpfs without a size: no process inside may fill it. */
	KGB_STRV_ADD(argv, "--remount-ro", "/", "--chdir", policy->cwd ? policy->cwd : "/", "--");
	if (options->confiner) {
		kgb_strv_add(argv, CONFINER_INSIDE);
		kgb_strv_add_all(argv, (const char *const *)options->confine_args->items);
		kgb_strv_add(argv, "--");
	}
	kgb_strv_add_all(argv, (const char *const *)policy->argv.items);
}
