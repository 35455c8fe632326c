/* SPDX-License-Identifier: MIT */
#include "verify/provenance/provenance.h"

#include <stdio.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/str.h"
#include "verify/protocol/cpu_image.h"
#include "verify/protocol/torch_move.h"
#include "verify/provenance/elf64.h"
#include "verify/provenance/fatbin.h"

void kgb_provenance_init(struct kgb_provenance *provenance, const struct kgb_provenance_spec *spec)
{
	memset(provenance, 0, sizeof(*provenance));
	provenance->spec = *spec;
}

void kgb_provenance_release(struct kgb_provenance *provenance)
{
	kgb_arena_release(&provenance->arena);
	provenance->n_proofs = 0;
}

/* Sets the reason why an image has no proof; returns false. */
static bool give_reason(struct kgb_image_proof *proof, const char *fmt, ...) KGB_PRINTF(2, 3);
static bool give_reason(struct kgb_image_proof *proof, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(proof->reason, sizeof(proof->reason), fmt, ap);
	va_end(ap);
	return false;
}

/* ---- permitted content of the IR and its code ---- */

/* ptxas calls a variable that is declared inside of a function like this. Triton declares none. */
#define OF_FUNCTION_SCOPE "$__"

/* Whether this piece of inline assembly could use the variable. PTX has only one spelling of a
 * name. */
static bool asm_may_use(const char *text, const char *variable)
{
	return kgb_str_starts(variable, OF_FUNCTION_SCOPE) || strstr(text, variable) != NULL;
}

/* Counts a kernel's pieces of PTX. False when one of them uses a variable of the module, which
 * could keep data between launches. */
static bool asm_is_stateless(struct kgb_image_proof *proof, const cJSON *texts,
			     const struct kgb_cubin *cubin)
{
	const cJSON *text;

	if (!cJSON_IsArray(texts))
		return give_reason(proof, "the compiler's facts are broken");
	cJSON_ArrayForEach(text, texts) {
		if (!cJSON_IsString(text))
			return give_reason(proof, "the compiler's facts are broken");
		for (size_t i = 0; i < cubin->variables.n; i++) {
			char brief[KGB_BRIEF_LEN];
			if (!asm_may_use(text->valuestring, cubin->variables.items[i]))
				continue;
			return give_reason(
				proof,
				"inline assembly uses the variable '%s', which outlives a launch",
				kgb_brief(cubin->variables.items[i], brief));
		}
		proof->n_inline_asm++;
	}
	return true;
}

static bool operators_are_allowed(struct kgb_image_proof *proof,
				  const struct kgb_device_policy *policy, const cJSON *operators)
{
	const cJSON *operator;
	char brief[KGB_BRIEF_LEN];

	if (!cJSON_IsObject(operators) || !operators->child)
		return give_reason(proof, "the compiler's facts are broken");
	cJSON_ArrayForEach(operator, operators) {
		if (kgb_device_policy_operator(policy, operator->string))
			continue;
		return give_reason(proof, "its IR contains '%s', which no Triton source makes",
				   kgb_brief(operator->string, brief));
	}
	return true;
}

static bool imports_are_allowed(struct kgb_image_proof *proof,
				const struct kgb_device_policy *policy,
				const struct kgb_cubin_names *imports)
{
	char brief[KGB_BRIEF_LEN];

	for (size_t i = 0; i < imports->n; i++) {
		if (kgb_device_policy_import(policy, imports->items[i]))
			continue;
		return give_reason(proof, "it calls the driver's '%s'",
				   kgb_brief(imports->items[i], brief));
	}
	return true;
}

