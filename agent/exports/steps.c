/* SPDX-License-Identifier: MIT */
#include "agent/exports/steps.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/str.h"
#include "methods/slim.h"

/* Most of one string in an event: a tool's output of 100 MB shows nothing more. */
#define STRING_BYTES ((size_t)256 << 10)
#define PIECE_BYTES ((size_t)64 << 10)

struct kgb_step *kgb_steps_add(struct kgb_steps *steps, enum kgb_step_source source,
			       const char *message)
{
	KGB_VEC_ADD(&steps->list, (struct kgb_step){.source = source,
						    .message = KGB_BUF_INIT(0),
						    .reasoning = KGB_BUF_INIT(0),
						    .usage = KGB_USAGE_UNKNOWN,
						    .cost_nanos = -1});
	struct kgb_step *step = &steps->list.items[steps->list.n - 1];
	kgb_steps_text(steps, &step->message, message);
	return step;
}

/** Count bytes that are to be kept; false: there is no more room. */
static bool takes(struct kgb_steps *steps, size_t n)
{
	if (steps->bytes + n > KGB_STEPS_BYTES) {
		steps->n_left_out++;
		return false;
	}
	steps->bytes += n;
	return true;
}

void kgb_steps_text(struct kgb_steps *steps, struct kgb_buf *text, const char *more)
{
	if (!more || !*more || !takes(steps, strlen(more)))
		return;
	kgb_buf_adds(text, text->len > 0 ? "\n\n" : "");
	kgb_buf_adds(text, more);
}

struct kgb_step *kgb_steps__agent(struct kgb_steps *steps)
{
	if (steps->list.n > 0) {
		struct kgb_step *last = &steps->list.items[steps->list.n - 1];
		if (last->source == KGB_STEP_AGENT)
			return last;
	}
	return kgb_steps_add(steps, KGB_STEP_AGENT, "");
}

static const char *keep(struct kgb_steps *steps, const char *text)
{
	return takes(steps, strlen(text)) ? kgb_arena_strdup(&steps->arena, text)
					  : "(left out: the trajectory is too long)";
}

static const char *keep_json(struct kgb_steps *steps, const cJSON *value)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_tree(&w, value);
	return keep(steps, text.ptr);
}

static const char *keep_arguments(struct kgb_steps *steps, const cJSON *arguments)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &text, 0);
	if (cJSON_IsObject(arguments)) {
		kgb_jsonw_tree(&w, arguments);
	} else {
		kgb_jsonw_object(&w);
		if (arguments) {
			kgb_jsonw_key(&w, "input");
			kgb_jsonw_tree(&w, arguments);
		}
		kgb_jsonw_object_end(&w);
	}
	return takes(steps, text.len) ? kgb_arena_strdup(&steps->arena, text.ptr) : "{}";
}

struct kgb_tool_call *kgb_steps__call(struct kgb_steps *steps, struct kgb_step *step,
				      const char *id, const char *name, const cJSON *arguments)
{
	KGB_VEC_ADD(&step->calls,
		    (struct kgb_tool_call){
			    .id = kgb_arena_strdup(&steps->arena, id && *id ? id : ""),
			    .name = kgb_arena_strdup(&steps->arena, name && *name ? name : "tool"),
			    .arguments = keep_arguments(steps, arguments),
			    .exit_code = -1});
	return &step->calls.items[step->calls.n - 1];
}

struct kgb_tool_call *kgb_steps__find_call(struct kgb_steps *steps, const char *id)
{
	for (size_t i = steps->list.n; id && *id && i > steps->first; i--)
		KGB_VEC_FOREACH(call, &steps->list.items[i - 1].calls)
			if (kgb_str_eq(call->id, id))
				return call;
	return NULL;
}

const char *kgb_steps__content(struct kgb_steps *steps, const cJSON *value)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	const cJSON *block = NULL;
	if (!value || cJSON_IsNull(value))
		return "";
	if (cJSON_IsString(value))
		return keep(steps, value->valuestring);
	if (!cJSON_IsArray(value))
		return keep_json(steps, value);
	cJSON_ArrayForEach(block, value) {
		const char *part = kgb_json_str(block, "text", NULL);
		kgb_buf_adds(&text, text.len > 0 ? "\n" : "");
		if (part)
			kgb_buf_adds(&text, part);
		else
			kgb_buf_addf(&text, "(%s)", kgb_json_str(block, "type", "content"));
	}
	return keep(steps, text.ptr);
}

/* ---- streams ---- */

struct kgb_steps_reader {
	struct kgb_steps *steps;
	struct kgb_slim lines;
};

static void on_line(void *payload, const char *line, size_t len)
{
	struct kgb_steps *steps = payload;
	struct kgb_err ignored = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *event = NULL;
	if (len == 0)
		return;
	if (kgb_json_parse(line, len, &event, &ignored) < 0 || !cJSON_IsObject(event)) {
		steps->n_bad_lines++;
		return;
	}
	if (!kgb_steps__claude(steps, event) && !kgb_steps__codex(steps, event) &&
	    !kgb_steps__opencode(steps, event))
		steps->n_unknown_events++;
}

struct kgb_steps_reader *kgb_steps_reader_new(struct kgb_steps *steps)
{
	struct kgb_steps_reader *reader = kgb_xcalloc(1, sizeof(*reader));
	reader->steps = steps;
	steps->first = steps->list.n;
	kgb_slim_init(&reader->lines, KGB_LIMIT_EVENT, STRING_BYTES);
	return reader;
}

void kgb_steps_feed(struct kgb_steps_reader *reader, const char *data, size_t len)
{
	kgb_slim_feed(&reader->lines, data, len, on_line, reader->steps);
}

void kgb_steps_finish(struct kgb_steps_reader *take_reader)
{
	kgb_slim_finish(&take_reader->lines, on_line, take_reader->steps);
	take_reader->steps->n_bad_lines += take_reader->lines.n_dropped;
	kgb_slim_release(&take_reader->lines);
	kgb_free(take_reader);
}

int kgb_steps_read(struct kgb_steps *steps, int fd, struct kgb_err *err)
{
	KGB_AUTO(free) char *piece = kgb_xmalloc(PIECE_BYTES);
	struct kgb_steps_reader *reader = kgb_steps_reader_new(steps);
	ssize_t n = 0;
	do {
		n = read(fd, piece, PIECE_BYTES);
		if (n > 0)
			kgb_steps_feed(reader, piece, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	const int code = errno;
	kgb_steps_finish(reader);
	return n < 0 ? kgb_fail_errno(err, code, "read the events") : 0;
}

void kgb_steps_release(struct kgb_steps *steps)
{
	KGB_VEC_FOREACH(step, &steps->list) {
		kgb_buf_release(&step->message);
		kgb_buf_release(&step->reasoning);
		KGB_VEC_RELEASE(&step->calls);
	}
	KGB_VEC_RELEASE(&steps->list);
	kgb_arena_release(&steps->arena);
}

void kgb_auto_steps(struct kgb_steps *steps)
{
	kgb_steps_release(steps);
}
