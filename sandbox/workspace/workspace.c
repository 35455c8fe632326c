/* SPDX-License-Identifier: MIT */
#include "sandbox/workspace/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/codes.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/system/spare_fds.h"
#include "base/time.h"
#include "sandbox/workspace/git.h"

struct bytes {
	const char *ptr;
	size_t len;
};

#define BRANCH "main"
#define AUTHOR_NAME "kgb-agent"
#define AUTHOR_EMAIL "kgb-agent@localhost"

int kgb_workspace__fail_at(struct kgb_err *err, int rc, const char *file, int line, const char *fmt,
			   ...)
{
	const git_error *last = git_error_last(); /* may be NULL */
	enum kgb_err_kind kind = rc == GIT_ENOTFOUND ? KGB_ERR_NOT_FOUND : KGB_ERR_FAILED;
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *what = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	if (rc == GIT_ELOCKED)
		kind = KGB_ERR_BUSY;
	return kgb__fail_code(err, KGB_ERR_DOMAIN_GIT, kind, rc, file, line, "git: %s: %s", what,
			      last && last->message ? last->message : "no reason given");
}

int kgb_workspace__signature(git_signature **out, struct kgb_err *err)
{
	int rc = git_signature_new(out, AUTHOR_NAME, AUTHOR_EMAIL, kgb_wall_ms() / 1000, 0);

	return rc < 0 ? kgb_workspace__fail(err, rc, "make a signature") : 0;
}

int kgb_workspace__start(struct kgb_err *err)
{
	static const git_config_level_t levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA,
						    GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG,
						    GIT_CONFIG_LEVEL_GLOBAL};
	int n_users = git_libgit2_init();
	int rc = n_users;

	for (size_t i = 0; rc >= 0 && n_users == 1 && i < KGB_ARRAY_LEN(levels); i++)
		rc = git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
	/* A run directory may belong to another user, as in a container; our own checks limit the
	 * repository, not its owner. */
	if (rc >= 0 && n_users == 1)
		rc = git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	if (rc >= 0)
		return 0;
	(void)kgb_workspace__fail(err, rc, "start libgit2");
	if (n_users > 0)
		git_libgit2_shutdown();
	return -1;
}

void kgb_workspace_release(struct kgb_workspace *ws)
{
	bool started = ws->worktree != NULL;

	git_repository_free(ws->repo);
	kgb_free(ws->worktree);
	kgb_close(ws->worktree_fd);
	*ws = (struct kgb_workspace){.worktree_fd = -1};
	if (started)
		git_libgit2_shutdown();
}

void kgb_auto_workspace(struct kgb_workspace *ws)
{
	kgb_workspace_release(ws);
}

/* Start libgit2 and open the work tree. */
static int prepare(struct kgb_workspace *ws, const char *worktree, struct kgb_err *err)
{
	int fd;

	*ws = (struct kgb_workspace){.worktree_fd = -1};
	if (kgb_fs_opendir(AT_FDCWD, worktree, &fd, err) < 0)
		return -1;
	if (kgb_workspace__start(err) < 0) {
		kgb_close(fd);
		return -1;
	}
	ws->worktree_fd = fd;
	ws->worktree = kgb_xstrdup(worktree);
	return 0;
}

static int check_empty(const char *path, struct kgb_err *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	do {
		entry = readdir(dir);
	} while (entry && (kgb_str_eq(entry->d_name, ".") || kgb_str_eq(entry->d_name, "..")));
	closedir(dir);
	return entry ? kgb_fail(err, KGB_ERR_INVALID, "workspace '%s' is not empty", path) : 0;
}

/* The agent owns the work tree, so the repository must be elsewhere. Both exist. */
static int check_apart(const char *worktree, const char *git_dir, struct kgb_err *err)
{
	KGB_AUTO(free) char *tree = kgb_path_real(worktree, err);
	KGB_AUTO(free) char *git = tree ? kgb_path_real(git_dir, err) : NULL;

	if (!git)
		return -1;
	size_t len = strlen(tree);
	if (kgb_str_starts(git, tree) && (git[len] == '/' || git[len] == '\0'))
		return kgb_fail(err, KGB_ERR_INVALID, "repository '%s' lies in the work tree '%s'",
				git, tree);
	return 0;
}

