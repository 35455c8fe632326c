/* SPDX-License-Identifier: MIT */
/** \file
 * Stage correctness: every case twice, under different poison and at different addresses; on a GPU
 * by replay. The cheapest case is judged first, then the others, spread over lanes. While the
 * runner computes one case, the reference computes the next.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/time.h"
#include "verify/judge/call.h"
#include "verify/judge/judge.h"
#include "verify/judge/lanes.h"
#include "verify/judge/provenance.h"
#include "verify/judge/replay.h"

enum { REPETITIONS = 2, CASES_PER_LANE = 6, BATCH_MAX = 32 };
#define BATCH_BYTES ((size_t)128 << 20) /* of inputs and records, about */

#define say(judge, ...) kgb_arena_printf(&(judge)->verdict->arena, __VA_ARGS__)

static struct kgb_interface_count *count_of(const struct kgb_judge *judge, const struct kgb_case *c)
{
	return &judge->verdict->interfaces[c->interface - judge->spec.interfaces];
}

static bool is_cheaper(const struct kgb_case *c, const struct kgb_case *than)
{
	return c->mode == KGB_MODE_STANDARD && kgb_case_elements(c) > 0 &&
	       (kgb_case_elements(than) == 0 || kgb_case_elements(c) < kgb_case_elements(than));
}

/* The types of the tensors: cases that share them share most of their compiled kernels. */
static uint64_t types_of(const struct kgb_case *c)
{
	uint64_t types = 0;

	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent)
			types = types * KGB_N_DTYPES + (uint64_t)c->args[i].view.dtype;
	return types;
}

struct place {
	size_t index;
	uint64_t types;
	bool is_smoke;
};

static int by_types(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	if (x->is_smoke != y->is_smoke)
		return x->is_smoke ? -1 : 1;
	if (x->types != y->types)
		return x->types < y->types ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The cheapest ordinary case goes first, so that a broken kernel is told so at once; the others
 * follow as listed, those of the same types together. */
static void choose_order(const struct kgb_cases *cases, size_t *order)
{
	KGB_AUTO(free) struct place *places = kgb_xcalloc(cases->n + 1, sizeof(*places));
	size_t smoke = 0;

	for (size_t i = 0; i < cases->n; i++) {
		if (is_cheaper(&cases->items[i], &cases->items[smoke]))
			smoke = i;
		places[i] = (struct place){.index = i, .types = types_of(&cases->items[i])};
	}
	places[smoke].is_smoke = true;
	qsort(places, cases->n, sizeof(*places), by_types);
	for (size_t i = 0; i < cases->n; i++)
		order[i] = places[i].index;
}

/* ---- one case ---- */

/* Did the case need a kernel at all? Not when there is nothing to read or nothing to write. */
static bool needs_launch(const struct kgb_judge *judge, const struct kgb_data *data)
{
	const struct kgb_case *c = data->kase;
	bool writes = false;

	if (judge->spec.triton != KGB_TRITON_REQUIRED)
		return false;
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent &&
		    kgb_view_numel(&c->args[i].view) == 0)
			return false;
	for (size_t i = 0; i < data->n_results; i++)
		writes |= kgb_view_numel(&data->results[i].view) > 0;
	return writes;
}

/* 0 right, 1 *failure, -1 *err. */
static int run_repetition(struct kgb_judge *judge, const struct kgb_data *data, int repetition,
			  struct kgb_call *call, struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_call_spec spec = {
		.repetition = repetition, .places = repetition, .keep = repetition > 0};
	int rc = kgb_call_measured(judge, data, &spec, call, failure, err);

	if (rc != 0)
		return rc;
	KGB_MEASURE(judge, KGB_PHASE_CHECK);
	for (uint32_t i = 0; i < call->reply.n_launches; i++)
		kgb_verdict_count_launches(judge->verdict, call->reply.launches[i].name,
					   call->reply.launches[i].count);
	if (!kgb_call_check(judge, data, call, failure))
		return 1;
	return kgb_call_check_values(judge, data, call, failure) ? 0 : 1;
}

