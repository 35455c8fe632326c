/* SPDX-License-Identifier: MIT */
/* What makes the same work take another time? Baselines are captured, replayed by kgb-exec, and
 * timed with one thing changed at a time.
 *
 *     timer_spread [--json FILE] [SPEC.yaml:CASE]...
 *
 * CASE is a part of the name of a benchmark case. Prints one table for each: `cells` are blocks of
 * samples with one median each; `sd` and `range` say how far the medians of the cells lie apart,
 * `error` how far they would for the noise of the samples alone. Needs a GPU that nobody else uses.
 */
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/formats/jsonw.h"
#include "base/log.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "tests/helpers/whole_arena.h"
#include "verify/cmd/cli.h"
#include "verify/lane/candidate_call.h"
#include "verify/replay/replay.h"
#include "verify/tensor/statistics.h"

enum {
	READY_MS = 120 * 1000,
	EXEC_MS = 60 * 1000,
	SLOTS = 8,
	CELL = 24, /* samples */
	WARMUP = 32,
	PROCESSES = 5,
	PLACEMENTS = 8,
	VISITS = 2,
	CELLS_MAX = 128,
	STARTS = 8,
};

struct cell {
	double ns, error; /* median and its error by the noise of the samples */
	double mhz;
};

struct table {
	struct cell cells[CELLS_MAX];
	size_t n;
};

static struct {
	struct kgb_judge_paths places;
	struct kgb_zygote_spec device;
	struct kgb_zygote zygote;
	const char *spec_path;
	struct kgb_zygote zygotes[KGB_N_ROLES];
	struct kgb_judge judge;
	struct kgb_lane lane;
	struct kgb_replay_plan plan;
	struct kgb_exec_client exec;
	struct kgb_judge_options options;
	struct kgb_arena arena; /* of its request */
	struct kgb_verdict verdict;
	char *input, *output;
	size_t arena_bytes, output_bytes;
	int input_fd, output_fd;
	struct kgb_exec_sample samples[KGB_EXEC_SAMPLES_MAX];
	struct kgb_buf json;
	struct kgb_jsonw w;
	struct kgb_err err;
} g = {.input_fd = -1, .output_fd = -1, .exec = KGB_EXEC_CLIENT_INIT, .json = KGB_BUF_INIT(0)};

KGB_NORETURN static void give_up(const char *what)
{
	fprintf(stderr, "timer_spread: %s: %s\n", what, g.err.msg);
	kgb_exec_client_stop(&g.exec);
	kgb_lane_release(&g.lane);
	kgb_zygote_stop(&g.zygote);
	exit(g.err.kind == KGB_ERR_UNAVAILABLE ? KGB_EXIT_ENVIRONMENT : KGB_EXIT_FAILURES);
}

/* ---- one baseline ---- */

static const struct kgb_case *find_case(const char *part)
{
	const struct kgb_cases *cases = &g.judge.cases;

	for (size_t i = 0; i < cases->n_benchmarks; i++)
		if (strstr(cases->items[cases->n + i].name, part))
			return &cases->items[cases->n + i];
	(void)kgb_fail(&g.err, KGB_ERR_INVALID, "no benchmark case like '%s'", part);
	give_up(g.spec_path);
}

static void open_judge(const char *spec_path)
{
	struct kgb_rng rng;

	g.spec_path = spec_path;
	g.judge.options = &g.options;
	g.judge.zygotes = g.zygotes;
	kgb_lane_init(&g.lane, &g.judge, &g.verdict);
	g.lane.deadline_ms = kgb_mono_ms() + READY_MS;
	g.zygotes[KGB_ROLE_REFERENCE] = g.zygote;
	g.judge.noise = kgb_xmalloc(KGB_NOISE_BYTES);
	kgb_rng_init(&rng, &g.verdict.seed, "noise", 0);
	kgb_rng_bytes(&rng, g.judge.noise, KGB_NOISE_BYTES);
	g.lane.replay = kgb_xmalloc(sizeof(*g.lane.replay));
	/* Plans run in processes of our own. */
	*g.lane.replay = (struct kgb_replay){.record_fd = -1, .replayer_is_lent = true};
	if (kgb_spec_load(spec_path, &g.judge.spec, &g.err) < 0 ||
	    kgb_cases_expand(&g.judge.spec, NULL, &g.judge.cases, &g.err) < 0 ||
	    kgb_lane_start_reference(&g.lane, &g.err) < 0)
		give_up(spec_path);
}

