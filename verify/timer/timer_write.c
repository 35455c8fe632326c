/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "verify/timer/timer.h"

/* ---- names ---- */

const char *kgb_side_name(enum kgb_side side)
{
	return side == KGB_SIDE_A ? "baseline" : "candidate";
}

const char *kgb_ruler_name(enum kgb_ruler ruler)
{
	static const char *const names[] = {"event", "activity", "host"};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_RULERS, "one name each");
	return names[ruler];
}

const char *kgb_sample_fate_name(enum kgb_sample_fate fate)
{
	static const char *const names[] = {"kept",      "solo",  "warmup",
					    "throttled", "clock", "round"};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_SAMPLE_FATES, "one name each");
	return names[fate];
}

const char *kgb_timing_result_name(enum kgb_timing_result result)
{
	static const char *const names[] = {
		[KGB_TIMING_UNDECIDED] = "UNDECIDED", [KGB_TIMING_FASTER] = "FASTER",
		[KGB_TIMING_SLOWER] = "SLOWER",       [KGB_TIMING_SAME] = "SAME",
		[KGB_TIMING_UNTRUSTED] = "UNTRUSTED",
	};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_TIMING_RESULTS, "one name each");
	return names[result];
}

const char *kgb_timing_why_name(enum kgb_timing_why why)
{
	static const char *const names[] = {
		[KGB_WHY_NONE] = NULL,
		[KGB_WHY_BELOW_FLOOR] = "below_floor",
		[KGB_WHY_RULER_ORDER] = "ruler_order",
		[KGB_WHY_RULER_ACTIVITY] = "ruler_activity",
		[KGB_WHY_RULER_HOST] = "ruler_host",
		[KGB_WHY_RULER_OUTSIDE] = "ruler_outside",
		[KGB_WHY_CHECKED] = "checked",
		[KGB_WHY_REUSE] = "reuse",
		[KGB_WHY_TREND] = "trend",
		[KGB_WHY_DISTURBED] = "disturbed",
		[KGB_WHY_FLOOR_WRONG] = "floor_wrong",
		[KGB_WHY_NEIGHBOUR] = "neighbour",
		[KGB_WHY_DRIFT] = "drift",
		[KGB_WHY_THROTTLED] = "throttled",
		[KGB_WHY_CLOCK] = "clock",
		[KGB_WHY_FEW] = "few",
		[KGB_WHY_OPPOSED] = "opposed",
		[KGB_WHY_WIDE] = "wide",
	};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_TIMING_WHYS, "one name each");
	return names[why];
}

/* ---- the document ---- */

/* An infinite bound, as an unknown one, is null. */
void kgb_interval_write(struct kgb_jsonw *w, const char *key, struct kgb_interval x)
{
	kgb_jsonw_key(w, key);
	if (isnan(x.value)) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_put(w, "{value: %g, low: %g, high: %g}", x.value, x.low, x.high);
}

static void write_side(const struct kgb_timer_result *info, enum kgb_side side, struct kgb_jsonw *w)
{
	kgb_jsonw_key(w, kgb_side_name(side));
	kgb_jsonw_object(w);
	for (int ruler = 0; ruler < KGB_N_RULERS; ruler++) {
		KGB_AUTO(free)
		char *key = kgb_xasprintf("%s_ns", kgb_ruler_name((enum kgb_ruler)ruler));
		kgb_jsonw_knum(w, key, info->median_ns[side][ruler]);
	}
	kgb_jsonw_put(w, "event_mad_ns: %g, sm_mhz: %g, samples: {", info->mad_ns[side],
		      info->clock_mhz[side]);
	for (int fate = 0; fate < KGB_N_SAMPLE_FATES; fate++)
		kgb_jsonw_ki64(w, kgb_sample_fate_name((enum kgb_sample_fate)fate),
			       info->n_fates[side][fate]);
	kgb_jsonw_put(w, "}}");
}

/* One character for each sample. */
static void write_letters(const struct kgb_timer *timer, const char *key,
			  char (*letter)(const struct kgb_timer_sample *), struct kgb_jsonw *w)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	for (size_t i = 0; i < timer->n_samples; i++)
		kgb_buf_addc(&text, letter(&timer->samples[i]));
	kgb_jsonw_kstr(w, key, text.ptr);
}

