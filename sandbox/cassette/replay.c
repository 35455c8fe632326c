/* SPDX-License-Identifier: MIT */
#include "sandbox/cassette/replay.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/vec.h"

/* Hexadecimal numbers of at least this length are random, or derived from random ones. */
#define LONG_HEX 32
/* Digits of milliseconds since 1970; until the year 2033 the first one is 1. */
#define MS_DIGITS 13
/* Characters shown on each side of a difference. */
#define SHOWN 60

/* ---- text without the differences between runs ---- */

/* As isxdigit, without a call: it runs on every byte of every request. */
static bool is_hex(char c)
{
	return (unsigned char)(c - '0') < 10 || (unsigned char)((c | 0x20) - 'a') < 6;
}

static size_t hex_run(const char *p, const char *end)
{
	const char *q = p;
	while (q < end && is_hex(*q))
		q++;
	return (size_t)(q - p);
}

/* Bytes at `p` that have the shape: 'x' a hexadecimal digit, '0' a decimal one, all else itself;
 * 0 when they have not. */
static size_t shaped(const char *shape, const char *p, const char *end)
{
	size_t n = 0;
	for (; shape[n]; n++) {
		if (p + n == end)
			return 0;
		char c = p[n], want = shape[n];
		if (want == 'x' ? !is_hex(c) : want == '0' ? !isdigit((unsigned char)c) : c != want)
			return 0;
	}
	return n;
}

static size_t date_len(const char *p, const char *end)
{
	size_t n = shaped("0000-00-00", p, end);
	if (n == 0)
		return 0;
	size_t time = shaped("T00:00:00", p + n, end);
	if (time == 0)
		time = shaped(" 00:00:00", p + n, end);
	n += time;
	if (time > 0 && p + n < end && p[n] == '.')
		for (n++; p + n < end && isdigit((unsigned char)p[n]);)
			n++;
	return n + shaped("Z", p + n, end);
}

/* Lines that CLIs add to requests: the machine, and the progress of a command. */
static const struct {
	const char *start, *name;
} lines[] = {
	{"OS Version: ", "<machine>"},
	{"Chunk ID: ", "<chunk>"},
	{"Wall time: ", "<time>"},
};

/* The rest of the line at `p`, if it is one of those. */
static size_t line_len(const char *p, const char *end, const char **name)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(lines); i++) {
		if (*p != *lines[i].start) /* the usual case: avoid a call */
			continue;
		size_t n = strlen(lines[i].start);
		if ((size_t)(end - p) < n || memcmp(p, lines[i].start, n) != 0)
			continue;
		while (p + n < end && p[n] != '\\' && p[n] != '"' && p[n] != '\n')
			n++;
		*name = lines[i].name;
		return n;
	}
	return 0;
}

void kgb_cassette_normalise(const char *text, size_t len, struct kgb_buf *out)
{
	const char *end = text + len;
	const char *kept = text; /* not appended yet: from here */
	for (const char *p = text; p < end;) {
		const char *name = NULL;
		size_t n = 0, hex = hex_run(p, end);
		if (hex == 8 && (n = shaped("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", p, end)) > 0)
			name = "<uuid>";
		else if (hex >= LONG_HEX && (n = hex) > 0)
			name = "<hex>";
		else if (hex == 4 && (n = date_len(p, end)) > 0)
			name = "<date>";
		else if (hex == MS_DIGITS && *p == '1' && (n = shaped("0000000000000", p, end)) > 0)
			name = "<ms>";
		else
			n = line_len(p, end, &name);
		if (name) {
			kgb_buf_add(out, kept, (size_t)(p - kept));
			kgb_buf_adds(out, name);
			p += n;
			kept = p;
		} else {
			/* Do not match inside a word: a number must begin at its first digit. */
			p += hex > 0 ? hex : 1;
		}
	}
	kgb_buf_add(out, kept, (size_t)(end - kept));
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(cJSON *const *)a)->string, (*(cJSON *const *)b)->string);
}