static int init_repository(struct kgb_workspace *ws, const char *git_dir, struct kgb_err *err)
{
	git_repository_init_options options = {.version = GIT_REPOSITORY_INIT_OPTIONS_VERSION};
	git_config *config = NULL;

	/* Bare: libgit2 never reads the work tree, and ignores a .git that the agent puts there. */
	options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT |
			GIT_REPOSITORY_INIT_MKDIR;
	options.initial_head = BRANCH;
	int rc = git_repository_init_ext(&ws->repo, git_dir, &options);
	if (rc < 0)
		return kgb_workspace__fail(err, rc, "create repository '%s'", git_dir);
	rc = git_repository_config(&config, ws->repo);
	if (rc == 0) /* so that a plain `git log` shows the verdicts */
		rc = git_config_set_string(config, "notes.displayRef", KGB_WORKSPACE_NOTES);
	git_config_free(config);
	return rc < 0 ? kgb_workspace__fail(err, rc, "configure repository '%s'", git_dir) : 0;
}

/* Record `tree` as a new commit on the branch. `parent` is NULL for the first. */
static int commit_tree(struct kgb_workspace *ws, const git_tree *tree, const git_commit *parent,
		       const char *message, git_oid *out, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_LINE);
	git_signature *who = NULL;

	kgb_utf8_repair(&text, message, strlen(message));
	if (kgb_workspace__signature(&who, err) < 0)
		return -1;
	int rc = git_commit_create(out, ws->repo, "HEAD", who, who, "UTF-8", text.ptr, tree,
				   parent ? 1 : 0, &parent);
	git_signature_free(who);
	return rc < 0 ? kgb_workspace__fail(err, rc, "commit") : 0;
}

/* Write the files into the work tree and make them the first commit. */
static int commit_first(struct kgb_workspace *ws, const struct kgb_workspace_spec *spec,
			struct kgb_err *err)
{
	git_treebuilder *builder = NULL;
	git_tree *tree = NULL;
	git_oid oid;
	int result = -1;

	int rc = git_treebuilder_new(&builder, ws->repo, NULL);
	for (size_t i = 0; rc >= 0 && i < spec->n_files; i++) {
		const struct kgb_workspace_file *file = &spec->files[i];
		if (kgb_fs_write_atomic(ws->worktree_fd, file->name, file->text, file->len, 0644,
					false, err) < 0)
			goto out;
		rc = git_blob_create_from_buffer(&oid, ws->repo, file->text, file->len);
		if (rc >= 0)
			rc = git_treebuilder_insert(NULL, builder, file->name, &oid,
						    GIT_FILEMODE_BLOB);
	}
	if (rc >= 0)
		rc = git_treebuilder_write(&oid, builder);
	if (rc >= 0)
		rc = git_tree_lookup(&tree, ws->repo, &oid);
	if (rc < 0)
		(void)kgb_workspace__fail(err, rc, "store the first files");
	else
		result = commit_tree(ws, tree, NULL, spec->message, &oid, err);
out:
	git_tree_free(tree);
	git_treebuilder_free(builder);
	return result;
}

int kgb_workspace_create(struct kgb_workspace *ws, const struct kgb_workspace_spec *spec,
			 struct kgb_err *err)
{
	KGB_BORROW_SPARE_FDS;
	KGB_AUTO(workspace) struct kgb_workspace made = {.worktree_fd = -1};

	if (kgb_fs_mkdirs(AT_FDCWD, spec->worktree, 0755, err) < 0 ||
	    check_empty(spec->worktree, err) < 0)
		return -1;
	if (prepare(&made, spec->worktree, err) < 0)
		return -1;
	if (init_repository(&made, spec->git_dir, err) < 0)
		return -1;
	if (check_apart(spec->worktree, spec->git_dir, err) < 0 ||
	    commit_first(&made, spec, err) < 0) {
		(void)!kgb_fs_remove_tree(AT_FDCWD, spec->git_dir, NULL);
		return -1;
	}
	*ws = made;
	made = (struct kgb_workspace){.worktree_fd = -1};
	return 0;
}

