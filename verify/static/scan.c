/* SPDX-License-Identifier: MIT */
#include "verify/static/scan.h"

#include "base/str.h"
#include "verify/static/scan_rules.h"

/* ---- the facts document ---- */

/* A module-level name of the candidate. */
struct binding {
	const char *name;
	const cJSON *node;
	size_t *refs; /* indices of bindings; arena */
	size_t n_refs;
	bool has_kernel; /* is a jit function, or holds one */
	bool live; /* its code can run in a judged process */
	bool reached; /* a call of an entry may run or read it */
};

struct scan {
	const struct kgb_l1 *l1;
	const struct kgb_spec *spec;
	const cJSON *facts;
	struct kgb_arena arena;
	struct binding *bindings; /* sorted by name */
	size_t n_bindings;
	size_t *queue; /* scratch of n_bindings entries */
	bool *seen;
	struct kgb_notes *notes;
	struct kgb_finding *out;
	struct kgb_err *err;
};

static int malformed(const struct scan *s, const char *what)
{
	return kgb_fail(s->err, KGB_ERR_INVALID, "facts about the kernel: %s", what);
}

static int compare_bindings(const void *a, const void *b)
{
	const struct binding *left = a, *right = b;
	KGB_ASSERT(left->name && right->name);
	return strcmp(left->name, right->name);
}

static struct binding *find_binding(const struct scan *s, const char *name)
{
	struct binding key = {.name = name};
	if (s->n_bindings == 0)
		return NULL;
	return bsearch(&key, s->bindings, s->n_bindings, sizeof(key), compare_bindings);
}

/* Reads a list of names as indices of bindings. A name without a binding (a deleted one that hid a
 * builtin) is left out. */
static int read_refs(struct scan *s, const cJSON *list, size_t **out, size_t *n_out)
{
	const cJSON *item = NULL;
	size_t n = 0;

	if (!cJSON_IsArray(list))
		return malformed(s, "references are not a list");
	size_t *refs =
		kgb_arena_array(&s->arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*refs));
	cJSON_ArrayForEach(item, list) {
		if (!cJSON_IsString(item))
			return malformed(s, "a reference is not a name");
		const struct binding *b = find_binding(s, item->valuestring);
		if (b)
			refs[n++] = (size_t)(b - s->bindings);
	}
	*out = refs;
	*n_out = n;
	return 0;
}

static int read_bindings(struct scan *s)
{
	const cJSON *list = kgb_json_get(s->facts, "bindings"), *item = NULL;

	if (!cJSON_IsArray(list))
		return malformed(s, "no bindings");
	size_t n = (size_t)cJSON_GetArraySize(list);
	s->bindings = kgb_arena_array(&s->arena, n + 1, sizeof(*s->bindings));
	s->queue = kgb_arena_array(&s->arena, n + 1, sizeof(*s->queue));
	s->seen = kgb_arena_array(&s->arena, n + 1, sizeof(*s->seen));
	KGB_ASSERT(s->bindings && s->queue && s->seen);
	cJSON_ArrayForEach(item, list) {
		const char *name = kgb_json_str(item, "name", NULL);
		if (!name)
			return malformed(s, "a binding without name");
		s->bindings[s->n_bindings++] =
			(struct binding){.name = name,
					 .node = item,
					 .has_kernel = kgb_json_bool(item, "jit", false)};
	}
	qsort(s->bindings, s->n_bindings, sizeof(*s->bindings), compare_bindings);
	for (size_t i = 0; i < s->n_bindings; i++)
		if (read_refs(s, kgb_json_get(s->bindings[i].node, "refs"), &s->bindings[i].refs,
			      &s->bindings[i].n_refs) < 0)
			return -1;
	return 0;
}

