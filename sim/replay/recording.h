/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recording.h - the format of a recorded run: the calls into the core and what came out.
 *
 * A file is a header (struct rn_rec_header) and records, as rocin-recording(5) says. A
 * call into the core (transport.h) has a record of its arguments, one for every access to
 * memory during the call, with the result of the access, and at last one of its outcome.
 * Calls of one device do not overlap, but calls of different devices may. So every record
 * has the number of its device. Objects are identified by their addresses in the recorded
 * program.
 *
 * The record of a call is written before the call is made. So if the core ends the
 * program, the last call in the file is the one during which that happened. Calls whose
 * arguments do not say for which device they are, and calls that need not be serialised
 * with others of the device (RN_REC_LONE), access no memory. Each of them is one record,
 * written after the call.
 *
 * The file is kept small without losing anything:
 * - bytes that the core moves between memory and a packet are in the packet only (struct
 *   rn_rec_access.packet);
 * - a call that finds nothing to transmit is left out if the previous call was such a
 *   call, too, and found nothing, because then this one changes nothing;
 * - calls that only read the state of the device are left out.
 *
 * In memory a record of a call is the struct rn_call that the core passes to the hook
 * (rocin/call.h); other records are the structures below. A table in recording.c says of
 * which fields each kind consists. The bytes in the file do not depend on the sizes,
 * padding and byte order of the machine.
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
	/* version of the format; files of other versions cannot be read */
	RN_REC_VERSION = 5,
	RN_REC_NO_DEV = 255,
	/* maximum number of devices in one file; their numbers are 0 .. 63 */
	RN_REC_DEVS = 64,
	RN_REC_RX_MAX = 64, /* maximum number of packets in one RECEIVE */
	/* number of bytes at the beginning of a record, before its fields */
	RN_REC_HEAD = 5,
	RN_REC_MAX = 1 << 20, /* maximum length of a record in bytes */
	RN_REC_USES = 3,      /* maximum number of objects that another object uses */
};

enum rn_rec_kind {
	RN_REC_END_OF_FILE, /* value of rn_rec.kind at the end of a file; never written */

