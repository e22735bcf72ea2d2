/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recording.c - converts records to bytes and back.
 *
 * A table describes the fields of each kind of record. It is used to write, read and list
 * the fields. Every argument of a call into the core must have a field in the table, as
 * the test unit.record-complete checks. Whoever adds a field must also change
 * RN_REC_VERSION.
 */
#include "recording.h"

#include <errno.h>
#include <string.h>

#include "rocin/gid.h"

static const uint8_t magic[8] = { 'r', 'o', 'c', 'i', 'n', 'r', 'e', 'c' };

/* ------------------------------------------------------------ table of fields */
/* Describes a field of a record: a member of a structure, or data to which a member
 * points.
 */
struct rn_rec_field {
	const char *name; /* name of the field; NULL: end of the list */
	enum {
		NUMBER,
		GIDS,
		BYTES,	/* a pointer to bytes, whose number is in the member at @other */
		PART,	/* a pointer to a structure */
		OPTION, /* a pointer to a structure, or NULL; recorded with a flag */
		/* a pointer to structures, whose number is in the member at @other */
		ARRAY,
		/* Array of struct rn_sge. The flags of the request, which tell whether
		 * the data is inline, are in the member at offset @flags; @flags 0: there
		 * are no flags.
		 */
		SGES,
	} type;
	uint16_t at;   /* offset of the member in its structure */
	uint16_t size; /* bytes of the member, or of a structure to which it points */
	/* offsets of other members of the structure; see enum above */
	uint16_t other, flags;
	/* NUMBER: the maximum value; 0: each value that the member can hold. ARRAY: the
	 * maximum number of elements; a longer array is not recorded.
	 */
	uint16_t max;
	/* Fields of the structure to which the member points. If an OPTION has none, only
	 * its flag is recorded.
	 */
	const struct rn_rec_field *fields;
};

#define MAX_OF(s, m) _Generic(((s *)0)->m, bool : 1, default : 0)
#define SIZE_OF(s, m) sizeof(((s *)0)->m)

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): names of members need no parentheses. */
/* These macros describe members of the structure S. F: a number. N: a number whose name
 * in the file differs from that of the member. The other macros: members of other types,
 * and data to which a member points.
 */
#define F(m) N(m, m)
#define N(n, m) { .name = #n, .type = NUMBER, .at = offsetof(S, m), .size = SIZE_OF(S, m), .max = MAX_OF(S, m) }
#define GID(n, m) { .name = #n, .type = GIDS, .at = offsetof(S, m), .size = SIZE_OF(S, m) }
#define HAS(m) { .name = "has_" #m, .type = OPTION, .at = offsetof(S, m) }
#define DATA(n, m, len) { .name = #n, .type = BYTES, .at = offsetof(S, m), .other = offsetof(S, len) }
#define TO(m, list) { .name = "", .type = PART, .at = offsetof(S, m), \
	.size = sizeof(*((S *)0)->m), .fields = list }
#define MAY(n, m, list) { .name = #n, .type = OPTION, .at = offsetof(S, m), \
	.size = sizeof(*((S *)0)->m), .fields = list }
#define MANY(m, count, most, list) { .name = "", .type = ARRAY, .at = offsetof(S, m), \
	.size = sizeof(*((S *)0)->m), .other = offsetof(S, count), .max = most, .fields = list }
#define SGE_LIST(flags_at) { .name = "", .type = SGES, .at = offsetof(S, sg), \
	.size = sizeof(struct rn_sge), .other = offsetof(S, num_sge), .flags = flags_at, \
	.max = RN_SGE_MAX }
/* NOLINTEND(bugprone-macro-parentheses) */
#define FIELDS(...) .fields = (const struct rn_rec_field[]){ __VA_ARGS__, { .name = NULL } }
#define LIST(list, ...) static const struct rn_rec_field list[] = { __VA_ARGS__, { .name = NULL } }

#define S struct rn_mem_ops
LIST(mem_ops, F(always_done), HAS(read_part));
#undef S
#define S struct rn_dev_cfg
LIST(dev_cfg, GID(gid, gid), F(gid_count), F(ifindex), F(mtu_max), F(icrc_exact), F(window_start),
	F(window_min), F(window_max), F(read_window), F(read_chunk), F(credits), F(cc), F(cc_line),
	F(timeout_scale), TO(mem, mem_ops), HAS(before_ack));
