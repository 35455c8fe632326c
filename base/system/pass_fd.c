/* SPDX-License-Identifier: MIT */
#include "sandbox/launch/pass_fd.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool kgb_pass_fd(int socket_fd, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	char byte = 0;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	if (sendmsg(socket_fd, &msg, MSG_NOSIGNAL) != 1)
		return false;
	(void)close(fd);
	(void)close(socket_fd);
	return true;
}
