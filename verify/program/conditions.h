/* SPDX-License-Identifier: MIT */
/** \file
 * The conditions of a program: operations whose results are true or false and depend on what the
 * kernel read from memory. A launch notes which outcomes occur (condition coverage): behind one
 * that never occurs any code may hide. Conditions on sizes and places alone are left out: the grid
 * often decides them. Lanes that do not reach memory are left out, too (reach.h). Inside of the
 * room only. */
#ifndef KGB_VERIFY_PROGRAM_CONDITIONS_H
#define KGB_VERIFY_PROGRAM_CONDITIONS_H

#include "verify/program/builder.h"

/** Finds the conditions of a program whose regions are built. */
void kgb_conditions__find(struct kgb_builder *b);

#endif
