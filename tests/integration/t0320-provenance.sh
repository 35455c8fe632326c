#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='provenance: honest Triton code is proved, forged claims are not, the compiler is jailed'
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

python=${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}
helpers=$KGB_TEST_SOURCE_DIR/tests/helpers
driver=$KGB_TEST_BIN_DIR/provenance_driver
kgbrun=$KGB_TEST_BIN_DIR/_kgbrun.abi3.so
# shellcheck disable=SC2034 # in a body below
fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures/provenance

"$python" -B "$helpers/provenance_cases.py" --driver "$driver" --kgbrun "$kgbrun" --data "$KGB_TEST_SOURCE_DIR" \
	--work "$TRASH/work" >cases 2>cases.err
echo $? >status

# One test per case; provenance_cases.py describes each case.
for name in add add_options add_cluster total_of_squares matmul softmax sine talkative assembly; do
	test_expect_success "a kernel of style '$name' is proved" 'test_grep "^PASS $name\( \|$\)" cases'
done
for name in no_claim another_kernels_code other_options other_warps linked_code replaced_stage ptxas_writes \
	ptxas_reads instrumented other_gpu text_for_a_number metadata_is_a_list metadata_is_nothing no_text no_ir deep_ir \
	changed_resources by_hand kept_variable kept_initialized foreign_operator spliced_assembly second_kernel heap; do
	test_expect_success "claim '$name' is judged as it should be" 'test_grep "^PASS $name\( \|$\)" cases'
done
test_expect_success 'a second proof of the same image needs no compilation' 'test_grep "^PASS recalled" cases'
test_expect_success 'nothing else failed' '
	test_no_grep "^FAIL" cases && test_equal 0 "$(cat status)" || { cat cases.err; false; }
'

test_expect_success 'a compiler that hostile text has taken over stays in its jail' '
	mkdir data && cp -R "$KGB_TEST_SOURCE_DIR/verify" data/verify &&
	cp "$helpers/hostile_compiler.py" data/verify/python/runner/recompile.py &&
	sha256sum "$fixtures/scale.cubin" | cut -d" " -f1 >digest &&
	jq -n --rawfile ttir "$fixtures/scale.ttir" --arg digest "$(cat digest)" \
		"{schema: \"kgb.claims/1\", claims: [{name: \"scale\", cubin_sha256: \$digest, ttir: \$ttir, metadata: \"{}\",
		  num_warps: 0}]}" >claims.json &&
	"$driver" prove --python "$python" --data "$TRASH/data" --kgbrun "$kgbrun" --sm 90 --claims claims.json \
		"$fixtures/scale.cubin" >out &&
	test_grep "works: private files, another process, ptxas; escaped: ;" out
'

test_expect_success 'a compilation that does not end in time decides nothing' '
	"$driver" prove --python "$python" --data "$KGB_TEST_SOURCE_DIR" --kgbrun "$kgbrun" --sm 90 --claims claims.json \
		--limit 1 "$fixtures/scale.cubin" >out &&
	jq -e ".proof == \"undecided\" and .owner == \"undecided\" and (.reason | test(\"takes too long\"))" out
'

test_expect_success 'without Triton there is no proof but an error that names the remedy' '
	test_must_fail "$driver" prove --python "$(command -v python3)" --data "$KGB_TEST_SOURCE_DIR" --kgbrun "$kgbrun" \
		--sm 90 --claims claims.json "$fixtures/scale.cubin" 2>err &&
	test_grep "triton" err && test_grep "kgb-agent setup" err
'

# compile_for CASE: runs compiler_cases.py on it; the driver records the outcome.
compile_for() {
	mkdir -p "$1" && "$KGB_TEST_BIN_DIR/compiler_driver" "$python" "$KGB_TEST_SOURCE_DIR" "$kgbrun" "$TRASH/made" 90 \
		"$python" -B "$helpers/compiler_cases.py" "$KGB_TEST_SOURCE_DIR/verify/python/runner" "$TRASH/$1" "$1" >"$1.out"
}
count() {
	grep -c "^$1 " "$2.out"
}
test_expect_success 'the judge compiles for a runner, a launch finds the same facts, and the code is proved' '
	compile_for styles && test_equal 10 "$(count "made triton" styles)" && test_no_grep "unknown\|none" styles.out &&
	test_equal 10 "$(sort -u styles.out | grep -c made)" different && test_grep "^recalled 0$" styles.out
'
test_expect_success 'the judge compiles the same IR once, whatever the runner has in its cache' '
	rm -rf styles && compile_for styles && test_grep "^recalled 10$" styles.out && test_equal 10 "$(count "made triton" styles)"
'
test_expect_success 'two runners that want the same code get one compilation' '
	compile_for threads && test_equal 2 "$(count "made triton" threads)" &&
	test_equal 1 "$(grep "^made " threads.out | sort -u | wc -l)"
'
test_expect_success 'code made of refused IR is not proved' '
	compile_for rules && test_equal 1 "$(count "made triton" rules)" && test_equal 2 "$(count "made none" rules)"
'
test_expect_success 'the runner compiles the IR that the judge refuses, without a proof' '
	compile_for refused && test_equal 1 "$(count "unknown none" refused)" && test_equal 1 "$(count "made triton" refused)"
'
test_expect_success 'a runner that breaks the protocol is left to itself' '
	compile_for hostile && test_equal 1 "$(count "unknown none" hostile)" && test_no_grep made hostile.out
'
test_done
