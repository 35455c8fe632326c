/* SPDX-License-Identifier: MIT */
#include "sandbox/cassette/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/formats/jsonw.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/system/spare_fds.h"
#include "base/time.h"
#include "base/vec.h"
#include "sandbox/cassette/replay.h"
#include "sandbox/request/http.h"

/* Bytes of a response that are collected before each write. No replay reads the file before its
 * meta file exists. */
#define WRITE_BYTES (64u << 10)

/* Create NNNN.<suffix>; a name that exists already is an error: two sessions share a directory. */
static int create(const struct kgb_exchange_record_spec *spec, const char *suffix, int *out_fd,
		  struct kgb_err *err)
{
	KGB_BORROW_SPARE_FDS;
	KGB_AUTO(free) char *name = kgb_xasprintf("%04" PRId64 ".%s", spec->number, suffix);
	int fd = openat(spec->dir_fd, name,
			O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "record '%s'", name);
	*out_fd = fd;
	return 0;
}

void kgb_exchange_record_init(struct kgb_exchange_record *record,
			      const struct kgb_exchange_record_spec *spec)
{
	*record = (struct kgb_exchange_record){.spec = *spec, .fd = -1, .chunk = KGB_BUF_INIT(0)};
	kgb_scrub_init(&record->scrub);
	for (size_t i = 0; i < KGB_SCRUB_MAX; i++)
		kgb_scrub_add(&record->scrub, spec->secrets[i]);
}

void kgb_exchange_record_release(struct kgb_exchange_record *record)
{
	kgb_close(record->fd);
	record->fd = -1;
	if (record->sha256) {
		char ignored[KGB_SHA256_HEX_LEN];
		kgb_sha256_end(KGB_TAKE(record->sha256), ignored);
	}
	kgb_scrub_release(&record->scrub);
	kgb_buf_release(&record->chunk);
}

static void write_chunk(struct kgb_exchange_record *record)
{
	if (!record->failed && record->fd < 0 &&
	    create(&record->spec, record->sse ? "response.sse" : "response.json", &record->fd,
		   &record->err) < 0)
		record->failed = true;
	if (!record->failed &&
	    kgb_fs_write_all(record->fd, record->chunk.ptr, record->chunk.len, &record->err) < 0)
		record->failed = true;
	kgb_sha256_add(record->sha256, record->chunk.ptr, record->chunk.len);
	kgb_buf_clear(&record->chunk);
}

void kgb_exchange_record_response(struct kgb_exchange_record *record, bool sse, const char *bytes,
				  size_t len)
{
	if (record->spec.dir_fd < 0 || record->failed)
		return;
	if (!record->sha256) {
		record->sse = sse;
		record->sha256 = kgb_sha256_begin();
	}
	kgb_scrub_feed(&record->scrub, bytes, len, &record->chunk);
	if (record->chunk.len >= WRITE_BYTES)
		write_chunk(record);
}

/* The facts that a replay needs besides the answer. */
static void write_reply(struct kgb_jsonw *w, struct kgb_exchange_record *record,
			const struct kgb_exchange_record_end *end)
{
	char name[40], sha256[KGB_SHA256_HEX_LEN];
	bool there = record->sha256 != NULL;
	snprintf(name, sizeof(name), "%04" PRId64 ".response.%s", record->spec.number,
		 record->sse ? "sse" : "json");
	if (there)
		kgb_sha256_end(KGB_TAKE(record->sha256), sha256);
	kgb_jsonw_put(w, "response: %s, response_sha256: %s, reply_headers: [", there ? name : NULL,
		      there ? sha256 : NULL);
	for (size_t i = 0; i < end->reply->names.n; i++)
		kgb_jsonw_put(w, "[%s, %s]", end->reply->names.items[i],
			      end->reply->values.items[i]);
	kgb_jsonw_array_end(w);
}

