/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/time.h>

#include "base/mem.h"
#include "base/time.h"
#include "verify/exec/cuda/activity.h"
#include "verify/exec/cuda/run.h"

/* A stream that waits for the host takes only so much before the host waits for it in turn. */
#define GATED_OPS_MAX 128
#define GATED_PARAMS_MAX (64u << 10) /* bytes */
/* Should the driver wait for the stream all the same, it is let go after this. */
#define GATE_MS 300

static uint64_t seed_of(const struct kgb_exec_request *request, uint32_t sample)
{
	return kgb_exec_poison_word(request->poison, 8 * (uint64_t)sample);
}

static uint32_t slot_of(const struct kgb_exec_request *request, uint32_t sample)
{
	return (request->slot + sample) % request->n_slots;
}

/* Lines that a kernel asked to keep in the L2 cache would outlive the flush: there shall be none
 * from now on. */
static enum kgb_exec_status refuse_kept_lines(struct kgb_gpu *gpu, struct kgb_err *err)
{
	if (!gpu->keeps_lines)
		return KGB_EXEC_OK;
	return kgb_gpu_check(gpu, gpu->cu->cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0),
			     KGB_EXEC_UNAVAILABLE, err, "no lines kept in the L2 cache");
}

/* And what the sample before may have kept by other means goes. */
static enum kgb_exec_status drop_kept_lines(struct kgb_gpu *gpu, struct kgb_err *err)
{
	if (!gpu->keeps_lines)
		return KGB_EXEC_OK;
	return kgb_gpu_check(gpu, gpu->cu->cuCtxResetPersistingL2Cache(), KGB_EXEC_UNAVAILABLE, err,
			     "reset the L2 cache");
}

/* Everything that comes before the ops of a sample; afterwards the GPU is idle, its caches hold
 * nothing of use, its memory nothing of the sample before. */
static enum kgb_exec_status prepare(struct kgb_run *run, const struct kgb_exec_request *request,
				    struct kgb_gpu_plan *prologue, uint32_t sample,
				    struct kgb_err *err)
{
	struct kgb_memory *memory = run->memory;
	const uint32_t slot = slot_of(request, sample);
	enum kgb_exec_status status;

	status = kgb_memory_poison(memory, seed_of(request, sample), err);
	if (!status && prologue)
		status = kgb_run_prologue(run, prologue, err);
	if (!status)
		status = kgb_memory_load_fast(memory, slot, request->n_slots, err);
	if (!status)
		status = drop_kept_lines(run->gpu, err);
	if (!status)
		status = kgb_memory_flush(memory, request->flush_bytes, ~seed_of(request, sample),
					  err);
	return status ? status
		      : kgb_gpu_check(run->gpu, run->gpu->cu->cuStreamSynchronize(run->gpu->stream),
				      KGB_EXEC_GPU_FAULT, err, "before sample %u", sample);
}

/* The word that lets the stream go; set by a timer too. */
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

static enum kgb_exec_status close_gate(struct kgb_run *run, struct kgb_err *err)
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

static enum kgb_exec_status issue_between_events(struct kgb_run *run, kgb_run_issue_fn issue,
						 void *payload, struct kgb_err *err)
{
	const struct kgb_cuda *cu = run->gpu->cu;
	enum kgb_exec_status status;

	status = kgb_gpu_check(run->gpu, cu->cuEventRecord(run->begin, run->gpu->stream),
			       KGB_EXEC_UNAVAILABLE, err, "record an event");
	if (!status)
		status = issue(run, payload, err);
	if (!status)
		status = kgb_gpu_check(run->gpu, cu->cuEventRecord(run->end, run->gpu->stream),
				       KGB_EXEC_UNAVAILABLE, err, "record an event");
	return status;
}

