/* SPDX-License-Identifier: MIT */
#include "agent/sched/sched.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "agent/report/progress.h"
#include "agent/report/results.h"
#include "agent/sched/attempt.h"
#include "agent/sched/broker.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"

/* A verdict of infra_error says nothing about the kernel: it is asked for again, this often in all.
 */
#define VERIFY_TRIES 2

enum item_phase { ITEM_WAITING, ITEM_GENERATING, ITEM_VERIFYING, ITEM_ENDED };

struct item {
	struct sched *sched;
	const struct kgb_spec *spec;
	bool generate;
	enum item_phase phase;
	int slot; /* of those that work at the same time; gives its device */
	bool holds_slot;
	int n_attempts, n_tries;
	struct kgb_attempt *attempt;
	struct kgb_job *job;
};

struct sched {
	const struct kgb_sched_spec *spec;
	uv_loop_t loop;
	struct item *items;
	bool *slot_busy;
	int n_generating, n_verifying;
	struct kgb_attempt_env env;
	struct kgb_gateway *gateway;
	struct kgb_broker *broker;
	struct kgb_progress *progress;
	struct kgb_status *status;
	uv_signal_t signals[3];
	uv_timer_t pump_timer; /* work is started from the loop, never from inside a callback of its
				  own */
	int n_signals;
	int n_parts; /* not closed yet, while closing */
	bool stopping, closing;
	struct kgb_sched_outcome outcome;
};

static void pump(struct sched *sched);

/* ---- ending ---- */

static void stop_all(struct sched *sched, bool now)
{
	sched->stopping = true;
	for (size_t i = 0; i < sched->spec->n_items; i++) {
		struct item *item = &sched->items[i];
		if (item->attempt)
			kgb_attempt_cancel(item->attempt, now);
		if (item->job)
			kgb_job_cancel(item->job);
	}
	pump(sched);
}

static void on_fatal(void *payload, const struct kgb_err *err)
{
	struct sched *sched = payload;
	if (sched->outcome.fatal)
		return;
	sched->outcome.fatal = true;
	sched->outcome.err = *err;
	kgb_error("the run stops: %s", err->msg);
	stop_all(sched, false);
}

static void check(struct sched *sched, int rc, const struct kgb_err *err)
{
	if (rc < 0)
		on_fatal(sched, err);
}

static void end_item(struct item *item, enum kgb_op_status status, const char *code,
		     const char *message)
{
	struct kgb_err err = KGB_ERR_INIT;
	item->phase = ITEM_ENDED;
	check(item->sched,
	      kgb_event_operator_ended(item->sched->spec->log, item->spec->name, status, code,
				       message, &err),
	      &err);
	pump(item->sched);
}

/* ---- final verification ---- */

static void verify(struct item *item);

static bool take_slot(struct item *item)
{
	struct sched *sched = item->sched;
	for (int i = 0; i < sched->spec->device_count && !item->holds_slot; i++) {
		if (sched->slot_busy[i])
			continue;
		sched->slot_busy[i] = item->holds_slot = true;
		item->slot = i;
	}
	return item->holds_slot;
}

static void give_slot(struct item *item)
{
	if (item->holds_slot)
		item->sched->slot_busy[item->slot] = false;
	item->holds_slot = false;
}

/** The next free verdicts/<safe_name>/NNN.json, relative to the run directory; malloc'ed. */
static char *next_verdict_path(const struct item *item, struct kgb_err *err)
{
	const struct kgb_rundir *dir = item->sched->spec->dir;
	KGB_AUTO(free) char *folder = kgb_xasprintf("verdicts/%s", item->spec->safe_name);
	if (kgb_fs_mkdirs(dir->fd, folder, 0755, err) < 0)
		return NULL;
	for (int i = 1;; i++) {
		KGB_AUTO(free) char *path = kgb_xasprintf("%s/%03d.json", folder, i);
		if (!kgb_fs_exists(dir->fd, path))
			return KGB_TAKE(path);
	}
}

