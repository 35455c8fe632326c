/* SPDX-License-Identifier: MIT */
#include "agent/answers/groups.h"

#include <math.h>
#include <string.h>

#include "verify/lane/reached.h"

/* ---- keys ---- */

static const char *source_of(const struct kgb_op_row *op)
{
	return op->source;
}

static const char *category_of(const struct kgb_op_row *op)
{
	return op->category;
}

static const char *status_of(const struct kgb_op_row *op)
{
	return op->status;
}

static const char *code_of(const struct kgb_op_row *op)
{
	return op->code ? op->code : op->status;
}

static const char *reached_of(const struct kgb_op_row *op)
{
	return op->reached;
}

static const char *chip_of(const struct kgb_op_row *op)
{
	return op->platform;
}

static const char *gpu_of(const struct kgb_op_row *op)
{
	return op->gpu;
}

static const char *baseline_of(const struct kgb_op_row *op)
{
	return op->baseline;
}

static const char *name_of(const struct kgb_op_row *op)
{
	return op->name;
}

static const char *part_of(const struct kgb_op_row *op)
{
	return op->part;
}

/** The name of a cuBLAS routine after "cublas"; NULL: the operator is none. */
static const char *routine_of(const struct kgb_op_row *op)
{
	static const char prefix[] = "cublas::cublas";
	return kgb_str_starts(op->name, prefix) ? op->name + strlen(prefix) : NULL;
}

static const char *precision_of(const struct kgb_op_row *op)
{
	static const struct {
		char letter;
		const char *name;
	} precisions[] = {{'H', "float16"},
			  {'S', "float32"},
			  {'D', "float64"},
			  {'C', "complex64"},
			  {'Z', "complex128"}};
	const char *routine = routine_of(op);
	for (size_t i = 0; routine && i < KGB_ARRAY_LEN(precisions); i++)
		if (*routine == precisions[i].letter)
			return precisions[i].name;
	return NULL;
}

/** The form of a routine, by the end of its name: "_64" takes sizes of 64 bits. */
static const char *api_of(const struct kgb_op_row *op)
{
	static const char *const forms[][2] = {{"StridedBatched_64", "strided batched, 64 bits"},
					       {"StridedBatched", "strided batched"},
					       {"Batched_64", "batched, 64 bits"},
					       {"Batched", "batched"},
					       {"Ex", "mixed types"}};
	const char *routine = routine_of(op);
	for (size_t i = 0; routine && i < KGB_ARRAY_LEN(forms); i++)
		if (kgb_str_ends(routine, forms[i][0]))
			return forms[i][1];
	return routine ? "plain" : NULL;
}

static const struct key {
	const char *name;
	const char *(*of)(const struct kgb_op_row *op); /* NULL: not known */
	bool splits; /* operators, into parts */
} keys[] = {
	{"source", source_of, false},     {"category", category_of, false},
	{"dtype", part_of, true},         {"interface", part_of, true},
	{"operator", name_of, false},     {"status", status_of, false},
	{"code", code_of, false},         {"reached", reached_of, false},
	{"chip", chip_of, false},         {"gpu", gpu_of, false},
	{"baseline", baseline_of, false}, {"precision", precision_of, false},
	{"api", api_of, false},
};

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++)
		if (kgb_str_eq(keys[i].name, name))
			return &keys[i];
	return NULL;
}

void kgb_keys_names(struct kgb_buf *out)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(keys); i++)
		kgb_buf_addf(out, "%s%s", i > 0 ? ", " : "", keys[i].name);
}

/** The first key that splits operators; NULL: none does. */
static const struct key *splitting_key(const char *text)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	kgb_strv_split(&names, text, '+');
	for (size_t i = 0; i < names.n; i++) {
		const struct key *key = find_key(names.items[i]);
		if (key && key->splits)
			return key;
	}
	return NULL;
}

static int check_key(const char *text, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf known = KGB_BUF_INIT(0);
	size_t n_splitting = 0;
	kgb_strv_split(&names, text, '+');
	kgb_keys_names(&known);
	for (size_t i = 0; i < names.n; i++) {
		const struct key *key = find_key(names.items[i]);
		if (!key)
			return kgb_fail(err, KGB_ERR_INVALID, "--by '%s': write one or more of %s",
					names.items[i], known.ptr);
		n_splitting += key->splits;
	}
	if (names.n == 0 || n_splitting > 1)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--by '%s': write keys, joined by '+', of which one is dtype or "
				"interface",
				text);
	return 0;
}

int kgb_keys_parse(const char *text, struct kgb_strv *out, struct kgb_err *err)
{
	if (text)
		kgb_strv_split(out, text, ',');
	for (size_t i = 0; i < out->n; i++)
		if (check_key(out->items[i], err) < 0)
			return -1;
	return 0;
}

bool kgb_key_splits(const char *key)
{
	return splitting_key(key) != NULL;
}

unsigned kgb_keys_details(const struct kgb_strv *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (kgb_key_splits(list->items[i]))
			return KGB_DETAIL_PARTS;
	return 0;
}

/* ---- groups ---- */

static const char *group_of(const struct kgb_op_row *op, const struct kgb_strv *names,
			    struct kgb_buf *scratch)
{
	if (names->n == 1)
		return find_key(names->items[0])->of(op);
	kgb_buf_clear(scratch);
	for (size_t i = 0; i < names->n; i++) {
		const char *value = find_key(names->items[i])->of(op);
		kgb_buf_addf(scratch, "%s%s", i > 0 ? " + " : "",
			     value ? value : KGB_GROUP_UNKNOWN);
	}
	return scratch->ptr;
}

