/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "tests/unit/base/support.h"
#include "verify/recorder/images.h"

#define FATBIN_MAGIC 0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u

/* An ELF of 64 bits: header, two segments, three sections; the last bytes belong to whatever
 * `farthest` says. */
struct elf {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	unsigned char code[40];
	Elf64_Shdr sections[3];
	unsigned char rest[64];
};

static struct elf plain_elf(void)
{
	struct elf elf = {0};

	memcpy(elf.head.e_ident, ELFMAG, SELFMAG);
	elf.head.e_ident[EI_CLASS] = ELFCLASS64;
	elf.head.e_ident[EI_DATA] = ELFDATA2LSB;
	elf.head.e_phoff = offsetof(struct elf, segments);
	elf.head.e_phentsize = sizeof(Elf64_Phdr);
	elf.head.e_phnum = 2;
	elf.head.e_shoff = offsetof(struct elf, sections);
	elf.head.e_shentsize = sizeof(Elf64_Shdr);
	elf.head.e_shnum = 3;
	elf.sections[1].sh_type = SHT_PROGBITS;
	elf.sections[1].sh_offset = offsetof(struct elf, code);
	elf.sections[1].sh_size = sizeof(elf.code);
	elf.sections[2].sh_type = SHT_NOBITS; /* takes no bytes of the file */
	elf.sections[2].sh_offset = offsetof(struct elf, code);
	elf.sections[2].sh_size = 1 << 30;
	return elf;
}

static int measure(const void *image, size_t limit, size_t *len, struct kgb_err *err)
{
	const unsigned char *start = NULL;

	memset(err, 0, sizeof(*err));
	if (kgb_image_measure(image, limit, &start, len, err))
		return -1;
	assert_ptr_equal(start, image);
	return 0;
}

static void test_an_elf_ends_where_its_farthest_part_does(void **state)
{
	const size_t end_of_sections = offsetof(struct elf, rest);
	struct elf elf = plain_elf();
	struct kgb_err err = KGB_ERR_INIT;
	size_t len = 0;

	(void)state;
	assert_ok(measure(&elf, sizeof(elf), &len, &err), err);
	assert_int_equal(len, end_of_sections);
	elf.sections[1].sh_offset = offsetof(struct elf, rest);
	elf.sections[1].sh_size = 17;
	assert_ok(measure(&elf, sizeof(elf), &len, &err), err);
	assert_int_equal(len, end_of_sections + 17);
	/* Cubins end with their program headers. */
	elf = plain_elf();
	elf.head.e_phoff = offsetof(struct elf, rest);
	elf.head.e_phnum = 1;
	assert_ok(measure(&elf, sizeof(elf), &len, &err), err);
	assert_int_equal(len, end_of_sections + sizeof(Elf64_Phdr));
	elf = plain_elf();
	elf.segments[1].p_offset = offsetof(struct elf, rest);
	elf.segments[1].p_filesz = 33;
	assert_ok(measure(&elf, sizeof(elf), &len, &err), err);
	assert_int_equal(len, end_of_sections + 33);
	elf = plain_elf();
	elf.head.e_phnum = elf.head.e_shnum = 0;
	assert_ok(measure(&elf, sizeof(elf), &len, &err), err);
	assert_int_equal(len, sizeof(Elf64_Ehdr));
}

/* Copies the first `limit` bytes to where reading one more is an error. */
static int measure_cut(const void *image, size_t limit, size_t *len, struct kgb_err *err)
{
	KGB_AUTO(free) unsigned char *cut = kgb_xmalloc(limit ? limit : 1);

	memcpy(cut, image, limit);
	return measure(cut, limit, len, err);
}

static void test_an_elf_that_is_cut_anywhere_is_refused_without_a_read_beyond(void **state)
{
	const struct elf elf = plain_elf();
	struct kgb_err err = KGB_ERR_INIT;
	size_t len = 0;

	(void)state;
	for (size_t limit = 0; limit < offsetof(struct elf, rest); limit++)
		assert_int_equal(measure_cut(&elf, limit, &len, &err), -1);
	assert_ok(measure_cut(&elf, offsetof(struct elf, rest), &len, &err), err);
}

