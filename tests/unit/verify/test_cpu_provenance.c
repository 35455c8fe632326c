/* SPDX-License-Identifier: MIT */
/* Whose images of the CPU are: what kernel.py gives, torch's moves, and nothing else. The module
 * that kernel.py gives is kept from another verification (proof_cache.h), so no process is needed;
 * tests/integration/t0321-source.sh has those. */
#include "base/str.h"
#include "base/system/fs.h"
#include "tests/unit/base/support.h"
#include "verify/protocol/cpu_image.h"
#include "verify/provenance/proof_cache.h"
#include "verify/provenance/provenance.h"

#define IDENTITY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KERNEL "import triton\n"
#define CLAIMS "{\"kgb_ttir\":1,\"functions\":[]}"
#define MODULE "module {\n}\n"
#define FACTS "{\"name\":\"add\",\"asm\":2}"

struct scene {
	char dir[64];
	struct kgb_disk_cache *store;
	struct kgb_zygote nobody;
	struct kgb_compiler *compiler;
	struct kgb_provenance *provenance;
};

/* A verification of this kernel.py. */
static void open_scene(struct scene *scene, const char *kernel)
{
	struct kgb_err err = KGB_ERR_INIT;

	memset(scene, 0, sizeof(*scene));
	snprintf(scene->dir, sizeof(scene->dir), "/tmp/kgb-source-XXXXXX");
	assert_non_null(mkdtemp(scene->dir));
	assert_ok(kgb_disk_cache_new(&scene->store, scene->dir, KGB_PROOF_CACHE_ENTRY_MAX,
				     KGB_PROOF_CACHE_TOTAL_MAX, &err),
		  err);
	scene->nobody = (struct kgb_zygote){.role = KGB_ROLE_COMPILE,
					    .hub_fd = -1,
					    .socket_dir = scene->dir,
					    .identity = IDENTITY};
	scene->compiler = kgb_compiler_new(&scene->nobody, scene->store);
	scene->provenance = kgb_xmalloc(sizeof(*scene->provenance));
	const struct kgb_provenance_spec spec = {
		.compiler = scene->compiler,
		.kernel_text = kernel,
		.kernel_len = strlen(kernel),
		.sm = KGB_CPU_SM,
	};
	kgb_provenance_init(scene->provenance, &spec);
}

static void close_scene(struct scene *scene)
{
	struct kgb_err err = KGB_ERR_INIT;

	kgb_provenance_release(scene->provenance);
	kgb_free(scene->provenance);
	kgb_compiler_free(scene->compiler);
	kgb_disk_cache_free(scene->store);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, scene->dir, &err), err);
}

/* Keep that KERNEL and CLAIMS give this module. */
static void keep(struct scene *scene, const char *module, const char *facts)
{
	const uint64_t header[2] = {strlen(module), strlen(facts)};
	const struct kgb_triton_source source = {.kind = KGB_SOURCE_PYTHON,
						 .text = KERNEL,
						 .text_len = strlen(KERNEL),
						 .options = CLAIMS,
						 .options_len = strlen(CLAIMS),
						 .sm = KGB_CPU_SM};
	KGB_AUTO(recompiled) struct kgb_recompiled compiled = KGB_RECOMPILED_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	atomic_uint_fast64_t kept = 0;
	struct kgb_err err = KGB_ERR_INIT;

	kgb_buf_add(&text, header, sizeof(header));
	kgb_buf_adds(&text, module);
	kgb_buf_adds(&text, facts);
	assert_ok(kgb_recompiled_parse(text.ptr, text.len, &compiled, &err), err);
	kgb_proof_keep(scene->store, &kept, &source, IDENTITY, &compiled);
}

static struct kgb_image image_of(const char *text)
{
	return (struct kgb_image){
		.id = 1, .bytes = (const unsigned char *)text, .len = strlen(text)};
}

static const struct kgb_image_proof *prove(struct scene *scene, struct kgb_image *image)
{
	const struct kgb_record record = {.images = image, .n_images = 1};
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_provenance_prove(scene->provenance, &record, &err), err);
	return image->proof;
}

