/* SPDX-License-Identifier: MIT */
/** \file
 * Fatbins and shared libraries with fatbins, made for tests.
 */
#ifndef KGB_TESTS_UNIT_VERIFY_LIBRARY_MAKER_H
#define KGB_TESTS_UNIT_VERIFY_LIBRARY_MAKER_H

#include <elf.h>
#include <string.h>

#include "base/buf.h"

enum { MAKER_LZ4 = 0x2000, MAKER_ZSTD = 0x8000 };

struct made_entry {
	uint16_t kind;
	uint32_t sm;
	uint64_t flags;
	const char *data; /* n_bytes of it, padded to 8 in the file */
	uint32_t n_bytes;
};

static inline void make_fatbin(struct kgb_buf *out, const struct made_entry *entries, size_t n)
{
	const uint32_t magic = 0xba55ed50;
	const uint16_t version = 1, header_bytes = 16;
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += 64 + ((entries[i].n_bytes + 7u) & ~7u);
	kgb_buf_add(out, &magic, 4);
	kgb_buf_add(out, &version, 2);
	kgb_buf_add(out, &header_bytes, 2);
	kgb_buf_add(out, &bytes, 8);
	for (size_t i = 0; i < n; i++) {
		unsigned char header[64] = {0};
		const uint32_t padded = (entries[i].n_bytes + 7u) & ~7u;
		const uint32_t entry_bytes = sizeof(header);
		const bool compressed = (entries[i].flags & (MAKER_LZ4 | MAKER_ZSTD)) != 0;
		memcpy(header, &entries[i].kind, 2);
		memcpy(header + 4, &entry_bytes, 4);
		memcpy(header + 8, &padded, 4);
		if (compressed)
			memcpy(header + 16, &entries[i].n_bytes, 4);
		memcpy(header + 28, &entries[i].sm, 4);
		memcpy(header + 40, &entries[i].flags, 8);
		kgb_buf_add(out, header, sizeof(header));
		kgb_buf_add(out, entries[i].data, entries[i].n_bytes);
		kgb_buf_add(out, "\0\0\0\0\0\0\0", padded - entries[i].n_bytes);
	}
}

/* An ELF file whose section `name` holds these bytes. */
static inline void make_library(struct kgb_buf *out, const char *name, const struct kgb_buf *bytes)
{
	char names[64] = {0};
	const size_t names_at = sizeof(Elf64_Ehdr);
	const size_t data_at = names_at + sizeof(names);
	const size_t table_at = data_at + ((bytes->len + 7) & ~(size_t)7);
	const Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = table_at,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 1,
	};
	const Elf64_Shdr sections[3] = {
		{.sh_type = SHT_NULL},
		{.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(names)},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_offset = data_at,
		 .sh_size = bytes->len},
	};

	memcpy(names + 1, name, strlen(name)); /* of a short name */
	kgb_buf_add(out, &header, sizeof(header));
	kgb_buf_add(out, names, sizeof(names));
	kgb_buf_add(out, bytes->ptr, bytes->len);
	kgb_buf_add(out, "\0\0\0\0\0\0\0", table_at - data_at - bytes->len);
	kgb_buf_add(out, sections, sizeof(sections));
}

#endif
