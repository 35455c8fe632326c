/* SPDX-License-Identifier: MIT */
#include "verify/protocol/plan_check.h"

#include <elf.h>

#include "base/mem.h"

#define refuse(err, ...) kgb_fail((err), KGB_ERR_INVALID, __VA_ARGS__)

enum { PTX_THREADS_MAX = 1024 };

/* Launch attributes whose value is plain data. What holds a handle or a pointer to host memory
 * cannot come out of another process. Numbers of CUlaunchAttributeID. */
enum {
	ATTR_ACCESS_POLICY_WINDOW = 1,
	ATTR_COOPERATIVE = 2,
	ATTR_CLUSTER_DIMENSION = 4,
	ATTR_CLUSTER_SCHEDULING = 5,
	ATTR_PROGRAMMATIC_SERIALIZATION = 6,
	ATTR_PRIORITY = 8,
	ATTR_MEM_SYNC_DOMAIN_MAP = 9,
	ATTR_MEM_SYNC_DOMAIN = 10,
	ATTR_PREFERRED_CLUSTER_DIMENSION = 11,
	ATTR_CARVEOUT = 14,
};

static bool is_plain_attr(uint32_t id)
{
	static const uint32_t plain[] = {
		0, /* ignore */
		ATTR_ACCESS_POLICY_WINDOW,
		ATTR_COOPERATIVE,
		ATTR_CLUSTER_DIMENSION,
		ATTR_CLUSTER_SCHEDULING,
		ATTR_PROGRAMMATIC_SERIALIZATION,
		ATTR_PRIORITY,
		ATTR_MEM_SYNC_DOMAIN_MAP,
		ATTR_MEM_SYNC_DOMAIN,
		ATTR_PREFERRED_CLUSTER_DIMENSION,
		ATTR_CARVEOUT,
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(plain); i++)
		if (plain[i] == id)
			return true;
	return false;
}

static int check_launch(const struct kgb_launch *launch, struct kgb_err *err)
{
	uint64_t threads = 1;

	for (int i = 0; i < 3; i++) {
		if (launch->grid[i] == 0 || launch->block[i] == 0 ||
		    launch->block[i] > PTX_THREADS_MAX)
			return refuse(err, "grid %u,%u,%u block %u,%u,%u", launch->grid[0],
				      launch->grid[1], launch->grid[2], launch->block[0],
				      launch->block[1], launch->block[2]);
		threads *= launch->block[i];
	}
	if (threads > PTX_THREADS_MAX)
		return refuse(err, "%llu threads in a block", (unsigned long long)threads);
	if (launch->carveout < -1 || launch->carveout > 100)
		return refuse(err, "carveout of %d %%", launch->carveout);
	for (uint32_t i = 0; i < launch->n_attrs; i++)
		if (!is_plain_attr(launch->attrs[i].id))
			return refuse(err, "launch attribute %u cannot be repeated",
				      launch->attrs[i].id);
	return 0;
}

static int check_memset(const struct kgb_op *op, struct kgb_err *err)
{
	const uint32_t size = op->memset.element_bytes;
	uint64_t row;
	uint64_t all;

	if (size != 1 && size != 2 && size != 4)
		return refuse(err, "elements of %u bytes", size);
	if (op->memset.height == 0 || op->memset.width == 0)
		return refuse(err, "%llu x %llu elements", (unsigned long long)op->memset.height,
			      (unsigned long long)op->memset.width);
	if (op->memset.dst % size != 0)
		return refuse(err, "0x%llx is not a multiple of %u",
			      (unsigned long long)op->memset.dst, size);
	if (__builtin_mul_overflow(op->memset.width, size, &row))
		return refuse(err, "rows of %llu elements", (unsigned long long)op->memset.width);
	if (op->memset.height == 1)
		return 0;
	if (op->memset.pitch < row || op->memset.pitch % size != 0 ||
	    __builtin_mul_overflow(op->memset.pitch, op->memset.height, &all))
		return refuse(err, "pitch %llu for %llu rows of %llu bytes",
			      (unsigned long long)op->memset.pitch,
			      (unsigned long long)op->memset.height, (unsigned long long)row);
	return 0;
}

