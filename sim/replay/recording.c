/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recording.c - converts records to bytes and back.
 *
 * One description of the fields of each kind is used to write, read and list them. Every
 * argument of the core has a field here: the test unit.record-complete checks that. A new
 * field also needs a new RN_REC_VERSION.
 */
#include "recording.h"

#include <errno.h>
#include <string.h>

#include "rocin/rx_tx.h"

const uint8_t rn_rec_magic[8] = { 'r', 'o', 'c', 'i', 'n', 'r', 'e', 'c' };

/* ------------------------------------------------------------------- values */
enum {
	GROUP = 7, /* bits in one byte of a number */
	MORE = 1 << GROUP,
};

/* State of writing, reading or listing the fields of a record. */
struct visit {
	enum {
		PUT,
		GET,
		LIST
	} mode;
	uint8_t *out;	   /* PUT: next byte to write */
	const uint8_t *in; /* GET: next byte to read */
	size_t left;	   /* PUT, GET: bytes from there to the end */
	/* PUT: there was no room. GET: the bytes end too early, or a number does not fit.
	 * After that nothing is written, and everything is read as 0.
	 */
	bool failed;
	rn_rec_see *see; /* LIST: function to call with each field */
	void *arg;
};

static void put_bytes(struct visit *v, const uint8_t *data, uint32_t len)
{
	if (v->failed || v->left < len) {
		v->failed = true;
		return;
	}
	if (len > 0)
		memcpy(v->out, data, len);
	v->out += len;
	v->left -= len;
}

/* Reads @len bytes; NULL if there are not as many. */
static const uint8_t *get_bytes(struct visit *v, uint32_t len)
{
	const uint8_t *data = v->in;

	if (v->failed || v->left < len) {
		v->failed = true;
		return NULL;
	}
	v->in += len;
	v->left -= len;
	return data;
}

static void put_number(struct visit *v, uint64_t value)
{
	uint8_t byte;

	for (; value >= MORE; value >>= GROUP) {
		byte = (uint8_t)(value | MORE);
		put_bytes(v, &byte, 1);
	}
	byte = (uint8_t)value;
	put_bytes(v, &byte, 1);
}

static uint64_t get_number(struct visit *v, size_t size)
{
	uint64_t value = 0;
	uint8_t byte = MORE;

	for (unsigned shift = 0; byte & MORE; shift += GROUP) {
		const uint8_t *in = get_bytes(v, 1);
		uint64_t group;

		byte = in ? *in : 0;
		group = byte & (MORE - 1);
		if (shift >= 64 || group << shift >> shift != group)
			v->failed = true;
		if (v->failed)
			return 0;
		value |= group << shift;
	}
	if (size < sizeof(value) && value >> (8 * size)) {
		v->failed = true;
		return 0;
	}
	return value;
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

static void store(void *at, size_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*(uint8_t *)at = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)at = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)at = (uint32_t)value;
		break;
	default:
		*(uint64_t *)at = value;
	}
}

/* ------------------------------------------------------------------- fields */
/* clang-format off */
struct field {
	const char *name;
	uint16_t offset; /* offset in the struct */
	/* bytes of the member; BYTES: offset of the member with their number */
	uint16_t size;
	enum { NUMBER, FLAG, GIDS, BYTES } type;
};

#define SIZE_OF(s, m) sizeof(((s *)0)->m)
#define TYPE_OF(s, m) _Generic(((s *)0)->m, bool : FLAG, default : NUMBER)

/* Fields for members, and for members of a member, which have the name of the latter. */
#define N(s, m) { #m, offsetof(s, m), SIZE_OF(s, m), TYPE_OF(s, m) }
/* NOLINTBEGIN(bugprone-macro-parentheses): members have none. */
#define NIN(s, path, m) { #m, offsetof(s, path.m), SIZE_OF(s, path.m), TYPE_OF(s, path.m) }
#define GID(s, path, m) { #m, offsetof(s, path.m), SIZE_OF(s, path.m), GIDS }
/* NOLINTEND(bugprone-macro-parentheses) */
#define DATA(s, m, len) { "data", offsetof(s, m), offsetof(s, len), BYTES }

/* The same for members of struct rn_rec.u. */
#define R(path, m) NIN(struct rn_rec, u.path, m)
#define R_GID(path, m) GID(struct rn_rec, u.path, m)
#define R_DATA(m, len) DATA(struct rn_rec, u.m, u.len)

#define FLOW(s, path) \
	GID(s, path, src), GID(s, path, dst), NIN(s, path, ifindex), \
	NIN(s, path, sport), NIN(s, path, tclass), NIN(s, path, hop_limit)