/* The reason to refuse a file of the work tree. Only for the message: the open itself decides, and
 * cannot be raced. */
static const char *refusal_code(int dir_fd, const char *name, enum kgb_err_kind kind)
{
	struct stat st;

	if (kind == KGB_ERR_LIMIT)
		return kgb_code_name(KGB_CODE_AGENT_KERNEL_TOO_LARGE);
	if (kind == KGB_ERR_NOT_FOUND)
		return kgb_code_name(KGB_CODE_AGENT_KERNEL_MISSING);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISLNK(st.st_mode))
			return kgb_code_name(KGB_CODE_AGENT_KERNEL_SYMLINK);
		if (!S_ISREG(st.st_mode))
			return kgb_code_name(KGB_CODE_AGENT_KERNEL_NOT_REGULAR);
		if (st.st_nlink > 1)
			return kgb_code_name(KGB_CODE_AGENT_KERNEL_HARD_LINK);
	}
	return kgb_code_name(KGB_CODE_AGENT_KERNEL_UNREADABLE);
}

int kgb_workspace_read_kernel(const struct kgb_workspace *ws, struct kgb_buf *out,
			      const char **out_refusal, struct kgb_err *err)
{
	struct kgb_err why = KGB_ERR_INIT;

	*out_refusal = NULL;
	if (kgb_fs_read_untrusted(ws->worktree_fd, KGB_WORKSPACE_KERNEL, KGB_LIMIT_KERNEL, out,
				  &why) == 0)
		return 0;
	kgb_buf_clear(out);
	/* Too few descriptors or too little memory are faults of this machine. */
	bool too_large = why.kind == KGB_ERR_LIMIT && why.domain == KGB_ERR_DOMAIN_KGB;
	if (why.kind == KGB_ERR_DENIED || too_large || why.kind == KGB_ERR_NOT_FOUND) {
		*out_refusal = refusal_code(ws->worktree_fd, KGB_WORKSPACE_KERNEL, why.kind);
		return 0;
	}
	*err = why;
	return kgb_ctx(err, "workspace '%s'", ws->worktree);
}

/* HEAD's commit and its tree; the caller frees both. */
static int head_of(struct kgb_workspace *ws, git_commit **out_commit, git_tree **out_tree,
		   struct kgb_err *err)
{
	git_oid oid;
	git_commit *commit = NULL;
	int rc = git_reference_name_to_id(&oid, ws->repo, "HEAD");

	if (rc >= 0)
		rc = git_commit_lookup(&commit, ws->repo, &oid);
	if (rc >= 0)
		rc = git_commit_tree(out_tree, commit);
	if (rc < 0) {
		git_commit_free(commit);
		return kgb_workspace__fail(err, rc, "read HEAD");
	}
	*out_commit = commit;
	return 0;
}

/* Put these bytes into the tree as kernel.py. */
static int stage_kernel(struct kgb_workspace *ws, const char *text, size_t len,
			git_treebuilder *builder, struct kgb_err *err)
{
	git_oid oid;
	int rc = git_blob_create_from_buffer(&oid, ws->repo, text, len);

	if (rc >= 0)
		rc = git_treebuilder_insert(NULL, builder, KGB_WORKSPACE_KERNEL, &oid,
					    GIT_FILEMODE_BLOB);
	return rc < 0 ? kgb_workspace__fail(err, rc, "stage '%s'", KGB_WORKSPACE_KERNEL) : 0;
}

/* Copy the work tree's kernel.py into the tree, or remove it from there. */
static int stage_worktree(struct kgb_workspace *ws, git_treebuilder *builder,
			  struct kgb_workspace_commit *out, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	const char *refusal;

	if (kgb_workspace_read_kernel(ws, &text, &refusal, err) < 0)
		return -1;
	if (!refusal)
		return stage_kernel(ws, text.ptr, text.len, builder, err);
	if (!kgb_str_eq(refusal, kgb_code_name(KGB_CODE_AGENT_KERNEL_MISSING))) {
		out->refusal = refusal;
		return 0;
	}
	int rc = git_treebuilder_get(builder, KGB_WORKSPACE_KERNEL)
			 ? git_treebuilder_remove(builder, KGB_WORKSPACE_KERNEL)
			 : 0;
	return rc < 0 ? kgb_workspace__fail(err, rc, "stage '%s'", KGB_WORKSPACE_KERNEL) : 0;
}

