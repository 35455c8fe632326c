/* SPDX-License-Identifier: MIT */
/** \file
 * An API that misbehaves on demand, around one command:
 *
 *     bad_api BEHAVIOUR[,BEHAVIOUR...] CALLS_FILE COMMAND [ARG...]
 *
 * Each request for a model's answer gets the next behaviour (fake_llm.h), the last for ever. A GET,
 * as of a model's description, gets 405 and does not count. The command inherits everything and
 * BAD_API_PORT; its exit status is ours. How many requests came is written to CALLS_FILE.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "tests/helpers/fake_llm.h"

struct bad_api {
	uv_loop_t loop;
	struct fake_llm *llm;
	struct kgb_strv behaviours;
	size_t next;
	const char *calls_file;
	uv_process_t child;
	int64_t status;
	int n_calls;
};

static void write_calls(struct bad_api *api)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *text = kgb_xasprintf("%d\n", api->n_calls);
	if (kgb_fs_write_atomic(AT_FDCWD, api->calls_file, text, strlen(text), 0644, false, &err) <
	    0)
		fprintf(stderr, "bad_api: %s\n", err.msg);
}

static void on_call(void *payload, struct fake_llm_call *call)
{
	struct bad_api *api = payload;
	if (strcmp(call->method, "GET") == 0) {
		fake_llm_sends(call, "HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n");
		fake_llm_cut(call, false);
		return;
	}
	api->n_calls++;
	write_calls(api);
	const char *behaviour = api->behaviours.items[api->next];
	if (api->next + 1 < api->behaviours.n)
		api->next++;
	bool known = fake_llm_behave(call, behaviour);
	KGB_ASSERT(known);
}

static void on_child_exit(uv_process_t *child, int64_t status, int signal)
{
	struct bad_api *api = child->data;
	api->status = signal ? 128 + signal : status;
	write_calls(api); /* none at all */
	uv_close((uv_handle_t *)child, NULL);
	fake_llm_stop(api->llm);
}

int main(int argc, char **argv)
{
	struct bad_api api = {0};
	if (argc < 4) {
		fprintf(stderr, "usage: bad_api BEHAVIOUR[,...] CALLS_FILE COMMAND [ARG...]\n");
		return 2;
	}
	kgb_strv_split(&api.behaviours, argv[1], ',');
	api.calls_file = argv[2];
	uv_loop_init(&api.loop);
	api.llm = fake_llm_start(&api.loop, on_call, &api);
	KGB_AUTO(free) char *port = kgb_xasprintf("%u", (unsigned)fake_llm_port(api.llm));
	setenv("BAD_API_PORT", port, 1);
	uv_stdio_container_t stdio[3];
	for (int i = 0; i < 3; i++)
		stdio[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = i};
	uv_process_options_t options = {.file = argv[3],
					.args = argv + 3,
					.exit_cb = on_child_exit,
					.stdio = stdio,
					.stdio_count = 3};
	api.child.data = &api;
	int rc = uv_spawn(&api.loop, &api.child, &options);
	if (rc < 0) {
		fprintf(stderr, "bad_api: %s: %s\n", argv[3], uv_strerror(rc));
		return 127;
	}
	uv_run(&api.loop, UV_RUN_DEFAULT);
	kgb_strv_release(&api.behaviours);
	return uv_loop_close(&api.loop) == 0 ? (int)api.status : 70;
}
