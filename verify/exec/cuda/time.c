/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/time.h>

#include "base/mem.h"
#include "base/time.h"
#include "verify/exec/cuda/activity.h"
#include "verify/exec/cuda/run.h"

/* Limits on the work of a gated stream: with more, the host would wait for the stream. */
#define GATED_OPS_MAX 128
#define GATED_PARAMS_MAX (64u << 10) /* bytes */
/* A plan that takes so long needs no run before its samples where it has run before. */
#define SLOW_NS UINT64_C(10000000)
/* Time after which the gate opens, in case the driver waits for the stream nevertheless. */
#define GATE_MS 300

static uint64_t seed_of(const struct kgb_exec_request *request, uint32_t sample)
{
	return kgb_exec_poison_word(request->poison, 8 * (uint64_t)sample);
}

static uint32_t slot_of(const struct kgb_exec_request *request, uint32_t sample)
{
	return (request->slot + sample) % request->n_slots;
}

/* Reset lines that a kernel asked to keep in the L2 cache: they would survive the flush. */
static int refuse_kept_lines(struct kgb_gpu *gpu, struct kgb_err *err)
{
	if (!gpu->keeps_lines)
		return 0;
	return kgb_gpu_check(gpu, gpu->cu->cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0),
			     KGB_EXEC_UNAVAILABLE, err, "no lines kept in the L2 cache");
}

/* Drop lines that the previous sample kept by other means. */
static int drop_kept_lines(struct kgb_gpu *gpu, struct kgb_err *err)
{
	if (!gpu->keeps_lines)
		return 0;
	return kgb_gpu_check(gpu, gpu->cu->cuCtxResetPersistingL2Cache(), KGB_EXEC_UNAVAILABLE, err,
			     "reset the L2 cache");
}

/* Prepare a sample: afterwards the GPU is idle, its caches hold no line that the sample uses, and
 * its memory holds no data of the previous sample. */
static int prepare(struct kgb_run *run, const struct kgb_exec_request *request,
		   struct kgb_gpu_plan *prologue, uint32_t sample, struct kgb_err *err)
{
	struct kgb_device_memory *memory = run->memory;
	const uint64_t seed = seed_of(request, sample);

	if (kgb_device_memory_poison(memory, seed, err) ||
	    (prologue && kgb_run_prologue(run, prologue, err)) ||
	    kgb_device_memory_load_fast(memory, slot_of(request, sample), request->n_slots, err) ||
	    drop_kept_lines(run->gpu, err) ||
	    kgb_device_memory_flush(memory, request->flush_bytes, ~seed, err))
		return -1;
	return kgb_gpu_check(run->gpu, run->gpu->cu->cuStreamSynchronize(run->gpu->stream),
			     KGB_EXEC_GPU_FAULT, err, "before sample %u", sample);
}

/* The stream goes on when this word is set; a timer sets it too. */
static volatile uint32_t *gate;

static void open_gate(void)
{
	__atomic_store_n(gate, 1, __ATOMIC_SEQ_CST);
}

static void on_alarm(int signo)
{
	(void)signo;
	open_gate();
}

