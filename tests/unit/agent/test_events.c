/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "agent/report/progress.h"
#include "agent/report/results.h"
#include "agent/store/chains.h"
#include "agent/store/events.h"
#include "base/mem.h"
#include "base/system/fs.h"

/** A fresh locked run with a log. */
struct fixture {
	struct scratch scratch;
	struct kgb_rundir dir;
	struct kgb_run_log *log;
	int n_told; /* calls of the listener */
	char last_type[32];
};

static void on_event(void *payload, const struct kgb_run_state *state,
		     const struct kgb_op_state *op, const char *type)
{
	struct fixture *f = payload;
	(void)state;
	(void)op;
	f->n_told++;
	snprintf(f->last_type, sizeof(f->last_type), "%s", type);
}

static void open_run(struct fixture *f)
{
	*f = (struct fixture){.dir = KGB_RUNDIR_INIT};
	make_scratch(&f->scratch);
	assert_ok(kgb_rundir_create(&f->dir, f->scratch.path, "normal_cc", "KernelGenBench", err));
	assert_ok(kgb_run_log_open(&f->log, &f->dir, err));
	kgb_run_log_listen(f->log, on_event, f);
}

static void close_run(struct fixture *f)
{
	kgb_run_log_close(f->log);
	kgb_rundir_release(&f->dir);
	drop_scratch(&f->scratch);
}

static void start_and_plan(struct fixture *f)
{
	const struct kgb_event_run_started start = {
		.run_name = f->dir.name,
		.dataset = "KernelGenBench",
		.maker = {.method = "normal_cc", .gateway_mode = "offline"},
		.platform = "cpu",
		.device_count = 1};
	const struct kgb_event_plan_item plan[] = {
		{.name = "aten::add", .safe_name = "aten__add", .spec_sha256 = NULL},
		{.name = "aten::mm", .safe_name = "aten__mm", .spec_sha256 = NULL}};
	assert_ok(kgb_event_run_started(f->log, &start, err));
	assert_ok(kgb_event_planned(f->log, plan, 2, err));
}

static void start_attempt(struct fixture *f, const char *operator, int number)
{
	const struct kgb_event_attempt_started event = {.operator= operator,
							.attempt = number,
							.device = 0,
							.timeout_ms = 1000,
							.prompt_sha256 = "p"};
	assert_ok(kgb_event_attempt_started(f->log, &event, err));
}

static void finish_attempt(struct fixture *f, const char *operator, int number,
			   enum kgb_agent_end end, bool retry, const char *kernel)
{
	const struct kgb_event_attempt_finished event = {
		.operator= operator,
		.attempt = number,
		.end = end,
		.retry = retry,
		.exit_code = 0,
		.kernel_sha256 = kernel,
		.kernel_source = kernel ? "file" : NULL,
		.error_code = kernel ? NULL : kgb_agent_end_code(end)};
	assert_ok(kgb_event_attempt_finished(f->log, &event, err));
}

static const struct kgb_op_state *op_of(const struct fixture *f, const char *name)
{
	return kgb_run_state_op(kgb_run_log_state(f->log), name);
}

static void render(const struct kgb_run_state *state, struct kgb_buf *out)
{
	kgb_progress_render(state, out);
	kgb_results_render(state, 2, out);
}

/** Replays the journal of the run and compares both projections byte by byte. */
static void assert_replay_is_equal(const struct fixture *f)
{
	KGB_AUTO(run_state) struct kgb_run_state replayed = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf live = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf again = KGB_BUF_INIT(0);
	assert_ok(kgb_journal_read(f->dir.fd, kgb_run_state_fold, &replayed, NULL, err));
	render(kgb_run_log_state(f->log), &live);
	render(&replayed, &again);
	assert_string_equal(live.ptr, again.ptr);
}