#define AV(path) \
	R_GID(path, dgid), R(path, flow_label), R(path, sgid_index), \
	R(path, hop_limit), R(path, tclass), R(path, sl)
#define ATTR(path) R(path, qpn), R(path, flags), R(path, msg)
/* clang-format on */

static_assert(sizeof(struct rn_rec) <= UINT16_MAX, "struct field");

static void visit_number(struct visit *v, const struct field *f, void *at)
{
	uint64_t value;

	switch (v->mode) {
	case PUT:
		put_number(v, load(at, f->size));
		break;
	case GET:
		value = get_number(v, f->size);
		store(at, f->size, f->type == FLAG ? value != 0 : value);
		break;
	case LIST:
		v->see(v->arg, f->name, load(at, f->size), NULL);
		break;
	}
}

static void visit_gids(struct visit *v, const struct field *f, struct rn_gid *gid)
{
	const uint8_t *in;

	for (struct rn_gid *end = gid + f->size / sizeof(*gid); gid < end; gid++) {
		switch (v->mode) {
		case PUT:
			put_bytes(v, gid->raw, sizeof(gid->raw));
			break;
		case GET:
			in = get_bytes(v, sizeof(gid->raw));
			*gid = (struct rn_gid){ 0 };
			if (in)
				memcpy(gid->raw, in, sizeof(gid->raw));
			break;
		case LIST:
			v->see(v->arg, f->name, sizeof(gid->raw), gid->raw);
			break;
		}
	}
}

/* Visits bytes outside of the struct. GET: *@data points into the input. */
static void visit_bytes(struct visit *v, const char *name, const uint8_t **data,
			uint32_t *len)
{
	switch (v->mode) {
	case PUT:
		put_number(v, *len);
		put_bytes(v, *data, *len);
		break;
	case GET:
		*len = (uint32_t)get_number(v, sizeof(*len));
		*data = get_bytes(v, *len);
		if (v->failed)
			*len = 0;
		break;
	case LIST:
		v->see(v->arg, name, *len, *data ? *data : (const uint8_t *)"");
		break;
	}
}

static void visit_fields(struct visit *v, void *s, const struct field *f, size_t count)
{
	for (const struct field *end = f + count; f < end; f++) {
		uint8_t *at = (uint8_t *)s + f->offset;

		if (f->type == GIDS)
			visit_gids(v, f, (struct rn_gid *)at);
		else if (f->type == BYTES)
			visit_bytes(v, f->name, (const uint8_t **)at,
				    (uint32_t *)((uint8_t *)s + f->size));
		else
			visit_number(v, f, at);
	}
}

#define VISIT(v, s, fields) visit_fields(v, s, fields, RN_ARRAY_SIZE(fields))

/* --------------------------------------------------------- kinds with fixed fields */
static const struct field dev_init[] = {
	R_GID(dev_init.cfg, gid),	R(dev_init.cfg, gid_count),
	R(dev_init.cfg, ifindex),	R(dev_init.cfg, mtu_max),
	R(dev_init.cfg, icrc_exact),	R(dev_init.cfg, window_start),
	R(dev_init.cfg, window_min),	R(dev_init.cfg, window_max),
	R(dev_init.cfg, read_window),	R(dev_init.cfg, read_chunk),
	R(dev_init.cfg, credits),	R(dev_init.cfg, cc),
	R(dev_init.cfg, cc_line),	R(dev_init, always_done),
	R(dev_init, has_read_part),	R(dev_init, has_before_ack),
	R(dev_init.cfg, timeout_scale),
};
static const struct field set_gid[] = { R(gid, index), R_GID(gid, gid) };
static const struct field transmit[] = { NIN(struct rn_rec, u, what) };
static const struct field peer_holds[] = { R_GID(peer_holds, gid), R(peer_holds, slot),
					   R(peer_holds, taken) };
static const struct field mem_done[] = { R(mem_done, tag), R(mem_done, number),
					 R(mem_done, result),
					 R_DATA(mem_done.data, mem_done.len) };
