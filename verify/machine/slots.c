/* SPDX-License-Identifier: MIT */
#include "verify/machine/slots.h"

#include <string.h>

#include "verify/machine/families.h"

static uint64_t word_at(const unsigned char *bytes, size_t index)
{
	uint64_t word;

	memcpy(&word, bytes + index * KGB_MACHINE_SLOT, sizeof(word));
	return word;
}

static const struct kgb_ttir_type *type_of(const struct kgb_machine_program *program,
					   uint32_t index)
{
	return &program->values[program->arguments[index]].type;
}

/* The arguments that follow a descriptor are its `rank` sizes, then its `rank` strides. */
static int read_descriptor(const struct kgb_machine_program *program, uint32_t index,
			   const unsigned char *bytes, struct kgb_machine_descriptor *out,
			   struct kgb_err *err)
{
	const uint32_t rank = type_of(program, index)->rank;

	if (rank > KGB_MACHINE_DESCRIPTOR_RANK || program->n_arguments - index - 1 < 2 * rank)
		return kgb_fail(err, KGB_ERR_INVALID,
				"argument %u: a descriptor without its shape and strides", index);
	*out = (struct kgb_machine_descriptor){.address = word_at(bytes, index)};
	for (uint32_t i = 0; i < rank; i++) {
		out->shape[i] = (int64_t)word_at(bytes, index + 1 + i);
		out->strides[i] = (int64_t)word_at(bytes, index + 1 + rank + i);
	}
	return 0;
}

static int read_all(struct kgb_machine_slots *out, const struct kgb_machine_program *program,
		    const unsigned char *bytes, struct kgb_err *err)
{
	for (uint32_t i = 0; i < program->n_arguments; i++) {
		out->arguments[i].bits = word_at(bytes, i);
		if (type_of(program, i)->element != KGB_TTIR_DESCRIPTOR)
			continue;
		if (read_descriptor(program, i, bytes, &out->descriptors[i], err) < 0)
			return -1;
		out->arguments[i].descriptor = &out->descriptors[i];
	}
	return 0;
}

int kgb_machine_slots_read(struct kgb_machine_slots *out, const struct kgb_machine_program *program,
			   const unsigned char *bytes, size_t len, struct kgb_err *err)
{
	const size_t n = program->n_arguments;

	if (len != n * KGB_MACHINE_SLOT)
		return kgb_fail(err, KGB_ERR_INVALID,
				"%zu bytes of parameters for a kernel that takes %zu arguments",
				len, n);
	*out = (struct kgb_machine_slots){
		.arguments = kgb_xcalloc(n + 1, sizeof(*out->arguments)),
		.descriptors = kgb_xcalloc(n + 1, sizeof(*out->descriptors)),
	};
	if (read_all(out, program, bytes, err) == 0)
		return 0;
	kgb_machine_slots_release(out);
	return -1;
}

void kgb_machine_slots_release(struct kgb_machine_slots *slots)
{
	kgb_free(slots->arguments);
	kgb_free(slots->descriptors);
	*slots = (struct kgb_machine_slots)KGB_MACHINE_SLOTS_INIT;
}