/* Objects have their members in the order of their names, all the way down: some clients write them
 * in another order each time. */
static void sort_members(cJSON *node)
{
	size_t n = 0;
	for (cJSON *child = node->child; child; child = child->next, n++)
		sort_members(child);
	if (!cJSON_IsObject(node) || n < 2)
		return;
	cJSON **members = kgb_xcalloc(n, sizeof(cJSON *));
	size_t i = 0;
	for (cJSON *child = node->child; child; child = child->next)
		members[i++] = child;
	qsort(members, n, sizeof(cJSON *), by_name);
	for (i = 0; i < n; i++) {
		members[i]->next = i + 1 < n ? members[i + 1] : NULL;
		members[i]->prev = members[i > 0 ? i - 1 : n - 1];
	}
	node->child = members[0];
	kgb_free(members);
}

/* Whether it is JSON. */
static bool clean_body(const struct kgb_cassette_request *request, struct kgb_buf *out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_scrub_whole(request->secrets, request->body, request->body_len, &text);
	KGB_AUTO(json) cJSON *body = NULL;
	bool is_json = kgb_json_parse(text.ptr, text.len, &body, NULL) == 0;
	if (is_json) {
		struct kgb_jsonw w;
		sort_members(body);
		kgb_buf_clear(&text);
		kgb_jsonw_init(&w, &text, 0);
		kgb_jsonw_tree(&w, body);
	}
	kgb_cassette_normalise(text.ptr, text.len, out);
	return is_json;
}

/* Without the query. */
static size_t path_len(const char *path)
{
	return strcspn(path, "?");
}

bool kgb_cassette_key(const struct kgb_cassette_request *request, char out[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_buf_addf(&text, "%s %.*s\n", request->method, (int)path_len(request->path),
		     request->path);
	bool is_json = clean_body(request, &text);
	if (request->sample)
		kgb_buf_addf(&text, "\n" KGB_SAMPLE_HEADER ": %s", request->sample);
	kgb_sha256_hex(text.ptr, text.len, out);
	return is_json;
}

/* ---- the record ---- */

struct tape {
	int64_t number;
	char key[KGB_SHA256_HEX_LEN];
	char sha256[KGB_SHA256_HEX_LEN]; /* of the answer */
	char *file; /* owned; the answer's; NULL: it is empty */
	int status;
	bool cut;
	struct kgb_headers headers;
};

struct kgb_cassette {
	int dir_fd;
	char *dir; /* owned; for messages */
	KGB_VEC(struct tape) tapes; /* by number */
};

size_t kgb_cassette_n(const struct kgb_cassette *cassette)
{
	return cassette->tapes.n;
}

static void tape_release(struct tape *tape)
{
	kgb_free(tape->file);
	kgb_headers_release(&tape->headers);
}

void kgb_cassette_free(struct kgb_cassette *cassette)
{
	if (!cassette)
		return;
	for (size_t i = 0; i < cassette->tapes.n; i++)
		tape_release(&cassette->tapes.items[i]);
	KGB_VEC_RELEASE(&cassette->tapes);
	kgb_close(cassette->dir_fd);
	kgb_free(cassette->dir);
	kgb_free(cassette);
}

static int read_json(const struct kgb_cassette *cassette, const char *name, cJSON **out,
		     struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_JSON);
	if (kgb_fs_read_untrusted(cassette->dir_fd, name, KGB_LIMIT_JSON, &text, err) < 0 ||
	    kgb_json_parse(text.ptr, text.len, out, err) < 0)
		return kgb_ctx(err, "'%s/%s'", cassette->dir, name);
	return 0;
}

