/* SPDX-License-Identifier: MIT */
/* Bytes under a digest: found as they were kept, or not at all. */
#include "base/system/disk_cache.h"

#include <pthread.h>
#include <sys/time.h>

#include "base/system/fs.h"
#include "tests/unit/base/support.h"

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEXT "what was right"

enum { ENTRY_MAX = 64 << 10, TOTAL_MAX = 1 << 20 };

struct place {
	char dir[64];
	char file[160]; /* of KEY */
	struct kgb_disk_cache *store;
};

static void open_place(struct place *place)
{
	struct kgb_err err = KGB_ERR_INIT;

	snprintf(place->dir, sizeof(place->dir), "/tmp/kgb-store-XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	snprintf(place->file, sizeof(place->file), "%s/" KEY, place->dir);
	assert_ok(kgb_disk_cache_new(&place->store, place->dir, ENTRY_MAX, TOTAL_MAX, &err), err);
}

static void close_place(struct place *place)
{
	struct kgb_err err = KGB_ERR_INIT;

	kgb_disk_cache_free(place->store);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, place->dir, &err), err);
}

static bool holds(const struct kgb_disk_cache *store, const char *key, const void *bytes,
		  size_t len)
{
	KGB_AUTO(buf) struct kgb_buf found = KGB_BUF_INIT(0);

	kgb_buf_adds(&found, "something of before");
	if (!kgb_disk_cache_get(store, key, &found))
		return false;
	assert_int_equal(found.len, len);
	assert_memory_equal(found.ptr, bytes, len);
	return true;
}

static uint64_t bytes_in(const char *path, size_t *n_files)
{
	DIR *dir = opendir(path);
	uint64_t sum = 0;
	const struct dirent *entry;

	assert_non_null(dir);
	*n_files = 0;
	while ((entry = readdir(dir)) != NULL) {
		struct stat st;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode)) {
			sum += (uint64_t)st.st_size;
			++*n_files;
		}
	}
	closedir(dir);
	return sum;
}

static void test_what_was_kept_is_found_also_by_another(KGB_UNUSED void **state)
{
	struct place place;
	struct kgb_disk_cache *another;
	struct kgb_err err = KGB_ERR_INIT;
	struct stat st;

	open_place(&place);
	assert_false(holds(place.store, KEY, TEXT, strlen(TEXT)));
	kgb_disk_cache_put(place.store, KEY, TEXT, strlen(TEXT));
	kgb_disk_cache_put(place.store, OTHER, "", 0);
	assert_ok(kgb_disk_cache_new(&another, place.dir, ENTRY_MAX, TOTAL_MAX, &err), err);
	assert_true(holds(another, KEY, TEXT, strlen(TEXT)));
	assert_true(holds(another, OTHER, "", 0));
	assert_int_equal(stat(place.file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	kgb_disk_cache_put(another, KEY, "newer", 5);
	assert_true(holds(place.store, KEY, "newer", 5));
	kgb_disk_cache_free(another);
	close_place(&place);
}

static void test_damage_of_any_byte_is_noticed(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf file = KGB_BUF_INIT(0);
	struct place place;
	struct kgb_err err = KGB_ERR_INIT;

	open_place(&place);
	kgb_disk_cache_put(place.store, KEY, TEXT, strlen(TEXT));
	assert_ok(kgb_fs_read(AT_FDCWD, place.file, ENTRY_MAX, &file, &err), err);
	for (size_t i = 0; i < file.len; i++) {
		file.ptr[i] ^= 1;
		assert_ok(kgb_fs_write_atomic(AT_FDCWD, place.file, file.ptr, file.len, 0600, false,
					      &err),
			  err);
		file.ptr[i] ^= 1;
		if (holds(place.store, KEY, TEXT, strlen(TEXT)))
			fail_msg("byte %zu does not count", i);
	}
	for (size_t len = 0; len < file.len; len++) {
		assert_ok(
			kgb_fs_write_atomic(AT_FDCWD, place.file, file.ptr, len, 0600, false, &err),
			err);
		if (holds(place.store, KEY, TEXT, strlen(TEXT)))
			fail_msg("%zu of %zu bytes are enough", len, file.len);
	}
	kgb_buf_addc(&file, '0');
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, place.file, file.ptr, file.len, 0600, false, &err),
		  err);
	assert_false(holds(place.store, KEY, TEXT, strlen(TEXT)));
	/* Whole again. */
	kgb_disk_cache_put(place.store, KEY, TEXT, strlen(TEXT));
	assert_true(holds(place.store, KEY, TEXT, strlen(TEXT)));
	close_place(&place);
}

