/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_ring.c - both ends of a ring, in memory that a peer changes whenever they have
 * looked at it: no end touches anything outside, gives a packet that is none, or goes on
 * after it has said that it does not.
 *
 * Ring and room lie against pages that cannot be touched, since copies by vectors are not
 * under ASan's eyes.
 */
#include <errno.h>
#include <sys/mman.h>

#include "ring_views.h"
#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "tests/fuzz/script.h"
#include "transport/io/shm/ring_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CAPACITY = 64 << 10,
	PAGE = 65536, /* a multiple of every page size */
	ROOM = 32 << 10,
	MANY = 64,
};

static struct script script;
static uint8_t *ring; /* rn_ring_bytes(CAPACITY) */
static struct rn_ring_shared *shared;
static uint8_t *room; /* ROOM bytes */
static struct rn_ring_send send_end;
static struct rn_ring_recv recv_end;
static const struct rn_flow flow = { .sport = 0xc000 };

/* @bytes, a page's multiple less what is to be cut off at the start. */
static uint8_t *guarded(size_t bytes)
{
	size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
	uint8_t *base = mmap(NULL, whole + (size_t)2 * PAGE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(base != MAP_FAILED);
	require(mprotect(base + PAGE, whole, PROT_READ | PROT_WRITE) == 0);
	return base + PAGE + whole - bytes;
}

/* ------------------------------------------------------------------------ the peer */
static uint64_t position_near(uint64_t position)
{
	return position + (uint64_t)take8(&script) * RN_RING_ALIGN;
}

static uint64_t header_near(uint64_t position, uint32_t length)
{
	return (uint64_t)rn_ring_tag(position_near(position)) << 32 | length;
}

/* What could be right, nearly right, or anything. */
static uint64_t some_word(void)
{
	uint64_t word;

	switch (take8(&script) % 8) {
	case 0:
		return position_near(recv_end.head);
	case 1:
		return position_near(send_end.head);
	case 2:
		return send_end.published;
	case 3:
		return header_near(recv_end.head, RN_RING_PAD);
	case 4:
		return header_near(recv_end.head, RN_RING_RESIZE);
	case 5:
		return header_near(recv_end.head, take16(&script));
	case 6:
		return (uint64_t)RN_RING_SIZE_MIN << take8(&script) % 4;
	default:
		take_bytes(&script, &word, sizeof(word));
		return word;
	}
}

static void put_word(uint8_t *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
}

/* @at: what was just looked at, or NULL. */
static void scribble(const volatile void *at)
{
	uint64_t word = some_word();
	uint8_t *data = ring + RN_RING_CONTROL;

	switch (take8(&script) % 6) {
	case 0:
		put_word((uint8_t *)&shared->tail, word);
		break;
	case 1:
		put_word((uint8_t *)&shared->head, word);
		break;
	case 2: /* the header at the head */
		put_word(data + recv_end.off, word);
		break;
	case 3:
		put_word(data + recv_end.off + 8, word);
		break;
	case 4:
		put_word(data + take16(&script) % (CAPACITY / 8) * 8, word);
		break;
	default:
		if (at)
			put_word(ring + (((const volatile uint8_t *)at - ring) & ~7),
				 word);
	}
}

uint64_t view_load(const volatile void *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)at, size);
	if (take8(&script) % 4 == 3)
		scribble(at);
	return value;
}

/* ------------------------------------------------------------------------ the ends */
static void check_packet(const struct rn_ring_packet *p)
{
	require(p->len >= RN_RING_PACKET_MIN && p->len <= RN_RING_PACKET_MAX);
	require(p->data >= room && p->data + p->len <= room + ROOM);
	require(p->part.len + RN_RING_PACKET_MIN <= p->len);
	require(rn_icrc_check_with(NULL, &flow, p->data, p->len, 0, true, &p->part) ==
		rn_icrc_check(NULL, &flow, p->data, p->len, 0, true));
}

static void receive(void)
{
	struct rn_ring_packet pkts[MANY];
	enum rn_ring_fault before = recv_end.fault;
	unsigned max = 1 + take8(&script) % MANY;
	size_t less = take16(&script) % (ROOM - RN_RING_ROOM_MIN + 1);
	unsigned n =
		rn_ring_receive(&recv_end, pkts, max, room + less, (size_t)ROOM - less);

	require(n <= max);
	require(!before || (n == 0 && recv_end.fault == before));
	for (unsigned i = 0; i < n; i++)
		check_packet(&pkts[i]);
	require(rn_ring_is_size(recv_end.size, CAPACITY));
	require(recv_end.off % RN_RING_ALIGN == 0 && recv_end.off < recv_end.size);
	require(!recv_end.fault || !rn_ring_waits(&recv_end));
}

static void send_packet(void)
{
	static uint8_t packet[RN_RING_PACKET_MAX];
	struct rn_ring_meta meta = { .sport = 1 };
	uint32_t most = RN_RING_PACKET_MAX - RN_RING_PACKET_MIN;
	uint32_t len = RN_RING_PACKET_MIN + take16(&script) % (most + 1);
	int err;

	rn_icrc_seal(&flow, 0, packet, len - RN_ICRC_LEN);
	err = rn_ring_send(&send_end, &meta, packet, len);
	require((err == -EPIPE) == (send_end.fault != RN_RING_OK));
	require(send_end.off % RN_RING_ALIGN == 0 && send_end.off < send_end.size);
	require(send_end.fault || send_end.tail - send_end.head <= send_end.size);
}

static void begin(void)
{
	rn_ring_send_init(&send_end, ring, CAPACITY);
	rn_ring_recv_init(&recv_end, ring, CAPACITY);
}

static void act(void)
{
	switch (take8(&script) % 10) {
	case 0:
	case 1:
		send_packet();
		break;
	case 2:
		rn_ring_publish(&send_end);
		break;
	case 3:
	case 4:
		receive();
		break;
	case 5:
		rn_ring_resize(&send_end,
			       (uint32_t)RN_RING_SIZE_MIN << take8(&script) % 3);
		break;
	case 6:
		scribble(NULL);
		break;
	case 7:
		rn_ring_is_read(&send_end);
		rn_ring_waits(&recv_end);
		break;
	case 8:
		if (take8(&script) & 1)
			rn_ring_send_close(&send_end);
		else
			rn_ring_recv_close(&recv_end);
		break;
	default: /* the peer has a new pair of ends, the memory is the old one */
		begin();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!ring) {
		ring = guarded(rn_ring_bytes(CAPACITY));
		room = guarded(ROOM);
		shared = (void *)ring;
	}
	memset(ring, 0, rn_ring_bytes(CAPACITY));
	rn_ring_format(ring, CAPACITY);
	script = (struct script){ data, data }; /* nobody interferes at first */
	begin();
	script.end = data + size;
	while (!script_is_over(&script))
		act();
	return 0;
}
