/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/sandbox_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"
#include "sandbox/isolation/pidns.h"
#include "sandbox/spawn/sandbox_child.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* One launch on its own loop; what happened. */
struct scene {
	uv_loop_t loop;
	struct kgb_sandbox_child launch;
	struct kgb_policy policy;
	struct kgb_sandbox_child_result result;
	int n_ready, n_done;
	int out_fd; /* read end of stdout */
	uint64_t inode;
	int pidns_fd; /* of the test; -1: it has ended already */
	void (*when_ready)(struct scene *scene, int listen_fd);
};

static void on_ready(struct kgb_sandbox_child *launch, int listen_fd, void *payload)
{
	struct scene *scene = payload;

	assert_ptr_equal(launch, &scene->launch);
	scene->n_ready++;
	scene->inode = launch->status.pidns_inode;
	scene->pidns_fd = kgb_pidns_hold(launch->status.init_pid, &scene->inode);
	if (scene->when_ready)
		scene->when_ready(scene, listen_fd);
	else
		assert_int_equal(listen_fd, -1);
}

static void on_done(struct kgb_sandbox_child *launch, const struct kgb_sandbox_child_result *result,
		    void *payload)
{
	struct scene *scene = payload;

	(void)launch;
	scene->n_done++;
	scene->result = *result;
}

static const struct kgb_sandbox_child_callbacks callbacks = {on_ready, on_done};

/* Run the guest to its end; every handle must be gone then. */
static void play(struct scene *scene, const char *const *args)
{
	struct kgb_err err = KGB_ERR_INIT;
	int out[2];

	if (args)
		guest_policy(&scene->policy, args);
	assert_int_equal(uv_loop_init(&scene->loop), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	scene->out_fd = out[0];
	const struct kgb_sandbox_spec spec = {
		.policy = &scene->policy, .launcher = LAUNCHER, .stdio = {-1, out[1], 2}};
	assert_ok(kgb_sandbox_child_start(&scene->launch, &scene->loop, &spec, &callbacks, scene,
					  &err),
		  &err);
	assert_int_equal(scene->n_done, 0);
	(void)close(out[1]);
	assert_int_equal(uv_run(&scene->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&scene->loop), 0);
	assert_int_equal(scene->n_done, 1);
	(void)close(scene->out_fd);
	kgb_policy_release(&scene->policy);
}

static void assert_nothing_left(struct scene *scene)
{
	assert_int_equal(scene->result.survivors, 0);
	assert_true(scene->inode > 0);
	if (scene->pidns_fd >= 0)
		assert_int_equal(kgb_pidns_count(scene->inode), 0);
	kgb_close(scene->pidns_fd);
}

static void test_a_program_that_ends_is_reported(void **state)
{
	static const struct {
		const char *mode, *arg;
		int exit_code, term_signal;
	} cases[] = {{"exit", "0", 0, 0},
		     {"exit", "3", 3, 0},
		     {"raise", "9", 137, 9},
		     {"raise", "6", 134, 6}};

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct scene scene = {0};
		play(&scene, ARGS(cases[i].mode, cases[i].arg));
		assert_true(scene.result.started);
		assert_int_equal(scene.n_ready, 1);
		assert_int_equal(scene.result.exit_code, cases[i].exit_code);
		assert_int_equal(scene.result.term_signal, cases[i].term_signal);
		assert_false(scene.result.stop_requested);
		assert_false(scene.result.killed);
		assert_true(scene.result.wall_ms >= 0 && scene.result.wall_ms < 30000);
		assert_true(scene.result.max_rss_bytes > 0);
		assert_nothing_left(&scene);
	}
}

static void stop_politely(struct scene *scene, int listen_fd)
{
	assert_int_equal(listen_fd, -1);
	wait_for_text(scene->out_fd, "ready");
	kgb_sandbox_child_stop(&scene->launch, SIGINT, 20000);
}

static void test_a_polite_program_ends_by_itself_when_asked(void **state)
{
	struct scene scene = {.when_ready = stop_politely};

	(void)state;
	need_sandbox();
	play(&scene, ARGS("polite"));
	assert_int_equal(scene.result.exit_code, 7);
	assert_true(scene.result.stop_requested);
	assert_false(scene.result.killed);
	assert_true(scene.result.wall_ms < 30000);
	assert_nothing_left(&scene);
}

/* The request may come when the program does not exist yet, and must not be lost. */
static void stop_at_once(struct scene *scene, int listen_fd)
{
	assert_int_equal(listen_fd, -1);
	kgb_sandbox_child_stop(&scene->launch, SIGTERM, 20000);
}

