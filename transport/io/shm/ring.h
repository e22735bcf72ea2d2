/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring.h - packets from one process to another through memory that both can write.
 *
 * One ring is one direction: a single producer (struct rn_ring_send) and a single
 * consumer (struct rn_ring_recv). Packets, BTH to ICRC, are the same as in a UDP
 * datagram; what a socket would tell beside the bytes goes along in struct rn_ring_meta.
 *
 *   memory   | control page: magic, version, capacity | tail | head | data ...
 *   record   | length, tag | meta | packet ... | up to the next multiple of 64 |
 *
 * Positions count bytes and never wrap; tail is where the producer writes next, head
 * where the consumer reads next. The tag of a record follows from its position, so one
 * that is stale or torn shows. A record is in one piece: where it does not fit before the
 * end of the data, a pad goes first. Only the first bytes of the data are in use, the
 * ring's size; the producer changes it between two records, and says so in a record.
 *
 * Nothing that stands in the shared memory is believed. Each value is loaded once and
 * judged before it is used; what decides where and how much is kept in private memory. A
 * value that the protocol rules out poisons this end for good (enum rn_ring_fault). No
 * call waits for the other end, whether it is slow, stopped, dead or hostile, and none
 * touches memory outside of what the caller gave. A producer that dies in the middle of a
 * record has not moved the tail: the record does not exist.
 *
 * No system call, no allocation. Waking a consumer that sleeps is doorbell.h's.
 *
 * Threads: each end belongs to one thread (or one lock); the two ends need nothing in
 * common but the memory.
 */
#ifndef RN_RING_H
#define RN_RING_H

#include "rocin/crc32.h"

enum {
	RN_RING_CONTROL = 4096, /* bytes before the data: one page */
	RN_RING_ALIGN = 64,	/* records begin at multiples of it */
	RN_RING_HEADER = 16,	/* bytes of a record before the packet */

	RN_RING_SIZE_MIN = 16 << 10, /* at the start; a power of two, as all sizes */
	RN_RING_SIZE_MAX = 1 << 20,

	RN_RING_PACKET_MIN = 16,   /* a BTH and an ICRC */
	RN_RING_PACKET_MAX = 4224, /* RN_PACKET_MAX and an ICRC, and a little */

	RN_RING_ROOM_MIN = 8192, /* of rn_ring_receive() */
};

/* What UDP and IP headers would say: struct rn_flow without what a pair of processes has
 * agreed on before. The ring passes it on and judges nothing in it.
 */
struct rn_ring_meta {
	uint16_t path;	/* which of the addresses of the two; meaning is the caller's */
	uint16_t sport; /* UDP source port */
	uint8_t tclass; /* DSCP and ECN */
	uint8_t hop_limit;
	uint8_t gro_idx; /* position in the super-packet: the identification */
	uint8_t flags;	 /* enum rn_ring_flags; others mean nothing */
};

enum rn_ring_flags {
	RN_RING_BARE = 1 << 0, /* no ICRC: zeros are where it would be */
};

struct rn_ring_packet {
	const uint8_t *data; /* BTH to ICRC, in the room of rn_ring_receive() */
	uint32_t len;	     /* RN_RING_PACKET_MIN .. RN_RING_PACKET_MAX */
	/* Of the bytes before the ICRC, found out while they were copied; or none, also
	 * of a packet that is bare.
	 */
	struct rn_crc32_part part;
	struct rn_ring_meta meta;
};

/* Why an end of a ring does no more. */
enum rn_ring_fault {
	RN_RING_OK,
	RN_RING_CLOSED,	    /* the other end said that it stops: not an offence */
	RN_RING_BAD_MAGIC,  /* no ring, or of another version or capacity */
	RN_RING_BAD_HEAD,   /* consumer: before where it was, behind the tail, odd */
	RN_RING_BAD_TAIL,   /* producer: before the head, more than the ring holds, odd */
	RN_RING_BAD_TAG,    /* the record at the head is not the one of this position */
	RN_RING_BAD_LENGTH, /* no packet is so short, or so long */
	RN_RING_BAD_EXTENT, /* the record goes past the tail or the end of the data */
	RN_RING_BAD_SIZE, /* a new size that is no power of two or not within capacity */
	RN_RING_FAULT_COUNT
};

