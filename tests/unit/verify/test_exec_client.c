/* SPDX-License-Identifier: MIT */
/* The judge's view of a kgb-exec that lies, dies, hangs or says nothing (a fork plays it), and of a
 * real one on a machine without a GPU. */
#include "base/system/memfd.h"
#include "verify/process/exec_client.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/time.h"
#include "tests/helpers/whole_arena.h"
#include "tests/unit/base/support.h"
#include "verify/process/shared_arena.h"
#include "verify/protocol/record.h"

enum { DEADLINE_MS = 30000 };

typedef void (*play_fn)(int channel);

static struct kgb_exec_request take_request(int channel)
{
	struct kgb_exec_request request = {0};

	(void)!recv(channel, &request, sizeof(request), 0);
	return request;
}

static void send_reply(int channel, uint64_t id, enum kgb_exec_status status, const char *text)
{
	const bool is_fault = status == KGB_EXEC_KERNEL_FAULT;
	struct kgb_exec_reply reply = {.magic = KGB_EXEC_MAGIC,
				       .version = KGB_EXEC_VERSION,
				       .status = (uint16_t)status,
				       .id = id,
				       .value = 42,
				       .device_error = is_fault ? KGB_EXEC_FAULT_RACE : 0,
				       .text_len = (uint32_t)strlen(text)};

	memcpy(reply.text, text, reply.text_len);
	(void)!send(channel, &reply, sizeof(reply), MSG_NOSIGNAL);
}

static void play_hang(int channel)
{
	(void)channel;
	for (;;)
		pause();
}

static enum kgb_exec_outcome start_fake(struct kgb_exec_client *exec, play_fn play,
					struct kgb_err *err)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pair[0]);
		play(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	/* Only of those that never answer the limit comes to its end. */
	return kgb_exec_client_adopt(exec, pid, pair[0], 0, play == play_hang ? 500 : DEADLINE_MS,
				     err);
}

static void play_honest(int channel)
{
	send_reply(channel, take_request(channel).id, KGB_EXEC_OK, "A GPU");
	for (;;) {
		struct kgb_exec_request request = take_request(channel);
		if (request.magic == 0)
			_exit(0);
		send_reply(channel, request.id, KGB_EXEC_OK, "");
	}
}
/* Says what it was asked: the value of a reply is a sum over the fields that a test looks at. */
static void play_echo(int channel)
{
	send_reply(channel, take_request(channel).id, KGB_EXEC_OK, "A GPU");
	for (;;) {
		struct kgb_exec_request request = take_request(channel);
		struct kgb_exec_reply reply = {.magic = KGB_EXEC_MAGIC,
					       .version = KGB_EXEC_VERSION,
					       .id = request.id,
					       .value = request.placement};
		if (request.magic == 0)
			_exit(0);
		for (uint32_t i = 0; i < request.n_ranges; i++)
			reply.value += request.ranges[i].address + request.ranges[i].bytes;
		(void)!send(channel, &reply, sizeof(reply), MSG_NOSIGNAL);
	}
}
/* What is to be asked next; the value of a reply tells whether it was. */
static struct kgb_exec_request expected;

