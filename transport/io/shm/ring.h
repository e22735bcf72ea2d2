/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring.h - passes packets from one process to another in memory that both can write, and
 * wakes the process that they are for.
 *
 * One ring is one direction: a single producer (struct rn_ring_send) and a single
 * consumer (struct rn_ring_recv). Packets, BTH to ICRC, are the same as in a UDP
 * datagram; what a socket would report beside the bytes is in struct rn_ring_meta.
 *
 *   memory   | control page: magic, version, capacity | tail | head | data ...
 *   record   | length, tag | meta | packet ... | up to the next multiple of 64 |
 *
 * Positions count bytes and never wrap; tail is where the producer writes next, head
 * where the consumer reads next. The tag of a record is computed from its position, so a
 * stale or torn record is recognised. A record is contiguous: if it does not fit before
 * the end of the data, a pad record comes first. Only the first bytes of the data are
 * used, as many as the ring's size; the producer changes the size between two records, by
 * a record that says so.
 *
 * Nothing in the shared memory is trusted. Each value is loaded once and checked before
 * it is used; state that decides where and how much to copy is kept in private memory. A
 * value that the protocol excludes disables this end for good (enum rn_ring_fault). No
 * call waits for the other end, whether it is slow, stopped, dead or hostile, and no call
 * accesses memory outside of the range that the caller has passed. A producer that dies
 * in the middle of a record has not moved the tail: the record does not exist.
 *
 * No system call, no allocation. A doorbell, below, wakes a consumer that sleeps.
 *
 * Threads: each end belongs to one thread (or one lock); the two ends share nothing
 * but the memory.
 */
#ifndef RN_RING_H
#define RN_RING_H

#include <stdatomic.h>

#include "rocin/crc32.h"
#include "rocin/types.h"

enum {
	RN_RING_CONTROL = 4096, /* bytes of the control page in front of the data */
	RN_RING_ALIGN = 64,	/* records begin at offsets that are multiples of this */
	RN_RING_HEADER = 16,	/* bytes of the record header in front of the packet */

	RN_RING_SIZE_MIN = 16 << 10, /* initial size; all sizes are powers of two */
	RN_RING_SIZE_MAX = 1 << 20,

	RN_RING_PACKET_MIN = 16, /* length of a BTH and an ICRC */
	/* holds RN_PACKET_MAX and an ICRC, and some bytes more */
	RN_RING_PACKET_MAX = 4224,

	RN_RING_ROOM_MIN = 8192, /* minimum size of @room in rn_ring_receive() */
};

/* The fields of struct rn_flow and of the IP and UDP headers that the two processes have
 * not agreed on before. The ring passes them on without checking them.
 */
struct rn_ring_meta {
	/* Number that stands for a pair of addresses of the two processes. The callers
	 * of both ends define which.
	 */
	uint16_t path;
	uint16_t sport; /* UDP source port */
	uint8_t tclass; /* DSCP and ECN */
	uint8_t hop_limit;
	/* position of the packet in its super-packet; also its IPv4 identification */
	uint8_t gro_idx;
	uint8_t flags; /* bit set of enum rn_ring_flags; unknown bits are ignored */
};

enum rn_ring_flags {
	RN_RING_NO_ICRC = 1 << 0, /* the packet has no ICRC, but zeros in its place */
};

struct rn_ring_packet {
	const uint8_t *data; /* BTH to ICRC, in the buffer given to rn_ring_receive() */
	uint32_t len;	     /* RN_RING_PACKET_MIN .. RN_RING_PACKET_MAX */
	/* CRC of the bytes directly before the ICRC, computed while they were copied.
	 * Empty if it could not be computed, or if the packet has no ICRC.
	 */
	struct rn_crc32_part part;
	struct rn_ring_meta meta;
};

/* Reason why an end of a ring cannot be used any more. */
enum rn_ring_fault {
	RN_RING_OK,
	/* the other end has closed the ring, which is not a violation */
	RN_RING_CLOSED,
	/* the memory does not hold a ring, or holds one of another version or capacity */
	RN_RING_BAD_MAGIC,
	/* Found by the producer: the head went back, is beyond the tail, or is
	 * misaligned.
	 */
	RN_RING_BAD_HEAD,
	/* Found by the consumer: the tail is before the head, is too far ahead for the
	 * capacity, or is misaligned.
	 */
	RN_RING_BAD_TAIL,
	/* The record at the head does not have the tag of its position. */
	RN_RING_BAD_TAG,
	RN_RING_BAD_LENGTH, /* the length is not that of a packet */
	/* The record extends beyond the tail or the end of the data. */
	RN_RING_BAD_EXTENT,
	/* The new size is not a power of two, or exceeds the capacity. */
	RN_RING_BAD_SIZE,
	RN_RING_FAULT_COUNT
};

