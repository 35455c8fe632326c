/* SPDX-License-Identifier: MIT */
#include "verify/provenance/compiler.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "verify/provenance/proof_cache.h"

enum { COMPILE_MS = 60 * 1000 };

/* What was asked for once. Never freed before the compiler: others may wait for it. */
struct entry {
	struct entry *next;
	char key[KGB_SHA256_HEX_LEN];
	char cubin_sha256[KGB_SHA256_HEX_LEN]; /* "": there is no code */
	struct kgb_recompiled made;
	char why[KGB_RECOMPILE_WHY]; /* there is no code */
	bool is_done;
};

struct kgb_compiler {
	struct kgb_zygote *zygote;
	const struct kgb_disk_cache *cache;
	atomic_uint_fast64_t kept_bytes; /* there */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a seat is left, or an entry is done */
	unsigned sm; /* 0: not known yet */
	struct entry *entries;
	size_t n_entries, n_bytes;
	int64_t n_recalled;
};

struct kgb_compiler_seat {
	struct kgb_compiler *compiler;
	pthread_t thread;
	int fd;
	bool leaving; /* under the compiler's lock, as the next */
	struct kgb_worker *worker; /* that compiles for this seat; NULL: none */
};

struct header {
	uint64_t first, second;
};

/* A request as it came. */
struct request {
	char *text; /* owned: the header, the IR, the options, a NUL */
	size_t len;
	struct kgb_triton_claim claim; /* in it */
};

struct kgb_compiler *kgb_compiler_new(struct kgb_zygote *zygote, const struct kgb_disk_cache *cache)
{
	struct kgb_compiler *compiler = kgb_xcalloc(1, sizeof(*compiler));

	*compiler = (struct kgb_compiler){.zygote = zygote,
					  .cache = cache,
					  .lock = PTHREAD_MUTEX_INITIALIZER,
					  .changed = PTHREAD_COND_INITIALIZER};
	return compiler;
}

void kgb_compiler_free(struct kgb_compiler *compiler)
{
	if (!compiler)
		return;
	while (compiler->entries) {
		struct entry *entry = compiler->entries;
		compiler->entries = entry->next;
		kgb_recompiled_release(&entry->made);
		kgb_free(entry);
	}
	kgb_free(compiler);
}

void kgb_compiler_set_sm(struct kgb_compiler *compiler, unsigned sm)
{
	pthread_mutex_lock(&compiler->lock);
	compiler->sm = sm;
	pthread_mutex_unlock(&compiler->lock);
}

int64_t kgb_compiler_n_recalled(struct kgb_compiler *compiler)
{
	pthread_mutex_lock(&compiler->lock);
	int64_t n = compiler->n_recalled;
	pthread_mutex_unlock(&compiler->lock);
	return n;
}

const struct kgb_recompiled *kgb_compiler_find(struct kgb_compiler *compiler,
					       const char *cubin_sha256)
{
	const struct kgb_recompiled *found = NULL;

	pthread_mutex_lock(&compiler->lock);
	for (const struct entry *entry = compiler->entries; entry && !found; entry = entry->next)
		if (entry->is_done && kgb_str_eq(entry->cubin_sha256, cubin_sha256))
			found = &entry->made;
	pthread_mutex_unlock(&compiler->lock);
	return found;
}

/* ---- the table ---- */

static struct entry *find_entry(const struct kgb_compiler *compiler, const char *key)
{
	for (struct entry *entry = compiler->entries; entry; entry = entry->next)
		if (memcmp(entry->key, key, sizeof(entry->key)) == 0)
			return entry;
	return NULL;
}

/* The entry for this key; *is_ours: it is new and ours to fill. NULL: no more room, or the seat is
 * to be left. */
static struct entry *claim_entry(struct kgb_compiler_seat *seat, const char *key, bool *is_ours)
{
	struct kgb_compiler *compiler = seat->compiler;
	struct entry *entry = find_entry(compiler, key);

	*is_ours = !entry;
	while (entry && !entry->is_done && !seat->leaving)
		pthread_cond_wait(&compiler->changed, &compiler->lock);
	if (entry)
		return entry->is_done ? entry : NULL;
	if (compiler->n_entries == KGB_COMPILER_ENTRIES_MAX ||
	    compiler->n_bytes > KGB_COMPILER_BYTES_MAX)
		return NULL;
	entry = kgb_xcalloc(1, sizeof(*entry));
	memcpy(entry->key, key, sizeof(entry->key));
	entry->next = compiler->entries;
	compiler->entries = entry;
	compiler->n_entries++;
	return entry;
}

static void finish_entry(struct kgb_compiler *compiler, struct entry *entry, bool is_recalled)
{
	if (entry->made.bytes)
		kgb_sha256_hex(entry->made.cubin, entry->made.len, entry->cubin_sha256);
	pthread_mutex_lock(&compiler->lock);
	entry->is_done = true;
	compiler->n_bytes += entry->made.n_bytes;
	compiler->n_recalled += is_recalled;
	pthread_cond_broadcast(&compiler->changed);
	pthread_mutex_unlock(&compiler->lock);
}

/* ---- compiling ---- */

/* False: the seat is to be left. */
static bool set_worker(struct kgb_compiler_seat *seat, struct kgb_worker *worker)
{
	pthread_mutex_lock(&seat->compiler->lock);
	seat->worker = worker;
	bool goes_on = !seat->leaving;
	pthread_mutex_unlock(&seat->compiler->lock);
	return goes_on;
}

