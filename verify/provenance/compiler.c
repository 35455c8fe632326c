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

enum {
	COMPILE_MS = 60 * 1000,
	IDLE_MAX = 8, /* as many lanes may request IR at a time */
};

enum entry_state {
	ENTRY_BUSY, /* a seat compiles it */
	ENTRY_DONE,
	ENTRY_ABANDONED, /* the runner that requested it ended first */
};

/* The entry of a request. Never freed before the compiler: other seats may wait for it. */
struct entry {
	struct entry *next;
	char key[KGB_SHA256_HEX_LEN];
	struct kgb_buf image; /* for which a runner requested machine code; "": the judge requested
				 it */
	unsigned sm;
	char cubin_sha256[KGB_SHA256_HEX_LEN]; /* "": there is no machine code */
	struct kgb_recompiled made;
	char why[KGB_RECOMPILE_WHY]; /* the cause, if there is no code */
	enum entry_state state; /* under the compiler's lock */
	bool is_decided; /* else there is no code for lack of time, memory or processes */
};

struct kgb_compiler {
	struct kgb_zygote *zygote;
	const struct kgb_disk_cache *cache;
	atomic_uint_fast64_t kept_bytes; /* that this verification has stored in the cache */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a seat is left, or an entry is no longer busy */
	struct entry *entries;
	size_t n_entries, n_bytes;
	struct kgb_worker idle[IDLE_MAX]; /* workers that have made IR of kernel.py and can make
					     more */
	size_t n_idle;
	int64_t n_recalled;
	char undecided[KGB_RECOMPILE_WHY]; /* why a possibly valid request got no code; "" */
};

struct kgb_compiler_seat {
	struct kgb_compiler *compiler;
	struct kgb_worker *runner; /* borrowed */
	const struct kgb_buf *kernel; /* borrowed: kernel.py; NULL: requests may not ask for IR */
	bool makes_code; /* requests may ask for machine code */
	pthread_t thread;
	int fd;
	/* Under the compiler's lock: */
	bool leaving;
	struct kgb_worker *worker; /* that compiles for this seat; NULL: none */
	int64_t waited_ms; /* of the runner, for all requests that have an answer */
	int64_t since_ms; /* start of the request without an answer yet; 0: there is none */
};

struct question {
	uint64_t image_bytes, options_bytes, sm;
};

struct answer {
	uint64_t cubin_bytes, facts_bytes;
};

/* A received request. */
struct request {
	char *text; /* owned: the image, the options */
	size_t image_len;
	struct kgb_triton_source source; /* in it */
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
		kgb_buf_release(&entry->image);
		kgb_free(entry);
	}
	while (compiler->n_idle > 0)
		kgb_worker_stop(&compiler->idle[--compiler->n_idle]);
	kgb_free(compiler);
}

int64_t kgb_compiler_n_recalled(struct kgb_compiler *compiler)
{
	pthread_mutex_lock(&compiler->lock);
	int64_t n = compiler->n_recalled;
	pthread_mutex_unlock(&compiler->lock);
	return n;
}

bool kgb_compiler_find(struct kgb_compiler *compiler, const char *cubin_sha256,
		       struct kgb_compiled *out)
{
	const struct entry *entry;
	struct kgb_err ignored = KGB_ERR_INIT; /* the image was checked on arrival: no error */

	pthread_mutex_lock(&compiler->lock);
	for (entry = compiler->entries; entry; entry = entry->next)
		if (entry->state == ENTRY_DONE && kgb_str_eq(entry->cubin_sha256, cubin_sha256))
			break;
	pthread_mutex_unlock(&compiler->lock);
	if (!entry)
		return false;
	const struct kgb_image image = {.bytes = (const unsigned char *)entry->image.ptr,
					.len = entry->image.len};
	*out = (struct kgb_compiled){.made = &entry->made, .sm = entry->sm};
	return kgb_cpu_image_split(&image, &out->from, &ignored) == 0;
}

bool kgb_compiler_undecided(struct kgb_compiler *compiler, char why[KGB_RECOMPILE_WHY])
{
	pthread_mutex_lock(&compiler->lock);
	memcpy(why, compiler->undecided, KGB_RECOMPILE_WHY);
	pthread_mutex_unlock(&compiler->lock);
	return why[0] != '\0';
}

/* ---- the table ---- */

static struct entry *find_entry(const struct kgb_compiler *compiler, const char *key)
{
	for (struct entry *entry = compiler->entries; entry; entry = entry->next)
		if (memcmp(entry->key, key, sizeof(entry->key)) == 0)
			return entry;
	return NULL;
}

