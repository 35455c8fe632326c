/* SPDX-License-Identifier: MIT */
/* The samples of the offline model, a known mixture, against the theory of pass@k. No kernel is
 * judged here: an answer names its kind, and t0149-llm-rehearsal.sh compares kinds with verdicts.
 */
#include "agent/report/samples.h"

#include <math.h>
#include <string.h>

#include "agent/llm/reply.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/client/answer.h"
#include "sandbox/client/question.h"
#include "sandbox/offline/offline.h"
#include "tests/unit/agent/agent_test.h"

#define N_SAMPLES 40

/* Of session "sample" in datasets/offline/session.yaml. */
static const struct {
	const char *says;
	int weight;
	bool always; /* every operator has kernels for it */
} kinds[] = {
	{"A right kernel", 10, true},  {"that cheats", 2, false},      {"A wrong kernel", 2, false},
	{"with a mistake", 2, false},  {"does not compile", 1, false}, {"is no Python", 1, true},
	{"The beginning of", 1, true}, {"has no code", 1, true},
};
#define N_KINDS KGB_ARRAY_LEN(kinds)
enum { RIGHT = 0, CUT = 6 };
#define TOTAL_WEIGHT 20

static size_t kind_of(const char *text)
{
	size_t kind = N_KINDS;
	const char *code = strstr(text, "```");
	KGB_AUTO(free)
	char *words = kgb_xstrndup(text, code ? (size_t)(code - text) : strlen(text));
	for (size_t i = 0; i < N_KINDS; i++)
		if (strstr(words, kinds[i].says)) {
			assert_int_equal(kind, N_KINDS);
			kind = i;
		}
	assert_int_not_equal(kind, N_KINDS);
	return kind;
}

static struct kgb_offline_session *load(const char *safe_name)
{
	struct kgb_offline_session *session = NULL;
	const struct kgb_offline_subject subject = {.data_dir = KGB_TEST_SOURCE_DIR,
						    .safe_name = safe_name};
	assert_ok(kgb_offline_load(&session, &subject, KGB_OFFLINE_SAMPLE, err));
	return session;
}

/** The answer to a question with this seed, as a client reads it. */
static void ask(const struct kgb_offline_session *session, enum kgb_protocol protocol, int seed,
		struct kgb_answer *out)
{
	const struct kgb_question question = {
		.protocol = protocol,
		.model = "m",
		.turns = {"write"},
		.sampling = {.temperature = -1, .top_p = -1, .max_tokens = 100, .seed = seed},
		.stream = seed % 2 == 1};
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);
	struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
	kgb_question_write(&question, &body);
	kgb_offline_answer(session, protocol, body.ptr, body.len, &reply);
	kgb_answer_init(out, protocol, 1);
	kgb_answer_head(out, reply.status, reply.content_type);
	kgb_answer_feed(out, reply.body.ptr, reply.body.len);
	kgb_answer_end(out, NULL);
	kgb_offline_reply_release(&reply);
}

static void test_an_answer_depends_on_the_seed_alone_in_each_protocol(void **state)
{
	(void)state;
	struct kgb_offline_session *session = load("aten__silu");
	size_t seen[N_KINDS] = {0};
	for (int protocol = 0; protocol < KGB_N_PROTOCOLS; protocol++)
		for (int seed = 0; seed < 100; seed++) {
			struct kgb_answer first, again;
			ask(session, (enum kgb_protocol)protocol, seed, &first);
			ask(session, (enum kgb_protocol)protocol, seed, &again);
			const size_t kind = kind_of(first.choices[0].text.ptr);
			assert_string_equal(first.error, "");
			assert_string_equal(first.choices[0].text.ptr, again.choices[0].text.ptr);
			assert_int_equal(first.choices[0].finish,
					 kind == CUT ? KGB_ANSWER_TRUNCATED : KGB_ANSWER_STOPPED);
			seen[kind]++;
			kgb_answer_release(&first);
			kgb_answer_release(&again);
		}
	for (size_t i = 0; i < N_KINDS; i++)
		assert_true(seen[i] > 0);
	kgb_offline_free(session);
}

/** A run of all operators that have an honest kernel, with N_SAMPLES each. */
struct mixture {
	struct kgb_strv names;
	struct kgb_run_state state;
	size_t counts[N_KINDS];
	size_t n_distinct; /* kernels */
};

