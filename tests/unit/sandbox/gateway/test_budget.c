/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/gateway/gateway_test.h"

#include "base/limits.h"
#include "base/time.h"
#include "sandbox/meter/budget.h"
#include "sandbox/meter/ledger.h"
#include "sandbox/meter/prices.h"
#include "sandbox/request/rewrite_request.h"

/* ---- prices ---- */

static const char table[] =
	"checked: 2026-11-21\n"
	"models:\n"
	"  - {model: m-1, input: 3, output: 15, cache_write: 3.75, cache_read: 0.3}\n"
	"  - {model: m-1, from: 2026-10-07, input: 2, output: 10, cache_write: 2.5, cache_read: 0.1}\n"
	"  - {model: m-1-mini, input: 0.25, output: 2}\n";

static struct kgb_prices *load(const char *text)
{
	struct kgb_prices *prices = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_prices_parse(&prices, "prices.yaml", text, strlen(text), &err), err);
	return prices;
}

static int64_t at(const char *time)
{
	int64_t ms = 0;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_time_parse(time, &ms, &err), err);
	return ms;
}

static void test_a_model_costs_what_its_row_for_the_day_says(void **state)
{
	(void)state;
	static const char before[] = "2026-10-06T23:59:59.999Z",
			  after[] = "2026-10-07T00:00:00.000Z";
	static const struct {
		const char *model, *time;
		int64_t input; /* nanos a token; -1: not known */
	} cases[] = {
		{"m-1", before, 3000},
		{"m-1", after, 2000},
		{"m-1-20260101", after, 2000},
		{"m-1-2026-01-01", after, 2000},
		{"m-1-latest", before, 3000},
		{"m-1-mini", after, 250},
		{"m-1-mini-20260101", after, 250},
		{"m-1-2", after, -1},
		{"m-1-202601011", after, -1},
		{"m", after, -1},
		{"m-10", after, -1},
		{"", after, -1},
	};
	struct kgb_prices *prices = load(table);
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		print_message("# %s at %s\n", cases[i].model, cases[i].time);
		const struct kgb_price *price =
			kgb_prices_find(prices, cases[i].model, at(cases[i].time));
		assert_int_equal(price ? price->input : -1, cases[i].input);
	}
	assert_null(kgb_prices_find(NULL, "m-1", 0));
	kgb_prices_free(prices);
}