static int read_kernels(struct scan *s, size_t *n_kernels)
{
	const cJSON *list = kgb_json_get(s->facts, "kernels"), *item = NULL;

	if (!cJSON_IsArray(list))
		return malformed(s, "no kernels");
	cJSON_ArrayForEach(item, list) {
		const char *owner = kgb_json_str(item, "owner", NULL);
		if (!owner)
			return malformed(s, "a kernel without owner");
		struct binding *b = find_binding(s, owner);
		if (b)
			b->has_kernel = true;
	}
	*n_kernels = (size_t)cJSON_GetArraySize(list);
	return 0;
}

/* Marks in s->seen the bindings in queue[0..n) and all that their code mentions, directly or not.
 * Returns whether a kernel is among them. */
static bool reach(struct scan *s, size_t n)
{
	bool kernel = false;

	memset(s->seen, 0, s->n_bindings * sizeof(*s->seen));
	size_t unique = 0;
	for (size_t i = 0; i < n; i++) {
		if (s->seen[s->queue[i]])
			continue;
		s->seen[s->queue[i]] = true;
		s->queue[unique++] = s->queue[i];
	}
	for (size_t head = 0, tail = unique; head < tail; head++) {
		const struct binding *b = &s->bindings[s->queue[head]];
		kernel |= b->has_kernel;
		for (size_t i = 0; i < b->n_refs; i++) {
			if (s->seen[b->refs[i]])
				continue;
			s->seen[b->refs[i]] = true;
			s->queue[tail++] = b->refs[i];
		}
	}
	return kernel;
}

/* Marks the bindings whose code can run when a judge imports the file and calls its entries. */
static int mark_live(struct scan *s)
{
	size_t *refs = NULL, n = 0, n_queue = 0;

	if (read_refs(s, kgb_json_get(s->facts, "module_refs"), &refs, &n) < 0)
		return -1;
	KGB_ASSERT(s->seen);
	memset(s->seen, 0, s->n_bindings * sizeof(*s->seen));
	for (size_t i = 0; i < n + s->spec->n_interfaces; i++) {
		const struct binding *b = i < n ? &s->bindings[refs[i]]
						: find_binding(s, s->spec->interfaces[i - n].entry);
		if (!b || s->seen[b - s->bindings])
			continue;
		s->seen[b - s->bindings] = true;
		s->queue[n_queue++] = (size_t)(b - s->bindings);
	}
	(void)reach(s, n_queue);
	for (size_t i = 0; i < s->n_bindings; i++)
		s->bindings[i].live = s->seen[i];
	return 0;
}

/* Queues the entries; returns how many. */
static size_t queue_entries(struct scan *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->spec->n_interfaces && n < s->n_bindings; i++) {
		const struct binding *b = find_binding(s, s->spec->interfaces[i].entry);
		if (b)
			s->queue[n++] = (size_t)(b - s->bindings);
	}
	return n;
}

/* Whether code that runs at import mentions a value that a call reads: it may have made it. */
static bool makes_reached_value(const struct scan *s, const struct binding *b)
{
	for (size_t i = 0; i < b->n_refs; i++) {
		const struct binding *ref = &s->bindings[b->refs[i]];
		if (ref->reached && strcmp(kgb_json_str(ref->node, "kind", ""), "value") == 0)
			return true;
	}
	return false;
}

/* Marks the bindings that a call of an entry may run or read, and the functions that run at import
 * and may have made what it reads. */
static void mark_reached(struct scan *s)
{
	(void)reach(s, queue_entries(s));
	for (size_t i = 0; i < s->n_bindings; i++)
		s->bindings[i].reached = s->seen[i];
	size_t n = queue_entries(s);
	for (size_t i = 0; i < s->n_bindings && n < s->n_bindings; i++)
		if (s->bindings[i].live && !s->bindings[i].reached &&
		    makes_reached_value(s, &s->bindings[i]))
			s->queue[n++] = i;
	(void)reach(s, n);
	for (size_t i = 0; i < s->n_bindings; i++)
		s->bindings[i].reached = s->seen[i];
}

/* ---- contract ---- */

static int refuse_signature(const struct scan *s, int line, const char *fmt, ...) KGB_PRINTF(3, 4);

