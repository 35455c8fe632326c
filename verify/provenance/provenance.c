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
	JOBS_AT_ONCE = 8,
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
	provenance->n_records = 0;
}

static void give_reason(struct kgb_image_proof *proof, const char *fmt, ...) KGB_PRINTF(2, 3);
static void give_reason(struct kgb_image_proof *proof, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(proof->reason, sizeof(proof->reason), fmt, ap);
	va_end(ap);
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

	if (!cJSON_IsArray(texts)) {
		give_reason(proof, "the compiler's facts are broken");
		return false;
	}
	cJSON_ArrayForEach(text, texts) {
		if (!cJSON_IsString(text)) {
			give_reason(proof, "the compiler's facts are broken");
			return false;
		}
		for (size_t i = 0; i < cubin->variables.n; i++) {
			char brief[KGB_BRIEF_LEN];
			if (!asm_may_use(text->valuestring, cubin->variables.items[i]))
				continue;
			give_reason(
				proof,
				"inline assembly uses the variable '%s', which outlives a launch",
				kgb_brief(cubin->variables.items[i], brief));
			return false;
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

	if (!cJSON_IsObject(operators) || !operators->child) {
		give_reason(proof, "the compiler's facts are broken");
		return false;
	}
	cJSON_ArrayForEach(operator, operators) {
		if (kgb_device_policy_operator(policy, operator->string))
			continue;
		give_reason(proof, "its IR contains '%s', which no Triton source makes",
			    kgb_brief(operator->string, brief));
		return false;
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
		give_reason(proof, "it calls the driver's '%s'",
			    kgb_brief(imports->items[i], brief));
		return false;
	}
	return true;
}

static bool claim_is_allowed(const struct kgb_provenance *provenance, struct kgb_image_proof *proof,
			     const cJSON *facts, const struct kgb_cubin *cubin)
{
	const struct kgb_device_policy *policy = provenance->spec.policy;

	proof->n_inline_asm = 0; /* another attempt may have counted */
	if (cubin->kernels.n != 1) {
		give_reason(proof, "it holds %zu kernels", cubin->kernels.n);
		return false;
	}
	if (cubin->zeroed_bytes > 0) {
		give_reason(proof, "it keeps %llu bytes of its own from one launch to the next",
			    (unsigned long long)cubin->zeroed_bytes);
		return false;
	}
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
	int output_fd;
	int64_t deadline_ms;
	bool is_undecided; /* one of the claims could not be tried to its end */
};

static int ask(struct job *job, const struct kgb_triton_claim *claim, struct kgb_err *err)
{
	kgb_close(job->output_fd);
	job->output_fd = -1;
	return kgb_recompile_send(&job->worker, claim, job->provenance->spec.sm, &job->output_fd,
				  err);
}

static int start_claim(struct job *job, const struct kgb_triton_claim *claim, struct kgb_err *err)
{
	kgb_worker_stop(&job->worker);
	job->deadline_ms = kgb_mono_ms() + job->provenance->spec.timeout_ms;
	if (kgb_recompile_start(&job->worker, job->provenance->spec.compiler, err) < 0)
		return -1;
	return ask(job, claim, err);
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

/* The answer to what was asked. What crashes the compiler is asked once more: the same text does so
 * again, trouble of ours does not. */
static int await_answer(struct job *job, const struct kgb_triton_claim *claim,
			struct kgb_recompiled *out, char why[KGB_RECOMPILE_WHY],
			struct kgb_err *err)
{
	int rc = kgb_recompile_wait(&job->worker, job->output_fd, job->deadline_ms, out, why, err);

	if (rc != KGB_RECOMPILE_CRASHED)
		return rc;
	if (start_claim(job, claim, err) < 0)
		return -1;
	return kgb_recompile_wait(&job->worker, job->output_fd, job->deadline_ms, out, why, err);
}

/* The claim was asked for once. 1 decided, 0 another claim may do, -1 our own trouble. */
static int try_claim(struct job *job, const struct kgb_triton_claim *claim, struct kgb_err *err)
{
	const int n = kgb_triton_claim_has_one_result(claim) ? 1 : ATTEMPTS;
	int rc = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		KGB_AUTO(recompiled) struct kgb_recompiled ours = KGB_RECOMPILED_INIT;
		char why[KGB_RECOMPILE_WHY];
		if (i > 0 && ask(job, claim, err) < 0)
			return -1;
		rc = await_answer(job, claim, &ours, why, err);
		if (rc < 0)
			return -1;
		if (rc != KGB_RECOMPILE_DONE) {
			give_reason(job->proof, "its IR does not compile here: %s", why);
			job->is_undecided |= rc == KGB_RECOMPILE_UNDECIDED;
			return 0;
		}
		rc = compare(job, claim, &ours);
		if (job->proof->kind == KGB_PROOF_TRITON && job->provenance->spec.cache)
			kgb_proof_keep(job->provenance->spec.cache, &job->provenance->kept_bytes,
				       claim, job->provenance->spec.sm, job->worker.identity,
				       &ours);
	}
	return rc;
}

/* An earlier verification may have compiled one of the claims. What proves nothing now is compiled
 * again: only that can tell why. */
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

static int begin_cubin(struct job *job, const struct kgb_triton_claims *claims, struct kgb_err *err)
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
	if (n == 0) {
		give_reason(job->proof, "the candidate's Triton cache does not hold it");
		return 0;
	}
	job->n_claims = n < CLAIMS_PER_IMAGE ? n : CLAIMS_PER_IMAGE;
	if (recall_proof(job)) {
		job->n_claims = 0; /* nothing is left to try */
		return 0;
	}
	return start_claim(job, &job->claims[0], err);
}

/* All that needs no waiting. */
static int begin(struct job *job, const struct kgb_triton_claims *claims, struct kgb_err *err)
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
		return begin_cubin(job, claims, err);
	give_reason(proof, "%s",
		    kgb_fatbin_size(image->bytes, image->len) > 0
			    ? "no library of the judge holds this fatbin"
			    : "neither a cubin nor a fatbin");
	return 0;
}

