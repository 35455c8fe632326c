/* SPDX-License-Identifier: MIT */
/* Compilations that outlive a verification: found for the same text, options and software only. */
#include "verify/provenance/proof_cache.h"

#include <sys/socket.h>

#include "base/str.h"
#include "base/system/fs.h"
#include "tests/unit/base/support.h"
#include "verify/provenance/provenance.h"

#define IDENTITY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FIXTURES KGB_TEST_SOURCE_DIR "/tests/fixtures/provenance"
#define FACTS "{\"ops\":{\"tt.load\":1},\"asm\":[]}"
#define KERNEL "import triton\n"
#define CLAIMS "{\"kgb_ttir\":1,\"functions\":[]}"

struct scene {
	char dir[64];
	struct kgb_disk_cache *store;
	struct kgb_buf cubin; /* of tests/fixtures */
	struct kgb_triton_source source;
	struct kgb_recompiled compiled; /* what a compiler answers */
	atomic_uint_fast64_t kept;
};

static void answer(const char *code, size_t len, const char *facts, struct kgb_recompiled *out)
{
	const uint64_t header[2] = {len, strlen(facts)};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;

	kgb_buf_add(&text, header, sizeof(header));
	kgb_buf_add(&text, code, len);
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
	scene->source = (struct kgb_triton_source){
		.text = "module {}", .text_len = 9, .options = "{}", .options_len = 2, .sm = 90};
	answer(scene->cubin.ptr, scene->cubin.len, FACTS, &scene->compiled);
}

static void close_scene(struct scene *scene)
{
	struct kgb_err err = KGB_ERR_INIT;

	kgb_recompiled_release(&scene->compiled);
	kgb_buf_release(&scene->cubin);
	kgb_disk_cache_free(scene->store);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, scene->dir, &err), err);
}

static bool knows(const struct scene *scene, const struct kgb_triton_source *source,
		  const char *identity)
{
	KGB_AUTO(recompiled) struct kgb_recompiled found = KGB_RECOMPILED_INIT;

	if (!kgb_proof_recall(scene->store, source, identity, &found))
		return false;
	assert_int_equal(found.len, scene->cubin.len);
	assert_memory_equal(found.code, scene->cubin.ptr, scene->cubin.len);
	assert_non_null(kgb_json_get(found.facts, "asm"));
	return true;
}

static void test_the_same_compilation_is_found_and_no_other(KGB_UNUSED void **state)
{
	struct scene scene;

	open_scene(&scene);
	const struct kgb_triton_source ours = scene.source;
	assert_false(knows(&scene, &ours, IDENTITY));
	kgb_proof_keep(scene.store, &scene.kept, &ours, IDENTITY, &scene.compiled);
	assert_true(knows(&scene, &ours, IDENTITY));
	assert_false(knows(&scene, &ours, OTHER));
	struct kgb_triton_source other = ours;
	other.sm = 100;
	assert_false(knows(&scene, &other, IDENTITY));
	other = ours;
	other.text = "module {};";
	other.text_len = 10;
	assert_false(knows(&scene, &other, IDENTITY));
	other = ours;
	other.options = "[]";
	assert_false(knows(&scene, &other, IDENTITY));
	/* The same bytes, divided elsewhere. */
	other = ours;
	other.text = "module {";
	other.text_len = 8;
	other.options = "}{}";
	other.options_len = 3;
	assert_false(knows(&scene, &other, IDENTITY));
	close_scene(&scene);
}

static void test_what_an_unknown_compiler_made_is_not_kept(KGB_UNUSED void **state)
{
	struct scene scene;

	open_scene(&scene);
	kgb_proof_keep(scene.store, &scene.kept, &scene.source, "", &scene.compiled);
	assert_false(knows(&scene, &scene.source, ""));
	assert_int_equal(count_entries(AT_FDCWD, scene.dir), 0);
	close_scene(&scene);
}

