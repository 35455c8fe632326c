/* SPDX-License-Identifier: MIT */
/** \file
 * The text of a bare model's answer: thinking is taken out of it, then its kernel is found. Blocks
 * come in order and lie apart, and nothing is in a kernel that is not in the text.
 */
#include <stdint.h>
#include <string.h>

#include "agent/llm/reply.h"
#include "base/mem.h"
#include "base/str.h"
#include "methods/code_blocks.h"
#include "sandbox/client/thinking.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the last block ended. */
struct place {
	const char *at;
	bool is_last; /* an unclosed block is the last one */
};

static void check_block(void *payload, const struct kgb_code_block *block)
{
	struct place *place = payload;
	KGB_AUTO(free) char *text = kgb_code_block_text(block);
	KGB_ASSERT(block->text >= place->at && block->len > 0 && !place->is_last);
	KGB_ASSERT(strlen(text) <= block->len);
	KGB_ASSERT(block->indent > 0 || strncmp(text, block->text, block->len) == 0);
	place->at = block->text + block->len;
	place->is_last = !block->is_closed;
	KGB_ASSERT(place->is_last == (*place->at == '\0'));
}

/** Bytes that are no blanks. */
static size_t n_marks(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += strchr(" \t\r\n", *text) == NULL;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_interface interfaces[] = {{.entry = "f"}, {.entry = "f_out"}};
	const struct kgb_spec spec = {.interfaces = interfaces,
				      .n_interfaces = KGB_ARRAY_LEN(interfaces)};
	KGB_AUTO(free) char *reply = kgb_xstrndup((const char *)data, size);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0), thinking = KGB_BUF_INIT(0);
	kgb_buf_adds(&text, reply);
	kgb_thinking_split(&text, &thinking);
	KGB_ASSERT(strlen(text.ptr) == text.len);
	KGB_ASSERT(n_marks(text.ptr) + n_marks(thinking.ptr) <= n_marks(reply));

	struct place place = {.at = text.ptr};
	kgb_each_code_block(text.ptr, check_block, &place);
	const char *source = NULL;
	KGB_AUTO(free) char *kernel = kgb_reply_kernel(text.ptr, &spec, &source);
	KGB_ASSERT((kernel != NULL) == (source != NULL));
	KGB_ASSERT(!kernel || strlen(kernel) <= text.len);
	KGB_ASSERT(!kernel || !kgb_str_eq(source, "reply") || strcmp(kernel, text.ptr) == 0);
	return 0;
}
