/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* local_kit.h - one process with local wires; the test is rocind and its peers. */
#ifndef LOCAL_KIT_H
#define LOCAL_KIT_H

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "rocin/stats.h"
#include "rocin/wire.h"
#include "tests/kit/system/roce_socket.h"
#include "transport/io/shm/net_local.h"
#include "transport/io/shm/ring.h"

enum {
	SLOT = 3,
	PEERS = 20,
	LEN = 4096 + 40, /* of a packet */
	ROOM = 65536,
};

/* A process at the other end: its raw end of the wire, and its UDP socket. */
struct peer {
	struct rn_rocind_ends ends; /* as the device under test sees them */
	unsigned bit;
	uint8_t *memory;
	struct rn_ring_send send;
	struct rn_ring_recv recv;
	struct rn_doorbell *page; /* its own */
	int event;
};

struct world {
	struct rn_udp *udp;
	struct rn_local *local;
	struct rn_net *net;
	struct rn_gid gid[RN_GID_MAX];
	uint64_t stats[RN_STAT_COUNT];

	bool no_icrc; /* wires that are laid from now on are for packets without ICRC */

	/* What rocind was asked. */
	unsigned asked, dropped;
	unsigned asked_lost; /* of those asked: the wire is lost */
	struct rn_rocind_ends last;

	struct rn_doorbell *page;
	int page_fd, event;
	int peer_sock; /* of all peers: they differ in their slots */
	struct rn_gid peer_gid;
	struct peer peer[PEERS];

	struct rn_flow flow;
	uint8_t data[RN_SUPER_BYTES];
	struct rn_rx rx[RN_RX_BATCH];
	uint8_t room[ROOM];
};

/* Time stands still but for what a test adds. */
static rn_ns kit_now;

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_MONOTONIC_COARSE) /* nobody but local wires asks for that */
		return __real_clock_gettime(clock, ts);
	*ts = (struct timespec){ .tv_sec = kit_now / 1000000000,
				 .tv_nsec = kit_now % 1000000000 };
	return 0;
}

static inline int ask(void *ctx, const struct rn_rocind_ends *ends, bool lost)
{
	struct world *w = ctx;

	w->asked++;
	w->asked_lost += lost;
	w->last = *ends;
	return 0;
}

static inline int drop(void *ctx, const struct rn_rocind_ends *ends)
{
	struct world *w = ctx;

	w->dropped++;
	w->last = *ends;
	return 0;
}

static inline int memory(size_t len)
{
	int fd = memfd_create("wire", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	return fd;
}

static inline void *map(int fd, size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(mem != MAP_FAILED);
	return mem;
}

static inline int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int sock[RN_GID_MAX];
	struct rn_udp_cfg udp = { .sock_count = 1,
				  .sock = sock,
				  .gid = w->gid,
				  .ifindex = 1,
				  .gso = true,
				  .stats = w->stats };
	struct rn_local_cfg cfg = { .ifindex = 1,
				    .slot = SLOT,
				    .gid = w->gid,
				    .stats = w->stats,
				    .ask = ask,
				    .drop = drop,
				    .ctx = w };

	kit_now = RN_MSEC(1000);
	w->gid[0] = roce_gid(0);
	w->peer_gid = roce_gid(1);
	sock[0] = roce_socket(&w->gid[0]);
	w->peer_sock = roce_socket(&w->peer_gid);
	assert_true(sock[0] > 0 && w->peer_sock > 0);
	w->udp = rn_udp_new(&udp);
	cfg.udp = w->udp;
	w->local = rn_local_new(&cfg);
	w->net = rn_local_net(w->local);
	w->page_fd = memory(RN_DOORBELL_BYTES);
	w->page = map(w->page_fd, RN_DOORBELL_BYTES);
	w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->flow = (struct rn_flow){ .src = w->gid[0],
				    .dst = w->peer_gid,
				    .ifindex = 1,
				    .sport = 0xc0de,
				    .tclass = 2,
				    .hop_limit = 64 };
	*state = w;
	return 0;
}

static inline int teardown(void **state)
{
	struct world *w = *state;

	rn_local_free(w->local);
	rn_udp_free(w->udp);
	for (unsigned i = 0; i < PEERS; i++) {
		if (!w->peer[i].memory)
			continue;
		munmap(w->peer[i].memory, RN_WIRE_BYTES);
		munmap(w->peer[i].page, RN_DOORBELL_BYTES);
		close(w->peer[i].event);
	}
	munmap(w->page, RN_DOORBELL_BYTES);
	close(w->page_fd);
	close(w->event);
	close(w->peer_sock);
	free(w);
	return 0;
}

