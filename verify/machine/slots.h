/* SPDX-License-Identifier: MIT */
/** \file
 * Arguments of a launch in a record (docs/record-format.md): one slot of 8 bytes for each argument
 * of the kernel, little endian. A pointer is its address; an integer is extended to the slot, a
 * float is in the low bits, with zeros above. A tensor descriptor is the address of its base; its
 * shape and strides are the arguments that follow it. */
#ifndef KGB_VERIFY_MACHINE_SLOTS_H
#define KGB_VERIFY_MACHINE_SLOTS_H

#include "verify/machine/machine.h"

#define KGB_MACHINE_SLOT 8 /* bytes */

struct kgb_machine_slots {
	struct kgb_machine_argument *arguments; /* owned; as many as the kernel takes */
	struct kgb_machine_descriptor *descriptors; /* owned; [i]: argument i, if a descriptor */
};
#define KGB_MACHINE_SLOTS_INIT    \
	{                         \
		.arguments = NULL \
	}

/** INVALID: `bytes` are not the slots of this program's arguments. Pair with
 * kgb_machine_slots_release. */
KGB_MUST_CHECK int kgb_machine_slots_read(struct kgb_machine_slots *out,
					  const struct kgb_machine_program *program,
					  const unsigned char *bytes, size_t len,
					  struct kgb_err *err);
void kgb_machine_slots_release(struct kgb_machine_slots *slots);

#endif
