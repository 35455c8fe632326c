/* SPDX-License-Identifier: MIT */
/* The library as the driver and the runner see it, on a driver of our own. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/unit/base/support.h"
#include "tests/unit/verify/trace/fake_gpu.h"
#include "verify/protocol/cpu_image.h"
#include "verify/protocol/record.h"
#include "verify/trace/trace.h"

#define FUNCTION ((CUfunction)(uintptr_t)0x1001)
#define MODULE ((CUmodule)(uintptr_t)0x1000)
#define STREAM ((CUstream)(uintptr_t)0x5000)

static struct fake_gpu *gpu;
static struct fake_cupti *cupti;

/* The interface, by dlsym as ctypes does it. */
#define FUNCTIONS(X)             \
	X(kgb_trace_status)      \
	X(kgb_trace_open)        \
	X(kgb_trace_begin)       \
	X(kgb_trace_end)         \
	X(kgb_trace_arena_map)   \
	X(kgb_trace_arena_write) \
	X(kgb_trace_arena_read)  \
	X(kgb_trace_malloc)      \
	X(kgb_trace_free)        \
	X(kgb_trace_poison)      \
	X(kgb_trace_call)        \
	X(kgb_trace_load)        \
	X(kgb_trace_launch)      \
	X(kgb_trace_ops)         \
	X(kgb_trace_move)        \
	X(InitializeInjection)
static struct {
#define MEMBER(name) __typeof__(name) *name; /* NOLINT(bugprone-macro-parentheses) */
	FUNCTIONS(MEMBER)
#undef MEMBER
} lib;

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		fail_msg("%s", dlerror());
	return library;
}

static void find(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	if (!address)
		fail_msg("no %s", name);
	memcpy(slot, &address, sizeof(address));
}

/* Fresh libraries: once in a process. */
static void load_all(void)
{
	void *library;

	/* Found by their names from now on, whatever this machine has. */
	library = load(KGB_TEST_FAKE_CUDA);
	find(library, "fake_gpu", (void *)&gpu);
	library = load(KGB_TEST_FAKE_CUPTI);
	find(library, "fake_cupti", (void *)&cupti);
	gpu->fire = cupti->fire;
	library = load(KGB_TEST_TRACE);
#define FIND(name) find(library, #name, (void *)&lib.name);
	FUNCTIONS(FIND)
#undef FIND
}