static int refuse_signature(const struct scan *s, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	return kgb_finding__contract(
		s->out, KGB_CODE_CONTRACT_SIGNATURE, line,
		"Define the function with the parameters of its schema, in their order; more "
		"parameters need defaults.",
		"%s", text);
}

/* The candidate's parameters as Python will bind them. */
struct signature {
	const cJSON *params;
	size_t n_positional; /* parameters that can be passed by position */
	bool takes_more, takes_any_name;
};

static bool kind_is(const cJSON *param, const char *kind)
{
	return strcmp(kgb_json_str(param, "kind", ""), kind) == 0;
}

static struct signature read_signature(const cJSON *params)
{
	struct signature sig = {.params = params};
	const cJSON *param = NULL;
	cJSON_ArrayForEach(param, params) {
		sig.n_positional +=
			kind_is(param, "positional") || kind_is(param, "positional_only");
		sig.takes_more |= kind_is(param, "var_positional");
		sig.takes_any_name |= kind_is(param, "var_keyword");
	}
	return sig;
}

/* Index of a named parameter in the candidate's list, -1 absent. */
static int param_index(const struct signature *sig, const char *name)
{
	const cJSON *param = NULL;
	int i = 0;
	cJSON_ArrayForEach(param, sig->params) {
		if (strcmp(kgb_json_str(param, "name", ""), name) == 0)
			return kind_is(param, "var_positional") || kind_is(param, "var_keyword")
				       ? -1
				       : i;
		i++;
	}
	return -1;
}

static size_t count_positional(const struct kgb_interface *interface)
{
	size_t n = 0;
	while (n < interface->n_params && !interface->params[n].keyword)
		n++;
	return n;
}

static const struct kgb_param *spec_param(const struct kgb_interface *interface, const char *name)
{
	for (size_t i = 0; i < interface->n_params; i++)
		if (strcmp(interface->params[i].name, name) == 0)
			return &interface->params[i];
	return NULL;
}

/* Checks the order of positional parameters: one that has the name of another parameter of the
 * schema is in a wrong place. */
static int check_positions(struct scan *s, const struct kgb_interface *in,
			   const struct signature *sig, int line)
{
	size_t n_pos = count_positional(in);

	if (sig->n_positional < n_pos && !sig->takes_more)
		return refuse_signature(
			s, line,
			"%s takes %zu positional parameters but is called with %zu: %.200s",
			in->entry, sig->n_positional, n_pos, in->schema);
	for (size_t i = 0; i < n_pos && i < sig->n_positional; i++) {
		const char *name =
			kgb_json_str(cJSON_GetArrayItem(sig->params, (int)i), "name", "");
		const struct kgb_param *named = spec_param(in, name);
		if (named && named != &in->params[i])
			return refuse_signature(
				s, line, "%s: parameter %zu is '%.60s' but must be '%s': %.200s",
				in->entry, i + 1, name, in->params[i].name, in->schema);
	}
	return 0;
}

static int check_keywords(struct scan *s, const struct kgb_interface *in,
			  const struct signature *sig, int line)
{
	size_t n_pos = count_positional(in);

	for (size_t i = n_pos; i < in->n_params; i++) {
		int at = param_index(sig, in->params[i].name);
		const cJSON *param = at < 0 ? NULL : cJSON_GetArrayItem(sig->params, at);
		bool good = param ? !kind_is(param, "positional_only") &&
					    (kind_is(param, "keyword") || (size_t)at >= n_pos)
				  : sig->takes_any_name;
		if (!good)
			return refuse_signature(
				s, line, "%s does not take '%s' as a keyword argument: %.200s",
				in->entry, in->params[i].name, in->schema);
	}
	return 0;
}

