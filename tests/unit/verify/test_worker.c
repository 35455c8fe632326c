/* SPDX-License-Identifier: MIT */
/* The judge's view of a worker that lies, dies, hangs or says nothing. A fork plays the worker,
 * another its supervisor. */
#include "verify/process/worker.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/str.h"
#include "base/time.h"
#include "tests/unit/base/support.h"
#include "tests/unit/verify/gpu_locks.h"

enum { DEADLINE_MS = 30000 };

typedef void (*play_fn)(int channel, int log);

/* Fork a worker that runs `play`, and a supervisor that reports its end as
 * verify/python/runner/zygote.py does. */
static void start_fake(struct kgb_worker *worker, play_fn play)
{
	int control[2], channel[2], log[2];

	*worker = (struct kgb_worker)KGB_WORKER_INIT;
	worker->stderr_text = (struct kgb_buf)KGB_BUF_INIT(16 << 10);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
	assert_int_equal(pipe2(log, O_CLOEXEC), 0);
	fflush(NULL);
	pid_t supervisor = fork();
	assert_true(supervisor >= 0);
	if (supervisor == 0) {
		close(channel[0]);
		close(control[0]);
		close(log[0]);
		pid_t child = fork();
		if (child == 0) {
			close(control[1]);
			play(channel[1], log[1]);
			_exit(0);
		}
		close(channel[1]);
		close(log[1]);
		int pid_fd = (int)syscall(SYS_pidfd_open, child, 0);
		struct kgb_err err;
		(void)!kgb_wire_send(control[1], "{}", 2, &pid_fd, 1, &err);
		int status;
		waitpid(child, &status, 0);
		char text[80];
		int n = snprintf(text, sizeof(text), "{\"ended\":\"%s\",\"value\":%d}",
				 WIFSIGNALED(status) ? "signal" : "exit",
				 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		(void)!kgb_wire_send(control[1], text, (size_t)n, NULL, 0, &err);
		_exit(0);
	}
	close(control[1]);
	close(channel[1]);
	close(log[1]);
	worker->control_fd = control[0];
	worker->channel_fd = channel[0];
	worker->stderr_fd = log[0];
	fcntl(log[0], F_SETFL, O_NONBLOCK);
	fcntl(log[0], F_SETPIPE_SZ, 1 << 20);
	struct kgb_err err = KGB_ERR_INIT;
	char text[8];
	size_t n_fds = 0;
	ssize_t n;
	while ((n = kgb_wire_recv(control[0], text, sizeof(text), &worker->pid_fd, 1, &n_fds,
				  &err)) == -2)
		usleep(1000);
	assert_int_equal(n_fds, 1);
	worker->end = KGB_WORKER_ALIVE;
}

static void send_reply(int channel, uint64_t id)
{
	struct kgb_wire_reply reply = {
		.magic = KGB_WIRE_MAGIC, .version = KGB_WIRE_VERSION, .id = id};

	(void)!send(channel, &reply, sizeof(reply), 0);
}

/* Wait for the request that every test sends. */
static void await_request(int channel)
{
	char text[256];

	(void)!recv(channel, text, sizeof(text), 0);
}

static void play_honest(int channel, int log)
{
	(void)log;
	await_request(channel);
	send_reply(channel, 1);
	await_request(channel);
}
static void play_old_id(int channel, int log)
{
	(void)log;
	await_request(channel);
	send_reply(channel, 0);
	pause();
}
static void play_short(int channel, int log)
{
	(void)log;
	await_request(channel);
	(void)!send(channel, "passed", 6, 0);
	pause();
}
static void play_long(int channel, int log)
{
	static char big[sizeof(struct kgb_wire_reply) + 100];

	(void)log;
	await_request(channel);
	(void)!send(channel, big, sizeof(big), 0);
	pause();
}
static void play_exit(int channel, int log)
{
	await_request(channel);
	(void)!write(log, "going home\n", 11);
	_exit(3);
}
static void play_crash(int channel, int log)
{
	(void)log;
	await_request(channel);
	/* One that sanitizers leave alone. */
	raise(SIGTRAP);
}
static void play_hang(int channel, int log)
{
	(void)channel;
	(void)log;
	for (;;)
		pause();
}
static void play_flood(int channel, int log)
{
	static char line[1 << 16];

	(void)channel;
	memset(line, 'x', sizeof(line));
	for (;;)
		(void)!write(log, line, sizeof(line));
}
static void play_flood_and_answer(int channel, int log)
{
	static char line[1 << 16];

	await_request(channel);
	memset(line, 'x', sizeof(line));
	for (int i = 0; i < 200; i++)
		(void)!write(log, line, sizeof(line));
	send_reply(channel, 1);
	pause();
}
static void play_hang_up(int channel, int log)
{
	(void)log;
	await_request(channel);
	close(channel);
	pause();
}
static void play_empty(int channel, int log)
{
	(void)log;
	await_request(channel);
	(void)!send(channel, "", 0, 0);
	pause();
}

struct fake_case {
	const char *name;
	play_fn play;
	int64_t wait_ms;
	bool answers;
	enum kgb_worker_end end;
	int value; /* -1: any */
	const char *why;
};

static const struct fake_case fake_cases[] = {
	{"honest", play_honest, DEADLINE_MS, true, KGB_WORKER_ALIVE, -1, ""},
	{"flood and answer", play_flood_and_answer, DEADLINE_MS, true, KGB_WORKER_ALIVE, -1, ""},
	{"old id", play_old_id, DEADLINE_MS, false, KGB_WORKER_LIED, -1,
	 "answers request 0, not 1"},
	{"short", play_short, DEADLINE_MS, false, KGB_WORKER_LIED, -1, "6 bytes"},
	{"long", play_long, DEADLINE_MS, false, KGB_WORKER_LIED, -1, "bytes, not"},
	{"exit", play_exit, DEADLINE_MS, false, KGB_WORKER_EXITED, 3, ""},
	{"crash", play_crash, DEADLINE_MS, false, KGB_WORKER_SIGNALED, SIGTRAP, ""},
	{"hang", play_hang, 200, false, KGB_WORKER_TIMED_OUT, -1, "deadline"},
	{"flood", play_flood, 300, false, KGB_WORKER_TIMED_OUT, -1, "deadline"},
	{"hang up", play_hang_up, DEADLINE_MS, false, KGB_WORKER_LIED, -1, "closed its channel"},
	{"empty datagram", play_empty, DEADLINE_MS, false, KGB_WORKER_LIED, -1,
	 "closed its channel"},
};

static void test_every_behaviour_of_a_worker_has_its_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(fake_cases); i++) {
		const struct fake_case *c = &fake_cases[i];
		struct kgb_worker worker;
		struct kgb_wire_reply reply;
		struct kgb_err err = KGB_ERR_INIT;
		int64_t started_ms = kgb_mono_ms();

		start_fake(&worker, c->play);
		assert_ok(kgb_worker_send(&worker, "{\"op\":\"x\"}", NULL, 0, &err), err);
		bool answered = kgb_worker_wait(&worker, kgb_mono_ms() + c->wait_ms, &reply);
		if (answered != c->answers || worker.end != c->end ||
		    (c->value >= 0 && worker.end_value != c->value) || !strstr(worker.why, c->why))
			fail_msg("%s: answered %d, end %d, value %d, why '%s'", c->name, answered,
				 worker.end, worker.end_value, worker.why);
		/* Tighter than the waits that a wrong turn would take. */
		assert_in_range(kgb_mono_ms() - started_ms, 0, c->wait_ms + DEADLINE_MS - 5000);
		assert_true(worker.stderr_text.len <= 16 << 10);
		if (c->play == play_exit)
			assert_string_equal(worker.stderr_text.ptr, "going home\n");
		kgb_worker_stop(&worker);
		assert_int_equal(waitpid(-1, NULL, 0) > 0, 1);
	}
}

