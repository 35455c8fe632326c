/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/bwrap.h"

static void add_mount_args(struct kgb_strv *argv, const struct kgb_mount *mount,
			   const int **data_fds)
{
	static const char *const bind_options[] = {
		[KGB_MOUNT_RO] = "--ro-bind",
		[KGB_MOUNT_RO_TRY] = "--ro-bind-try",
		[KGB_MOUNT_RW] = "--bind",
		[KGB_MOUNT_DEV] = "--dev-bind",
	};

	switch (mount->kind) {
	case KGB_MOUNT_RO:
	case KGB_MOUNT_RO_TRY:
	case KGB_MOUNT_RW:
	case KGB_MOUNT_DEV:
		kgb_strv_add(argv, bind_options[mount->kind]);
		kgb_strv_add(argv, mount->source);
		break;
	case KGB_MOUNT_TMPFS:
		kgb_strv_add(argv, "--size");
		kgb_strv_addf(argv, "%lld", (long long)mount->size_bytes);
		kgb_strv_add(argv, "--tmpfs");
		break;
	case KGB_MOUNT_DIR:
		kgb_strv_add(argv, "--dir");
		break;
	case KGB_MOUNT_SYMLINK:
		kgb_strv_add(argv, "--symlink");
		kgb_strv_add(argv, mount->source);
		break;
	case KGB_MOUNT_DATA:
	case KGB_MOUNT_COPY: {
		int fd = *(*data_fds)++;
		if (fd < 0)
			return;
		kgb_strv_add(argv, "--perms");
		kgb_strv_add(argv, "0444");
		kgb_strv_add(argv, "--file");
		kgb_strv_addf(argv, "%d", fd);
		break;
	}
	case KGB_MOUNT_PROC:
		kgb_strv_add(argv, "--proc");
		break;
	case KGB_MOUNT_DEVFS:
		kgb_strv_add(argv, "--dev");
		break;
	case KGB_MOUNT_SEAL:
		kgb_strv_add(argv, "--remount-ro");
		break;
	}
	kgb_strv_add(argv, mount->target);
}

/* Where kgb-confine lies inside. */
#define CONFINER_INSIDE "/opt/kgb/confine"

/* The option that grants the rights of a mount; NULL for kinds that need none. */
static const char *confine_option(const struct kgb_mount *mount)
{
	/* Mounts over parts of /proc are read-only by themselves. */
	if (kgb_str_starts(mount->target, "/proc/"))
		return NULL;
	switch (mount->kind) {
	case KGB_MOUNT_RO:
	case KGB_MOUNT_RO_TRY:
	case KGB_MOUNT_DATA:
	case KGB_MOUNT_COPY:
	case KGB_MOUNT_DIR:
		return "--ro";
	case KGB_MOUNT_RW:
	case KGB_MOUNT_TMPFS:
		return "--rw";
	case KGB_MOUNT_DEV:
	case KGB_MOUNT_DEVFS:
	case KGB_MOUNT_PROC:
		return "--dev";
	case KGB_MOUNT_SYMLINK:
	case KGB_MOUNT_SEAL:
		break;
	}
	return NULL;
}

void kgb_confine_args(const struct kgb_policy *policy, int landlock_abi, struct kgb_strv *args)
{
	if (landlock_abi == 0)
		return;
	kgb_strv_add(args, "--landlock");
	kgb_strv_addf(args, "%d", landlock_abi);
	kgb_strv_add(args, "--list");
	kgb_strv_add(args, "/");
	kgb_strv_add(args, "--ro");
	kgb_strv_add(args, CONFINER_INSIDE);
	for (size_t i = 0; i < policy->mounts.n; i++) {
		const char *option = confine_option(&policy->mounts.items[i]);
		if (!option)
			continue;
		kgb_strv_add(args, option);
		kgb_strv_add(args, policy->mounts.items[i].target);
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
	kgb_strv_add(argv, "--hostname");
	kgb_strv_add(argv, policy->hostname ? policy->hostname : "kgb");
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
		kgb_strv_add(argv, "--ro-bind");
		kgb_strv_add(argv, options->confiner);
		kgb_strv_add(argv, CONFINER_INSIDE);
	}
	/* The root is a tmpfs without a size: no process inside may fill it. */
	kgb_strv_add(argv, "--remount-ro");
	kgb_strv_add(argv, "/");
	kgb_strv_add(argv, "--chdir");
	kgb_strv_add(argv, policy->cwd ? policy->cwd : "/");
	kgb_strv_add(argv, "--");
	if (options->confiner) {
		kgb_strv_add(argv, CONFINER_INSIDE);
		for (size_t i = 0; i < options->confine_args->n; i++)
			kgb_strv_add(argv, options->confine_args->items[i]);
		kgb_strv_add(argv, "--");
	}
	for (size_t i = 0; i < policy->argv.n; i++)
		kgb_strv_add(argv, policy->argv.items[i]);
}
