/* SPDX-License-Identifier: MIT */
#include "agent/evidence/record.h"

#include "agent/evidence/prune.h"
#include "base/system/fs.h"

int kgb_run_record_open(struct kgb_run_record *out, const char *path, struct kgb_err *err)
{
	KGB_AUTO(record) struct kgb_run_record record = KGB_RECORD_INIT;
	KGB_AUTO(free) char *real = kgb_path_real(path, err);
	if (!real || kgb_rundir_open(&record.dir, ".", real, KGB_RUNDIR_READ, err) < 0)
		return -1;
	if (kgb_journal_read(record.dir.fd, kgb_run_state_fold, &record.state, NULL, err) < 0)
		return kgb_ctx(err, "%s", record.dir.path);
	record.is_pruned = kgb_run_is_pruned(record.dir.fd);
	*out = record;
	record = (struct kgb_run_record)KGB_RECORD_INIT;
	return 0;
}

int kgb_run_record_read(int run_fd, const char *path, size_t limit, struct kgb_buf *out,
			struct kgb_err *err)
{
	struct kgb_err failure = KGB_ERR_INIT;
	if (kgb_fs_read_untrusted(run_fd, path, limit, out, &failure) == 0 ||
	    failure.kind == KGB_ERR_NOT_FOUND)
		return 0;
	*err = failure;
	return -1;
}

void kgb_run_record_release(struct kgb_run_record *record)
{
	kgb_run_state_release(&record->state);
	kgb_rundir_release(&record->dir);
}

void kgb_auto_record(struct kgb_run_record *record)
{
	kgb_run_record_release(record);
}
