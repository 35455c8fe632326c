/* SPDX-License-Identifier: MIT */
#include "verify/provenance/recompile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/memfd.h"
#include "verify/process/shared_arena.h"

enum { START_MS = 60 * 1000, CPU_S = 120 };
static const int64_t memory_bytes = INT64_C(4) << 30;
static const int64_t tmp_bytes = INT64_C(64) << 20;

struct output_header {
	uint64_t cubin_bytes, facts_bytes;
};

void kgb_recompiled_release(struct kgb_recompiled *result)
{
	kgb_free(result->bytes);
	cJSON_Delete(result->facts);
	*result = (struct kgb_recompiled)KGB_RECOMPILED_INIT;
}

void kgb_auto_recompiled(struct kgb_recompiled *result)
{
	kgb_recompiled_release(result);
}

void kgb_triton_source_add(const struct kgb_triton_source *source, struct kgb_buf *out)
{
	kgb_buf_addf(out, "kind %d sm %u\n", (int)source->kind, source->sm);
	kgb_buf_addf(out, "bytes %zu %zu\n", source->text_len, source->options_len);
	kgb_buf_add(out, source->text, source->text_len);
	kgb_buf_add(out, source->options, source->options_len);
}

int kgb_recompile_start(struct kgb_worker *worker, struct kgb_zygote *zygote,
			enum kgb_source_kind kind, struct kgb_err *err)
{
	const struct kgb_worker_spec spec = {
		.role = kind == KGB_SOURCE_PYTHON ? "source" : "compile",
		.memory_bytes = memory_bytes,
		.cpu_s = CPU_S,
		.tmp_bytes = tmp_bytes,
	};

	return kgb_worker_start(worker, zygote, &spec, START_MS, err);
}

/* Input of the worker: the text, then the options. */
static int make_input(const struct kgb_triton_source *source, int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	kgb_buf_add(&text, source->text, source->text_len);
	kgb_buf_add(&text, source->options, source->options_len);
	return kgb_memfd_of("kgb-triton-source", text.ptr, text.len, out_fd, err);
}

static int say_why(char why[KGB_RECOMPILE_WHY], enum kgb_recompile_end end, const char *text)
{
	KGB_AUTO(buf) struct kgb_buf shown = KGB_BUF_INIT(0);

	kgb_escape(&shown, text, strcspn(text, "\n"));
	snprintf(why, KGB_RECOMPILE_WHY, "%s", shown.ptr);
	return (int)end;
}

/* Whether the worker's last output reports a lack of memory. */
static bool lacked_memory(const struct kgb_worker *worker)
{
	static const char *const words[] = {"out of memory", "bad_alloc", "Cannot allocate memory"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++)
		if (strstr(worker->stderr_text.ptr, words[i]))
			return true;
	return false;
}

/* Whether a limit of the worker, or the machine, may have sent the signal. */
static bool is_of_a_limit(int signo)
{
	return signo == SIGKILL || signo == SIGXCPU || signo == SIGBUS;
}

static int explain_end(const struct kgb_worker *worker, char why[KGB_RECOMPILE_WHY],
		       struct kgb_err *err)
{
	const enum kgb_recompile_end crash =
		lacked_memory(worker) ? KGB_RECOMPILE_UNDECIDED : KGB_RECOMPILE_CRASHED;
	char text[KGB_RECOMPILE_WHY];

	switch (worker->end) {
	case KGB_WORKER_ALIVE:
	case KGB_WORKER_LOST:
		break;
	case KGB_WORKER_EXITED:
		snprintf(text, sizeof(text), "the compiler ended with status %d",
			 worker->end_value);
		return say_why(why, crash, text);
	case KGB_WORKER_SIGNALED:
		snprintf(text, sizeof(text), "the compiler ended by signal %d%s", worker->end_value,
			 worker->end_value == SIGKILL ? ", most likely for lack of memory" : "");
		return say_why(why,
			       is_of_a_limit(worker->end_value) ? KGB_RECOMPILE_UNDECIDED : crash,
			       text);
	case KGB_WORKER_TIMED_OUT:
		return say_why(why, KGB_RECOMPILE_UNDECIDED, "compiling takes too long");
	case KGB_WORKER_LIED: /* a compiler never does this: its input took over the worker */
		snprintf(text, sizeof(text), "the compiler's answer is broken: %s", worker->why);
		return say_why(why, KGB_RECOMPILE_NO_CODE, text);
	}
	return kgb_fail(err, KGB_ERR_FAILED, "the compiler's supervisor is gone");
}

