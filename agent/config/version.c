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

const char *kgb_version(void)
{
	return KGB_VERSION;
}

struct part {
	const char *name;
	char version[64];
};

enum { N_PARTS = 10 };

static void fill_parts(struct part parts[N_PARTS])
{
	int git_major = 0;
	int git_minor = 0;
	int git_revision = 0;
	(void)git_libgit2_version(&git_major, &git_minor, &git_revision);
	char git[32];
	snprintf(git, sizeof(git), "%d.%d.%d", git_major, git_minor, git_revision);
	const struct {
		const char *name;
		const char *version;
	} found[N_PARTS] = {
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
	for (size_t i = 0; i < N_PARTS; i++) {
		parts[i].name = found[i].name;
		snprintf(parts[i].version, sizeof(parts[i].version), "%s", found[i].version);
	}
}

void kgb_version_text(struct kgb_buf *out)
{
	struct part parts[N_PARTS];
	fill_parts(parts);
	for (size_t i = 0; i < N_PARTS; i++)
		kgb_buf_addf(out, "%s%s %s\n", i > 0 ? "  " : "", parts[i].name, parts[i].version);
}

void kgb_version_json(struct kgb_buf *out)
{
	struct part parts[N_PARTS];
	struct kgb_jsonw w;
	fill_parts(parts);
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_object(&w);
	for (size_t i = 0; i < N_PARTS; i++)
		kgb_jsonw_kstr(&w, parts[i].name, parts[i].version);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}