static int read_tape(struct kgb_cassette *cassette, const char *name, struct kgb_err *err)
{
	KGB_AUTO(json) cJSON *meta = NULL;
	if (read_json(cassette, name, &meta, err) < 0)
		return -1;
	int status = (int)kgb_json_i64(meta, "status", 0);
	const char *key = kgb_json_str(meta, "key", "");
	if (status == 0)
		return 0; /* the client left before the answer */
	if (strlen(key) != KGB_SHA256_HEX_LEN - 1)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"'%s/%s': 'key' is missing: the record is of a version before replays",
			cassette->dir, name);
	KGB_VEC_GROW(&cassette->tapes, 1);
	struct tape *tape = &cassette->tapes.items[cassette->tapes.n++];
	*tape = (struct tape){.number = kgb_json_i64(meta, "number", 0),
			      .status = status,
			      .cut = kgb_json_bool(meta, "cut_upstream", false) ||
				     kgb_json_bool(meta, "aborted_by_client", false)};
	snprintf(tape->key, sizeof(tape->key), "%s", key);
	snprintf(tape->sha256, sizeof(tape->sha256), "%s",
		 kgb_json_str(meta, "response_sha256", ""));
	const char *file = kgb_json_str(meta, "response", NULL);
	tape->file = file ? kgb_xstrdup(file) : NULL;
	const cJSON *header = NULL;
	cJSON_ArrayForEach(header, kgb_json_get(meta, "reply_headers")) {
		const cJSON *first = cJSON_GetArrayItem(header, 0);
		const cJSON *second = cJSON_GetArrayItem(header, 1);
		if (cJSON_IsString(first) && cJSON_IsString(second)) {
			kgb_headers_add(&tape->headers, first->valuestring, second->valuestring);
		}
	}
	return 0;
}

static int list_metas(const struct kgb_cassette *cassette, struct kgb_strv *out,
		      struct kgb_err *err)
{
	int fd = openat(cassette->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		kgb_close(fd);
		return kgb_fail(err, KGB_ERR_FAILED, "'%s' cannot be listed", cassette->dir);
	}
	for (const struct dirent *entry; (entry = readdir(dir));)
		if (kgb_str_ends(entry->d_name, ".meta.json"))
			kgb_strv_add(out, entry->d_name);
	closedir(dir);
	kgb_strv_sort(out);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = ((const struct tape *)a)->number, y = ((const struct tape *)b)->number;
	return (x > y) - (x < y);
}

int kgb_cassette_load(struct kgb_cassette **out, const char *traffic_dir, struct kgb_err *err)
{
	struct kgb_cassette *cassette = kgb_xcalloc(1, sizeof(*cassette));
	KGB_AUTO(strv) struct kgb_strv metas = KGB_STRV_INIT;
	cassette->dir_fd = -1;
	cassette->dir = kgb_xstrdup(traffic_dir);
	int rc = kgb_fs_opendir(AT_FDCWD, traffic_dir, &cassette->dir_fd, err);
	if (rc == 0)
		rc = list_metas(cassette, &metas, err);
	for (size_t i = 0; rc == 0 && i < metas.n; i++)
		rc = read_tape(cassette, metas.items[i], err);
	if (rc < 0) {
		kgb_cassette_free(cassette);
		return -1;
	}
	if (cassette->tapes.n > 0)
		qsort(cassette->tapes.items, cassette->tapes.n, sizeof(struct tape), by_number);
	*out = cassette;
	return 0;
}

/* ---- answers ---- */

void kgb_cassette_use_release(struct kgb_cassette_use *use)
{
	kgb_free(use->given);
	*use = (struct kgb_cassette_use){0};
}

void kgb_cassette_answer_release(struct kgb_cassette_answer *answer)
{
	kgb_headers_release(&answer->headers);
	kgb_buf_release(&answer->body);
}

