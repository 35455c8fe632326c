/* SPDX-License-Identifier: MIT */
/** \file
 * Throughput of the parsers and writers of base, in MB (10^6 bytes) a second. Each figure is the
 * best of several rounds.
 *
 *     bench_base [MB]        size of the inputs, 8 by default
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/formats/lines.h"
#include "base/formats/sse.h"
#include "base/formats/yaml.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

enum { ROUNDS = 5 };

struct input {
	struct kgb_buf json, jsonl, sse, yaml;
	cJSON *tree;
	int64_t n_calls; /* callbacks seen; printed, so that nothing is optimized away */
};

static void add_message(struct kgb_buf *out, int i)
{
	kgb_buf_addf(
		out,
		"{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"text_delta\","
		"\"text\":\"x = tl.load(x_ptr + offs, mask=offs < n)\\n\"},\"usage\":{\"output_tokens\":"
		"%d,\"ratio\":%.3f,\"cached\":true,\"none\":null}}",
		i, i * 7, i / 3.0);
}

static void make_inputs(struct input *in, size_t size)
{
	kgb_buf_addc(&in->json, '[');
	for (int i = 0; in->json.len < size; i++) {
		kgb_buf_adds(&in->json, i ? "," : "");
		add_message(&in->json, i);
		add_message(&in->jsonl, i);
		kgb_buf_addc(&in->jsonl, '\n');
		kgb_buf_adds(&in->sse, "event: content_block_delta\ndata: ");
		add_message(&in->sse, i);
		kgb_buf_adds(&in->sse, "\n\n");
	}
	kgb_buf_addc(&in->json, ']');
	for (int i = 0; in->yaml.len < 900000; i++)
		kgb_buf_addf(&in->yaml,
			     "case_%d:\n  shape: [%d, 128]\n  dtype: float32\n  note: 'boundary'\n",
			     i, i);
}

static size_t run_json_parse(struct input *in)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *json = NULL;
	int rc = kgb_json_parse(in->json.ptr, in->json.len, &json, &err);

	KGB_ASSERT(rc == 0);
	return in->json.len;
}

static size_t run_json_write(struct input *in)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, &out, 0);
	kgb_jsonw_tree(&w, in->tree);
	return out.len;
}

static size_t run_yaml(struct input *in)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	int rc = kgb_yaml_parse("bench", in->yaml.ptr, in->yaml.len, &doc, &err);

	KGB_ASSERT(rc == 0);
	return in->yaml.len;
}

static void count_line(void *payload, const char *line, size_t len)
{
	*(int64_t *)payload += line[len] == '\0';
}

static void count_event(void *payload, const char *event, const char *data, size_t len)
{
	*(int64_t *)payload += event[0] != '\0' && data[len] == '\0';
}

/* Bytes arrive as from a socket: in pieces of 16 KiB. */
enum { PIECE = 16384 };

static size_t run_lines(struct input *in)
{
	struct kgb_lines lines;

	kgb_lines_init(&lines, 1 << 20);
	for (size_t at = 0; at < in->jsonl.len; at += PIECE)
		kgb_lines_feed(&lines, in->jsonl.ptr + at,
			       in->jsonl.len - at < PIECE ? in->jsonl.len - at : PIECE, count_line,
			       &in->n_calls);
	kgb_lines_release(&lines);
	return in->jsonl.len;
}

static size_t run_sse(struct input *in)
{
	struct kgb_sse sse;

	kgb_sse_init(&sse, 1 << 20);
	for (size_t at = 0; at < in->sse.len; at += PIECE)
		kgb_sse_feed(&sse, in->sse.ptr + at,
			     in->sse.len - at < PIECE ? in->sse.len - at : PIECE, count_event,
			     &in->n_calls);
	kgb_sse_release(&sse);
	return in->sse.len;
}

static size_t run_utf8(struct input *in)
{
	in->n_calls += kgb_utf8_valid(in->json.ptr, in->json.len) == in->json.len;
	return in->json.len;
}

static size_t run_escape(struct input *in)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);

	kgb_escape(&out, in->jsonl.ptr, in->jsonl.len);
	return in->jsonl.len;
}

static size_t run_crc32c(struct input *in)
{
	in->n_calls += kgb_crc32c(in->json.ptr, in->json.len) != 0;
	return in->json.len;
}

static size_t run_sha256(struct input *in)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_sha256_hex(in->json.ptr, in->json.len, hex);
	in->n_calls += hex[0] != '\0';
	return in->json.len;
}

static void bench(const char *name, size_t (*run)(struct input *), struct input *in)
{
	double best = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t start = kgb_mono_ns();
		size_t n = run(in);
		double rate = (double)n * 1000.0 / (double)(kgb_mono_ns() - start);
		best = rate > best ? rate : best;
	}
	printf("%-12s %8.0f MB/s\n", name, best);
}

int main(int argc, char **argv)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct input in = {.json = KGB_BUF_INIT(0),
			   .jsonl = KGB_BUF_INIT(0),
			   .sse = KGB_BUF_INIT(0),
			   .yaml = KGB_BUF_INIT(0)};
	int64_t megabytes = 8;

	if (argc > 1 && kgb_parse_i64(argv[1], 1, 60, &megabytes, &err) < 0) {
		fprintf(stderr, "bench_base: size in MB: %s\n", err.msg);
		return KGB_EXIT_USAGE;
	}
	make_inputs(&in, (size_t)megabytes * 1000000);
	if (kgb_json_parse(in.json.ptr, in.json.len, &in.tree, &err) < 0) {
		fprintf(stderr, "bench_base: %s\n", err.msg);
		return KGB_EXIT_INTERNAL;
	}
	bench("json parse", run_json_parse, &in);
	bench("json write", run_json_write, &in);
	bench("yaml parse", run_yaml, &in);
	bench("lines", run_lines, &in);
	bench("sse", run_sse, &in);
	bench("utf8 check", run_utf8, &in);
	bench("escape", run_escape, &in);
	bench("crc32c", run_crc32c, &in);
	bench("sha256", run_sha256, &in);
	printf("%" PRId64 " callbacks\n", in.n_calls);
	cJSON_Delete(in.tree);
	kgb_buf_release(&in.json);
	kgb_buf_release(&in.jsonl);
	kgb_buf_release(&in.sse);
	kgb_buf_release(&in.yaml);
	return KGB_EXIT_OK;
}
