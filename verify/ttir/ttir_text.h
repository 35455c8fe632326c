/* SPDX-License-Identifier: MIT */
/** \file
 * The text of a module of Triton's IR as a tree: functions, regions, blocks, statements. The tree
 * is syntax only: names are not resolved, and the meaning of operations is not checked. The text is
 * hostile: every length, depth and count has a cap.
 */
#ifndef KGB_VERIFY_TTIR_TTIR_TEXT_H
#define KGB_VERIFY_TTIR_TTIR_TEXT_H

#include "base/mem.h"
#include "verify/ttir/ttir_type.h"

#define KGB_TTIR_DEPTH_MAX 48 /* regions in regions */
#define KGB_TTIR_STATEMENTS_MAX (1 << 17)
#define KGB_TTIR_BLOCKS_MAX 64 /* of one region */
#define KGB_TTIR_LIST_MAX 1024 /* operands, results, attributes, types of one statement */

/** A part of the text; not terminated. */
struct kgb_slice {
	const char *s; /* borrowed from the text */
	size_t n;
};
bool kgb_slice_is(struct kgb_slice slice, const char *text);
bool kgb_slice_same(struct kgb_slice a, struct kgb_slice b);

struct kgb_ttir_operand {
	struct kgb_slice name; /* without % */
	uint32_t nth; /* of a name with several results: %a#1 */
};
struct kgb_ttir_result {
	struct kgb_slice name;
	uint32_t count; /* %a:2 stands for two */
};
struct kgb_ttir_attribute {
	struct kgb_slice key, value; /* value: as it stands there; empty for a flag */
};
struct kgb_ttir_successor {
	struct kgb_slice label; /* without ^ */
	uint32_t first_operand, n_operands; /* of the statement's operands */
};
struct kgb_ttir_argument {
	struct kgb_slice name;
	struct kgb_ttir_type type;
	int64_t divisibility; /* tt.divisibility of a function's argument; 0: none */
};

struct kgb_ttir_statement {
	struct kgb_slice name; /* "arith.addi" */
	struct kgb_slice text; /* a constant, or the text between quotes */
	struct kgb_slice symbol; /* without @ */
	struct kgb_slice location; /* between the parentheses of loc() */
	struct kgb_ttir_result *results;
	struct kgb_ttir_operand *operands;
	struct kgb_ttir_attribute *attributes;
	struct kgb_slice *words; /* words that stand alone: "slt", "acq_rel" */
	struct kgb_ttir_type *types, *out_types; /* before and behind the arrow */
	struct kgb_ttir_region *regions;
	struct kgb_ttir_successor successors[2];
	uint32_t n_results, n_operands, n_attributes, n_words, n_types, n_out_types, n_regions;
	uint32_t n_successors;
	uint32_t cap_results, cap_operands, cap_attributes, cap_words, cap_types, cap_out_types;
	uint32_t cap_regions;
	uint32_t n_grouped; /* operands between the first parentheses, of scf.condition */
	int line; /* of the text */
	int kernel_line; /* of the source that Triton compiled; 0: not given */
	uint64_t place; /* hash of the location: file, line, column and inlined calls */
	char kernel_file[48]; /* its name without folders */
};

struct kgb_ttir_block {
	struct kgb_slice label;
	struct kgb_ttir_argument *arguments;
	struct kgb_ttir_statement **statements;
	uint32_t n_arguments, cap_arguments, n_statements, cap_statements;
};
struct kgb_ttir_region {
	struct kgb_ttir_block *blocks;
	uint32_t n_blocks, cap_blocks;
};
struct kgb_ttir_function {
	struct kgb_slice name;
	bool is_public;
	struct kgb_ttir_block arguments; /* only its arguments */
	struct kgb_ttir_type *results;
	uint32_t n_results, cap_results;
	struct kgb_ttir_region body;
};
struct kgb_ttir_module {
	struct kgb_arena arena; /* owns the tree; names are parts of the text */
	struct kgb_ttir_function *functions;
	uint32_t n_functions, cap_functions;
};
#define KGB_TTIR_MODULE_INIT \
	{                    \
		0            \
	}

/** Reads a module. The tree refers to `text`, which must outlive it. INVALID: "line 3: ..."; LIMIT:
 * a cap was passed. Release `out` in both cases. */
KGB_MUST_CHECK int kgb_ttir_parse(const char *text, size_t len, struct kgb_ttir_module *out,
				  struct kgb_err *err);
void kgb_ttir_module_release(struct kgb_ttir_module *module);

/** The attribute with this key; NULL: there is none. */
const struct kgb_ttir_attribute *kgb_ttir_attribute(const struct kgb_ttir_statement *statement,
						    const char *key);
/** The integer of the attribute with this key ("1 : i32"; "true" and a flag are 1), or `otherwise`
 * if there is no such attribute. */
int64_t kgb_ttir_integer(const struct kgb_ttir_statement *statement, const char *key,
			 int64_t otherwise);
/** Reads the integers of a list ("array<i32: 1, 0>"); returns their number, at most `most`. */
size_t kgb_ttir_integers(const struct kgb_ttir_statement *statement, const char *key, int64_t *out,
			 size_t most);
bool kgb_ttir_has_word(const struct kgb_ttir_statement *statement, const char *word);

#endif
