/* SPDX-License-Identifier: MIT */
/** \file
 * What is read back from an attempt's folder, and what a prune drops from it.
 */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/evidence/drafts.h"
#include "agent/evidence/prune.h"
#include "agent/store/rundir.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"

/** Write a file below the run, with its folders. */
static void put(int fd, const char *path, const char *text)
{
	KGB_AUTO(free) char *folder = kgb_xstrdup(path);
	*strrchr(folder, '/') = '\0';
	assert_ok(kgb_fs_mkdirs(fd, folder, 0755, err));
	assert_ok(kgb_fs_write_atomic(fd, path, text, strlen(text), 0644, false, err));
}

static void make_run(const struct scratch *scratch, struct kgb_rundir *dir)
{
	KGB_AUTO(free) char *runs = kgb_path_join(scratch->path, "runs");
	assert_ok(kgb_rundir_create(dir, runs, "m", "d", err));
}

/* ---- prune ---- */

static const char *const kept[] = {
	"attempts/a/001/stdout.jsonl",    "attempts/a/001/prompt.md",
	"attempts/a/001/verdicts/001.py", "attempts/a/001/rounds/001/prompt.md",
	"attempts/b/001/samples/0001.md", "kernels/a.py",
	"replays/r/kernels/a.py",         "attempts/a/001/homework",
};
static const char *const goes[] = {
	"attempts/a/001/home/x/y/z",
	"attempts/a/001/ws/kernel.py",
	"attempts/a/001/git/HEAD",
	"attempts/a/001/traffic/0001.request.json",
	"attempts/a/001/rounds/002/home/x",
	"attempts/a/002/traffic/0001.meta.json",
	"replays/r/attempts/a/001/traffic/1",
};

static void fill(int fd)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(kept); i++)
		put(fd, kept[i], "kept");
	for (size_t i = 0; i < KGB_ARRAY_LEN(goes); i++)
		put(fd, goes[i], "goes");
}

static void assert_pruned(int fd, bool is_pruned)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(kept); i++)
		assert_true(kgb_fs_exists(fd, kept[i]));
	for (size_t i = 0; i < KGB_ARRAY_LEN(goes); i++)
		if (kgb_fs_exists(fd, goes[i]) == is_pruned)
			fail_msg("%s", goes[i]);
	assert_int_equal(kgb_run_is_pruned(fd), is_pruned);
}

static void test_a_prune_drops_what_no_figure_needs(void **state)
{
	struct scratch scratch;
	struct kgb_pruning dry, wet, again;
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	(void)state;
	make_scratch(&scratch);
	make_run(&scratch, &dir);
	fill(dir.fd);
	assert_ok(kgb_prune_run(&dir, true, &dry, err));
	assert_pruned(dir.fd, false);
	assert_ok(kgb_prune_run(&dir, false, &wet, err));
	assert_pruned(dir.fd, true);
	assert_int_equal(dry.n_folders, 7);
	assert_int_equal(wet.n_folders, 7);
	assert_int_equal(dry.bytes_before, wet.bytes_before);
	assert_true(wet.bytes_after < wet.bytes_before && dry.bytes_after < dry.bytes_before);
	assert_ok(kgb_prune_run(&dir, false, &again, err));
	assert_int_equal(again.n_folders, 0);
	assert_int_equal(again.bytes_before, again.bytes_after);
	drop_scratch(&scratch);
}

static void test_no_link_leads_a_prune_out_of_the_run(void **state)
{
	struct scratch scratch;
	struct kgb_pruning pruning;
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	(void)state;
	make_scratch(&scratch);
	make_run(&scratch, &dir);
	put(scratch.fd, "outside/001/home/precious", "mine");
	put(scratch.fd, "outside/home/precious", "mine");
	put(dir.fd, "attempts/a/001/ws/x", "x");
	KGB_AUTO(free) char *outside = kgb_path_join(scratch.path, "outside");
	assert_int_equal(symlinkat(outside, dir.fd, "attempts/link"), 0);
	assert_int_equal(symlinkat(outside, dir.fd, "attempts/a/002"), 0);
	assert_int_equal(symlinkat(outside, dir.fd, "attempts/a/001/home"), 0);
	assert_int_equal(symlinkat(outside, dir.fd, "attempts/a/001/rounds"), 0);
	assert_int_equal(symlinkat(outside, dir.fd, "attempts/a/001/ws/out"), 0);
	assert_int_equal(symlinkat(outside, dir.fd, "replays"), 0);
	assert_int_equal(mkfifoat(dir.fd, "attempts/a/001/git", 0600), 0);
	assert_ok(kgb_prune_run(&dir, false, &pruning, err));
	assert_int_equal(pruning.n_folders, 3);
	assert_true(kgb_fs_exists(scratch.fd, "outside/001/home/precious"));
	assert_true(kgb_fs_exists(scratch.fd, "outside/home/precious"));
	assert_false(kgb_fs_exists(dir.fd, "attempts/a/001/ws"));
	assert_false(kgb_fs_exists(dir.fd, "attempts/a/001/git"));
	drop_scratch(&scratch);
}

