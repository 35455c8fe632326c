/* SPDX-License-Identifier: MIT */
/* Compilations that outlive a verification: found for the same text, options and software only. */
#include "verify/provenance/proof_cache.h"

#include "base/system/fs.h"
#include "tests/unit/base/support.h"
#include "verify/provenance/provenance.h"

#define IDENTITY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FIXTURES KGB_TEST_SOURCE_DIR "/tests/fixtures/provenance"
#define FACTS "{\"ops\":{\"tt.load\":1},\"asm\":[]}"

struct scene {
	char dir[64];
	struct kgb_disk_cache *store;
	struct kgb_buf cubin; /* of tests/fixtures */
	char digest[KGB_SHA256_HEX_LEN]; /* of it */
	struct kgb_triton_claim claim;
	struct kgb_recompiled compiled; /* what a compiler answers */
	atomic_uint_fast64_t kept;
};

static void answer(const struct kgb_buf *cubin, const char *facts, struct kgb_recompiled *out)
{
	const uint64_t header[2] = {cubin->len, strlen(facts)};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	kgb_buf_add(&text, header, sizeof(header));
	kgb_buf_add(&text, cubin->ptr, cubin->len);
	kgb_buf_adds(&text, facts);
	assert_ok(kgb_recompiled_parse(text.ptr, text.len, out, &err), err);
}

static void open_scene(struct scene *scene)
{
	struct kgb_err err = KGB_ERR_INIT;

	memset(scene, 0, sizeof(*scene));
	scene->cubin = (struct kgb_buf)KGB_BUF_INIT(0);
	snprintf(scene->dir, sizeof(scene->dir), "/tmp/kgb-proofs-XXXXXX");
	assert_non_null(mkdtemp(scene->dir));
	assert_ok(kgb_disk_cache_new(&scene->store, scene->dir, KGB_PROOF_CACHE_ENTRY_MAX,
				     KGB_PROOF_CACHE_TOTAL_MAX, &err),
		  err);
	assert_ok(kgb_fs_read(AT_FDCWD, FIXTURES "/scale.cubin", 1 << 20, &scene->cubin, &err),
		  err);
	kgb_sha256_hex(scene->cubin.ptr, scene->cubin.len, scene->digest);
	scene->claim = (struct kgb_triton_claim){.name = "scale",
						 .cubin_sha256 = scene->digest,
						 .ttir = "module {}",
						 .ttir_len = 9,
						 .metadata = "{}",
						 .metadata_len = 2,
						 .num_warps = 4};
	answer(&scene->cubin, FACTS, &scene->compiled);
}

static void close_scene(struct scene *scene)
{
	struct kgb_err err = KGB_ERR_INIT;

	kgb_recompiled_release(&scene->compiled);
	kgb_buf_release(&scene->cubin);
	kgb_disk_cache_free(scene->store);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, scene->dir, &err), err);
}

static bool knows(const struct scene *scene, const struct kgb_triton_claim *claim, unsigned sm,
		  const char *identity)
{
	KGB_AUTO(recompiled) struct kgb_recompiled found = KGB_RECOMPILED_INIT;

	if (!kgb_proof_recall(scene->store, claim, sm, identity, &found))
		return false;
	assert_int_equal(found.len, scene->cubin.len);
	assert_memory_equal(found.cubin, scene->cubin.ptr, scene->cubin.len);
	assert_non_null(kgb_json_get(found.facts, "asm"));
	return true;
}