static void play_examiner(int channel)
{
	send_reply(channel, take_request(channel).id, KGB_EXEC_OK, "A GPU");
	(void)take_request(channel); /* the arena */
	send_reply(channel, 2, KGB_EXEC_OK, "");
	struct kgb_exec_request request = take_request(channel);
	struct kgb_exec_reply reply = {
		.magic = KGB_EXEC_MAGIC,
		.version = KGB_EXEC_VERSION,
		.id = request.id,
		.value = memcmp(&request, &expected, sizeof(request)) == 0,
	};
	(void)!send(channel, &reply, sizeof(reply), MSG_NOSIGNAL);
	pause();
}
static void play_no_driver(int channel)
{
	send_reply(channel, take_request(channel).id, KGB_EXEC_UNAVAILABLE, "no driver\x1b[31m");
	pause();
}
static void play_taken(int channel)
{
	send_reply(channel, take_request(channel).id, KGB_EXEC_RESERVATION, "taken");
	pause();
}
static void play_exit(int channel)
{
	(void)take_request(channel);
	_exit(3);
}
static void play_crash(int channel)
{
	(void)take_request(channel);
	raise(SIGTRAP); /* one that sanitizers leave alone */
}
static void exit_with_3(KGB_UNUSED int signo)
{
	_exit(3);
}
static void play_hang_up(int channel)
{
	(void)take_request(channel);
	close(channel);
	pause();
}
/* As one whose memory the driver gives back only slowly. */
static void play_end_slowly(int channel)
{
	(void)take_request(channel);
	signal(SIGTERM, exit_with_3);
	close(channel);
	pause();
}
static void play_short(int channel)
{
	(void)take_request(channel);
	(void)!send(channel, "good", 4, 0);
	pause();
}
static void play_long(int channel)
{
	static char big[sizeof(struct kgb_exec_reply) + 8];

	(void)take_request(channel);
	(void)!send(channel, big, sizeof(big), 0);
	pause();
}
static void play_old_id(int channel)
{
	send_reply(channel, take_request(channel).id - 1, KGB_EXEC_OK, "");
	pause();
}
static void play_unknown_status(int channel)
{
	send_reply(channel, take_request(channel).id, KGB_EXEC_N_STATUSES, "");
	pause();
}
/* Of a fault that no machine knows, or of none. */
static void send_fault(int channel, uint32_t fault)
{
	struct kgb_exec_reply reply = {.magic = KGB_EXEC_MAGIC,
				       .version = KGB_EXEC_VERSION,
				       .status = KGB_EXEC_KERNEL_FAULT,
				       .id = take_request(channel).id,
				       .device_error = fault};

	(void)!send(channel, &reply, sizeof(reply), 0);
	pause();
}
static void play_unknown_fault(int channel)
{
	send_fault(channel, KGB_EXEC_N_FAULTS);
}
static void play_no_fault(int channel)
{
	send_fault(channel, KGB_EXEC_FAULT_NONE);
}
static void play_endless_text(int channel)
{
	struct kgb_exec_reply reply = {.magic = KGB_EXEC_MAGIC,
				       .version = KGB_EXEC_VERSION,
				       .id = take_request(channel).id,
				       .text_len = KGB_EXEC_TEXT};

	(void)!send(channel, &reply, sizeof(reply), 0);
	pause();
}

