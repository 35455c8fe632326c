/* SPDX-License-Identifier: MIT */
#include "verify/cuda/cupti.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"
#include "verify/cuda/driver.h"

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};

static void *open_library(const char **path, struct kgb_err *err)
{
	const char *named = getenv("KGB_CUPTI");
	const char *why;
	void *library = NULL;
	size_t i;

	for (i = 0; !library && i < KGB_ARRAY_LEN(sonames); i++) {
		*path = sonames[i];
		library = dlopen(sonames[i], RTLD_NOW | RTLD_NOLOAD);
	}
	for (i = 0; !library && i < KGB_ARRAY_LEN(sonames); i++) {
		*path = sonames[i];
		library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
	}
	if (library)
		return library;
	if (!named || !named[0]) {
		kgb_fail(err, KGB_ERR_UNAVAILABLE,
			 "no CUPTI: neither libcupti.so.13 nor .12 is loaded or on the loader's "
			 "path: import torch before CUDA starts, or set KGB_CUPTI");
		return NULL;
	}
	*path = named;
	library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		why = dlerror();
		kgb_fail(err, KGB_ERR_UNAVAILABLE, "no CUPTI: KGB_CUPTI: %s", why ? why : named);
	}
	return library;
}

int kgb_cupti_load(struct kgb_cupti *out, struct kgb_err *err)
{
	struct kgb_cupti cupti = {0};
	void *library = open_library(&cupti.path, err);

	if (!library)
		return -1;
#define LOAD(name)                                                   \
	if (kgb_dl_symbol(library, #name, (void *)&cupti.name, err)) \
		return kgb_ctx(err, "%s", cupti.path);
	KGB_CUPTI_FUNCTIONS(LOAD)
#undef LOAD
	*out = cupti;
	return 0;
}