static int record_verdict(struct item *item, const struct kgb_job_result *result,
			  const struct kgb_verdict_summary *summary, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = next_verdict_path(item, err);
	if (!path || kgb_fs_write_atomic(item->sched->spec->dir->fd, path, result->text,
					 result->len, 0644, true, err) < 0)
		return -1;
	return kgb_event_verified(item->sched->spec->log, item->spec->name, summary, path, err);
}

static void on_verified(void *payload, const struct kgb_job_result *result)
{
	struct item *item = payload;
	struct sched *sched = item->sched;
	struct kgb_verdict_summary summary;
	struct kgb_err err = result->err;
	item->job = NULL;
	sched->n_verifying--;
	if (result->cancelled) {
		give_slot(item);
		end_item(item, KGB_OP_CANCELLED, "infra.cancelled", "cancelled before a verdict");
		return;
	}
	bool usable =
		result->verdict && kgb_verdict_summarise(result->verdict, &summary, &err) == 0;
	bool infra = !usable || kgb_str_eq(summary.status, "infra_error");
	if (infra && item->n_tries < VERIFY_TRIES && !sched->stopping) {
		kgb_warn("%s: no verdict (%s); trying once more", item->spec->name,
			 usable ? summary.message : err.msg);
		verify(item);
		return;
	}
	give_slot(item);
	if (!usable) {
		end_item(item, KGB_OP_INFRA_ERROR, "infra.judge", err.msg);
		return;
	}
	item->phase = ITEM_ENDED;
	struct kgb_err write_err = KGB_ERR_INIT;
	check(sched, record_verdict(item, result, &summary, &write_err), &write_err);
	pump(sched);
}

static void verify(struct item *item)
{
	struct sched *sched = item->sched;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *rel = kgb_xasprintf("kernels/%s.py", item->spec->safe_name);
	KGB_AUTO(free) char *path = kgb_path_join(sched->spec->dir->path, rel);
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	item->phase = ITEM_VERIFYING;
	item->n_tries++;
	if (kgb_fs_read_untrusted(sched->spec->dir->fd, rel, KGB_LIMIT_KERNEL, &kernel, &err) < 0) {
		give_slot(item);
		end_item(item, KGB_OP_FAILED, "agent.no_kernel", err.msg);
		return;
	}
	char sha256[KGB_SHA256_HEX_LEN];
	kgb_sha256_hex(kernel.ptr, kernel.len, sha256);
	const struct kgb_device *device = kgb_devices_at(sched->spec->devices, item->slot);
	if (kgb_event_verify_started(sched->spec->log, item->spec->name, sha256, device->name,
				     &err) < 0) {
		item->phase = ITEM_ENDED;
		on_fatal(sched, &err);
		return;
	}
	sched->n_verifying++;
	item->job = kgb_broker_submit(sched->broker, &(struct kgb_job_spec){
							     .operator= item->spec->name,
							     .kernel_path = path,
							     .device = device,
							     .final = true,
							     .timed = true,
							     .done = on_verified,
							     .payload = item,
						     });
}

/* ---- generation ---- */

static void on_attempt_done(void *payload, struct kgb_attempt *attempt,
			    const struct kgb_attempt_outcome *outcome)
{
	(void)attempt;
	struct item *item = payload;
	struct sched *sched = item->sched;
	item->attempt = NULL;
	sched->n_generating--;
	give_slot(item);
	if (outcome->has_kernel && !sched->spec->skip_verify && !sched->stopping)
		verify(item);
	else if (outcome->retry && !sched->stopping)
		item->phase = ITEM_WAITING;
	else
		item->phase = ITEM_ENDED;
	pump(sched);
}

static void generate(struct item *item)
{
	struct sched *sched = item->sched;
	struct kgb_err err = KGB_ERR_INIT;
	item->n_attempts++;
	item->phase = ITEM_GENERATING;
	if (kgb_attempt_start(&item->attempt, &sched->env, item->spec, item->n_attempts, item->slot,
			      on_attempt_done, item, &err) == 0) {
		sched->n_generating++;
		return;
	}
	give_slot(item);
	if (err.kind == KGB_ERR_LIMIT) {
		item->phase = ITEM_ENDED;
		on_fatal(sched, &err);
		return;
	}
	end_item(item, KGB_OP_INFRA_ERROR, "infra.not_started", err.msg);
}

