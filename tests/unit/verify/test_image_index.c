/* SPDX-License-Identifier: MIT */
/* Fatbins, libraries that hold them, and the index of their digests with its cache. */
#include "verify/provenance/image_index.h"

#include "base/system/fs.h"
#include "tests/unit/base/support.h"
#include "tests/unit/verify/library_maker.h"
#include "verify/provenance/fatbin.h"

static const struct made_entry some_entries[] = {
	{KGB_FATBIN_ELF, 80, 0, "plain cubin", 11},
	{KGB_FATBIN_ELF, 90, MAKER_ZSTD, "packed!", 7},
	{KGB_FATBIN_PTX, 90, MAKER_LZ4, "text", 4},
};

static void test_entries_of_a_fatbin_are_listed_as_they_are(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_fatbin_entry entry;
	size_t at = 0;
	size_t n = 0;
	bool broken;

	(void)state;
	make_fatbin(&bytes, some_entries, 3);
	assert_int_equal(kgb_fatbin_size(bytes.ptr, bytes.len), bytes.len);
	while (kgb_fatbin_next(bytes.ptr, bytes.len, &at, &entry, &broken)) {
		assert_int_equal(entry.kind, some_entries[n].kind);
		assert_int_equal(entry.sm, some_entries[n].sm);
		assert_int_equal(entry.compressed, some_entries[n].flags != 0);
		/* Without compression the file does not say where padding begins. */
		assert_true(entry.n_bytes >= some_entries[n].n_bytes);
		assert_memory_equal(entry.data, some_entries[n].data, some_entries[n].n_bytes);
		n++;
	}
	assert_false(broken);
	assert_int_equal(n, 3);
}

static void test_a_cut_fatbin_is_none_and_a_broken_entry_is_told(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_fatbin_entry entry;
	size_t at = 0;
	bool broken;

	(void)state;
	make_fatbin(&bytes, some_entries, 1);
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(kgb_fatbin_size(bytes.ptr, len), 0);
	memset(bytes.ptr + 16 + 8, 0xff, 8); /* length of the first entry */
	assert_false(kgb_fatbin_next(bytes.ptr, bytes.len, &at, &entry, &broken));
	assert_true(broken);
}

struct place {
	char path[64];
	char cache[80];
	char library[80];
};

static void make_place(struct place *place)
{
	snprintf(place->path, sizeof(place->path), "/tmp/kgb-index-XXXXXX");
	assert_non_null(mkdtemp(place->path));
	snprintf(place->cache, sizeof(place->cache), "%s/cache", place->path);
	snprintf(place->library, sizeof(place->library), "%s/libsome.so", place->path);
}

static void remove_place(const struct place *place)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_remove_tree(AT_FDCWD, place->path, &err), err);
}

/* Two fatbins with zeros between. */
static void write_library(const struct place *place, const char *first_data)
{
	const struct made_entry other = {KGB_FATBIN_ELF, 90, MAKER_ZSTD, first_data,
					 (uint32_t)strlen(first_data)};
	KGB_AUTO(buf) struct kgb_buf section = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf file = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	make_fatbin(&section, &other, 1);
	kgb_buf_add(&section, "\0\0\0\0\0\0\0", 8);
	make_fatbin(&section, some_entries, 3);
	make_library(&file, ".nv_fatbin", &section);
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, place->library, file.ptr, file.len, 0644, false,
				      &err),
		  err);
}

static int try_add(struct kgb_image_index *index, const struct place *place, struct kgb_err *err)
{
	struct kgb_disk_cache *store =
		kgb_disk_cache_try(place->cache, KGB_INDEX_ENTRY_MAX, KGB_INDEX_TOTAL_MAX);
	assert_non_null(store);
	int rc = kgb_image_index_add(index, place->library, store, err);
	kgb_disk_cache_free(store);
	return rc;
}

static void add(struct kgb_image_index *index, const struct place *place)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(try_add(index, place, &err), err);
}

static const char *find(const struct kgb_image_index *index, const void *bytes, size_t len)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_sha256_hex(bytes, len, hex);
	return kgb_image_index_find(index, hex);
}

static void test_images_are_found_whole_and_plain_cubins_alone(void **state)
{
	KGB_AUTO(buf) struct kgb_buf fatbin = KGB_BUF_INIT(0);
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	struct place place;

	(void)state;
	make_place(&place);
	write_library(&place, "hello");
	add(&index, &place);
	assert_int_equal(index.n_libraries, 1);
	assert_int_equal(index.libraries[0].digests.n, 3);
	make_fatbin(&fatbin, some_entries, 3);
	assert_string_equal(find(&index, fatbin.ptr, fatbin.len), "libsome.so");
	assert_string_equal(find(&index, "plain cubin\0\0\0\0\0", 16), "libsome.so");
	assert_null(find(&index, "packed!", 7));
	fatbin.ptr[fatbin.len - 1] ^= 1;
	assert_null(find(&index, fatbin.ptr, fatbin.len));
	kgb_image_index_release(&index);
	remove_place(&place);
}

static void test_the_second_time_comes_from_the_cache_until_the_library_changes(void **state)
{
	struct place place;

	(void)state;
	make_place(&place);
	write_library(&place, "hello");
	for (int round = 0; round < 4; round++) {
		static const bool cached[] = {false, true, false, true};
		struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
		if (round == 2)
			write_library(&place, "hullo");
		add(&index, &place);
		assert_int_equal(index.libraries[0].cached, cached[round]);
		assert_int_equal(index.libraries[0].digests.n, 3);
		KGB_AUTO(buf) struct kgb_buf fatbin = KGB_BUF_INIT(0);
		make_fatbin(&fatbin,
			    &(struct made_entry){KGB_FATBIN_ELF, 90, MAKER_ZSTD,
						 round < 2 ? "hello" : "hullo", 5},
			    1);
		assert_non_null(find(&index, fatbin.ptr, fatbin.len));
		kgb_image_index_release(&index);
	}
	remove_place(&place);
}