static void test_a_stop_before_the_program_runs_is_not_lost(void **state)
{
	struct scene scene = {.when_ready = stop_at_once};

	(void)state;
	need_sandbox();
	play(&scene, ARGS("polite"));
	/* 7 when the handler was in place, else the signal itself. */
	assert_true(scene.result.exit_code == 7 || scene.result.exit_code == 128 + SIGTERM);
	assert_false(scene.result.killed);
	assert_true(scene.result.wall_ms < 30000);
	assert_nothing_left(&scene);
}

static void stop_with_short_grace(struct scene *scene, int listen_fd)
{
	assert_int_equal(listen_fd, -1);
	wait_for_text(scene->out_fd, "ready");
	kgb_sandbox_child_stop(&scene->launch, SIGTERM, 200);
}

static void test_a_deaf_program_is_killed_after_the_grace(void **state)
{
	static const char *const modes[] = {"deaf", "daemon", "bomb"};

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < KGB_ARRAY_LEN(modes); i++) {
		struct scene scene = {.when_ready = stop_with_short_grace};
		play(&scene, ARGS(modes[i]));
		assert_true(scene.result.stop_requested);
		assert_true(scene.result.wall_ms < 30000);
		if (kgb_str_eq(modes[i], "deaf")) {
			assert_true(scene.result.killed);
			assert_true(scene.result.wall_ms >= 200);
			assert_int_equal(scene.result.exit_code, 128 + SIGKILL);
		}
		assert_nothing_left(&scene);
	}
}

static void shorten(struct scene *scene, int listen_fd)
{
	assert_int_equal(listen_fd, -1);
	wait_for_text(scene->out_fd, "ready");
	kgb_sandbox_child_stop(&scene->launch, SIGINT, 60000);
	kgb_sandbox_child_stop(&scene->launch, SIGTERM, 100);
	kgb_sandbox_child_stop(&scene->launch, SIGTERM, 60000);
}

static void test_a_second_stop_only_shortens_the_wait(void **state)
{
	struct scene scene = {.when_ready = shorten};

	(void)state;
	need_sandbox();
	play(&scene, ARGS("deaf"));
	assert_true(scene.result.killed);
	assert_true(scene.result.wall_ms >= 100 && scene.result.wall_ms < 30000);
	assert_nothing_left(&scene);
}

static void kill_all(struct scene *scene, int listen_fd)
{
	assert_int_equal(listen_fd, -1);
	kgb_sandbox_child_kill(&scene->launch);
	kgb_sandbox_child_kill(&scene->launch);
	kgb_sandbox_child_stop(&scene->launch, SIGTERM, 1);
}

static void test_a_kill_needs_no_program(void **state)
{
	struct scene scene = {.when_ready = kill_all};

	(void)state;
	need_sandbox();
	play(&scene, ARGS("deaf"));
	assert_true(scene.result.killed);
	assert_int_equal(scene.n_ready, 1);
	assert_nothing_left(&scene);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	char text[8] = "";
	int listener;

	(void)status;
	(void)events;
	assert_int_equal(uv_fileno((uv_handle_t *)poll, &listener), 0);
	int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(connection >= 0);
	assert_int_equal(read(connection, text, sizeof(text)), 5);
	assert_int_equal(write(connection, "world", 5), 5);
	(void)close(connection);
	uv_close((uv_handle_t *)poll, NULL);
	(void)close(listener);
}

