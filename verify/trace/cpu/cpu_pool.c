/* SPDX-License-Identifier: MIT */
#include "verify/trace/cpu/cpu_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verify/protocol/record.h"

#define POOL_END (KGB_POOL_ADDRESS + KGB_POOL_BYTES)

static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static uint64_t whole(uint64_t bytes, uint64_t page)
{
	return (bytes + page - 1) / page * page;
}

void kgb_cpu_pool_init(struct kgb_cpu_pool *pool)
{
	*pool = (struct kgb_cpu_pool){.next = KGB_POOL_ADDRESS, .poison = -1};
}

static void unmap(struct kgb_cpu_pool *pool, struct kgb_cpu_piece *piece)
{
	KGB_ASSERT(munmap(pointer(piece->address), piece->mapped_bytes) == 0);
	if (piece->state == KGB_CPU_PIECE_SPARE)
		pool->spare_bytes -= piece->mapped_bytes;
	piece->state = KGB_CPU_PIECE_VACANT;
}

void kgb_cpu_pool_release(struct kgb_cpu_pool *pool)
{
	KGB_VEC_FOREACH(piece, &pool->pieces)
		if (piece->state != KGB_CPU_PIECE_VACANT)
			unmap(pool, piece);
	KGB_VEC_RELEASE(&pool->pieces);
	kgb_address_table_release(&pool->live);
	kgb_cpu_pool_init(pool);
}

static void trim(struct kgb_cpu_pool *pool)
{
	KGB_VEC_FOREACH(piece, &pool->pieces)
		if (piece->state == KGB_CPU_PIECE_SPARE)
			unmap(pool, piece);
}

static struct kgb_cpu_piece *find(struct kgb_cpu_pool *pool, int state, uint64_t mapped_bytes)
{
	KGB_VEC_FOREACH(piece, &pool->pieces)
		if ((int)piece->state == state && piece->mapped_bytes == mapped_bytes &&
		    !(state == KGB_CPU_PIECE_SPARE && pool->keeps_apart &&
		      piece->freed_in == pool->call))
			return piece;
	return NULL;
}

static int map(const struct kgb_cpu_piece *piece)
{
	void *got = mmap(pointer(piece->address), piece->mapped_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return got == MAP_FAILED ? -1 : 0;
}

/* Addresses that were never used; when there are none, addresses that are not in use. */
static struct kgb_cpu_piece *new_piece(struct kgb_cpu_pool *pool, uint64_t mapped_bytes)
{
	const uint64_t room = whole(mapped_bytes, KGB_GPU_PAGE) + KGB_GPU_PAGE;

	if (room > POOL_END - pool->next)
		return find(pool, KGB_CPU_PIECE_VACANT, mapped_bytes);
	KGB_VEC_ADD(&pool->pieces, (struct kgb_cpu_piece){
					   .address = pool->next,
					   .mapped_bytes = mapped_bytes,
					   .state = KGB_CPU_PIECE_VACANT,
				   });
	pool->next += room;
	return &pool->pieces.items[pool->pieces.n - 1];
}

static struct kgb_cpu_piece *make(struct kgb_cpu_pool *pool, uint64_t mapped_bytes,
				  struct kgb_err *err)
{
	struct kgb_cpu_piece *piece = new_piece(pool, mapped_bytes);

	if (!piece) {
		kgb_fail(err, KGB_ERR_LIMIT, "pool: no addresses left");
		return NULL;
	}
	if (map(piece) == 0)
		return piece;
	if (errno == ENOMEM && pool->spare_bytes > 0) {
		trim(pool);
		if (map(piece) == 0)
			return piece;
	}
	kgb_fail_errno(err, errno, "pool: memory");
	err->kind = KGB_ERR_LIMIT;
	return NULL;
}

int kgb_cpu_pool_take(struct kgb_cpu_pool *pool, uint64_t bytes, uint64_t *address,
		      struct kgb_err *err)
{
	struct kgb_cpu_piece *piece;

	if (bytes == 0 || bytes > KGB_POOL_BYTES / 2)
		return kgb_fail(err, KGB_ERR_LIMIT, "pool: a block of %llu bytes",
				(unsigned long long)bytes);
	const uint64_t mapped_bytes = whole(bytes, (uint64_t)sysconf(_SC_PAGESIZE));
	piece = find(pool, KGB_CPU_PIECE_SPARE, mapped_bytes);
	if (piece)
		pool->spare_bytes -= mapped_bytes;
	else
		piece = make(pool, mapped_bytes, err);
	if (!piece)
		return kgb_ctx(err, "%llu bytes", (unsigned long long)bytes);
	piece->state = KGB_CPU_PIECE_LIVE;
	if (pool->poison >= 0)
		memset(pointer(piece->address), pool->poison, mapped_bytes);
	kgb_address_table_put(&pool->live, piece->address, bytes);
	*address = piece->address;
	return 0;
}

static int compare_addresses(const void *address, const void *piece)
{
	const uint64_t a = *(const uint64_t *)address,
		       b = ((const struct kgb_cpu_piece *)piece)->address;

	return a < b ? -1 : a > b;
}

int kgb_cpu_pool_give(struct kgb_cpu_pool *pool, uint64_t address, struct kgb_err *err)
{
	struct kgb_cpu_piece *piece = NULL;

	if (pool->pieces.n)
		piece = bsearch(&address, pool->pieces.items, pool->pieces.n, sizeof(*piece),
				compare_addresses);
	if (!piece || piece->state != KGB_CPU_PIECE_LIVE)
		return kgb_fail(err, KGB_ERR_INVALID, "pool: no block at 0x%llx",
				(unsigned long long)address);
	(void)kgb_address_table_drop(&pool->live, address);
	piece->state = KGB_CPU_PIECE_SPARE;
	piece->freed_in = pool->call;
	pool->spare_bytes += piece->mapped_bytes;
	if (pool->spare_bytes > KGB_CPU_POOL_SPARE_BYTES)
		trim(pool);
	return 0;
}