	/* The values of enum rn_call_kind, for the records of calls, come before this
	 * one.
	 */

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

enum rn_rec_object {
	RN_REC_NO_OBJECT,
	RN_REC_CQ,
	RN_REC_QP,
	RN_REC_MR,
	RN_REC_SRQ,
	RN_REC_MCAST,
};

/* What a call does with its object: uses it, creates it or destroys it. */
enum rn_rec_role {
	RN_REC_USE,
	RN_REC_MAKE,
	RN_REC_END,
};

/* Properties of a kind of record. */
struct rn_rec_info {
	const char *name; /* name of the kind, such as "post_send" */
	enum rn_rec_class class;
	bool has_now;	       /* the record contains a time */
	enum rn_rec_role role; /* for calls: what the call does with its object */
	/* calls: kind of the object that rn_rec.id identifies */
	enum rn_rec_object object;
	/* For a call: kind of the record that contains its outcome. A lone call
	 * (RN_REC_LONE) has RN_REC_RESULT here, but its own record contains the result.
	 */
	enum rn_rec_kind outcome;
	const struct rn_rec_field *fields;
	/* kinds of the objects that rn_rec.uses identifies */
	enum rn_rec_object uses[RN_REC_USES];
};

extern const struct rn_rec_info rn_rec_info[RN_REC_KINDS];

/* An access to memory: READ, WRITE or ATOMIC. */
struct rn_rec_access {
	rn_iova addr; /* READ, WRITE: address in memory */
	uint32_t len;
	struct rn_mem_attr attr;
	uint64_t tag;
	/* @packet not 0: the data is in a packet, from byte @offset on. For a write, it
	 * is packet number @packet - 1 of the recorded receive call. For a read, @packet
	 * is 1, and the packet is the one that the call builds. @packet 0: the data is at
	 * @data.
	 */
	uint32_t packet, offset;
	enum rn_mem_result result;
	/* if the result is PENDING: number of the access, which its record of the kind
	 * MEM_DONE has, too
	 */
	uint32_t number;
	struct rn_mem_atomic_req req; /* ATOMIC: operation and operands */
	uint64_t orig;		      /* ATOMIC whose result is DONE: the old value */
	const uint8_t *data;
	uint32_t data_len;
};

struct rn_rec_mem_done {
	uint64_t tag;
	enum rn_mem_result result;
	uint32_t number; /* number of the access that has ended; 0: not known */
	/* If the result is DONE: the bytes that were read, or the old value that an
	 * atomic returns.
	 */
	const uint8_t *data;
	uint32_t len;
};

/* A packet or Ethernet frame that the core has built. */
struct rn_rec_packet {
	/* a packet from the BTH to the pad bytes, or the whole frame */
	const uint8_t *data;
	/* length in bytes; 0: there was nothing to send */
	uint32_t len;
	/* PACKET: the core's description of the packet; NULL if there was no packet */
	const struct rn_tx *tx;
	uint32_t flags; /* FRAME: flags of the frame */
};

struct rn_rec {
	/* kind of the record: a value of enum rn_call_kind or enum rn_rec_kind */
	unsigned kind;
	/* number of the device; RN_REC_NO_DEV: the call is of class RN_REC_LONE */
	uint8_t dev;
	/* time that the call was given; used if the kind has one (has_now) */
	rn_ns now;
	uint64_t id; /* the object that the call or the event is about */
	/* The objects that a new object uses: CQs and SRQ of a QP, CQ of an SRQ, or QP of
	 * a multicast membership; 0: none. Pointers to objects in @u are not recorded.
	 */
	uint64_t uses[RN_REC_USES];
	/* Result of the call, if this is a RESULT record or the record of a lone call. */
	int32_t result;
	union {
		/* arguments of calls except MEM_DONE; also used by EVENT */
		union rn_call_args call;
		struct rn_rec_mem_done mem_done;
		struct rn_rec_access access;
		uint32_t qpn; /* BEFORE_ACK: number of the QP */
		struct rn_rec_packet packet;
	} u;
};

/* Memory for the structures to which a record points that was read from a file. */
struct rn_rec_room {
	_Alignas(8) uint8_t at[8192];
};

/* Header at the beginning of a file. */
struct rn_rec_header {
	uint32_t version;
	uint32_t pid;
	uint64_t date;	      /* seconds since 1970 */
	const uint8_t *rocin; /* version of Rocin that has written the file */
	/* the program's command line, each argument followed by a 0 byte */
	const uint8_t *command;
	/* value of ROCIN_FAULT in the recorded program, with the seed; may be empty */
	const uint8_t *fault;
	uint32_t rocin_len, command_len, fault_len;
};

/* Writes @rec at @out. Return: number of bytes, including those before the fields
 * (RN_REC_HEAD); 0 if @room bytes are too few.
 */
size_t rn_rec_put(const struct rn_rec *rec, uint8_t *out, size_t room);

/**
 * rn_rec_get() - Read one record
 * @in:		First byte of its head
 * @left:	Bytes from there to the end of the file
 * @rec:	Out; its pointers point into @in and @room. Its kind is RN_REC_END_OF_FILE
 * if the file has no more records
 *
 * Return: bytes to the next record, 0 at the end of the file; -EPROTO: not a record.
 */
ssize_t rn_rec_get(const uint8_t *in, size_t left, struct rn_rec *rec,
		   struct rn_rec_room *room);

/* Reads only the kind and the device number of the record at @in. Returns what
 * rn_rec_get() would return.
 */
ssize_t rn_rec_peek(const uint8_t *in, size_t left, unsigned *kind, uint8_t *number);

/* Called with a field of a record. @data NULL: the field is the number @value. Otherwise
 * it consists of the @value bytes at @data.
 */
typedef void rn_rec_see(void *arg, const char *name, uint64_t value, const uint8_t *data);

/* Calls @see with every field of @rec, beginning with the device number. */
void rn_rec_list(const struct rn_rec *rec, rn_rec_see *see, void *arg);

/* rn_rec_put_header() writes the header of a file to the @room bytes at @out. It returns
 * the header's length, or 0 if it does not fit. rn_rec_get_header() reads it. It returns
 * the offset of the first record; -EBADMSG: another kind of file; -ENOTSUP: another
 * version of the format, which is then in @h.
 */
size_t rn_rec_put_header(const struct rn_rec_header *h, uint8_t *out, size_t room);
ssize_t rn_rec_get_header(const uint8_t *in, size_t left, struct rn_rec_header *h);

#endif /* RN_RECORDING_H */
