/* SPDX-License-Identifier: MIT */
/* Proofs that need no compiler. tests/integration/t0320-provenance.sh has those that
 * do. */
#include "verify/provenance/provenance.h"

#include "base/str.h"
#include "base/system/fs.h"
#include "tests/unit/base/support.h"
#include "tests/unit/verify/library_maker.h"

#define FILL_KERNEL \
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"

struct scene {
	struct kgb_device_policy *policy;
	struct kgb_image_index index;
	struct kgb_provenance *provenance;
	struct kgb_buf fatbin; /* one that the index has */
	char dir[64];
};

static void open_scene(struct scene *scene)
{
	static const struct made_entry entry = {2, 90, MAKER_ZSTD, "device code", 11};
	KGB_AUTO(buf) struct kgb_buf file = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	char path[96];

	memset(scene, 0, sizeof(*scene));
	scene->fatbin = (struct kgb_buf)KGB_BUF_INIT(0);
	snprintf(scene->dir, sizeof(scene->dir), "/tmp/kgb-provenance-XXXXXX");
	assert_non_null(mkdtemp(scene->dir));
	snprintf(path, sizeof(path), "%s/libtorch_cuda.so", scene->dir);
	make_fatbin(&scene->fatbin, &entry, 1);
	make_library(&file, ".nv_fatbin", &scene->fatbin);
	assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, file.ptr, file.len, 0644, false, &err), err);
	assert_ok(kgb_image_index_add(&scene->index, path, NULL, &err), err);
	assert_ok(kgb_device_policy_load(KGB_TEST_SOURCE_DIR "/verify/policy/device.yaml",
					 &scene->policy, &err),
		  err);
	const struct kgb_provenance_spec spec = {.index = &scene->index, .policy = scene->policy};
	scene->provenance = kgb_xmalloc(sizeof(*scene->provenance));
	kgb_provenance_init(scene->provenance, &spec);
}

static void close_scene(struct scene *scene)
{
	struct kgb_err err = KGB_ERR_INIT;

	kgb_provenance_release(scene->provenance);
	kgb_free(scene->provenance);
	kgb_device_policy_free(scene->policy);
	kgb_image_index_release(&scene->index);
	kgb_buf_release(&scene->fatbin);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, scene->dir, &err), err);
}

static struct kgb_image image_of(uint32_t id, const void *bytes, size_t len)
{
	return (struct kgb_image){.id = id, .bytes = bytes, .len = len};
}

static void test_torch_may_fill_and_copy_and_its_other_kernels_are_a_librarys(void **state)
{
	struct scene scene;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	open_scene(&scene);
	struct kgb_image image = image_of(7, scene.fatbin.ptr, scene.fatbin.len);
	const struct kgb_record record = {.images = &image, .n_images = 1};
	assert_ok(kgb_provenance_prove(scene.provenance, &record, &err), err);
	const struct kgb_image_proof *proof = image.proof;
	assert_int_equal(proof->kind, KGB_PROOF_LIBRARY);
	assert_string_equal(proof->name, "libtorch_cuda.so");
	assert_int_equal(kgb_provenance_owner(&image, FILL_KERNEL, scene.provenance),
			 KGB_OWNER_TORCH_MOVE);
	assert_int_equal(kgb_provenance_owner(&image, "gemm", scene.provenance), KGB_OWNER_LIBRARY);
	close_scene(&scene);
}

static void test_what_nobody_vouches_for_is_unknown_with_a_reason(void **state)
{
	static const struct {
		const char *file; /* of tests/fixtures/provenance; NULL: the bytes */
		const char *bytes;
		size_t len;
		const char *reason;
	} cases[] = {
		{"scale.cubin", NULL, 0, "the judge's compiler did not make it"},
		{NULL, "\177ELF\2\1", 6, "neither a cubin nor a fatbin"},
		{NULL, "", 0, "neither a cubin nor a fatbin"},
		{NULL, "\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0", 16,
		 "no library of the judge holds this fatbin"},
	};
	struct scene scene;

	(void)state;
	open_scene(&scene);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
		KGB_AUTO(free) char *path = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		if (cases[i].file) {
			path = kgb_path_join(KGB_TEST_SOURCE_DIR "/tests/fixtures/provenance",
					     cases[i].file);
			assert_ok(kgb_fs_read(AT_FDCWD, path, 1 << 20, &bytes, &err), err);
		} else {
			kgb_buf_add(&bytes, cases[i].bytes, cases[i].len);
		}
		struct kgb_image image = image_of(1, bytes.ptr, bytes.len);
		const struct kgb_record record = {.images = &image, .n_images = 1};
		assert_ok(kgb_provenance_prove(scene.provenance, &record, &err), err);
		const struct kgb_image_proof *proof = image.proof;
		assert_int_equal(proof->kind, KGB_PROOF_NONE);
		assert_string_equal(proof->reason, cases[i].reason);
		assert_int_equal(kgb_provenance_owner(&image, FILL_KERNEL, scene.provenance),
				 KGB_OWNER_UNKNOWN);
	}
	close_scene(&scene);
}

static void test_an_image_is_proved_once_for_all_records(void **state)
{
	struct scene scene;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	open_scene(&scene);
	struct kgb_image first[2] = {image_of(1, scene.fatbin.ptr, scene.fatbin.len),
				     image_of(2, "x", 1)};
	struct kgb_image second[1] = {image_of(9, scene.fatbin.ptr, scene.fatbin.len)};
	struct kgb_image never = image_of(1, scene.fatbin.ptr, scene.fatbin.len);
	const struct kgb_record a = {.images = first, .n_images = 2};
	const struct kgb_record b = {.images = second, .n_images = 1};
	assert_ok(kgb_provenance_prove(scene.provenance, &a, &err), err);
	assert_ok(kgb_provenance_prove(scene.provenance, &b, &err), err);
	assert_int_equal(scene.provenance->n_proofs, 2);
	assert_ptr_equal(first[0].proof, second[0].proof);
	assert_int_equal(first[1].proof->kind, KGB_PROOF_NONE);
	assert_null(never.proof);
	assert_int_equal(kgb_provenance_owner(&never, FILL_KERNEL, scene.provenance),
			 KGB_OWNER_UNKNOWN);
	close_scene(&scene);
}

static void test_only_the_kernel_of_proved_code_is_the_candidates(void **state)
{
	static const char *kernels[] = {"scale"};
	struct scene scene;
	struct kgb_image_proof triton = {.kind = KGB_PROOF_TRITON,
					 .kernels = {.items = kernels, .n = 1}};
	struct kgb_image image = image_of(5, "ours", 4);

	(void)state;
	open_scene(&scene);
	image.proof = &triton;
	assert_int_equal(kgb_provenance_owner(&image, "scale", scene.provenance), KGB_OWNER_TRITON);
	assert_int_equal(kgb_provenance_owner(&image, "other", scene.provenance),
			 KGB_OWNER_UNKNOWN);
	image.proof = NULL;
	assert_int_equal(kgb_provenance_owner(&image, "scale", scene.provenance),
			 KGB_OWNER_UNKNOWN);
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torch_may_fill_and_copy_and_its_other_kernels_are_a_librarys),
		cmocka_unit_test(test_what_nobody_vouches_for_is_unknown_with_a_reason),
		cmocka_unit_test(test_an_image_is_proved_once_for_all_records),
		cmocka_unit_test(test_only_the_kernel_of_proved_code_is_the_candidates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
