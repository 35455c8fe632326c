/* SPDX-License-Identifier: MIT */
#include "verify/timer/timer_result.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "verify/timer/timer_parts.h"

enum {
	REPLICAS = 1999,
	FEW = 8, /* placements, below which Student's t replaces the bootstrap: most replicas tie */
	/* Degrees of freedom that are subtracted, because a session of few placements ends when its
	 * interval is narrow, in part by chance. With this, 93 to 97 % of the intervals cover;
	 * without it, 92 to 95 %. */
	LOST_BY_LOOKS = 1,
};
#define TRIMMED 0.2
#define LEFT_BY_FLUSH 0.125 /* share of the L2 cache whose lines may outlive a flush */
/* Activity is that of another call: more than the events by no more than this shows nothing. */
#define PROFILED_PART 0.005
#define PROFILED_NS 1000.0
#define POWER 0.8 /* probability with which a change of `detectable` is found */
/* The configuration's figure for processes counts like a measurement with this many degrees of
 * freedom. */
#define PRIOR_FREEDOM 5.0

/* ---- numbers of samples and rounds ---- */

double kgb_timer__event(const struct kgb_timer_sample *sample)
{
	return (double)sample->raw.event_ns;
}

double kgb_timer__activity(const struct kgb_timer_sample *sample)
{
	return sample->with_activity ? (double)sample->raw.activity_ns : (double)NAN;
}

double kgb_timer__host(const struct kgb_timer_sample *sample)
{
	return (double)sample->raw.host_ns;
}

double kgb_timer__clock(const struct kgb_timer_sample *sample)
{
	return sample->raw.sm_mhz;
}

const kgb_timer_value_fn kgb_timer__rulers[KGB_N_RULERS] = {kgb_timer__event, kgb_timer__activity,
							    kgb_timer__host};

double *kgb_timer__gather(const struct kgb_timer *timer, enum kgb_timer_side side,
			  kgb_timer_value_fn value, size_t *n)
{
	double *out = kgb_xcalloc(timer->n_samples + 1, sizeof(*out));

	*n = 0;
	for (size_t i = 0; i < timer->n_samples; i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		double x = s->side == side && s->fate == KGB_SAMPLE_KEPT ? value(s) : (double)NAN;
		if (!isnan(x))
			out[(*n)++] = x;
	}
	return out;
}

double kgb_timer__cut(size_t n_placements)
{
	return n_placements < FEW ? 0 : TRIMMED;
}

size_t kgb_timer__by_placement(const struct kgb_timer *timer, kgb_timer_round_fn value,
			       enum kgb_ruler ruler, double *out, uint32_t *processes_out)
{
	uint32_t placement = 0;
	size_t n = 0;
	double n_here = 0;

	for (uint32_t i = 0; i < timer->n_rounds; i++) {
		const struct kgb_timer_round *round = &timer->rounds[i];
		double x = value(round, ruler);
		if (!isfinite(x))
			continue;
		if (n == 0 || round->placement != placement) {
			n_here = 0;
			out[n] = 0;
			if (processes_out)
				processes_out[n] = round->process;
			n++;
		}
		placement = round->placement;
		n_here++;
		out[n - 1] += (x - out[n - 1]) / n_here;
	}
	return n;
}

static double log_ratio(const struct kgb_timer_round *round, enum kgb_ruler ruler)
{
	return log(round->ns[KGB_SIDE_A][ruler] / round->ns[KGB_SIDE_B][ruler]);
}

size_t kgb_timer__ratios(const struct kgb_timer *timer, enum kgb_ruler ruler, double *out,
			 uint32_t *processes_out)
{
	return kgb_timer__by_placement(timer, log_ratio, ruler, out, processes_out);
}

struct kgb_grouped kgb_timer__estimate(const struct kgb_timer *timer, enum kgb_ruler ruler,
				       double *centred_out, size_t *n_out)
{
	KGB_AUTO(free) double *ratios = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*ratios));
	KGB_AUTO(free) uint32_t *processes = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*processes));

	*n_out = kgb_timer__ratios(timer, ruler, ratios, processes);
	return kgb_group_values(ratios, processes, *n_out, kgb_timer__cut(*n_out), centred_out);
}

