/* SPDX-License-Identifier: MIT */
#include "agent/watch/watcher.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "base/time.h"

/* Interval of samples of the processes; shorter near the limit on silence. */
#define SAMPLE_MS 2000
#define SAMPLE_MIN_MS 200
/* Oldest sample of another attempt that may be used. */
#define SAMPLE_AGE_MS 100
/* Processor time below 1/100 of a processor is no sign of life: timers of a waiting CLI. */
#define LIFE_CPU_DIVISOR 100
/* Disk IO from this many bytes on is a sign of life: more than the log of an idle CLI. */
#define LIFE_IO_BYTES (64 << 10)
/* Processor time above 1/2 of the time that passed means that the agent computes. */
#define BUSY_CPU_DIVISOR 2

/* ---- processes and clocks ---- */

static int64_t cpu_ticks(const struct kgb_proc_tree *tree)
{
	int64_t ticks = 0;
	for (size_t i = 0; i < tree->n; i++)
		ticks += tree->items[i].cpu_ticks;
	return ticks;
}

/** Ignore a smaller sum: a process that ends takes its bytes along. */
static int64_t io_bytes(const struct kgb_proc_tree *tree)
{
	int64_t sum = 0;
	for (size_t i = 0; i < tree->n; i++) {
		int64_t bytes = kgb_proc_tree_io_bytes(tree->items[i].pid);
		sum += bytes > 0 ? bytes : 0;
	}
	return sum;
}

static bool same_processes(const struct kgb_proc_tree *a, const struct kgb_proc_tree *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->items[i].pid != b->items[i].pid)
			return false;
	return true;
}

/** bwrap, the sandbox's first process, and its child, the CLI: the others are the CLI's tools. */
static bool is_tool(const struct kgb_proc_tree *tree, const struct kgb_proc_tree_process *process,
		    pid_t launcher)
{
	int depth = 0;
	while (process && process->parent != launcher && depth < 3) {
		process = kgb_proc_tree_find(tree, process->parent);
		depth++;
	}
	return depth == 3;
}

static int64_t ticks_to_ms(int64_t ticks)
{
	long per_second = sysconf(_SC_CLK_TCK);
	return per_second > 0 ? 1000 * ticks / per_second : 0;
}

static bool has_tool(const struct kgb_proc_tree *tree, pid_t launcher)
{
	for (size_t i = 0; i < tree->n; i++)
		if (is_tool(tree, &tree->items[i], launcher))
			return true;
	return false;
}

static void note_life(struct kgb_watcher *watcher)
{
	watcher->life_ms = kgb_mono_ms();
}

void kgb_watcher_note_request(struct kgb_watcher *watcher)
{
	watcher->has_asked = true;
	note_life(watcher);
}

/** Take a sample of the processes and compare it with the one before. */
static void sample(struct kgb_watcher *watcher, pid_t launcher, int64_t max_age_ms)
{
	int64_t taken_ms = 0;
	struct kgb_proc_tree before = watcher->before;
	watcher->before = watcher->tree;
	watcher->tree = before; /* its memory is used again */
	if (launcher == 0 || kgb_processes_below(watcher->spec.processes, max_age_ms, launcher,
						 &watcher->tree, &taken_ms) < 0)
		return;
	int64_t passed_ms = taken_ms - watcher->sample_ms;
	watcher->sample_ms = taken_ms;
	watcher->passed_ms = passed_ms;
	watcher->cpu_ms = ticks_to_ms(cpu_ticks(&watcher->tree) - cpu_ticks(&watcher->before));
	int64_t io_before = watcher->io_bytes;
	watcher->io_bytes = io_bytes(&watcher->tree);
	if (!same_processes(&watcher->tree, &watcher->before) ||
	    watcher->cpu_ms * LIFE_CPU_DIVISOR >= passed_ms ||
	    watcher->io_bytes - io_before >= LIFE_IO_BYTES)
		note_life(watcher);
	bool in_tool = watcher->n_open_requests == 0 && has_tool(&watcher->tree, launcher);
	if (in_tool && watcher->in_tool)
		watcher->tool_ms += passed_ms;
	watcher->in_tool = in_tool;
}

static int64_t sample_interval_ms(const struct kgb_attempt_limits *limits)
{
	int64_t quarter_ms = limits->idle_timeout_ms / 4;
	if (quarter_ms == 0 || quarter_ms > SAMPLE_MS)
		return SAMPLE_MS;
	return quarter_ms > SAMPLE_MIN_MS ? quarter_ms : SAMPLE_MIN_MS;
}

