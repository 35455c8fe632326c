/* SPDX-License-Identifier: MIT */
#include "verify/provenance/cubin.h"

#include <stdlib.h>

#include "base/str.h"
#include "verify/provenance/elf64.h"

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

enum {
	STO_CUDA_ENTRY = 0x10, /* st_other of a kernel */
};

struct reader {
	struct kgb_elf elf;
	struct kgb_elf_section *sections; /* owned */
	const struct kgb_elf_section *symbols; /* NULL: none */
	const struct kgb_elf_section *symbol_names;
	size_t n_symbols;
	struct kgb_arena *arena;
};

/* Memory that the module owns and that kernels can write; shared and local memory belong to a
 * launch. */
static bool is_state(const struct kgb_elf_section *section)
{
	const uint64_t flags = SHF_WRITE | SHF_ALLOC;

	return (section->header.sh_flags & flags) == flags &&
	       !kgb_str_starts(section->name, ".nv.shared") &&
	       !kgb_str_starts(section->name, ".nv.local");
}

static int read_sections(struct reader *reader, struct kgb_err *err)
{
	size_t total = 0;

	reader->sections = kgb_xcalloc(reader->elf.n_sections + 1, sizeof(*reader->sections));
	for (size_t i = 0; i < reader->elf.n_sections; i++) {
		struct kgb_elf_section *section = &reader->sections[i];
		if (kgb_elf_section(&reader->elf, i, section, err) < 0)
			return -1;
		/* Overlapping sections would multiply the work. */
		total += section->n_bytes;
		if (total > reader->elf.len)
			return kgb_fail(err, KGB_ERR_INVALID, "cubin: sections overlap");
	}
	return 0;
}

static int find_symbols(struct reader *reader, struct kgb_err *err)
{
	for (size_t i = 0; i < reader->elf.n_sections; i++) {
		const struct kgb_elf_section *section = &reader->sections[i];
		if (section->header.sh_type != SHT_SYMTAB)
			continue;
		if (reader->symbols)
			return kgb_fail(err, KGB_ERR_INVALID, "cubin: two symbol tables");
		if (section->header.sh_entsize != sizeof(Elf64_Sym) ||
		    section->n_bytes % sizeof(Elf64_Sym) != 0)
			return kgb_fail(err, KGB_ERR_INVALID, "cubin: symbol table of odd size");
		if (section->header.sh_link >= reader->elf.n_sections ||
		    reader->sections[section->header.sh_link].header.sh_type != SHT_STRTAB)
			return kgb_fail(err, KGB_ERR_INVALID, "cubin: symbols without names");
		reader->symbols = section;
		reader->symbol_names = &reader->sections[section->header.sh_link];
		reader->n_symbols = section->n_bytes / sizeof(Elf64_Sym);
	}
	return 0;
}

static int read_symbol(const struct reader *reader, size_t index, Elf64_Sym *out, const char **name,
		       struct kgb_err *err)
{
	if (index >= reader->n_symbols)
		return kgb_fail(err, KGB_ERR_INVALID, "cubin: symbol %zu of %zu", index,
				reader->n_symbols);
	memcpy(out, reader->symbols->data + index * sizeof(*out), sizeof(*out));
	*name = kgb_elf_string(reader->symbol_names, out->st_name);
	if (!*name)
		return kgb_fail(err, KGB_ERR_INVALID, "cubin: symbol %zu has no name", index);
	return 0;
}

/* The section that a symbol lies in, NULL for an undefined, absolute or common one. */
static const struct kgb_elf_section *home(const struct reader *reader, const Elf64_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= reader->elf.n_sections)
		return NULL;
	return &reader->sections[symbol->st_shndx];
}