enum kgb_exec_status kgb_run_measure(struct kgb_run *run, kgb_run_issue_fn issue, void *payload,
				     bool gated, int64_t *host_ns, struct kgb_err *err)
{
	const struct kgb_cuda *cu = run->gpu->cu;
	enum kgb_exec_status status = gated ? close_gate(run, err) : KGB_EXEC_OK;
	int64_t start = kgb_mono_ns();

	if (!status)
		status = issue_between_events(run, issue, payload, err);
	if (gated) {
		set_alarm(0);
		if (!__atomic_load_n(gate, __ATOMIC_SEQ_CST)) /* not let go by the timer */
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

enum kgb_exec_status kgb_run_event_ns(struct kgb_run *run, uint64_t *out, struct kgb_err *err)
{
	float ms = 0;
	enum kgb_exec_status status =
		kgb_gpu_check(run->gpu, run->gpu->cu->cuEventElapsedTime(&ms, run->begin, run->end),
			      KGB_EXEC_GPU_FAULT, err, "time between events");

	if (!status)
		*out = ms > 0 ? (uint64_t)((double)ms * 1e6 + 0.5) : 0;
	return status;
}

static enum kgb_exec_status issue_plan(struct kgb_run *run, void *plan, struct kgb_err *err)
{
	return kgb_run_issue(run, plan, -1, false, err);
}

static enum kgb_exec_status measure(struct kgb_run *run, struct kgb_gpu_plan *plan, bool gated,
				    int64_t *host_ns, struct kgb_err *err)
{
	return kgb_run_measure(run, issue_plan, plan, gated, host_ns, err);
}

/* A first run loads code and may make the driver wait for the stream: it is neither gated nor
 * counted. */
static enum kgb_exec_status warm_up(struct kgb_run *run, const struct kgb_exec_request *request,
				    struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
				    struct kgb_err *err)
{
	int64_t host_ns;
	enum kgb_exec_status status = prepare(run, request, prologue, request->n_samples, err);

	return status ? status : measure(run, plan, false, &host_ns, err);
}

static enum kgb_exec_status take_sample(struct kgb_run *run, const struct kgb_exec_request *request,
					struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
					uint32_t i, struct kgb_exec_sample *out,
					struct kgb_err *err)
{
	struct kgb_exec_sample made = {.slot = slot_of(request, i)};
	int64_t host_ns = 0;
	enum kgb_exec_status status = prepare(run, request, prologue, i, err);

	if (status)
		return status;
	made.sm_mhz = kgb_clock_mhz(&run->clock);
	status = measure(run, plan, can_gate(run, plan), &host_ns, err);
	if (!status)
		status = kgb_run_event_ns(run, &made.event_ns, err);
	if (!status)
		status = kgb_memory_check_slack(run->memory, seed_of(request, i), err);
	if (status)
		return status;
	made.host_ns = (uint64_t)host_ns;
	*out = made;
	return KGB_EXEC_OK;
}

/* The same again under CUPTI. What it cannot measure stays 0. */
static enum kgb_exec_status take_activity(struct kgb_run *run,
					  const struct kgb_exec_request *request,
					  struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
					  struct kgb_exec_sample *samples, struct kgb_err *err)
{
	struct kgb_err note = KGB_ERR_INIT;
	enum kgb_exec_status status = KGB_EXEC_OK;
	size_t n_missing = 0;
	int64_t host_ns;

	if (kgb_activity_start(run->cupti, &note) < 0) {
		*err = note;
		return KGB_EXEC_OK;
	}
	status = warm_up(run, request, plan, prologue, err);
	for (uint32_t i = 0; !status && i < request->n_samples; i++) {
		status = prepare(run, request, prologue, i, err);
		kgb_activity_clear();
		if (!status)
			status = measure(run, plan, can_gate(run, plan), &host_ns, err);
		if (status)
			break;
		samples[i].activity_ns = kgb_activity_span(plan->n_activities);
		n_missing += samples[i].activity_ns == 0;
	}
	kgb_activity_stop();
	if (!status && n_missing > 0)
		(void)kgb_fail(err, KGB_ERR_UNAVAILABLE,
			       "CUPTI: records of %zu samples do not add up to %zu", n_missing,
			       plan->n_activities);
	return status;
}

enum kgb_exec_status kgb_run_timed(struct kgb_run *run, const struct kgb_exec_request *request,
				   struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
				   uint64_t *value, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_exec_sample *samples = NULL;
	struct kgb_exec_layout layout;
	struct kgb_err ignored = KGB_ERR_INIT;
	enum kgb_exec_status status = kgb_run_check(run, request, plan, prologue, &layout, err);

	if (!status)
		status = refuse_kept_lines(run->gpu, err);
	if (!status)
		status = kgb_run_set_slack(run, plan, prologue, err);
	if (!status)
		status = warm_up(run, request, plan, prologue, err);
	samples = kgb_xcalloc(request->n_samples, sizeof(samples[0]));
	for (uint32_t i = 0; !status && i < request->n_samples; i++)
		status = take_sample(run, request, plan, prologue, i, &samples[i], err);
	if (!status)
		status = kgb_memory_slack_found(run->memory, value, err);
	if (status && status != KGB_EXEC_SLACK) {
		*value = status == KGB_EXEC_GPU_FAULT ? UINT64_MAX : *value;
		return status;
	}
	enum kgb_exec_status brought =
		kgb_memory_bring_back(run->memory, request, layout.ranges, status ? &ignored : err);
	if (brought)
		return brought;
	if (!status && (request->flags & KGB_EXEC_WITH_ACTIVITY))
		status = take_activity(run, request, plan, prologue, samples, err);
	memcpy(run->memory->output + layout.samples, samples,
	       request->n_samples * sizeof(samples[0]));
	return status;
}
