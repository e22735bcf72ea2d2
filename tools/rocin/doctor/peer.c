/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peer.c - `rocin doctor --peer`: finds out whether packets reach a device at another
 * host.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor.h"
#include "transport/io/udp/icmp_probe.h"

/* ------------------------------------------------------- check of a peer's UDP port */
enum {
	/* Longest time in ms to wait for an ICMP error. It is longer than a round trip.
	 */
	WAIT_MS = 500,
	/* Number of datagrams that are sent. It is more than one, because hosts limit the
	 * rate of ICMP errors.
	 */
	PROBES = 2,
};

static void explain(int err, const char *address, char *text, size_t len)
{
	const char *meaning = rn_icmp_probe_meaning(err);

	snprintf(text, len, "%s refuses packets: %s", address,
		 meaning ? meaning : strerror(err));
}

/* Sends empty datagrams to the port to which @fd is connected. Returns the errno value
 * that belongs to the ICMP error that has come back, or 0 if none has.
 */
static int probe_port(int fd)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct pollfd p = { .fd = fd };
		int err = 0;
		socklen_t size = sizeof(err);

		if (send(fd, "", 0, 0) < 0)
			return errno;
		/* No events are requested, but poll() reports an error on the socket in
		 * any case.
		 */
		if (poll(&p, 1, WAIT_MS) > 0 &&
		    !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) && err)
			return err;
	}
	return 0;
}

static bool is_peer_open(const char *address, char *text, size_t len)
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
	err = fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) ? errno : probe_port(fd);
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

void rn_doctor_check_peer(struct doctor *d)
{
	char text[512];
	bool is_good = !d->peer || is_peer_open(d->peer, text, sizeof(text));

	if (d->peer)
		rn_doctor_find(d, is_good ? GOOD : FAULT, "%s", text);
}