static void test_one_verification_keeps_no_more_than_its_share(KGB_UNUSED void **state)
{
	struct scene scene;
	struct kgb_triton_source sources[4];

	open_scene(&scene);
	const size_t bytes = scene.compiled.n_bytes;
	const size_t fits = KGB_PROOF_CACHE_SHARE / bytes;

	scene.kept = (fits - 2) * bytes; /* room for two more */
	for (unsigned i = 0; i < KGB_ARRAY_LEN(sources); i++) {
		sources[i] = scene.source;
		sources[i].sm += i;
		kgb_proof_keep(scene.store, &scene.kept, &sources[i], IDENTITY, &scene.compiled);
	}
	assert_true(knows(&scene, &sources[0], IDENTITY));
	assert_true(knows(&scene, &sources[1], IDENTITY));
	assert_false(knows(&scene, &sources[2], IDENTITY));
	assert_false(knows(&scene, &sources[3], IDENTITY));
	/* Another verification has its own share. */
	scene.kept = 0;
	kgb_proof_keep(scene.store, &scene.kept, &sources[3], IDENTITY, &scene.compiled);
	assert_true(knows(&scene, &sources[3], IDENTITY));
	close_scene(&scene);
}

/* Request the source behind its claims. Returns the length of the code in the answer. */
static uint64_t request(struct kgb_compiler *compiler, const struct kgb_triton_source *source)
{
	const uint64_t question[3] = {sizeof(CLAIMS) + source->text_len, source->options_len,
				      source->sm};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_compiler_seat *seat = NULL;
	struct kgb_worker runner = KGB_WORKER_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t answer[2];
	int fd;

	kgb_buf_add(&text, question, sizeof(question));
	kgb_buf_adds(&text, CLAIMS "\n");
	kgb_buf_add(&text, source->text, source->text_len);
	kgb_buf_add(&text, source->options, source->options_len);
	assert_ok(kgb_compiler_sit(compiler, &runner, NULL, true, &seat, &fd, &err), err);
	assert_int_equal(write(fd, text.ptr, text.len), (ssize_t)text.len);
	assert_int_equal(recv(fd, answer, sizeof(answer), MSG_WAITALL), sizeof(answer));
	kgb_compiler_leave(seat);
	close(fd);
	return answer[0];
}

/* Request the source from a compiler that has what is kept and no process, and prove the scene's
 * cubin, on a GPU of this compute capability. */
static enum kgb_proof_kind proof_on(struct scene *scene, unsigned sm, struct kgb_image_proof *out)
{
	struct kgb_zygote nobody = {.role = KGB_ROLE_COMPILE,
				    .hub_fd = -1,
				    .socket_dir = scene->dir,
				    .identity = IDENTITY};
	struct kgb_compiler *compiler = kgb_compiler_new(&nobody, scene->store);
	struct kgb_provenance *provenance = kgb_xmalloc(sizeof(*provenance));
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	struct kgb_device_policy *policy = NULL;
	struct kgb_image image = {
		.id = 1, .bytes = (unsigned char *)scene->cubin.ptr, .len = scene->cubin.len};
	const struct kgb_record record = {.images = &image, .n_images = 1};
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_device_policy_load(KGB_TEST_SOURCE_DIR "/verify/policy/device.yaml", &policy,
					 &err),
		  err);
	const bool is_made = request(compiler, &scene->source) > 0;
	assert_int_equal(kgb_compiler_n_recalled(compiler), is_made);
	const struct kgb_provenance_spec spec = {
		.compiler = compiler,
		.kernel_text = KERNEL,
		.kernel_len = strlen(KERNEL),
		.sm = sm,
		.index = &index,
		.policy = policy,
	};
	kgb_provenance_init(provenance, &spec);
	assert_ok(kgb_provenance_prove(provenance, &record, &err), err);
	*out = *image.proof;
	assert_true(out->kind != KGB_PROOF_TRITON || kgb_str_eq(out->name, "scale"));
	kgb_provenance_release(provenance);
	kgb_free(provenance);
	kgb_device_policy_free(policy);
	kgb_compiler_free(compiler);
	return out->kind;
}

