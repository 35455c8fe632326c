/* SPDX-License-Identifier: MIT */
#include "verify/lane/case_judge.h"

#include "base/mem.h"
#include "verify/lane/candidate_check.h"
#include "verify/lane/random_results.h"

enum {
	REPETITIONS = 2,
	LATER_CALLS = 16, /* of a veteran case without kernels; their results stay in use */
	REPEAT_US = 1000,
	REPEATED_PART = 4, /* one case in so many */
	VETERAN_US = 100 * 1000,
	VETERAN_STREAM = 3000,
	REPEAT_STREAM = 3001,
};

bool kgb_case_is_veteran(const struct kgb_lane *lane, const struct kgb_case *c)
{
	const struct kgb_cases *cases = &lane->judge->cases;
	int64_t n = 0, number = -1;
	struct kgb_rng rng;

	for (const struct kgb_case *other = cases->items; other < cases->items + cases->n;
	     other++) {
		if (other->interface != c->interface || kgb_case_elements(other) == 0)
			continue;
		if (other == c)
			number = n;
		n++;
	}
	kgb_rng_init(&rng, &lane->verdict->seed, c->interface->entry, VETERAN_STREAM);
	return n > 0 && number == kgb_rng_int(&rng, 0, n - 1);
}

int kgb_case_repeat_us(const struct kgb_lane *lane, const struct kgb_case *c)
{
	struct kgb_rng rng;

	if (kgb_case_is_veteran(lane, c))
		return VETERAN_US;
	kgb_rng_init(&rng, &lane->verdict->seed, c->name, REPEAT_STREAM);
	return kgb_rng_int(&rng, 0, REPEATED_PART - 1) == 0 ? REPEAT_US : 0;
}

bool kgb_case_computes(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	bool writes = false;

	for (size_t i = 0; i < data->n_results; i++)
		writes |= kgb_tensor_view_numel(&data->results[i].view) > 0;
	return writes && judge->spec.triton != KGB_TRITON_NONE;
}

static bool has_empty_input(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent &&
		    kgb_tensor_view_numel(&c->args[i].view) == 0)
			return true;
	return false;
}

/* Whether the result holds the numbers of the view, converted to the result's type. */
static bool is_converted(const struct kgb_tensor_view *view, const char *storage,
			 const struct kgb_truth *truth)
{
	const enum kgb_dtype from = view->dtype, to = truth->view.dtype;

	return !kgb_dtype_is_complex(from) && !kgb_dtype_is_complex(to) &&
	       (from != to || kgb_dtype_is_float(to)) && kgb_truth_is_copy(truth, view, storage);
}

/* Whether the result holds the elements that an argument had before the call, perhaps converted by
 * torch; -0 equals 0, because a sum of the one element -0 is 0. */
static bool is_argument(const struct kgb_case_data *data, const struct kgb_truth *truth)
{
	for (size_t i = 0; i < data->kase->n_args; i++) {
		const struct kgb_tensor_view *view = &data->kase->args[i].view;
		const char *storage = data->storages[i];
		if (storage && kgb_tensor_view_numel(view) == kgb_tensor_view_numel(&truth->view) &&
		    ((view->dtype == truth->view.dtype &&
		      kgb_tensor_view_equal(view, storage, truth->native)) ||
		     is_converted(view, storage, truth)))
			return true;
	}
	return false;
}

bool kgb_case_result_needs_kernel(const struct kgb_case_data *data, size_t i)
{
	const struct kgb_truth *truth = &data->results[i];

	if (kgb_tensor_view_numel(&truth->view) == 0)
		return false;
	if (!truth->native)
		return true;
	return !(has_empty_input(data->kase) && kgb_truth_is_filled(truth)) &&
	       !is_argument(data, truth);
}

/* Some cases need no kernel, but every interface does: stage l2 requires a case of each interface
 * that shows computation (kgb_ablation_is_sensitive). A result of such a case is no input, so the
 * case needs a kernel here. Benchmarks always need one. */
bool kgb_case_needs_launch(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	if (!kgb_case_computes(judge, data))
		return false;
	if (judge->spec.triton == KGB_TRITON_ALONE || data->kase->mode == KGB_MODE_BENCHMARK)
		return true;
	for (size_t i = 0; i < data->n_results; i++)
		if (kgb_case_result_needs_kernel(data, i))
			return true;
	return false;
}

/* 0 right, 1 *failure, -1 *err. */
static int run_call(struct kgb_lane *lane, const struct kgb_case_data *data,
		    const struct kgb_candidate_call_spec *spec, struct kgb_candidate_call *call,
		    struct kgb_failure *failure, struct kgb_err *err)
{
	int rc = kgb_candidate_call_measured(lane, data, spec, call, failure, err);

	if (rc != 0)
		return rc;
	KGB_MEASURE(lane, KGB_PHASE_CHECK);
	for (uint32_t i = 0; i < call->reply.n_launches; i++)
		kgb_verdict_count_launches(lane->verdict, call->reply.launches[i].name,
					   call->reply.launches[i].count);
	if (!kgb_candidate_call_check(lane, data, call, failure))
		return 1;
	return kgb_candidate_call_check_values(lane, data, call, failure) ? 0 : 1;
}

