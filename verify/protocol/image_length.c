/* SPDX-License-Identifier: MIT */
#include "verify/protocol/image_length.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

/* Of the fatbin format only the front of its header matters here. */
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

static int measure_segments(const unsigned char *elf, const Elf64_Ehdr *head, size_t limit,
			    uint64_t *end, struct kgb_err *err)
{
	if (head->e_phnum == 0)
		return 0;
	if (head->e_phentsize != sizeof(Elf64_Phdr))
		return kgb_fail(err, KGB_ERR_INVALID, "ELF with program headers of %u bytes",
				(unsigned)head->e_phentsize);
	if (reach(head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr), limit, end, err))
		return -1;
	for (unsigned i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, elf + head->e_phoff + i * sizeof(segment), sizeof(segment));
		if (reach(segment.p_offset, segment.p_filesz, limit, end, err))
			return -1;
	}
	return 0;
}

static int measure_sections(const unsigned char *elf, const Elf64_Ehdr *head, size_t limit,
			    uint64_t *end, struct kgb_err *err)
{
	if (head->e_shnum == 0)
		return 0;
	if (head->e_shentsize != sizeof(Elf64_Shdr))
		return kgb_fail(err, KGB_ERR_INVALID, "ELF with section headers of %u bytes",
				(unsigned)head->e_shentsize);
	if (reach(head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr), limit, end, err))
		return -1;
	for (unsigned i = 0; i < head->e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, elf + head->e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL)
			continue;
		if (reach(section.sh_offset, section.sh_size, limit, end, err))
			return -1;
	}
	return 0;
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
	if (measure_segments(elf, &head, limit, &end, err) ||
	    measure_sections(elf, &head, limit, &end, err))
		return -1;
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
