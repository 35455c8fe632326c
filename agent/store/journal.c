/* SPDX-License-Identifier: MIT */
#include "agent/store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/formats/jsonw.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"

/** `,"crc":"0a1b2c3d"}` */
#define CRC_MEMBER_LEN 18
#define CRC_KEY ",\"crc\":\""
#define CRC_KEY_LEN (sizeof(CRC_KEY) - 1)
/** Largest journal. A run writes some hundred records per operator; this is hundreds of times what
 * a big run needs. */
#define JOURNAL_LIMIT ((size_t)1 << 30)

struct kgb_journal {
	int fd;
	int64_t seq;
	off_t end; /* size of the file; everything before it is good */
	bool broken; /* cutting back or a sync failed: the content on disk is unknown */
	struct kgb_buf line;
};

/** Whether a line ends in a checksum that fits it. */
static bool line_checks(const char *line, size_t len, struct kgb_buf *scratch)
{
	if (len < CRC_MEMBER_LEN + 2 || line[len - 1] != '}')
		return false;
	size_t body_len = len - CRC_MEMBER_LEN;
	const char *member = line + body_len;
	if (memcmp(member, CRC_KEY, CRC_KEY_LEN) != 0 || member[CRC_MEMBER_LEN - 2] != '"')
		return false;
	kgb_buf_clear(scratch);
	if (kgb_buf_add(scratch, line, body_len) < 0 || kgb_buf_addc(scratch, '}') < 0)
		return false;
	char expected[9];
	snprintf(expected, sizeof(expected), "%08" PRIx32, kgb_crc32c(scratch->ptr, scratch->len));
	return memcmp(expected, member + CRC_KEY_LEN, 8) == 0;
}

/** Decode a line that checks. A failure means that another program wrote it: the checksum is right,
 * the form is not. */
static int decode_line(const char *line, size_t len, int64_t expected_seq, cJSON **tree,
		       struct kgb_journal_record *record, struct kgb_err *err)
{
	if (kgb_json_parse(line, len, tree, err) < 0)
		return -1;
	record->seq = kgb_json_i64(*tree, "seq", -1);
	if (record->seq != expected_seq)
		return kgb_fail(err, KGB_ERR_INVALID,
				"seq is %" PRId64 " where %" PRId64 " must follow", record->seq,
				expected_seq);
	const char *time_text = kgb_json_str(*tree, "time", "");
	if (kgb_time_parse(time_text, &record->time_ms, err) < 0)
		return -1;
	record->type = kgb_json_str(*tree, "type", NULL);
	record->data = cJSON_GetObjectItemCaseSensitive(*tree, "data");
	if (!record->type || !cJSON_IsObject(record->data))
		return kgb_fail(err, KGB_ERR_INVALID, "a record needs 'type' and 'data'");
	return 0;
}

/** Whether any line from `pos` on checks. */
static bool any_line_checks(const char *text, size_t len, size_t pos, struct kgb_buf *scratch)
{
	while (pos < len) {
		const char *newline = memchr(text + pos, '\n', len - pos);
		if (!newline)
			return false;
		size_t line_len = (size_t)(newline - (text + pos));
		if (line_checks(text + pos, line_len, scratch))
			return true;
		pos += line_len + 1;
	}
	return false;
}

/** \param found of what came before `text`. */
static int parse_on(const char *name, const char *text, size_t len, kgb_journal_fn fn,
		    void *payload, struct kgb_journal_scan *found, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf scratch = KGB_BUF_INIT(0);
	size_t pos = 0;
	while (pos < len) {
		const char *line = text + pos;
		const char *newline = memchr(line, '\n', len - pos);
		size_t line_len = newline ? (size_t)(newline - line) : len - pos;
		if (!newline || !line_checks(line, line_len, &scratch)) {
			size_t next = pos + line_len + (newline ? 1 : 0);
			if (any_line_checks(text, len, next, &scratch))
				return kgb_fail(
					err, KGB_ERR_INVALID,
					"%s:%" PRId64
					": the line does not fit its checksum, but later lines do: "
					"the file was changed or the disk is bad",
					name, found->n_records + 1);
			break;
		}
		KGB_AUTO(json) cJSON *tree = NULL;
		struct kgb_journal_record record = {0};
		if (decode_line(line, line_len, found->n_records + 1, &tree, &record, err) < 0 ||
		    (fn && fn(payload, &record, err) < 0))
			return kgb_ctx(err, "%s:%" PRId64, name, found->n_records + 1);
		found->n_records++;
		found->last_time_ms = record.time_ms;
		pos += line_len + 1;
	}
	found->good_bytes += pos;
	found->torn_bytes = len - pos;
	return 0;
}