static int finish(struct job *job, struct kgb_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < job->n_claims && rc == 0; i++) {
		if (i > 0 && start_claim(job, &job->claims[i], err) < 0)
			return -1;
		rc = try_claim(job, &job->claims[i], err);
	}
	/* Another claim may have been found false, which says nothing of this one. */
	if (rc == 0 && job->is_undecided)
		job->proof->kind = KGB_PROOF_UNDECIDED;
	return rc < 0 ? -1 : 0;
}

/* ---- records ---- */

struct jobs {
	struct job items[JOBS_AT_ONCE];
	size_t n;
};

/* Compilations run beside each other, each in a worker of its own. */
static int run(struct jobs *jobs, const struct kgb_triton_claims *claims, struct kgb_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < jobs->n && rc == 0; i++)
		if ((rc = begin(&jobs->items[i], claims, err)) < 0)
			kgb_ctx(err, "provenance of image %u", jobs->items[i].image->id);
	for (size_t i = 0; i < jobs->n; i++) {
		struct job *job = &jobs->items[i];
		if (rc == 0 && (rc = finish(job, err)) < 0)
			kgb_ctx(err, "provenance of image %u", job->image->id);
		kgb_worker_stop(&job->worker);
		kgb_close(job->output_fd);
	}
	jobs->n = 0;
	return rc;
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

/* The image's proof: an earlier one, or an empty one and a job that will fill it. NULL: too many.
 */
static struct kgb_image_proof *find_or_add(struct kgb_provenance *provenance,
					   const struct kgb_image *image, struct jobs *jobs)
{
	char hex[KGB_SHA256_HEX_LEN];

	kgb_image_sha256(image, hex);
	struct kgb_image_proof *proof = find(provenance, hex);
	if (proof)
		return proof;
	if (provenance->n_proofs == KGB_PROVENANCE_IMAGES_MAX)
		return NULL;
	proof = kgb_arena_alloc(&provenance->arena, sizeof(*proof));
	memcpy(proof->image_sha256, hex, sizeof(hex));
	provenance->proofs[provenance->n_proofs++] = proof;
	jobs->items[jobs->n++] = (struct job){.provenance = provenance,
					      .image = image,
					      .proof = proof,
					      .worker = KGB_WORKER_INIT,
					      .output_fd = -1};
	return proof;
}

