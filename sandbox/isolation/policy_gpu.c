/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/isolation/policy.h"

enum { NODES_MAX = 256, INFORMATION_MAX = 16 * 1024 };

/* Nodes of GPUs, by their number, in the order in which CUDA counts GPUs. */
struct nodes {
	int numbers[NODES_MAX];
	size_t n;
};

static void add_node(struct nodes *nodes, const char *root, int64_t number)
{
	KGB_AUTO(free) char *path = kgb_xasprintf("%s/dev/nvidia%d", root, (int)number);

	if (nodes->n < NODES_MAX && access(path, F_OK) == 0)
		nodes->numbers[nodes->n++] = (int)number;
}

/* "Device Minor: \t 0" in the driver's text about one GPU; -1 without it. */
static int64_t minor_in(const char *information)
{
	static const char key[] = "\nDevice Minor:";
	const char *at = strstr(information, key);
	int64_t number = -1;

	if (!at)
		return -1;
	at += strlen(key);
	at += strspn(at, " \t");
	KGB_AUTO(free) char *digits = kgb_xstrndup(at, strcspn(at, " \t\n"));
	return kgb_parse_i64(digits, 0, NODES_MAX - 1, &number, NULL) < 0 ? -1 : number;
}

/* The driver has a directory for each GPU, by its address on the PCI bus. CUDA counts in their
 * order, nodes have numbers in the order in which the driver found them, and a container may have
 * only some of the nodes. Without the driver's directories take the order of the nodes. */
static void find_nodes(const char *root, struct nodes *out)
{
	KGB_AUTO(strv) struct kgb_strv addresses = KGB_STRV_INIT;
	KGB_AUTO(free) char *dir = kgb_xasprintf("%s/proc/driver/nvidia/gpus", root);
	DIR *gpus = opendir(dir);

	for (struct dirent *entry; gpus && (entry = readdir(gpus));)
		if (entry->d_name[0] != '.')
			kgb_strv_add(&addresses, entry->d_name);
	if (gpus)
		closedir(gpus);
	kgb_strv_sort(&addresses);
	*out = (struct nodes){0};
	for (size_t i = 0; i < addresses.n; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(INFORMATION_MAX);
		KGB_AUTO(free)
		char *path = kgb_xasprintf("%s/%s/information", dir, addresses.items[i]);
		if (kgb_fs_read(AT_FDCWD, path, INFORMATION_MAX, &text, NULL) < 0)
			continue;
		int64_t number = minor_in(text.ptr);
		if (number >= 0)
			add_node(out, root, number);
	}
	for (int number = 0; addresses.n == 0 && number < NODES_MAX; number++)
		add_node(out, root, number);
}

int kgb_policy_one_gpu(struct kgb_policy *policy, const char *root, int index, struct kgb_err *err)
{
	/* Nodes of all GPUs together, without the directory of capabilities, which gives rights
	 * over the whole GPU. */
	static const char *const common[] = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"};
	struct nodes nodes;

	find_nodes(root, &nodes);
	if (index < 0 || (size_t)index >= nodes.n)
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"GPU %d for the sandbox: %zu GPUs have a node '%s/dev/nvidiaN'",
				index, nodes.n, root);
	KGB_AUTO(free) char *node = kgb_xasprintf("%s/dev/nvidia%d", root, nodes.numbers[index]);
	KGB_AUTO(free) char *target = kgb_xasprintf("/dev/nvidia%d", nodes.numbers[index]);
	kgb_policy_mount(policy, KGB_MOUNT_DEV, node, target);
	for (size_t i = 0; i < KGB_ARRAY_LEN(common); i++) {
		KGB_AUTO(free) char *source = kgb_xasprintf("%s/dev/%s", root, common[i]);
		KGB_AUTO(free) char *inside = kgb_xasprintf("/dev/%s", common[i]);
		if (access(source, F_OK) == 0)
			kgb_policy_mount(policy, KGB_MOUNT_DEV, source, inside);
	}
	kgb_policy_mount(policy, KGB_MOUNT_RO_TRY, "/sys", "/sys");
	return kgb_policy_name_threads(policy, err);
}
