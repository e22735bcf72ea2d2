/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.h - the structs of the connection manager, and the functions between its files.
 *
 * A connection is on up to three hash chains: always by our communication ID; by the
 * peer's ID, CA GUID and address, from when these are known until the end of time-wait;
 * and by the peer's QPN, CA GUID and address, likewise, until time-wait begins.
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
	/* Room for answers that belong to no connection and wait to be sent. */
	RN_CM_REPLIES = 16,
	RN_CM_TIME_CODE_MAX = 25,
	/* LAPs that are remembered, so that late copies are recognised. Transaction IDs
	 * have no order.
	 */
	RN_CM_LAPS = 4,
};

/* State of the LAP exchange. */
enum rn_cm_lap_state {
	RN_CM_LAP_NONE,
	RN_CM_LAP_SENT,
	RN_CM_LAP_RCVD,
	RN_CM_LAP_MRA_SENT,
};

struct rn_cm_conn {
	struct rn_cm_info info;
	struct rn_timer timer;	 /* resends the last message, or ends time-wait */
	struct rn_hnode by_id;	 /* always */
	struct rn_hnode by_peer; /* while info.remote_id belongs to a live connection */
	struct rn_hnode by_qpn;
	bool in_peer, in_qpn;
	bool is_open; /* the driver has not closed it */
	bool is_sidr;
	enum rn_cm_lap_state lap; /* valid in RN_CM_ESTABLISHED */
	struct rn_list tx;	  /* in rn_cm.tx while @out is to be sent */
	struct rn_list ev;	  /* in rn_cm.events while @events is not 0 */
	uint16_t events;	  /* bits by enum rn_cm_event_type */
	/* Listener in whose backlog the request is, or NULL. */
	struct rn_cm_listener *listener;
	struct rn_cm_conn *next; /* next in that backlog, or in the free list */
	uint64_t tid;		 /* transaction ID of the exchange that set it up */
	/* Transaction IDs of received LAPs, the last one first. */
	uint64_t lap_tid[RN_CM_LAPS];
	uint8_t laps_heard; /* number of entries in @lap_tid */
	uint32_t local_qpn;
	uint64_t local_guid;
	uint8_t lifetime;    /* active: packet lifetime code, for the ACK timeout */
	uint8_t max_retries; /* number of times that a message of ours is sent again */
	uint8_t retries_left;
	/* Early retries that are left; @early, the time before the next one,
	 * doubles each time.
	 */
	uint8_t early_left;
	rn_ns early;
	rn_ns interval;	    /* time after which @out is sent again */
	rn_ns mra_from;	    /* before this time a repeated message gets no MRA */
	rn_ns resp_timeout; /* how long the peer may take to answer */
	int status;
	uint8_t ari_len;
	/* The packet of the message that was sent last; its MAD is written. */
	uint8_t out[RN_GSI_PACKET_LEN];
	uint8_t ari[RN_CM_ARI_LEN];
	/* Private data of the REQ, REP, RTU, SIDR or LAP message. */
	uint8_t open_data[RN_CM_DATA_MAX];
	/* Private data of the REJ, DREQ, DREP or APR message. */
	uint8_t end_data[RN_CM_DATA_MAX];
};

/* An answer that belongs to no connection, as a REJ of an unknown ID does. */
struct rn_cm_answer {
	struct rn_flow flow;
	uint32_t dest_qpn;
	uint8_t out[RN_GSI_PACKET_LEN]; /* a packet whose MAD is written */
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
	/* Listeners that compare more bits come first. */
	struct rn_cm_listener *listeners;
	struct rn_cm_index by_id, by_peer, by_qpn;
	struct rn_cm_conn *conns;
	struct rn_cm_conn *free;
	uint32_t fresh; /* entries from conns[fresh] on were never used */
	uint32_t count; /* entries in use */
	unsigned reply_first, reply_count;
	struct rn_cm_answer replies[RN_CM_REPLIES];
};

/* A received message while it is handled. */
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

/* 4.096 us * 2^code, but at most 137 s, so that a peer cannot make us keep an
 * entry for hours.
 */
static inline rn_ns rn_cm_time(uint8_t code)
{
	return (rn_ns)4096 << (code < RN_CM_TIME_CODE_MAX ? code : RN_CM_TIME_CODE_MAX);
}

/* ---- Entries and how they are found (cm.c) ---- */

/* Take an entry for a connection in IDLE, with a communication ID; the driver holds it.
 * NULL: the table is full.
 */