static struct entry *add_entry(struct kgb_compiler *compiler, const char *key)
{
	if (compiler->n_entries == KGB_COMPILER_ENTRIES_MAX ||
	    compiler->n_bytes > KGB_COMPILER_BYTES_MAX) {
		snprintf(compiler->undecided, sizeof(compiler->undecided),
			 "the candidate has more than %d kernels or %zu bytes compiled",
			 KGB_COMPILER_ENTRIES_MAX, KGB_COMPILER_BYTES_MAX);
		return NULL;
	}
	struct entry *entry = kgb_xcalloc(1, sizeof(*entry));
	entry->image = (struct kgb_buf)KGB_BUF_INIT(0);
	memcpy(entry->key, key, sizeof(entry->key));
	entry->next = compiler->entries;
	compiler->entries = entry;
	compiler->n_entries++;
	return entry;
}

/* Waits until the entry for this key is not busy and returns it; *is_ours: this seat must fill it.
 * NULL: there is no more room, or the seat's runner has left. */
static struct entry *claim_entry(struct kgb_compiler_seat *seat, const char *key, bool *is_ours)
{
	struct kgb_compiler *compiler = seat->compiler;
	struct entry *entry = find_entry(compiler, key);

	while (entry && entry->state == ENTRY_BUSY && !seat->leaving)
		pthread_cond_wait(&compiler->changed, &compiler->lock);
	*is_ours = !entry || entry->state != ENTRY_DONE;
	if (seat->leaving || !*is_ours)
		return *is_ours ? NULL : entry;
	if (!entry)
		entry = add_entry(compiler, key);
	if (entry)
		entry->state = ENTRY_BUSY;
	return entry;
}

/* A compilation that ended with its runner decides nothing; the next runner repeats it. */
static void finish_entry(struct kgb_compiler_seat *seat, struct entry *entry, bool is_recalled,
			 bool is_decided)
{
	struct kgb_compiler *compiler = seat->compiler;

	if (entry->image.len > 0 && entry->made.bytes)
		kgb_sha256_hex(entry->made.code, entry->made.len, entry->cubin_sha256);
	pthread_mutex_lock(&compiler->lock);
	entry->is_decided = is_decided;
	entry->state = is_decided || !seat->leaving ? ENTRY_DONE : ENTRY_ABANDONED;
	compiler->n_bytes += entry->made.n_bytes + entry->image.len;
	compiler->n_recalled += is_recalled;
	if (!is_decided && entry->state == ENTRY_DONE && entry->image.len > 0)
		memcpy(compiler->undecided, entry->why, sizeof(entry->why));
	pthread_cond_broadcast(&compiler->changed);
	pthread_mutex_unlock(&compiler->lock);
}

/* ---- compiling ---- */

/* Sets the worker that compiles for the seat. False: the seat's runner has left. */
static bool set_worker(struct kgb_compiler_seat *seat, struct kgb_worker *worker)
{
	pthread_mutex_lock(&seat->compiler->lock);
	seat->worker = worker;
	bool goes_on = !seat->leaving;
	pthread_mutex_unlock(&seat->compiler->lock);
	return goes_on;
}

/* Takes an idle worker, if there is one. A worker makes the IR of many images of a kernel.py:
 * hostile text that takes over the worker gains no more than it gains by its choice of claims. */
static bool take_idle(struct kgb_compiler *compiler, enum kgb_source_kind kind,
		      struct kgb_worker *worker)
{
	pthread_mutex_lock(&compiler->lock);
	const bool is_taken = kind == KGB_SOURCE_PYTHON && compiler->n_idle > 0;
	if (is_taken)
		*worker = compiler->idle[--compiler->n_idle];
	pthread_mutex_unlock(&compiler->lock);
	return is_taken;
}

static bool put_idle(struct kgb_compiler *compiler, enum kgb_source_kind kind,
		     const struct kgb_worker *worker)
{
	pthread_mutex_lock(&compiler->lock);
	const bool is_put = kind == KGB_SOURCE_PYTHON && worker->end == KGB_WORKER_ALIVE &&
			    compiler->n_idle < IDLE_MAX;
	if (is_put)
		compiler->idle[compiler->n_idle++] = *worker;
	pthread_mutex_unlock(&compiler->lock);
	return is_put;
}