static void test_hostile_elf_headers_are_refused(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	size_t len = 0;

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		struct elf elf = plain_elf();

		switch (i) {
		case 0:
			elf.head.e_ident[EI_CLASS] = ELFCLASS32;
			break;
		case 1:
			elf.head.e_ident[EI_DATA] = ELFDATA2MSB;
			break;
		case 2:
			elf.head.e_phoff = UINT64_MAX - 8; /* the sum wraps */
			break;
		case 3:
			elf.head.e_shoff = UINT64_MAX;
			break;
		case 4:
			elf.head.e_phnum = UINT16_MAX;
			break;
		case 5:
			elf.head.e_shentsize = 1;
			break;
		case 6:
			elf.head.e_phentsize = UINT16_MAX;
			break;
		case 7:
			elf.segments[0].p_offset = 8;
			elf.segments[0].p_filesz = UINT64_MAX - 4;
			break;
		default:
			elf.sections[1].sh_size = sizeof(elf);
			break;
		}
		assert_int_equal(measure(&elf, sizeof(elf), &len, &err), -1);
	}
}

struct fatbin {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t payload_bytes;
	unsigned char payload[48];
};

static struct fatbin plain_fatbin(void)
{
	return (struct fatbin){FATBIN_MAGIC, 1, 16, 48, "payload"};
}

static void test_a_fatbin_is_as_long_as_its_header_says(void **state)
{
	struct fatbin fatbin = plain_fatbin();
	struct kgb_err err = KGB_ERR_INIT;
	size_t len = 0;

	(void)state;
	assert_ok(measure(&fatbin, sizeof(fatbin), &len, &err), err);
	assert_int_equal(len, 64);
	for (size_t limit = 0; limit < sizeof(fatbin); limit++)
		assert_int_equal(measure_cut(&fatbin, limit, &len, &err), -1);
	fatbin.payload_bytes = UINT64_MAX - 3;
	assert_int_equal(measure(&fatbin, sizeof(fatbin), &len, &err), -1);
	fatbin = plain_fatbin();
	fatbin.header_bytes = 15;
	assert_fails(measure(&fatbin, sizeof(fatbin), &len, &err), err,
		     "fatbin with a header of 15 bytes");
}

static void test_a_wrapper_leads_to_its_fatbin_and_other_bytes_to_nothing(void **state)
{
	const struct fatbin fatbin = plain_fatbin();
	struct {
		uint32_t magic, version;
		const void *fatbin, *more;
	} wrapper = {WRAPPER_MAGIC, 1, &fatbin, NULL};
	const unsigned char *start = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	size_t len = 0;

	(void)state;
	assert_ok(kgb_image_measure(&wrapper, 1 << 20, &start, &len, &err), err);
	assert_ptr_equal(start, &fatbin);
	assert_int_equal(len, sizeof(fatbin));
	wrapper.fatbin = NULL;
	assert_fails(kgb_image_measure(&wrapper, 1 << 20, &start, &len, &err), err,
		     "wrapper without a fatbin");
	wrapper.fatbin = &wrapper; /* no wrapper in a wrapper */
	assert_int_equal(kgb_image_measure(&wrapper, 1 << 20, &start, &len, &err), -1);
	assert_fails(kgb_image_measure(".version 8.0 // PTX", 20, &start, &len, &err), err,
		     "image is neither ELF nor fatbin");
	assert_fails(kgb_image_measure(NULL, 20, &start, &len, &err), err, "no image");
}

/* ---- The table ---- */

