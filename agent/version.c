/* SPDX-License-Identifier: MIT */
#include "agent/version.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <git2.h>
#include <gnu/libc-version.h>
#include <microhttpd.h>
#include <openssl/crypto.h>
#include <uv.h>
#include <yaml.h>

const char *kgb_version(void)
{
	return KGB_VERSION;
}

void kgb_version_text(struct kgb_buf *out)
{
	int git_major = 0;
	int git_minor = 0;
	int git_revision = 0;
	(void)git_libgit2_version(&git_major, &git_minor, &git_revision);
	kgb_buf_addf(out, "kgb-agent %s\n", kgb_version());
	kgb_buf_addf(out, "  libuv %s\n  libgit2 %d.%d.%d\n", uv_version_string(), git_major,
		     git_minor, git_revision);
	kgb_buf_addf(out, "  libcurl %s\n  libmicrohttpd %s\n",
		     curl_version_info(CURLVERSION_NOW)->version, MHD_get_version());
	kgb_buf_addf(out, "  openssl %s\n", OpenSSL_version(OPENSSL_VERSION_STRING));
	kgb_buf_addf(out, "  libyaml %s\n  cJSON %s\n", yaml_get_version_string(), cJSON_Version());
	kgb_buf_addf(out, "  glibc %s, compiler %s\n", gnu_get_libc_version(), __VERSION__);
}
