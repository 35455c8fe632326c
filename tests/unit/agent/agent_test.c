/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/system/fs.h"

void make_scratch(struct scratch *scratch)
{
	snprintf(scratch->path, sizeof(scratch->path), "/tmp/kgb-unit-XXXXXX");
	assert_non_null(mkdtemp(scratch->path));
	assert_ok(kgb_fs_opendir(AT_FDCWD, scratch->path, &scratch->fd, err));
}

void drop_scratch(struct scratch *scratch)
{
	kgb_close(scratch->fd);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, scratch->path, err));
}

void add_line(struct kgb_buf *out, int64_t seq, const char *time, const char *type,
	      const char *data)
{
	KGB_AUTO(free)
	char *bare =
		kgb_xasprintf("{\"seq\":%" PRId64 ",\"time\":\"%s\",\"type\":\"%s\",\"data\":%s}",
			      seq, time, type, data);
	size_t len = strlen(bare);
	uint32_t crc = kgb_crc32c(bare, len);
	kgb_buf_add(out, bare, len - 1);
	kgb_buf_addf(out, ",\"crc\":\"%08" PRIx32 "\"}\n", crc);
}

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define USAGE "\"input\":300,\"output\":120,\"cache_creation\":4000,\"cache_read\":9000"
#define TOTALS                                                                                                  \
	"{" USAGE                                                                                               \
	",\"exchanges\":4,\"errors\":0,\"incomplete\":0,\"repeated\":0,\"open\":0,\"verify_calls\":2,"          \
	"\"probes\":0,\"busy_ms\":2500,\"wait_ms\":1500,\"retries\":1,\"cost_nanos\":54321999,"                 \
	"\"unpriced\":0,\"charged_tokens\":13420,\"charged_nanos\":54321999,\"models\":[{\"name\":\"m\"," USAGE \
	",\"messages\":4}]}"
#define CLI                                                                                                    \
	"{" USAGE                                                                                              \
	",\"cost_nanos\":12345000,\"turns\":5,\"session_id\":\"s-1\",\"model\":\"m\",\"version\":\"2.1.329\"," \
	"\"subtype\":\"success\",\"events\":20,\"bad_lines\":1,\"unknown_events\":2}"

