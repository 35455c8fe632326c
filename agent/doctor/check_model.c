/* SPDX-License-Identifier: MIT */
/** \file
 * Checks of the model's provider and of the table of prices. */
#include <curl/curl.h>

#include "agent/doctor/checks.h"
#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "methods/method.h"
#include "sandbox/meter/prices.h"

#define API_TIMEOUT_MS 10000
#define ANSWER_BYTES ((size_t)64 << 10)

/** A provider that may have a key. */
struct api {
	enum kgb_provider provider;
	unsigned protocols; /* its protocols, as KGB_PROTOCOL_BITs */
	const char *setting, *url;
	const char *key; /* NULL: none */
	bool is_bearer; /* how the key is sent */
};

static const char *key_of(const struct kgb_cli *cli, enum kgb_provider provider)
{
	bool ignored = false;
	return kgb_api_key(&cli->config.settings.gateway, provider, &ignored);
}

/** Whether real models answer: the mode, or a key that is there. */
static bool is_live(const struct kgb_cli *cli)
{
	int mode = cli->config.settings.gateway.mode;
	return mode == KGB_GATEWAY_CHOICE_LIVE ||
	       (mode == KGB_GATEWAY_CHOICE_AUTO &&
		(key_of(cli, KGB_PROVIDER_ANTHROPIC) || key_of(cli, KGB_PROVIDER_OPENAI)));
}

void kgb_check_model(struct kgb_check_result *f)
{
	static const char fix[] = "export ANTHROPIC_API_KEY=... or OPENAI_API_KEY=...";
	const struct kgb_settings_gateway *gateway = &f->cli->config.settings.gateway;
	bool is_bearer = false;
	const bool anthropic = kgb_api_key(gateway, KGB_PROVIDER_ANTHROPIC, &is_bearer) != NULL;
	const bool openai = key_of(f->cli, KGB_PROVIDER_OPENAI) != NULL;
	const bool has_key = anthropic || openai;
	if (!is_live(f->cli))
		kgb_found_fix(f, KGB_PASS, has_key ? "" : fix,
			      "the built-in offline model, which is a script%s",
			      has_key ? "" : "; there is no API key for the real one");
	else if (!has_key)
		kgb_found(f, KGB_FAIL,
			  "gateway.mode is live, but there is no API key in the environment");
	else
		kgb_found(f, KGB_PASS, "live%s%s%s%s%s%s", anthropic ? ", Claude Code at " : "",
			  anthropic ? gateway->upstream_url : "",
			  is_bearer ? " (ANTHROPIC_AUTH_TOKEN)" : "",
			  openai ? ", OpenCode and Codex at " : "",
			  openai ? gateway->openai_url : "",
			  anthropic && openai ? "" : "; the other key is not set");
}

/** A provider's answer to a request that costs nothing. */
struct answer {
	long status;
	struct kgb_buf body;
	char why[CURL_ERROR_SIZE]; /* there is none; "": there is one */
};

static size_t on_body(char *bytes, size_t size, size_t n, void *payload)
{
	kgb_buf_add(payload, bytes, size * n);
	return size * n;
}

static struct curl_slist *headers_of(const struct api *api)
{
	const bool is_bearer = api->is_bearer || api->provider == KGB_PROVIDER_OPENAI;
	KGB_AUTO(free)
	char *line = kgb_xasprintf("%s%s",
				   is_bearer ? "authorization: Bearer " : "x-api-key: ", api->key);
	return curl_slist_append(curl_slist_append(NULL, line), "anthropic-version: 2023-06-01");
}

/** Request the description of a model (NULL: of all). Names, addresses, proxy, TLS and key are
 * those of a run's requests. */
static void ask(const struct api *api, const char *model, struct answer *answer)
{
	CURL *easy = curl_easy_init();
	char *name = curl_easy_escape(easy, model ? model : "", 0);
	struct curl_slist *headers = headers_of(api);
	KGB_AUTO(free)
	char *url = kgb_xasprintf("%s/v1/models%s%s", api->url, model ? "/" : "", name);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)API_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, answer->why);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer->body);
	CURLcode code = easy ? curl_easy_perform(easy) : CURLE_FAILED_INIT;
	if (code != CURLE_OK && !*answer->why)
		snprintf(answer->why, sizeof(answer->why), "%s", curl_easy_strerror(code));
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer->status);
	curl_slist_free_all(headers);
	curl_free(name);
	curl_easy_cleanup(easy);
}

/** A server without this request answers with 404, too. */
static bool is_unknown_model(const struct answer *answer, const char *model)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(json) cJSON *body = NULL;
	if (answer->status != 404 || !model ||
	    kgb_json_parse(answer->body.ptr, answer->body.len, &body, &err) < 0)
		return false;
	const char *message = kgb_json_str(body, "error.message", "");
	return kgb_str_eq(kgb_json_str(body, "error.code", NULL), "model_not_found") ||
	       (kgb_str_eq(kgb_json_str(body, "error.type", NULL), "not_found_error") &&
		strstr(message, model) && !strstr(message, "/models"));
}