static void test_what_cannot_be_indexed_is_told_with_its_path(void **state)
{
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	KGB_AUTO(buf) struct kgb_buf section = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf file = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct place place;

	(void)state;
	make_place(&place);
	assert_int_equal(kgb_image_index_add(&index, place.library, NULL, &err), -1);
	assert_contains(err.msg, "libsome.so");
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
	kgb_buf_adds(&section, "neither zeros nor a fatbin");
	make_library(&file, ".nv_fatbin", &section);
	assert_ok(
		kgb_fs_write_atomic(AT_FDCWD, place.library, file.ptr, file.len, 0644, false, &err),
		err);
	assert_int_equal(try_add(&index, &place, &err), -1);
	assert_contains(err.msg, "no fatbin at byte 0 of section .nv_fatbin");
	assert_int_equal(index.n_libraries, 0);
	remove_place(&place);
}

static void test_a_library_without_device_code_is_fine(void **state)
{
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(kgb_image_index_add(&index, "/proc/self/exe", NULL, &err), err);
	assert_int_equal(index.libraries[0].digests.n, 0);
	assert_null(find(&index, "x", 1));
	kgb_image_index_release(&index);
}

static void put_library(const struct place *place, const char *section_name,
			const struct kgb_buf *section)
{
	KGB_AUTO(buf) struct kgb_buf file = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	make_library(&file, section_name, section);
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, place->library, file.ptr, file.len, 0644, false,
				      &err),
		  err);
}

static void test_code_that_is_linked_at_run_time_is_indexed_too(void **state)
{
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	KGB_AUTO(buf) struct kgb_buf fatbin = KGB_BUF_INIT(0);
	struct place place;

	(void)state;
	make_place(&place);
	make_fatbin(&fatbin, some_entries, 3);
	put_library(&place, "__nv_relfatbin", &fatbin);
	add(&index, &place);
	assert_int_equal(index.libraries[0].digests.n, 2); /* a cubin in it lies plain */
	assert_non_null(find(&index, fatbin.ptr, fatbin.len));
	kgb_image_index_release(&index);
	remove_place(&place);
}

static void test_a_library_with_a_broken_fatbin_is_refused_as_a_whole(void **state)
{
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	KGB_AUTO(buf) struct kgb_buf fatbin = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct place place;

	(void)state;
	make_place(&place);
	make_fatbin(&fatbin, some_entries, 3);
	memset(fatbin.ptr + 16 + 8, 0xff, 8); /* length of the first entry */
	put_library(&place, ".nv_fatbin", &fatbin);
	assert_int_equal(try_add(&index, &place, &err), -1);
	assert_contains(err.msg, "a fatbin with a broken entry");
	assert_int_equal(index.n_libraries, 0);
	remove_place(&place);
}

static void test_a_library_that_was_rewritten_in_place_is_read_again(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct place place;
	struct stat st;

	(void)state;
	make_place(&place);
	write_library(&place, "hello");
	assert_int_equal(stat(place.library, &st), 0);
	for (int round = 0; round < 2; round++) {
		struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
		KGB_AUTO(buf) struct kgb_buf fatbin = KGB_BUF_INIT(0);
		/* The same file, the same size and the same second. */
		if (round == 1) {
			KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
			const struct timespec times[2] = {
				st.st_atim,
				{st.st_mtim.tv_sec, (st.st_mtim.tv_nsec + 1) % 1000000000}};
			int fd = open(place.library, O_RDWR | O_CLOEXEC);
			assert_ok(kgb_fs_read(AT_FDCWD, place.library, 1 << 16, &text, &err), err);
			char *at = memmem(text.ptr, text.len, "hello", 5);
			assert_non_null(at);
			assert_int_equal(pwrite(fd, "hullo", 5, at - text.ptr), 5);
			assert_int_equal(futimens(fd, times), 0);
			close(fd);
		}
		add(&index, &place);
		make_fatbin(&fatbin,
			    &(struct made_entry){KGB_FATBIN_ELF, 90, MAKER_ZSTD,
						 round == 0 ? "hello" : "hullo", 5},
			    1);
		assert_false(index.libraries[0].cached);
		assert_non_null(find(&index, fatbin.ptr, fatbin.len));
		kgb_image_index_release(&index);
	}
	remove_place(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries_of_a_fatbin_are_listed_as_they_are),
		cmocka_unit_test(test_a_cut_fatbin_is_none_and_a_broken_entry_is_told),
		cmocka_unit_test(test_images_are_found_whole_and_plain_cubins_alone),
		cmocka_unit_test(
			test_the_second_time_comes_from_the_cache_until_the_library_changes),
		cmocka_unit_test(test_what_cannot_be_indexed_is_told_with_its_path),
		cmocka_unit_test(test_a_library_without_device_code_is_fine),
		cmocka_unit_test(test_code_that_is_linked_at_run_time_is_indexed_too),
		cmocka_unit_test(test_a_library_with_a_broken_fatbin_is_refused_as_a_whole),
		cmocka_unit_test(test_a_library_that_was_rewritten_in_place_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
