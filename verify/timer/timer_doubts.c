/* SPDX-License-Identifier: MIT */
/** \file
 * Contradictions: findings that no honest pair of kernels, alone on a device, would cause. A
 * contradiction never changes the speedup: it removes it.
 */
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "verify/timer/timer_parts.h"

/* Shares and sizes; the reasons are in docs/timing.md. */
#define SHARE 0.05 /* share of samples that may break a rule by accident */
#define FLOOR 0.98 /* share of the physical floor that no sample may be below */
#define ORDER_NS 1000.0 /* events against activity: two time stamps of the device */
#define ORDER_HOST_NS                                                              \
	10000.0 /* events against the host: the clock starts after the first event \
		 */
#define ORDER_PART 0.005 /* events against the host */
#define ORDER_ACTIVITY_PART \
	0.02 /* events against activity, which is that of another call, at another clock */
#define ORDER_SIGMAS 5.0
#define LOW 0.1 /* the share of activities that counts as the shortest */
#define ACTIVITY_NS 4000.0 /* allowed difference of (events - activity) between the sides */
#define ACTIVITY_OP_NS 5000.0 /* plus this for each operation that one side has more */
#define ACTIVITY_PART 0.005 /* plus this share of the longer time */
#define HOST_NS 10000.0 /* allowed difference of (host - events) between the sides */
#define HOST_OP_NS 5000.0 /* plus this for each operation that one side has more */
#define HOST_PART 0.01 /* plus this share of the longer time */
#define EFFECT 0.03 /* smallest relevant change between groups of calls, as a share of the time */
#define TREND 0.02
#define CHANCE 1e-3
#define SIGMAS 4.0
#define DRIFT 0.10
#define MODES 0.05 /* smallest distance of two speeds, as a share of the time */
#define MODES_SHARE 0.10 /* smallest share of the samples at the rarer speed */
#define MODES_SIGMAS 4.0
#define FOLLOWS 0.25 /* least distance of the candidate's speeds, as a share of the baseline's */
#define FOLLOWS_SIGMAS 3.0
#define FEW 16.0 /* values, below which their spread is corrected */

/* Whether a side breaks a rule. The candidate is accused if the baseline does not break it, too. */
static bool accuse(struct kgb_timer_result *out, const bool broken[KGB_N_SIDES])
{
	out->accuses = broken[KGB_SIDE_B] && !broken[KGB_SIDE_A];
	return broken[KGB_SIDE_A] || broken[KGB_SIDE_B];
}

/* The same; the result's text names the sides that break the rule, then `what`. */
static bool accuse_of(struct kgb_timer_result *out, const bool broken[KGB_N_SIDES],
		      enum kgb_timing_why why, const char *what)
{
	const char *name = broken[KGB_SIDE_A] && broken[KGB_SIDE_B] ? "both sides"
			   : broken[KGB_SIDE_A]                     ? "baseline"
								    : "candidate";

	return accuse(out, broken) && kgb_timer__say(out, why, "%s: %s", name, what);
}

/* The share of the samples with such a value that are below the limit; 0 without such samples. */
static double share_below(const struct kgb_timer *timer, enum kgb_timer_side side,
			  kgb_timer_value_fn value, double limit, size_t *n_out)
{
	size_t n_below = 0;
	KGB_AUTO(free)
	double *x = kgb_timer__gather(timer, side, value, n_out);

	for (size_t i = 0; i < *n_out; i++)
		n_below += x[i] < limit ? 1 : 0;
	return *n_out ? (double)n_below / (double)*n_out : 0;
}

/* ---- the floor ---- */

