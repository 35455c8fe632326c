/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "verify/protocol/wire.h"
#include "verify/tensor/dtype.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_output(const struct kgb_wire_output *output)
{
	int64_t n_bytes = output->kind == KGB_WIRE_TENSOR
				  ? (int64_t)kgb_dtype_size((enum kgb_dtype)output->dtype)
				  : 0;

	KGB_ASSERT(output->kind < KGB_WIRE_N_KINDS && output->ndim <= KGB_WIRE_DIMS &&
		   output->dtype < KGB_N_DTYPES);
	KGB_ASSERT(strnlen(output->type, KGB_WIRE_NAME) < KGB_WIRE_NAME);
	for (int i = 0; i < output->ndim; i++) {
		KGB_ASSERT(output->sizes[i] >= 0 && output->strides[i] >= 0);
		n_bytes *= output->sizes[i];
	}
	KGB_ASSERT(n_bytes <= KGB_WIRE_TENSOR_MAX && output->offset >= 0);
	KGB_ASSERT(output->n_bytes == 0 || output->n_bytes == n_bytes);
	const struct kgb_tensor_view view = kgb_wire_view(output);
	(void)kgb_tensor_view_may_overlap(&view);
}

/* Whatever bytes a runner sends: refused, or within every range that the header promises. Short
 * inputs overwrite the middle of a good reply, so that the fuzzer need not find 12 KiB of structure
 * first. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_wire_reply reply = {
		.magic = KGB_WIRE_MAGIC, .version = KGB_WIRE_VERSION, .id = 1};
	struct kgb_wire_reply out;
	struct kgb_err err = KGB_ERR_INIT;

	if (size >= sizeof(reply)) {
		if (kgb_wire_reply_parse(data, size, 1, &out, &err) < 0)
			return 0;
	} else if (size > 2) {
		size_t at = (size_t)(data[0] | data[1] << 8) % sizeof(reply);
		size_t n = size - 2 < sizeof(reply) - at ? size - 2 : sizeof(reply) - at;
		reply.n_outputs = 2;
		reply.n_launches = 1;
		reply.n_ops = 1;
		reply.text_len = 20;
		reply.launches[0].count = 1;
		reply.outputs[0].kind = KGB_WIRE_TENSOR;
		memcpy((char *)&reply + at, data + 2, n);
		if (kgb_wire_reply_parse(&reply, sizeof(reply), 1, &out, &err) < 0)
			return 0;
	} else {
		KGB_ASSERT(kgb_wire_reply_parse(data, size, 1, &out, &err) < 0);
		return 0;
	}
	KGB_ASSERT(out.n_outputs <= KGB_WIRE_OUTPUTS && out.n_launches <= KGB_WIRE_LAUNCHES);
	KGB_ASSERT(out.n_ops <= KGB_WIRE_OPS && out.text_len < KGB_WIRE_TEXT &&
		   out.text[out.text_len] == '\0');
	KGB_ASSERT(out.status < KGB_WIRE_N_STATUSES && out.value >= 0 && out.id == 1);
	KGB_ASSERT(kgb_utf8_valid(out.text, out.text_len) == out.text_len);
	for (uint32_t i = 0; i < KGB_WIRE_OUTPUTS; i++)
		check_output(&out.outputs[i]);
	for (uint32_t i = 0; i < out.n_launches; i++)
		KGB_ASSERT(out.launches[i].count > 0 &&
			   strnlen(out.launches[i].name, KGB_WIRE_NAME) < KGB_WIRE_NAME);
	return 0;
}