static void write_numbers(const struct kgb_timer *timer, const char *key,
			  uint64_t (*number)(const struct kgb_timer_sample *), struct kgb_jsonw *w)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_array(w);
	for (size_t i = 0; i < timer->n_samples; i++)
		kgb_jsonw_i64(w, (int64_t)number(&timer->samples[i]));
	kgb_jsonw_array_end(w);
}

static char letter_of_side(const struct kgb_timer_sample *s)
{
	return s->side == KGB_SIDE_A ? 'A' : 'B';
}

static char letter_of_phase(const struct kgb_timer_sample *s)
{
	return "bwra"[s->phase];
}

static char letter_of_fate(const struct kgb_timer_sample *s)
{
	return "kswtcr"[s->fate];
}

static char letter_of_place(const struct kgb_timer_sample *s)
{
	return "-lfb"[s->last + 2 * s->first_visit];
}

static uint64_t number_round(const struct kgb_timer_sample *s)
{
	return s->round;
}

static uint64_t number_slot(const struct kgb_timer_sample *s)
{
	return s->raw.slot;
}

static uint64_t number_event(const struct kgb_timer_sample *s)
{
	return s->raw.event_ns;
}

static uint64_t number_activity(const struct kgb_timer_sample *s)
{
	return s->raw.activity_ns;
}

static uint64_t number_host(const struct kgb_timer_sample *s)
{
	return s->raw.host_ns;
}

static uint64_t number_clock(const struct kgb_timer_sample *s)
{
	return s->raw.sm_mhz;
}

/* By column, which is a third of the size of an object for each. */
static void write_samples(const struct kgb_timer *timer, struct kgb_jsonw *w)
{
	kgb_jsonw_put(w, "samples: {");
	write_letters(timer, "side", letter_of_side, w);
	write_letters(timer, "phase", letter_of_phase, w);
	write_letters(timer, "fate", letter_of_fate, w);
	write_letters(timer, "place", letter_of_place, w);
	write_numbers(timer, "round", number_round, w);
	write_numbers(timer, "slot", number_slot, w);
	write_numbers(timer, "event_ns", number_event, w);
	write_numbers(timer, "activity_ns", number_activity, w);
	write_numbers(timer, "host_ns", number_host, w);
	write_numbers(timer, "sm_mhz", number_clock, w);
	kgb_jsonw_object_end(w);
}

/* Null where the older pair of numbers would claim a speedup that nobody vouches for. */
static void write_medians_ms(const struct kgb_timer_result *info, struct kgb_jsonw *w)
{
	bool trusted = info->result != KGB_TIMING_UNTRUSTED;
	double candidate = info->median_ns[KGB_SIDE_B][KGB_RULER_EVENT];
	double baseline = info->median_ns[KGB_SIDE_A][KGB_RULER_EVENT];

	kgb_jsonw_put(w, "candidate_ms: %g, baseline_ms: %g",
		      trusted ? candidate / 1e6 : (double)NAN,
		      trusted ? baseline / 1e6 : (double)NAN);
}

void kgb_timing_write(const struct kgb_timer *timer, const struct kgb_timer_result *info,
		      bool samples, struct kgb_jsonw *w)
{
	kgb_jsonw_kstr(w, "case", timer->config.case_name);
	write_medians_ms(info, w);
	kgb_jsonw_put(w, "result: %s, why: %s, accuses: %hhd, text: %s",
		      kgb_timing_result_name(info->result), kgb_timing_why_name(info->why),
		      info->accuses, info->text[0] ? info->text : NULL);
	kgb_interval_write(w, "speedup", info->speedup);
	kgb_interval_write(w, "speedup_device", info->speedup_device);
	kgb_interval_write(w, "median_ratio", info->median_ratio);
	kgb_jsonw_put(w, "confidence: %g, margin: %g, detectable: %g, floor_ns: %g",
		      timer->config.confidence, info->margin, info->detectable,
		      info->floor_ns > 0 ? info->floor_ns : (double)NAN);
	kgb_jsonw_put(w, "drift: %g, solo_before_ns: %g, solo_after_ns: %g, rounds: %u",
		      info->drift, info->solo_ns[0], info->solo_ns[1], info->n_rounds);
	kgb_jsonw_put(w, "placements: %u, processes: %u, narrow: %hhd, outside_us: %ld",
		      info->n_placements, info->n_processes, info->narrow,
		      (int64_t)(info->outside_ns / 1000));
	write_side(info, KGB_SIDE_A, w);
	write_side(info, KGB_SIDE_B, w);
	if (samples)
		write_samples(timer, w);
}