static bool doubt_floor(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	double limit = FLOOR * out->floor_ns - kgb_timer__event_step(timer);
	double share[KGB_N_SIDES];
	bool below[KGB_N_SIDES];
	size_t n;

	for (enum kgb_timer_side side = KGB_SIDE_A; side < KGB_N_SIDES; side++) {
		share[side] = share_below(timer, side, kgb_timer__event, limit, &n);
		below[side] = share[side] > SHARE;
	}
	if (!accuse(out, below))
		return false;
	return kgb_timer__say(
		out, below[KGB_SIDE_A] ? KGB_WHY_FLOOR_WRONG : KGB_WHY_BELOW_FLOOR,
		"%.0f %% of the samples of the %s are below the physical floor of %.2f us",
		100 * share[below[KGB_SIDE_A] ? KGB_SIDE_A : KGB_SIDE_B],
		below[KGB_SIDE_A] ? "baseline" : "candidate", out->floor_ns / 1e3);
}

/* ---- agreement of the rulers ---- */

/* The longest plausible activity of a call, less ORDER_NS. Activity is measured in a repetition of
 * the call. */
static double longest_activity(const struct kgb_timer_sample *s)
{
	return s->with_activity ? kgb_timer__event(s) * (1 + ORDER_ACTIVITY_PART) : (double)NAN;
}

/* Whether the device was active for longer in the candidate's calls than events show. The activity
 * is that of a repetition of the call, so a single sample is no evidence: a disturbance may have
 * delayed either call. But hardly any event time may be shorter than the shortest activity. The
 * profiler delays each operation but the first. */
static bool active_for_longer(const struct kgb_timer *timer, double slack)
{
	const enum kgb_timer_side side = KGB_SIDE_B;
	size_t n, n_active;
	KGB_AUTO(free)
	double *active = kgb_timer__gather(timer, side, kgb_timer__activity, &n_active);

	slack += ACTIVITY_OP_NS * (double)(timer->config.n_ops[side] - 1);

	if (n_active == 0)
		return false;
	double shortest = kgb_quantile(active, n_active, LOW) - ORDER_NS - slack;
	double share = share_below(timer, side, longest_activity, shortest, &n);
	double error = sqrt(LOW * (1 - LOW) * (1 / (double)n + 1 / (double)n_active));
	return share > LOW + ORDER_SIGMAS * error;
}

static double events_over_host(const struct kgb_timer_sample *s)
{
	double event = kgb_timer__event(s), host = kgb_timer__host(s);
	return event - host * (1 + ORDER_PART) - ORDER_HOST_NS;
}

static double missing_activity(const struct kgb_timer_sample *s)
{
	return s->with_activity ? (s->raw.activity_ns ? -1 : 1) : (double)NAN;
}

/* Finds the sides whose number exceeds `slack` in more than SHARE of the samples. */
static void positive(const struct kgb_timer *timer, kgb_timer_value_fn value, double slack,
		     bool out[KGB_N_SIDES])
{
	for (enum kgb_timer_side side = KGB_SIDE_A; side < KGB_N_SIDES; side++) {
		size_t n;
		KGB_AUTO(free)
		double *x = kgb_timer__gather(timer, side, value, &n);
		out[side] = n > 0 && kgb_quantile(x, n, 1 - SHARE) > slack;
	}
}

/* Nobody forges the baseline's events, and the profiler keeps kernels of libraries from
 * overlapping: so only the candidate's activity is compared with its events. */
static bool doubt_order(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	double slack =
		kgb_timer__event_step(timer) + (double)timer->config.machine.activity_step_ns;
	bool broken[KGB_N_SIDES] = {false, active_for_longer(timer, slack)};

	if (accuse_of(out, broken, KGB_WHY_RULER_ORDER,
		      "the device was active for longer than between the events"))
		return true;
	positive(timer, events_over_host, slack, broken);
	return accuse_of(out, broken, KGB_WHY_RULER_ORDER,
			 "more time between the events than on the host's clock around them");
}

static double events_less_activity(const struct kgb_timer_sample *s)
{
	return kgb_timer__event(s) - kgb_timer__activity(s);
}

static double host_less_events(const struct kgb_timer_sample *s)
{
	return kgb_timer__host(s) - kgb_timer__event(s);
}

