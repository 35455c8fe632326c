/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/store/journal.h"
#include "agent/store/rundir.h"
#include "agent/store/series.h"
#include "base/mem.h"
#include "base/system/fs.h"

/** An empty run with a journal whose last write was at `mtime`. */
static void make_run(const struct scratch *scratch, const char *name, time_t mtime)
{
	KGB_AUTO(free) char *path = kgb_path_join(name, KGB_JOURNAL_NAME);
	assert_ok(kgb_fs_mkdirs(scratch->fd, name, 0755, err));
	assert_ok(kgb_fs_write_atomic(scratch->fd, path, "", 0, 0644, false, err));
	struct timespec times[2] = {{.tv_sec = mtime}, {.tv_sec = mtime}};
	assert_int_equal(utimensat(scratch->fd, path, times, 0), 0);
}

static int n_entries(const char *path)
{
	int n = 0;
	DIR *folder = opendir(path);
	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder));)
		n += entry->d_name[0] != '.';
	closedir(folder);
	return n;
}

static void test_a_new_run_has_its_layout_and_a_telling_name(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(free) char *runs = kgb_path_join(scratch.path, "deep/runs");
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	struct kgb_rundir other = KGB_RUNDIR_INIT;
	assert_ok(kgb_rundir_create(&dir, runs, "normal_cc", "KernelGenBench", err));
	assert_ok(kgb_rundir_create(&other, runs, "normal_cc", "KernelGenBench", err));
	assert_string_not_equal(dir.name, other.name);
	assert_int_equal(strncmp(dir.name, "normal_cc_KernelGenBench_20", 27), 0);
	assert_int_equal(strlen(dir.name),
			 strlen("normal_cc_KernelGenBench_20261121T084348Z_0a1b"));
	assert_true(kgb_fs_exists(dir.fd, "kernels"));
	assert_true(kgb_fs_exists(dir.fd, "attempts"));
	kgb_rundir_release(&dir);
	kgb_rundir_release(&other);
	drop_scratch(&scratch);
}

/* A limit on the size of files stands for a full disk. */
static void test_of_a_run_that_cannot_begin_nothing_stays(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit, none;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	struct kgb_err full = KGB_ERR_INIT;
	int rc = kgb_rundir_create(&dir, scratch.path, "m", "d", &full);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, before);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(full.msg, "lock: write: File too large"));
	assert_int_equal(n_entries(scratch.path), 0);
	assert_ok(kgb_rundir_create(&dir, scratch.path, "m", "d", err));
	assert_ok(kgb_fs_write_atomic(dir.fd, KGB_JOURNAL_NAME, "", 0, 0644, false, err));
	kgb_rundir_discard(&dir);
	assert_int_equal(n_entries(scratch.path), 0);
	kgb_rundir_discard(&dir);
	drop_scratch(&scratch);
}

static void test_a_second_opener_is_told_who_holds_the_run(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	assert_ok(kgb_rundir_create(&dir, scratch.path, "m", "d", err));
	assert_ok(kgb_fs_write_atomic(dir.fd, KGB_JOURNAL_NAME, "", 0, 0644, false, err));
	char owner[64];
	snprintf(owner, sizeof(owner), "is held by process %ld on ", (long)getpid());
	struct kgb_rundir second = KGB_RUNDIR_INIT;
	assert_fails(kgb_rundir_open(&second, scratch.path, dir.name, KGB_RUNDIR_LOCK, err),
		     KGB_ERR_BUSY, owner);
	assert_ok(kgb_rundir_open(&second, scratch.path, dir.name, KGB_RUNDIR_READ, err));
	assert_true(kgb_rundir_is_held(&second));
	kgb_rundir_release(&dir);
	assert_false(kgb_rundir_is_held(&second));
	kgb_rundir_release(&second);
	assert_ok(kgb_rundir_open(&second, scratch.path, NULL, KGB_RUNDIR_LOCK, err));
	kgb_rundir_release(&second);
	drop_scratch(&scratch);
}