static void test_the_same_compilation_is_found_and_no_other(KGB_UNUSED void **state)
{
	struct scene scene;

	open_scene(&scene);
	const struct kgb_triton_claim ours = scene.claim;
	assert_false(knows(&scene, &ours, 90, IDENTITY));
	kgb_proof_keep(scene.store, &scene.kept, &ours, 90, IDENTITY, &scene.compiled);
	assert_true(knows(&scene, &ours, 90, IDENTITY));
	assert_false(knows(&scene, &ours, 100, IDENTITY));
	assert_false(knows(&scene, &ours, 90, OTHER));
	struct kgb_triton_claim other = ours;
	other.num_warps = 8;
	assert_false(knows(&scene, &other, 90, IDENTITY));
	other = ours;
	other.ttir = "module {};";
	other.ttir_len = 10;
	assert_false(knows(&scene, &other, 90, IDENTITY));
	other = ours;
	other.metadata = "[]";
	assert_false(knows(&scene, &other, 90, IDENTITY));
	/* The same bytes, divided elsewhere. */
	other = ours;
	other.ttir = "module {";
	other.ttir_len = 8;
	other.metadata = "}{}";
	other.metadata_len = 3;
	assert_false(knows(&scene, &other, 90, IDENTITY));
	/* Names are for people. */
	other = ours;
	other.name = "another";
	other.cubin_sha256 = OTHER;
	assert_true(knows(&scene, &other, 90, IDENTITY));
	close_scene(&scene);
}

static void test_several_results_or_an_unknown_compiler_are_not_kept(KGB_UNUSED void **state)
{
	struct scene scene;

	open_scene(&scene);
	struct kgb_triton_claim claim = scene.claim;
	kgb_proof_keep(scene.store, &scene.kept, &claim, 90, "", &scene.compiled);
	assert_false(knows(&scene, &claim, 90, ""));
	claim.ttir = "scf.for {} {tt.warp_specialize}";
	claim.ttir_len = strlen(claim.ttir);
	assert_false(kgb_triton_claim_has_one_result(&claim));
	kgb_proof_keep(scene.store, &scene.kept, &claim, 90, IDENTITY, &scene.compiled);
	assert_false(knows(&scene, &claim, 90, IDENTITY));
	assert_int_equal(count_entries(AT_FDCWD, scene.dir), 0);
	close_scene(&scene);
}

static void test_one_verification_keeps_no_more_than_its_share(KGB_UNUSED void **state)
{
	struct scene scene;

	open_scene(&scene);
	const size_t bytes = scene.compiled.n_bytes;
	const size_t fits = KGB_PROOF_CACHE_SHARE / bytes;
	const unsigned n = 94;

	scene.kept = (fits - 2) * bytes; /* room for two more */
	for (unsigned sm = n - 4; sm < n; sm++)
		kgb_proof_keep(scene.store, &scene.kept, &scene.claim, sm, IDENTITY,
			       &scene.compiled);
	assert_true(knows(&scene, &scene.claim, n - 4, IDENTITY));
	assert_true(knows(&scene, &scene.claim, n - 3, IDENTITY));
	assert_false(knows(&scene, &scene.claim, n - 2, IDENTITY));
	assert_false(knows(&scene, &scene.claim, n - 1, IDENTITY));
	/* Another verification has a share of its own. */
	scene.kept = 0;
	kgb_proof_keep(scene.store, &scene.kept, &scene.claim, n - 1, IDENTITY, &scene.compiled);
	assert_true(knows(&scene, &scene.claim, n - 1, IDENTITY));
	close_scene(&scene);
}

static void keep(struct scene *scene, const struct kgb_buf *cubin, const char *facts)
{
	KGB_AUTO(recompiled) struct kgb_recompiled compiled = KGB_RECOMPILED_INIT;

	answer(cubin, facts, &compiled);
	kgb_proof_keep(scene->store, &scene->kept, &scene->claim, 90, IDENTITY, &compiled);
}