/* A rule: the time that a longer span (events, host) adds to the shorter one inside of it is
 * overhead of the harness, and so about the same on both sides. */
struct overhead {
	enum kgb_timing_why why;
	kgb_timer_value_fn value;
	double ns, op_ns, part; /* allowed difference, as for ACTIVITY_NS */
	const char *name;
};

static double allowed_overhead(const struct kgb_timer *timer, const struct overhead *overhead,
			       const struct kgb_timer_result *result)
{
	const uint32_t *n_ops = timer->config.n_ops;
	double longest = fmax(result->median_ns[KGB_SIDE_A][KGB_RULER_EVENT],
			      result->median_ns[KGB_SIDE_B][KGB_RULER_EVENT]);

	return overhead->ns + overhead->part * longest +
	       overhead->op_ns * fabs((double)n_ops[0] - (double)n_ops[1]);
}

/* Standard error of a median. The spread of few values is often far too small by chance, so it is
 * corrected upwards. */
static double median_error(const double *x, size_t n)
{
	double count = (double)n, sigma = KGB_MAD_TO_SIGMA * kgb_mad(x, n);

	if (n < KGB_TIMER_GROUP_MIN)
		return (double)INFINITY;
	if (count < FEW)
		sigma = (1 + FEW / 2 / count) *
			fmax(sigma, kgb_trimmed_error(x, n, 0) * sqrt(count));
	return 1.2533 * sigma / sqrt(count);
}

static bool doubt_overhead(const struct kgb_timer *timer, const struct overhead *overhead,
			   struct kgb_timer_result *out)
{
	double added[KGB_N_SIDES], error = 0;

	for (enum kgb_timer_side side = KGB_SIDE_A; side < KGB_N_SIDES; side++) {
		size_t n;
		KGB_AUTO(free)
		double *x = kgb_timer__gather(timer, side, overhead->value, &n);
		added[side] = kgb_median(x, n);
		error = hypot(error, median_error(x, n));
	}
	double allowed = allowed_overhead(timer, overhead, out) + SIGMAS * error;
	/* Where the profiler delays the baseline, its number is below 0, and the candidate's, which
	 * may be delayed less, anywhere between. */
	double differs = added[KGB_SIDE_B] - added[KGB_SIDE_A];
	if (added[KGB_SIDE_A] < 0)
		differs = fmin(differs, fmax(added[KGB_SIDE_B], 0));
	if (!(fabs(differs) > allowed))
		return false;
	/* Forged events are too short: then the host shows more overhead. */
	out->accuses = differs > 0;
	return kgb_timer__say(
		out, overhead->why,
		"%s: %.2f us for the candidate, %.2f us for the baseline; a difference of up to "
		"%.2f us is possible",
		overhead->name, added[KGB_SIDE_B] / 1e3, added[KGB_SIDE_A] / 1e3, allowed / 1e3);
}

static bool doubt_activity(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	static const struct overhead overhead = {
		.why = KGB_WHY_RULER_ACTIVITY,
		.value = events_less_activity,
		.ns = ACTIVITY_NS,
		.op_ns = ACTIVITY_OP_NS,
		.part = ACTIVITY_PART,
		.name = "events less activity",
	};
	bool missing[KGB_N_SIDES];

	if (!timer->config.with_activity)
		return false;
	positive(timer, missing_activity, 0, missing);
	if (!accuse_of(out, missing, KGB_WHY_RULER_ACTIVITY, "no activity was recorded") &&
	    !doubt_overhead(timer, &overhead, out))
		return false;
	/* The profiler may lose records and delay calls without a cause in either side. Forged
	 * events would be shorter than the activity: doubt_order. */
	out->accuses = false;
	return true;
}

/* The same for single calls. If events are too short only in some calls, medians do not show it: so
 * compare how many calls of each side have a large overhead. The host is delayed in some calls of
 * either side, too. */
