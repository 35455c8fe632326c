/* SPDX-License-Identifier: MIT */
/* Prints the normalized text of each Python file that is named, or nothing where it gives up; a NUL
 * follows each. */
#include <fcntl.h>
#include <stdio.h>

#include "agent/llm/same_kernel.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		struct kgb_err err = KGB_ERR_INIT;
		if (kgb_fs_read(AT_FDCWD, argv[i], KGB_LIMIT_KERNEL, &text, &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			return 1;
		}
		(void)kgb_python_normalize(text.ptr, &out);
		fwrite(out.ptr, 1, out.len + 1, stdout);
	}
	return 0;
}