struct words {
	KGB_VEC(const char *) list; /* in the arena of the runs, each once */
};

static const char *intern(struct kgb_runs *runs, struct words *words, const char *word)
{
	KGB_VEC_FOREACH(known, &words->list)
		if (kgb_str_eq(*known, word))
			return *known;
	const char *kept = kgb_arena_strdup(&runs->arena, word);
	KGB_VEC_ADD(&words->list, kept);
	return kept;
}

void kgb_groups_assign(struct kgb_runs *runs, const char *key, struct kgb_strv *names)
{
	KGB_AUTO(strv) struct kgb_strv parts = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf scratch = KGB_BUF_INIT(0);
	struct words words = {0};
	bool has_unknown = false;
	kgb_strv_split(&parts, key, '+');
	KGB_VEC_FOREACH(run, &runs->list)
		KGB_VEC_FOREACH(op, &run->ops) {
			if (op->is_replaced)
				continue;
			const char *group = group_of(op, &parts, &scratch);
			has_unknown = has_unknown || !group;
			op->group = group ? intern(runs, &words, group) : KGB_GROUP_UNKNOWN;
		}
	KGB_VEC_FOREACH(word, &words.list)
		kgb_strv_add(names, *word);
	KGB_VEC_RELEASE(&words.list);
	kgb_strv_sort(names);
	if (has_unknown)
		kgb_strv_add(names, KGB_GROUP_UNKNOWN);
}

/* ---- parts ---- */

static bool has_parts(const struct kgb_op_row *op, bool dtypes)
{
	for (size_t i = 0; op && i < op->n_parts; i++)
		if (op->parts[i].is_dtype == dtypes)
			return true;
	return false;
}

static struct kgb_op_row row_of(const struct kgb_op_row *op, const struct kgb_op_part *part)
{
	struct kgb_op_row row = *op;
	row.part = part ? part->name : NULL;
	row.tokens = row.dollars = (double)NAN;
	row.agent_seconds = row.verify_seconds = (double)NAN;
	row.standard = row.outlier = (double)NAN;
	row.speedup_device = row.peak_share = (double)NAN;
	row.speedup = (double)NAN;
	row.is_correct = false;
	return row;
}

static struct kgb_op_row own_row(const struct kgb_op_row *op, const struct kgb_op_part *part)
{
	struct kgb_op_row row = row_of(op, part);
	const enum kgb_reached reached = kgb_reached_find(part->reached);
	row.is_correct = part->is_correct;
	row.speedup = part->speedup;
	if (part->is_dtype) {
		row.is_core = part->is_correct;
		return row;
	}
	row.reached = part->reached;
	row.is_compiled = reached >= KGB_REACHED_COMPILES;
	row.is_run = reached >= KGB_REACHED_RUNS;
	row.is_core = reached >= KGB_REACHED_CORE;
	return row;
}

/** The operator in the first run whose verdict has its parts. */
static const struct kgb_op_row *find_twin(const struct kgb_runs *runs, const struct kgb_op_row *op,
					  size_t place, bool dtypes)
{
	KGB_VEC_FOREACH(run, &runs->list) {
		const struct kgb_op_row *found = kgb_run_row_find(run, op->name, place);
		if (has_parts(found, dtypes))
			return found;
	}
	return NULL;
}

static void split_op(const struct kgb_runs *runs, const struct kgb_op_row *op, size_t place,
		     bool dtypes, struct kgb_run_row *out)
{
	const bool own = has_parts(op, dtypes);
	const struct kgb_op_row *twin = own ? op : find_twin(runs, op, place, dtypes);
	if (!twin)
		KGB_VEC_ADD(&out->ops, row_of(op, NULL));
	for (size_t i = 0; twin && i < twin->n_parts; i++) {
		const struct kgb_op_part *part = &twin->parts[i];
		if (part->is_dtype == dtypes)
			KGB_VEC_ADD(&out->ops, own ? own_row(op, part) : row_of(op, part));
	}
}

void kgb_runs_split(const struct kgb_runs *runs, const char *key, struct kgb_runs *out)
{
	const struct key *split = splitting_key(key);
	const bool dtypes = kgb_str_eq(split->name, "dtype");
	KGB_VEC_FOREACH(run, &runs->list) {
		struct kgb_run_row copy = *run;
		memset(&copy.ops, 0, sizeof(copy.ops));
		for (size_t i = 0; i < run->ops.n; i++)
			split_op(runs, &run->ops.items[i], i, dtypes, &copy);
		KGB_VEC_ADD(&out->list, copy);
	}
}

static bool is_same(const struct kgb_op_row *a, const struct kgb_op_row *b)
{
	return kgb_str_eq(a->name, b->name) && kgb_str_eq(a->part, b->part);
}

const struct kgb_op_row *kgb_op_find_same(const struct kgb_run_row *run,
					  const struct kgb_op_row *op, size_t likely)
{
	if (likely < run->ops.n && is_same(&run->ops.items[likely], op))
		return &run->ops.items[likely];
	KGB_VEC_FOREACH(other, &run->ops)
		if (is_same(other, op))
			return other;
	return NULL;
}
