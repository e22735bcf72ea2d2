/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.h - the structs of the connection manager (CM), and the functions that its
 * files share.
 *
 * A connection is always in the hash index by_id, under our communication ID. From the
 * time when the peer's ID, CA GUID and address are known until the end of time-wait, it
 * is also in by_peer, under these three. From the time when the peer's QPN is known until
 * time-wait begins, it is also in by_qpn, under QPN, CA GUID and address.
 */
#ifndef RN_CM_PRIVATE_H
#define RN_CM_PRIVATE_H

#include <errno.h>
#include <string.h>

#include "rocin/cm.h"
#include "rocin/hnode.h"
#include "rocin/random.h"
#include "rocin/wire.h"
#include "transport/container/list.h"
#include "transport/container/timer.h"

enum {
	/* number of answers outside of any connection that can wait to be sent */
	RN_CM_REPLIES = 16,
	RN_CM_TIME_CODE_MAX = 25,
	/* Number of messages that may be sent for each message received, while the source
	 * address is not proven. All MADs have the same length, so this also limits the
	 * bytes; QUIC has the same limit (RFC 9000, 8.1).
	 */
	RN_CM_AMPLIFICATION = 3,
	/* Number of addresses that are remembered as proven; a power of two. A new
	 * address may displace another one from the table. The displaced address then
	 * only gets fewer repetitions of messages, until it is proven again.
	 */
	RN_CM_PROVEN = 256,
	/* Number of received LAPs whose transaction IDs are remembered, to recognise late
	 * copies. Transaction IDs are not ordered, so the last one alone is not enough.
	 */
	RN_CM_LAPS = 4,
};

/* State of the exchange of LAP and APR. */
enum rn_cm_lap_state {
	RN_CM_LAP_NONE,
	RN_CM_LAP_SENT,
	RN_CM_LAP_RCVD,
	RN_CM_LAP_MRA_SENT,
};

struct rn_cm_conn {
	struct rn_cm_info info;
	struct rn_timer timer;	 /* sends the last message again, or ends time-wait */
	struct rn_hnode by_id;	 /* entry in rn_cm.by_id */
	struct rn_hnode by_peer; /* entry in rn_cm.by_peer, if @in_peer */
	struct rn_hnode by_qpn;
	bool in_peer, in_qpn;
	/* the program has not called rn_cm_close() for the connection yet */
	bool is_open;
	bool is_sidr;
	/* True if the peer's address is proven, that is, known not to be forged (cm.c).
	 * Until then, @credit is the number of messages that may still be sent to it.
	 */
	bool is_proven;
	uint8_t credit;
	/* state of the LAP exchange; valid in state RN_CM_ESTABLISHED */
	enum rn_cm_lap_state lap;
	struct rn_list tx; /* linked in rn_cm.tx while @out is to be sent */
	struct rn_list ev; /* linked in rn_cm.events while @events is not 0 */
	/* linked in rn_cm.changed until rn_cm_next_changed() reports it */
	struct rn_list changed;
	bool in_use; /* false: the entry is in the free list */
	/* pending events; bit i stands for enum rn_cm_event_type i */
	uint16_t events;
	/* listener in whose backlog the connection is, or NULL */
	struct rn_cm_listener *listener;
	/* next connection in the same backlog, or in the free list */
	struct rn_cm_conn *next;
	/* Transaction ID of the messages that set up the connection; after the peer has
	 * sent a DREQ, that of the DREQ.
	 */
	uint64_t tid;
	/* transaction IDs of received LAPs, the newest first */
	uint64_t lap_tid[RN_CM_LAPS];
	uint8_t laps_heard; /* number of valid entries in @lap_tid */
	uint32_t local_qpn;
	uint64_t local_guid;
	/* On the active side: the code of the packet lifetime on the path, from which the
	 * ACK timeout is computed.
	 */
	uint8_t lifetime;
	/* Number of times that this side repeats a message that is not answered. */
	uint8_t max_retries;
	uint8_t retries_left;
	/* @early_left: number of early retries that are left. @early: time before the
	 * next one, which doubles each time.
	 */
	uint8_t early_left;
	rn_ns early;
	rn_ns interval; /* time before each retry that is not early */
	/* From this time on, a repeated message of the peer is answered by an MRA (a
	 * request for more time).
	 */
	rn_ns mra_from;
	rn_ns resp_timeout; /* time that the peer may take to answer */
	int status;
	uint8_t ari_len;
	/* Packet with the MAD of the message that was sent last. The other headers are
	 * written each time that it is sent.
	 */
	uint8_t out[RN_GSI_PACKET_LEN];
	uint8_t ari[RN_CM_ARI_LEN];
	/* private data of the REQ, REP, RTU, SIDR_REQ, SIDR_REP or LAP received last */
	uint8_t open_data[RN_CM_DATA_MAX];
	/* private data of the REJ, DREQ, DREP or APR received last */
	uint8_t end_data[RN_CM_DATA_MAX];
};