int kgb_recompiled_parse(const char *bytes, size_t len, struct kgb_recompiled *out,
			 struct kgb_err *err)
{
	struct kgb_recompiled result = {.bytes = kgb_xmalloc(len + 1), .n_bytes = len};
	struct output_header header = {0};
	const size_t room = len < sizeof(header) ? 0 : len - sizeof(header);

	/* Copy before the checks: a worker may still write to the bytes. */
	memcpy(result.bytes, bytes, len);
	if (len >= sizeof(header))
		memcpy(&header, result.bytes, sizeof(header));
	result.code = result.bytes + sizeof(header);
	result.len = header.cubin_bytes;
	if (len < sizeof(header) || header.cubin_bytes > room ||
	    header.facts_bytes != room - header.cubin_bytes ||
	    kgb_json_parse(result.code + result.len, header.facts_bytes, &result.facts, err) < 0) {
		kgb_recompiled_release(&result);
		return kgb_fail(err, KGB_ERR_INVALID, "the compiler's answer is broken");
	}
	*out = result;
	return 0;
}

static int read_output(int fd, int64_t total, struct kgb_recompiled *out,
		       char why[KGB_RECOMPILE_WHY], struct kgb_err *err)
{
	struct kgb_err broken = KGB_ERR_INIT;

	if (total < (int64_t)sizeof(struct output_header) ||
	    total > (int64_t)KGB_RECOMPILE_OUTPUT_MAX)
		return say_why(why, KGB_RECOMPILE_NO_CODE,
			       "the compiler's answer has an impossible size");
	void *mapped = mmap(NULL, (size_t)total, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return kgb_fail_errno(err, errno, "map the compiler's output");
	int rc = kgb_recompiled_parse(mapped, (size_t)total, out, &broken);
	munmap(mapped, (size_t)total);
	return rc < 0 ? say_why(why, KGB_RECOMPILE_NO_CODE, broken.msg) : KGB_RECOMPILE_DONE;
}

/* The worker writes its answer to *output_fd, which the caller closes. */
static int send_source(struct kgb_worker *worker, const struct kgb_triton_source *source,
		       int *output_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int input = -1;
	KGB_AUTO(fd) int output = -1;
	KGB_AUTO(free)
	char *request = kgb_xasprintf(
		"{\"op\":\"compile\",\"sm\":%u,\"text_bytes\":%zu,\"options_bytes\":%zu}",
		source->sm, source->text_len, source->options_len);

	if (make_input(source, &input, err) < 0 ||
	    kgb_memfd_sized("kgb-compiled", KGB_RECOMPILE_OUTPUT_MAX, 0, &output, err) < 0)
		return -1;
	const int fds[] = {input, output};
	if (kgb_worker_send(worker, request, fds, KGB_ARRAY_LEN(fds), err) < 0)
		return -1;
	*output_fd = kgb_take_fd(&output);
	return 0;
}

int kgb_recompile_wait(struct kgb_worker *worker, int output_fd, int64_t deadline_ms,
		       struct kgb_recompiled *out, char why[KGB_RECOMPILE_WHY], struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	if (!kgb_worker_wait(worker, deadline_ms, reply))
		return explain_end(worker, why, err);
	if (reply->status == KGB_WIRE_MEMORY)
		return say_why(why, KGB_RECOMPILE_UNDECIDED, reply->text);
	if (reply->status != KGB_WIRE_OK)
		return say_why(why, KGB_RECOMPILE_NO_CODE, reply->text);
	return read_output(output_fd, reply->value, out, why, err);
}

int kgb_recompile_ask(struct kgb_worker *worker, const struct kgb_triton_source *source,
		      int64_t deadline_ms, struct kgb_recompiled *out, char why[KGB_RECOMPILE_WHY],
		      struct kgb_err *err)
{
	KGB_AUTO(fd) int output = -1;

	if (send_source(worker, source, &output, err) < 0)
		return -1;
	return kgb_recompile_wait(worker, output, deadline_ms, out, why, err);
}
