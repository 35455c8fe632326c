/* SPDX-License-Identifier: MIT */
/** \file
 * What follows from the conditions of a program, and the masks on the way to memory. An execution
 * needs it to find the lanes of a condition that reach memory (reach.h). Inside of the room only.
 */
#ifndef KGB_VERIFY_PROGRAM_FOLLOW_H
#define KGB_VERIFY_PROGRAM_FOLLOW_H

#include "verify/program/builder.h"

/** Follows the conditions that kgb_conditions__find has found. */
void kgb_follow__conditions(struct kgb_builder *b);

#endif
