/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* udp_stream.c - measures the throughput of raw UDP sockets under the load of the
 * machine. The stream has as many messages in flight as a send queue has entries, and
 * both ends block in the kernel.
 *
 * usage: udp_stream SIZE SECONDS
 *
 * Sends messages of SIZE bytes through the loopback interface to another process, in
 * datagrams of at most 4096 bytes as RoCEv2 does. The other process answers after each
 * quarter of a window with the number of messages so far. At most WINDOW messages are in
 * flight (the size of perftest's send queue), or fewer if they would not fit into half of
 * the receive buffer. Prints the number of answered messages per second.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/kit/expect.h"

enum {
	WINDOW = 128, /* perftest's --tx-depth */
	MTU = 4096,
	RCVBUF = 8 << 20,
	CHARGE =
		/* bytes of a receive buffer that each datagram takes in addition to its
		 * data
		 */
		768,
	SILENCE_MS = 60000,
};

static char buf[MTU];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int bound_socket(struct sockaddr_in *addr, uint32_t *rcvbuf)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = RCVBUF;
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	EXPECT(fd >= 0);
	EXPECT(bind(fd, (struct sockaddr *)addr, len) == 0);
	EXPECT(getsockname(fd, (struct sockaddr *)addr, &len) == 0);
	/* The system may grant a smaller buffer; the window is then made smaller. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	len = sizeof(size);
	EXPECT(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len) == 0);
	*rcvbuf = (uint32_t)size;
	return fd;
}

static uint32_t datagrams_of(uint32_t size)
{
	return (size + MTU - 1) / MTU;
}

static uint32_t window_of(uint32_t rcvbuf, uint32_t size)
{
	uint32_t fits = rcvbuf / 2 / (datagrams_of(size) * CHARGE + 2 * size);

	return fits < 4 ? 4 : fits < WINDOW ? fits : WINDOW;
}

/* Receives datagrams until one without data comes. */
static void receive(int fd, uint32_t window, uint32_t size)
{
	uint64_t datagrams = 0, count = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		if (++datagrams % datagrams_of(size) != 0 || ++count % (window / 4) != 0)
			continue;
		EXPECT(send(fd, &count, sizeof(count), 0) == (ssize_t)sizeof(count));
	}
	EXPECT(n == 0);
}

static void send_message(int fd, uint32_t size)
{
	for (uint32_t left = size, n; left > 0; left -= n) {
		n = left < MTU ? left : MTU;
		EXPECT(send(fd, buf, n, 0) == (ssize_t)n);
	}
}

/* Waits for an answer, and takes all answers that have come. Returns false if none has
 * come for a minute.
 */
static bool take_answers(int fd, uint64_t *answered)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, SILENCE_MS) != 1)
		return false;
	while (recv(fd, answered, sizeof(*answered), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(*answered))
		;
	return true;
}

static void stream(int fd, uint32_t window, uint32_t size, double seconds)
{
	uint64_t sent = 0, answered = 0;
	double start = now(), took;

	while (took = now() - start, took < seconds) {
		if (sent - answered >= window) {
			EXPECT(take_answers(fd, &answered));
			continue;
		}
		send_message(fd, size);
		sent++;
	}
	printf("window %u messages %llu per_second %.0f\n", window,
	       (unsigned long long)answered, (double)answered / took);
	EXPECT(send(fd, buf, 0, 0) == 0);
}

int main(int argc, char **argv)
{
	uint32_t size = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	struct sockaddr_in a, b;
	uint32_t rcvbuf[2];
	int tx, rx, status;
	pid_t child;

	if (size == 0)
		return 64;
	tx = bound_socket(&a, &rcvbuf[0]);
	rx = bound_socket(&b, &rcvbuf[1]);
	EXPECT(connect(tx, (struct sockaddr *)&b, sizeof(b)) == 0);
	EXPECT(connect(rx, (struct sockaddr *)&a, sizeof(a)) == 0);
	child = fork();
	EXPECT(child >= 0);
	if (child == 0) {
		receive(rx, window_of(rcvbuf[1], size), size);
		return 0;
	}
	stream(tx, window_of(rcvbuf[1], size), size, strtod(argv[2], NULL));
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
	return 0;
}
