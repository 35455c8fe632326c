/* SPDX-License-Identifier: MIT */
#include "verify/trace/capture.h"

#include <string.h>

#include "base/mem.h"
#include "verify/trace/handlers.h"

static _Thread_local unsigned muted;
static _Thread_local bool canary_seen;

void kgb_capture_mute(void)
{
	muted++;
}

void kgb_capture_unmute(void)
{
	muted--;
}

/* Functions without effect: one of them is watched only to test whether callbacks arrive. CUPTI may
 * have no callbacks for some of them. Those that programs rarely call come first. */
static const CUpti_CallbackId canaries[] = {
	CUPTI_DRIVER_TRACE_CBID_cuModuleGetLoadingMode,
	CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount,
	CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,
};

static const struct kgb_watched *by_id[CUPTI_DRIVER_TRACE_CBID_SIZE];

static void on_callback(void *payload, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			const void *raw)
{
	struct kgb_capture *capture = payload;
	const CUpti_CallbackData *data = raw;
	const struct kgb_watched *row;
	struct kgb_driver_call call;

	if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return;
	if (id == atomic_load(&capture->canary)) {
		canary_seen = true;
		return;
	}
	row = id < KGB_ARRAY_LEN(by_id) ? by_id[id] : NULL;
	if (!row || muted ||
	    (data->callbackSite == CUPTI_API_ENTER) != ((row->flags & KGB_WATCH_ON_ENTRY) != 0) ||
	    ((row->flags & KGB_WATCH_IN_WINDOW) && !atomic_load(&capture->in_window)))
		return;
	call = (struct kgb_driver_call){
		.tracer = &capture->tracer,
		.params = data->functionParams,
		.name = row->name,
		.per_thread = (row->flags & KGB_WATCH_PER_THREAD) != 0,
	};
	if (data->callbackSite == CUPTI_API_EXIT) {
		memcpy(&call.result, data->functionReturnValue, sizeof(call.result));
		if (call.result != CUDA_SUCCESS && !(row->flags & KGB_WATCH_EVEN_FAILED))
			return;
	}
	/* Calls of a handler to the driver come back here and are not recorded. */
	kgb_capture_mute();
	pthread_mutex_lock(&capture->mutex);
	row->handler(&call);
	pthread_mutex_unlock(&capture->mutex);
	kgb_capture_unmute();
}

static int cupti_failed(const struct kgb_cupti *cupti, CUptiResult result, const char *what,
			struct kgb_err *err)
{
	const char *text = NULL;

	if (cupti->cuptiGetResultString(result, &text) != CUPTI_SUCCESS || !text)
		text = "unknown error";
	return kgb_fail(err, KGB_ERR_UNAVAILABLE, "%s: %s: %s (%d)", cupti->path, what, text,
			(int)result);
}

static int enable(struct kgb_capture *capture, CUpti_CallbackId id, const char *name, bool needed,
		  struct kgb_err *err)
{
	const CUptiResult result = capture->cupti.cuptiEnableCallback(
		1, capture->subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);

	return result == CUPTI_SUCCESS || !needed
		       ? 0
		       : cupti_failed(&capture->cupti, result, name, err);
}

static int enable_all(struct kgb_capture *capture, struct kgb_err *err)
{
	size_t n;
	const struct kgb_watched *rows = kgb_watched_rows(&n);

	for (size_t i = 0; i < n; i++) {
		const struct kgb_watched *row = &rows[i];

		KGB_ASSERT(row->id < KGB_ARRAY_LEN(by_id) && !by_id[row->id]);
		by_id[row->id] = row;
		if (enable(capture, row->id, row->name, (row->flags & KGB_WATCH_NEEDED) != 0, err))
			return -1;
	}
	return 0;
}

int kgb_capture_start(struct kgb_capture *capture, struct kgb_err *err)
{
	CUptiResult result;

	if (kgb_cupti_load(&capture->cupti, err))
		return -1;
	result = capture->cupti.cuptiSubscribe(&capture->subscriber, on_callback, capture);
	if (result != CUPTI_SUCCESS)
		return cupti_failed(&capture->cupti, result, "subscribe", err);
	if (enable_all(capture, err)) {
		capture->cupti.cuptiUnsubscribe(capture->subscriber);
		return -1;
	}
	return 0;
}

/* The callback should come whatever the driver returns. */
static bool canary_comes(struct kgb_capture *capture, CUpti_CallbackId id)
{
	const struct kgb_cuda *cu = capture->tracer.cu;
	CUmoduleLoadingMode mode;
	CUcontext context;
	int n;

	canary_seen = false;
	switch (id) {
	case CUPTI_DRIVER_TRACE_CBID_cuModuleGetLoadingMode:
		cu->cuModuleGetLoadingMode(&mode);
		break;
	case CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount:
		cu->cuDeviceGetCount(&n);
		break;
	default:
		cu->cuCtxGetCurrent(&context);
		break;
	}
	return canary_seen;
}

/* The first function whose callback comes becomes the canary. */
static bool choose_canary(struct kgb_capture *capture)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(canaries); i++) {
		struct kgb_err ignored = KGB_ERR_INIT;

		if (enable(capture, canaries[i], "", true, &ignored))
			continue;
		atomic_store(&capture->canary, canaries[i]);
		if (canary_comes(capture, canaries[i]))
			return true;
		capture->cupti.cuptiEnableCallback(0, capture->subscriber,
						   CUPTI_CB_DOMAIN_DRIVER_API, canaries[i]);
	}
	atomic_store(&capture->canary, 0);
	return false;
}

bool kgb_capture_alive(struct kgb_capture *capture)
{
	const CUpti_CallbackId canary = atomic_load(&capture->canary);

	return canary ? canary_comes(capture, canary) : choose_canary(capture);
}
