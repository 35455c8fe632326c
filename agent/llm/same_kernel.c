/* SPDX-License-Identifier: MIT */
#include "agent/llm/same_kernel.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/** One logical line: its indentation and its tokens. */
struct line {
	struct kgb_buf text;
	size_t indent; /* bytes of it */
	size_t n_strings; /* tokens of one kind ... */
	size_t n_others; /* ... and of the others */
	bool is_blank; /* since the last token */
};

struct scan {
	const char *at;
	struct kgb_buf *out;
	struct line line;
	int depth; /* of brackets */
	struct kgb_buf docstring; /* a line that is perhaps left out; empty: none */
	size_t docstring_indent;
	bool opens; /* the line before begins a block, or there is none */
};

/** The name of an encoding in a comment of the first two lines changes how the bytes are read (PEP
 * 263). */
static bool declares_encoding(const char *text)
{
	for (int i = 0; i < 2 && *text; i++) {
		const size_t len = strcspn(text, "\n");
		const char *comment = memchr(text, '#', len);
		if (comment && memmem(comment, len - (size_t)(comment - text), "coding", 6))
			return true;
		text += len + (text[len] == '\n');
	}
	return false;
}

/** Carriage returns and form feeds have special rules as line breaks and blanks. */
static bool has_other_controls(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text) && *text != '\n' && *text != '\t')
			return true;
	return false;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/** Whether a blank before the token has no meaning: at the inner side of a bracket. */
static bool is_at_bracket(const struct line *line, char token)
{
	const char last = line->text.ptr[line->text.len - 1];
	return (last != '\0' && strchr("([{", last)) || strchr(")]}", token);
}

/** Add a token, with one blank before it where there were some. */
static void add_token(struct line *line, const char *token, size_t len, bool is_string)
{
	if (line->is_blank && line->n_strings + line->n_others > 0 && !is_at_bracket(line, *token))
		kgb_buf_addc(&line->text, ' ');
	line->is_blank = false;
	kgb_buf_add(&line->text, token, len);
	*(is_string ? &line->n_strings : &line->n_others) += 1;
}

/** Strings and brackets in a field of a format string. */
struct field {
	int depth; /* of braces; 0: not in a field */
	char quote; /* of a string in it; 0: none */
};

/** Whether the next character of a format string is one of two: a doubled brace. */
static bool step_format(struct field *field, const char *at)
{
	if (field->depth == 0) {
		if ((*at == '{' || *at == '}') && at[1] == *at)
			return true;
		field->depth = *at == '{' ? 1 : 0;
	} else if (field->quote) {
		if (*at == field->quote)
			field->quote = 0;
	} else if (*at == '\'' || *at == '"') {
		field->quote = *at;
	} else {
		field->depth += (*at == '{') - (*at == '}');
	}
	return false;
}

/** Length of the string that begins with a quote; 0: it has no end, or its end depends on the
 * version of Python (the same quotes inside a field, PEP 701). */
static size_t string_len(const char *text, bool is_format)
{
	const char quote = *text;
	const size_t n = text[1] == quote && text[2] == quote ? 3 : 1;
	struct field field = {0};
	for (const char *at = text + n; *at && (*at != '\n' || n == 3); at++) {
		if (*at == quote && (n == 1 || (at[1] == quote && at[2] == quote)))
			return field.depth > 0 ? 0 : (size_t)(at - text) + n;
		if (*at == '\\') {
			if (!at[1] || (is_format && (field.depth > 0 || at[1] == '{')))
				return 0;
			at++;
		} else if (is_format && step_format(&field, at)) {
			at++;
		}
	}
	return 0;
}

/** A name, a number, or a string with its prefix; 0: give up. */
static size_t word_len(const char *text, bool *is_string)
{
	size_t n = 0;
	bool is_format = false, is_plain = true, is_prefix = true;
	for (; is_word(text[n]); n++) {
		is_prefix = is_prefix && strchr("rRbBfFuUtT", text[n]);
		is_format = is_format || strchr("fFtT", text[n]);
		is_plain = is_plain && strchr("rRuU", text[n]);
	}
	*is_string = false;
	if (!is_prefix || (text[n] != '"' && text[n] != '\''))
		return n;
	*is_string = is_plain;
	const size_t len = string_len(text + n, is_format);
	return len > 0 ? n + len : 0;
}