/* A sentence for people, without full stop: "the peer's tail ...". Never NULL. */
const char *rn_ring_fault_text(enum rn_ring_fault fault);

/* Bytes of memory for a ring that may grow up to @capacity bytes of data. */
static inline size_t rn_ring_bytes(uint32_t capacity)
{
	return RN_RING_CONTROL + (size_t)capacity;
}

/* Make a ring of rn_ring_bytes(@capacity) bytes of zeros. By whoever makes the memory,
 * before either end has it. @mem is aligned to a page, @capacity a power of two,
 * RN_RING_SIZE_MIN .. RN_RING_SIZE_MAX. Touches the control page alone.
 */
void rn_ring_format(void *mem, uint32_t capacity);

/* ---------------------------------------------------------------- producer */
/* Private to ring.c but for @fault, @size, @past_caches and the counters. */
struct rn_ring_send {
	struct rn_ring_shared *shared;
	uint8_t *data;
	uint64_t tail;	    /* of the next record */
	uint64_t published; /* the tail that the consumer may know */
	uint64_t told;	    /* that of the last rn_ring_publish() */
	uint64_t head;	    /* as last seen */
	uint64_t resized;   /* behind the last record that changed the size */
	uint32_t off;	    /* of tail in data */
	uint32_t size;	    /* bytes of data in use */
	uint32_t capacity;
	enum rn_ring_fault fault;
	/* For rn_ring_advice(). */
	uint32_t fulls; /* since fulls_since */
	rn_ns fulls_since, idle_since;
	uint64_t idle_tail; /* at idle_since */

	bool past_caches; /* long packets go by rn_far_copy_past(); the caller's to set */

	uint64_t full_count; /* sends that found no space, ever */
};

/**
 * rn_ring_send_init() - Begin to produce
 * @s:		Out: the end; @s->fault as returned
 * @mem:	Formatted memory, of which nobody has been the producer before; page
 *		aligned, mapped for reading and writing as long as @s is used
 * @capacity:	As it was formatted, by the word of whom one trusts
 *
 * Return: RN_RING_OK, or RN_RING_BAD_MAGIC.
 */
enum rn_ring_fault rn_ring_send_init(struct rn_ring_send *s, void *mem,
				     uint32_t capacity);

/**
 * rn_ring_send() - Put one packet into the ring
 * @s:		Producer
 * @meta:	What goes along
 * @pkt:	BTH to ICRC
 * @len:	RN_RING_PACKET_MIN .. RN_RING_PACKET_MAX
 *
 * The consumer sees it after rn_ring_publish().
 *
 * Return: 0; -EAGAIN (no space: publish, and try again when the consumer may have read);
 *	   -EPIPE (@s->fault says why: nothing will ever go again; what was sent before
 *	   may or may not be read).
 */
int rn_ring_send(struct rn_ring_send *s, const struct rn_ring_meta *meta,
		 const uint8_t *pkt, uint32_t len);

/* As rn_ring_send() of a packet that is built where it lies: room for RN_RING_PACKET_MAX
 * bytes, or NULL, when rn_ring_send() of such a packet would fail. The consumer may write
 * there as well, at any time: what is read back is not to be believed.
 */
uint8_t *rn_ring_reserve(struct rn_ring_send *s);

/* The packet is there. Right after the rn_ring_reserve() that gave room for it. */
void rn_ring_commit(struct rn_ring_send *s, const struct rn_ring_meta *meta,
		    uint32_t len);

/* Bytes that wait for rn_ring_publish(). */
static inline uint32_t rn_ring_unpublished(const struct rn_ring_send *s)
{
	return (uint32_t)(s->tail - s->published);
}

/* Let a consumer that is awake see what was sent, in the middle of a burst: does not wait
 * for what was stored before to leave the processor, as rn_ring_publish() does, which
 * must follow at the end.
 */
void rn_ring_show(struct rn_ring_send *s);

/* Let the consumer see what was sent since the last call: once per burst, and before the
 * thread leaves the engine. Sequentially consistent, so rn_doorbell_ring() may follow.
 * Return: there was something, so the doorbell is to be rung.
 */
bool rn_ring_publish(struct rn_ring_send *s);

/* Everything published has been read, as far as the consumer says. */
bool rn_ring_is_read(struct rn_ring_send *s);

