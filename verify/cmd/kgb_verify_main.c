/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-verify: requests a verdict on kernel.py from inside the agent's sandbox. It is linked
 * statically and uses only libc and plain sockets, so that it runs in any sandbox.
 *
 *     kgb-verify [FILE]        FILE: /ws/kernel.py, or kernel.py here when there is no such file
 *
 * It posts the file to $KGB_GATEWAY/kgb/v1/verify with the token in $KGB_TOKEN and prints the
 * report. Exit status: 0 passed, 1 failed, 2 usage, 3 refused or cheated, 4 the gateway cannot be
 * reached, 5 the check could not be run.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/limits.h"

#define DEFAULT_FILE "/ws/kernel.py"
#define LOCAL_FILE "kernel.py"
#define EXIT_CANNOT_REACH KGB_EXIT_ENVIRONMENT
#define EXIT_NOT_RUN 5
#define EXIT_REFUSED 3

#ifdef __SANITIZE_ADDRESS__
/* The leak checker traces its own process, which a sandbox forbids; and this program allocates
 * nothing. */
const char *__lsan_default_options(void); // NOLINT(bugprone-reserved-identifier)
const char *__lsan_default_options(void) // NOLINT(bugprone-reserved-identifier)
{
	return "detect_leaks=0";
}
#endif

static char kernel[KGB_LIMIT_KERNEL + 1];
static char reply[(1u << 20) + 1];

static int complain(int status, const char *fmt, ...) KGB_PRINTF(2, 3);

