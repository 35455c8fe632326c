/* SPDX-License-Identifier: MIT */
#include "agent/llm/share.h"

#include "base/time.h"
#include "sandbox/meter/ledger.h"

/** Its part of a count; the parts add up to the count. */
static int64_t share_of(int64_t count, const struct kgb_share *share)
{
	return count < 0 ? -1
			 : count * (share->place + 1) / share->n - count * share->place / share->n;
}

void kgb_share_count(const struct kgb_attempt_env *env, const struct kgb_share *share,
		     struct kgb_sample *sample)
{
	const struct kgb_meter *meter = share->meter;
	const struct kgb_usage *all = &meter->usage;
	const bool is_priced = env->gateway_mode == KGB_GATEWAY_LIVE && !meter->surcharged;
	const struct kgb_price *price =
		is_priced ? kgb_prices_find(env->prices, meter->model, kgb_wall_ms()) : NULL;
#define SHARE(field, name) sample->usage.field = share_of(all->field, share);
	KGB_USAGE_COUNTS(SHARE)
#undef SHARE
	const enum kgb_tariff tariff = meter->batched ? KGB_TARIFF_BATCH : KGB_TARIFF_LIST;
	sample->cost_nanos = share_of(kgb_tariff_nanos(tariff, kgb_price_nanos(price, all)), share);
}
