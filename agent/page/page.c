/* SPDX-License-Identifier: MIT */
#include "agent/page/page.h"

#include <string.h>

#include "agent/page/kernels.h"
#include "base/hash.h"
#include "base/str.h"

/* A file as a string in this program. CMakeLists.txt gives the paths. */
#define FILE_AS_STRING(name, path)       \
	__asm__(".pushsection .rodata\n" \
		"kgb_page_" #name ":\n"  \
		".incbin \"" path "\"\n" \
		".byte 0\n"              \
		".popsection\n");        \
	extern const char kgb_page_##name[] __attribute__((visibility("hidden")))

FILE_AS_STRING(html, KGB_PAGE_WEB "/page.html");
FILE_AS_STRING(style, KGB_PAGE_WEB "/style.css");
FILE_AS_STRING(text, KGB_PAGE_WEB "/text.js");
FILE_AS_STRING(plots, KGB_PAGE_WEB "/plots.js");
FILE_AS_STRING(cells, KGB_PAGE_WEB "/cells.js");
FILE_AS_STRING(main, KGB_PAGE_WEB "/main.js");
#ifdef KGB_PAGE_LIBRARIES
FILE_AS_STRING(d3, KGB_PAGE_LIBRARIES "/d3.min.js");
FILE_AS_STRING(plot, KGB_PAGE_LIBRARIES "/plot.umd.min.js");
FILE_AS_STRING(licenses, KGB_PAGE_LIBRARIES "/LICENSES");
#else
static const char kgb_page_d3[] = "", kgb_page_plot[] = "", kgb_page_licenses[] = "";
#endif

/** The placeholders of page.html, in its order. */
static const struct part {
	const char *name, *text;
} parts[] = {
	{"style.css", kgb_page_style}, {"licenses", kgb_page_licenses},
	{"d3.js", kgb_page_d3},        {"plot.js", kgb_page_plot},
	{"text.js", kgb_page_text},    {"plots.js", kgb_page_plots},
	{"cells.js", kgb_page_cells},  {"main.js", kgb_page_main},
};

int kgb_page_size(size_t *bytes, struct kgb_err *err)
{
	size_t sum = strlen(kgb_page_html);
	if (!*kgb_page_plot)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"this kgb-agent was built without Observable Plot and D3, which "
				"draw the report: run './bootstrap setup', which fetches them and "
				"builds again (--json prints the report's figures without them)");
	for (size_t i = 0; i < KGB_ARRAY_LEN(parts); i++)
		sum += strlen(parts[i].text);
	*bytes = sum;
	return 0;
}

/** What changes from page to page. */
struct filling {
	const char *document, *nonce;
};

static const char *lookup(const char *name, const void *payload)
{
	const struct filling *filling = payload;
	if (kgb_str_eq(name, "document"))
		return filling->document;
	if (kgb_str_eq(name, "nonce"))
		return filling->nonce;
	for (size_t i = 0; i < KGB_ARRAY_LEN(parts); i++)
		if (kgb_str_eq(name, parts[i].name))
			return parts[i].text;
	return NULL;
}

int kgb_page_render(const char *json, size_t len, struct kgb_buf *out, struct kgb_err *err)
{
	/* Only scripts with this name run, and text of the document cannot hold the hash of the
	 * document. */
	char nonce[KGB_SHA256_HEX_LEN];
	KGB_AUTO(buf) struct kgb_buf embedded = KGB_BUF_INIT(0);
	kgb_sha256_hex(json, len, nonce);
	kgb_embed_json(&embedded, json, len);
	const struct filling filling = {embedded.ptr, nonce};
	return kgb_template_render(out, kgb_page_html, lookup, &filling, err);
}