int kgb_journal_parse(const char *name, const char *text, size_t len, kgb_journal_fn fn,
		      void *payload, struct kgb_journal_scan *scan, struct kgb_err *err)
{
	struct kgb_journal_scan found = {0};
	if (parse_on(name, text, len, fn, payload, &found, err) < 0)
		return -1;
	if (scan)
		*scan = found;
	return 0;
}

int kgb_journal_read_on(int dir_fd, kgb_journal_fn fn, void *payload, struct kgb_journal_scan *scan,
			struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct stat st;
	KGB_AUTO(fd)
	int fd = openat(dir_fd, KGB_JOURNAL_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return kgb_fail_errno(err, errno, "open '%s'", KGB_JOURNAL_NAME);
	if (st.st_size < (off_t)scan->good_bytes)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' has become shorter: it was changed",
				KGB_JOURNAL_NAME);
	if (lseek(fd, (off_t)scan->good_bytes, SEEK_SET) < 0)
		return kgb_fail_errno(err, errno, "read '%s'", KGB_JOURNAL_NAME);
	if (kgb_fs_read_fd(fd, JOURNAL_LIMIT, &text, err) < 0)
		return kgb_ctx(err, "%s", KGB_JOURNAL_NAME);
	return parse_on(KGB_JOURNAL_NAME, text.ptr, text.len, fn, payload, scan, err);
}

int kgb_journal_read(int dir_fd, kgb_journal_fn fn, void *payload, struct kgb_journal_scan *scan,
		     struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (kgb_fs_read(dir_fd, KGB_JOURNAL_NAME, JOURNAL_LIMIT, &text, err) < 0)
		return -1;
	return kgb_journal_parse(KGB_JOURNAL_NAME, text.ptr, text.len, fn, payload, scan, err);
}