static int run_repetition(struct kgb_lane *lane, const struct kgb_case_data *data, int repetition,
			  struct kgb_candidate_call *call, struct kgb_failure *failure,
			  struct kgb_err *err)
{
	const struct kgb_candidate_call_spec spec = {
		.repetition = repetition, .places = repetition, .keeps = repetition};

	return run_call(lane, data, &spec, call, failure, err);
}

/* Call the case as often as a process that has run for a while, where the call before was made. */
static int repeat_call(struct kgb_lane *lane, const struct kgb_case_data *data,
		       struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_candidate_call_spec spec = {.repetition = REPETITIONS,
						     .places = REPETITIONS - 1,
						     .repeat_us =
							     kgb_case_repeat_us(lane, data->kase)};
	struct kgb_candidate_call call;

	if (spec.repeat_us == 0)
		return 0;
	int rc = kgb_candidate_call_measured(lane, data, &spec, &call, failure, err);

	kgb_candidate_call_release(&call);
	return rc;
}

/* Calls with other elements in the same tensors. None may use memory of an earlier result again:
 * the runner holds them all. 0 right, 1 *failure, -1 *err. */
static int run_later_calls(struct kgb_lane *lane, const struct kgb_case_data *data,
			   const struct kgb_candidate_call earlier[REPETITIONS],
			   struct kgb_failure *failure, struct kgb_err *err)
{
	const int n = kgb_case_is_veteran(lane, data->kase) ? LATER_CALLS : 1;
	struct kgb_candidate_call *calls = kgb_xcalloc(REPETITIONS + LATER_CALLS, sizeof(*calls));
	struct kgb_case_data other;
	int rc = 0;

	kgb_lane_fill(lane, &other, data->kase, 1);
	rc = kgb_lane_fetch_truth(lane, &other, err);
	memcpy(calls, earlier, REPETITIONS * sizeof(*calls));
	for (int i = REPETITIONS; i < REPETITIONS + n && rc == 0; i++) {
		const struct kgb_candidate_call_spec spec = {
			.repetition = i, .places = REPETITIONS - 1, .keeps = i};
		rc = run_call(lane, &other, &spec, &calls[i], failure, err);
		kgb_candidate_call_release(&calls[i]);
		for (int k = 0; k < i && rc == 0; k++)
			if (kgb_candidate_call_shares_memory(data, &calls[k], &calls[i]))
				rc = kgb_refuse_kept(failure);
	}
	kgb_free(calls);
	kgb_case_data_release(&other);
	return rc;
}

/* Draws with another seed must differ. 0, 1 *failure, -1 *err. */
static int check_seed(struct kgb_lane *lane, const struct kgb_case_data *data,
		      const struct kgb_candidate_call *call, struct kgb_failure *failure,
		      struct kgb_err *err)
{
	struct kgb_case_data other;
	struct kgb_candidate_call second = {0};

	kgb_lane_fill(lane, &other, data->kase, KGB_VARIANT_OTHER_SEED);
	kgb_case_data_shape(&other, data);
	kgb_random_result_relate_seeds(lane->judge->numbers, &other, data);
	int rc = run_repetition(lane, &other, REPETITIONS, &second, failure, err);
	if (rc == 0)
		rc = kgb_random_result_check_seeds(lane, data, call->values, &other, second.values,
						   failure);
	kgb_candidate_call_release(&second);
	kgb_case_data_release(&other);
	return rc;
}

int kgb_case_judge(struct kgb_lane *lane, const struct kgb_case_data *data,
		   struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_candidate_call calls[REPETITIONS] = {0};
	int rc = 0;

	for (int i = 0; i < REPETITIONS && rc == 0; i++)
		rc = run_repetition(lane, data, i, &calls[i], failure, err);
	if (rc == 0 && kgb_candidate_call_shares_memory(data, &calls[0], &calls[1]))
		rc = kgb_refuse_kept(failure);
	if (rc == 0 && !kgb_candidate_call_same_bits(data, &calls[0], &calls[1])) {
		lane->verdict->deterministic = false;
		lane->verdict->n_nondeterministic++;
		if (data->kase->interface->is_random)
			rc = kgb_random_result_refuse_repetition(failure);
	}
	if (rc == 0 && data->kase->interface->is_random)
		rc = check_seed(lane, data, &calls[0], failure, err);
	if (rc == 0 && lane->judge->spec.triton == KGB_TRITON_NONE)
		rc = repeat_call(lane, data, failure, err);
	if (rc == 0 && lane->judge->spec.triton == KGB_TRITON_NONE)
		rc = run_later_calls(lane, data, calls, failure, err);
	for (int i = 0; i < REPETITIONS; i++)
		kgb_candidate_call_release(&calls[i]);
	return rc;
}