static void close_judge(void)
{
	kgb_lane_release(&g.lane);
	kgb_free(g.judge.noise);
	kgb_cases_release(&g.judge.cases);
	kgb_spec_release(&g.judge.spec);
}

/* The plan, and images of its arguments. */
static void capture(const struct kgb_case *c)
{
	const struct kgb_candidate_call_spec spec = {.places = 1};
	struct kgb_case_data first, data;
	struct kgb_candidate_call call = {0};

	kgb_case_data_fill(&first, c, &g.verdict.seed, 0);
	if (kgb_lane_fetch_truth(&g.lane, &first, &g.err) < 0 ||
	    kgb_replay_capture_baseline(&g.lane, &first, &g.plan, &g.err) < 0)
		give_up(c->name);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		kgb_case_data_fill(&data, c, &g.verdict.seed, 1 + slot);
		kgb_case_data_shape(&data, &first);
		if (kgb_candidate_call_prepare(&g.lane, &data, &spec, &call, &g.err) < 0)
			give_up(c->name);
		if (slot == 0) {
			g.arena_bytes = call.arena_bytes;
			g.output_bytes = call.arena_bytes + 4096 + sizeof(g.samples);
			if (kgb_memfd_mapped("spread-input", SLOTS * g.arena_bytes, true, &g.input,
					     &g.input_fd, &g.err) < 0 ||
			    kgb_memfd_mapped("spread-output", g.output_bytes, false, &g.output,
					     &g.output_fd, &g.err) < 0)
				give_up(c->name);
		}
		memcpy(g.input + slot * g.arena_bytes, g.lane.image.ptr, g.arena_bytes);
		kgb_candidate_call_release(&call);
		kgb_case_data_release(&data);
	}
	kgb_case_data_release(&first);
}

static void forget_capture(void)
{
	munmap(g.input, SLOTS * g.arena_bytes);
	munmap(g.output, g.output_bytes);
	kgb_close(g.input_fd);
	kgb_close(g.output_fd);
	g.input_fd = g.output_fd = -1;
	kgb_replay_plan_release(&g.plan);
}

/* ---- processes ---- */

static bool load_plan(void)
{
	return kgb_exec_client_plan(&g.exec, 0, g.plan.record.ptr, g.plan.record.len, EXEC_MS,
				    &g.err) == KGB_EXEC_DONE;
}

static void start_process(void)
{
	const struct kgb_exec_spec spec = {.device = (uint32_t)g.options.device};

	/* Memory of a library's own may lie where this process has something else by chance. */
	for (int i = 0; i < STARTS; i++) {
		kgb_exec_client_stop(&g.exec);
		if (kgb_exec_client_start(&g.exec, &spec, EXEC_MS, &g.err) != KGB_EXEC_DONE ||
		    send_whole_arena(&g.exec, g.input_fd, g.arena_bytes, SLOTS, g.output_fd,
				     g.output_bytes, EXEC_MS, &g.err) != KGB_EXEC_DONE)
			give_up("kgb-exec");
		if (load_plan())
			return;
	}
	give_up("plan");
}

/* ---- cells ---- */

static struct kgb_exec_request usual(void)
{
	return (struct kgb_exec_request){
		.prologue = KGB_EXEC_NO_PLAN,
		.skip = -1,
		.n_slots = SLOTS,
		.n_samples = CELL,
		.flush_bytes = 2 * g.exec.l2_bytes,
	};
}

static void write_cell(const char *factor, uint32_t n, bool with_activity)
{
	kgb_jsonw_object(&g.w);
	kgb_jsonw_kstr(&g.w, "factor", factor);
	kgb_jsonw_ki64(&g.w, "clock_ms", kgb_mono_ms());
	kgb_jsonw_key(&g.w, with_activity ? "activity_ns" : "event_ns");
	kgb_jsonw_array(&g.w);
	for (uint32_t i = 0; i < n; i++)
		kgb_jsonw_i64(&g.w, (int64_t)(with_activity ? g.samples[i].activity_ns
							    : g.samples[i].event_ns));
	kgb_jsonw_array_end(&g.w);
	kgb_jsonw_object_end(&g.w);
}

