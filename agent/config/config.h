/* SPDX-License-Identifier: MIT */
/** \file
 * Settings. One table describes them (kgb_settings_table): decoding, checks, defaults,
 * config.example.yaml, the JSON Schema and `kgb-agent config` come from it. Precedence: defaults <
 * file < environment < flags; the origin of each key is kept. A key `limits.attempt_timeout` is
 * KGB_LIMITS_ATTEMPT_TIMEOUT in the environment.
 *
 * API keys are not settings: they are read from ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and
 * OPENAI_API_KEY only and written nowhere.
 */
#ifndef KGB_AGENT_CONFIG_CONFIG_H
#define KGB_AGENT_CONFIG_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/faults.h"
#include "base/formats/decode.h"
#include "base/mem.h"
#include "base/str.h"
#include "methods/program.h"
#include "verify/protocol/judge_request.h"

enum kgb_gateway_choice {
	KGB_GATEWAY_CHOICE_AUTO, /* live when a key is in the environment, else offline */
	KGB_GATEWAY_CHOICE_LIVE,
	KGB_GATEWAY_CHOICE_OFFLINE,
};

/** The protocol of requests to a bare model. */
enum kgb_model_server {
	KGB_MODEL_SERVER_AUTO, /* anthropic when there is a key for it, else openai */
	KGB_MODEL_SERVER_ANTHROPIC, /* Messages */
	KGB_MODEL_SERVER_OPENAI, /* Chat Completions */
	KGB_MODEL_SERVER_RESPONSES, /* OpenAI's Responses */
};

enum kgb_sandbox_gpu {
	KGB_SANDBOX_GPU_NONE, /* the sandbox has none: kernels run only in the judge */
	KGB_SANDBOX_GPU_AGENT, /* the GPU on which its kernels are judged */
};

enum kgb_offline_choice {
	KGB_OFFLINE_CHOICE_SCRIPT, /* an agent makes a mistake, then mends it */
	KGB_OFFLINE_CHOICE_MIXTURE, /* its kernel is drawn */
};

struct kgb_settings {
	struct kgb_settings_paths {
		const char *runs; /* as written; relative to the working directory */
		const char *python; /* "": the one that setup made */
		/* "": those that setup fetched */
		const char *claude;
		const char *opencode;
		const char *codex;
		const char *command; /* "": none */
		const char *prices; /* "": <data>/datasets/prices.yaml */
	} paths;
	struct kgb_settings_run {
		const char *dataset;
		const char *method;
		const char *device; /* as kgb_devices_find takes it */
		int64_t device_count;
		/* Of one operator; only faults of the provider or of this machine are tried again.
		 */
		int64_t max_attempts;
		int64_t iterations; /* rounds of one attempt at most; 0: the method's */
		int64_t repeats; /* runs of each method */
		int64_t repetition; /* the number of this run among those of its method, from 1 */
		int timing_precision; /* enum kgb_timing_precision, of final verdicts */
	} run;
	struct kgb_settings_limits {
		int64_t attempt_timeout; /* ms */
		int64_t verify_timeout; /* ms; one verification as a whole */
		int64_t call_timeout; /* ms; one call of a candidate's function */
		int64_t verify_calls; /* checks that one attempt may ask for */
		int64_t memory; /* bytes; one verification's address space of a candidate */
		int64_t first_request; /* ms; until a CLI has sent the model a request; 0: for ever
					*/
		int64_t tmp_size; /* bytes; memory file systems of an agent's sandbox */
	} limits;
	struct kgb_settings_budget { /* 0: no limit */
		int64_t run_tokens, operator_tokens, attempt_tokens;
		double run_usd, operator_usd, attempt_usd;
		int64_t run_time, operator_time; /* ms */
		int64_t warn_at; /* percent */
	} budget;
	struct kgb_settings_sandbox {
		int isolation; /* enum kgb_isolation_level: the least that is accepted */
		int gpu; /* enum kgb_sandbox_gpu */
		int64_t disk; /* bytes that one attempt may write */
		int64_t files; /* that one attempt may make */
		int64_t memory; /* bytes of all processes of one attempt */
		int64_t processes; /* and threads, of one attempt */
		int64_t idle_timeout; /* ms without a sign of life; 0: for ever */
		bool watch_files; /* record which private files an agent opens */
	} sandbox;
	struct kgb_settings_model {
		const char *name; /* "": the method's */
		const char *server; /* see kgb_config_server */
		int64_t samples;
		bool reflection; /* samples are chains of rounds */
		int64_t max_rounds; /* 0: not given; see kgb_config_samples */
		int64_t choices; /* samples of one request */
		bool batch; /* by way of the provider's batches */
		int64_t batch_poll; /* ms */
		int64_t concurrency; /* questions to a bare model at the same time */
		double temperature, top_p; /* -1: the provider's default */
		int64_t max_output; /* tokens of one answer */
		int64_t seed; /* -1: none */
		int offline; /* enum kgb_offline_choice */
		const char *effort; /* "": not sent */
		bool stream;
	} model;
	/* Files of a bare model's texts (methods/chat_prompt.h); "": the method's. */
	struct kgb_settings_prompt {
		const char *system_text, *examples, *reflection;
	} prompt;
	struct kgb_settings_gateway {
		int mode; /* enum kgb_gateway_choice */
		const char *upstream_url;
		const char *openai_url;
		bool provider_tools;
		int64_t connect_timeout; /* ms */
		int64_t idle_timeout; /* ms */
		int64_t max_tries;
		int64_t max_wait; /* ms */
		int64_t max_concurrent;
	} gateway;
};

