/* SPDX-License-Identifier: MIT */
#include "verify/protocol/image_length.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

/* The front of a fatbin's header, which is enough to compute the length. */
struct fatbin_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t payload_bytes;
};

/* Grows *end to offset + bytes. */
static int reach(uint64_t offset, uint64_t bytes, size_t limit, uint64_t *end, struct kgb_err *err)
{
	uint64_t sum;

	if (__builtin_add_overflow(offset, bytes, &sum) || sum > limit)
		return kgb_fail(err, KGB_ERR_LIMIT, "image is longer than %zu bytes", limit);
	if (sum > *end)
		*end = sum;
	return 0;
}

/* Headers of segments or sections, one behind the other, of `entry_bytes` each. */
static int measure_headers(uint64_t at, unsigned n, unsigned entry_bytes, bool are_sections,
			   size_t limit, uint64_t *end, struct kgb_err *err)
{
	const size_t wanted = are_sections ? sizeof(Elf64_Shdr) : sizeof(Elf64_Phdr);

	if (n > 0 && entry_bytes != wanted)
		return kgb_fail(err, KGB_ERR_INVALID, "ELF with %s headers of %u bytes",
				are_sections ? "section" : "program", entry_bytes);
	return n > 0 ? reach(at, n * wanted, limit, end, err) : 0;
}

static int measure_elf(const unsigned char *elf, size_t limit, size_t *len, struct kgb_err *err)
{
	Elf64_Ehdr head;
	uint64_t end = sizeof(head);

	if (limit < sizeof(head))
		return kgb_fail(err, KGB_ERR_LIMIT, "image is longer than %zu bytes", limit);
	memcpy(&head, elf, sizeof(head));
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
		return kgb_fail(err, KGB_ERR_INVALID, "ELF image is not of 64 bits, little endian");
	if (measure_headers(head.e_phoff, head.e_phnum, head.e_phentsize, false, limit, &end, err) <
		    0 ||
	    measure_headers(head.e_shoff, head.e_shnum, head.e_shentsize, true, limit, &end, err) <
		    0)
		return -1;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr segment;
		memcpy(&segment, elf + head.e_phoff + i * sizeof(segment), sizeof(segment));
		if (reach(segment.p_offset, segment.p_filesz, limit, &end, err) < 0)
			return -1;
	}
	for (unsigned i = 0; i < head.e_shnum; i++) {
		Elf64_Shdr section;
		memcpy(&section, elf + head.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
		    reach(section.sh_offset, section.sh_size, limit, &end, err) < 0)
			return -1;
	}
	*len = (size_t)end;
	return 0;
}

static int measure_fatbin(const unsigned char *fatbin, size_t limit, size_t *len,
			  struct kgb_err *err)
{
	struct fatbin_header head;
	uint64_t end = 0;

	if (limit < sizeof(head))
		return kgb_fail(err, KGB_ERR_LIMIT, "image is longer than %zu bytes", limit);
	memcpy(&head, fatbin, sizeof(head));
	if (head.header_bytes < sizeof(head))
		return kgb_fail(err, KGB_ERR_INVALID, "fatbin with a header of %u bytes",
				(unsigned)head.header_bytes);
	if (reach(head.header_bytes, head.payload_bytes, limit, &end, err))
		return -1;
	*len = (size_t)end;
	return 0;
}

int kgb_image_length(const void *image, size_t limit, size_t *len, struct kgb_err *err)
{
	const uint32_t fatbin_magic = 0xba55ed50u;

	if (limit >= SELFMAG && memcmp(image, &fatbin_magic, sizeof(fatbin_magic)) == 0)
		return measure_fatbin(image, limit, len, err);
	if (limit >= SELFMAG && memcmp(image, ELFMAG, SELFMAG) == 0)
		return measure_elf(image, limit, len, err);
	return kgb_fail(err, KGB_ERR_INVALID, "image is neither ELF nor fatbin");
}
