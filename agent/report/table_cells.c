/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "agent/report/common.h"
#include "agent/report/tabular.h"
#include "base/time.h"

void kgb_table_count(struct kgb_table *table, size_t n)
{
	kgb_table_number(table, (double)n, "%zu", n);
}

void kgb_table_share(struct kgb_table *table, double share)
{
	kgb_table_number(table, share, "%.1f", 100 * share);
}

void kgb_table_interval(struct kgb_table *table, double share, double low, double high)
{
	if (isnan(low) || isnan(high))
		kgb_table_share(table, share);
	else
		kgb_table_number(table, share, "%.1f [%.1f, %.1f]", 100 * share, 100 * low,
				 100 * high);
	kgb_table_number(table, low, "%s", "");
	kgb_table_number(table, high, "%s", "");
}

void kgb_table_speedup(struct kgb_table *table, double speedup)
{
	kgb_table_number(table, speedup, "%.2fx", speedup);
}

void kgb_table_tokens(struct kgb_table *table, double tokens)
{
	char text[32];
	kgb_table_number(
		table, tokens, "%s",
		kgb_report__count(isnan(tokens) ? -1 : (int64_t)tokens, text, sizeof(text)));
}

void kgb_table_seconds(struct kgb_table *table, double seconds)
{
	char text[32];
	kgb_table_number(table, seconds, "%s",
			 kgb_duration_format(isnan(seconds) ? 0 : (int64_t)(1000 * seconds), text,
					     sizeof(text)));
}
