/* SPDX-License-Identifier: MIT */
#include "tests/unit/verify/exec_cpu/player.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "tests/helpers/whole_arena.h"
#include "verify/protocol/cpu_image.h"

struct player g = {.exec = KGB_EXEC_CLIENT_INIT, .input_fd = -1, .output_fd = -1};

static void make_memory(void)
{
	uint64_t x = 1;

	if (g.input)
		return;
	assert_ok(kgb_memfd_mapped("in", SLOTS * ARENA_BYTES, true, &g.input, &g.input_fd, &g.err),
		  g.err);
	assert_ok(kgb_memfd_mapped("out", OUTPUT_BYTES, false, &g.output, &g.output_fd, &g.err),
		  g.err);
	for (size_t i = 0; i < SLOTS * ARENA_BYTES; i++)
		g.input[i] = (char)(i * 13 + 5);
	for (size_t slot = 0; slot < SLOTS; slot++)
		for (size_t i = 0; i < TENSORS * FLOATS; i++) {
			const float value = (float)(int32_t)(x >> 40) * 0x1p-20f;
			memcpy(g.input + slot * ARENA_BYTES + i * 4, &value, 4);
			x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		}
}

void start(int n_threads)
{
	KGB_AUTO(free) char *threads = kgb_xasprintf("%d", n_threads);
	int pair[2];

	stop();
	make_memory();
	g.err = (struct kgb_err)KGB_ERR_INIT;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (dup2(pair[1], KGB_EXEC_FD) == KGB_EXEC_FD)
			execl(KGB_TEST_BIN_DIR "/kgb-exec-cpu", "kgb-exec-cpu", threads,
			      (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	if (kgb_exec_client_adopt(&g.exec, pid, pair[0], 0, WAIT_MS, &g.err) != KGB_EXEC_DONE ||
	    send_whole_arena(&g.exec, g.input_fd, ARENA_BYTES, SLOTS, g.output_fd, OUTPUT_BYTES,
			     WAIT_MS, &g.err) != KGB_EXEC_DONE)
		fail_msg("start: %s", g.err.msg);
}

void stop(void)
{
	kgb_exec_client_stop(&g.exec);
}

uint64_t tensor(size_t i)
{
	return ARENA + i * FLOATS * sizeof(float);
}

float float_at(const char *bytes, size_t i)
{
	float value;

	memcpy(&value, bytes + i * sizeof(value), sizeof(value));
	return value;
}

const char *image_of(size_t slot)
{
	return g.input + slot * ARENA_BYTES;
}

const char *range(size_t i)
{
	return g.output + g.layout.ranges[i];
}

bool is_poison(uint64_t seed, uint64_t address, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const uint64_t at = address + i;
		const uint64_t word = kgb_exec_poison_word(seed, at & ~UINT64_C(7));
		if (bytes[i] != (char)(word >> 8 * (at & 7)))
			return false;
	}
	return true;
}

size_t count_wrong(size_t slot, const char *sum, size_t n)
{
	size_t n_wrong = 0;

	for (size_t i = 0; i < n; i++) {
		const float want =
			float_at(image_of(slot), i) + float_at(image_of(slot), FLOATS + i);
		n_wrong += float_at(sum, i) != want;
	}
	return n_wrong;
}

/* --- plans --- */

char *read_module(const char *name)
{
	KGB_AUTO(free)
	char *path = kgb_xasprintf(KGB_TEST_SOURCE_DIR "/tests/unit/verify/exec_cpu/%s", name);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(1 << 20);

	assert_ok(kgb_fs_read(AT_FDCWD, path, 1 << 20, &text, &g.err), g.err);
	return kgb_xstrndup(text.ptr, text.len);
}

char *module_of(const char *signature, const char *body)
{
	return kgb_xasprintf("module {\n  tt.func public @f(%s) {\n%s\n    tt.return\n  }\n}\n",
			     signature, body);
}

static void put_module(struct kgb_buf *record, uint32_t id, const char *module)
{
	KGB_AUTO(free) char *image = kgb_xasprintf(KGB_CPU_IMAGE_TTIR "\"kernel\":1}\n%s", module);

	kgb_record_put_image(record, id, image, strlen(image));
}

struct kgb_buf record_begin(const char *other_module)
{
	struct kgb_buf record = KGB_BUF_INIT(KGB_RECORD_BYTES_MAX);
	KGB_AUTO(free) char *add = read_module("add.ttir");

	kgb_record_put_header(&record);
	put_module(&record, ADD, add);
	kgb_record_put_image(&record, TORCH, KGB_CPU_IMAGE_TORCH, strlen(KGB_CPU_IMAGE_TORCH));
	if (other_module)
		put_module(&record, OTHER, other_module);
	kgb_record_put_window_begin(&record, 1);
	return record;
}

void put_block(struct kgb_buf *record, uint64_t address, uint64_t bytes)
{
	const struct kgb_block block = {.address = address, .bytes = bytes};

	kgb_record_put_block(record, &block);
}

void put_launch(struct kgb_buf *record, uint32_t image, const char *kernel, uint32_t grid,
		const uint64_t *slots, size_t n_slots)
{
	const struct kgb_op op = {.kind = KGB_OP_LAUNCH,
				  .launch = {.image = image,
					     .kernel = kernel,
					     .grid = {grid, 1, 1},
					     .block = {image == TORCH ? 1 : 128, 1, 1},
					     .carveout = -1,
					     .params = (const unsigned char *)slots,
					     .params_bytes = (uint32_t)(8 * n_slots)}};

	kgb_record_put_op(record, &op);
}

void put_add(struct kgb_buf *record, uint64_t a, uint64_t b, uint64_t out, size_t n)
{
	const uint64_t slots[] = {a, b, out, n};

	put_launch(record, ADD, "add_kernel", (uint32_t)((n + 63) / 64), slots,
		   KGB_ARRAY_LEN(slots));
}

void put_move(struct kgb_buf *record, const struct kgb_torch_move *move)
{
	uint64_t words[KGB_TORCH_MOVE_WORDS_MAX];
	const size_t n = kgb_torch_move_words(move, words);

	put_launch(record, TORCH, move->is_copy ? KGB_TORCH_COPY : KGB_TORCH_FILL, 1, words, n);
}

void put_copy(struct kgb_buf *record, uint64_t dst, uint64_t src, uint64_t bytes)
{
	const struct kgb_op op = {.kind = KGB_OP_COPY, .copy = {dst, src, bytes}};

	kgb_record_put_op(record, &op);
}

void put_memset(struct kgb_buf *record, uint64_t dst, uint32_t value, uint32_t element_bytes,
		uint64_t width)
{
	const struct kgb_op op = {.kind = KGB_OP_MEMSET,
				  .memset = {.dst = dst,
					     .value = value,
					     .element_bytes = element_bytes,
					     .width = width,
					     .height = 1}};

	kgb_record_put_op(record, &op);
}

enum kgb_exec_outcome send_plan(struct kgb_buf *record, uint32_t number)
{
	kgb_record_put_window_end(record);
	g.err = (struct kgb_err)KGB_ERR_INIT;
	const enum kgb_exec_outcome outcome =
		kgb_exec_client_plan(&g.exec, number, record->ptr, record->len, WAIT_MS, &g.err);
	kgb_buf_release(record);
	return outcome;
}

struct kgb_exec_request run_spec(uint32_t plan, uint64_t poison)
{
	return (struct kgb_exec_request){
		.plan = plan, .prologue = KGB_EXEC_NO_PLAN, .skip = -1, .poison = poison};
}

enum kgb_exec_outcome run(const struct kgb_exec_request *spec)
{
	g.err = (struct kgb_err)KGB_ERR_INIT;
	return kgb_exec_client_run(&g.exec, spec, &g.layout, WAIT_MS, &g.err);
}

enum kgb_exec_outcome play(struct kgb_buf *record)
{
	const struct kgb_exec_request spec = run_spec(0, 7);
	const enum kgb_exec_outcome outcome = send_plan(record, 0);

	return outcome == KGB_EXEC_DONE ? run(&spec) : outcome;
}
