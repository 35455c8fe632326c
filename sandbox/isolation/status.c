/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/status.h"

#include "base/formats/json.h"
#include "base/mem.h"

enum { STATUS_LINE_MAX = 4096, PID_MAX_POSSIBLE = 1 << 22, EXIT_CODE_MAX = 255 };

/* A whole number within [0, max], else the fallback. */
static int64_t number(const cJSON *object, const char *key, int64_t max, int64_t fallback)
{
	int64_t value = kgb_json_i64(object, key, -1);

	return value >= 0 && value <= max ? value : fallback;
}

static void copy_text(char *out, size_t size, const cJSON *object, const char *key)
{
	const char *text = kgb_json_str(object, key, NULL);

	if (text)
		(void)snprintf(out, size, "%s", text);
}

static void read_probe(struct kgb_sandbox_status *status, const cJSON *object)
{
	if (!kgb_json_str(object, "probe", NULL) || status->n_probes == KGB_SANDBOX_PROBES_MAX)
		return;
	struct kgb_sandbox_probe *probe = &status->probes[status->n_probes++];
	copy_text(probe->name, sizeof(probe->name), object, "probe");
	copy_text(probe->detail, sizeof(probe->detail), object, "detail");
	probe->count = number(object, "count", INT64_MAX, 0);
}

static void read_limits(struct kgb_sandbox_status *status, const cJSON *object)
{
	copy_text(status->limit, sizeof(status->limit), object, "limit");
	status->limit_value = number(object, "limit-value", INT64_MAX, status->limit_value);
	status->limit_seen = number(object, "limit-seen", INT64_MAX, status->limit_seen);
	status->n_oom_kills = number(object, "oom-kills", INT64_MAX, status->n_oom_kills);
	status->peak_memory_bytes =
		number(object, "peak-memory-bytes", INT64_MAX, status->peak_memory_bytes);
	status->peak_tasks = number(object, "peak-tasks", INT64_MAX, status->peak_tasks);
	if (kgb_json_get(object, "cgroup-empty"))
		status->cgroup_empty = kgb_json_bool(object, "cgroup-empty", false);
}

static void on_line(void *payload, const char *line, size_t len)
{
	struct kgb_sandbox_status *status = payload;
	KGB_AUTO(json) cJSON *object = NULL;

	if (len == 0)
		return;
	if (kgb_json_parse(line, len, &object, NULL) < 0 || !cJSON_IsObject(object)) {
		status->n_bad_lines++;
		return;
	}
	status->init_pid = (pid_t)number(object, "child-pid", PID_MAX_POSSIBLE, status->init_pid);
	status->pidns_inode = (uint64_t)number(object, "pid-namespace", INT64_C(1) << 53,
					       (int64_t)status->pidns_inode);
	status->exit_code = (int)number(object, "exit-code", EXIT_CODE_MAX, status->exit_code);
	status->tree_empty = kgb_json_bool(object, "tree-empty", status->tree_empty);
	status->user_ms = number(object, "user-ms", INT64_MAX, status->user_ms);
	status->sys_ms = number(object, "sys-ms", INT64_MAX, status->sys_ms);
	status->max_rss_bytes = number(object, "max-rss-bytes", INT64_MAX, status->max_rss_bytes);
	copy_text(status->error, sizeof(status->error), object, "launch-error");
	read_limits(status, object);
	read_probe(status, object);
}

void kgb_sandbox_status_init(struct kgb_sandbox_status *status)
{
	*status = (struct kgb_sandbox_status){
		.exit_code = -1,
		.user_ms = -1,
		.sys_ms = -1,
		.max_rss_bytes = -1,
		.peak_memory_bytes = -1,
		.peak_tasks = -1,
		.cgroup_empty = -1,
	};
	kgb_lines_init(&status->lines, STATUS_LINE_MAX);
}

void kgb_sandbox_status_feed(struct kgb_sandbox_status *status, const char *data, size_t len)
{
	kgb_lines_feed(&status->lines, data, len, on_line, status);
}

void kgb_sandbox_status_release(struct kgb_sandbox_status *status)
{
	kgb_lines_release(&status->lines);
}