static const struct field grow[] = { R(grow, table), R(grow, count) };
static const struct field ring[] = { R(cq, ring), R(cq, capacity) };
static const struct field cq_arm[] = { R(cq, arm) };
static const struct field cq_moderate[] = { R(cq, count), R(cq, period) };
static const struct field qp_create[] = {
	R(qp_init.init, type),	       R(qp_init.init, qpn),
	R(qp_init.init, pd),	       R(qp_init, send_cq),
	R(qp_init, recv_cq),	       R(qp_init, srq),
	R(qp_init.init, xrcd),	       R(qp_init.init, max_send_wr),
	R(qp_init.init, max_recv_wr),  R(qp_init.init, max_send_sge),
	R(qp_init.init, max_recv_sge), R(qp_init.init, max_inline),
	R(qp_init.init, sq_sig_all),
};
static const struct field modify[] = {
	R(modify, mask),
	R(modify.attr, state),
	R(modify.attr, cur_state),
	R(modify.attr, path_mtu),
	R(modify.attr, qkey),
	R(modify.attr, rq_psn),
	R(modify.attr, sq_psn),
	R(modify.attr, dest_qpn),
	R(modify.attr, access),
	AV(modify.attr.av),
	R(modify.attr, pkey_index),
	R(modify.attr, port_num),
	R(modify.attr, max_rd_atomic),
	R(modify.attr, max_dest_rd_atomic),
	R(modify.attr, min_rnr_timer),
	R(modify.attr, timeout),
	R(modify.attr, retry_cnt),
	R(modify.attr, rnr_retry),
	R(modify.attr, en_sqd_async_notify),
	AV(modify.attr.alt.av),
	R(modify.attr.alt, pkey_index),
	R(modify.attr.alt, port_num),
	R(modify.attr.alt, timeout),
	R(modify.attr, mig_state),
};
static const struct field pace[] = { R(pace, kbps), R(pace, burst) };
static const struct field mr[] = { R(mr, lkey),	  R(mr, pd),	    R(mr, va),
				   R(mr, length), R(mr, iova_base), R(mr, access),
				   R(mr, kind),	  R(mr, valid) };
static const struct field srq_create[] = { R(srq.init, srqn),	R(srq.init, pd),
					   R(srq.init, max_wr), R(srq.init, max_sge),
					   R(srq.init, xrcd),	R(srq, cq) };
static const struct field srq_number[] = { R(srq, number), N(struct rn_rec, result) };
static const struct field mcast[] = { R(mcast, qp), R_GID(mcast, mgid) };
static const struct field receive_frame[] = { R(rx_frame, tag), R(rx_frame, checksums_ok),
					      R_DATA(rx_frame.data, rx_frame.len) };

static const struct field read_access[] = {
	R(read, src), R(read, len),    ATTR(read.attr), R(read, tag),
	R(read, at),  R(read, result), R(read, number), R_DATA(read.data, read.data_len)
};
static const struct field write_access[] = { R(write, dst),
					     R(write, len),
					     ATTR(write.attr),
					     R(write, packet),
					     R(write, offset),
					     R(write, result),
					     R_DATA(write.data, write.data_len) };
static const struct field atomic_access[] = {
	R(atomic.req, op),	R(atomic.req, dst), R(atomic.req, operand),
	R(atomic.req, compare), ATTR(atomic.attr),  R(atomic, tag),
	R(atomic, result),	R(atomic, orig),    R(atomic, number)
};
static const struct field before_ack[] = { NIN(struct rn_rec, u, qpn) };

static const struct field result[] = { N(struct rn_rec, result) };
static const struct field frame_out[] = { R_DATA(packet.data, packet.len),
					  R(packet, flags) };
static const struct field event[] = { R(event, some), R(event, completion),
				      R(event, async), R(event, object) };

/* ------------------------------------------------------- kinds with fields that vary */
/* Fails if there are more elements than the array has room for. */
static void check_count(struct visit *v, uint32_t *count, uint32_t max)
{
	if (*count <= max)
		return;
	v->failed = true;
	*count = 0;
}

static void visit_receive(struct visit *v, struct rn_rec *rec)
{
	static const struct field count[] = { R(receive, count) };
	static const struct field rx[] = { FLOW(struct rn_rec_rx, flow),
					   N(struct rn_rec_rx, gro_idx),
					   N(struct rn_rec_rx, icrc),
					   DATA(struct rn_rec_rx, data, len) };
	struct rn_rec_receive *r = &rec->u.receive;

	VISIT(v, rec, count);
	check_count(v, &r->count, RN_REC_RX_MAX);
	for (uint32_t i = 0; i < r->count; i++)
		VISIT(v, &r->rx[i], rx);
}

static void visit_sg(struct visit *v, struct rn_rec *rec)
{
	static const struct field counts[] = { R(post.wr, num_sge), R(post, count) };
	static const struct field sge[] = { NIN(struct rn_rec_sge, sge, addr),
					    NIN(struct rn_rec_sge, sge, len),
					    NIN(struct rn_rec_sge, sge, lkey) };
	struct rn_rec_post *p = &rec->u.post;

	VISIT(v, rec, counts);
	check_count(v, &p->count, RN_SGE_MAX);
	for (uint32_t i = 0; i < p->count; i++) {
		VISIT(v, &p->sg[i], sge);
		if (p->wr.flags & RN_SEND_INLINE)
			visit_bytes(v, "data", &p->sg[i].data, &p->sg[i].len);
	}
}