/* Prove an image of KERNEL by its IR, with what is kept and no process, and make its code. Returns
 * the end of the compilation; *out is a copy of the proof, without its texts. */
static enum kgb_recompile_end code_of(struct scene *scene, struct kgb_image_proof *out,
				      char why[KGB_RECOMPILE_WHY])
{
	struct kgb_zygote nobody = {.role = KGB_ROLE_COMPILE,
				    .hub_fd = -1,
				    .socket_dir = scene->dir,
				    .identity = IDENTITY};
	KGB_AUTO(free) char *text = kgb_xasprintf("%s\n%s", CLAIMS, scene->source.text);
	struct kgb_compiler *compiler = kgb_compiler_new(&nobody, scene->store);
	struct kgb_provenance *provenance = kgb_xmalloc(sizeof(*provenance));
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	struct kgb_device_policy *policy = NULL;
	struct kgb_image image = {.id = 1, .bytes = (unsigned char *)text, .len = strlen(text)};
	struct kgb_op op = {.kind = KGB_OP_LAUNCH, .launch = {.image = 1, .kernel = "scale"}};
	const struct kgb_record record = {.images = &image, .n_images = 1};
	const struct kgb_window window = {.ops = &op, .n_ops = 1};
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_device_policy_load(KGB_TEST_SOURCE_DIR "/verify/policy/device.yaml", &policy,
					 &err),
		  err);
	const struct kgb_provenance_spec spec = {.compiler = compiler,
						 .kernel_text = KERNEL,
						 .kernel_len = strlen(KERNEL),
						 .sm = scene->source.sm,
						 .index = &index,
						 .policy = policy};
	kgb_provenance_init(provenance, &spec);
	assert_ok(kgb_provenance_prove(provenance, &record, &err), err);
	assert_int_equal(image.proof->kind, KGB_PROOF_TRITON);
	assert_true(image.proof->is_text && !image.proof->has_code);
	assert_null(kgb_provenance_code(&image));
	enum kgb_recompile_end end = kgb_provenance_make_code(provenance, &record, &window, why);
	*out = *image.proof;
	const struct kgb_launch_code *code = kgb_provenance_code(&image);
	assert_int_equal(code != NULL, out->has_code);
	if (code) {
		assert_int_equal(code->len, scene->cubin.len);
		assert_memory_equal(code->cubin, scene->cubin.ptr, code->len);
		assert_int_equal(code->n_params, 2);
		assert_int_equal(code->param_bytes[1], 4);
	}
	kgb_provenance_release(provenance);
	kgb_free(provenance);
	kgb_device_policy_free(policy);
	kgb_compiler_free(compiler);
	return end;
}

static enum kgb_proof_kind proof_of(struct scene *scene, struct kgb_image_proof *out)
{
	return proof_on(scene, scene->source.sm, out);
}

static void keep(struct scene *scene, const struct kgb_buf *cubin, const char *facts)
{
	KGB_AUTO(recompiled) struct kgb_recompiled compiled = KGB_RECOMPILED_INIT;

	answer(cubin->ptr, cubin->len, facts, &compiled);
	kgb_proof_keep(scene->store, &scene->kept, &scene->source, IDENTITY, &compiled);
}

/* Keep that KERNEL and CLAIMS give this module. */
static void keep_module(struct scene *scene, const char *module)
{
	const struct kgb_triton_source source = {.kind = KGB_SOURCE_PYTHON,
						 .text = KERNEL,
						 .text_len = strlen(KERNEL),
						 .options = CLAIMS,
						 .options_len = strlen(CLAIMS),
						 .sm = scene->source.sm};
	KGB_AUTO(recompiled) struct kgb_recompiled compiled = KGB_RECOMPILED_INIT;

	answer(module, strlen(module), "{\"name\":\"scale\",\"asm\":0}", &compiled);
	kgb_proof_keep(scene->store, &scene->kept, &source, IDENTITY, &compiled);
}