size_t kgb_timer__round_times(const struct kgb_timer *timer, enum kgb_timer_side side,
			      enum kgb_ruler ruler, double *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < timer->n_rounds; i++)
		if (isfinite(timer->rounds[i].ns[side][ruler]))
			out[n++] = timer->rounds[i].ns[side][ruler];
	return n;
}

double kgb_timer__reach_by_t(const struct kgb_timer_config *config, const struct kgb_grouped *seen,
			     size_t n, size_t n_lost)
{
	double count = (double)n, trimmed = 2 * floor(kgb_timer__cut(n) * count);
	double freedom = count - (double)seen->n_groups - trimmed - (double)n_lost;

	return freedom > 0 ? kgb_t_quantile((1 + config->confidence) / 2, freedom) * seen->error
			   : (double)NAN;
}

/* The variance between the session's few processes, pooled with the configuration's figure: the
 * moderated variance of Smyth (2004). With one process of each side only that figure is left. */
struct kgb_timer_choice kgb_timer__choice(const struct kgb_timer_config *c,
					  const double ns[KGB_N_SIDES],
					  const struct kgb_grouped *seen)
{
	double known = hypot(c->process_sd_ns / ns[KGB_SIDE_A], c->process_sd_ns / ns[KGB_SIDE_B]);
	double more = (double)seen->n_groups - 1, freedom = PRIOR_FREEDOM + more;
	double variance = (PRIOR_FREEDOM * known * known + more * seen->variance) / freedom;
	double error = sqrt(variance * seen->share);

	return (struct kgb_timer_choice){error,
					 kgb_t_quantile((1 + c->confidence) / 2, freedom) * error};
}

/* ---- width and margin ---- */

double kgb_timer__margin(const struct kgb_timer_config *config, double ns, double step_ns)
{
	return config->margin_relative + fmax(config->margin_ns, step_ns) / ns;
}

void kgb_timer__sort(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), kgb_compare_doubles);
}

double kgb_timer__event_step(const struct kgb_timer *timer)
{
	enum { ENOUGH = 16, ROUNDING_NS = 2 };
	size_t n;
	KGB_AUTO(free)
	double *ns = kgb_timer__gather(timer, KGB_SIDE_A, kgb_timer__event, &n);
	double known = (double)timer->config.machine.event_step_ns, seen = (double)INFINITY;

	kgb_timer__sort(ns, n);
	for (size_t i = 1; i < n; i++)
		if (ns[i] - ns[i - 1] > ROUNDING_NS)
			seen = fmin(seen, ns[i] - ns[i - 1]);
	return n >= ENOUGH && isfinite(seen) ? fmax(known, seen) : known;
}

/* Spread of a side's samples about the time of their round: a drift has no effect on it. */
static double spread_in_rounds(const struct kgb_timer *timer, enum kgb_timer_side side,
			       enum kgb_ruler ruler)
{
	KGB_AUTO(free) double *away = kgb_xcalloc(timer->n_samples + 1, sizeof(*away));
	size_t n = 0;

	for (size_t i = 0; i < timer->n_samples; i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		if (s->side != side || s->fate != KGB_SAMPLE_KEPT)
			continue;
		away[n] =
			fabs(kgb_timer__rulers[ruler](s) - timer->rounds[s->round].ns[side][ruler]);
		n += isnan(away[n]) ? 0 : 1;
	}
	return KGB_MAD_TO_SIGMA * kgb_median(away, n);
}

/* The largest error of the mean of values that were rounded to steps: the first harmonic of the
 * rounding error. Noise of the size of a step makes it negligible. */
static double rounding_bias(double step, double sigma)
{
	double noise = M_PI * sigma / step;
	return step > 0 ? step / M_PI * exp(-2 * noise * noise) : 0;
}

static double bias_of_ratio(const struct kgb_timer *timer, const struct kgb_timer_result *result,
			    enum kgb_ruler ruler, double step)
{
	double bias = 0;

	for (int side = 0; side < KGB_N_SIDES; side++)
		bias += rounding_bias(step,
				      spread_in_rounds(timer, (enum kgb_timer_side)side, ruler)) /
			result->median_ns[side][ruler];
	return bias;
}

/* ---- the intervals ---- */