static void test_what_is_not_known_costs_minus_one_and_never_nothing(void **state)
{
	(void)state;
	struct kgb_prices *prices = load(table);
	const struct kgb_price *whole =
		kgb_prices_find(prices, "m-1", at("2026-10-06T00:00:00.000Z"));
	const struct kgb_price *partial = kgb_prices_find(prices, "m-1-mini", 0);
	const struct {
		const struct kgb_price *price;
		struct kgb_usage usage;
		int64_t nanos;
	} cases[] = {
		{whole, {1000000, 0, 0, 0}, 3 * KGB_NANOS_PER_USD},
		{whole, {1, 1, 1, 1}, 3000 + 15000 + 3750 + 300},
		{whole, {1, -1, 0, 0}, -1},
		{partial, {4, 1, 0, 0}, 1000 + 2000},
		{partial, {4, 1, 1, 0}, -1},
		{NULL, {0, 0, 0, 0}, -1},
		{whole, {INT64_MAX, 0, 0, 0}, INT64_MAX},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		assert_int_equal(kgb_price_nanos(cases[i].price, &cases[i].usage), cases[i].nanos);
	/* Input might all be written to the cache. */
	assert_int_equal(kgb_price_most(whole, 100, 10), 100 * 3750 + 10 * 15000);
	assert_int_equal(kgb_price_most(NULL, 100, 10), -1);
	kgb_prices_free(prices);
}

/* The dearest table that is taken, with all that a request can ask for and an answer can claim. */
static void test_the_dearest_prices_do_not_wrap_around(void **state)
{
	(void)state;
	struct kgb_prices *prices =
		load("checked: 2026-01-01\nmodels:\n  - {model: m, input: 10000, output: 10000, "
		     "cache_write: 10000, cache_read: 10000}\n");
	const struct kgb_price *price = kgb_prices_find(prices, "m", 0);
	int64_t most = kgb_price_most(price, KGB_LIMIT_HTTP_BODY, KGB_MAX_OUTPUT_TOKENS);
	assert_int_equal(most, ((int64_t)KGB_LIMIT_HTTP_BODY + KGB_MAX_OUTPUT_TOKENS) * 10000000);
	assert_int_equal(kgb_price_most(price, INT64_MAX, INT64_MAX), INT64_MAX);
	static const struct kgb_usage absurd = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
	assert_int_equal(kgb_price_nanos(price, &absurd), INT64_MAX);
	struct kgb_charge sum = {INT64_MAX, INT64_MAX};
	kgb_charge_add(&sum, &(struct kgb_charge){most, most});
	assert_true(sum.tokens == INT64_MAX && sum.nanos == INT64_MAX);
	kgb_prices_free(prices);
}

static struct kgb_charge charged_for(const struct kgb_prices *prices, const char *answer)
{
	struct kgb_budget attempt = {.level = "attempt",
				     .limit = {.nanos = 1000 * KGB_NANOS_PER_USD}};
	struct fixture *f = fixture_new(&(struct fixture_spec){
		.mode = KGB_GATEWAY_LIVE, .model = "m-1", .prices = prices, .budget = &attempt});
	struct client c;
	client_open(&c, f);
	client_ask(&c, BODY);
	run_until(f, has_call, f, 2000);
	fake_llm_reply(f->call, 200, "", answer);
	client_wait(&c, "usage");
	client_close(&c);
	wait_summary(f);
	struct kgb_charge spent = attempt.spent;
	bool known = f->session && f->n_summaries == 1;
	assert_true(known);
	fixture_free(f);
	return spent;
}

/* Of a service at another price the cost is not known, and the budget takes the most that was
 * reserved. */
static void test_what_has_another_price_takes_the_most(void **state)
{
	(void)state;
	struct kgb_prices *prices = load(table);
	struct kgb_charge usual = charged_for(
		prices,
		"{\"id\":\"a\",\"model\":\"m-1\",\"usage\":{\"input_tokens\":10,\"output_tokens\":2,"
		"\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0}}");
	struct kgb_charge dearer = charged_for(
		prices,
		"{\"id\":\"a\",\"model\":\"m-1\",\"usage\":{\"input_tokens\":10,\"output_tokens\":2,"
		"\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"service_tier\":\"priority\"}}");
	assert_int_equal(usual.tokens, 12);
	assert_int_equal(dearer.tokens, 12);
	assert_int_equal(usual.nanos, 10 * 2000 + 2 * 10000);
	/* 100 tokens of max_tokens and over a thousand of input. */
	assert_true(dearer.nanos > 1000 * 2000 + 100 * 10000);
	kgb_prices_free(prices);
}

static void test_a_bad_table_of_prices_is_refused_with_its_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"models: []\n", "checked"},
		{"checked: yesterday\nmodels: []\n", "is not a day"},
		{"checked: 2026-13-01\nmodels: []\n", "is not a day"},
		{"checked: 2026-01-01\nmodels:\n  - {input: 3}\n", "model"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m, input: -3}\n", "input"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m, inptu: 3}\n", "input"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m, input: 10001}\n", "input"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m, output: 1e300}\n", "output"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m, output: 1e999}\n", "output"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m, cache_read: .nan}\n", "cache_read"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m, cache_write: .inf}\n",
		 "cache_write"},
		{"checked: 2026-01-011\nmodels: []\n", "is not a day"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m}\n  - {model: m}\n", "twice"},
		{"checked: 2026-01-01\nmodels:\n  - {model: m, from: soon}\n", "m: from"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_prices *prices = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		assert_int_equal(kgb_prices_parse(&prices, "p.yaml", cases[i].text,
						  strlen(cases[i].text), &err),
				 -1);
		print_message("# %s\n", err.msg);
		assert_non_null(strstr(err.msg, cases[i].message));
	}
}

static void test_the_table_that_comes_with_the_program_can_be_read(void **state)
{
	(void)state;
	struct kgb_prices *prices = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_prices_load(&prices, KGB_TEST_SOURCE_DIR "/datasets/prices.yaml", &err), err);
	assert_non_null(kgb_prices_find(prices, "claude-sonnet-4-5-20250929", kgb_wall_ms()));
	kgb_prices_free(prices);
}

