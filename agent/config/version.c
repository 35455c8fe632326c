/* SPDX-License-Identifier: MIT */
#include "agent/config/version.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <git2.h>
#include <gnu/libc-version.h>
#include <microhttpd.h>
#include <openssl/crypto.h>
#include <uv.h>
#include <yaml.h>

#include "base/formats/jsonw.h"
#include "base/mem.h"

const char *kgb_version(void)
{
	return KGB_VERSION;
}

/** Each part with its version: a line of text, or a member of the JSON object that is open. */
static void add_versions(struct kgb_buf *out, struct kgb_jsonw *w)
{
	char git[32];
	int major = 0, minor = 0, revision = 0;
	(void)git_libgit2_version(&major, &minor, &revision);
	snprintf(git, sizeof(git), "%d.%d.%d", major, minor, revision);
	const struct {
		const char *name, *version;
	} parts[] = {
		{"kgb-agent", kgb_version()},
		{"libuv", uv_version_string()},
		{"libgit2", git},
		{"libcurl", curl_version_info(CURLVERSION_NOW)->version},
		{"libmicrohttpd", MHD_get_version()},
		{"openssl", OpenSSL_version(OPENSSL_VERSION_STRING)},
		{"libyaml", yaml_get_version_string()},
		{"cJSON", cJSON_Version()},
		{"glibc", gnu_get_libc_version()},
		{"compiler", __VERSION__},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(parts); i++)
		if (w)
			kgb_jsonw_kstr(w, parts[i].name, parts[i].version);
		else
			kgb_buf_addf(out, "%s%s %s\n", i > 0 ? "  " : "", parts[i].name,
				     parts[i].version);
}

void kgb_version_text(struct kgb_buf *out)
{
	add_versions(out, NULL);
}

void kgb_version_json(struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_object(&w);
	add_versions(out, &w);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}
