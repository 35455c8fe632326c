/* SPDX-License-Identifier: MIT */
#include "verify/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define STR(name) #name
#define XSTR(name) STR(name) /* the function's name after the header's macros renamed it */
#define SYMBOL(name) {XSTR(name), offsetof(struct kgb_cuda, name)},

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {KGB_CUDA_FUNCTIONS(SYMBOL)};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kgb_cuda table;
static bool loaded;

int kgb_dl_symbol(void *library, const char *name, void *slot, struct kgb_err *err)
{
	void *address = dlsym(library, name);

	if (!address)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "no function %s in it", name);
	/* ISO C has no conversion between pointers to objects and to functions; POSIX gives them
	 * one representation. */
	memcpy(slot, &address, sizeof(address));
	return 0;
}

/* Called when the driver lacks a function: the message names the driver's version. */
static int too_old(void *library, struct kgb_err *err)
{
	__typeof__(&cuDriverGetVersion) get_version = NULL;
	struct kgb_err ignored = KGB_ERR_INIT;
	int version = 0;

	if (kgb_dl_symbol(library, "cuDriverGetVersion", &get_version, &ignored) == 0 &&
	    get_version && get_version(&version) == CUDA_SUCCESS)
		return kgb_ctx(err, "libcuda.so.1: the driver is for CUDA %d.%d, 12.8 is needed",
			       version / 1000, version % 1000 / 10);
	return kgb_ctx(err, "libcuda.so.1: CUDA driver older than 12.8");
}

static int load(struct kgb_cuda *cu, struct kgb_err *err)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	size_t i;

	if (!library) {
		const char *why = dlerror();

		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "no CUDA driver: %s",
				why ? why : "libcuda.so.1 cannot be opened");
	}
	for (i = 0; i < KGB_ARRAY_LEN(symbols); i++) {
		if (kgb_dl_symbol(library, symbols[i].name, (char *)cu + symbols[i].offset, err))
			return too_old(library, err);
	}
	return 0;
}

int kgb_cuda_load(const struct kgb_cuda **out, struct kgb_err *err)
{
	struct kgb_cuda fresh = {0};
	int status = 0;

	pthread_mutex_lock(&mutex);
	if (!loaded) {
		status = load(&fresh, err);
		if (status == 0) {
			table = fresh;
			loaded = true;
		}
	}
	pthread_mutex_unlock(&mutex);
	if (status == 0)
		*out = &table;
	return status;
}

const char *kgb_cuda_error_name(const struct kgb_cuda *cu, CUresult result)
{
	static _Thread_local char text[32];
	const char *name = NULL;

	if (cu->cuGetErrorName && cu->cuGetErrorName(result, &name) == CUDA_SUCCESS && name)
		return name;
	snprintf(text, sizeof(text), "CUDA error %d", (int)result);
	return text;
}