static bool doubt_host_at_times(const struct kgb_timer *timer, const struct overhead *overhead,
				struct kgb_timer_result *out)
{
	double limit = allowed_overhead(timer, overhead, out), n_all = 0, n_more = 0, error = 0;
	double share[KGB_N_SIDES];

	for (enum kgb_timer_side side = KGB_SIDE_A; side < KGB_N_SIDES; side++) {
		size_t n;
		KGB_AUTO(free)
		double *x = kgb_timer__gather(timer, side, overhead->value, &n);
		if (side == KGB_SIDE_A)
			limit += kgb_median(x, n);
		double more = 0;
		for (size_t k = 0; k < n; k++)
			more += x[k] > limit ? 1 : 0;
		share[side] = more / (double)n;
		n_all += (double)n;
		n_more += more;
		error += 1 / (double)n;
	}
	error = sqrt(error * n_more / n_all * (1 - n_more / n_all));
	if (!(share[KGB_SIDE_B] - share[KGB_SIDE_A] > SHARE + SIGMAS * error))
		return false;
	out->accuses = false; /* other processes may have delayed it */
	return kgb_timer__say(
		out, overhead->why,
		"%s: by %.2f us more than usual in %.0f %% of the samples of the candidate, in "
		"%.0f %% of the baseline's",
		overhead->name, allowed_overhead(timer, overhead, out) / 1e3,
		100 * share[KGB_SIDE_B], 100 * share[KGB_SIDE_A]);
}

/* The overhead of the host for the candidate, less that for the baseline. */
static double more_host(const struct kgb_timer_round *round, enum kgb_ruler ruler)
{
	const double *a = round->ns[KGB_SIDE_A], *b = round->ns[KGB_SIDE_B];
	return (b[KGB_RULER_HOST] - b[ruler]) - (a[KGB_RULER_HOST] - a[ruler]);
}

/* The same for rounds, averaged as the speedup is. Time that forged events remove from the
 * candidate appears as overhead of the host. An average above the allowed overhead is a
 * contradiction however few rounds there are. */
static bool doubt_host_of_rounds(const struct kgb_timer *timer, const struct overhead *overhead,
				 struct kgb_timer_result *out)
{
	KGB_AUTO(free) double *more = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*more));
	size_t n = kgb_timer__by_placement(timer, more_host, KGB_RULER_EVENT, more, NULL);
	double mean = kgb_trimmed_mean(more, n, kgb_timer__cut(n));
	if (!(fabs(mean) > allowed_overhead(timer, overhead, out)))
		return false;
	out->accuses = false;
	return kgb_timer__say(
		out, overhead->why,
		"%s: %.2f us more for the candidate, as rounds are averaged; %.2f us are "
		"possible",
		overhead->name, mean / 1e3, allowed_overhead(timer, overhead, out) / 1e3);
}

static bool doubt_host(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	static const struct overhead overhead = {
		.why = KGB_WHY_RULER_HOST,
		.value = host_less_events,
		.ns = HOST_NS,
		.op_ns = HOST_OP_NS,
		.part = HOST_PART,
		.name = "host less events",
	};

	return doubt_overhead(timer, &overhead, out) ||
	       doubt_host_at_times(timer, &overhead, out) ||
	       doubt_host_of_rounds(timer, &overhead, out);
}

static bool doubt_outside(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	bool broken[KGB_N_SIDES] = {timer->n_contradicted[KGB_SIDE_A] > 0,
				    timer->n_contradicted[KGB_SIDE_B] > 0};

	return accuse_of(out, broken, KGB_WHY_RULER_OUTSIDE,
			 "blocks claim more time than passed on the judge's clock");
}

/* ---- calls that differ from other calls ---- */

struct effect {
	double value, error; /* of the logarithm of the time; NaN: groups too small */
};

typedef bool (*in_group_fn)(const struct kgb_timer_sample *sample);

static bool is_last(const struct kgb_timer_sample *sample)
{
	return sample->last;
}

