/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>

#include "tests/unit/base/support.h"
#include "verify/recorder/recorder.h"

/* A recorder, the record's file, and two images that differ. */
struct fixture {
	struct kgb_images images;
	struct kgb_recorder rec;
	int fd;
	unsigned char *bytes; /* as read back */
	struct kgb_record record;
};

struct fatbin {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t payload_bytes;
	unsigned char payload[16];
};

static int setup(void **state)
{
	struct fixture *fx = kgb_xcalloc(1, sizeof(*fx));
	const struct fatbin one = {0xba55ed50u, 1, 16, 16, "one"};
	const struct fatbin two = {0xba55ed50u, 1, 16, 16, "two"};

	fx->fd = memfd_create("record", MFD_CLOEXEC);
	kgb_images_load(&fx->images, 0, 10, &one);
	kgb_images_load(&fx->images, 0, 20, &two);
	kgb_recorder_init(&fx->rec, &fx->images);
	*state = fx;
	return fx->fd < 0;
}

static void drop_record(struct fixture *fx)
{
	kgb_record_release(&fx->record);
	memset(&fx->record, 0, sizeof(fx->record));
	kgb_free(fx->bytes);
	fx->bytes = NULL;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	drop_record(fx);
	kgb_recorder_release(&fx->rec);
	kgb_images_release(&fx->images);
	close(fx->fd);
	kgb_free(fx);
	return 0;
}

static const struct kgb_record *read_back(struct fixture *fx)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct stat st;

	drop_record(fx);
	assert_int_equal(fstat(fx->fd, &st), 0);
	assert_int_equal(st.st_size, fx->rec.written);
	fx->bytes = kgb_xmalloc((size_t)st.st_size + 1);
	assert_int_equal(pread(fx->fd, fx->bytes, (size_t)st.st_size, 0), st.st_size);
	assert_ok(kgb_record_parse(fx->bytes, (size_t)st.st_size, &fx->record, &err), err);
	return &fx->record;
}

static void put_launch(struct fixture *fx, uint32_t image)
{
	static const unsigned char params[] = {1, 2, 3, 4};
	struct kgb_op op = {.kind = KGB_OP_LAUNCH, .stream = 3};

	op.launch = (struct kgb_launch){
		.image = image,
		.kernel = "kernel",
		.grid = {1, 1, 1},
		.block = {32, 1, 1},
		.carveout = -1,
		.params = params,
		.params_bytes = sizeof(params),
	};
	kgb_recorder_op(&fx->rec, &op);
}

static void put_upload(struct fixture *fx, size_t bytes)
{
	KGB_AUTO(free) unsigned char *data = kgb_xcalloc(1, bytes);
	struct kgb_op op = {.kind = KGB_OP_UPLOAD};

	op.upload.dst = KGB_POOL_ADDRESS;
	op.upload.bytes = bytes;
	op.upload.data = data;
	kgb_recorder_op(&fx->rec, &op);
}

static void open_record(struct fixture *fx, uint64_t max_bytes)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_recorder_open(&fx->rec, fx->fd, max_bytes, &err), err);
}

static void begin(struct fixture *fx, uint32_t number)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_recorder_begin(&fx->rec, number, &err), err);
}

static void end(struct fixture *fx)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_recorder_end(&fx->rec, &err), err);
}

static void test_windows_follow_each_other_and_an_image_is_written_once(void **state)
{
	struct fixture *fx = *state;
	const struct kgb_record *record;

	open_record(fx, 1 << 20);
	assert_int_equal(read_back(fx)->n_windows, 0);
	begin(fx, 7);
	put_launch(fx, 1);
	put_launch(fx, 1);
	end(fx);
	begin(fx, 9);
	put_launch(fx, 1);
	put_launch(fx, 2);
	end(fx);
	record = read_back(fx);
	assert_int_equal(record->n_windows, 2);
	assert_int_equal(record->n_images, 2);
	assert_int_equal(kgb_record_window(record, 7)->n_ops, 2);
	assert_int_equal(kgb_record_window(record, 9)->n_ops, 2);
	assert_memory_equal(kgb_record_image(record, 2)->bytes + 16, "two", 3);
	/* A new record in the same file has its images again. */
	open_record(fx, 1 << 20);
	begin(fx, 7);
	put_launch(fx, 1);
	end(fx);
	record = read_back(fx);
	assert_int_equal(record->n_windows, 1);
	assert_int_equal(record->n_images, 1);
}

