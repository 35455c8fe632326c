/* SPDX-License-Identifier: MIT */
#include "verify/ttir/ttir_text.h"

#include <ctype.h>

#include "base/limits.h"
#include "verify/ttir/ttir_reader.h"

static void read_region(struct kgb_ttir_reader *r, struct kgb_ttir_region *out);

/* ---- parts of a statement ---- */

static void read_location(struct kgb_ttir_reader *r, struct kgb_slice *out)
{
	kgb_ttir_skip_blanks(r);
	if (!kgb_ttir_at(r, "loc("))
		return;
	r->at += 3;
	struct kgb_slice text = kgb_ttir_group(r);
	if (out)
		*out = text;
}

/* %a, or %a#1: result 1 of those that share the name. */
static struct kgb_ttir_operand read_operand(struct kgb_ttir_reader *r)
{
	struct kgb_ttir_operand operand = {{"", 0}, 0};

	kgb_ttir_need(r, "%");
	operand.name = kgb_ttir_word(r);
	if (operand.name.n == 0)
		kgb_ttir_fail(r, KGB_ERR_INVALID, "a value without a name");
	if (kgb_ttir_peek(r) == '#') {
		r->at++;
		operand.nth = kgb_ttir_count(r);
	}
	return operand;
}

static void add_operand(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	struct kgb_ttir_operand operand = read_operand(r);
	struct kgb_ttir_operand *out = KGB_TTIR_ADD(r, s, operands, KGB_TTIR_LIST_MAX);

	if (out)
		*out = operand;
}

static void add_type(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s, bool is_result)
{
	struct kgb_ttir_type type;

	kgb_ttir_read_type(r, &type);
	struct kgb_ttir_type *out = is_result ? KGB_TTIR_ADD(r, s, out_types, KGB_TTIR_LIST_MAX)
					      : KGB_TTIR_ADD(r, s, types, KGB_TTIR_LIST_MAX);
	if (out)
		*out = type;
}

/* {a = 1 : i32, b, "c" = 2} */
static void read_attributes(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	kgb_ttir_need(r, "{");
	while (!r->failed && !kgb_ttir_take(r, "}")) {
		struct kgb_slice key =
			kgb_ttir_peek(r) == '"' ? kgb_ttir_quoted(r) : kgb_ttir_word(r);
		struct kgb_slice value = {"", 0};
		if (key.n == 0)
			kgb_ttir_fail(r, KGB_ERR_INVALID, "an attribute without a name");
		if (kgb_ttir_take(r, "=")) {
			kgb_ttir_skip_blanks(r);
			value.s = r->at;
			while (r->at < r->end && !strchr(",}\n", *r->at)) {
				if (*r->at == '"')
					(void)kgb_ttir_quoted(r);
				else if (strchr("([{<", *r->at))
					(void)kgb_ttir_group(r);
				else
					r->at++;
			}
			value.n = (size_t)(r->at - value.s);
		}
		struct kgb_ttir_attribute *out = KGB_TTIR_ADD(r, s, attributes, KGB_TTIR_LIST_MAX);
		if (out)
			*out = (struct kgb_ttir_attribute){key, value};
		(void)kgb_ttir_take(r, ",");
	}
}

static struct kgb_ttir_region *add_region(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	return KGB_TTIR_ADD(r, s, regions, 4);
}

/* The types that follow a colon, to the end of the line, a brace or a location. */
static void read_types(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	bool is_result = false;

	for (kgb_ttir_skip_blanks(r); !r->failed; kgb_ttir_skip_blanks(r)) {
		char c = kgb_ttir_peek(r);
		if (c == '\n' || c == '\0' || c == '{' || c == '}' || kgb_ttir_at(r, "loc("))
			break;
		if (c == '%')
			add_operand(r, s);
		else if (kgb_ttir_take(r, "->") || kgb_ttir_take(r, "to "))
			is_result = true;
		else if (strchr("(),*:", c))
			r->at++;
		else
			add_type(r, s, is_result);
	}
}