static bool is_first_visit(const struct kgb_timer_sample *sample)
{
	return sample->first_visit;
}

/* The lower median: of 4 values, 2 large outliers do not move it. */
static double low_median(const double *x, size_t n)
{
	size_t middle = (n - 1) / 2;
	return kgb_quantile(x, n, (double)middle / fmax((double)n - 1, 1));
}

/* How much longer the calls of a group take than the side's other calls, each relative to its
 * round. */
static struct effect effect_of(const struct kgb_timer *timer, enum kgb_timer_side side,
			       in_group_fn in_group)
{
	KGB_AUTO(free) double *in = kgb_xcalloc(timer->n_samples + 1, sizeof(*in));
	KGB_AUTO(free) double *rest = kgb_xcalloc(timer->n_samples + 1, sizeof(*rest));
	size_t n_in = 0, n_rest = 0;

	for (size_t i = 0; i < timer->n_samples; i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		if (s->side != side || s->fate != KGB_SAMPLE_KEPT)
			continue;
		double x = log(kgb_timer__event(s) /
			       timer->rounds[s->round].ns[side][KGB_RULER_EVENT]);
		if (in_group(s))
			in[n_in++] = x;
		else
			rest[n_rest++] = x;
	}
	if (n_in < KGB_TIMER_GROUP_MIN || n_rest < KGB_TIMER_GROUP_MIN)
		return (struct effect){(double)NAN, (double)NAN};
	double sigma = KGB_MAD_TO_SIGMA * kgb_mad(rest, n_rest);
	return (struct effect){
		.value = low_median(in, n_in) - low_median(rest, n_rest),
		.error = 1.2533 * sigma * sqrt(1 / (double)n_in + 1 / (double)n_rest),
	};
}

/* Whether a group's calls take longer, compared with the same effect on the baseline, which has no
 * reason to cheat. */
static bool doubt_group(const struct kgb_timer *timer, in_group_fn in_group,
			enum kgb_timing_why why, const char *which, struct kgb_timer_result *out)
{
	struct effect a = effect_of(timer, KGB_SIDE_A, in_group);
	struct effect b = effect_of(timer, KGB_SIDE_B, in_group);
	double rounding =
		kgb_timer__event_step(timer) / out->median_ns[KGB_SIDE_B][KGB_RULER_EVENT];
	double more = b.value - a.value;

	if (!(more > EFFECT + rounding + SIGMAS * hypot(a.error, b.error)))
		return false;
	out->accuses = true;
	return kgb_timer__say(
		out, why,
		"calls %s take %.1f %% longer than the others; calls of the baseline take %.1f %%",
		which, 100 * expm1(b.value), 100 * expm1(a.value));
}

static bool doubt_checked(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	return doubt_group(timer, is_last, KGB_WHY_CHECKED, "whose output is checked", out);
}

static bool doubt_reuse(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	return doubt_group(timer, is_first_visit, KGB_WHY_REUSE, "on new inputs", out);
}

/* The number of values below x; equal values count half. */
static double rank_of(const double *sorted, size_t n, double x)
{
	size_t below = 0, past = n;

	for (size_t end = n; below < end;) {
		size_t middle = below + (end - below) / 2;
		if (sorted[middle] < x)
			below = middle + 1;
		else
			end = middle;
	}
	for (size_t begin = below; begin < past;) {
		size_t middle = begin + (past - begin) / 2;
		if (sorted[middle] > x)
			past = middle;
		else
			begin = middle + 1;
	}
	return (double)(below + past) / 2;
}

/* Pettitt's test for a change of the values' level. Returns the probability of a change of this
 * size by chance; *at is the first value after the change. */