static void test_the_lock_dies_with_its_process(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	make_run(&scratch, "run", 1000);
	int ready[2];
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_rundir dir = KGB_RUNDIR_INIT;
		int rc = kgb_rundir_open(&dir, scratch.path, "run", KGB_RUNDIR_LOCK, &err);
		ssize_t n = write(ready[1], rc < 0 ? "!" : "+", 1);
		(void)n;
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	close(ready[1]);
	char answer = 0;
	assert_int_equal(read(ready[0], &answer, 1), 1);
	assert_int_equal(answer, '+');
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	assert_fails(kgb_rundir_open(&dir, scratch.path, "run", KGB_RUNDIR_LOCK, err), KGB_ERR_BUSY,
		     "is held by");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_ok(kgb_rundir_open(&dir, scratch.path, "run", KGB_RUNDIR_LOCK, err));
	kgb_rundir_release(&dir);
	close(ready[0]);
	drop_scratch(&scratch);
}

static void test_the_latest_run_is_the_one_whose_journal_was_written_last(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	assert_fails(kgb_rundir_open(&dir, scratch.path, NULL, KGB_RUNDIR_READ, err),
		     KGB_ERR_NOT_FOUND, "there is no run in");
	make_run(&scratch, "naive_cc_d_1", 3000);
	make_run(&scratch, "normal_cc_d_1", 2000);
	make_run(&scratch, "normal_cc_d_2", 1000);
	assert_ok(kgb_fs_mkdirs(scratch.fd, "not_a_run", 0755, err));
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	assert_ok(kgb_rundir_list(scratch.path, &names, err));
	assert_int_equal(names.n, 3);
	assert_string_equal(names.items[0], "naive_cc_d_1");
	assert_string_equal(names.items[2], "normal_cc_d_2");
	assert_ok(kgb_rundir_open(&dir, scratch.path, NULL, KGB_RUNDIR_READ, err));
	assert_string_equal(dir.name, "naive_cc_d_1");
	kgb_rundir_release(&dir);
	drop_scratch(&scratch);
}

static void test_a_run_is_found_by_name_or_path_and_typos_get_an_answer(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	make_run(&scratch, "normal_cc_d_1", 2000);
	assert_ok(kgb_fs_mkdirs(scratch.fd, "plain", 0755, err));
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	assert_fails(kgb_rundir_open(&dir, scratch.path, "normal_c_d_1", KGB_RUNDIR_READ, err),
		     KGB_ERR_NOT_FOUND, "did you mean 'normal_cc_d_1'");
	KGB_AUTO(free) char *path = kgb_path_join(scratch.path, "normal_cc_d_1");
	assert_ok(kgb_rundir_open(&dir, "/nowhere", path, KGB_RUNDIR_READ, err));
	assert_string_equal(dir.name, "normal_cc_d_1");
	kgb_rundir_release(&dir);
	KGB_AUTO(free) char *plain = kgb_path_join(scratch.path, "plain");
	assert_fails(kgb_rundir_open(&dir, scratch.path, plain, KGB_RUNDIR_LOCK, err),
		     KGB_ERR_NOT_FOUND, "it has no journal.jsonl");
	assert_false(kgb_fs_exists(scratch.fd, "plain/lock"));
	drop_scratch(&scratch);
}

static void test_an_attempt_directory_begins_empty(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	assert_ok(kgb_rundir_create(&dir, scratch.path, "m", "d", err));
	KGB_AUTO(free) char *rel = kgb_rundir_attempt_rel("aten__add", 2);
	assert_string_equal(rel, "attempts/aten__add/002");
	assert_ok(kgb_rundir_make_attempt(&dir, "aten__add", 2, err));
	assert_true(kgb_fs_exists(dir.fd, "attempts/aten__add/002/traffic"));
	assert_true(kgb_fs_exists(dir.fd, "attempts/aten__add/002/verdicts"));
	assert_ok(kgb_fs_write_atomic(dir.fd, "attempts/aten__add/002/prompt.md", "x", 1, 0644,
				      false, err));
	assert_ok(kgb_rundir_make_attempt(&dir, "aten__add", 2, err));
	assert_false(kgb_fs_exists(dir.fd, "attempts/aten__add/002/prompt.md"));
	assert_true(kgb_fs_exists(dir.fd, "attempts/aten__add/002/verdicts"));
	assert_ok(kgb_rundir_write_kernel(&dir, "aten__add", "x = 1\n", 6, err));
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	assert_ok(kgb_fs_read(dir.fd, "kernels/aten__add.py", 100, &text, err));
	assert_string_equal(text.ptr, "x = 1\n");
	kgb_rundir_release(&dir);
	drop_scratch(&scratch);
}

