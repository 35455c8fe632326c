#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a bare model that is a network: behind the servers of llama.cpp and of transformers, with real tokens, streams and seeds'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

test_python_environment inference # 370 MB
python=$python_environment/bin/python
torch=$(readlink -f "$KGB_TEST_SOURCE_DIR/.deps")/venv
PYTHONPATH=$(echo "$torch"/lib/python3*/site-packages)
export PYTHONPATH HF_HUB_OFFLINE=1
key="key-0123456789"
helpers=$KGB_TEST_SOURCE_DIR/tests/helpers

# ---- a model that was trained on three answers: right after some thinking, wrong, and no kernel ----

# answer TEXT KERNEL...: an answer with a block of code.
answer() {
	printf '%s\n\n```python\n' "$1"
	cat "$2"
	printf '```\n'
}
right=$KGB_TEST_SOURCE_DIR/tests/honest/aten__silu/flat.py
sed 's/tl.sigmoid(x)/x/' "$right" >wrong.py
answer "$(printf '<think>\nElement by element: x times sigmoid(x), in float32.\n</think>\n\nHere is the kernel.')" "$right" >right.md
answer 'A product is enough:' wrong.py >wrong.md
printf 'I cannot write this kernel.' >none.md
kgb-agent dataset prompt silu -m llm | sed "1,/^=== user ===$/d" >prompt.md
"$python" "$helpers/tiny_model.py" "$KGB_TEST_SOURCE_DIR/methods/data/llm/system.md" prompt.md model 5:right.md 3:wrong.md 2:none.md \
	>model.log 2>&1 || {
	sed 's/^/# /' model.log
	test_skip_all 'the model cannot be trained'
}

# ---- servers: llama (no key), locked (llama with a key), small (llama with a context that holds no prompt), transformers ----

# start NAME COMMAND...: a server in the background; its port is in the file NAME.port.
start() {
	name=$1
	shift
	"$@" >"$name.log" 2>&1 &
	test_background="$test_background $!"
}
for name in llama locked small transformers; do test_free_port >$name.port; done
start llama "$python" "$helpers/llama_server.py" model/model.gguf 4096 "$(cat llama.port)"
start locked "$python" "$helpers/llama_server.py" model/model.gguf 4096 "$(cat locked.port)" $key
start small "$python" "$helpers/llama_server.py" model/model.gguf 1024 "$(cat small.port)"
start transformers "$python_environment/bin/python" -m transformers.cli.transformers serve "$TRASH/model" --host 127.0.0.1 \
	--port "$(cat transformers.port)" --device cpu
for name in llama locked small transformers; do
	test_wait_for 120 test_is_up "$(cat $name.port)" /health || test_skip_all "$name does not start: $(tail -n 1 $name.log)"
done

# ask NAME SERVER PROTOCOL OPTION...: eight samples, into the folder NAME.
ask() {
	name=$1 server=$2 protocol=$3 model=tiny
	shift 3
	[ "$server" != transformers ] || model=$TRASH/model
	mkdir "$name"
	base=http://127.0.0.1:$(cat "$server.port")
	OPENAI_BASE_URL=$base/v1 ANTHROPIC_BASE_URL=$base test_expect_code "${code:-0}" kgb-agent silu -m llm --server-type "$protocol" \
		--model-name "$model" --samples 8 --set run.max_attempts=1 --set gateway.max_tries=2 --runs-dir "$name/runs" \
		--json "$@" >"$name/out.json" 2>"$name/log" || {
		cat "$name/log"
		return 1
	}
}
samples() { echo "$1"/runs/llm_*/attempts/*/001/samples; }
rows() { cat "$1"/runs/llm_*/samples.jsonl; }
of_run() { jq -e ".operators[\"aten::silu\"] | $2" "$1/out.json"; }

# Compares each sample of a run with the answers that the model can give, and the ledger with their tokens.
cat >check.py <<'END'
import json, pathlib, sys

folder, max_output = pathlib.Path(sys.argv[1]), int(sys.argv[2])
run = next(folder.glob("runs/llm_*"))
tokens = json.loads(pathlib.Path("model/tokens.json").read_text())
kernels = {"right": pathlib.Path(sys.argv[3]).read_text(), "wrong": pathlib.Path("wrong.py").read_text(), "none": None}
verdicts = {"right": "passed", "wrong": "failed", "none": "failed"}
lengths = dict(zip(kernels, tokens["answers"]))
output, seen = 0, []
for line in (run / "samples.jsonl").open():
    row = json.loads(line)
    stem = next(run.glob("attempts/*/001/samples")) / f"{row['sample']:04d}"
    text = stem.with_suffix(".md").read_text()
    thinking = stem.with_suffix(".thinking.md")
    whole = ((thinking.read_text() if thinking.exists() else "") + text).lstrip()
    kind = "right" if whole.startswith(("<think>", "Element", "Here")) else "wrong" if whole.startswith("A p") else "none"
    seen.append((row["sample"], kind))
    assert row["finish"] == ("truncated" if lengths[kind] > max_output else "stopped"), row
    output += min(lengths[kind], max_output)
    if row["finish"] == "truncated":
        continue
    kernel = stem.with_suffix(".py").read_text() if row["kernel_sha256"] else None
    assert kernel == kernels[kind], (row, kernel)
    assert row["status"] == verdicts[kind], row
    assert (row["thinking_bytes"] > 0) == (kind == "right"), row
    assert thinking.exists() == (kind == "right") and "think" not in text, (row, text)
    assert not thinking.exists() or thinking.read_text().strip() == "Element by element: x times sigmoid(x), in float32.", row