/** One sample with the verdict that its kind gets. */
static void add_sample(struct mixture *mixture, struct kgb_op_state *op,
		       const struct kgb_offline_session *session)
{
	struct kgb_answer answer;
	const int number = (int)op->n_samples + 1;
	ask(session, KGB_PROTOCOL_CHAT, number - 1, &answer);
	const size_t kind = kind_of(answer.choices[0].text.ptr);
	char sha256[KGB_SHA256_HEX_LEN];
	kgb_sha256_hex(answer.choices[0].text.ptr, answer.choices[0].text.len, sha256);
	bool is_new = true;
	for (size_t i = 0; i < op->n_samples; i++)
		is_new = is_new && !kgb_str_eq(op->samples[i].kernel_sha256, sha256);
	mixture->n_distinct += is_new;
	mixture->counts[kind]++;
	op->samples[op->n_samples++] = (struct kgb_sample){
		.number = number,
		.kernel_sha256 = kgb_arena_strdup(&mixture->state.arena, sha256),
		.has_verdict = true,
		.status = kind == RIGHT ? "passed" : "failed",
		.reached = kind == RIGHT ? "correct" : "nothing"};
	kgb_answer_release(&answer);
}

static void make_mixture(struct mixture *mixture)
{
	*mixture = (struct mixture){.names = KGB_STRV_INIT, .state = KGB_RUN_STATE_INIT};
	assert_ok(kgb_fs_list(KGB_TEST_SOURCE_DIR "/tests/honest", &mixture->names, err));
	struct kgb_run_state *state = &mixture->state;
	state->n_samples = N_SAMPLES;
	state->n_ops = mixture->names.n;
	state->ops = kgb_arena_array(&state->arena, state->n_ops, sizeof(*state->ops));
	for (size_t i = 0; i < state->n_ops; i++) {
		struct kgb_op_state *op = &state->ops[i];
		struct kgb_offline_session *session = load(mixture->names.items[i]);
		*op = (struct kgb_op_state){
			.name = mixture->names.items[i],
			.samples = kgb_arena_array(&state->arena, N_SAMPLES, sizeof(*op->samples))};
		for (int k = 0; k < N_SAMPLES; k++)
			add_sample(mixture, op, session);
		kgb_offline_free(session);
	}
}

static void test_the_known_mixture_has_the_pass_at_k_of_theory(void **state)
{
	(void)state;
	struct mixture mixture;
	make_mixture(&mixture);
	const size_t n = mixture.state.n_ops * N_SAMPLES;
	for (size_t i = 0; i < N_KINDS; i++) {
		const double share = (double)kinds[i].weight / TOTAL_WEIGHT;
		const double sigma = sqrt((double)n * share * (1 - share));
		const double off = (double)mixture.counts[i] - (double)n * share;
		/* A kind that an operator lacks falls to the kinds behind it, which are wrong too.
		 */
		if ((i == RIGHT && fabs(off) > 4 * sigma) || (kinds[i].always && off < -4 * sigma))
			fail_msg("'%s': %zu of %zu", kinds[i].says, mixture.counts[i], n);
	}
	static const size_t ks[] = {1, 2, 5, 10};
	const double right = (double)kinds[RIGHT].weight / TOTAL_WEIGHT;
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks); i++) {
		const struct kgb_estimate estimate =
			kgb_run_pass_at_k(&mixture.state, KGB_SAMPLE_CORRECT, ks[i]);
		const double theory = 1 - pow(1 - right, (double)ks[i]);
		assert_int_equal(estimate.n, mixture.state.n_ops);
		if (!(estimate.low <= theory && theory <= estimate.high))
			fail_msg("pass@%zu is %g, [%g, %g], not %g", ks[i], estimate.value,
				 estimate.low, estimate.high, theory);
		/* The interval says something. */
		assert_true(estimate.high - estimate.low < 0.05);
	}
	/* So a run judges far fewer kernels than it has samples. */
	assert_true(mixture.n_distinct < n / 2);
	kgb_run_state_release(&mixture.state);
	kgb_auto_strv(&mixture.names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_depends_on_the_seed_alone_in_each_protocol),
		cmocka_unit_test(test_the_known_mixture_has_the_pass_at_k_of_theory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