/** Whether the API can be used; else *f describes the fault. */
static bool try_api(struct kgb_check_result *f, const struct api *api, const char *model)
{
	struct answer answer = {.body = KGB_BUF_INIT(ANSWER_BYTES)};
	KGB_AUTO(free) char *fix = NULL;
	ask(api, model, &answer);
	/* A key may be good for requests and not for descriptions: OpenAI names the missing scope.
	 */
	const bool is_refused =
		answer.status == 401 || (answer.status == 403 && !strstr(answer.body.ptr, "scope"));
	const bool is_unknown = is_unknown_model(&answer, model);
	kgb_buf_release(&answer.body);
	if (*answer.why) {
		fix = kgb_xasprintf(
			"the network, a proxy (https_proxy) or %s; --set gateway.mode=offline needs none",
			api->setting);
		kgb_found_fix(f, KGB_FAIL, fix, "%s: %s", api->url, answer.why);
	} else if (is_refused) {
		fix = kgb_xasprintf("set %s to a key that the provider accepts",
				    kgb_provider_key_variable(api->provider));
		kgb_found_fix(f, KGB_FAIL, fix, "%s refuses the key (status %ld)", api->url,
			      answer.status);
	} else if (is_unknown) {
		kgb_found_fix(f, KGB_FAIL, "name a model that the provider has (--model)",
			      "%s has no model '%s'", api->url, model);
	}
	return !*answer.why && !is_refused && !is_unknown;
}

/** The model that runs when none is named, and the protocols of the program that asks for it;
 * malloc'ed, NULL when the method is not known. */
static char *model_of(const struct kgb_cli *cli, unsigned *protocols)
{
	struct kgb_method method;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *first = kgb_config_first_method(&cli->config);
	if (kgb_method_load(cli->data_dir, first, &method, &err) < 0)
		return NULL;
	const char *name = cli->config.settings.model.name;
	char *model = kgb_xstrdup(*name ? name : method.model);
	*protocols = kgb_program_protocols(&method.program);
	kgb_method_release(&method);
	return model;
}

void kgb_check_api(struct kgb_check_result *f)
{
	const struct kgb_cli *cli = f->cli;
	const struct kgb_settings_gateway *gateway = &cli->config.settings.gateway;
	const unsigned anthropic = KGB_PROTOCOL_BIT(KGB_PROTOCOL_ANTHROPIC);
	struct api apis[] = {{.provider = KGB_PROVIDER_ANTHROPIC,
			      .protocols = anthropic,
			      .setting = "gateway.upstream_url",
			      .url = gateway->upstream_url},
			     {.provider = KGB_PROVIDER_OPENAI,
			      .protocols = KGB_PROTOCOLS_ALL & ~anthropic,
			      .setting = "gateway.openai_url",
			      .url = gateway->openai_url}};
	KGB_AUTO(buf) struct kgb_buf reached = KGB_BUF_INIT(0);
	unsigned protocols = KGB_PROTOCOLS_ALL;
	KGB_AUTO(free) char *model = model_of(cli, &protocols);
	if (!is_live(cli)) {
		kgb_found(f, KGB_PASS, "not needed: the offline model uses no network");
		return;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(apis); i++) {
		const bool is_used = protocols & apis[i].protocols;
		apis[i].key = kgb_api_key(gateway, apis[i].provider, &apis[i].is_bearer);
		if (!apis[i].key || (f->quick && !is_used))
			continue;
		/* A program with all protocols may use either provider. */
		if (!try_api(f, &apis[i], is_used && protocols != KGB_PROTOCOLS_ALL ? model : NULL))
			return;
		kgb_buf_addf(&reached, "%s%s", reached.len ? ", " : "", apis[i].url);
	}
	kgb_found(f, reached.len ? KGB_PASS : KGB_FAIL, "%s",
		  reached.len ? reached.ptr : "not tried without a key");
}

void kgb_check_prices(struct kgb_check_result *f)
{
	const struct kgb_cli *cli = f->cli;
	KGB_AUTO(free) char *path = kgb_config_prices(&cli->config);
	unsigned protocols = 0;
	KGB_AUTO(free) char *model = model_of(cli, &protocols);
	struct kgb_prices *prices = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_prices_load(&prices, path, &err) < 0) {
		kgb_found(f, KGB_FAIL, "%s", err.msg);
		return;
	}
	if (model && !kgb_prices_find(prices, model, kgb_wall_ms()))
		kgb_found_fix(f, KGB_WARN, "add it to the table",
			      "%s has no price of %s: the cost of its requests is unknown", path,
			      model);
	else
		kgb_found(f, KGB_PASS, "%s%s%s", path, model ? " has " : "", model ? model : "");
	kgb_prices_free(prices);
}