static void test_what_kernel_py_gives_is_the_candidates(KGB_UNUSED void **state)
{
	struct scene scene;
	struct kgb_image image = image_of(CLAIMS "\n" MODULE);

	open_scene(&scene, KERNEL);
	keep(&scene, MODULE, FACTS);
	const struct kgb_image_proof *proof = prove(&scene, &image);
	assert_int_equal(proof->kind, KGB_PROOF_TRITON);
	assert_string_equal(proof->name, "add");
	assert_int_equal(proof->n_inline_asm, 2);
	assert_int_equal(kgb_provenance_n_inline(scene.provenance), 1);
	assert_int_equal(kgb_provenance_owner(&image, "add", scene.provenance), KGB_OWNER_TRITON);
	assert_int_equal(kgb_provenance_owner(&image, "other", scene.provenance),
			 KGB_OWNER_UNKNOWN);
	assert_int_equal(kgb_provenance_owner(&image, "fill", scene.provenance), KGB_OWNER_UNKNOWN);
	close_scene(&scene);
}

static void test_what_no_gpu_can_run_is_found(KGB_UNUSED void **state)
{
	struct scene scene;
	struct kgb_image images[] = {image_of(KGB_CPU_IMAGE_TORCH), image_of(CLAIMS "\n" MODULE)};
	const struct kgb_record record = {.images = images, .n_images = KGB_ARRAY_LEN(images)};

	open_scene(&scene, KERNEL);
	keep(&scene, MODULE, "{\"name\":\"add\",\"asm\":0,\"no_gpu\":\"it is too large\"}");
	assert_null(kgb_provenance_unfit(&record));
	for (size_t i = 0; i < KGB_ARRAY_LEN(images); i++)
		(void)prove(&scene, &images[i]);
	const struct kgb_image_proof *unfit = kgb_provenance_unfit(&record);
	assert_ptr_equal(unfit, images[1].proof);
	assert_string_equal(unfit->no_gpu, "it is too large");
	close_scene(&scene);
	images[1] = image_of(CLAIMS "\n" MODULE);
	open_scene(&scene, KERNEL);
	keep(&scene, MODULE, FACTS);
	for (size_t i = 0; i < KGB_ARRAY_LEN(images); i++)
		(void)prove(&scene, &images[i]);
	assert_null(kgb_provenance_unfit(&record));
	close_scene(&scene);
}

static void test_other_modules_are_unknown(KGB_UNUSED void **state)
{
	static const char *const modules[] = {"module {\n}", "module {\n}\n\n", "module {\n} \n",
					      " module {\n}\n", "x"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(modules); i++) {
		KGB_AUTO(free) char *text = kgb_xasprintf(CLAIMS "\n%s", modules[i]);
		struct scene scene;
		struct kgb_image image = image_of(text);
		open_scene(&scene, KERNEL);
		keep(&scene, MODULE, FACTS);
		const struct kgb_image_proof *proof = prove(&scene, &image);
		assert_int_equal(proof->kind, KGB_PROOF_NONE);
		assert_string_equal(proof->reason, "kernel.py gives other IR than it holds");
		assert_int_equal(kgb_provenance_owner(&image, "add", scene.provenance),
				 KGB_OWNER_UNKNOWN);
		close_scene(&scene);
	}
}

static void test_broken_facts_prove_nothing(KGB_UNUSED void **state)
{
	static const char *const facts[] = {"{}", "{\"name\":\"add\"}", "{\"asm\":0}",
					    "{\"name\":1,\"asm\":0}", "[]"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(facts); i++) {
		struct scene scene;
		struct kgb_image image = image_of(CLAIMS "\n" MODULE);
		open_scene(&scene, KERNEL);
		keep(&scene, MODULE, facts[i]);
		const struct kgb_image_proof *proof = prove(&scene, &image);
		assert_int_equal(proof->kind, KGB_PROOF_NONE);
		assert_contains(proof->reason, "facts are broken");
		close_scene(&scene);
	}
}

