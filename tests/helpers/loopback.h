/* SPDX-License-Identifier: MIT */
/** \file
 * Listening sockets for sessions of the gateway that no sandbox holds.
 */
#ifndef KGB_TESTS_HELPERS_LOOPBACK_H
#define KGB_TESTS_HELPERS_LOOPBACK_H

#include <stdint.h>

#include "base/err.h"

/** A listening socket on 127.0.0.1 (port 0: any). Returns the descriptor in *fd_out and the port in
 * *port_out. */
KGB_MUST_CHECK int listen_loopback(uint16_t port, int *fd_out, uint16_t *port_out,
				   struct kgb_err *err);

#endif
