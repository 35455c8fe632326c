/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include "sandbox/meter/ledger.h"
#include "sandbox/meter/meter.h"

#define EVENT(json) "data: " json "\n\n"
#define START(usage)                                                                                   \
	EVENT("{\"type\":\"message_start\",\"message\":{\"id\":\"i\",\"model\":\"m\",\"usage\":" usage \
	      "}}")
#define DELTA(usage) EVENT("{\"type\":\"message_delta\",\"usage\":" usage "}")
#define STOP EVENT("{\"type\":\"message_stop\"}")
#define FULL \
	"{\"input_tokens\":1,\"cache_creation_input_tokens\":2,\"cache_read_input_tokens\":3,\"output_tokens\":9}"

struct stream_case {
	const char *name;
	const char *bytes;
	struct kgb_usage usage;
	bool started, stopped, errored;
	int n_bad;
};

static const struct stream_case stream_cases[] = {
	{"start alone", START(FULL), {1, -1, 2, 3}, true, false, false, 0},
	{"output from delta, not from start",
	 START(FULL) DELTA("{\"output_tokens\":7}") STOP,
	 {1, 7, 2, 3},
	 true,
	 true,
	 false,
	 0},
	{"deltas replace, never add",
	 START(FULL) DELTA("{\"output_tokens\":7}")
		 DELTA("{\"output_tokens\":8,\"input_tokens\":5}"),
	 {5, 8, 2, 3},
	 true,
	 false,
	 false,
	 0},
	{"a delta can lower a count",
	 START(FULL) DELTA("{\"input_tokens\":0,\"output_tokens\":0}"),
	 {0, 0, 2, 3},
	 true,
	 false,
	 false,
	 0},
	{"null is unknown",
	 START("{\"input_tokens\":null,\"output_tokens\":1}") DELTA("{\"output_tokens\":null}"),
	 {-1, -1, -1, -1},
	 true,
	 false,
	 false,
	 0},
	{"null keeps what was known",
	 START(FULL) DELTA("{\"input_tokens\":null,\"output_tokens\":4}"),
	 {1, 4, 2, 3},
	 true,
	 false,
	 false,
	 0},
	{"strings, fractions and negatives are no counts",
	 START("{\"input_tokens\":\"5\",\"cache_creation_input_tokens\":1.5,\"cache_read_input_tokens\":-4}"),
	 {-1, -1, -1, -1},
	 true,
	 false,
	 false,
	 0},
	{"no usage at all",
	 EVENT("{\"type\":\"message_start\",\"message\":{\"id\":\"i\",\"model\":\"m\"}}") STOP,
	 {-1, -1, -1, -1},
	 false,
	 true,
	 false,
	 0},
	{"error event",
	 START(FULL) EVENT("{\"type\":\"error\",\"error\":{}}"),
	 {1, -1, 2, 3},
	 true,
	 false,
	 true,
	 0},
	{"broken JSON is counted",
	 START(FULL) EVENT("{\"type\":") DELTA("{\"output_tokens\":7}"),
	 {1, 7, 2, 3},
	 true,
	 false,
	 false,
	 1},
	{"unknown events are ignored",
	 START(FULL) EVENT("{\"type\":\"future\",\"usage\":{\"output_tokens\":99}}"),
	 {1, -1, 2, 3},
	 true,
	 false,
	 false,
	 0},
	{"usage inside a text delta is text",
	 START(FULL) "event: content_block_delta\n" DELTA("{\"output_tokens\":99}"),
	 {1, -1, 2, 3},
	 true,
	 false,
	 false,
	 0},
	{"empty", "", {-1, -1, -1, -1}, false, false, false, 0},
};

static void assert_counts(const struct kgb_usage *got, const struct kgb_usage *want)
{
	if (!kgb_usage_equal(got, want))
		fail_msg("usage %lld %lld %lld %lld, not %lld %lld %lld %lld",
			 (long long)got->input, (long long)got->output,
			 (long long)got->cache_creation, (long long)got->cache_read,
			 (long long)want->input, (long long)want->output,
			 (long long)want->cache_creation, (long long)want->cache_read);
}

