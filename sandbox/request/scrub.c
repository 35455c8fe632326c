/* SPDX-License-Identifier: MIT */
#include "sandbox/request/scrub.h"

#include <string.h>

#define MIN_SECRET 8

void kgb_scrub_init(struct kgb_scrub *scrub)
{
	*scrub = (struct kgb_scrub){.held = KGB_BUF_INIT(0)};
}

void kgb_scrub_add(struct kgb_scrub *scrub, const char *secret)
{
	if (!secret || strlen(secret) < MIN_SECRET)
		return;
	KGB_ASSERT(scrub->n < KGB_SCRUB_MAX);
	scrub->secrets[scrub->n++] = secret;
}

void kgb_scrub_release(struct kgb_scrub *scrub)
{
	kgb_buf_release(&scrub->held);
}

enum match { MATCH_NONE, MATCH_PREFIX, MATCH_WHOLE };

static enum match match_held(const struct kgb_scrub *scrub)
{
	enum match best = MATCH_NONE;
	for (size_t i = 0; i < scrub->n; i++) {
		if (strncmp(scrub->secrets[i], scrub->held.ptr, scrub->held.len) != 0)
			continue;
		if (scrub->secrets[i][scrub->held.len] == '\0')
			return MATCH_WHOLE;
		best = MATCH_PREFIX;
	}
	return best;
}

/* Length of the run at `bytes` in which no secret starts, judged by the bytes so far. */
static size_t harmless(const struct kgb_scrub *scrub, const char *bytes, size_t len)
{
	size_t n = len;
	for (size_t i = 0; i < scrub->n; i++) {
		const char *secret = scrub->secrets[i];
		size_t secret_len = strlen(secret);
		const char *at = bytes;
		while ((at = memchr(at, secret[0], n - (size_t)(at - bytes)))) {
			size_t left = len - (size_t)(at - bytes);
			if (memcmp(at, secret, left < secret_len ? left : secret_len) == 0) {
				n = (size_t)(at - bytes);
				break;
			}
			at++;
		}
	}
	return n;
}

void kgb_scrub_feed(struct kgb_scrub *scrub, const char *bytes, size_t len, struct kgb_buf *out)
{
	while (len > 0) {
		if (scrub->held.len == 0) {
			size_t n = harmless(scrub, bytes, len);
			kgb_buf_add(out, bytes, n);
			bytes += n;
			len -= n;
			if (len == 0)
				return;
		}
		kgb_buf_addc(&scrub->held, *bytes++);
		len--;
		enum match match;
		while ((match = match_held(scrub)) == MATCH_NONE) {
			kgb_buf_addc(out, scrub->held.ptr[0]);
			kgb_buf_consume(&scrub->held, 1);
		}
		if (match == MATCH_WHOLE) {
			kgb_buf_adds(out, KGB_SCRUB_MARK);
			kgb_buf_clear(&scrub->held);
		}
	}
}

void kgb_scrub_finish(struct kgb_scrub *scrub, struct kgb_buf *out)
{
	kgb_buf_add(out, scrub->held.ptr, scrub->held.len);
	kgb_buf_clear(&scrub->held);
}

void kgb_scrub_whole(const char *const secrets[KGB_SCRUB_MAX], const char *bytes, size_t len,
		     struct kgb_buf *out)
{
	struct kgb_scrub scrub;
	kgb_scrub_init(&scrub);
	for (size_t i = 0; i < KGB_SCRUB_MAX; i++)
		kgb_scrub_add(&scrub, secrets[i]);
	kgb_scrub_feed(&scrub, bytes, len, out);
	kgb_scrub_finish(&scrub, out);
	kgb_scrub_release(&scrub);
}
