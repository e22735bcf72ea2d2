/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mads.c - CM messages of a scenario: from the fields of a line to bytes, and back.
 *
 * Source of the layouts: IBTA Vol 1, 13.4.2 (header), 12.6 and 12.7 (messages).
 */
#include <string.h>

#include "mads.h"
#include "rocin/gsi.h"
#include "rocin/icrc.h"
#include "rocin/psn.h"

enum {
	PEER_ID = 0x0a000001,
	PEER_QPN = 0x91,
	PORT = 7174,
	PRIVATE_LETTERS = 8,
	BY_PEER = 0,
	BY_DEVICE = 1,
};

#define PEER_GUID UINT64_C(0x0200000000000099)
#define PEER_TID UINT64_C(0x7e57000000000000)

/* Where a field is: bits from the first byte of the MAD. */
struct place {
	uint8_t field; /* enum rn_scn_field */
	uint16_t bit, width;
};

/* Byte and bit within the message, as the tables of chapter 12 count them. */
#define AT(byte, bit, width, field)                                          \
	{                                                                    \
		RN_F_##field, (RN_MAD_HDR_LEN + (byte)) * 8 + (bit), (width) \
	}

/* clang-format off */
static const struct place header[] = {
	{ RN_F_BASE,        0 * 8,  8 },
	{ RN_F_CLASS,       1 * 8,  8 },
	{ RN_F_VERSION,     2 * 8,  8 },
	{ RN_F_METHOD,      3 * 8,  8 },
	{ RN_F_TID,         8 * 8, 64 },
	{ RN_F_ATTR_NUMBER, 16 * 8, 16 },
	{ 0 },
};
static const struct place tid_place = { RN_F_TID, 8 * 8, 64 };
static const struct place attr_place = { RN_F_ATTR_NUMBER, 16 * 8, 16 };

static const struct place req[] = {
	AT(0, 0, 32, LOCAL),      AT(8, 0, 64, SERVICE),      AT(16, 0, 64, GUID),
	AT(28, 0, 32, QKEY),      AT(32, 0, 24, QPN),         AT(35, 0, 8, RESP),
	AT(39, 0, 8, DEPTH),      AT(43, 0, 5, REMOTE_TIMEOUT), AT(43, 5, 2, TRANSPORT),
	AT(44, 0, 24, PSN),       AT(47, 0, 5, LOCAL_TIMEOUT), AT(47, 5, 3, RETRY),
	AT(48, 0, 16, PKEY),      AT(50, 0, 4, MTU),          AT(50, 5, 3, RNR_RETRY),
	AT(51, 0, 4, CM_RETRIES), AT(51, 5, 3, EXT),          AT(95, 0, 5, ACK_TIMEOUT),
	{ 0 },
};

static const struct place mra[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(8, 0, 2, ABOUT), AT(9, 0, 5, WAIT),
	{ 0 },
};

static const struct place rej[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(8, 0, 2, ABOUT), AT(9, 0, 7, ARI),
	AT(10, 0, 16, REASON),
	{ 0 },
};

static const struct place rep[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE),    AT(8, 0, 32, QKEY),
	AT(12, 0, 24, QPN),  AT(16, 0, 24, EECN),     AT(20, 0, 24, PSN),
	AT(24, 0, 8, RESP),  AT(25, 0, 8, DEPTH),     AT(26, 0, 5, ACK_DELAY),
	AT(27, 0, 3, RNR_RETRY), AT(28, 0, 64, GUID),
	{ 0 },
};

static const struct place ids[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE),
	{ 0 },
};

static const struct place dreq[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(8, 0, 24, REMOTE_QPN),
	{ 0 },
};

static const struct place sidr_req[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 16, PKEY), AT(8, 0, 64, SERVICE),
	{ 0 },
};

static const struct place sidr_rep[] = {
	AT(0, 0, 32, REMOTE), AT(4, 0, 8, CM_STATUS), AT(5, 0, 8, ARI), AT(8, 0, 24, QPN),
	AT(12, 0, 64, SERVICE), AT(20, 0, 32, QKEY),
	{ 0 },
};

static const struct place lap[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(12, 0, 24, REMOTE_QPN),
	AT(15, 0, 5, REMOTE_TIMEOUT), AT(63, 0, 5, ACK_TIMEOUT),
	{ 0 },
};