static int run_case(struct kgb_judge *judge, const struct kgb_data *data,
		    struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_call calls[REPETITIONS] = {0};
	int rc = 0;

	for (int i = 0; i < REPETITIONS && rc == 0; i++)
		rc = run_repetition(judge, data, i, &calls[i], failure, err);
	if (rc == 0 && kgb_call_shares_memory(data, &calls[0], &calls[1])) {
		*failure = (struct kgb_failure){
			.code = "verify.alias",
			.message =
				"the result lies in the memory of an earlier result that is still in use",
			.hint = "Allocate a new tensor for every call; a buffer kept between calls changes results that "
				"the caller still holds.",
		};
		rc = 1;
	}
	if (rc == 0 && !kgb_call_same_bits(data, &calls[0], &calls[1])) {
		judge->verdict->deterministic = false;
		judge->verdict->n_nondeterministic++;
	}
	if (rc == 0 && !judge->no_launch_case && calls[0].reply.n_launches == 0 &&
	    needs_launch(judge, data))
		judge->no_launch_case = data->kase->name;
	for (int i = 0; i < REPETITIONS; i++)
		kgb_call_release(&calls[i]);
	return rc;
}

static void record_failure(struct kgb_judge *judge, const struct kgb_case *c,
			   struct kgb_failure *failure)
{
	struct kgb_verdict *verdict = judge->verdict;
	KGB_AUTO(buf) struct kgb_buf inputs = KGB_BUF_INIT(4096);

	kgb_case_describe(c, &inputs);
	failure->case_name = say(judge, "%s", c->name);
	failure->interface = say(judge, "%s", c->interface->entry);
	failure->inputs = say(judge, "%s", inputs.ptr);
	verdict->failed_tests++;
	count_of(judge, c)->failed++;
	kgb_verdict_add_failure(verdict, failure);
}

/* ---- all cases ---- */

/* What lanes take their cases from. */
struct work {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const struct kgb_judge *first; /* lane 0 */
	const size_t *order;
	size_t n, next;
	size_t n_lanes;
	int64_t n_failed;
	bool go; /* other lanes may begin: after the first case on the CPU, where running one is
		    dear; on a GPU once what lanes share is there */
	bool stop;
};

/* Cases that a lane took, as places in the order. */
struct share {
	size_t next, end;
};

static void stop(struct work *work)
{
	pthread_mutex_lock(&work->lock);
	work->stop = true;
	pthread_cond_broadcast(&work->changed);
	pthread_mutex_unlock(&work->lock);
}

static void let_go(struct work *work)
{
	pthread_mutex_lock(&work->lock);
	work->go = true;
	pthread_cond_broadcast(&work->changed);
	pthread_mutex_unlock(&work->lock);
}

static bool wait_for_go(struct work *work)
{
	pthread_mutex_lock(&work->lock);
	while (!work->go && !work->stop)
		pthread_cond_wait(&work->changed, &work->lock);
	bool go = !work->stop;
	pthread_mutex_unlock(&work->lock);
	return go;
}

/* The lane's next turn, n when there is none. Neighbours in the list go to one lane: most of them
 * need the same compiled kernels. */
static size_t take(struct work *work, struct share *share)
{
	size_t turn = work->n;

	pthread_mutex_lock(&work->lock);
	if (share->next == share->end && work->next < work->n) {
		size_t left = work->n - work->next;
		size_t size = work->next == 0 ? 1 : left / (2 * work->n_lanes);
		share->next = work->next;
		share->end = work->next + (size > 0 ? size : 1);
		work->next = share->end;
	}
	if (!work->stop && share->next < share->end)
		turn = share->next++;
	pthread_mutex_unlock(&work->lock);
	return turn;
}

/* A dead runner, a cheat, the end of the verification's time, and enough failures end the stage. */
static bool ends_all(const struct kgb_judge *judge, const struct kgb_failure *failure)
{
	return judge->runner.end != KGB_WORKER_ALIVE || kgb_code_is_cheat(failure->code) ||
	       kgb_mono_ms() >= judge->deadline_ms;
}

static bool is_over(struct work *work)
{
	pthread_mutex_lock(&work->lock);
	bool over = work->stop;
	pthread_mutex_unlock(&work->lock);
	return over;
}

