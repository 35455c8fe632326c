/* SPDX-License-Identifier: MIT */
/* A pool of processes, with those of the machine for Triton's IR: who gets which, and what ends
 * them. A child keeps the pool; the tests are its users. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "tests/helpers/whole_arena.h"
#include "tests/unit/base/support.h"
#include "verify/process/exec_client.h"
#include "verify/process/exec_pool.h"

enum { WAIT_MS = 30000 };

static struct {
	const char *dir;
	int dir_fd;
	struct kgb_exec_spec spec; /* of a user */
	pid_t keeper; /* runs the pool */
	int end_fd; /* it ends when this is closed */
} g;

static void run_pool(struct kgb_exec_pool *pool, int end_fd)
{
	struct pollfd fds[1 + KGB_EXEC_POOL_LIST_MAX] = {{.fd = end_fd, .events = POLLIN}};

	do {
		(void)kgb_exec_pool_turn(pool);
		const size_t n = kgb_exec_pool_list(pool, &fds[1], KGB_EXEC_POOL_LIST_MAX);
		(void)poll(fds, n + 1, -1);
	} while (!fds[0].revents);
	kgb_exec_pool_free(pool);
}

/* Fork the keeper of a pool. Returns what it says about its start; "": it started. */
static struct kgb_err open_pool(const char *program, size_t n_spares)
{
	const struct kgb_exec_spec spec = {.on_cpu = true,
					   .n_threads = 1,
					   .program = program,
					   .launcher = KGB_TEST_BIN_DIR "/kgb-launch"};
	struct kgb_exec_pool *pool;
	struct kgb_err err = KGB_ERR_INIT;
	int ends[2], said[2];

	g.spec = (struct kgb_exec_spec){.on_cpu = true, .pool = g.dir};
	assert_true(pipe2(ends, O_CLOEXEC) == 0 && pipe2(said, O_CLOEXEC) == 0);
	fflush(NULL);
	g.keeper = fork();
	assert_true(g.keeper >= 0);
	if (g.keeper == 0) {
		close(ends[1]);
		const int rc = kgb_exec_pool_new(&spec, n_spares, g.dir_fd, &pool, &err);
		(void)!write(said[1], &err, sizeof(err));
		if (rc == 0)
			run_pool(pool, ends[0]);
		_exit(0);
	}
	close(ends[0]);
	g.end_fd = ends[1];
	assert_int_equal(read(said[0], &err, sizeof(err)), sizeof(err));
	close(said[0]);
	close(said[1]);
	return err;
}

static void close_pool(void)
{
	int status;

	close(g.end_fd);
	assert_int_equal(waitpid(g.keeper, &status, 0), g.keeper);
	assert_int_equal(status, 0);
}

/* Get a process. False: there are no user namespaces here. */
static bool get(struct kgb_exec_client *exec)
{
	struct kgb_err err = KGB_ERR_INIT;
	const enum kgb_exec_outcome outcome = kgb_exec_client_start(exec, &g.spec, WAIT_MS, &err);

	if (outcome == KGB_EXEC_NO_GPU && strstr(err.msg, "namespace"))
		return false;
	assert_ok(outcome == KGB_EXEC_DONE ? 0 : -1, err);
	assert_string_equal(exec->device_name, "the machine for Triton's IR");
	return true;
}

static void get_or_skip(struct kgb_exec_client *exec)
{
	if (get(exec))
		return;
	close_pool();
	skip();
}

/* Names a process: the socket that it answers on. */
static ino_t name_of(const struct kgb_exec_client *exec)
{
	struct stat st;

	assert_int_equal(fstat(exec->process.channel_fd, &st), 0);
	return st.st_ino;
}

static void test_only_clean_processes_are_lent_again(void **state)
{
	enum parting { GIVES_BACK, LEAVES, STOPS, VANISHES };
	static const struct {
		const char *name;
		enum parting parting;
		bool again;
	} rows[] = {
		{"given back as clean", GIVES_BACK, true},
		{"given up", LEAVES, false},
		{"stopped", STOPS, false},
		{"its user died", VANISHES, false},
	};
	struct kgb_exec_client first, second;

	(void)state;
	(void)open_pool(KGB_TEST_BIN_DIR "/kgb-exec-cpu", 0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		get_or_skip(&first);
		const ino_t name = name_of(&first);
		/* The descriptor is closed, as at the end of a process, without a message. */
		if (rows[i].parting == VANISHES)
			close(first.process.holder_fd), first.process.holder_fd = -1;
		else if (rows[i].parting != STOPS)
			kgb_exec_client_leave(&first, rows[i].parting == GIVES_BACK, NULL);
		kgb_exec_client_stop(&first);
		assert_true(get(&second));
		if ((name_of(&second) == name) != rows[i].again)
			fail_msg("%s: wrong process", rows[i].name);
		kgb_exec_client_stop(&second);
	}
	close_pool();
}