static void test_an_entry_under_another_key_is_none(KGB_UNUSED void **state)
{
	struct place place;
	char other[160];

	open_place(&place);
	snprintf(other, sizeof(other), "%s/" OTHER, place.dir);
	kgb_disk_cache_put(place.store, KEY, TEXT, strlen(TEXT));
	assert_int_equal(rename(place.file, other), 0);
	assert_false(holds(place.store, OTHER, TEXT, strlen(TEXT)));
	assert_int_equal(rename(other, place.file), 0);
	assert_true(holds(place.store, KEY, TEXT, strlen(TEXT)));
	close_place(&place);
}

static void test_what_others_may_have_written_is_not_believed(KGB_UNUSED void **state)
{
	struct place place;
	char other[160];

	open_place(&place);
	snprintf(other, sizeof(other), "%s/elsewhere", place.dir);
	kgb_disk_cache_put(place.store, KEY, TEXT, strlen(TEXT));
	for (int bit = 0; bit < 2; bit++) {
		assert_int_equal(chmod(place.file, bit ? 0620 : 0602), 0);
		assert_false(holds(place.store, KEY, TEXT, strlen(TEXT)));
	}
	assert_int_equal(chmod(place.file, 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(place.file, 65534, 65534), 0);
		assert_false(holds(place.store, KEY, TEXT, strlen(TEXT)));
		assert_int_equal(chown(place.file, 0, 0), 0);
	}
	assert_int_equal(link(place.file, other), 0);
	assert_false(holds(place.store, KEY, TEXT, strlen(TEXT)));
	assert_int_equal(unlink(place.file), 0);
	assert_int_equal(symlink(other, place.file), 0);
	assert_false(holds(place.store, KEY, TEXT, strlen(TEXT)));
	assert_int_equal(unlink(place.file), 0);
	assert_int_equal(mkfifo(place.file, 0600), 0);
	assert_false(holds(place.store, KEY, TEXT, strlen(TEXT)));
	assert_int_equal(unlink(place.file), 0);
	assert_int_equal(rename(other, place.file), 0);
	assert_true(holds(place.store, KEY, TEXT, strlen(TEXT)));
	close_place(&place);
}

static void test_a_directory_that_others_may_write_to_is_refused(KGB_UNUSED void **state)
{
	struct place place;
	struct kgb_disk_cache *store = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	open_place(&place);
	for (int bit = 0; bit < 2; bit++) {
		assert_int_equal(chmod(place.dir, bit ? 0720 : 0702), 0);
		assert_int_equal(kgb_disk_cache_new(&store, place.dir, ENTRY_MAX, TOTAL_MAX, &err),
				 -1);
		assert_int_equal(err.kind, KGB_ERR_DENIED);
		assert_contains(err.msg, place.dir);
	}
	assert_null(store);
	assert_int_equal(kgb_disk_cache_new(&store, "/dev/null", ENTRY_MAX, TOTAL_MAX, &err), -1);
	assert_int_equal(chmod(place.dir, 0700), 0);
	close_place(&place);
}

static void test_what_is_too_large_is_not_kept(KGB_UNUSED void **state)
{
	KGB_AUTO(free) char *bytes = kgb_xcalloc(1, ENTRY_MAX + 1);
	struct place place;
	struct kgb_disk_cache *wider;
	struct kgb_err err = KGB_ERR_INIT;

	open_place(&place);
	kgb_disk_cache_put(place.store, KEY, bytes, ENTRY_MAX + 1);
	assert_int_equal(access(place.file, F_OK), -1);
	kgb_disk_cache_put(place.store, KEY, bytes, ENTRY_MAX);
	assert_true(holds(place.store, KEY, bytes, ENTRY_MAX));
	/* Nor is it read when somebody with other limits has kept it. */
	assert_ok(kgb_disk_cache_new(&wider, place.dir, 2 * (size_t)ENTRY_MAX, TOTAL_MAX, &err),
		  err);
	kgb_disk_cache_put(wider, KEY, bytes, ENTRY_MAX + 1);
	assert_true(holds(wider, KEY, bytes, ENTRY_MAX + 1));
	assert_false(holds(place.store, KEY, bytes, ENTRY_MAX + 1));
	kgb_disk_cache_free(wider);
	close_place(&place);
}

static void key_of(size_t i, char key[KGB_SHA256_HEX_LEN])
{
	kgb_sha256_hex(&i, sizeof(i), key);
}

/* As if it had been written at that second. */
static void set_age(const struct place *place, const char *key, long second)
{
	const struct timeval times[2] = {{.tv_sec = second}, {.tv_sec = second}};
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", place->dir, key);
	assert_int_equal(utimes(path, times), 0);
}

