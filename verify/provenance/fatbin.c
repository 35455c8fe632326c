/* SPDX-License-Identifier: MIT */
#include "verify/provenance/fatbin.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "verify/provenance/elf64.h"

#define CONTAINER_MAGIC 0xba55ed50u
#define FLAG_LZ4 UINT64_C(0x2000)
#define FLAG_ZSTD UINT64_C(0x8000)

struct container_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t bytes; /* that follow the header */
};

struct entry_header {
	uint16_t kind;
	uint16_t version;
	uint32_t header_bytes;
	uint64_t bytes; /* that follow the header, padding included */
	uint32_t compressed_bytes; /* without padding; 0: not compressed */
	uint32_t options_offset;
	uint16_t minor, major;
	uint32_t sm;
	uint32_t name_offset, name_bytes;
	uint64_t flags;
};
_Static_assert(sizeof(struct container_header) == 16 && sizeof(struct entry_header) == 48,
	       "no padding in the file's structs");

static bool read_container(const void *bytes, size_t len, struct container_header *out)
{
	if (len < sizeof(*out))
		return false;
	memcpy(out, bytes, sizeof(*out));
	return out->magic == CONTAINER_MAGIC && out->header_bytes >= sizeof(*out) &&
	       out->header_bytes <= len && out->bytes <= len - out->header_bytes;
}

size_t kgb_fatbin_size(const void *bytes, size_t len)
{
	struct container_header header;

	if (!read_container(bytes, len, &header))
		return 0;
	return header.header_bytes + header.bytes;
}

bool kgb_fatbin_next(const void *bytes, size_t len, size_t *at, struct kgb_fatbin_entry *out,
		     bool *broken)
{
	struct container_header container;
	struct entry_header entry;

	*broken = false;
	if (!read_container(bytes, len, &container)) {
		*broken = true;
		return false;
	}
	const size_t end = container.header_bytes + container.bytes;
	const size_t from = *at ? *at : container.header_bytes;
	if (from == end)
		return false;
	*broken = true;
	if (from > end || end - from < sizeof(entry))
		return false;
	memcpy(&entry, (const unsigned char *)bytes + from, sizeof(entry));
	if (entry.header_bytes < sizeof(entry) || entry.header_bytes > end - from ||
	    entry.bytes > end - from - entry.header_bytes || entry.compressed_bytes > entry.bytes)
		return false;
	*broken = false;
	const bool compressed = (entry.flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
	*out = (struct kgb_fatbin_entry){
		.kind = entry.kind,
		.sm = entry.sm,
		.compressed = compressed,
		.data = (const unsigned char *)bytes + from + entry.header_bytes,
		.n_bytes = compressed && entry.compressed_bytes > 0 ? entry.compressed_bytes
								    : entry.bytes,
	};
	*at = from + entry.header_bytes + entry.bytes;
	return true;
}

/* Containers follow each other, with zeros between. */
static int each_in_section(const struct kgb_elf_section *section, kgb_fatbin_fn each, void *payload,
			   struct kgb_err *err)
{
	size_t at = 0;

	while (section->n_bytes - at >= sizeof(struct container_header)) {
		static const unsigned char zeros[8];
		const unsigned char *bytes = section->data + at;
		size_t size = kgb_fatbin_size(bytes, section->n_bytes - at);
		if (size == 0 && memcmp(bytes, zeros, sizeof(zeros)) == 0) {
			at += sizeof(zeros);
			continue;
		}
		if (size == 0)
			return kgb_fail(err, KGB_ERR_INVALID, "no fatbin at byte %zu of section %s",
					at, section->name);
		if (each(bytes, size, payload, err) < 0)
			return -1;
		at += size;
	}
	return 0;
}

int kgb_fatbin_each(const void *library, size_t len, kgb_fatbin_fn each, void *payload,
		    struct kgb_err *err)
{
	struct kgb_elf elf;
	size_t total = 0;

	if (kgb_elf_open(library, len, &elf, err) < 0)
		return -1;
	for (size_t i = 0; i < elf.n_sections; i++) {
		struct kgb_elf_section section;
		if (kgb_elf_section(&elf, i, &section, err) < 0)
			return -1;
		if (!section.data || (!kgb_str_eq(section.name, ".nv_fatbin") &&
				      !kgb_str_eq(section.name, "__nv_relfatbin")))
			continue;
		/* Overlapping sections would multiply the work. */
		total += section.n_bytes;
		if (total > len)
			return kgb_fail(err, KGB_ERR_INVALID, "sections overlap");
		if (each_in_section(&section, each, payload, err) < 0)
			return -1;
	}
	return 0;
}