static void test_nothing_outside_a_window_is_written(void **state)
{
	struct fixture *fx = *state;

	put_launch(fx, 1);
	open_record(fx, 1 << 20);
	put_launch(fx, 1);
	kgb_recorder_block(&fx->rec, 1, 1, false);
	kgb_recorder_unsupported(&fx->rec, 0, "call");
	kgb_recorder_break(&fx->rec, "reason");
	begin(fx, 1);
	end(fx);
	put_launch(fx, 1);
	assert_int_equal(kgb_record_window(read_back(fx), 1)->n_ops, 0);
	assert_int_equal(fx->record.n_images, 0);
}

static void test_blocks_are_sorted_and_no_two_alike(void **state)
{
	struct fixture *fx = *state;
	struct kgb_address_table pool = {0}, foreign = {0};
	const struct kgb_window *window;

	open_record(fx, 1 << 20);
	kgb_address_table_put(&pool, KGB_POOL_ADDRESS, 100);
	kgb_address_table_put(&foreign, 5000, 10);
	begin(fx, 1);
	kgb_recorder_live(&fx->rec, &pool, false);
	kgb_recorder_live(&fx->rec, &foreign, true);
	kgb_recorder_block(&fx->rec, KGB_POOL_ADDRESS + 8, 4, false);
	kgb_recorder_block(&fx->rec, KGB_POOL_ADDRESS, 101, false);
	kgb_recorder_block(&fx->rec, KGB_POOL_ADDRESS, 101, false);
	kgb_recorder_block(&fx->rec, KGB_POOL_ADDRESS, 100, false); /* the older one again */
	kgb_recorder_block(&fx->rec, 7, 0, false); /* nothing there */
	end(fx);
	window = kgb_record_window(read_back(fx), 1);
	/* The parser sorts too: its bytes tell that the recorder did. */
	assert_int_equal(fx->rec.written, 8 + 16 + 4 * 32 + 8);
	assert_int_equal(window->n_blocks, 4);
	assert_int_equal(window->blocks[0].address, 5000);
	assert_true(window->blocks[0].foreign && window->blocks[0].before);
	assert_int_equal(window->blocks[1].address, KGB_POOL_ADDRESS);
	assert_true(window->blocks[1].before && !window->blocks[1].foreign);
	assert_int_equal(window->blocks[2].bytes, 101);
	assert_false(window->blocks[2].before);
	assert_int_equal(window->blocks[3].address, KGB_POOL_ADDRESS + 8);
	kgb_address_table_release(&pool);
	kgb_address_table_release(&foreign);
}

static const char *only_reason(const struct kgb_record *record, uint32_t number)
{
	const struct kgb_window *window = kgb_record_window(record, number);

	assert_non_null(window);
	assert_int_equal(window->n_ops, 1);
	assert_int_equal(window->n_blocks, 0);
	assert_int_equal(window->ops[0].kind, KGB_OP_UNSUPPORTED);
	return window->ops[0].why;
}

static void test_a_window_that_is_broken_holds_only_the_first_reason(void **state)
{
	struct fixture *fx = *state;

	open_record(fx, 1 << 20);
	begin(fx, 1);
	put_launch(fx, 1);
	kgb_recorder_block(&fx->rec, 1, 1, false);
	kgb_recorder_break(&fx->rec, "table of %d is full", 5);
	kgb_recorder_break(&fx->rec, "another");
	put_launch(fx, 2);
	kgb_recorder_block(&fx->rec, 1, 1, false);
	end(fx);
	begin(fx, 2);
	put_launch(fx, 2);
	end(fx);
	assert_string_equal(only_reason(read_back(fx), 1), "trace: table of 5 is full");
	assert_int_equal(kgb_record_window(&fx->record, 2)->n_ops, 1);
	assert_int_equal(fx->record.n_images, 1);
}