#undef S
#define S struct rn_flow
LIST(flow_fields, GID(src, src), GID(dst, dst), F(ifindex), F(sport), F(tclass), F(hop_limit));
#undef S
#define S struct rn_rx
LIST(rx, TO(flow, flow_fields), F(gro_idx), F(icrc), DATA(data, data, len));
#undef S
#define S struct rn_tx
LIST(tx_fields, TO(flow, flow_fields), F(dest_qpn), F(src_qpn), F(response));
#undef S
#define S struct rn_rx_frame
LIST(rx_frame, F(tag), F(checksums_ok), DATA(data, data, len));
#undef S
#define S struct rn_qp_init
LIST(qp_init, F(type), F(qpn), F(pd), F(xrcd), F(max_send_wr), F(max_recv_wr), F(max_send_sge),
	F(max_recv_sge), F(max_inline), F(sq_sig_all));
#undef S
#define S struct rn_qp_attr
#define AV(av) GID(dgid, av dgid), N(flow_label, av flow_label), N(sgid_index, av sgid_index), \
	N(hop_limit, av hop_limit), N(tclass, av tclass), N(sl, av sl)
LIST(qp_attr, F(state), F(cur_state), F(path_mtu), F(qkey), F(rq_psn), F(sq_psn), F(dest_qpn),
	F(access), AV(av.), F(pkey_index), F(port_num), F(max_rd_atomic), F(max_dest_rd_atomic),
	F(min_rnr_timer), F(timeout), F(retry_cnt), F(rnr_retry), F(en_sqd_async_notify),
	AV(alt.av.), N(pkey_index, alt.pkey_index), N(port_num, alt.port_num), N(timeout, alt.timeout), F(mig_state));
#undef S
#define S struct rn_av
LIST(av_fields, AV());
#undef S
/* The address of inline data is not recorded, because it means nothing once the call has
 * returned.
 */
#define S struct rn_sge
LIST(sge, F(addr), F(len), F(lkey));
LIST(inline_sge, F(len), F(lkey));
#undef S
#define S struct rn_send_wr
LIST(send_wr, F(wr_id), F(opcode), F(flags), F(imm), F(remote_addr), F(rkey), F(compare_add),
	F(swap), F(bind_length), F(bind_region), F(bind_access), F(flush_length),
	F(flush_placement), F(flush_selectivity), MAY(has_av, av, av_fields), F(remote_qpn),
	F(remote_qkey), F(remote_srqn), F(num_sge), SGE_LIST(offsetof(S, flags)));
#undef S
#define S struct rn_recv_wr
LIST(recv_wr, F(wr_id), F(num_sge), SGE_LIST(0));
#undef S
#define S struct rn_mr
LIST(region, F(lkey), F(pd), F(va), F(length), F(iova_base), F(access), F(kind), F(valid));
#undef S
#define S struct rn_srq_init
LIST(srq_init, F(srqn), F(pd), F(max_wr), F(max_sge), F(xrcd));
#undef S
#define S struct rn_gid
LIST(group_of, { .name = "mgid", .type = GIDS, .size = sizeof(S) });
#undef S
#define S struct rn_event
LIST(event_fields, F(completion), F(async));
#undef S

#define S struct rn_rec
LIST(dev, F(dev));
LIST(now, F(now));
LIST(id, F(id));
LIST(result, F(result));

/* Table of the kinds of records. A row about a call says whether the call has a time
 * (@has_now), what it does with its object (@role), of which kind the object is
 * (@object), which kind of record has the outcome (@outcome), and which fields there are.
 */
#define KIND(kind, text, type, ...) [RN_REC_##kind] = { .name = text, .class = RN_REC_##type, __VA_ARGS__ }
#define SHOWN(kind, text, type, time, what, about, end, ...) [RN_CALL_##kind] = { .name = text, \
	.class = RN_REC_##type, .has_now = time, .role = RN_REC_##what, .object = RN_REC_##about, \
	.outcome = RN_REC_##end, __VA_ARGS__ }