static void visit_post_send(struct visit *v, struct rn_rec *rec)
{
	static const struct field first[] = {
		R(post.wr, wr_id),
		R(post.wr, opcode),
		R(post.wr, flags),
		R(post.wr, imm),
		R(post.wr, remote_addr),
		R(post.wr, rkey),
		R(post.wr, compare_add),
		R(post.wr, swap),
		R(post.wr, bind_length),
		R(post.wr, bind_region),
		R(post.wr, bind_access),
		R(post.wr, flush_length),
		R(post.wr, flush_placement),
		R(post.wr, flush_selectivity),
		R(post, has_av),
	};
	static const struct field av[] = { AV(post.av) };
	static const struct field last[] = { R(post.wr, remote_qpn),
					     R(post.wr, remote_qkey),
					     R(post.wr, remote_srqn) };

	VISIT(v, rec, first);
	if (rec->u.post.has_av)
		VISIT(v, rec, av);
	VISIT(v, rec, last);
	visit_sg(v, rec);
}

static void visit_post_recv(struct visit *v, struct rn_rec *rec)
{
	static const struct field first[] = { R(post.wr, wr_id) };

	VISIT(v, rec, first);
	visit_sg(v, rec);
	if (rec->kind == RN_CALL_SRQ_POST_RECV)
		VISIT(v, rec, result);
}

static void visit_packet(struct visit *v, struct rn_rec *rec)
{
	static const struct field data[] = { R_DATA(packet.data, packet.len) };
	static const struct field more[] = { FLOW(struct rn_rec, u.packet.flow),
					     R(packet, dest_qpn), R(packet, src_qpn),
					     R(packet, response) };

	VISIT(v, rec, data);
	if (rec->u.packet.len > 0)
		VISIT(v, rec, more);
}

/* -------------------------------------------------------------------- kinds */
#define ALL(fields) fields, RN_ARRAY_SIZE(fields), NULL
#define NONE NULL, 0, NULL
#define BY(visit) NULL, 0, visit

