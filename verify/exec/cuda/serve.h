/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-exec's loop: one request, one reply, until the judge hangs up.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_SERVE_H
#define KGB_VERIFY_EXEC_CUDA_SERVE_H

/** Serve on a SOCK_SEQPACKET socket. `cupti`: path of the library, NULL for where the loader finds
 * it. Returns the exit status of the program. */
int kgb_exec_serve(int socket_fd, const char *cupti);

#endif