static void test_every_behaviour_has_its_outcome(void **state)
{
	static const struct {
		const char *name;
		play_fn play;
		enum kgb_exec_outcome outcome;
		const char *message;
	} cases[] = {
		{"no driver", play_no_driver, KGB_EXEC_NO_GPU, "no driver\\x1b[31m"},
		{"taken", play_taken, KGB_EXEC_NO_GPU, "taken"},
		{"hang", play_hang, KGB_EXEC_TIMED_OUT, "'open' took longer than 500 ms"},
		{"exit", play_exit, KGB_EXEC_DIED, "status 3"},
		{"crash", play_crash, KGB_EXEC_DIED, "signal 5"},
		{"hang up", play_hang_up, KGB_EXEC_BROKE_PROTOCOL, "closed its channel"},
		{"end slowly", play_end_slowly, KGB_EXEC_DIED, "status 3"},
		{"short", play_short, KGB_EXEC_BROKE_PROTOCOL, "length"},
		{"long", play_long, KGB_EXEC_BROKE_PROTOCOL, "length"},
		{"old id", play_old_id, KGB_EXEC_BROKE_PROTOCOL, "another request"},
		{"unknown status", play_unknown_status, KGB_EXEC_BROKE_PROTOCOL, "unknown status"},
		{"unknown fault", play_unknown_fault, KGB_EXEC_BROKE_PROTOCOL, "unknown fault"},
		{"no fault", play_no_fault, KGB_EXEC_BROKE_PROTOCOL, "unknown fault"},
		{"endless text", play_endless_text, KGB_EXEC_BROKE_PROTOCOL, "text"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_exec_client exec;
		struct kgb_err err = KGB_ERR_INIT;
		int64_t begin = kgb_mono_ms();
		enum kgb_exec_outcome outcome = start_fake(&exec, cases[i].play, &err);
		if (outcome != cases[i].outcome || !strstr(err.msg, cases[i].message))
			fail_msg("%s: %s: %s", cases[i].name, kgb_exec_outcome_name(outcome),
				 err.msg);
		assert_true(kgb_mono_ms() - begin < DEADLINE_MS);
		assert_int_equal(exec.process.launcher, 0);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
		kgb_exec_client_stop(&exec);
	}
}

static void test_an_open_device_is_described(void **state)
{
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_int_equal(start_fake(&exec, play_honest, &err), KGB_EXEC_DONE);
	assert_string_equal(exec.device_name, "A GPU");
	assert_int_equal(exec.l2_bytes, 42);
	assert_int_equal(kgb_exec_client_forget(&exec, DEADLINE_MS, &err), KGB_EXEC_DONE);
	kgb_exec_client_stop(&exec);
	kgb_exec_client_stop(&exec);
}

static void play_statuses(int channel)
{
	static const enum kgb_exec_status statuses[] = {
		KGB_EXEC_BAD_REQUEST,  KGB_EXEC_BAD_PLAN,    KGB_EXEC_NO_MEMORY, KGB_EXEC_SLACK,
		KGB_EXEC_KERNEL_FAULT, KGB_EXEC_UNSUPPORTED, KGB_EXEC_GPU_FAULT};

	send_reply(channel, take_request(channel).id, KGB_EXEC_OK, "");
	for (size_t i = 0; i < KGB_ARRAY_LEN(statuses); i++)
		send_reply(channel, take_request(channel).id, statuses[i], "a status");
	pause();
}

static void play_many_conditions(int channel)
{
	struct kgb_exec_reply reply = {.magic = KGB_EXEC_MAGIC, .version = KGB_EXEC_VERSION};

	send_reply(channel, take_request(channel).id, KGB_EXEC_OK, "");
	reply.id = take_request(channel).id;
	reply.value = 1; /* there is no output for it */
	(void)send(channel, &reply, sizeof(reply), 0);
	pause();
}

static void test_more_conditions_than_fit_are_refused(void **state)
{
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_int_equal(start_fake(&exec, play_many_conditions, &err), KGB_EXEC_DONE);
	assert_int_equal(kgb_exec_client_conditions(&exec, DEADLINE_MS, &err),
			 KGB_EXEC_BROKE_PROTOCOL);
	assert_int_equal(exec.process.launcher, 0);
	kgb_exec_client_stop(&exec);
}

static void test_statuses_become_outcomes_and_a_fault_ends_the_process(void **state)
{
	static const enum kgb_exec_outcome outcomes[] = {
		KGB_EXEC_REFUSED,       KGB_EXEC_UNREPLAYABLE, KGB_EXEC_OUT_OF_MEMORY,
		KGB_EXEC_WROTE_OUTSIDE, KGB_EXEC_BROKE_RULE,   KGB_EXEC_UNKNOWN_OPERATION,
		KGB_EXEC_FAULTED};
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_int_equal(start_fake(&exec, play_statuses, &err), KGB_EXEC_DONE);
	for (size_t i = 0; i < KGB_ARRAY_LEN(outcomes); i++) {
		assert_int_equal(kgb_exec_client_forget(&exec, DEADLINE_MS, &err), outcomes[i]);
		assert_string_equal(err.msg, exec.reply.text);
		assert_int_equal(exec.process.launcher == 0, outcomes[i] == KGB_EXEC_FAULTED);
	}
	assert_int_equal(kgb_exec_client_forget(&exec, DEADLINE_MS, &err), KGB_EXEC_DIED);
	kgb_exec_client_stop(&exec);
}

static void test_memory_that_could_shrink_is_refused(void **state)
{
	KGB_AUTO(fd) int sealed = -1;
	KGB_AUTO(fd) int loose = memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(kgb_memfd_sized("sealed", 8192, 0, &sealed, &err), err);
	assert_int_equal(ftruncate(loose, 8192), 0);
	assert_int_equal(start_fake(&exec, play_honest, &err), KGB_EXEC_DONE);
	assert_int_equal(send_whole_arena(&exec, loose, 4096, 2, sealed, 8192, DEADLINE_MS, &err),
			 KGB_EXEC_REFUSED);
	assert_int_equal(send_whole_arena(&exec, sealed, 4096, 2, loose, 8192, DEADLINE_MS, &err),
			 KGB_EXEC_REFUSED);
	assert_int_equal(send_whole_arena(&exec, sealed, 4096, 3, sealed, 8192, DEADLINE_MS, &err),
			 KGB_EXEC_REFUSED);
	assert_int_equal(
		send_whole_arena(&exec, sealed, UINT64_MAX, 2, sealed, 8192, DEADLINE_MS, &err),
		KGB_EXEC_REFUSED);
	assert_int_equal(exec.sets[0].arena_bytes, 0);
	assert_int_equal(send_whole_arena(&exec, sealed, 4096, 2, sealed, 8192, DEADLINE_MS, &err),
			 KGB_EXEC_DONE);
	assert_int_equal(exec.sets[0].arena_bytes, 4096);
	kgb_exec_client_stop(&exec);
}

static void test_results_that_do_not_fit_are_refused(void **state)
{
	const struct kgb_exec_range range = {0, 4096};
	struct kgb_exec_request spec = {
		.prologue = KGB_EXEC_NO_PLAN, .skip = -1, .ranges = {range}, .n_ranges = 1};
	KGB_AUTO(fd) int fd = -1;
	struct kgb_exec_client exec;
	struct kgb_exec_layout layout = {0};
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(kgb_memfd_sized("memory", 8192, 0, &fd, &err), err);
	assert_int_equal(start_fake(&exec, play_honest, &err), KGB_EXEC_DONE);
	assert_int_equal(kgb_exec_client_run(&exec, &spec, &layout, DEADLINE_MS, &err),
			 KGB_EXEC_REFUSED);
	assert_int_equal(send_whole_arena(&exec, fd, 4096, 2, fd, 8192, DEADLINE_MS, &err),
			 KGB_EXEC_DONE);
	assert_int_equal(kgb_exec_client_run(&exec, &spec, &layout, DEADLINE_MS, &err),
			 KGB_EXEC_DONE);
	assert_int_equal(layout.ranges[0], 4096);
	spec.n_samples = 1;
	spec.n_slots = 1;
	assert_int_equal(kgb_exec_client_time(&exec, &spec, &layout, DEADLINE_MS, &err),
			 KGB_EXEC_REFUSED);
	spec.n_ranges = KGB_EXEC_RANGES + 1;
	assert_int_equal(kgb_exec_client_run(&exec, &spec, &layout, DEADLINE_MS, &err),
			 KGB_EXEC_REFUSED);
	kgb_exec_client_stop(&exec);
}

static void test_every_field_of_a_run_reaches_the_process(void **state)
{
	const struct kgb_exec_range range = {KGB_ARENA_ADDRESS + 64, 128};
	const struct kgb_exec_request run = {.plan = 3,
					     .prologue = 2,
					     .skip = 5,
					     .slot = 1,
					     .poison = UINT64_C(0x123456789abcdef0),
					     .ranges = {range},
					     .n_ranges = 1};
	struct kgb_exec_request time = run;

	time.skip = -1;
	time.n_slots = 4;
	time.n_samples = 7;
	time.flush_bytes = 99;
	time.placement = 6;
	time.flags = KGB_EXEC_WITH_ACTIVITY;
	(void)state;
	for (int timed = 0; timed <= 1; timed++) {
		KGB_AUTO(fd) int fd = -1;
		struct kgb_exec_client exec;
		struct kgb_exec_layout layout;
		struct kgb_err err = KGB_ERR_INIT;
		assert_ok(kgb_memfd_sized("memory", 8192, 0, &fd, &err), err);
		expected = timed ? time : run;
		expected.magic = KGB_EXEC_MAGIC;
		expected.version = KGB_EXEC_VERSION;
		expected.op = timed ? KGB_EXEC_TIME : KGB_EXEC_RUN;
		expected.id = 3;
		assert_int_equal(start_fake(&exec, play_examiner, &err), KGB_EXEC_DONE);
		assert_int_equal(send_whole_arena(&exec, fd, 2048, 4, fd, 8192, DEADLINE_MS, &err),
				 KGB_EXEC_DONE);
		assert_int_equal((timed ? kgb_exec_client_time : kgb_exec_client_run)(
					 &exec, timed ? &time : &run, &layout, DEADLINE_MS, &err),
				 KGB_EXEC_DONE);
		assert_int_equal(exec.reply.value, 1);
		kgb_exec_client_stop(&exec);
	}
}

static void test_parts_and_placements_reach_the_process(void **state)
{
	const struct kgb_exec_range parts[] = {{KGB_ARENA_ADDRESS, 7}, {KGB_ARENA_ADDRESS + 9, 30}};
	const struct kgb_exec_range outside = {KGB_ARENA_ADDRESS + 4000, 97};
	struct kgb_exec_request run = {.prologue = KGB_EXEC_NO_PLAN,
				       .skip = -1,
				       .n_samples = 1,
				       .n_slots = 1,
				       .placement = 77};
	struct kgb_exec_arena_spec spec = {.arena_bytes = 4096,
					   .n_slots = 1,
					   .output_bytes = 8192,
					   .parts = parts,
					   .n_parts = 2};
	KGB_AUTO(fd) int fd = -1;
	struct kgb_exec_client exec;
	struct kgb_exec_layout layout;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(kgb_memfd_sized("memory", 8192, 0, &fd, &err), err);
	spec.input_fd = spec.output_fd = fd;
	assert_int_equal(start_fake(&exec, play_echo, &err), KGB_EXEC_DONE);
	assert_int_equal(kgb_exec_client_arena(&exec, &spec, DEADLINE_MS, &err), KGB_EXEC_DONE);
	assert_true(exec.reply.value == 2 * KGB_ARENA_ADDRESS + 7 + 9 + 30);
	assert_int_equal(kgb_exec_client_time(&exec, &run, &layout, DEADLINE_MS, &err),
			 KGB_EXEC_DONE);
	assert_int_equal(exec.reply.value, 77);
	assert_int_equal(kgb_exec_client_place(&exec, 78, DEADLINE_MS, &err), KGB_EXEC_DONE);
	assert_int_equal(exec.reply.value, 78);
	spec.parts = &outside;
	spec.n_parts = 1;
	assert_int_equal(kgb_exec_client_arena(&exec, &spec, DEADLINE_MS, &err), KGB_EXEC_REFUSED);
	assert_int_equal(exec.sets[0].arena_bytes, 0);
	spec.n_parts = KGB_EXEC_RANGES + 1;
	assert_int_equal(kgb_exec_client_arena(&exec, &spec, DEADLINE_MS, &err), KGB_EXEC_REFUSED);
	kgb_exec_client_stop(&exec);
}

static void test_a_machine_without_a_driver_says_what_is_missing(void **state)
{
	const struct kgb_exec_spec spec = {.program = KGB_TEST_BIN_DIR "/kgb-exec",
					   .launcher = KGB_TEST_BIN_DIR "/kgb-launch"};
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY);

	(void)state;
	if (driver || access(spec.program, X_OK) < 0 || access(spec.launcher, X_OK) < 0)
		skip();
	assert_int_equal(kgb_exec_client_start(&exec, &spec, 20000, &err), KGB_EXEC_NO_GPU);
	assert_int_equal(err.kind, KGB_ERR_UNAVAILABLE);
	/* Without a sandbox (no user namespaces) that is what is missing. */
	if (exec.reply.magic == KGB_EXEC_MAGIC)
		assert_non_null(strstr(err.msg, "libcuda.so.1"));
	assert_int_equal(exec.process.launcher, 0);
}

static void test_a_missing_program_is_named(void **state)
{
	const struct kgb_exec_spec spec = {.program = "/nowhere/kgb-exec"};
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_int_equal(kgb_exec_client_start(&exec, &spec, 1000, &err), KGB_EXEC_NO_GPU);
	assert_non_null(strstr(err.msg, "'/nowhere/kgb-exec' not found"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_behaviour_has_its_outcome),
		cmocka_unit_test(test_an_open_device_is_described),
		cmocka_unit_test(test_more_conditions_than_fit_are_refused),
		cmocka_unit_test(test_statuses_become_outcomes_and_a_fault_ends_the_process),
		cmocka_unit_test(test_memory_that_could_shrink_is_refused),
		cmocka_unit_test(test_results_that_do_not_fit_are_refused),
		cmocka_unit_test(test_every_field_of_a_run_reaches_the_process),
		cmocka_unit_test(test_parts_and_placements_reach_the_process),
		cmocka_unit_test(test_a_machine_without_a_driver_says_what_is_missing),
		cmocka_unit_test(test_a_missing_program_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