/* clang-format off */
static const struct {
	const char *name;
	enum rn_rec_class class;
	bool has_now, has_id;
	const struct field *fields;
	size_t count;
	void (*visit)(struct visit *v, struct rn_rec *rec);
} kinds[RN_REC_KINDS] = {
	/*				name	     class	 now   id	  */
	[RN_REC_END_OF_FILE]    = { "end_of_file",    RN_REC_NOTE, 0, 0, NONE },

	[RN_CALL_DEV_INIT]       = { "dev_init",       RN_REC_CALL, 0, 0, ALL(dev_init) },
	[RN_CALL_DEV_FINI]       = { "dev_fini",       RN_REC_CALL, 0, 0, NONE },
	[RN_CALL_SET_GID]        = { "set_gid",        RN_REC_CALL, 0, 0, ALL(set_gid) },
	[RN_CALL_RECEIVE]        = { "receive",        RN_REC_CALL, 1, 0, BY(visit_receive) },
	[RN_CALL_TRANSMIT]       = { "transmit",       RN_REC_CALL, 1, 0, ALL(transmit) },
	[RN_CALL_EXPIRE]         = { "expire",         RN_REC_CALL, 1, 0, NONE },
	[RN_CALL_PEER_HOLDS]     = { "peer_holds",     RN_REC_CALL, 1, 0, ALL(peer_holds) },
	[RN_CALL_MEM_DONE]       = { "mem_done",       RN_REC_CALL, 1, 0, ALL(mem_done) },
	[RN_CALL_DEV_ERROR]      = { "dev_error",      RN_REC_CALL, 1, 0, NONE },
	[RN_CALL_TAKE_EVENT]     = { "take_event",     RN_REC_CALL, 0, 0, NONE },
	[RN_CALL_GROW]           = { "grow",           RN_REC_CALL, 0, 0, ALL(grow) },
	[RN_CALL_CQ_INIT]        = { "cq_init",        RN_REC_LONE, 0, 1, ALL(ring) },
	[RN_CALL_CQ_MOVE]        = { "cq_move",        RN_REC_LONE, 0, 1, ALL(ring) },
	[RN_CALL_CQ_ARM]         = { "cq_arm",         RN_REC_LONE, 0, 1, ALL(cq_arm) },
	[RN_CALL_CQ_MODERATE]    = { "cq_moderate",    RN_REC_CALL, 0, 1, ALL(cq_moderate) },
	[RN_CALL_CQ_FINI]        = { "cq_fini",        RN_REC_CALL, 0, 1, NONE },
	[RN_CALL_QP_CREATE]      = { "qp_create",      RN_REC_CALL, 0, 1, ALL(qp_create) },
	[RN_CALL_QP_MODIFY]      = { "qp_modify",      RN_REC_CALL, 1, 1, ALL(modify) },
	[RN_CALL_QP_PACE]        = { "qp_pace",        RN_REC_LONE, 1, 1, ALL(pace) },
	[RN_CALL_QP_DESTROY]     = { "qp_destroy",     RN_REC_CALL, 0, 1, NONE },
	[RN_CALL_QP_FAIL]        = { "qp_fail",        RN_REC_CALL, 1, 1, NONE },
	[RN_CALL_QP_OVERRUN]     = { "qp_overrun",     RN_REC_CALL, 1, 1, ALL(transmit) },
	[RN_CALL_POST_SEND]      = { "post_send",      RN_REC_CALL, 1, 1, BY(visit_post_send) },
	[RN_CALL_POST_RECV]      = { "post_recv",      RN_REC_CALL, 1, 1, BY(visit_post_recv) },
	[RN_CALL_ADD_MR]         = { "add_mr",         RN_REC_CALL, 0, 1, ALL(mr) },
	[RN_CALL_REMOVE_MR]      = { "remove_mr",      RN_REC_CALL, 0, 1, NONE },
	[RN_CALL_SRQ_CREATE]     = { "srq_create",     RN_REC_CALL, 0, 1, ALL(srq_create) },
	[RN_CALL_SRQ_POST_RECV]  = { "srq_post_recv",  RN_REC_LONE, 0, 1, BY(visit_post_recv) },
	[RN_CALL_SRQ_SET_LIMIT]  = { "srq_set_limit",  RN_REC_LONE, 0, 1, ALL(srq_number) },
	[RN_CALL_SRQ_RESIZE]     = { "srq_resize",     RN_REC_LONE, 0, 1, ALL(srq_number) },
	[RN_CALL_SRQ_DESTROY]    = { "srq_destroy",    RN_REC_LONE, 0, 1, NONE },
	[RN_CALL_MCAST_ATTACH]   = { "mcast_attach",   RN_REC_CALL, 0, 1, ALL(mcast) },
	[RN_CALL_MCAST_DETACH]   = { "mcast_detach",   RN_REC_CALL, 0, 1, NONE },
	[RN_CALL_TRANSMIT_FRAME] = { "transmit_frame", RN_REC_CALL, 1, 0, NONE },
	[RN_CALL_RECEIVE_FRAME]  = { "receive_frame",  RN_REC_CALL, 1, 1, ALL(receive_frame) },

	[RN_REC_READ]           = { "read",           RN_REC_ACCESS, 0, 0, ALL(read_access) },
	[RN_REC_WRITE]          = { "write",          RN_REC_ACCESS, 0, 0, ALL(write_access) },
	[RN_REC_ATOMIC]         = { "atomic",         RN_REC_ACCESS, 0, 0, ALL(atomic_access) },
	[RN_REC_BEFORE_ACK]     = { "before_ack",     RN_REC_ACCESS, 0, 0, ALL(before_ack) },
	[RN_REC_OVERRUN]        = { "overrun",        RN_REC_NOTE, 0, 1, NONE },

	[RN_REC_DONE]           = { "done",           RN_REC_OUTCOME, 0, 0, NONE },
	[RN_REC_RESULT]         = { "result",         RN_REC_OUTCOME, 0, 0, ALL(result) },
	[RN_REC_PACKET]         = { "packet",         RN_REC_OUTCOME, 0, 0, BY(visit_packet) },
	[RN_REC_FRAME]          = { "frame",          RN_REC_OUTCOME, 0, 0, ALL(frame_out) },
	[RN_REC_EVENT]          = { "event",          RN_REC_OUTCOME, 0, 0, ALL(event) },

	[RN_REC_LIMIT]          = { "limit",          RN_REC_NOTE, 0, 0, NONE },
};
/* clang-format on */

const char *rn_rec_name(unsigned kind)
{
	return (unsigned)kind < RN_REC_KINDS ? kinds[kind].name : "?";
}

enum rn_rec_class rn_rec_class(unsigned kind)
{
	assert((unsigned)kind < RN_REC_KINDS);
	return kinds[kind].class;
}

