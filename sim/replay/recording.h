/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recording.h - the format of a recorded run: what went in and out of the core.
 *
 * A file is a header (struct rn_rec_header) and records. A call into the core
 * (transport.h) is a record of what went in, then one for every access of the core to
 * memory during the call, with its answer, then one of what came out. The calls of one
 * device do not overlap. Those of several may, and every record says whose it is.
 * Objects are named by the numbers that the program's pointers had.
 *
 * The record of a call is written before the call is made: when the core ends the
 * program, the last call of the file is the one that did it. Calls of which the core can
 * say no device (RN_REC_LONE) reach no memory; each is one record, written after it.
 *
 * What is smallest and still exact:
 * - bytes that the core reads straight into a packet that it builds are not repeated:
 *   they are in the packet (struct rn_rec_read.at);
 * - bytes that it writes straight out of a packet that came, likewise
 *   (struct rn_rec_write.packet);
 * - calls that find nothing to transmit are left out if there was nothing the last time,
 *   either, and no other call in between: they change nothing;
 * - calls that only look at the device are left out.
 *
 * Each record: length of what follows (4 bytes, little-endian), kind (1 byte), fields:
 * numbers in groups of seven bits, the lowest first; bytes after their number. So a file
 * does not depend on sizes, padding and byte order. A length of 0 ends the file: the room
 * behind it was reserved by a program that was killed.
 */
#ifndef RN_RECORDING_H
#define RN_RECORDING_H

#include <sys/types.h>

#include "rocin/call.h"
#include "rocin/dev_cfg.h"
#include "rocin/event.h"
#include "rocin/flow.h"
#include "rocin/mem.h"
#include "rocin/qp_attr.h"
#include "rocin/queue_pair.h"
#include "rocin/srq.h"

enum {
	RN_REC_VERSION = 4, /* of the format: other versions cannot be read */
	RN_REC_NO_DEV = 255,
	RN_REC_DEVS = 64,    /* devices in one file; numbers are 0 .. 63 */
	RN_REC_RX_MAX = 64,  /* packets in one RECEIVE */
	RN_REC_HEAD = 5,     /* bytes before the fields of a record */
	RN_REC_MAX = 1 << 20 /* bytes of a record */
};

extern const uint8_t rn_rec_magic[8];

enum rn_rec_kind {
	RN_REC_END_OF_FILE, /* never in a file */

	/* Calls: enum rn_call_kind. */

	/* What the core does during a call. */
	RN_REC_READ = RN_CALL_KINDS,
	RN_REC_WRITE,
	RN_REC_ATOMIC,
	RN_REC_BEFORE_ACK,
	RN_REC_OVERRUN, /* a CQ was full */

	/* How a call ends. */
	RN_REC_DONE,
	RN_REC_RESULT,
	RN_REC_PACKET,
	RN_REC_FRAME,
	RN_REC_EVENT,

	RN_REC_LIMIT, /* the file has reached its limit; the run went on */
	RN_REC_KINDS
};

enum rn_rec_class {
	RN_REC_CALL,
	RN_REC_LONE,
	RN_REC_ACCESS,
	RN_REC_OUTCOME,
	RN_REC_NOTE,
};

struct rn_rec_dev_init {
	struct rn_dev_cfg cfg; /* pointers: NULL */
	bool always_done, has_read_part, has_before_ack;
};

struct rn_rec_rx {
	struct rn_flow flow;
	const uint8_t *data;
	uint32_t len;
	uint16_t gro_idx;
	uint8_t icrc; /* enum rn_rx_icrc */
};

struct rn_rec_receive {
	uint32_t count;
	struct rn_rec_rx rx[RN_REC_RX_MAX];
};

struct rn_rec_mem_done {
	uint64_t tag;
	uint32_t number; /* of the access that ended; 0: of none that is known */
	enum rn_mem_result result;
	const uint8_t *data; /* DONE: what was read, or found by an atomic */
	uint32_t len;
};

struct rn_rec_qp_init {
	struct rn_qp_init init;		/* pointers: NULL */
	uint64_t send_cq, recv_cq, srq; /* 0: none */
};

struct rn_rec_modify {
	uint32_t mask;
	struct rn_qp_attr attr;
};

struct rn_rec_sge {
	struct rn_sge sge;
	const uint8_t *data; /* inline data, or NULL */
	uint32_t len;
};

struct rn_rec_post {
	struct rn_send_wr wr; /* pointers: NULL; of a receive, wr_id and num_sge */
	bool has_av;
	struct rn_av av;
	uint32_t count; /* of sg; num_sge may be more, which the core refuses */
	struct rn_rec_sge sg[RN_SGE_MAX];
};

struct rn_rec_srq {
	struct rn_srq_init init; /* CREATE; pointers: NULL */
	uint64_t cq;		 /* CREATE; 0: none */
	uint32_t number;	 /* SET_LIMIT, RESIZE */
};

struct rn_rec_mcast {
	uint64_t qp;
	struct rn_gid mgid;
};

struct rn_rec_read {
	rn_iova src;
	uint32_t len;
	struct rn_mem_attr attr;
	uint64_t tag;
	/* 1 + offset in the packet that is being built, which then holds the bytes; 0:
	 * elsewhere, and they follow.
	 */
	uint32_t at;
	enum rn_mem_result result;
	uint32_t number;     /* PENDING: names it in MEM_DONE */
	const uint8_t *data; /* DONE, and @at is 0 */
	uint32_t data_len;
};

