/* SPDX-License-Identifier: MIT */
#include "tests/helpers/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/mem.h"

int listen_loopback(uint16_t port, int *fd_out, uint16_t *port_out, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "create a socket");
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t len = sizeof(address);
	int on = 1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&address, len) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return kgb_fail_errno(err, errno, "listen on 127.0.0.1:%u", (unsigned)port);
	*port_out = ntohs(address.sin_port);
	*fd_out = kgb_take_fd(&fd);
	return 0;
}
