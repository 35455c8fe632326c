/* SPDX-License-Identifier: MIT */
#include "verify/provenance/provenance.h"

#include <stdio.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/str.h"
#include "base/time.h"
#include "verify/provenance/compiler.h"
#include "verify/provenance/elf64.h"
#include "verify/provenance/fatbin.h"
#include "verify/provenance/proof_cache.h"
#include "verify/provenance/recompile.h"

enum {
	/* Warp specialization has a few results for the same input; each is as good as another. */
	ATTEMPTS = 8,
	CLAIMS_PER_IMAGE = 4,
};

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

/* Returns false. */
static bool give_reason(struct kgb_image_proof *proof, const char *fmt, ...) KGB_PRINTF(2, 3);
static bool give_reason(struct kgb_image_proof *proof, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(proof->reason, sizeof(proof->reason), fmt, ap);
	va_end(ap);
	return false;
}

/* ---- what the IR of a claim may contain ---- */

/* ptxas calls a variable that is declared inside of a function like this. Triton declares none. */
#define OF_FUNCTION_SCOPE "$__"

/* Could this piece of inline assembly use the variable? PTX has no way to spell a name but the
 * name. */
static bool asm_may_use(const char *text, const char *variable)
{
	return kgb_str_starts(variable, OF_FUNCTION_SCOPE) || strstr(text, variable) != NULL;
}

/* Counts the texts that a kernel's author wrote in PTX. False when one of them uses a variable of
 * the module: it could keep data from one launch to the next there. */
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

static bool claim_is_allowed(const struct kgb_provenance *provenance, struct kgb_image_proof *proof,
			     const cJSON *facts, const struct kgb_cubin *cubin)
{
	const struct kgb_device_policy *policy = provenance->spec.policy;

	proof->n_inline_asm = 0; /* another attempt may have counted */
	if (cubin->kernels.n != 1)
		return give_reason(proof, "it holds %zu kernels", cubin->kernels.n);
	if (cubin->zeroed_bytes > 0)
		return give_reason(proof,
				   "it keeps %llu bytes of its own from one launch to the next",
				   (unsigned long long)cubin->zeroed_bytes);
	return operators_are_allowed(proof, policy, kgb_json_get(facts, "ops")) &&
	       asm_is_stateless(proof, kgb_json_get(facts, "asm"), cubin) &&
	       imports_are_allowed(proof, policy, &cubin->imports);
}

/* ---- proof by compilation ---- */

/* An image on its way to a proof. */
struct job {
	struct kgb_provenance *provenance;
	const struct kgb_image *image;
	struct kgb_image_proof *proof;
	struct kgb_cubin cubin; /* of the image */
	const struct kgb_triton_claim *claims; /* about it */
	size_t n_claims;
	struct kgb_worker worker; /* of the claim that is tried */
	int64_t deadline_ms;
};

static int start_worker(struct job *job, struct kgb_err *err)
{
	kgb_worker_stop(&job->worker);
	job->deadline_ms = kgb_mono_ms() + job->provenance->spec.timeout_ms;
	return kgb_recompile_start(&job->worker, job->provenance->spec.compiler, err);
}

/* What we compiled, compared with what was launched. 1: the same, and it is decided whether that is
 * allowed. 0: something else. */
static int compare(struct job *job, const struct kgb_triton_claim *claim,
		   const struct kgb_recompiled *ours)
{
	struct kgb_arena *arena = &job->provenance->arena;
	struct kgb_image_proof *proof = job->proof;
	struct kgb_cubin cubin;
	struct kgb_err read_err = KGB_ERR_INIT;

	if (kgb_cubin_read(ours->cubin, ours->len, arena, &cubin, &read_err) < 0) {
		give_reason(proof, "its IR compiles to something else: %.200s", read_err.msg);
		return 0;
	}
	if (!kgb_str_eq(cubin.load_sha256, job->cubin.load_sha256)) {
		give_reason(proof, "its IR compiles to other %s than was launched",
			    kgb_str_eq(cubin.code_sha256, job->cubin.code_sha256)
				    ? "resources or data"
				    : "code");
		return 0;
	}
	if (!claim_is_allowed(job->provenance, proof, ours->facts, &cubin))
		return 1;
	unsigned char *copy = kgb_arena_alloc(arena, ours->len);
	memcpy(copy, ours->cubin, ours->len);
	proof->kind = KGB_PROOF_TRITON;
	proof->name = kgb_arena_strdup(arena, claim->name);
	proof->cubin = copy;
	proof->cubin_len = ours->len;
	proof->kernels = cubin.kernels;
	proof->reason[0] = '\0';
	return 1;
}