static void set_alarm(int64_t ms)
{
	const struct itimerval timer = {
		.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};

	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static int close_gate(struct kgb_run *run, struct kgb_err *err)
{
	const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	gate = &run->words[0];
	__atomic_store_n(gate, 0, __ATOMIC_SEQ_CST);
	(void)sigaction(SIGALRM, &action, NULL);
	set_alarm(GATE_MS);
	return kgb_gpu_check(run->gpu,
			     run->gpu->cu->cuStreamWaitValue32(run->gpu->stream, run->words_address,
							       1, CU_STREAM_WAIT_VALUE_GEQ),
			     KGB_EXEC_UNAVAILABLE, err, "wait for a word");
}

static bool can_gate(const struct kgb_run *run, const struct kgb_gpu_plan *plan)
{
	return run->gpu->can_wait_value && plan->window->n_ops <= GATED_OPS_MAX &&
	       plan->params_bytes <= GATED_PARAMS_MAX;
}

static int issue_between_events(struct kgb_run *run, kgb_run_issue_fn issue, void *payload,
				struct kgb_err *err)
{
	const struct kgb_cuda *cu = run->gpu->cu;

	if (kgb_gpu_check(run->gpu, cu->cuEventRecord(run->begin, run->gpu->stream),
			  KGB_EXEC_UNAVAILABLE, err, "record an event") ||
	    issue(run, payload, err))
		return -1;
	return kgb_gpu_check(run->gpu, cu->cuEventRecord(run->end, run->gpu->stream),
			     KGB_EXEC_UNAVAILABLE, err, "record an event");
}

int kgb_run_measure(struct kgb_run *run, kgb_run_issue_fn issue, void *payload, bool gated,
		    int64_t *host_ns, struct kgb_err *err)
{
	const struct kgb_cuda *cu = run->gpu->cu;
	int status = gated ? close_gate(run, err) : 0;
	int64_t start = kgb_mono_ns();

	if (!status)
		status = issue_between_events(run, issue, payload, err);
	if (gated) {
		set_alarm(0);
		if (!__atomic_load_n(gate, __ATOMIC_SEQ_CST)) /* the timer has not opened it */
			start = kgb_mono_ns();
		open_gate();
	}
	if (status)
		return status;
	status = kgb_gpu_check(run->gpu, cu->cuEventSynchronize(run->end), KGB_EXEC_GPU_FAULT, err,
			       "timed run");
	*host_ns = kgb_mono_ns() - start;
	return status;
}

int kgb_run_event_ns(struct kgb_run *run, uint64_t *out, struct kgb_err *err)
{
	float ms = 0;

	if (kgb_gpu_check(run->gpu, run->gpu->cu->cuEventElapsedTime(&ms, run->begin, run->end),
			  KGB_EXEC_GPU_FAULT, err, "time between events"))
		return -1;
	*out = ms > 0 ? (uint64_t)((double)ms * 1e6 + 0.5) : 0;
	return 0;
}

static int issue_plan(struct kgb_run *run, void *plan, struct kgb_err *err)
{
	return kgb_run_issue(run, plan, -1, false, err);
}

static int measure(struct kgb_run *run, struct kgb_gpu_plan *plan, bool gated, int64_t *host_ns,
		   struct kgb_err *err)
{
	return kgb_run_measure(run, issue_plan, plan, gated, host_ns, err);
}

/* Run once without a gate and without a sample: the first run loads code, for which the driver may
 * wait for the stream. After that it warms what another process has cooled: far less than a
 * thousandth of a slow plan. */
static int warm_up(struct kgb_run *run, const struct kgb_exec_request *request,
		   struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue, struct kgb_err *err)
{
	int64_t host_ns;

	if (plan->last_ns >= SLOW_NS)
		return 0;
	if (prepare(run, request, prologue, request->n_samples, err))
		return -1;
	return measure(run, plan, false, &host_ns, err);
}

static int take_sample(struct kgb_run *run, const struct kgb_exec_request *request,
		       struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue, uint32_t i,
		       struct kgb_exec_sample *out, struct kgb_err *err)
{
	struct kgb_exec_sample made = {.slot = slot_of(request, i)};
	int64_t host_ns = 0;

	if (prepare(run, request, prologue, i, err))
		return -1;
	made.sm_mhz = kgb_clock_mhz(&run->clock);
	if (measure(run, plan, can_gate(run, plan), &host_ns, err) ||
	    kgb_run_event_ns(run, &made.event_ns, err) ||
	    kgb_device_memory_check_slack(run->memory, seed_of(request, i), err))
		return -1;
	made.host_ns = (uint64_t)host_ns;
	plan->last_ns = made.event_ns;
	*out = made;
	return 0;
}

static int take_samples(struct kgb_run *run, const struct kgb_exec_request *request,
			struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
			struct kgb_exec_sample *samples, struct kgb_err *err)
{
	if (refuse_kept_lines(run->gpu, err) || warm_up(run, request, plan, prologue, err))
		return -1;
	for (uint32_t i = 0; i < request->n_samples; i++)
		if (take_sample(run, request, plan, prologue, i, &samples[i], err))
			return -1;
	return 0;
}

/* Take sample i once more, under CUPTI. *from and *to get the time, on its clock, from when the GPU
 * was idle before the run to its end. */
static int record_sample(struct kgb_run *run, const struct kgb_exec_request *request,
			 struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue, uint32_t i,
			 uint64_t *from, uint64_t *to, struct kgb_err *err)
{
	int64_t host_ns;

	if (prepare(run, request, prologue, i, err))
		return -1;
	*from = kgb_activity_now();
	if (measure(run, plan, can_gate(run, plan), &host_ns, err))
		return -1;
	*to = kgb_activity_now();
	return 0;
}

/* To get the records takes longer than to take a sample. So those of all samples are told apart by
 * their times. */
static int record_all(struct kgb_run *run, const struct kgb_exec_request *request,
		      struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
		      struct kgb_exec_sample *samples, struct kgb_err *err)
{
	uint64_t from[KGB_EXEC_SAMPLES_MAX], to[KGB_EXEC_SAMPLES_MAX];

	kgb_activity_clear();
	for (uint32_t i = 0; i < request->n_samples; i++)
		if (record_sample(run, request, plan, prologue, i, &from[i], &to[i], err))
			return -1;
	kgb_activity_collect();
	for (uint32_t i = 0; i < request->n_samples; i++)
		samples[i].activity_ns = kgb_activity_span(from[i], to[i], plan->n_activities);
	return 0;
}

/* Take those samples again, each by itself, whose records were not told apart. Returns how many
 * have none now; -1: *err. */
static int record_missing(struct kgb_run *run, const struct kgb_exec_request *request,
			  struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
			  struct kgb_exec_sample *samples, struct kgb_err *err)
{
	int64_t host_ns;
	int n_missing = 0;

	for (uint32_t i = 0; i < request->n_samples; i++) {
		if (samples[i].activity_ns > 0)
			continue;
		if (prepare(run, request, prologue, i, err))
			return -1;
		kgb_activity_clear();
		if (measure(run, plan, can_gate(run, plan), &host_ns, err))
			return -1;
		kgb_activity_collect();
		samples[i].activity_ns = kgb_activity_span(0, UINT64_MAX, plan->n_activities);
		n_missing += samples[i].activity_ns == 0;
	}
	return n_missing;
}

/* Repeat under CUPTI. Values that it cannot measure stay 0. */
static int take_activity(struct kgb_run *run, const struct kgb_exec_request *request,
			 struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
			 struct kgb_exec_sample *samples, struct kgb_err *err)
{
	int n_missing = -1;

	if (kgb_activity_start(run->cupti, err) < 0)
		return 0;
	if (warm_up(run, request, plan, prologue, err) == 0 &&
	    record_all(run, request, plan, prologue, samples, err) == 0)
		n_missing = record_missing(run, request, plan, prologue, samples, err);
	kgb_activity_stop();
	if (n_missing > 0)
		(void)kgb_fail(err, KGB_ERR_UNAVAILABLE,
			       "CUPTI: records of %d samples do not add up to %zu", n_missing,
			       plan->n_activities);
	return n_missing < 0 ? -1 : 0;
}

int kgb_run_timed(struct kgb_run *run, const struct kgb_exec_request *request,
		  struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue, uint64_t *value,
		  struct kgb_err *err)
{
	KGB_AUTO(free)
	struct kgb_exec_sample *samples = kgb_xcalloc(request->n_samples, sizeof(samples[0]));
	struct kgb_exec_layout layout;

	if (kgb_run_begin(run, request, plan, prologue, &layout, err) ||
	    take_samples(run, request, plan, prologue, samples, err))
		return -1;
	int status = kgb_run_end(run, request, &layout, value, err);
	if (status && err->code != KGB_EXEC_SLACK)
		return -1;
	if (!status && (request->flags & KGB_EXEC_WITH_ACTIVITY))
		status = take_activity(run, request, plan, prologue, samples, err);
	memcpy(run->memory->set->given.output + layout.samples, samples,
	       request->n_samples * sizeof(samples[0]));
	return status;
}