/* True if the consumer has not closed its end, nor taken all that it may know of. @taken:
 * bytes that it has taken, ever.
 */
bool rn_ring_is_held(struct rn_ring_send *s, uint64_t *taken);

/**
 * rn_ring_resize() - Use more or less of the memory from the next record on
 * @s:		Producer
 * @size:	A power of two, RN_RING_SIZE_MIN .. capacity
 *
 * The caller has made sure that memory for the larger size is there (budget; pages
 * allocated, so that touching them cannot fail). What a smaller size leaves behind may be
 * given back only after rn_ring_is_read(): the record that says so may lie in it.
 *
 * Return: 0 (also if that is the size already); -EAGAIN (not at this moment: larger while
 *	   what is unread wraps, smaller while anything is unread, either while the last
 *	   change is; go on and try again);
 *	   -EPIPE.
 */
int rn_ring_resize(struct rn_ring_send *s, uint32_t size);

enum {
	RN_RING_FULLS = 16
};

/* The size that the ring ought to have: twice as much after RN_RING_FULLS sends within a
 * millisecond that found no space, the least when it was empty for a second, else what
 * it has. To be asked after each -EAGAIN, and now and then.
 */
uint32_t rn_ring_advice(struct rn_ring_send *s, rn_ns now);

/* Tell the consumer that no more will come; what was published stays. Then -EPIPE. */
void rn_ring_send_close(struct rn_ring_send *s);

/* ---------------------------------------------------------------- consumer */
/* Private to ring.c but for @fault and @size. */
struct rn_ring_recv {
	struct rn_ring_shared *shared;
	const uint8_t *data;
	uint64_t head;	    /* of the next record */
	uint64_t published; /* the head that the producer may know */
	uint64_t tail;	    /* as last seen and judged */
	uint32_t off;	    /* of head in data */
	uint32_t size;	    /* bytes of data in use */
	uint32_t capacity;
	enum rn_ring_fault fault;
};

/* As rn_ring_send_init(), for the other end. */
enum rn_ring_fault rn_ring_recv_init(struct rn_ring_recv *r, void *mem,
				     uint32_t capacity);

/**
 * rn_ring_receive() - Take packets out of the ring
 * @r:		Consumer
 * @pkts:	Out: the packets, in the order in which they were sent
 * @max:	Entries of @pkts
 * @room:	Out: private memory that the bytes are copied to; @pkts points into it
 * @room_len:	At least RN_RING_ROOM_MIN: then a call that finds packets gives one or
 *more
 *
 * The bytes are read once, and are the caller's from then on: whatever the producer does
 * to the ring later does not matter. What they say is as trustworthy as what comes off a
 * network. The producer gets its space back every quarter of the ring, and when it runs
 * dry.
 *
 * Bound: looks at 3 * @max records, as a producer that means well has no more for @max
 * packets; rn_ring_has_more() then.
 *
 * Return: entries filled; 0 when there is nothing, and ever after a fault (@r->fault).
 *	   Packets before a bad record are still given; the fault shows by then.
 */
unsigned rn_ring_receive(struct rn_ring_recv *r, struct rn_ring_packet *pkts,
			 unsigned max, uint8_t *room, size_t room_len);

/* The last rn_ring_receive() has left something that it knew of. */
bool rn_ring_has_more(const struct rn_ring_recv *r);

/* Is there something that rn_ring_receive() would look at? One sequentially consistent
 * load: to be asked after rn_doorbell_announce() and before sleeping. False after a
 * fault.
 */
bool rn_ring_waits(const struct rn_ring_recv *r);

/* Tell the producer that nothing will be read any more: its next call that finds no space
 * says -EPIPE. Then rn_ring_receive() gives nothing.
 */
void rn_ring_recv_close(struct rn_ring_recv *r);

/* How the memory of a local wire is laid out: the ring of role 0, which process 0 sends
 * by, then that of role 1.
 */
enum {
	/* Half of a usual L2 cache: with more, what the producer writes has left it
	 * before the consumer reads it.
	 */
	RN_WIRE_CAPACITY = 256 << 10,
	RN_WIRE_RING_BYTES = RN_RING_CONTROL + RN_WIRE_CAPACITY,
	RN_WIRE_BYTES = 2 * RN_WIRE_RING_BYTES,
};

#endif /* RN_RING_H */
