/* SPDX-License-Identifier: MIT */
#include "sandbox/client/thinking.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* Tags of DeepSeek, Qwen and most others; of models with such a prompt; of Magistral; of Seed-OSS;
 * of Kimi. */
static const struct {
	const char *open, *close;
} tags[] = {
	{"<think>", "</think>"},     {"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"},
	{"[THINK]", "[/THINK]"},     {"<seed:think>", "</seed:think>"},
	{"◁think▷", "◁/think▷"},
};
#define N_TAGS KGB_ARRAY_LEN(tags)

/** A text that is searched from its start to its end, once for each tag. */
struct search {
	const char *opens[N_TAGS], *closes[N_TAGS]; /* the next ones; NULL: there is no more */
};

/** Next place of a word from `at` on; `next` caches it. */
static const char *find(const char **next, const char *at, const char *word)
{
	if (*next && *next < at)
		*next = strstr(at, word);
	return *next;
}

/** Whether only blanks are between the start of the line, or `begin`, and a place. */
static bool begins_line(const char *begin, const char *place)
{
	while (place > begin && (place[-1] == ' ' || place[-1] == '\t'))
		place--;
	return place == begin || place[-1] == '\n';
}

/** The tag that opens next from `at` on; N_TAGS: none. */
static size_t next_tag(struct search *search, const char *at)
{
	size_t first = N_TAGS;
	for (size_t i = 0; i < N_TAGS; i++) {
		const char *open = find(&search->opens[i], at, tags[i].open);
		while (open && !begins_line(at, open) &&
		       !find(&search->closes[i], open, tags[i].close))
			open = find(&search->opens[i], open + 1, tags[i].open);
		if (open && (first == N_TAGS || open < search->opens[first]))
			first = i;
	}
	return first;
}

/** The tag whose end comes without a beginning; N_TAGS: none. */
static size_t tag_of_the_prompt(const struct search *search, const char *text)
{
	for (size_t i = 0; i < N_TAGS; i++) {
		const char *open = search->opens[i], *close = search->closes[i];
		if (close && (!open || close < open) && begins_line(text, close))
			return i;
	}
	return N_TAGS;
}

static void add_thinking(struct kgb_buf *thinking, const char *begin, const char *end)
{
	static const char blanks[] = " \t\r\n";
	while (begin < end && strchr(blanks, *begin))
		begin++;
	while (end > begin && strchr(blanks, end[-1]))
		end--;
	if (begin < end && thinking->len > 0)
		(void)kgb_buf_adds(thinking, "\n");
	const size_t len = (size_t)(end - begin), room = thinking->limit - thinking->len;
	const bool fits = thinking->limit == 0 || len <= room;
	(void)kgb_buf_add(thinking, begin, fits ? len : kgb_utf8_valid(begin, room));
}

/** Take the thinking that begins at a place and ends with a tag or the text. Returns the place
 * where the text goes on. */
static const char *take_thinking(struct search *search, size_t tag, const char *begin,
				 struct kgb_buf *thinking)
{
	const char *close = find(&search->closes[tag], begin, tags[tag].close);
	const char *end = close ? close : begin + strlen(begin);
	add_thinking(thinking, begin, end);
	return close ? close + strlen(tags[tag].close) : end;
}

void kgb_thinking_split(struct kgb_buf *text, struct kgb_buf *thinking)
{
	struct search search;
	for (size_t i = 0; i < N_TAGS; i++) {
		search.opens[i] = strstr(text->ptr, tags[i].open);
		search.closes[i] = strstr(text->ptr, tags[i].close);
	}
	const char *at = text->ptr, *end = text->ptr + text->len;
	size_t kept = 0, tag = tag_of_the_prompt(&search, at);
	if (tag < N_TAGS)
		at = take_thinking(&search, tag, at, thinking);
	while ((tag = next_tag(&search, at)) < N_TAGS) {
		const char *open = search.opens[tag];
		memmove(text->ptr + kept, at, (size_t)(open - at));
		kept += (size_t)(open - at);
		at = take_thinking(&search, tag, open + strlen(tags[tag].open), thinking);
	}
	if (at == text->ptr)
		return;
	memmove(text->ptr + kept, at, (size_t)(end - at));
	kgb_buf_truncate(text, kept + (size_t)(end - at));
	kgb_buf_consume(text, strspn(text->ptr, "\r\n"));
}
