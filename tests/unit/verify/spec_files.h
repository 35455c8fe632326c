/* SPDX-License-Identifier: MIT */
/** \file
 * Specs from memory: a small operator whose files a test changes by replacing text.
 */
#ifndef KGB_TESTS_UNIT_VERIFY_SPEC_FILES_H
#define KGB_TESTS_UNIT_VERIFY_SPEC_FILES_H

#include "base/str.h"
#include "base/system/fs.h"
#include "tests/unit/base/support.h"
#include "verify/spec/spec.h"

struct spec_file {
	const char *path;
	const char *text;
};

#define SPEC_PATH "kgb/aten/aten__toy.yaml"
#define SET_PATH "kgb/cases/toy.yaml"
#define REFERENCE_PATH "kgb/aten/reference/toy.py"

static const struct spec_file spec_files[] = {
	{SPEC_PATH,
	 "operator: aten::toy\n"
	 "source: aten\n"
	 "category: Math\n"
	 "summary: adds\n"
	 "semantics: out = self + alpha * other\n"
	 "dtypes: [float32, float16]\n"
	 "interfaces:\n"
	 "  - entry: toy_Tensor\n"
	 "    schema: toy.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
	 "    reference: {aten: toy.Tensor}\n"
	 "    magnitude: abs\n"
	 "    tolerance: {accumulate: result}\n"
	 "    params:\n"
	 "      - {name: self, tensor: $a, layout: $a_layout}\n"
	 "      - {name: other, tensor: $b, dtype: $b_dtype|$dtype, fill: 'uniform(-2, 2)'}\n"
	 "      - {name: alpha, value: $alpha|1, keyword: true}\n"
	 "    cases: [toy]\n"
	 "  - entry: toy_out\n"
	 "    schema: toy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
	 "    reference: {python: 'toy.py:toy'}\n"
	 "    returns: false\n"
	 "    params:\n"
	 "      - {name: self, tensor: $a, result: 1}\n"
	 "      - {name: out, out: 0, layout: $out_layout, keyword: true}\n"
	 "    results: 2\n"
	 "    cases: [toy]\n"
	 "excluded:\n"
	 "  - {overload: toy.t, reason: takes no tensor}\n"},
	{SET_PATH,
	 "name: toy\n"
	 "doc: two tensors\n"
	 "cases:\n"
	 "  - {id: scalar, a: [], b: [1]}\n"
	 "  - {id: tail_1000, a: [1000], b: [4, 1000], alpha: -0.5}\n"
	 "  - {id: outlier, mode: outlier, a: [5, 7], b: [7], a_layout: transposed, dtypes: [int64]}\n"},
	{REFERENCE_PATH, "def toy(self, out):\n    return self, self\n"},
};

/* One replacement in one file; `old` NULL: none, `fresh` NULL: the file does not exist. */
struct spec_change {
	const char *path;
	const char *old;
	const char *fresh;
};

static inline int read_spec_file(void *payload, const char *path, struct kgb_buf *out,
				 struct kgb_err *err)
{
	const struct spec_change *change = payload;
	for (size_t i = 0; i < KGB_ARRAY_LEN(spec_files); i++) {
		const char *text = spec_files[i].text;
		if (!kgb_str_eq(spec_files[i].path, path))
			continue;
		if (!change->old || !kgb_str_eq(change->path, path))
			return kgb_buf_adds(out, text);
		if (!change->fresh)
			break;
		const char *at = strstr(text, change->old);
		if (!at)
			fail_msg("'%s' is not in %s", change->old, path);
		kgb_buf_add(out, text, (size_t)(at - text));
		kgb_buf_adds(out, change->fresh);
		return kgb_buf_adds(out, at + strlen(change->old));
	}
	return kgb_fail(err, KGB_ERR_NOT_FOUND, "open '%s': No such file or directory", path);
}

static inline void load_toy(struct spec_change change, struct kgb_spec *out)
{
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_spec_load_with(SPEC_PATH, read_spec_file, &change, out, &err), err);
}

#endif
