/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-judge with mutants of Triton's IR: when a case of a kernel was right, the case's plan is run
 * again with each mutant of the kernel's modules that was not detected yet. The linker puts these
 * functions in the place of the judge's (--wrap). ir_score.py starts the program, makes the mutants
 * and gets the outcomes, over two pipes whose descriptors KGB_MUTATOR_FROM and _TO name:
 *
 *     module LENGTH            and the text: a module that has not come before. The answer has the
 *                              number of its mutants, and for each a line "KEY LENGTH" and its text
 *     killed KEY CODE CASE     the mutant KEY is detected
 *     left KEY N               after N cases it is not; N is 0 where no case ran it
 *
 * A mutant has one key in all modules, the place in kernel.py, because a kernel has a module for
 * each specialization.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "verify/ablation/ablation.h"
#include "verify/protocol/cpu_image.h"
#include "verify/replay/replay.h"

struct mutant {
	char *key;
	bool is_killed;
	int n_cases; /* that it was run in */
};

/* What a mutant makes of a module: a text of the same length. */
struct edit {
	size_t mutant, module;
	char *text;
};

struct module {
	char *text;
	size_t len;
	bool in_case; /* of the plan at hand */
};

static struct {
	FILE *from, *to;
	KGB_VEC(struct mutant) mutants;
	KGB_VEC(struct edit) edits;
	KGB_VEC(struct module) modules;
	const struct mutant *now; /* the mutant that runs; NULL: the kernel itself */
	size_t now_number;
} g;

/* ---- the other side ---- */

static size_t whole(const char *text)
{
	int64_t number = 0;

	KGB_ASSERT(text && kgb_parse_i64(text, 0, INT64_MAX, &number, NULL) == 0);
	return (size_t)number;
}

/* At the end of the process. */
static void tell_what_is_left(void)
{
	for (size_t i = 0; i < g.mutants.n; i++)
		if (!g.mutants.items[i].is_killed)
			(void)fprintf(g.to, "left %s %d\n", g.mutants.items[i].key,
				      g.mutants.items[i].n_cases);
	(void)fclose(g.to);
}

static void open_pipes(void)
{
	if (g.from)
		return;
	g.from = fdopen((int)whole(getenv("KGB_MUTATOR_FROM")), "r");
	g.to = fdopen((int)whole(getenv("KGB_MUTATOR_TO")), "w");
	KGB_ASSERT(g.from && g.to && atexit(tell_what_is_left) == 0);
}

/* A line without its end; its last word is a number. */
static size_t read_line(char *line, size_t size)
{
	KGB_ASSERT(fgets(line, (int)size, g.from));
	line[strcspn(line, "\n")] = '\0';
	char *space = strrchr(line, ' ');
	const size_t number = whole(space ? space + 1 : line);
	if (space)
		*space = '\0';
	return number;
}

static size_t mutant_number(const char *key)
{
	for (size_t i = 0; i < g.mutants.n; i++)
		if (kgb_str_eq(g.mutants.items[i].key, key))
			return i;
	KGB_VEC_ADD(&g.mutants, (struct mutant){.key = kgb_xstrdup(key)});
	return g.mutants.n - 1;
}

static void read_mutant(size_t module)
{
	char line[512] = "";
	const size_t len = read_line(line, sizeof(line));

	KGB_ASSERT(len == g.modules.items[module].len);
	char *text = kgb_xmalloc(len + 1);
	KGB_ASSERT(fread(text, 1, len, g.from) == len);
	KGB_VEC_ADD(&g.edits, (struct edit){mutant_number(line), module, text});
}

static size_t module_number(const char *text, size_t len)
{
	for (size_t i = 0; i < g.modules.n; i++)
		if (g.modules.items[i].len == len &&
		    memcmp(g.modules.items[i].text, text, len) == 0)
			return i;
	KGB_VEC_ADD(&g.modules, (struct module){.text = kgb_xstrndup(text, len), .len = len});
	(void)fprintf(g.to, "module %zu\n%.*s", len, (int)len, text);
	(void)fflush(g.to);
	char line[64];
	for (size_t n = read_line(line, sizeof(line)); n > 0; n--)
		read_mutant(g.modules.n - 1);
	return g.modules.n - 1;
}

/* ---- in the judge's place ---- */

enum kgb_exec_outcome __real_kgb_exec_client_plan(struct kgb_exec_client *exec, uint32_t plan,
						  const void *record, size_t len,
						  int64_t timeout_ms, struct kgb_err *err);
enum kgb_exec_outcome __wrap_kgb_exec_client_plan(struct kgb_exec_client *exec, uint32_t plan,
						  const void *record, size_t len,
						  int64_t timeout_ms, struct kgb_err *err);
int __real_kgb_replay_check(struct kgb_lane *lane, struct kgb_recorded *recorded,
			    struct kgb_failure *failure, struct kgb_err *err);