struct rn_rec_write {
	rn_iova dst;
	uint32_t len;
	struct rn_mem_attr attr;
	/* 1 + index of the packet of the RECEIVE that the bytes are in, from @offset on;
	 * 0: they follow.
	 */
	uint32_t packet, offset;
	const uint8_t *data;
	uint32_t data_len;
	enum rn_mem_result result;
};

struct rn_rec_atomic {
	struct rn_mem_atomic_req req;
	struct rn_mem_attr attr;
	uint64_t tag;
	enum rn_mem_result result;
	uint64_t orig;	 /* DONE */
	uint32_t number; /* PENDING */
};

struct rn_rec_packet {
	uint32_t len; /* 0: nothing may leave */
	struct rn_flow flow;
	uint32_t dest_qpn, src_qpn;
	bool response;
	const uint8_t *data; /* BTH to pad; of a frame, all of it */
	uint32_t flags;	     /* frame */
};

struct rn_rec_event {
	bool some; /* false: there was none */
	bool completion;
	enum rn_async_event async;
	uint64_t object; /* CQ, SRQ or QP */
};

struct rn_rec {
	unsigned kind;	/* enum rn_call_kind, enum rn_rec_kind */
	uint8_t dev;	/* RN_REC_NO_DEV: of a lone call */
	rn_ns now;	/* of calls that are given a time */
	uint64_t id;	/* of the object that the call is about */
	int32_t result; /* RESULT, and what a lone call returned */
	union {
		struct rn_rec_dev_init dev_init;
		struct rn_call_gid gid;
		struct rn_call_peer_holds peer_holds;
		struct rn_rec_receive receive;
		uint32_t what; /* TRANSMIT; QP_OVERRUN: 1 for the CQ of the send queue */
		struct rn_rec_mem_done mem_done;
		struct rn_call_grow grow;
		struct rn_call_cq cq;
		struct rn_rec_qp_init qp_init;
		struct rn_rec_modify modify;
		struct rn_call_pace pace;
		struct rn_rec_post post; /* POST_SEND, POST_RECV, SRQ_POST_RECV */
		struct rn_mr mr;	 /* what rn_mr_init() and rn_mw_init() set */
		struct rn_rec_srq srq;
		struct rn_rec_mcast mcast;
		struct rn_rx_frame rx_frame;
		struct rn_rec_read read;
		struct rn_rec_write write;
		struct rn_rec_atomic atomic;
		uint32_t qpn;		     /* BEFORE_ACK */
		struct rn_rec_packet packet; /* PACKET, FRAME */
		struct rn_rec_event event;
	} u;
};

/* What a file begins with. */
struct rn_rec_header {
	uint32_t version;
	uint32_t pid;
	uint64_t date;		/* seconds since 1970 */
	const uint8_t *rocin;	/* version of the program that wrote it */
	const uint8_t *command; /* the program's arguments, each with a 0 behind it */
	const uint8_t *fault;	/* ROCIN_FAULT, with its seed; may be empty */
	uint32_t rocin_len, command_len, fault_len;
};

/* For people: "post_send". */
const char *rn_rec_name(unsigned kind);
enum rn_rec_class rn_rec_class(unsigned kind);

/* Write @rec at @out. Return: bytes, head included; 0: more than @room. */
size_t rn_rec_put(const struct rn_rec *rec, uint8_t *out, size_t room);

/**
 * rn_rec_get() - Read one record
 * @in:		First byte of its head
 * @left:	Bytes from there to the end of the file
 * @rec:	Out: pointers lead into @in. kind RN_REC_END_OF_FILE: no more records
 *
 * Return: bytes to the next record, 0 at the end of the file; -EPROTO: not a record.
 */
ssize_t rn_rec_get(const uint8_t *in, size_t left, struct rn_rec *rec);

/* Kind and device of the record at @in alone. As rn_rec_get(). */
ssize_t rn_rec_peek(const uint8_t *in, size_t left, unsigned *kind, uint8_t *dev);

/* @data: NULL for a number, else @value bytes. */
typedef void rn_rec_see(void *arg, const char *name, uint64_t value, const uint8_t *data);

/* Show every field of @rec, from dev on. */
void rn_rec_list(const struct rn_rec *rec, rn_rec_see *see, void *arg);

/* The number that names @object in a file. */
static inline uint64_t rn_rec_id(const void *object)
{
	return (uintptr_t)object;
}

/* What went in: a record without device, and of RN_CALL_MEM_DONE without its arguments.
 */
void rn_rec_call(const struct rn_call *call, struct rn_rec *rec);

/* What came out of @call: a record without device, and of an event without its object. */
void rn_rec_outcome(const struct rn_call *call, struct rn_rec *rec);

/* Say where @src, which @w writes, lies: in one of the packets that came by @call (or
 * NULL), or elsewhere.
 */
void rn_rec_place_write(const struct rn_call *call, struct rn_rec_write *w,
			const void *src);

/* 1 + offset of @dst in the packet that @call (or NULL) builds; 0: elsewhere. */
uint32_t rn_rec_place_read(const struct rn_call *call, const void *dst);

/* As rn_rec_put() and rn_rec_get(). -EBADMSG: another kind of file; -ENOTSUP: another
 * version of the format, which is in @h then.
 */
size_t rn_rec_put_header(const struct rn_rec_header *h, uint8_t *out, size_t room);
ssize_t rn_rec_get_header(const uint8_t *in, size_t left, struct rn_rec_header *h);

#endif /* RN_RECORDING_H */