/* A descriptor of a lock that stands for the lease of a GPU. */
static int open_lock(int how)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/lock", g.dir);
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && (!how || flock(fd, how) == 0));
	return fd;
}

/* Wait until nobody holds that lock. */
static void await_lock(void)
{
	const int64_t deadline_ms = kgb_mono_ms() + WAIT_MS;
	const int fd = open_lock(0);

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		assert_true(kgb_mono_ms() < deadline_ms);
		kgb_sleep_ns(1000000);
	}
	close(fd);
}

/* Others need the memory. A file that somebody can write to takes no seal against writing. */
static void test_a_process_that_waits_holds_no_memory(void **state)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	(void)open_pool(KGB_TEST_BIN_DIR "/kgb-exec-cpu", 0);
	get_or_skip(&exec);
	const int fd = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(send_whole_arena(&exec, fd, 4096, 1, fd, 4096, WAIT_MS, &err),
			 KGB_EXEC_DONE);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	lease.fd = open_lock(LOCK_SH);
	kgb_exec_client_leave(&exec, true, &lease);
	kgb_exec_client_stop(&exec);
	kgb_gpu_lease_give(&lease);
	await_lock();
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	close(fd);
	close_pool();
}

static void test_a_process_has_nothing_of_its_last_user(void **state)
{
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;
	int fd = -1;

	(void)state;
	(void)open_pool(KGB_TEST_BIN_DIR "/kgb-exec-cpu", 1);
	get_or_skip(&exec);
	assert_ok(kgb_memfd_sized("memory", 4096, 0, &fd, &err), err);
	assert_int_equal(send_whole_arena(&exec, fd, 4096, 1, fd, 4096, WAIT_MS, &err),
			 KGB_EXEC_DONE);
	assert_int_equal(kgb_exec_client_conditions(&exec, WAIT_MS, &err), KGB_EXEC_DONE);
	kgb_exec_client_leave(&exec, true, NULL);
	kgb_exec_client_stop(&exec);
	assert_true(get(&exec));
	assert_int_equal(kgb_exec_client_conditions(&exec, WAIT_MS, &err), KGB_EXEC_REFUSED);
	assert_non_null(strstr(err.msg, "there is no arena"));
	kgb_exec_client_stop(&exec);
	close(fd);
	close_pool();
}

/* Whether a process of the pool runs. */
static bool has_processes(void)
{
	KGB_AUTO(free)
	char *path = kgb_xasprintf("/proc/%d/task/%d/children", (int)g.keeper, (int)g.keeper);
	char first;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	const bool has = read(fd, &first, 1) == 1;
	close(fd);
	return has;
}

static void await_processes(bool wanted)
{
	const int64_t deadline_ms = kgb_mono_ms() + WAIT_MS;

	while (has_processes() != wanted) {
		assert_true(kgb_mono_ms() < deadline_ms);
		kgb_sleep_ns(1000000);
	}
}

static void test_a_start_that_nobody_waits_for_leaves_no_process(void **state)
{
	struct kgb_exec_client exec = KGB_EXEC_CLIENT_INIT;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	(void)open_pool(KGB_TEST_BIN_DIR "/kgb-exec-cpu", 0);
	get_or_skip(&exec);
	kgb_exec_client_stop(&exec);
	await_processes(false);
	assert_int_equal(kgb_exec_client_begin(&exec, &g.spec, &err), KGB_EXEC_DONE);
	await_processes(true);
	kgb_exec_client_stop(&exec);
	await_processes(false);
	close_pool();
}

