#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the specs: every lint passes on all of them, and fails on a spec that is broken for it'
. "$(dirname "$0")/lib.sh"
test_require sandbox torch

set=$KGB_TEST_SOURCE_DIR/datasets/kernelgenbench
export KGB_PYTHON="${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}"
export KGB_CACHE_DIR="$TRASH/cache"

test_expect_success 'references of vLLM agree with plain loops over numbers' '
	"$KGB_PYTHON" -I -B "$KGB_TEST_SOURCE_DIR/tests/helpers/check_vllm_references.py" "$set/vllm/reference"
'

# As the slow lints of source files: the specs that changed of late, and some of the others.
test_expect_success 'all operators have a spec, and the chosen ones pass every lint, and so do their prompts' '
	test 210 = "$(find "$set" -name "*__*.yaml" | wc -l)" && test 210 = "$(kgb-agent list | wc -l)" &&
	(cd "$KGB_TEST_SOURCE_DIR" && ls datasets/kernelgenbench/*/*__*.yaml | sample_files) >specs &&
	sed "s|.*/||; s|__|::|; s|\.yaml||" specs >chosen &&
	kgb-agent dataset lint @chosen --device cpu >all || { grep -A9 "^not ok" all; false; }
	test_no_grep "^not ok" all && test "$(wc -l <chosen)" = "$(grep -c "^ok - .*::" all)" && test_grep "^ok - prompts: " all
'

test_expect_success 'a good result is kept and not computed again' '
	kgb-judge lint --dataset KernelGenBench add silu && kgb-judge lint --dataset KernelGenBench add silu >out &&
	test 2 = "$(grep -c "^ok - .*, known$" out)" &&
	kgb-judge lint --dataset KernelGenBench add --no-cache --json >out && test_grep "\"known\":false" out
'

# Broken operators, all in one dataset: broken NAME OPERATOR 'sed of the spec' 'sed of the reference' 'output of the lint'.
# The copy of the spec has the name, and a copy of its reference file.
data=$TRASH/broken/datasets/kernelgenbench
mkdir -p "$data/vllm/reference" "$data/aten/reference"
cp -R "$set/cases" "$data/"
cp "$set/vllm/reference/"*.py "$data/vllm/reference/"
cp "$set/aten/reference/"*.py "$data/aten/reference/"
broken() {
	name=$1 from=$2 spec=$3 reference=$4 says=$5
	sed "s/^operator: .*/operator: vllm13::$name/; s/python: \"[a-z_]*\.py:/python: \"$name.py:/; $spec" \
		"$set/vllm/vllm13__$from.yaml" >"$data/vllm/vllm13__$name.yaml"
	file=$(sed -n "s/.*reference: {python: \"\([a-z_]*\.py\):.*/\1/p" "$set/vllm/vllm13__$from.yaml" | head -1)
	sed "$reference" "$set/vllm/reference/$file" >"$data/vllm/reference/$name.py"
	if [ -n "$spec" ]; then
		! sed "s/^operator: .*/operator: vllm13::$name/; s/python: \"[a-z_]*\.py:/python: \"$name.py:/" \
			"$set/vllm/vllm13__$from.yaml" | cmp -s - "$data/vllm/vllm13__$name.yaml" || echo "$name: spec unchanged" >>stale
	fi
	[ -z "$reference" ] || ! cmp -s "$set/vllm/reference/$file" "$data/vllm/reference/$name.py" ||
		echo "$name: reference unchanged" >>stale
	printf "%s\t%s\n" "$name" "$says" >>expected
}

norm='return (wide \* scale).to(input.dtype) \* weight'
big='\n\ndef rms_norm_terms(input, weight, epsilon):\n    return torch.full_like(input, 1e12)'
# Without drawn cases: NaN among their values refuse most wrong results.
few='s/cases: \[rms_norm\]/cases: [rms_few]/; /^timing:/,$d'
: >stale
broken imprecise rms_norm '' "s/$norm/return (wide * scale).to(input.dtype) * weight * (1 if wide is input else 1.1)/" \
	'feasible: .* of the reference is imprecise'
broken lenient rms_norm "$few; "'s/    returns: false/    magnitude: "lenient.py:rms_norm_terms"\n    returns: false/' "s/$norm/$norm$big/" \
	'trivial: .* no case refuses zeros'
for wrong in 'ones' 'a constant' 'an input' 'the result for other inputs' 'half the precision' 'the last element left out' \
	'one element in a hundred left out'; do
	printf "lenient\ttrivial: .* no case refuses %s\n" "$wrong" >>expected
done
broken nothing rms_norm "$few" "s/$norm/return (wide * scale).to(input.dtype) * weight * 0/" 'trivial: .*result 0 is always zero'
broken weightless rms_norm "$few" "s/$norm/return (wide * scale).to(input.dtype) * weight.clamp(1, 1)/" \
	"inputs: .*'weight' changes no result"
broken denied rms_norm 's/{name: weight, \(.*\)}/{name: weight, \1, unused: true}/' '' \
	"inputs: .*'weight' is declared as unused, but"
broken one_epsilon rms_norm 's/{name: epsilon, value: $epsilon/{name: epsilon, value: "$eps|0.001"/' '' \
	"inputs: .*'epsilon' is the same in every case"
broken chance rms_norm '' "s/$norm/return (wide * scale).to(input.dtype) * weight * (1 + 1e-9 * (int.from_bytes(os.urandom(4), 'little') % 1000))/; s/^import torch\$/import os\n\nimport torch/" \
	'deterministic: .*another result in another process'
# In another order only the last bits may differ. Each process has a different factor.
broken far_off rms_norm 's/    returns: false/    any_order: true\n    returns: false/' "s/$norm/return (wide * scale).to(input.dtype) * weight * FACTOR/; s/^import torch\$/import random\n\nimport torch\n\nFACTOR = 1e30 ** random.SystemRandom().random()/" \
	'deterministic: .*another result in another process'
broken any_order rms_norm 's/    returns: false/    any_order: true\n    returns: false/; s/flops: .*/flops: numel(input) - 99999999/' "s/$norm/return (wide * scale).to(input.dtype) * weight * (1 + 1e-9 * (int.from_bytes(os.urandom(4), 'little') % 1000))/; s/^import torch\$/import os\n\nimport torch/" \
	'costs: .*is below 0'
broken outside rms_norm '' "s/$norm/return (wide * scale).to(input.dtype) * weight + ctypes.c_ubyte.from_address(input.data_ptr() - 1).value/; s/^import torch\$/import ctypes\n\nimport torch/" \
	'bounds: .*reads memory outside of its arguments'
# Where no sequence has a token values are NaN, and a share of 0 does not remove them.
broken beyond paged_attention_v1 's/cases: \[paged_attention\]/cases: [paged_few]/; /^timing:/,$d' 's/torch.where(used, wide(value), 0)/wide(value)/' \
	"bounds: .*result 0 depends on elements that 'read' excludes"
{
	printf 'name: paged_few\ncases:\n'
	grep "id: single," "$set/cases/paged_attention.yaml"
} >"$data/cases/paged_few.yaml"
broken dear rms_norm 's/flops: .*/flops: numel(input) - 99999999/' '' 'costs: .*is below 0'
broken signless rms_norm "$few; "'s/^dtypes:/tolerance: {zeros: signed}\ndtypes:/' '' 'trivial: .*no listed case has a result of -0 in float16'
broken ordinary rms_norm 's/fill: $a_fill}/fill: "$a_fill|uniform(1,2)"}/; s/\(layout: $w_layout\)}/\1, fill: "uniform(1,2)"}/' '' \
	'cases: rms_norm/float32/outlier/outlier is no outlier case'
broken kept rms_norm 's/Tensor(a!) out/Tensor out/' '' 'schema: .*does not say that it is written to'
broken renamed rms_norm 's/entry: rms_norm/entry: root_norm/; s/- rms_norm\//- root_norm\//' '' \
	'schema: .*should be called rms_norm'
broken nonsense rms_norm 's/schema: "rms_norm(/schema: "rms_norm((/' '' 'schema: .*it is no schema'
broken idle moe_lora_align_block_size 's/cases: \[moe_lora_align\]/cases: [moe_lora_idle]/' '' 'trivial: .*no case changes anything'
sed "s/^name: .*/name: moe_lora_idle/; s/id: bench_4,/id: big_launch_bound,/; s/enabled_fill: ones/enabled_fill: \"int(0,0)\"/; s/enabled_fill: \"int(0,1)\"/enabled_fill: \"int(0,0)\"/; /^drawn:/,\$d" \
	"$set/cases/moe_lora_align.yaml" >"$data/cases/moe_lora_idle.yaml"
broken stray cp_gather_cache 's/cases: \[gather_cache\]/cases: [gather_stray]/' '' 'cases: .*the reference failed'
sed "/mode: benchmark/d; s/^name: .*/name: gather_stray/; s/table_fill: \"int(0,4)\"/table_fill: \"int(0,5)\"/" "$set/cases/gather_cache.yaml" \
	>"$data/cases/gather_stray.yaml"
broken few rms_norm "$few" '' 'cases: 3 decide on correctness'
cat >"$data/cases/rms_few.yaml" <<-\END
	name: rms_few
	cases:
	  - {id: one, a: [3, 5], w: [5], epsilon: 1.0e-3, dtypes: [float32]}
	  - {id: two, a: [7, 33], w: [33], epsilon: 1.0e-6, dtypes: [float32, float16]}
	  - {id: bench_short, mode: benchmark, a: [64, 4096], w: [4096], epsilon: 1.0e-6, dtypes: [float32]}
END
for wrong in 'benchmarks: rms_norm/float32/bench_short/benchmark: estimated at 0.5 us' 'benchmarks: 1 large ones' 'benchmarks: none has an id that ends in launch_bound' \
	'coverage: rms_norm: no case is drawn'; do
	printf "few\t%s\n" "$wrong" >>expected
done
broken narrow rms_norm 's/cases: \[rms_norm\]/cases: [rms_narrow]/' '' 'coverage: .* listed cases have type float16, but none is drawn with it'
sed 's/^name: .*/name: rms_narrow/; s/    a_layout: {pick.*/    a_layout: contiguous/; s/^  - id: .*/&\n    dtypes: [float32, bfloat16]/' "$set/cases/rms_norm.yaml" \
	>"$data/cases/rms_narrow.yaml"
{
	printf "narrow\tcoverage: .* listed cases have input offset, but none is drawn with it\n"
	printf "idle\tbenchmarks: .*/big_launch_bound/benchmark: .*not bound by the launch\n"
	printf "stray\tbenchmarks: cp_gather_cache has none\n"
} >>expected

# Two of ATen, under their own names.
sed 's/schema: "silu(Tensor self) -> Tensor"/schema: "silu(Tensor self, bool fast=False) -> Tensor"/' "$set/aten/aten__silu.yaml" \
	>"$data/aten/aten__silu.yaml"
printf "aten::silu\tschema: .*torch has registered silu(Tensor self) -> Tensor\n" >>expected
sed '/same_as/d' "$set/aten/aten__index_put_.yaml" >"$data/aten/aten__index_put_.yaml"
printf "aten::index_put_\tswapped: .*no case distinguishes it from\n" >>expected
cat >"$data/operators.yaml" <<-\END
	name: KernelGenBench
	aten: [aten::silu, aten::index_put_, aten::absent]
	vllm: []
END

test_expect_success 'each broken spec is refused by the lint that is there for it' '
	test_equal "" "$(cat stale)" &&
	test_expect_code 1 kgb-judge lint --dataset KernelGenBench --dataset-dir "$TRASH/broken" >out &&
	test_grep "names: aten::absent: has no spec" out &&
	test_grep "names: vllm13::chance: is no operator of this dataset" out &&
	test_equal "" "$(grep "^ok" out)" &&
	while IFS="$(printf "\t")" read -r name says; do
		case $name in
		*::*) full=$name ;;
		*) full=vllm13::$name ;;
		esac
		sed -n "/^not ok - $full:/,/^[no]/p" out | grep -q "#   $says" ||
			{ echo "$name: expected \"$says\""; sed -n "/^not ok - $full:/,/^[no]/p" out; false; } || return 1
	done <expected &&
	! sed -n "/^not ok - vllm13::any_order:/,/^[no]/p" out | grep -q "#   \(deterministic\|bounds\)"
'

test_expect_success 'a prompt that is too long is refused' '
	mkdir -p "long/datasets/kernelgenbench/vllm/reference" && cp -R "$set/cases" long/datasets/kernelgenbench/ &&
	cp -R "$KGB_TEST_SOURCE_DIR/methods" "$KGB_TEST_SOURCE_DIR/verify" long/ &&
	cp "$set/operators.yaml" long/datasets/kernelgenbench/ &&
	cp "$set/vllm/reference/rms_norm.py" long/datasets/kernelgenbench/vllm/reference/ &&
	awk "{ print } /^semantics: / { for (i = 0; i < 700; i++) print \"  As was said before, and as will be said again in the next line of this text.\" }" \
		"$set/vllm/vllm13__rms_norm.yaml" >long/datasets/kernelgenbench/vllm/vllm13__rms_norm.yaml &&
	test_expect_code 1 env KGB_DATA_DIR="$PWD/long" kgb-agent dataset lint rms_norm --device cpu >out &&
	test_grep "^not ok - prompts: " out && test_grep "prompt: vllm13::rms_norm with .* bytes, the limit is 40960" out &&
	test_grep "^ok - vllm13::rms_norm" out
'
test_done
