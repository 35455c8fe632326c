#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='provenance: honest Triton code is proved, forged claims are not, the compiler is jailed'
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

python=${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}
helpers=$KGB_TEST_SOURCE_DIR/tests/helpers
driver=$KGB_TEST_BIN_DIR/provenance_driver
kgbrun=$KGB_TEST_BIN_DIR/../lib/kgb/_kgbrun.abi3.so
# shellcheck disable=SC2034 # in a body below
fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures/provenance

"$python" -B "$helpers/provenance_cases.py" --driver "$driver" --kgbrun "$kgbrun" --data "$KGB_TEST_SOURCE_DIR" \
	--work "$TRASH/work" >cases 2>cases.err
echo $? >status

# One test per case; what a case is about says provenance_cases.py.
for name in add add_options add_cluster total_of_squares matmul softmax sine talkative assembly; do
	test_expect_success "a kernel of style '$name' is proved" 'test_grep "^PASS $name\( \|$\)" cases'
done
for name in no_claim another_kernels_code other_options other_warps linked_code replaced_stage ptxas_writes \
	ptxas_reads instrumented other_gpu text_for_a_number metadata_is_a_list metadata_is_nothing no_text no_ir deep_ir \
	changed_resources by_hand kept_variable kept_initialized foreign_operator spliced_assembly second_kernel heap; do
	test_expect_success "claim '$name' is judged as it should be" 'test_grep "^PASS $name\( \|$\)" cases'
done
test_expect_success 'what was proved once is proved again without compiling' 'test_grep "^PASS recalled" cases'
test_expect_success 'nothing else failed' '
	test_no_grep "^FAIL" cases && test_equal 0 "$(cat status)" || { cat cases.err; false; }
'

test_expect_success 'a compiler that hostile text has taken over stays in its jail' '
	mkdir data && cp -R "$KGB_TEST_SOURCE_DIR/verify" data/verify &&
	cp "$helpers/hostile_compiler.py" data/verify/runner/recompile.py &&
	sha256sum "$fixtures/scale.cubin" | cut -d" " -f1 >digest &&
	jq -n --rawfile ttir "$fixtures/scale.ttir" --arg digest "$(cat digest)" \
		"{schema: \"kgb.claims/1\", claims: [{name: \"scale\", cubin_sha256: \$digest, ttir: \$ttir, metadata: \"{}\",
		  num_warps: 0}]}" >claims.json &&
	"$driver" prove --python "$python" --data "$TRASH/data" --kgbrun "$kgbrun" --sm 90 --claims claims.json \
		"$fixtures/scale.cubin" >out &&
	test_grep "works: private files, another process, ptxas; escaped: ;" out
'

test_expect_success 'without Triton there is no proof but an error that names the remedy' '
	test_must_fail "$driver" prove --python "$(command -v python3)" --data "$KGB_TEST_SOURCE_DIR" --kgbrun "$kgbrun" \
		--sm 90 --claims claims.json "$fixtures/scale.cubin" 2>err &&
	test_grep "triton" err && test_grep "bootstrap" err
'
test_done
