/* SPDX-License-Identifier: MIT */
#include "sandbox/meter/prices.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "base/formats/decode.h"
#include "base/formats/yaml.h"
#include "base/str.h"
#include "base/time.h"

int64_t kgb_usd_to_nanos(double usd)
{
	return usd >= 0 && usd < (double)(INT64_MAX / KGB_NANOS_PER_USD)
		       ? llround(usd * (double)KGB_NANOS_PER_USD)
		       : -1;
}

double kgb_nanos_to_usd(int64_t nanos)
{
	return (double)nanos / (double)KGB_NANOS_PER_USD;
}

/* Converts dollars for a million tokens to nanos a token. */
#define NANOS_PER_TOKEN 1000.0
/* A price above this is a typing error. */
#define MAX_USD_PER_MILLION 10000

/* As in the file. */
struct row {
	const char *model;
	const char *from; /* "2026-10-07" or "" */
	double input, output, cache_write, cache_read; /* -1: not given */
	int64_t from_ms;
	struct kgb_price price;
};

struct table {
	const char *checked;
	struct kgb_objects models; /* struct row */
};

struct kgb_prices {
	struct kgb_arena arena;
	struct table table;
};

#define PRICE_FIELD(member)                                                                     \
	{                                                                                       \
		.name = #member, .type = KGB_FIELD_NUM, .offset = offsetof(struct row, member), \
		.min = -1, .max = MAX_USD_PER_MILLION, .def = "-1"                              \
	}

static const struct kgb_field row_fields[] = {
	{KGB_FIELD(struct row, model, STR), .required = true},
	{KGB_FIELD(struct row, from, STR), .def = "\"\""},
	PRICE_FIELD(input),
	PRICE_FIELD(output),
	PRICE_FIELD(cache_write),
	PRICE_FIELD(cache_read),
	KGB_FIELD_END,
};

static const struct kgb_field table_fields[] = {
	{KGB_FIELD(struct table, checked, STR), .required = true},
	{KGB_FIELD(struct table, models, OBJECTS), .required = true, .sub = row_fields,
	 .sub_size = sizeof(struct row)},
	KGB_FIELD_END,
};

static int64_t per_token(double usd_per_million)
{
	return usd_per_million < 0 ? -1 : llround(usd_per_million * NANOS_PER_TOKEN);
}

static int parse_day(const char *day, int64_t *out_ms, struct kgb_err *err)
{
	char time[KGB_TIME_LEN];
	snprintf(time, sizeof(time), "%.10sT00:00:00.000Z", day);
	if (strlen(day) != strlen("2026-01-01") || kgb_time_parse(time, out_ms, NULL) < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'%.40s' is not a day such as 2026-01-31",
				day);
	return 0;
}

static int finish_rows(struct kgb_prices *prices, const char *name, struct kgb_err *err)
{
	struct row *rows = prices->table.models.items;
	int64_t checked_ms;
	if (parse_day(prices->table.checked, &checked_ms, err) < 0)
		return kgb_ctx(err, "%s: checked", name);
	for (size_t i = 0; i < prices->table.models.n; i++) {
		struct row *row = &rows[i];
		if (*row->from && parse_day(row->from, &row->from_ms, err) < 0)
			return kgb_ctx(err, "%s: models: %s: from", name, row->model);
		row->price =
			(struct kgb_price){per_token(row->input), per_token(row->output),
					   per_token(row->cache_write), per_token(row->cache_read)};
		for (size_t k = 0; k < i; k++)
			if (strcmp(rows[k].model, row->model) == 0 &&
			    rows[k].from_ms == row->from_ms)
				return kgb_fail(err, KGB_ERR_INVALID,
						"%s: models: %s is there twice for the same time",
						name, row->model);
	}
	return 0;
}

static int decode(struct kgb_prices **out, const struct kgb_yaml *doc, struct kgb_err *err)
{
	struct kgb_prices *prices = kgb_xcalloc(1, sizeof(*prices));
	prices->arena = (struct kgb_arena)KGB_ARENA_INIT;
	if (kgb_decode(table_fields, doc, doc->root, &prices->table, &prices->arena, err) < 0 ||
	    finish_rows(prices, doc->name, err) < 0) {
		kgb_prices_free(prices);
		return -1;
	}
	*out = prices;
	return 0;
}

int kgb_prices_load(struct kgb_prices **out, const char *path, struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	return kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0 ? -1 : decode(out, &doc, err);
}

int kgb_prices_parse(struct kgb_prices **out, const char *name, const char *text, size_t len,
		     struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	return kgb_yaml_parse(name, text, len, &doc, err) < 0 ? -1 : decode(out, &doc, err);
}

void kgb_prices_free(struct kgb_prices *prices)
{
	if (!prices)
		return;
	kgb_arena_release(&prices->arena);
	kgb_free(prices);
}

/* Suffixes with which providers pin one version of a model. */
static bool is_version(const char *suffix)
{
	static const char *const shapes[] = {"-00000000", "-0000-00-00"};
	if (*suffix == '\0' || strcmp(suffix, "-latest") == 0)
		return true;
	for (size_t i = 0; i < KGB_ARRAY_LEN(shapes); i++) {
		const char *shape = shapes[i];
		size_t n = 0;
		while (shape[n] && (shape[n] == '0' ? isdigit((unsigned char)suffix[n]) != 0
						    : suffix[n] == shape[n]))
			n++;
		if (!shape[n] && !suffix[n])
			return true;
	}
	return false;
}

const struct kgb_price *kgb_prices_find(const struct kgb_prices *prices, const char *model,
					int64_t wall_ms)
{
	const struct row *best = NULL;
	if (!prices)
		return NULL;
	const struct row *rows = prices->table.models.items;
	for (size_t i = 0; i < prices->table.models.n; i++) {
		const struct row *row = &rows[i];
		if (!kgb_str_starts(model, row->model) || !is_version(model + strlen(row->model)) ||
		    row->from_ms > wall_ms)
			continue;
		/* A row for the exact name goes before one for all its versions. */
		size_t len = strlen(row->model), best_len = best ? strlen(best->model) : 0;
		if (!best || len > best_len || (len == best_len && row->from_ms > best->from_ms))
			best = row;
	}
	return best ? &best->price : NULL;
}

/* sum += n * price; false when that is not known. */
static bool add_cost(int64_t *sum, int64_t n, int64_t price)
{
	int64_t part;
	if (n == 0)
		return true;
	if (n < 0 || price < 0)
		return false;
	if (__builtin_mul_overflow(n, price, &part) || __builtin_add_overflow(*sum, part, sum))
		*sum = INT64_MAX;
	return true;
}

int64_t kgb_price_nanos(const struct kgb_price *price, const struct kgb_usage *usage)
{
	int64_t sum = 0;
	if (!price || !add_cost(&sum, usage->input, price->input) ||
	    !add_cost(&sum, usage->output, price->output) ||
	    !add_cost(&sum, usage->cache_creation, price->cache_write) ||
	    !add_cost(&sum, usage->cache_read, price->cache_read))
		return -1;
	return sum;
}

int64_t kgb_price_most(const struct kgb_price *price, int64_t input, int64_t output)
{
	int64_t sum = 0;
	if (!price || price->input < 0)
		return -1;
	int64_t dearest = price->input > price->cache_write ? price->input : price->cache_write;
	if (!add_cost(&sum, input, dearest) || !add_cost(&sum, output, price->output))
		return -1;
	return sum;
}