static bool is_allowed(struct kgb_image_proof *proof, const struct kgb_device_policy *policy,
		       const cJSON *facts, const struct kgb_cubin *cubin)
{
	if (cubin->kernels.n != 1)
		return give_reason(proof, "it holds %zu kernels", cubin->kernels.n);
	if (cubin->zeroed_bytes > 0)
		return give_reason(proof, "it has %llu bytes of memory that outlive a launch",
				   (unsigned long long)cubin->zeroed_bytes);
	return operators_are_allowed(proof, policy, kgb_json_get(facts, "ops")) &&
	       asm_is_stateless(proof, kgb_json_get(facts, "asm"), cubin) &&
	       imports_are_allowed(proof, policy, &cubin->imports);
}

/* ---- one image ---- */

/* Makes the module from the text of kernel.py and the claims. NULL: the result is other IR, or
 * none; the proof has the reason. */
static const struct kgb_recompiled *make_from_text(const struct kgb_provenance *provenance,
						   const struct kgb_cpu_image *image,
						   struct kgb_image_proof *proof)
{
	const struct kgb_provenance_spec *spec = &provenance->spec;
	const struct kgb_triton_source source = {
		.kind = KGB_SOURCE_PYTHON,
		.text = spec->kernel_text,
		.text_len = spec->kernel_len,
		.options = image->claims,
		.options_len = image->claims_len,
		.sm = spec->sm,
	};
	const struct kgb_recompiled *made = NULL;
	char why[KGB_RECOMPILE_WHY];

	if (image->claims_len > KGB_CLAIMS_MAX || image->module_len > KGB_TRITON_IR_MAX) {
		give_reason(proof, "its claims or its IR are too long");
		return NULL;
	}
	switch (kgb_compiler_make(spec->compiler, &source, &made, why)) {
	case KGB_RECOMPILE_DONE:
		break;
	case KGB_RECOMPILE_NO_CODE:
	case KGB_RECOMPILE_CRASHED:
		give_reason(proof, "the judge cannot make it from kernel.py: %.260s", why);
		return NULL;
	case KGB_RECOMPILE_UNDECIDED:
		proof->kind = KGB_PROOF_UNDECIDED;
		give_reason(proof, "the judge could not make it from kernel.py: %.260s", why);
		return NULL;
	}
	if (made->len == image->module_len &&
	    memcmp(made->code, image->module, image->module_len) == 0)
		return made;
	give_reason(proof, "kernel.py gives other IR than it holds");
	return NULL;
}

static void prove_made_cubin(struct kgb_provenance *provenance, const struct kgb_compiled *found,
			     struct kgb_image_proof *proof)
{
	const struct kgb_recompiled *made = found->made;
	struct kgb_cubin cubin;
	struct kgb_err err = KGB_ERR_INIT;

	if (found->sm != provenance->spec.sm) {
		give_reason(proof, "it is code for sm_%u, and this GPU is sm_%u", found->sm,
			    provenance->spec.sm);
	} else if (kgb_cubin_read(made->code, made->len, &provenance->arena, &cubin, &err) < 0) {
		give_reason(proof, "%.300s", err.msg);
	} else if (is_allowed(proof, provenance->spec.policy, made->facts, &cubin) &&
		   make_from_text(provenance, &found->from, proof)) {
		proof->kind = KGB_PROOF_TRITON;
		proof->kernels = cubin.kernels;
		proof->name = cubin.kernels.items[0];
	}
}

static void prove_cubin(struct kgb_provenance *provenance, struct kgb_image_proof *proof)
{
	struct kgb_compiler *compiler = provenance->spec.compiler;
	char why[KGB_RECOMPILE_WHY];
	struct kgb_compiled found;

	if (compiler && kgb_compiler_find(compiler, proof->image_sha256, &found)) {
		prove_made_cubin(provenance, &found, proof);
	} else if (compiler && kgb_compiler_undecided(compiler, why)) {
		proof->kind = KGB_PROOF_UNDECIDED;
		give_reason(proof, "it may be code that the judge could not compile: %s", why);
	} else {
		give_reason(proof, "the judge's compiler did not make it");
	}
}