static void note_end(struct kgb_judge *judge, struct work *work, const struct kgb_failure *failure)
{
	let_go(work);
	pthread_mutex_lock(&work->lock);
	work->n_failed += failure != NULL;
	if (failure && (ends_all(judge, failure) || work->n_failed >= judge->options->max_failures))
		work->stop = true;
	pthread_mutex_unlock(&work->lock);
}

static void settle(struct kgb_judge *judge, struct work *work, size_t turn,
		   const struct kgb_case *c, int rc, struct kgb_failure *failure)
{
	if (rc == 0) {
		judge->verdict->passed_tests++;
		count_of(judge, c)->passed++;
	} else {
		failure->turn = turn;
		record_failure(judge, c, failure);
	}
	note_end(judge, work, rc == 0 ? NULL : failure);
}

/* One step of the pipeline: the truth of `data` is asked for already; ask for that of `next` before
 * running. */
static int run_step(struct kgb_judge *judge, struct work *work, size_t turn, struct kgb_data *data,
		    struct kgb_data *next, struct kgb_err *err)
{
	struct kgb_failure failure = {0};

	if (kgb_judge_take_truth(judge, data, err) < 0)
		return -1;
	if (next && kgb_judge_ask_truth(judge, next, err) < 0)
		return -1;
	int rc = run_case(judge, data, &failure, err);
	if (rc < 0)
		return -1;
	settle(judge, work, turn, data->kase, rc, &failure);
	return 0;
}

static int run_cases(struct kgb_judge *judge, struct work *work, struct kgb_err *err)
{
	struct share share = {0};
	struct kgb_data data[2] = {0};
	size_t turn = take(work, &share);
	int rc = 0;

	if (turn < work->n) {
		kgb_judge_fill(judge, &data[0], &judge->cases.items[work->order[turn]], 0);
		rc = kgb_judge_ask_truth(judge, &data[0], err);
	}
	for (size_t i = 0; turn < work->n && rc == 0; i++) {
		size_t next_turn = take(work, &share);
		struct kgb_data *next = next_turn < work->n ? &data[(i + 1) % 2] : NULL;
		if (next)
			kgb_judge_fill(judge, next, &judge->cases.items[work->order[next_turn]], 0);
		rc = run_step(judge, work, turn, &data[i % 2], next, err);
		kgb_data_release(&data[i % 2]);
		turn = is_over(work) ? work->n : next_turn;
	}
	kgb_data_release(&data[0]);
	kgb_data_release(&data[1]);
	return rc;
}

/* ---- on a GPU: cases are recorded, proved together, and replayed ---- */

struct entry {
	size_t turn;
	struct kgb_data data;
	struct kgb_recorded recorded;
	bool waits; /* recorded, and to be replayed */
};
struct batch {
	struct entry entries[BATCH_MAX];
	size_t n;
};

static size_t bytes_of(const struct entry *entry)
{
	size_t sum = entry->recorded.bytes.len;

	for (size_t i = 0; i < entry->data.kase->n_args; i++)
		sum += 2 * entry->data.storage_bytes[i];
	return sum;
}

static int record_entry(struct kgb_judge *judge, struct work *work, struct entry *entry,
			struct kgb_err *err)
{
	const struct kgb_case *c = &judge->cases.items[work->order[entry->turn]];
	struct kgb_failure failure = {0};
	int rc;

	kgb_judge_fill(judge, &entry->data, c, 0);
	if (kgb_judge_learn(judge, &entry->data, err) < 0)
		return -1;
	if (!needs_launch(judge, &entry->data)) {
		rc = run_case(judge, &entry->data, &failure, err);
	} else {
		rc = kgb_replay_record(judge, &entry->data, &entry->recorded, &failure, err);
		entry->waits = rc == 0;
		if (rc != 0)
			kgb_recorded_release(judge, &entry->recorded);
	}
	if (rc < 0)
		return -1;
	if (!entry->waits)
		settle(judge, work, entry->turn, c, rc, &failure);
	return 0;
}

