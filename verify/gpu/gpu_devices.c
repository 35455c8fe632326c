/* SPDX-License-Identifier: MIT */
#include "verify/gpu/gpu_devices.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"

static const char prefix[] = "nvidia";

/* nvidia0 and so on. */
static bool is_gpu(const char *name)
{
	if (!kgb_str_starts(name, prefix))
		return false;
	const char *suffix = name + sizeof(prefix) - 1;
	return *suffix && strspn(suffix, "0123456789") == strlen(suffix);
}

/* nvidia0 and so on, nvidiactl, nvidia-uvm, nvidia-uvm-tools; not the display's (nvidia-modeset)
 * and not the directory of capabilities, which gives rights over the whole GPU. */
static bool is_wanted(const char *name)
{
	static const char *const suffixes[] = {"ctl", "-uvm", "-uvm-tools"};

	if (!kgb_str_starts(name, prefix))
		return false;
	const char *suffix = name + sizeof(prefix) - 1;
	for (size_t i = 0; i < KGB_ARRAY_LEN(suffixes); i++)
		if (kgb_str_eq(suffix, suffixes[i]))
			return true;
	return is_gpu(name);
}

size_t kgb_gpu_count(void)
{
	size_t n = 0;
	DIR *dev = opendir("/dev");

	for (const struct dirent *entry; dev && (entry = readdir(dev));)
		n += is_gpu(entry->d_name);
	if (dev)
		closedir(dev);
	return n;
}

int kgb_gpu_visible(int64_t number, int *out, struct kgb_err *err)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	struct kgb_err ignored = KGB_ERR_INIT;
	int64_t own = number;

	for (int64_t i = 0; visible && i <= number; i++) {
		size_t len = strcspn(visible, ",");
		KGB_AUTO(free) char *entry = kgb_xstrndup(visible, len);
		if (len == 0 || kgb_str_eq(entry, "-1"))
			return kgb_fail(err, KGB_ERR_UNAVAILABLE,
					"GPU %lld is hidden by CUDA_VISIBLE_DEVICES='%s'",
					(long long)number, getenv("CUDA_VISIBLE_DEVICES"));
		if (kgb_parse_i64(entry, 0, KGB_GPUS_MAX - 1, &own, &ignored) < 0)
			return kgb_fail(err, KGB_ERR_INVALID,
					"CUDA_VISIBLE_DEVICES='%s': only numbers are supported",
					getenv("CUDA_VISIBLE_DEVICES"));
		visible += len + (visible[len] == ',');
	}
	*out = (int)own;
	return 0;
}

int kgb_policy_gpu(struct kgb_policy *policy, struct kgb_err *err)
{
	DIR *dev = opendir("/dev");

	for (struct dirent *entry; dev && (entry = readdir(dev));) {
		char path[sizeof("/dev/") + sizeof(entry->d_name)];
		struct stat st;
		if (!is_wanted(entry->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		if (lstat(path, &st) == 0 && S_ISCHR(st.st_mode))
			kgb_policy_mount(policy, KGB_MOUNT_DEV, path, path);
	}
	if (dev)
		closedir(dev);
	kgb_policy_mount(policy, KGB_MOUNT_RO_TRY, "/sys", "/sys");
	/* All processes number the GPUs alike. */
	kgb_policy_setenv(policy, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	/* By default a context has 8 queues from the host to the GPU, and takes 2.5 times as long
	 * to make and end as with one (tests/bench/contexts). Kernels of several streams overlap in
	 * one queue, too, and follow each other as fast (tests/bench/connections). */
	kgb_policy_setenv(policy, "CUDA_DEVICE_MAX_CONNECTIONS", "1");
	return kgb_policy_name_threads(policy, err);
}
