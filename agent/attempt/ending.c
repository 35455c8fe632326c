/* SPDX-License-Identifier: MIT */
/** \file
 * What the watch over an attempt and its launcher have found out, as JSON for the result.
 */
#include "agent/attempt/attempt_internal.h"

static void write_empty(struct kgb_jsonw *w, const struct kgb_attempt *attempt)
{
	const struct kgb_sandbox_status *status = &attempt->sums.status;
	kgb_jsonw_key(w, "empty");
	kgb_jsonw_object(w);
	kgb_jsonw_kbool(w, "proven",
			attempt->sums.result.survivors == 0 && status->cgroup_empty != 0);
	kgb_jsonw_kcount(w, "survivors", attempt->sums.result.survivors);
	kgb_jsonw_kbool(w, "tree_reaped", status->tree_empty);
	kgb_jsonw_key(w, "cgroup_removed");
	if (status->cgroup_empty < 0)
		kgb_jsonw_null(w);
	else
		kgb_jsonw_bool(w, status->cgroup_empty == 1);
	kgb_jsonw_object_end(w);
}

static void write_limits(struct kgb_jsonw *w, const struct kgb_attempt_limits *limits)
{
	kgb_jsonw_key(w, "limits");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "disk_bytes", limits->disk_bytes);
	kgb_jsonw_ki64(w, "files", limits->n_files);
	kgb_jsonw_ki64(w, "memory_bytes", limits->memory_bytes);
	kgb_jsonw_ki64(w, "processes", limits->n_tasks);
	kgb_jsonw_ki64(w, "idle_timeout_ms", limits->idle_timeout_ms);
	kgb_jsonw_object_end(w);
}

static void write_used(struct kgb_jsonw *w, const struct kgb_attempt *attempt)
{
	const struct kgb_watcher *watch = &attempt->watcher;
	const struct kgb_sandbox_status *status = &attempt->sums.status;
	kgb_jsonw_key(w, "used");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "disk_bytes", watch->disk.used.total.bytes);
	kgb_jsonw_ki64(w, "workspace_bytes", watch->disk.used.parts[KGB_DISK_WS]);
	kgb_jsonw_ki64(w, "home_bytes", watch->disk.used.parts[KGB_DISK_HOME]);
	kgb_jsonw_ki64(w, "traffic_bytes",
		       watch->disk.used.parts[KGB_DISK_TRAFFIC] +
			       watch->disk.used.parts[KGB_DISK_ROUNDS]);
	kgb_jsonw_ki64(w, "files", watch->disk.used.total.files);
	kgb_jsonw_kcount(w, "peak_memory_bytes", status->peak_memory_bytes);
	kgb_jsonw_kcount(w, "peak_processes", status->peak_tasks);
	kgb_jsonw_ki64(w, "memory_kills", status->n_oom_kills);
	kgb_jsonw_object_end(w);
}

static void write_clocks(struct kgb_jsonw *w, const struct kgb_attempt *attempt)
{
	const struct kgb_watcher *watch = &attempt->watcher;
	int64_t wall_ms = watch->end_ms - watch->start_ms;
	int64_t working_ms = wall_ms - attempt->sums.totals.wait_ms;
	kgb_jsonw_key(w, "clocks");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "wall_ms", wall_ms);
	kgb_jsonw_ki64(w, "working_ms", working_ms > 0 ? working_ms : 0);
	kgb_jsonw_ki64(w, "api_ms", watch->api_ms);
	kgb_jsonw_ki64(w, "tool_ms", watch->tool_ms);
	kgb_jsonw_ki64(w, "idle_ms", watch->idle_ms);
	kgb_jsonw_kcount(w, "drain_ms",
			 attempt->result_seen_ms ? watch->end_ms - attempt->result_seen_ms : -1);
	kgb_jsonw_object_end(w);
}

static void write_probe(struct kgb_jsonw *w, const char *by, const char *what, const char *detail,
			int64_t count)
{
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "code", "cheat.probe");
	kgb_jsonw_kstr(w, "seen_by", by);
	kgb_jsonw_kstr(w, "what", what);
	kgb_jsonw_kstr(w, "detail", *detail ? detail : NULL);
	kgb_jsonw_ki64(w, "count", count);
	kgb_jsonw_object_end(w);
}

static void write_probes(struct kgb_jsonw *w, const struct kgb_attempt *attempt)
{
	const struct kgb_watcher *watch = &attempt->watcher;
	const struct kgb_sandbox_status *status = &attempt->sums.status;
	kgb_jsonw_key(w, "probes");
	kgb_jsonw_array(w);
	for (size_t i = 0; i < status->n_probes; i++)
		write_probe(w, "system call", status->probes[i].name, status->probes[i].detail,
			    status->probes[i].count);
	for (size_t i = 0; i < watch->n_probes; i++)
		write_probe(w, "gateway", watch->probes[i].what, watch->probes[i].path,
			    watch->probes[i].count);
	kgb_jsonw_array_end(w);
}

static void write_broken(struct kgb_jsonw *w, const struct kgb_watcher *watch)
{
	kgb_jsonw_key(w, "broken_limit");
	if (!watch->broken.name) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "name", watch->broken.name);
	kgb_jsonw_ki64(w, "limit", watch->broken.limit);
	kgb_jsonw_ki64(w, "seen", watch->broken.measured);
	kgb_jsonw_kstr(w, "evidence", watch->broken.why);
	kgb_jsonw_object_end(w);
}

void kgb_attempt__write_sandbox(struct kgb_jsonw *w, const struct kgb_attempt *attempt)
{
	const struct kgb_watcher *watch = &attempt->watcher;
	const struct kgb_device *device = kgb_devices_at(attempt->env->devices, attempt->slot);
	kgb_jsonw_object(w);
	kgb_jsonw_key(w, "isolation");
	kgb_ladder_write(attempt->env->limits.ladder, w);
	kgb_jsonw_kstr(w, "gpu", kgb_attempt__sees_gpu(attempt) ? device->name : NULL);
	write_empty(w, attempt);
	write_limits(w, &attempt->env->limits);
	write_used(w, attempt);
	write_broken(w, watch);
	write_clocks(w, attempt);
	kgb_jsonw_key(w, "waiting_for");
	if (watch->waiting_class) {
		kgb_jsonw_object(w);
		kgb_jsonw_kstr(w, "class", watch->waiting_class);
		kgb_jsonw_kstr(w, "evidence", watch->waiting);
		kgb_jsonw_object_end(w);
	} else {
		kgb_jsonw_null(w);
	}
	write_probes(w, attempt);
	kgb_jsonw_object_end(w);
}
