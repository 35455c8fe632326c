/* SPDX-License-Identifier: MIT */
/** \file
 * SHA-256 for evidence, CRC-32C for torn writes, the kernel's random source, and reproducible
 * random numbers. */
#ifndef KGB_BASE_HASH_H
#define KGB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define KGB_SHA256_BYTES 32
void kgb_sha256(const void *data, size_t len, unsigned char out[KGB_SHA256_BYTES]);
#define KGB_SHA256_HEX_LEN 65
void kgb_sha256_hex(const void *data, size_t len, char out[KGB_SHA256_HEX_LEN]);
/** The same of bytes that come piece by piece: begin, add, then end, which frees it. */
struct kgb_sha256;
struct kgb_sha256 *kgb_sha256_begin(void);
void kgb_sha256_add(struct kgb_sha256 *sha256, const void *data, size_t len);
void kgb_sha256_end(struct kgb_sha256 *sha256, char out[KGB_SHA256_HEX_LEN]);
/** SHA-256 of the SHA-256 of each MiB in turn: as hard to forge, and made by several threads. The
 * result differs from that of kgb_sha256_hex. */
void kgb_sha256_tree_hex(const void *data, size_t len, char out[KGB_SHA256_HEX_LEN]);
/** CRC-32C (Castagnoli, reflected, init and xorout 0xffffffff): "123456789" -> 0xe3069283. */
uint32_t kgb_crc32c(const void *data, size_t len);
/** The bits of a word, mixed: the output of SplitMix64 for a state (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", 2014). Not for secrets. */
static inline uint64_t kgb_mix64(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}
/** The next word of SplitMix64. */
static inline uint64_t kgb_splitmix64(uint64_t *state)
{
	return kgb_mix64(*state += UINT64_C(0x9e3779b97f4a7c15));
}
/** getrandom(2); aborts if the kernel refuses. */
void kgb_random(void *out, size_t len);
void kgb_hex(const void *data, size_t len, char *out); /* 2*len+1 bytes */

#endif