/** All attempts take their samples when a new interval of the clock begins: one reading of /proc
 * serves them all. */
static bool sample_is_due(const struct kgb_watcher *watcher)
{
	int64_t now_ms = kgb_mono_ms();
	int64_t interval_ms = sample_interval_ms(watcher->spec.limits);
	return now_ms / interval_ms != watcher->sample_ms / interval_ms &&
	       now_ms - watcher->sample_ms >= SAMPLE_MIN_MS;
}

/** Advance the clocks of the model's answers and of silence. */
static void run_clocks(struct kgb_watcher *watcher, const struct kgb_watcher_view *view)
{
	int64_t now_ms = kgb_mono_ms();
	int64_t passed_ms = now_ms - watcher->tick_ms;
	watcher->tick_ms = now_ms;
	if (watcher->n_open_requests > 0)
		watcher->api_ms += passed_ms;
	else if (view->n_open_requests > 0)
		watcher->open_since_ms = now_ms;
	watcher->n_open_requests = view->n_open_requests;
	if (watcher->stdout_offset != view->stdout_offset || view->n_open_requests > 0 ||
	    view->awaits_verdict)
		note_life(watcher);
	watcher->stdout_offset = view->stdout_offset;
	int64_t idle_ms = now_ms - watcher->life_ms;
	if (idle_ms > watcher->idle_ms)
		watcher->idle_ms = idle_ms;
}

/* ---- what it waits for ---- */

static void set_waiting(struct kgb_watcher *watcher, const char *class, const char *fmt, ...)
	KGB_PRINTF(3, 4);

static void set_waiting(struct kgb_watcher *watcher, const char *class, const char *fmt, ...)
{
	va_list ap;
	watcher->waiting_class = class;
	va_start(ap, fmt);
	vsnprintf(watcher->waiting, sizeof(watcher->waiting), fmt, ap);
	va_end(ap);
}

/** Processor time of one process since the sample before. */
static int64_t own_cpu_ms(const struct kgb_watcher *watcher,
			  const struct kgb_proc_tree_process *process)
{
	const struct kgb_proc_tree_process *before =
		kgb_proc_tree_find(&watcher->before, process->pid);
	return ticks_to_ms(process->cpu_ticks - (before ? before->cpu_ticks : 0));
}

/** The busiest process in that state (0: the busiest tool), or the last of equally busy ones. */
static const struct kgb_proc_tree_process *busiest(const struct kgb_watcher *watcher, char state,
						   pid_t launcher)
{
	const struct kgb_proc_tree *tree = &watcher->tree;
	const struct kgb_proc_tree_process *best = NULL;
	int64_t best_ms = -1;
	for (size_t i = 0; i < tree->n; i++) {
		const struct kgb_proc_tree_process *process = &tree->items[i];
		if (state ? process->state != state : !is_tool(tree, process, launcher))
			continue;
		int64_t ms = own_cpu_ms(watcher, process);
		if (ms >= best_ms) {
			best_ms = ms;
			best = process;
		}
	}
	return best;
}