/* A compiler that crashes is asked once more: hostile text crashes it again, a fault of ours does
 * not. */
static int ask(struct job *job, const struct kgb_triton_claim *claim, struct kgb_recompiled *out,
	       char why[KGB_RECOMPILE_WHY], struct kgb_err *err)
{
	const unsigned sm = job->provenance->spec.sm;
	int rc = kgb_recompile_ask(&job->worker, claim, sm, job->deadline_ms, out, why, err);

	if (rc != KGB_RECOMPILE_CRASHED)
		return rc;
	if (start_worker(job, err) < 0)
		return -1;
	return kgb_recompile_ask(&job->worker, claim, sm, job->deadline_ms, out, why, err);
}

/* 1: decided. 0: another claim may prove the image; *undecided when this one was not tried to its
 * end. -1: a fault of ours. */
static int try_claim(struct job *job, const struct kgb_triton_claim *claim, bool *undecided,
		     struct kgb_err *err)
{
	const struct kgb_provenance_spec *spec = &job->provenance->spec;
	const int n = kgb_triton_claim_has_one_result(claim) ? 1 : ATTEMPTS;
	int rc = start_worker(job, err);

	for (int i = 0; i < n && rc == 0; i++) {
		KGB_AUTO(recompiled) struct kgb_recompiled ours = KGB_RECOMPILED_INIT;
		char why[KGB_RECOMPILE_WHY];
		rc = ask(job, claim, &ours, why, err);
		if (rc < 0)
			return -1;
		if (rc != KGB_RECOMPILE_DONE) {
			give_reason(job->proof, "its IR does not compile here: %s", why);
			*undecided |= rc == KGB_RECOMPILE_UNDECIDED;
			return 0;
		}
		rc = compare(job, claim, &ours);
		if (job->proof->kind == KGB_PROOF_TRITON && spec->cache)
			kgb_proof_keep(spec->cache, &job->provenance->kept_bytes, claim, spec->sm,
				       job->worker.identity, &ours);
	}
	return rc;
}

/* An earlier verification may have compiled one of the claims. What proves nothing now is compiled
 * again: only a compilation gives the cause. */
static bool recall_proof(struct job *job)
{
	const struct kgb_provenance_spec *spec = &job->provenance->spec;

	for (size_t i = 0; i < job->n_claims && spec->cache; i++) {
		KGB_AUTO(recompiled) struct kgb_recompiled ours = KGB_RECOMPILED_INIT;
		if (kgb_proof_recall(spec->cache, &job->claims[i], spec->sm,
				     spec->compiler->identity, &ours) &&
		    compare(job, &job->claims[i], &ours) == 1 &&
		    job->proof->kind == KGB_PROOF_TRITON) {
			job->provenance->n_recalled++;
			return true;
		}
	}
	return false;
}

/* ---- one image ---- */

static int try_claims(struct job *job, struct kgb_err *err)
{
	bool undecided = false;
	int rc = 0;

	for (size_t i = 0; i < job->n_claims && rc == 0; i++)
		rc = try_claim(job, &job->claims[i], &undecided, err);
	/* A false claim does not disprove another one. */
	if (rc == 0 && undecided)
		job->proof->kind = KGB_PROOF_UNDECIDED;
	return rc < 0 ? -1 : 0;
}

static int prove_cubin(struct job *job, const struct kgb_triton_claims *claims, struct kgb_err *err)
{
	static const struct kgb_triton_claim no_claim = {.name = "", .ttir = ""};
	struct kgb_provenance *provenance = job->provenance;
	struct kgb_compiler *maker = provenance->spec.maker;
	const struct kgb_recompiled *made =
		maker ? kgb_compiler_find(maker, job->proof->image_sha256) : NULL;
	struct kgb_err read_err = KGB_ERR_INIT;
	size_t n;

	if (kgb_cubin_read(job->image->bytes, job->image->len, &provenance->arena, &job->cubin,
			   &read_err) < 0) {
		give_reason(job->proof, "%.300s", read_err.msg);
		return 0;
	}
	if (job->cubin.sm != provenance->spec.sm) {
		give_reason(job->proof, "it is code for sm_%u, this GPU is sm_%u", job->cubin.sm,
			    provenance->spec.sm);
		return 0;
	}
	if (made) {
		(void)compare(job, &no_claim, made);
		return 0;
	}
	job->claims = kgb_triton_claims_find(claims, job->proof->image_sha256, &n);
	job->n_claims = n < CLAIMS_PER_IMAGE ? n : CLAIMS_PER_IMAGE;
	if (n == 0)
		give_reason(job->proof, "the candidate's Triton cache does not hold it");
	return recall_proof(job) ? 0 : try_claims(job, err);
}