static const struct place apr[] = {
	AT(0, 0, 32, LOCAL), AT(4, 0, 32, REMOTE), AT(8, 0, 8, ARI), AT(9, 0, 8, CM_STATUS),
	{ 0 },
};

/* Bytes within the message; 0: it has no such. @question: what it answers, 0: nothing. */
static const struct layout {
	const struct place *places;
	uint16_t local_gid, gid, private_at, private_len;
	uint16_t question;
} layouts[RN_SCENE_MAD_KINDS] = {
	[0 /* REQ */] =                { req,      56, 72, 140,  92, 0 },
	[RN_CM_MRA - RN_CM_REQ] =      { mra,       0,  0,  10, 222, RN_CM_REQ },
	[RN_CM_REJ - RN_CM_REQ] =      { rej,       0,  0,  84, 148, RN_CM_REQ },
	[RN_CM_REP - RN_CM_REQ] =      { rep,       0,  0,  36, 196, RN_CM_REQ },
	[RN_CM_RTU - RN_CM_REQ] =      { ids,       0,  0,   8, 224, RN_CM_REQ },
	[RN_CM_DREQ - RN_CM_REQ] =     { dreq,      0,  0,  12, 220, 0 },
	[RN_CM_DREP - RN_CM_REQ] =     { ids,       0,  0,   8, 224, RN_CM_DREQ },
	[RN_CM_SIDR_REQ - RN_CM_REQ] = { sidr_req,  0,  0,  16, 216, 0 },
	[RN_CM_SIDR_REP - RN_CM_REQ] = { sidr_rep,  0,  0,  96, 136, RN_CM_SIDR_REQ },
	[RN_CM_LAP - RN_CM_REQ] =      { lap,      24, 40,  64, 168, 0 },
	[RN_CM_APR - RN_CM_REQ] =      { apr,       0,  0,  84, 148, RN_CM_LAP },
};
/* clang-format on */

static const struct layout *layout_of(unsigned attr)
{
	return &layouts[attr - RN_CM_REQ];
}

static const struct place *find_place(const struct place *at, enum rn_scn_field f)
{
	for (; at->width; at++)
		if (at->field == f)
			return at;
	return NULL;
}

static uint64_t get_bits(const uint8_t *mad, const struct place *at)
{
	uint64_t value = 0;

	for (unsigned i = at->bit; i < (unsigned)at->bit + at->width; i++)
		value = value << 1 | (mad[i / 8] >> (7 - i % 8) & 1);
	return value;
}

/* What does not fit loses its highest bits. */
static void put_bits(uint8_t *mad, const struct place *at, uint64_t value)
{
	for (unsigned i = at->bit + at->width; i-- > at->bit; value >>= 1) {
		uint8_t mask = (uint8_t)(0x80 >> i % 8);

		mad[i / 8] = (uint8_t)((mad[i / 8] & ~mask) | (value & 1 ? mask : 0));
	}
}

/* ----------------------------------------------------------------- what is known */
uint32_t rn_scene_peer_id(unsigned conn)
{
	return PEER_ID + conn;
}

uint32_t rn_scene_peer_qpn(unsigned conn)
{
	return PEER_QPN + conn;
}

uint64_t rn_scene_service(const struct rn_scn_object *conn)
{
	bool udp = rn_scn_has(&conn->line, RN_F_UDP);
	uint16_t port = (uint16_t)rn_scn_get(&conn->line, RN_F_PORT, PORT);

	return rn_scn_get(&conn->line, RN_F_SERVICE,
			  rn_cm_service_id(udp ? RN_CM_PS_UDP : RN_CM_PS_TCP, port));
}

void rn_scene_letters(uint64_t value, uint8_t out[8])
{
	rn_put_be64(out, value);
}

uint64_t rn_scene_letters_of(const uint8_t *data, uint32_t len)
{
	for (uint32_t i = PRIVATE_LETTERS; i < len; i++)
		if (data[i])
			return UINT64_MAX;
	return rn_get_be64(data);
}

static const struct rn_gid *gid_of(const struct rn_scene_names *n, uint64_t which)
{
	static const struct rn_gid none;

	switch (which) {
	case RN_SCN_GID_DEVICE:
		return &n->device;
	case RN_SCN_GID_PEER:
		return &n->peer;
	case RN_SCN_GID_OTHER:
		return &n->other;
	default:
		return &none;
	}
}

