/* SPDX-License-Identifier: MIT */
#include "sandbox/workspace/diff.h"

#include "base/system/spare_fds.h"
#include "sandbox/workspace/git.h"

static int on_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
		   const git_diff_line *line, void *payload)
{
	struct kgb_buf *out = payload;
	(void)delta;
	if (!hunk)
		return 0; /* the head of a file in git's form */
	if (line->origin == GIT_DIFF_LINE_CONTEXT || line->origin == GIT_DIFF_LINE_ADDITION ||
	    line->origin == GIT_DIFF_LINE_DELETION)
		kgb_buf_addc(out, line->origin);
	kgb_buf_add(out, line->content, line->content_len);
	return 0;
}

static size_t count_lines(const struct kgb_buf *text)
{
	size_t n = 0;
	for (size_t i = 0; i < text->len; i++)
		n += text->ptr[i] == '\n' || i + 1 == text->len;
	return n;
}

static int diff(const struct kgb_buf *before, const struct kgb_buf *after, struct kgb_buf *out,
		struct kgb_text_diff *count, struct kgb_err *err)
{
	git_diff_options options;
	git_patch *patch = NULL;
	size_t n_added = 0, n_removed = 0;
	int rc = git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	/* Treat a kernel with a zero byte as text too, so that the diff shows the agent's bytes. */
	options.flags = GIT_DIFF_FORCE_TEXT;
	if (rc == 0)
		rc = git_patch_from_buffers(&patch, before->ptr, before->len, "before", after->ptr,
					    after->len, "after", &options);
	if (rc == 0)
		rc = git_patch_line_stats(NULL, &n_added, &n_removed, patch);
	if (rc == 0)
		rc = git_patch_print(patch, on_line, out);
	git_patch_free(patch);
	if (rc < 0)
		return kgb_workspace__fail(err, rc, "compare two versions");
	*count = (struct kgb_text_diff){.n_kept = count_lines(before) - n_removed,
					.n_added = n_added,
					.n_removed = n_removed};
	return 0;
}

int kgb_text_diff(const struct kgb_buf *before, const struct kgb_buf *after, struct kgb_buf *out,
		  struct kgb_text_diff *count, struct kgb_err *err)
{
	KGB_BORROW_SPARE_FDS;
	if (kgb_workspace__start(err) < 0)
		return -1;
	int rc = diff(before, after, out, count, err);
	git_libgit2_shutdown();
	return rc;
}

double kgb_text_diff_similarity(const struct kgb_text_diff *count)
{
	const double kept = 2 * (double)count->n_kept;
	const double all = kept + (double)count->n_added + (double)count->n_removed;
	return all > 0 ? kept / all : 1;
}