static void test_streams_are_metered_exactly_however_they_are_cut(void **state)
{
	(void)state;
	static const size_t pieces[] = {1, 2, 3, 7, 64, 1u << 20};
	for (size_t i = 0; i < KGB_ARRAY_LEN(stream_cases); i++) {
		const struct stream_case *want = &stream_cases[i];
		print_message("# %s\n", want->name);
		for (size_t p = 0; p < KGB_ARRAY_LEN(pieces); p++) {
			struct kgb_meter meter;
			kgb_meter_init(&meter, KGB_PROTOCOL_ANTHROPIC,
				       "text/event-stream; charset=utf-8");
			size_t len = strlen(want->bytes);
			for (size_t at = 0; at < len; at += pieces[p])
				kgb_meter_feed(&meter, want->bytes + at,
					       len - at < pieces[p] ? len - at : pieces[p]);
			kgb_meter_finish(&meter);
			assert_counts(&meter.usage, &want->usage);
			assert_int_equal(meter.started, want->started);
			assert_int_equal(meter.stopped, want->stopped);
			assert_int_equal(meter.errored, want->errored);
			assert_int_equal(meter.n_bad, want->n_bad);
			kgb_meter_release(&meter);
		}
	}
}

static void test_answers_in_one_piece_are_metered_at_their_end(void **state)
{
	(void)state;
	static const struct {
		const char *body;
		struct kgb_usage usage;
		int n_bad;
	} cases[] = {
		{"{\"id\":\"i\",\"model\":\"m\",\"usage\":" FULL "}", {1, 9, 2, 3}, 0},
		{"{\"id\":\"i\",\"model\":\"m\",\"usage\":{\"input_tokens\":4}}",
		 {4, -1, -1, -1},
		 0},
		{"{\"id\":\"i\",\"usage\":null}", KGB_USAGE_UNKNOWN, 0},
		{"{\"usage\":" FULL, KGB_USAGE_UNKNOWN, 1},
		{"[1]", KGB_USAGE_UNKNOWN, 0},
		{"", KGB_USAGE_UNKNOWN, 1},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_meter meter;
		kgb_meter_init(&meter, KGB_PROTOCOL_ANTHROPIC, i % 2 ? NULL : "application/json");
		for (const char *p = cases[i].body; *p; p++)
			kgb_meter_feed(&meter, p, 1);
		assert_false(kgb_meter_take_change(&meter));
		kgb_meter_finish(&meter);
		assert_counts(&meter.usage, &cases[i].usage);
		assert_int_equal(meter.n_bad, cases[i].n_bad);
		kgb_meter_release(&meter);
	}
}

static void test_changes_are_told_once(void **state)
{
	(void)state;
	struct kgb_meter meter;
	kgb_meter_init(&meter, KGB_PROTOCOL_ANTHROPIC, "text/event-stream");
	kgb_meter_feed(&meter, START(FULL), strlen(START(FULL)));
	assert_true(kgb_meter_take_change(&meter));
	assert_false(kgb_meter_take_change(&meter));
	kgb_meter_feed(&meter, STOP, strlen(STOP));
	assert_false(kgb_meter_take_change(&meter));
	kgb_meter_release(&meter);
}

/* What an answer tells of itself that has another price than the table's. */
static void test_what_has_another_price_is_noticed(void **state)
{
	(void)state;
	static const struct {
		enum kgb_protocol protocol;
		const char *answer;
		bool surcharged;
	} cases[] = {
		{KGB_PROTOCOL_ANTHROPIC, "{\"usage\":{\"input_tokens\":1}}", false},
		{KGB_PROTOCOL_ANTHROPIC,
		 "{\"usage\":{\"service_tier\":\"standard\",\"inference_geo\":\"not_available\",\"speed\":\"standard\","
		 "\"server_tool_use\":{\"web_search_requests\":0},\"cache_creation\":{\"ephemeral_1h_input_tokens\":0,"
		 "\"ephemeral_5m_input_tokens\":7}}}",
		 false},
		{KGB_PROTOCOL_ANTHROPIC, "{\"usage\":{\"service_tier\":\"priority\"}}", true},
		{KGB_PROTOCOL_ANTHROPIC, "{\"usage\":{\"inference_geo\":\"us\"}}", true},
		{KGB_PROTOCOL_ANTHROPIC, "{\"usage\":{\"speed\":\"fast\"}}", true},
		{KGB_PROTOCOL_ANTHROPIC,
		 "{\"usage\":{\"server_tool_use\":{\"brand_new_requests\":1}}}", true},
		{KGB_PROTOCOL_ANTHROPIC,
		 "{\"usage\":{\"cache_creation\":{\"ephemeral_1h_input_tokens\":1}}}", true},
		{KGB_PROTOCOL_CHAT,
		 "{\"service_tier\":\"default\",\"usage\":{\"prompt_tokens\":1}}", false},
		{KGB_PROTOCOL_CHAT, "{\"service_tier\":\"priority\"}", true},
		{KGB_PROTOCOL_RESPONSES, "{\"service_tier\":\"flex\"}", true},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_meter meter;
		kgb_meter_init(&meter, cases[i].protocol, "application/json");
		kgb_meter_feed(&meter, cases[i].answer, strlen(cases[i].answer));
		kgb_meter_finish(&meter);
		if (meter.surcharged != cases[i].surcharged)
			fail_msg("%s: %d", cases[i].answer, meter.surcharged);
		kgb_meter_release(&meter);
	}
}