/* ^bb1(%a, %b : i32, f32) */
static void read_successor(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	kgb_ttir_need(r, "^");
	if (s->n_successors == KGB_ARRAY_LEN(s->successors)) {
		kgb_ttir_fail(r, KGB_ERR_INVALID, "more than two successors");
		return;
	}
	struct kgb_ttir_successor *out = &s->successors[s->n_successors++];
	*out = (struct kgb_ttir_successor){kgb_ttir_word(r), s->n_operands, 0};
	if (!kgb_ttir_take(r, "("))
		return;
	for (kgb_ttir_skip_blanks(r); kgb_ttir_peek(r) == '%'; kgb_ttir_skip_blanks(r)) {
		add_operand(r, s);
		(void)kgb_ttir_take(r, ",");
	}
	out->n_operands = s->n_operands - out->first_operand;
	while (r->at < r->end && *r->at != ')' && *r->at != '\n')
		r->at++;
	kgb_ttir_need(r, ")");
}

/* Words, and what belongs to one: acq_rel, dense<0>, fastmath<none>, 1.0e+00. */
static void read_bare(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	const char *first = r->at;

	if (kgb_ttir_peek(r) == '#')
		r->at++;
	struct kgb_slice word = kgb_ttir_word(r);
	if (kgb_ttir_peek(r) == '+') { /* an exponent */
		r->at++;
		(void)kgb_ttir_word(r);
	}
	if (kgb_ttir_peek(r) == '<')
		(void)kgb_ttir_group(r);
	if (r->at == first) {
		kgb_ttir_fail(r, KGB_ERR_INVALID, "unexpected character '%c'", *first);
		return;
	}
	if (s->text.n == 0)
		s->text = (struct kgb_slice){first, (size_t)(r->at - first)};
	struct kgb_slice *out = KGB_TTIR_ADD(r, s, words, 32);
	if (out)
		*out = word;
}

static void read_block_arguments(struct kgb_ttir_reader *r, struct kgb_ttir_block *block)
{
	while (!r->failed && !kgb_ttir_take(r, ")")) {
		struct kgb_ttir_argument *out =
			KGB_TTIR_ADD(r, block, arguments, KGB_TTIR_LIST_MAX);
		if (!out)
			return;
		memset(out, 0, sizeof(*out));
		kgb_ttir_skip_blanks(r);
		out->name = read_operand(r).name;
		kgb_ttir_need(r, ":");
		kgb_ttir_read_type(r, &out->type);
		kgb_ttir_skip_blanks(r);
		if (kgb_ttir_peek(r) == '{') {
			struct kgb_ttir_statement facts = {0};
			read_attributes(r, &facts);
			out->divisibility = kgb_ttir_integer(&facts, "tt.divisibility", 0);
		}
		read_location(r, NULL);
		(void)kgb_ttir_take(r, ",");
	}
}

/* (%a = %b, %c = %d): operands, and names of a block's arguments. */
static void read_bindings(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s,
			  struct kgb_ttir_block *block)
{
	kgb_ttir_need(r, "(");
	while (!r->failed && !kgb_ttir_take(r, ")")) {
		kgb_ttir_skip_blanks(r);
		struct kgb_ttir_operand name = read_operand(r);
		kgb_ttir_need(r, "=");
		kgb_ttir_skip_blanks(r);
		add_operand(r, s);
		struct kgb_ttir_argument *out =
			KGB_TTIR_ADD(r, block, arguments, KGB_TTIR_LIST_MAX);
		if (out)
			*out = (struct kgb_ttir_argument){.name = name.name};
		(void)kgb_ttir_take(r, ",");
	}
}

