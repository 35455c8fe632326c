/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "tests/unit/base/support.h"
#include "tests/unit/verify/gpu_locks.h"
#include "verify/gpu/gpu_lease.h"

enum { SOON_MS = 100, LONG_MS = 60000 };

/* One that no machine has and no other test: locks are the machine's. */
static int device;

static int take(struct kgb_gpu_lease *lease, bool alone)
{
	struct kgb_err err = KGB_ERR_INIT;
	int rc = kgb_gpu_lease_take(lease, device, alone, kgb_mono_ms() + SOON_MS, &err);

	if (rc < 0)
		assert_int_equal(err.kind, KGB_ERR_BUSY);
	return rc;
}

static void test_many_share_one_is_alone(KGB_UNUSED void **state)
{
	struct kgb_gpu_lease a = KGB_LEASE_NONE, b = KGB_LEASE_NONE;

	assert_int_equal(take(&a, false), 0);
	assert_int_equal(take(&b, false), 0);
	assert_int_equal(take(&b, true), -1); /* a still shares; b holds nothing now */
	assert_int_equal(b.fd, -1);
	assert_int_equal(take(&a, true), 0);
	assert_int_equal(take(&b, false), -1);
	kgb_gpu_lease_give(&a);
	assert_int_equal(take(&b, true), 0);
	kgb_gpu_lease_give(&b);
	kgb_gpu_lease_give(&b);
}

static void test_who_waits_to_be_alone_comes_before_those_who_come_later(KGB_UNUSED void **state)
{
	struct kgb_gpu_lease a = KGB_LEASE_NONE, b = KGB_LEASE_NONE;

	assert_int_equal(take(&a, false), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct kgb_gpu_lease waits = KGB_LEASE_NONE;
		struct kgb_err err = KGB_ERR_INIT;
		(void)close(a.fd); /* a copy would keep it locked */
		_exit(kgb_gpu_lease_take(&waits, device, true, kgb_mono_ms() + LONG_MS, &err) < 0);
	}
	int tries = 0;
	while (take(&b, false) == 0 && ++tries < LONG_MS / SOON_MS)
		(void)poll(NULL, 0, SOON_MS); /* until it waits */
	assert_int_equal(b.fd, -1);
	kgb_gpu_lease_give(&a);
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(take(&b, false), 0);
	kgb_gpu_lease_give(&b);
}

static void test_locks_are_everybodys(KGB_UNUSED void **state)
{
	static const char *const kinds[] = {"gpu", "gpu-turn"};
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	struct kgb_err err = KGB_ERR_INIT;
	struct stat st;

	unlink_locks(device);
	mode_t before = umask(0077);
	assert_ok(kgb_gpu_lease_take(&lease, device, true, kgb_mono_ms() + SOON_MS, &err), err);
	(void)umask(before);
	for (size_t i = 0; i < KGB_ARRAY_LEN(kinds); i++) {
		KGB_AUTO(free) char *path = kgb_xasprintf("/tmp/kgb-%s-%d.lock", kinds[i], device);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0444);
	}
	kgb_gpu_lease_give(&lease);
}

static void test_the_end_of_a_process_gives_back(KGB_UNUSED void **state)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct kgb_gpu_lease held = KGB_LEASE_NONE;
		struct kgb_err err = KGB_ERR_INIT;
		_exit(kgb_gpu_lease_take(&held, device, true, kgb_mono_ms() + SOON_MS, &err) < 0);
	}
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(take(&lease, true), 0);
	kgb_gpu_lease_give(&lease);
}

