/* SPDX-License-Identifier: MIT */
#include "agent/llm/feedback.h"

#include <fcntl.h>

#include "base/codes.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/client/answer.h"
#include "verify/lane/report.h"

/* Most bytes of an answer that are sent back: the endless answer of a model that repeats itself
 * would be billed again. */
#define ANSWER_SHOWN ((size_t)64 << 10)

static int read_file(const struct kgb_llm_feedback *feedback, const char *suffix, size_t limit,
		     struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_xasprintf("%s.%s", feedback->stem, suffix);
	return kgb_fs_read(AT_FDCWD, path, limit, out, err);
}

/** The report on the kernel, without the line break at its end. */
static int write_report(const struct kgb_llm_feedback *feedback, struct kgb_buf *out,
			struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	KGB_AUTO(json) cJSON *verdict = NULL;
	if (!feedback->sample->kernel_sha256) {
		kgb_buf_addf(
			out,
			"FAILED %s: the answer has no Python code block, so there is no kernel",
			kgb_code_name(KGB_CODE_AGENT_NO_KERNEL));
	} else {
		if (read_file(feedback, "check.json", KGB_LIMIT_VERDICT, &text, err) < 0 ||
		    kgb_json_parse(text.ptr, text.len, &verdict, err) < 0)
			return kgb_ctx(err, "'%s.check.json'", feedback->stem);
		kgb_verdict_report(verdict, out);
	}
	while (kgb_str_ends(out->ptr, "\n"))
		kgb_buf_truncate(out, out->len - 1);
	if (kgb_str_eq(feedback->sample->finish, "truncated"))
		kgb_buf_adds(out, "\nnote: the answer was cut off at its limit of tokens");
	return 0;
}

int kgb_llm_feedback_write(const struct kgb_llm_feedback *feedback, struct kgb_buf *answer,
			   struct kgb_buf *text, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf report = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	if (read_file(feedback, "md", KGB_ANSWER_BYTES, answer, err) < 0 ||
	    (feedback->sample->kernel_sha256 &&
	     read_file(feedback, "py", KGB_LIMIT_KERNEL, &kernel, err) < 0) ||
	    write_report(feedback, &report, err) < 0)
		return -1;
	if (answer->len > ANSWER_SHOWN)
		kgb_buf_truncate(answer, kgb_utf8_valid(answer->ptr, ANSWER_SHOWN));
	if (answer->ptr[strspn(answer->ptr, " \t\r\n")] == '\0') {
		kgb_buf_clear(answer); /* Messages refuses a turn without text. */
		kgb_buf_adds(answer, "(no text)");
	}
	const struct kgb_chat_round round = {.operator= feedback->operator,
					     .round = feedback->sample->round,
					     .rounds = feedback->rounds,
					     .kernel = kernel.ptr,
					     .verdict = report.ptr};
	return kgb_chat_round_render(feedback->texts, &round, text, err);
}
