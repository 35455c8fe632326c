/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/parallel.h"

#define TREE_PIECE ((int64_t)1 << 20)

void kgb_hex(const void *data, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * len] = '\0';
}

void kgb_sha256(const void *data, size_t len, unsigned char out[KGB_SHA256_BYTES])
{
	unsigned n = 0;
	int ok = EVP_Digest(data, len, out, &n, EVP_sha256(), NULL);

	KGB_ASSERT(ok == 1 && n == KGB_SHA256_BYTES);
}

void kgb_sha256_hex(const void *data, size_t len, char out[KGB_SHA256_HEX_LEN])
{
	unsigned char digest[KGB_SHA256_BYTES];

	kgb_sha256(data, len, digest);
	kgb_hex(digest, sizeof(digest), out);
}

struct kgb_sha256 {
	EVP_MD_CTX *ctx; /* owned */
};

struct kgb_sha256 *kgb_sha256_begin(void)
{
	struct kgb_sha256 *sha256 = kgb_xcalloc(1, sizeof(*sha256));
	sha256->ctx = EVP_MD_CTX_new();
	KGB_ASSERT(sha256->ctx && EVP_DigestInit_ex(sha256->ctx, EVP_sha256(), NULL) == 1);
	return sha256;
}

void kgb_sha256_add(struct kgb_sha256 *sha256, const void *data, size_t len)
{
	int ok = EVP_DigestUpdate(sha256->ctx, data, len);
	KGB_ASSERT(ok == 1);
}

void kgb_sha256_end(struct kgb_sha256 *sha256, char out[KGB_SHA256_HEX_LEN])
{
	unsigned char digest[KGB_SHA256_BYTES];
	unsigned n = 0;
	int ok = EVP_DigestFinal_ex(sha256->ctx, digest, &n);
	KGB_ASSERT(ok == 1 && n == KGB_SHA256_BYTES);
	kgb_hex(digest, sizeof(digest), out);
	EVP_MD_CTX_free(sha256->ctx);
	kgb_free(sha256);
}

struct tree {
	const char *data;
	unsigned char (*leaves)[KGB_SHA256_BYTES];
};

static void digest_piece(void *payload, int64_t begin, int64_t end)
{
	const struct tree *tree = payload;

	kgb_sha256(tree->data + begin, (size_t)(end - begin), tree->leaves[begin / TREE_PIECE]);
}

void kgb_sha256_tree_hex(const void *data, size_t len, char out[KGB_SHA256_HEX_LEN])
{
	size_t n_leaves = (len + TREE_PIECE - 1) / TREE_PIECE;
	struct tree tree = {data, kgb_xcalloc(n_leaves + 1, KGB_SHA256_BYTES)};

	kgb_parallel_for((int64_t)len, TREE_PIECE, digest_piece, &tree);
	kgb_sha256_hex(tree.leaves, n_leaves * KGB_SHA256_BYTES, out);
	kgb_free(tree.leaves);
}

uint32_t kgb_crc32c(const void *data, size_t len)
{
	/* Four bits at a time: table[i] is the remainder of i for the reflected polynomial
	 * 0x82f63b78. */
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const unsigned char *p = data;
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc ^ 0xffffffff;
}

void kgb_random(void *out, size_t len)
{
	unsigned char *p = out;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		KGB_ASSERT(n > 0);
		p += n;
		len -= (size_t)n;
	}
}