static int prove_images(struct kgb_provenance *provenance, const struct kgb_image *const *images,
			size_t n, const struct kgb_triton_claims *claims,
			const struct kgb_image_proof **proofs, struct kgb_err *err)
{
	KGB_AUTO(free) struct jobs *jobs = kgb_xcalloc(1, sizeof(*jobs));
	const size_t n_before = provenance->n_proofs;

	for (size_t i = 0; i < n; i++) {
		proofs[i] = find_or_add(provenance, images[i], jobs);
		if (!proofs[i]) {
			(void)kgb_fail(err, KGB_ERR_LIMIT,
				       "provenance of more than %d different images",
				       KGB_PROVENANCE_IMAGES_MAX);
			break;
		}
		if ((jobs->n == JOBS_AT_ONCE || i + 1 == n) && run(jobs, claims, err) < 0)
			break;
		if (i + 1 == n)
			return 0;
	}
	if (n == 0)
		return 0;
	provenance->n_proofs = n_before; /* some are half done */
	return -1;
}

static const struct kgb_image **images_of(struct kgb_provenance *provenance,
					  const struct kgb_record *record)
{
	const struct kgb_image **images = kgb_arena_array(&provenance->arena, record->n_images + 1,
							  sizeof(struct kgb_image *));

	for (size_t i = 0; i < record->n_images; i++)
		images[i] = &record->images[i];
	return images;
}

int kgb_provenance_prove_ahead(struct kgb_provenance *provenance,
			       const struct kgb_image *const *images, size_t n,
			       const struct kgb_triton_claims *claims, struct kgb_err *err)
{
	KGB_AUTO(free)
	const struct kgb_image_proof **proofs =
		kgb_xcalloc(n + 1, sizeof(struct kgb_image_proof *));

	return prove_images(provenance, images, n, claims, proofs, err);
}

int kgb_provenance_prove(struct kgb_provenance *provenance, const struct kgb_record *record,
			 const struct kgb_triton_claims *claims, struct kgb_err *err)
{
	if (provenance->n_records == KGB_PROVENANCE_RECORDS_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "provenance of more than %d records",
				KGB_PROVENANCE_RECORDS_MAX);
	struct kgb_proved_record *proved = &provenance->records[provenance->n_records];
	const struct kgb_image_proof **proofs = kgb_arena_array(
		&provenance->arena, record->n_images + 1, sizeof(struct kgb_image_proof *));
	if (prove_images(provenance, images_of(provenance, record), record->n_images, claims,
			 proofs, err) < 0)
		return -1;
	*proved = (struct kgb_proved_record){
		.images = record->images, .n_images = record->n_images, .proofs = proofs};
	provenance->n_records++;
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

void kgb_provenance_forget(struct kgb_provenance *provenance, const struct kgb_record *record)
{
	for (size_t i = provenance->n_records; i-- > 0;)
		if (provenance->records[i].images == record->images)
			provenance->records[i] = provenance->records[--provenance->n_records];
}

const struct kgb_image_proof *kgb_provenance_of(const struct kgb_provenance *provenance,
						const struct kgb_image *image)
{
	const uintptr_t at = (uintptr_t)image;

	for (size_t i = 0; i < provenance->n_records; i++) {
		const struct kgb_proved_record *record = &provenance->records[i];
		const uintptr_t first = (uintptr_t)record->images;
		if (at >= first && at < first + record->n_images * sizeof(*image))
			return record->proofs[(at - first) / sizeof(*image)];
	}
	return NULL;
}

const char *kgb_provenance_reason(const struct kgb_provenance *provenance,
				  const struct kgb_record *record, enum kgb_proof_kind kind)
{
	for (size_t i = 0; i < record->n_images; i++) {
		const struct kgb_image_proof *proof =
			kgb_provenance_of(provenance, &record->images[i]);
		if (proof && proof->kind == kind)
			return proof->reason;
	}
	return NULL;
}

struct kgb_image kgb_provenance_code(const struct kgb_provenance *provenance,
				     const struct kgb_image *image)
{
	const struct kgb_image_proof *proof = kgb_provenance_of(provenance, image);

	if (!proof || proof->kind != KGB_PROOF_TRITON)
		return *image;
	return (struct kgb_image){.id = image->id, .bytes = proof->cubin, .len = proof->cubin_len};
}

enum kgb_owner kgb_provenance_owner(const struct kgb_image *image, const char *kernel,
				    const void *payload)
{
	const struct kgb_provenance *provenance = payload;
	const struct kgb_image_proof *proof = kgb_provenance_of(provenance, image);

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