static void seed_bootstrap(const struct kgb_timer *timer, enum kgb_ruler ruler, struct kgb_rng *rng)
{
	KGB_AUTO(free)
	char *label = kgb_xasprintf("timer bootstrap %s", timer->config.case_name);
	kgb_rng_init(rng, &timer->config.seed, label, (uint32_t)ruler);
}

/* A logarithm with its interval, and the standard error of it. */
struct estimate {
	struct kgb_interval log;
	double error;
	size_t n; /* placements from which it is computed */
	struct kgb_timer_choice choice;
};

/* The distances of the bounds by independent errors add up as squares (Zou and Donner). The bias by
 * rounding is not random, so it is added on top. */
static struct estimate log_speedup(const struct kgb_timer *timer,
				   const struct kgb_timer_result *result, enum kgb_ruler ruler,
				   double step)
{
	KGB_AUTO(free) double *centred = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*centred));
	const double ns[KGB_N_SIDES] = {result->median_ns[KGB_SIDE_A][ruler],
					result->median_ns[KGB_SIDE_B][ruler]};
	double bias = bias_of_ratio(timer, result, ruler, step);
	size_t n;
	struct kgb_grouped seen = kgb_timer__estimate(timer, ruler, centred, &n);
	struct kgb_timer_choice choice = kgb_timer__choice(&timer->config, ns, &seen);
	struct kgb_rng rng;

	seed_bootstrap(timer, ruler, &rng);
	struct kgb_interval within = kgb_trimmed_bootstrap(
		centred, n, TRIMMED, timer->config.confidence, REPLICAS, &rng);
	double noise = n < FEW ? kgb_timer__reach_by_t(&timer->config, &seen, n, LOST_BY_LOOKS)
			       : within.high - within.value;
	double reach = hypot(noise, choice.reach) + bias;
	return (struct estimate){
		.log = {seen.value, seen.value - reach, seen.value + reach},
		.error = hypot(seen.error, choice.error),
		.n = n,
		.choice = choice,
	};
}

static struct kgb_interval from_log(struct kgb_interval x)
{
	return (struct kgb_interval){exp(x.value), exp(x.low), exp(x.high)};
}

static struct kgb_round_value *kept_events(const struct kgb_timer *timer, enum kgb_timer_side side,
					   size_t *n)
{
	struct kgb_round_value *out = kgb_xcalloc(timer->n_samples + 1, sizeof(*out));

	*n = 0;
	for (size_t i = 0; i < timer->n_samples; i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		if (s->side == side && s->fate == KGB_SAMPLE_KEPT)
			out[(*n)++] = (struct kgb_round_value){kgb_timer__event(s), s->round};
	}
	return out;
}

static struct kgb_interval ratio_of_medians(const struct kgb_timer *timer,
					    struct kgb_timer_choice choice)
{
	size_t n_a, n_b;
	KGB_AUTO(free) struct kgb_round_value *a = kept_events(timer, KGB_SIDE_A, &n_a);
	KGB_AUTO(free) struct kgb_round_value *b = kept_events(timer, KGB_SIDE_B, &n_b);
	struct kgb_rng rng;

	seed_bootstrap(timer, KGB_N_RULERS, &rng);
	struct kgb_interval x = kgb_median_ratio_bootstrap(
		a, n_a, b, n_b, timer->n_rounds, timer->config.confidence, REPLICAS, &rng);
	return (struct kgb_interval){
		.value = x.value,
		.low = x.value * exp(-hypot(log(x.value / x.low), choice.reach)),
		.high = x.value * exp(hypot(log(x.high / x.value), choice.reach)),
	};
}

/* ---- description ---- */

static void describe_samples(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	for (enum kgb_timer_side side = KGB_SIDE_A; side < KGB_N_SIDES; side++) {
		size_t n;
		for (int ruler = 0; ruler < KGB_N_RULERS; ruler++) {
			KGB_AUTO(free)
			double *ns = kgb_timer__gather(timer, side, kgb_timer__rulers[ruler], &n);
			double median = kgb_median(ns, n);
			out->median_ns[side][ruler] = median > 0 ? median : (double)NAN;
			if (ruler == KGB_RULER_EVENT)
				out->mad_ns[side] = kgb_mad(ns, n);
		}
		KGB_AUTO(free)
		double *mhz = kgb_timer__gather(timer, side, kgb_timer__clock, &n);
		double median = kgb_median(mhz, n);
		out->clock_mhz[side] = median > 0 ? median : (double)NAN;
	}
	for (size_t i = 0; i < timer->n_samples; i++)
		out->n_fates[timer->samples[i].side][timer->samples[i].fate]++;
}