/* Starts a process that takes the lease and holds it until its stdin ends: *hold. */
static pid_t hold_elsewhere(bool alone, int *hold)
{
	struct kgb_err err = KGB_ERR_INIT;
	int ready[2], end[2];
	char byte = 0;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct kgb_gpu_lease lease = KGB_LEASE_NONE;
		(void)close(end[1]);
		if (kgb_gpu_lease_take(&lease, device, alone, kgb_mono_ms() + LONG_MS, &err) == 0)
			(void)!write(ready[1], &byte, 1);
		_exit((int)read(end[0], &byte, 1));
	}
	(void)close(ready[1]);
	(void)close(end[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	*hold = end[1];
	return pid;
}

static void assert_look(enum kgb_gpu_use wanted)
{
	struct kgb_err err = KGB_ERR_INIT;
	enum kgb_gpu_use use = KGB_GPU_IDLE;

	assert_ok(kgb_gpu_lease_look(device, &use, &err), err);
	assert_int_equal(use, wanted);
}

static void test_a_look_sees_the_holders_and_disturbs_nobody(KGB_UNUSED void **state)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	KGB_AUTO(free) char *path = kgb_xasprintf("/tmp/kgb-gpu-%d.lock", device);

	unlink_locks(device);
	assert_look(KGB_GPU_IDLE);
	assert_int_equal(access(path, F_OK), -1); /* it made no file */
	for (int alone = 0; alone <= 1; alone++) {
		int hold = -1, status = -1;
		pid_t pid = hold_elsewhere(alone, &hold);
		assert_look(alone ? KGB_GPU_ALONE : KGB_GPU_SHARED);
		assert_look(alone ? KGB_GPU_ALONE : KGB_GPU_SHARED); /* the first kept nothing */
		(void)close(hold);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_look(KGB_GPU_IDLE);
		assert_int_equal(take(&lease, true), 0);
		kgb_gpu_lease_give(&lease);
	}
}

static void test_a_look_that_fails_says_so(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	enum kgb_gpu_use use = KGB_GPU_SHARED;
	KGB_AUTO(free) char *path = kgb_xasprintf("/tmp/kgb-gpu-%d.lock", device);

	unlink_locks(device);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(kgb_gpu_lease_look(device, &use, &err), -1);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(use, KGB_GPU_SHARED);
	unlink_locks(device);
}

static void *hold_for_a_while(void *payload)
{
	struct kgb_gpu_lease *lease = payload;

	(void)poll(NULL, 0, SOON_MS);
	kgb_gpu_lease_give(lease);
	return NULL;
}

static void test_alone_waits_for_a_request_and_not_for_its_verification(KGB_UNUSED void **state)
{
	struct kgb_gpu_share other = KGB_GPU_SHARE_INIT(device), own = KGB_GPU_SHARE_INIT(device);
	struct kgb_gpu_lease request = KGB_LEASE_NONE, second = KGB_LEASE_NONE;
	struct kgb_err err = KGB_ERR_INIT;
	pthread_t thread;

	assert_ok(kgb_gpu_share_enter(&other, &request, &err), err);
	assert_ok(kgb_gpu_share_enter(&other, &second, &err), err);
	kgb_gpu_lease_give(&second);
	assert_int_equal(pthread_create(&thread, NULL, hold_for_a_while, &request), 0);
	assert_ok(kgb_gpu_share_take_alone(&own, &err), err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(request.fd, -1);
	assert_true(kgb_gpu_share_waited_ms(&own) >= SOON_MS / 2);
	/* Its own requests need no lease now. */
	assert_ok(kgb_gpu_share_enter(&own, &second, &err), err);
	assert_int_equal(second.fd, -1);
	kgb_gpu_share_give_alone(&own);
	assert_ok(kgb_gpu_share_enter(&own, &second, &err), err);
	assert_true(second.fd >= 0);
	kgb_gpu_lease_give(&second);
	kgb_gpu_share_give_alone(&own);
}

struct waiter {
	struct kgb_gpu_share *share;
	struct kgb_gpu_lease lease;
	int rc;
};

static void *enter(void *payload)
{
	struct waiter *waiter = payload;
	struct kgb_err err = KGB_ERR_INIT;

	waiter->rc = kgb_gpu_share_enter(waiter->share, &waiter->lease, &err);
	kgb_gpu_lease_give(&waiter->lease);
	return NULL;
}

static void test_waits_of_several_threads_count_once(KGB_UNUSED void **state)
{
	struct kgb_gpu_share other = KGB_GPU_SHARE_INIT(device), own = KGB_GPU_SHARE_INIT(device);
	struct waiter waiters[4];
	pthread_t threads[KGB_ARRAY_LEN(waiters)];
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_gpu_share_take_alone(&other, &err), err);
	const int64_t since_ms = kgb_mono_ms();
	for (size_t i = 0; i < KGB_ARRAY_LEN(waiters); i++) {
		waiters[i] = (struct waiter){.share = &own, .lease = KGB_LEASE_NONE};
		assert_int_equal(pthread_create(&threads[i], NULL, enter, &waiters[i]), 0);
	}
	(void)poll(NULL, 0, SOON_MS);
	kgb_gpu_share_give_alone(&other);
	for (size_t i = 0; i < KGB_ARRAY_LEN(waiters); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(waiters[i].rc, 0);
	}
	assert_true(kgb_gpu_share_waited_ms(&own) >= SOON_MS / 2);
	assert_true(kgb_gpu_share_waited_ms(&own) <= kgb_mono_ms() - since_ms);
}

