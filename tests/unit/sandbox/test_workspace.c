/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/workspace.h"
#include "tests/unit/sandbox/workspace_history.h"

#define assert_ok(call, err)                                        \
	do {                                                        \
		if ((call) != 0) {                                  \
			print_error("%s: %s\n", #call, (err)->msg); \
			fail();                                     \
		}                                                   \
	} while (0)

/* A directory of its own for each test. */
struct place {
	char root[32];
	char *worktree, *git_dir;
	struct kgb_workspace ws;
};

static const struct kgb_workspace_file first_files[] = {{"PROMPT.md", "write add\n", 10},
							{"RULES.md", "be honest\n", 10}};

static int set_up(void **state)
{
	struct place *place = kgb_xcalloc(1, sizeof(*place));
	struct kgb_err err = KGB_ERR_INIT;

	(void)snprintf(place->root, sizeof(place->root), "/tmp/kgb-test-XXXXXX");
	if (!mkdtemp(place->root))
		return -1;
	place->worktree = kgb_path_join(place->root, "ws");
	place->git_dir = kgb_path_join(place->root, "git");
	const struct kgb_workspace_spec spec = {.worktree = place->worktree,
						.git_dir = place->git_dir,
						.files = first_files,
						.n_files = KGB_ARRAY_LEN(first_files),
						.message = "prompt for aten::add"};
	*state = place;
	if (kgb_workspace_create(&place->ws, &spec, &err) == 0)
		return 0;
	print_error("%s\n", err.msg);
	return -1;
}

static int tear_down(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;

	kgb_workspace_release(&place->ws);
	int rc = kgb_fs_remove_tree(AT_FDCWD, place->root, &err);
	kgb_free(place->worktree);
	kgb_free(place->git_dir);
	kgb_free(place);
	return rc;
}

static void write_kernel(const struct place *place, const char *text)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_write_atomic(place->ws.worktree_fd, KGB_WORKSPACE_KERNEL, text,
				      strlen(text), 0644, false, &err),
		  &err);
}

static struct kgb_workspace_commit commit(struct place *place, const char *message)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_workspace_commit made;

	assert_ok(kgb_workspace_commit(&place->ws, message, &made, &err), &err);
	return made;
}

/* One line of history: "message|kernel?|note". */
static int add_entry(const struct kgb_workspace_entry *entry, void *payload)
{
	assert_int_equal(strlen(entry->oid), 40);
	assert_true(entry->time_s > 1600000000);
	return kgb_buf_addf(payload, "%s|%s|%s\n", entry->message,
			    entry->kernel_oid[0] ? "kernel" : "-", entry->note ? entry->note : "-");
}

static void assert_history(struct place *place, const char *expected)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf lines = KGB_BUF_INIT(0);

	assert_ok(kgb_workspace_history(&place->ws, add_entry, &lines, &err), &err);
	assert_string_equal(lines.ptr, expected);
}

