/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/activity.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/vec.h"
#include "verify/cuda/driver.h"

enum { BUFFER_BYTES = 256 << 10 };

#define CUPTI_FUNCTIONS(X)                \
	X(cuptiActivityRegisterCallbacks) \
	X(cuptiActivityEnable)            \
	X(cuptiActivityDisable)           \
	X(cuptiActivityFlushAll)          \
	X(cuptiActivityGetNextRecord)     \
	X(cuptiGetTimestamp)

static struct {
#define MEMBER(name) __typeof__(name) *name; /* NOLINT(bugprone-macro-parentheses) */
	CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
} cupti;

/* CUPTI calls back in this thread while the thread flushes, and in a thread of CUPTI when a buffer
 * is full. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct {
		uint64_t start, end;
	} * items;
	size_t n, cap;
} seen;

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					   CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMCPY};

/* Start and end lie where CUDA 11 to 13 have them: newer versions append. */
static void keep(const CUpti_Activity *record)
{
	uint64_t start;
	uint64_t end;

	switch ((int)record->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
		const CUpti_ActivityKernel10 *kernel = (const void *)record;
		start = kernel->start;
		end = kernel->end;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		const CUpti_ActivityMemset4 *fill = (const void *)record;
		start = fill->start;
		end = fill->end;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		const CUpti_ActivityMemcpy6 *copy = (const void *)record;
		start = copy->start;
		end = copy->end;
		break;
	}
	default:
		return;
	}
	/* A record without times is one too few: CUPTI could not take them. */
	if (start > 0 && end >= start)
		KGB_VEC_ADD(&seen, ((__typeof__(*seen.items)){start, end}));
}

static void CUPTIAPI on_buffer_wanted(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = kgb_xmalloc(BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void CUPTIAPI on_buffer_done(CUcontext context, uint32_t stream, uint8_t *buffer,
				    size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	pthread_mutex_lock(&mutex);
	while (valid > 0 &&
	       cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		keep(record);
	pthread_mutex_unlock(&mutex);
	kgb_free(buffer);
}

static void *open_library(const char *path, struct kgb_err *err)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	for (size_t i = 0; !library && !path && i < KGB_ARRAY_LEN(names); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		const char *why = dlerror();
		(void)kgb_fail(err, KGB_ERR_UNAVAILABLE, "no CUPTI: %s", why ? why : "not found");
	}
	return library;
}

static int load(const char *path, struct kgb_err *err)
{
	static bool loaded;
	void *library;

	if (loaded)
		return 0;
	library = open_library(path, err);
	if (!library)
		return -1;
#define LOAD(name)                                                       \
	if (kgb_dl_symbol(library, #name, (void *)&cupti.name, err) < 0) \
		return kgb_ctx(err, "CUPTI");
	CUPTI_FUNCTIONS(LOAD)
#undef LOAD
	if (cupti.cuptiActivityRegisterCallbacks(on_buffer_wanted, on_buffer_done) != CUPTI_SUCCESS)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "CUPTI takes no callbacks");
	loaded = true;
	return 0;
}

int kgb_activity_start(const char *path, struct kgb_err *err)
{
	if (load(path, err) < 0)
		return -1;
	for (size_t i = 0; i < KGB_ARRAY_LEN(kinds); i++) {
		CUptiResult result = cupti.cuptiActivityEnable(kinds[i]);
		if (result == CUPTI_SUCCESS)
			continue;
		kgb_activity_stop();
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "CUPTI records no activity: error %d",
				(int)result);
	}
	return 0;
}

void kgb_activity_collect(void)
{
	(void)cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void kgb_activity_clear(void)
{
	kgb_activity_collect();
	pthread_mutex_lock(&mutex);
	seen.n = 0;
	pthread_mutex_unlock(&mutex);
}

uint64_t kgb_activity_now(void)
{
	uint64_t now = 0;

	return cupti.cuptiGetTimestamp(&now) == CUPTI_SUCCESS ? now : 0;
}

uint64_t kgb_activity_span(uint64_t from, uint64_t to, size_t n_expected)
{
	uint64_t first = UINT64_MAX, last = 0;
	size_t n = 0;

	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < seen.n; i++) {
		const uint64_t start = seen.items[i].start, end = seen.items[i].end;
		if (start < from || start >= to)
			continue;
		first = start < first ? start : first;
		last = end > last ? end : last;
		n++;
	}
	pthread_mutex_unlock(&mutex);
	return n == n_expected && n > 0 ? last - first : 0;
}

void kgb_activity_stop(void)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(kinds); i++)
		(void)cupti.cuptiActivityDisable(kinds[i]);
}