static struct cell median_cell(uint32_t n, bool with_activity)
{
	double ns[KGB_EXEC_SAMPLES_MAX], mhz[KGB_EXEC_SAMPLES_MAX];

	for (uint32_t i = 0; i < n; i++) {
		const struct kgb_exec_sample *s = &g.samples[i];
		ns[i] = (double)(with_activity ? s->activity_ns : s->event_ns);
		mhz[i] = s->sm_mhz;
	}
	return (struct cell){
		.ns = kgb_median(ns, n),
		.error = 1.2533 * KGB_MAD_TO_SIGMA * kgb_mad(ns, n) / sqrt(n),
		.mhz = kgb_median(mhz, n),
	};
}

static void take(struct kgb_exec_request *spec)
{
	struct kgb_exec_layout layout;

	kgb_random(&spec->poison, sizeof(spec->poison));
	if (kgb_exec_client_time(&g.exec, spec, &layout, EXEC_MS, &g.err) != KGB_EXEC_DONE)
		give_up("samples");
	memcpy(g.samples, g.output + layout.samples, spec->n_samples * sizeof(g.samples[0]));
}

static void add_cell(struct table *table, const char *factor, struct kgb_exec_request spec)
{
	KGB_ASSERT(table->n < CELLS_MAX);
	take(&spec);
	table->cells[table->n++] = median_cell(spec.n_samples, false);
	write_cell(factor, spec.n_samples, false);
}

static void add_activity_cell(struct table *table)
{
	struct kgb_exec_request spec = usual();

	spec.placement = PLACEMENTS;
	spec.flags |= KGB_EXEC_WITH_ACTIVITY;
	take(&spec);
	table->cells[table->n++] = median_cell(spec.n_samples, true);
	write_cell("activity of a process", spec.n_samples, true);
}

static void warm_up(void)
{
	struct kgb_exec_request spec = usual();

	spec.n_samples = WARMUP;
	take(&spec);
}

/* ---- tables ---- */

static double deviation(const double *x, size_t n)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return n < 2 ? (double)NAN : sqrt(squares / (double)(n - 1));
}

static void print_table(const char *name, const struct table *table)
{
	double ns[CELLS_MAX], mhz[CELLS_MAX], error = 0;

	for (size_t i = 0; i < table->n; i++) {
		ns[i] = table->cells[i].ns;
		mhz[i] = table->cells[i].mhz;
		error += table->cells[i].error / (double)table->n;
	}
	double middle = kgb_median(ns, table->n);
	printf("| %-34s | %3zu | %9.3f | %6.3f | %6.3f | %6.3f | %4.0f-%4.0f |\n", name, table->n,
	       middle / 1e3, 100 * deviation(ns, table->n) / middle,
	       100 * (kgb_quantile(ns, table->n, 1) - kgb_quantile(ns, table->n, 0)) / middle,
	       100 * error / middle, kgb_quantile(mhz, table->n, 0),
	       kgb_quantile(mhz, table->n, 1));
	fflush(stdout);
}

/* Variance components of processes, placements in them, and visits to a placement. */
static void print_components(double ns[PROCESSES][PLACEMENTS][VISITS])
{
	double visits = 0, placements = 0, of_process[PROCESSES] = {0};
	double all[PROCESSES * PLACEMENTS * VISITS];

	for (int p = 0; p < PROCESSES; p++) {
		double means[PLACEMENTS];
		for (int l = 0; l < PLACEMENTS; l++) {
			visits += pow(ns[p][l][0] - ns[p][l][1], 2) / 2 / (PROCESSES * PLACEMENTS);
			means[l] = (ns[p][l][0] + ns[p][l][1]) / 2;
			of_process[p] += means[l] / PLACEMENTS;
		}
		placements += pow(deviation(means, PLACEMENTS), 2) / PROCESSES;
	}
	memcpy(all, ns, sizeof(all));
	double middle = kgb_median(all, KGB_ARRAY_LEN(all));
	double process = pow(deviation(of_process, PROCESSES), 2) - placements / PLACEMENTS;
	placements -= visits / VISITS;
	printf("\nsd of a visit %.3f %%, of a placement beyond that %.3f %%, of a process beyond its "
	       "placements %.3f %%\n",
	       100 * sqrt(visits) / middle, 100 * sqrt(fmax(placements, 0)) / middle,
	       100 * sqrt(fmax(process, 0)) / middle);
}

