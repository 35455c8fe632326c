/* SPDX-License-Identifier: MIT */
/* Waiting for others: for the GPU, and whose time that is. */
#include <poll.h>
#include <pthread.h>

#include "base/time.h"
#include "tests/unit/base/support.h"
#include "verify/judge/judge.h"

enum { DEVICE = 62 /* that no machine has */, HELD_MS = 300, OWN_MS = 100 };

static const struct kgb_judge_options options = {.device = DEVICE};

static void open_judge(struct kgb_judge *judge, struct kgb_verdict *verdict)
{
	kgb_verdict_init(verdict);
	verdict->platform = "cuda";
	*judge = (struct kgb_judge){.options = &options,
				    .verdict = verdict,
				    .lease = KGB_LEASE_NONE,
				    .deadline_ms = kgb_mono_ms() + OWN_MS};
}

static void *give_later(void *payload)
{
	(void)poll(NULL, 0, HELD_MS);
	kgb_lease_give(payload);
	return NULL;
}

static void hold(struct kgb_lease *lease)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_lease_take(lease, DEVICE, true, kgb_mono_ms() + 5000, &err), err);
}

static void test_waiting_for_the_gpu_is_not_the_verifications_time(KGB_UNUSED void **state)
{
	KGB_AUTO(free) struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));
	struct kgb_lease other = KGB_LEASE_NONE;
	struct kgb_judge judge;
	pthread_t thread;

	hold(&other);
	open_judge(&judge, verdict);
	const int64_t deadline_ms = judge.deadline_ms;
	assert_int_equal(pthread_create(&thread, NULL, give_later, &other), 0);
	assert_int_equal(kgb_judge_take_gpu(&judge, KGB_STAGE_CORRECTNESS, false), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(verdict->code);
	assert_true(judge.waited_ms >= HELD_MS - 50);
	assert_int_equal(judge.deadline_ms - deadline_ms, judge.waited_ms);
	assert_true(judge.deadline_ms > kgb_mono_ms());
	kgb_lease_give(&judge.lease);
	kgb_verdict_release(verdict);
}

static void test_it_has_a_bound_of_its_own_that_is_nobodys_fault(KGB_UNUSED void **state)
{
	KGB_AUTO(free) struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));
	struct kgb_lease other = KGB_LEASE_NONE;
	struct kgb_judge judge;

	hold(&other);
	open_judge(&judge, verdict);
	const int64_t deadline_ms = judge.deadline_ms;
	judge.waited_ms = KGB_WAITS_MAX_MS - OWN_MS;
	const int64_t since_ms = kgb_mono_ms();
	assert_int_equal(kgb_judge_take_gpu(&judge, KGB_STAGE_TIMING, true), 1);
	assert_true(kgb_mono_ms() - since_ms < 2000);
	assert_int_equal(judge.lease.fd, -1);
	assert_int_equal(judge.waited_ms, KGB_WAITS_MAX_MS);
	assert_int_equal(judge.deadline_ms - deadline_ms, OWN_MS);
	assert_int_equal(verdict->status, KGB_STATUS_INFRA_ERROR);
	assert_string_equal(verdict->code, "infra.gpu_busy");
	assert_int_equal(verdict->decided_by, KGB_STAGE_TIMING);
	assert_contains(verdict->message, "GPU 62 is in use by other verifications");
	kgb_lease_give(&other);
	kgb_verdict_release(verdict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiting_for_the_gpu_is_not_the_verifications_time),
		cmocka_unit_test(test_it_has_a_bound_of_its_own_that_is_nobodys_fault),
	};

	return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