/* Output of the git program on the repository; NULL when there is no git. malloc'ed. */
static char *git_says(const struct place *place, const char *const *args)
{
	const char *argv[16] = {"git", "--git-dir", place->git_dir};
	int n = 3;
	int out[2];
	int status;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	for (; *args; args++)
		argv[n++] = *args;
	argv[n] = NULL;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		(void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
		(void)setenv("HOME", place->root, 1);
		(void)execvp("git", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	(void)close(out[1]);
	assert_ok(kgb_fs_read_fd(out[0], 1 << 20, &text, &err), &err);
	(void)close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return NULL;
	assert_int_equal(status, 0);
	return kgb_buf_take(&text);
}

static void test_the_first_commit_holds_prompt_and_instructions(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	assert_history(place, "prompt for aten::add|-|-\n");
	assert_ok(kgb_fs_read(place->ws.worktree_fd, "PROMPT.md", 100, &text, &err), &err);
	assert_string_equal(text.ptr, "write add\n");
	assert_false(kgb_fs_exists(place->ws.worktree_fd, ".git"));
}

static void test_each_change_of_the_kernel_is_one_commit(void **state)
{
	struct place *place = *state;

	assert_false(commit(place, "nothing").changed);
	write_kernel(place, "one\n");
	struct kgb_workspace_commit one = commit(place, "first kernel");
	assert_true(one.changed);
	assert_null(one.refusal);
	struct kgb_workspace_commit again = commit(place, "same kernel");
	assert_false(again.changed);
	assert_string_equal(again.oid, one.oid);
	assert_string_equal(again.kernel_oid, one.kernel_oid);
	write_kernel(place, "two\n");
	struct kgb_workspace_commit two = commit(place, "second kernel");
	assert_true(two.changed);
	assert_string_not_equal(two.oid, one.oid);
	assert_string_not_equal(two.kernel_oid, one.kernel_oid);
	assert_int_equal(unlinkat(place->ws.worktree_fd, KGB_WORKSPACE_KERNEL, 0), 0);
	struct kgb_workspace_commit gone = commit(place, "kernel removed");
	assert_true(gone.changed);
	assert_string_equal(gone.kernel_oid, "");
	assert_history(
		place,
		"prompt for aten::add|-|-\nfirst kernel|kernel|-\nsecond kernel|kernel|-\nkernel removed|-|-\n");
}

/* What was judged is what the history shows, also when the agent has changed the file since. */
static void test_a_judged_kernel_is_committed_as_it_was(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_workspace_commit first;
	struct kgb_workspace_commit second;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);

	write_kernel(place, "changed since\n");
	assert_ok(kgb_workspace_commit_kernel(&place->ws, "judged\n", 7, "check 1", &first, &err),
		  &err);
	assert_ok(kgb_workspace_commit_kernel(&place->ws, "judged\n", 7, "check 2", &second, &err),
		  &err);
	assert_true(first.changed && second.changed);
	assert_string_not_equal(first.oid, second.oid);
	assert_string_equal(first.kernel_oid, second.kernel_oid);
	assert_ok(kgb_workspace_kernel_at(&place->ws, second.oid, &text, &err), &err);
	assert_string_equal(text.ptr, "judged\n");
	assert_history(place, "prompt for aten::add|-|-\ncheck 1|kernel|-\ncheck 2|kernel|-\n");
}

static void test_old_kernels_can_be_read(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf small = KGB_BUF_INIT(3);

	write_kernel(place, "one\n");
	struct kgb_workspace_commit one = commit(place, "1");
	write_kernel(place, "two\n");
	struct kgb_workspace_commit two = commit(place, "2");
	assert_ok(kgb_workspace_kernel_at(&place->ws, one.oid, &text, &err), &err);
	assert_string_equal(text.ptr, "one\n");
	assert_ok(kgb_workspace_kernel_at(&place->ws, two.oid, &text, &err), &err);
	assert_string_equal(text.ptr, "two\n");
	assert_int_equal(kgb_workspace_kernel_at(&place->ws, two.oid, &small, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	err = (struct kgb_err)KGB_ERR_INIT;
	assert_int_equal(kgb_workspace_kernel_at(&place->ws, "main", &text, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_INVALID);
}

static void test_a_commit_without_kernel_says_so(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	struct kgb_workspace_commit head = commit(place, "nothing");

	assert_int_equal(kgb_workspace_kernel_at(&place->ws, head.oid, &text, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
	err = (struct kgb_err)KGB_ERR_INIT;
	assert_int_equal(kgb_workspace_kernel_at(&place->ws,
						 "0123456789012345678901234567890123456789", &text,
						 &err),
			 -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
}

static void test_verdicts_are_notes_and_can_be_replaced(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;

	write_kernel(place, "one\n");
	struct kgb_workspace_commit one = commit(place, "1");
	write_kernel(place, "two\n");
	struct kgb_workspace_commit two = commit(place, "2");
	assert_ok(kgb_workspace_note(&place->ws, one.oid, "{\"status\":\"failed\"}", &err), &err);
	assert_ok(kgb_workspace_note(&place->ws, two.oid, "{\"status\":\"failed\"}", &err), &err);
	assert_ok(kgb_workspace_note(&place->ws, two.oid, "{\"status\":\"passed\"}", &err), &err);
	assert_history(
		place,
		"prompt for aten::add|-|-\n1|kernel|{\"status\":\"failed\"}\n2|kernel|{\"status\":\"passed\"}\n");
	assert_int_equal(kgb_workspace_note(&place->ws, "0123456789012345678901234567890123456789",
					    "{}", &err),
			 -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
}

static void test_the_git_program_shows_the_history(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;

	write_kernel(place, "one\n");
	struct kgb_workspace_commit one = commit(place, "first kernel");
	assert_ok(kgb_workspace_note(&place->ws, one.oid, "{\"status\":\"passed\"}", &err), &err);
	KGB_AUTO(free)
	char *log =
		git_says(place, (const char *const[]){"log", "--notes=kgb",
						      "--format=%an <%ae>|%s|%D|%N", "main", NULL});
	if (!log)
		skip();
	assert_string_equal(
		log,
		"kgb-agent <kgb-agent@localhost>|first kernel|HEAD -> main|{\"status\":\"passed\"}\n\n"
		"kgb-agent <kgb-agent@localhost>|prompt for aten::add||\n");
	/* also without being asked for */
	KGB_AUTO(free) char *plain = git_says(place, (const char *const[]){"log", NULL});
	assert_non_null(strstr(plain, "Notes (kgb):\n    {\"status\":\"passed\"}"));
	KGB_AUTO(free)
	char *check =
		git_says(place, (const char *const[]){"fsck", "--strict", "--no-dangling", NULL});
	assert_string_equal(check, "");
}

/* What an agent may put in the place of kernel.py. */
static void put_symlink(struct place *place)
{
	assert_int_equal(symlinkat("/etc/passwd", place->ws.worktree_fd, KGB_WORKSPACE_KERNEL), 0);
}

static void put_symlink_inside(struct place *place)
{
	assert_int_equal(symlinkat("PROMPT.md", place->ws.worktree_fd, KGB_WORKSPACE_KERNEL), 0);
}

static void put_fifo(struct place *place)
{
	assert_int_equal(mkfifoat(place->ws.worktree_fd, KGB_WORKSPACE_KERNEL, 0644), 0);
}

static void put_directory(struct place *place)
{
	assert_int_equal(mkdirat(place->ws.worktree_fd, KGB_WORKSPACE_KERNEL, 0755), 0);
}

static void put_hard_link(struct place *place)
{
	assert_int_equal(linkat(place->ws.worktree_fd, "PROMPT.md", place->ws.worktree_fd,
				KGB_WORKSPACE_KERNEL, 0),
			 0);
}

static void put_huge(struct place *place)
{
	int fd = openat(place->ws.worktree_fd, KGB_WORKSPACE_KERNEL, O_CREAT | O_WRONLY | O_CLOEXEC,
			0644);

	assert_int_equal(ftruncate(fd, 100 << 20), 0);
	(void)close(fd);
}

static void put_slightly_large(struct place *place)
{
	int fd = openat(place->ws.worktree_fd, KGB_WORKSPACE_KERNEL, O_CREAT | O_WRONLY | O_CLOEXEC,
			0644);

	assert_int_equal(ftruncate(fd, KGB_LIMIT_KERNEL + 1), 0);
	(void)close(fd);
}

static void put_nothing(struct place *place)
{
	(void)place;
}

static void remove_kernel(struct place *place)
{
	if (unlinkat(place->ws.worktree_fd, KGB_WORKSPACE_KERNEL, 0) < 0 && errno != ENOENT)
		assert_int_equal(
			unlinkat(place->ws.worktree_fd, KGB_WORKSPACE_KERNEL, AT_REMOVEDIR), 0);
}

static void test_a_kernel_that_is_no_plain_file_is_refused(void **state)
{
	static const struct {
		void (*put)(struct place *place);
		const char *refusal;
	} cases[] = {
		{put_symlink, "agent.kernel_symlink"},
		{put_symlink_inside, "agent.kernel_symlink"},
		{put_fifo, "agent.kernel_not_regular"},
		{put_directory, "agent.kernel_not_regular"},
		{put_hard_link, "agent.kernel_hard_link"},
		{put_huge, "agent.kernel_too_large"},
		{put_slightly_large, "agent.kernel_too_large"},
		{put_nothing, "agent.kernel_missing"},
	};
	struct place *place = *state;

	write_kernel(place, "good\n");
	struct kgb_workspace_commit good = commit(place, "good kernel");
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		const char *refusal = NULL;
		remove_kernel(place);
		cases[i].put(place);
		assert_ok(kgb_workspace_read_kernel(&place->ws, &text, &refusal, &err), &err);
		assert_string_equal(refusal, cases[i].refusal);
		assert_int_equal(text.len, 0);
		if (cases[i].put == put_nothing)
			continue;
		struct kgb_workspace_commit made = commit(place, "bad kernel");
		assert_string_equal(made.refusal, cases[i].refusal);
		/* The last good one stays. */
		assert_false(made.changed);
		assert_string_equal(made.oid, good.oid);
		assert_string_equal(made.kernel_oid, good.kernel_oid);
	}
}

static void test_a_plain_kernel_is_read(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	const char *refusal = "";

	write_kernel(place, "good\n");
	assert_ok(kgb_workspace_read_kernel(&place->ws, &text, &refusal, &err), &err);
	assert_null(refusal);
	assert_string_equal(text.ptr, "good\n");
}

/* An agent may make a repository of its own, with hooks and attributes: ours does not see it. */
static void test_a_repository_of_the_agent_means_nothing(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_mkdirs(place->ws.worktree_fd, ".git/hooks", 0755, &err), &err);
	assert_ok(kgb_fs_write_atomic(place->ws.worktree_fd, ".git/config",
				      "[core]\n\tbare = nonsense\n", 23, 0644, false, &err),
		  &err);
	assert_ok(kgb_fs_write_atomic(place->ws.worktree_fd, ".git/HEAD", "ref: x\n", 7, 0644,
				      false, &err),
		  &err);
	assert_ok(kgb_fs_write_atomic(place->ws.worktree_fd, ".gitattributes", "* filter=x ident\n",
				      17, 0644, false, &err),
		  &err);
	write_kernel(place, "$Id$\n");
	struct kgb_workspace_commit made = commit(place, "kernel");
	assert_true(made.changed);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	assert_ok(kgb_workspace_kernel_at(&place->ws, made.oid, &text, &err), &err);
	assert_string_equal(text.ptr, "$Id$\n");
	assert_history(place, "prompt for aten::add|-|-\nkernel|kernel|-\n");
}

static void test_bad_text_in_a_message_is_repaired(void **state)
{
	struct place *place = *state;

	write_kernel(place, "one\n");
	assert_true(commit(place, "bad \xff byte").changed);
	assert_history(place, "prompt for aten::add|-|-\nbad \xef\xbf\xbd byte|kernel|-\n");
}

static void test_a_file_is_put_in_the_place_of_whatever_the_agent_left(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *outside = kgb_path_join(place->root, "outside");

	for (int i = 0; i < 4; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		const char *refusal = NULL;
		int fd = place->ws.worktree_fd;
		assert_ok(kgb_fs_write_atomic(AT_FDCWD, outside, "mine", 4, 0644, false, &err),
			  &err);
		(void)unlinkat(fd, KGB_WORKSPACE_KERNEL, 0);
		if (i == 0)
			assert_int_equal(symlinkat(outside, fd, KGB_WORKSPACE_KERNEL), 0);
		else if (i == 1)
			assert_int_equal(mkdirat(fd, KGB_WORKSPACE_KERNEL, 0755), 0);
		else if (i == 2)
			assert_int_equal(linkat(AT_FDCWD, outside, fd, KGB_WORKSPACE_KERNEL, 0), 0);
		assert_int_equal(chmod(place->worktree, i == 3 ? 0 : 0555), 0);
		assert_ok(kgb_workspace_write(&place->ws, KGB_WORKSPACE_KERNEL, "best\n", 5, &err),
			  &err);
		assert_ok(kgb_workspace_read_kernel(&place->ws, &text, &refusal, &err), &err);
		assert_null(refusal);
		assert_string_equal(text.ptr, "best\n");
		assert_ok(kgb_fs_read(AT_FDCWD, outside, 100, &text, &err), &err);
		assert_string_equal(text.ptr, "mine");
	}
}

static void test_a_tag_names_a_commit_and_moves(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(free) char *path = kgb_path_join(place->git_dir, "refs/tags/best");

	for (int i = 0; i < 2; i++) {
		write_kernel(place, i == 0 ? "one\n" : "two\n");
		struct kgb_workspace_commit made = commit(place, "k");
		assert_ok(kgb_workspace_tag(&place->ws, made.oid, "best", &err), &err);
		assert_ok(kgb_fs_read(AT_FDCWD, path, 100, &text, &err), &err);
		assert_memory_equal(text.ptr, made.oid, KGB_OID_LEN - 1);
	}
	assert_int_equal(kgb_workspace_tag(&place->ws, "no commit", "best", &err), -1);
	assert_int_equal(err.kind, KGB_ERR_INVALID);
}

static void test_places_that_cannot_be_used_are_refused(void **state)
{
	struct place *place = *state;
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_workspace other;
	KGB_AUTO(free) char *inside = kgb_path_join(place->worktree, "git");
	KGB_AUTO(free) char *fresh = kgb_path_join(place->root, "fresh");
	KGB_AUTO(free) char *fresh_inside = kgb_path_join(place->root, "fresh/git");
	struct kgb_workspace_spec spec = {
		.worktree = place->worktree, .git_dir = inside, .message = "m"};

	assert_int_equal(kgb_workspace_create(&other, &spec, &err), -1);
	assert_non_null(strstr(err.msg, "is not empty"));
	spec.worktree = fresh;
	spec.git_dir = fresh_inside;
	assert_int_equal(kgb_workspace_create(&other, &spec, &err), -1);
	assert_non_null(strstr(err.msg, "lies in the work tree"));
	assert_false(kgb_fs_exists(AT_FDCWD, fresh_inside));
	spec.git_dir = place->git_dir;
	assert_int_equal(kgb_workspace_create(&other, &spec, &err), -1);
	assert_int_equal(err.domain, KGB_ERR_DOMAIN_GIT);
}

static void test_a_diff_shows_what_changed(void **state)
{
	static const struct {
		const char *before, *after, *hunks;
		struct kgb_text_diff count;
		double similarity;
	} cases[] = {
		{"a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", {2, 1, 1}, 2.0 / 3},
		{"a\n", "a\n", "", {1, 0, 0}, 1},
		{"", "", "", {0, 0, 0}, 1},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n", {0, 0, 1}, 0},
		{"a",
		 "a\nb",
		 "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n",
		 {0, 2, 1},
		 0},
		{"\x1b\xff\n", "x\n", "@@ -1 +1 @@\n-\x1b\xff\n+x\n", {0, 1, 1}, 0},
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf before = KGB_BUF_INIT(0), after = KGB_BUF_INIT(0);
		KGB_AUTO(buf) struct kgb_buf hunks = KGB_BUF_INIT(0);
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_text_diff count;
		kgb_buf_adds(&before, cases[i].before);
		kgb_buf_adds(&after, cases[i].after);
		assert_ok(kgb_text_diff(&before, &after, &hunks, &count, &err), &err);
		assert_string_equal(hunks.ptr, cases[i].hunks);
		assert_memory_equal(&count, &cases[i].count, sizeof(count));
		assert_true(kgb_text_diff_similarity(&count) == cases[i].similarity);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define PLACED_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		cmocka_unit_test(test_a_diff_shows_what_changed),
		PLACED_TEST(test_the_first_commit_holds_prompt_and_instructions),
		PLACED_TEST(test_each_change_of_the_kernel_is_one_commit),
		PLACED_TEST(test_a_judged_kernel_is_committed_as_it_was),
		PLACED_TEST(test_old_kernels_can_be_read),
		PLACED_TEST(test_a_commit_without_kernel_says_so),
		PLACED_TEST(test_verdicts_are_notes_and_can_be_replaced),
		PLACED_TEST(test_the_git_program_shows_the_history),
		PLACED_TEST(test_a_kernel_that_is_no_plain_file_is_refused),
		PLACED_TEST(test_a_plain_kernel_is_read),
		PLACED_TEST(test_a_repository_of_the_agent_means_nothing),
		PLACED_TEST(test_bad_text_in_a_message_is_repaired),
		PLACED_TEST(test_a_file_is_put_in_the_place_of_whatever_the_agent_left),
		PLACED_TEST(test_a_tag_names_a_commit_and_moves),
		PLACED_TEST(test_places_that_cannot_be_used_are_refused),
	};

	return cmocka_run_group_tests_name("workspace", tests, NULL, NULL);
}