/* ---- ledger ---- */

static void report(struct kgb_ledger *ledger, int64_t number, const char *id, const char *model,
		   struct kgb_usage usage, bool repeated)
{
	assert_int_equal(kgb_ledger_report(ledger, number, id, model, &usage, KGB_TARIFF_LIST),
			 repeated);
}

static void test_later_reports_of_an_exchange_replace_its_earlier_ones(void **state)
{
	(void)state;
	struct kgb_ledger ledger;
	kgb_ledger_init(&ledger, NULL);
	report(&ledger, 1, "a", "m", (struct kgb_usage){10, -1, 5, 0}, false);
	assert_counts(&ledger.totals.usage, &(struct kgb_usage){10, 0, 5, 0});
	report(&ledger, 1, "a", "m", (struct kgb_usage){8, 20, 5, 0}, false);
	assert_counts(&ledger.totals.usage, &(struct kgb_usage){8, 20, 5, 0});
	report(&ledger, 2, "b", "m", (struct kgb_usage){1, 1, 1, 1}, false);
	assert_counts(&ledger.totals.usage, &(struct kgb_usage){9, 21, 6, 1});
	assert_int_equal(ledger.totals.models[0].n_messages, 2);
	kgb_ledger_release(&ledger);
}

static void test_a_repeated_id_counts_the_larger_report_once(void **state)
{
	(void)state;
	struct kgb_ledger ledger;
	kgb_ledger_init(&ledger, NULL);
	report(&ledger, 1, "a", "m", (struct kgb_usage){10, -1, 0, 0}, false);
	report(&ledger, 2, "a", "m", (struct kgb_usage){10, 30, 0, 0}, true);
	report(&ledger, 3, "a", "m", (struct kgb_usage){9, 20, 0, 0}, true);
	assert_counts(&ledger.totals.usage, &(struct kgb_usage){10, 30, 0, 0});
	assert_int_equal(ledger.totals.models[0].n_messages, 1);
	kgb_ledger_release(&ledger);
}

static void test_messages_without_an_id_are_all_their_own(void **state)
{
	(void)state;
	struct kgb_ledger ledger;
	kgb_ledger_init(&ledger, NULL);
	for (int i = 1; i <= 3; i++)
		report(&ledger, i, "", "m", (struct kgb_usage){1, 1, 1, 1}, false);
	assert_counts(&ledger.totals.usage, &(struct kgb_usage){3, 3, 3, 3});
	kgb_ledger_release(&ledger);
}

static void test_models_are_kept_apart_and_their_table_has_an_end(void **state)
{
	(void)state;
	struct kgb_ledger ledger;
	struct kgb_usage sum = {0, 0, 0, 0};
	kgb_ledger_init(&ledger, NULL);
	for (int i = 0; i < 40; i++) {
		char id[16], model[16];
		snprintf(id, sizeof(id), "id%d", i);
		snprintf(model, sizeof(model), "model%d", i % 20);
		report(&ledger, i + 1, id, model, (struct kgb_usage){i, 1, 0, 0}, false);
	}
	assert_int_equal(ledger.totals.n_models, KGB_USAGE_MODELS);
	assert_string_equal(ledger.totals.models[0].name, "model0");
	assert_counts(&ledger.totals.models[0].usage, &(struct kgb_usage){20, 2, 0, 0});
	assert_string_equal(ledger.totals.models[KGB_USAGE_MODELS - 1].name, "(other)");
	assert_int_equal(ledger.totals.models[KGB_USAGE_MODELS - 1].n_messages, 10);
	for (size_t i = 0; i < ledger.totals.n_models; i++)
		kgb_usage_add(&sum, &ledger.totals.models[i].usage);
	assert_counts(&sum, &ledger.totals.usage);
	kgb_ledger_release(&ledger);
}