static int prove(struct job *job, const struct kgb_triton_claims *claims, struct kgb_err *err)
{
	struct kgb_image_proof *proof = job->proof;
	const struct kgb_image *image = job->image;
	const char *library =
		kgb_image_index_find(job->provenance->spec.index, proof->image_sha256);

	proof->kind = KGB_PROOF_NONE;
	proof->name = "";
	if (library) {
		proof->kind = KGB_PROOF_LIBRARY;
		proof->name = kgb_arena_strdup(&job->provenance->arena, library);
		return 0;
	}
	if (kgb_elf_is(image->bytes, image->len))
		return prove_cubin(job, claims, err);
	give_reason(proof, "%s",
		    kgb_fatbin_size(image->bytes, image->len) > 0
			    ? "no library of the judge holds this fatbin"
			    : "neither a cubin nor a fatbin");
	return 0;
}

static struct kgb_image_proof *find(const struct kgb_provenance *provenance,
				    const char *image_sha256)
{
	for (size_t i = 0; i < provenance->n_proofs; i++)
		if (kgb_str_eq(provenance->proofs[i]->image_sha256, image_sha256))
			return provenance->proofs[i];
	return NULL;
}

bool kgb_provenance_knows(const struct kgb_provenance *provenance, const char *image_sha256)
{
	return find(provenance, image_sha256) != NULL;
}

int kgb_provenance_prove_image(struct kgb_provenance *provenance, struct kgb_image *image,
			       const struct kgb_triton_claims *claims, struct kgb_err *err)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_image_sha256(image, hex);
	struct kgb_image_proof *proof = find(provenance, hex);
	if (!proof) {
		if (provenance->n_proofs == KGB_PROVENANCE_IMAGES_MAX)
			return kgb_fail(err, KGB_ERR_LIMIT,
					"provenance of more than %d different images",
					KGB_PROVENANCE_IMAGES_MAX);
		proof = kgb_arena_alloc(&provenance->arena, sizeof(*proof));
		memcpy(proof->image_sha256, hex, sizeof(hex));
		struct job job = {.provenance = provenance,
				  .image = image,
				  .proof = proof,
				  .worker = KGB_WORKER_INIT};
		const int rc = prove(&job, claims, err);
		kgb_worker_stop(&job.worker);
		if (rc < 0)
			return kgb_ctx(err, "provenance of image %u", image->id);
		provenance->proofs[provenance->n_proofs++] = proof;
	}
	image->proof = proof;
	return 0;
}

int kgb_provenance_prove(struct kgb_provenance *provenance, const struct kgb_record *record,
			 const struct kgb_triton_claims *claims, struct kgb_err *err)
{
	for (size_t i = 0; i < record->n_images; i++)
		if (kgb_provenance_prove_image(provenance, &record->images[i], claims, err) < 0)
			return -1;
	return 0;
}

int64_t kgb_provenance_n_inline(const struct kgb_provenance *provenance)
{
	int64_t n = 0;

	for (size_t i = 0; i < provenance->n_proofs; i++)
		n += provenance->proofs[i]->kind == KGB_PROOF_TRITON &&
		     provenance->proofs[i]->n_inline_asm > 0;
	return n;
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

struct kgb_image kgb_provenance_code(const struct kgb_image *image)
{
	const struct kgb_image_proof *proof = image->proof;

	if (!proof || proof->kind != KGB_PROOF_TRITON)
		return *image;
	return (struct kgb_image){
		.id = image->id, .bytes = proof->cubin, .len = proof->cubin_len, .proof = proof};
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
	case KGB_PROOF_NONE:
		return KGB_OWNER_UNKNOWN;
	case KGB_PROOF_UNDECIDED:
		return KGB_OWNER_UNDECIDED;
	}
	KGB_UNREACHABLE();
}