static void
test_a_kept_compilation_proves_what_it_equals_and_is_judged_anew(KGB_UNUSED void **state)
{
	static const struct {
		const char *facts, *reason;
	} refused[] = {
		{"{\"ops\":{\"llvm.inline_asm\":1},\"asm\":[]}", "contains 'llvm.inline_asm'"},
		{"{}", "facts are broken"},
		{"{\"ops\":{},\"asm\":[]}", "facts are broken"},
		{"{\"ops\":{\"tt.func\":1}}", "facts are broken"},
		{"{\"ops\":{\"tt.func\":1},\"asm\":{}}", "facts are broken"},
	};
	KGB_AUTO(buf) struct kgb_buf other = KGB_BUF_INIT(0);
	struct kgb_image_proof proof;
	struct scene scene;

	open_scene(&scene);
	keep(&scene, &scene.cubin, FACTS);
	keep_module(&scene, scene.source.text);
	assert_int_equal(proof_of(&scene, &proof), KGB_PROOF_TRITON);
	/* What is kept is code and facts, not that they are allowed. */
	for (size_t i = 0; i < KGB_ARRAY_LEN(refused); i++) {
		keep(&scene, &scene.cubin, refused[i].facts);
		assert_int_equal(proof_of(&scene, &proof), KGB_PROOF_NONE);
		assert_contains(proof.reason, refused[i].reason);
	}
	/* Code that was not launched. */
	kgb_buf_add(&other, scene.cubin.ptr, scene.cubin.len);
	*(char *)memmem(other.ptr, other.len, "scale", 5) = 'x';
	keep(&scene, &other, FACTS);
	assert_int_equal(proof_of(&scene, &proof), KGB_PROOF_NONE);
	assert_contains(proof.reason, "did not make it");
	close_scene(&scene);
}

static void test_code_counts_only_if_kernel_py_gives_its_ir(KGB_UNUSED void **state)
{
	static const char *const modules[] = {"module {};", "module {", "module { }", "\177ELF"};
	struct kgb_image_proof proof;
	struct scene scene;

	open_scene(&scene);
	keep(&scene, &scene.cubin, FACTS);
	/* There is no process that could make the module. */
	assert_int_equal(proof_of(&scene, &proof), KGB_PROOF_UNDECIDED);
	assert_contains(proof.reason, "could not make it from kernel.py: ");
	for (size_t i = 0; i < KGB_ARRAY_LEN(modules); i++) {
		keep_module(&scene, modules[i]);
		assert_int_equal(proof_of(&scene, &proof), KGB_PROOF_NONE);
		assert_string_equal(proof.reason, "kernel.py gives other IR than it holds");
	}
	keep_module(&scene, scene.source.text);
	assert_int_equal(proof_of(&scene, &proof), KGB_PROOF_TRITON);
	assert_int_equal(proof_on(&scene, 100, &proof), KGB_PROOF_NONE);
	assert_string_equal(proof.reason, "it is code for sm_90, and this GPU is sm_100");
	close_scene(&scene);
}

#define METADATA "{\"num_warps\":2,\"shared\":512}"

static void keep_code(struct scene *scene, const char *op, const char *params, const char *metadata)
{
	KGB_AUTO(free)
	char *facts = kgb_xasprintf("{\"ops\":{\"%s\":1},\"asm\":[],\"params\":%s,\"metadata\":%s}",
				    op, params, metadata);

	keep(scene, &scene->cubin, facts);
}