/* A prune that was cut off has written its mark and dropped some. */
static void test_a_second_prune_finishes_what_was_cut_off(void **state)
{
	struct scratch scratch;
	struct kgb_pruning pruning;
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	(void)state;
	make_scratch(&scratch);
	make_run(&scratch, &dir);
	fill(dir.fd);
	put(dir.fd, "attempts/a/001/home/.kgb-0123456789abcdef.rm/left", "x");
	assert_ok(kgb_fs_write_atomic(dir.fd, KGB_PRUNED_NAME, "{}", 2, 0644, true, err));
	assert_int_equal(unlinkat(dir.fd, "attempts/a/001/ws/kernel.py", 0), 0);
	assert_int_equal(unlinkat(dir.fd, "attempts/a/001/ws", AT_REMOVEDIR), 0);
	assert_ok(kgb_prune_run(&dir, false, &pruning, err));
	assert_pruned(dir.fd, true);
	drop_scratch(&scratch);
}

/* ---- drafts ---- */

#define VERDICT(status, code)                                                                    \
	"{\"schema\":\"kgb.verdict/1\",\"operator\":\"aten::add\",\"status\":\"" status          \
	"\",\"code\":" code ",\"seed\":\"5eed5eed\",\"message\":\"m\",\"summary\":{\"total\":2," \
	"\"passed\":1,\"failed\":1}}"

static void test_drafts_are_the_versions_in_order(void **state)
{
	struct scratch scratch;
	struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(drafts) struct kgb_drafts drafts = {0};
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	char sha256[KGB_SHA256_HEX_LEN];
	(void)state;
	make_scratch(&scratch);
	make_run(&scratch, &dir);
	fold_story(&run, NULL);
	const struct kgb_op_state *op = kgb_run_state_op(&run, "aten::add");
	put(dir.fd, "attempts/aten__add/001/verdicts/001.py", "one\n");
	put(dir.fd, "attempts/aten__add/001/verdicts/001.json",
	    VERDICT("failed", "\"verify.mismatch\""));
	put(dir.fd, "attempts/aten__add/001/verdicts/002.py", "two\n"); /* never judged */
	put(dir.fd, "attempts/aten__add/001/verdicts/003.json", VERDICT("passed", "null"));
	put(dir.fd, "attempts/aten__add/001/verdicts/005.py", "after a gap");
	assert_ok(kgb_drafts_of_attempt(&drafts, dir.fd, op, &op->attempts[0], err));
	assert_int_equal(drafts.list.n, 3);
	const struct kgb_draft *draft = drafts.list.items;
	kgb_sha256_hex("one\n", 4, sha256);
	assert_string_equal(draft[0].sha256, sha256);
	assert_string_equal(draft[0].verdict.code, "verify.mismatch");
	assert_non_null(strstr(draft[0].report, "FAILED verify.mismatch"));
	assert_null(strstr(draft[0].report, "5eed"));
	assert_false(kgb_draft_passed(&draft[0]));
	assert_null(draft[1].report);
	assert_string_equal(draft[1].kernel.ptr, "two\n");
	assert_int_equal(draft[2].kernel.len, 0);
	assert_true(kgb_draft_passed(&draft[2]));
	kgb_run_state_release(&run);
	drop_scratch(&scratch);
}

static void test_a_verdict_that_is_no_verdict_is_named(void **state)
{
	static const char *const texts[] = {"{", "[]", "{\"status\":7}", "\xff"};
	struct scratch scratch;
	struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	(void)state;
	make_scratch(&scratch);
	make_run(&scratch, &dir);
	fold_story(&run, NULL);
	const struct kgb_op_state *op = kgb_run_state_op(&run, "aten::add");
	for (size_t i = 0; i < KGB_ARRAY_LEN(texts); i++) {
		KGB_AUTO(drafts) struct kgb_drafts drafts = {0};
		put(dir.fd, "attempts/aten__add/001/verdicts/001.json", texts[i]);
		assert_fails(kgb_drafts_of_attempt(&drafts, dir.fd, op, &op->attempts[0], err),
			     KGB_ERR_INVALID, "verdicts/001.json");
	}
	kgb_run_state_release(&run);
	drop_scratch(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_prune_drops_what_no_figure_needs),
		cmocka_unit_test(test_no_link_leads_a_prune_out_of_the_run),
		cmocka_unit_test(test_a_second_prune_finishes_what_was_cut_off),
		cmocka_unit_test(test_drafts_are_the_versions_in_order),
		cmocka_unit_test(test_a_verdict_that_is_no_verdict_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
