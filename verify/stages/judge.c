/* SPDX-License-Identifier: MIT */
#include "verify/stages/stages.h"

#include <fcntl.h>

#include "base/formats/yaml.h"
#include "base/limits.h"
#include "base/system/cache_dir.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "verify/ablation/ablation.h"
#include "verify/lane/truth_cache.h"
#include "verify/provenance/compiler.h"
#include "verify/provenance/proof_cache.h"
#include "verify/replay/replay.h"
#include "verify/stages/benchmark.h"
#include "verify/stages/gpu_health.h"
#include "verify/stages/lanes.h"

enum {
	READY_MS = 120 * 1000,
	FURTHER_ROUNDS_MAX = 3, /* of drawn cases, for conditions that lack an outcome */
};

/* verify/policy/dispatch.yaml: {allow: [names]} */
static int load_dispatch_policy(struct kgb_judge *judge, struct kgb_err *err)
{
	static const char *const keys[] = {"allow", "allow_by_data"};
	const size_t n_keys = judge->spec.launches == KGB_LAUNCHES_BY_DATA ? 2 : 1;
	KGB_AUTO(free)
	char *path = kgb_path_join(judge->options->data_dir, "verify/policy/dispatch.yaml");
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	const cJSON *name;

	if (kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0)
		return -1;
	for (size_t i = 0; i < n_keys; i++) {
		const cJSON *allow = kgb_json_get(doc.root, keys[i]);
		if (!cJSON_IsArray(allow))
			return kgb_fail(err, KGB_ERR_INVALID,
					"%s: '%s' must be a list of torch operators", path,
					keys[i]);
		cJSON_ArrayForEach(name, allow) {
			if (!cJSON_IsString(name))
				return kgb_yaml_fail(&doc, name, err, "%s: not a name", keys[i]);
			kgb_strv_add(&judge->allowed_ops, name->valuestring);
		}
	}
	return 0;
}

static int load_inputs(struct kgb_judge *judge, const struct kgb_seed *seed, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *policy = kgb_path_join(judge->options->data_dir, "verify/policy/l1.yaml");

	if (kgb_spec_load(judge->options->request.spec, &judge->spec, err) < 0)
		return -1;
	if (kgb_cases_expand(&judge->spec, seed, &judge->cases, err) < 0 ||
	    kgb_l1_load(policy, &judge->l1, err) < 0 || load_dispatch_policy(judge, err) < 0)
		return -1;
	return 0;
}

/* Add the judge's cases to those that the verdict counts. */
static void count_cases(const struct kgb_judge *judge, struct kgb_verdict *verdict)
{
	verdict->total_tests += (int64_t)judge->cases.n;
	for (size_t i = 0; i < judge->cases.n; i++) {
		const struct kgb_case *c = &judge->cases.items[i];
		struct kgb_interface_count *count =
			&verdict->interfaces[c->interface - judge->spec.interfaces];
		count->total++;
		verdict->drawn_tests += c->is_drawn;
		count->tiers[c->tier].total++;
		count->modes[c->mode].total++;
		count->dtypes[c->dtype].total++;
	}
}

/* Draw the cases again, with the numbers of the text. 0, -1 *err. */
static int draw_numbers(struct kgb_judge *judge, struct kgb_verdict *verdict, struct kgb_err *err)
{
	struct kgb_cases cases;

	if (judge->numbers->n == 0)
		return 0;
	if (kgb_cases_expand_for(&judge->spec, &verdict->seed, judge->numbers, &cases, err) < 0)
		return -1;
	kgb_cases_release(&judge->cases);
	judge->cases = cases;
	verdict->total_tests = verdict->drawn_tests = 0;
	for (size_t i = 0; i < verdict->n_interfaces; i++)
		verdict->interfaces[i] =
			(struct kgb_interface_count){.entry = verdict->interfaces[i].entry};
	count_cases(judge, verdict);
	return 0;
}