static int record_batch(struct kgb_judge *judge, struct work *work, struct share *share,
			struct batch *batch, struct kgb_err *err)
{
	size_t bytes = 0;
	size_t turn;

	while (batch->n < BATCH_MAX && bytes < BATCH_BYTES &&
	       (turn = take(work, share)) < work->n) {
		struct entry *entry = &batch->entries[batch->n++];
		*entry = (struct entry){.turn = turn};
		if (record_entry(judge, work, entry, err) < 0)
			return -1;
		bytes += bytes_of(entry);
		if (turn == 0)
			break; /* a broken kernel is told so at once */
	}
	return 0;
}

static int check_entry(struct kgb_judge *judge, struct entry *entry, struct kgb_failure *failure,
		       struct kgb_err *err)
{
	struct kgb_replayer *replayer = judge->replay->replayer;

	pthread_mutex_lock(&replayer->lock);
	int rc = kgb_replay_check(judge, &entry->recorded, failure, err);
	pthread_mutex_unlock(&replayer->lock);
	return rc;
}

static int replay_batch(struct kgb_judge *judge, struct work *work, struct batch *batch,
			struct kgb_err *err)
{
	const struct kgb_recorded *list[BATCH_MAX];
	struct kgb_failure failure = {0};
	size_t n = 0;

	for (size_t i = 0; i < batch->n; i++)
		if (batch->entries[i].waits)
			list[n++] = &batch->entries[i].recorded;
	/* A runner that died since is what its last call was refused for. */
	int proved = n > 0 && !is_over(work) ? kgb_replay_prove(judge, list, n, &failure, err) : 0;
	if (proved < 0)
		return -1;
	for (size_t i = 0; i < batch->n && !is_over(work); i++) {
		struct entry *entry = &batch->entries[i];
		if (!entry->waits)
			continue;
		int rc = proved;
		if (rc == 0)
			rc = check_entry(judge, entry, &failure, err);
		if (rc < 0)
			return -1;
		settle(judge, work, entry->turn, entry->data.kase, rc, &failure);
	}
	return 0;
}

static void release_batch(struct kgb_judge *judge, struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		if (batch->entries[i].waits)
			kgb_recorded_release(judge, &batch->entries[i].recorded);
		kgb_data_release(&batch->entries[i].data);
	}
	batch->n = 0;
}

static int replay_cases(struct kgb_judge *judge, struct work *work, struct kgb_err *err)
{
	struct share share = {0};
	KGB_AUTO(free) struct batch *batch = kgb_xcalloc(1, sizeof(*batch));
	size_t n;
	int rc;

	do {
		rc = record_batch(judge, work, &share, batch, err);
		if (rc == 0)
			rc = replay_batch(judge, work, batch, err);
		n = batch->n;
		release_batch(judge, batch);
	} while (rc == 0 && n > 0);
	judge->verdict->n_inline_ptx += kgb_provenance_n_inline(judge->replay->provenance);
	judge->verdict->n_proofs_recalled += judge->replay->provenance->n_recalled;
	return rc;
}

/* ---- lanes ---- */

/* 0, 1 decided, -1 *err. */
static int load(struct kgb_judge *lane, struct kgb_err *err)
{
	struct kgb_failure failure = {0};
	int rc = kgb_judge_load(lane, &failure, err);

	if (rc == 1)
		kgb_verdict_decide(lane->verdict, KGB_STAGE_CORRECTNESS, &failure);
	return rc;
}

static int run_on_cpu(struct kgb_judge *lane, size_t number, struct work *work, struct kgb_err *err)
{
	int rc = load(lane, err);

	if (rc == 0)
		rc = kgb_judge_start_reference(lane, err);
	if (rc == 0 && (number == 0 || wait_for_go(work)))
		rc = run_cases(lane, work, err);
	return rc;
}

/* Only the runner is each lane's own: contexts on a GPU are dear, and what the others do is done in
 * a tenth of the time. */