/* ---- budgets ---- */

static void test_a_wish_is_reserved_in_every_budget_or_in_none(void **state)
{
	(void)state;
	struct kgb_budget run = {.level = "run", .limit = {.tokens = 100}};
	struct kgb_budget op = {.level = "operator", .parent = &run, .limit = {.nanos = 1000}};
	struct kgb_budget attempt = {.level = "attempt", .parent = &op};
	const struct kgb_charge wish = {.tokens = 60, .nanos = 300},
				spent = {.tokens = 50, .nanos = 200};
	struct kgb_err why = KGB_ERR_INIT;
	assert_int_equal(kgb_budget_reserve(&attempt, &wish, &why), KGB_BUDGET_GRANTED);
	/* The run has 40 left until the first is settled. */
	assert_int_equal(kgb_budget_reserve(&attempt, &wish, &why), KGB_BUDGET_LATER);
	assert_int_equal(op.reserved.tokens, 60);
	assert_int_equal(run.reserved.nanos, 300);
	kgb_budget_settle(&attempt, &wish, &spent);
	assert_int_equal(run.reserved.tokens, 0);
	assert_int_equal(run.spent.tokens, 50);
	assert_int_equal(attempt.spent.nanos, 200);
	assert_int_equal(kgb_budget_reserve(&attempt, &wish, &why), KGB_BUDGET_REFUSED);
	assert_non_null(strstr(why.msg, "token budget of the run"));
	assert_ptr_equal(kgb_budget_reached(&attempt), &run);
	assert_int_equal(kgb_budget_code(run.reached), KGB_CODE_BUDGET_TOKENS);
}

static void test_what_is_reserved_never_wraps_around(void **state)
{
	(void)state;
	static const struct kgb_charge huge[] = {{.tokens = INT64_MAX / 2 + 1},
						 {.nanos = INT64_MAX / 2 + 1}};
	struct kgb_budget run = {.level = "run"};
	struct kgb_err why = KGB_ERR_INIT;
	for (int i = 0; i < 4; i++) {
		const struct kgb_charge *wish = &huge[i % 2];
		assert_int_equal(kgb_budget_reserve(&run, wish, &why), KGB_BUDGET_GRANTED);
		assert_int_equal(kgb_budget_reserve(&run, wish, &why), KGB_BUDGET_LATER);
		kgb_budget_settle(&run, wish, wish);
		assert_int_equal(run.reserved.tokens, 0);
		assert_int_equal(run.reserved.nanos, 0);
	}
	assert_int_equal(run.spent.tokens, INT64_MAX);
	assert_int_equal(run.spent.nanos, INT64_MAX);
	run.limit.tokens = INT64_MAX;
	assert_int_equal(kgb_budget_reserve(&run, &huge[0], &why), KGB_BUDGET_REFUSED);
}

static void test_dollars_are_refused_when_the_price_is_not_known(void **state)
{
	(void)state;
	struct kgb_budget free_run = {.level = "run", .limit = {.tokens = 1000}};
	struct kgb_budget paid = {.level = "attempt", .limit = {.nanos = 5}};
	const struct kgb_charge unknown = {.tokens = 10, .nanos = -1};
	const struct kgb_charge dear = {.tokens = 10, .nanos = 6};
	struct kgb_err why = KGB_ERR_INIT;
	assert_int_equal(kgb_budget_reserve(&free_run, &unknown, &why), KGB_BUDGET_GRANTED);
	kgb_budget_settle(&free_run, &unknown, &unknown);
	assert_int_equal(free_run.spent.nanos, 0);
	assert_int_equal(kgb_budget_reserve(&paid, &unknown, &why), KGB_BUDGET_REFUSED);
	assert_int_equal(kgb_budget_code(paid.reached), KGB_CODE_BUDGET_UNKNOWN_PRICE);
	paid.reached = KGB_BUDGET_NONE;
	assert_int_equal(kgb_budget_reserve(&paid, &dear, &why), KGB_BUDGET_REFUSED);
	assert_int_equal(kgb_budget_code(paid.reached), KGB_CODE_BUDGET_USD);
}