/* 0 read, 1 decided (too large, or no regular file), -1 *err (a fault of the caller). */
static int read_kernel(struct kgb_judge *judge, struct kgb_lane *lane, struct kgb_err *err)
{
	KGB_AUTO(fd) int dir = -1;
	const char *path = judge->options->request.kernel;
	const char *slash = strrchr(path, '/');
	KGB_AUTO(free)
	char *dir_path = slash ? kgb_xstrndup(path, (size_t)(slash - path) + 1) : kgb_xstrdup(".");
	struct kgb_err read_err = KGB_ERR_INIT;

	if (kgb_fs_opendir(AT_FDCWD, dir_path, &dir, err) < 0)
		return -1;
	if (kgb_fs_read_untrusted(dir, slash ? slash + 1 : path, KGB_LIMIT_KERNEL, &judge->source,
				  &read_err) == 0) {
		kgb_sha256_hex(judge->source.ptr, judge->source.len, lane->verdict->kernel_sha256);
		return 0;
	}
	if (read_err.kind != KGB_ERR_LIMIT && read_err.kind != KGB_ERR_DENIED) {
		*err = read_err;
		return -1;
	}
	return kgb_lane_decide(lane, KGB_STAGE_CONTRACT,
			       read_err.kind == KGB_ERR_LIMIT ? KGB_CODE_CONTRACT_TOO_LARGE
							      : KGB_CODE_CONTRACT_NOT_A_FILE,
			       kgb_lane_text(lane,
					     "Write kernel.py as a regular file of at most %u KiB.",
					     KGB_LIMIT_KERNEL / 1024),
			       "%s", read_err.msg);
}

static int start_zygotes(struct kgb_judge *judge, struct kgb_err *err)
{
	const struct kgb_judge_options *options = judge->options;
	const struct kgb_zygote_spec spec = {.python = options->python,
					     .data_dir = options->data_dir,
					     .library = options->library,
					     .device = options->device,
					     .trace_library = options->trace_library,
					     .cupti = options->request.cupti};

	for (int role = 0; role < KGB_N_ROLES; role++) {
		struct kgb_zygote *zygote = &judge->zygotes[role];
		if (options->request.zygotes)
			kgb_zygote_use(zygote, (enum kgb_role)role, options->request.zygotes);
		else if (kgb_zygote_start(zygote, (enum kgb_role)role, &spec, err) < 0)
			return -1;
	}
	for (int role = 0; role < KGB_N_ROLES && !options->request.zygotes; role++)
		if (kgb_zygote_wait_ready(&judge->zygotes[role], READY_MS, err) < 0)
			return -1;
	return 0;
}

struct stage {
	enum kgb_stage number;
	int (*run)(struct kgb_lane *lane, struct kgb_err *err);
	enum kgb_code trouble; /* code of an error of the judge in this stage */
};

/* Why the stage does not apply; NULL: it does. */
static const char *reason_to_skip(const struct kgb_judge *judge, enum kgb_stage stage)
{
	if (stage == KGB_STAGE_L2 && judge->spec.triton == KGB_TRITON_NONE)
		return "the operator only rearranges metadata: no kernel is required";
	if (stage == KGB_STAGE_TIMING && !kgb_stage_timing_is_wanted(judge))
		return judge->options->request.timing ? "there is no GPU" : "not asked for";
	return NULL;
}

/* 0 to go on, 1 decided. */
static int run_stage(struct kgb_lane *lane, const struct stage *stage)
{
	struct kgb_stage_result *result = &lane->verdict->stages[stage->number];
	const char *reason = reason_to_skip(lane->judge, stage->number);
	const int64_t started_ms = kgb_mono_ms();
	struct kgb_err err = KGB_ERR_INIT;

	if (reason) {
		result->message = reason;
		return 0;
	}
	int rc = stage->run(lane, &err);
	result->wall_ms += kgb_mono_ms() - started_ms;
	if (rc == 0)
		result->status = KGB_STAGE_PASSED;
	if (rc < 0)
		kgb_verdict_decide_infra(lane->verdict, stage->number, stage->trouble, &err);
	return rc == 0 ? 0 : 1;
}

static const struct stage correctness = {KGB_STAGE_CORRECTNESS, kgb_stage_correctness,
					 KGB_CODE_INFRA_CORRECTNESS};

/* Judge further drawn cases, in place of the first ones, which are back afterwards. 0 to go on, 1
 * decided. */
static int judge_further(struct kgb_judge *judge, struct kgb_lane *lane, uint32_t round)
{
	const struct kgb_cases first = judge->cases;
	unsigned char *const may_be_sensitive = judge->may_be_sensitive;
	struct kgb_cases further;
	struct kgb_err err = KGB_ERR_INIT;
	int rc = 0;

	if (kgb_cases_expand_further(&judge->spec, &lane->verdict->seed, judge->numbers, round,
				     &further, &err) < 0) {
		kgb_verdict_decide_infra(lane->verdict, correctness.number, correctness.trouble,
					 &err);
		return 1;
	}
	judge->cases = further;
	judge->goes_outside = true;
	judge->may_be_sensitive = kgb_xcalloc(further.n + 1, 1);
	count_cases(judge, lane->verdict);
	if (further.n > 0)
		rc = run_stage(lane, &correctness);
	kgb_free(judge->may_be_sensitive);
	judge->may_be_sensitive = may_be_sensitive;
	judge->cases = first;
	kgb_cases_release(&further);
	return rc;
}

