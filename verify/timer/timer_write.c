/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "verify/timer/timer.h"

/* ---- names ---- */

const char *kgb_timer_side_name(enum kgb_timer_side side)
{
	return side == KGB_SIDE_A ? "baseline" : "candidate";
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

#define WHY_NAME(name, text) [KGB_WHY_##name] = (text),
const char *kgb_timing_why_name(enum kgb_timing_why why)
{
	static const char *const names[KGB_N_TIMING_WHYS] = {KGB_TIMING_WHYS(WHY_NAME)};

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

static void write_side(const struct kgb_timer_result *info, enum kgb_timer_side side,
		       struct kgb_jsonw *w)
{
	static const char *const fates[] = {"kept",      "solo",  "warmup",
					    "throttled", "clock", "round"};
	_Static_assert(KGB_ARRAY_LEN(fates) == KGB_N_SAMPLE_FATES, "one name each");
	const double *ns = info->median_ns[side];

	kgb_jsonw_key(w, kgb_timer_side_name(side));
	kgb_jsonw_put(w, "{event_ns: %g, activity_ns: %g, host_ns: %g", ns[KGB_RULER_EVENT],
		      ns[KGB_RULER_ACTIVITY], ns[KGB_RULER_HOST]);
	kgb_jsonw_put(w, "event_mad_ns: %g, sm_mhz: %g, samples: {", info->mad_ns[side],
		      info->clock_mhz[side]);
	for (int fate = 0; fate < KGB_N_SAMPLE_FATES; fate++)
		kgb_jsonw_ki64(w, fates[fate], info->n_fates[side][fate]);
	kgb_jsonw_put(w, "}}");
}

/* The samples by column, which takes a third of the size of an object for each. */
static void write_samples(const struct kgb_timer *timer, struct kgb_jsonw *w)
{
	static const char *const texts[] = {"side", "phase", "fate", "place"};
	static const char *const numbers[] = {"round",       "slot",    "event_ns",
					      "activity_ns", "host_ns", "sm_mhz"};

	kgb_jsonw_put(w, "samples: {");
	for (size_t k = 0; k < KGB_ARRAY_LEN(texts); k++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		for (size_t i = 0; i < timer->n_samples; i++) {
			const struct kgb_timer_sample *s = &timer->samples[i];
			const char letters[] = {"AB"[s->side], "bwra"[s->phase], "kswtcr"[s->fate],
						"-lfb"[s->last + 2 * s->first_visit]};
			kgb_buf_addc(&text, letters[k]);
		}
		kgb_jsonw_kstr(w, texts[k], text.ptr);
	}
	for (size_t k = 0; k < KGB_ARRAY_LEN(numbers); k++) {
		kgb_jsonw_key(w, numbers[k]);
		kgb_jsonw_array(w);
		for (size_t i = 0; i < timer->n_samples; i++) {
			const struct kgb_timer_sample *s = &timer->samples[i];
			const uint64_t values[] = {s->round,        s->raw.slot,
						   s->raw.event_ns, s->raw.activity_ns,
						   s->raw.host_ns,  s->raw.sm_mhz};
			kgb_jsonw_i64(w, (int64_t)values[k]);
		}
		kgb_jsonw_array_end(w);
	}
	kgb_jsonw_object_end(w);
}

void kgb_timing_write(const struct kgb_timer *timer, const struct kgb_timer_result *info,
		      bool samples, struct kgb_jsonw *w)
{
	const bool trusted = info->result != KGB_TIMING_UNTRUSTED;
	const double candidate_ns = info->median_ns[KGB_SIDE_B][KGB_RULER_EVENT];
	const double baseline_ns = info->median_ns[KGB_SIDE_A][KGB_RULER_EVENT];

	/* The times are null if the result is UNTRUSTED: they would suggest a speedup. */
	kgb_jsonw_put(w, "case: %s, candidate_ms: %g, baseline_ms: %g", timer->config.case_name,
		      trusted ? candidate_ns / 1e6 : (double)NAN,
		      trusted ? baseline_ns / 1e6 : (double)NAN);
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

static double known(double value)
{
	return value > 0 ? value : (double)NAN;
}

/* peak_share is the larger of the shares of bandwidth and arithmetic, as far as they are known. */
static void write_rates(const struct kgb_timer_config *c, enum kgb_timer_side side, double ns,
			struct kgb_jsonw *w)
{
	const double bytes_per_s = known((double)c->bytes) / ns * 1e9;
	const double flops_per_s = known((double)c->flops) / ns * 1e9;

	kgb_jsonw_key(w, kgb_timer_side_name(side));
	kgb_jsonw_put(w, "{ms: %g, gb_per_s: %g, tflop_per_s: %g, peak_share: %g}", ns / 1e6,
		      bytes_per_s / 1e9, flops_per_s / 1e12,
		      fmax(bytes_per_s / known(c->machine.bytes_per_s),
			   flops_per_s / known(c->machine.flops_per_s)));
}

void kgb_timed_case_write(const struct kgb_timer *timer, const struct kgb_timer_result *info,
			  struct kgb_jsonw *w)
{
	const struct kgb_timer_config *c = &timer->config;

	kgb_jsonw_put(w, "{result: %s", kgb_timing_result_name(info->result));
	kgb_interval_write(w, "speedup", info->speedup);
	kgb_interval_write(w, "speedup_device", info->speedup_device);
	kgb_jsonw_put(w, "bytes: %+ld, flops: %+ld, peak_gb_per_s: %g, peak_tflop_per_s: %g",
		      c->bytes > 0 ? c->bytes : -1, c->flops > 0 ? c->flops : -1,
		      known(c->machine.bytes_per_s) / 1e9, known(c->machine.flops_per_s) / 1e12);
	for (int side = 0; side < KGB_N_SIDES; side++)
		write_rates(c, (enum kgb_timer_side)side,
			    info->result == KGB_TIMING_UNTRUSTED
				    ? (double)NAN
				    : info->median_ns[side][KGB_RULER_EVENT],
			    w);
	kgb_jsonw_object_end(w);
}