static void test_a_request_in_a_batch_costs_half_rounded_up(void **state)
{
	(void)state;
	static const struct {
		enum kgb_tariff tariff;
		int64_t list, nanos;
	} cases[] = {
		{KGB_TARIFF_LIST, 7, 7},
		{KGB_TARIFF_BATCH, 8, 4},
		{KGB_TARIFF_BATCH, 7, 4},
		{KGB_TARIFF_BATCH, 0, 0},
		{KGB_TARIFF_BATCH, -1, -1},
		{KGB_TARIFF_UNKNOWN, 7, -1},
		{KGB_TARIFF_BATCH, INT64_MAX, INT64_MAX / 2 + 1},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		assert_int_equal(kgb_tariff_nanos(cases[i].tariff, cases[i].list), cases[i].nanos);
}

/* The run and the operator count what an earlier process had reserved as spent; its attempt's
 * budget is gone. */
static void test_what_an_earlier_process_reserved_is_open_again(void **state)
{
	(void)state;
	static const struct kgb_charge most = {.tokens = 100, .nanos = 7};
	struct kgb_budget run = {.level = "run", .limit = {.tokens = 150}, .spent = {130, 9}};
	struct kgb_budget attempt = {.level = "attempt", .parent = &run};
	kgb_budget_reopen(&attempt, &most);
	assert_int_equal(run.spent.tokens, 30);
	assert_int_equal(run.spent.nanos, 2);
	assert_int_equal(run.reserved.tokens, 100);
	assert_int_equal(attempt.spent.tokens, 0);
	assert_int_equal(attempt.reserved.tokens, 100);
	kgb_budget_settle(&attempt, &most, &(struct kgb_charge){.tokens = 10, .nanos = 1});
	assert_int_equal(run.spent.tokens, 40);
	assert_int_equal(run.spent.nanos, 3);
	assert_int_equal(run.reserved.tokens, 0);
	assert_int_equal(attempt.spent.tokens, 10);
	assert_int_equal(attempt.reserved.nanos, 0);
}

static void test_the_warning_names_the_fullest_budget(void **state)
{
	(void)state;
	struct kgb_budget run = {.level = "run",
				 .limit = {.tokens = 100},
				 .spent = {.tokens = 79},
				 .soft_percent = 80};
	struct kgb_budget attempt = {
		.level = "attempt", .parent = &run, .limit = {.nanos = 10}, .soft_percent = 80};
	char text[160];
	assert_false(kgb_budget_warning(&attempt, text, sizeof(text)));
	run.spent.tokens = 85;
	assert_true(kgb_budget_warning(&attempt, text, sizeof(text)));
	assert_non_null(strstr(text, "85% of the run's budget"));
	attempt.spent.nanos = 9;
	assert_true(kgb_budget_warning(&attempt, text, sizeof(text)));
	assert_non_null(strstr(text, "90% of the attempt's budget"));
	run.soft_percent = attempt.soft_percent = 0;
	assert_false(kgb_budget_warning(&attempt, text, sizeof(text)));
}

/* ---- at the gateway ---- */

#define CALLERS 64
/* What the gateway reserves for BODY: its bytes / 2, 1,024, and max_tokens. */
#define WISH ((int64_t)(sizeof(BODY) - 1) / 2 + 1024 + 100)
#define ACTUAL 60 /* tokens of an answer of the behaviour "unique" */

struct watched {
	struct fixture *f;
	struct kgb_budget run, op, attempt;
	int64_t most; /* spent and reserved together, at any time */
};

static void watch(struct watched *w)
{
	int64_t now = w->run.spent.tokens + w->run.reserved.tokens;
	if (now > w->most)
		w->most = now;
}

static bool all_answered(const void *payload)
{
	const struct client *clients = payload;
	for (size_t i = 0; i < CALLERS; i++)
		if (!strstr(clients[i].in.ptr, "}}") && !clients[i].eof)
			return false;
	return true;
}

static void test_64_callers_at_once_never_overshoot(void **state)
{
	(void)state;
	/* Room for two at a time, and at the end for none. */
	const int64_t limit = 2 * WISH + 150;
	struct watched w = {.run = {.level = "run", .limit = {.tokens = limit}},
			    .op = {.level = "operator", .parent = &w.run},
			    .attempt = {.level = "attempt", .parent = &w.op}};
	w.f = fixture_new(&(struct fixture_spec){
		.mode = KGB_GATEWAY_LIVE, .behaviour = "unique", .budget = &w.attempt});
	struct client *clients = kgb_xcalloc(CALLERS, sizeof(*clients));
	for (size_t i = 0; i < CALLERS; i++)
		client_open(&clients[i], w.f);
	for (size_t i = 0; i < CALLERS; i++)
		client_ask(&clients[i], BODY);
	int64_t deadline = kgb_mono_ms() + 100000;
	while (!all_answered(clients) && kgb_mono_ms() < deadline) {
		uv_run(&w.f->loop, UV_RUN_ONCE);
		watch(&w);
	}
	int good = 0, refused = 0;
	for (size_t i = 0; i < CALLERS; i++) {
		int status = client_status(&clients[i]);
		good += status == 200;
		refused += status == 402;
		client_close(&clients[i]);
	}
	kgb_free(clients);
	/* As many as fit one after the other: granted while spent + WISH <= limit. */
	int64_t fit = (limit - WISH) / ACTUAL + 1;
	assert_int_equal(good, fit);
	assert_int_equal(refused, CALLERS - fit);
	assert_int_equal(fake_llm_calls(w.f->llm), fit);
	assert_int_equal(w.f->n_leaves, 2 * fit); /* before a request leaves, and after */
	assert_int_equal(w.run.spent.tokens, fit * ACTUAL);
	assert_int_equal(w.run.reserved.tokens, 0);
	assert_true(w.most <= limit);
	assert_true(w.most > WISH); /* they did run side by side */
	fixture_close_session(w.f);
	assert_int_equal(w.f->totals.charged_tokens, fit * ACTUAL);
	fixture_free(w.f);
}

static void test_a_refusal_is_an_error_of_the_protocol_that_ends_the_client(void **state)
{
	(void)state;
	struct kgb_budget attempt = {.level = "attempt", .limit = {.tokens = 50}};
	struct fixture *f = fixture_new(&(struct fixture_spec){
		.mode = KGB_GATEWAY_LIVE, .behaviour = "unique", .budget = &attempt});
	struct client c;
	ask_once(f, &c);
	assert_int_equal(client_status(&c), 402);
	assert_non_null(strcasestr(c.in.ptr, "x-should-retry: false\r\n"));
	assert_non_null(strstr(c.in.ptr, "\"type\":\"billing_error\""));
	const char *message = strstr(c.in.ptr, "token budget of the attempt");
	assert_non_null(message);
	/* Some clients look for statuses in the text. */
	assert_null(strpbrk(message, "0123456789"));
	assert_non_null(strstr(f->why, "0 of 50 are spent"));
	assert_int_equal(f->n_refusals, 1);
	assert_int_equal(fake_llm_calls(f->llm), 0);
	client_close(&c);
	fixture_free(f);
}

static void test_a_client_near_its_budget_is_told_in_a_header(void **state)
{
	(void)state;
	struct kgb_budget attempt = {.level = "attempt",
				     .limit = {.tokens = 100000},
				     .spent = {.tokens = 90000},
				     .soft_percent = 80};
	struct fixture *f = fixture_new(&(struct fixture_spec){
		.mode = KGB_GATEWAY_LIVE, .behaviour = "unique", .budget = &attempt});
	struct client c;
	ask_once(f, &c);
	assert_int_equal(client_status(&c), 200);
	assert_non_null(strcasestr(c.in.ptr, "x-kgb-budget: 90% of the attempt's budget is used"));
	client_close(&c);
	fixture_free(f);
}

static void test_a_client_that_leaves_while_it_waits_takes_nothing(void **state)
{
	(void)state;
	struct kgb_budget attempt = {.level = "attempt", .limit = {.tokens = WISH + 100}};
	struct fixture *f =
		fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .budget = &attempt});
	struct client first, second;
	client_open(&first, f);
	client_ask(&first, BODY);
	run_until(f, has_call, f, 2000);
	client_open(&second, f);
	client_ask(&second, BODY);
	run_for(f, 50);
	assert_int_equal(attempt.reserved.tokens, WISH);
	client_close(&second);
	run_for(f, 50);
	fake_llm_behave(f->call, "unique");
	client_wait(&first, "}}");
	client_close(&first);
	fixture_close_session(f);
	assert_int_equal(fake_llm_calls(f->llm), 1);
	assert_int_equal(attempt.reserved.tokens, 0);
	assert_int_equal(attempt.spent.tokens, ACTUAL);
	fixture_free(f);
}

