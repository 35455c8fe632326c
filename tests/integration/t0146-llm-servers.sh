#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a bare model behind a server that was not written here: the proxy of LiteLLM, with all three protocols'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

test_python_environment litellm # 750 MB
litellm=$python_environment

port=$(test_free_port)
# LiteLLM streams a mock answer in Chat Completions only. Model `streamed` sends it through the proxy once more, as that of a
# provider that has no other protocol, so that LiteLLM translates the stream to Messages and Responses.
test_start_api
cat >proxy.yaml <<END
model_list:
  - model_name: whole
    litellm_params: &mock
      model: openai/mock
      api_key: none
      mock_response: "Here it is:\n\`\`\`python\nx = 1\n\`\`\`\nIt is no kernel."
  - model_name: streamed
    litellm_params: {model: lm_studio/whole, api_base: "http://127.0.0.1:$port/v1", api_key: none}
  - model_name: old
    litellm_params: {<<: *mock, model: anthropic/claude-3-haiku-20240307}
  - model_name: limited
    litellm_params: {<<: *mock, mock_response: litellm.RateLimitError}
files_settings: # files and batches go to this provider
  - {custom_llm_provider: openai, api_base: "$api/batch/litellm/v1", api_key: none}
general_settings:
  dangerously_permit_weak_or_unset_master_key: true
END
OPENAI_API_KEY=none OPENAI_API_BASE=$api/batch/litellm/v1 LITELLM_LOCAL_MODEL_COST_MAP=True "$litellm/bin/litellm" --config proxy.yaml --host 127.0.0.1 --port "$port" \
	--telemetry False >proxy.log 2>&1 &
# shellcheck disable=SC2034 # lib.sh ends it
test_background="$test_background $!"
test_wait_for 120 test_is_up "$port" /health/liveliness || test_skip_all "the proxy does not start: $(tail -n 1 proxy.log)"

# ask NAME OPTION...: four samples, into the folder NAME.
ask() {
	name=$1
	shift
	mkdir "$name"
	code=0
	OPENAI_API_KEY=key-0123456789 ANTHROPIC_API_KEY=key-0123456789 OPENAI_BASE_URL=http://127.0.0.1:$port/v1 \
		ANTHROPIC_BASE_URL=http://127.0.0.1:$port kgb-agent silu -m llm --samples 4 --skip-verify --set run.max_attempts=1 \
		--set gateway.max_tries=2 --runs-dir "$name/runs" --json "$@" >"$name/out.json" 2>"$name/log" || code=$?
	echo "$code" >"$name/status"
	cat "$name/log"
}
run_dir() { echo "$1"/runs/llm_*; }
of_run() { jq -e ".operators[\"aten::silu\"] | $2" "$1/out.json"; }

for server in openai anthropic openai-responses; do
	for model in whole streamed; do
		export server model
		# shellcheck disable=SC2016 # used in the body
		test_expect_success "$server, model $model: four samples, each with its code block, and counted tokens" '
			stream=false
			[ "$model" = whole ] || stream=true
			name=$server-$model
			ask "$name" --server-type "$server" --model-name "$model" --temperature 0.7 --set model.seed=1 --set model.stream=$stream
			of_run "$name" ".attempts[0].end == \"agent.ok\" and .samples.answered == 4 and .model_requests == 4
				and .tokens.gateway.output_tokens >= 4 and .tokens.gateway.input_tokens >= 4"
			for file in $(run_dir "$name")/attempts/*/001/samples/000[1-4].py; do
				test_equal "x = 1" "$(cat "$file")" "$file" || exit 1
			done
			jq -s -e "map(.finish) == [\"stopped\", \"stopped\", \"stopped\", \"stopped\"] and all(.sent.temperature == 0.7)" \
				"$(run_dir "$name")/samples.jsonl"
			suffix=json
			[ $stream = false ] || suffix=sse
			test_equal 4 "$(ls "$(run_dir "$name")"/attempts/*/001/traffic/*.response.$suffix | wc -l)" "responses in $suffix"
		'
	done
done

test_expect_success 'fields that LiteLLM refuses for a model are left out' '
	ask old --server-type openai --model-name old --set model.seed=1 --reasoning-effort low --set model.stream=false
	of_run old ".attempts[0].end == \"agent.ok\" and .samples.answered == 4 and .samples.missing == 0"
	test_grep "the server refuses seed; it is left out from now on: litellm.UnsupportedParamsError" old/log
	test_grep "the server refuses reasoning_effort" old/log
	jq -s -e "all(.sent | keys == [\"max_tokens\"])" "$(run_dir old)/samples.jsonl"
'
test_expect_success 'a batch passes through LiteLLM, which reads upload, batch and results' '
	ask batch --server-type openai --model-name m --batch --set model.batch_poll=300ms
	of_run batch ".attempts[0].end == \"agent.ok\" and .samples.answered == 4 and .model_requests == 4
		and .attempts[0].charged_tokens == 420"
	test_equal 1 "$(grep -c "^batch 4" "$TRASH/port.batch-litellm")" batches
'
test_expect_success 'a limit of requests is waited for, and then the samples are missing' '
	ask limited --server-type openai --model-name limited
	test_equal 4 "$(cat limited/status)" "exit status"
	of_run limited ".attempts[0].end == \"provider.transient\" and .samples.missing == 4 and .attempts[0].model_retries == 4"
'
test_expect_success 'a model that LiteLLM does not have ends the run, with the remedy' '
	ask absent --server-type openai --model-name absent
	test_equal 4 "$(cat absent/status)" "exit status"
	of_run absent ".attempts[0].end == \"provider.unknown_model\" and .samples.missing == 4"
	test_grep "Invalid model name passed in model=absent.*: name a model that the provider has" absent/log
'
test_done