struct rn_cm_conn *rn_cm_conn_new(struct rn_cm *cm);

/* Free the entry if the driver has closed it and nothing is left to be sent. */
void rn_cm_conn_release(struct rn_cm *cm, struct rn_cm_conn *conn);

void rn_cm_index_peer(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_index_qpn(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_unindex(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_unindex_qpn(struct rn_cm *cm, struct rn_cm_conn *conn);

/* The connection with our ID @local_id, if the peer's ID is @remote_id or not known yet,
 * and the message came from the peer's address.
 */
struct rn_cm_conn *rn_cm_find(struct rn_cm *cm, const struct rn_cm_in *in,
			      uint32_t local_id, uint32_t remote_id);

/* The connection with the peer's ID. The GUID of a SIDR lookup is 0. */
struct rn_cm_conn *rn_cm_find_peer(struct rn_cm *cm, const struct rn_gid *addr,
				   uint64_t guid, uint32_t remote_id);

/* The connection with the peer's QP. */
struct rn_cm_conn *rn_cm_find_qpn(struct rn_cm *cm, const struct rn_gid *addr,
				  uint64_t guid, uint32_t qpn);

/* ---- What all exchanges share (cm.c) ---- */

/* Put a message into @conn->out, and send it. */
void rn_cm_say(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_msg *msg,
	       uint64_t tid, uint32_t attr_mod);

/* As rn_cm_say(), but the message is sent only by rn_cm_say_again(). */
void rn_cm_prepare(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_msg *msg,
		   uint64_t tid, uint32_t attr_mod);
void rn_cm_say_again(struct rn_cm *cm, struct rn_cm_conn *conn);

/* Send a message that belongs to no connection to the sender of @in. */
void rn_cm_reply(struct rn_cm *cm, const struct rn_cm_in *in,
		 const struct rn_cm_msg *msg);

/* Send the last message again, max_retries times, until rn_cm_calm(); then wait for one
 * more @interval and give up. The first third of the retries comes early, because
 * repeating a message costs little; the others are spread over the remaining time.
 */
void rn_cm_insist(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn, rn_ns interval);
void rn_cm_calm(struct rn_cm *cm, struct rn_cm_conn *conn);

/* The peer has repeated its message while the program thinks: send the MRA again, unless
 * the peer repeated earlier than agreed: it would then be told to wait for long.
 */
void rn_cm_ask_patience(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

void rn_cm_raise(struct rn_cm *cm, struct rn_cm_conn *conn, enum rn_cm_event_type type,
		 int status);

/* The connection goes to IDLE and forgets its peer. */
void rn_cm_to_idle(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_to_timewait(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

uint64_t rn_cm_new_tid(struct rn_cm *cm, const struct rn_cm_conn *conn);

/* Keep the private data of a message in a field of the connection, for the event of it.
 */
void rn_cm_keep(uint8_t field[RN_CM_DATA_MAX], const struct rn_cm_msg *msg);

/* ---- connect.c, end.c, sidr.c: handlers of messages ---- */

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

/* Do all values fit their fields, and the private data into @room bytes? */
bool rn_cm_offer_is_good(const struct rn_cm_offer *offer, uint32_t room);

/* Can a request be sent along this route? */
bool rn_cm_route_is_good(const struct rn_cm_route *route);
void rn_cm_path_of_route(struct rn_cm_path_rec *path, const struct rn_cm_route *route,
			 uint8_t ack_timeout);

/* Send a DREQ on an established connection. */
void rn_cm_send_dreq(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		     const uint8_t *data, uint32_t data_len);
void rn_cm_send_rej(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_no *no);
void rn_cm_send_sidr_rep(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status,
			 const struct rn_cm_offer *offer);

/* The listener of a request: the best that matches, or NULL. *@known: some listener has
 * the service, whether it matches or not.
 */
struct rn_cm_listener *rn_cm_match(struct rn_cm *cm, const struct rn_cm_in *in,
				   uint64_t service_id, const uint8_t *data, bool *known);

/* Take an entry for a new request (REQ or SIDR), which waits in @l's backlog for the
 * program's answer. NULL: no room, which is counted. The request is then ignored: the
 * peer repeats it, and there may be room.
 */
struct rn_cm_conn *rn_cm_conn_wanted(struct rn_cm *cm, struct rn_cm_listener *l);

#endif /* RN_CM_PRIVATE_H */
