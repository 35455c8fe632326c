/* SPDX-License-Identifier: MIT */
#include "tests/gpu/exec_support.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "tests/helpers/whole_arena.h"
#include "verify/process/shared_arena.h"

struct check g = {.input_fd = -1, .output_fd = -1, .exec = KGB_EXEC_CLIENT_INIT};

bool verdict(bool good, const char *fmt, ...)
{
	va_list ap;

	printf(good ? "PASS " : "FAIL ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	if (!good)
		printf(" [last reply: status %u, device %u; last error: %s]", g.exec.reply.status,
		       g.exec.reply.device_error, g.err.msg);
	putchar('\n');
	fflush(stdout);
	g.n_failed += !good;
	return good;
}

void give_up(const char *what)
{
	printf("FAIL %s: %s\n", what, g.err.msg);
	kgb_exec_client_stop(&g.exec);
	exit(g.err.kind == KGB_ERR_UNAVAILABLE ? KGB_EXIT_ENVIRONMENT : KGB_EXIT_FAILURES);
}

uint64_t tensor(size_t i)
{
	return ARENA + i * g.n * sizeof(float);
}

void *driver_function(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *function = NULL;

	if (!library || kgb_dl_symbol(library, name, (void *)&function, &g.err) < 0)
		give_up(name);
	return function;
}

void need(const struct kgb_cuda *cu, CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	(void)kgb_fail(&g.err, KGB_ERR_FAILED, "%s", kgb_cuda_error_name(cu, result));
	give_up(what);
}

/* --- plans --- */

struct kgb_buf record_begin(void)
{
	struct kgb_buf record = KGB_BUF_INIT(KGB_RECORD_BYTES_MAX);

	kgb_record_put_header(&record);
	kgb_record_put_image(&record, IMAGE, g.cubin, g.cubin_bytes);
	kgb_record_put_window_begin(&record, 1);
	return record;
}

void put_block(struct kgb_buf *record, uint64_t address, uint64_t bytes)
{
	const struct kgb_block block = {.address = address, .bytes = bytes, .before = true};

	kgb_record_put_block(record, &block);
}

struct kgb_op launch_op(const char *kernel, const void *params, uint32_t params_bytes)
{
	return (struct kgb_op){.kind = KGB_OP_LAUNCH,
			       .launch = {.image = IMAGE,
					  .kernel = kernel,
					  .grid = {1, 1, 1},
					  .block = {1, 1, 1},
					  .carveout = -1,
					  .params = params,
					  .params_bytes = params_bytes}};
}

void put_add_by(struct kgb_buf *record, const char *kernel, uint64_t a, uint64_t b, uint64_t out,
		size_t n)
{
	const struct add_params params = {a, b, out, (uint32_t)n};
	struct kgb_op op = launch_op(kernel, &params, offsetof(struct add_params, n) + 4);

	op.launch.block[0] = 256;
	op.launch.grid[0] = (uint32_t)((n + 255) / 256);
	kgb_record_put_op(record, &op);
}

void put_add_of(struct kgb_buf *record, uint64_t a, uint64_t b, uint64_t out, size_t n)
{
	put_add_by(record, "check_add", a, b, out, n);
}

void put_add(struct kgb_buf *record, uint64_t out, size_t n)
{
	put_add_of(record, tensor(0), tensor(1), out, n);
}

void put_poke(struct kgb_buf *record, uint64_t address, uint32_t value)
{
	struct {
		uint64_t address;
		uint32_t value;
	} params = {address, value};
	struct kgb_op op = launch_op("check_poke", &params, 12);

	kgb_record_put_op(record, &op);
}

void put_copy(struct kgb_buf *record, uint64_t stream, uint64_t dst, uint64_t src, uint64_t bytes)
{
	const struct kgb_op op = {.kind = KGB_OP_COPY, .stream = stream, .copy = {dst, src, bytes}};

	kgb_record_put_op(record, &op);
}

void put_memset(struct kgb_buf *record, uint64_t stream, uint64_t dst, uint32_t value,
		uint32_t element_bytes, uint64_t width)
{
	const struct kgb_op op = {.kind = KGB_OP_MEMSET,
				  .stream = stream,
				  .memset = {.dst = dst,
					     .value = value,
					     .element_bytes = element_bytes,
					     .width = width,
					     .height = 1}};

	kgb_record_put_op(record, &op);
}

void put_event(struct kgb_buf *record, enum kgb_op_kind kind, uint64_t stream, uint64_t event)
{
	const struct kgb_op op = {.kind = kind, .stream = stream, .event = event};

	kgb_record_put_op(record, &op);
}

enum kgb_exec_outcome send_plan(struct kgb_buf *record, uint32_t number)
{
	kgb_record_put_window_end(record);
	enum kgb_exec_outcome outcome =
		kgb_exec_client_plan(&g.exec, number, record->ptr, record->len, WAIT_MS, &g.err);
	kgb_buf_release(record);
	return outcome;
}

/* --- the process --- */

static enum kgb_exec_outcome start_direct(struct kgb_exec_client *exec)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)kgb_fail(&g.err, KGB_ERR_FAILED, "socketpair");
		return KGB_EXEC_NO_GPU;
	}
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (dup2(pair[1], KGB_EXEC_FD) == KGB_EXEC_FD)
			execl(g.spec.program, g.spec.program, g.spec.cupti, (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	return kgb_exec_client_adopt(exec, pid, pair[0], g.spec.device, WAIT_MS, &g.err);
}

void start_process(struct kgb_exec_client *exec)
{
	g.err = (struct kgb_err)KGB_ERR_INIT;
	enum kgb_exec_outcome outcome =
		g.direct ? start_direct(exec)
			 : kgb_exec_client_start(exec, &g.spec, WAIT_MS, &g.err);
	if (outcome != KGB_EXEC_DONE)
		give_up("start");
}

void start(void)
{
	const int64_t begin = kgb_mono_ns();

	kgb_exec_client_stop(&g.exec);
	start_process(&g.exec);
	const double started_ms = (double)(kgb_mono_ns() - begin) / 1e6;
	const double open_ms = (double)g.exec.reply.wall_ns / 1e6;
	if (send_whole_arena(&g.exec, g.input_fd, g.arena_bytes, SLOTS, g.output_fd, g.output_bytes,
			     WAIT_MS, &g.err) != KGB_EXEC_DONE)
		give_up("arena");
	printf("INFO start %.1f ms (open %.1f ms, %d process), arena of %llu bytes %.1f ms\n",
	       started_ms, open_ms, g.exec.n_starts, (unsigned long long)g.arena_bytes,
	       (double)g.exec.reply.wall_ns / 1e6);
}

void make_data(void)
{
	uint64_t x = 1;

	g.n = g.fake ? 10000 : 16 << 20;
	g.arena_bytes = 3 * g.n * sizeof(float) + EXTRA;
	g.output_bytes = g.arena_bytes + (64 << 20); /* and ranges, and samples */
	if (kgb_memfd_sized("check-in", SLOTS * g.arena_bytes, 0, &g.input_fd, &g.err) < 0 ||
	    kgb_memfd_sized("check-out", g.output_bytes, 0, &g.output_fd, &g.err) < 0)
		give_up("memory");
	g.input = mmap(NULL, SLOTS * g.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, g.input_fd,
		       0);
	g.output = mmap(NULL, g.output_bytes, PROT_READ, MAP_SHARED, g.output_fd, 0);
	if (g.input == MAP_FAILED || g.output == MAP_FAILED)
		give_up("map memory");
	for (size_t slot = 0; slot < SLOTS; slot++) {
		char *image = (char *)g.input + slot * g.arena_bytes;
		for (size_t i = 0; i < 3 * g.n; i++) {
			float value = (float)(int32_t)(x >> 40) * 0x1p-20f;
			memcpy(image + i * sizeof(value), &value, sizeof(value));
			x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		}
		memset(image + 3 * g.n * sizeof(float), 0x77, EXTRA);
	}
}

const char *image_of(size_t slot)
{
	return (const char *)g.input + slot * g.arena_bytes;
}

float float_at(const char *bytes, size_t i)
{
	float value;

	memcpy(&value, bytes + i * sizeof(value), sizeof(value));
	return value;
}

size_t count_wrong(size_t slot, const char *sum, size_t n)
{
	size_t n_wrong = 0;

	for (size_t i = 0; i < n; i++) {
		float want = float_at(image_of(slot), i) + float_at(image_of(slot), g.n + i);
		n_wrong += float_at(sum, i) != want;
	}
	return n_wrong;
}

void poison_bytes(uint64_t seed, uint64_t address, void *out, size_t len)
{
	unsigned char *bytes = out;

	for (size_t i = 0; i < len; i++) {
		uint64_t word = kgb_exec_poison_word(seed, (address + i) & ~UINT64_C(7));
		bytes[i] = (unsigned char)(word >> 8 * ((address + i) & 7));
	}
}

bool is_poison(uint64_t seed, uint64_t address, const char *bytes, size_t len)
{
	unsigned char want[64];

	for (size_t i = 0; i < len; i += sizeof(want)) {
		size_t n = len - i < sizeof(want) ? len - i : sizeof(want);
		poison_bytes(seed, address + i, want, n);
		if (memcmp(want, bytes + i, n) != 0)
			return false;
	}
	return true;
}

struct kgb_exec_request run_spec(uint64_t poison)
{
	return (struct kgb_exec_request){
		.prologue = KGB_EXEC_NO_PLAN, .skip = -1, .poison = poison};
}

enum kgb_exec_outcome run(const struct kgb_exec_request *spec)
{
	return kgb_exec_client_run(&g.exec, spec, &g.layout, WAIT_MS, &g.err);
}

const char *range(size_t i)
{
	return g.output + g.layout.ranges[i];
}

int by_size(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}