static const struct {
	const char *time;
	const char *type;
	const char *data;
} story[] = {
	{"2026-11-21T08:00:00.000Z", "run_started",
	 "{\"run\":\"normal_cc_KernelGenBench_20261121T080000Z_0a1b\",\"dataset\":\"KernelGenBench\",\"method\":"
	 "\"normal_cc\",\"model\":\"m\",\"gateway\":\"offline\",\"cli\":\"claude\",\"cli_version\":\"2.1.329\","
	 "\"isolation\":\"L3\",\"platform\":\"cuda\",\"host\":\"h\",\"version\":\"0.1.0\",\"device_count\":2,"
	 "\"skip_gen\":false,\"skip_verify\":false}"},
	{"2026-11-21T08:00:00.010Z", "planned",
	 "{\"operators\":[{\"name\":\"aten::add\",\"safe_name\":\"aten__add\",\"spec_sha256\":\"" SHA_B
	 "\"},"
	 "{\"name\":\"aten::mm\",\"safe_name\":\"aten__mm\",\"spec_sha256\":null},"
	 "{\"name\":\"aten::silu\",\"safe_name\":\"aten__silu\",\"spec_sha256\":null},"
	 "{\"name\":\"aten::sum\",\"safe_name\":\"aten__sum\",\"spec_sha256\":null}]}"},
	{"2026-11-21T08:00:01.000Z", "attempt_started",
	 "{\"operator\":\"aten::add\",\"attempt\":1,\"device\":0,\"timeout_ms\":1200000,\"prompt_sha256\":\"" SHA_B
	 "\",\"dir\":\"attempts/aten__add/001\"}"},
	{"2026-11-21T08:00:01.500Z", "attempt_started",
	 "{\"operator\":\"aten::mm\",\"attempt\":1,\"device\":1,\"timeout_ms\":1200000,\"prompt_sha256\":null,\"dir\":"
	 "\"attempts/aten__mm/001\"}"},
	{"2026-11-21T08:00:04.000Z", "usage",
	 "{\"operator\":\"aten::add\",\"attempt\":1,\"gateway\":" TOTALS "}"},
	{"2026-11-21T08:00:05.000Z", "verify_call",
	 "{\"operator\":\"aten::add\",\"attempt\":1,\"verdict\":{\"status\":\"failed\",\"code\":\"verify.mismatch\","
	 "\"stage\":\"correctness\",\"message\":\"24 of 1000 elements are wrong\",\"failing_case\":"
	 "\"add_Tensor/float32/n=1000/standard\",\"kernel_sha256\":\"" SHA_B
	 "\",\"seed\":\"00\",\"wall_ms\":900,"
	 "\"total_tests\":36,\"passed_tests\":12,\"failed_tests\":24,\"gpu\":null,"
	 "\"speedup\":null,\"speedup_low\":null,\"speedup_high\":null,\"timing_note\":null},"
	 "\"commit\":\"c1\"}"},
	{"2026-11-21T08:00:08.000Z", "verify_call",
	 "{\"operator\":\"aten::add\",\"attempt\":1,\"verdict\":{\"status\":\"passed\",\"code\":null,\"stage\":null,"
	 "\"message\":\"all tests passed\",\"kernel_sha256\":\"" SHA_A
	 "\",\"seed\":\"01\",\"wall_ms\":1100,"
	 "\"total_tests\":36,\"passed_tests\":36,\"failed_tests\":0,\"gpu\":\"NVIDIA H200\","
	 "\"speedup\":0.987,\"speedup_low\":0.98,\"speedup_high\":0.995,\"timing_note\":null},"
	 "\"commit\":\"c2\"}"},
	{"2026-11-21T08:00:10.250Z", "attempt_finished",
	 "{\"operator\":\"aten::add\",\"attempt\":1,\"end\":\"agent.ok\",\"retry\":false,\"exit_code\":0,\"term_signal\":0,"
	 "\"kernel_sha256\":\"" SHA_A
	 "\",\"kernel_source\":\"verified\",\"error_code\":null,\"error_message\":null,"
	 "\"gateway\":" TOTALS ",\"cli\":" CLI "}"},
	{"2026-11-21T08:00:10.300Z", "verify_started",
	 "{\"operator\":\"aten::add\",\"kernel_sha256\":\"" SHA_A "\",\"device\":\"cuda:0\"}"},
	{"2026-11-21T08:00:12.300Z", "verified",
	 "{\"operator\":\"aten::add\",\"verdict\":{\"status\":\"passed\",\"code\":null,\"stage\":null,\"message\":\"all "
	 "tests passed\",\"kernel_sha256\":\"" SHA_A "\",\"spec_sha256\":\"" SHA_B "\",\"seed\":"
	 "\"000102030405060708090a0b0c0d0e0f\",\"platform\":\"cuda\",\"wall_ms\":1900,\"total_tests\":72,"
	 "\"passed_tests\":72,\"failed_tests\":0,\"gpu\":\"NVIDIA H200\",\"speedup\":1.025,\"speedup_low\":1.0222,"
	 "\"speedup_high\":1.0278,\"timing_note\":null},\"path\":"
	 "\"attempts/aten__add/001/verdicts/final.json\"}"},
	{"2026-11-21T08:00:20.000Z", "attempt_finished",
	 "{\"operator\":\"aten::mm\",\"attempt\":1,\"end\":\"agent.timeout\",\"retry\":false,\"exit_code\":-1,"
	 "\"term_signal\":9,\"kernel_sha256\":null,\"kernel_source\":null,\"error_code\":\"agent.timeout\","
	 "\"error_message\":\"no kernel after 20 m\",\"gateway\":null,\"cli\":null}"},
	{"2026-11-21T08:00:20.100Z", "kernel_adopted",
	 "{\"operator\":\"aten::silu\",\"kernel_sha256\":\"" SHA_B
	 "\",\"origin\":\"/k/aten__silu.py\"}"},
	{"2026-11-21T08:00:20.200Z", "verify_started",
	 "{\"operator\":\"aten::silu\",\"kernel_sha256\":\"" SHA_B "\",\"device\":\"cuda:1\"}"},
	{"2026-11-21T08:00:21.200Z", "verified",
	 "{\"operator\":\"aten::silu\",\"verdict\":{\"status\":\"cheated\",\"code\":\"cheat.l1.torch_compute\",\"stage\":"
	 "\"l1\",\"message\":\"line 3 calls torch.add\",\"kernel_sha256\":\"" SHA_B
	 "\",\"platform\":\"cuda\",\"wall_ms\":"
	 "100,\"total_tests\":40,\"passed_tests\":0,\"failed_tests\":0},\"path\":\"v.json\"}"},
	{"2026-11-21T08:00:22.000Z", "run_finished",
	 "{\"end\":\"interrupted\",\"exit_code\":130,\"message\":\"interrupted by signal 2\",\"gpus\":["
	 "{\"name\":\"cuda:0\",\"alone_ms\":1300,\"shared_ms\":1600,\"idle_ms\":100},"
	 "{\"name\":\"cuda:1\",\"alone_ms\":0,\"shared_ms\":900,\"idle_ms\":2100}]}"},
};

void fold_story(struct kgb_run_state *state, struct kgb_buf *text)
{
	KGB_AUTO(buf) struct kgb_buf own = KGB_BUF_INIT(0);
	struct kgb_buf *out = text ? text : &own;
	for (size_t i = 0; i < KGB_ARRAY_LEN(story); i++)
		add_line(out, (int64_t)i + 1, story[i].time, story[i].type, story[i].data);
	*state = (struct kgb_run_state)KGB_RUN_STATE_INIT;
	assert_ok(kgb_journal_parse("story", out->ptr, out->len, kgb_run_state_fold, state, NULL,
				    err));
}