static void visit(struct visit *v, struct rn_rec *rec)
{
	static const struct field dev[] = { N(struct rn_rec, dev) };
	static const struct field now[] = { N(struct rn_rec, now) };
	static const struct field id[] = { N(struct rn_rec, id) };

	VISIT(v, rec, dev);
	if (kinds[rec->kind].has_now)
		VISIT(v, rec, now);
	if (kinds[rec->kind].has_id)
		VISIT(v, rec, id);
	visit_fields(v, rec, kinds[rec->kind].fields, kinds[rec->kind].count);
	if (kinds[rec->kind].visit)
		kinds[rec->kind].visit(v, rec);
}

static void put_le32(uint8_t *out, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_le32(const uint8_t *in)
{
	return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 |
	       (uint32_t)in[3] << 24;
}

size_t rn_rec_put(const struct rn_rec *rec, uint8_t *out, size_t room)
{
	struct visit v = { .mode = PUT };
	size_t len;

	assert(rec->kind > RN_REC_END_OF_FILE && rec->kind < RN_REC_KINDS);
	if (room < RN_REC_HEAD)
		return 0;
	v.out = out + RN_REC_HEAD;
	v.left = room - RN_REC_HEAD;
	/* Writing does not change the record. */
	visit(&v, (struct rn_rec *)rec);
	if (v.failed)
		return 0;
	len = (size_t)(v.out - out);
	put_le32(out, (uint32_t)(len - 4));
	out[4] = (uint8_t)rec->kind;
	return len;
}

/* Reads the head of a record. Return: bytes of the record with its head; 0 at the end of
 * the file; -EPROTO: not a record.
 */
static ssize_t frame(const uint8_t *in, size_t left, unsigned *kind)
{
	uint32_t len;

	*kind = RN_REC_END_OF_FILE;
	if (left < RN_REC_HEAD)
		return 0; /* the allocated space behind the last record may be so short */
	len = get_le32(in);
	if (len == 0)
		return 0;
	if (len > RN_REC_MAX || len > left - 4 || in[4] == RN_REC_END_OF_FILE ||
	    in[4] >= RN_REC_KINDS)
		return -EPROTO;
	*kind = in[4];
	return (ssize_t)len + 4;
}

static bool dev_is_sane(const struct rn_rec *rec)
{
	return rec->dev < RN_REC_DEVS || rec->dev == RN_REC_NO_DEV;
}

ssize_t rn_rec_get(const uint8_t *in, size_t left, struct rn_rec *rec)
{
	struct visit v = { .mode = GET };
	unsigned kind;
	ssize_t len = frame(in, left, &kind);

	rec->kind = kind;
	if (len <= 0)
		return len;
	rec->now = 0;
	rec->id = 0;
	rec->result = 0;
	memset(&rec->u, 0, sizeof(rec->u));
	v.in = in + RN_REC_HEAD;
	v.left = (size_t)len - RN_REC_HEAD;
	visit(&v, rec);
	return v.failed || v.left > 0 || !dev_is_sane(rec) ? -EPROTO : len;
}

ssize_t rn_rec_peek(const uint8_t *in, size_t left, unsigned *kind, uint8_t *dev)
{
	ssize_t len = frame(in, left, kind);

	/* The first byte tells the device: device numbers have one byte,
	 * RN_REC_NO_DEV two.
	 */
	if (len > 0)
		*dev = len == RN_REC_HEAD ? RN_REC_NO_DEV : in[RN_REC_HEAD];
	return len;
}

void rn_rec_list(const struct rn_rec *rec, rn_rec_see *see, void *arg)
{
	struct visit v = { .mode = LIST, .see = see, .arg = arg };

	visit(&v, (struct rn_rec *)rec);
}

/* ---------------------------------------------- conversion of calls to records */
static void describe_packets(const struct rn_call *c, struct rn_rec_receive *r)
{
	const struct rn_rx *rx = c->u.receive.pkts;

	r->count = c->u.receive.count;
	for (uint32_t i = 0; i < r->count; i++)
		r->rx[i] = (struct rn_rec_rx){ .flow = *rx[i].flow,
					       .data = rx[i].data,
					       .len = rx[i].len,
					       .gro_idx = rx[i].gro_idx,
					       .icrc = rx[i].icrc };
}

static void describe_sg(struct rn_rec_post *p, const struct rn_sge *sg, uint32_t num_sge)
{
	uint64_t inline_len = 0;

	p->count = num_sge < RN_SGE_MAX ? num_sge : RN_SGE_MAX;
	for (uint32_t i = 0; i < p->count; i++) {
		p->sg[i] = (struct rn_rec_sge){ .sge = sg[i] };
		inline_len += sg[i].len;
	}
	/* The core reads no more inline data than that, and neither does the recorder. */
	if (!(p->wr.flags & RN_SEND_INLINE) || inline_len > RN_INLINE_MAX)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		p->sg[i].data = (const uint8_t *)(uintptr_t)sg[i].addr;
		p->sg[i].len = sg[i].len;
	}
}