/* The kernel and the assembly in the module that our front end made. */
static void take_module(struct kgb_provenance *provenance, const struct kgb_recompiled *made,
			struct kgb_image_proof *proof)
{
	const char *name = kgb_json_str(made->facts, "name", NULL);
	const char *no_gpu = kgb_json_str(made->facts, "no_gpu", NULL);
	const cJSON *n_asm = kgb_json_get(made->facts, "asm");

	if (!name || !cJSON_IsNumber(n_asm)) {
		give_reason(proof, "the compiler's facts are broken");
		return;
	}
	const char **names = kgb_arena_alloc(&provenance->arena, sizeof(*names));
	names[0] = kgb_arena_strdup(&provenance->arena, name);
	proof->kind = KGB_PROOF_TRITON;
	proof->is_text = true;
	proof->name = names[0];
	proof->kernels = (struct kgb_cubin_names){.items = names, .n = 1};
	proof->no_gpu = no_gpu ? kgb_arena_strdup(&provenance->arena, no_gpu) : NULL;
	proof->n_inline_asm = n_asm->valueint > 0 ? (size_t)n_asm->valueint : 0;
}

static void prove_text(struct kgb_provenance *provenance, const struct kgb_cpu_image *image,
		       struct kgb_image_proof *proof)
{
	const struct kgb_recompiled *made = make_from_text(provenance, image, proof);

	if (made)
		take_module(provenance, made, proof);
}

/* False: the image is no text; the proof has the reason. */
static bool prove_on_cpu(struct kgb_provenance *provenance, const struct kgb_image *image,
			 struct kgb_image_proof *proof)
{
	struct kgb_cpu_image split;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_cpu_image_split(image, &split, &err) < 0)
		return give_reason(proof, "%.300s", err.msg);
	if (split.is_torch) {
		proof->kind = KGB_PROOF_MOVES;
		proof->name = "torch";
	} else {
		prove_text(provenance, &split, proof);
	}
	return true;
}

static void prove_on_gpu(struct kgb_provenance *provenance, const struct kgb_image *image,
			 struct kgb_image_proof *proof)
{
	const char *library = kgb_image_index_find(provenance->spec.index, proof->image_sha256);

	if (library) {
		proof->kind = KGB_PROOF_LIBRARY;
		proof->name = kgb_arena_strdup(&provenance->arena, library);
	} else if (kgb_elf_is(image->bytes, image->len)) {
		prove_cubin(provenance, proof);
	} else if (!prove_on_cpu(provenance, image, proof)) {
		give_reason(proof, "%s",
			    kgb_fatbin_size(image->bytes, image->len) > 0
				    ? "no library of the judge holds this fatbin"
				    : "neither a cubin nor a fatbin");
	}
}

static struct kgb_image_proof *find(const struct kgb_provenance *provenance,
				    const char *image_sha256)
{
	for (size_t i = 0; i < provenance->n_proofs; i++)
		if (kgb_str_eq(provenance->proofs[i]->image_sha256, image_sha256))
			return provenance->proofs[i];
	return NULL;
}

static int prove_image(struct kgb_provenance *provenance, struct kgb_image *image,
		       struct kgb_err *err)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_image_sha256(image, hex);
	struct kgb_image_proof *proof = find(provenance, hex);
	if (!proof) {
		if (provenance->n_proofs == KGB_PROVENANCE_IMAGES_MAX)
			return kgb_fail(err, KGB_ERR_LIMIT,
					"provenance of image %u: more than %d different images",
					image->id, KGB_PROVENANCE_IMAGES_MAX);
		proof = kgb_arena_alloc(&provenance->arena, sizeof(*proof));
		memcpy(proof->image_sha256, hex, sizeof(hex));
		proof->kind = KGB_PROOF_NONE;
		proof->name = "";
		if (provenance->spec.index)
			prove_on_gpu(provenance, image, proof);
		else
			(void)prove_on_cpu(provenance, image, proof);
		provenance->proofs[provenance->n_proofs++] = proof;
	}
	image->proof = proof;
	return 0;
}

