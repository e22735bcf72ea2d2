/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* two-devices.c - a small simulator: two RoCEv2 devices and a bad link between them, in
 * virtual time.
 *
 * usage: two-devices [SEED [LOSS-PERCENT]]
 *
 * Device A writes a megabyte into the memory of device B. The link loses some packets,
 * duplicates some, and delays others so that packets behind them arrive first. The clock
 * jumps from event to event. No packet leaves this process, and equal seeds give equal
 * runs.
 */
#include <rocin/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BYTES = 1 << 20,
	PIECE = 1 << 16, /* number of bytes of one WRITE */
	FLIGHTS = 2048,	 /* maximum number of packets that are on the link at once */
	DELAY = 10000,	 /* delay of the link in ns */
};

/* A packet on the link: it arrives at device @to at the time @at. If @at is
 * RN_DEVICE_NEVER, the element is free.
 */
struct flight {
	int64_t at;
	unsigned to;
	struct rn_device_packet packet;
};

static struct flight flights[FLIGHTS];
static uint64_t seed = 1;
static unsigned loss_percent = 5, sent, lost;
static uint8_t source[BYTES], target[BYTES];

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "failed: %s\n", what);
	exit(2);
}

/* ---- The link ---- */
static void put(int64_t at, unsigned to, const struct rn_device_packet *packet)
{
	unsigned i = 0;

	while (i < FLIGHTS && flights[i].at != RN_DEVICE_NEVER)
		i++;
	need(i < FLIGHTS, "too many packets under way");
	flights[i].at = at;
	flights[i].to = to;
	flights[i].packet = *packet;
}

static void send(int64_t now, unsigned to, const struct rn_device_packet *packet)
{
	sent++;
	if (draw(100) < loss_percent) {
		lost++;
		return;
	}
	/* One packet in twenty takes up to ten times as long, and one in fifty comes
	 * twice.
	 */
	put(now + DELAY + (draw(20) ? 0 : (int64_t)draw(10 * DELAY)), to, packet);
	if (draw(50) == 0)
		put(now + 2L * DELAY, to, packet);
}

static struct flight *next_flight(void)
{
	struct flight *first = &flights[0];

	for (unsigned i = 1; i < FLIGHTS; i++)
		if (flights[i].at < first->at)
			first = &flights[i];
	return first;
}

/* ---- The clock ---- */
/* Called after each call of a device function: takes all packets that the devices want to
 * send, and puts them on the link.
 */
static void send_all(struct rn_device *const device[2], int64_t now)
{
	struct rn_device_packet packet;

	for (unsigned i = 0; i < 2; i++)
		while (rn_device_transmit(device[i], now, &packet))
			send(now, !i, &packet);
}

/* Advances the clock to the next event (an arrival or a deadline), and processes it.
 * Returns its time.
 */
static int64_t step(struct rn_device *const device[2], int64_t now)
{
	struct flight *flight = next_flight();
	int64_t a = rn_device_deadline(device[0]), b = rn_device_deadline(device[1]);
	int64_t deadline = a < b ? a : b;
	int64_t next = flight->at < deadline ? flight->at : deadline;

	need(next != RN_DEVICE_NEVER, "nothing will happen any more");
	now = next > now ? next : now;
	if (flight->at <= now) {
		rn_device_receive(device[flight->to], now, &flight->packet);
		flight->at = RN_DEVICE_NEVER;
	} else {
		rn_device_expire(device[b < a], now);
	}
	send_all(device, now);
	return now;
}

/* ---- The two ends ---- */
static struct rn_device *make(uint8_t number, uint32_t *qpn)
{
	const struct rn_device_options options = {
		.address = { [10] = 0xff, [11] = 0xff, 10, 0, 0, number },
		.mtu = 1024,
	};
	struct rn_device *device = rn_device_new(&options);

	need(device != NULL, "rn_device_new");
	need(!rn_device_queue_new(device, &(struct rn_device_queue){ 0 }, qpn),
	     "a queue pair");
	return device;
}

static void join(struct rn_device *device, uint32_t qpn, uint8_t peer, uint32_t peer_qpn)
{
	const struct rn_device_peer p = {
		.address = { [10] = 0xff, [11] = 0xff, 10, 0, 0, peer },
		.qpn = peer_qpn,
		.psn = peer * 1000u,
		.own_psn = (3 - peer) * 1000u,
		.ack_timeout = 8, /* 1 ms */
	};

	need(!rn_device_connect(device, 0, qpn, &p), "rn_device_connect");
}

/* Lets device A write all of @source to @target on device B. Returns the time that this
 * has taken.
 */
static int64_t write_all(struct rn_device *const device[2], uint32_t qpn)
{
	struct rn_device_request write = { .operation = RN_DEVICE_WRITE, .len = PIECE };
	struct rn_device_completion done;
	int64_t now = 0;

	need(!rn_device_register(device[0], source, BYTES, 0, &write.key) &&
		     !rn_device_register(device[1], target, BYTES,
					 RN_DEVICE_LOCAL_WRITE | RN_DEVICE_REMOTE_WRITE,
					 &write.remote_key),
	     "rn_device_register");
	for (; write.id < BYTES / PIECE; write.id++) {
		write.local = source + write.id * PIECE;
		write.remote = (uintptr_t)target + write.id * PIECE;
		need(!rn_device_post_send(device[0], now, qpn, &write), "a WRITE");
	}
	send_all(device, now);
	for (uint64_t id = 0; id < BYTES / PIECE;) {
		now = step(device, now);
		while (rn_device_poll(device[0], &done, 1)) {
			need(done.status == 0, rn_device_status_text(done.status));
			need(done.id == id++, "a completion out of order");
		}
	}
	return now;
}

int main(int argc, char **argv)
{
	struct rn_device *device[2];
	uint64_t doubled = 0, beyond = 0;
	uint32_t qpn[2];
	int64_t took;

	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
	loss_percent = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : loss_percent;
	for (unsigned i = 0; i < FLIGHTS; i++)
		flights[i].at = RN_DEVICE_NEVER;
	for (unsigned i = 0; i < BYTES; i++)
		source[i] = (uint8_t)draw(256);
	for (unsigned i = 0; i < 2; i++)
		device[i] = make((uint8_t)(i + 1), &qpn[i]);
	for (unsigned i = 0; i < 2; i++)
		join(device[i], qpn[i], (uint8_t)(2 - i), qpn[!i]);
	took = write_all(device, qpn[0]);
	rn_device_counter(device[1], "duplicate_request", &doubled);
	rn_device_counter(device[1], "out_of_sequence", &beyond);
	printf("%d bytes in %.3f ms, %u packets, %u lost; B saw %u again and %u too "
	       "early: %s\n",
	       BYTES, (double)took / 1e6, sent, lost, (unsigned)doubled, (unsigned)beyond,
	       memcmp(source, target, BYTES) ? "wrong" : "right");
	for (unsigned i = 0; i < 2; i++)
		rn_device_free(device[i]);
	return memcmp(source, target, BYTES) != 0;
}