static void describe_send(const struct rn_send_wr *wr, struct rn_rec_post *p)
{
	p->wr = *wr;
	p->has_av = wr->av;
	if (wr->av)
		p->av = *wr->av;
	describe_sg(p, wr->sg, wr->num_sge);
}

static void describe_recv(const struct rn_recv_wr *wr, struct rn_rec_post *p)
{
	p->wr = (struct rn_send_wr){ .wr_id = wr->wr_id, .num_sge = wr->num_sge };
	describe_sg(p, wr->sg, wr->num_sge);
}

static void describe_qp(const struct rn_qp_init *init, struct rn_rec_qp_init *r)
{
	*r = (struct rn_rec_qp_init){ .init = *init,
				      .send_cq = rn_rec_id(init->send_cq),
				      .recv_cq = rn_rec_id(init->recv_cq),
				      .srq = rn_rec_id(init->srq) };
}

/* Converts the frequent calls, those with work requests and packets. False: another call.
 */
static bool describe_traffic(const struct rn_call *c, struct rn_rec *rec)
{
	switch ((int)c->kind) {
	case RN_CALL_RECEIVE:
		describe_packets(c, &rec->u.receive);
		return true;
	case RN_CALL_TRANSMIT:
		rec->u.what = c->u.transmit.what;
		return true;
	case RN_CALL_POST_SEND:
		describe_send(c->u.send, &rec->u.post);
		return true;
	case RN_CALL_POST_RECV:
	case RN_CALL_SRQ_POST_RECV:
		describe_recv(c->u.recv, &rec->u.post);
		return true;
	case RN_CALL_RECEIVE_FRAME:
		rec->u.rx_frame = *c->u.frame;
		return true;
	default:
		return false;
	}
}

static void describe_other(const struct rn_call *c, struct rn_rec *rec)
{
	switch ((int)c->kind) {
	case RN_CALL_SET_GID:
		rec->u.gid = c->u.set_gid;
		break;
	case RN_CALL_PEER_HOLDS:
		rec->u.peer_holds = c->u.peer_holds;
		break;
	case RN_CALL_GROW:
		rec->u.grow = c->u.grow;
		break;
	case RN_CALL_CQ_INIT:
	case RN_CALL_CQ_MOVE:
	case RN_CALL_CQ_ARM:
	case RN_CALL_CQ_MODERATE:
		rec->u.cq = c->u.cq;
		break;
	case RN_CALL_QP_CREATE:
		describe_qp(c->u.qp, &rec->u.qp_init);
		break;
	case RN_CALL_QP_MODIFY:
		rec->u.modify = (struct rn_rec_modify){ .mask = c->u.modify.mask,
							.attr = *c->u.modify.attr };
		break;
	case RN_CALL_QP_PACE:
		rec->u.pace = c->u.pace;
		break;
	case RN_CALL_QP_OVERRUN:
		rec->u.what = c->u.of_send_cq;
		break;
	case RN_CALL_ADD_MR:
		rec->u.mr = *(const struct rn_mr *)c->object;
		break;
	case RN_CALL_SRQ_CREATE:
		rec->u.srq.init = *c->u.srq;
		rec->u.srq.cq = rn_rec_id(c->u.srq->cq);
		break;
	case RN_CALL_SRQ_SET_LIMIT:
	case RN_CALL_SRQ_RESIZE:
		rec->u.srq.number = c->u.number;
		break;
	case RN_CALL_MCAST_ATTACH:
		rec->u.mcast = (struct rn_rec_mcast){ .qp = rn_rec_id(c->u.mcast.qp),
						      .mgid = *c->u.mcast.mgid };
		break;
	default:
		break;
	}
}

void rn_rec_call(const struct rn_call *c, struct rn_rec *rec)
{
	rec->kind = c->kind;
	rec->now = c->now;
	rec->id = rn_rec_id(c->object);
	rec->result = (int32_t)c->result;
	if (!describe_traffic(c, rec))
		describe_other(c, rec);
}

/* ---------------------------------------------------------------- outcomes */
static void packet_outcome(const struct rn_call *c, struct rn_rec *rec)
{
	struct rn_rec_packet *packet = &rec->u.packet;
	const struct rn_tx *tx = c->u.transmit.tx;

	packet->len = (uint32_t)c->result;
	packet->data = c->u.transmit.buf;
	if (packet->len == 0)
		return;
	if (c->kind == RN_CALL_TRANSMIT_FRAME) {
		packet->flags = *c->u.transmit.flags;
		return;
	}
	packet->flow = *tx->flow;
	packet->dest_qpn = tx->dest_qpn;
	packet->src_qpn = tx->src_qpn;
	packet->response = tx->response;
}

