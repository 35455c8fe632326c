/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/status.h"

#include "base/json.h"
#include "base/mem.h"

enum { STATUS_LINE_MAX = 4096, PID_MAX_POSSIBLE = 1 << 22, EXIT_CODE_MAX = 255 };

/* A whole number within [0, max], else the fallback. */
static int64_t number(const cJSON *object, const char *key, int64_t max, int64_t fallback)
{
	int64_t value = kgb_json_i64(object, key, -1);

	return value >= 0 && value <= max ? value : fallback;
}

static void on_line(void *payload, const char *line, size_t len)
{
	struct kgb_sandbox_status *status = payload;
	struct kgb_err ignored = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *object = NULL;

	if (len == 0)
		return;
	if (kgb_json_parse(line, len, &object, &ignored) < 0 || !cJSON_IsObject(object)) {
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
	const char *error = kgb_json_str(object, "launch-error", NULL);
	if (error)
		(void)snprintf(status->error, sizeof(status->error), "%s", error);
}

void kgb_sandbox_status_init(struct kgb_sandbox_status *status)
{
	*status = (struct kgb_sandbox_status){
		.exit_code = -1,
		.user_ms = -1,
		.sys_ms = -1,
		.max_rss_bytes = -1,
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
