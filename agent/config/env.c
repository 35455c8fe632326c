/* SPDX-License-Identifier: MIT */
#include "agent/config/env.h"

#include <stdlib.h>

#include "base/mem.h"

void kgb_child_env(struct kgb_strv *env)
{
	static const char *const names[] = {
		"PATH",
		"HOME",
		"TMPDIR",
		"LANG",
		"LC_ALL",
		"XDG_CACHE_HOME",
		"KGB_CACHE_DIR",
		"KGB_ZYGOTES",
		"LD_LIBRARY_PATH",
		"CUDA_VISIBLE_DEVICES",
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);
		if (value)
			kgb_strv_addf(env, "%s=%s", names[i], value);
	}
}