static void test_handles_lead_to_bytes_and_equal_bytes_have_one_id(void **state)
{
	struct kgb_images images = {0};
	struct fatbin fatbin = plain_fatbin();
	struct fatbin *again = kgb_xmalloc(sizeof(*again)), *other = kgb_xmalloc(sizeof(*other));
	const struct kgb_image_entry *entry;

	(void)state;
	*again = fatbin;
	*other = fatbin;
	other->payload[3] ^= 1;
	kgb_images_load(&images, 0, 10, &fatbin);
	kgb_images_load(&images, KGB_IMAGE_IS_LIBRARY, 11, again);
	kgb_images_load(&images, 0, 12, other);
	kgb_free(again);
	kgb_free(other);
	assert_int_equal(kgb_images_of(&images, 10), 1);
	assert_int_equal(kgb_images_of(&images, 11), 1);
	assert_int_equal(kgb_images_of(&images, 12), 2);
	assert_int_equal(kgb_images_of(&images, 13), 0);
	/* A copy: the caller's bytes are gone. */
	memset(&fatbin, 0, sizeof(fatbin));
	entry = kgb_images_find(&images, 1);
	assert_int_equal(entry->len, 64);
	assert_memory_equal(entry->bytes + 16, "payload", 7);
	assert_int_equal(images.owned_bytes, 128);
	assert_int_equal(kgb_images_unload(&images, 10), 1);
	assert_non_null(kgb_images_find(&images, 1));
	assert_int_equal(kgb_images_unload(&images, 11), 1);
	assert_null(kgb_images_find(&images, 1));
	assert_int_equal(kgb_images_unload(&images, 11), 0);
	assert_int_equal(images.owned_bytes, 64);
	assert_non_null(kgb_images_find(&images, 2));
	kgb_images_release(&images);
}

static void test_read_only_bytes_of_a_library_are_not_copied(void **state)
{
	static const struct fatbin constant = {FATBIN_MAGIC, 1, 16, 48, "constant"};
	struct kgb_images images = {0};

	(void)state;
	kgb_images_load(&images, KGB_IMAGE_IS_LIBRARY, 10, &constant);
	assert_ptr_equal(kgb_images_find(&images, 1)->bytes, &constant);
	assert_null(kgb_images_find(&images, 1)->owned);
	assert_int_equal(images.owned_bytes, 0);
	kgb_images_release(&images);
}

static void test_bytes_of_a_library_that_can_be_changed_are_copied(void **state)
{
	static struct fatbin variable = {FATBIN_MAGIC, 1, 16, 48, "variable"};
	struct kgb_images images = {0};

	(void)state;
	kgb_images_load(&images, KGB_IMAGE_IS_LIBRARY, 10, &variable);
	variable.payload[0] ^= 1;
	assert_non_null(kgb_images_find(&images, 1)->owned);
	assert_memory_equal(kgb_images_find(&images, 1)->bytes + 16, "variable", 8);
	kgb_images_release(&images);
}

static void test_an_image_in_use_outlives_its_handle_until_the_window_ends(void **state)
{
	struct kgb_images images = {0};
	const struct fatbin fatbin = plain_fatbin();

	(void)state;
	kgb_images_load(&images, 0, 10, &fatbin);
	kgb_images_find(&images, 1)->used = true;
	kgb_images_unload(&images, 10);
	assert_int_equal(kgb_images_of(&images, 10), 0);
	assert_non_null(kgb_images_find(&images, 1)->bytes);
	kgb_images_end_window(&images);
	assert_null(kgb_images_find(&images, 1));
	kgb_images_release(&images);
}

static void test_a_handle_that_comes_again_belongs_to_the_new_image(void **state)
{
	struct kgb_images images = {0};
	const struct fatbin first = plain_fatbin();
	struct fatbin second = plain_fatbin();

	(void)state;
	second.payload[0] = 'x';
	kgb_images_load(&images, 0, 10, &first);
	kgb_images_load(&images, 0, 10, &second);
	assert_int_equal(kgb_images_of(&images, 10), 2);
	assert_null(kgb_images_find(&images, 1));
	kgb_images_load(&images, 0, 10, &second);
	assert_int_equal(kgb_images_of(&images, 10), 2);
	assert_int_equal(kgb_images_find(&images, 2)->n_handles, 1);
	kgb_images_release(&images);
}

static void test_handles_of_libraries_are_known_as_such(void **state)
{
	struct kgb_images images = {0};
	const struct fatbin fatbin = plain_fatbin();

	(void)state;
	kgb_images_load(&images, 0, 10, &fatbin);
	kgb_images_load(&images, KGB_IMAGE_IS_LIBRARY, 11, &fatbin);
	assert_int_equal(kgb_address_table_find(&images.handles, 10)->value, 1);
	assert_int_equal(kgb_address_table_find(&images.handles, 11)->value,
			 1 | KGB_IMAGE_IS_LIBRARY);
	assert_int_equal(kgb_images_of(&images, 11), 1);
	kgb_images_release(&images);
}

