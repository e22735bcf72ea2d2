/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recording.h - the format of a recorded run: the calls into the core and what came out.
 *
 * A file is a header (struct rn_rec_header) and records. A call into the core
 * (transport.h) is a record of its arguments, then one record for every access of the
 * core to memory during the call, with the result of the access, then one of the call's
 * outcome. The calls of one device do not overlap. Those of several devices may, and
 * every record has the number of its device. Objects are identified by their addresses in
 * the recorded program.
 *
 * The record of a call is written before the call is made: if the core ends the program,
 * the last call in the file has caused that. Calls whose device the core does not know
 * (RN_REC_LONE) make no accesses to memory; each is one record, written after the call.
 *
 * The file is kept small without losing anything:
 * - bytes that the core reads from memory straight into a packet are not repeated: they
 *   are in the packet (struct rn_rec_read.at);
 * - nor are bytes that it writes to memory straight from a received packet
 *   (struct rn_rec_write.packet);
 * - a call that finds nothing to transmit is left out if the previous such call found
 *   nothing, either, and no other call came in between: it changes nothing;
 * - calls that only read the state of the device are left out.
 *
 * Each record: length of what follows (4 bytes, little-endian), kind (1 byte), fields.
 * Numbers are written in groups of seven bits, the lowest first, byte strings after their
 * length. So a file does not depend on sizes, padding and byte order. A length of 0 ends
 * the file: a program that was killed leaves allocated space behind the last record.
 */
#ifndef RN_RECORDING_H
#define RN_RECORDING_H

#include <sys/types.h>

#include "rocin/call.h"
#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/gid.h"
#include "rocin/mem.h"
#include "rocin/queue_pair.h"
#include "rocin/srq.h"

enum {
	RN_REC_VERSION = 4, /* version of the format; other versions cannot be read */
	RN_REC_NO_DEV = 255,
	RN_REC_DEVS = 64,    /* most devices in one file; their numbers are 0 .. 63 */
	RN_REC_RX_MAX = 64,  /* most packets in one RECEIVE */
	RN_REC_HEAD = 5,     /* bytes of a record before its fields */
	RN_REC_MAX = 1 << 20 /* most bytes of a record */
};

extern const uint8_t rn_rec_magic[8];

enum rn_rec_kind {
	RN_REC_END_OF_FILE, /* value of rn_rec.kind at the end of a file; never written */

	/* The numbers of enum rn_call_kind, for calls, come first. */

	/* Actions of the core during a call. */
	RN_REC_READ = RN_CALL_KINDS,
	RN_REC_WRITE,
	RN_REC_ATOMIC,
	RN_REC_BEFORE_ACK,
	RN_REC_OVERRUN, /* a CQ was full and lost a CQE */

	/* Outcomes of a call. */
	RN_REC_DONE,
	RN_REC_RESULT,
	RN_REC_PACKET,
	RN_REC_FRAME,
	RN_REC_EVENT,

	RN_REC_LIMIT, /* the file has reached its size limit; the run went on */
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
	struct rn_dev_cfg cfg; /* settings; their pointers are NULL */
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
	uint32_t number; /* number of the access that has ended; 0: not known */
	enum rn_mem_result result;
	/* if the result is DONE: bytes that were read, or the old value of an atomic */
	const uint8_t *data;
	uint32_t len;
};

struct rn_rec_qp_init {
	struct rn_qp_init init;		/* attributes; their pointers are NULL */
	uint64_t send_cq, recv_cq, srq; /* numbers of CQs and SRQ; 0: none */
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
	/* the request, with NULL pointers; of a receive only wr_id and num_sge */
	struct rn_send_wr wr;
	bool has_av;
	struct rn_av av;
	/* entries of @sg; wr.num_sge may be more, which the core refuses */
	uint32_t count;
	struct rn_rec_sge sg[RN_SGE_MAX];
};

struct rn_rec_srq {
	struct rn_srq_init init; /* for SRQ_CREATE: attributes, with NULL pointers */
	uint64_t cq;		 /* for SRQ_CREATE: number of the CQ; 0: none */
	uint32_t number;	 /* argument of SRQ_SET_LIMIT or SRQ_RESIZE */
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
	/* 1 + offset in the packet that is being built and contains the bytes read; 0:
	 * the destination is elsewhere, and the bytes are in @data.
	 */
	uint32_t at;
	enum rn_mem_result result;
	uint32_t number;     /* PENDING: number of the access in MEM_DONE */
	const uint8_t *data; /* bytes read, if the result is DONE and @at is 0 */
	uint32_t data_len;
};

