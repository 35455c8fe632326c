/* SPDX-License-Identifier: MIT */
/** \file
 * Fenced blocks of Python in the Markdown of a model. The rules are CommonMark's, with four
 * allowances for the habits of models:
 * - a fence may have any indentation, and its block is indented with it (items of a list);
 * - within a block of another language, a fence marked Python begins a block (a reply that is
 *   fenced as a whole as Markdown);
 * - a fence marked Python ends a block of Python without a closing fence;
 * - within a string of triple quotes, a pair of fences is text of the string (an example in a
 *   docstring).
 */
#ifndef KGB_METHODS_CODE_BLOCKS_H
#define KGB_METHODS_CODE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

struct kgb_code_block {
	const char *text; /* borrowed; of the whole text */
	size_t len;
	size_t indent; /* extra blanks of each line */
	bool is_named; /* its fence is marked Python; else it has no language */
	bool is_closed; /* else it goes to the end of the text */
};

/** Call `found` for each block that is Python or has no language, in order. Empty blocks do not
 * count. Info strings of Python, in any case: python, python3, py, triton, with attributes. */
void kgb_each_code_block(const char *text,
			 void (*found)(void *payload, const struct kgb_code_block *block),
			 void *payload);
/** The block's text, without its indentation; malloc'ed. */
char *kgb_code_block_text(const struct kgb_code_block *block);
/** The last block marked Python; malloc'ed; NULL: none. */
char *kgb_last_python_block(const char *text);

#endif