/* Let a worker for this seat compile. -1: an infrastructure error. */
static int compile_once(struct kgb_compiler_seat *seat, const struct kgb_triton_source *source,
			struct kgb_worker *worker, struct entry *entry, struct kgb_err *err)
{
	if (!take_idle(seat->compiler, source->kind, worker) &&
	    kgb_recompile_start(worker, seat->compiler->zygote, source->kind, err) < 0)
		return -1;
	if (!set_worker(seat, worker))
		return kgb_fail(err, KGB_ERR_FAILED, "the runner has ended");
	return kgb_recompile_ask(worker, source, kgb_mono_ms() + COMPILE_MS, &entry->made,
				 entry->why, err);
}

static void end_worker(struct kgb_compiler_seat *seat, enum kgb_source_kind kind,
		       struct kgb_worker *worker)
{
	(void)set_worker(seat, NULL);
	if (!put_idle(seat->compiler, kind, worker))
		kgb_worker_stop(worker);
}

/* Fill the entry. After a crash of the compiler try once more: hostile text crashes it again, a
 * fault of the machine does not. Returns false when a lack of time, memory or processes was the
 * cause. */
static bool compile(struct kgb_compiler_seat *seat, const struct kgb_triton_source *source,
		    struct entry *entry)
{
	struct kgb_compiler *compiler = seat->compiler;
	struct kgb_worker worker = KGB_WORKER_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	int rc = compile_once(seat, source, &worker, entry, &err);

	if (rc == KGB_RECOMPILE_CRASHED) {
		end_worker(seat, source->kind, &worker);
		rc = compile_once(seat, source, &worker, entry, &err);
	}
	if (rc < 0)
		snprintf(entry->why, sizeof(entry->why), "%.300s", err.msg);
	if (rc == KGB_RECOMPILE_DONE && compiler->cache)
		kgb_proof_keep(compiler->cache, &compiler->kept_bytes, source, worker.identity,
			       &entry->made);
	end_worker(seat, source->kind, &worker);
	return rc >= 0 && rc != KGB_RECOMPILE_UNDECIDED;
}

static void make_key(const struct kgb_triton_source *source, char key[KGB_SHA256_HEX_LEN])
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	kgb_triton_source_add(source, &text);
	kgb_sha256_hex(text.ptr, text.len, key);
}

/* `image`: of the runner's request; empty for a request of the judge. NULL: there is neither code
 * nor a reason. */
static const struct entry *make(struct kgb_compiler_seat *seat,
				const struct kgb_triton_source *source, const char *image,
				size_t image_len)
{
	struct kgb_compiler *compiler = seat->compiler;
	char key[KGB_SHA256_HEX_LEN];
	bool is_ours;

	make_key(source, key);
	pthread_mutex_lock(&compiler->lock);
	struct entry *entry = claim_entry(seat, key, &is_ours);
	pthread_mutex_unlock(&compiler->lock);
	if (!entry || !is_ours)
		return entry;
	kgb_buf_clear(&entry->image);
	kgb_buf_add(&entry->image, image, image_len);
	entry->sm = source->sm;
	const bool is_recalled =
		compiler->cache &&
		kgb_proof_recall(compiler->cache, source, compiler->zygote->identity, &entry->made);
	const bool is_decided = is_recalled || compile(seat, source, entry);
	finish_entry(seat, entry, is_recalled, is_decided);
	return entry;
}

