/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doctor_peer.c - see doctor_peer.h */
#include "doctor_peer.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/io/udp/icmp_probe.h"

enum {
	WAIT_MS = 500, /* for ICMP: longer than a round trip */
	KNOCKS = 2,    /* hosts limit the rate of what they say by ICMP */
};

static void explain(int err, const char *address, char *text, size_t len)
{
	const char *meaning = rn_icmp_probe_meaning(err);

	snprintf(text, len, "%s refuses packets: %s", address,
		 meaning ? meaning : strerror(err));
}

/* Return: errno value of what came back, or 0 for nothing. */
static int knock(int fd)
{
	for (unsigned i = 0; i < KNOCKS; i++) {
		struct pollfd p = { .fd = fd };
		int err = 0;
		socklen_t size = sizeof(err);

		if (send(fd, "", 0, 0) < 0)
			return errno;
		/* Events that nobody asked for: an error is one. */
		if (poll(&p, 1, WAIT_MS) > 0 &&
		    !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) && err)
			return err;
	}
	return 0;
}

bool rn_doctor_peer(const char *address, char *text, size_t len)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_DGRAM };
	struct addrinfo *to;
	int fd, err, rc = getaddrinfo(address, "4791", &hints, &to);

	if (rc) {
		snprintf(text, len, "\"%s\" is not an IPv4 or IPv6 address: %s", address,
			 gai_strerror(rc));
		return false;
	}
	fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	err = fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) ? errno : knock(fd);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(to);
	if (err)
		explain(err, address, text, len);
	else
		snprintf(text, len,
			 "UDP port 4791 of %s refuses nothing (a firewall that drops in "
			 "silence looks the same)",
			 address);
	return err == 0;
}
