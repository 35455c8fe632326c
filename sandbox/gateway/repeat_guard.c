/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/repeat_guard.h"

#include <stdio.h>
#include <string.h>

/* Index of a request; KGB_BROKEN_REQUESTS: not stored. */
static size_t find(const struct kgb_repeat_guard *guard, const char *sha256)
{
	size_t i = 0;
	while (i < KGB_BROKEN_REQUESTS && strcmp(guard->asked[i].sha256, sha256) != 0)
		i++;
	return i;
}

void kgb_repeat_guard_note(struct kgb_repeat_guard *guard, const char *sha256, int weight)
{
	size_t at = find(guard, sha256);
	if (at == KGB_BROKEN_REQUESTS) {
		at = guard->next;
		guard->next = (guard->next + 1) % KGB_BROKEN_REQUESTS;
		guard->asked[at].n = 0;
		snprintf(guard->asked[at].sha256, KGB_SHA256_HEX_LEN, "%s", sha256);
	}
	guard->asked[at].n += weight;
}

void kgb_repeat_guard_forget(struct kgb_repeat_guard *guard, const char *sha256)
{
	size_t at = find(guard, sha256);
	if (at < KGB_BROKEN_REQUESTS)
		guard->asked[at].sha256[0] = '\0';
}

bool kgb_repeat_guard_any(const struct kgb_repeat_guard *guard)
{
	for (size_t i = 0; i < KGB_BROKEN_REQUESTS; i++)
		if (guard->asked[i].sha256[0])
			return true;
	return false;
}

bool kgb_repeat_guard_is_hopeless(const struct kgb_repeat_guard *guard, const char *sha256)
{
	size_t at = find(guard, sha256);
	return at < KGB_BROKEN_REQUESTS && guard->asked[at].n >= KGB_BROKEN_LIMIT;
}
