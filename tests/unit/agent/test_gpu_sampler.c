/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/sched/gpu_sampler.h"
#include "base/mem.h"
#include "base/time.h"
#include "tests/unit/verify/gpu_locks.h"
#include "verify/gpu/gpu_lease.h"

/* Long enough for one sample at least. */
#define WINDOW_MS 150
#define LONG_MS 60000

struct fixture {
	struct scratch scratch;
	struct kgb_rundir dir;
	struct kgb_run_log *log;
	uv_loop_t loop;
	struct kgb_devices devices;
	struct kgb_gpu_sampler *sampler;
};

/** A run that judges on one GPU of a number that no machine has. */
static void open_run(struct fixture *f)
{
	static const struct kgb_event_plan_item plan[] = {
		{.name = "aten::add", .safe_name = "aten__add"},
		{.name = "aten::mm", .safe_name = "aten__mm"}};
	*f = (struct fixture){.dir = KGB_RUNDIR_INIT,
			      .devices = {.items = {{"cuda:0", 0, 3000 + (int)getpid()}}, .n = 1}};
	make_scratch(&f->scratch);
	assert_ok(kgb_rundir_create(&f->dir, f->scratch.path, "m", "d", err));
	assert_ok(kgb_run_log_open(&f->log, &f->dir, err));
	const struct kgb_event_run_started start = {.run_name = f->dir.name};
	assert_ok(kgb_event_run_started(f->log, &start, err));
	assert_ok(kgb_event_planned(f->log, plan, 2, err));
	assert_int_equal(uv_loop_init(&f->loop), 0);
}

static void close_run(struct fixture *f)
{
	kgb_gpu_sampler_close(f->sampler);
	assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	kgb_run_log_close(f->log);
	kgb_rundir_release(&f->dir);
	drop_scratch(&f->scratch);
	unlink_locks(f->devices.items[0].own);
}

static void stop_loop(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

/** Returns the times that were added meanwhile. */
static struct kgb_gpu_times sample(struct fixture *f)
{
	size_t n = 0;
	uv_timer_t timer;
	const struct kgb_gpu_times before = *kgb_gpu_sampler_times(f->sampler, &n);
	assert_int_equal(uv_timer_init(&f->loop, &timer), 0);
	assert_int_equal(uv_timer_start(&timer, stop_loop, WINDOW_MS, 0), 0);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&f->loop, UV_RUN_NOWAIT);
	const struct kgb_gpu_times after = *kgb_gpu_sampler_times(f->sampler, &n);
	return (struct kgb_gpu_times){after.name, after.alone_ms - before.alone_ms,
				      after.shared_ms - before.shared_ms,
				      after.idle_ms - before.idle_ms};
}

static void assert_only(int64_t time_ms, int64_t other_ms, int64_t another_ms)
{
	assert_true(time_ms > 0 && time_ms % KGB_GPU_SAMPLE_MS == 0);
	assert_int_equal(other_ms, 0);
	assert_int_equal(another_ms, 0);
}

static void test_samples_count_the_use_of_the_gpu(void **state)
{
	struct fixture f;
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	(void)state;
	open_run(&f);
	const int own = f.devices.items[0].own;
	f.sampler = kgb_gpu_sampler_start(&f.loop, &f.devices, f.log);
	kgb_run_log_move_job(f.log, "aten::mm", 1, 0);
	kgb_run_log_move_job(f.log, "aten::mm", -1, 1);
	struct kgb_gpu_times t = sample(&f);
	assert_string_equal(t.name, "cuda:0");
	assert_only(t.idle_ms, t.shared_ms, t.alone_ms);
	assert_ok(kgb_gpu_lease_take(&lease, own, false, kgb_mono_ms() + LONG_MS, err));
	t = sample(&f);
	assert_only(t.shared_ms, t.idle_ms, t.alone_ms);
	assert_ok(kgb_gpu_lease_take(&lease, own, true, kgb_mono_ms() + LONG_MS, err));
	t = sample(&f);
	assert_only(t.alone_ms, t.idle_ms, t.shared_ms);
	kgb_gpu_lease_give(&lease);
	close_run(&f);
}

static void test_time_counts_only_while_a_judge_works_on_a_kernel_of_the_run(void **state)
{
	struct fixture f;
	size_t n = 7;
	(void)state;
	open_run(&f);
	f.sampler = kgb_gpu_sampler_start(&f.loop, &f.devices, f.log);
	assert_int_equal(sample(&f).idle_ms, 0);
	kgb_run_log_move_job(f.log, "aten::add", 1, 0);
	assert_int_equal(sample(&f).idle_ms, 0); /* it waits for a judge */
	(void)kgb_gpu_sampler_times(f.sampler, &n);
	assert_int_equal(n, 0);
	kgb_run_log_move_job(f.log, "aten::add", -1, 1);
	assert_true(sample(&f).idle_ms > 0);
	kgb_run_log_move_job(f.log, "aten::add", 0, -1);
	assert_int_equal(sample(&f).idle_ms, 0);
	(void)kgb_gpu_sampler_times(f.sampler, &n);
	assert_int_equal(n, 1);
	close_run(&f);
}

static void test_without_a_gpu_nothing_is_sampled(void **state)
{
	struct fixture f;
	size_t n = 7;
	(void)state;
	open_run(&f);
	const struct kgb_devices cpu = {.items = {{"cpu", -1, -1}}, .n = 1};
	assert_null(kgb_gpu_sampler_start(&f.loop, &cpu, f.log));
	(void)kgb_gpu_sampler_times(NULL, &n);
	assert_int_equal(n, 0);
	close_run(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_count_the_use_of_the_gpu),
		cmocka_unit_test(test_time_counts_only_while_a_judge_works_on_a_kernel_of_the_run),
		cmocka_unit_test(test_without_a_gpu_nothing_is_sampled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