#define CALL(kind, text, ...) SHOWN(kind, text, CALL, __VA_ARGS__)
#define LONE(kind, text, ...) SHOWN(kind, text, LONE, __VA_ARGS__)
#define NONE .fields = NULL
#define ATTR N(qpn, u.access.attr.qpn), N(flags, u.access.attr.flags), N(msg, u.access.attr.msg)
#define ACCESS N(len, u.access.len), ATTR, N(tag, u.access.tag), N(packet, u.access.packet), \
	N(offset, u.access.offset), N(result, u.access.result), N(number, u.access.number), \
	DATA(data, u.access.data, u.access.data_len)
#define RING N(ring, u.call.cq.ring), N(capacity, u.call.cq.capacity)

const struct rn_rec_info rn_rec_info[RN_REC_KINDS] = {
	KIND(END_OF_FILE, "end_of_file", NOTE, NONE),

	CALL(DEV_INIT, "dev_init", 0, USE, NO_OBJECT, RESULT, FIELDS(TO(u.call.cfg, dev_cfg))),
	CALL(DEV_FINI, "dev_fini", 0, USE, NO_OBJECT, DONE, NONE),
	CALL(SET_GID, "set_gid", 0, USE, NO_OBJECT, DONE,
	     FIELDS(N(index, u.call.set_gid.index), GID(gid, u.call.set_gid.gid))),
	CALL(RECEIVE, "receive", 1, USE, NO_OBJECT, DONE, FIELDS(N(count, u.call.receive.count),
	     MANY(u.call.receive.pkts, u.call.receive.count, RN_REC_RX_MAX, rx))),
	CALL(TRANSMIT, "transmit", 1, USE, NO_OBJECT, PACKET, FIELDS(N(what, u.call.transmit.what))),
	CALL(EXPIRE, "expire", 1, USE, NO_OBJECT, DONE, NONE),
	CALL(PEER_HOLDS, "peer_holds", 1, USE, NO_OBJECT, DONE,
	     FIELDS(GID(gid, u.call.peer_holds.gid), N(slot, u.call.peer_holds.slot),
		    N(taken, u.call.peer_holds.taken))),
	CALL(MEM_DONE, "mem_done", 1, USE, NO_OBJECT, DONE,
	     FIELDS(N(tag, u.mem_done.tag), N(number, u.mem_done.number),
		    N(result, u.mem_done.result), DATA(data, u.mem_done.data, u.mem_done.len))),
	CALL(DEV_ERROR, "dev_error", 1, USE, NO_OBJECT, DONE, NONE),
	CALL(TAKE_EVENT, "take_event", 0, USE, NO_OBJECT, EVENT, NONE),
	CALL(GROW, "grow", 0, USE, NO_OBJECT, DONE,
	     FIELDS(N(table, u.call.grow.table), N(count, u.call.grow.count))),
	LONE(CQ_INIT, "cq_init", 0, MAKE, CQ, DONE, FIELDS(RING)),
	LONE(CQ_MOVE, "cq_move", 0, USE, CQ, DONE, FIELDS(RING)),
	LONE(CQ_ARM, "cq_arm", 0, USE, CQ, DONE, FIELDS(N(arm, u.call.cq.arm))),
	CALL(CQ_MODERATE, "cq_moderate", 0, USE, CQ, DONE,
	     FIELDS(N(count, u.call.cq.count), N(period, u.call.cq.period))),
	CALL(CQ_FINI, "cq_fini", 0, END, CQ, DONE, NONE),
	CALL(QP_CREATE, "qp_create", 0, MAKE, QP, DONE,
	     FIELDS(TO(u.call.qp, qp_init), N(send_cq, uses[0]), N(recv_cq, uses[1]), N(srq, uses[2])),
	     .uses = { RN_REC_CQ, RN_REC_CQ, RN_REC_SRQ }),
	CALL(QP_MODIFY, "qp_modify", 1, USE, QP, RESULT,
	     FIELDS(N(mask, u.call.modify.mask), TO(u.call.modify.attr, qp_attr))),
	LONE(QP_PACE, "qp_pace", 1, USE, QP, DONE,
	     FIELDS(N(kbps, u.call.pace.kbps), N(burst, u.call.pace.burst))),
	CALL(QP_DESTROY, "qp_destroy", 0, END, QP, DONE, NONE),
	CALL(QP_FAIL, "qp_fail", 1, USE, QP, DONE, NONE),
	CALL(QP_OVERRUN, "qp_overrun", 1, USE, QP, DONE, FIELDS(N(what, u.call.of_send_cq))),
	CALL(POST_SEND, "post_send", 1, USE, QP, RESULT, FIELDS(TO(u.call.send, send_wr))),
	CALL(POST_RECV, "post_recv", 1, USE, QP, RESULT, FIELDS(TO(u.call.recv, recv_wr))),
	CALL(ADD_MR, "add_mr", 0, MAKE, MR, DONE, FIELDS(TO(u.call.mr, region))),
	CALL(REMOVE_MR, "remove_mr", 0, END, MR, DONE, NONE),
	CALL(SRQ_CREATE, "srq_create", 0, MAKE, SRQ, DONE,
	     FIELDS(TO(u.call.srq, srq_init), N(cq, uses[0])), .uses = { RN_REC_CQ }),
	LONE(SRQ_POST_RECV, "srq_post_recv", 0, USE, SRQ, RESULT, FIELDS(TO(u.call.recv, recv_wr))),
	LONE(SRQ_SET_LIMIT, "srq_set_limit", 0, USE, SRQ, RESULT, FIELDS(N(number, u.call.number))),
	LONE(SRQ_RESIZE, "srq_resize", 0, USE, SRQ, RESULT, FIELDS(N(number, u.call.number))),
	LONE(SRQ_DESTROY, "srq_destroy", 0, END, SRQ, DONE, NONE),
	CALL(MCAST_ATTACH, "mcast_attach", 0, MAKE, MCAST, DONE,
	     FIELDS(N(qp, uses[0]), TO(u.call.mcast.mgid, group_of)), .uses = { RN_REC_QP }),
	CALL(MCAST_DETACH, "mcast_detach", 0, END, MCAST, DONE, NONE),
	CALL(TRANSMIT_FRAME, "transmit_frame", 1, USE, NO_OBJECT, FRAME, NONE),
	CALL(RECEIVE_FRAME, "receive_frame", 1, USE, QP, RESULT, FIELDS(TO(u.call.frame, rx_frame))),

	KIND(READ, "read", ACCESS, FIELDS(N(src, u.access.addr), ACCESS)),
	KIND(WRITE, "write", ACCESS, FIELDS(N(dst, u.access.addr), ACCESS)),
	KIND(ATOMIC, "atomic", ACCESS, FIELDS(N(op, u.access.req.op),
	     N(dst, u.access.req.dst), N(operand, u.access.req.operand),
	     N(compare, u.access.req.compare), ATTR, N(tag, u.access.tag),
	     N(result, u.access.result), N(orig, u.access.orig), N(number, u.access.number))),
	KIND(BEFORE_ACK, "before_ack", ACCESS, FIELDS(N(qpn, u.qpn))),
	KIND(OVERRUN, "overrun", ACCESS, .fields = id),

	KIND(DONE, "done", OUTCOME, NONE),
	KIND(RESULT, "result", OUTCOME, .fields = result),
	KIND(PACKET, "packet", OUTCOME, FIELDS(
	     DATA(data, u.packet.data, u.packet.len), MAY(has_tx, u.packet.tx, tx_fields))),
	KIND(FRAME, "frame", OUTCOME, FIELDS(
	     DATA(data, u.packet.data, u.packet.len), N(flags, u.packet.flags))),
	KIND(EVENT, "event", OUTCOME,
	     FIELDS(TO(u.call.event, event_fields), N(object, id))),

	KIND(LIMIT, "limit", NOTE, NONE),
};
#undef S

