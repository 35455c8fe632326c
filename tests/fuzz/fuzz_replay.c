/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "base/mem.h"
#include "base/time.h"
#include "sandbox/cassette/replay.h"
#include "sandbox/meter/prices.h"
#include "sandbox/provider/retry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What differs between runs is named once and for all, keys are the same for the same bytes. */
static void check_request(const char *text, size_t len)
{
	KGB_AUTO(buf) struct kgb_buf once = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf twice = KGB_BUF_INIT(0);
	char a[KGB_SHA256_HEX_LEN], b[KGB_SHA256_HEX_LEN];
	kgb_cassette_normalise(text, len, &once);
	kgb_cassette_normalise(once.ptr, once.len, &twice);
	KGB_ASSERT(once.len == twice.len && memcmp(once.ptr, twice.ptr, once.len) == 0);
	const struct kgb_cassette_request request = {
		.method = "POST", .path = "/v1/messages", .body = text, .body_len = len};
	kgb_cassette_key(&request, a);
	kgb_cassette_key(&request, b);
	KGB_ASSERT(strcmp(a, b) == 0);
}

static void check_prices(const char *text, size_t len)
{
	struct kgb_prices *prices = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_usage usage = {1000, 100, 10, 1};
	if (kgb_prices_parse(&prices, "prices.yaml", text, len, &err) < 0)
		return;
	const struct kgb_price *price = kgb_prices_find(prices, "m-1", 1795290355850);
	KGB_ASSERT(kgb_price_nanos(price, &usage) >= -1);
	kgb_prices_free(prices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(free) char *text = kgb_xstrndup((const char *)data, size);
	check_request(text, strlen(text));
	check_prices(text, strlen(text));
	int64_t ms = kgb_retry_after_ms(text, 1795290355850);
	KGB_ASSERT(ms >= -1 && ms <= 24 * 3600 * 1000);
	return 0;
}