static int run_on_gpu(struct kgb_judge *lane, size_t number, struct work *work, struct kgb_err *err)
{
	if (number == 0 && kgb_replay_begin(lane, err) < 0)
		return -1;
	int rc = load(lane, err);
	if (rc != 0)
		return rc;
	if (number == 0 &&
	    (kgb_judge_start_reference(lane, err) < 0 || kgb_gpu_facts_new(lane, err) < 0))
		return -1;
	if (number > 0 && !wait_for_go(work))
		return 0;
	if (number > 0)
		kgb_replay_borrow(lane, work->first);
	kgb_replay_new(lane);
	if (number == 0)
		let_go(work);
	return replay_cases(lane, work, err);
}

static int run_lane(struct kgb_judge *lane, size_t number, void *payload, struct kgb_err *err)
{
	struct work *work = payload;
	int rc = lane->options->device == KGB_DEVICE_CPU ? run_on_cpu(lane, number, work, err)
							 : run_on_gpu(lane, number, work, err);

	if (rc != 0)
		stop(work);
	return rc;
}

/* The layer that found it: what the trace of the GPU's work shows is l3. */
static enum kgb_stage stage_of(const char *code)
{
	static const char *const of_trace[] = {"cheat.library_compute", "verify.record",
					       "verify.host_dependent", "verify.varying_parameters",
					       "verify.not_replayable"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(of_trace); i++)
		if (kgb_str_eq(code, of_trace[i]))
			return KGB_STAGE_L3;
	return kgb_str_eq(code, "cheat.no_launch") ? KGB_STAGE_L2 : KGB_STAGE_CORRECTNESS;
}

/* The decisive failure: a cheat before everything else, else the first. */
static void decide(struct kgb_judge *judge)
{
	struct kgb_verdict *verdict = judge->verdict;
	const struct kgb_failure *cheat = kgb_verdict_cheat(verdict);
	const struct kgb_failure *chosen = cheat ? cheat : &verdict->failures[0];

	kgb_verdict_decide(verdict, stage_of(chosen->code), chosen);
}

static int judge_all(struct kgb_judge *judge, struct kgb_err *err)
{
	KGB_AUTO(free) size_t *order = kgb_xcalloc(judge->cases.n + 1, sizeof(*order));
	struct work work = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.first = judge,
		.order = order,
		.n = judge->cases.n,
	};
	struct kgb_seats seats;

	choose_order(&judge->cases, order);
	kgb_ghost_choose(judge);
	work.n_lanes = kgb_lanes_count(judge, judge->cases.n, CASES_PER_LANE, &seats);
	int rc = kgb_lanes_run(judge, work.n_lanes, run_lane, &work, err);
	kgb_seats_give(&seats);
	return rc;
}

static int run_stage(struct kgb_judge *judge, struct kgb_err *err)
{
	if (judge->options->device != KGB_DEVICE_CPU &&
	    kgb_lease_take(&judge->lease, judge->options->device, false, judge->deadline_ms, err) <
		    0)
		return -1;
	int rc = judge_all(judge, err);
	/* A cheat that one lane found counts, whatever another one met with. */
	if (rc != 0 && !kgb_verdict_cheat(judge->verdict))
		return rc;
	if (judge->verdict->code)
		kgb_verdict_withdraw(judge->verdict);
	if (judge->verdict->failed_tests > 0) {
		decide(judge);
		return 1;
	}
	if (judge->verdict->passed_tests != judge->verdict->total_tests)
		return kgb_fail(err, KGB_ERR_FAILED, "only %lld of %lld cases were run",
				(long long)judge->verdict->passed_tests,
				(long long)judge->verdict->total_tests);
	return 0;
}

int kgb_stage_correctness(struct kgb_judge *judge)
{
	struct kgb_stage_result *stage = &judge->verdict->stages[KGB_STAGE_CORRECTNESS];
	struct kgb_err err = KGB_ERR_INIT;
	int64_t started_ms = kgb_mono_ms();
	int rc = run_stage(judge, &err);

	stage->wall_ms = kgb_mono_ms() - started_ms;
	if (rc == 0)
		stage->status = KGB_STAGE_PASSED;
	if (rc < 0)
		kgb_verdict_decide_infra(judge->verdict, KGB_STAGE_CORRECTNESS, "infra.correctness",
					 &err);
	return rc == 0 ? 0 : 1;
}