/* Nothing is kept for these, so the compiler must start a process, and there is none. */
static void test_other_texts_and_claims_are_another_source(KGB_UNUSED void **state)
{
	static const struct {
		const char *kernel, *image;
	} cases[] = {
		{KERNEL "\n", CLAIMS "\n" MODULE},
		{KERNEL, "{\"kgb_ttir\":1,\"functions\":[] }\n" MODULE},
		/* The same bytes, divided elsewhere. */
		{KERNEL "{", "{\"kgb_ttir\":1,\"functions\":[]}\n" MODULE},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct scene scene;
		struct kgb_image image = image_of(cases[i].image);
		open_scene(&scene, cases[i].kernel);
		keep(&scene, MODULE, FACTS);
		const struct kgb_image_proof *proof = prove(&scene, &image);
		assert_int_equal(proof->kind, KGB_PROOF_UNDECIDED);
		assert_contains(proof->reason, "could not make it from kernel.py: ");
		assert_contains(proof->reason, "compile.sock");
		assert_int_equal(kgb_provenance_owner(&image, "add", scene.provenance),
				 KGB_OWNER_UNDECIDED);
		close_scene(&scene);
	}
}

static void test_torch_fills_and_copies_and_nothing_else(KGB_UNUSED void **state)
{
	struct scene scene;
	struct kgb_image image = image_of(KGB_CPU_IMAGE_TORCH);

	open_scene(&scene, KERNEL);
	assert_int_equal(prove(&scene, &image)->kind, KGB_PROOF_MOVES);
	assert_int_equal(kgb_provenance_owner(&image, "fill", scene.provenance),
			 KGB_OWNER_TORCH_MOVE);
	assert_int_equal(kgb_provenance_owner(&image, "copy", scene.provenance),
			 KGB_OWNER_TORCH_MOVE);
	assert_int_equal(kgb_provenance_owner(&image, "add", scene.provenance), KGB_OWNER_UNKNOWN);
	assert_int_equal(kgb_provenance_owner(&image, "", scene.provenance), KGB_OWNER_UNKNOWN);
	close_scene(&scene);
}

static void test_what_is_no_image_of_the_cpu_is_unknown(KGB_UNUSED void **state)
{
	static const char *const texts[] = {
		"",
		"\177ELF\2\1",
		MODULE,
		CLAIMS,
		CLAIMS "\n",
		(" " CLAIMS "\n" MODULE),
		("{\"kgb_ttir\":2,\"functions\":[]}\n" MODULE),
		"{\"kgb_torch\":1}",
		"{\"kgb_torch\":1}\n\n",
		"{\"kgb_torch\":1 }\n",
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(texts); i++) {
		struct scene scene;
		struct kgb_image image = image_of(texts[i]);
		open_scene(&scene, KERNEL);
		assert_int_equal(prove(&scene, &image)->kind, KGB_PROOF_NONE);
		assert_true(strlen(((const struct kgb_image_proof *)image.proof)->reason) > 0);
		assert_int_equal(kgb_provenance_owner(&image, "fill", scene.provenance),
				 KGB_OWNER_UNKNOWN);
		close_scene(&scene);
	}
}

static void test_long_claims_and_modules_are_not_even_tried(KGB_UNUSED void **state)
{
	const struct {
		size_t claims, module;
	} cases[] = {{KGB_CLAIMS_MAX, 1}, {1, KGB_TRITON_IR_MAX + 1}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		struct scene scene;
		kgb_buf_adds(&text, KGB_CPU_IMAGE_TTIR);
		for (size_t j = 0; j < cases[i].claims; j++)
			kgb_buf_addc(&text, ' ');
		kgb_buf_addc(&text, '\n');
		for (size_t j = 0; j < cases[i].module; j++)
			kgb_buf_addc(&text, 'm');
		struct kgb_image image = image_of(text.ptr);
		open_scene(&scene, KERNEL);
		const struct kgb_image_proof *proof = prove(&scene, &image);
		assert_int_equal(proof->kind, KGB_PROOF_NONE);
		assert_contains(proof->reason, "too long");
		close_scene(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_kernel_py_gives_is_the_candidates),
		cmocka_unit_test(test_what_no_gpu_can_run_is_found),
		cmocka_unit_test(test_other_modules_are_unknown),
		cmocka_unit_test(test_broken_facts_prove_nothing),
		cmocka_unit_test(test_other_texts_and_claims_are_another_source),
		cmocka_unit_test(test_torch_fills_and_copies_and_nothing_else),
		cmocka_unit_test(test_what_is_no_image_of_the_cpu_is_unknown),
		cmocka_unit_test(test_long_claims_and_modules_are_not_even_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
