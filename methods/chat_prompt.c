/* SPDX-License-Identifier: MIT */
#include "methods/chat_prompt.h"

#include <fcntl.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"

/* Digits of a SHA-256 that identify a text in a message. */
#define SHORT_SHA256 16

static const char *const names[KGB_N_CHAT_TEXTS] = {"system", "examples", "reflection"};

const char *kgb_chat_text_name(enum kgb_chat_text text)
{
	return names[text];
}

struct round_values {
	const struct kgb_chat_round *round;
	char number[16], of[16];
};

static const char *lookup_round(const char *name, const void *payload)
{
	const struct round_values *v = payload;
	const struct {
		const char *name, *value;
	} table[] = {{"operator", v->round->operator},
		      {"round", v->number},
		      {"rounds", v->of},
		      {"kernel", v->round->kernel},
		      {"verdict", v->round->verdict}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (kgb_str_eq(name, table[i].name))
			return table[i].value;
	return NULL;
}

int kgb_chat_round_render(const struct kgb_chat_texts *texts, const struct kgb_chat_round *round,
			  struct kgb_buf *out, struct kgb_err *err)
{
	struct round_values values = {.round = round};
	snprintf(values.number, sizeof(values.number), "%d", round->round);
	snprintf(values.of, sizeof(values.of), "%d", round->rounds);
	return kgb_template_render(out, texts->texts[KGB_CHAT_REFLECTION].ptr, lookup_round,
				   &values, err);
}

/** Check that the text about an answer can be rendered, as each round will do. */
static int check_reflection(const struct kgb_chat_texts *texts, struct kgb_err *err)
{
	static const struct kgb_chat_round any = {"o", 1, 2, "k", "v"};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	if (texts->texts[KGB_CHAT_REFLECTION].len == 0)
		return kgb_fail(err, KGB_ERR_INVALID,
				"it is empty: a later round would say nothing about an answer");
	return kgb_chat_round_render(texts, &any, &text, err);
}

static int read_text(struct kgb_chat_texts *out, enum kgb_chat_text which, const char *path,
		     struct kgb_err *err)
{
	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_PROMPT, &out->texts[which], err) < 0)
		return kgb_ctx(err, "prompt.%s", names[which]);
	if (which == KGB_CHAT_REFLECTION && check_reflection(out, err) < 0)
		return kgb_ctx(err, "prompt.%s: '%s'", names[which], path);
	return 0;
}

int kgb_chat_texts_read(struct kgb_chat_texts *out, const struct kgb_method *method,
			const char *const files[KGB_N_CHAT_TEXTS], struct kgb_err *err)
{
	const char *const own[KGB_N_CHAT_TEXTS] = {method->system_text, method->examples,
						   method->reflection};
	struct kgb_chat_texts made = {.texts = {KGB_BUF_INIT(KGB_LIMIT_PROMPT),
						KGB_BUF_INIT(KGB_LIMIT_PROMPT),
						KGB_BUF_INIT(KGB_LIMIT_PROMPT)}};
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++) {
		const bool is_given = files[i] && *files[i];
		if (!is_given && !own[i])
			continue;
		KGB_AUTO(free)
		char *path = is_given ? kgb_xstrdup(files[i]) : kgb_path_join(method->dir, own[i]);
		if (read_text(&made, (enum kgb_chat_text)i, path, err) < 0) {
			kgb_chat_texts_release(&made);
			return -1;
		}
	}
	*out = made;
	return 0;
}

void kgb_chat_texts_system(const struct kgb_chat_texts *texts, struct kgb_buf *out)
{
	const struct kgb_buf *examples = &texts->texts[KGB_CHAT_EXAMPLES];
	kgb_buf_adds(out, texts->texts[KGB_CHAT_SYSTEM].ptr);
	if (examples->len > 0)
		kgb_buf_addf(out, "%s%s", out->len > 0 ? "\n" : "", examples->ptr);
}

void kgb_chat_texts_release(struct kgb_chat_texts *texts)
{
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++)
		kgb_buf_release(&texts->texts[i]);
}

void kgb_chat_texts_describe(const struct kgb_chat_texts *texts, struct kgb_buf *out)
{
	for (int i = 0; i < KGB_N_CHAT_TEXTS; i++) {
		char sha256[KGB_SHA256_HEX_LEN] = "none";
		if (texts->texts[i].len > 0)
			kgb_sha256_hex(texts->texts[i].ptr, texts->texts[i].len, sha256);
		kgb_buf_addf(out, "%s%s %.*s", i > 0 ? ", " : "", names[i], SHORT_SHA256, sha256);
	}
}

static void hash_prompt(struct kgb_chat_prompt *prompt, const struct kgb_chat_texts *texts)
{
	KGB_AUTO(buf) struct kgb_buf all = KGB_BUF_INIT(0);
	const struct kgb_buf *const parts[] = {&prompt->system_text, &prompt->task,
					       &texts->texts[KGB_CHAT_REFLECTION]};
	for (size_t i = 0; i < KGB_ARRAY_LEN(parts); i++) {
		kgb_buf_add(&all, parts[i]->ptr, parts[i]->len);
		/* The separator makes the hash depend on the bounds of the parts. */
		kgb_buf_addc(&all, '\0');
	}
	kgb_sha256_hex(all.ptr, all.len, prompt->sha256);
}

void kgb_chat_prompt_of(struct kgb_chat_prompt *out, const struct kgb_chat_texts *texts,
			const char *task)
{
	*out = (struct kgb_chat_prompt){.system_text = KGB_BUF_INIT(2 * KGB_LIMIT_PROMPT),
					.task = KGB_BUF_INIT(KGB_LIMIT_PROMPT)};
	kgb_chat_texts_system(texts, &out->system_text);
	kgb_buf_adds(&out->task, task);
	hash_prompt(out, texts);
}

int kgb_chat_prompt_render(struct kgb_chat_prompt *out, const char *data_dir,
			   const struct kgb_method *method, const struct kgb_chat_texts *texts,
			   const struct kgb_spec *spec, const struct kgb_prompt_vars *vars,
			   struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf task = KGB_BUF_INIT(KGB_LIMIT_PROMPT);

	if (kgb_prompt_render(data_dir, method, spec, vars, &task, err) < 0)
		return -1;
	kgb_chat_prompt_of(out, texts, task.ptr);
	return 0;
}

void kgb_chat_prompt_release(struct kgb_chat_prompt *prompt)
{
	kgb_buf_release(&prompt->system_text);
	kgb_buf_release(&prompt->task);
}
