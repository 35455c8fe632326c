/* SPDX-License-Identifier: MIT */
#include "verify/provenance/cubin.h"

#include "base/system/fs.h"
#include "tests/unit/base/support.h"
#include "verify/provenance/elf64.h"

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

static void test_the_kernel_of_a_cubin_is_found_for_two_versions_of_cuda(void **state)
{
	static const char *const names[] = {"scale.cubin", "scale_cuda12.cubin"};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		read_cubin(names[i], &arena, &cubin);
		assert_int_equal(cubin.kernels.n, 1);
		assert_string_equal(cubin.kernels.items[0], "scale");
		assert_true(kgb_cubin_names_has(&cubin.kernels, "scale"));
		assert_false(kgb_cubin_names_has(&cubin.kernels, "scal"));
		assert_int_equal(cubin.variables.n, 0);
		assert_int_equal(cubin.imports.n, 0);
		assert_int_equal(cubin.zeroed_bytes, 0);
	}
}

static void test_memory_that_outlives_a_launch_is_seen(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;

	(void)state;
	read_cubin("state.cubin", &arena, &cubin);
	assert_int_equal(cubin.zeroed_bytes, 4);
	assert_int_equal(cubin.variables.n, 1);
	assert_contains(cubin.variables.items[0], "kept");
	read_cubin("init.cubin", &arena, &cubin);
	assert_int_equal(cubin.zeroed_bytes, 0);
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

/* ---- single fields of a file ---- */

static Elf64_Shdr get_section(const struct kgb_buf *bytes, const char *name, size_t *at)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_elf elf;
	struct kgb_elf_section section;

	assert_ok(kgb_elf_open(bytes->ptr, bytes->len, &elf, &err), err);
	for (size_t i = 0; i < elf.n_sections; i++) {
		assert_ok(kgb_elf_section(&elf, i, &section, &err), err);
		*at = elf.header.e_shoff + i * sizeof(Elf64_Shdr);
		if (strcmp(section.name, name) == 0)
			return section.header;
	}
	fail_msg("no section '%s'", name);
	return (Elf64_Shdr){0};
}

static void put_section(struct kgb_buf *bytes, size_t at, const Elf64_Shdr *header)
{
	memcpy(bytes->ptr + at, header, sizeof(*header));
}

/* Changes one thing of the file. */
typedef void (*change_fn)(struct kgb_buf *bytes);

static void test_only_entries_are_kernels(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;
	struct kgb_err err = KGB_ERR_INIT;
	size_t at;

	(void)state;
	read_file("scale.cubin", &bytes);
	const Elf64_Shdr symbols = get_section(&bytes, ".symtab", &at);
	/* What was the kernel is a device function now. */
	for (size_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		char *place = bytes.ptr + symbols.sh_offset + i * sizeof(symbol);
		memcpy(&symbol, place, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
			symbol.st_other &= (unsigned char)~0x10u;
		memcpy(place, &symbol, sizeof(symbol));
	}
	assert_ok(kgb_cubin_read(bytes.ptr, bytes.len, &arena, &cubin, &err), err);
	assert_int_equal(cubin.kernels.n, 0);
}

static void add_symbol_table(struct kgb_buf *bytes)
{
	size_t at, ignored;
	Elf64_Shdr header = get_section(bytes, ".nv.callgraph", &at);
	const Elf64_Shdr symbols = get_section(bytes, ".symtab", &ignored);

	header.sh_type = SHT_SYMTAB;
	header.sh_entsize = sizeof(Elf64_Sym);
	header.sh_size = sizeof(Elf64_Sym);
	header.sh_link = symbols.sh_link;
	put_section(bytes, at, &header);
}

static void reach_past_the_end(struct kgb_buf *bytes)
{
	size_t at;
	Elf64_Shdr header = get_section(bytes, ".text.scale", &at);

	header.sh_size = bytes->len - header.sh_offset + 1;
	put_section(bytes, at, &header);
}

static void name_without_end(struct kgb_buf *bytes)
{
	size_t at, of_names;
	Elf64_Shdr header = get_section(bytes, ".text.scale", &at);
	const Elf64_Shdr names = get_section(bytes, ".shstrtab", &of_names);

	header.sh_name = (Elf64_Word)names.sh_size - 1;
	bytes->ptr[names.sh_offset + names.sh_size - 1] = 'x';
	put_section(bytes, at, &header);
}

static void symbols_of_odd_size(struct kgb_buf *bytes)
{
	size_t at;
	Elf64_Shdr header = get_section(bytes, ".symtab", &at);

	header.sh_entsize = 8;
	put_section(bytes, at, &header);
}

static void test_files_that_lie_about_themselves_are_refused(void **state)
{
	static const struct {
		change_fn change;
		const char *message;
	} cases[] = {
		{add_symbol_table, "two symbol tables"},
		{reach_past_the_end, "lies outside of the file"},
		{name_without_end, "has no name"},
		{symbols_of_odd_size, "symbol table of odd size"},
	};
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
		struct kgb_cubin cubin;
		struct kgb_err err = KGB_ERR_INIT;
		read_file("state.cubin", &bytes);
		cases[i].change(&bytes);
		assert_int_equal(kgb_cubin_read(bytes.ptr, bytes.len, &arena, &cubin, &err), -1);
		assert_contains(err.msg, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_kernel_of_a_cubin_is_found_for_two_versions_of_cuda),
		cmocka_unit_test(test_memory_that_outlives_a_launch_is_seen),
		cmocka_unit_test(test_a_cut_file_is_refused_at_every_length),
		cmocka_unit_test(test_what_is_no_cubin_is_refused),
		cmocka_unit_test(test_sections_that_overlap_are_refused),
		cmocka_unit_test(test_only_entries_are_kernels),
		cmocka_unit_test(test_files_that_lie_about_themselves_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