static int read_answer(const struct kgb_cassette *cassette, const struct tape *tape,
		       struct kgb_cassette_answer *out, struct kgb_err *err)
{
	char sha256[KGB_SHA256_HEX_LEN];
	if (tape->file) {
		if (kgb_fs_read_untrusted(cassette->dir_fd, tape->file, KGB_LIMIT_HTTP_ANSWER,
					  &out->body, err) < 0)
			return kgb_ctx(err, "'%s'", cassette->dir);
		kgb_sha256_hex(out->body.ptr, out->body.len, sha256);
		if (strcmp(sha256, tape->sha256) != 0)
			return kgb_fail(err, KGB_ERR_INVALID,
					"'%s/%s' is not what was recorded: its SHA-256 has changed",
					cassette->dir, tape->file);
	}
	out->status = tape->status;
	out->cut = tape->cut;
	kgb_headers_add_all(&out->headers, &tape->headers);
	return 1;
}

int kgb_cassette_answer(const struct kgb_cassette *cassette, struct kgb_cassette_use *use,
			const char *key, struct kgb_cassette_answer *out, struct kgb_err *err)
{
	if (!use->given)
		use->given = kgb_xcalloc(cassette->tapes.n + 1, sizeof(*use->given));
	for (size_t i = 0; i < cassette->tapes.n; i++) {
		if (use->given[i] || strcmp(cassette->tapes.items[i].key, key) != 0)
			continue;
		use->given[i] = true;
		use->n_given++;
		return read_answer(cassette, &cassette->tapes.items[i], out, err);
	}
	return 0;
}

/* ---- explanation of a missing answer ---- */

/* Find the first difference of two trees: `path` is extended to it. */
static bool difference(const cJSON *a, const cJSON *b, struct kgb_buf *path, const cJSON **at_a,
		       const cJSON **at_b);

static bool member_difference(const cJSON *a, const cJSON *b, struct kgb_buf *path,
			      const cJSON **at_a, const cJSON **at_b)
{
	size_t len = path->len, i = 0;
	bool array = cJSON_IsArray(a);
	const cJSON *x = a->child, *y = b->child;
	for (; x || y; i++) {
		bool same_name = array || (x && y && strcmp(x->string, y->string) == 0);
		if (array)
			kgb_buf_addf(path, "[%zu]", i);
		else
			kgb_buf_addf(path, "%s%s", len ? "." : "", x ? x->string : y->string);
		if (!x || !y || !same_name) {
			*at_a = x;
			*at_b = same_name || !x || !y ? y : NULL;
			return true;
		}
		if (difference(x, y, path, at_a, at_b))
			return true;
		kgb_buf_truncate(path, len);
		x = x->next;
		y = y->next;
	}
	return false;
}

static bool equal_text(const cJSON *a, const cJSON *b)
{
	KGB_AUTO(buf) struct kgb_buf x = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf y = KGB_BUF_INIT(0);
	kgb_cassette_normalise(a->valuestring, strlen(a->valuestring), &x);
	kgb_cassette_normalise(b->valuestring, strlen(b->valuestring), &y);
	return strcmp(x.ptr, y.ptr) == 0;
}

static bool difference(const cJSON *a, const cJSON *b, struct kgb_buf *path, const cJSON **at_a,
		       const cJSON **at_b)
{
	*at_a = a;
	*at_b = b;
	if ((a->type & 0xff) != (b->type & 0xff))
		return true;
	if (cJSON_IsArray(a) || cJSON_IsObject(a))
		return member_difference(a, b, path, at_a, at_b);
	return cJSON_IsString(a) ? !equal_text(a, b) : !cJSON_Compare(a, b, true);
}

static void add_value(struct kgb_buf *out, const cJSON *node, size_t from)
{
	if (!node) {
		kgb_buf_adds(out, "nothing");
		return;
	}
	char *printed = cJSON_IsString(node) ? NULL : cJSON_PrintUnformatted(node);
	const char *text = printed ? printed : cJSON_IsString(node) ? node->valuestring : "?";
	size_t len = strlen(text);
	size_t start = from > SHOWN / 2 ? from - SHOWN / 2 : 0;
	if (start > len)
		start = len;
	kgb_buf_addf(out, "'%s", start > 0 ? "..." : "");
	size_t shown = len - start < SHOWN ? len - start : SHOWN;
	kgb_escape(out, text + start, shown);
	kgb_buf_addf(out, "%s'", start + shown < len ? "..." : "");
	cJSON_free(printed);
}