/* An answer that is sent outside of any connection, such as a REJ for an unknown ID. */
struct rn_cm_answer {
	struct rn_flow flow;
	uint32_t dest_qpn;
	uint8_t out[RN_GSI_PACKET_LEN]; /* packet in which the MAD is written */
};

/* An address that has shown that it receives the messages sent to it. */
struct rn_cm_proven {
	struct rn_gid addr;
	rn_ns until; /* 0: not in use */
};

struct rn_cm_index {
	struct rn_hnode **bucket;
	uint32_t mask;
};

struct rn_cm {
	struct rn_cm_cfg cfg;
	struct rn_random random;
	uint64_t secret; /* mixed into the hashes of values that peers choose */
	uint64_t tid_count;
	struct rn_timer_heap timers;
	struct rn_list tx;
	struct rn_list events;
	struct rn_list changed;
	/* list of listeners; those that compare more bits of the request come first */
	struct rn_cm_listener *listeners;
	struct rn_cm_index by_id, by_peer, by_qpn;
	struct rn_cm_conn *conns;
	struct rn_cm_conn *free;
	uint32_t fresh; /* index of the first entry of @conns that was never used */
	uint32_t count; /* number of entries of @conns in use */
	struct rn_cm_proven proven[RN_CM_PROVEN];
	unsigned reply_first, reply_count;
	struct rn_cm_answer replies[RN_CM_REPLIES];
};

/* A received message with its context, while the message is processed. */
struct rn_cm_in {
	rn_ns now;
	const struct rn_flow *flow;
	uint32_t src_qpn;
	struct rn_mad_hdr hdr;
	struct rn_cm_msg msg;
};

static inline void rn_cm_stat(struct rn_cm *cm, enum rn_cm_stat stat)
{
	if (cm->cfg.stats)
		cm->cfg.stats[stat]++;
}