#define S struct rn_rec_header
LIST(version, F(version), DATA(rocin, rocin, rocin_len));
LIST(header, F(pid), F(date), DATA(command, command, command_len), DATA(fault, fault, fault_len));
#undef S
/* clang-format on */

/* ------------------------------------------------------------ numbers and bytes */
enum {
	GROUP = 7, /* number of bits of a number that one byte holds */
	MORE = 1 << GROUP,
};

/* The state while the fields of a record are being written (PUT), read (GET) or listed
 * (SEE).
 */
struct visit {
	enum {
		PUT,
		GET,
		SEE
	} mode;
	uint8_t *at; /* PUT, GET: next byte to write or read */
	size_t left; /* PUT, GET: number of bytes from the current position to the end */
	/* PUT: the record did not fit. GET: the bytes have ended too early, or a number
	 * was too large for its field. After a failure nothing is written, and everything
	 * is read as 0.
	 */
	bool failed;
	struct rn_rec_room *room; /* GET: memory for structures that are read */
	size_t taken;		  /* bytes of @room in use */
	rn_rec_see *see;	  /* SEE: function to call with each field */
	void *arg;
};

/* Returns the position of the next @len bytes, and advances beyond them. Returns NULL if
 * there are fewer.
 */
static uint8_t *take(struct visit *v, size_t len)
{
	uint8_t *at = v->at;

	if (v->failed || v->left < len) {
		v->failed = true;
		return NULL;
	}
	v->at += len;
	v->left -= len;
	return at;
}