static double change_point(const double *x, size_t n, size_t *at)
{
	KGB_AUTO(free) double *sorted = kgb_xcalloc(n + 1, sizeof(*sorted));
	double u = 0, largest = -1, count = (double)n;

	memcpy(sorted, x, n * sizeof(*x));
	kgb_timer__sort(sorted, n);
	*at = 0;
	for (size_t k = 1; k < n; k++) {
		u += 2 * rank_of(sorted, n, x[k - 1]) - count;
		if (fabs(u) <= largest)
			continue;
		largest = fabs(u);
		*at = k;
	}
	return n < 2 ? 1 : 2 * exp(-6 * largest * largest / (count * count * (count + 1)));
}

/* The speedup of a round compares both sides, so a cause that slows both has no effect here. In a
 * session with several processes, the speedup changes with the processes, which no side causes. */
static bool doubt_trend(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	KGB_AUTO(free) double *ratios = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*ratios));
	size_t n = kgb_timer__ratios(timer, KGB_RULER_EVENT, ratios, NULL), at;

	if (timer->process > 0)
		return false;
	if (change_point(ratios, n, &at) > CHANCE)
		return false;
	double before = kgb_median(ratios, at), after = kgb_median(ratios + at, n - at);
	if (!(fabs(after - before) > TREND))
		return false;
	out->accuses = true;
	return kgb_timer__say(
		out, KGB_WHY_TREND,
		"the speedup is %.4f at the first %zu placements and %.4f at the %zu after "
		"them",
		exp(before), at, exp(after), n - at);
}

/* ---- the baseline's surroundings ---- */

/* Logarithms of one side's times in the usable rounds. */
static size_t log_round_times(const struct kgb_timer *timer, enum kgb_timer_side side, double *out)
{
	size_t n = kgb_timer__round_times(timer, side, KGB_RULER_EVENT, out);

	for (size_t i = 0; i < n; i++)
		out[i] = log(out[i]);
	return n;
}

/* Blocks of the baseline alone whose samples count; each has its own placement. */
static size_t n_solo_blocks(const struct kgb_timer *timer)
{
	size_t n = 0;

	for (size_t i = 0; i < timer->n_samples; i++)
		n += timer->samples[i].last && timer->samples[i].fate == KGB_SAMPLE_SOLO;
	return n;
}

/* Compares the baseline beside the candidate with the larger time of the baseline alone, before and
 * after. A drift in one direction keeps the time between those two; a disturbance by the candidate
 * does not. The times alone are of a few placements only: the rounds show how far placements
 * differ. */
static bool doubt_disturbance(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	KGB_AUTO(free) double *x = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*x));
	size_t n = log_round_times(timer, KGB_SIDE_A, x);
	double beside = out->median_ns[KGB_SIDE_A][KGB_RULER_EVENT];
	double alone = fmax(out->solo_ns[0], out->solo_ns[1]);
	double error = 1.2533 * KGB_MAD_TO_SIGMA * kgb_mad(x, n) /
		       sqrt(fmax((double)n_solo_blocks(timer) / 2, 1));
	double allowed = (EFFECT + SIGMAS * error) * alone + kgb_timer__event_step(timer);

	out->accuses = false;
	if (isnan(alone) && isfinite(beside)) {
		return kgb_timer__say(out, KGB_WHY_DISTURBED,
				      "no time of the baseline alone is usable");
	}
	if (!(beside - alone > allowed))
		return false;
	return kgb_timer__say(
		out, KGB_WHY_DISTURBED,
		"the baseline takes %.2f us beside the candidate, but %.2f us before it and "
		"%.2f us after",
		beside / 1e3, out->solo_ns[0] / 1e3, out->solo_ns[1] / 1e3);
}

/* Two groups of logarithms of times. */
struct modes {
	double border; /* between the groups */
	double low, high; /* means of the groups */
	double sigma; /* standard deviation within the groups */
	double share; /* of the smaller group */
};

/* The border that leaves the least variance within two groups (Otsu). `sorted` has n >= 2 values.
 */
static struct modes find_modes(const double *sorted, size_t n)
{
	struct modes best = {.share = 0};
	double total = 0, below = 0, squares = 0, best_between = -1;

