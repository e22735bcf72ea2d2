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
 * Each record: length of what follows (4 bytes, little-endian), kind (1 byte), fields as
 * visit.h writes them. A length of 0 ends the file: the room behind it was reserved by a
 * program that was killed.
 */
#ifndef RN_RECORDING_H
#define RN_RECORDING_H

#include <sys/types.h>

#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/event.h"
#include "rocin/flow.h"
#include "rocin/mcast.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/qp_attr.h"
#include "rocin/queue_pair.h"
#include "rocin/raw_packet.h"
#include "rocin/srq.h"
#include "visit.h"

struct rn_rx;

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

	/* Calls; named as the functions of the core. */
	RN_REC_DEV_INIT,
	RN_REC_DEV_FINI,
	RN_REC_SET_GID,
	RN_REC_RECEIVE,
	RN_REC_TRANSMIT,
	RN_REC_EXPIRE,
	RN_REC_PEER_HOLDS,
	RN_REC_MEM_DONE,
	RN_REC_DEV_ERROR,
	RN_REC_TAKE_EVENT,
	RN_REC_GROW,
	RN_REC_CQ_INIT,
	RN_REC_CQ_MOVE,
	RN_REC_CQ_ARM,
	RN_REC_CQ_MODERATE,
	RN_REC_CQ_FINI,
	RN_REC_QP_CREATE,
	RN_REC_QP_MODIFY,
	RN_REC_QP_PACE,
	RN_REC_QP_DESTROY,
	RN_REC_QP_FAIL,
	RN_REC_QP_OVERRUN,
	RN_REC_POST_SEND,
	RN_REC_POST_RECV,
	RN_REC_ADD_MR,
	RN_REC_REMOVE_MR,
	RN_REC_SRQ_CREATE,
	RN_REC_SRQ_POST_RECV,
	RN_REC_SRQ_SET_LIMIT,
	RN_REC_SRQ_RESIZE,
	RN_REC_SRQ_DESTROY,
	RN_REC_MCAST_ATTACH,
	RN_REC_MCAST_DETACH,
	RN_REC_TRANSMIT_FRAME,
	RN_REC_RECEIVE_FRAME,

	/* What the core does during a call. */
	RN_REC_READ,
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

struct rn_rec_gid {
	uint32_t index;
	struct rn_gid gid;
};

struct rn_rec_peer_holds {
	struct rn_gid gid;
	uint32_t slot;
	uint64_t taken;
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

enum rn_rec_table {
	RN_REC_TABLE_QP,
	RN_REC_TABLE_MR,
	RN_REC_TABLE_SRQ,
};

struct rn_rec_grow {
	enum rn_rec_table table;
	uint32_t count;
};

struct rn_rec_cq {
	rn_iova ring;	   /* INIT, MOVE */
	uint32_t capacity; /* INIT, MOVE */
	enum rn_cq_arm arm;
	uint32_t count; /* MODERATE */
	rn_ns period;	/* MODERATE */
};

struct rn_rec_qp_init {
	struct rn_qp_init init;		/* pointers: NULL */
	uint64_t send_cq, recv_cq, srq; /* 0: none */
};

struct rn_rec_modify {
	uint32_t mask;
	struct rn_qp_attr attr;
};

struct rn_rec_pace {
	uint32_t kbps, burst;
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

struct rn_rec_rx_frame {
	const uint8_t *data;
	uint32_t len, tag;
	bool checksums_ok;
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
	enum rn_rec_kind kind;
	uint8_t dev;	/* RN_REC_NO_DEV: of a lone call */
	rn_ns now;	/* of calls that are given a time */
	uint64_t id;	/* of the object that the call is about */
	int32_t result; /* RESULT, and what a lone call returned */
	union {
		struct rn_rec_dev_init dev_init;
		struct rn_rec_gid gid;
		struct rn_rec_peer_holds peer_holds;
		struct rn_rec_receive receive;
		uint32_t what; /* TRANSMIT; QP_OVERRUN: 1 for the CQ of the send queue */
		struct rn_rec_mem_done mem_done;
		struct rn_rec_grow grow;
		struct rn_rec_cq cq;
		struct rn_rec_qp_init qp_init;
		struct rn_rec_modify modify;
		struct rn_rec_pace pace;
		struct rn_rec_post post; /* POST_SEND, POST_RECV, SRQ_POST_RECV */
		struct rn_mr mr;	 /* what rn_mr_init() and rn_mw_init() set */
		struct rn_rec_srq srq;
		struct rn_rec_mcast mcast;
		struct rn_rec_rx_frame rx_frame;
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
const char *rn_rec_name(enum rn_rec_kind kind);
enum rn_rec_class rn_rec_class(enum rn_rec_kind kind);

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
ssize_t rn_rec_peek(const uint8_t *in, size_t left, enum rn_rec_kind *kind, uint8_t *dev);

/* Show every field of @rec, from dev on. */
void rn_rec_list(const struct rn_rec *rec, rn_visit_see *see, void *arg);

/* Say where @src, which @w writes, lies: in one of the packets that came, or elsewhere.
 */
void rn_rec_place_write(struct rn_rec_write *w, const struct rn_rx *rx, uint32_t count,
			const void *src);

/* 1 + offset of @dst in the packet that is built in @cap bytes at @buf; 0: elsewhere. */
uint32_t rn_rec_place_read(const uint8_t *buf, size_t cap, const void *dst);

/* As rn_rec_put() and rn_rec_get(). -EBADMSG: another kind of file; -ENOTSUP: another
 * version of the format, which is in @h then.
 */
size_t rn_rec_put_header(const struct rn_rec_header *h, uint8_t *out, size_t room);
ssize_t rn_rec_get_header(const uint8_t *in, size_t left, struct rn_rec_header *h);

#endif /* RN_RECORDING_H */