static void write_meta(struct kgb_buf *out, struct kgb_exchange_record *record,
		       const struct kgb_exchange_record_end *end)
{
	const struct kgb_exchange_summary *summary = end->summary;
	char started[KGB_TIME_LEN];
	kgb_time_format(end->started_wall_ms, started);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_put(&w, "{schema: 'kgb.exchange/1', number: %ld, source: %s, key: %s, path: %s",
		      summary->number, end->source, *record->key ? record->key : NULL,
		      summary->path);
	kgb_jsonw_put(&w, "status: %d, model: %s, message_id: %s, started: %s", summary->status,
		      summary->model, *summary->message_id ? summary->message_id : NULL, started);
	kgb_jsonw_kcount(&w, "ttfb_ms", summary->ttfb_ms);
	kgb_jsonw_put(&w, "total_ms: %ld, request_bytes: %ld, response_bytes: %ld, usage: {",
		      summary->total_ms, summary->request_bytes, summary->response_bytes);
	kgb_rows_write(&w, kgb_usage_long_rows, &summary->usage);
	kgb_jsonw_put(&w, "}, usage_complete: %hhd, billed: %hhd, repeated: %hhd",
		      summary->usage_complete, summary->billed, summary->repeated);
	kgb_jsonw_put(&w, "tools_removed: %ld, aborted_by_client: %hhd, cut_upstream: %hhd",
		      summary->n_tools_removed, summary->aborted_by_client, summary->cut_upstream);
	kgb_jsonw_put(&w, "error: %s, waited_ms: %ld, tries: [", summary->error, end->waited_ms);
	KGB_VEC_FOREACH(try, end->tries)
		kgb_jsonw_str(&w, *try);
	kgb_jsonw_array_end(&w);
	write_reply(&w, record, end);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}

void kgb_exchange_record_finish(struct kgb_exchange_record *record,
				const struct kgb_exchange_record_end *end)
{
	if (record->spec.dir_fd < 0)
		return;
	if (record->sha256) {
		kgb_scrub_finish(&record->scrub, &record->chunk);
		write_chunk(record);
	}
	KGB_AUTO(buf) struct kgb_buf meta = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	write_meta(&meta, record, end);
	kgb_scrub_whole(record->spec.secrets, meta.ptr, meta.len, &clean);
	KGB_AUTO(free) char *name = kgb_xasprintf("%04" PRId64 ".meta.json", record->spec.number);
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_fs_write_atomic(record->spec.dir_fd, name, clean.ptr, clean.len, 0644, false,
				&err) < 0 &&
	    !record->failed) {
		record->err = err;
		record->failed = true;
	}
}

/* Pairs, not an object: a header may come twice. */
static void write_headers(struct kgb_jsonw *w, const struct kgb_exchange_record_request *request)
{
	kgb_jsonw_put(w, "headers: [");
	for (size_t i = 0; i < request->headers->names.n; i++) {
		const char *name = request->headers->names.items[i];
		kgb_jsonw_put(w, "[%s, %s]", name,
			      kgb_http_secret_header(name) ? KGB_SCRUB_MARK
							   : request->headers->values.items[i]);
	}
	kgb_jsonw_array_end(w);
}

static void write_body(struct kgb_jsonw *w, const struct kgb_exchange_record_request *request,
		       bool is_json)
{
	if (request->body_len == 0) {
		kgb_jsonw_put(w, "body: null");
	} else if (is_json) {
		kgb_jsonw_key(w, "body");
		kgb_jsonw_raw(w, request->body);
	} else {
		kgb_jsonw_key(w, "body_text");
		kgb_jsonw_strn(w, request->body, request->body_len);
	}
}

int kgb_exchange_record_write_request(const struct kgb_exchange_record_spec *spec,
				      const struct kgb_exchange_record_request *request,
				      char key[KGB_SHA256_HEX_LEN], struct kgb_err *err)
{
	struct kgb_cassette_request asked = {
		.method = request->method,
		.path = request->path,
		.body = request->body,
		.body_len = request->body_len,
		.sample = kgb_headers_find(request->headers, KGB_SAMPLE_HEADER),
	};
	memcpy(asked.secrets, spec->secrets, sizeof(asked.secrets));
	bool is_json = kgb_cassette_key(&asked, key);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_put(&w, "{method: %s, path: %s", request->method, request->path);
	write_headers(&w, request);
	write_body(&w, request, is_json);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(&text, '\n');
	kgb_scrub_whole(spec->secrets, text.ptr, text.len, &clean);
	KGB_AUTO(fd) int fd = -1;
	if (create(spec, "request.json", &fd, err) < 0)
		return -1;
	return kgb_fs_write_all(fd, clean.ptr, clean.len, err);
}
