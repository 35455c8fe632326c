/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include "tests/unit/base/support.h"

/* FIPS 180-2 appendix B. */
static void test_sha256_of_the_standard(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		char out[KGB_SHA256_HEX_LEN];
		kgb_sha256_hex(cases[i].text, strlen(cases[i].text), out);
		assert_string_equal(out, cases[i].expected);
	}
}

/* Made with another implementation. */
static void test_trees_of_sha256(void **state)
{
	const size_t len = (5 << 19) + 3;
	char *large = kgb_xmalloc(len);
	char out[KGB_SHA256_HEX_LEN];

	(void)state;
	for (size_t i = 0; i < len; i++)
		large[i] = (char)(i % 251);
	kgb_sha256_tree_hex(large, len, out);
	assert_string_equal(out,
			    "3e8192b86d02c8b156665e5f492797bfd31445b32d2a67c39cd6712e076a7c6b");
	kgb_sha256_tree_hex("abc", 3, out);
	assert_string_equal(out,
			    "4f8b42c22dd3729b519ba6f68d2da7cc5b2d606d05daed5ad5128cc03e6c6358");
	kgb_sha256_tree_hex("", 0, out);
	assert_string_equal(out,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	kgb_free(large);
}

/* The check value of the catalogue, and RFC 3720 B.4. */
static void test_crc32c_of_the_standard(void **state)
{
	unsigned char bytes[32];

	(void)state;
	assert_int_equal(kgb_crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(kgb_crc32c("", 0), 0);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(kgb_crc32c(bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(kgb_crc32c(bytes, sizeof(bytes)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	assert_int_equal(kgb_crc32c(bytes, sizeof(bytes)), 0x46dd794e);
}

static void test_hex(void **state)
{
	char out[9];

	(void)state;
	kgb_hex("\x00\x7f\x80\xff", 4, out);
	assert_string_equal(out, "007f80ff");
	kgb_hex("", 0, out);
	assert_string_equal(out, "");
}

static void test_random_bytes_differ(void **state)
{
	unsigned char a[64] = {0}, b[64] = {0}, zero[64] = {0};

	(void)state;
	kgb_random(a, sizeof(a));
	kgb_random(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	/* All of the buffer is filled: 16 zero bytes at the end are a 2^-128 event. */
	assert_memory_not_equal(a + 48, zero, 16);
	unsigned char *large = kgb_xcalloc(1, 100000);
	kgb_random(large, 100000);
	assert_memory_not_equal(large + 100000 - 16, zero, 16);
	kgb_free(large);
}

static void test_pieces_have_the_hash_of_the_whole(void **state)
{
	(void)state;
	static const char text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char whole[KGB_SHA256_HEX_LEN], pieces[KGB_SHA256_HEX_LEN];
	kgb_sha256_hex(text, sizeof(text) - 1, whole);
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct kgb_sha256 *sha256 = kgb_sha256_begin();
		for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
			size_t left = sizeof(text) - 1 - at;
			kgb_sha256_add(sha256, text + at, left < piece ? left : piece);
		}
		kgb_sha256_end(sha256, pieces);
		assert_string_equal(pieces, whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_have_the_hash_of_the_whole),
		cmocka_unit_test(test_sha256_of_the_standard),
		cmocka_unit_test(test_trees_of_sha256),
		cmocka_unit_test(test_crc32c_of_the_standard),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_random_bytes_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
