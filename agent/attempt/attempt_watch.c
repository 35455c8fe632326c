/* SPDX-License-Identifier: MIT */
/** \file
 * Watches an attempt: what it has written, whether it lives, what it waits for; and tells it all at
 * the end.
 */
#include "agent/attempt/attempt_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "agent/attempt/attempt_internal.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

/* How often processes are looked at, and files counted; more often where a limit is near. */
#define SAMPLE_MS 2000
#define SAMPLE_MIN_MS 200
/* A look at the processes that another attempt has just taken will do. */
#define SAMPLE_AGE_MS 100
#define DISK_MS 2000
/* Of all time at most 1/20 goes into counting files. */
#define DISK_SHARE 20
/* A disk that had room is never filled by attempts: with less than this left, those end that hold
 * much, and with half of it all: who fills it may hold what nobody sees. */
#define DISK_RESERVE ((int64_t)512 << 20)
/* Less than this share of a processor is no sign of life: timers of a CLI that waits. */
#define LIFE_CPU_SHARE 100
/* ... or so many bytes read from or written to a disk: more than a log of being idle. */
#define LIFE_IO_BYTES (64 << 10)
/* More than this share, and it is processors that are waited for. */
#define BUSY_CPU_SHARE 2

static const char *const parts[KGB_N_DISK_PARTS] = {
	[KGB_DISK_WS] = "ws",   [KGB_DISK_HOME] = "home",         [KGB_DISK_TRAFFIC] = "traffic",
	[KGB_DISK_GIT] = "git", [KGB_DISK_VERDICTS] = "verdicts", [KGB_DISK_ROUNDS] = "rounds",
};

/* ---- disk ---- */

static void on_count(uv_work_t *work)
{
	struct kgb_watch *watch = work->data;
	int64_t start_ms = kgb_mono_ms();
	struct kgb_disk_usage total = {0};
	for (int i = 0; i < KGB_N_DISK_PARTS; i++) {
		struct kgb_err ignored = KGB_ERR_INIT;
		struct kgb_disk_usage part = {0};
		/* Not there (yet): it takes nothing. */
		(void)!kgb_disk_usage_add(watch->dir_fd, parts[i], &part, &ignored);
		watch->counted.parts[i] = part.bytes;
		total.bytes += part.bytes;
		total.files += part.files;
		total.is_partial = total.is_partial || part.is_partial;
	}
	watch->counted.total = total;
	watch->counted.cost_ms = kgb_mono_ms() - start_ms;
}

