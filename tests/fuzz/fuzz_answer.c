/* SPDX-License-Identifier: MIT */
/** \file
 * A provider's answer to a question, in a protocol, streamed or in one piece, under status 200 or
 * 400, for up to eight choices (first byte), cut at sizes that the second byte gives. The result
 * does not depend on the cuts, and an answer is broken if and only if it has an error.
 */
#include <stdint.h>

#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/client/answer.h"
#include "sandbox/client/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct kgb_answer *answer, uint8_t kind, const char *bytes, size_t len,
		 size_t piece)
{
	kgb_answer_init(answer, (enum kgb_protocol)(kind / 4 % KGB_N_PROTOCOLS), 1 + kind / 32);
	kgb_answer_head(answer, kind & 2 ? 400 : 200,
			kind & 1 ? "application/json" : "text/event-stream");
	for (size_t at = 0; at < len; at += piece)
		kgb_answer_feed(answer, bytes + at, len - at < piece ? len - at : piece);
	kgb_answer_end(answer, NULL);
}

static void check_choice(const struct kgb_choice *choice)
{
	KGB_ASSERT(strlen(choice->text.ptr) == choice->text.len);
	KGB_ASSERT(kgb_utf8_valid(choice->text.ptr, choice->text.len) == choice->text.len);
	KGB_ASSERT(strlen(choice->thinking.ptr) == choice->thinking.len);
}

static void check(const struct kgb_answer *answer)
{
	const size_t len = strlen(answer->error);
	bool is_broken = false;
	for (int i = 0; i < answer->n_choices; i++) {
		check_choice(&answer->choices[i]);
		is_broken = is_broken || answer->choices[i].finish == KGB_ANSWER_BROKEN;
	}
	KGB_ASSERT(is_broken == (len > 0));
	KGB_ASSERT(answer->status == 200 || len > 0);
	KGB_ASSERT(!strpbrk(answer->error, "\r\n") && kgb_utf8_valid(answer->error, len) == len);
	const struct kgb_question question = {
		.protocol = answer->protocol,
		.model = "m",
		.turns = {answer->choices[0].text.ptr},
		.sampling = {
			.temperature = 1, .top_p = 1, .seed = 1, .effort = "low", .max_tokens = 1}};
	KGB_ASSERT(kgb_question_refused(&question, answer->error) <= KGB_N_SAMPLING_FIELDS);
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *node = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	kgb_question_write(&question, &body);
	KGB_ASSERT(kgb_json_parse(body.ptr, body.len, &node, &err) == 0);
}

static void compare(const struct kgb_choice *whole, const struct kgb_choice *cut)
{
	KGB_ASSERT(whole->finish == cut->finish);
	KGB_ASSERT(strcmp(whole->text.ptr, cut->text.ptr) == 0);
	KGB_ASSERT(strcmp(whole->thinking.ptr, cut->thinking.ptr) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const char *bytes = (const char *)data + 2;
	const size_t len = size - 2;
	struct kgb_answer whole, cut;
	feed(&whole, data[0], bytes, len, len + 1);
	feed(&cut, data[0], bytes, len, (size_t)data[1] + 1);
	check(&whole);
	KGB_ASSERT(strcmp(whole.error, cut.error) == 0);
	for (int i = 0; i < whole.n_choices; i++)
		compare(&whole.choices[i], &cut.choices[i]);
	kgb_answer_release(&whole);
	kgb_answer_release(&cut);
	return 0;
}
