/* SPDX-License-Identifier: MIT */
/** \file
 * Requests of the judge, carried out on a GPU.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_SERVE_H
#define KGB_VERIFY_EXEC_CUDA_SERVE_H

/** Serve on descriptor KGB_EXEC_FD. `cupti`: path of the library; NULL: the loader's path. Returns
 * the exit status of the program. */
int kgb_exec_serve_cuda(const char *cupti);

#endif
