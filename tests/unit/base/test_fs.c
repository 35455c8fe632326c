/* SPDX-License-Identifier: MIT */
#include "base/system/fs.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/str.h"
#include "tests/unit/base/support.h"

/* ---- faults ---- */

static struct {
	size_t write_at_most; /* short writes; 0: no limit */
	int eintr_left; /* interrupted writes before one works */
	int write_errno, fsync_errno, rename_errno;
	int n_fsync;
} faults;

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	if (faults.write_errno) {
		errno = faults.write_errno;
		return -1;
	}
	if (faults.eintr_left > 0) {
		faults.eintr_left--;
		errno = EINTR;
		return -1;
	}
	if (faults.write_at_most && len > faults.write_at_most)
		len = faults.write_at_most;
	return __real_write(fd, data, len);
}

int __wrap_fsync(int fd)
{
	faults.n_fsync++;
	errno = faults.fsync_errno;
	return faults.fsync_errno ? -1 : __real_fsync(fd);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	errno = faults.rename_errno;
	return faults.rename_errno ? -1 : __real_renameat(from_dir, from, to_dir, to);
}

static int fresh_setup(void **state)
{
	memset(&faults, 0, sizeof(faults));
	return tmpdir_setup(state);
}

static int fresh_teardown(void **state)
{
	struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	memset(&faults, 0, sizeof(faults));
	int rc = kgb_fs_remove_tree(AT_FDCWD, dir->path, &err);
	close(dir->fd);
	kgb_free(dir);
	return rc;
}

static void assert_file(int dir_fd, const char *name, const char *text)
{
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_read(dir_fd, name, 1 << 20, &buf, &err), err);
	assert_string_equal(buf.ptr, text);
}

/* ---- reading ---- */

static void test_read_respects_the_limit_exactly(void **state)
{
	const struct tmpdir *dir = *state;
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	put_file(dir->fd, "f", "12345");
	kgb_buf_adds(&buf, "old");
	assert_ok(kgb_fs_read(dir->fd, "f", 5, &buf, &err), err);
	assert_string_equal(buf.ptr, "12345");
	assert_fails(kgb_fs_read(dir->fd, "f", 4, &buf, &err), err, "'f': larger than 4 bytes");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	KGB_AUTO(buf) struct kgb_buf tight = KGB_BUF_INIT(3);
	assert_fails(kgb_fs_read(dir->fd, "f", 100, &tight, &err), err, "'f': larger than 3 bytes");
}

static void test_read_of_large_files_is_whole(void **state)
{
	const struct tmpdir *dir = *state;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf back = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	for (int i = 0; i < 50000; i++)
		kgb_buf_addf(&text, "%d\n", i);
	assert_ok(kgb_fs_write_atomic(dir->fd, "big", text.ptr, text.len, 0644, false, &err), err);
	assert_ok(kgb_fs_read(dir->fd, "big", 1 << 20, &back, &err), err);
	assert_int_equal(back.len, text.len);
	assert_memory_equal(back.ptr, text.ptr, text.len);
}

static void test_read_says_what_is_wrong(void **state)
{
	const struct tmpdir *dir = *state;
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	assert_fails(kgb_fs_read(dir->fd, "none", 9, &buf, &err), err,
		     "open 'none': No such file or directory");
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
	assert_int_equal(mkdirat(dir->fd, "d", 0755), 0);
	assert_fails(kgb_fs_read(dir->fd, "d", 9, &buf, &err), err,
		     "'d' is a directory: a regular file is required");
	assert_int_equal(mkfifoat(dir->fd, "p", 0644), 0);
	assert_fails(kgb_fs_read(dir->fd, "p", 9, &buf, &err), err,
		     "'p' is a fifo: a regular file is required");
	assert_fails(kgb_fs_read(AT_FDCWD, "/dev/null", 9, &buf, &err), err,
		     "'/dev/null' is a device: a regular file is required");
	assert_fails(kgb_fs_read_fd(-1, 9, &buf, &err), err, "read: Bad file descriptor");
}