static void serve_one(struct scene *scene, int listen_fd)
{
	static uv_poll_t poll;

	assert_true(listen_fd >= 0);
	assert_int_equal(fcntl(listen_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(uv_poll_init(&scene->loop, &poll, listen_fd), 0);
	assert_int_equal(uv_poll_start(&poll, UV_READABLE, on_connection), 0);
}

static void test_the_listening_socket_is_handed_over(void **state)
{
	struct scene scene = {.when_ready = serve_one};

	(void)state;
	need_sandbox();
	guest_policy(&scene.policy, ARGS("client", "8123"));
	scene.policy.network = KGB_NETWORK_LISTENER;
	scene.policy.listen_port = 8123;
	play(&scene, NULL);
	assert_int_equal(scene.result.exit_code, 0);
	assert_int_equal(scene.n_ready, 1);
	assert_nothing_left(&scene);
}

static void test_a_missing_program_is_told(void **state)
{
	struct scene scene = {0};

	(void)state;
	need_sandbox();
	guest_policy(&scene.policy, ARGS("exit"));
	kgb_strv_release(&scene.policy.argv);
	kgb_policy_arg(&scene.policy, "/nonexistent/program");
	play(&scene, NULL);
	assert_true(scene.result.started);
	assert_int_equal(scene.result.exit_code, 1);
	assert_nothing_left(&scene);
}

static void test_bwrap_that_refuses_is_an_error(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct scene scene = {0};

	(void)state;
	need_sandbox();
	guest_policy(&scene.policy, ARGS("exit", "0"));
	assert_int_equal(uv_loop_init(&scene.loop), 0);
	/* A program that ends without a word, in place of bwrap. */
	const struct kgb_sandbox_spec spec = {.policy = &scene.policy,
					      .launcher = LAUNCHER,
					      .bwrap = "/bin/false",
					      .stdio = {-1, -1, -1}};
	assert_ok(kgb_sandbox_child_start(&scene.launch, &scene.loop, &spec, &callbacks, &scene,
					  &err),
		  &err);
	assert_int_equal(uv_run(&scene.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	assert_int_equal(scene.n_done, 1);
	assert_int_equal(scene.n_ready, 0);
	assert_false(scene.result.started);
	assert_int_equal(scene.result.exit_code, -1);
	assert_int_equal(scene.result.survivors, 0);
	assert_int_equal(scene.result.err.kind, KGB_ERR_UNAVAILABLE);
	assert_non_null(strstr(scene.result.err.msg, "status 1"));
	kgb_policy_release(&scene.policy);
}

static void test_a_launcher_that_cannot_run_is_told_by_done(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct scene scene = {0};

	(void)state;
	need_sandbox();
	guest_policy(&scene.policy, ARGS("exit", "0"));
	assert_int_equal(uv_loop_init(&scene.loop), 0);
	/* Executable for access(2), not for execve(2). */
	const struct kgb_sandbox_spec spec = {
		.policy = &scene.policy, .launcher = "/usr", .stdio = {-1, -1, -1}};
	assert_ok(kgb_sandbox_child_start(&scene.launch, &scene.loop, &spec, &callbacks, &scene,
					  &err),
		  &err);
	assert_int_equal(scene.n_done, 0);
	assert_int_equal(uv_run(&scene.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	assert_int_equal(scene.n_done, 1);
	assert_false(scene.result.started);
	assert_non_null(strstr(scene.result.err.msg, "start '/usr'"));
	kgb_policy_release(&scene.policy);
}

static void test_a_bad_policy_fails_before_anything_starts(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct scene scene = {0};

	(void)state;
	kgb_policy_init(&scene.policy);
	assert_int_equal(uv_loop_init(&scene.loop), 0);
	const struct kgb_sandbox_spec spec = {
		.policy = &scene.policy, .launcher = LAUNCHER, .stdio = {-1, -1, -1}};
	assert_int_equal(kgb_sandbox_child_start(&scene.launch, &scene.loop, &spec, &callbacks,
						 &scene, &err),
			 -1);
	assert_non_null(strstr(err.msg, "no command"));
	assert_int_equal(uv_run(&scene.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	assert_int_equal(scene.n_done, 0);
	kgb_policy_release(&scene.policy);
}

/* If the launcher itself is shot, the parent-death signals of bwrap still clear everything, and we
 * prove it. */
static void shoot_launcher(struct scene *scene, int listen_fd)
{
	assert_int_equal(listen_fd, -1);
	wait_for_text(scene->out_fd, "ready");
	assert_int_equal(kill(kgb_sandbox_child_pid(&scene->launch), SIGKILL), 0);
}

static void test_a_shot_launcher_leaves_nothing(void **state)
{
	struct scene scene = {.when_ready = shoot_launcher};

	(void)state;
	need_sandbox();
	play(&scene, ARGS("daemon"));
	assert_true(scene.result.started);
	assert_int_equal(scene.result.exit_code, 128 + SIGKILL);
	assert_nothing_left(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_that_ends_is_reported),
		cmocka_unit_test(test_a_polite_program_ends_by_itself_when_asked),
		cmocka_unit_test(test_a_stop_before_the_program_runs_is_not_lost),
		cmocka_unit_test(test_a_deaf_program_is_killed_after_the_grace),
		cmocka_unit_test(test_a_second_stop_only_shortens_the_wait),
		cmocka_unit_test(test_a_kill_needs_no_program),
		cmocka_unit_test(test_the_listening_socket_is_handed_over),
		cmocka_unit_test(test_a_missing_program_is_told),
		cmocka_unit_test(test_bwrap_that_refuses_is_an_error),
		cmocka_unit_test(test_a_launcher_that_cannot_run_is_told_by_done),
		cmocka_unit_test(test_a_bad_policy_fails_before_anything_starts),
		cmocka_unit_test(test_a_shot_launcher_leaves_nothing),
	};

	return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
