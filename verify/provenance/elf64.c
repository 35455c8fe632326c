/* SPDX-License-Identifier: MIT */
#include "verify/provenance/elf64.h"

#include <string.h>

/* Whether [offset, offset + size) is within len bytes. */
static bool lies_within(uint64_t offset, uint64_t size, size_t len)
{
	return offset <= len && size <= len - offset;
}

/* The name at `offset` of a table, NULL when it does not end there or is too long. */
static const char *name_at(const void *table, size_t len, size_t offset)
{
	if (offset >= len)
		return NULL;
	const size_t room = len - offset < KGB_ELF_NAME_MAX ? len - offset : KGB_ELF_NAME_MAX;
	const char *name = (const char *)table + offset;
	return memchr(name, '\0', room) ? name : NULL;
}

bool kgb_elf_is(const void *bytes, size_t len)
{
	static const unsigned char begin[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB};

	return len >= sizeof(Elf64_Ehdr) && memcmp(bytes, begin, sizeof(begin)) == 0;
}

static int open_names(struct kgb_elf *elf, struct kgb_err *err)
{
	struct kgb_elf_section section = {.name = ""};

	if (elf->n_sections == 0)
		return 0;
	if (elf->header.e_shstrndx >= elf->n_sections)
		return kgb_fail(err, KGB_ERR_INVALID, "ELF: section names are in section %u of %zu",
				elf->header.e_shstrndx, elf->n_sections);
	if (kgb_elf_section(elf, elf->header.e_shstrndx, &section, err) < 0)
		return -1;
	if (!section.data)
		return kgb_fail(err, KGB_ERR_INVALID, "ELF: no section names");
	elf->names = section.data;
	elf->names_len = section.n_bytes;
	return 0;
}

int kgb_elf_open(const void *bytes, size_t len, struct kgb_elf *out, struct kgb_err *err)
{
	struct kgb_elf elf = {.bytes = bytes, .len = len};

	if (!kgb_elf_is(bytes, len))
		return kgb_fail(err, KGB_ERR_INVALID, "not a little-endian ELF64 file");
	memcpy(&elf.header, bytes, sizeof(elf.header));
	elf.n_sections = elf.header.e_shnum;
	if (elf.n_sections > 0 && elf.header.e_shentsize != sizeof(Elf64_Shdr))
		return kgb_fail(err, KGB_ERR_INVALID, "ELF: section headers of %u bytes",
				elf.header.e_shentsize);
	if (!lies_within(elf.header.e_shoff, elf.n_sections * sizeof(Elf64_Shdr), len))
		return kgb_fail(err, KGB_ERR_INVALID,
				"ELF: section table lies outside of the file");
	if (open_names(&elf, err) < 0)
		return -1;
	*out = elf;
	return 0;
}

int kgb_elf_section(const struct kgb_elf *elf, size_t index, struct kgb_elf_section *out,
		    struct kgb_err *err)
{
	struct kgb_elf_section section = {.name = ""};

	memcpy(&section.header, elf->bytes + elf->header.e_shoff + index * sizeof(Elf64_Shdr),
	       sizeof(section.header));
	/* The section of names is itself read before there are names. */
	if (elf->names) {
		section.name = name_at(elf->names, elf->names_len, section.header.sh_name);
		if (!section.name)
			return kgb_fail(err, KGB_ERR_INVALID, "ELF: section %zu has no name",
					index);
	}
	if (section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL) {
		if (!lies_within(section.header.sh_offset, section.header.sh_size, elf->len))
			return kgb_fail(err, KGB_ERR_INVALID,
					"ELF: section %zu lies outside of the file", index);
		section.data = elf->bytes + section.header.sh_offset;
		section.n_bytes = section.header.sh_size;
	}
	*out = section;
	return 0;
}

const char *kgb_elf_string(const struct kgb_elf_section *table, size_t offset)
{
	return name_at(table->data, table->n_bytes, offset);
}