/* The types of a block's arguments from `first` on. */
static void set_types(struct kgb_ttir_reader *r, struct kgb_ttir_block *block, uint32_t first,
		      const struct kgb_ttir_type *types, uint32_t n)
{
	if (n != block->n_arguments - first) {
		kgb_ttir_fail(r, KGB_ERR_INVALID, "%u types for %u values", n,
			      block->n_arguments - first);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		block->arguments[first + i].type = types[i];
}

/* ---- statements with special forms ---- */

/* scf.for %i = %a to %b step %c iter_args(%d = %e) -> (f32) : i32 { */
static void read_for(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	struct kgb_ttir_block head = {0};
	struct kgb_ttir_type type = {.element = KGB_TTIR_I32};

	if (kgb_ttir_take(r, "unsigned"))
		*(struct kgb_slice *)KGB_TTIR_ADD(r, s, words, 32) =
			(struct kgb_slice){"unsigned", 8};
	kgb_ttir_skip_blanks(r);
	struct kgb_ttir_argument *induction = KGB_TTIR_ADD(r, &head, arguments, KGB_TTIR_LIST_MAX);
	*induction = (struct kgb_ttir_argument){.name = read_operand(r).name};
	static const char *const marks[] = {"=", "to", "step"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(marks); i++) {
		kgb_ttir_need(r, marks[i]);
		kgb_ttir_skip_blanks(r);
		add_operand(r, s);
	}
	if (kgb_ttir_take(r, "iter_args")) {
		read_bindings(r, s, &head);
		kgb_ttir_need(r, "->");
		kgb_ttir_need(r, "(");
		while (!r->failed && !kgb_ttir_take(r, ")")) {
			add_type(r, s, true);
			(void)kgb_ttir_take(r, ",");
		}
	}
	if (kgb_ttir_take(r, ":"))
		kgb_ttir_read_type(r, &type);
	set_types(r, &head, 1, s->out_types, s->n_out_types);
	if (r->failed)
		return;
	head.arguments[0].type = type;
	struct kgb_ttir_region *region = add_region(r, s);
	read_region(r, region);
	if (!r->failed) {
		region->blocks[0].arguments = head.arguments;
		region->blocks[0].n_arguments = head.n_arguments;
	}
}

static void read_if(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	kgb_ttir_skip_blanks(r);
	add_operand(r, s);
	if (kgb_ttir_take(r, "->")) {
		kgb_ttir_need(r, "(");
		while (!r->failed && !kgb_ttir_take(r, ")")) {
			add_type(r, s, true);
			(void)kgb_ttir_take(r, ",");
		}
	}
	read_region(r, add_region(r, s));
	if (kgb_ttir_take(r, "else"))
		read_region(r, add_region(r, s));
}

/* scf.while (%a = %b) : (f32) -> (i32) { ... } do { ^bb0(%c: i32): ... } */
static void read_while(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	struct kgb_ttir_block head = {0};

	kgb_ttir_skip_blanks(r);
	if (kgb_ttir_peek(r) == '(')
		read_bindings(r, s, &head);
	kgb_ttir_need(r, ":");
	read_types(r, s);
	set_types(r, &head, 0, s->types, s->n_types);
	struct kgb_ttir_region *before = add_region(r, s);
	struct kgb_ttir_region *after = add_region(r, s);
	if (!before || !after)
		return;
	before = &s->regions[0];
	read_region(r, before);
	kgb_ttir_need(r, "do");
	read_region(r, after);
	if (!r->failed) {
		before->blocks[0].arguments = head.arguments;
		before->blocks[0].n_arguments = head.n_arguments;
	}
}

/* ({ ... }, { ... }) */
static void read_regions(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	do {
		struct kgb_ttir_region *region = add_region(r, s);
		if (!region)
			return;
		read_region(r, region);
	} while (kgb_ttir_take(r, ","));
	kgb_ttir_need(r, ")");
}

/* Whatever stands in a line: operands, words, attributes, regions, types. */
static void read_generic(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	for (kgb_ttir_skip_blanks(r); !r->failed; kgb_ttir_skip_blanks(r)) {
		char c = kgb_ttir_peek(r);
		if (c == '\n' || c == '\0' || c == '}')
			break;
		if (c == '%') {
			add_operand(r, s);
		} else if (c == '^') {
			read_successor(r, s);
		} else if (kgb_ttir_at(r, "<{")) {
			r->at++;
			read_attributes(r, s);
			kgb_ttir_need(r, ">");
		} else if (c == '{') {
			read_attributes(r, s);
		} else if (kgb_ttir_at(r, "({")) {
			r->at++;
			read_regions(r, s);
		} else if (c == '"') {
			s->text = kgb_ttir_quoted(r);
		} else if (c == '@') {
			r->at++;
			s->symbol = kgb_ttir_peek(r) == '"' ? kgb_ttir_quoted(r) : kgb_ttir_word(r);
		} else if (kgb_ttir_at(r, "loc(")) {
			read_location(r, &s->location);
		} else if (c == ':') {
			r->at++;
			read_types(r, s);
		} else if (c == ')') {
			r->at++;
			s->n_grouped = s->n_grouped ? s->n_grouped : s->n_operands;
		} else if (strchr("[](,=", c)) {
			r->at++;
		} else {
			read_bare(r, s);
		}
	}
}

/* ---- statements, blocks, regions ---- */

/* %a, %b:2 = */
static void read_results(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	uint32_t total = 0;

	while (!r->failed && kgb_ttir_peek(r) == '%') {
		struct kgb_ttir_result *out = KGB_TTIR_ADD(r, s, results, KGB_TTIR_LIST_MAX);
		if (!out)
			return;
		*out = (struct kgb_ttir_result){read_operand(r).name, 1};
		if (kgb_ttir_peek(r) == ':') {
			r->at++;
			out->count = kgb_ttir_count(r);
		}
		if (out->count == 0 || out->count > KGB_TTIR_LIST_MAX ||
		    (total += out->count) > KGB_TTIR_LIST_MAX)
			kgb_ttir_fail(r, KGB_ERR_INVALID, "too many results");
		if (kgb_ttir_take(r, "="))
			break;
		kgb_ttir_need(r, ",");
		kgb_ttir_skip_blanks(r);
	}
	kgb_ttir_skip_blanks(r);
}

static void read_statement(struct kgb_ttir_reader *r, struct kgb_ttir_statement *s)
{
	s->line = kgb_ttir_line(r);
	read_results(r, s);
	s->name = kgb_ttir_peek(r) == '"' ? kgb_ttir_quoted(r) : kgb_ttir_word(r);
	if (s->name.n == 0)
		kgb_ttir_fail(r, KGB_ERR_INVALID, "an operation expected");
	if (kgb_slice_is(s->name, "scf.for"))
		read_for(r, s);
	else if (kgb_slice_is(s->name, "scf.if"))
		read_if(r, s);
	else if (kgb_slice_is(s->name, "scf.while"))
		read_while(r, s);
	else
		read_generic(r, s);
	kgb_ttir_skip_blanks(r);
	if (kgb_ttir_take(r, "attributes"))
		kgb_ttir_skip_blanks(r);
	if (kgb_ttir_peek(r) == '{')
		read_attributes(r, s);
	read_location(r, &s->location);
}

static struct kgb_ttir_block *add_block(struct kgb_ttir_reader *r, struct kgb_ttir_region *region)
{
	struct kgb_ttir_block *block = KGB_TTIR_ADD(r, region, blocks, KGB_TTIR_BLOCKS_MAX);

	if (block)
		memset(block, 0, sizeof(*block));
	return block;
}

/* ^bb1(%a: i32): */
static void read_label(struct kgb_ttir_reader *r, struct kgb_ttir_block *block)
{
	kgb_ttir_need(r, "^");
	block->label = kgb_ttir_word(r);
	if (kgb_ttir_take(r, "("))
		read_block_arguments(r, block);
	kgb_ttir_need(r, ":");
}

static void read_region(struct kgb_ttir_reader *r, struct kgb_ttir_region *out)
{
	struct kgb_ttir_block *block = NULL;

	if (!out || r->failed)
		return;
	memset(out, 0, sizeof(*out));
	if (++r->depth > KGB_TTIR_DEPTH_MAX)
		kgb_ttir_fail(r, KGB_ERR_LIMIT, "more than %d regions in each other",
			      KGB_TTIR_DEPTH_MAX);
	kgb_ttir_need(r, "{");
	for (kgb_ttir_skip_lines(r); !r->failed; kgb_ttir_skip_lines(r)) {
		char c = kgb_ttir_peek(r);
		if (c == '}' || c == '\0')
			break;
		if (c == '^' || !block)
			block = add_block(r, out);
		if (!block)
			break;
		if (c == '^') {
			read_label(r, block);
			continue;
		}
		if (++r->n_statements > KGB_TTIR_STATEMENTS_MAX)
			kgb_ttir_fail(r, KGB_ERR_LIMIT, "more than %d statements",
				      KGB_TTIR_STATEMENTS_MAX);
		struct kgb_ttir_statement *s = kgb_arena_alloc(r->arena, sizeof(*s));
		read_statement(r, s);
		/* NOLINTBEGIN(bugprone-sizeof-expression): elements are pointers. */
		struct kgb_ttir_statement **place =
			KGB_TTIR_ADD(r, block, statements, KGB_TTIR_STATEMENTS_MAX);
		/* NOLINTEND(bugprone-sizeof-expression) */
		if (place)
			*place = s;
	}
	kgb_ttir_need(r, "}");
	if (!block && !r->failed)
		(void)add_block(r, out);
	r->depth--;
}

/* ---- the module ---- */

static void read_function(struct kgb_ttir_reader *r, struct kgb_ttir_function *f)
{
	kgb_ttir_need(r, "tt.func");
	f->is_public = kgb_ttir_take(r, "public");
	if (!f->is_public)
		(void)kgb_ttir_take(r, "private");
	kgb_ttir_need(r, "@");
	f->name = kgb_ttir_peek(r) == '"' ? kgb_ttir_quoted(r) : kgb_ttir_word(r);
	kgb_ttir_need(r, "(");
	read_block_arguments(r, &f->arguments);
	if (kgb_ttir_take(r, "->")) {
		bool many = kgb_ttir_take(r, "(");
		do {
			struct kgb_ttir_type *type = KGB_TTIR_ADD(r, f, results, KGB_TTIR_LIST_MAX);
			if (type)
				kgb_ttir_read_type(r, type);
		} while (many && !r->failed && kgb_ttir_take(r, ","));
		if (many)
			kgb_ttir_need(r, ")");
	}
	if (kgb_ttir_take(r, "attributes")) {
		struct kgb_ttir_statement facts = {0};
		kgb_ttir_skip_blanks(r);
		read_attributes(r, &facts);
	}
	read_region(r, &f->body);
	read_location(r, NULL);
}

#define ALIASES_MAX (1 << 16)

struct aliases {
	struct kgb_slice *items; /* owned by the arena; by the number behind #loc */
	size_t n;
};

/* #loc12 = loc("kernel.py":3:1) */
static void read_alias(struct kgb_ttir_reader *r, struct aliases *aliases)
{
	kgb_ttir_need(r, "#");
	if (!kgb_ttir_take(r, "loc")) {
		kgb_ttir_fail(r, KGB_ERR_INVALID, "an alias of something else than a location");
		return;
	}
	size_t number = isdigit((unsigned char)kgb_ttir_peek(r)) ? kgb_ttir_count(r) : 0;
	kgb_ttir_need(r, "=");
	kgb_ttir_skip_blanks(r);
	struct kgb_slice text = {"", 0};
	read_location(r, &text);
	if (number >= ALIASES_MAX || r->failed)
		return;
	if (number >= aliases->n) {
		size_t more = number < 64 ? 64 : 2 * number;
		struct kgb_slice *items = kgb_arena_array(r->arena, more, sizeof(*items));
		if (aliases->n)
			memcpy(items, aliases->items, aliases->n * sizeof(*items));
		*aliases = (struct aliases){items, more};
	}
	aliases->items[number] = text;
}

static void locate_region(const struct kgb_ttir_region *region, const struct aliases *aliases)
{
	for (uint32_t b = 0; b < region->n_blocks; b++) {
		for (uint32_t i = 0; i < region->blocks[b].n_statements; i++) {
			struct kgb_ttir_statement *s = region->blocks[b].statements[i];
			kgb_ttir_locate(s, aliases->items, aliases->n);
			for (uint32_t k = 0; k < s->n_regions; k++)
				locate_region(&s->regions[k], aliases);
		}
	}
}

int kgb_ttir_parse(const char *text, size_t len, struct kgb_ttir_module *out, struct kgb_err *err)
{
	struct kgb_ttir_reader r = {.at = text,
				    .end = text + len,
				    .counted = text,
				    .line = 1,
				    .arena = &out->arena,
				    .err = err};
	struct aliases aliases = {0};

	if (len > KGB_LIMIT_TTIR)
		return kgb_fail(err, KGB_ERR_LIMIT, "a module of %zu bytes: at most %u", len,
				KGB_LIMIT_TTIR);
	for (kgb_ttir_skip_lines(&r); !r.failed && r.at < r.end; kgb_ttir_skip_lines(&r)) {
		if (kgb_ttir_peek(&r) == '#') {
			read_alias(&r, &aliases);
		} else if (kgb_ttir_take(&r, "}")) {
			read_location(&r, NULL);
		} else if (kgb_ttir_take(&r, "module")) {
			while (r.at < r.end && *r.at != '\n')
				r.at++;
		} else {
			struct kgb_ttir_function *f = KGB_TTIR_ADD(&r, out, functions, 4096);
			if (f) {
				memset(f, 0, sizeof(*f));
				read_function(&r, f);
			}
		}
	}
	if (r.failed)
		return -1;
	for (uint32_t i = 0; i < out->n_functions; i++)
		locate_region(&out->functions[i].body, &aliases);
	return 0;
}

void kgb_ttir_module_release(struct kgb_ttir_module *module)
{
	kgb_arena_release(&module->arena);
	*module = (struct kgb_ttir_module)KGB_TTIR_MODULE_INIT;
}

/* ---- attributes ---- */

const struct kgb_ttir_attribute *kgb_ttir_attribute(const struct kgb_ttir_statement *statement,
						    const char *key)
{
	for (uint32_t i = 0; i < statement->n_attributes; i++)
		if (kgb_slice_is(statement->attributes[i].key, key))
			return &statement->attributes[i];
	return NULL;
}

/* Reads an integer and moves *at past it. An integer that is too large saturates. */
static int64_t integer_at(const char **at, const char *end)
{
	bool negative = *at < end && **at == '-';
	int64_t value = 0;

	for (*at += negative; *at < end && isdigit((unsigned char)**at); ++*at)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, **at - '0', &value))
			value = INT64_MAX;
	return negative ? -value : value;
}

