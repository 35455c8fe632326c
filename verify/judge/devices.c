/* SPDX-License-Identifier: MIT */
#include "verify/judge/devices.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/str.h"

/* nvidia0 and so on, nvidiactl, nvidia-uvm, nvidia-uvm-tools; not the display's (nvidia-modeset)
 * and not the directory of capabilities, which gives rights over the whole GPU. */
static bool is_wanted(const char *name)
{
	static const char prefix[] = "nvidia";
	static const char *const suffixes[] = {"ctl", "-uvm", "-uvm-tools"};

	if (!kgb_str_starts(name, prefix))
		return false;
	const char *suffix = name + sizeof(prefix) - 1;
	for (size_t i = 0; i < KGB_ARRAY_LEN(suffixes); i++)
		if (kgb_str_eq(suffix, suffixes[i]))
			return true;
	return *suffix && strspn(suffix, "0123456789") == strlen(suffix);
}

void kgb_policy_gpu(struct kgb_policy *policy)
{
	DIR *dev = opendir("/dev");

	for (struct dirent *entry; dev && (entry = readdir(dev));) {
		char path[sizeof("/dev/") + sizeof(entry->d_name)];
		struct stat st;
		if (!is_wanted(entry->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		if (lstat(path, &st) == 0 && S_ISCHR(st.st_mode))
			kgb_policy_dev(policy, path, path);
	}
	if (dev)
		closedir(dev);
	kgb_policy_ro_try(policy, "/sys", "/sys");
}