/* Draw further cases while a condition of a kernel lacks an outcome. 0 to go on, 1 decided. */
static int cover(struct kgb_judge *judge, struct kgb_lane *lane)
{
	struct kgb_conditions *conditions = &lane->verdict->conditions;

	for (uint32_t round = 1; kgb_conditions_count_uncovered(conditions) > 0; round++) {
		if (round > FURTHER_ROUNDS_MAX)
			return kgb_stage_correctness_refuse_uncovered(lane);
		if (judge_further(judge, lane, round) != 0)
			return 1;
	}
	return 0;
}

/* Run the stages that execute the candidate, on the GPU if there is one. */
static void run_candidate(struct kgb_judge *judge, struct kgb_lane *lane)
{
	static const struct stage stages[] = {
		{KGB_STAGE_L2, kgb_stage_ablation, KGB_CODE_INFRA_L2},
		{KGB_STAGE_TIMING, kgb_stage_timing, KGB_CODE_INFRA_TIMING},
	};
	struct kgb_stage_result *l3 = &lane->verdict->stages[KGB_STAGE_L3];

	if (run_stage(lane, &correctness) != 0 || cover(judge, lane) != 0)
		return;
	for (size_t i = 0; i < KGB_ARRAY_LEN(stages); i++)
		if (run_stage(lane, &stages[i]) != 0)
			return;
	/* Stage correctness proved for each case, before its replay, whose code every launch
	 * ran. */
	if (lane->judge->spec.triton != KGB_TRITON_NONE)
		l3->status = KGB_STAGE_PASSED;
	else
		l3->message = "the operator only rearranges metadata: nothing is traced";
}

static void run_stages(struct kgb_judge *judge, struct kgb_lane *lane)
{
	struct kgb_err err = KGB_ERR_INIT;
	static const struct stage text = {KGB_STAGE_CONTRACT, kgb_stage_static,
					  KGB_CODE_INFRA_FACTS};

	lane->verdict->platform = lane->judge->options->device == KGB_DEVICE_CPU ? "cpu" : "cuda";
	/* A refusal of the text needs no GPU, so nothing watches the GPU's health before. */
	if (run_stage(lane, &text) != 0)
		return;
	if (draw_numbers(judge, lane->verdict, &err) < 0) {
		kgb_verdict_decide_infra(lane->verdict, KGB_STAGE_CORRECTNESS,
					 KGB_CODE_INFRA_CORRECTNESS, &err);
		return;
	}
	kgb_ablation_choose(judge);
	kgb_gpu_health_watch(lane);
	if (kgb_gpu_health_await_room(lane, &err) < 0)
		kgb_verdict_decide_infra(lane->verdict, KGB_STAGE_CORRECTNESS,
					 KGB_CODE_INFRA_GPU_LEASE, &err);
	else
		run_candidate(judge, lane);
	if (lane->judge->compiler)
		lane->verdict->n_proofs_recalled += kgb_compiler_n_recalled(lane->judge->compiler);
	kgb_gpu_health_check(lane);
}

static int find_isolation(const struct kgb_judge *judge, struct kgb_verdict *verdict,
			  struct kgb_err *err)
{
	const char *zygotes = judge->options->request.zygotes;

	if (!(zygotes && kgb_zygotes_isolation(zygotes, &verdict->isolation)) &&
	    kgb_isolation_probe(NULL, NULL, &verdict->isolation, err) < 0)
		return -1;
	verdict->has_isolation = true;
	return 0;
}