struct rn_rec_write {
	rn_iova dst;
	uint32_t len;
	struct rn_mem_attr attr;
	/* 1 + index of the packet of the RECEIVE that contains the bytes, from @offset
	 * on; 0: the bytes are in @data.
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
	uint64_t orig;	 /* DONE: the old value */
	uint32_t number; /* PENDING: number of the access in MEM_DONE */
};

struct rn_rec_packet {
	uint32_t len; /* 0: there was no packet to send */
	struct rn_flow flow;
	uint32_t dest_qpn, src_qpn;
	bool response;
	const uint8_t *data; /* packet from the BTH to the pad bytes; all of a frame */
	uint32_t flags;	     /* flags of a frame */
};

struct rn_rec_event {
	bool some; /* there was an event */
	bool completion;
	enum rn_async_event async;
	uint64_t object; /* number of the CQ, SRQ or QP */
};

struct rn_rec {
	unsigned kind; /* enum rn_call_kind, enum rn_rec_kind */
	uint8_t dev; /* number of the device; RN_REC_NO_DEV: a lone call (RN_REC_LONE) */
	rn_ns now;   /* time of calls that have one as argument */
	uint64_t id; /* number of the object that the call is about */
	int32_t result; /* value of RESULT, or result of a lone call */
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
		struct rn_mr mr; /* members that rn_mr_init() and rn_mw_init() set */
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

/* Header at the beginning of a file. */
struct rn_rec_header {
	uint32_t version;
	uint32_t pid;
	uint64_t date;		/* seconds since 1970 */
	const uint8_t *rocin;	/* version of the program that wrote it */
	const uint8_t *command; /* the program's arguments, each with a 0 behind it */
	const uint8_t *fault;	/* ROCIN_FAULT, with its seed; may be empty */
	uint32_t rocin_len, command_len, fault_len;
};

/* Returns the name of a kind, such as "post_send". */
const char *rn_rec_name(unsigned kind);
enum rn_rec_class rn_rec_class(unsigned kind);

/* Writes @rec at @out. Return: its bytes, head included; 0: it has more than @room. */
size_t rn_rec_put(const struct rn_rec *rec, uint8_t *out, size_t room);

/**
 * rn_rec_get() - Read one record
 * @in:		First byte of its head
 * @left:	Bytes from there to the end of the file
 * @rec:	Out; its pointers point into @in. Its kind is RN_REC_END_OF_FILE if there
 * are no more records
 *
 * Return: bytes to the next record, 0 at the end of the file; -EPROTO: not a record.
 */
ssize_t rn_rec_get(const uint8_t *in, size_t left, struct rn_rec *rec);

/* Reads only kind and device of the record at @in. Return: as rn_rec_get(). */
ssize_t rn_rec_peek(const uint8_t *in, size_t left, unsigned *kind, uint8_t *dev);

/* Gets a field of a record: a number @value, or, if @data is not NULL, @value bytes. */
typedef void rn_rec_see(void *arg, const char *name, uint64_t value, const uint8_t *data);

/* Calls @see with every field of @rec, from dev on. */
void rn_rec_list(const struct rn_rec *rec, rn_rec_see *see, void *arg);

/* Returns the number that identifies @object in a file. */
static inline uint64_t rn_rec_id(const void *object)
{
	return (uintptr_t)object;
}

/* Makes the record of a call's arguments, except the device, and except the arguments
 * of RN_CALL_MEM_DONE.
 */
void rn_rec_call(const struct rn_call *call, struct rn_rec *rec);

/* Makes the record of a call's outcome, except the device, and except the object of
 * an event.
 */
void rn_rec_outcome(const struct rn_call *call, struct rn_rec *rec);

/* Sets in @w where the bytes at @src, which it writes, are: in one of the packets that
 * @call (or NULL) receives, or elsewhere.
 */
void rn_rec_place_write(const struct rn_call *call, struct rn_rec_write *w,
			const void *src);

/* Returns 1 + offset of @dst in the packet that @call (or NULL) builds; 0: it
 * is elsewhere.
 */
uint32_t rn_rec_place_read(const struct rn_call *call, const void *dst);

/* Write and read the header, as rn_rec_put() and rn_rec_get() do for records. -EBADMSG:
 * another kind of file; -ENOTSUP: another version of the format, which is in @h then.
 */
size_t rn_rec_put_header(const struct rn_rec_header *h, uint8_t *out, size_t room);
ssize_t rn_rec_get_header(const uint8_t *in, size_t left, struct rn_rec_header *h);

#endif /* RN_RECORDING_H */