static inline bool rn_cm_same_gid(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Returns the time that a CM timeout code stands for: 4.096 us * 2^code, but at most 137
 * s, so that a peer cannot make us keep an entry for hours.
 */
static inline rn_ns rn_cm_time(uint8_t code)
{
	return (rn_ns)4096 << (code < RN_CM_TIME_CODE_MAX ? code : RN_CM_TIME_CODE_MAX);
}

/* ---- Finding connections (cm.c) ---- */

/* Allocate a connection in state IDLE, with a new communication ID. It is open until
 * rn_cm_close(). Return: the connection; NULL if the table is full.
 */
struct rn_cm_conn *rn_cm_conn_new(struct rn_cm *cm);

/* Free the connection if it is closed, is in state IDLE, and has no message left to be
 * sent; otherwise do nothing.
 */
void rn_cm_conn_release(struct rn_cm *cm, struct rn_cm_conn *conn);

void rn_cm_index_peer(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_index_qpn(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_unindex(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_unindex_qpn(struct rn_cm *cm, struct rn_cm_conn *conn);

/* Find the connection with our ID @local_id, and note that the address of its peer is
 * proven. Return: NULL if there is no such connection, if the peer's ID is known and is
 * not @remote_id, or if @in came from another address than the peer's.
 */
struct rn_cm_conn *rn_cm_find(struct rn_cm *cm, const struct rn_cm_in *in,
			      uint32_t local_id, uint32_t remote_id);

/* Find the connection with this peer's address, CA GUID and communication ID. For SIDR
 * @guid is 0. Return: NULL if there is none.
 */
struct rn_cm_conn *rn_cm_find_peer(struct rn_cm *cm, const struct rn_gid *addr,
				   uint64_t guid, uint32_t remote_id);

/* Find the connection with this address, CA GUID and QPN of the peer's QP. Return: NULL
 * if there is none.
 */
struct rn_cm_conn *rn_cm_find_qpn(struct rn_cm *cm, const struct rn_gid *addr,
				  uint64_t guid, uint32_t qpn);

/* Note that the connection is about to change, so that rn_cm_next_changed() reports it.
 * Every function that looks up a connection to work on it calls this first.
 */
static inline void rn_cm_touch(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (!rn_list_is_linked(&conn->changed))
		rn_list_push_back(&cm->changed, &conn->changed);
}

/* Enter the connection into the index of communication IDs. */
void rn_cm_index_id(struct rn_cm *cm, struct rn_cm_conn *conn);

/* ---- Functions for all messages (cm.c) ---- */

/* Note that a request, or a copy of one, has come from the peer's address. If that
 * address is not proven, RN_CM_AMPLIFICATION more messages may be sent to it now.
 */
void rn_cm_credit(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

/* Write a message into @conn->out, in place of the previous one, and send it. It is not
 * sent if the peer's address may be forged (is_proven) and its credit is used up. Stops
 * the timer: a caller that expects an answer calls rn_cm_insist() next.
 */
void rn_cm_say(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_msg *msg,
	       uint64_t tid, uint32_t attr_mod);

/* Send the last message again, unless the peer's address may be forged (is_proven) and
 * its credit is used up.
 */
void rn_cm_say_again(struct rn_cm *cm, struct rn_cm_conn *conn);

/* Send @msg to the sender of @in, outside of any connection. */
void rn_cm_reply(struct rn_cm *cm, const struct rn_cm_in *in,
		 const struct rn_cm_msg *msg);

/* Start to retry the last message: send it again max_retries times, until rn_cm_calm() is
 * called. The last retry is followed by one @interval, after which the CM gives up. The
 * first third of the retries is made early, because repeating a message costs little; the
 * others are spread over the remaining time.
 */
void rn_cm_insist(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn, rn_ns interval);
void rn_cm_calm(struct rn_cm *cm, struct rn_cm_conn *conn);

/* Send the MRA (a request for more time) again: the peer has repeated its message, and
 * the program has not answered it yet. Does nothing before @conn->mra_from: if the peer
 * repeats a message early, an MRA would only make it wait longer.
 */
void rn_cm_ask_patience(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

void rn_cm_raise(struct rn_cm *cm, struct rn_cm_conn *conn, enum rn_cm_event_type type,
		 int status);

/* Put the connection into state IDLE, and remove it from the indices by_peer and by_qpn.
 */
void rn_cm_to_idle(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_to_timewait(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

uint64_t rn_cm_new_tid(struct rn_cm *cm, const struct rn_cm_conn *conn);

/* Copy the private data of a received message to @field, a member of the connection, from
 * which the program gets it with the event.
 */
void rn_cm_keep(uint8_t field[RN_CM_DATA_MAX], const struct rn_cm_msg *msg);

/* ---- Handlers of messages (connect.c, end.c, sidr.c) ---- */

void rn_cm_on_req(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_mra(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_rej(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_rep(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_rtu(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_dreq(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_drep(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_sidr_req(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_sidr_rep(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_lap(struct rn_cm *cm, struct rn_cm_in *in);
void rn_cm_on_apr(struct rn_cm *cm, struct rn_cm_in *in);

/* Do all values of the offer fit the fields of a message, and does its private data fit
 * into @room bytes?
 */
bool rn_cm_offer_is_good(const struct rn_cm_offer *offer, uint32_t room);

/* Are the values of the route valid in a request? */
bool rn_cm_route_is_good(const struct rn_cm_route *route);
void rn_cm_path_of_route(struct rn_cm_path_rec *path, const struct rn_cm_route *route,
			 uint8_t ack_timeout);

/* Send a DREQ; @conn must be established. */
void rn_cm_send_dreq(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		     const uint8_t *data, uint32_t data_len);
void rn_cm_send_rej(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_no *no);
void rn_cm_send_sidr_rep(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status,
			 const struct rn_cm_offer *offer);

/* ---- Listeners (listener.c) ---- */

/* Find the listener for a request: the most specific one that matches; NULL if none does.
 * *@known: out: whether any listener has this service ID, even if it does not match
 * otherwise.
 */
struct rn_cm_listener *rn_cm_match(struct rn_cm *cm, const struct rn_cm_in *in,
				   uint64_t service_id, const uint8_t *data, bool *known);

/* Allocate a connection for a received request (REQ or SIDR_REQ) and put it into @l's
 * backlog, where it waits for the program's answer. Return: the connection; NULL if the
 * backlog or the table is full, which is counted. The caller then ignores the request:
 * the peer will repeat it, and there may be room by then.
 */
struct rn_cm_conn *rn_cm_conn_wanted(struct rn_cm *cm, struct rn_cm_listener *l);

#endif /* RN_CM_PRIVATE_H */