static void event_outcome(const struct rn_call *c, struct rn_rec *rec)
{
	if (!c->result)
		return;
	rec->u.event.some = true;
	rec->u.event.completion = c->u.event->completion;
	rec->u.event.async = c->u.event->completion ? 0 : c->u.event->async;
}

void rn_rec_outcome(const struct rn_call *c, struct rn_rec *rec)
{
	*rec = (struct rn_rec){ .kind = RN_REC_DONE };
	switch ((int)c->kind) {
	case RN_CALL_DEV_INIT:
	case RN_CALL_QP_MODIFY:
	case RN_CALL_POST_SEND:
	case RN_CALL_POST_RECV:
	case RN_CALL_RECEIVE_FRAME:
		rec->kind = RN_REC_RESULT;
		rec->result = (int32_t)c->result;
		break;
	case RN_CALL_TRANSMIT:
		rec->kind = RN_REC_PACKET;
		packet_outcome(c, rec);
		break;
	case RN_CALL_TRANSMIT_FRAME:
		rec->kind = RN_REC_FRAME;
		packet_outcome(c, rec);
		break;
	case RN_CALL_TAKE_EVENT:
		rec->kind = RN_REC_EVENT;
		event_outcome(c, rec);
		break;
	default:
		break;
	}
}

/* ------------------------------------------------- places of bytes in packets */
void rn_rec_place_write(const struct rn_call *c, struct rn_rec_write *w, const void *src)
{
	unsigned count = c && c->kind == RN_CALL_RECEIVE ? c->u.receive.count : 0;

	for (unsigned i = 0; i < count; i++) {
		const struct rn_rx *rx = &c->u.receive.pkts[i];
		uintptr_t offset = (uintptr_t)src - (uintptr_t)rx->data;

		if (offset > rx->len || w->len > rx->len - offset)
			continue;
		w->packet = i + 1;
		w->offset = (uint32_t)offset;
		return;
	}
	w->data = src;
	w->data_len = w->len;
}

uint32_t rn_rec_place_read(const struct rn_call *c, const void *dst)
{
	uintptr_t offset;

	if (!c || (c->kind != RN_CALL_TRANSMIT && c->kind != RN_CALL_TRANSMIT_FRAME))
		return 0;
	offset = (uintptr_t)dst - (uintptr_t)c->u.transmit.buf;
	return offset < c->u.transmit.cap ? (uint32_t)offset + 1 : 0;
}

/* ------------------------------------------------------------------ header */
static void visit_header(struct visit *v, struct rn_rec_header *s)
{
	static const struct field version[] = { N(struct rn_rec_header, version) };
	static const struct field more[] = { N(struct rn_rec_header, pid),
					     N(struct rn_rec_header, date) };

	VISIT(v, s, version);
	visit_bytes(v, "rocin", &s->rocin, &s->rocin_len);
	if (v->mode == GET && s->version != RN_REC_VERSION)
		return;
	VISIT(v, s, more);
	visit_bytes(v, "command", &s->command, &s->command_len);
	visit_bytes(v, "fault", &s->fault, &s->fault_len);
}

size_t rn_rec_put_header(const struct rn_rec_header *h, uint8_t *out, size_t room)
{
	struct visit v = { .mode = PUT };

	if (room < sizeof(rn_rec_magic))
		return 0;
	memcpy(out, rn_rec_magic, sizeof(rn_rec_magic));
	v.out = out + sizeof(rn_rec_magic);
	v.left = room - sizeof(rn_rec_magic);
	visit_header(&v, (struct rn_rec_header *)h);
	return v.failed ? 0 : (size_t)(v.out - out);
}

ssize_t rn_rec_get_header(const uint8_t *in, size_t left, struct rn_rec_header *h)
{
	struct visit v = { .mode = GET };

	memset(h, 0, sizeof(*h));
	if (left < sizeof(rn_rec_magic) ||
	    memcmp(in, rn_rec_magic, sizeof(rn_rec_magic)) != 0)
		return -EBADMSG;
	v.in = in + sizeof(rn_rec_magic);
	v.left = left - sizeof(rn_rec_magic);
	visit_header(&v, h);
	if (v.failed)
		return -EBADMSG;
	return h->version == RN_REC_VERSION ? v.in - in : -ENOTSUP;
}