static void put_number(struct visit *v, uint64_t value)
{
	uint8_t *to = take(v, 1);

	for (; to && value >= MORE; value >>= GROUP, to = take(v, 1))
		*to = (uint8_t)(value | MORE);
	if (to)
		*to = (uint8_t)value;
}

/* Reads a number that has @size bytes in memory. Reading fails if the file does not have
 * the number in its shortest form.
 */
static uint64_t get_number(struct visit *v, size_t size)
{
	uint64_t value = 0;
	uint8_t byte = MORE;

	for (unsigned shift = 0; byte & MORE; shift += GROUP) {
		const uint8_t *in = take(v, 1);
		uint64_t group;

		byte = in ? *in : 0;
		group = byte & (MORE - 1);
		if (shift >= 64 || group << shift >> shift != group ||
		    (shift > 0 && byte == 0))
			v->failed = true;
		if (v->failed)
			return 0;
		value |= group << shift;
	}
	if (size < sizeof(value) && value >> (8 * size))
		v->failed = true;
	return v->failed ? 0 : value;
}

/* Returns the address of the low @size bytes of the number *@value. */
static void *low_bytes(uint64_t *value, size_t size)
{
	bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return (uint8_t *)value + (is_big ? sizeof(*value) - size : 0);
}

static uint64_t load(const void *at, size_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		return *(const uint16_t *)at;
	case 4:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

/* ------------------------------------------------------------ walk over the fields */
/* NOLINTBEGIN(misc-no-recursion): no deeper than the table */
static void visit_fields(struct visit *v, void *s, const struct rn_rec_field *f);

/* Writes, reads or lists a number that has @size bytes in memory. @max: its maximum
 * value; 0: no limit. Returns its value.
 */
static uint64_t visit_number(struct visit *v, const char *name, void *at, size_t size,
			     uint64_t max)
{
	uint64_t value = v->mode == GET ? get_number(v, size) : load(at, size);

	if (max && value > max) {
		v->failed = true;
		value = 0;
	}
	if (v->mode == PUT)
		put_number(v, value);
	else if (v->mode == SEE)
		v->see(v->arg, name, value, NULL);
	else
		memcpy(at, low_bytes(&value, size), size);
	return value;
}

/* Writes, reads or lists @len bytes at *@data. For GET, sets *@data to the bytes in the
 * input.
 */
static void visit_bytes(struct visit *v, const char *name, const uint8_t **data,
			size_t len)
{
	uint8_t *at = v->mode == SEE ? NULL : take(v, len);

	if (v->mode == SEE)
		v->see(v->arg, name, len, *data ? *data : (const uint8_t *)"");
	else if (v->mode == GET)
		*data = at;
	else if (at && len > 0)
		memcpy(at, *data, len);
}

static void visit_gids(struct visit *v, const struct rn_rec_field *f, struct rn_gid *gid)
{
	for (struct rn_gid *end = gid + f->size / sizeof(*gid); gid < end; gid++) {
		const uint8_t *raw = gid->raw;

		visit_bytes(v, f->name, &raw, sizeof(gid->raw));
		if (v->mode == GET && raw)
			memcpy(gid->raw, raw, sizeof(gid->raw));
	}
}

static_assert(RN_REC_RX_MAX * (sizeof(struct rn_rx) + sizeof(struct rn_flow) + 8) <=
		      sizeof(struct rn_rec_room),
	      "a RECEIVE has the most structures");

/* Writes, reads or lists @count structures at *@at. For GET, takes room for them first.
 */
static void visit_structures(struct visit *v, void **at, size_t size, size_t count,
			     const struct rn_rec_field *f)
{
	/* used when structures are read for which the input has no bytes */
	static uint8_t zeros[sizeof(struct rn_dev_cfg)];
	size_t bytes = (size * count + 7) & ~(size_t)7;
	uint8_t *first;

	if (v->mode == GET) {
		assert(v->room && bytes <= sizeof(v->room->at) - v->taken);
		*at = memset(v->room->at + v->taken, 0, bytes);
		v->taken += bytes;
	}
	first = *at ? *at : zeros;
	for (size_t i = 0; i < count; i++)
		visit_fields(v, first + i * size, f);
}

/* Writes, reads or lists the SGE list of a work request and, if it is inline, the data
 * itself, because the core reads all of these bytes.
 */
static void visit_sges(struct visit *v, const struct rn_rec_field *f, uint8_t *s,
		       uint32_t count)
{
	bool is_inline = f->flags && (load(s + f->flags, 4) & RN_SEND_INLINE);
	struct rn_sge **sg = (struct rn_sge **)(s + f->at);
	uint64_t total = 0;

	visit_structures(v, (void **)sg, f->size, count, is_inline ? inline_sge : sge);
	for (uint32_t i = 0; i < count; i++)
		total += (*sg)[i].len;
	for (uint32_t i = 0; is_inline && total <= RN_INLINE_MAX && i < count; i++) {
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		const uint8_t *data = (const uint8_t *)(uintptr_t)(*sg)[i].addr;

		visit_bytes(v, "data", &data, (*sg)[i].len);
		if (v->mode == GET)
			(*sg)[i].addr = (uintptr_t)data;
	}
}

/* Writes, reads or lists the data to which the member @f of structure @s points. */
static void visit_pointer(struct visit *v, const struct rn_rec_field *f, uint8_t *s)
{
	void **at = (void **)(s + f->at);
	uint8_t has = *at != NULL;
	uint32_t count = 1;

	if (f->type == OPTION) {
		count = (uint32_t)visit_number(v, f->name, &has, sizeof(has), 1);
	} else if (f->type != PART) {
		count = (uint32_t)load(s + f->other, sizeof(count));
		count = count <= f->max ? count : 0;
	}
	if (f->type == SGES)
		visit_sges(v, f, s, count);
	else if (count > 0)
		visit_structures(v, at, f->size, count, f->fields);
}

static void visit_fields(struct visit *v, void *structure, const struct rn_rec_field *f)
{
	uint8_t *s = structure;

	for (; f && f->name; f++) {
		if (f->type == NUMBER) {
			visit_number(v, f->name, s + f->at, f->size, f->max);
		} else if (f->type == GIDS) {
			visit_gids(v, f, (struct rn_gid *)(s + f->at));
		} else if (f->type == BYTES) {
			if (v->mode != SEE)
				visit_number(v, f->name, s + f->other, 4, 0);
			visit_bytes(v, f->name, (const uint8_t **)(s + f->at),
				    load(s + f->other, 4));
		} else {
			visit_pointer(v, f, s);
		}
	}
}
/* NOLINTEND(misc-no-recursion) */

static void visit_record(struct visit *v, struct rn_rec *rec)
{
	const struct rn_rec_info *info = &rn_rec_info[rec->kind];

	visit_fields(v, rec, dev);
	if (info->has_now)
		visit_fields(v, rec, now);
	if (info->object)
		visit_fields(v, rec, id);
	visit_fields(v, rec, info->fields);
	if (info->class == RN_REC_LONE && info->outcome == RN_REC_RESULT)
		visit_fields(v, rec, result);
}

/* --------------------------------------------------------- records as bytes */
size_t rn_rec_put(const struct rn_rec *rec, uint8_t *out, size_t room)
{
	struct visit v = { .mode = PUT };
	size_t len;

	assert(rec->kind > RN_REC_END_OF_FILE && rec->kind < RN_REC_KINDS);
	if (room < RN_REC_HEAD)
		return 0;
	v.at = out + RN_REC_HEAD;
	v.left = room - RN_REC_HEAD;
	/* visit_record() changes the record only when reading, so the cast is safe. */
	visit_record(&v, (struct rn_rec *)rec);
	if (v.failed)
		return 0;
	len = (size_t)(v.at - out);
	for (unsigned i = 0; i < 4; i++)
		out[i] = (uint8_t)((len - 4) >> (8 * i));
	out[4] = (uint8_t)rec->kind;
	return len;
}

ssize_t rn_rec_peek(const uint8_t *in, size_t left, unsigned *kind, uint8_t *number)
{
	uint32_t len;

	*kind = RN_REC_END_OF_FILE;
	if (left < RN_REC_HEAD)
		/* These bytes are too few for a record. After a crash the file may end
		 * with space that was allocated in advance.
		 */
		return 0;
	len = in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 |
	      (uint32_t)in[3] << 24;
	if (len == 0)
		return 0;
	if (len > RN_REC_MAX || len > left - 4 || in[4] == RN_REC_END_OF_FILE ||
	    in[4] >= RN_REC_KINDS)
		return -EPROTO;
	*kind = in[4];
	/* A number of a device takes one byte, RN_REC_NO_DEV takes two. */
	*number = len == 1 || in[RN_REC_HEAD] & MORE ? RN_REC_NO_DEV : in[RN_REC_HEAD];
	return (ssize_t)len + 4;
}

static bool dev_is_sane(const struct rn_rec *rec)
{
	return rec->dev < RN_REC_DEVS || rec->dev == RN_REC_NO_DEV;
}

ssize_t rn_rec_get(const uint8_t *in, size_t left, struct rn_rec *rec,
		   struct rn_rec_room *room)
{
	struct visit v = { .mode = GET, .room = room };
	uint8_t number;
	ssize_t len;

	*rec = (struct rn_rec){ 0 };
	len = rn_rec_peek(in, left, &rec->kind, &number);
	if (len <= 0)
		return len;
	v.at = (uint8_t *)in + RN_REC_HEAD; /* the bytes are only read */
	v.left = (size_t)len - RN_REC_HEAD;
	visit_record(&v, rec);
	return v.failed || v.left > 0 || !dev_is_sane(rec) ? -EPROTO : len;
}

void rn_rec_list(const struct rn_rec *rec, rn_rec_see *see, void *arg)
{
	struct visit v = { .mode = SEE, .see = see, .arg = arg };

	visit_record(&v, (struct rn_rec *)rec);
}

/* --------------------------------------------------------- header of a file */
size_t rn_rec_put_header(const struct rn_rec_header *h, uint8_t *out, size_t room)
{
	struct visit v = { .mode = PUT, .at = out, .left = room };
	const uint8_t *begin = magic;

	visit_bytes(&v, "magic", &begin, sizeof(magic));
	visit_fields(&v, (struct rn_rec_header *)h, version);
	visit_fields(&v, (struct rn_rec_header *)h, header);
	return v.failed ? 0 : (size_t)(v.at - out);
}

ssize_t rn_rec_get_header(const uint8_t *in, size_t left, struct rn_rec_header *h)
{
	struct visit v = { .mode = GET, .at = (uint8_t *)in, .left = left };
	const uint8_t *begin = take(&v, sizeof(magic));

	memset(h, 0, sizeof(*h));
	if (!begin || memcmp(begin, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	visit_fields(&v, h, version);
	if (!v.failed && h->version != RN_REC_VERSION)
		return -ENOTSUP;
	visit_fields(&v, h, header);
	return v.failed ? -EBADMSG : v.at - in;
}
