/* SPDX-License-Identifier: MIT */
/** \file
 * The name and the folder under which a runner imports kernel.py, and who has started the process.
 * They are drawn and look like a user's, so that a kernel cannot recognize the judge by them.
 */
#ifndef KGB_VERIFY_PROCESS_USER_MODULE_H
#define KGB_VERIFY_PROCESS_USER_MODULE_H

#include <stddef.h>
#include <stdint.h>

struct kgb_user_module {
	char name[32]; /* "fused_rows17" */
	char folder[64]; /* "projects/attention4", below the worker's folder */
	unsigned rank; /* among processes that torchrun starts; not the first one, 0 */
};

/** The module of this random number. */
void kgb_user_module_draw(uint64_t number, struct kgb_user_module *out);
/** Draw a worker's folder for the files of users, "/home/lee482913", with a number that occurs on
 * no machine. Two calls have different results. */
void kgb_user_folder_draw(char *out, size_t cap);

#endif
