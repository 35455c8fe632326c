/* SPDX-License-Identifier: MIT */
#include "verify/judge/cubin.h"

#include "base/fs.h"
#include "tests/unit/base/support.h"
#include "verify/judge/elf64.h"

#define FIXTURES KGB_TEST_SOURCE_DIR "/tests/fixtures/provenance/"

static void read_file(const char *name, struct kgb_buf *out)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *path = kgb_path_join(FIXTURES, name);

	assert_ok(kgb_fs_read(AT_FDCWD, path, 1 << 20, out, &err), err);
}

static void read_cubin(const char *name, struct kgb_arena *arena, struct kgb_cubin *out)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	read_file(name, &bytes);
	assert_ok(kgb_cubin_read(bytes.ptr, bytes.len, arena, out, &err), err);
}

static void test_both_layouts_of_the_header_tell_the_gpu_and_the_kernel(void **state)
{
	static const char *const names[] = {"scale.cubin", "scale_cuda12.cubin"};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		read_cubin(names[i], &arena, &cubin);
		assert_int_equal(cubin.sm, 90);
		assert_int_equal(cubin.kernels.n, 1);
		assert_string_equal(cubin.kernels.items[0], "scale");
		assert_true(kgb_cubin_names_has(&cubin.kernels, "scale"));
		assert_false(kgb_cubin_names_has(&cubin.kernels, "scal"));
		assert_int_equal(cubin.variables.n, 0);
		assert_int_equal(cubin.imports.n, 0);
		assert_int_equal(cubin.zeroed_bytes + cubin.initialized_bytes, 0);
	}
}

static void test_memory_that_outlives_a_launch_is_seen(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;

	(void)state;
	read_cubin("state.cubin", &arena, &cubin);
	assert_int_equal(cubin.zeroed_bytes, 4);
	assert_int_equal(cubin.initialized_bytes, 0);
	assert_int_equal(cubin.variables.n, 1);
	assert_contains(cubin.variables.items[0], "kept");
	read_cubin("init.cubin", &arena, &cubin);
	assert_int_equal(cubin.zeroed_bytes, 0);
	assert_int_equal(cubin.initialized_bytes, 4);
}

static void test_line_numbers_do_not_change_the_digests(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	KGB_AUTO(buf) struct kgb_buf a = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf b = KGB_BUF_INIT(0);
	struct kgb_cubin one, other;

	(void)state;
	read_file("scale.cubin", &a);
	read_file("scale_moved.cubin", &b);
	assert_true(a.len != b.len || memcmp(a.ptr, b.ptr, a.len) != 0);
	read_cubin("scale.cubin", &arena, &one);
	read_cubin("scale_moved.cubin", &arena, &other);
	assert_string_equal(one.code_sha256, other.code_sha256);
	assert_string_equal(one.load_sha256, other.load_sha256);
}

static void test_another_instruction_changes_both_digests(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin one, other;

	(void)state;
	read_cubin("scale.cubin", &arena, &one);
	read_cubin("scale_other.cubin", &arena, &other);
	assert_string_not_equal(one.code_sha256, other.code_sha256);
	assert_string_not_equal(one.load_sha256, other.load_sha256);
}

static void test_another_initial_value_is_the_same_code_but_not_the_same_image(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin one, other;

	(void)state;
	read_cubin("state.cubin", &arena, &one);
	read_cubin("init.cubin", &arena, &other);
	assert_string_equal(one.code_sha256, other.code_sha256);
	assert_string_not_equal(one.load_sha256, other.load_sha256);
}

/* Where a section's bytes begin in the file. */
static size_t section_at(const struct kgb_buf *bytes, const char *name)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_elf elf;
	struct kgb_elf_section section;

	assert_ok(kgb_elf_open(bytes->ptr, bytes->len, &elf, &err), err);
	for (size_t i = 0; i < elf.n_sections; i++) {
		assert_ok(kgb_elf_section(&elf, i, &section, &err), err);
		if (strcmp(section.name, name) == 0)
			return section.header.sh_offset;
	}
	fail_msg("no section '%s'", name);
	return 0;
}