static uint64_t which_gid(const struct rn_scene_names *n, const uint8_t *raw)
{
	for (uint64_t i = 0; i < RN_SCN_GID_UNKNOWN; i++)
		if (!memcmp(gid_of(n, i)->raw, raw, sizeof(n->device.raw)))
			return i;
	return RN_SCN_GID_UNKNOWN;
}

/* The transaction that an answer of @by belongs to; 0: unknown, or a message that begins
 * one.
 */
static uint64_t transaction(const struct rn_scene_conn *conn, const struct rn_scn_line *l,
			    unsigned by)
{
	unsigned question = layout_of(l->opcode)->question;
	uint64_t asked;

	if (l->opcode == RN_CM_MRA &&
	    rn_scn_get(l, RN_F_ABOUT, RN_CM_ABOUT_REQ) == RN_CM_ABOUT_OTHER)
		question = RN_CM_LAP;
	if (!question)
		return 0;
	asked = get_bits(conn->last[!by][question - RN_CM_REQ], &tid_place);
	return asked ? asked : get_bits(conn->last[by][question - RN_CM_REQ], &tid_place);
}

/* -------------------------------------------------------------------- encoding */
/* What a field of a peer's message is if nothing is said. */
static uint64_t usual(const struct rn_scn_object *o, const struct rn_scene_conn *conn,
		      const struct rn_scn_line *l, enum rn_scn_field f)
{
	static const struct {
		enum rn_scn_field field;
		uint64_t value;
	} same[] = {
		{ RN_F_BASE, RN_MAD_BASE_VERSION },
		{ RN_F_CLASS, RN_MAD_CLASS_CM },
		{ RN_F_VERSION, RN_MAD_CM_VERSION },
		{ RN_F_METHOD, RN_MAD_SEND },
		{ RN_F_GUID, PEER_GUID },
		{ RN_F_RESP, 4 },
		{ RN_F_DEPTH, 2 },
		{ RN_F_REMOTE_TIMEOUT, 20 },
		{ RN_F_LOCAL_TIMEOUT, 20 },
		{ RN_F_ACK_TIMEOUT, 19 },
		{ RN_F_ACK_DELAY, 15 },
		{ RN_F_PSN, 0x191 },
		{ RN_F_RETRY, 7 },
		{ RN_F_RNR_RETRY, 6 },
		{ RN_F_PKEY, 0xffff },
		{ RN_F_MTU, 3 },
		{ RN_F_CM_RETRIES, 15 },
		{ RN_F_WAIT, 20 },
		{ RN_F_REASON, RN_CM_REJ_CONSUMER },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(same); i++)
		if (same[i].field == f)
			return same[i].value;
	switch ((int)f) {
	case RN_F_ATTR_NUMBER:
		return l->opcode;
	case RN_F_LOCAL:
		return rn_scene_peer_id(l->subject);
	case RN_F_REMOTE:
		return conn->device_id;
	case RN_F_SERVICE:
		return rn_scene_service(o);
	case RN_F_QPN:
		return rn_scene_peer_qpn(l->subject);
	case RN_F_REMOTE_QPN:
		return conn->device_qpn;
	default:
		return 0;
	}
}

static void put_places(uint8_t *mad, const struct place *at,
		       const struct rn_scn_object *o, const struct rn_scene_conn *conn,
		       const struct rn_scn_line *l)
{
	for (; at->width; at++) {
		enum rn_scn_field f = (enum rn_scn_field)at->field;

		put_bits(mad, at, rn_scn_get(l, f, usual(o, conn, l, f)));
	}
}

/* A routed path between two addresses. */
static void put_path(uint8_t *mad, const struct rn_scene_names *n, const struct layout *m,
		     const struct rn_scn_line *l)
{
	uint8_t *at = mad + RN_MAD_HDR_LEN + m->local_gid;
	uint64_t local = rn_scn_get(l, RN_F_LOCAL_GID, RN_SCN_GID_PEER);
	uint64_t remote = rn_scn_get(l, RN_F_GID, RN_SCN_GID_DEVICE);

	memset(at - 4, 0xff, 4); /* LIDs */
	memcpy(at, gid_of(n, local)->raw, 16);
	memcpy(at + 16, gid_of(n, remote)->raw, 16);
	at[l->opcode == RN_CM_REQ ? 37 : 36] = 64; /* hop limit */
}

