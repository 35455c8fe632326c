/* SPDX-License-Identifier: MIT */
#include "verify/protocol/judge_request.h"

#include "base/formats/decode.h"
#include "base/formats/jsonw.h"
#include "base/str.h"

enum { SEED_BYTES = 16 };

#define SECOND_MS 1000
#define AT(member) .offset = offsetof(struct kgb_judge_request, member)

static const char *const purposes[] = {"final", "agent", NULL};

static const struct kgb_field table[] = {
	{.name = "spec",
	 .type = KGB_FIELD_STR,
	 AT(spec),
	 .required = true,
	 .doc = "The operator's specification, a YAML file."},
	{.name = "kernel",
	 .type = KGB_FIELD_STR,
	 AT(kernel),
	 .required = true,
	 .doc = "The kernel file to judge."},
	{.name = "purpose",
	 .type = KGB_FIELD_ENUM,
	 AT(purpose),
	 .names = purposes,
	 .def = "final",
	 .doc = "`final`, or `agent` for a check that an agent asked for."},
	{.name = "device",
	 .type = KGB_FIELD_STR,
	 AT(device),
	 .def = "auto",
	 .doc = "cpu, cuda, cuda:NUMBER, or auto: a GPU if there is one."},
	{.name = "seed",
	 .type = KGB_FIELD_STR,
	 AT(seed),
	 .doc = "32 hexadecimal digits: make the same inputs again. Without it the OS gives one."},
	{.name = "timing",
	 .type = KGB_FIELD_BOOL,
	 AT(timing),
	 .def = "true",
	 .doc = "Time the kernel; without it correctness alone decides."},
	{.name = "baseline",
	 .type = KGB_FIELD_STR,
	 AT(baseline),
	 .def = "torch",
	 .doc = "What it is timed against: torch, compile (torch.compile), or a kernel file."},
	{.name = "timeout",
	 .type = KGB_FIELD_DURATION,
	 AT(timeout_ms),
	 .min = SECOND_MS,
	 .def = KGB_VERIFY_TIMEOUT,
	 .doc = "Wall time of the verification."},
	{.name = "call_timeout",
	 .type = KGB_FIELD_DURATION,
	 AT(call_timeout_ms),
	 .min = SECOND_MS / 10,
	 .def = KGB_CALL_TIMEOUT,
	 .doc = "Wall time of one call of the kernel."},
	{.name = "memory",
	 .type = KGB_FIELD_SIZE,
	 AT(memory_bytes),
	 .min = 64 << 20,
	 .def = KGB_CANDIDATE_MEMORY,
	 .doc = "Memory that the kernel may take."},
	{.name = "max_failures",
	 .type = KGB_FIELD_I64,
	 AT(max_failures),
	 .min = 1,
	 .max = KGB_JUDGE_FAILURES_MAX,
	 .def = "4096",
	 .doc = "After so many failed cases the others are not judged."},
	{.name = "lanes",
	 .type = KGB_FIELD_I64,
	 AT(lanes),
	 .min = 0,
	 .max = KGB_JUDGE_LANES_MAX,
	 .def = "0",
	 .doc = "Cases judged side by side; 0: up to 4, as processors are free."},
	{.name = "cache",
	 .type = KGB_FIELD_BOOL,
	 AT(cache),
	 .def = "true",
	 .doc = "Use answers of the reference and compilations of earlier verifications."},
	{.name = "zygotes",
	 .type = KGB_FIELD_STR,
	 AT(zygotes),
	 .doc = "Folder of a running `kgb-judge zygotes`; without it new processes are made."},
	{.name = "python",
	 .type = KGB_FIELD_STR,
	 AT(python),
	 .doc = "Interpreter with torch and triton; default $KGB_PYTHON, else what setup installed."},
	{.name = "cupti",
	 .type = KGB_FIELD_STR,
	 AT(cupti),
	 .doc = "libcupti.so.N for a GPU; by default where the loader finds it."},
	{.name = "parent",
	 .type = KGB_FIELD_I64,
	 AT(parent),
	 .min = 0,
	 .max = INT32_MAX,
	 .def = "0",
	 .doc = "Process number of the parent: the judge ends when that process ends; 0: it does not."},
	KGB_FIELD_END};

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

void kgb_judge_request_describe(struct kgb_buf *out)
{
	for (const struct kgb_field *field = table; field->name; field++)
		kgb_buf_addf(out, "  %-14s%s%s%s%s\n", field->name, field->doc,
			     field->def ? " (" : "", field->def ? field->def : "",
			     field->def ? ")" : "");
}