static void test_two_requests_that_ask_for_endless_answers_do_no_harm(void **state)
{
	(void)state;
	static const char *const asked[] = {"4611686018427387904", "9223372036854775807"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(asked); i++) {
		struct kgb_budget attempt = {.level = "attempt", .limit = {.tokens = 1 << 26}};
		struct fixture *f = fixture_new(
			&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE, .budget = &attempt});
		struct client c[2];
		char body[128];
		snprintf(body, sizeof(body), "{\"max_tokens\":%s,\"messages\":[]}", asked[i]);
		for (int k = 0; k < 2; k++) {
			f->call = NULL;
			client_open(&c[k], f);
			client_ask(&c[k], body);
			run_until(f, has_call, f, 2000);
			fake_llm_behave(f->call, "stall");
		}
		assert_true(attempt.reserved.tokens > 2 * KGB_MAX_OUTPUT_TOKENS);
		client_close(&c[0]);
		client_close(&c[1]);
		fixture_close_session(f);
		assert_int_equal(attempt.reserved.tokens, 0);
		fixture_free(f);
	}
}

struct charge_case {
	const char *behaviour;
	int64_t tokens; /* charged */
};

static void test_what_is_charged_is_what_was_taken_or_the_most_it_can_have_been(void **state)
{
	(void)state;
	static const struct charge_case cases[] = {
		{"ok", 3150},
		{"json", 60},
		{"429_plain", 0},
		{"500", 0},
		/* Read by the provider, and then nothing. */
		{"refuse", WISH},
		{"401", 0},
		/* No count of the output came: all of max_tokens. */
		{"cut", 3100 + 100},
		{"malformed", 3100 + 100},
		{"error_event", 3100 + 100},
		/* Known counts alone: nothing is made up for the others. */
		{"null_usage", 30},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		print_message("# %s\n", cases[i].behaviour);
		struct kgb_budget attempt = {.level = "attempt", .limit = {.tokens = 1000000}};
		struct fixture *f =
			fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
							   .behaviour = cases[i].behaviour,
							   .budget = &attempt});
		struct client c;
		ask_once(f, &c);
		client_close(&c);
		fixture_close_session(f);
		assert_int_equal(attempt.spent.tokens, cases[i].tokens);
		assert_int_equal(attempt.reserved.tokens, 0);
		assert_int_equal(f->totals.charged_tokens, cases[i].tokens);
		fixture_free(f);
	}
}

