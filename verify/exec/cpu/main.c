/* SPDX-License-Identifier: MIT */
/* kgb-exec-cpu THREADS: replays work on the CPU that the judge sends to descriptor 3
 * (verify/protocol/exec_protocol.h). Only kgb-judge starts it, in a separate sandbox. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "verify/exec/cpu/device.h"
#include "verify/program/launch.h"
#include "verify/protocol/exec_protocol.h"

#ifdef __SANITIZE_ADDRESS__
/* The leak checker traces its own process, which the sandbox forbids. */
const char *__lsan_default_options(void); // NOLINT(bugprone-reserved-identifier)
const char *__lsan_default_options(void) // NOLINT(bugprone-reserved-identifier)
{
	return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t n_threads = -1;
	int type = 0;
	socklen_t len = sizeof(type);

	if (argc != 2 || kgb_parse_i64(argv[1], 0, KGB_MACHINE_THREADS_MAX, &n_threads, &err) < 0 ||
	    getsockopt(KGB_EXEC_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_SEQPACKET) {
		(void)dprintf(STDERR_FILENO,
			      "usage: kgb-exec-cpu THREADS (0: one for each core), with the "
			      "judge's socket as descriptor %d: kgb-judge starts it\n",
			      KGB_EXEC_FD);
		return KGB_EXIT_USAGE;
	}
	return kgb_exec_serve_cpu((int)n_threads);
}
