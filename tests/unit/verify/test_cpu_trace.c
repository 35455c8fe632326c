/* SPDX-License-Identifier: MIT */
/* The library that runs and records work in a runner on the CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "verify/protocol/record.h"
#include "verify/trace/cpu/cpu_trace.h"

#define RECORD_BYTES (1 << 20)

/* Adds %n to each of %x[0 .. programs - 1]. */
#define ADD                                                              \
	"{\"kgb_ttir\":1,}\n"                                            \
	"module {\n  tt.func public @add(%x: !tt.ptr<i32>, %n: i32) {\n" \
	"    %p = tt.get_program_id x : i32\n"                           \
	"    %q = tt.addptr %x, %p : !tt.ptr<i32>, i32\n"                \
	"    %v = tt.load %q : !tt.ptr<i32>\n"                           \
	"    %w = arith.addi %v, %n : i32\n"                             \
	"    tt.store %q, %w : !tt.ptr<i32>\n    tt.return\n  }\n}\n"
#define UNKNOWN                                      \
	"{\"kgb_ttir\":1,}\n"                        \
	"module {\n  tt.func public @f(%n: i32) {\n" \
	"    %w = arith.nothing %n : i32\n    tt.return\n  }\n}\n"

static uint32_t load(const char *image)
{
	uint32_t kernel = 0;

	if (kgb_cpu_trace_load(image, strlen(image), &kernel) != KGB_CPU_TRACE_OK)
		fail_msg("%s", kgb_cpu_trace_status());
	return kernel;
}

static int launch(uint32_t kernel, uint32_t programs, const void *x, int64_t n)
{
	const uint64_t params[] = {(uint64_t)(uintptr_t)x, (uint64_t)n};
	const uint32_t grid[] = {programs, 1, 1};

	const int rc = kgb_cpu_trace_launch(kernel, grid, 128, params, sizeof(params));
	return rc < 0 ? rc : kgb_cpu_trace_run(kernel, grid, params, sizeof(params), 1);
}

struct recorded {
	int fd;
	struct kgb_buf bytes;
	struct kgb_record record;
};

static void begin_record(struct recorded *out)
{
	struct kgb_err err = KGB_ERR_INIT;

	*out = (struct recorded){.bytes = KGB_BUF_INIT(RECORD_BYTES)};
	assert_int_equal(kgb_memfd_empty("record", &out->fd, &err), 0);
	assert_int_equal(kgb_cpu_trace_open(out->fd, RECORD_BYTES), 0);
	assert_int_equal(kgb_cpu_trace_begin(1), 0);
}