static void flush(struct scan *scan, struct kgb_buf *line)
{
	if (line->len > 0) {
		kgb_buf_add(scan->out, line->ptr, line->len);
		kgb_buf_addc(scan->out, '\n');
	}
	kgb_buf_clear(line);
}

/** Whether a string has an escape that Python refuses if it is not complete. */
static bool has_long_escape(const char *string)
{
	for (const char *at = strchr(string, '\\'); at && at[1]; at = strchr(at + 2, '\\'))
		if (strchr("xuUN", at[1]))
			return true;
	return false;
}

/** Take up the line that has ended. A string at the beginning of a block is nothing but its
 * documentation when the block has another line. */
static void end_line(struct scan *scan)
{
	struct line *line = &scan->line;
	const bool is_empty = line->n_strings + line->n_others == 0;
	const bool is_docstring = scan->opens && line->n_strings == 1 && line->n_others == 0 &&
				  !has_long_escape(line->text.ptr);
	if (!is_empty && scan->docstring.len > 0) {
		if (scan->docstring_indent == line->indent &&
		    memcmp(scan->docstring.ptr, line->text.ptr, line->indent) == 0)
			kgb_buf_clear(&scan->docstring);
		flush(scan, &scan->docstring);
	}
	if (is_docstring) {
		kgb_buf_add(&scan->docstring, line->text.ptr, line->text.len);
		scan->docstring_indent = line->indent;
		scan->opens = false;
	} else if (!is_empty) {
		scan->opens = line->text.ptr[line->text.len - 1] == ':';
		flush(scan, &line->text);
	}
	kgb_buf_clear(&line->text);
	line->n_strings = line->n_others = 0;
	line->is_blank = false;
	line->indent = strspn(scan->at, " \t");
	kgb_buf_add(&line->text, scan->at, line->indent);
	scan->at += line->indent;
}

/** One token, blank, comment or line break. False: give up. */
static bool step(struct scan *scan)
{
	static const char brackets[] = "([{)]}";
	struct line *line = &scan->line;
	const char *at = scan->at;
	bool is_string = false;
	size_t len = 1;
	if (*at == '\n') {
		scan->at++;
		if (scan->depth == 0)
			end_line(scan);
		line->is_blank = true;
		return true;
	}
	if (*at == ' ' || *at == '\t' || *at == '#') {
		line->is_blank = true;
		scan->at += *at == '#' ? strcspn(at, "\n") : 1;
		return true;
	}
	if (*at == '\\') { /* a blank, unless something is wrong with it */
		const char *next = at[1] == '\n' ? at + 2 + strspn(at + 2, " \t") : "";
		line->is_blank = true;
		scan->at = next;
		return *next && !strchr("\n#\\", *next) && line->n_strings + line->n_others > 0;
	}
	if (is_word(*at)) {
		len = word_len(at, &is_string);
	} else if (*at == '"' || *at == '\'') {
		is_string = true;
		len = string_len(at, false);
	} else if (strchr(brackets, *at)) {
		scan->depth += strchr(brackets, *at) < brackets + 3 ? 1 : -1;
	}
	add_token(line, at, len, is_string);
	scan->at += len;
	return len > 0 && scan->depth >= 0;
}

bool kgb_python_normalize(const char *text, struct kgb_buf *out)
{
	const size_t before = out->len;
	struct scan scan = {.at = text,
			    .out = out,
			    .line.text = KGB_BUF_INIT(0),
			    .docstring = KGB_BUF_INIT(0),
			    .opens = true};
	bool good = !declares_encoding(text) && !has_other_controls(text);
	scan.line.indent = strspn(text, " \t");
	kgb_buf_add(&scan.line.text, text, scan.line.indent);
	scan.at += scan.line.indent;
	while (good && *scan.at)
		good = step(&scan);
	good = good && scan.depth == 0;
	if (good)
		end_line(&scan);
	flush(&scan, &scan.docstring);
	kgb_buf_release(&scan.line.text);
	kgb_buf_release(&scan.docstring);
	if (!good)
		kgb_buf_truncate(out, before);
	return good;
}

void kgb_kernel_tree_sha256(const char *kernel, char out[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (!kgb_python_normalize(kernel, &text))
		kgb_buf_adds(&text, kernel);
	kgb_sha256_hex(text.ptr, text.len, out);
}