static int check_leftovers(struct scan *s, const struct kgb_interface *in,
			   const struct signature *sig, int line)
{
	const cJSON *param = NULL;
	size_t n_pos = count_positional(in), i = 0;

	cJSON_ArrayForEach(param, sig->params) {
		const char *name = kgb_json_str(param, "name", "");
		const struct kgb_param *named = spec_param(in, name);
		bool by_position = i < n_pos && i < sig->n_positional;
		bool by_name = named && named->keyword;
		if (!by_position && !by_name && !kgb_json_bool(param, "default", false))
			return refuse_signature(
				s, line,
				"%s: parameter '%.60s' has no default and is not in the schema: %.200s",
				in->entry, name, in->schema);
		i++;
	}
	return 0;
}

/* Whether all decorators keep the function's signature. With another one, the signature is unknown
 * before the call. */
static bool keeps_signature(const cJSON *decorators)
{
	static const char *const known[] = {"torch.no_grad",       "torch.inference_mode",
					    "torch.enable_grad",   "functools.wraps",
					    "functools.lru_cache", "functools.cache"};
	const cJSON *item = NULL;
	cJSON_ArrayForEach(item, decorators) {
		bool found = false;
		for (size_t i = 0; i < KGB_ARRAY_LEN(known); i++)
			found |= cJSON_IsString(item) && strcmp(item->valuestring, known[i]) == 0;
		if (!found)
			return false;
	}
	return true;
}

static int check_entry(struct scan *s, const struct kgb_interface *in, const struct binding *b)
{
	static const char hint[] = "Define it as a plain function: def name(...): at module level.";
	const cJSON *params = kgb_json_get(b->node, "params");
	const char *kind = kgb_json_str(b->node, "kind", "");
	int line = (int)kgb_json_i64(b->node, "line", 0);

	if (strcmp(kind, "class") == 0 || strcmp(kind, "import") == 0)
		return kgb_finding__contract(s->out, KGB_CODE_CONTRACT_ENTRY_KIND, line, hint,
					     "%s is %s, not a function", in->entry,
					     strcmp(kind, "class") == 0 ? "a class" : "imported");
	if (kgb_json_bool(b->node, "jit", false))
		return kgb_finding__contract(
			s->out, KGB_CODE_CONTRACT_ENTRY_KIND, line,
			"Keep kernels under other names and launch them from a plain function.",
			"%s is a jit function; it is called as an ordinary function", in->entry);
	if (kgb_json_bool(b->node, "is_async", false) ||
	    kgb_json_bool(b->node, "is_generator", false))
		return kgb_finding__contract(s->out, KGB_CODE_CONTRACT_ENTRY_KIND, line, hint,
					     "%s is a coroutine or generator, not a function",
					     in->entry);
	if (!cJSON_IsArray(params) || !kgb_json_bool(b->node, "settled", true) ||
	    !keeps_signature(kgb_json_get(b->node, "decorators")))
		return 0;
	struct signature sig = read_signature(params);
	struct kgb_param called[KGB_MAX_ARGS];
	struct kgb_interface seen = *in;
	seen.params = called;
	seen.n_params = kgb_interface_called_params(in, called);
	int found = check_positions(s, &seen, &sig, line);
	if (!found)
		found = check_keywords(s, &seen, &sig, line);
	return found ? found : check_leftovers(s, &seen, &sig, line);
}

static int check_missing(struct scan *s)
{
	KGB_AUTO(buf) struct kgb_buf missing = KGB_BUF_INIT(300);
	const char *schema = NULL;

	for (size_t i = 0; i < s->spec->n_interfaces; i++) {
		if (find_binding(s, s->spec->interfaces[i].entry))
			continue;
		kgb_buf_addf(&missing, "%s%s", missing.len ? ", " : "",
			     s->spec->interfaces[i].entry);
		schema = schema ? schema : s->spec->interfaces[i].schema;
	}
	if (!schema)
		return 0;
	return kgb_finding__contract(s->out, KGB_CODE_CONTRACT_MISSING_ENTRY, 0,
				     "Define every function that the task lists, at module level.",
				     "not defined: %s (%.150s)", missing.ptr, schema);
}