int64_t kgb_ttir_integer(const struct kgb_ttir_statement *statement, const char *key,
			 int64_t otherwise)
{
	const struct kgb_ttir_attribute *attribute = kgb_ttir_attribute(statement, key);

	if (!attribute || attribute->value.n == 0)
		return attribute ? 1 : otherwise;
	if (attribute->value.s[0] == 't' || attribute->value.s[0] == 'f')
		return attribute->value.s[0] == 't';
	const char *at = attribute->value.s;
	return integer_at(&at, at + attribute->value.n);
}

size_t kgb_ttir_integers(const struct kgb_ttir_statement *statement, const char *key, int64_t *out,
			 size_t most)
{
	const struct kgb_ttir_attribute *attribute = kgb_ttir_attribute(statement, key);
	size_t n = 0;

	if (!attribute || attribute->value.n == 0)
		return 0;
	const char *at = attribute->value.s, *end = at + attribute->value.n;
	const char *colon = memchr(at, ':', attribute->value.n);
	for (at = colon ? colon + 1 : at; at < end && n < most;) {
		if (isdigit((unsigned char)*at) || *at == '-')
			out[n++] = integer_at(&at, end);
		else
			at++;
	}
	return n;
}

bool kgb_ttir_has_word(const struct kgb_ttir_statement *statement, const char *word)
{
	for (uint32_t i = 0; i < statement->n_words; i++)
		if (kgb_slice_is(statement->words[i], word))
			return true;
	return false;
}
