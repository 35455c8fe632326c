#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='provenance on the CPU: IR that kernel.py gives is proved, other IR is not, the worker is jailed'
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

python=${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}
helpers=$KGB_TEST_SOURCE_DIR/tests/helpers
driver=$KGB_TEST_BIN_DIR/provenance_driver
kgbrun=$KGB_TEST_BIN_DIR/_kgbrun.abi3.so

# serve CASE [DATA [KERNEL]]: proves the images of source_cases.py as those of KERNEL, into CASE.out.
serve() {
	rm -rf "$1" && mkdir -p "$1"
	"$driver" serve --python "$python" --data "${2:-$KGB_TEST_SOURCE_DIR}" --kgbrun "$kgbrun" --proofs "$TRASH/proofs" \
		--cpu --kernel "${3:-$helpers/source_kernels.py}" \
		"$python" -B -W ignore "$helpers/source_cases.py" "$KGB_TEST_SOURCE_DIR/verify/python/runner" "$TRASH/$1" \
		"$helpers/source_kernels.py" >"$1.out" 2>"$1.err"
}

test_expect_success 'the judge makes the IR of a kernel.py' 'serve first || { cat first.err; false; }'
python3 "$helpers/source_cases.py" check first.out >cases
for name in plain specialized helpers constants closure other_closure alias conditional renamed tuples dtype hidden \
	constexpr_function assembly torch; do
	test_expect_success "a launch of style '$name' is proved" 'test_grep "^PASS $name\$" cases'
done
for name in plain specialized helpers constants closure other_closure alias conditional renamed tuples dtype hidden assembly; do
	test_expect_success "the judge makes the IR of style '$name' when it is asked to" 'test_grep "^PASS asked-$name\$" cases'
done
for name in module other_module by_hand no_locations longer function option constant attribute variable library python answer \
	claims cubin; do
	test_expect_success "an image with another '$name' is not" 'test_grep "^PASS $name\$" cases'
done
test_expect_success 'nothing else failed' 'test_no_grep "^FAIL" cases && test_grep "{\"recalled\":0}" first.out'
test_expect_success 'what was made once is kept for the next verification' '
	serve again && test_no_grep "{\"recalled\":0}" again.out && jq -S "select(.file) | del(.file)" first.out >first.json &&
	jq -S "select(.file) | del(.file)" again.out >again.json && test_cmp first.json again.json
'
test_expect_success 'another kernel.py does not give these images' '
	sed "s/+ 1\\.0, mask/+ 2.0, mask/" "$helpers/source_kernels.py" >other.py && serve other "" "$TRASH/other.py" &&
	jq -s -e "[.[] | select(.file) | {(.file | sub(\".*/\"; \"\")): .proof}] | add |
		.[\"honest-plain.image\"] == \"none\" and .[\"honest-helpers.image\"] == \"triton\"" other.out
'
test_expect_success 'a kernel.py that does not parse gives none' '
	echo "def f(:" >broken.py && serve broken "" "$TRASH/broken.py" && test_grep "kernel.py does not parse" broken.out &&
	test_equal 0 "$(jq -c "select(.proof == \"triton\")" broken.out | wc -l)"
'

mkdir data && cp -R "$KGB_TEST_SOURCE_DIR/verify" data/verify &&
	cp "$helpers/hostile_compiler.py" data/verify/python/compiler/from_source.py
test_expect_success 'a worker that hostile text has taken over stays in its jail' '
	serve hostile "$TRASH/data" && test_grep "works: private files; escaped: ;" hostile.out
'
test_expect_success 'images are undecided when the worker lacked memory' '
	touch data/verify/python/runner/no_memory.py && serve memory "$TRASH/data" &&
	jq -s -e "[.[] | select(.file) | select(.file | test(\"honest-plain\")) | .owner == \"undecided\"] == [true]" memory.out
'
test_done