static void test_the_runs_of_a_series_are_named_by_both_folders(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	KGB_AUTO(strv) struct kgb_strv members = KGB_STRV_INIT, names = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv found = KGB_STRV_INIT, none = KGB_STRV_INIT;
	KGB_AUTO(free) char *path = NULL, *again = NULL;
	KGB_STRV_ADD(&members, "b-1", "a-1");
	assert_ok(kgb_series_create(scratch.path, "KernelGenBench", &members, &path, err));
	const char *name = strrchr(path, '/') + 1;
	assert_int_equal(strncmp(name, "series_KernelGenBench_20", 24), 0);
	/* A start that was cut off is no series to go on with. */
	assert_fails(kgb_series_find(scratch.path, name, &again, &none, err), KGB_ERR_NOT_FOUND,
		     "was cut off before its run 'b-1' was made");
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	assert_ok(kgb_rundir_create_in(&dir, path, "b-1", err));
	assert_fails(kgb_rundir_create_in(&dir, path, "b-1", err), KGB_ERR_FAILED, "b-1");
	kgb_rundir_release(&dir);
	KGB_AUTO(free) char *a = kgb_xasprintf("%s/a-1", name);
	KGB_AUTO(free) char *b = kgb_xasprintf("%s/b-1", name);
	make_run(&scratch, "alone", 1000);
	make_run(&scratch, b, 2000);
	make_run(&scratch, a, 3000);
	assert_ok(kgb_rundir_list(scratch.path, &names, err));
	assert_int_equal(names.n, 3);
	assert_string_equal(names.items[0], a);
	assert_string_equal(names.items[1], b);
	assert_string_equal(names.items[2], "alone");
	assert_ok(kgb_rundir_open(&dir, scratch.path, b, KGB_RUNDIR_READ, err));
	KGB_AUTO(free) char *shown = kgb_series_run_name(dir.path);
	assert_string_equal(shown, b);
	kgb_rundir_release(&dir);
	/* By name, by path, and as what the latest run belongs to; in the order of series.json. */
	const char *const words[] = {name, path, NULL};
	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++) {
		KGB_AUTO(strv) struct kgb_strv runs = KGB_STRV_INIT;
		KGB_AUTO(free) char *series = NULL;
		assert_ok(kgb_series_find(scratch.path, words[i], &series, &runs, err));
		assert_non_null(series);
		assert_int_equal(runs.n, 2);
		assert_true(kgb_str_ends(runs.items[0], "/b-1"));
	}
	assert_ok(kgb_series_find(scratch.path, "alone", &again, &found, err));
	assert_null(again);
	drop_scratch(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_run_has_its_layout_and_a_telling_name),
		cmocka_unit_test(test_of_a_run_that_cannot_begin_nothing_stays),
		cmocka_unit_test(test_a_second_opener_is_told_who_holds_the_run),
		cmocka_unit_test(test_the_lock_dies_with_its_process),
		cmocka_unit_test(test_the_latest_run_is_the_one_whose_journal_was_written_last),
		cmocka_unit_test(test_a_run_is_found_by_name_or_path_and_typos_get_an_answer),
		cmocka_unit_test(test_the_runs_of_a_series_are_named_by_both_folders),
		cmocka_unit_test(test_an_attempt_directory_begins_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