/* What rocind does: a wire to the process with slot @n + 1. Return: of rn_local_up(). */
static inline int try_to_lay(struct world *w, unsigned n)
{
	struct peer *p = &w->peer[n];
	int rings = memory(RN_WIRE_BYTES), page = memory(RN_DOORBELL_BYTES);
	struct rn_rocind_wire wire = { .role = n % 2, .bit = n * 6, .peer_bit = 5 };
	size_t own = (size_t)wire.role * RN_WIRE_RING_BYTES;

	p->ends = (struct rn_rocind_ends){ w->gid[0], w->peer_gid, n + 1 };
	p->bit = wire.bit;
	p->memory = map(rings, RN_WIRE_BYTES);
	p->page = map(page, RN_DOORBELL_BYTES);
	p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rn_ring_format(p->memory, RN_WIRE_CAPACITY);
	rn_ring_format(p->memory + RN_WIRE_RING_BYTES, RN_WIRE_CAPACITY);
	assert_int_equal(rn_ring_recv_init(&p->recv, p->memory + own, RN_WIRE_CAPACITY),
			 RN_RING_OK);
	assert_int_equal(rn_ring_send_init(&p->send,
					   p->memory + (RN_WIRE_RING_BYTES - own),
					   RN_WIRE_CAPACITY),
			 RN_RING_OK);
	wire.no_icrc = w->no_icrc;
	wire.rings = rings;
	wire.peer_page = page;
	wire.peer_event = dup(p->event);
	wire.page = dup(w->page_fd);
	wire.event = dup(w->event);
	return rn_local_up(w->local, &p->ends, &wire);
}

static inline struct peer *lay(struct world *w, unsigned n)
{
	assert_int_equal(try_to_lay(w, n), 0);
	return &w->peer[n];
}

/* ------------------------------------------------------------------------ packets */
/* Up to 15 packets of LEN bytes to a slot, each with its number. */
static inline struct rn_super super_to(struct world *w, unsigned slot, uint32_t count,
				       uint32_t first)
{
	assert_true(count * LEN <= sizeof(w->data));
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *pkt = w->data + (size_t)i * LEN;

		memset(pkt, (int)(first + i), LEN);
		pkt[7] = (uint8_t)slot;
		rn_put_be32(pkt + 8, first + i);
	}
	return (struct rn_super){ .flow = &w->flow,
				  .data = w->data,
				  .len = count * LEN,
				  .seg_len = LEN,
				  .count = count };
}

static inline int send_to(struct world *w, unsigned slot, uint32_t count, uint32_t first)
{
	struct rn_super s = super_to(w, slot, count, first);

	return w->net->ops->transmit(w->net->ctx, &s);
}

/* The packet with this number has come out of the ring. */
static inline void assert_in_ring(struct world *w, struct peer *p, uint32_t number)
{
	struct rn_ring_packet pkt;

	assert_int_equal(rn_ring_receive(&p->recv, &pkt, 1, w->room, sizeof(w->room)), 1);
	assert_int_equal(pkt.len, LEN);
	assert_int_equal(rn_get_be32(pkt.data + 8), number);
	assert_int_equal(pkt.meta.sport, w->flow.sport);
	assert_int_equal(pkt.meta.tclass, w->flow.tclass);
	assert_int_equal(pkt.meta.hop_limit, w->flow.hop_limit);
}

static inline bool ring_is_dry(struct world *w, struct peer *p)
{
	struct rn_ring_packet pkt;

	return rn_ring_receive(&p->recv, &pkt, 1, w->room, sizeof(w->room)) == 0;
}

/* Send until the ring has grown as large as it can be, all of it read. */
static inline uint32_t use_all(struct world *w, struct peer *p)
{
	uint32_t sent = 0, got = 0;

	while (p->recv.size < RN_WIRE_CAPACITY || sent < 600) {
		struct rn_super s = super_to(w, 1, 15, sent);

		while (w->net->ops->transmit(w->net->ctx, &s) == -EAGAIN)
			assert_in_ring(w, p, got++);
		sent += 15;
	}
	while (got < sent)
		assert_in_ring(w, p, got++);
	assert_true(ring_is_dry(w, p));
	return sent;
}

static inline void assert_in_socket(struct world *w, uint32_t number)
{
	struct pollfd pfd = { .fd = w->peer_sock, .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, 300000), 1);
	assert_true(recv(w->peer_sock, w->room, sizeof(w->room), 0) >= LEN);
	assert_int_equal(rn_get_be32(w->room + 8), number);
}

static inline bool socket_is_dry(struct world *w)
{
	struct pollfd pfd = { .fd = w->peer_sock, .events = POLLIN };

	return poll(&pfd, 1, 0) == 0;
}

/* The peer sends by its ring. */
static inline void peer_sends(struct world *w, struct peer *p, uint32_t number)
{
	const struct rn_ring_meta meta = { .sport = 7, .tclass = 1, .gro_idx = 9 };
	struct rn_super s = super_to(w, SLOT, 1, number);

	assert_int_equal(rn_ring_send(&p->send, &meta, s.data, s.len), 0);
	assert_true(rn_ring_publish(&p->send));
	if (rn_doorbell_ring(w->page, p->bit))
		assert_int_equal(eventfd_write(w->event, 1), 0);
}

static inline void peer_sends_by_udp(struct world *w, uint32_t number)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT) };
	struct rn_super s = super_to(w, SLOT, 1, number);

	memcpy(&to.sin_addr, w->gid[0].raw + 12, 4);
	assert_int_equal(sendto(w->peer_sock, s.data, s.len, 0, (void *)&to, sizeof(to)),
			 s.len);
}

/* Receive until something comes; the number of its first packet. */
static inline uint32_t next_number(struct world *w)
{
	for (unsigned i = 0; i < 100000; i++)
		if (w->net->ops->receive(w->net->ctx, w->rx) > 0)
			return rn_get_be32(w->rx[0].data + 8);
	fail_msg("nothing came");
	return 0;
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* LOCAL_KIT_H */