static int complain(int status, const char *fmt, ...)
{
	va_list ap;
	fputs("kgb-verify: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

static int usage(FILE *out, int status)
{
	fputs("usage: kgb-verify [FILE]\n"
	      "Check a kernel (default: " DEFAULT_FILE ") and print the report.\n"
	      "exit status: 0 passed, 1 failed, 2 usage, 3 refused or cheated, 4 gateway not reachable, 5 check could not be run\n",
	      out);
	return status;
}

/* Read the kernel; 0, or an exit status after a message. */
static int read_kernel(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return complain(KGB_EXIT_USAGE, "'%s': %s", path, strerrordesc_np(errno));
	if (!S_ISREG(st.st_mode))
		return complain(KGB_EXIT_USAGE, "'%s': not a regular file", path);
	*len = 0;
	while (*len < sizeof(kernel)) {
		ssize_t n = read(fd, kernel + *len, sizeof(kernel) - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return complain(KGB_EXIT_USAGE, "'%s': %s", path, strerrordesc_np(errno));
		if (n == 0)
			break;
		*len += (size_t)n;
	}
	close(fd);
	if (*len > KGB_LIMIT_KERNEL)
		return complain(EXIT_NOT_RUN,
				"'%s': over %u bytes, which is the most that a kernel may have",
				path, KGB_LIMIT_KERNEL);
	return 0;
}

/* "http://127.0.0.1:8123" -> address. Names are not resolved: there is no resolver in a sandbox. */
static bool parse_gateway(const char *url, struct sockaddr_in *out)
{
	static const char scheme[] = "http://";
	char host[INET_ADDRSTRLEN];
	if (strncmp(url, scheme, sizeof(scheme) - 1) != 0)
		return false;
	url += sizeof(scheme) - 1;
	size_t host_len = strcspn(url, ":/");
	if (url[host_len] != ':' || host_len >= sizeof(host))
		return false;
	memcpy(host, url, host_len);
	host[host_len] = '\0';
	unsigned port = 0;
	const char *p = url + host_len + 1;
	for (; *p >= '0' && *p <= '9' && port <= UINT16_MAX; p++)
		port = port * 10 + (unsigned)(*p - '0');
	if (port == 0 || port > UINT16_MAX || (*p && strcmp(p, "/") != 0))
		return false;
	*out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

static bool send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* Read until the server closes; -1 on an error or over the cap. */
static ssize_t receive_all(int fd)
{
	size_t len = 0;
	while (len < sizeof(reply) - 1) {
		ssize_t n = recv(fd, reply + len, sizeof(reply) - 1 - len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0) {
			reply[len] = '\0';
			return (ssize_t)len;
		}
		len += (size_t)n;
	}
	errno = EMSGSIZE;
	return -1;
}

/* Post the kernel; length of the raw reply, or -1 with errno. */
static ssize_t ask(const struct sockaddr_in *address, const char *token, size_t len)
{
	char head[1024];
	int n = snprintf(
		head, sizeof(head),
		"POST /kgb/v1/verify HTTP/1.1\r\nHost: kgb\r\nAuthorization: Bearer %s\r\n"
		"Content-Type: text/x-python\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
		token, len);
	if (n < 0 || (size_t)n >= sizeof(head)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	ssize_t got = -1;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
	    send_all(fd, head, (size_t)n) && send_all(fd, kernel, len))
		got = receive_all(fd);
	int saved = errno;
	close(fd);
	errno = saved;
	return got;
}

/* Value of a decimal number at p, at most a million. */
static size_t number_at(const char *p)
{
	size_t value = 0;
	while (*p == ' ')
		p++;
	for (; *p >= '0' && *p <= '9' && value < 1000000; p++)
		value = value * 10 + (size_t)(*p - '0');
	return value;
}

/* Print the report; exit status. */
static int show(size_t len)
{
	static const char version[] = "HTTP/1.1 ";
	char *body = strstr(reply, "\r\n\r\n");
	if (strncmp(reply, version, sizeof(version) - 1) != 0 || !body)
		return complain(EXIT_CANNOT_REACH,
				"the gateway closed the connection without an answer");
	size_t status = number_at(reply + sizeof(version) - 1);
	*body = '\0';
	const char *length = strcasestr(reply, "\r\ncontent-length:");
	body += 4;
	size_t body_len = len - (size_t)(body - reply);
	if (!length || number_at(length + strlen("\r\ncontent-length:")) != body_len)
		return complain(EXIT_CANNOT_REACH, "the gateway's answer was cut off");
	fwrite(body, 1, body_len, status == 200 ? stdout : stderr);
	if (body_len > 0 && body[body_len - 1] != '\n')
		fputc('\n', status == 200 ? stdout : stderr);
	if (fflush(stdout) != 0)
		return complain(EXIT_NOT_RUN, "write the report: %s", strerrordesc_np(errno));
	if (status == 401 || status == 404)
		return complain(EXIT_CANNOT_REACH, "the gateway refused the request (HTTP %zu)",
				status);
	if (status != 200)
		return complain(EXIT_NOT_RUN, "the check could not be run (HTTP %zu)", status);
	if (strncmp(body, "PASSED", 6) == 0)
		return KGB_EXIT_OK;
	if (strncmp(body, "FAIL", 4) == 0)
		return KGB_EXIT_FAILURES;
	if (strncmp(body, "CHEATED", 7) == 0 || strncmp(body, "REFUSED", 7) == 0)
		return EXIT_REFUSED;
	return EXIT_NOT_RUN;
}

int main(int argc, char **argv)
{
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return usage(stdout, KGB_EXIT_OK);
	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		return usage(stderr, KGB_EXIT_USAGE);
	const char *path = argc == 2                         ? argv[1]
			   : access(DEFAULT_FILE, F_OK) == 0 ? DEFAULT_FILE
							     : LOCAL_FILE;
	const char *gateway = getenv("KGB_GATEWAY");
	const char *token = getenv("KGB_TOKEN");
	struct sockaddr_in address;
	if (!gateway || !parse_gateway(gateway, &address))
		return complain(
			EXIT_CANNOT_REACH,
			"KGB_GATEWAY is '%s', not http://ADDRESS:PORT: this program runs inside "
			"kgb-agent's sandbox",
			gateway ? gateway : "");
	if (!token || !*token || strpbrk(token, "\r\n"))
		return complain(
			EXIT_CANNOT_REACH,
			"KGB_TOKEN is not set: this program runs inside kgb-agent's sandbox");
	size_t len = 0;
	int status = read_kernel(path, &len);
	if (status != 0)
		return status;
	ssize_t got = ask(&address, token, len);
	if (got < 0)
		return complain(EXIT_CANNOT_REACH, "%s: %s", gateway, strerrordesc_np(errno));
	return show((size_t)got);
}