/* ---- what is changed ---- */

static void vary_placements(void)
{
	double ns[PROCESSES][PLACEMENTS][VISITS];
	struct table first = {.n = 0}, all = {.n = 0}, activity = {.n = 0};

	for (int p = 0; p < PROCESSES; p++) {
		start_process();
		warm_up();
		add_cell(&first, "process", usual());
		for (int l = 0; l < PLACEMENTS; l++)
			for (int v = 0; v < VISITS; v++) {
				struct kgb_exec_request spec = usual();
				spec.placement = (uint32_t)l + 1;
				add_cell(&all, "placement", spec);
				ns[p][l][v] = all.cells[all.n - 1].ns;
			}
		add_activity_cell(&activity);
	}
	print_table("another process, placement 0", &first);
	print_table("the same by activity, last placement", &activity);
	print_table("processes, placements, visits", &all);
	print_components(ns);
}

static void vary_within_a_process(void)
{
	struct table again = {.n = 0}, replan = {.n = 0}, slots = {.n = 0}, warm = {.n = 0};
	struct table after = {.n = 0}, fewer = {.n = 0};
	struct kgb_exec_request spec;

	start_process();
	warm_up();
	for (int i = 0; i < SLOTS; i++)
		add_cell(&again, "again", usual());
	for (int i = 0; i < SLOTS; i++) {
		if (kgb_exec_client_forget(&g.exec, EXEC_MS, &g.err) != KGB_EXEC_DONE)
			give_up("forget");
		if (!load_plan())
			give_up("plan");
		add_cell(&replan, "replan", usual());
	}
	for (uint32_t i = 0; i < SLOTS; i++) {
		spec = usual();
		spec.n_slots = 1; /* always the same input */
		add_cell(&slots, "slot", spec);
	}
	for (int i = 0; i < SLOTS; i++) {
		spec = usual();
		spec.flush_bytes = 0;
		add_cell(&warm, "no flush", spec);
	}
	for (int i = 0; i < SLOTS; i++) {
		spec = usual();
		spec.n_samples = 4; /* as in a round */
		add_cell(&fewer, "short", spec);
	}
	for (int i = 0; i < SLOTS; i++) {
		spec = usual();
		spec.flags |= KGB_EXEC_WITH_ACTIVITY;
		add_cell(&after, "with activity", spec);
		write_cell("activity", spec.n_samples, true);
	}
	print_table("same process again", &again);
	print_table("plan loaded again", &replan);
	print_table("one input", &slots);
	print_table("no flush", &warm);
	print_table("blocks of 4 samples", &fewer);
	print_table("after CUPTI was loaded", &after);
}

/* What the judge's own rounds add: two processes that hold a context at once. */
static void vary_company(void)
{
	struct kgb_exec_client other = g.exec;
	struct table beside = {.n = 0};
	struct kgb_exec_layout layout;
	struct kgb_exec_request spec = usual();

	g.exec = (struct kgb_exec_client)KGB_EXEC_CLIENT_INIT;
	start_process();
	warm_up();
	spec.n_samples = 4;
	for (int i = 0; i < 2 * SLOTS; i++) {
		if (kgb_exec_client_time(&other, &spec, &layout, EXEC_MS, &g.err) != KGB_EXEC_DONE)
			give_up("the other process");
		add_cell(&beside, "in turns", spec);
	}
	kgb_exec_client_stop(&other);
	print_table("in turns with another process, 4 samples", &beside);
}