/* ---- names ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_name(struct kgb_cubin_names *names, struct kgb_arena *arena, const char *name,
		    struct kgb_err *err)
{
	if (!names->items)
		names->items = kgb_arena_array(arena, KGB_CUBIN_NAMES_MAX, sizeof(*names->items));
	if (names->n == KGB_CUBIN_NAMES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "cubin: more than %d kernels or variables",
				KGB_CUBIN_NAMES_MAX);
	names->items[names->n++] = kgb_arena_strdup(arena, name);
	return 0;
}

bool kgb_cubin_names_has(const struct kgb_cubin_names *names, const char *name)
{
	return names->n > 0 &&
	       bsearch(&name, names->items, names->n, sizeof(*names->items), by_text) != NULL;
}

/* Undefined symbols that ptxas itself makes are not imports: they have no name, or a reserved one.
 */
static bool is_import(const Elf64_Sym *symbol, const char *name)
{
	return symbol->st_shndx == SHN_UNDEF && name[0] != '\0' &&
	       !kgb_str_starts(name, ".nv.reservedSmem");
}

static int sort_symbol(const struct reader *reader, size_t index, struct kgb_cubin *out,
		       struct kgb_err *err)
{
	Elf64_Sym symbol;
	const char *name;

	if (read_symbol(reader, index, &symbol, &name, err) < 0)
		return -1;
	const unsigned type = ELF64_ST_TYPE(symbol.st_info);
	const struct kgb_elf_section *section = home(reader, &symbol);
	if (type == STT_FUNC && section && symbol.st_other & STO_CUDA_ENTRY)
		return add_name(&out->kernels, reader->arena, name, err);
	if (type != STT_SECTION && section && is_state(section))
		return add_name(&out->variables, reader->arena, name, err);
	if (is_import(&symbol, name))
		return add_name(&out->imports, reader->arena, name, err);
	return 0;
}

static int read_names(const struct reader *reader, struct kgb_cubin *out, struct kgb_err *err)
{
	struct kgb_cubin_names *const lists[] = {&out->kernels, &out->variables, &out->imports};

	for (size_t i = 0; i < reader->n_symbols; i++)
		if (sort_symbol(reader, i, out, err) < 0)
			return -1;
	for (size_t i = 0; i < KGB_ARRAY_LEN(lists); i++)
		if (lists[i]->n > 1)
			qsort(lists[i]->items, lists[i]->n, sizeof(*lists[i]->items), by_text);
	return 0;
}

static void measure_state(const struct reader *reader, struct kgb_cubin *out)
{
	for (size_t i = 0; i < reader->elf.n_sections; i++) {
		const struct kgb_elf_section *section = &reader->sections[i];
		/* A section without bytes in the file may claim any size: keep the sum in range. */
		if (is_state(section) && !section->data &&
		    __builtin_add_overflow(out->zeroed_bytes, section->header.sh_size,
					   &out->zeroed_bytes))
			out->zeroed_bytes = UINT64_MAX;
	}
}

static int read_cubin(struct reader *reader, struct kgb_cubin *out, struct kgb_err *err)
{
	if (read_sections(reader, err) < 0 || find_symbols(reader, err) < 0 ||
	    read_names(reader, out, err) < 0)
		return -1;
	measure_state(reader, out);
	return 0;
}

int kgb_cubin_read(const void *bytes, size_t len, struct kgb_arena *arena, struct kgb_cubin *out,
		   struct kgb_err *err)
{
	struct reader reader = {.arena = arena};
	struct kgb_cubin cubin = {0};

	if (len > KGB_CUBIN_BYTES_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "cubin: %zu bytes, more than %u", len,
				KGB_CUBIN_BYTES_MAX);
	if (kgb_elf_open(bytes, len, &reader.elf, err) < 0)
		return kgb_ctx(err, "cubin");
	if (reader.elf.header.e_machine != EM_CUDA)
		return kgb_fail(err, KGB_ERR_INVALID, "cubin: ELF for machine %u, not for a GPU",
				reader.elf.header.e_machine);
	int result = read_cubin(&reader, &cubin, err);
	kgb_free(reader.sections);
	if (result == 0)
		*out = cubin;
	return result;
}
