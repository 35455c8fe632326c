#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='provenance: code that the judge made of kernel.py is proved, other code is not, the compiler is jailed'
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

python=${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}
helpers=$KGB_TEST_SOURCE_DIR/tests/helpers
driver=$KGB_TEST_BIN_DIR/provenance_driver
kgbrun=$KGB_TEST_BIN_DIR/_kgbrun.abi3.so
# shellcheck disable=SC2034 # in a body below
fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures/provenance

# serve CASE [DATA [PYTHON]]: has the judge's compiler serve provenance_cases.py; the proofs go to CASE.out.
serve() {
	rm -rf "$1" && mkdir -p "$1" && cp "$fixtures/scale.cubin" "$1"
	"$driver" serve --python "${3:-$python}" --data "${2:-$KGB_TEST_SOURCE_DIR}" --kgbrun "$kgbrun" --proofs "$TRASH/proofs" \
		--kernel "$helpers/provenance_kernels.py" "$python" -B "$helpers/provenance_cases.py" "$KGB_TEST_SOURCE_DIR/verify/python/runner" "$TRASH/$1" "$1" \
		"$fixtures/scale.ttir" >"$1.out" 2>"$1.err"
}
# count FIELDS CASE: lines of CASE.out with these fields.
count() {
	jq -c "select($1)" "$2.out" | wc -l
}
# shellcheck disable=SC2034 # used in bodies
made='.made and .proof == "triton"'
# shellcheck disable=SC2034
strange='.made == false and .proof == "none" and .owner == "unknown"'

test_expect_success 'the judge compiles for a runner' 'serve styles || { cat styles.err; false; }'
test_expect_success 'the judge answers odd requests' 'serve forged || { cat forged.err; false; }'
for name in styles forged; do
	"$python" -B "$helpers/provenance_cases.py" check "$name/expected" "$name.out"
done >cases
# One test per case; provenance_cases.py describes each case.
for name in add add_options add_cluster add_warps total_of_squares matmul softmax sine talkative assembly scaled; do
	test_expect_success "a kernel of style '$name' is proved" 'test_grep "^PASS $name " cases'
done
for name in by_hand other_kernel other_constant other_variable claims_of_nothing generated generated_twin \
	other_architecture longer_by_a_byte changed_resources linked_code replaced_stage ptxas_writes ptxas_reads instrumented \
	other_gpu no_such_gpu text_for_a_number options_are_a_list options_are_nothing no_ir deep_ir kept_variable \
	kept_initialized foreign_operator spliced_assembly second_kernel heap; do
	test_expect_success "request or code '$name' is judged as it should be" 'test_grep "^PASS $name " cases'
done
test_expect_success 'nothing else failed, and the styles are different code' '
	test_no_grep "^FAIL" cases && test_grep "{\"recalled\":0}" styles.out &&
	test_equal "$(count "$made" styles)" "$(jq -r "select(.made) | .sha256" styles.out | sort -u | wc -l)"
'
test_expect_success 'the judge makes the same IR and code once, whatever the runner has in its cache' '
	n=$(count "$made" styles) && serve styles && test_grep "{\"recalled\":$((2 * n))}" styles.out && test_equal "$n" "$(count "$made" styles)"
'
test_expect_success 'two runners that want the same code get one compilation' '
	serve threads && test_equal 2 "$(count .made threads)" && test_equal 1 "$(jq -r "select(.made) | .sha256" threads.out | sort -u | wc -l)"
'
test_expect_success 'the runner compiles the IR that the judge refuses, without a proof' '
	serve refused && test_equal 1 "$(count "$strange" refused)" && test_equal 1 "$(count "$made" refused)"
'
test_expect_success 'a runner that breaks the protocol is left to itself' '
	serve hostile && test_equal 1 "$(count "$strange" hostile)" && test_equal 0 "$(count .made hostile)"
'

mkdir data && cp -R "$KGB_TEST_SOURCE_DIR/verify" data/verify && cp "$helpers/hostile_compiler.py" data/verify/python/runner/recompile.py
test_expect_success 'a compiler that hostile text has taken over stays in its jail' '
	serve text "$TRASH/data" && test_grep "works: private files, another process, ptxas; escaped: ;" text.err
'
test_expect_success 'code that no request explains is undecided when the compiler lacked memory for another' '
	touch data/verify/python/runner/no_memory.py && serve text "$TRASH/data" && cat text.err &&
	jq -s -e ".[0] | .proof == \"undecided\" and .owner == \"undecided\" and (.reason | test(\"could not compile: no memory\"))" text.out
'
test_expect_success 'without Triton there is an error that names the remedy' '
	test_must_fail serve text "$KGB_TEST_SOURCE_DIR" "$(command -v python3)" && test_grep "triton" text.err && test_grep "kgb-agent setup" text.err
'
test_done
