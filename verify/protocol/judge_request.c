/* SPDX-License-Identifier: MIT */
#include "verify/protocol/judge_request.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/formats/decode.h"
#include "base/formats/jsonw.h"
#include "base/str.h"

enum { SEED_BYTES = 16 };

#define SECOND_MS 1000

static const char *const purposes[] = {"final", "agent", NULL};
const char *const kgb_timing_precision_names[] = {"quick", "standard", "thorough", NULL};

#define ROW(type, member, ...) KGB_FIELD_ROW(type, kgb_judge_request, member, __VA_ARGS__)
static const struct kgb_field table[] = {
	ROW(STR, spec, "The operator's specification, a YAML file.", .required = true),
	ROW(STR, kernel, "The kernel file to judge.", .required = true),
	ROW(ENUM, purpose, "`final`, or `agent` for a check that an agent asked for.",
	    .names = purposes, .def = "final"),
	ROW(STR, device, "cpu, cuda, cuda:NUMBER, or auto: a GPU if there is one.", .def = "auto"),
	ROW(STR, seed,
	    "32 hexadecimal digits: make the same inputs again. Default: drawn by the OS."),
	ROW(BOOL, timing, "Time the kernel; without it correctness alone decides.", .def = "true"),
	ROW(ENUM, timing_precision,
	    "quick: within 2 %; standard: 1 %; thorough: as a figure to publish.",
	    .names = kgb_timing_precision_names, .def = KGB_TIMING_PRECISION),
	ROW(STR, baseline,
	    "The baseline of its times: torch, compile (torch.compile), or a kernel file.",
	    .def = "torch"),
	KGB_FIELD_ROW_AS(DURATION, kgb_judge_request, "timeout", timeout_ms,
			 "Wall time of the verification.", .min = SECOND_MS,
			 .def = KGB_VERIFY_TIMEOUT),
	KGB_FIELD_ROW_AS(DURATION, kgb_judge_request, "call_timeout", call_timeout_ms,
			 "Wall time of one call of the kernel, without compilations.",
			 .min = SECOND_MS / 10, .def = KGB_CALL_TIMEOUT),
	KGB_FIELD_ROW_AS(SIZE, kgb_judge_request, "memory", memory_bytes,
			 "Memory that the kernel may take.", .min = 64 << 20,
			 .def = KGB_CANDIDATE_MEMORY),
	ROW(I64, max_failures, "After so many failed cases the others are not judged.", .min = 1,
	    .max = KGB_JUDGE_FAILURES_MAX, .def = "4096"),
	ROW(I64, lanes, "Cases judged side by side; 0: up to 4, as processors are free.", .min = 0,
	    .max = KGB_JUDGE_LANES_MAX, .def = "0"),
	ROW(BOOL, cache, "Use answers of the reference and compilations of earlier verifications.",
	    .def = "true"),
	ROW(STR, zygotes,
	    "Folder of a running `kgb-judge zygotes`; without it new processes are made."),
	ROW(STR, python,
	    "Interpreter with torch and triton; default $KGB_PYTHON, else what setup installed."),
	ROW(STR, cupti, "libcupti.so.N for a GPU; by default where the loader finds it."),
	ROW(I64, parent,
	    "Process number of the parent: the judge ends when that process ends; 0: it does not.",
	    .min = 0, .max = INT32_MAX, .def = "0"),
	KGB_FIELD_END};
#undef ROW

void kgb_judge_request_init(struct kgb_judge_request *request, struct kgb_arena *arena)
{
	*request = (struct kgb_judge_request){0};
	kgb_decode_defaults(table, request, arena);
}

static int check_seed(const char *seed, struct kgb_err *err)
{
	unsigned char bytes[SEED_BYTES];

	return seed && kgb_parse_hex(seed, bytes, sizeof(bytes), err) < 0 ? kgb_ctx(err, "seed")
									  : 0;
}

int kgb_judge_request_read(const char *text, size_t len, struct kgb_judge_request *request,
			   struct kgb_arena *arena, struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;

	*request = (struct kgb_judge_request){0};
	if (kgb_yaml_parse("request", text, len, &doc, err) < 0 ||
	    kgb_decode(table, &doc, doc.root, request, arena, err) < 0)
		return -1;
	return check_seed(request->seed, err);
}

void kgb_judge_request_write(const struct kgb_judge_request *request, struct kgb_buf *out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_jsonw w;

	kgb_decode_print(table, request, false, &text);
	const int rc = kgb_yaml_parse("request", text.ptr, text.len, &doc, &err);
	KGB_ASSERT(rc == 0);
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_tree(&w, doc.root);
	kgb_buf_addc(out, '\n');
}

char *kgb_zygotes_stack(const char *python, const char *data_dir)
{
	KGB_AUTO(free) char *programs = kgb_xasprintf("%s/verify/python", data_dir);
	char real[PATH_MAX];

	return kgb_xasprintf("%s %s", python, realpath(programs, real) ? real : programs);
}

char *kgb_shared_zygotes(const char *device, const char *python, const char *data_dir)
{
	const char *shared = getenv("KGB_ZYGOTES");
	char theirs[PATH_MAX];

	if (!shared)
		return NULL;
	KGB_AUTO(free) char *ours = kgb_zygotes_stack(python, data_dir);
	KGB_AUTO(free)
	char *link = kgb_xasprintf("%s/%s/" KGB_ZYGOTES_STACK, shared, device);
	ssize_t n = readlink(link, theirs, sizeof(theirs) - 1);
	theirs[n > 0 ? n : 0] = '\0';
	return kgb_str_eq(theirs, ours) ? kgb_xasprintf("%s/%s", shared, device) : NULL;
}

void kgb_judge_request_describe(struct kgb_buf *out)
{
	for (const struct kgb_field *field = table; field->name; field++)
		kgb_buf_addf(out, "  %-14s%s%s%s%s\n", field->name, field->doc,
			     field->def ? " (" : "", field->def ? field->def : "",
			     field->def ? ")" : "");
}