static void test_opendir(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	int fd = -7;

	put_file(dir->fd, "f", "");
	assert_fails(kgb_fs_opendir(dir->fd, "f", &fd, &err), err,
		     "open directory 'f': Not a directory");
	assert_int_equal(fd, -7);
	assert_ok(kgb_fs_opendir(dir->fd, ".", &fd, &err), err);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

/* ---- untrusted files ---- */

static void make_socket(const struct tmpdir *dir)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/ws/sock", dir->path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
}

static void test_untrusted_open_refuses_everything_but_a_plain_file(void **state)
{
	static const struct {
		const char *path;
		enum kgb_err_kind kind;
		const char *msg;
	} cases[] = {
		{"none.py", KGB_ERR_NOT_FOUND, "open 'none.py': No such file or directory"},
		{"link.py", KGB_ERR_DENIED,
		 "'link.py' is or passes a symbolic link: a regular file is required"},
		{"dangling.py", KGB_ERR_DENIED,
		 "'dangling.py' is or passes a symbolic link: a regular file is required"},
		{"linkdir/good.py", KGB_ERR_DENIED,
		 "'linkdir/good.py' is or passes a symbolic link: a regular file is required"},
		{"fifo", KGB_ERR_DENIED, "'fifo' is a fifo: a regular file is required"},
		{"sock", KGB_ERR_DENIED,
		 "'sock' is a socket or a device: a regular file is required"},
		{"dir", KGB_ERR_DENIED, "'dir' is a directory: a regular file is required"},
		{"hard.py", KGB_ERR_DENIED,
		 "'hard.py' has 2 hard links: a file with one name is required"},
		{"../outside.py", KGB_ERR_DENIED, "'../outside.py' leaves its directory"},
		{"dir/../../outside.py", KGB_ERR_DENIED,
		 "'dir/../../outside.py' leaves its directory"},
		{"/etc/passwd", KGB_ERR_DENIED, "'/etc/passwd' leaves its directory"},
		{"big.py", KGB_ERR_LIMIT, "'big.py' is larger than 5 bytes"},
	};
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(fd) int ws = -1;
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(0);

	assert_ok(kgb_fs_mkdirs(dir->fd, "ws/dir", 0755, &err), err);
	assert_ok(kgb_fs_opendir(dir->fd, "ws", &ws, &err), err);
	put_file(dir->fd, "outside.py", "x");
	put_file(ws, "good.py", "12345");
	put_file(ws, "big.py", "123456");
	put_file(ws, "hard.py", "1");
	assert_int_equal(linkat(ws, "hard.py", ws, "hard2.py", 0), 0);
	assert_int_equal(symlinkat("good.py", ws, "link.py"), 0);
	assert_int_equal(symlinkat("nowhere", ws, "dangling.py"), 0);
	assert_int_equal(symlinkat(".", ws, "linkdir"), 0);
	assert_int_equal(mkfifoat(ws, "fifo", 0644), 0);
	make_socket(dir);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		int fd = -7;
		assert_fails(kgb_fs_open_untrusted(ws, cases[i].path, 5, &fd, &err), err,
			     cases[i].msg);
		assert_int_equal(err.kind, cases[i].kind);
		assert_int_equal(fd, -7);
		assert_fails(kgb_fs_read_untrusted(ws, cases[i].path, 5, &buf, &err), err,
			     cases[i].msg);
	}
	assert_ok(kgb_fs_read_untrusted(ws, "good.py", 5, &buf, &err), err);
	assert_string_equal(buf.ptr, "12345");
	assert_ok(kgb_fs_read_untrusted(ws, "dir/../good.py", 5, &buf, &err), err);
}

