/* SPDX-License-Identifier: MIT */
/* Kernels of the tests as answers of the offline model. */
#include <fcntl.h>
#include <string.h>

#include "base/limits.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/offline/offline_script.h"

/* A header is comment lines among the first ones of a file (tests/corpus/corpus_files.py). */
#define HEADER_LINES 8

/** Value of "# KEY: value" in a kernel's header, not terminated; NULL: there is none. */
static const char *header_of(const char *kernel, const char *key, size_t *len)
{
	const size_t key_len = strlen(key);
	for (int i = 0; i < HEADER_LINES && *kernel; i++) {
		const size_t line = strcspn(kernel, "\n");
		if (kgb_str_starts(kernel, "# ") && strncmp(kernel + 2, key, key_len) == 0 &&
		    kernel[2 + key_len] == ':') {
			const char *value = kernel + 2 + key_len + 1;
			value += strspn(value, " ");
			*len = line - (size_t)(value - kernel);
			return value;
		}
		kernel += line + (kernel[line] == '\n');
	}
	return NULL;
}

static bool header_has(const char *kernel, const char *key, const char *word)
{
	size_t len = 0;
	const char *value = header_of(kernel, key, &len);
	return value && memmem(value, len, word, strlen(word));
}

const char *kgb_offline__operator_of(struct kgb_offline_session *session, const char *kernel)
{
	size_t len = 0;
	const char *name = header_of(kernel, "operator", &len);
	return name ? kgb_arena_strndup(&session->arena, name, len) : NULL;
}

/** The pool of a kernel on this machine; NO_KERNEL: it depends on the device or on Triton's
 * version, or hangs until the judge's limit, which would make a rehearsal of all operators take
 * hours. */
static enum kgb_offline_pool pool_of(const char *kernel, bool is_honest, bool has_gpu)
{
	size_t len = 0;
	const char *expect = header_of(kernel, "expect", &len);
	if (header_has(kernel, "device", has_gpu ? "cpu" : "cuda") ||
	    header_of(kernel, "triton", &len) || header_has(kernel, "expect", "timeout") ||
	    header_has(kernel, "expect", "passed"))
		return KGB_OFFLINE_NO_KERNEL;
	if (is_honest)
		return KGB_OFFLINE_HONEST;
	return expect && kgb_str_starts(expect, "verify") ? KGB_OFFLINE_WRONG : KGB_OFFLINE_CHEAT;
}

static void add_kernel(struct kgb_offline_session *session, enum kgb_offline_pool pool,
		       const struct kgb_buf *text)
{
	struct kgb_offline_kernels *kernels = &session->pools[pool];
	size_t len = text->len;
	const char **bigger =
		kgb_arena_array(&session->arena, kernels->n + 1, sizeof(*kernels->texts));
	while (len > 0 && text->ptr[len - 1] == '\n')
		len--;
	if (kernels->n > 0)
		memcpy(bigger, kernels->texts, kernels->n * sizeof(*bigger));
	bigger[kernels->n++] = kgb_arena_strndup(&session->arena, text->ptr, len);
	kernels->texts = bigger;
}

static int read_folder(struct kgb_offline_session *session, const char *folder, bool is_honest,
		       bool has_gpu, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (!kgb_fs_exists(AT_FDCWD, folder))
		return 0;
	if (kgb_fs_list(folder, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		KGB_AUTO(free) char *path = kgb_path_join(folder, names.items[i]);
		if (!kgb_str_ends(names.items[i], ".py"))
			continue;
		if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, &text, err) < 0)
			return -1;
		const enum kgb_offline_pool pool = pool_of(text.ptr, is_honest, has_gpu);
		if (pool != KGB_OFFLINE_NO_KERNEL)
			add_kernel(session, pool, &text);
	}
	return 0;
}

int kgb_offline__read_kernels(struct kgb_offline_session *session,
			      const struct kgb_offline_subject *subject, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *honest = kgb_xasprintf("%s/tests/honest/%s", subject->data_dir, subject->safe_name);
	KGB_AUTO(free)
	char *redteam = kgb_xasprintf("%s/tests/redteam/%s", subject->data_dir, subject->safe_name);
	return read_folder(session, honest, true, subject->has_gpu, err) < 0 ||
			       read_folder(session, redteam, false, subject->has_gpu, err) < 0
		       ? -1
		       : 0;
}