static void test_absurd_counts_saturate(void **state)
{
	(void)state;
	struct kgb_ledger ledger;
	kgb_ledger_init(&ledger, NULL);
	report(&ledger, 1, "a", "m", (struct kgb_usage){INT64_MAX, 1, 0, 0}, false);
	report(&ledger, 2, "b", "m", (struct kgb_usage){INT64_MAX, 1, 0, 0}, false);
	assert_counts(&ledger.totals.usage, &(struct kgb_usage){INT64_MAX, 2, 0, 0});
	kgb_ledger_release(&ledger);
	struct kgb_usage total = KGB_USAGE_UNKNOWN;
	kgb_usage_add(&total, &(struct kgb_usage){INT64_MAX, -1, 5, 0});
	kgb_usage_add(&total, &(struct kgb_usage){1, -1, 5, 0});
	assert_counts(&total, &(struct kgb_usage){INT64_MAX, -1, 10, 0});
	assert_false(kgb_usage_complete(&total));
	total.output = 0;
	assert_true(kgb_usage_complete(&total));
}

static void test_totals_of_two_sessions_add_up(void **state)
{
	(void)state;
	struct kgb_totals total = {
		.usage = {1, 2, 3, 4},
		.n_exchanges = 2,
		.n_probes = 1,
		.cost_nanos = 10,
		.charged_tokens = 100,
		.charged_nanos = 7,
		.n_models = 1,
		.models = {{.name = "a", .usage = {1, 2, 3, 4}, .n_messages = 2}}};
	const struct kgb_totals part = {
		.usage = {10, 20, 30, 40},
		.n_exchanges = 3,
		.n_verify = 4,
		.cost_nanos = 5,
		.charged_tokens = 150,
		.n_models = 2,
		.models = {{.name = "b", .usage = {4, 4, 4, 4}, .n_messages = 1},
			   {.name = "a", .usage = {6, 16, 26, 36}, .n_messages = 2}}};
	kgb_totals_add(&total, &part);
	assert_counts(&total.usage, &(struct kgb_usage){11, 22, 33, 44});
	assert_int_equal(total.n_exchanges, 5);
	assert_int_equal(total.n_probes, 1);
	assert_int_equal(total.n_verify, 4);
	assert_int_equal(total.cost_nanos, 15);
	/* What the attempt was charged as a whole is told by each. */
	assert_int_equal(total.charged_tokens, 150);
	assert_int_equal(total.charged_nanos, 7);
	assert_int_equal(total.n_models, 2);
	assert_counts(&total.models[0].usage, &(struct kgb_usage){7, 18, 29, 40});
	assert_int_equal(total.models[0].n_messages, 4);
	assert_string_equal(total.models[1].name, "b");

	struct kgb_totals more = {.n_models = KGB_USAGE_MODELS};
	for (size_t i = 0; i < KGB_USAGE_MODELS; i++) {
		snprintf(more.models[i].name, sizeof(more.models[i].name), "m%zu", i);
		more.models[i].n_messages = 1;
	}
	kgb_totals_add(&total, &more);
	assert_int_equal(total.n_models, KGB_USAGE_MODELS);
	assert_string_equal(total.models[KGB_USAGE_MODELS - 1].name, "(other)");
	assert_int_equal(total.models[KGB_USAGE_MODELS - 1].n_messages, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_are_metered_exactly_however_they_are_cut),
		cmocka_unit_test(test_answers_in_one_piece_are_metered_at_their_end),
		cmocka_unit_test(test_changes_are_told_once),
		cmocka_unit_test(test_what_has_another_price_is_noticed),
		cmocka_unit_test(test_later_reports_of_an_exchange_replace_its_earlier_ones),
		cmocka_unit_test(test_a_repeated_id_counts_the_larger_report_once),
		cmocka_unit_test(test_messages_without_an_id_are_all_their_own),
		cmocka_unit_test(test_models_are_kept_apart_and_their_table_has_an_end),
		cmocka_unit_test(test_absurd_counts_saturate),
		cmocka_unit_test(test_totals_of_two_sessions_add_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
