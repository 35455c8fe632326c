/* SPDX-License-Identifier: MIT */
/** \file
 * Sections of a little-endian ELF64 file in memory, for bytes that may be hostile: every offset and
 * length is checked before it is used, nothing is copied.
 */
#ifndef KGB_VERIFY_PROVENANCE_ELF64_H
#define KGB_VERIFY_PROVENANCE_ELF64_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** Longest name, in bytes: a hostile file could refer to one long name many times, and each
 * reference costs the length of the name. Mangled names of templates reach 1,500 bytes. */
#define KGB_ELF_NAME_MAX 4096

struct kgb_elf {
	const unsigned char *bytes; /* borrowed */
	size_t len;
	Elf64_Ehdr header;
	size_t n_sections;
	const void *names; /* of sections; NULL: none were read yet */
	size_t names_len;
};

struct kgb_elf_section {
	const char *name;
	Elf64_Shdr header;
	const unsigned char *data; /* NULL for sections without bytes in the file */
	size_t n_bytes; /* of data */
};

/** Whether the bytes begin as an ELF64 file. */
bool kgb_elf_is(const void *bytes, size_t len);
/** Check the header and the section names. `bytes` must outlive *out. INVALID when it is no
 * little-endian ELF64 file whose section table lies within the bytes. */
KGB_MUST_CHECK int kgb_elf_open(const void *bytes, size_t len, struct kgb_elf *out,
				struct kgb_err *err);
/** Section `index`, which must be below n_sections. INVALID when its name or bytes lie outside. */
KGB_MUST_CHECK int kgb_elf_section(const struct kgb_elf *elf, size_t index,
				   struct kgb_elf_section *out, struct kgb_err *err);
/** The name at `offset` of a string table, NULL when it does not end within the table or is too
 * long. */
const char *kgb_elf_string(const struct kgb_elf_section *table, size_t offset);

#endif