/* The kernel does not vouch for a walk through ".." while anything anywhere is renamed. */
static void test_untrusted_open_does_not_mind_renames_elsewhere(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_mkdirs(dir->fd, "d/e", 0755, &err), err);
	put_file(dir->fd, "f", "x");
	put_file(dir->fd, "d/here", "x");
	pid_t renamer = fork();
	assert_true(renamer >= 0);
	if (renamer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		for (;;) {
			renameat(dir->fd, "d/here", dir->fd, "d/there");
			renameat(dir->fd, "d/there", dir->fd, "d/here");
		}
	}
	int n_failed = 0;
	for (int i = 0; i < 20000; i++) {
		KGB_AUTO(fd) int fd = -1;
		n_failed += kgb_fs_open_untrusted(dir->fd, "d/e/../../f", 5, &fd, &err) < 0;
	}
	kill(renamer, SIGKILL);
	assert_int_equal(waitpid(renamer, NULL, 0), renamer);
	assert_int_equal(n_failed, 0);
}

static void test_untrusted_open_finds_a_file_that_is_being_replaced(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	put_file(dir->fd, "f", "x");
	pid_t editor = fork();
	assert_true(editor >= 0);
	if (editor == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		for (;;) {
			close(openat(dir->fd, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
			renameat(dir->fd, "new", dir->fd, "f");
		}
	}
	int n_failed = 0;
	for (int i = 0; i < 5000; i++) {
		KGB_AUTO(fd) int fd = -1;
		n_failed += kgb_fs_open_untrusted(dir->fd, "f", 5, &fd, &err) < 0;
	}
	kill(editor, SIGKILL);
	assert_int_equal(waitpid(editor, NULL, 0), editor);
	assert_int_equal(n_failed, 0);
}

static void test_untrusted_open_refuses_a_file_under_a_lease(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	int fd = -7;

	put_file(dir->fd, "f", "x");
	KGB_AUTO(fd) int holder = openat(dir->fd, "f", O_RDWR | O_CLOEXEC);
	/* Who opens a leased file signals its holder, which is this test. */
	assert_true(signal(SIGIO, SIG_IGN) != SIG_ERR);
	if (fcntl(holder, F_SETLEASE, F_WRLCK) < 0)
		skip(); /* a file system without leases */
	assert_fails(kgb_fs_open_untrusted(dir->fd, "f", 5, &fd, &err), err,
		     "'f' is held or moved by another process");
	assert_int_equal(err.kind, KGB_ERR_DENIED);
	assert_int_equal(fd, -7);
}

static void test_untrusted_files_are_opened_close_on_exec(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(fd) int fd = -1;

	put_file(dir->fd, "f", "");
	assert_ok(kgb_fs_open_untrusted(dir->fd, "f", 0, &fd, &err), err);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/* ---- writing ---- */

static void test_write_all_survives_short_and_interrupted_writes(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	int fd = openat(dir->fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	faults.write_at_most = 3;
	faults.eintr_left = 2;
	assert_ok(kgb_fs_write_all(fd, "0123456789", 10, &err), err);
	faults.write_errno = ENOSPC;
	assert_fails(kgb_fs_write_all(fd, "x", 1, &err), err, "write: No space left on device");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	close(fd);
	assert_file(dir->fd, "f", "0123456789");
}

static void test_atomic_write_replaces_and_sets_the_mode(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	struct stat st;
	mode_t old_umask = umask(0077);

	assert_ok(kgb_fs_mkdirs(dir->fd, "sub", 0755, &err), err);
	assert_ok(kgb_fs_write_atomic(dir->fd, "sub/f", "one", 3, 0644, true, &err), err);
	assert_file(dir->fd, "sub/f", "one");
	assert_int_equal(fstatat(dir->fd, "sub/f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_ok(kgb_fs_write_atomic(dir->fd, "sub/f", "", 0, 0600, true, &err), err);
	umask(old_umask);
	assert_file(dir->fd, "sub/f", "");
	assert_int_equal(fstatat(dir->fd, "sub/f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(count_entries(dir->fd, "sub"), 1);
	char absolute[128];
	snprintf(absolute, sizeof(absolute), "%s/sub/g", dir->path);
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, absolute, "abs", 3, 0644, false, &err), err);
	assert_file(dir->fd, "sub/g", "abs");
}

static void test_atomic_write_syncs_file_and_directory_or_nothing(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_write_atomic(dir->fd, "f", "x", 1, 0644, true, &err), err);
	assert_int_equal(faults.n_fsync, 2);
	assert_ok(kgb_fs_write_atomic(dir->fd, "f", "x", 1, 0644, false, &err), err);
	assert_int_equal(faults.n_fsync, 2);
}

static void test_a_failed_atomic_write_leaves_the_old_file_alone(void **state)
{
	static const struct {
		int write_errno, fsync_errno, rename_errno;
		const char *msg;
	} cases[] = {
		{ENOSPC, 0, 0, "write 'f': write: No space left on device"},
		{0, EIO, 0, "write 'f': sync: Input/output error"},
		{0, 0, EACCES, "write 'f': Permission denied"},
	};
	const struct tmpdir *dir = *state;

	put_file(dir->fd, "f", "old");
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		faults.write_errno = cases[i].write_errno;
		faults.fsync_errno = cases[i].fsync_errno;
		faults.rename_errno = cases[i].rename_errno;
		assert_fails(kgb_fs_write_atomic(dir->fd, "f", "new", 3, 0644, true, &err), err,
			     cases[i].msg);
		memset(&faults, 0, sizeof(faults));
		assert_file(dir->fd, "f", "old");
		assert_int_equal(count_entries(dir->fd, "."), 1);
	}
}

static void test_a_file_that_hits_the_size_limit_midway_leaves_the_old_one(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	struct rlimit old, small;
	char data[1000] = {0};

	put_file(dir->fd, "f", "old");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){100, old.rlim_max};
	void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int rc = kgb_fs_write_atomic(dir->fd, "f", data, sizeof(data), 0644, true, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, old_handler);
	assert_int_equal(rc, -1);
	assert_string_equal(err.msg, "write 'f': write: File too large");
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	assert_file(dir->fd, "f", "old");
	assert_int_equal(count_entries(dir->fd, "."), 1);
}

static void test_atomic_write_to_bad_places(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_fails(kgb_fs_write_atomic(dir->fd, "no/f", "x", 1, 0644, true, &err), err,
		     "write 'no/f': No such file or directory");
	assert_ok(kgb_fs_mkdirs(dir->fd, "d", 0755, &err), err);
	assert_fails(kgb_fs_write_atomic(dir->fd, "d", "x", 1, 0644, true, &err), err,
		     "write 'd': Is a directory");
	assert_int_equal(count_entries(dir->fd, "."), 1);
}

static void test_atomic_write_replaces_a_link_not_its_target(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	put_file(dir->fd, "target", "old");
	assert_int_equal(symlinkat("target", dir->fd, "f"), 0);
	assert_ok(kgb_fs_write_atomic(dir->fd, "f", "new", 3, 0644, false, &err), err);
	assert_file(dir->fd, "target", "old");
	assert_file(dir->fd, "f", "new");
}

/* ---- directories ---- */

static void test_mkdirs(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_mkdirs(dir->fd, "a/b//c/", 0755, &err), err);
	assert_ok(kgb_fs_mkdirs(dir->fd, "a/b/c", 0755, &err), err);
	assert_ok(kgb_fs_mkdirs(dir->fd, ".", 0755, &err), err);
	assert_true(kgb_fs_exists(dir->fd, "a/b/c"));
	assert_false(kgb_fs_exists(dir->fd, "a/b/d"));
	put_file(dir->fd, "f", "");
	assert_fails(kgb_fs_mkdirs(dir->fd, "f", 0755, &err), err,
		     "create directory 'f': Not a directory");
	assert_fails(kgb_fs_mkdirs(dir->fd, "f/g", 0755, &err), err,
		     "create directory 'f/g': Not a directory");
	assert_fails(kgb_fs_mkdirs(dir->fd, "", 0755, &err), err,
		     "create directory '': No such file or directory");
	char absolute[128];
	snprintf(absolute, sizeof(absolute), "%s/x/y", dir->path);
	assert_ok(kgb_fs_mkdirs(AT_FDCWD, absolute, 0755, &err), err);
	assert_true(kgb_fs_exists(dir->fd, "x/y"));
}

/* ---- paths ---- */

static void test_path_join(void **state)
{
	static const struct {
		const char *a, *b, *expected;
	} cases[] = {
		{"a", "b", "a/b"}, {"a/", "b", "a/b"},        {"a//", "//b", "a/b"},
		{"/", "b", "/b"},  {"//", "b", "/b"},         {"", "b", "b"},
		{"a", "", "a/"},   {"a/b", "c/d", "a/b/c/d"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(free) char *joined = kgb_path_join(cases[i].a, cases[i].b);
		assert_string_equal(joined, cases[i].expected);
	}
}

static void test_path_real(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	put_file(dir->fd, "f", "");
	assert_int_equal(symlinkat("f", dir->fd, "l"), 0);
	KGB_AUTO(free) char *link = kgb_path_join(dir->path, "./l");
	KGB_AUTO(free) char *real = kgb_path_real(link, &err);
	assert_true(kgb_str_ends(real, "/f"));
	assert_null(kgb_path_real("/nonexistent/x", &err));
	assert_string_equal(err.msg, "'/nonexistent/x': No such file or directory");
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
}

static void test_path_self_dir_holds_this_test(void **state)
{
	(void)state;
	KGB_AUTO(free) char *self = kgb_path_self_dir();
	KGB_AUTO(free) char *path = kgb_path_join(self, "test_fs");
	assert_int_equal(self[0], '/');
	assert_true(kgb_fs_exists(AT_FDCWD, path));
}

static void test_path_which(void **state)
{
	const struct tmpdir *dir = *state;

	put_file(dir->fd, "plain", "");
	put_file(dir->fd, "tool", "#!/bin/sh\n");
	assert_int_equal(fchmodat(dir->fd, "tool", 0755, 0), 0);
	assert_int_equal(mkdirat(dir->fd, "folder", 0755), 0);
	KGB_AUTO(free) char *path = kgb_xasprintf("/nonexistent::%s:/bin", dir->path);
	KGB_AUTO(free) char *expected = kgb_path_join(dir->path, "tool");
	KGB_AUTO(free) char *found = kgb_path_which("tool", path);
	assert_string_equal(found, expected);
	KGB_AUTO(free) char *direct = kgb_path_which(expected, NULL);
	assert_string_equal(direct, expected);
	KGB_AUTO(free) char *sh = kgb_path_which("sh", path);
	assert_string_equal(sh, "/bin/sh");
	assert_null(kgb_path_which("plain", path));
	assert_null(kgb_path_which("folder", path));
	assert_null(kgb_path_which("", path));
	assert_null(kgb_path_which("tool", ""));
	assert_null(kgb_path_which("tool", NULL));
	assert_null(kgb_path_which("./nonexistent", path));
}

#define fs_test(f) cmocka_unit_test_setup_teardown(f, fresh_setup, fresh_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		fs_test(test_read_respects_the_limit_exactly),
		fs_test(test_read_of_large_files_is_whole),
		fs_test(test_read_says_what_is_wrong),
		fs_test(test_opendir),
		fs_test(test_untrusted_open_refuses_everything_but_a_plain_file),
		fs_test(test_untrusted_open_does_not_mind_renames_elsewhere),
		fs_test(test_untrusted_open_finds_a_file_that_is_being_replaced),
		fs_test(test_untrusted_open_refuses_a_file_under_a_lease),
		fs_test(test_untrusted_files_are_opened_close_on_exec),
		fs_test(test_write_all_survives_short_and_interrupted_writes),
		fs_test(test_atomic_write_replaces_and_sets_the_mode),
		fs_test(test_atomic_write_syncs_file_and_directory_or_nothing),
		fs_test(test_a_failed_atomic_write_leaves_the_old_file_alone),
		fs_test(test_a_file_that_hits_the_size_limit_midway_leaves_the_old_one),
		fs_test(test_atomic_write_to_bad_places),
		fs_test(test_atomic_write_replaces_a_link_not_its_target),
		fs_test(test_mkdirs),
		cmocka_unit_test(test_path_join),
		fs_test(test_path_real),
		cmocka_unit_test(test_path_self_dir_holds_this_test),
		fs_test(test_path_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