enum { STORY_LINES = 200000 }; /* of 100 bytes */

static void play_story(int channel, int log)
{
	char line[100];

	await_request(channel);
	memset(line, 'x', sizeof(line));
	(void)!write(log, "in the beginning\n", 17);
	for (int i = 0; i < STORY_LINES; i++)
		(void)!write(log, line, sizeof(line));
	(void)!write(log, "\nthe end\n", 9);
	_exit(3);
}

static void test_the_beginning_and_the_end_of_a_flood_are_kept(void **state)
{
	struct kgb_worker worker;
	struct kgb_wire_reply reply;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	start_fake(&worker, play_story);
	assert_ok(kgb_worker_send(&worker, "{\"op\":\"x\"}", NULL, 0, &err), err);
	assert_false(kgb_worker_wait(&worker, kgb_mono_ms() + DEADLINE_MS, &reply));
	assert_int_equal(worker.end, KGB_WORKER_EXITED);
	const struct kgb_buf *text = &worker.stderr_text;
	assert_int_equal(text->len, 16 << 10);
	assert_true(kgb_str_starts(text->ptr, "in the beginning\nxx"));
	assert_string_equal(text->ptr + text->len - 11, "xx\nthe end\n");
	kgb_worker_stop(&worker);
	assert_true(waitpid(-1, NULL, 0) > 0);
}