/* Return: a text for people that describes the fault, without a full stop, such as "the
 * peer's tail ...". Never NULL.
 */
const char *rn_ring_fault_text(enum rn_ring_fault fault);

/* Return: how many bytes of memory a ring needs that can have up to @capacity bytes of
 * data.
 */
static inline size_t rn_ring_bytes(uint32_t capacity)
{
	return RN_RING_CONTROL + (size_t)capacity;
}

/* Initialise a ring, before either end is set up. The caller provides
 * rn_ring_bytes(@capacity) bytes of zeros at @mem, aligned to a page. @capacity is a
 * power of two, RN_RING_SIZE_MIN .. RN_RING_SIZE_MAX. Writes only the control page.
 */
void rn_ring_format(void *mem, uint32_t capacity);

/* ---------------------------------------------------------------- producer */
/* The producer's end. Other files may read the members, but may set only @past_caches. */
struct rn_ring_send {
	struct rn_ring_shared *shared;
	uint8_t *data;
	uint64_t tail;	    /* position of the next record */
	uint64_t published; /* newest tail that the consumer may have loaded */
	uint64_t told;	    /* value of @tail when rn_ring_publish() was last called */
	uint64_t head;	    /* the consumer's position, as it was last loaded */
	uint64_t resized;   /* position behind the last record that changed the size */
	uint32_t off;	    /* offset of the next record in @data */
	uint32_t size;	    /* number of data bytes in use */
	uint32_t capacity;
	enum rn_ring_fault fault;
	/* The next four members are for rn_ring_advice(). */
	uint32_t fulls; /* number of sends that found no space since @fulls_since */
	rn_ns fulls_since, idle_since;
	uint64_t idle_tail; /* value of @tail at the time @idle_since */

	bool past_caches; /* copy long packets by rn_far_copy_past(); set by the caller */

	uint64_t full_count; /* number of sends so far that found no space */
};

/**
 * rn_ring_send_init() - Set up the producer's end
 * @s:		Out: the end; @s->fault as returned
 * @mem:	Formatted memory, which has had no producer before; page aligned, mapped
 *		for reading and writing as long as @s is used
 * @capacity:	Capacity that it was formatted with, from a trusted source
 *
 * Return: RN_RING_OK, or RN_RING_BAD_MAGIC.
 */
enum rn_ring_fault rn_ring_send_init(struct rn_ring_send *s, void *mem,
				     uint32_t capacity);

/**
 * rn_ring_send() - Put one packet into the ring
 * @s:		Producer
 * @meta:	Sent with the packet
 * @pkt:	BTH to ICRC
 * @len:	RN_RING_PACKET_MIN .. RN_RING_PACKET_MAX
 *
 * The consumer sees the packet after rn_ring_publish().
 *
 * Return: 0; -EAGAIN (no space: publish, and try again when the consumer may have read);
 *	   -EPIPE (@s->fault says why: no packet can be sent any more; earlier packets
 *	   may or may not be read).
 */
int rn_ring_send(struct rn_ring_send *s, const struct rn_ring_meta *meta,
		 const uint8_t *pkt, uint32_t len);

/* Return: the address to which rn_ring_send() would copy a packet of RN_RING_PACKET_MAX
 * bytes; NULL if it would fail. The caller must not build packets there: the peer can
 * change this memory at any time, and an ICRC computed over the changed bytes would make
 * them valid.
 */
const uint8_t *rn_ring_next(struct rn_ring_send *s);

/* Returns the number of bytes that rn_ring_publish() would publish. */
static inline uint32_t rn_ring_unpublished(const struct rn_ring_send *s)
{
	return (uint32_t)(s->tail - s->published);
}

/* Make the packets sent so far visible to a consumer that polls the ring, in the middle
 * of a burst. Unlike rn_ring_publish(), which must be called at the end of the burst, it
 * does not wait until earlier stores have left the processor.
 */
void rn_ring_show(struct rn_ring_send *s);

/* Make the packets sent so far visible to the consumer. Called at the end of each burst,
 * and before the thread gives up the lock of the engine. The store is sequentially
 * consistent, so rn_doorbell_ring() may follow. Return: true if packets were sent since
 * the last call, so that the caller has to ring the doorbell.
 */
bool rn_ring_publish(struct rn_ring_send *s);