static void test_a_full_record_says_so_in_every_window_to_the_last(void **state)
{
	static const size_t sizes[] = {100000, 60000, 40000, 20000, 9000, 3000, 1000, 300, 1};
	struct fixture *fx = *state;
	const uint64_t max_bytes = 128 << 10;
	size_t n_full = 0;

	open_record(fx, max_bytes);
	for (uint32_t i = 1; i <= KGB_RECORD_WINDOWS_MAX; i++) {
		begin(fx, i);
		put_launch(fx, 1 + i % 2);
		put_upload(fx, sizes[i % KGB_ARRAY_LEN(sizes)]);
		end(fx);
	}
	assert_true(fx->rec.written <= max_bytes);
	assert_int_equal(read_back(fx)->n_windows, KGB_RECORD_WINDOWS_MAX);
	for (uint32_t i = 1; i <= KGB_RECORD_WINDOWS_MAX; i++) {
		const struct kgb_window *window = kgb_record_window(&fx->record, i);

		if (window->n_ops == 2)
			continue;
		assert_string_equal(only_reason(&fx->record, i), "trace: record over 131072 bytes");
		n_full++;
	}
	assert_in_range(n_full, 5, KGB_RECORD_WINDOWS_MAX - 5);
}

/* Also when what was left out is the last thing of its window. */
static void test_an_operation_that_no_record_holds_is_not_left_out_in_silence(void **state)
{
	struct fixture *fx = *state;

	open_record(fx, 128 << 10);
	begin(fx, 1);
	put_launch(fx, 1);
	put_upload(fx, 128 << 10);
	end(fx);
	begin(fx, 2);
	put_launch(fx, 1);
	end(fx);
	assert_string_equal(only_reason(read_back(fx), 1), "trace: record over 131072 bytes");
	assert_int_equal(kgb_record_window(&fx->record, 2)->n_ops, 1);
}

static void test_large_images_are_written_too(void **state)
{
	enum { BYTES = 300000 };
	struct fixture *fx = *state;
	const struct fatbin head = {.magic = 0xba55ed50u,
				    .version = 1,
				    .header_bytes = 16,
				    .payload_bytes = BYTES - 16};
	KGB_AUTO(free) unsigned char *large = kgb_xcalloc(1, BYTES);

	memcpy(large, &head, 16);
	large[BYTES - 1] = 'z';
	kgb_images_load(&fx->images, 0, 30, large);
	open_record(fx, 1 << 20);
	begin(fx, 1);
	put_launch(fx, 3);
	end(fx);
	const struct kgb_image *image = kgb_record_image(read_back(fx), 3);
	assert_non_null(image);
	assert_int_equal(image->len, BYTES);
	assert_memory_equal(image->bytes, large, BYTES);
}

static void test_too_many_ops_and_blocks_break_the_window(void **state)
{
	struct fixture *fx = *state;

	open_record(fx, KGB_RECORD_BYTES_MAX);
	begin(fx, 1);
	for (size_t i = 0; i <= KGB_RECORD_OPS_MAX; i++)
		kgb_recorder_unsupported(&fx->rec, 0, "x");
	end(fx);
	begin(fx, 2);
	for (size_t i = 0; i <= KGB_RECORD_BLOCKS_MAX; i++)
		kgb_recorder_block(&fx->rec, i + 1, 1, false);
	end(fx);
	/* Together they are too many for the record, so the second one is lost. */
	begin(fx, 3);
	for (size_t i = 0; i < KGB_RECORD_OPS_MAX / 2; i++)
		kgb_recorder_unsupported(&fx->rec, 0, "x");
	end(fx);
	begin(fx, 4);
	for (size_t i = 0; i < KGB_RECORD_OPS_MAX / 2; i++)
		kgb_recorder_unsupported(&fx->rec, 0, "x");
	end(fx);
	assert_string_equal(only_reason(read_back(fx), 1), "trace: more than 65472 operations");
	assert_string_equal(only_reason(&fx->record, 2), "trace: more than 65536 blocks of memory");
	assert_int_equal(kgb_record_window(&fx->record, 3)->n_ops, KGB_RECORD_OPS_MAX / 2);
	assert_string_equal(only_reason(&fx->record, 4), "trace: more than 65472 operations");
}

