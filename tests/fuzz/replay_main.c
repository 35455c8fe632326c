/* SPDX-License-Identifier: MIT */
/** \file
 * Feeds every file of the given corpus directories to a fuzz target once, for builds without
 * libFuzzer.
 */
#include <dirent.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_dir(const char *path)
{
	DIR *dir = opendir(path);
	if (!dir) {
		perror(path);
		return -1;
	}
	int n = 0;
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(KGB_LIMIT_JSON);
		if (kgb_fs_read(dirfd(dir), entry->d_name, KGB_LIMIT_JSON, &bytes, &err) < 0) {
			fprintf(stderr, "%s/%s: %s\n", path, entry->d_name, err.msg);
			closedir(dir);
			return -1;
		}
		LLVMFuzzerTestOneInput((const uint8_t *)bytes.ptr, bytes.len);
		n++;
	}
	closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int total = 0;
	for (int i = 1; i < argc; i++) {
		int n = replay_dir(argv[i]);
		if (n < 0)
			return 1;
		total += n;
	}
	printf("replayed %d inputs\n", total);
	return total > 0 ? 0 : 1;
}
