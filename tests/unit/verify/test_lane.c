/* SPDX-License-Identifier: MIT */
/* Waiting for others: for the GPU, and whose time that is. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/time.h"
#include "tests/unit/base/support.h"
#include "verify/lane/lane.h"

enum { HELD_MS = 50, REST_MS = 100, LONG_MS = 60000 };

/* A device that no machine has and no other test: locks are the machine's. */
static struct kgb_judge_options options;
static struct kgb_gpu_share share;
static const struct kgb_judge judge = {.options = &options, .share = &share};

static void open_lane(struct kgb_lane *lane, struct kgb_verdict *verdict)
{
	share = (struct kgb_gpu_share)KGB_GPU_SHARE_INIT(options.device);
	kgb_verdict_init(verdict);
	verdict->platform = "cuda";
	kgb_lane_init(lane, &judge, verdict);
	lane->deadline_ms = kgb_mono_ms() + LONG_MS;
}

/* Does somebody wait for the GPU? He has the turn meanwhile. */
static bool is_awaited(void)
{
	KGB_AUTO(free) char *turn = kgb_xasprintf("/tmp/kgb-gpu-turn-%d.lock", options.device);
	KGB_AUTO(fd) int fd = open(turn, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return flock(fd, LOCK_EX | LOCK_NB) < 0;
}

static void *give_later(void *payload)
{
	while (!is_awaited())
		(void)poll(NULL, 0, 1);
	(void)poll(NULL, 0, HELD_MS);
	kgb_gpu_lease_give(payload);
	return NULL;
}

static void hold(struct kgb_gpu_lease *lease)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_gpu_lease_take(lease, options.device, true, kgb_mono_ms() + LONG_MS, &err),
		  err);
}

static void test_waiting_for_the_gpu_is_not_the_verifications_time(KGB_UNUSED void **state)
{
	KGB_AUTO(free) struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));
	struct kgb_gpu_lease other = KGB_LEASE_NONE;
	struct kgb_lane lane;
	pthread_t thread;

	hold(&other);
	open_lane(&lane, verdict);
	const int64_t deadline_ms = kgb_lane_deadline(&lane);
	assert_int_equal(pthread_create(&thread, NULL, give_later, &other), 0);
	assert_int_equal(kgb_lane_await_gpu(&lane, KGB_STAGE_CORRECTNESS), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(verdict->code, KGB_CODE_NONE);
	const int64_t waited_ms = kgb_gpu_share_waited_ms(&share);
	assert_true(waited_ms >= HELD_MS);
	assert_int_equal(kgb_lane_deadline(&lane) - deadline_ms, waited_ms);
	kgb_verdict_release(verdict);
}

static void test_it_has_a_bound_of_its_own_that_is_nobodys_fault(KGB_UNUSED void **state)
{
	KGB_AUTO(free) struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));
	struct kgb_gpu_lease other = KGB_LEASE_NONE;
	struct kgb_lane lane;

	hold(&other);
	open_lane(&lane, verdict);
	const int64_t deadline_ms = kgb_lane_deadline(&lane);
	share.waited_ms = KGB_WAITS_MAX_MS - REST_MS;
	const int64_t since_ms = kgb_mono_ms();
	assert_int_equal(kgb_lane_await_gpu(&lane, KGB_STAGE_CORRECTNESS), 1);
	assert_true(kgb_mono_ms() - since_ms < LONG_MS);
	assert_in_range(kgb_gpu_share_waited_ms(&share), KGB_WAITS_MAX_MS, KGB_WAITS_MAX_MS + 2000);
	assert_true(kgb_lane_deadline(&lane) - deadline_ms >= KGB_WAITS_MAX_MS);
	assert_int_equal(verdict->status, KGB_STATUS_INFRA_ERROR);
	assert_int_equal(verdict->code, KGB_CODE_INFRA_GPU_BUSY);
	assert_int_equal(verdict->decided_by, KGB_STAGE_CORRECTNESS);
	KGB_AUTO(free)
	char *who = kgb_xasprintf("GPU %d is in use by other verifications", options.device);
	assert_contains(verdict->message, who);
	kgb_gpu_lease_give(&other);
	kgb_verdict_release(verdict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiting_for_the_gpu_is_not_the_verifications_time),
		cmocka_unit_test(test_it_has_a_bound_of_its_own_that_is_nobodys_fault),
	};

	options.device = 1000 + (int)getpid();
	int n_failed = cmocka_run_group_tests_name("lane", tests, NULL, NULL);
	KGB_AUTO(free) char *lock = kgb_xasprintf("/tmp/kgb-gpu-%d.lock", options.device);
	KGB_AUTO(free) char *turn = kgb_xasprintf("/tmp/kgb-gpu-turn-%d.lock", options.device);
	(void)unlink(lock);
	(void)unlink(turn);
	return n_failed;
}