/* Can the scene's cubin be proved where there is no compiler? */
static bool is_proved(struct scene *scene, const struct kgb_disk_cache *cache)
{
	struct kgb_provenance *provenance = kgb_xmalloc(sizeof(*provenance));
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	struct kgb_device_policy *policy = NULL;
	struct kgb_zygote nobody = {.role = KGB_ROLE_COMPILE,
				    .hub_fd = -1,
				    .socket_dir = scene->dir,
				    .identity = IDENTITY};
	const struct kgb_triton_claims claims = {.items = &scene->claim, .n = 1};
	struct kgb_image image = {
		.id = 1, .bytes = (unsigned char *)scene->cubin.ptr, .len = scene->cubin.len};
	const struct kgb_record record = {.images = &image, .n_images = 1};
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_device_policy_load(KGB_TEST_SOURCE_DIR "/verify/policy/device.yaml", &policy,
					 &err),
		  err);
	const struct kgb_provenance_spec spec = {.compiler = &nobody,
						 .index = &index,
						 .policy = policy,
						 .sm = 90,
						 .timeout_ms = 1000,
						 .cache = cache};
	kgb_provenance_init(provenance, &spec);
	int rc = kgb_provenance_prove(provenance, &record, &claims, &err);
	if (rc == 0) {
		const struct kgb_image_proof *proof = image.proof;
		assert_int_equal(proof->kind, KGB_PROOF_TRITON);
		assert_string_equal(proof->name, "scale");
		assert_int_equal(proof->cubin_len, scene->cubin.len);
		assert_memory_equal(proof->cubin, scene->cubin.ptr, scene->cubin.len);
		assert_int_equal(provenance->n_recalled, 1);
	} else {
		assert_contains(err.msg, "no compile process");
		assert_int_equal(provenance->n_recalled, 0);
	}
	kgb_provenance_release(provenance);
	kgb_free(provenance);
	kgb_device_policy_free(policy);
	return rc == 0;
}

static void
test_a_kept_compilation_proves_what_it_equals_and_is_judged_anew(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf other = KGB_BUF_INIT(0);
	struct scene scene;

	open_scene(&scene);
	keep(&scene, &scene.cubin, FACTS);
	assert_true(is_proved(&scene, scene.store));
	assert_false(is_proved(&scene, NULL));
	/* What is kept is code and facts, not that they are allowed. */
	keep(&scene, &scene.cubin, "{\"ops\":{\"llvm.inline_asm\":1},\"asm\":[]}");
	assert_false(is_proved(&scene, scene.store));
	/* A module without operators, or of which nobody says what assembly it has. */
	static const char *const broken[] = {"{}", "{\"ops\":{},\"asm\":[]}",
					     "{\"ops\":{\"tt.func\":1}}",
					     "{\"ops\":{\"tt.func\":1},\"asm\":{}}"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(broken); i++) {
		keep(&scene, &scene.cubin, broken[i]);
		assert_false(is_proved(&scene, scene.store));
	}
	/* Code that was not launched. */
	kgb_buf_add(&other, scene.cubin.ptr, scene.cubin.len);
	*(char *)memmem(other.ptr, other.len, "scale", 5) = 'x';
	keep(&scene, &other, FACTS);
	assert_false(is_proved(&scene, scene.store));
	keep(&scene, &scene.cubin, FACTS);
	assert_true(is_proved(&scene, scene.store));
	close_scene(&scene);
}

static void test_who_uses_warm_processes_learns_their_identity(KGB_UNUSED void **state)
{
	const struct kgb_zygote server = {.role = KGB_ROLE_COMPILE, .identity = IDENTITY};
	struct kgb_zygote zygote;
	struct scene scene;
	struct kgb_err err = KGB_ERR_INIT;

	open_scene(&scene);
	kgb_zygote_use(&zygote, KGB_ROLE_COMPILE, scene.dir);
	assert_string_equal(zygote.identity, "");
	kgb_zygote_stop(&zygote);
	KGB_AUTO(fd) int dir = open(scene.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ok(kgb_zygote_tell_identity(&server, dir, &err), err);
	kgb_zygote_use(&zygote, KGB_ROLE_REFERENCE, scene.dir);
	assert_string_equal(zygote.identity, "");
	kgb_zygote_stop(&zygote);
	kgb_zygote_use(&zygote, KGB_ROLE_COMPILE, scene.dir);
	assert_string_equal(zygote.identity, IDENTITY);
	kgb_zygote_stop(&zygote);
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_compilation_is_found_and_no_other),
		cmocka_unit_test(test_several_results_or_an_unknown_compiler_are_not_kept),
		cmocka_unit_test(test_one_verification_keeps_no_more_than_its_share),
		cmocka_unit_test(test_a_kept_compilation_proves_what_it_equals_and_is_judged_anew),
		cmocka_unit_test(test_who_uses_warm_processes_learns_their_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