static int check_contract(struct scan *s, size_t n_kernels)
{
	int found = check_missing(s);

	for (size_t i = 0; i < s->spec->n_interfaces && !found; i++)
		found = check_entry(s, &s->spec->interfaces[i],
				    find_binding(s, s->spec->interfaces[i].entry));
	if (found || s->spec->triton == KGB_TRITON_NONE)
		return found;
	if (n_kernels == 0)
		return kgb_finding__contract(
			s->out, KGB_CODE_CONTRACT_NO_KERNEL, 0,
			"Write at least one @triton.jit function and launch it.",
			"the file defines no @triton.jit function");
	for (size_t i = 0; i < s->spec->n_interfaces; i++) {
		const char *entry = s->spec->interfaces[i].entry;
		const struct binding *b = find_binding(s, entry);
		s->queue[0] = (size_t)(b - s->bindings);
		if (!reach(s, 1))
			return kgb_finding__contract(
				s->out, KGB_CODE_CONTRACT_KERNEL_UNREACHABLE,
				(int)kgb_json_i64(b->node, "line", 0),
				"Launch a kernel of yours from every entry function, directly or through helpers.",
				"%s reaches no @triton.jit function", entry);
	}
	return 0;
}

/* ---- L1 ---- */

/* The kind of a fact's object that is the parameter `name`: "tensor" or "value" by the spec if the
 * fact is in an entry function, else "param". */
static const char *resolve_param(const struct scan *s, const struct kgb_fact *fact,
				 const char *name)
{
	const struct binding *b = find_binding(s, fact->owner);
	const struct kgb_interface *in = NULL;

	for (size_t i = 0; i < s->spec->n_interfaces; i++)
		if (strcmp(s->spec->interfaces[i].entry, fact->owner) == 0)
			in = &s->spec->interfaces[i];
	if (!b || !in || strcmp(fact->owner, fact->function) != 0)
		return "param";
	struct signature sig = read_signature(kgb_json_get(b->node, "params"));
	int at = param_index(&sig, name);
	if (at < 0)
		return "param";
	const struct kgb_param *param =
		(size_t)at < count_positional(in) ? &in->params[at] : spec_param(in, name);
	if (!param)
		return "param";
	return param->kind == KGB_PARAM_VALUE ? "value" : "tensor";
}

/* For code that runs at import: whether it changes a name that a call reads. */
static bool changes_reached(const struct scan *s, const cJSON *names)
{
	const cJSON *name = NULL;

	cJSON_ArrayForEach(name, names) {
		const struct binding *b =
			cJSON_IsString(name) ? find_binding(s, name->valuestring) : NULL;
		if (b && b->reached)
			return true;
	}
	return false;
}

static int read_fact(const struct scan *s, const cJSON *node, struct kgb_fact *out)
{
	int kind = kgb_fact__kind(kgb_json_str(node, "kind", ""));
	int context = kgb_fact__context(kgb_json_str(node, "ctx", ""));

	*out = (struct kgb_fact){
		.name = kgb_json_str(node, "name", NULL),
		.use = kgb_json_str(node, "use", NULL),
		.on = kgb_json_str(node, "on", NULL),
		.owner = kgb_json_str(node, "owner", NULL),
		.function = kgb_json_str(node, "fn", NULL),
		.line = (int)kgb_json_i64(node, "line", 0),
	};
	if (kind < 0 || context < 0 || !out->name || !out->use || !out->on || !out->owner ||
	    !out->function)
		return malformed(s, "an entry of facts is incomplete or of an unknown kind");
	out->kind = kind;
	out->context = 1u << context;
	if (kgb_str_starts(out->on, "param:"))
		out->on = resolve_param(s, out, out->on + strlen("param:"));
	return 0;
}

static void add_note(struct kgb_notes *notes, const struct kgb_rule *rule,
		     const struct kgb_fact *fact)
{
	notes->n_seen++;
	if (notes->n < KGB_NOTES_MAX)
		kgb_rule__explain(rule, fact, &notes->items[notes->n++]);
}