static void test_waits_have_a_limit(KGB_UNUSED void **state)
{
	struct kgb_gpu_share other = KGB_GPU_SHARE_INIT(device), own = KGB_GPU_SHARE_INIT(device);
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_gpu_share_take_alone(&other, &err), err);
	own.waited_ms = KGB_WAITS_MAX_MS;
	assert_int_equal(kgb_gpu_share_enter(&own, &lease, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_BUSY);
	assert_int_equal(lease.fd, -1);
	kgb_gpu_share_give_alone(&other);
}

static void test_without_a_gpu_nothing_is_taken(KGB_UNUSED void **state)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_gpu_share_enter(NULL, &lease, &err), err);
	assert_int_equal(lease.fd, -1);
}

/* No seat is in both. */
static void assert_apart(const struct kgb_seats *a, const struct kgb_seats *b)
{
	for (size_t i = 0; i < a->n * b->n; i++) {
		struct stat one, two;
		assert_int_equal(fstat(a->fds[i % a->n], &one), 0);
		assert_int_equal(fstat(b->fds[i / a->n], &two), 0);
		assert_true(one.st_ino != two.st_ino);
	}
}

static void test_seats_are_taken_once_and_as_far_as_there_are_some(KGB_UNUSED void **state)
{
	struct kgb_seats a, b, c;

	kgb_seats_take(&a, 2, KGB_SEATS_MAX);
	if (a.n < 2) { /* a busy machine */
		kgb_seats_give(&a);
		skip();
	}
	kgb_seats_take(&b, KGB_SEATS_MAX, KGB_SEATS_MAX);
	/* Others may have given some back meanwhile, or take those that are given here. */
	kgb_seats_take(&c, KGB_SEATS_MAX, KGB_SEATS_MAX);
	assert_true(a.n + b.n + c.n <= KGB_SEATS_MAX);
	assert_apart(&a, &b);
	assert_apart(&a, &c);
	assert_apart(&b, &c);
	kgb_seats_keep(&a, 1);
	assert_int_equal(a.n, 1);
	kgb_seats_give(&a);
	assert_int_equal(a.n, 0);
	kgb_seats_give(&b);
	kgb_seats_give(&c);
	kgb_seats_take(&a, 1, 0);
	assert_int_equal(a.n, 0);
}

struct room {
	int n_asked, n_until_there_is; /* has_room() is false so often */
	struct kgb_gpu_share *leaves; /* when it was asked so often */
};

static bool has_room(void *payload)
{
	struct room *room = payload;

	if (++room->n_asked == room->n_until_there_is && room->leaves)
		kgb_gpu_share_leave(room->leaves);
	return !room->leaves && room->n_asked > room->n_until_there_is;
}