static bool has_ip_header(const uint8_t *mad, unsigned attr)
{
	const struct place *service = find_place(layout_of(attr)->places, RN_F_SERVICE);

	return (attr == RN_CM_REQ || attr == RN_CM_SIDR_REQ) && service &&
	       rn_cm_service_is_ip(get_bits(mad, service));
}

/* The private data of a message that its sender's program chose. */
static const uint8_t *private_data(const uint8_t *mad, unsigned attr, uint32_t *len)
{
	const struct layout *m = layout_of(attr);
	uint32_t skip = has_ip_header(mad, attr) ? RN_CM_IP_HDR_LEN : 0;

	*len = m->private_len - skip;
	return mad + RN_MAD_HDR_LEN + m->private_at + skip;
}

static void put_private(uint8_t *mad, const struct rn_scene_names *n,
			const struct rn_scn_line *l)
{
	const struct rn_cm_ip_hdr ip = {
		.src_port = 50000,
		.src = n->peer,
		.dst = n->device,
	};
	uint8_t *at = mad + RN_MAD_HDR_LEN + layout_of(l->opcode)->private_at;

	if (has_ip_header(mad, l->opcode)) {
		uint8_t *after = rn_cm_ip_hdr_emit(at, &ip);

		at[0] = (uint8_t)rn_scn_get(l, RN_F_IP_VERSION, at[0]);
		at = after;
	}
	rn_scene_letters(rn_scn_get(l, RN_F_PRIVATE, 0), at);
}

static void fill_mad(const struct rn_scene_names *n, const struct rn_scn_object *o,
		     struct rn_scene_conn *conn, const struct rn_scn_line *l,
		     uint8_t *mad)
{
	const struct layout *m = layout_of(l->opcode);
	uint64_t tid = transaction(conn, l, BY_PEER);

	memset(mad, 0, RN_MAD_LEN);
	put_places(mad, header, o, conn, l);
	put_places(mad, m->places, o, conn, l);
	conn->said++;
	if (!tid)
		tid = PEER_TID | (uint64_t)l->subject << 32 | conn->said;
	put_bits(mad, &tid_place, rn_scn_get(l, RN_F_TID, tid));
	if (m->gid)
		put_path(mad, n, m, l);
	put_private(mad, n, l);
}

void rn_scene_mad_encode(const struct rn_scene_names *n, const struct rn_scn_object *o,
			 struct rn_scene_conn *conn, const struct rn_scn_line *l,
			 struct rn_scene_packet *out)
{
	uint8_t *last = conn->last[BY_PEER][l->opcode - RN_CM_REQ];
	const struct rn_bth bth = {
		.opcode = (uint8_t)rn_scn_get(l, RN_F_OPCODE_NUMBER, RN_UD_SEND_ONLY),
		.migreq = true,
		.pkey = RN_PKEY_DEFAULT,
		.dest_qpn = (uint32_t)rn_scn_get(l, RN_F_DEST, 1) & RN_QPN_MASK,
		.psn = { conn->said & RN_PSN_MASK },
	};
	const struct rn_deth deth = {
		.qkey = (uint32_t)rn_scn_get(l, RN_F_GSI_QKEY, RN_GSI_QKEY),
		.src_qpn = (uint32_t)rn_scn_get(l, RN_F_SRC, 1) & RN_QPN_MASK,
	};
	uint8_t *p = rn_deth_emit(rn_bth_emit(out->bytes, &bth), &deth);

	if (!rn_scn_has(l, RN_F_AGAIN))
		fill_mad(n, o, conn, l, last);
	memcpy(p, last, RN_MAD_LEN);
	rn_scene_seal(n, l, out, p + RN_MAD_LEN);
}

/* -------------------------------------------------------------------- decoding */
static void put(struct rn_scn_line *l, enum rn_scn_field f, uint64_t value)
{
	l->given |= RN_F_BIT(f);
	l->value[f] = value;
	l->region[f] = RN_SCN_ABSOLUTE;
}

static void read_places(struct rn_scn_line *l, const uint8_t *mad, const struct place *at)
{
	for (; at->width; at++)
		put(l, (enum rn_scn_field)at->field, get_bits(mad, at));
}

bool rn_scene_is_mad(const struct rn_scene_packet *p)
{
	struct rn_bth bth;

	return p->len >= RN_BTH_LEN + RN_ICRC_LEN &&
	       !rn_bth_parse(&bth, p->bytes, p->bytes + p->len) && bth.dest_qpn == 1;
}

