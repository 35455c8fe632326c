/* SPDX-License-Identifier: MIT */
/** \file
 * A coding CLI's stdout as steps of a trajectory: any bytes, in any pieces. However the bytes are
 * cut, the steps are the same, and each call's arguments are a JSON object.
 */
#include <stdint.h>

#include "agent/exports/steps.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct kgb_steps *steps, const char *bytes, size_t size, size_t piece)
{
	struct kgb_steps_reader *reader = kgb_steps_reader_new(steps);
	for (size_t i = 0; i < size; i += piece)
		kgb_steps_feed(reader, bytes + i, size - i < piece ? size - i : piece);
	kgb_steps_finish(reader);
}

static void compare(const struct kgb_step *a, const struct kgb_step *b)
{
	KGB_ASSERT(a->source == b->source && kgb_str_eq(a->message.ptr, b->message.ptr));
	KGB_ASSERT(a->source == KGB_STEP_AGENT || (a->calls.n == 0 && a->reasoning.len == 0));
	KGB_ASSERT(a->calls.n == b->calls.n);
	for (size_t i = 0; i < a->calls.n; i++) {
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(json) cJSON *arguments = NULL;
		const char *text = a->calls.items[i].arguments;
		KGB_ASSERT(kgb_str_eq(text, b->calls.items[i].arguments));
		KGB_ASSERT(kgb_json_parse(text, strlen(text), &arguments, &err) == 0);
		KGB_ASSERT(cJSON_IsObject(arguments));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(steps) struct kgb_steps whole = {0}, cut = {0};
	if (size < 1)
		return 0;
	feed(&whole, (const char *)data + 1, size - 1, size);
	feed(&cut, (const char *)data + 1, size - 1, (size_t)data[0] + 1);
	KGB_ASSERT(whole.list.n == cut.list.n && whole.n_bad_lines == cut.n_bad_lines);
	KGB_ASSERT(whole.n_unknown_events == cut.n_unknown_events);
	for (size_t i = 0; i < whole.list.n; i++)
		compare(&whole.list.items[i], &cut.list.items[i]);
	return 0;
}
