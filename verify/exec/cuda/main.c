/* SPDX-License-Identifier: MIT */
/* kgb-exec [LIBCUPTI]: replays GPU work that the judge sends to descriptor 3
 * (verify/protocol/exec_protocol.h). Only kgb-judge starts it, in a separate sandbox. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "verify/exec/cuda/serve.h"
#include "verify/protocol/exec_protocol.h"

int main(int argc, char **argv)
{
	int type = 0;
	socklen_t len = sizeof(type);

	if (argc > 2 || getsockopt(KGB_EXEC_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_SEQPACKET) {
		(void)dprintf(
			STDERR_FILENO,
			"usage: kgb-exec [LIBCUPTI], with the judge's socket as descriptor %d: "
			"kgb-judge starts it\n",
			KGB_EXEC_FD);
		return KGB_EXIT_USAGE;
	}
	/* Skip exit handlers: the driver would wait for kernels that may never end. */
	_exit(kgb_exec_serve_cuda(argc == 2 ? argv[1] : NULL));
}
