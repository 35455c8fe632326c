/* SPDX-License-Identifier: MIT */
#include "methods/code_blocks.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

/* CommonMark: largest indentation of a closing fence beyond its opening one. */
#define CLOSING_INDENT 3

enum language { OTHER, UNNAMED, PYTHON };

/** A line that is a fence. */
struct fence {
	size_t length; /* of its run of marks; 0: the line is none */
	size_t indent;
	char mark;
	enum language language;
};

/** The language of an info string: "python", "Python title=x", "{.python .numberLines}". */
static enum language language_of(const char *info, size_t len)
{
	static const char *const names[] = {"python", "python3", "py", "triton"};
	static const char blanks[] = " \t\r{.";
	while (len > 0 && strchr(blanks, *info)) {
		info++;
		len--;
	}
	size_t word = 0;
	while (word < len && !strchr(" \t\r{}:,", info[word]))
		word++;
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		if (word == strlen(names[i]) && strncasecmp(info, names[i], word) == 0)
			return PYTHON;
	return len == 0 ? UNNAMED : OTHER;
}

static struct fence read_fence(const char *line, size_t len)
{
	struct fence fence = {0};
	while (fence.indent < len && (line[fence.indent] == ' ' || line[fence.indent] == '\t'))
		fence.indent++;
	const char *run = line + fence.indent, *end = line + len;
	const char *at = run;
	while (at < end && *at == *run && (*run == '`' || *run == '~'))
		at++;
	if (at - run < 3)
		return fence;
	const size_t info_len = (size_t)(end - at);
	/* "```x```" is code within a line. */
	if (*run == '`' && memchr(at, '`', info_len))
		return fence;
	fence.length = (size_t)(at - run);
	fence.mark = *run;
	fence.language = language_of(at, info_len);
	return fence;
}

/** The line after a line; its length without the newline goes to `len`. */
static const char *next_line(const char *line, size_t *len)
{
	const char *end = strchrnul(line, '\n');
	*len = (size_t)(end - line);
	return *end ? end + 1 : end;
}

/** The quote of the triple-quoted string that is open after a line of Python, 0: none; `quote` is
 * that before it. */
static char string_after(const char *line, size_t len, char quote)
{
	char short_quote = 0; /* of a string within the line */
	for (size_t i = 0; i < len; i++) {
		const char c = line[i];
		const bool is_triple = (c == '"' || c == '\'') && i + 2 < len && line[i + 1] == c &&
				       line[i + 2] == c;
		if (c == '\\') {
			i++;
		} else if (quote || (is_triple && !short_quote)) {
			if (!is_triple || (quote && quote != c))
				continue;
			quote = (char)(quote ? 0 : c);
			i += 2;
		} else if (short_quote) {
			short_quote = (char)(c == short_quote ? 0 : short_quote);
		} else if (c == '#') {
			break;
		} else if (c == '"' || c == '\'') {
			short_quote = c;
		}
	}
	return quote;
}

/** The end of the example that a fence begins within an open string: after a fence without a
 * language, before the string's end. NULL: none. */
static const char *example_end(const char *line, char quote)
{
	for (bool is_first = true; *line; is_first = false) {
		size_t len;
		const char *next = next_line(line, &len);
		const struct fence fence = read_fence(line, len);
		if (fence.length > 0 && !is_first)
			return fence.language == UNNAMED ? next : NULL;
		quote = string_after(line, len, quote);
		if (!quote)
			return NULL;
		line = next;
	}
	return NULL;
}

struct scan {
	void (*found)(void *payload, const struct kgb_code_block *block);
	void *payload;
	struct fence open; /* length 0: outside of blocks */
	const char *block;
	char quote; /* of the string that is open in a block of Python */
};

static void open_block(struct scan *scan, const struct fence *fence, const char *begin)
{
	scan->open = *fence;
	scan->block = begin;
	scan->quote = '\0';
}

static void close_block(struct scan *scan, const char *end, bool is_closed)
{
	const struct kgb_code_block block = {.text = scan->block,
					     .len = (size_t)(end - scan->block),
					     .indent = scan->open.indent,
					     .is_named = scan->open.language == PYTHON,
					     .is_closed = is_closed};
	if (scan->open.length > 0 && scan->open.language != OTHER && block.len > 0)
		scan->found(scan->payload, &block);
	scan->open.length = 0;
}

/** Whether a fence within the open block ends it. */
static bool ends_block(const struct scan *scan, const struct fence *fence)
{
	const bool says_python = fence->language == PYTHON;
	if (says_python && scan->open.language != PYTHON)
		return true;
	return fence->mark == scan->open.mark && fence->length >= scan->open.length &&
	       fence->indent <= scan->open.indent + CLOSING_INDENT &&
	       (says_python || fence->language == UNNAMED);
}

/** Read the line and return the next one to read. */
static const char *read_line(struct scan *scan, const char *line)
{
	size_t len;
	const char *next = next_line(line, &len);
	const struct fence fence = read_fence(line, len);
	const bool is_open = scan->open.length > 0;
	if (fence.length == 0 || (is_open && !ends_block(scan, &fence))) {
		if (is_open && scan->open.language != OTHER)
			scan->quote = string_after(line, len, scan->quote);
		return next;
	}
	const char *after = is_open && scan->quote ? example_end(line, scan->quote) : NULL;
	if (after)
		return after;
	close_block(scan, line, true);
	if (!is_open || fence.language == PYTHON)
		open_block(scan, &fence, next);
	return next;
}

void kgb_each_code_block(const char *text,
			 void (*found)(void *payload, const struct kgb_code_block *block),
			 void *payload)
{
	struct scan scan = {.found = found, .payload = payload, .block = text};
	while (*text)
		text = read_line(&scan, text);
	close_block(&scan, text, false);
}

char *kgb_code_block_text(const struct kgb_code_block *block)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const char *line = block->text, *end = block->text + block->len;
	while (line < end) {
		size_t len, extra = 0;
		const char *next = next_line(line, &len);
		while (extra < block->indent && (line[extra] == ' ' || line[extra] == '\t'))
			extra++;
		kgb_buf_add(&out, line + extra, (size_t)(next - line) - extra);
		line = next;
	}
	return kgb_xstrndup(out.ptr, out.len);
}

static void keep_last(void *payload, const struct kgb_code_block *block)
{
	if (block->is_named)
		*(struct kgb_code_block *)payload = *block;
}

char *kgb_last_python_block(const char *text)
{
	struct kgb_code_block last = {0};
	kgb_each_code_block(text, keep_last, &last);
	return last.text ? kgb_code_block_text(&last) : NULL;
}
