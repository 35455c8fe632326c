/* SPDX-License-Identifier: MIT */
/** \file
 * Descriptors that a process reserves for its files. When clients and children have used up the
 * limit, or other programs the machine's, files can still be read and written: each operation on
 * them frees the spare descriptors while it lasts. */
#ifndef KGB_BASE_SYSTEM_SPARE_FDS_H
#define KGB_BASE_SYSTEM_SPARE_FDS_H

#include "base/mem.h"

/** Hold spare descriptors from now on. Call once, before other threads. */
void kgb_spare_fds_hold(void);
/** Free them until the block ends. Calls nest, in any thread. Returns 0 in a process that holds
 * none, else 1. */
int kgb_spare_fds_borrow(void);
void kgb_auto_spare_fds(const int *loan);

/** Free the spare descriptors until the end of the block: first declaration of a function. */
#define KGB_BORROW_SPARE_FDS KGB_AUTO(spare_fds) const int kgb_loan = kgb_spare_fds_borrow()

#endif