static double solo_median(const struct kgb_timer *timer, enum kgb_timer_phase phase)
{
	double ns[64];
	size_t n = 0;

	for (size_t i = 0; i < timer->n_samples && n < KGB_ARRAY_LEN(ns); i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		if (s->phase == phase && s->fate == KGB_SAMPLE_SOLO)
			ns[n++] = kgb_timer__event(s);
	}
	return kgb_median(ns, n);
}

static double baseline_drift(const struct kgb_timer *timer)
{
	KGB_AUTO(free) double *ns = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*ns));
	size_t n = kgb_timer__round_times(timer, KGB_SIDE_A, KGB_RULER_EVENT, ns), third = n / 3;

	return kgb_median(ns + n - third, third) / kgb_median(ns, third) - 1;
}

/* The time in ns that every kernel takes at least. Results may still lie in the L2 cache when the
 * kernel ends, so as many of their bytes as fit there do not count. Neither do bytes of inputs that
 * may have outlived the flush in the cache (LEFT_BY_FLUSH). One level of Strassen's algorithm saves
 * an eighth of the arithmetic. */
static double physical_floor(const struct kgb_timer_config *c)
{
	double l2_bytes = (double)c->machine.l2_bytes;
	double read_bytes = (double)(c->bytes - c->written_bytes);
	double absorbed = fmin((double)c->written_bytes, l2_bytes) +
			  fmin(read_bytes, l2_bytes * LEFT_BY_FLUSH);
	double floor = (double)c->machine.launch_floor_ns;

	if (c->machine.bytes_per_s > 0)
		floor = fmax(floor, ((double)c->bytes - absorbed) / c->machine.bytes_per_s * 1e9);
	if (c->machine.flops_per_s > 0)
		floor = fmax(floor, 0.875 * (double)c->flops / c->machine.flops_per_s * 1e9);
	return floor;
}

/* ---- the decision ---- */

bool kgb_timer__say(struct kgb_timer_result *result, enum kgb_timing_why why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(result->text, sizeof(result->text), fmt, ap);
	va_end(ap);
	result->why = why;
	return true;
}

static enum kgb_timing_result place(struct kgb_interval log_speedup, double border)
{
	if (log_speedup.low > border)
		return KGB_TIMING_FASTER;
	if (log_speedup.high < -border)
		return KGB_TIMING_SLOWER;
	if (log_speedup.low > -border && log_speedup.high < border)
		return KGB_TIMING_SAME;
	return KGB_TIMING_UNDECIDED;
}

static uint32_t n_of_fate(const struct kgb_timer_result *result, enum kgb_sample_fate fate)
{
	return result->n_fates[KGB_SIDE_A][fate] + result->n_fates[KGB_SIDE_B][fate];
}

static uint32_t least_placements(const struct kgb_timer *timer)
{
	const struct kgb_timer_level *level = &timer->config.level;
	return timer->is_far ? level->far_placements : level->min_placements;
}

/* There are too few rounds for a result: name the cause. */
static void explain_few(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	uint32_t n_throttled = n_of_fate(out, KGB_SAMPLE_THROTTLED);
	uint32_t n_clock = n_of_fate(out, KGB_SAMPLE_CLOCK);

	if (n_throttled > n_clock && 4 * n_throttled > timer->n_samples)
		kgb_timer__say(
			out, KGB_WHY_THROTTLED,
			"%u of %zu samples ran below 75 %% of the clock: let the device cool "
			"or raise its power limit",
			n_throttled, timer->n_samples);
	else if (4 * n_clock > timer->n_samples)
		kgb_timer__say(out, KGB_WHY_CLOCK,
			       "%u of %zu samples ran at a clock that changed or differed between "
			       "the sides: lock the clock",
			       n_clock, timer->n_samples);
	else
		kgb_timer__say(out, KGB_WHY_FEW, "usable rounds at %u placements, %u are needed",
			       out->n_placements, least_placements(timer));
}