void kgb_watcher_diagnose(struct kgb_watcher *watcher, const struct kgb_watcher_view *view)
{
	if (watcher->waiting_class)
		return;
	/* Processor shares over too short an interval have no meaning. */
	if (kgb_mono_ms() - watcher->sample_ms >= SAMPLE_MIN_MS)
		sample(watcher, view->launcher, SAMPLE_AGE_MS);
	long long passed_ms = watcher->passed_ms;
	const struct kgb_proc_tree_process *stuck = busiest(watcher, 'D', view->launcher);
	const struct kgb_proc_tree_process *stopped = busiest(watcher, 'T', view->launcher);
	const struct kgb_proc_tree_process *running = busiest(watcher, 'R', view->launcher);
	const struct kgb_proc_tree_process *tool = busiest(watcher, 0, view->launcher);
	/* On a full machine a process that is ready to run waits for a processor and gets little
	 * time. */
	bool is_busy = watcher->cpu_ms * BUSY_CPU_DIVISOR > watcher->passed_ms ||
		       (running && own_cpu_ms(watcher, running) > 0);
	if (view->awaits_verdict)
		set_waiting(watcher, "check", "a verdict that it has asked for");
	else if (watcher->n_open_requests > 0)
		set_waiting(watcher, "api", "%lld open requests to the model, for %lld ms",
			    (long long)watcher->n_open_requests,
			    (long long)(kgb_mono_ms() - watcher->open_since_ms));
	else if (stopped)
		set_waiting(watcher, "stopped", "process %d (%.16s) is stopped", stopped->pid,
			    stopped->name);
	else if (is_busy)
		set_waiting(watcher, "cpu",
			    "its processes used %lld ms of processor time in %lld ms%s%.16s",
			    (long long)watcher->cpu_ms, passed_ms, tool ? ", most of it " : "",
			    tool ? tool->name : "");
	else if (stuck)
		set_waiting(watcher, "io", "process %d (%.16s) waits for a disk or device",
			    stuck->pid, stuck->name);
	else if (tool)
		set_waiting(
			watcher, "tool",
			"process %d (%.16s, state %c), which used %lld ms of processor time in the last %lld ms",
			tool->pid, tool->name, tool->state, (long long)own_cpu_ms(watcher, tool),
			passed_ms);
	else
		set_waiting(
			watcher, "nothing",
			"no request to the model is open, no tool runs, %lld ms of processor time in %lld ms",
			(long long)watcher->cpu_ms, passed_ms);
	/* The name becomes part of JSON, and a process may set any name. */
	for (char *c = watcher->waiting; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static enum kgb_watcher_order check_idle(struct kgb_watcher *watcher,
					 const struct kgb_watcher_view *view)
{
	int64_t limit_ms = watcher->spec.limits->idle_timeout_ms;
	int64_t idle_ms = kgb_mono_ms() - watcher->life_ms;
	if (limit_ms == 0 || idle_ms < limit_ms || view->has_result)
		return KGB_WATCHER_LETS_RUN;
	/* The last sample may be old, and any change in a new one is a sign of life. */
	sample(watcher, view->launcher, 0);
	idle_ms = kgb_mono_ms() - watcher->life_ms;
	if (idle_ms < limit_ms)
		return KGB_WATCHER_LETS_RUN;
	kgb_watcher_diagnose(watcher, view);
	kgb_broken_limit_set(&watcher->broken, KGB_AGENT_HUNG, "idle_timeout", limit_ms, idle_ms,
			     "no sign of life for %lld ms; it waits for %s: %s", (long long)idle_ms,
			     watcher->waiting_class, watcher->waiting);
	kgb_warn("%s: %s", watcher->spec.operator, watcher->broken.why);
	/* A stopped process handles no other signal. */
	return kgb_str_eq(watcher->waiting_class, "stopped") ? KGB_WATCHER_KILLS
							     : KGB_WATCHER_STOPS;
}

/** A program other than the method's CLI could be busy for ever without a request. */
static enum kgb_watcher_order check_first_request(struct kgb_watcher *watcher)
{
	const struct kgb_program *program = watcher->spec.program;
	int64_t limit_ms = watcher->spec.limits->first_request_ms;
	int64_t passed_ms = kgb_mono_ms() - watcher->round_ms;
	if (watcher->has_asked || limit_ms == 0 || passed_ms < limit_ms ||
	    program->protocol == KGB_N_PROTOCOLS)
		return KGB_WATCHER_LETS_RUN;
	kgb_broken_limit_set(
		&watcher->broken, KGB_AGENT_NO_REQUEST, "first_request", limit_ms, passed_ms,
		"%s ('%s') sent the model no request in %lld ms: it is another program, or cannot work here",
		program->title, watcher->spec.program_path, (long long)passed_ms);
	kgb_warn("%s: %s", watcher->spec.operator, watcher->broken.why);
	return KGB_WATCHER_STOPS;
}

/* ---- life of the watcher ---- */

static void on_counted(void *payload)
{
	struct kgb_watcher *watcher = payload;
	enum kgb_watcher_order order = KGB_WATCHER_LETS_RUN;
	if (!watcher->broken.name) {
		kgb_disk_watch_check(&watcher->disk, &watcher->broken);
		if (watcher->broken.name) {
			kgb_warn("%s: %s", watcher->spec.operator, watcher->broken.why);
			order = KGB_WATCHER_KILLS; /* no grace: it would go on writing */
		}
	}
	watcher->spec.on_counted(watcher->spec.payload, order);
}

int kgb_watcher_open(struct kgb_watcher *watcher, const struct kgb_watcher_spec *spec,
		     struct kgb_err *err)
{
	watcher->spec = *spec;
	watcher->start_ms = kgb_mono_ms();
	kgb_watcher_begin_round(watcher);
	return kgb_disk_watch_open(&watcher->disk, spec->dir, spec->limits, spec->loop, on_counted,
				   watcher, err);
}

void kgb_watcher_begin_round(struct kgb_watcher *watcher)
{
	watcher->round_ms = watcher->tick_ms = watcher->life_ms = watcher->sample_ms =
		kgb_mono_ms();
	watcher->n_open_requests = 0;
	watcher->in_tool = false;
}

enum kgb_watcher_order kgb_watcher_tick(struct kgb_watcher *watcher,
					const struct kgb_watcher_view *view)
{
	run_clocks(watcher, view);
	if (!view->is_running)
		return KGB_WATCHER_LETS_RUN;
	kgb_disk_watch_tick(&watcher->disk);
	if (sample_is_due(watcher))
		sample(watcher, view->launcher, SAMPLE_AGE_MS);
	enum kgb_watcher_order order = check_first_request(watcher);
	return order == KGB_WATCHER_LETS_RUN ? check_idle(watcher, view) : order;
}

void kgb_watcher_count_probe(struct kgb_watcher *watcher, const char *what, const char *path)
{
	size_t i = 0;
	while (i < watcher->n_probes && !kgb_str_eq(watcher->probes[i].what, what))
		i++;
	if (i == KGB_ARRAY_LEN(watcher->probes))
		return;
	if (i == watcher->n_probes) {
		watcher->n_probes++;
		snprintf(watcher->probes[i].what, sizeof(watcher->probes[i].what), "%s", what);
		snprintf(watcher->probes[i].path, sizeof(watcher->probes[i].path), "%s", path);
	}
	watcher->probes[i].count++;
}

/** Record the broken limit that the launcher reports. */
static void take_launcher_limit(struct kgb_watcher *watcher,
				const struct kgb_sandbox_status *status,
				const struct kgb_sandbox_child_result *result)
{
	const struct kgb_attempt_limits *limits = watcher->spec.limits;
	struct kgb_broken_limit *broken = &watcher->broken;
	if (kgb_str_eq(status->limit, "processes"))
		kgb_broken_limit_set(
			broken, KGB_AGENT_PROCESSES, "processes", status->limit_value,
			status->limit_seen,
			"the agent started more than the %lld processes and threads that sandbox.processes allows",
			(long long)status->limit_value);
	else if (kgb_str_eq(status->limit, "disk"))
		kgb_broken_limit_set(
			broken, KGB_AGENT_DISK, "disk", status->limit_value, status->limit_seen,
			"the agent holds %lld bytes in files that it has deleted; sandbox.disk allows %lld",
			(long long)status->limit_seen, (long long)status->limit_value);
	else if (kgb_str_eq(status->limit, "files"))
		kgb_broken_limit_set(
			broken, KGB_AGENT_DISK, "files", status->limit_value, status->limit_seen,
			"the agent holds more than %lld files that it has deleted, or so many open ones that the size of these cannot be measured",
			(long long)status->limit_value);
	else if (status->n_oom_kills > 0 && result->term_signal == SIGKILL &&
		 !result->stop_requested)
		kgb_broken_limit_set(
			broken, KGB_AGENT_MEMORY, "memory", limits->memory_bytes,
			status->peak_memory_bytes,
			"the CLI was ended because its processes needed more than the %lld bytes that sandbox.memory allows",
			(long long)limits->memory_bytes);
}

void kgb_watcher_end_round(struct kgb_watcher *watcher, const struct kgb_watcher_view *view,
			   const struct kgb_sandbox_status *status,
			   const struct kgb_sandbox_child_result *result)
{
	run_clocks(watcher, view);
	watcher->end_ms = kgb_mono_ms();
	take_launcher_limit(watcher, status, result);
	kgb_disk_watch_count(&watcher->disk); /* the files that the agent left */
}

void kgb_watcher_close(struct kgb_watcher *watcher)
{
	kgb_proc_tree_release(&watcher->tree);
	kgb_proc_tree_release(&watcher->before);
	kgb_disk_watch_close(&watcher->disk);
}