static void test_a_changed_byte_shows_where_it_matters(void **state)
{
	static const struct {
		const char *section;
		size_t offset;
		bool code, load;
	} cases[] = {
		{".text.scale", 0, true, true},
		{".nv.constant0.scale", 8, true, true},
		{".nv.info", 8, false, true}, /* registers */
		{".nv.info.scale", 12, false, true}, /* parameters */
		{".symtab", 9 * sizeof(Elf64_Sym) + 8, false, true}, /* where the kernel begins */
		{".debug_line", 20, false, false},
		{".nv_debug_ptx_txt", 20, false, false},
		{".note.nv.tkinfo", 24, false, false},
	};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin before, after;

	(void)state;
	read_cubin("scale.cubin", &arena, &before);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
		struct kgb_err err = KGB_ERR_INIT;
		read_file("scale.cubin", &bytes);
		bytes.ptr[section_at(&bytes, cases[i].section) + cases[i].offset] ^= 0x40;
		assert_ok(kgb_cubin_read(bytes.ptr, bytes.len, &arena, &after, &err), err);
		if ((strcmp(before.code_sha256, after.code_sha256) != 0) != cases[i].code)
			fail_msg("%s: digest of code", cases[i].section);
		if ((strcmp(before.load_sha256, after.load_sha256) != 0) != cases[i].load)
			fail_msg("%s: digest of all", cases[i].section);
	}
}

static void test_a_cut_file_is_refused_at_every_length(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;

	(void)state;
	read_file("scale_cuda12.cubin", &bytes);
	struct kgb_elf elf;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_elf_open(bytes.ptr, bytes.len, &elf, &err), err);
	const size_t end = elf.header.e_shoff + elf.n_sections * sizeof(Elf64_Shdr);
	for (size_t len = 0; len < end; len++)
		assert_int_equal(kgb_cubin_read(bytes.ptr, len, &arena, &cubin, &err), -1);
}

static void test_what_is_no_cubin_is_refused(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;
	struct kgb_err err = KGB_ERR_INIT;
	Elf64_Ehdr header;

	(void)state;
	assert_fails(kgb_cubin_read("", 0, &arena, &cubin, &err), err,
		     "cubin: not a little-endian ELF64 file");
	read_file("scale.cubin", &bytes);
	memcpy(&header, bytes.ptr, sizeof(header));
	header.e_machine = EM_X86_64;
	memcpy(bytes.ptr, &header, sizeof(header));
	assert_fails(kgb_cubin_read(bytes.ptr, bytes.len, &arena, &cubin, &err), err,
		     "cubin: ELF for machine 62, not for a GPU");
}

static void test_sections_that_overlap_are_refused(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;
	struct kgb_err err = KGB_ERR_INIT;
	Elf64_Ehdr header;
	Elf64_Shdr section;

	(void)state;
	read_file("scale.cubin", &bytes);
	memcpy(&header, bytes.ptr, sizeof(header));
	for (size_t i = 4; i < header.e_shnum; i++) {
		char *at = bytes.ptr + header.e_shoff + i * sizeof(section);
		memcpy(&section, at, sizeof(section));
		if (section.sh_type != SHT_PROGBITS)
			continue;
		section.sh_offset = 0;
		section.sh_size = bytes.len;
		memcpy(at, &section, sizeof(section));
	}
	assert_fails(kgb_cubin_read(bytes.ptr, bytes.len, &arena, &cubin, &err), err,
		     "cubin: sections overlap");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_layouts_of_the_header_tell_the_gpu_and_the_kernel),
		cmocka_unit_test(test_memory_that_outlives_a_launch_is_seen),
		cmocka_unit_test(test_line_numbers_do_not_change_the_digests),
		cmocka_unit_test(test_another_instruction_changes_both_digests),
		cmocka_unit_test(
			test_another_initial_value_is_the_same_code_but_not_the_same_image),
		cmocka_unit_test(test_a_changed_byte_shows_where_it_matters),
		cmocka_unit_test(test_a_cut_file_is_refused_at_every_length),
		cmocka_unit_test(test_what_is_no_cubin_is_refused),
		cmocka_unit_test(test_sections_that_overlap_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