extern const struct kgb_field kgb_settings_table[];

struct kgb_config {
	struct kgb_arena arena;
	struct kgb_settings settings;
	struct kgb_strv keys; /* "paths.runs", ..., in table order */
	/* In the same order: "default", "config.yaml:3", "KGB_RUN_METHOD", "--method". */
	struct kgb_strv origins;
};
#define KGB_CONFIG_INIT                 \
	{                               \
		.arena = KGB_ARENA_INIT \
	}

/** Defaults, then the file, then the environment. `path` NULL: KGB_CONFIG, else ./config.yaml if
 * there is one. `env` is a NULL-terminated environ. *faults receives all faults, *out the valid
 * settings. A named file that does not exist is NOT_FOUND; everything else is INVALID with
 * "file:line:col" or the variable's name. Unknown KGB_ variables are warned of with the nearest
 * name. */
void kgb_config_collect(struct kgb_config *out, const char *path, const char *const *env,
			struct kgb_faults *faults);
/** The same for callers that need only the first fault. */
KGB_MUST_CHECK int kgb_config_load(struct kgb_config *out, const char *path, const char *const *env,
				   struct kgb_err *err);
/** The same from text instead of a file; env may be NULL. */
KGB_MUST_CHECK int kgb_config_parse(struct kgb_config *out, const char *name, const char *text,
				    size_t len, const char *const *env, struct kgb_err *err);
/** The settings of `from`, which must outlive the copy. */
void kgb_config_copy(struct kgb_config *out, const struct kgb_config *from);
/** Set one key from a flag; `origin` is the flag ("--method"). INVALID names the nearest keys. */
KGB_MUST_CHECK int kgb_config_set(struct kgb_config *config, const char *key, const char *text,
				  const char *origin, struct kgb_err *err);
/** "default" ...; NULL for an unknown key. */
const char *kgb_config_origin(const struct kgb_config *config, const char *key);
/** YAML, every key with its origin as a comment at the end of its line; it decodes to the same
 * settings. */
void kgb_config_print(const struct kgb_config *config, struct kgb_buf *out);
/** {"key":{"value":..,"origin":".."},...} */
void kgb_config_json(const struct kgb_config *config, struct kgb_buf *out);
/** The text of config.example.yaml. */
void kgb_config_example(struct kgb_buf *out);
void kgb_config_release(struct kgb_config *config);
void kgb_auto_config(struct kgb_config *config);

/** The interpreter with torch and triton: paths.python, else the one that setup made;
 * malloc'ed. The environment variable KGB_PYTHON is a short name of KGB_PATHS_PYTHON,
 * KGB_CLAUDE_BIN of KGB_PATHS_CLAUDE. */
char *kgb_config_python(const struct kgb_config *config);
/** "Python 3.11.2, torch 2.13.0, Triton 3.9.0" of that interpreter, which is run for it (50 ms);
 * malloc'ed. NULL: it does not have them all. */
char *kgb_config_versions(const struct kgb_config *config);
/** The request of every verification: limits from the settings, defaults for the rest. */
void kgb_config_judge_request(const struct kgb_config *config, struct kgb_judge_request *request,
			      struct kgb_arena *arena);
/** Rounds of a sample that is a chain of rounds, when the user names no number. */
#define KGB_DEFAULT_ROUNDS 5
/** Most rounds of a chain. */
#define KGB_ROUNDS_MAX 100
/** Most samples of an operator. */
#define KGB_SAMPLES_MAX 10000
/** Most runs of a method in a series. */
#define KGB_REPEATS_MAX 100
/** The seed of a run's first sample, which is the run's part of model.seed: repetitions draw apart
 * from each other. -1: none is sent. */
int64_t kgb_config_seed(const struct kgb_settings *settings, bool is_offline);
/** The number of samples of each operator from a bare model, and the number of rounds of each: 0
 * without reflection, when model.max_rounds is another name of model.samples. */
void kgb_config_samples(const struct kgb_settings_model *model, int *n_samples, int *n_rounds);
/** The protocol of a bare model's server. Any other name than "auto", "anthropic", "openai" and
 * "openai-responses" means a server with OpenAI's Chat Completions. */
enum kgb_model_server kgb_config_server(const struct kgb_settings_model *model, bool *is_known);
/** The first method of run.method, which may name several; malloc'ed. */
char *kgb_config_first_method(const struct kgb_config *config);
/** The path of a program, by the same rules (KGB_OPENCODE_BIN, KGB_CODEX_BIN, KGB_COMMAND_BIN);
 * malloc'ed; NULL: the user has to name it and has not. */
char *kgb_config_program(const struct kgb_config *config, const struct kgb_program *program);
/** The table of prices; malloc'ed. */
char *kgb_config_prices(const struct kgb_config *config);
/** Absolute runs directory; malloc'ed. */
char *kgb_config_runs(const struct kgb_config *config);

/** The key for a provider's API, borrowed from the environment. Without one, a server at another
 * address than the provider's gets the word "no-key-is-set": most servers of open models ask for no
 * key. NULL: there is none for the provider itself. */
const char *kgb_api_key(const struct kgb_settings_gateway *gateway, enum kgb_provider provider,
			bool *is_bearer);

#endif