static void test_the_oldest_go_first(KGB_UNUSED void **state)
{
	enum { N = 40, BYTES = 32 << 10 };
	KGB_AUTO(free) char *bytes = kgb_xcalloc(1, BYTES);
	struct place place;
	struct kgb_disk_cache *roomy;
	struct kgb_err err = KGB_ERR_INIT;
	char key[KGB_SHA256_HEX_LEN];
	size_t n_files;

	open_place(&place);
	assert_ok(kgb_disk_cache_new(&roomy, place.dir, ENTRY_MAX, UINT64_C(1) << 60, &err), err);
	for (size_t i = 0; i < N; i++) {
		key_of(i, key);
		kgb_disk_cache_put(roomy, key, bytes, BYTES);
		set_age(&place, key, 1000000 + 7 * (long)(i * 17 % N));
	}
	kgb_disk_cache_sweep(roomy);
	bytes_in(place.dir, &n_files);
	assert_int_equal(n_files, N);
	kgb_disk_cache_sweep(place.store);
	assert_true(bytes_in(place.dir, &n_files) <= TOTAL_MAX / 4 * 3);
	assert_true(n_files >= 20);
	for (size_t i = 0; i < N; i++) {
		key_of(i, key);
		if (holds(place.store, key, bytes, BYTES) != (i * 17 % N >= N - n_files))
			fail_msg("number %zu by age: %zu are left", i * 17 % N, n_files);
	}
	/* What fits stays. */
	size_t n_then = n_files;
	kgb_disk_cache_sweep(place.store);
	bytes_in(place.dir, &n_files);
	assert_int_equal(n_files, n_then);
	kgb_disk_cache_free(roomy);
	close_place(&place);
}

static void test_however_much_is_written_the_directory_stays_small(KGB_UNUSED void **state)
{
	enum { BYTES = 16 << 10 };
	KGB_AUTO(free) char *bytes = kgb_xcalloc(1, BYTES);
	struct place place;
	char key[KGB_SHA256_HEX_LEN];
	size_t n_files;

	open_place(&place);
	for (size_t i = 0; i < 8 * (size_t)TOTAL_MAX / BYTES; i++) {
		key_of(i, key);
		kgb_disk_cache_put(place.store, key, bytes, BYTES);
	}
	/* One sweep in 64 KiB on average: without one in 2 MiB e^-32. */
	assert_true(bytes_in(place.dir, &n_files) < 3 * (uint64_t)TOTAL_MAX);
	assert_true(n_files > 10);
	close_place(&place);
}

struct writer {
	const struct kgb_disk_cache *store;
	pthread_t thread;
	size_t number;
	size_t n_found;
};

enum { ROUNDS = 300, KEYS = 5, WRITERS = 4, LEN = 5000 };

/* All keep the same bytes under a key, as all do who ask the same. */
static void *write_and_read(void *payload)
{
	struct writer *writer = payload;
	char bytes[LEN];
	char key[KGB_SHA256_HEX_LEN];

	for (size_t i = 0; i < ROUNDS; i++) {
		const size_t which = (i + writer->number) % KEYS;
		key_of(which, key);
		memset(bytes, (int)which + 1, sizeof(bytes));
		if (i % 3 == writer->number % 3)
			kgb_disk_cache_put(writer->store, key, bytes, sizeof(bytes));
		else
			writer->n_found += holds(writer->store, key, bytes, sizeof(bytes));
		if (i % 64 == 63)
			kgb_disk_cache_sweep(writer->store);
	}
	return NULL;
}

static void test_many_may_write_and_read_at_once(KGB_UNUSED void **state)
{
	struct writer writers[WRITERS];
	struct place place;
	size_t n_found = 0;
	size_t n_files;

	open_place(&place);
	for (size_t i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.store = place.store, .number = i};
		assert_int_equal(
			pthread_create(&writers[i].thread, NULL, write_and_read, &writers[i]), 0);
	}
	for (size_t i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		n_found += writers[i].n_found;
	}
	/* One that is replaced while it is opened counts as not there. */
	assert_true(n_found > WRITERS * ROUNDS / 4);
	bytes_in(place.dir, &n_files);
	assert_int_equal(n_files, KEYS); /* nothing half written is left */
	close_place(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_kept_is_found_also_by_another),
		cmocka_unit_test(test_damage_of_any_byte_is_noticed),
		cmocka_unit_test(test_an_entry_under_another_key_is_none),
		cmocka_unit_test(test_what_others_may_have_written_is_not_believed),
		cmocka_unit_test(test_a_directory_that_others_may_write_to_is_refused),
		cmocka_unit_test(test_what_is_too_large_is_not_kept),
		cmocka_unit_test(test_the_oldest_go_first),
		cmocka_unit_test(test_however_much_is_written_the_directory_stays_small),
		cmocka_unit_test(test_many_may_write_and_read_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