	for (size_t i = 0; i < n; i++) {
		total += sorted[i] - sorted[0];
		squares += (sorted[i] - sorted[0]) * (sorted[i] - sorted[0]);
	}
	for (size_t k = 1; k < n; k++) {
		below += sorted[k - 1] - sorted[0];
		double low = below / (double)k, high = (total - below) / (double)(n - k);
		double between = (double)k * (double)(n - k) * (high - low) * (high - low);
		if (between <= best_between)
			continue;
		best_between = between;
		double within = squares - (double)k * low * low - (double)(n - k) * high * high;
		best = (struct modes){
			.border = (sorted[k - 1] + sorted[k]) / 2,
			.low = low,
			.high = high,
			.sigma = sqrt(fmax(within, 0) / (double)n),
			.share = (double)(k < n - k ? k : n - k) / (double)n,
		};
	}
	return best;
}

/* The runs test of Wald and Wolfowitz: by how many standard deviations the number of changes
 * between the two groups is below the number by chance. Noise changes often; a neighbour stays for
 * a while. */
static double clustering(const double *x, size_t n, double border)
{
	double n_high = 0, n_runs = 1;

	for (size_t i = 0; i < n; i++) {
		n_high += x[i] > border ? 1 : 0;
		n_runs += i > 0 && (x[i] > border) != (x[i - 1] > border) ? 1 : 0;
	}
	double both = 2 * n_high * ((double)n - n_high), expected = both / (double)n + 1;
	double variance = (expected - 1) * (expected - 2) / ((double)n - 1);
	return variance > 0 ? (expected - n_runs) / sqrt(variance) : 0;
}

/* Whether the clock differs between the two speeds: then it, and not a neighbour, explains them. */
static bool clock_differs(const struct kgb_timer *timer, double border)
{
	KGB_AUTO(free) double *low = kgb_xcalloc(timer->n_samples + 1, sizeof(*low));
	KGB_AUTO(free) double *high = kgb_xcalloc(timer->n_samples + 1, sizeof(*high));
	size_t n_low = 0, n_high = 0;

	for (size_t i = 0; i < timer->n_samples; i++) {
		const struct kgb_timer_sample *s = &timer->samples[i];
		if (s->side != KGB_SIDE_A || s->fate != KGB_SAMPLE_KEPT || !s->raw.sm_mhz)
			continue;
		if (log(kgb_timer__event(s)) > border)
			high[n_high++] = s->raw.sm_mhz;
		else
			low[n_low++] = s->raw.sm_mhz;
	}
	return kgb_median(low, n_low) > kgb_median(high, n_high) * (1 + KGB_TIMER_CLOCK);
}

static double log_event(const struct kgb_timer_sample *sample)
{
	return log(kgb_timer__event(sample));
}

/* The rank test of Mann and Whitney: by how many standard deviations the values of `high` rank
 * above those of `low` more than by chance. */
static double rank_distance(const double *low, size_t n_low, const double *high, size_t n_high)
{
	const size_t n = n_low + n_high;
	KGB_AUTO(free) double *all = kgb_xcalloc(n + 1, sizeof(*all));
	double ranks = 0, count = (double)n;

	memcpy(all, low, n_low * sizeof(*low));
	memcpy(all + n_low, high, n_high * sizeof(*high));
	kgb_timer__sort(all, n);
	for (size_t i = 0; i < n_high; i++)
		ranks += rank_of(all, n, high[i]) - count / 2;
	return ranks / sqrt((double)n_low * (double)n_high * (count + 1) / 12);
}

static double log_baseline(const struct kgb_timer_round *round, enum kgb_ruler ruler)
{
	return log(round->ns[KGB_SIDE_A][ruler]);
}

static double log_candidate(const struct kgb_timer_round *round, enum kgb_ruler ruler)
{
	return log(round->ns[KGB_SIDE_B][ruler]);
}

/* Whether the candidate is slow at the placements where the baseline is. A neighbour slows both
 * sides; a bad placement of the baseline's memory slows only the baseline. */
