/* SPDX-License-Identifier: MIT */
#include "agent/llm/llm_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/mem.h"

int kgb_llm_listen(char **out_url, int *out_fd, struct kgb_err *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	KGB_AUTO(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return kgb_fail_errno(err, errno, "listen on 127.0.0.1");
	*out_url = kgb_xasprintf("http://127.0.0.1:%d", ntohs(address.sin_port));
	*out_fd = kgb_take_fd(&fd);
	return 0;
}
