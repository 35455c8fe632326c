/* SPDX-License-Identifier: MIT */
/* Seeded answers of the offline model: a mixture of right, wrong and cheating kernels. */
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "sandbox/offline/offline_script.h"

const struct kgb_offline_mistake *
kgb_offline__find_mistake(const struct kgb_offline_session *session, const char *name)
{
	for (size_t i = 0; i < session->n_mistakes; i++)
		if (kgb_str_eq(session->mistakes[i].name, name))
			return &session->mistakes[i];
	return NULL;
}

bool kgb_offline__applies(const struct kgb_offline_mistake *mistake, const char *kernel)
{
	return mistake->append || strstr(kernel, mistake->replace);
}

char *kgb_offline__spoil(const struct kgb_offline_mistake *mistake, const char *kernel)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const char *at;
	while (mistake->replace && (at = strstr(kernel, mistake->replace))) {
		kgb_buf_add(&out, kernel, (size_t)(at - kernel));
		kgb_buf_adds(&out, mistake->by);
		kernel = at + strlen(mistake->replace);
	}
	kgb_buf_adds(&out, kernel);
	if (mistake->append)
		kgb_buf_addf(&out, "\n%s", mistake->append);
	return kgb_xstrndup(out.ptr, out.len);
}

/** Kernel number `number`, modulo their count, of those that the answer can have; NULL: none. */
static const char *kernel_for(const struct kgb_offline_session *session,
			      const struct kgb_offline_turn *answer,
			      const struct kgb_offline_mistake *mistake, uint64_t number)
{
	const struct kgb_offline_kernels *pool =
		&session->pools[mistake ? KGB_OFFLINE_HONEST : answer->kernel];
	size_t n = 0;
	for (size_t i = 0; i < pool->n; i++)
		n += !mistake || kgb_offline__applies(mistake, pool->texts[i]);
	uint64_t left = n > 0 ? number % n : 0;
	for (size_t i = 0; i < pool->n; i++) {
		if (mistake && !kgb_offline__applies(mistake, pool->texts[i]))
			continue;
		if (left-- == 0)
			return pool->texts[i];
	}
	return NULL;
}

/** The draw of a seed. */
struct drawn {
	const struct kgb_offline_turn *answer;
	const struct kgb_offline_mistake *mistake; /* NULL: none */
	const char *kernel; /* before the mistake; NULL: none */
};

/** Choose an answer by the weights. If the operator lacks its kernel, take the next possible
 * answer. */
static struct drawn draw(const struct kgb_offline_session *session, const char *seed)
{
	const struct kgb_offline_turns *answers = &session->sample;
	struct drawn drawn = {.answer = answers->items};
	uint64_t numbers[KGB_SHA256_BYTES / sizeof(uint64_t)]; /* which answer, which kernel */
	uint64_t total = 0;
	kgb_sha256(seed, strlen(seed), (unsigned char *)numbers);
	for (size_t i = 0; i < answers->n; i++)
		total += (uint64_t)answers->items[i].weight;
	KGB_ASSERT(total > 0); /* a session has turns, and a turn has a weight */
	uint64_t left = numbers[0] % total;
	for (; left >= (uint64_t)drawn.answer->weight; drawn.answer++)
		left -= (uint64_t)drawn.answer->weight;
	for (;; drawn.answer++) {
		const char *name = drawn.answer->mistake;
		drawn.mistake = name ? kgb_offline__find_mistake(session, name) : NULL;
		drawn.kernel = kernel_for(session, drawn.answer, drawn.mistake, numbers[1]);
		if (drawn.kernel ||
		    (!drawn.mistake && drawn.answer->kernel == KGB_OFFLINE_NO_KERNEL))
			return drawn;
	}
}

/** The part of a text before the cut. */
static size_t cut(const struct kgb_offline_turn *answer, const char *text, size_t len)
{
	return answer->cut == 0 ? len : kgb_utf8_valid(text, len * (size_t)answer->cut / 100);
}

bool kgb_offline__say_sample(const struct kgb_offline_session *session, const char *seed,
			     struct kgb_buf *out)
{
	const struct drawn drawn = draw(session, seed);
	KGB_AUTO(free)
	char *spoilt = drawn.mistake ? kgb_offline__spoil(drawn.mistake, drawn.kernel) : NULL;
	const struct kgb_offline_quoted quoted = {.report = "",
						  .kernel = spoilt ? spoilt : drawn.kernel,
						  .bug = drawn.mistake ? drawn.mistake->bug : NULL};
	/* Every text was rendered once when the script was loaded. */
	if (kgb_offline__render(session, drawn.answer->say, &quoted, out, NULL) < 0)
		KGB_UNREACHABLE();
	kgb_buf_truncate(out, cut(drawn.answer, out->ptr, out->len));
	return drawn.answer->cut > 0;
}

char *kgb_offline__draw_kernel(const struct kgb_offline_session *session, const char *seed)
{
	const struct drawn drawn = draw(session, seed);
	if (!drawn.kernel)
		return NULL;
	KGB_AUTO(free)
	char *text = drawn.mistake ? kgb_offline__spoil(drawn.mistake, drawn.kernel)
				   : kgb_xstrdup(drawn.kernel);
	return kgb_xstrndup(text, cut(drawn.answer, text, strlen(text)));
}