/* ---- the loop ---- */

static bool all_ended(const struct sched *sched)
{
	for (size_t i = 0; i < sched->spec->n_items; i++)
		if (sched->items[i].phase != ITEM_ENDED)
			return false;
	return true;
}

/** The last event, with the file that shows it. Errors end up in the outcome. */
static void finish_run(struct sched *sched)
{
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_sched_spec *spec = sched->spec;
	enum kgb_run_end end = sched->outcome.fatal    ? KGB_RUN_FAILED
			       : sched->outcome.signal ? KGB_RUN_INTERRUPTED
						       : KGB_RUN_COMPLETED;
	int exit_code = sched->outcome.signal ? 128 + sched->outcome.signal
					      : kgb_results_exit_code(kgb_run_log_state(spec->log));
	const char *message = sched->outcome.fatal ? sched->outcome.err.msg : NULL;
	if (kgb_event_run_finished(spec->log, end, exit_code, message, &err) < 0 &&
	    !sched->outcome.fatal) {
		sched->outcome.fatal = true;
		sched->outcome.err = err;
	}
	if (sched->status)
		kgb_status_close(sched->status);
	if (sched->progress && kgb_progress_close(sched->progress, &err) < 0 &&
	    !sched->outcome.fatal) {
		sched->outcome.fatal = true;
		sched->outcome.err = err;
	}
}

/** Broker, gateway and pump have one close each; after the last, the run is over. */
static void on_part_closed(void *payload)
{
	struct sched *sched = payload;
	if (--sched->n_parts > 0)
		return;
	for (size_t i = 0; i < KGB_ARRAY_LEN(sched->signals); i++)
		uv_close((uv_handle_t *)&sched->signals[i], NULL);
	finish_run(sched);
}

static void on_pump_closed(uv_handle_t *handle)
{
	on_part_closed(handle->data);
}

static void close_all(struct sched *sched)
{
	if (sched->closing)
		return;
	sched->closing = true;
	sched->n_parts = 1 + (sched->broker != NULL) + (sched->gateway != NULL);
	if (sched->broker)
		kgb_broker_close(sched->broker, on_part_closed, sched);
	if (sched->gateway)
		kgb_gateway_close(sched->gateway, on_part_closed, sched);
	uv_close((uv_handle_t *)&sched->pump_timer, on_pump_closed);
}

static void on_pump(uv_timer_t *timer)
{
	struct sched *sched = timer->data;
	for (size_t i = 0; i < sched->spec->n_items && !sched->stopping; i++) {
		struct item *item = &sched->items[i];
		if (item->phase != ITEM_WAITING || !take_slot(item))
			continue;
		if (item->generate)
			generate(item);
		else
			verify(item);
	}
	bool idle = sched->n_generating == 0 && sched->n_verifying == 0;
	if (idle && (sched->stopping || all_ended(sched)))
		close_all(sched);
}

static void pump(struct sched *sched)
{
	if (!sched->closing)
		uv_timer_start(&sched->pump_timer, on_pump, 0, 0);
}

static void on_signal(uv_signal_t *handle, int signo)
{
	struct sched *sched = handle->data;
	sched->n_signals++;
	if (sched->closing && sched->n_signals < 3)
		return; /* all is decided and only the warm workers are still on their way out */
	sched->outcome.signal = signo;
	if (sched->n_signals == 1) {
		kgb_warn("stopping; the agents may finish their last words (again: at once)");
		stop_all(sched, false);
	} else if (sched->n_signals == 2) {
		kgb_warn("stopping at once");
		stop_all(sched, true);
	} else {
		_exit(128 + signo);
	}
}