/* Make a tree of HEAD's files and the given kernel.py, or else the work tree's. Commit it when it
 * is new, and always for a given kernel. */
static int commit_on(struct kgb_workspace *ws, const git_commit *head, const git_tree *head_tree,
		     const struct bytes *kernel, const char *message,
		     struct kgb_workspace_commit *out, struct kgb_err *err)
{
	git_treebuilder *builder = NULL;
	git_tree *tree = NULL;
	git_oid tree_oid;
	git_oid commit_oid = *git_commit_id(head);
	int result = -1;

	int rc = git_treebuilder_new(&builder, ws->repo, head_tree);
	if (rc < 0)
		return kgb_workspace__fail(err, rc, "read the tree of HEAD");
	if ((kernel ? stage_kernel(ws, kernel->ptr, kernel->len, builder, err)
		    : stage_worktree(ws, builder, out, err)) < 0)
		goto out;
	rc = git_treebuilder_write(&tree_oid, builder);
	if (rc >= 0)
		rc = git_tree_lookup(&tree, ws->repo, &tree_oid);
	if (rc < 0) {
		(void)kgb_workspace__fail(err, rc, "write the tree");
		goto out;
	}
	out->changed = kernel || !git_oid_equal(&tree_oid, git_tree_id(head_tree));
	if (out->changed && commit_tree(ws, tree, head, message, &commit_oid, err) < 0)
		goto out;
	git_oid_tostr(out->oid, sizeof(out->oid), &commit_oid);
	const git_tree_entry *entry = git_tree_entry_byname(tree, KGB_WORKSPACE_KERNEL);
	if (entry)
		git_oid_tostr(out->kernel_oid, sizeof(out->kernel_oid), git_tree_entry_id(entry));
	result = 0;
out:
	git_tree_free(tree);
	git_treebuilder_free(builder);
	return result;
}

static int commit(struct kgb_workspace *ws, const struct bytes *kernel, const char *message,
		  struct kgb_workspace_commit *out, struct kgb_err *err)
{
	KGB_BORROW_SPARE_FDS;
	struct kgb_workspace_commit made = {0};
	git_commit *head = NULL;
	git_tree *head_tree = NULL;

	if (head_of(ws, &head, &head_tree, err) < 0)
		return -1;
	int rc = commit_on(ws, head, head_tree, kernel, message, &made, err);
	git_tree_free(head_tree);
	git_commit_free(head);
	if (rc == 0)
		*out = made;
	return rc;
}

int kgb_workspace_commit(struct kgb_workspace *ws, const char *message,
			 struct kgb_workspace_commit *out, struct kgb_err *err)
{
	return commit(ws, NULL, message, out, err);
}

int kgb_workspace_commit_kernel(struct kgb_workspace *ws, const char *kernel, size_t len,
				const char *message, struct kgb_workspace_commit *out,
				struct kgb_err *err)
{
	return commit(ws, &(struct bytes){kernel, len}, message, out, err);
}

int kgb_workspace_write(struct kgb_workspace *ws, const char *name, const void *data, size_t len,
			struct kgb_err *err)
{
	struct stat st;

	KGB_ASSERT(!strchr(name, '/'));
	/* The agent owns the directory and may have locked itself out. */
	if (fchmod(ws->worktree_fd, 0755) < 0)
		return kgb_fail_errno(err, errno, "workspace '%s'", ws->worktree);
	bool is_folder = fstatat(ws->worktree_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			 S_ISDIR(st.st_mode);
	if (is_folder && kgb_fs_remove_tree(ws->worktree_fd, name, err) < 0)
		return -1;
	return kgb_fs_write_atomic(ws->worktree_fd, name, data, len, 0644, false, err);
}