static void test_a_lease_is_held_until_the_process_has_ended(void **state)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	struct kgb_exec_client exec;

	(void)state;
	(void)open_pool(KGB_TEST_BIN_DIR "/kgb-exec-cpu", 0);
	get_or_skip(&exec);
	lease.fd = open_lock(LOCK_SH);
	const int channel = dup(exec.process.channel_fd);
	kgb_exec_client_leave(&exec, false, &lease);
	kgb_gpu_lease_give(&lease);
	await_lock();
	/* Behind an answer that the pool did not read, its end of the socket is closed: it has
	 * ended. */
	char byte;
	ssize_t n;
	do
		n = recv(channel, &byte, 1, MSG_DONTWAIT);
	while (n > 0);
	assert_true(n == 0);
	close(channel);
	close_pool();
}

static void test_spares_serve_several_users_at_once(void **state)
{
	enum { N = 3 };
	struct kgb_exec_client users[N + 1];

	(void)state;
	(void)open_pool(KGB_TEST_BIN_DIR "/kgb-exec-cpu", N);
	for (size_t i = 0; i < N + 1; i++) {
		get_or_skip(&users[i]);
		for (size_t k = 0; k < i; k++)
			assert_true(name_of(&users[i]) != name_of(&users[k]));
	}
	for (size_t i = 0; i < N + 1; i++)
		kgb_exec_client_leave(&users[i], true, NULL);
	close_pool();
}

static void test_a_process_of_a_user_that_ends_by_itself_is_reported(void **state)
{
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	(void)open_pool(KGB_TEST_BIN_DIR "/kgb-exec-cpu", 1);
	get_or_skip(&exec);
	/* It ends when its socket says that nobody is there any more. */
	assert_int_equal(shutdown(exec.process.channel_fd, SHUT_WR), 0);
	assert_int_equal(kgb_exec_client_forget(&exec, WAIT_MS, &err), KGB_EXEC_DIED);
	assert_int_equal(exec.process.end_value, 0);
	assert_false(kgb_exec_process_lives(&exec.process));
	kgb_exec_client_stop(&exec);
	close_pool();
}

static void test_the_pool_ends_what_it_lent(void **state)
{
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	(void)open_pool(KGB_TEST_BIN_DIR "/kgb-exec-cpu", 0);
	get_or_skip(&exec);
	close_pool();
	assert_int_equal(kgb_exec_client_forget(&exec, WAIT_MS, &err), KGB_EXEC_DIED);
	kgb_exec_client_stop(&exec);
	assert_int_equal(kgb_exec_client_start(&exec, &g.spec, WAIT_MS, &err), KGB_EXEC_NO_GPU);
	assert_non_null(strstr(err.msg, "is 'kgb-judge zygotes' running?"));
}

static void test_a_pool_without_a_program_says_so(void **state)
{
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	const struct kgb_err why = open_pool("/nowhere/kgb-exec-cpu", 1);
	assert_non_null(strstr(why.msg, "'/nowhere/kgb-exec-cpu' not found"));
	close_pool();
	(void)open_pool("/nowhere/kgb-exec-cpu", 0);
	assert_int_equal(kgb_exec_client_start(&exec, &g.spec, WAIT_MS, &err), KGB_EXEC_NO_GPU);
	assert_non_null(strstr(err.msg, "'/nowhere/kgb-exec-cpu' not found"));
	close_pool();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_clean_processes_are_lent_again),
		cmocka_unit_test(test_a_process_that_waits_holds_no_memory),
		cmocka_unit_test(test_a_process_has_nothing_of_its_last_user),
		cmocka_unit_test(test_a_start_that_nobody_waits_for_leaves_no_process),
		cmocka_unit_test(test_a_lease_is_held_until_the_process_has_ended),
		cmocka_unit_test(test_spares_serve_several_users_at_once),
		cmocka_unit_test(test_a_process_of_a_user_that_ends_by_itself_is_reported),
		cmocka_unit_test(test_the_pool_ends_what_it_lent),
		cmocka_unit_test(test_a_pool_without_a_program_says_so),
	};
	struct tmpdir *dir;
	struct kgb_err err = KGB_ERR_INIT;

	if (tmpdir_setup((void **)&dir) != 0)
		return 1;
	g.dir = dir->path;
	g.dir_fd = dir->fd;
	const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)!kgb_fs_remove_tree(AT_FDCWD, g.dir, &err);
	kgb_free(dir);
	return n_failed;
}
