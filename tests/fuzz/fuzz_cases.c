/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char spec[] =
	"operator: aten::toy\n"
	"source: aten\n"
	"category: Math\n"
	"summary: s\n"
	"semantics: s\n"
	"dtypes: [float32, int64]\n"
	"interfaces:\n"
	"  - entry: toy\n"
	"    schema: s\n"
	"    reference: {aten: toy}\n"
	"    cases: [toy]\n"
	"    results: 2\n"
	"    params:\n"
	"      - {name: a, tensor: $a, layout: $a_layout, dtype: $a_dtype|$dtype, fill: $fill}\n"
	"      - {name: b, tensor: '$b|[2]', layout: $b_layout, result: 0}\n"
	"      - {name: v, value: $v|1}\n"
	"      - {name: f, value: $f|1, as: float}\n"
	"      - {name: d, value: $d|null, as: dtype}\n"
	"      - {name: out, out: 1, layout: $out_layout, keyword: true}\n";

/* A case set for a spec that uses every kind of variable. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	load_and_expand((struct fuzz_texts){.spec = spec,
					    .spec_len = sizeof(spec) - 1,
					    .set = (const char *)data,
					    .set_len = size});
	return 0;
}