/* Returns true if the consumer has read all records, according to the head that it
 * has stored.
 */
bool rn_ring_is_read(struct rn_ring_send *s);

/* Returns true if the consumer has not closed its end but has not read all that was
 * published either. @taken: out: number of bytes that the consumer has read since the
 * ring was made.
 */
bool rn_ring_is_held(struct rn_ring_send *s, uint64_t *taken);

/**
 * rn_ring_resize() - Change the size of the ring from the next record on
 * @s:		Producer
 * @size:	A power of two, RN_RING_SIZE_MIN .. capacity
 *
 * The caller has allocated the pages for a larger size, so that accessing them cannot
 * fail. Memory that a smaller size does not use may be given back only after
 * rn_ring_is_read(), because the record with the new size may lie in it.
 *
 * Return: 0 (also if the ring has this size already); -EAGAIN: not possible now, continue
 *	   and try again (a ring cannot grow while its unread part wraps, cannot shrink
 *	   while it has an unread part, and cannot do either while the last change is
 *	   unread); -EPIPE.
 */
int rn_ring_resize(struct rn_ring_send *s, uint32_t size);

enum {
	RN_RING_FULLS = 16
};

/* Return: the size in bytes that the ring should get: twice the present size if
 * RN_RING_FULLS sends within a millisecond have found no space; the minimum if the ring
 * was empty for a second; otherwise the present size. Called after each -EAGAIN, and
 * from time to time.
 */
uint32_t rn_ring_advice(struct rn_ring_send *s, rn_ns now);

/* Tell the consumer that no more packets will come; it can still read what was published.
 * Further sends fail with -EPIPE.
 */
void rn_ring_send_close(struct rn_ring_send *s);

/* ---------------------------------------------------------------- consumer */
/* The consumer's end. Other files only read the members. */
struct rn_ring_recv {
	struct rn_ring_shared *shared;
	const uint8_t *data;
	uint64_t head;	    /* position of the next record */
	uint64_t published; /* newest head that the producer may have loaded */
	/* the producer's position, as it was last loaded and checked */
	uint64_t tail;
	uint32_t off;  /* offset of the next record in @data */
	uint32_t size; /* number of data bytes in use */
	uint32_t capacity;
	enum rn_ring_fault fault;
};

/* Set up the consumer's end. The arguments and the result are those of
 * rn_ring_send_init().
 */
enum rn_ring_fault rn_ring_recv_init(struct rn_ring_recv *r, void *mem,
				     uint32_t capacity);

/**
 * rn_ring_receive() - Take packets out of the ring
 * @r:		Consumer
 * @pkts:	Out: the packets, in the order in which they were sent
 * @max:	Entries of @pkts
 * @room:	Out: private memory that the bytes are copied to; @pkts points into it
 * @room_len:	At least RN_RING_ROOM_MIN, so that a call returns at least one packet if
 *		there is any
 *
 * The bytes are copied once, so it does not matter what the producer does to the ring
 * later. They are to be trusted no more than packets from a network. The producer gets
 * its space back after every quarter of the ring, and when the ring is empty.
 *
 * One call looks at 3 * @max records at most, which is all that an honest producer writes
 * for @max packets; after more, rn_ring_has_more() is true.
 *
 * Return: number of entries filled in; 0 if the ring is empty, and always after a fault
 *	   (@r->fault). Packets before a bad record are still returned; @r->fault is set
 *	   by then.
 */
unsigned rn_ring_receive(struct rn_ring_recv *r, struct rn_ring_packet *pkts,
			 unsigned max, uint8_t *room, size_t room_len);

/* Return: true if the last rn_ring_receive() has left records unread that it had seen. */
bool rn_ring_has_more(const struct rn_ring_recv *r);

/* Return: true if there are records for rn_ring_receive(); false after a fault. Makes
 * one sequentially consistent load. A consumer calls this between rn_doorbell_announce()
 * and its sleep.
 */
bool rn_ring_waits(const struct rn_ring_recv *r);

enum {
	RN_RING_WATCH_MAX = 8
};

/* The tails of some rings as they were last seen. A short poll compares only these to
 * notice whether a producer has published anything since.
 */
struct rn_ring_watch {
	/* points behind the last entry of @ring that is in use */
	struct rn_ring_watched *end;
	struct rn_ring_watched {
		/* address of the tail, in the ring's memory */
		const _Atomic uint64_t *tail;
		uint64_t head;
	} ring[RN_RING_WATCH_MAX];
};

/* Adds a ring to @w, which must have fewer than RN_RING_WATCH_MAX. Return: true; false,
 * with the ring not added, if it cannot be used, or has records that were not read yet.
 */