static size_t common_prefix(const char *a, const char *b)
{
	size_t n = 0;
	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* Length of the equal parts of two bodies, from both ends. */
static size_t likeness(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b), n = common_prefix(a, b), tail = 0;
	size_t most = (la < lb ? la : lb) - n;
	while (tail < most && a[la - 1 - tail] == b[lb - 1 - tail])
		tail++;
	/* Subtract the difference in length. */
	size_t more = la > lb ? la - lb : lb - la;
	size_t same = n + tail;
	return same > more ? same - more : 0;
}

/* The recorded request that is most like `body`; its body's tree, or NULL. */
static cJSON *find_nearest(const struct kgb_cassette *cassette, const cJSON *body,
			   const struct tape **out)
{
	char *asked = cJSON_PrintUnformatted(body);
	cJSON *nearest = NULL;
	size_t best = 0;
	for (size_t i = 0; asked && i < cassette->tapes.n; i++) {
		KGB_AUTO(json) cJSON *recorded = NULL;
		KGB_AUTO(free)
		char *name = kgb_xasprintf("%04" PRId64 ".request.json",
					   cassette->tapes.items[i].number);
		if (read_json(cassette, name, &recorded, NULL) < 0)
			continue;
		cJSON *its_body = cJSON_DetachItemFromObjectCaseSensitive(recorded, "body");
		if (its_body)
			sort_members(its_body);
		char *text = its_body ? cJSON_PrintUnformatted(its_body) : NULL;
		size_t like = text ? likeness(asked, text) : 0;
		cJSON_free(text);
		if (its_body && (!nearest || like > best)) {
			cJSON_Delete(nearest);
			nearest = its_body;
			best = like;
			*out = &cassette->tapes.items[i];
		} else {
			cJSON_Delete(its_body);
		}
	}
	cJSON_free(asked);
	return nearest;
}

static void explain_difference(const cJSON *recorded, const cJSON *asked, struct kgb_buf *out)
{
	KGB_AUTO(buf) struct kgb_buf path = KGB_BUF_INIT(0);
	const cJSON *a = NULL, *b = NULL;
	if (!difference(recorded, asked, &path, &a, &b)) {
		kgb_buf_adds(out, "the same, but it has been answered as often as it was recorded");
		return;
	}
	size_t from = a && b && cJSON_IsString(a) && cJSON_IsString(b)
			      ? common_prefix(a->valuestring, b->valuestring)
			      : 0;
	kgb_buf_addf(out, "it differs at %s: recorded ", path.len ? path.ptr : "the top");
	add_value(out, a, from);
	kgb_buf_adds(out, ", asked ");
	add_value(out, b, from);
}

void kgb_cassette_explain(const struct kgb_cassette *cassette, const struct kgb_cassette_use *use,
			  const struct kgb_cassette_request *request, struct kgb_buf *out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *body = NULL;
	const struct tape *tape = NULL;
	kgb_buf_addf(out, "replay: no recorded answer to this %s %s (%zu of %zu were given); ",
		     request->method, request->path, use->n_given, cassette->tapes.n);
	if (kgb_json_parse(request->body, request->body_len, &body, NULL) < 0) {
		kgb_buf_adds(out, "its body is not JSON");
		return;
	}
	sort_members(body);
	KGB_AUTO(json) cJSON *nearest = find_nearest(cassette, body, &tape);
	if (!nearest) {
		kgb_buf_adds(out, "the record has no similar request");
		return;
	}
	kgb_buf_addf(out, "nearest is %04" PRId64 ": ", tape->number);
	explain_difference(nearest, body, out);
}