/* The MAD of a packet as queue pair 1 of a port sends it; NULL: it is none. */
static const uint8_t *unpack(const struct rn_scene_packet *p)
{
	const uint8_t *deth_at = p->bytes + RN_BTH_LEN, *mad = deth_at + RN_DETH_LEN;
	struct rn_deth deth;
	struct rn_bth bth;

	if (p->len != RN_GSI_PACKET_LEN || rn_bth_parse(&bth, p->bytes, deth_at) ||
	    bth.opcode != RN_UD_SEND_ONLY || bth.pkey != RN_PKEY_DEFAULT || bth.pad_cnt ||
	    rn_deth_parse(&deth, deth_at, mad) || deth.qkey != RN_GSI_QKEY ||
	    deth.src_qpn != 1 ||
	    rn_icrc_check(NULL, &p->flow, p->bytes, p->len, 0, false) == RN_ICRC_BAD)
		return NULL;
	return mad;
}

const uint8_t *rn_scene_mad_decode(const struct rn_scene_names *n,
				   const struct rn_scene_packet *p, struct rn_scn_line *l)
{
	const uint8_t *mad = unpack(p), *data;
	const struct layout *m;
	uint64_t attr;
	uint32_t len;

	if (!mad)
		return NULL;
	attr = get_bits(mad, &attr_place);
	if (attr < RN_CM_REQ || attr > RN_CM_APR)
		return NULL;
	m = layout_of((unsigned)attr);
	*l = (struct rn_scn_line){ .verb = RN_SCN_MAD_OUT, .opcode = (uint8_t)attr };
	read_places(l, mad, header);
	read_places(l, mad, m->places);
	if (m->gid && n) {
		put(l, RN_F_GID, which_gid(n, mad + RN_MAD_HDR_LEN + m->gid));
		put(l, RN_F_LOCAL_GID, which_gid(n, mad + RN_MAD_HDR_LEN + m->local_gid));
	}
	data = private_data(mad, (unsigned)attr, &len);
	put(l, RN_F_PRIVATE, rn_scene_letters_of(data, len));
	return mad;
}

/* ------------------------------------------------------------ what is expected */
/* Unless the line says something else. */
static void want(struct rn_scn_line *l, enum rn_scn_field f, uint64_t value)
{
	if (!rn_scn_has(l, f))
		put(l, f, value);
}

struct rn_scn_line rn_scene_mad_wanted(const struct rn_scene_conn *conn,
				       const struct rn_scn_line *l)
{
	const struct layout *m = layout_of(l->opcode);
	struct rn_scn_line w = *l;
	uint64_t tid = transaction(conn, l, BY_DEVICE);

	w.given &= ~(RN_F_BIT(RN_F_AGAIN) | RN_F_BIT(RN_F_OPTIONAL) | RN_F_BIT(RN_F_TO));
	if (rn_scn_has(l, RN_F_AGAIN))
		return w; /* all of it is compared */
	want(&w, RN_F_BASE, RN_MAD_BASE_VERSION);
	want(&w, RN_F_CLASS, RN_MAD_CLASS_CM);
	want(&w, RN_F_VERSION, RN_MAD_CM_VERSION);
	want(&w, RN_F_METHOD, RN_MAD_SEND);
	want(&w, RN_F_PRIVATE, 0);
	if (find_place(m->places, RN_F_REMOTE))
		want(&w, RN_F_REMOTE, rn_scene_peer_id(l->subject));
	/* Who rejects a request may have no ID yet. */
	if (conn->device_id && l->opcode != RN_CM_REJ &&
	    find_place(m->places, RN_F_LOCAL))
		want(&w, RN_F_LOCAL, conn->device_id);
	if (tid)
		want(&w, RN_F_TID, tid);
	return w;
}

void rn_scene_mad_note(struct rn_scene_conn *conn, const struct rn_scn_line *came,
		       const uint8_t *mad)
{
	memcpy(conn->last[BY_DEVICE][came->opcode - RN_CM_REQ], mad, RN_MAD_LEN);
	if (came->opcode != RN_CM_REJ && rn_scn_get(came, RN_F_LOCAL, 0))
		conn->device_id = (uint32_t)came->value[RN_F_LOCAL];
	if (came->opcode == RN_CM_REQ || came->opcode == RN_CM_REP)
		conn->device_qpn = (uint32_t)came->value[RN_F_QPN];
}