static int64_t size_of(const struct kgb_watch *watch, const char *name)
{
	struct stat st;
	return fstatat(watch->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0
		       ? 0
		       : 512 * (int64_t)st.st_blocks;
}

static void end_by(struct kgb_attempt *attempt, enum kgb_agent_end end, const char *limit,
		   int64_t value, int64_t seen)
{
	struct kgb_watch *watch = &attempt->watch;
	if (watch->has_end)
		return;
	watch->has_end = true;
	watch->end = end;
	watch->limit = limit;
	watch->limit_value = value;
	watch->limit_seen = seen;
}

/** The limit is broken: no grace, it would go on writing. */
static void stop_for_disk(struct kgb_attempt *attempt, const char *limit, int64_t value,
			  int64_t seen, const char *why)
{
	end_by(attempt, KGB_AGENT_DISK, limit, value, seen);
	snprintf(attempt->watch.why, sizeof(attempt->watch.why), "%s", why);
	kgb_warn("%s: %s", attempt->spec->name, why);
	kgb_attempt__stop(attempt, SIGKILL, 0);
}

static void check_disk(struct kgb_attempt *attempt)
{
	const struct kgb_attempt_limits *limits = &attempt->env->limits;
	const struct kgb_watch *watch = &attempt->watch;
	const struct kgb_disk_usage *used = &watch->disk.total;
	int64_t requests = watch->disk.parts[KGB_DISK_TRAFFIC] + watch->disk.parts[KGB_DISK_ROUNDS];
	struct kgb_disk_room room;
	kgb_disk_room(watch->dir_fd, &room);
	char why[KGB_WATCH_TEXT_LEN];
	if (watch->has_end)
		return;
	if (used->bytes > limits->disk_bytes) {
		snprintf(
			why, sizeof(why),
			"the agent wrote %lld bytes; sandbox.disk allows %lld (workspace %lld, HOME %lld, requests %lld, output %lld)",
			(long long)used->bytes, (long long)limits->disk_bytes,
			(long long)watch->disk.parts[KGB_DISK_WS],
			(long long)watch->disk.parts[KGB_DISK_HOME], (long long)requests,
			(long long)watch->disk.output);
		stop_for_disk(attempt, "disk", limits->disk_bytes, used->bytes, why);
	} else if (used->files > limits->n_files) {
		snprintf(why, sizeof(why), "the agent made %lld files; sandbox.files allows %lld",
			 (long long)used->files, (long long)limits->n_files);
		stop_for_disk(attempt, "files", limits->n_files, used->files, why);
	} else if (used->is_partial) {
		stop_for_disk(
			attempt, "nesting", 0, 0,
			"the agent nested directories so deep and wide that their size cannot be told");
	} else if (watch->had_room && room.bytes >= 0 && room.bytes < DISK_RESERVE &&
		   (used->bytes > DISK_RESERVE / 4 || room.bytes < DISK_RESERVE / 2)) {
		snprintf(why, sizeof(why),
			 "only %lld bytes are left on the disk, and the agent holds %lld",
			 (long long)room.bytes, (long long)used->bytes);
		stop_for_disk(attempt, "reserve", DISK_RESERVE, room.bytes, why);
	}
}

static void on_counted(uv_work_t *work, int status)
{
	struct kgb_watch *watch = work->data;
	struct kgb_attempt *attempt = watch->attempt;
	watch->counting = false;
	if (status == 0) {
		watch->disk = watch->counted;
		watch->disk.output = size_of(watch, "stdout.jsonl") + size_of(watch, "stderr.log");
		watch->disk.total.bytes += watch->disk.output;
		watch->disk_next_ms = kgb_mono_ms() + DISK_MS + DISK_SHARE * watch->disk.cost_ms;
		check_disk(attempt);
	}
	kgb_attempt__maybe_settled(attempt);
}

static void start_count(struct kgb_attempt *attempt)
{
	struct kgb_watch *watch = &attempt->watch;
	if (watch->counting)
		return;
	watch->counting = true;
	watch->work.data = watch;
	int rc = uv_queue_work(attempt->env->loop, &watch->work, on_count, on_counted);
	KGB_ASSERT(rc == 0);
}

static void count_disk(struct kgb_attempt *attempt)
{
	struct kgb_watch *watch = &attempt->watch;
	const struct kgb_attempt_limits *limits = &attempt->env->limits;
	struct kgb_disk_room room;
	kgb_disk_room(watch->dir_fd, &room);
	/* The disk as a whole has lost so much since the last count that it may have been us. */
	bool is_urgent = watch->room.bytes - room.bytes > limits->disk_bytes / 16 ||
			 watch->room.files - room.files > limits->n_files / 4 ||
			 (watch->had_room && room.bytes < DISK_RESERVE);
	if (watch->counting || (kgb_mono_ms() < watch->disk_next_ms && !is_urgent))
		return;
	watch->room = room;
	start_count(attempt);
}

/* ---- processes and clocks ---- */

static int64_t cpu_ticks(const struct kgb_proc_tree *tree)
{
	int64_t ticks = 0;
	for (size_t i = 0; i < tree->n; i++)
		ticks += tree->items[i].cpu_ticks;
	return ticks;
}

/** Whoever ends takes its bytes along: less than before is not a sign of anything. */
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

static bool has_tool(const struct kgb_attempt *attempt, const struct kgb_proc_tree *tree)
{
	pid_t launcher = kgb_sandbox_child_pid(&attempt->launch);
	for (size_t i = 0; i < tree->n; i++)
		if (is_tool(tree, &tree->items[i], launcher))
			return true;
	return false;
}

void kgb_attempt__note_life(struct kgb_attempt *attempt)
{
	attempt->watch.life_ms = kgb_mono_ms();
}

/** Look at the processes: has anything moved since the last look? */
static void sample(struct kgb_attempt *attempt, int64_t max_age_ms)
{
	struct kgb_watch *watch = &attempt->watch;
	int64_t taken_ms = 0;
	pid_t launcher = kgb_sandbox_child_pid(&attempt->launch);
	struct kgb_proc_tree before = watch->before;
	watch->before = watch->tree;
	watch->tree = before; /* its memory is used again */
	if (launcher == 0 || kgb_processes_below(attempt->env->processes, max_age_ms, launcher,
						 &watch->tree, &taken_ms) < 0)
		return;
	int64_t passed_ms = taken_ms - watch->sample_ms;
	watch->sample_ms = taken_ms;
	watch->passed_ms = passed_ms;
	watch->cpu_ms = ticks_to_ms(cpu_ticks(&watch->tree) - cpu_ticks(&watch->before));
	int64_t io_before = watch->io_bytes;
	watch->io_bytes = io_bytes(&watch->tree);
	if (!same_processes(&watch->tree, &watch->before) ||
	    watch->cpu_ms * LIFE_CPU_SHARE >= passed_ms ||
	    watch->io_bytes - io_before >= LIFE_IO_BYTES)
		kgb_attempt__note_life(attempt);
	bool in_tool = watch->n_open == 0 && has_tool(attempt, &watch->tree);
	if (in_tool && watch->in_tool)
		watch->tool_ms += passed_ms;
	watch->in_tool = in_tool;
}

static int64_t sample_interval_ms(const struct kgb_attempt *attempt)
{
	int64_t quarter_ms = attempt->env->limits.idle_timeout_ms / 4;
	if (quarter_ms == 0 || quarter_ms > SAMPLE_MS)
		return SAMPLE_MS;
	return quarter_ms > SAMPLE_MIN_MS ? quarter_ms : SAMPLE_MIN_MS;
}

/** All attempts look at the same moments, when a new interval of the clock begins: one look at
 * /proc serves them all. */
static bool sample_is_due(const struct kgb_attempt *attempt)
{
	int64_t now_ms = kgb_mono_ms();
	int64_t last_ms = attempt->watch.sample_ms;
	int64_t interval_ms = sample_interval_ms(attempt);
	return now_ms / interval_ms != last_ms / interval_ms && now_ms - last_ms >= SAMPLE_MIN_MS;
}

/** Clocks that run with the model's answers and with silence. */
static void run_clocks(struct kgb_attempt *attempt)
{
	struct kgb_watch *watch = &attempt->watch;
	int64_t now_ms = kgb_mono_ms();
	int64_t passed_ms = now_ms - watch->tick_ms;
	struct kgb_totals totals = attempt->totals;
	watch->tick_ms = now_ms;
	if (attempt->session)
		kgb_session_totals(attempt->session, &totals);
	if (watch->n_open > 0)
		watch->api_ms += passed_ms;
	else if (totals.n_open > 0)
		watch->open_since_ms = now_ms;
	watch->n_open = totals.n_open;
	if (watch->n_events != attempt->events.report.n_events ||
	    watch->stdout_offset != attempt->stdout_offset || watch->n_open > 0 || attempt->job) {
		watch->n_events = attempt->events.report.n_events;
		watch->stdout_offset = attempt->stdout_offset;
		kgb_attempt__note_life(attempt);
	}
	int64_t idle_ms = now_ms - watch->life_ms;
	if (idle_ms > watch->idle_ms)
		watch->idle_ms = idle_ms;
}

/* ---- what it waits for ---- */

static void say_waiting(struct kgb_watch *watch, const char *class, const char *fmt, ...)
	KGB_PRINTF(3, 4);

static void say_waiting(struct kgb_watch *watch, const char *class, const char *fmt, ...)
{
	va_list ap;
	watch->waiting_class = class;
	va_start(ap, fmt);
	vsnprintf(watch->waiting, sizeof(watch->waiting), fmt, ap);
	va_end(ap);
}

/** Processor time of one process since the look before. */
static int64_t own_cpu_ms(const struct kgb_watch *watch,
			  const struct kgb_proc_tree_process *process)
{
	const struct kgb_proc_tree_process *before =
		kgb_proc_tree_find(&watch->before, process->pid);
	return ticks_to_ms(process->cpu_ticks - (before ? before->cpu_ticks : 0));
}

/** The process that tells most: one that cannot run, else the busiest, else the youngest tool. */
static const struct kgb_proc_tree_process *telling(const struct kgb_attempt *attempt, char state)
{
	const struct kgb_watch *watch = &attempt->watch;
	const struct kgb_proc_tree *tree = &watch->tree;
	pid_t launcher = kgb_sandbox_child_pid(&attempt->launch);
	const struct kgb_proc_tree_process *best = NULL;
	int64_t best_ms = -1;
	for (size_t i = 0; i < tree->n; i++) {
		const struct kgb_proc_tree_process *process = &tree->items[i];
		if (state ? process->state != state : !is_tool(tree, process, launcher))
			continue;
		int64_t ms = own_cpu_ms(watch, process);
		if (ms >= best_ms) {
			best_ms = ms;
			best = process;
		}
	}
	return best;
}

void kgb_attempt__diagnose(struct kgb_attempt *attempt)
{
	struct kgb_watch *watch = &attempt->watch;
	if (watch->waiting_class || attempt->phase >= KGB_ATTEMPT_STOPPING)
		return;
	/* Over a moment that is too short nothing can be said of processors. */
	if (kgb_mono_ms() - watch->sample_ms >= SAMPLE_MIN_MS)
		sample(attempt, SAMPLE_AGE_MS);
	long long passed_ms = watch->passed_ms;
	const struct kgb_proc_tree_process *stuck = telling(attempt, 'D');
	const struct kgb_proc_tree_process *stopped = telling(attempt, 'T');
	const struct kgb_proc_tree_process *running = telling(attempt, 'R');
	const struct kgb_proc_tree_process *tool = telling(attempt, 0);
	/* On a full machine who is ready to run gets little, and waits for just that. */
	bool is_busy = watch->cpu_ms * BUSY_CPU_SHARE > watch->passed_ms ||
		       (running && own_cpu_ms(watch, running) > 0);
	if (attempt->job)
		say_waiting(watch, "check", "a verdict that it has asked for");
	else if (watch->n_open > 0)
		say_waiting(watch, "api", "%lld open requests to the model, for %lld ms",
			    (long long)watch->n_open,
			    (long long)(kgb_mono_ms() - watch->open_since_ms));
	else if (stopped)
		say_waiting(watch, "stopped", "process %d (%.16s) is stopped", stopped->pid,
			    stopped->name);
	else if (is_busy)
		say_waiting(watch, "cpu",
			    "its processes used %lld ms of processor time in %lld ms%s%.16s",
			    (long long)watch->cpu_ms, passed_ms, tool ? ", most of it " : "",
			    tool ? tool->name : "");
	else if (stuck)
		say_waiting(watch, "io", "process %d (%.16s) waits for a disk or device",
			    stuck->pid, stuck->name);
	else if (tool)
		say_waiting(
			watch, "tool",
			"process %d (%.16s, state %c), which used %lld ms of processor time in the last %lld ms",
			tool->pid, tool->name, tool->state, (long long)own_cpu_ms(watch, tool),
			passed_ms);
	else
		say_waiting(
			watch, "nothing",
			"no request to the model is open, no tool runs, %lld ms of processor time in %lld ms",
			(long long)watch->cpu_ms, passed_ms);
	/* It becomes part of JSON, and a process may call itself as it likes. */
	for (char *c = watch->waiting; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static void check_idle(struct kgb_attempt *attempt)
{
	struct kgb_watch *watch = &attempt->watch;
	int64_t limit_ms = attempt->env->limits.idle_timeout_ms;
	int64_t idle_ms = kgb_mono_ms() - watch->life_ms;
	if (limit_ms == 0 || idle_ms < limit_ms || attempt->result_seen_ms != 0)
		return;
	/* The last look may be old: one more, and whatever moved keeps it alive. */
	sample(attempt, 0);
	idle_ms = kgb_mono_ms() - watch->life_ms;
	if (idle_ms < limit_ms)
		return;
	kgb_attempt__diagnose(attempt);
	end_by(attempt, KGB_AGENT_HUNG, "idle_timeout", limit_ms, idle_ms);
	snprintf(watch->why, sizeof(watch->why), "no sign of life for %lld ms; it waits for %s: %s",
		 (long long)idle_ms, watch->waiting_class, watch->waiting);
	kgb_warn("%s: %s", attempt->spec->name, watch->why);
	/* A process that was stopped takes no other signal. */
	bool is_stopped = kgb_str_eq(watch->waiting_class, "stopped");
	kgb_attempt__stop(attempt, is_stopped ? SIGKILL : SIGINT, KGB_STOP_GRACE_MS);
}

/* ---- life of the watch ---- */

int kgb_attempt__watch_open(struct kgb_attempt *attempt, struct kgb_err *err)
{
	struct kgb_watch *watch = &attempt->watch;
	watch->attempt = attempt;
	watch->start_ms = watch->tick_ms = watch->life_ms = watch->sample_ms = kgb_mono_ms();
	if (kgb_fs_opendir(AT_FDCWD, attempt->dir, &watch->dir_fd, err) < 0)
		return -1;
	kgb_disk_room(watch->dir_fd, &watch->room);
	watch->had_room = watch->room.bytes > 4 * DISK_RESERVE;
	return 0;
}

void kgb_attempt__watch_round(struct kgb_attempt *attempt)
{
	struct kgb_watch *watch = &attempt->watch;
	watch->tick_ms = watch->life_ms = watch->sample_ms = kgb_mono_ms();
	watch->n_open = 0;
	watch->in_tool = false;
}

void kgb_attempt__watch(struct kgb_attempt *attempt)
{
	run_clocks(attempt);
	if (attempt->phase != KGB_ATTEMPT_RUNNING)
		return;
	count_disk(attempt);
	if (sample_is_due(attempt))
		sample(attempt, SAMPLE_AGE_MS);
	check_idle(attempt);
}

void kgb_attempt__watch_probe(struct kgb_attempt *attempt, const char *what, const char *path)
{
	struct kgb_watch *watch = &attempt->watch;
	size_t i = 0;
	while (i < watch->n_probes && !kgb_str_eq(watch->probes[i].what, what))
		i++;
	if (i == KGB_ARRAY_LEN(watch->probes))
		return;
	if (i == watch->n_probes) {
		watch->n_probes++;
		snprintf(watch->probes[i].what, sizeof(watch->probes[i].what), "%s", what);
		snprintf(watch->probes[i].path, sizeof(watch->probes[i].path), "%s", path);
	}
	watch->probes[i].count++;
}

/** What the launcher has told. */
static void take_launcher_end(struct kgb_attempt *attempt)
{
	const struct kgb_sandbox_status *status = &attempt->launch.status;
	struct kgb_watch *watch = &attempt->watch;
	if (kgb_str_eq(status->limit, "processes")) {
		end_by(attempt, KGB_AGENT_PROCESSES, "processes", status->limit_value,
		       status->limit_seen);
		snprintf(
			watch->why, sizeof(watch->why),
			"the agent started more than the %lld processes and threads that sandbox.processes allows",
			(long long)status->limit_value);
	} else if (kgb_str_eq(status->limit, "disk")) {
		end_by(attempt, KGB_AGENT_DISK, "disk", status->limit_value, status->limit_seen);
		snprintf(
			watch->why, sizeof(watch->why),
			"the agent holds %lld bytes in files that it has deleted; sandbox.disk allows %lld",
			(long long)status->limit_seen, (long long)status->limit_value);
	} else if (kgb_str_eq(status->limit, "files")) {
		end_by(attempt, KGB_AGENT_DISK, "files", status->limit_value, status->limit_seen);
		snprintf(
			watch->why, sizeof(watch->why),
			"the agent holds more than %lld files that it has deleted, or so many open ones that the size of these cannot be told",
			(long long)status->limit_value);
	} else if (status->n_oom_kills > 0 && attempt->result.term_signal == SIGKILL &&
		   !attempt->result.stop_requested) {
		end_by(attempt, KGB_AGENT_MEMORY, "memory", attempt->env->limits.memory_bytes,
		       status->peak_memory_bytes);
		snprintf(
			watch->why, sizeof(watch->why),
			"the CLI was ended because its processes needed more than the %lld bytes that sandbox.memory allows",
			(long long)attempt->env->limits.memory_bytes);
	}
}

void kgb_attempt__watch_ended(struct kgb_attempt *attempt)
{
	struct kgb_watch *watch = &attempt->watch;
	run_clocks(attempt);
	watch->end_ms = kgb_mono_ms();
	take_launcher_end(attempt);
	start_count(attempt); /* what it has left */
}

void kgb_attempt__watch_close(struct kgb_attempt *attempt)
{
	kgb_proc_tree_release(&attempt->watch.tree);
	kgb_proc_tree_release(&attempt->watch.before);
	kgb_close(attempt->watch.dir_fd);
}