int __wrap_kgb_replay_check(struct kgb_lane *lane, struct kgb_recorded *recorded,
			    struct kgb_failure *failure, struct kgb_err *err);
bool __real_kgb_ablation_is_sensitive(const struct kgb_judge *judge,
				      const struct kgb_case_data *data);
bool __wrap_kgb_ablation_is_sensitive(const struct kgb_judge *judge,
				      const struct kgb_case_data *data);
bool __real_kgb_ablation_wants(const struct kgb_judge *judge, const struct kgb_case_data *data);
bool __wrap_kgb_ablation_wants(const struct kgb_judge *judge, const struct kgb_case_data *data);
bool __real_kgb_ablation_begin_watch(const struct kgb_judge *judge,
				     const struct kgb_case_data *data,
				     struct kgb_result_origin *origin);
bool __wrap_kgb_ablation_begin_watch(const struct kgb_judge *judge,
				     const struct kgb_case_data *data,
				     struct kgb_result_origin *origin);

/* Each module of the plan: noted, and changed as the mutant at hand has it. */
static void mutate(const struct kgb_image *image, char *record, const char *parsed)
{
	struct kgb_cpu_image split;
	struct kgb_err ignored = KGB_ERR_INIT;

	if (kgb_cpu_image_split(image, &split, &ignored) < 0 || split.is_torch)
		return;
	const size_t module = module_number(split.module, split.module_len);
	g.modules.items[module].in_case = true;
	for (size_t i = 0; g.now && i < g.edits.n; i++)
		if (g.edits.items[i].mutant == g.now_number && g.edits.items[i].module == module)
			memcpy(record + (split.module - parsed), g.edits.items[i].text,
			       split.module_len);
}

enum kgb_exec_outcome __wrap_kgb_exec_client_plan(struct kgb_exec_client *exec, uint32_t plan,
						  const void *record, size_t len,
						  int64_t timeout_ms, struct kgb_err *err)
{
	char *copy = kgb_xmalloc(len);
	struct kgb_record parsed;

	open_pipes();
	memcpy(copy, record, len);
	KGB_ASSERT(kgb_record_parse(record, len, &parsed, err) == 0);
	for (size_t i = 0; i < parsed.n_images; i++)
		mutate(&parsed.images[i], copy, record);
	kgb_record_release(&parsed);
	enum kgb_exec_outcome outcome =
		__real_kgb_exec_client_plan(exec, plan, copy, len, timeout_ms, err);
	kgb_free(copy);
	return outcome;
}

/* A mutant is judged by its results alone. */
bool __wrap_kgb_ablation_is_sensitive(const struct kgb_judge *judge,
				      const struct kgb_case_data *data)
{
	return !g.now && __real_kgb_ablation_is_sensitive(judge, data);
}

bool __wrap_kgb_ablation_wants(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	return !g.now && __real_kgb_ablation_wants(judge, data);
}

bool __wrap_kgb_ablation_begin_watch(const struct kgb_judge *judge,
				     const struct kgb_case_data *data,
				     struct kgb_result_origin *origin)
{
	return !g.now && __real_kgb_ablation_begin_watch(judge, data, origin);
}

static bool is_in_case(size_t mutant)
{
	for (size_t i = 0; i < g.edits.n; i++)
		if (g.edits.items[i].mutant == mutant &&
		    g.modules.items[g.edits.items[i].module].in_case)
			return true;
	return false;
}

static void try_mutant(struct kgb_lane *lane, struct kgb_recorded *recorded, size_t number)
{
	struct mutant *mutant = &g.mutants.items[number];
	const bool deterministic = lane->verdict->deterministic;
	const int64_t n_nondeterministic = lane->verdict->n_nondeterministic;
	struct kgb_failure failure = {0};
	struct kgb_err err = KGB_ERR_INIT;

	g.now = mutant;
	g.now_number = number;
	int rc = __real_kgb_replay_check(lane, recorded, &failure, &err);
	g.now = NULL;
	mutant->n_cases++;
	mutant->is_killed = rc != 0;
	if (rc != 0)
		(void)fprintf(g.to, "killed %s %s %s\n", mutant->key,
			      rc < 0 ? "error" : kgb_code_name(failure.code),
			      recorded->data[0].kase->name);
	lane->verdict->deterministic = deterministic;
	lane->verdict->n_nondeterministic = n_nondeterministic;
}

int __wrap_kgb_replay_check(struct kgb_lane *lane, struct kgb_recorded *recorded,
			    struct kgb_failure *failure, struct kgb_err *err)
{
	for (size_t i = 0; i < g.modules.n; i++)
		g.modules.items[i].in_case = false;
	int rc = __real_kgb_replay_check(lane, recorded, failure, err);
	for (size_t i = 0; rc == 0 && i < g.mutants.n; i++)
		if (!g.mutants.items[i].is_killed && is_in_case(i))
			try_mutant(lane, recorded, i);
	return rc;
}
