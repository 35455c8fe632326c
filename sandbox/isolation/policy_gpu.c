/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include "sandbox/isolation/policy.h"

int kgb_policy_one_gpu(struct kgb_policy *policy, const char *dev_dir, int number,
		       struct kgb_err *err)
{
	/* Of all GPUs together; not the directory of capabilities, which gives rights over the
	 * whole GPU. */
	static const char *const common[] = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"};
	KGB_AUTO(free) char *node = kgb_xasprintf("%s/nvidia%d", dev_dir, number);
	KGB_AUTO(free) char *target = kgb_xasprintf("/dev/nvidia%d", number);

	if (access(node, F_OK) < 0)
		return kgb_fail_errno(err, errno, "GPU %d for the sandbox: '%s'", number, node);
	kgb_policy_dev(policy, node, target);
	for (size_t i = 0; i < KGB_ARRAY_LEN(common); i++) {
		KGB_AUTO(free) char *source = kgb_xasprintf("%s/%s", dev_dir, common[i]);
		KGB_AUTO(free) char *inside = kgb_xasprintf("/dev/%s", common[i]);
		if (access(source, F_OK) == 0)
			kgb_policy_dev(policy, source, inside);
	}
	kgb_policy_ro_try(policy, "/sys", "/sys");
	return kgb_policy_name_threads(policy, err);
}
