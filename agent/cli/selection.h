/* SPDX-License-Identifier: MIT */
/** \file Selects the operators of a command: words of the command line choose them, filters leave
 * some of them out. A word is a name ("add", "aten::add", "aten__add"), a pattern of names
 * ("*softmax*", "aten::*"), "all", or "@FILE" with a word on each line, where # begins a comment.
 */
#ifndef KGB_AGENT_CLI_SELECTION_H
#define KGB_AGENT_CLI_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/faults.h"
#include "base/str.h"
#include "verify/spec/spec.h"

/** Borrows all texts. */
struct kgb_selection {
	const struct kgb_strv *words; /* none: all operators */
	/* Filters, of each one value or several separated by commas; NULL: none. */
	const char *source, *category; /* of the spec, in any case */
	const char *failed_of; /* runs or series: operators that one has and none passed */
	const char *not_in; /* runs or series: operators that none has */
	const char *runs_dir; /* where runs are looked for */
	/** Add a suggestion to the error of an unknown name; NULL: none.
	 * \param position of the word. */
	void (*explain)(const void *payload, size_t position, struct kgb_err *err);
	const void *payload;
};

bool kgb_selection_has_filter(const struct kgb_selection *selection);
/** Whether it selects by patterns or filters, so that an operator may be left out; else the user
 * has named each one. */
bool kgb_selection_is_open(const struct kgb_selection *selection);
/** Append the operators, each once, in the order of the words, and the paths of their specs. Adds a
 * fault for each word, line and filter that is wrong, and when filters leave none. */
void kgb_select(const struct kgb_selection *selection, const struct kgb_spec_index *index,
		struct kgb_strv *names, struct kgb_strv *paths, struct kgb_faults *faults);

#endif
