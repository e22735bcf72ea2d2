/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* activation.c - see activation.h. */
#include "activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/io/host/sentence.h"

enum {
	FIRST_FD = 3, /* SD_LISTEN_FDS_START */
};

static long number_of(const char *variable)
{
	const char *text = getenv(variable);

	return text ? strtol(text, NULL, 10) : 0;
}

bool rnd_is_activated(void)
{
	return number_of("LISTEN_PID") == getpid() && number_of("LISTEN_FDS") > 0;
}

static bool has(int fd, int option, int wanted)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 && value == wanted;
}

/* Do clients that look for @name in @dir come to the socket that is bound to @addr? */
static bool leads_here(const char *dir, const char *name, const struct sockaddr_un *addr)
{
	int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat theirs, ours;
	bool same = fstatat(dir_fd, name, &theirs, 0) == 0 &&
		    stat(addr->sun_path, &ours) == 0 && theirs.st_dev == ours.st_dev &&
		    theirs.st_ino == ours.st_ino;

	if (dir_fd >= 0)
		close(dir_fd);
	return same;
}

static int check(int fd, const char *dir, const char *name, char *err, size_t err_len)
{
	/* One byte more than the kernel fills in, so that a path always ends. */
	union {
		struct sockaddr_un un;
		char bytes[sizeof(struct sockaddr_un) + 1];
	} addr = { .bytes = { 0 } };
	socklen_t len = sizeof(addr.un);

	if (!has(fd, SO_DOMAIN, AF_UNIX) || !has(fd, SO_TYPE, SOCK_SEQPACKET) ||
	    !has(fd, SO_ACCEPTCONN, 1))
		return rn_fail(
			err, err_len, -EINVAL,
			"descriptor %d, which was passed, is no listening "
			"SOCK_SEQPACKET socket; a unit says ListenSequentialPacket=",
			fd);
	if (getsockname(fd, (struct sockaddr *)&addr.un, &len) == 0 &&
	    leads_here(dir, name, &addr.un))
		return 0;
	return rn_fail(
		err, err_len, -EINVAL,
		"clients look for %.300s/%s, which does not lead to the socket that "
		"was passed (%.108s); make it a link to that",
		dir, name, addr.un.sun_path);
}

int rnd_activation_take(const char *dir, const char *name, char *err, size_t err_len)
{
	long count = rnd_is_activated() ? number_of("LISTEN_FDS") : 0;
	int rc;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (count == 0)
		return -ENOENT;
	if (count > 1)
		return rn_fail(err, err_len, -EINVAL,
			       "%ld sockets were passed; rocind listens at one", count);
	rc = check(FIRST_FD, dir, name, err, err_len);
	if (rc)
		return rc;
	if (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(FIRST_FD, F_SETFL, O_NONBLOCK) < 0)
		return rn_fail(err, err_len, -errno, "descriptor %d: %m", FIRST_FD);
	return FIRST_FD;
}