/** Keep the torn bytes in a file for people, then cut them off. */
static int cut_torn_tail(int dir_fd, int fd, const struct kgb_buf *text,
			 const struct kgb_journal_scan *scan, struct kgb_err *err)
{
	KGB_AUTO(fd)
	int torn_fd = openat(dir_fd, KGB_JOURNAL_TORN_NAME,
			     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (torn_fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", KGB_JOURNAL_TORN_NAME);
	if (kgb_fs_write_all(torn_fd, text->ptr + scan->good_bytes, scan->torn_bytes, err) < 0 ||
	    kgb_fs_write_all(torn_fd, "\n", 1, err) < 0)
		return kgb_ctx(err, "%s", KGB_JOURNAL_TORN_NAME);
	if (fsync(torn_fd) < 0)
		return kgb_fail_errno(err, errno, "sync '%s'", KGB_JOURNAL_TORN_NAME);
	if (ftruncate(fd, (off_t)scan->good_bytes) < 0 || fdatasync(fd) < 0)
		return kgb_fail_errno(err, errno, "cut the torn end off '%s'", KGB_JOURNAL_NAME);
	kgb_warn("%s: cut off %zu bytes of an unfinished record after line %" PRId64
		 " (kept in %s)",
		 KGB_JOURNAL_NAME, scan->torn_bytes, scan->n_records, KGB_JOURNAL_TORN_NAME);
	return 0;
}

int kgb_journal_open(struct kgb_journal **out, int dir_fd, kgb_journal_fn fn, void *payload,
		     struct kgb_err *err)
{
	KGB_AUTO(fd)
	int fd = openat(dir_fd, KGB_JOURNAL_NAME,
			O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", KGB_JOURNAL_NAME);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_journal_scan scan = {0};
	if (kgb_fs_read_fd(fd, JOURNAL_LIMIT, &text, err) < 0 ||
	    kgb_journal_parse(KGB_JOURNAL_NAME, text.ptr, text.len, fn, payload, &scan, err) < 0)
		return -1;
	if (scan.torn_bytes > 0 && cut_torn_tail(dir_fd, fd, &text, &scan, err) < 0)
		return -1;
	/* A file that was just created must survive a power failure. */
	if (scan.n_records == 0 && fsync(dir_fd) < 0)
		return kgb_fail_errno(err, errno, "sync the run directory");
	struct kgb_journal *journal = kgb_xcalloc(1, sizeof(*journal));
	*journal = (struct kgb_journal){
		.fd = kgb_take_fd(&fd),
		.seq = scan.n_records,
		.end = (off_t)scan.good_bytes,
		.line = KGB_BUF_INIT(KGB_LIMIT_LINE),
	};
	*out = journal;
	return 0;
}

/** The whole line with its newline. */
static int build_line(struct kgb_journal *journal, const char *type, const char *data_json,
		      int64_t time_ms, struct kgb_err *err)
{
	struct kgb_buf *line = &journal->line;
	char time_text[KGB_TIME_LEN];
	kgb_time_format(time_ms, time_text);
	kgb_buf_clear(line);
	line->overflowed = false;
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, line, 0);
	kgb_jsonw_put(&w, "{seq: %ld, time: %s, type: %s, data:", journal->seq + 1, time_text,
		      type);
	kgb_jsonw_raw(&w, data_json);
	kgb_jsonw_object_end(&w);
	if (!line->overflowed) {
		uint32_t crc = kgb_crc32c(line->ptr, line->len);
		kgb_buf_truncate(line, line->len - 1);
		kgb_buf_addf(line, CRC_KEY "%08" PRIx32 "\"}\n", crc);
	}
	if (line->overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "a record of type '%s' is over %u bytes", type,
				KGB_LIMIT_LINE);
	KGB_ASSERT(memchr(line->ptr, '\n', line->len) == line->ptr + line->len - 1);
	return 0;
}

/** Write with one write(2). The remains of a short or failed write are cut off again. */
static int write_line(struct kgb_journal *journal, struct kgb_err *err)
{
	const struct kgb_buf *line = &journal->line;
	ssize_t n = 0;
	do
		n = write(journal->fd, line->ptr, line->len);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)line->len) {
		journal->end += n;
		return 0;
	}
	/* A short write to a regular file means that the disk is full (or a file size limit is
	 * reached). */
	int code = n < 0 ? errno : ENOSPC;
	if (n > 0 && ftruncate(journal->fd, journal->end) < 0)
		journal->broken = true;
	return kgb_fail_errno(err, code, "append to '%s'", KGB_JOURNAL_NAME);
}

int kgb_journal_append(struct kgb_journal *journal, const char *type, const char *data_json,
		       enum kgb_journal_sync sync, int64_t *seq_out, int64_t *time_ms_out,
		       struct kgb_err *err)
{
	if (journal->broken)
		return kgb_fail(err, KGB_ERR_FAILED,
				"'%s' could not be written before: nothing is appended any more",
				KGB_JOURNAL_NAME);
	int64_t time_ms = kgb_wall_ms();
	if (build_line(journal, type, data_json, time_ms, err) < 0 || write_line(journal, err) < 0)
		return -1;
	if (sync == KGB_JOURNAL_SYNC && fdatasync(journal->fd) < 0) {
		/* After a failed sync the kernel may have dropped the dirty pages: the content of
		 * the file is unknown. */
		journal->broken = true;
		return kgb_fail_errno(err, errno, "sync '%s'", KGB_JOURNAL_NAME);
	}
	journal->seq++;
	if (seq_out)
		*seq_out = journal->seq;
	if (time_ms_out)
		*time_ms_out = time_ms;
	return 0;
}

void kgb_journal_close(struct kgb_journal *journal)
{
	if (!journal)
		return;
	kgb_close(journal->fd);
	kgb_buf_release(&journal->line);
	kgb_free(journal);
}
