/* SPDX-License-Identifier: MIT */
/* What the offline model answers as a bare model: a mixture, drawn by a seed. */
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

/** Of the kernels that the answer can have, the one with this number, counted round and round; NULL
 * when there is none. */
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

bool kgb_offline__say_sample(const struct kgb_offline_session *session, const char *seed,
			     struct kgb_buf *out)
{
	const struct kgb_offline_turns *answers = &session->sample;
	const struct kgb_offline_mistake *mistake = NULL;
	const char *kernel = NULL;
	char digest[KGB_SHA256_HEX_LEN];
	uint64_t numbers[4], total = 0; /* of the digest: which answer, which kernel */
	kgb_sha256_hex(seed, strlen(seed), digest);
	if (kgb_parse_hex(digest, numbers, sizeof(numbers), NULL) < 0)
		KGB_UNREACHABLE();
	for (size_t i = 0; i < answers->n; i++)
		total += (uint64_t)answers->items[i].weight;
	KGB_ASSERT(total > 0); /* a session has turns, and a turn has a weight */
	uint64_t left = numbers[0] % total;
	const struct kgb_offline_turn *answer = answers->items;
	for (; left >= (uint64_t)answer->weight; answer++)
		left -= (uint64_t)answer->weight;
	for (;; answer++) {
		mistake = answer->mistake ? kgb_offline__find_mistake(session, answer->mistake)
					  : NULL;
		kernel = kernel_for(session, answer, mistake, numbers[1]);
		if (kernel || (!mistake && answer->kernel == KGB_OFFLINE_NO_KERNEL))
			break;
	}
	KGB_AUTO(free) char *spoilt = mistake ? kgb_offline__spoil(mistake, kernel) : NULL;
	const struct kgb_offline_quoted quoted = {.report = "",
						  .kernel = spoilt ? spoilt : kernel,
						  .bug = mistake ? mistake->bug : NULL};
	/* Every text was rendered once when the script was loaded. */
	if (kgb_offline__render(session, answer->say, &quoted, out, NULL) < 0)
		KGB_UNREACHABLE();
	if (answer->cut == 0)
		return false;
	const size_t len = out->len * (size_t)answer->cut / 100;
	kgb_buf_truncate(out, kgb_utf8_valid(out->ptr, len));
	return true;
}