/* Collects notes and fills in the first refusal in source order. 1: there is one; 0: none; -1:
 * malformed facts. */
static int check_l1(struct scan *s)
{
	const cJSON *list = kgb_json_get(s->facts, "facts"), *node = NULL;
	const struct kgb_rule *refusal = NULL;
	struct kgb_fact refused = {0};

	if (!cJSON_IsArray(list))
		return malformed(s, "no list of facts");
	cJSON_ArrayForEach(node, list) {
		struct kgb_fact fact;
		if (read_fact(s, node, &fact) < 0)
			return -1;
		const struct binding *owner = find_binding(s, fact.owner);
		if (owner && !owner->live)
			continue;
		fact.is_reached = fact.owner[0] ? !owner || owner->reached
						: changes_reached(s, kgb_json_get(node, "into"));
		const struct kgb_rule *rule = kgb_l1__find(s->l1, &fact);
		if (rule && !kgb_rule__refuses(rule))
			add_note(s->notes, rule, &fact);
		if (!rule || !kgb_rule__refuses(rule) || (refusal && refused.line <= fact.line))
			continue;
		refusal = rule;
		refused = fact;
	}
	if (refusal)
		kgb_rule__explain(refusal, &refused, s->out);
	return refusal != NULL;
}

/* Makes a finding of the error for which ast_facts.py could not read the source. */
static int check_error(struct scan *s, const cJSON *error)
{
	static const struct {
		const char *kind;
		enum kgb_code code;
		const char *hint;
	} kinds[] = {
		{"syntax", KGB_CODE_CONTRACT_SYNTAX,
		 "Correct the syntax; python -m py_compile shows the place."},
		{"encoding", KGB_CODE_CONTRACT_ENCODING, "Save the file as UTF-8."},
		{"limit", KGB_CODE_CONTRACT_TOO_COMPLEX,
		 "Write simpler code: fewer names, less nesting."},
	};
	const char *kind = kgb_json_str(error, "kind", "");

	const char *text = kgb_json_str(error, "message", "unknown");
	for (size_t i = 0; i < KGB_ARRAY_LEN(kinds); i++)
		if (strcmp(kind, kinds[i].kind) == 0)
			return kgb_finding__contract(s->out, kinds[i].code,
						     (int)kgb_json_i64(error, "line", 0),
						     kinds[i].hint, "%s: %.300s", kind, text);
	return malformed(s, "an unknown kind of error");
}

static int scan_facts(struct scan *s)
{
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(s->facts, "error");
	size_t n_kernels = 0;

	if (strcmp(kgb_json_str(s->facts, "schema", ""), "kgb.ast_facts/1") != 0)
		return malformed(s, "not of schema kgb.ast_facts/1");
	if (!error)
		return malformed(s, "no 'error'");
	if (!cJSON_IsNull(error))
		return check_error(s, error);
	if (read_bindings(s) < 0 || read_kernels(s, &n_kernels) < 0 || mark_live(s) < 0)
		return -1;
	mark_reached(s);
	int found = check_l1(s);
	const struct kgb_finding finding = *s->out;
	/* A broken contract helps an honest author more than a rule about names. */
	if (found < 0 || check_contract(s, n_kernels))
		return found < 0 ? -1 : 1;
	*s->out = finding;
	return found;
}

int kgb_scan_facts(const struct kgb_l1 *l1, const struct kgb_spec *spec, const cJSON *facts,
		   struct kgb_notes *notes, struct kgb_finding *out, struct kgb_err *err)
{
	struct kgb_finding finding = {0};
	struct scan s = {.l1 = l1,
			 .spec = spec,
			 .facts = facts,
			 .notes = notes,
			 .out = &finding,
			 .err = err};

	notes->n = 0;
	notes->n_seen = 0;
	int rc = scan_facts(&s);

	kgb_arena_release(&s.arena);
	if (rc > 0)
		*out = finding;
	return rc;
}
