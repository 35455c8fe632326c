/* SPDX-License-Identifier: MIT */
/** \file
 * The broker against judges that do everything a judge should not: a shell script stands in for
 * kgb-judge, because the real one does not misbehave on demand. Also the attempt's transition
 * table.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/attempt/attempt.h"
#include "agent/broker/broker.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"

static const char fake_judge[] =
	"#!/bin/sh\n"
	"if [ \"$1\" = zygotes ]; then\n"
	"	up=${2#--dir=}/..; mkdir -p \"${2#--dir=}\"\n"
	"	[ -e \"$up/broken\" ] && exit 4\n"
	"	[ -e \"$up/stuck\" ] && exec sleep 60\n"
	"	echo ready; cat >/dev/null; : >\"$up/gone-${3#--device=}\"; exit 0\n"
	"fi\n"
	"request=$(cat)\n"
	"key() { printf %s \"$request\" | sed -n \"s/.*\\\"$1\\\": *\\\"\\{0,1\\}\\([^\\\",}]*\\).*/\\1/p\"; }\n"
	"warm=$(key zygotes); warm=${warm##*/}\n"
	"case $(key spec) in\n"
	"ok) echo \"[\\\"$warm $(key device) $(key timing) $(key timing_precision)\\\"]\" ;;\n"
	"garbage) echo '{\"half\":' ;;\n"
	"silent) ;;\n"
	"crash) kill -SEGV $$ ;;\n"
	"env) echo 'kgb-judge: error: install torch' >&2; exit 4 ;;\n"
	"hang) sleep 60 ;;\n"
	"deaf) trap '' TERM; : >\"$0.deaf\"; sleep 60 & wait; sleep 60 ;;\n"
	"late) echo '{}'; trap 'exit 0' TERM; sleep 60 & wait ;;\n"
	"secret) echo \"{\\\"key\\\":\\\"$ANTHROPIC_API_KEY\\\"}\" ;;\n"
	"slow) sleep 0.3; echo '{}' ;;\n"
	"esac\n";

#define OK_ON_CPU "[\".zygotes-cpu cpu false quick\"]\n"

static const struct kgb_devices one_cpu = {.items = {{"cpu", -1, -1}}, .n = 1};
static const struct kgb_devices two_gpus = {.items = {{"cuda:0", 0, 0}, {"cuda:3", 3, 3}}, .n = 2};

/* An agent works on each. */
static const struct kgb_devices private_gpus = {.items = {{"cuda:0", 0, 0}, {"cuda:3", 3, 3}},
						.n = 2};

struct fixture {
	uv_loop_t loop;
	char dir[32];
	const struct kgb_devices *devices;
	struct kgb_broker *broker;
	int n_done, n_closed;
};

struct expectation {
	struct fixture *fixture;
	const char *spec;
	const char *error; /* part of the message; NULL: a verdict */
	const char *verdict; /* exact text */
	bool cancelled;
	bool timed, final;
	size_t device;
	int n_queued, n_judging; /* as the broker reports */
	int n_moves;
	bool done;
	struct kgb_job *job;
};

/** A job is at one place, and at none once it has ended. */
static void on_moved(void *payload, int queued, int judging)
{
	struct expectation *e = payload;
	assert_false(e->done);
	e->n_queued += queued;
	e->n_judging += judging;
	e->n_moves++;
	assert_true(e->n_queued >= 0 && e->n_judging >= 0 && e->n_queued + e->n_judging <= 1);
}

static void on_done(void *payload, const struct kgb_job_result *result)
{
	struct expectation *e = payload;
	assert_false(e->done);
	assert_int_equal(e->n_queued + e->n_judging, 0);
	e->done = true;
	assert_int_equal(result->cancelled, e->cancelled);
	if (e->error) {
		assert_null(result->verdict);
		if (!strstr(result->err.msg, e->error))
			fail_msg("%s: got '%s'", e->spec, result->err.msg);
	} else {
		assert_non_null(result->verdict);
		assert_string_equal(result->text, e->verdict);
	}
	e->fixture->n_done++;
}

static void on_closed(void *payload)
{
	struct fixture *fixture = payload;
	fixture->n_closed++;
}