/* The only window. */
static const struct kgb_window *end_record(struct recorded *out)
{
	struct kgb_err err = KGB_ERR_INIT;
	char bytes[RECORD_BYTES];

	assert_int_equal(kgb_cpu_trace_end(), 0);
	const ssize_t n = pread(out->fd, bytes, sizeof(bytes), 0);
	assert_true(n > 0);
	kgb_buf_add(&out->bytes, bytes, (size_t)n);
	if (kgb_record_parse(out->bytes.ptr, out->bytes.len, &out->record, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(out->record.n_windows, 1);
	return &out->record.windows[0];
}

static void release_record(struct recorded *out)
{
	kgb_record_release(&out->record);
	kgb_buf_release(&out->bytes);
	close(out->fd);
}

static void test_a_launch_runs_and_is_recorded(void **state)
{
	struct recorded recorded;
	int32_t *before = kgb_cpu_trace_take(4 * sizeof(*before));

	(void)state;
	begin_record(&recorded);
	int32_t *x = kgb_cpu_trace_take(4 * sizeof(*x));
	for (int i = 0; i < 4; i++)
		x[i] = i;
	const uint32_t kernel = load(ADD);
	assert_int_equal(launch(kernel, 3, x, -10), KGB_CPU_TRACE_OK);
	assert_int_equal(launch(load(ADD), 1, x, 1), KGB_CPU_TRACE_OK);
	const struct kgb_window *window = end_record(&recorded);

	assert_int_equal(x[0], -9);
	assert_int_equal(x[2], -8);
	assert_int_equal(x[3], 3);
	assert_int_equal(window->n_ops, 2);
	const struct kgb_launch *first = &window->ops[0].launch;
	assert_int_equal(window->ops[0].kind, KGB_OP_LAUNCH);
	assert_string_equal(first->kernel, "add");
	assert_int_equal(first->grid[0], 3);
	assert_int_equal(first->block[0], 128);
	assert_int_equal(first->shared_bytes, 0);
	assert_int_equal(first->carveout, -1);
	assert_int_equal(first->params_bytes, 16);
	assert_memory_equal(first->params, &(uint64_t){(uintptr_t)x}, 8);
	assert_memory_equal(first->params + 8, &(int64_t){-10}, 8);
	/* The same bytes are one image. */
	assert_int_equal(recorded.record.n_images, 1);
	assert_int_equal(window->ops[1].launch.image, first->image);
	assert_int_equal(recorded.record.images[0].len, strlen(ADD));
	assert_memory_equal(recorded.record.images[0].bytes, ADD, strlen(ADD));

	assert_int_equal(window->n_blocks, 2);
	assert_int_equal(window->blocks[0].address, (uintptr_t)before);
	assert_true(window->blocks[0].before);
	assert_int_equal(window->blocks[1].address, (uintptr_t)x);
	assert_int_equal(window->blocks[1].bytes, 16);
	assert_false(window->blocks[1].before);
	release_record(&recorded);
	assert_int_equal(kgb_cpu_trace_give(x), 0);
	assert_int_equal(kgb_cpu_trace_give(before), 0);
}

static void test_a_fault_is_told_and_the_launch_is_recorded(void **state)
{
	struct recorded recorded;
	int32_t *x = kgb_cpu_trace_take(4 * sizeof(*x));

	(void)state;
	begin_record(&recorded);
	assert_int_equal(launch(load(ADD), 5, x, 1), KGB_CPU_TRACE_FAULT);
	assert_non_null(strstr(kgb_cpu_trace_status(), "byte 16 of"));
	assert_int_equal(launch(99, 1, x, 1), KGB_CPU_TRACE_FAILED);
	const uint32_t grid[] = {1, 1, 1};
	assert_int_equal(kgb_cpu_trace_run(load(ADD), grid, &x, 8, 1), KGB_CPU_TRACE_FAILED);
	const struct kgb_window *window = end_record(&recorded);
	assert_int_equal(window->n_ops, 1);
	release_record(&recorded);
	/* Memory that was given back is none. */
	assert_int_equal(kgb_cpu_trace_give(x), 0);
	assert_int_equal(launch(load(ADD), 1, x, 1), KGB_CPU_TRACE_FAULT);
	assert_int_equal(kgb_cpu_trace_give(x), -1);
}

static void test_an_image_that_the_machine_does_not_know_is_told_apart(void **state)
{
	uint32_t kernel = 7;

	(void)state;
	assert_int_equal(kgb_cpu_trace_load(UNKNOWN, strlen(UNKNOWN), &kernel),
			 KGB_CPU_TRACE_UNKNOWN);
	assert_non_null(strstr(kgb_cpu_trace_status(), "arith.nothing"));
	assert_int_equal(kgb_cpu_trace_load("{\"kgb_ttir\":1,}\nmodule", 22, &kernel),
			 KGB_CPU_TRACE_FAILED);
	assert_int_equal(kgb_cpu_trace_load("module", 6, &kernel), KGB_CPU_TRACE_FAILED);
	assert_int_equal(kernel, 7);
}

static void test_what_torch_and_the_host_do_is_recorded_in_order(void **state)
{
	static const uint64_t words[] = {1, 2, 3};
	struct recorded recorded;
	char *x = kgb_cpu_trace_take(8);

	(void)state;
	begin_record(&recorded);
	memcpy(x, "abcdefg", 8);
	kgb_cpu_trace_upload(x, 8);
	memset(x, 0, 8);
	kgb_cpu_trace_move("fill", words, sizeof(words));
	kgb_cpu_trace_download(x + 4, 4);
	kgb_cpu_trace_unsupported("torch: aten::add\n");
	const struct kgb_window *window = end_record(&recorded);

	assert_int_equal(window->n_ops, 4);
	assert_int_equal(window->ops[0].kind, KGB_OP_UPLOAD);
	assert_memory_equal(window->ops[0].upload.data, "abcdefg", 8);
	assert_int_equal(window->ops[1].kind, KGB_OP_LAUNCH);
	assert_string_equal(window->ops[1].launch.kernel, "fill");
	assert_memory_equal(window->ops[1].launch.params, words, sizeof(words));
	assert_int_equal(window->ops[2].kind, KGB_OP_DOWNLOAD);
	assert_int_equal(window->ops[2].download.src, (uintptr_t)x + 4);
	assert_string_equal(window->ops[3].why, "torch: aten::add?");
	assert_int_equal(recorded.record.n_images, 1);
	assert_memory_equal(recorded.record.images[0].bytes, "{\"kgb_torch\":1}\n",
			    recorded.record.images[0].len);
	release_record(&recorded);
	assert_int_equal(kgb_cpu_trace_give(x), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_launch_runs_and_is_recorded),
		cmocka_unit_test(test_a_fault_is_told_and_the_launch_is_recorded),
		cmocka_unit_test(test_an_image_that_the_machine_does_not_know_is_told_apart),
		cmocka_unit_test(test_what_torch_and_the_host_do_is_recorded_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