static const struct kgb_retry_policy three_tries = {
	.max_tries = 3, .base_ms = 20, .cap_ms = 40, .total_ms = 60000};

static void test_tries_that_were_lost_on_the_way_back_count_too(void **state)
{
	(void)state;
	static const struct {
		const char *behaviours[4];
		int64_t tokens;
	} cases[] = {
		{{"refuse", "unique"}, WISH + ACTUAL},
		{{"refuse", "refuse", "refuse"}, 3 * WISH},
		/* An answer that is an error costs nothing. */
		{{"500", "unique"}, ACTUAL},
		{{"refuse", "500", "401"}, WISH},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_budget attempt = {.level = "attempt", .limit = {.tokens = 1000000}};
		struct fixture *f =
			fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
							   .behaviour = "unique",
							   .behaviours = cases[i].behaviours,
							   .retry = three_tries,
							   .budget = &attempt});
		struct client c;
		ask_once(f, &c);
		client_close(&c);
		fixture_close_session(f);
		assert_int_equal(attempt.spent.tokens, cases[i].tokens);
		assert_int_equal(attempt.reserved.tokens, 0);
		fixture_free(f);
	}
}

static void test_a_call_that_never_left_costs_nothing(void **state)
{
	(void)state;
	struct kgb_budget attempt = {.level = "attempt", .limit = {.tokens = 1000000}};
	struct fixture *f = fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
							       .without_upstream = true,
							       .retry = three_tries,
							       .budget = &attempt});
	struct client c;
	ask_once(f, &c);
	assert_int_equal(client_status(&c), 502);
	client_close(&c);
	fixture_close_session(f);
	assert_int_equal(attempt.spent.tokens, 0);
	fixture_free(f);
}

