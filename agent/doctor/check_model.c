/* SPDX-License-Identifier: MIT */
/** \file
 * Checks of what answers an agent and what that costs.
 */
#include <curl/curl.h>

#include "agent/doctor/checks.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "methods/method.h"
#include "sandbox/meter/prices.h"

#define API_TIMEOUT_MS 20000

static const char *key_of(enum kgb_provider provider)
{
	bool ignored = false;
	return kgb_api_key(provider, &ignored);
}

/** Whether real models answer: the mode, or a key that is there. */
static bool is_live(const struct kgb_cli *cli)
{
	int mode = cli->config.settings.gateway.mode;
	return mode == KGB_GATEWAY_CHOICE_LIVE ||
	       (mode == KGB_GATEWAY_CHOICE_AUTO &&
		(key_of(KGB_PROVIDER_ANTHROPIC) || key_of(KGB_PROVIDER_OPENAI)));
}

void kgb_check_model(struct kgb_finding *f)
{
	static const char fix[] = "export ANTHROPIC_API_KEY=... or OPENAI_API_KEY=...";
	const struct kgb_settings_gateway *gateway = &f->cli->config.settings.gateway;
	bool is_bearer = false;
	const bool anthropic = kgb_api_key(KGB_PROVIDER_ANTHROPIC, &is_bearer) != NULL;
	const bool openai = key_of(KGB_PROVIDER_OPENAI) != NULL;
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

/** Names, addresses, proxy, TLS: a connection, but no request. "" when it can be made. */
static void try_connection(const char *url, char why[CURL_ERROR_SIZE])
{
	CURL *easy = curl_easy_init();
	*why = '\0';
	if (!easy) {
		snprintf(why, CURL_ERROR_SIZE, "libcurl does not start");
		return;
	}
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)API_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, why);
	CURLcode code = curl_easy_perform(easy);
	if (code != CURLE_OK && !*why)
		snprintf(why, CURL_ERROR_SIZE, "%s", curl_easy_strerror(code));
	curl_easy_cleanup(easy);
}

void kgb_check_api(struct kgb_finding *f)
{
	const struct kgb_cli *cli = f->cli;
	const struct kgb_settings_gateway *gateway = &cli->config.settings.gateway;
	const struct {
		enum kgb_provider provider;
		const char *key, *url;
	} apis[] = {{KGB_PROVIDER_ANTHROPIC, "gateway.upstream_url", gateway->upstream_url},
		    {KGB_PROVIDER_OPENAI, "gateway.openai_url", gateway->openai_url}};
	KGB_AUTO(buf) struct kgb_buf reached = KGB_BUF_INIT(0);
	char why[CURL_ERROR_SIZE];
	if (!is_live(cli)) {
		kgb_found(f, KGB_PASS, "not needed: the offline model uses no network");
		return;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(apis); i++) {
		if (!key_of(apis[i].provider))
			continue;
		try_connection(apis[i].url, why);
		if (*why) {
			KGB_AUTO(free)
			char *fix = kgb_xasprintf(
				"the network, a proxy (https_proxy) or %s; --set gateway.mode=offline needs none",
				apis[i].key);
			kgb_found_fix(f, KGB_FAIL, fix, "%s: %s", apis[i].url, why);
			return;
		}
		kgb_buf_addf(&reached, "%s%s", reached.len ? ", " : "", apis[i].url);
	}
	kgb_found(f, reached.len ? KGB_PASS : KGB_FAIL, "%s",
		  reached.len ? reached.ptr : "not tried without a key");
}

/** The model that runs when none is named; malloc'ed, NULL when the method is not known. */
static char *model_of(const struct kgb_cli *cli)
{
	struct kgb_method method;
	struct kgb_err err = KGB_ERR_INIT;
	if (*cli->config.settings.model.name)
		return kgb_xstrdup(cli->config.settings.model.name);
	if (kgb_method_load(cli->data_dir, cli->config.settings.run.method, &method, &err) < 0)
		return NULL;
	char *model = kgb_xstrdup(method.model);
	kgb_method_release(&method);
	return model;
}

void kgb_check_prices(struct kgb_finding *f)
{
	const struct kgb_cli *cli = f->cli;
	KGB_AUTO(free) char *path = kgb_config_prices(&cli->config);
	KGB_AUTO(free) char *model = model_of(cli);
	struct kgb_prices *prices = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_prices_load(&prices, path, &err) < 0) {
		kgb_found(f, KGB_FAIL, "%s", err.msg);
		return;
	}
	if (model && !kgb_prices_find(prices, model, kgb_wall_ms()))
		kgb_found_fix(f, KGB_WARN, "add it to the table",
			      "%s has no price of %s: what it costs is not known", path, model);
	else
		kgb_found(f, KGB_PASS, "%s%s%s", path, model ? " knows " : "", model ? model : "");
	kgb_prices_free(prices);
}