static int check_op(const struct kgb_op *op, struct kgb_err *err)
{
	switch (op->kind) {
	case KGB_OP_LAUNCH:
		return check_launch(&op->launch, err);
	case KGB_OP_MEMSET:
		return check_memset(op, err);
	case KGB_OP_DOWNLOAD:
		if (op->download.bytes > KGB_EXEC_DOWNLOAD_MAX)
			return refuse(err, "%llu bytes", (unsigned long long)op->download.bytes);
		return 0;
	case KGB_OP_UNSUPPORTED:
		return refuse(err, "%s", op->why);
	case KGB_OP_COPY:
	case KGB_OP_UPLOAD:
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
	case KGB_OP_SYNC:
		return 0;
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

static int check_block(const struct kgb_block *block, struct kgb_err *err)
{
	const uint64_t arena_end = KGB_ARENA_ADDRESS + KGB_ARENA_BYTES_MAX;
	const uint64_t pool_end = KGB_POOL_ADDRESS + KGB_POOL_BYTES;
	uint64_t end;

	if (block->bytes == 0 || __builtin_add_overflow(block->address, block->bytes, &end) ||
	    block->address < KGB_GPU_PAGE || end > KGB_GPU_ADDRESS_END)
		return refuse(err, "%llu bytes", (unsigned long long)block->bytes);
	if (block->address < arena_end && end > KGB_ARENA_ADDRESS)
		return refuse(err, "lies in the arena");
	if (block->address < pool_end && end > KGB_POOL_ADDRESS &&
	    (block->address < KGB_POOL_ADDRESS || end > pool_end))
		return refuse(err, "lies across the edge of the pool");
	return 0;
}

static bool fits(uint64_t offset, uint64_t bytes, size_t len)
{
	return offset <= len && bytes <= len - offset;
}

/* Sections and segments with bytes in the file lie in the file. */
static bool is_whole_elf(const unsigned char *bytes, size_t len)
{
	Elf64_Ehdr head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (head.e_shnum > 0 &&
	    (head.e_shentsize != sizeof(Elf64_Shdr) ||
	     !fits(head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr), len)))
		return false;
	if (head.e_phnum > 0 &&
	    (head.e_phentsize != sizeof(Elf64_Phdr) ||
	     !fits(head.e_phoff, (uint64_t)head.e_phnum * sizeof(Elf64_Phdr), len)))
		return false;
	for (size_t i = 0; i < head.e_shnum; i++) {
		Elf64_Shdr section;
		memcpy(&section, bytes + head.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type != SHT_NOBITS && !fits(section.sh_offset, section.sh_size, len))
			return false;
	}
	for (size_t i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr segment;
		memcpy(&segment, bytes + head.e_phoff + i * sizeof(segment), sizeof(segment));
		if (!fits(segment.p_offset, segment.p_filesz, len))
			return false;
	}
	return head.e_shnum > 0;
}

/* A header that tells how many bytes of entries follow. */
static bool is_whole_fatbin(const unsigned char *bytes, size_t len)
{
	struct {
		uint32_t magic;
		uint16_t version, header_bytes;
		uint64_t payload_bytes;
	} head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	return head.header_bytes >= sizeof(head) &&
	       fits(head.header_bytes, head.payload_bytes, len);
}

int kgb_exec_check_image(const struct kgb_image *image, struct kgb_err *err)
{
	static const unsigned char fatbin_magic[] = {0x50, 0xed, 0x55, 0xba};

	if (image->len >= SELFMAG && memcmp(image->bytes, ELFMAG, SELFMAG) == 0) {
		if (!is_whole_elf(image->bytes, image->len))
			return refuse(err, "image %u: a damaged cubin", image->id);
	} else if (image->len >= sizeof(fatbin_magic) &&
		   memcmp(image->bytes, fatbin_magic, sizeof(fatbin_magic)) == 0) {
		if (!is_whole_fatbin(image->bytes, image->len))
			return refuse(err, "image %u: a damaged fatbin", image->id);
	} else {
		return refuse(err, "image %u: neither cubin nor fatbin", image->id);
	}
	return 0;
}

int kgb_exec_check_plan(const struct kgb_record *record, struct kgb_err *err)
{
	const struct kgb_window *window = &record->windows[0];

	if (record->n_windows != 1)
		return refuse(err, "a plan of %zu windows", record->n_windows);
	for (size_t i = 0; i < record->n_images; i++)
		if (kgb_exec_check_image(&record->images[i], err) < 0)
			return -1;
	for (size_t i = 0; i < window->n_blocks; i++)
		if (check_block(&window->blocks[i], err) < 0)
			return kgb_ctx(err, "block at 0x%llx",
				       (unsigned long long)window->blocks[i].address);
	for (size_t i = 0; i < window->n_ops; i++)
		if (check_op(&window->ops[i], err) < 0)
			return kgb_ctx(err, "op %zu (%s)", i,
				       kgb_op_kind_name(window->ops[i].kind));
	return 0;
}

static int hold(const struct kgb_spans *memory, uint64_t address, uint64_t bytes,
		struct kgb_err *err)
{
	if (!kgb_spans_hold(memory, address, bytes))
		return refuse(err, "%llu bytes at 0x%llx are not memory of this plan",
			      (unsigned long long)bytes, (unsigned long long)address);
	return 0;
}

static int check_op_memory(const struct kgb_op *op, const struct kgb_spans *memory,
			   struct kgb_err *err)
{
	switch (op->kind) {
	case KGB_OP_MEMSET:
		return hold(memory, op->memset.dst,
			    (op->memset.height - 1) * op->memset.pitch * (op->memset.height > 1) +
				    op->memset.width * op->memset.element_bytes,
			    err);
	case KGB_OP_COPY:
		if (hold(memory, op->copy.src, op->copy.bytes, err) < 0)
			return -1;
		return hold(memory, op->copy.dst, op->copy.bytes, err);
	case KGB_OP_UPLOAD:
		return hold(memory, op->upload.dst, op->upload.bytes, err);
	case KGB_OP_DOWNLOAD:
		return hold(memory, op->download.src, op->download.bytes, err);
	case KGB_OP_LAUNCH:
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
	case KGB_OP_SYNC:
	case KGB_OP_UNSUPPORTED:
	case KGB_N_OP_KINDS:
		return 0;
	}
	KGB_UNREACHABLE();
}

int kgb_exec_check_memory(const struct kgb_window *window, const struct kgb_spans *memory,
			  struct kgb_err *err)
{
	for (size_t i = 0; i < window->n_ops; i++)
		if (check_op_memory(&window->ops[i], memory, err) < 0)
			return kgb_ctx(err, "op %zu (%s)", i,
				       kgb_op_kind_name(window->ops[i].kind));
	return 0;
}

void kgb_exec_blocks(const struct kgb_window *window, struct kgb_spans *out)
{
	kgb_spans_clear(out);
	for (size_t i = 0; i < window->n_blocks; i++)
		kgb_spans_put(out, window->blocks[i].address, window->blocks[i].bytes);
	kgb_spans_normalize(out);
}

bool kgb_exec_op_writes(const struct kgb_op *op)
{
	return op->kind == KGB_OP_LAUNCH || op->kind == KGB_OP_MEMSET || op->kind == KGB_OP_COPY ||
	       op->kind == KGB_OP_UPLOAD;
}