static int run(struct kgb_judge *judge, struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_verdict *verdict = lane->verdict;

	if (load_inputs(judge, &verdict->seed, err) < 0)
		return -1;
	verdict->operator_name = kgb_arena_strdup(&verdict->arena, judge->spec.name);
	memcpy(verdict->spec_sha256, judge->spec.sha256, sizeof(verdict->spec_sha256));
	verdict->n_interfaces = judge->spec.n_interfaces;
	verdict->interfaces = kgb_arena_array(&verdict->arena, judge->spec.n_interfaces,
					      sizeof(verdict->interfaces[0]));
	for (size_t i = 0; i < judge->spec.n_interfaces; i++)
		verdict->interfaces[i].entry =
			kgb_arena_strdup(&verdict->arena, judge->spec.interfaces[i].entry);
	count_cases(judge, verdict);

	int rc = read_kernel(judge, lane, err);
	if (rc < 0)
		return -1;
	if (find_isolation(judge, verdict, err) < 0)
		return -1;
	if (rc == 1)
		return 0;
	if (start_zygotes(judge, err) < 0)
		return -1;
	judge->compiler = kgb_compiler_new(&judge->zygotes[KGB_ROLE_COMPILE], judge->proofs);
	/* The time of the verification starts with the candidate's own work. */
	lane->deadline_ms = kgb_mono_ms() + judge->options->request.timeout_ms;
	run_stages(judge, lane);
	kgb_verdict_close(verdict, judge->spec.triton != KGB_TRITON_NONE);
	return 0;
}

static void release(struct kgb_judge *judge)
{
	kgb_compiler_free(judge->compiler);
	for (int role = 0; role < KGB_N_ROLES; role++)
		kgb_zygote_stop(&judge->zygotes[role]);
	kgb_buf_release(&judge->source);
	kgb_strv_release(&judge->allowed_ops);
	kgb_l1_free(judge->l1);
	kgb_free(judge->noise);
	kgb_free(judge->may_be_sensitive);
	kgb_free(judge->tallies);
	kgb_cases_release(&judge->cases);
	kgb_spec_release(&judge->spec);
	kgb_disk_cache_free(judge->truths);
	kgb_disk_cache_free(judge->proofs);
}

static struct kgb_disk_cache *open_store(const char *kind, size_t entry_max, uint64_t total_max)
{
	KGB_AUTO(free) char *dir = kgb_cache_dir(kind);

	return kgb_disk_cache_try(dir, entry_max, total_max);
}

/* Without a given seed the inputs never occur again, so their right results are not kept. */
static void open_stores(struct kgb_judge *judge)
{
	const struct kgb_judge_options *options = judge->options;

	if (options->request.seed && options->request.cache)
		judge->truths =
			open_store("truths", KGB_TRUTH_CACHE_ENTRY_MAX, KGB_TRUTH_CACHE_TOTAL_MAX);
	if (options->request.cache)
		judge->proofs =
			open_store("proofs", KGB_PROOF_CACHE_ENTRY_MAX, KGB_PROOF_CACHE_TOTAL_MAX);
}

int kgb_judge_run(const struct kgb_judge_options *options, struct kgb_verdict *verdict,
		  struct kgb_err *err)
{
	struct kgb_zygote zygotes[KGB_N_ROLES] = {0};
	struct kgb_judge judge = {
		.options = options,
		.source = KGB_BUF_INIT(KGB_LIMIT_KERNEL + 1),
		.zygotes = zygotes,
	};
	struct kgb_dictionary numbers = {.n = 0};
	struct kgb_gpu_share share = KGB_GPU_SHARE_INIT(options->device);
	struct kgb_lane lane;
	struct kgb_rng rng;
	int64_t started_ms = kgb_mono_ms();

	if (!options->request.seed)
		kgb_random(verdict->seed.bytes, sizeof(verdict->seed.bytes));
	else if (kgb_parse_hex(options->request.seed, verdict->seed.bytes,
			       sizeof(verdict->seed.bytes), err) < 0)
		return kgb_ctx(err, "seed");
	verdict->final_mode = options->request.purpose == KGB_PURPOSE_FINAL;
	open_stores(&judge);
	judge.numbers = &numbers;
	judge.share = options->device == KGB_DEVICE_CPU ? NULL : &share;
	judge.noise = kgb_xmalloc(KGB_NOISE_BYTES);
	kgb_rng_init(&rng, &verdict->seed, "noise", 0);
	kgb_rng_bytes(&rng, judge.noise, KGB_NOISE_BYTES);
	kgb_lane_init(&lane, &judge, verdict);
	int rc = run(&judge, &lane, err);
	kgb_lane_close(&lane);
	kgb_gpu_share_leave(&share);
	kgb_gpu_facts_free(lane.gpu);
	release(&judge);
	verdict->wall_ms = kgb_mono_ms() - started_ms;
	return rc;
}