static void start_on(struct fixture *fixture, const struct kgb_devices *devices, int64_t timeout_ms,
		     int max_jobs, int64_t grace_ms, const char *zygotes_are)
{
	struct kgb_err err = KGB_ERR_INIT;
	*fixture = (struct fixture){.dir = "/tmp/kgb-test-broker-XXXXXX", .devices = devices};
	assert_non_null(mkdtemp(fixture->dir));
	int fd = open(fixture->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(kgb_fs_write_atomic(fd, "kgb-judge", fake_judge, sizeof(fake_judge) - 1,
					     0755, false, &err),
			 0);
	if (zygotes_are)
		assert_int_equal(kgb_fs_write_atomic(fd, zygotes_are, "", 0, 0644, false, &err), 0);
	close(fd);
	assert_int_equal(uv_loop_init(&fixture->loop), 0);
	const struct kgb_broker_spec spec = {
		.loop = &fixture->loop,
		.bin_dir = fixture->dir,
		.data_dir = "/",
		.zygote_dir = fixture->dir,
		.devices = devices,
		.shares_devices = devices != &private_gpus,
		.max_jobs = max_jobs,
		.slack_ms = timeout_ms,
		.grace_ms = grace_ms,
		.request = {.python = "/usr/bin/python3",
			    .device = "auto",
			    .baseline = "torch",
			    .timing_precision = KGB_PRECISION_THOROUGH,
			    .timeout_ms = 1,
			    .call_timeout_ms = 1000,
			    .memory_bytes = 1},
	};
	if (kgb_broker_start(&fixture->broker, &spec, &err) < 0)
		fail_msg("%s", err.msg);
}

static void start(struct fixture *fixture, int64_t timeout_ms, int max_jobs, bool broken_zygotes)
{
	start_on(fixture, &one_cpu, timeout_ms, max_jobs, KGB_BROKER_GRACE_MS,
		 broken_zygotes ? "broken" : NULL);
}

static void submit(struct fixture *fixture, struct expectation *e)
{
	e->fixture = fixture;
	e->job = kgb_broker_submit(fixture->broker,
				   &(struct kgb_job_spec){
					   .spec_path = e->spec,
					   .kernel_path = "/dev/null",
					   .device = &fixture->devices->items[e->device],
					   .timed = e->timed,
					   .final = e->final,
					   .moved = on_moved,
					   .done = on_done,
					   .payload = e,
				   });
}

static void run_until_done(struct fixture *fixture, int n)
{
	while (fixture->n_done < n)
		uv_run(&fixture->loop, UV_RUN_ONCE);
}

/** Long enough for the jobs to be started. */
static void run_briefly(struct fixture *fixture)
{
	for (int i = 0; i < 10; i++) {
		uv_run(&fixture->loop, UV_RUN_NOWAIT);
		usleep(10000);
	}
}

static void finish(struct fixture *fixture)
{
	kgb_broker_close(fixture->broker, on_closed, fixture);
	uv_run(&fixture->loop, UV_RUN_DEFAULT);
	assert_int_equal(fixture->n_closed, 1);
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_fs_remove_tree(AT_FDCWD, fixture->dir, &err), 0);
}

static void test_every_way_a_judge_can_end_has_its_message(void **state)
{
	(void)state;
	struct fixture fixture;
	struct expectation cases[] = {
		{.spec = "ok", .verdict = OK_ON_CPU},
		{.spec = "garbage", .error = "the judge's verdict: "},
		{.spec = "silent", .error = "the judge's verdict: "},
		{.spec = "crash", .error = "ended by signal 11"},
		{.spec = "env", .error = "status 4: kgb-judge: error: install torch"},
		{.spec = "secret", .verdict = "{\"key\":\"\"}\n"},
	};
	setenv("ANTHROPIC_API_KEY", "sk-real", 1);
	start(&fixture, 20000, 2, false);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		submit(&fixture, &cases[i]);
	run_until_done(&fixture, KGB_ARRAY_LEN(cases));
	/* None of them decides, so each is tried again: queued, judged, queued, judged, ended. */
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		assert_int_equal(cases[i].n_moves, 5);
	finish(&fixture);
	unsetenv("ANTHROPIC_API_KEY");
}

/* Whatever it has written by then. */
static void test_a_judge_that_does_not_end_in_time_is_not_believed(void **state)
{
	(void)state;
	struct fixture fixture;
	struct expectation late = {.spec = "late", .error = "the judge itself did not end in time"};
	start(&fixture, 500, 1, false);
	submit(&fixture, &late);
	run_until_done(&fixture, 1);
	finish(&fixture);
}

static void test_without_zygotes_judges_start_cold(void **state)
{
	(void)state;
	struct fixture fixture;
	struct expectation ok = {.spec = "ok", .verdict = "[\"null cpu false quick\"]\n"};
	start(&fixture, 20000, 1, true);
	submit(&fixture, &ok);
	run_until_done(&fixture, 1);
	finish(&fixture);
}