enum kgb_recompile_end kgb_compiler_make(struct kgb_compiler *compiler,
					 const struct kgb_triton_source *source,
					 const struct kgb_recompiled **out,
					 char why[KGB_RECOMPILE_WHY])
{
	struct kgb_compiler_seat seat = {.compiler = compiler, .fd = -1};
	const struct entry *entry = make(&seat, source, "", 0);

	if (entry && entry->made.bytes) {
		*out = &entry->made;
		return KGB_RECOMPILE_DONE;
	}
	snprintf(why, KGB_RECOMPILE_WHY, "%s",
		 entry ? entry->why : "the judge has compiled too much already");
	return entry && entry->is_decided ? KGB_RECOMPILE_NO_CODE : KGB_RECOMPILE_UNDECIDED;
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

/* A peer that does not read cannot block this thread for ever: kgb_compiler_leave shuts the socket
 * down. */
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

/* A request without an image asks for IR. */
static bool wants_ir(const struct question *question)
{
	return question->image_bytes == 0;
}

static bool is_acceptable(const struct kgb_compiler_seat *seat, const struct question *question)
{
	if (question->sm > KGB_COMPILER_SM_MAX)
		return false;
	if (wants_ir(question))
		return seat->kernel && question->options_bytes > 0 &&
		       question->options_bytes <= KGB_CLAIMS_MAX;
	return seat->makes_code && question->image_bytes <= KGB_CLAIMS_MAX + KGB_TRITON_IR_MAX &&
	       question->options_bytes <= KGB_TRITON_OPTIONS_MAX;
}

/* Only the IR of an image is compiled: the claims do not affect the code. */
static bool find_source(const struct kgb_buf *kernel, const struct question *question,
			struct request *request)
{
	const bool is_python = wants_ir(question);
	const struct kgb_image image = {.bytes = (const unsigned char *)request->text,
					.len = request->image_len};
	struct kgb_cpu_image parts = {0};
	struct kgb_err ignored = KGB_ERR_INIT;

	if (!is_python && (kgb_cpu_image_split(&image, &parts, &ignored) < 0 || parts.is_torch))
		return false;
	request->source = (struct kgb_triton_source){
		.kind = is_python ? KGB_SOURCE_PYTHON : KGB_SOURCE_IR,
		.text = is_python ? kernel->ptr : parts.module,
		.text_len = is_python ? kernel->len : parts.module_len,
		.options = request->text + request->image_len,
		.options_len = question->options_bytes,
		.sm = (unsigned)question->sm,
	};
	return true;
}

static bool read_request(const struct kgb_compiler_seat *seat, struct request *request)
{
	struct question question;

	kgb_free(request->text);
	*request = (struct request){0};
	if (!read_all(seat->fd, &question, sizeof(question)) || !is_acceptable(seat, &question))
		return false;
	const size_t len = question.image_bytes + question.options_bytes;
	request->image_len = question.image_bytes;
	request->text = kgb_xmalloc(len);
	return read_all(seat->fd, request->text, len) &&
	       find_source(seat->kernel, &question, request);
}

static bool send_answer(int fd, const struct entry *entry)
{
	const char *why = entry ? entry->why : "not now";

	if (entry && entry->made.bytes)
		return send_all(fd, entry->made.bytes, entry->made.n_bytes);
	const struct answer header = {.facts_bytes = strlen(why)};
	return send_all(fd, &header, sizeof(header)) && send_all(fd, why, strlen(why));
}

int64_t kgb_compiler_seat_waited_ms(struct kgb_compiler_seat *seat)
{
	if (!seat)
		return 0;
	pthread_mutex_lock(&seat->compiler->lock);
	const int64_t waited_ms =
		seat->waited_ms + (seat->since_ms ? kgb_mono_ms() - seat->since_ms : 0);
	pthread_mutex_unlock(&seat->compiler->lock);
	return waited_ms;
}

/* The runner begins to wait, or waits no longer. */
static void set_waiting(struct kgb_compiler_seat *seat, bool waits)
{
	const int64_t now_ms = kgb_mono_ms();

	pthread_mutex_lock(&seat->compiler->lock);
	if (!waits)
		seat->waited_ms += now_ms - seat->since_ms;
	seat->since_ms = waits ? now_ms : 0;
	pthread_mutex_unlock(&seat->compiler->lock);
}

static bool answer(struct kgb_compiler_seat *seat, const struct request *request)
{
	set_waiting(seat, true);
	kgb_worker_pause(seat->runner);
	const struct entry *entry = make(seat, &request->source, request->text, request->image_len);
	kgb_worker_resume(seat->runner);
	set_waiting(seat, false);
	return send_answer(seat->fd, entry);
}

static void *serve(void *payload)
{
	struct kgb_compiler_seat *seat = payload;
	struct request request = {0};

	(void)pthread_setname_np(pthread_self(), "compiler");
	while (read_request(seat, &request) && answer(seat, &request))
		;
	(void)shutdown(seat->fd, SHUT_RDWR); /* the runner goes on without us */
	kgb_free(request.text);
	return NULL;
}

int kgb_compiler_sit(struct kgb_compiler *compiler, struct kgb_worker *runner,
		     const struct kgb_buf *kernel, bool makes_code, struct kgb_compiler_seat **out,
		     int *runner_fd, struct kgb_err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return kgb_fail_errno(err, errno, "socketpair");
	struct kgb_compiler_seat *seat = kgb_xcalloc(1, sizeof(*seat));
	*seat = (struct kgb_compiler_seat){.compiler = compiler,
					   .runner = runner,
					   .kernel = kernel,
					   .makes_code = makes_code,
					   .fd = pair[0]};
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
