/* SPDX-License-Identifier: MIT */
/** \file
 * A reader of the text of Triton's IR: its place in the text, and the smallest parts: blanks,
 * words, types. The first error is kept; after it the rest of the text counts as empty, so that
 * every loop ends. */
#ifndef KGB_VERIFY_TTIR_TTIR_READER_H
#define KGB_VERIFY_TTIR_TTIR_READER_H

#include "verify/ttir/ttir_text.h"

struct kgb_ttir_reader {
	const char *at, *end;
	const char *counted; /* lines are counted up to here */
	int line; /* of `counted`, from 1 */
	int depth; /* of regions */
	uint32_t n_statements;
	bool failed;
	struct kgb_arena *arena; /* borrowed */
	struct kgb_err *err; /* borrowed */
};

/** Note the first error, with its line. */
void kgb_ttir_fail(struct kgb_ttir_reader *r, enum kgb_err_kind kind, const char *fmt, ...)
	KGB_PRINTF(3, 4);
int kgb_ttir_line(struct kgb_ttir_reader *r);
/** The next character, 0 at the end. */
char kgb_ttir_peek(const struct kgb_ttir_reader *r);
bool kgb_ttir_at(const struct kgb_ttir_reader *r, const char *text);
void kgb_ttir_skip_blanks(struct kgb_ttir_reader *r); /* within a line; a comment is blank */
void kgb_ttir_skip_lines(struct kgb_ttir_reader *r);
/** Skip blanks, then this text if it is there. */
bool kgb_ttir_take(struct kgb_ttir_reader *r, const char *text);
void kgb_ttir_need(struct kgb_ttir_reader *r, const char *text);
/** Letters, digits and _ . - $; may be empty. */
struct kgb_slice kgb_ttir_word(struct kgb_ttir_reader *r);
uint32_t kgb_ttir_count(struct kgb_ttir_reader *r); /* digits, below 2^31 */
/** At an opening bracket: moves past the closing one and returns the text between them. */
struct kgb_slice kgb_ttir_group(struct kgb_ttir_reader *r);
struct kgb_slice kgb_ttir_quoted(struct kgb_ttir_reader *r); /* at a quote */
void kgb_ttir_read_type(struct kgb_ttir_reader *r, struct kgb_ttir_type *out);

/** Room for one more element at the end of an array in the arena; NULL: too many. */
void *kgb_ttir_grow(struct kgb_ttir_reader *r, void *array, uint32_t *n, uint32_t *cap, size_t size,
		    uint32_t most);
#define KGB_TTIR_ADD(r, s, list, most) \
	kgb_ttir_grow((r), &(s)->list, &(s)->n_##list, &(s)->cap_##list, sizeof(*(s)->list), (most))

/** Finds the source line of the statement's location: fills kernel_line and kernel_file.
 * `aliases` are the texts of #loc, #loc1, ... */
void kgb_ttir_locate(struct kgb_ttir_statement *statement, const struct kgb_slice *aliases,
		     size_t n_aliases);

#endif