static void test_reasons_are_made_printable(void **state)
{
	struct fixture *fx = *state;

	open_record(fx, 1 << 20);
	begin(fx, 1);
	kgb_recorder_unsupported(&fx->rec, 4, "a\nb\xff");
	kgb_recorder_unsupported(&fx->rec, 4, "");
	end(fx);
	assert_string_equal(kgb_record_window(read_back(fx), 1)->ops[0].why, "a?b?");
	assert_string_equal(kgb_record_window(&fx->record, 1)->ops[1].why, "unknown");
	assert_int_equal(kgb_record_window(&fx->record, 1)->ops[1].stream, 4);
}

static void test_wrong_order_of_calls_is_refused(void **state)
{
	struct fixture *fx = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_fails(kgb_recorder_begin(&fx->rec, 1, &err), err, "window 1: no record is open");
	assert_fails(kgb_recorder_end(&fx->rec, &err), err, "no window is open");
	assert_fails(kgb_recorder_open(&fx->rec, fx->fd, 1000, &err), err,
		     "record: 1000 bytes are too few");
	open_record(fx, 1 << 20);
	begin(fx, 1);
	assert_fails(kgb_recorder_begin(&fx->rec, 2, &err), err,
		     "window 2: window 1 is still open");
	end(fx);
	assert_fails(kgb_recorder_begin(&fx->rec, 1, &err), err, "window 1 is there already");
	for (uint32_t i = 2; i <= KGB_RECORD_WINDOWS_MAX; i++) {
		begin(fx, i);
		end(fx);
	}
	assert_fails(kgb_recorder_begin(&fx->rec, 100, &err), err,
		     "window 100: the record has 64 windows already");
	kgb_recorder_close(&fx->rec);
	assert_int_equal(kgb_recorder_begin(&fx->rec, 200, &err), -1);
}

static void test_a_file_that_cannot_be_written_loses_the_window_only(void **state)
{
	struct fixture *fx = *state;
	struct kgb_err err = KGB_ERR_INIT;
	const struct rlimit small = {4096, RLIM_INFINITY};
	struct rlimit before;

	open_record(fx, 1 << 20);
	begin(fx, 1);
	put_launch(fx, 1);
	end(fx);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	begin(fx, 2);
	put_launch(fx, 2);
	put_upload(fx, 10000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(kgb_recorder_end(&fx->rec, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_contains(err.msg, "record: write");
	assert_int_equal(read_back(fx)->n_windows, 1);
	assert_int_equal(fx->record.n_images, 1);
	begin(fx, 2);
	put_launch(fx, 2);
	end(fx);
	assert_int_equal(read_back(fx)->n_windows, 2);
	assert_int_equal(fx->record.n_images, 2);
}

int main(void)
{
#define RECORDER_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		RECORDER_TEST(test_windows_follow_each_other_and_an_image_is_written_once),
		RECORDER_TEST(test_nothing_outside_a_window_is_written),
		RECORDER_TEST(test_blocks_are_sorted_and_no_two_alike),
		RECORDER_TEST(test_a_window_that_is_broken_holds_only_the_first_reason),
		RECORDER_TEST(test_a_full_record_says_so_in_every_window_to_the_last),
		RECORDER_TEST(test_an_operation_that_no_record_holds_is_not_left_out_in_silence),
		RECORDER_TEST(test_large_images_are_written_too),
		RECORDER_TEST(test_too_many_ops_and_blocks_break_the_window),
		RECORDER_TEST(test_reasons_are_made_printable),
		RECORDER_TEST(test_wrong_order_of_calls_is_refused),
		RECORDER_TEST(test_a_file_that_cannot_be_written_loses_the_window_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