static void test_cancelled_jobs_end_whether_queued_or_running(void **state)
{
	(void)state;
	struct fixture fixture;
	struct expectation hang = {.spec = "hang", .error = "cancelled", .cancelled = true};
	struct expectation queued = {.spec = "ok", .error = "cancelled", .cancelled = true};
	struct expectation fast = {.spec = "ok", .verdict = OK_ON_CPU};
	start(&fixture, 20000, 1, false);
	submit(&fixture, &fast);
	run_until_done(&fixture, 1);
	submit(&fixture, &hang);
	submit(&fixture, &queued);
	run_briefly(&fixture);
	assert_int_equal(hang.n_judging, 1);
	assert_int_equal(queued.n_queued, 1);
	int64_t before = kgb_mono_ms();
	kgb_job_cancel(queued.job);
	kgb_job_cancel(hang.job);
	run_until_done(&fixture, 3);
	/* TERM was enough: no wait for the grace */
	assert_true(kgb_mono_ms() - before < KGB_BROKER_GRACE_MS - 500);
	finish(&fixture);
}

static void test_closing_cancels_what_is_left_and_ends_the_zygotes(void **state)
{
	(void)state;
	struct fixture fixture;
	struct expectation hang = {.spec = "hang", .error = "cancelled", .cancelled = true};
	struct expectation queued = {.spec = "ok", .error = "cancelled", .cancelled = true};
	struct expectation first = {.spec = "ok", .verdict = OK_ON_CPU};
	start(&fixture, 20000, 1, false);
	submit(&fixture, &first);
	run_until_done(&fixture, 1);
	submit(&fixture, &hang);
	submit(&fixture, &queued);
	run_briefly(&fixture);
	kgb_broker_close(fixture.broker, on_closed, &fixture);
	uv_run(&fixture.loop, UV_RUN_DEFAULT);
	assert_int_equal(fixture.n_done, 3);
	assert_int_equal(fixture.n_closed, 1);
	KGB_AUTO(free) char *gone = kgb_path_join(fixture.dir, "gone-cpu");
	assert_true(kgb_fs_exists(AT_FDCWD, gone));
	assert_int_equal(uv_loop_close(&fixture.loop), 0);
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_fs_remove_tree(AT_FDCWD, fixture.dir, &err), 0);
}

static void test_a_judge_that_is_deaf_to_term_is_killed_after_the_grace(void **state)
{
	(void)state;
	enum { GRACE_MS = 300, LIMIT_MS = 60000 };
	struct fixture fixture;
	struct expectation deaf = {.spec = "deaf", .error = "cancelled", .cancelled = true};
	start_on(&fixture, &one_cpu, 20000, 1, GRACE_MS, "broken");
	KGB_AUTO(free) char *is_deaf = kgb_path_join(fixture.dir, "kgb-judge.deaf");
	submit(&fixture, &deaf);
	int64_t start_ms = kgb_mono_ms();
	while (!kgb_fs_exists(AT_FDCWD, is_deaf) && kgb_mono_ms() - start_ms < LIMIT_MS)
		run_briefly(&fixture);
	int64_t before = kgb_mono_ms();
	kgb_job_cancel(deaf.job);
	run_until_done(&fixture, 1);
	assert_true(kgb_mono_ms() - before < LIMIT_MS); /* it would go on for twice as long */
	finish(&fixture);
}

/* torch takes seconds to load: whoever interrupts a run in that time does not wait for it. */
static void test_closing_does_not_wait_for_zygotes_that_still_start(void **state)
{
	(void)state;
	struct fixture fixture;
	start_on(&fixture, &one_cpu, 20000, 1, KGB_BROKER_GRACE_MS, "stuck");
	int64_t start_ms = kgb_mono_ms();
	finish(&fixture);
	assert_true(kgb_mono_ms() - start_ms < KGB_BROKER_GRACE_MS - 500);
}

static void test_each_device_has_its_own_zygotes(void **state)
{
	(void)state;
	struct fixture fixture;
	struct expectation jobs[] = {
		{.spec = "ok", .verdict = "[\".zygotes-cuda:0 cuda:0 false quick\"]\n"},
		{.spec = "ok",
		 .device = 1,
		 .timed = true,
		 .verdict = "[\".zygotes-cuda:3 cuda:3 true quick\"]\n"},
		/* Only the verdict that counts is as precise as the run asks for. */
		{.spec = "ok",
		 .timed = true,
		 .final = true,
		 .verdict = "[\".zygotes-cuda:0 cuda:0 true thorough\"]\n"},
	};
	start_on(&fixture, &two_gpus, 20000, 2, KGB_BROKER_GRACE_MS, NULL);
	for (size_t i = 0; i < KGB_ARRAY_LEN(jobs); i++)
		submit(&fixture, &jobs[i]);
	run_until_done(&fixture, KGB_ARRAY_LEN(jobs));
	kgb_broker_close(fixture.broker, on_closed, &fixture);
	uv_run(&fixture.loop, UV_RUN_DEFAULT);
	static const char *const names[] = {"cuda:0", "cuda:3"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		KGB_AUTO(free) char *gone = kgb_xasprintf("%s/gone-%s", fixture.dir, names[i]);
		KGB_AUTO(free) char *dir = kgb_xasprintf("%s/.zygotes-%s", fixture.dir, names[i]);
		assert_true(kgb_fs_exists(AT_FDCWD, gone));
		assert_false(kgb_fs_exists(AT_FDCWD, dir));
	}
	assert_int_equal(uv_loop_close(&fixture.loop), 0);
	struct kgb_err err = KGB_ERR_INIT;
	assert_int_equal(kgb_fs_remove_tree(AT_FDCWD, fixture.dir, &err), 0);
}

