#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a rehearsal of the method llm: the offline mixture for drawn operators, with the verdicts that it promises'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch

seed=${KGB_TEST_SEED:-$(date +%s)}
n=30

test_expect_success "$n operators of seed $seed, ten samples each: right kernels pass, no other does, and pass@k is that of theory" '
	operators=$(python3 -c "
import os, random, sys
names = sorted(name.replace(\"__\", \"::\", 1) for name in os.listdir(sys.argv[1]))
print(\",\".join(sorted(random.Random(sys.argv[2]).sample(names, int(sys.argv[3])))))" "$KGB_TEST_SOURCE_DIR/tests/honest" "$seed" "$n")
	# 1: an operator has no right sample
	code=0
	kgb-agent "$operators" -m llm --samples 10 --device-count "$(nproc)" --runs-dir runs --set model.seed="$((seed % 1000000))" >table 2>log || code=$?
	[ "$code" -le 1 ] || { tail log; false; }
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/check_rehearsal.py" runs/llm_*
'

test_done
