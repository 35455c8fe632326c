/* SPDX-License-Identifier: MIT */
/** \file
 * A fast model server for benchmarks of clients: every request is answered with the same stream of
 * Chat Completions, one chunk for each event, with counted tokens at its end.
 *
 *     serve_answers EVENTS      prints the port, serves until it is killed
 */
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "tests/helpers/fake_llm.h"

#define CHUNK "{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
#define EVENT                                                                                     \
	"data: " CHUNK "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words of it \"}," \
	"\"finish_reason\":null}]}\n\n"
#define END                                                                                        \
	"data: " CHUNK "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"  \
	"data: " CHUNK "\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":50," \
	"\"total_tokens\":150}}\n\ndata: [DONE]\n\n"

static void on_call(void *payload, struct fake_llm_call *call)
{
	const int64_t *n_events = payload;
	if (kgb_str_eq(call->method, "GET")) {
		fake_llm_reply(call, 404, "", "{}");
		return;
	}
	fake_llm_stream_head(call);
	for (int64_t i = 0; i < *n_events; i++)
		fake_llm_chunk(call, EVENT, strlen(EVENT));
	fake_llm_chunk(call, END, strlen(END));
	fake_llm_stream_end(call);
}

int main(int argc, char **argv)
{
	int64_t n_events = 0;
	struct kgb_err err = KGB_ERR_INIT;
	uv_loop_t loop;
	if (argc != 2 || kgb_parse_i64(argv[1], 1, 100000, &n_events, &err) < 0) {
		fprintf(stderr, "usage: serve_answers EVENTS\n");
		return 2;
	}
	uv_loop_init(&loop);
	printf("%u\n", (unsigned)fake_llm_port(fake_llm_start(&loop, on_call, &n_events)));
	fflush(stdout);
	return uv_run(&loop, UV_RUN_DEFAULT);
}