/* Processes that run on one CPU each, spread over those that there are. */
static void vary_cpus(void)
{
	struct table pinned = {.n = 0};
	cpu_set_t all, one;
	size_t n = 0, numbers[CPU_SETSIZE];

	KGB_ASSERT(sched_getaffinity(0, sizeof(all), &all) == 0);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			numbers[n++] = cpu;
	for (size_t i = 0; i < PROCESSES; i++) {
		CPU_ZERO(&one);
		CPU_SET(numbers[i * (n - 1) / (PROCESSES - 1)], &one);
		KGB_ASSERT(sched_setaffinity(0, sizeof(one), &one) == 0);
		start_process();
		warm_up();
		add_cell(&pinned, "CPU", usual());
		KGB_ASSERT(sched_setaffinity(0, sizeof(all), &all) == 0);
	}
	print_table("another process on another CPU", &pinned);
}

static void explore(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (!colon) {
		(void)kgb_fail(&g.err, KGB_ERR_INVALID, "expected SPEC.yaml:CASE");
		give_up(text);
	}
	KGB_AUTO(free) char *path = kgb_xstrndup(text, (size_t)(colon - text));
	open_judge(path);
	const struct kgb_case *c = find_case(colon + 1);
	int64_t begun_ms = kgb_mono_ms();
	capture(c);
	kgb_jsonw_object(&g.w);
	kgb_jsonw_kstr(&g.w, "operator", g.judge.spec.name);
	kgb_jsonw_kstr(&g.w, "case", c->name);
	kgb_jsonw_key(&g.w, "cells");
	kgb_jsonw_array(&g.w);
	printf("%s, case %s, %zu operations\n\n", g.judge.spec.name, c->name, g.plan.n_ops);
	printf("| changed | cells | median us | sd %% | range %% | error %% | MHz |\n");
	printf("|---|---|---|---|---|---|---|\n");
	vary_within_a_process();
	vary_company();
	vary_cpus();
	vary_placements();
	kgb_jsonw_array_end(&g.w);
	kgb_jsonw_object_end(&g.w);
	kgb_exec_client_stop(&g.exec);
	forget_capture();
	close_judge();
	printf("%lld ms\n\n", (long long)(kgb_mono_ms() - begun_ms));
}

static const char *const usual_cases[] = {
	"aten__mm.yaml:bench_4k",           "aten__softmax.yaml:bench_rows_1k",
	"aten__softmax.yaml:bench_rows_8k", "aten__add.yaml:add_Tensor/float32/bench_pairs",
	"aten__sum.yaml:bench_rows_8k",
};

int main(int argc, char **argv)
{
	static const struct option options[] = {{"json", required_argument, NULL, 'j'}, {0}};
	const char *json_path = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option != 'j')
			return KGB_EXIT_USAGE;
		json_path = optarg;
	}
	if (kgb_judge_paths_find(&g.places, NULL, &g.err) < 0 ||
	    kgb_judge_paths_device(&g.places, "cuda", &g.device, &g.err) < 0)
		give_up("places");
	kgb_judge_request_init(&g.options.request, &g.arena);
	g.options.data_dir = g.places.data_dir;
	g.options.device = g.device.device;
	kgb_verdict_init(&g.verdict);
	g.device.python = g.places.python;
	g.device.data_dir = g.places.data_dir;
	g.device.library = g.places.library;
	if (kgb_zygote_start(&g.zygote, KGB_ROLE_REFERENCE, &g.device, &g.err) < 0 ||
	    kgb_zygote_wait_ready(&g.zygote, READY_MS, &g.err) < 0)
		give_up("zygote");
	kgb_jsonw_init(&g.w, &g.json, 0);
	kgb_jsonw_array(&g.w);
	for (int i = optind; i < argc; i++)
		explore(argv[i]);
	for (size_t i = 0; i < KGB_ARRAY_LEN(usual_cases) && optind == argc; i++) {
		KGB_AUTO(free)
		char *text = kgb_xasprintf("%s/datasets/kernelgenbench/aten/%s", g.places.data_dir,
					   usual_cases[i]);
		explore(text);
	}
	kgb_jsonw_array_end(&g.w);
	kgb_zygote_stop(&g.zygote);
	kgb_verdict_release(&g.verdict);
	if (json_path && kgb_fs_write_atomic(AT_FDCWD, json_path, g.json.ptr, g.json.len, 0644,
					     true, &g.err) < 0)
		give_up(json_path);
	return KGB_EXIT_OK;
}