static void test_a_whole_life_is_folded_and_replays_to_the_same_bytes(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_PLANNED);
	start_attempt(&f, "aten::add", 1);
	assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_RUNNING);
	struct kgb_totals totals = {.usage = {1, 2, 3, 4}, .n_exchanges = 1};
	assert_ok(kgb_event_usage(f.log, "aten::add", 1, &totals, err));
	assert_int_equal(op_of(&f, "aten::add")->attempts[0].gateway.usage.cache_read, 4);
	struct kgb_verdict_summary bad = {.status = "failed",
					  .code = "verify.mismatch",
					  .message = "24 \"wrong\"\n",
					  .wall_ms = 5,
					  .total_tests = 3,
					  .passed_tests = 1,
					  .failed_tests = 2};
	assert_ok(kgb_event_verify_call(f.log, "aten::add", 1, &bad, "c0ffee", err));
	assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_RUNNING);
	assert_int_equal(op_of(&f, "aten::add")->n_calls, 1);
	assert_string_equal(op_of(&f, "aten::add")->calls[0].verdict.message, "24 \"wrong\"\n");
	finish_attempt(&f, "aten::add", 1, KGB_AGENT_OK, false, "k1");
	assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_GENERATED);
	assert_ok(kgb_event_verify_started(f.log, "aten::add", "k1", "cuda:1", err));
	assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_VERIFYING);
	struct kgb_verdict_summary good = {.status = "passed",
					   .wall_ms = 7,
					   .total_tests = 3,
					   .passed_tests = 3,
					   .gpu = "G",
					   .baseline = "B",
					   .timing_precision = "quick",
					   .speedup = 1.5,
					   .speedup_low = 1.25};
	assert_ok(kgb_event_verified(f.log, "aten::add", &good, "v.json", err));
	assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_PASSED);
	assert_string_equal(op_of(&f, "aten::add")->device, "cuda:1");
	assert_int_equal(f.n_told, 8);
	assert_string_equal(f.last_type, "verified");
	assert_ok(kgb_event_operator_ended(f.log, "aten::mm", KGB_OP_CANCELLED, "agent.cancelled",
					   "never started", err));
	const struct kgb_event_run_finished end = {.end = KGB_RUN_INTERRUPTED, .exit_code = 130};
	assert_ok(kgb_event_run_finished(f.log, &end, err));
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_rounds_are_folded_in_their_order_and_show_in_both_files(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	start_attempt(&f, "aten::add", 1);
	struct kgb_round round = {.number = 0,
				  .category = "Math",
				  .has_verdict = true,
				  .verdict = {.status = "passed", .speedup = 1.25},
				  .check = 1,
				  .kept = true,
				  .commit = "c0",
				  .gateway = {0, 0, 0, 0},
				  .cli = KGB_USAGE_UNKNOWN};
	assert_ok(kgb_event_round_finished(f.log, "aten::add", 1, &round, err));
	assert_fails(kgb_event_round_finished(f.log, "aten::add", 1, &round, err), KGB_ERR_INVALID,
		     "round 0 of 'aten::add' comes out of turn");
	round = (struct kgb_round){.number = 1,
				   .category = "Math",
				   .end = "agent.ok",
				   .code = "agent.no_kernel",
				   .summary = "wider \"loads\"",
				   .session_id = "s",
				   .prompt_sha256 = "p",
				   .gateway = {1, 2, 3, 4},
				   .cli = {1, 2, 3, 4}};
	assert_ok(kgb_event_round_finished(f.log, "aten::add", 1, &round, err));
	round.number = 3;
	assert_fails(kgb_event_round_finished(f.log, "aten::add", 1, &round, err), KGB_ERR_INVALID,
		     "out of turn");
	round.number = 2;
	round.kept = true;
	assert_fails(kgb_event_round_finished(f.log, "aten::add", 1, &round, err), KGB_ERR_INVALID,
		     "kept without a verdict");
	const struct kgb_attempt_state *attempt = &op_of(&f, "aten::add")->attempts[0];
	assert_int_equal(attempt->n_rounds, 2);
	assert_int_equal(kgb_attempt_best_round(attempt)->number, 0);
	assert_string_equal(attempt->rounds[1].summary, "wider \"loads\"");
	assert_int_equal(attempt->rounds[1].cli.cache_read, 4);
	assert_null(attempt->rounds[0].end);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_progress_render(kgb_run_log_state(f.log), &text);
	assert_non_null(strstr(text.ptr,
			       "\"rounds\": {\n        \"done\": 1,\n        \"kept\": 1,\n"
			       "        \"best_round\": 0,\n        \"speedup\": 1.25"));
	kgb_buf_clear(&text);
	kgb_results_render(kgb_run_log_state(f.log), 2, &text);
	assert_non_null(strstr(text.ptr, "\"best_round\": 0"));
	assert_non_null(strstr(text.ptr, "\"code\": \"agent.no_kernel\""));
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_the_status_after_an_attempt_follows_from_its_end(void **state)
{
	(void)state;
	static const struct {
		enum kgb_agent_end end;
		bool retry;
		const char *kernel;
		enum kgb_op_status status;
	} cases[] = {
		{KGB_AGENT_OK, false, "k", KGB_OP_GENERATED},
		{KGB_AGENT_OK, false, NULL, KGB_OP_FAILED},
		{KGB_AGENT_TIMEOUT, false, "k", KGB_OP_GENERATED},
		{KGB_AGENT_TIMEOUT, false, NULL, KGB_OP_TIMEOUT},
		{KGB_AGENT_TRANSIENT, true, NULL, KGB_OP_RETRYING},
		{KGB_AGENT_TRANSIENT, false, NULL, KGB_OP_INFRA_ERROR},
		{KGB_AGENT_AUTH, false, NULL, KGB_OP_INFRA_ERROR},
		{KGB_AGENT_LIMIT, false, NULL, KGB_OP_BUDGET},
		{KGB_AGENT_CRASHED, false, NULL, KGB_OP_FAILED},
		{KGB_AGENT_CRASHED, false, "k", KGB_OP_GENERATED},
		{KGB_AGENT_CANCELLED, false, "k", KGB_OP_CANCELLED},
		{KGB_AGENT_NOT_STARTED, true, NULL, KGB_OP_RETRYING},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct fixture f;
		open_run(&f);
		start_and_plan(&f);
		start_attempt(&f, "aten::mm", 1);
		finish_attempt(&f, "aten::mm", 1, cases[i].end, cases[i].retry, cases[i].kernel);
		if (op_of(&f, "aten::mm")->status != cases[i].status)
			fail_msg("case %zu: %s", i,
				 kgb_op_status_name(op_of(&f, "aten::mm")->status));
		assert_int_equal(op_of(&f, "aten::mm")->attempts[0].end, cases[i].end);
		close_run(&f);
	}
}

/** What contradicts the journal is refused before it is written, so the journal stays readable. */
static void test_impossible_events_are_refused_and_leave_no_trace(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	struct kgb_verdict_summary odd = {.status = "splendid"};
	struct kgb_verdict_summary good = {.status = "passed"};
	struct kgb_totals totals = {0};
	assert_fails(kgb_event_usage(f.log, "aten::add", 1, &totals, err), KGB_ERR_INVALID,
		     "attempt 1 of 'aten::add'");
	assert_fails(kgb_event_verify_started(f.log, "aten::mul", "k", "cpu", err), KGB_ERR_INVALID,
		     "never planned");
	start_attempt(&f, "aten::add", 1);
	assert_fails(kgb_event_verify_call(f.log, "aten::add", 1, &odd, NULL, err), KGB_ERR_INVALID,
		     "'splendid'");
	assert_fails(kgb_event_verify_call(f.log, "aten::add", 2, &good, NULL, err),
		     KGB_ERR_INVALID, "attempt 2");
	const struct kgb_event_attempt_started twice = {.operator= "aten::add", .attempt = 2};
	assert_fails(kgb_event_attempt_started(f.log, &twice, err), KGB_ERR_INVALID, "out of turn");
	const struct kgb_sample early = {.number = 1, .round = 2, .attempt = 1};
	assert_fails(kgb_event_sample(f.log, "aten::add", &early, NULL, err), KGB_ERR_INVALID,
		     "sample 1 of 'aten::add', round 2, comes out of turn");
	assert_fails(kgb_event_sample_checked(f.log, "aten::add", &early, err), KGB_ERR_INVALID,
		     "round 2, was never answered");
	finish_attempt(&f, "aten::add", 1, KGB_AGENT_OK, false, "k");
	assert_fails(kgb_event_usage(f.log, "aten::add", 1, &totals, err), KGB_ERR_INVALID,
		     "has ended already");
	assert_fails(kgb_event_operator_ended(f.log, "aten::add", KGB_OP_RUNNING, NULL, NULL, err),
		     KGB_ERR_INVALID, "not a final status");
	assert_int_equal(f.n_told, 4);
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_rounds_of_a_sample_are_recorded_and_read_again(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	start_attempt(&f, "aten::add", 1);
	struct kgb_sample sample = {
		.number = 3, .round = 1, .attempt = 1, .kernel_sha256 = "k", .wall_ms = 40};
	assert_ok(kgb_event_sample(f.log, "aten::add", &sample, NULL, err));
	sample.check_status = "failed";
	sample.check_code = "verify.mismatch";
	assert_ok(kgb_event_sample_checked(f.log, "aten::add", &sample, err));
	sample.round = 2;
	assert_ok(kgb_event_sample(f.log, "aten::add", &sample, NULL, err));
	sample.status = "passed";
	assert_ok(kgb_event_sample_judged(f.log, "aten::add", &sample, err));
	const struct kgb_op_state *op = op_of(&f, "aten::add");
	const struct kgb_sample *first = kgb_op_sample(op, 3, 1), *second = kgb_op_sample(op, 3, 2);
	assert_string_equal(first->check_code, "verify.mismatch");
	assert_false(first->has_verdict);
	assert_null(second->check_status);
	assert_string_equal(second->status, "passed");
	assert_null(kgb_op_sample(op, 3, 3));
	assert_int_equal(kgb_op_agent_ms(op), 80); /* of the two answers, not of the attempt */
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_times_of_gpus_add_up_over_the_starts(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	struct kgb_gpu_times gpus[] = {{"cuda:0", 100, 200, 300}, {"cuda:1", 0, 400, 0}};
	struct kgb_event_run_finished end = {.end = KGB_RUN_INTERRUPTED, .gpus = gpus, .n_gpus = 2};
	assert_ok(kgb_event_run_finished(f.log, &end, err));
	start_and_plan(&f);
	gpus[1].name = "cuda:2";
	assert_ok(kgb_event_run_finished(f.log, &end, err));
	start_and_plan(&f);
	end.n_gpus = 0; /* nothing was judged */
	assert_ok(kgb_event_run_finished(f.log, &end, err));
	const struct kgb_run_state *run = kgb_run_log_state(f.log);
	assert_int_equal(run->n_gpus, 3);
	assert_string_equal(run->gpus[0].name, "cuda:0");
	assert_int_equal(run->gpus[0].alone_ms, 200);
	assert_int_equal(run->gpus[0].shared_ms, 400);
	assert_int_equal(run->gpus[0].idle_ms, 600);
	assert_string_equal(run->gpus[1].name, "cuda:1");
	assert_int_equal(run->gpus[1].shared_ms, 400);
	assert_string_equal(run->gpus[2].name, "cuda:2");
	assert_int_equal(run->gpus[2].shared_ms, 400);
	end.n_gpus = 1;
	gpus[0].name = NULL;
	assert_fails(kgb_event_run_finished(f.log, &end, err), KGB_ERR_INVALID,
		     "run_finished: a GPU has no name");
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_what_a_dead_process_left_open_is_closed_by_the_next_start(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	start_attempt(&f, "aten::add", 1);
	assert_ok(kgb_event_verify_started(f.log, "aten::mm", "k", "cpu", err));
	kgb_run_log_close(f.log);
	assert_ok(kgb_run_log_open(&f.log, &f.dir, err));
	assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_RUNNING);
	const struct kgb_event_run_started start = {.run_name = f.dir.name, .skip_gen = true};
	assert_ok(kgb_event_run_started(f.log, &start, err));
	const struct kgb_op_state *add = op_of(&f, "aten::add");
	assert_int_equal(add->status, KGB_OP_RETRYING);
	assert_string_equal(add->attempts[0].error_code, "infra.lost");
	assert_true(add->attempts[0].ended_ms >= add->attempts[0].started_ms);
	assert_int_equal(op_of(&f, "aten::mm")->status, KGB_OP_GENERATED);
	assert_string_equal(kgb_run_log_state(f.log)->maker.method, "normal_cc");
	start_attempt(&f, "aten::add", 2);
	assert_int_equal(op_of(&f, "aten::add")->n_attempts, 2);
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_a_full_disk_is_an_error_and_the_state_stays_with_the_journal(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit before;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	struct rlimit tight = {.rlim_cur = 50, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	const struct kgb_event_attempt_started event = {.operator= "aten::add", .attempt = 1};
	struct kgb_err problem = KGB_ERR_INIT;
	int rc = kgb_event_attempt_started(f.log, &event, &problem);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(rc, -1);
	assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_PLANNED);
	assert_int_equal(f.n_told, 2);
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_events_of_a_later_version_are_skipped_and_counted(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	add_line(&text, 1, "2026-11-21T08:00:00.000Z", "lease_granted", "{\"device\":3}");
	KGB_AUTO(run_state) struct kgb_run_state folded = KGB_RUN_STATE_INIT;
	assert_ok(
		kgb_journal_parse("j", text.ptr, text.len, kgb_run_state_fold, &folded, NULL, err));
	assert_int_equal(folded.n_unknown_events, 1);
}

static void test_counts_always_add_up_to_the_plan(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	fold_story(&run, NULL);
	for (int status = 0; status < KGB_OP_N_STATUSES; status++) {
		for (int skip = 0; skip < 2; skip++) {
			run.skip_verify = skip;
			run.ops[3].status = (enum kgb_op_status)status;
			struct kgb_run_counts counts;
			kgb_run_state_count(&run, &counts);
			assert_int_equal(counts.total, 4);
			assert_int_equal(counts.completed + counts.running + counts.failed +
						 counts.pending,
					 4);
			assert_true(counts.failed >= 2);
		}
	}
}

static void test_the_story_adds_up(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	fold_story(&run, NULL);
	const struct kgb_op_state *add = kgb_run_state_op(&run, "aten::add");
	struct kgb_spent spent;
	kgb_attempt_spent(kgb_op_counting_attempt(add), &spent);
	assert_int_equal(spent.gateway.cache_read, 9000);
	assert_int_equal(spent.cli_cost_nanos, 12345000);
	assert_int_equal(kgb_op_agent_ms(add), 9250);
	assert_int_equal(add->attempts[0].n_verify_calls, 2);
	const struct kgb_op_state *mm = kgb_run_state_op(&run, "aten::mm");
	kgb_attempt_spent(kgb_op_counting_attempt(mm), &spent);
	assert_int_equal(spent.gateway.input, -1);
	assert_int_equal(spent.cli_cost_nanos, -1);
	assert_int_equal(kgb_results_exit_code(&run), KGB_EXIT_FAILURES);
}

static void test_a_verdict_is_summarised(void **state)
{
	(void)state;
	static const char verdict[] =
		"{\"schema\":\"kgb.verdict/1\",\"status\":\"failed\",\"code\":\"verify.mismatch\",\"stage\":\"correctness\","
		"\"message\":\"m\",\"kernel_sha256\":\"k\",\"spec_sha256\":\"s\",\"seed\":\"00\",\"platform\":\"cuda\","
		"\"wall_ms\":12,\"total_tests\":4,\"passed_tests\":3,\"failed_tests\":1,\"reached\":\"runs\","
		"\"tiers\":{\"core\":{\"passed\":3}},\"failures\":[{\"case\":\"c1\"},"
		"{\"case\":\"c2\"}],\"timing\":{\"comparable\":true,\"cases\":[{\"candidate_ms\":1.0,\"baseline_ms\":2.0}]}}";
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *tree = NULL;
	assert_int_equal(kgb_json_parse(verdict, strlen(verdict), &tree, &err), 0);
	struct kgb_verdict_summary s;
	assert_int_equal(kgb_verdict_summarise(tree, &s, &err), 0);
	assert_string_equal(s.failing_case, "c1");
	assert_string_equal(s.reached, "runs");
	assert_int_equal(kgb_json_i64(s.tiers, "core.passed", 0), 3);
	assert_null(s.modes);
	assert_true(s.speedup <= 0);
	assert_string_equal(s.timing_note,
			    ""); /* what failed needs no excuse for having no speed */
	cJSON_ReplaceItemInObject(tree, "status", cJSON_CreateString("fine"));
	assert_int_equal(kgb_verdict_summarise(tree, &s, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_INVALID);
}

/** Verdicts of kgb-judge on a GPU, without their raw samples. */
static void test_timings_are_the_verdicts_own(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		double speedup, low, high;
		const char *note;
		const char *gpu;
		const char *baseline;
		const char *precision; /* older verdicts name none */
	} cases[] = {
		{"verdict_timed.json", 1.025, 1.022, 1.028, "", "NVIDIA H200", "torch", "standard"},
		{"verdict_untrusted.json", 0, 0, 0,
		 "add_Tensor/float32/big/benchmark UNTRUSTED: the baseline has two speeds",
		 "NVIDIA H200", "torch", NULL},
		{"verdict_not_timed.json", 0, 0, 0, "not timed: not asked for", NULL, NULL, NULL},
		{"verdict_cpu.json", 0, 0, 0, "", NULL, NULL, NULL},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_verdict_summary s;
		KGB_AUTO(json) cJSON *tree = NULL;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		KGB_AUTO(free)
		char *path = kgb_xasprintf(KGB_TEST_SOURCE_DIR "/tests/fixtures/agent/%s",
					   cases[i].file);
		assert_ok(kgb_fs_read(AT_FDCWD, path, 1 << 20, &text, err));
		assert_ok(kgb_json_parse(text.ptr, text.len, &tree, err));
		assert_ok(kgb_verdict_summarise(tree, &s, err));
		assert_string_equal(s.status, "passed");
		assert_true(fabs(s.speedup - cases[i].speedup) < 1e-9);
		assert_true(fabs(s.speedup_low - cases[i].low) < 1e-9);
		assert_true(fabs(s.speedup_high - cases[i].high) < 1e-9);
		assert_string_equal(s.timing_note, cases[i].note);
		assert_true(kgb_str_eq(s.gpu, cases[i].gpu));
		assert_true(kgb_str_eq(s.baseline, cases[i].baseline));
		assert_true(kgb_str_eq(s.timing_precision, cases[i].precision));
		assert_int_equal(cJSON_GetArraySize(s.timed_cases), i == 0 ? 2 : 0);
	}
}

/** What a judge did not say in so many words is no verdict, least of all a good one. */
static void test_only_a_judges_own_words_are_a_verdict(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{}",
		"{\"schema\":\"kgb.verdict/1\"}",
		"{\"schema\":\"kgb.verdict/1\",\"status\":\"\"}",
		"{\"schema\":\"kgb.verdict/1\",\"status\":true}",
		"{\"schema\":\"kgb.verdict/1\",\"status\":\"verifying\"}",
		"{\"schema\":\"kgb.verdict/2\",\"status\":\"passed\"}",
		"{\"status\":\"passed\"}",
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(texts); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(json) cJSON *tree = NULL;
		assert_int_equal(kgb_json_parse(texts[i], strlen(texts[i]), &tree, &err), 0);
		struct kgb_verdict_summary s;
		if (kgb_verdict_summarise(tree, &s, &err) == 0)
			fail_msg("taken for a verdict: %s", texts[i]);
	}
}

static void test_an_operator_ends_as_its_verdict_says(void **state)
{
	(void)state;
	static const struct {
		const char *word;
		enum kgb_op_status status;
	} cases[] = {
		{"passed", KGB_OP_PASSED},           {"failed", KGB_OP_FAILED},
		{"refused", KGB_OP_REFUSED},         {"cheated", KGB_OP_CHEATED},
		{"infra_error", KGB_OP_INFRA_ERROR},
	};
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		assert_ok(kgb_event_verify_started(f.log, "aten::add", "k", "cpu", err));
		/* The verdict on the last kernel says nothing about this one. */
		assert_false(op_of(&f, "aten::add")->has_verdict);
		assert_int_equal(op_of(&f, "aten::add")->status, KGB_OP_VERIFYING);
		struct kgb_verdict_summary verdict = {.status = cases[i].word, .message = "m"};
		assert_ok(kgb_event_verified(f.log, "aten::add", &verdict, "v.json", err));
		assert_true(op_of(&f, "aten::add")->has_verdict);
		assert_int_equal(op_of(&f, "aten::add")->status, cases[i].status);
	}
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_what_an_agent_does_is_told_once_and_ends_with_its_attempt(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	start_attempt(&f, "aten::add", 1);
	const int n_before = f.n_told;
	kgb_run_log_set_doing(f.log, "aten::add", "Bash: kgb-verify");
	kgb_run_log_set_doing(f.log, "aten::add", "Bash: kgb-verify");
	kgb_run_log_set_doing(f.log, "aten::nosuch", "text");
	assert_int_equal(f.n_told, n_before + 1);
	assert_string_equal(f.last_type, "doing");
	assert_string_equal(op_of(&f, "aten::add")->doing, "Bash: kgb-verify");
	finish_attempt(&f, "aten::add", 1, KGB_AGENT_OK, false, "k");
	assert_string_equal(op_of(&f, "aten::add")->doing, "");
	assert_replay_is_equal(&f);
	close_run(&f);
}

static void test_verifications_that_wait_and_go_on_are_counted_and_not_journalled(void **state)
{
	(void)state;
	struct fixture f;
	open_run(&f);
	start_and_plan(&f);
	start_attempt(&f, "aten::add", 1);
	const int n_before = f.n_told;
	kgb_run_log_move_job(f.log, "aten::add", 1, 0);
	kgb_run_log_move_job(f.log, "aten::add", 1, 0);
	kgb_run_log_move_job(f.log, "aten::nosuch", 1, 0);
	kgb_run_log_move_job(f.log, "aten::add", -1, 1);
	assert_int_equal(f.n_told, n_before + 3);
	assert_string_equal(f.last_type, "job");
	assert_int_equal(op_of(&f, "aten::add")->n_queued, 1);
	assert_int_equal(op_of(&f, "aten::add")->n_judging, 1);
	kgb_run_log_move_job(f.log, "aten::add", -1, 0);
	kgb_run_log_move_job(f.log, "aten::add", 0, -1);
	assert_replay_is_equal(&f);
	close_run(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_life_is_folded_and_replays_to_the_same_bytes),
		cmocka_unit_test(test_rounds_are_folded_in_their_order_and_show_in_both_files),
		cmocka_unit_test(test_the_status_after_an_attempt_follows_from_its_end),
		cmocka_unit_test(test_impossible_events_are_refused_and_leave_no_trace),
		cmocka_unit_test(test_rounds_of_a_sample_are_recorded_and_read_again),
		cmocka_unit_test(test_times_of_gpus_add_up_over_the_starts),
		cmocka_unit_test(test_what_a_dead_process_left_open_is_closed_by_the_next_start),
		cmocka_unit_test(test_a_full_disk_is_an_error_and_the_state_stays_with_the_journal),
		cmocka_unit_test(test_events_of_a_later_version_are_skipped_and_counted),
		cmocka_unit_test(test_counts_always_add_up_to_the_plan),
		cmocka_unit_test(test_the_story_adds_up),
		cmocka_unit_test(test_a_verdict_is_summarised),
		cmocka_unit_test(test_what_an_agent_does_is_told_once_and_ends_with_its_attempt),
		cmocka_unit_test(
			test_verifications_that_wait_and_go_on_are_counted_and_not_journalled),
		cmocka_unit_test(test_timings_are_the_verdicts_own),
		cmocka_unit_test(test_only_a_judges_own_words_are_a_verdict),
		cmocka_unit_test(test_an_operator_ends_as_its_verdict_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