int kgb_provenance_prove(struct kgb_provenance *provenance, const struct kgb_record *record,
			 struct kgb_err *err)
{
	for (size_t i = 0; i < record->n_images; i++)
		if (prove_image(provenance, &record->images[i], err) < 0)
			return -1;
	return 0;
}

/* ---- machine code of kernels that a record names by their IR ---- */

/* The options of a launch, as a JSON object; NULL: the claims are broken. The caller frees it with
 * cJSON_free. */
static char *options_of(const struct kgb_cpu_image *image)
{
	KGB_AUTO(json) cJSON *claims = NULL;
	struct kgb_err ignored = KGB_ERR_INIT;

	if (kgb_json_parse(image->claims, image->claims_len, &claims, &ignored) < 0)
		return NULL;
	const cJSON *options = kgb_json_get(claims, "options");
	return cJSON_IsObject(options) ? cJSON_PrintUnformatted(options) : NULL;
}

/* The sizes of the parameters. False: one has no fixed size, or the facts are broken. */
static bool take_params(struct kgb_arena *arena, const cJSON *facts, struct kgb_launch_code *code)
{
	const cJSON *params = kgb_json_get(facts, "params"), *bytes;
	const int n = cJSON_IsArray(params) ? cJSON_GetArraySize(params) : -1;

	if (n < 0 || (size_t)n > KGB_LAUNCH_PARAMS_MAX / sizeof(uint64_t))
		return false;
	uint8_t *out = kgb_arena_alloc(arena, (size_t)n + 1);
	code->param_bytes = out;
	cJSON_ArrayForEach(bytes, params) {
		const double value = cJSON_IsNumber(bytes) ? bytes->valuedouble : 0;
		if (value != 1 && value != 2 && value != 4 && value != 8)
			return false;
		out[code->n_params++] = (uint8_t)value;
	}
	return true;
}

/* Check the code as that of a runner's request is checked, and keep it. The proof has the reason if
 * it may not run. */
static void take_code(struct kgb_provenance *provenance, const struct kgb_recompiled *made,
		      struct kgb_image_proof *proof)
{
	struct kgb_launch_code code = {.cubin = made->code, .len = made->len};
	const int64_t n_warps = kgb_json_i64(made->facts, "metadata.num_warps", 0);
	const int64_t shared = kgb_json_i64(made->facts, "metadata.shared", -1);
	struct kgb_cubin cubin;
	struct kgb_err err = KGB_ERR_INIT;
	bool is_good = false;

	if (kgb_cubin_read(made->code, made->len, &provenance->arena, &cubin, &err) < 0)
		give_reason(proof, "%.300s", err.msg);
	else if (!kgb_cubin_names_has(&cubin.kernels, proof->name))
		give_reason(proof, "the code of its IR holds no kernel of its name");
	else if (n_warps < 1 || n_warps > 32 || shared < 0 || shared > UINT32_MAX ||
		 !take_params(&provenance->arena, made->facts, &code))
		give_reason(proof, "the compiler's facts are broken");
	else
		is_good = is_allowed(proof, provenance->spec.policy, made->facts, &cubin);
	if (!is_good) {
		proof->kind = KGB_PROOF_NONE;
		return;
	}
	code.n_threads = 32 * (uint32_t)n_warps;
	code.shared_bytes = (uint32_t)shared;
	proof->code = code;
	proof->has_code = true;
}

static enum kgb_recompile_end make_code(struct kgb_provenance *provenance,
					const struct kgb_image *image,
					struct kgb_image_proof *proof, char why[KGB_RECOMPILE_WHY])
{
	struct kgb_cpu_image split;
	struct kgb_err ignored = KGB_ERR_INIT;
	const struct kgb_recompiled *made = NULL;
	const int rc = kgb_cpu_image_split(image, &split, &ignored);