static void test_a_dead_worker_is_no_error_to_send_to(void **state)
{
	struct kgb_worker worker;
	struct kgb_wire_reply reply;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	start_fake(&worker, play_exit);
	assert_ok(kgb_worker_send(&worker, "{\"op\":\"x\"}", NULL, 0, &err), err);
	assert_false(kgb_worker_wait(&worker, kgb_mono_ms() + DEADLINE_MS, &reply));
	assert_ok(kgb_worker_send(&worker, "{\"op\":\"x\"}", NULL, 0, &err), err);
	assert_false(kgb_worker_wait(&worker, kgb_mono_ms() + DEADLINE_MS, &reply));
	assert_int_equal(worker.end, KGB_WORKER_EXITED);
	kgb_worker_stop(&worker);
	assert_true(waitpid(-1, NULL, 0) > 0);
}

static void play_leave(int channel, int log)
{
	(void)channel;
	(void)log;
	_exit(4);
}

/* Between two requests, so that the next one finds nobody: its own doing all the same. */
static void test_a_worker_that_died_before_its_request_has_died(void **state)
{
	struct kgb_worker worker;
	struct kgb_wire_reply reply;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	start_fake(&worker, play_leave);
	struct pollfd gone = {.fd = worker.channel_fd, .events = POLLIN};
	assert_int_equal(poll(&gone, 1, DEADLINE_MS), 1);
	assert_ok(kgb_worker_send(&worker, "{\"op\":\"x\"}", NULL, 0, &err), err);
	assert_false(kgb_worker_wait(&worker, kgb_mono_ms() + DEADLINE_MS, &reply));
	assert_int_equal(worker.end, KGB_WORKER_EXITED);
	assert_int_equal(worker.end_value, 4);
	kgb_worker_stop(&worker);
	assert_true(waitpid(-1, NULL, 0) > 0);
}

static void test_a_worker_that_does_not_read_is_refused(void **state)
{
	struct kgb_worker worker;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *big = kgb_xcalloc(1, 60000);

	(void)state;
	start_fake(&worker, play_hang);
	memset(big, ' ', 59000);
	big[0] = '{';
	for (int i = 0; i < 100 && worker.end == KGB_WORKER_ALIVE; i++)
		assert_ok(kgb_worker_send(&worker, big, NULL, 0, &err), err);
	assert_int_equal(worker.end, KGB_WORKER_LIED);
	assert_string_equal(worker.why, "does not read its requests");
	kgb_worker_stop(&worker);
	assert_true(waitpid(-1, NULL, 0) > 0);
}

/* Whether another verification gets the GPU alone at once. */
static bool is_free(int device)
{
	struct kgb_gpu_lease alone = KGB_LEASE_NONE;
	struct kgb_err err = KGB_ERR_INIT;
	const bool taken = kgb_gpu_lease_take(&alone, device, true, kgb_mono_ms(), &err) == 0;

	kgb_gpu_lease_give(&alone);
	return taken;
}

static void test_others_get_the_gpu_while_a_worker_is_paused(KGB_UNUSED void **state)
{
	struct kgb_gpu_share share = KGB_GPU_SHARE_INIT(2000 + (int)getpid());
	struct kgb_wire_reply reply;
	struct kgb_worker worker;
	struct kgb_err err = KGB_ERR_INIT;

	start_fake(&worker, play_honest);
	worker.share = &share;
	kgb_worker_pause(&worker); /* no request is under way */
	kgb_worker_resume(&worker);
	assert_true(is_free(share.device));
	assert_ok(kgb_worker_send(&worker, "{\"op\":\"x\"}", NULL, 0, &err), err);
	assert_false(is_free(share.device));
	kgb_worker_pause(&worker);
	assert_true(is_free(share.device));
	kgb_worker_resume(&worker);
	assert_false(is_free(share.device));
	kgb_worker_pause(&worker);
	assert_true(kgb_worker_wait(&worker, kgb_mono_ms() + DEADLINE_MS, &reply));
	kgb_worker_resume(&worker); /* the request has ended */
	assert_true(is_free(share.device));
	unlink_locks(share.device);
	kgb_worker_stop(&worker);
	assert_true(waitpid(-1, NULL, 0) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_behaviour_of_a_worker_has_its_end),
		cmocka_unit_test(test_the_beginning_and_the_end_of_a_flood_are_kept),
		cmocka_unit_test(test_a_dead_worker_is_no_error_to_send_to),
		cmocka_unit_test(test_a_worker_that_died_before_its_request_has_died),
		cmocka_unit_test(test_a_worker_that_does_not_read_is_refused),
		cmocka_unit_test(test_others_get_the_gpu_while_a_worker_is_paused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
