/* SPDX-License-Identifier: MIT */
/** \file
 * Passes a descriptor to another process over a Unix socket. Plain C without any other part of this
 * project: kgb-launch and kgb-confine use it.
 */
#ifndef KGB_BASE_SYSTEM_PASS_FD_H
#define KGB_BASE_SYSTEM_PASS_FD_H

#include <stdbool.h>

/** Send `fd` with one byte of 0, and close both. False with errno: it was not sent, and both are
 * open. */
bool kgb_pass_fd(int socket_fd, int fd);
/** Receive a descriptor (close-on-exec) without waiting. -1 with errno: none has arrived; errno 0:
 * the sender has ended without one. */
int kgb_receive_fd(int socket_fd);

#endif
