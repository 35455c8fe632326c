/* SPDX-License-Identifier: MIT */
#include "agent/sched/gpu_sampler.h"

#include "base/mem.h"
#include "verify/gpu/gpu_lease.h"

struct kgb_gpu_sampler {
	uv_timer_t timer;
	const struct kgb_devices *devices; /* borrowed */
	const struct kgb_run_log *log; /* borrowed */
	bool has_sample;
	struct kgb_gpu_times times[KGB_GPUS_MAX]; /* by the numbers of the devices */
};

/** Whether a judge works on a kernel of the run. */
static bool is_judged(const struct kgb_run_state *state)
{
	for (size_t i = 0; i < state->n_ops; i++)
		if (state->ops[i].n_judging > 0)
			return true;
	return false;
}

static int64_t *time_of(struct kgb_gpu_times *times, enum kgb_gpu_use use)
{
	switch (use) {
	case KGB_GPU_IDLE:
		return &times->idle_ms;
	case KGB_GPU_SHARED:
		return &times->shared_ms;
	case KGB_GPU_ALONE:
		return &times->alone_ms;
	}
	KGB_UNREACHABLE();
}

static void on_timer(uv_timer_t *timer)
{
	struct kgb_gpu_sampler *sampler = timer->data;
	if (!is_judged(kgb_run_log_state(sampler->log)))
		return;
	for (size_t i = 0; i < sampler->devices->n; i++) {
		enum kgb_gpu_use use = KGB_GPU_IDLE;
		struct kgb_err unknown = KGB_ERR_INIT;
		if (kgb_gpu_lease_look(sampler->devices->items[i].own, &use, &unknown) < 0)
			continue;
		*time_of(&sampler->times[i], use) += KGB_GPU_SAMPLE_MS;
		sampler->has_sample = true;
	}
}

struct kgb_gpu_sampler *kgb_gpu_sampler_start(uv_loop_t *loop, const struct kgb_devices *devices,
					      const struct kgb_run_log *log)
{
	if (devices->items[0].own < 0)
		return NULL;
	struct kgb_gpu_sampler *sampler = kgb_xcalloc(1, sizeof(*sampler));
	sampler->devices = devices;
	sampler->log = log;
	for (size_t i = 0; i < devices->n; i++)
		sampler->times[i].name = devices->items[i].name;
	uv_timer_init(loop, &sampler->timer);
	sampler->timer.data = sampler;
	uv_timer_start(&sampler->timer, on_timer, KGB_GPU_SAMPLE_MS, KGB_GPU_SAMPLE_MS);
	return sampler;
}

const struct kgb_gpu_times *kgb_gpu_sampler_times(const struct kgb_gpu_sampler *sampler, size_t *n)
{
	*n = sampler && sampler->has_sample ? sampler->devices->n : 0;
	return sampler ? sampler->times : NULL;
}

static void on_closed(uv_handle_t *handle)
{
	kgb_free(handle->data);
}

void kgb_gpu_sampler_close(struct kgb_gpu_sampler *sampler)
{
	if (sampler)
		uv_close((uv_handle_t *)&sampler->timer, on_closed);
}