/* A plan for the GPU needs the code of a kernel that the record names by its IR. */
static void test_code_for_ir_is_judged_as_that_of_a_runner(KGB_UNUSED void **state)
{
	/* What is wrong with the facts: an operator, then the parameters, then the metadata. */
	static const struct {
		const char *op, *params, *metadata;
	} refused[] = {
		{"llvm.inline_asm", "[8,4]", METADATA},
		{"tt.load", "{}", METADATA},
		{"tt.load", "[8,0]", METADATA},
		{"tt.load", "[8,\"4\"]", METADATA},
		{"tt.load", "[8,4]", "{}"},
		{"tt.load", "[8,4]", "{\"num_warps\":64,\"shared\":0}"},
	};
	char why[KGB_RECOMPILE_WHY] = "";
	struct kgb_image_proof proof;
	struct scene scene;

	open_scene(&scene);
	keep_module(&scene, scene.source.text);
	assert_int_equal(code_of(&scene, &proof, why), KGB_RECOMPILE_UNDECIDED);
	assert_contains(why, "compile.sock");
	keep_code(&scene, "tt.load", "[8,4]", METADATA);
	assert_int_equal(code_of(&scene, &proof, why), KGB_RECOMPILE_DONE);
	assert_true(proof.has_code && proof.kind == KGB_PROOF_TRITON);
	assert_int_equal(proof.code.n_threads, 64);
	assert_int_equal(proof.code.shared_bytes, 512);
	for (size_t i = 0; i < KGB_ARRAY_LEN(refused); i++) {
		keep_code(&scene, refused[i].op, refused[i].params, refused[i].metadata);
		assert_int_equal(code_of(&scene, &proof, why), KGB_RECOMPILE_DONE);
		assert_true(!proof.has_code && proof.kind == KGB_PROOF_NONE);
	}
	close_scene(&scene);
}

/* A source worker that hostile text has taken over may answer with machine code. */
static void test_what_the_judge_made_for_itself_is_no_code_of_a_runner(KGB_UNUSED void **state)
{
	const struct kgb_recompiled *made = NULL;
	struct kgb_compiled found;
	char digest[KGB_SHA256_HEX_LEN];
	char why[KGB_RECOMPILE_WHY];
	struct scene scene;

	open_scene(&scene);
	keep(&scene, &scene.cubin, FACTS);
	struct kgb_zygote nobody = {.role = KGB_ROLE_COMPILE,
				    .hub_fd = -1,
				    .socket_dir = scene.dir,
				    .identity = IDENTITY};
	struct kgb_compiler *compiler = kgb_compiler_new(&nobody, scene.store);
	kgb_sha256_hex(scene.cubin.ptr, scene.cubin.len, digest);
	assert_int_equal(kgb_compiler_make(compiler, &scene.source, &made, why),
			 KGB_RECOMPILE_DONE);
	assert_int_equal(made->len, scene.cubin.len);
	assert_false(kgb_compiler_find(compiler, digest, &found));
	kgb_compiler_free(compiler);
	close_scene(&scene);
}

static void test_code_is_undecided_while_the_compiler_lacks_a_process(KGB_UNUSED void **state)
{
	struct kgb_image_proof proof;
	struct scene scene;

	open_scene(&scene);
	assert_int_equal(proof_of(&scene, &proof), KGB_PROOF_UNDECIDED);
	assert_contains(proof.reason, "compile.sock");
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
		cmocka_unit_test(test_what_an_unknown_compiler_made_is_not_kept),
		cmocka_unit_test(test_one_verification_keeps_no_more_than_its_share),
		cmocka_unit_test(test_a_kept_compilation_proves_what_it_equals_and_is_judged_anew),
		cmocka_unit_test(test_code_counts_only_if_kernel_py_gives_its_ir),
		cmocka_unit_test(test_code_for_ir_is_judged_as_that_of_a_runner),
		cmocka_unit_test(test_what_the_judge_made_for_itself_is_no_code_of_a_runner),
		cmocka_unit_test(test_code_is_undecided_while_the_compiler_lacks_a_process),
		cmocka_unit_test(test_who_uses_warm_processes_learns_their_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
