/* SPDX-License-Identifier: MIT */
/** \file
 * The messages to a bare model: the system text with its examples, the task that every method has
 * (prompt.h), and in later rounds its last answer with the verdict on that kernel. The texts are
 * files of the method, which the user may replace. */
#ifndef KGB_METHODS_CHAT_PROMPT_H
#define KGB_METHODS_CHAT_PROMPT_H

#include "base/hash.h"
#include "methods/prompt.h"

enum kgb_chat_text {
	KGB_CHAT_SYSTEM,
	KGB_CHAT_EXAMPLES, /* follow the system text */
	KGB_CHAT_REFLECTION, /* a template: the text of a later round about the last answer */
	KGB_N_CHAT_TEXTS
};
/** "system", "examples", "reflection". */
const char *kgb_chat_text_name(enum kgb_chat_text text);

struct kgb_chat_texts {
	struct kgb_buf texts[KGB_N_CHAT_TEXTS]; /* owned; empty: none */
};

/** Read the texts: `files` in place of the method's where they are not NULL or "". Errors name the
 * key (prompt.system) and the file: an unreadable file, an empty reflection, an unknown
 * placeholder. On failure nothing is to be released. */
KGB_MUST_CHECK int kgb_chat_texts_read(struct kgb_chat_texts *out, const struct kgb_method *method,
				       const char *const files[KGB_N_CHAT_TEXTS],
				       struct kgb_err *err);
/** Append the system text for a bare model, with its examples. */
void kgb_chat_texts_system(const struct kgb_chat_texts *texts, struct kgb_buf *out);
void kgb_chat_texts_release(struct kgb_chat_texts *texts);
/** Append "system 0123456789abcdef, examples none, reflection 0123456789abcdef": the first digits
 * of their SHA-256. */
void kgb_chat_texts_describe(const struct kgb_chat_texts *texts, struct kgb_buf *out);

/** The first question to a bare model about an operator. */
struct kgb_chat_prompt {
	struct kgb_buf system_text, task; /* owned */
	char sha256[KGB_SHA256_HEX_LEN]; /* of both, and of the template for later rounds */
};
/** On failure nothing is to be released. */
KGB_MUST_CHECK int kgb_chat_prompt_render(struct kgb_chat_prompt *out, const char *data_dir,
					  const struct kgb_method *method,
					  const struct kgb_chat_texts *texts,
					  const struct kgb_spec *spec,
					  const struct kgb_prompt_vars *vars, struct kgb_err *err);
/** The same with the task of an earlier run. */
void kgb_chat_prompt_of(struct kgb_chat_prompt *out, const struct kgb_chat_texts *texts,
			const char *task);
void kgb_chat_prompt_release(struct kgb_chat_prompt *prompt);

/** An answer that the next round reads. */
struct kgb_chat_round {
	const char *operator;
	int round, rounds; /* its number, from 1, and the most rounds */
	const char *kernel; /* in the answer; "": none */
	const char *verdict; /* report on it, as kgb-verify prints it */
};
/** Append the text about an answer. */
KGB_MUST_CHECK int kgb_chat_round_render(const struct kgb_chat_texts *texts,
					 const struct kgb_chat_round *round, struct kgb_buf *out,
					 struct kgb_err *err);

#endif