#define assert_done(call)                                                  \
	do {                                                               \
		if ((call) != 0)                                           \
			fail_msg("%s: %s", #call, lib.kgb_trace_status()); \
	} while (0)

#define assert_refused(call, part)                             \
	do {                                                   \
		assert_int_equal((call), -1);                  \
		assert_contains(lib.kgb_trace_status(), part); \
	} while (0)

/* ---- What the program calls ---- */

#define FIRE(function, ...)                                                                       \
	do {                                                                                      \
		const function##_params fired_ = {__VA_ARGS__};                                   \
                                                                                                  \
		cupti->fire(CUPTI_DRIVER_TRACE_CBID_##function, #function, &fired_, fire_result); \
	} while (0)

static CUresult fire_result;

static void fire_load(void)
{
	static const struct {
		uint32_t magic;
		uint16_t version, header_bytes;
		uint64_t payload_bytes;
		char payload[16];
	} fatbin = {0xba55ed50u, 1, 16, 16, "code"};
	CUmodule module = MODULE;

	FIRE(cuModuleLoadData, &module, &fatbin);
}

static void fire_launch(uint64_t word)
{
	void *values[] = {&word};

	FIRE(cuLaunchKernel, FUNCTION, 1, 1, 1, 32, 1, 1, 0, STREAM, values, NULL);
}

/* ---- Reading back ---- */

static int record_fd = -1;
static uint32_t number;
static unsigned char *bytes;
static struct kgb_record record;

static void drop_record(void)
{
	kgb_record_release(&record);
	memset(&record, 0, sizeof(record));
	kgb_free(bytes);
	bytes = NULL;
}

static void begin(void)
{
	assert_done(lib.kgb_trace_begin(++number));
}

static const struct kgb_window *end(void)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct stat st;
	size_t len;

	assert_done(lib.kgb_trace_end());
	drop_record();
	assert_int_equal(fstat(record_fd, &st), 0);
	len = (size_t)st.st_size;
	bytes = kgb_xmalloc(len);
	assert_int_equal(pread(record_fd, bytes, len, 0), len);
	assert_ok(kgb_record_parse(bytes, len, &record, &err), err);
	assert_non_null(kgb_record_window(&record, number));
	return kgb_record_window(&record, number);
}

static const char *why(const struct kgb_window *window, size_t i)
{
	assert_true(i < window->n_ops);
	assert_int_equal(window->ops[i].kind, KGB_OP_UNSUPPORTED);
	return window->ops[i].why;
}

static int setup(void **state)
{
	(void)state;
	load_all();
	lib.InitializeInjection();
	record_fd = memfd_create("record", MFD_CLOEXEC);
	assert_done(lib.kgb_trace_open(record_fd, 1 << 20));
	fire_load();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	drop_record();
	close(record_fd);
	return 0;
}

/* ---- Starting; each in a process of its own, before any library is loaded in this one ---- */

static void start_without_injection(void *payload)
{
	(void)payload;
	load_all();
	assert_contains(lib.kgb_trace_status(), "not injected");
	assert_refused(lib.kgb_trace_open(1, 1 << 20), "not injected");
	assert_refused(lib.kgb_trace_begin(1), "not injected");
	assert_refused(lib.kgb_trace_end(), "no window is open");
	lib.InitializeInjection();
	assert_string_equal(lib.kgb_trace_status(),
			    "ready: callbacks from libcupti.so.13, version 130001");
	assert_refused(lib.kgb_trace_begin(1), "no record is open");
}

static void start_with_a_second_subscriber(void *payload)
{
	(void)payload;
	load_all();
	cupti->subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	assert_int_equal(lib.InitializeInjection(), 1);
	assert_contains(lib.kgb_trace_status(), "libcupti.so.13: subscribe: CUPTI_ERROR_SOMETHING");
	assert_refused(lib.kgb_trace_open(1, 1 << 20), "subscribe");
	assert_refused(lib.kgb_trace_arena_map(0, 0), "arena: 0 bytes");
	assert_refused(lib.kgb_trace_begin(1), "subscribe");
}

static void start_without_a_needed_callback(void *payload)
{
	(void)payload;
	load_all();
	cupti->refused = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx;
	lib.InitializeInjection();
	assert_contains(lib.kgb_trace_status(), "libcupti.so.13: cuLaunchKernelEx:");
	assert_null(cupti->callback);
}

static void start_without_a_callback_that_only_names(void *payload)
{
	(void)payload;
	load_all();
	cupti->refused = CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2;
	lib.InitializeInjection();
	assert_contains(lib.kgb_trace_status(), "ready:");
}

static void test_it_says_why_it_does_not_record(void **state)
{
	(void)state;
	assert_int_equal(run_in_child(start_without_injection, NULL), 0);
	assert_int_equal(run_in_child(start_with_a_second_subscriber, NULL), 0);
	assert_int_equal(run_in_child(start_without_a_needed_callback, NULL), 0);
	assert_int_equal(run_in_child(start_without_a_callback_that_only_names, NULL), 0);
}

/* ---- Windows ---- */

static void test_a_window_holds_what_succeeded_in_it(void **state)
{
	const struct kgb_window *window;
	uint64_t block;

	(void)state;
	fire_launch(1); /* outside */
	begin();
	block = (uint64_t)(uintptr_t)lib.kgb_trace_malloc(100, 0, STREAM);
	fire_launch(block);
	fire_result = CUDA_ERROR_INVALID_VALUE;
	fire_launch(block);
	fire_result = CUDA_SUCCESS;
	FIRE(cuMemsetD32Async_ptsz, block, 5, 25, NULL);
	FIRE(cuMemsetD2D8_v2, block, 64, 7, 3, 2);
	FIRE(cuEventRecord, (CUevent)(uintptr_t)9, STREAM);
	FIRE(cuStreamWaitEvent, NULL, (CUevent)(uintptr_t)9, 0);
	FIRE(cuStreamSynchronize, CU_STREAM_LEGACY);
	window = end();
	assert_int_equal(window->n_ops, 6);
	assert_string_equal(window->ops[0].launch.kernel, "function");
	assert_memory_equal(window->ops[0].launch.params, &block, 8);
	assert_int_equal(window->ops[0].stream, 0x5000);
	assert_memory_equal(kgb_record_image(&record, window->ops[0].launch.image)->bytes + 16,
			    "code", 4);
	assert_int_equal(window->ops[1].stream, 2);
	assert_int_equal(window->ops[1].memset.element_bytes, 4);
	assert_int_equal(window->ops[1].memset.width, 25);
	assert_int_equal(window->ops[2].memset.pitch, 64);
	assert_int_equal(window->ops[2].memset.height, 2);
	assert_int_equal(window->ops[3].kind, KGB_OP_EVENT_RECORD);
	assert_int_equal(window->ops[4].kind, KGB_OP_EVENT_WAIT);
	assert_int_equal(window->ops[4].event, 9);
	assert_int_equal(window->ops[5].kind, KGB_OP_SYNC);
	assert_int_equal(window->ops[5].stream, 0);
	assert_int_equal(window->n_blocks, 1);
	assert_int_equal(window->blocks[0].bytes, 100);
	lib.kgb_trace_free((void *)(uintptr_t)block, 100, 0, STREAM);
	begin();
	assert_int_equal(end()->n_blocks, 0);
}

/* A launch by the image of a kernel runs nothing, and torch's copy has its meaning behind it. */
static void test_launches_and_moves_can_be_recorded_by_what_they_mean(void **state)
{
	static const char image[] = "{\"kgb_ttir\":1,}\nmodule {}";
	static const uint32_t grid[3] = {5, 2, 1};
	const uint64_t words[2] = {KGB_ARENA_ADDRESS, 7};
	uint32_t kernel = 0, again = 0;

	(void)state;
	assert_done(lib.kgb_trace_load(image, sizeof(image), &kernel));
	assert_done(lib.kgb_trace_load(image, sizeof(image), &again));
	assert_true(kernel != again);
	assert_done(lib.kgb_trace_launch(kernel, "k", grid, 64, 0, words, sizeof(words)));
	assert_int_equal(lib.kgb_trace_ops(), 0); /* no window is open */
	begin();
	assert_done(lib.kgb_trace_launch(kernel, "k", grid, 64, 1, words, sizeof(words)));
	assert_done(lib.kgb_trace_move(1, "copy", 0, words, sizeof(words))); /* of nothing */
	assert_int_equal(lib.kgb_trace_ops(), 1);
	fire_launch(KGB_ARENA_ADDRESS);
	assert_done(lib.kgb_trace_move(1, "copy", 0x5000, words, sizeof(words)));
	const struct kgb_window *window = end();
	assert_int_equal(window->n_ops, 4);
	const struct kgb_launch *launch = &window->ops[0].launch;
	assert_string_equal(launch->kernel, "k");
	assert_memory_equal(kgb_record_image(&record, launch->image)->bytes, image, sizeof(image));
	assert_memory_equal(launch->grid, grid, sizeof(grid));
	assert_int_equal(launch->block[0], 64);
	assert_int_equal(window->ops[0].stream, 0);
	assert_memory_equal(launch->params, words, sizeof(words));
	assert_int_equal(window->ops[2].kind, KGB_OP_REPLACES);
	assert_int_equal(window->ops[2].n_replaced, 1);
	assert_int_equal(window->ops[3].stream, 0x5000);
	assert_string_equal(window->ops[3].launch.kernel, "copy");
	assert_memory_equal(kgb_record_image(&record, window->ops[3].launch.image)->bytes,
			    KGB_CPU_IMAGE_TORCH, strlen(KGB_CPU_IMAGE_TORCH));
}

static void test_a_call_keeps_what_it_frees_apart_if_asked(void **state)
{
	(void)state;
	for (int apart = 0; apart <= 1; apart++) {
		lib.kgb_trace_call(apart);
		void *first = lib.kgb_trace_malloc(100, 0, STREAM);
		lib.kgb_trace_free(first, 100, 0, STREAM);
		void *second = lib.kgb_trace_malloc(100, 0, STREAM);
		assert_int_equal(first == second, !apart);
		lib.kgb_trace_free(second, 100, 0, STREAM);
	}
	lib.kgb_trace_call(0);
}

static void test_what_the_library_does_itself_is_not_recorded(void **state)
{
	const unsigned n_memsets = gpu->n_memsets;
	unsigned char back[8];
	const struct kgb_window *window;
	void *block;

	(void)state;
	lib.kgb_trace_poison(0xa5);
	begin();
	assert_done(lib.kgb_trace_arena_map(100, 0));
	assert_done(lib.kgb_trace_arena_write(8, "12345678", 8));
	assert_done(lib.kgb_trace_arena_read(8, back, 8));
	block = lib.kgb_trace_malloc(100, 0, STREAM);
	lib.kgb_trace_free(block, 100, 0, STREAM);
	window = end();
	assert_int_equal(window->n_ops, 0);
	assert_int_equal(window->n_blocks, 1); /* no mapping of ours is foreign */
	assert_false(window->blocks[0].foreign);
	assert_int_equal(gpu->n_memsets, n_memsets + 1);
	assert_int_equal(back[0], 0x77);
	assert_refused(lib.kgb_trace_arena_write((2 << 20) - 4, back, 8),
		       "8 bytes at 2097148 are not in its 2097152");
	lib.kgb_trace_poison(-1);
}

static void test_work_for_a_graph_is_not_recorded_as_done(void **state)
{
	CUgraph graph = NULL;
	const struct kgb_window *window;

	(void)state;
	begin();
	gpu->capturing = true;
	FIRE(cuStreamBeginCapture_v2, STREAM, CU_STREAM_CAPTURE_MODE_RELAXED);
	fire_launch(0);
	FIRE(cuMemsetD8Async, KGB_POOL_ADDRESS, 1, 1, STREAM);
	fire_result = CUDA_ERROR_INVALID_VALUE; /* there was none on that stream */
	FIRE(cuStreamEndCapture, NULL, &graph);
	fire_result = CUDA_SUCCESS;
	fire_launch(0);
	FIRE(cuStreamEndCapture, STREAM, &graph);
	fire_launch(0); /* nobody captures: the driver is not even asked */
	gpu->capturing = false;
	window = end();
	assert_int_equal(window->n_ops, 1);
	assert_int_equal(window->ops[0].kind, KGB_OP_LAUNCH);
	begin();
	FIRE(cuStreamBeginCapture_v2, STREAM, CU_STREAM_CAPTURE_MODE_RELAXED);
	window = end();
	assert_string_equal(why(window, 0), "stream capture that does not end");
	FIRE(cuStreamEndCapture, STREAM, &graph);
}

static void test_foreign_memory_comes_at_the_end_of_a_call_and_goes_at_its_begin(void **state)
{
	CUdeviceptr address = UINT64_C(0x7f0000000000);
	const struct kgb_window *window;

	(void)state;
	begin();
	FIRE(cuMemAlloc_v2, &address, 1000);
	window = end();
	assert_int_equal(window->n_blocks, 1);
	assert_true(window->blocks[0].foreign && !window->blocks[0].before);
	begin();
	fire_result = CUDA_ERROR_INVALID_VALUE; /* known only after the block was taken as gone */
	FIRE(cuMemFree_v2, address);
	fire_result = CUDA_SUCCESS;
	window = end();
	assert_int_equal(window->n_blocks, 1);
	begin();
	assert_int_equal(end()->n_blocks, 0);
}

static void test_calls_that_no_replay_can_repeat_are_named(void **state)
{
	const struct kgb_window *window;

	(void)state;
	begin();
	FIRE(cuLaunchHostFunc, STREAM, NULL, NULL);
	FIRE(cuMemcpyPeerAsync_ptsz, 0, NULL, 0, NULL, 4, NULL);
	FIRE(cuStreamWriteValue32_v2, STREAM, 0, 0, 0);
	window = end();
	assert_int_equal(window->n_ops, 3);
	assert_string_equal(why(window, 0), "cuLaunchHostFunc");
	assert_string_equal(why(window, 1), "cuMemcpyPeerAsync");
	assert_string_equal(why(window, 2), "cuStreamWriteValue32_v2");
	begin();
	assert_int_equal(end()->n_ops, 0);
}

static void *launch_many(void *payload)
{
	(void)payload;
	for (unsigned i = 0; i < 500; i++) {
		fire_launch(i);
		lib.kgb_trace_free(lib.kgb_trace_malloc(10, 0, STREAM), 10, 0, STREAM);
	}
	return NULL;
}

static void test_threads_record_together(void **state)
{
	pthread_t threads[4];
	const struct kgb_window *window;

	(void)state;
	begin();
	for (size_t i = 0; i < KGB_ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launch_many, NULL), 0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	window = end();
	assert_int_equal(window->n_ops, 2000);
	assert_in_range(window->n_blocks, 1, 4);
}

static void test_a_pool_without_memory_marks_the_window(void **state)
{
	(void)state;
	begin();
	assert_null(lib.kgb_trace_malloc((ssize_t)1 << 37, 0, STREAM));
	assert_contains(lib.kgb_trace_status(), "CUDA_ERROR_SOMETHING");
	assert_contains(why(end(), 0), "trace: pool:");
	assert_null(lib.kgb_trace_malloc(0, 0, STREAM));
	assert_null(lib.kgb_trace_malloc(-5, 0, STREAM));
	lib.kgb_trace_free(NULL, 0, 0, STREAM);
}

static void test_callbacks_that_stop_are_noticed(void **state)
{
	const CUpti_CallbackFunc callback = cupti->callback;

	(void)state;
	begin();
	fire_launch(0);
	cupti->callback = NULL;
	assert_string_equal(why(end(), 0), "trace: callbacks were switched off");
	assert_refused(lib.kgb_trace_begin(++number), "callbacks were switched off");
	cupti->callback = callback;
}

/* Last: it spoils the process. */
static void test_who_maps_over_our_pages_spoils_the_process(void **state)
{
	(void)state;
	begin();
	FIRE(cuMemUnmap, KGB_POOL_ADDRESS, 2 << 20);
	assert_string_equal(why(end(), 0), "mapping over the arena or the pool");
	begin();
	assert_string_equal(why(end(), 0), "mapping over the arena or the pool");
}

int main(void)
{
	const struct CMUnitTest starting[] = {
		cmocka_unit_test(test_it_says_why_it_does_not_record),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_holds_what_succeeded_in_it),
		cmocka_unit_test(test_launches_and_moves_can_be_recorded_by_what_they_mean),
		cmocka_unit_test(test_a_call_keeps_what_it_frees_apart_if_asked),
		cmocka_unit_test(test_what_the_library_does_itself_is_not_recorded),
		cmocka_unit_test(test_work_for_a_graph_is_not_recorded_as_done),
		cmocka_unit_test(
			test_foreign_memory_comes_at_the_end_of_a_call_and_goes_at_its_begin),
		cmocka_unit_test(test_calls_that_no_replay_can_repeat_are_named),
		cmocka_unit_test(test_threads_record_together),
		cmocka_unit_test(test_a_pool_without_memory_marks_the_window),
		cmocka_unit_test(test_callbacks_that_stop_are_noticed),
		cmocka_unit_test(test_who_maps_over_our_pages_spoils_the_process),
	};
	const int failed = cmocka_run_group_tests(starting, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, setup, teardown);
}