static void fill_env(struct sched *sched)
{
	const struct kgb_sched_spec *spec = sched->spec;
	sched->env = (struct kgb_attempt_env){
		.loop = &sched->loop,
		.log = spec->log,
		.dir = spec->dir,
		.gateway = sched->gateway,
		.gateway_mode = spec->gateway.mode,
		.broker = sched->broker,
		.status = sched->status,
		.method = spec->method,
		.data_dir = spec->data_dir,
		.bin_dir = spec->bin_dir,
		.cli_path = spec->cli_path,
		.model = spec->model,
		.devices = spec->devices,
		.timeout_ms = spec->attempt_timeout_ms,
		.max_verify_calls = spec->max_verify_calls,
		.tmp_bytes = spec->tmp_bytes,
		.max_attempts = spec->max_attempts,
		.on_fatal = on_fatal,
		.payload = sched,
	};
}

static void start_handles(struct sched *sched)
{
	static const int signos[] = {SIGINT, SIGTERM, SIGHUP};
	uv_timer_init(&sched->loop, &sched->pump_timer);
	sched->pump_timer.data = sched;
	for (size_t i = 0; i < KGB_ARRAY_LEN(sched->signals); i++) {
		uv_signal_init(&sched->loop, &sched->signals[i]);
		sched->signals[i].data = sched;
		uv_signal_start(&sched->signals[i], on_signal, signos[i]);
	}
}

static int start_parts(struct sched *sched, struct kgb_err *err)
{
	const struct kgb_sched_spec *spec = sched->spec;
	const struct kgb_broker_spec broker = {
		.loop = &sched->loop,
		.bin_dir = spec->bin_dir,
		.data_dir = spec->data_dir,
		.python = spec->python,
		.zygote_dir = spec->dir->path,
		.devices = spec->devices,
		.max_jobs = spec->device_count,
		.verify_timeout_ms = spec->verify_timeout_ms,
		.call_timeout_ms = spec->call_timeout_ms,
		.memory_bytes = spec->memory_bytes,
	};
	if (kgb_progress_start(&sched->progress, &sched->loop, spec->log, spec->dir->fd, err) < 0 ||
	    kgb_status_start(&sched->status, &sched->loop, spec->log, spec->status_style, err) < 0)
		return -1;
	bool needs_judge = !spec->skip_verify || (spec->method && spec->method->verify_tool);
	if (needs_judge && kgb_broker_start(&sched->broker, &broker, err) < 0)
		return -1;
	if (spec->method && kgb_gateway_new(&sched->gateway, &sched->loop, &spec->gateway, err) < 0)
		return -1;
	fill_env(sched);
	return 0;
}

static void make_items(struct sched *sched)
{
	const struct kgb_sched_spec *spec = sched->spec;
	sched->items = kgb_xcalloc(spec->n_items + 1, sizeof(*sched->items));
	sched->slot_busy = kgb_xcalloc((size_t)spec->device_count, sizeof(*sched->slot_busy));
	for (size_t i = 0; i < spec->n_items; i++)
		sched->items[i] = (struct item){
			.sched = sched,
			.spec = spec->items[i].spec,
			.generate = spec->items[i].generate,
		};
}

int kgb_sched_run(const struct kgb_sched_spec *spec, struct kgb_sched_outcome *out,
		  struct kgb_err *err)
{
	struct sched sched = {.spec = spec};
	int rc = uv_loop_init(&sched.loop);
	if (rc < 0)
		return kgb_fail_code(err, KGB_ERR_DOMAIN_UV, KGB_ERR_FAILED, rc,
				     "make an event loop: %s", uv_strerror(rc));
	make_items(&sched);
	start_handles(&sched);
	int started = start_parts(&sched, err);
	if (started < 0) {
		sched.outcome.fatal = true;
		sched.outcome.err = *err;
		close_all(&sched);
	}
	pump(&sched);
	uv_run(&sched.loop, UV_RUN_DEFAULT);
	rc = uv_loop_close(&sched.loop);
	if (rc < 0)
		uv_print_all_handles(&sched.loop, stderr);
	KGB_ASSERT(rc == 0);
	kgb_free(sched.items);
	kgb_free(sched.slot_busy);
	*out = sched.outcome;
	return started;
}
