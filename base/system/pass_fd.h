/* SPDX-License-Identifier: MIT */
/** \file
 * Passing a descriptor to another process; for the programs that need no library.
 */
#ifndef KGB_SANDBOX_LAUNCH_PASS_FD_H
#define KGB_SANDBOX_LAUNCH_PASS_FD_H

#include <stdbool.h>

/** Send `fd` over a Unix socket, with one byte of 0, and close both. False with errno: it was not
 * sent, and both are open. */
bool kgb_pass_fd(int socket_fd, int fd);

#endif