	KGB_ASSERT(rc == 0); /* its proof was made from it */
	char *options = options_of(&split);
	const struct kgb_triton_source source = {
		.kind = KGB_SOURCE_IR,
		.text = split.module,
		.text_len = split.module_len,
		.options = options ? options : "{}",
		.options_len = options ? strlen(options) : 2,
		.sm = provenance->spec.sm,
	};
	enum kgb_recompile_end end =
		kgb_compiler_make(provenance->spec.compiler, &source, &made, why);
	if (end == KGB_RECOMPILE_DONE) {
		const size_t n_inline_asm = proof->n_inline_asm;
		take_code(provenance, made, proof);
		proof->n_inline_asm = n_inline_asm; /* counted from the source already */
	}
	cJSON_free(options);
	return end;
}

enum kgb_recompile_end kgb_provenance_make_code(struct kgb_provenance *provenance,
						const struct kgb_record *record,
						const struct kgb_window *window,
						char why[KGB_RECOMPILE_WHY])
{
	for (size_t i = 0; i < window->n_ops; i++) {
		if (window->ops[i].kind != KGB_OP_LAUNCH)
			continue;
		const struct kgb_image *image =
			kgb_record_image(record, window->ops[i].launch.image);
		struct kgb_image_proof *proof = find(provenance, image->proof->image_sha256);
		if (proof->kind != KGB_PROOF_TRITON || !proof->is_text || proof->has_code)
			continue;
		enum kgb_recompile_end end = make_code(provenance, image, proof, why);
		if (end != KGB_RECOMPILE_DONE)
			return end;
	}
	return KGB_RECOMPILE_DONE;
}

const struct kgb_launch_code *kgb_provenance_code(const struct kgb_image *image)
{
	return image->proof && image->proof->has_code ? &image->proof->code : NULL;
}

int64_t kgb_provenance_n_inline(const struct kgb_provenance *provenance)
{
	int64_t n = 0;

	for (size_t i = 0; i < provenance->n_proofs; i++)
		n += provenance->proofs[i]->kind == KGB_PROOF_TRITON &&
		     provenance->proofs[i]->n_inline_asm > 0;
	return n;
}

const struct kgb_image_proof *kgb_provenance_unfit(const struct kgb_record *record)
{
	for (size_t i = 0; i < record->n_images; i++) {
		const struct kgb_image_proof *proof = record->images[i].proof;
		if (proof && proof->no_gpu)
			return proof;
	}
	return NULL;
}

const char *kgb_provenance_reason(const struct kgb_record *record, enum kgb_proof_kind kind)
{
	for (size_t i = 0; i < record->n_images; i++) {
		const struct kgb_image_proof *proof = record->images[i].proof;
		if (proof && proof->kind == kind)
			return proof->reason;
	}
	return NULL;
}

enum kgb_owner kgb_provenance_owner(const struct kgb_image *image, const char *kernel,
				    const void *payload)
{
	const struct kgb_provenance *provenance = payload;
	const struct kgb_image_proof *proof = image->proof;

	if (!proof)
		return KGB_OWNER_UNKNOWN;
	switch (proof->kind) {
	case KGB_PROOF_TRITON:
		return kgb_cubin_names_has(&proof->kernels, kernel) ? KGB_OWNER_TRITON
								    : KGB_OWNER_UNKNOWN;
	case KGB_PROOF_LIBRARY:
		return kgb_device_policy_move(provenance->spec.policy, kernel)
			       ? KGB_OWNER_TORCH_MOVE
			       : KGB_OWNER_LIBRARY;
	case KGB_PROOF_MOVES:
		return kgb_str_eq(kernel, KGB_TORCH_FILL) || kgb_str_eq(kernel, KGB_TORCH_COPY)
			       ? KGB_OWNER_TORCH_MOVE
			       : KGB_OWNER_UNKNOWN;
	case KGB_PROOF_NONE:
		return KGB_OWNER_UNKNOWN;
	case KGB_PROOF_UNDECIDED:
		return KGB_OWNER_UNDECIDED;
	}
	KGB_UNREACHABLE();
}
