/* SPDX-License-Identifier: MIT */
#include "agent/report/common.h"

#include <inttypes.h>
#include <math.h>

#include "base/str.h"
#include "base/time.h"
#include "sandbox/meter/prices.h"

const char *kgb_report__time(int64_t ms, char out[KGB_TIME_LEN])
{
	if (ms <= 0)
		return NULL;
	kgb_time_format(ms, out);
	return out;
}

double kgb_report__seconds(int64_t ms)
{
	return ms < 0 ? (double)NAN : (double)ms / 1000.0;
}

double kgb_report__dollars(int64_t nanos)
{
	return nanos < 0 ? (double)NAN : kgb_nanos_to_usd(nanos);
}

void kgb_report__usage(struct kgb_jsonw *w, const char *key, const struct kgb_usage *usage)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_object(w);
	kgb_rows_write(w, kgb_usage_long_rows, usage);
	kgb_jsonw_put(w, "total_tokens: %+ld}", kgb_usage_total(usage));
}

void kgb_report__agree(struct kgb_jsonw *w, const struct kgb_usage *a, const struct kgb_usage *b)
{
	if (kgb_usage_complete(a) && kgb_usage_complete(b))
		kgb_jsonw_kbool(w, "agree", kgb_usage_equal(a, b));
	else
		kgb_jsonw_knull(w, "agree");
}

void kgb_report__by_status(struct kgb_jsonw *w, const struct kgb_run_counts *counts)
{
	kgb_jsonw_put(w, "by_status: {");
	for (int i = 0; i < KGB_OP_N_STATUSES; i++)
		if (counts->by_status[i] > 0)
			kgb_jsonw_ki64(w, kgb_op_status_name((enum kgb_op_status)i),
				       (int64_t)counts->by_status[i]);
	kgb_jsonw_object_end(w);
}

void kgb_report__speedup(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	size_t n = 0;
	double mean = kgb_run_speedup(state, &n);
	kgb_jsonw_put(w, "speedup: {geometric_mean: %g, operators: %zu}",
		      n > 0 ? mean : (double)NAN, n);
}

const char *kgb_report__disagreement(const struct kgb_attempt_state *attempt)
{
	const struct kgb_totals *totals = &attempt->gateway;

	if (attempt->ended_ms < 0 || !attempt->has_gateway || !attempt->has_cli ||
	    !kgb_usage_complete(&totals->usage) || !kgb_usage_complete(&attempt->cli.usage) ||
	    kgb_usage_equal(&totals->usage, &attempt->cli.usage))
		return NULL;
	if (totals->n_open > 0)
		return "kgb-agent ended while the model answered";
	if (totals->n_incomplete > 0)
		return "answers broke off before their token counts";
	if (attempt->end != KGB_AGENT_OK)
		return "the CLI ended before it reported all its requests";
	if (totals->n_repeated > 0)
		return "the provider sent an answer twice";
	return "no cause recorded; compare the attempt's traffic/ with its events";
}

void kgb_report__run_disagreement(const struct kgb_run_state *state, struct kgb_buf *out)
{
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_attempt_state *attempt = kgb_op_counting_attempt(&state->ops[i]);
		const char *why = attempt ? kgb_report__disagreement(attempt) : NULL;
		if (why)
			kgb_buf_addf(out, "%s%s: %s", out->len > 0 ? ", " : "", state->ops[i].name,
				     why);
	}
}

int64_t kgb_report__agent_ms(const struct kgb_run_state *state, const struct kgb_op_state *op)
{
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	const bool runs = last && last->ended_ms < 0 && op->n_samples == 0;
	return kgb_op_agent_ms(op) + (runs ? state->updated_ms - last->started_ms : 0);
}

int64_t kgb_report__op_start(const struct kgb_op_state *op)
{
	return op->n_attempts > 0 ? op->attempts[0].started_ms : op->verify_started_ms;
}

int64_t kgb_report__op_end(const struct kgb_op_state *op)
{
	return kgb_op_status_is_final(op->status) ? op->changed_ms : -1;
}

int64_t kgb_report__verify_ms(const struct kgb_op_state *op)
{
	if (op->verify_started_ms < 0 || op->verified_ms < 0)
		return -1;
	return op->verified_ms - op->verify_started_ms;
}

const char *kgb_report__interval(const struct kgb_verdict_summary *verdict, char *out, size_t cap)
{
	char low[16] = "0";
	char high[16] = "?";
	if (verdict->speedup_low > 0)
		snprintf(low, sizeof(low), "%.4g", verdict->speedup_low);
	if (verdict->speedup_high > 0)
		snprintf(high, sizeof(high), "%.4g", verdict->speedup_high);
	snprintf(out, cap, "%.4gx (%s to %s)", verdict->speedup, low, high);
	return out;
}

const char *kgb_report__count(int64_t n, char *out, size_t cap)
{
	if (n < 0)
		snprintf(out, cap, "-");
	else if (n < 10000)
		snprintf(out, cap, "%" PRId64, n);
	else if (n < 10000000)
		snprintf(out, cap, "%.1fk", (double)n / 1e3);
	else
		snprintf(out, cap, "%.1fM", (double)n / 1e6);
	return out;
}

int64_t kgb_report__prompt_tokens(const struct kgb_usage *usage)
{
	const int64_t parts[] = {usage->input, usage->cache_creation, usage->cache_read};
	int64_t sum = -1;
	for (size_t i = 0; i < KGB_ARRAY_LEN(parts); i++)
		if (parts[i] >= 0)
			sum = (sum < 0 ? 0 : sum) + parts[i];
	return sum;
}

void kgb_report__add_tokens(struct kgb_buf *out, const struct kgb_usage *usage)
{
	char prompt[32], output[32];
	kgb_buf_addf(out, "%s in %s out",
		     kgb_report__count(kgb_report__prompt_tokens(usage), prompt, sizeof(prompt)),
		     kgb_report__count(usage->output, output, sizeof(output)));
}

size_t kgb_report__cut(struct kgb_buf *out, const char *text, size_t columns)
{
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	size_t len = strlen(text);
	if (columns < len / 4)
		len = 4 * (columns + 1); /* a character: four bytes at most, a column at least */
	kgb_escape(&clean, text, len);
	size_t used = 0;
	size_t pos = 0;
	size_t fits_pos = 0; /* longest prefix that leaves a column for the mark */
	size_t fits_used = 0;
	while (pos < clean.len) {
		size_t wide = 0;
		size_t bytes = kgb_utf8_char(clean.ptr + pos, &wide);
		if (used + wide > columns) {
			kgb_buf_add(out, clean.ptr, fits_pos);
			if (columns > 0)
				kgb_buf_addc(out, '~');
			return columns > 0 ? fits_used + 1 : 0;
		}
		used += wide;
		pos += bytes;
		if (used < columns) {
			fits_pos = pos;
			fits_used = used;
		}
	}
	kgb_buf_add(out, clean.ptr, clean.len);
	return used;
}