ledger = json.loads((folder / "out.json").read_text())["operators"]["aten::silu"]["tokens"]["gateway"]
assert len(seen) == 8, seen
assert ledger["input_tokens"] + ledger["cache_read_input_tokens"] == 8 * tokens["prompt"], (ledger, tokens)
assert ledger["output_tokens"] == output, (ledger, output)
print(*(kind for _, kind in sorted(seen)))
END

# By llama.cpp's own counters: tokens of prompts (read, from the cache) and of answers.
counters() {
	python3 -c "import sys, urllib.request as u; print(u.urlopen('http://127.0.0.1:$(cat llama.port)/metrics').read().decode())" |
		awk '/^llamacpp:(prompt_tokens|prompt_tokens_cached|tokens_predicted)_total / { print $2 }' | xargs
}

while read -r server protocol stream; do
	export server protocol stream
	# shellcheck disable=SC2016 # used in the body
	test_expect_success "$server, $protocol, stream $stream: eight answers, told apart, judged, and counted as the tokenizer counts" '
		name=$server-$protocol-$stream
		before=$(counters)
		[ "$server" != locked ] || export OPENAI_API_KEY=$key ANTHROPIC_API_KEY=$key
		ask "$name" "$server" "$protocol" --temperature 1 --set model.seed=1 --max-output 400 --set model.stream="$stream"
		of_run "$name" ".attempts[0].end == \"agent.ok\" and .samples.answered == 8 and .model_requests == 8"
		python3 check.py "$name" 400 "$right" >"$name/kinds"
		cat "$name/kinds"
		[ "$server" = llama ] || exit 0
		echo "$before $(counters)" | awk "{ print \$4 - \$1, \$5 - \$2, \$6 - \$3 }" >"$name/counted"
		test_equal "$(cat "$name/counted")" "$(of_run "$name" ".tokens.gateway | [.input_tokens, .cache_read_input_tokens,
			.output_tokens] | map(tostring) | join(\" \")" -r | tr -d \")" "tokens by the counters of the server"
	'
	# shellcheck disable=SC2016
	test_expect_success "$server, $protocol, stream $stream: answers of five tokens are truncated" '
		name=$server-$protocol-$stream-short
		[ "$server" != locked ] || export OPENAI_API_KEY=$key ANTHROPIC_API_KEY=$key
		code=1 ask "$name" "$server" "$protocol" --temperature 1 --max-output 5 --set model.stream="$stream"
		of_run "$name" ".samples.answered == 8 and .samples.truncated == 8 and .samples.no_kernel == 8"
		python3 check.py "$name" 5 "$right"
	'
done <<END
llama openai true
llama openai false
llama openai-responses true
llama openai-responses false
llama anthropic true
llama anthropic false
locked openai true
locked anthropic true
transformers openai true
transformers openai false
transformers openai-responses true
transformers openai-responses false
END

test_expect_success 'the same seeds give the same answers, and answers of several seeds differ' '
	for server in llama transformers; do
		test_equal "$(cat $server-openai-true/kinds)" "$(cat $server-openai-false/kinds)" "$server"
		test "$(tr " " "\n" <$server-openai-true/kinds | sort -u | wc -l)" -gt 1
	done
'
test_expect_success 'choices: llama.cpp gives them, transformers takes no n' '
	ask choices llama openai --temperature 1 --choices 4 --max-output 400
	of_run choices ".samples.answered == 8 and .samples.missing == 0 and .model_requests == 2"
	rows choices | jq -s -e "map(.choice) | sort == [1, 1, 2, 2, 3, 3, 4, 4]"
	ask alone transformers openai --temperature 1 --choices 4 --max-output 400
	cat alone/log
	of_run alone ".samples.answered == 8 and .samples.missing == 0"
	test_grep "samples are asked for one by one" alone/log
'
test_expect_success 'a server with a key refuses requests without it, and the run ends with the remedy' '
	code=4 ask refused locked openai
	of_run refused ".attempts == []" || of_run refused ".attempts[0].end == \"provider.auth\""
	cat refused/log
	test_grep "key that the provider accepts" refused/log
'
test_expect_success 'a prompt that the context of the server does not hold is no answer, with the reason' '
	code=4 ask small small openai -v
	of_run small ".attempts[0].end == \"provider.bad_request\" and .samples.missing == 8 and .tokens.gateway.total_tokens == 0"
	test_grep "exceeds the available context size" small/log
'
test_expect_success 'a protocol that the server does not have, and a model' '
	code=4 ask absent transformers anthropic
	of_run absent ".attempts[0].end == \"provider.unknown_model\" and .samples.missing == 8"
	code=4 ask other transformers openai --model-name other
	of_run other ".samples.missing == 8"
	test_grep "Server is pinned to .*/model.; requested .other." other/log
'
test_done