bool rn_ring_watch(const struct rn_ring_recv *r, struct rn_ring_watch *w);

/* Return: true if no producer of the watched rings, of which there is at least one, has
 * published anything since they were added. The rings must still be mapped.
 */
static inline bool rn_ring_is_still(const struct rn_ring_watch *w)
{
	const struct rn_ring_watched *r = w->ring;

	do {
		if (atomic_load_explicit(r->tail, memory_order_relaxed) != r->head)
			return false;
	} while (++r != w->end);
	return true;
}

/* Tell the producer that this end reads nothing any more. A later send of the producer
 * that finds no space returns -EPIPE. From now on rn_ring_receive() returns 0.
 */
void rn_ring_recv_close(struct rn_ring_recv *r);

/* Layout of the memory of a local wire between two processes, which have the roles 0 and
 * 1: first the ring by which the process of role 0 sends, then that of role 1.
 */
enum {
	/* Half of the size of a usual L2 cache. In a larger ring, what the producer
	 * writes would leave the cache before the consumer reads it.
	 */
	RN_WIRE_CAPACITY = 256 << 10,
	RN_WIRE_RING_BYTES = RN_RING_CONTROL + RN_WIRE_CAPACITY,
	RN_WIRE_BYTES = 2 * RN_WIRE_RING_BYTES,
};

/* ------------------------------------------------------------------------ doorbells */

/* A doorbell wakes a sleeping process when one of its rings is no longer empty.
 *
 * There is one page of shared memory per process, the doorbell, which all its peers map.
 * It holds a flag that the process sleeps, and a bit for each of its rings, set if the
 * ring may have packets. Beside the page, the peers have a descriptor that wakes the
 * process (a pipe or an eventfd in its epoll set).
 *
 *   producer                             consumer
 *   rn_ring_publish()                    rn_doorbell_announce()
 *   rn_doorbell_ring()                   rn_doorbell_take(), rn_ring_waits() of each ring
 *   true: write to the descriptor        something: rn_doorbell_awake(), receive
 *                                        nothing: sleep on the descriptor
 *
 * Each side stores first and loads afterwards, all sequentially consistent, so at least
 * one of the two sees the other's store (shape: store buffering).
 * tests/transport/io/shm/model/test_doorbell_model.c checks all orders of these accesses
 * on a machine with store buffers.
 *
 * Every peer can write to the page. A hostile peer may at most cause work, by a bit that
 * is set without reason or a useless wake-up, or delay packets until the lease or a timer
 * ends, by clearing bits. Nobody waits for the descriptor, which a peer can fill: each
 * peer has an open file of its own with O_NONBLOCK (tools/rocind/server/wires.c).
 *
 * Threads: any number of producers, in any processes; the consumer's calls by one thread
 * (or under one lock).
 */

enum {
	/* bytes of the page; all zeros: the process is awake, and no bit is set */
	RN_DOORBELL_BYTES = 4096,
	RN_DOORBELL_RINGS = 1024, /* number of bits, one for each ring */
	RN_DOORBELL_WORDS = RN_DOORBELL_RINGS / 64,
};

struct rn_doorbell; /* a page in shared memory */

/* ---------------------------------------------------------------- producer */
/* Called by a producer: tell the process that has the doorbell @peer that packets were
 * published to its ring @idx (the consumer numbers its rings; < RN_DOORBELL_RINGS).
 * Return: true if that process sleeps, so that the caller has to write to the descriptor
 * that wakes it.
 */
bool rn_doorbell_ring(struct rn_doorbell *peer, unsigned idx);

/* ---------------------------------------------------------------- consumer */
/* Announce that this process will sleep: from now on producers wake it, until one has
 * done so or rn_doorbell_awake() is called. Afterwards the caller must look once more for
 * packets that were published before.
 */
void rn_doorbell_announce(struct rn_doorbell *own);

/* Announce that this process is awake, so that producers do not wake it. */
void rn_doorbell_awake(struct rn_doorbell *own);

/* Read and clear the bits of the rings 64 * @word .. 64 * @word + 63; fast if none is
 * set. The bit of a ring says that packets may have been published to it. The caller
 * reads each of these rings until it is empty, or sets its bit again by
 * rn_doorbell_remember().
 */
uint64_t rn_doorbell_take(struct rn_doorbell *own, unsigned word);

/* Set the bit of ring @idx again, because the ring is not empty yet. */
void rn_doorbell_remember(struct rn_doorbell *own, unsigned idx);

#endif /* RN_RING_H */