static void compile(struct kgb_compiler_seat *seat, const struct kgb_triton_claim *claim,
		    unsigned sm, struct entry *entry)
{
	struct kgb_compiler *compiler = seat->compiler;
	struct kgb_worker worker = KGB_WORKER_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	int rc = kgb_recompile_start(&worker, compiler->zygote, &err);

	if (rc == 0 && !set_worker(seat, &worker))
		rc = kgb_fail(&err, KGB_ERR_FAILED, "no longer needed");
	if (rc == 0)
		rc = kgb_recompile_ask(&worker, claim, sm, kgb_mono_ms() + COMPILE_MS, &entry->made,
				       entry->why, &err);
	if (rc < 0)
		snprintf(entry->why, sizeof(entry->why), "%.300s", err.msg);
	if (rc == 0 && compiler->cache)
		kgb_proof_keep(compiler->cache, &compiler->kept_bytes, claim, sm, worker.identity,
			       &entry->made);
	(void)set_worker(seat, NULL);
	kgb_worker_stop(&worker);
}

/* NULL: neither code nor a reason. */
static const struct entry *make(struct kgb_compiler_seat *seat, const struct request *request)
{
	struct kgb_compiler *compiler = seat->compiler;
	const struct kgb_triton_claim *claim = &request->claim;
	char key[KGB_SHA256_HEX_LEN];
	bool is_ours;

	kgb_sha256_hex(request->text, request->len, key);
	pthread_mutex_lock(&compiler->lock);
	const unsigned sm = compiler->sm;
	struct entry *entry = seat->leaving || sm == 0 ? NULL : claim_entry(seat, key, &is_ours);
	pthread_mutex_unlock(&compiler->lock);
	if (!entry || !is_ours)
		return entry;
	const bool is_recalled =
		compiler->cache && kgb_proof_recall(compiler->cache, claim, sm,
						    compiler->zygote->identity, &entry->made);
	if (!is_recalled)
		compile(seat, claim, sm, entry);
	finish_entry(compiler, entry, is_recalled);
	return entry;
}

/* ---- the socket ---- */

static bool read_all(int fd, void *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = read(fd, (char *)data + at, len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/* A peer that does not read must not hold this thread: kgb_compiler_leave shuts the socket down. */
static bool send_all(int fd, const void *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = send(fd, (const char *)data + at, len - at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static bool read_request(int fd, struct request *request)
{
	struct header header;

	kgb_free(request->text);
	*request = (struct request){0};
	if (!read_all(fd, &header, sizeof(header)) || header.first == 0 ||
	    header.first > KGB_CLAIM_TTIR_MAX || header.second > KGB_CLAIM_METADATA_MAX)
		return false;
	request->len = sizeof(header) + header.first + header.second;
	request->text = kgb_xmalloc(request->len + 1);
	memcpy(request->text, &header, sizeof(header));
	request->text[request->len] = '\0';
	request->claim = (struct kgb_triton_claim){
		.name = "",
		.cubin_sha256 = "",
		.ttir = request->text + sizeof(header),
		.ttir_len = header.first,
		.metadata = request->text + sizeof(header) + header.first,
		.metadata_len = header.second,
	};
	return read_all(fd, request->text + sizeof(header), request->len - sizeof(header));
}

static bool answer(int fd, const struct entry *entry)
{
	const char *why = entry ? entry->why : "not now";

	if (entry && entry->made.bytes)
		return send_all(fd, entry->made.bytes, entry->made.n_bytes);
	const struct header header = {.second = strlen(why)};
	return send_all(fd, &header, sizeof(header)) && send_all(fd, why, strlen(why));
}

static void *serve(void *payload)
{
	struct kgb_compiler_seat *seat = payload;
	struct request request = {0};

	(void)pthread_setname_np(pthread_self(), "compiler");
	while (read_request(seat->fd, &request) && answer(seat->fd, make(seat, &request)))
		;
	(void)shutdown(seat->fd, SHUT_RDWR); /* the runner goes on without us */
	kgb_free(request.text);
	return NULL;
}

int kgb_compiler_sit(struct kgb_compiler *compiler, struct kgb_compiler_seat **out, int *runner_fd,
		     struct kgb_err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return kgb_fail_errno(err, errno, "socketpair");
	struct kgb_compiler_seat *seat = kgb_xcalloc(1, sizeof(*seat));
	*seat = (struct kgb_compiler_seat){.compiler = compiler, .fd = pair[0]};
	int code = pthread_create(&seat->thread, NULL, serve, seat);
	if (code != 0) {
		kgb_close(pair[0]);
		kgb_close(pair[1]);
		kgb_free(seat);
		return kgb_fail_errno(err, code, "start a thread");
	}
	*out = seat;
	*runner_fd = pair[1];
	return 0;
}

void kgb_compiler_leave(struct kgb_compiler_seat *seat)
{
	if (!seat)
		return;
	pthread_mutex_lock(&seat->compiler->lock);
	seat->leaving = true;
	if (seat->worker)
		kgb_worker_kill(seat->worker);
	pthread_cond_broadcast(&seat->compiler->changed);
	pthread_mutex_unlock(&seat->compiler->lock);
	(void)shutdown(seat->fd, SHUT_RDWR);
	(void)pthread_join(seat->thread, NULL);
	kgb_close(seat->fd);
	kgb_free(seat);
}