static void test_a_job_borrows_the_device_that_has_the_fewest(void **state)
{
	static const struct {
		const struct kgb_devices *devices;
		size_t own, expected;
	} turns[] = {
		{&two_gpus, 1, 1}, /* both are idle */
		{&two_gpus, 1, 0}, /* its own has a job */
		{&two_gpus, 1, 1}, /* each has a job */
		{&two_gpus, 0, 0}, /* one job, and two */
		{&private_gpus, 1, 1}, {&private_gpus, 1, 1},
	};
	(void)state;
	const struct kgb_devices *devices = NULL;
	struct fixture fixture;
	struct expectation jobs[KGB_ARRAY_LEN(turns)];
	for (size_t i = 0; i < KGB_ARRAY_LEN(turns); i++) {
		if (turns[i].devices != devices) {
			if (devices)
				finish(&fixture);
			devices = turns[i].devices;
			start_on(&fixture, devices, 20000, 2, KGB_BROKER_GRACE_MS, NULL);
		}
		const struct kgb_device *device =
			kgb_broker_device(fixture.broker, &devices->items[turns[i].own]);
		assert_ptr_equal(device, &devices->items[turns[i].expected]);
		jobs[i] = (struct expectation){.spec = "slow",
					       .device = turns[i].expected,
					       .error = "cancelled",
					       .cancelled = true};
		submit(&fixture, &jobs[i]);
	}
	finish(&fixture);
}

static void test_at_most_max_jobs_run_at_once(void **state)
{
	(void)state;
	struct fixture fixture;
	struct expectation jobs[4];
	start(&fixture, 20000, 2, false);
	for (size_t i = 0; i < 4; i++) {
		jobs[i] = (struct expectation){.spec = "slow", .verdict = "{}\n"};
		submit(&fixture, &jobs[i]);
	}
	int64_t before = kgb_mono_ms();
	run_until_done(&fixture, 4);
	assert_true(kgb_mono_ms() - before >= 600);
	finish(&fixture);
}

static void test_the_attempts_table_is_total_and_ends_in_done(void **state)
{
	(void)state;
	for (int p = 0; p < KGB_N_ATTEMPT_PHASES; p++) {
		int n_ways_out = 0;
		for (int e = 0; e < KGB_N_ATTEMPT_EVENTS; e++) {
			enum kgb_attempt_phase next = kgb_attempt_next((enum kgb_attempt_phase)p,
								       (enum kgb_attempt_event)e);
			assert_true(next <= KGB_N_ATTEMPT_PHASES);
			if (next != KGB_N_ATTEMPT_PHASES && (int)next != p) {
				/* Never backwards but to another round, of which there are
				 * finitely many: every attempt ends. */
				assert_true((int)next > p || (p == KGB_ATTEMPT_DECIDING &&
							      e == KGB_ATTEMPT_ON_ROUND));
				n_ways_out++;
			}
		}
		if (p == KGB_ATTEMPT_DONE)
			assert_int_equal(n_ways_out, 0);
		else
			assert_true(n_ways_out > 0);
		/* A stop is possible at any time and an exit from every living phase. */
		assert_int_not_equal(
			kgb_attempt_next((enum kgb_attempt_phase)p, KGB_ATTEMPT_ON_STOP),
			KGB_N_ATTEMPT_PHASES);
	}
}

int main(void)
{
	kgb_log_init("test_broker", KGB_LOG_ERROR);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_way_a_judge_can_end_has_its_message),
		cmocka_unit_test(test_a_judge_that_does_not_end_in_time_is_not_believed),
		cmocka_unit_test(test_without_zygotes_judges_start_cold),
		cmocka_unit_test(test_cancelled_jobs_end_whether_queued_or_running),
		cmocka_unit_test(test_closing_cancels_what_is_left_and_ends_the_zygotes),
		cmocka_unit_test(test_a_judge_that_is_deaf_to_term_is_killed_after_the_grace),
		cmocka_unit_test(test_closing_does_not_wait_for_zygotes_that_still_start),
		cmocka_unit_test(test_each_device_has_its_own_zygotes),
		cmocka_unit_test(test_a_job_borrows_the_device_that_has_the_fewest),
		cmocka_unit_test(test_at_most_max_jobs_run_at_once),
		cmocka_unit_test(test_the_attempts_table_is_total_and_ends_in_done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
