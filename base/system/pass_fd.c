/* SPDX-License-Identifier: MIT */
#include "base/system/pass_fd.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A message of one byte with room for one descriptor. */
struct message {
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	char byte;
	struct iovec iov;
	struct msghdr head;
};

static struct cmsghdr *prepare(struct message *message)
{
	memset(message, 0, sizeof(*message));
	message->iov = (struct iovec){.iov_base = &message->byte, .iov_len = 1};
	message->head = (struct msghdr){.msg_iov = &message->iov,
					.msg_iovlen = 1,
					.msg_control = message->control,
					.msg_controllen = sizeof(message->control)};
	return CMSG_FIRSTHDR(&message->head);
}

bool kgb_pass_fd(int socket_fd, int fd)
{
	struct message message;
	struct cmsghdr *head = prepare(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	if (sendmsg(socket_fd, &message.head, MSG_NOSIGNAL) != 1)
		return false;
	(void)close(fd);
	(void)close(socket_fd);
	return true;
}

int kgb_receive_fd(int socket_fd)
{
	struct message message;
	int fd = -1;

	(void)prepare(&message);
	ssize_t got = recvmsg(socket_fd, &message.head, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (got < 0)
		return -1;
	const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message.head) : NULL;
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	errno = 0;
	return fd;
}