static void decide(const struct kgb_timer *timer, struct kgb_interval log_speedup,
		   struct kgb_timer_result *out)
{
	out->result = KGB_TIMING_UNDECIDED;
	if (out->n_placements < least_placements(timer) || isnan(log_speedup.low)) {
		explain_few(timer, out);
		return;
	}
	out->result = place(log_speedup, log1p(out->margin));
	if (out->result == KGB_TIMING_UNDECIDED)
		kgb_timer__say(out, KGB_WHY_WIDE,
			       "speedup %.4f, between %.4f and %.4f, reaches over a border of the "
			       "margin of %.2f %%",
			       exp(log_speedup.value), exp(log_speedup.low), exp(log_speedup.high),
			       100 * out->margin);
}

/* Whether two results contradict each other. Events decide, as users measure them, but a result is
 * not claimed if activity shows the opposite. */
static bool opposes(enum kgb_timing_result a, enum kgb_timing_result b)
{
	return (a == KGB_TIMING_FASTER && b == KGB_TIMING_SLOWER) ||
	       (a == KGB_TIMING_SLOWER && b == KGB_TIMING_FASTER);
}

static const struct kgb_interval no_interval = {(double)NAN, (double)NAN, (double)NAN};

/* Whether the profiler delays a side: its activity takes longer than the events around it, by more
 * than two calls differ. Then activity gives no speedup. */
static bool is_delayed_by_profiler(const struct kgb_timer_result *out)
{
	for (int side = 0; side < KGB_N_SIDES; side++) {
		const double *ns = out->median_ns[side];
		if (ns[KGB_RULER_ACTIVITY] >
		    ns[KGB_RULER_EVENT] * (1 + PROFILED_PART) + PROFILED_NS)
			return true;
	}
	return false;
}

static void distrust(struct kgb_timer_result *out)
{
	out->result = KGB_TIMING_UNTRUSTED;
	out->speedup = out->speedup_device = out->median_ratio = no_interval;
	out->detectable = (double)NAN;
}

static void measure(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	KGB_AUTO(free) double *times = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*times));
	const struct kgb_timer_config *c = &timer->config;
	double step = kgb_timer__event_step(timer);
	double ns = fmin(out->median_ns[KGB_SIDE_A][KGB_RULER_EVENT],
			 out->median_ns[KGB_SIDE_B][KGB_RULER_EVENT]);

	out->n_rounds = (uint32_t)kgb_timer__round_times(timer, KGB_SIDE_A, KGB_RULER_EVENT, times);
	out->n_processes = timer->process + 1;
	out->margin = kgb_timer__margin(c, ns, step);
	struct estimate events = log_speedup(timer, out, KGB_RULER_EVENT, step);
	struct estimate device =
		log_speedup(timer, out, KGB_RULER_ACTIVITY, (double)c->machine.activity_step_ns);
	out->n_placements = (uint32_t)events.n;
	out->detectable = expm1(log1p(out->margin) + events.log.high - events.log.value +
				kgb_normal_quantile(POWER) * events.error);
	out->speedup = from_log(events.log);
	out->process_reach = events.choice.reach;
	if (is_delayed_by_profiler(out))
		device.log = no_interval;
	out->speedup_device = from_log(device.log);
	out->median_ratio = ratio_of_medians(timer, events.choice);
	decide(timer, events.log, out);
	if (kgb_timer__doubt(timer, out)) {
		distrust(out);
	} else if (opposes(out->result, place(device.log, log1p(out->margin)))) {
		out->result = KGB_TIMING_UNDECIDED;
		kgb_timer__say(out, KGB_WHY_OPPOSED,
			       "events give a speedup of %.4f, activity one of %.4f",
			       out->speedup.value, out->speedup_device.value);
	}
}

void kgb_timer_finish(struct kgb_timer *timer, struct kgb_timer_result *out)
{
	KGB_ASSERT(timer->phase == KGB_PHASE_DONE);
	*out = (struct kgb_timer_result){
		.solo_ns = {solo_median(timer, KGB_PHASE_SOLO_BEFORE),
			    solo_median(timer, KGB_PHASE_SOLO_AFTER)},
		.drift = baseline_drift(timer),
		.floor_ns = physical_floor(&timer->config),
		.narrow = timer->narrow_at > 0 || timer->is_far,
		.outside_ns = timer->outside_ns,
	};
	describe_samples(timer, out);
	measure(timer, out);
}