/* The answer goes on being made for a client that has left; cut before its end, all that it may
 * come to counts. */
static void test_an_open_call_that_is_cut_counts_as_the_most(void **state)
{
	(void)state;
	static const struct {
		const char *behaviour;
		int64_t tokens;
	} cases[] = {{"silent", WISH}, {"stall", 3100 + 100}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_budget attempt = {.level = "attempt", .limit = {.tokens = 1000000}};
		struct fixture *f =
			fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
							   .behaviour = cases[i].behaviour,
							   .budget = &attempt});
		struct client c;
		client_open(&c, f);
		client_ask(&c, BODY);
		run_until(f, has_call, f, 2000);
		run_for(f, 50);
		client_close(&c);
		fixture_close_session(f);
		assert_int_equal(attempt.spent.tokens, cases[i].tokens);
		assert_int_equal(attempt.reserved.tokens, 0);
		fixture_free(f);
	}
}

static void test_costs_are_summed_from_the_table(void **state)
{
	(void)state;
	struct kgb_prices *prices = load(table);
	struct kgb_budget attempt = {.level = "attempt", .limit = {.nanos = KGB_NANOS_PER_USD}};
	static const char priced[] = "{\"model\":\"m-1\",\"max_tokens\":100,\"messages\":[]}";
	struct fixture *f = fixture_new(&(struct fixture_spec){.mode = KGB_GATEWAY_LIVE,
							       .behaviour = "unique",
							       .prices = prices,
							       .budget = &attempt});
	struct client c;
	client_open(&c, f);
	client_ask(&c, priced);
	client_wait(&c, "}}");
	client_close(&c);
	/* A model that is not in the table: the dollars cannot be bounded. */
	ask_once(f, &c);
	assert_int_equal(client_status(&c), 402);
	assert_non_null(strstr(f->why, "price of this model is not known"));
	client_close(&c);
	fixture_close_session(f);
	/* 10 in, 20 out, 30 from the cache, at the prices since October. */
	assert_int_equal(f->totals.cost_nanos, 10 * 2000 + 20 * 10000 + 30 * 100);
	assert_int_equal(f->totals.n_unpriced, 0);
	assert_int_equal(attempt.spent.nanos, f->totals.cost_nanos);
	fixture_free(f);
	kgb_prices_free(prices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_model_costs_what_its_row_for_the_day_says),
		cmocka_unit_test(test_what_is_not_known_costs_minus_one_and_never_nothing),
		cmocka_unit_test(test_the_dearest_prices_do_not_wrap_around),
		cmocka_unit_test(test_what_has_another_price_takes_the_most),
		cmocka_unit_test(test_a_bad_table_of_prices_is_refused_with_its_place),
		cmocka_unit_test(test_the_table_that_comes_with_the_program_can_be_read),
		cmocka_unit_test(test_a_wish_is_reserved_in_every_budget_or_in_none),
		cmocka_unit_test(test_what_is_reserved_never_wraps_around),
		cmocka_unit_test(test_dollars_are_refused_when_the_price_is_not_known),
		cmocka_unit_test(test_a_request_in_a_batch_costs_half_rounded_up),
		cmocka_unit_test(test_what_an_earlier_process_reserved_is_open_again),
		cmocka_unit_test(test_the_warning_names_the_fullest_budget),
		cmocka_unit_test(test_64_callers_at_once_never_overshoot),
		cmocka_unit_test(test_a_refusal_is_an_error_of_the_protocol_that_ends_the_client),
		cmocka_unit_test(test_a_client_near_its_budget_is_told_in_a_header),
		cmocka_unit_test(test_a_client_that_leaves_while_it_waits_takes_nothing),
		cmocka_unit_test(test_two_requests_that_ask_for_endless_answers_do_no_harm),
		cmocka_unit_test(
			test_what_is_charged_is_what_was_taken_or_the_most_it_can_have_been),
		cmocka_unit_test(test_tries_that_were_lost_on_the_way_back_count_too),
		cmocka_unit_test(test_a_call_that_never_left_costs_nothing),
		cmocka_unit_test(test_an_open_call_that_is_cut_counts_as_the_most),
		cmocka_unit_test(test_costs_are_summed_from_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