static bool candidate_follows(const struct kgb_timer *timer, const struct modes *modes)
{
	KGB_AUTO(free) double *low = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*low));
	KGB_AUTO(free) double *high = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*high));
	KGB_AUTO(free) double *a = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*a));
	KGB_AUTO(free) double *b = kgb_xcalloc(timer->n_rounds + 1u, sizeof(*b));
	size_t n = kgb_timer__by_placement(timer, log_baseline, KGB_RULER_EVENT, a, NULL);
	size_t n_low = 0, n_high = 0;

	KGB_ASSERT(kgb_timer__by_placement(timer, log_candidate, KGB_RULER_EVENT, b, NULL) == n);
	for (size_t i = 0; i < n; i++) {
		if (a[i] > modes->border)
			high[n_high++] = b[i];
		else
			low[n_low++] = b[i];
	}
	if (n_low < KGB_TIMER_GROUP_MIN || n_high < KGB_TIMER_GROUP_MIN)
		return false;
	double apart = kgb_median(high, n_high) - kgb_median(low, n_low);
	return apart > FOLLOWS * (modes->high - modes->low) &&
	       rank_distance(low, n_low, high, n_high) > FOLLOWS_SIGMAS;
}

static bool doubt_neighbour(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	size_t n;
	KGB_AUTO(free)
	double *x = kgb_timer__gather(timer, KGB_SIDE_A, log_event, &n);
	KGB_AUTO(free) double *sorted = kgb_xcalloc(n + 1, sizeof(*sorted));

	if (n < 2 * KGB_TIMER_GROUP_MIN)
		return false;
	memcpy(sorted, x, n * sizeof(*x));
	kgb_timer__sort(sorted, n);
	struct modes modes = find_modes(sorted, n);
	double rounding =
		kgb_timer__event_step(timer) / out->median_ns[KGB_SIDE_A][KGB_RULER_EVENT];
	double apart = modes.high - modes.low, sigma = hypot(modes.sigma, rounding / sqrt(12.0));
	if (modes.share < MODES_SHARE || apart < MODES + 3 * rounding ||
	    apart < MODES_SIGMAS * sigma || clustering(x, n, modes.border) < SIGMAS ||
	    !candidate_follows(timer, &modes) || clock_differs(timer, modes.border))
		return false;
	out->accuses = false;
	return kgb_timer__say(
		out, KGB_WHY_NEIGHBOUR,
		"both sides have two speeds, of the baseline %.1f %% apart, that come in "
		"turns: another process uses the device",
		100 * expm1(apart));
}

static bool doubt_drift(const struct kgb_timer *timer, struct kgb_timer_result *out)
{
	size_t n;
	KGB_AUTO(free)
	double *mhz = kgb_timer__gather(timer, KGB_SIDE_A, kgb_timer__clock, &n);
	double before = kgb_median(mhz, n / 3), after = kgb_median(mhz + n - n / 3, n / 3);

	/* A change of the clock explains a drift, and slows both sides. */
	if (out->n_rounds < 3 * KGB_TIMER_GROUP_MIN || !(fabs(out->drift) > DRIFT) ||
	    fabs(before / after - 1) > KGB_TIMER_CLOCK)
		return false;
	out->accuses = false;
	return kgb_timer__say(out, KGB_WHY_DRIFT, "the baseline drifts by %.1f %%",
			      100 * out->drift);
}

bool kgb_timer__doubt(const struct kgb_timer *timer, struct kgb_timer_result *result)
{
	return doubt_floor(timer, result) || doubt_order(timer, result) ||
	       doubt_activity(timer, result) || doubt_host(timer, result) ||
	       doubt_outside(timer, result) || doubt_checked(timer, result) ||
	       doubt_reuse(timer, result) || doubt_trend(timer, result) ||
	       doubt_disturbance(timer, result) || doubt_neighbour(timer, result) ||
	       doubt_drift(timer, result);
}