static void test_what_cannot_be_recorded_is_noted_with_its_reason(void **state)
{
	struct kgb_images images = {0};
	struct fatbin fatbin = plain_fatbin();

	(void)state;
	kgb_images_load(&images, 0, 10, ".version 8.0 // PTX");
	assert_string_equal(kgb_images_find(&images, kgb_images_of(&images, 10))->refused,
			    "image is no cubin or fatbin");
	fatbin.payload_bytes = 65 << 20;
	kgb_images_load(&images, 0, 11, &fatbin);
	assert_string_equal(kgb_images_find(&images, kgb_images_of(&images, 11))->refused,
			    "image too long");
	assert_null(kgb_images_find(&images, kgb_images_of(&images, 11))->bytes);
	kgb_images_load_file(&images, 0, 12, "/dev/null");
	assert_string_equal(kgb_images_find(&images, kgb_images_of(&images, 12))->refused,
			    "image file is no cubin or fatbin");
	kgb_images_release(&images);
}

static void put_bytes(int dir_fd, const char *name, const void *bytes, size_t len)
{
	const int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void test_a_file_is_an_image_unless_it_is_cut_or_a_wrapper(void **state)
{
	const struct tmpdir *dir = *state;
	const struct fatbin fatbin = plain_fatbin();
	const struct {
		uint32_t magic, version;
		const void *fatbin, *more;
	} wrapper = {WRAPPER_MAGIC, 1, &fatbin, NULL};
	struct kgb_images images = {0};
	char path[128];

	snprintf(path, sizeof(path), "%s/image", dir->path);
	put_bytes(dir->fd, "image", &fatbin, sizeof(fatbin));
	kgb_images_load_file(&images, 0, 10, path);
	assert_memory_equal(kgb_images_find(&images, 1)->bytes, &fatbin, sizeof(fatbin));
	put_bytes(dir->fd, "image", &fatbin, sizeof(fatbin) - 1);
	kgb_images_load_file(&images, 0, 11, path);
	assert_non_null(kgb_images_find(&images, kgb_images_of(&images, 11))->refused);
	put_bytes(dir->fd, "image", &wrapper, sizeof(wrapper));
	kgb_images_load_file(&images, 0, 12, path);
	assert_non_null(kgb_images_find(&images, kgb_images_of(&images, 12))->refused);
	unlink(path);
	kgb_images_release(&images);
}

static int remove_tmpdir(void **state)
{
	struct tmpdir *dir = *state;

	close(dir->fd);
	rmdir(dir->path);
	kgb_free(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_elf_ends_where_its_farthest_part_does),
		cmocka_unit_test(test_an_elf_that_is_cut_anywhere_is_refused_without_a_read_beyond),
		cmocka_unit_test(test_hostile_elf_headers_are_refused),
		cmocka_unit_test(test_a_fatbin_is_as_long_as_its_header_says),
		cmocka_unit_test(test_a_wrapper_leads_to_its_fatbin_and_other_bytes_to_nothing),
		cmocka_unit_test(test_handles_lead_to_bytes_and_equal_bytes_have_one_id),
		cmocka_unit_test(test_read_only_bytes_of_a_library_are_not_copied),
		cmocka_unit_test(test_bytes_of_a_library_that_can_be_changed_are_copied),
		cmocka_unit_test(test_an_image_in_use_outlives_its_handle_until_the_window_ends),
		cmocka_unit_test(test_a_handle_that_comes_again_belongs_to_the_new_image),
		cmocka_unit_test(test_handles_of_libraries_are_known_as_such),
		cmocka_unit_test(test_what_cannot_be_recorded_is_noted_with_its_reason),
		cmocka_unit_test_setup_teardown(
			test_a_file_is_an_image_unless_it_is_cut_or_a_wrapper, tmpdir_setup,
			remove_tmpdir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