static void test_a_verification_joins_others_when_there_is_room(KGB_UNUSED void **state)
{
	static const struct {
		bool is_other_there, does_other_leave;
		int n_without_room, n_asked;
	} rows[] = {
		{false, false, 9, 1}, /* nobody would make room: no wait */
		{true, false, 0, 1},
		{true, false, 2, 3},
		{true, true, 2, 2},
	};

	unlink_locks(device);
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_gpu_share share = KGB_GPU_SHARE_INIT(device);
		struct kgb_gpu_share other = KGB_GPU_SHARE_INIT(device);
		struct room none = {0}, room = {.n_until_there_is = rows[i].n_without_room};
		struct kgb_err err = KGB_ERR_INIT;
		if (rows[i].is_other_there)
			assert_ok(kgb_gpu_share_join(&other, has_room, &none, &err), err);
		room.leaves = rows[i].does_other_leave ? &other : NULL;
		assert_ok(kgb_gpu_share_join(&share, has_room, &room, &err), err);
		assert_int_equal(room.n_asked, rows[i].n_asked);
		assert_true(share.joined.fd >= 0);
		assert_true(rows[i].n_asked == 1 || kgb_gpu_share_waited_ms(&share) > 0);
		kgb_gpu_share_leave(&share);
		kgb_gpu_share_leave(&share);
		kgb_gpu_share_leave(&other);
	}
}

static void *leave_line(void *share)
{
	kgb_sleep_ns(30 * 1000 * 1000);
	kgb_gpu_share_leave_line(share);
	return NULL;
}

static void test_the_line_has_so_many_places(KGB_UNUSED void **state)
{
	struct kgb_gpu_share shares[KGB_GPU_LINE + 1];
	struct kgb_err err = KGB_ERR_INIT;
	pthread_t thread;

	unlink_locks(device);
	for (size_t i = 0; i <= KGB_GPU_LINE; i++)
		shares[i] = (struct kgb_gpu_share)KGB_GPU_SHARE_INIT(device);
	for (size_t i = 0; i < KGB_GPU_LINE; i++) {
		assert_ok(kgb_gpu_share_enter_line(&shares[i], &err), err);
		assert_true(kgb_gpu_share_waited_ms(&shares[i]) < 30);
	}
	assert_int_equal(pthread_create(&thread, NULL, leave_line, &shares[1]), 0);
	assert_ok(kgb_gpu_share_enter_line(&shares[KGB_GPU_LINE], &err), err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(shares[1].line.fd < 0 && shares[KGB_GPU_LINE].line.fd >= 0);
	assert_true(kgb_gpu_share_waited_ms(&shares[KGB_GPU_LINE]) > 0);

	/* Who has waited long enough goes on. */
	shares[1].waited_ms = KGB_WAITS_MAX_MS;
	assert_ok(kgb_gpu_share_enter_line(&shares[1], &err), err);
	assert_true(shares[1].line.fd < 0);
	for (size_t i = 0; i <= KGB_GPU_LINE; i++)
		kgb_gpu_share_leave(&shares[i]);
	assert_ok(kgb_gpu_share_enter_line(&shares[0], &err), err);
	kgb_gpu_share_leave_line(&shares[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_share_one_is_alone),
		cmocka_unit_test(test_who_waits_to_be_alone_comes_before_those_who_come_later),
		cmocka_unit_test(test_locks_are_everybodys),
		cmocka_unit_test(test_the_end_of_a_process_gives_back),
		cmocka_unit_test(test_a_verification_joins_others_when_there_is_room),
		cmocka_unit_test(test_the_line_has_so_many_places),
		cmocka_unit_test(test_a_look_sees_the_holders_and_disturbs_nobody),
		cmocka_unit_test(test_a_look_that_fails_says_so),
		cmocka_unit_test(test_alone_waits_for_a_request_and_not_for_its_verification),
		cmocka_unit_test(test_waits_of_several_threads_count_once),
		cmocka_unit_test(test_waits_have_a_limit),
		cmocka_unit_test(test_without_a_gpu_nothing_is_taken),
		cmocka_unit_test(test_seats_are_taken_once_and_as_far_as_there_are_some),
	};

	device = 1000 + (int)getpid();
	int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink_locks(device);
	return n_failed;
}
