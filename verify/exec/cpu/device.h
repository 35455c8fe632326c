/* SPDX-License-Identifier: MIT */
/** \file
 * Requests of the judge, carried out by the machine for Triton's IR.
 */
#ifndef KGB_VERIFY_EXEC_CPU_DEVICE_H
#define KGB_VERIFY_EXEC_CPU_DEVICE_H

/** Serve on descriptor KGB_EXEC_FD. Launches run on so many threads; 0: as many as cores. Returns
 * the exit status of the program. */
int kgb_exec_serve_cpu(int n_threads);

#endif
