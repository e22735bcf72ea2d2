/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.h - the table of the connection manager from the inside.
 *
 * A connection is on up to three chains: by our communication ID always; by the peer's,
 * with its CA GUID and address, from when that is known to the end of time-wait; by the
 * peer's QPN, likewise, until time-wait.
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
	RN_CM_REPLIES = 16, /* answers that belong to no connection, until drained */
	RN_CM_TIME_CODE_MAX = 25,
	/* Whose copies are known, however late they come. TIDs have no order. */
	RN_CM_LAPS = 4,
};

/* What became of a LAP. */
enum rn_cm_lap_state {
	RN_CM_LAP_NONE,
	RN_CM_LAP_SENT,
	RN_CM_LAP_RCVD,
	RN_CM_LAP_MRA_SENT,
};

struct rn_cm_conn {
	struct rn_cm_info info;
	struct rn_timer timer;	 /* resend, or the end of time-wait */
	struct rn_hnode by_id;	 /* always */
	struct rn_hnode by_peer; /* while info.remote_id is that of a live conversation */
	struct rn_hnode by_qpn;
	bool in_peer, in_qpn;
	bool is_open; /* the driver holds it */
	bool is_sidr;
	enum rn_cm_lap_state lap;	 /* while RN_CM_ESTABLISHED */
	struct rn_list tx;		 /* on rn_cm.tx while @out is to be sent */
	struct rn_list ev;		 /* on rn_cm.events while @events is not 0 */
	uint16_t events;		 /* bits by enum rn_cm_event_type */
	struct rn_cm_listener *listener; /* whose backlog it is in, or NULL */
	struct rn_cm_conn *next;	 /* in that, or in the free list */
	uint64_t tid;			 /* of the exchange that set it up */
	uint64_t lap_tid[RN_CM_LAPS];	 /* of those received, the last one first */
	uint8_t laps_heard;		 /* how many of @lap_tid there are */
	uint32_t local_qpn;
	uint64_t local_guid;
	uint8_t lifetime;    /* active: code; for the ACK timeout */
	uint8_t max_retries; /* of our messages */
	uint8_t retries_left;
	uint8_t early_left; /* of these, that come after @early, which doubles */
	rn_ns early;
	rn_ns interval;	    /* of resending @out */
	rn_ns mra_from;	    /* before that, who asks again is not told to wait */
	rn_ns resp_timeout; /* how long the peer may take to answer */
	int status;
	uint8_t ari_len;
	uint8_t out_attr; /* of @out */
	uint8_t out[RN_MAD_LEN];
	uint8_t ari[RN_CM_ARI_LEN];
	uint8_t open_data[RN_CM_DATA_MAX]; /* of REQ, REP, RTU, SIDR, LAP */
	uint8_t end_data[RN_CM_DATA_MAX];  /* of REJ, DREQ, DREP, APR */
};

struct rn_cm_index {
	struct rn_hnode **bucket;
	uint32_t mask;
};

struct rn_cm {
	struct rn_cm_cfg cfg;
	struct rn_random random;
	uint64_t secret; /* in the hashes of what peers choose */
	uint64_t tid_count;
	struct rn_timer_heap timers;
	struct rn_list tx;
	struct rn_list events;
	struct rn_cm_listener *listeners; /* those that ask for more come first */
	struct rn_cm_index by_id, by_peer, by_qpn;
	struct rn_cm_conn *conns;
	struct rn_cm_conn *free;
	uint32_t fresh; /* conns[fresh] and later were never used */
	uint32_t count; /* in use */
	unsigned reply_first, reply_count;
	struct rn_cm_tx replies[RN_CM_REPLIES];
};

/* A message while it is looked at. */
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

/* 4.096 us * 2^code. What would be more than 137 s is that: no entry is held for hours on
 * the word of a peer.
 */
static inline rn_ns rn_cm_time(uint8_t code)
{
	return (rn_ns)4096 << (code < RN_CM_TIME_CODE_MAX ? code : RN_CM_TIME_CODE_MAX);
}

/* ---- table.c: entries and how they are found ---- */

/* A connection that the driver holds, in IDLE, with a communication ID; NULL: full. */
struct rn_cm_conn *rn_cm_conn_new(struct rn_cm *cm);

/* Give the entry back if nobody holds it and nothing is left to say. */
void rn_cm_conn_release(struct rn_cm *cm, struct rn_cm_conn *conn);

void rn_cm_index_peer(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_index_qpn(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_unindex(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_unindex_qpn(struct rn_cm *cm, struct rn_cm_conn *conn);

/* The connection of our ID @local_id, if the peer's is @remote_id or not known yet, and
 * the message comes from its address.
 */
struct rn_cm_conn *rn_cm_find(struct rn_cm *cm, const struct rn_cm_in *in,
			      uint32_t local_id, uint32_t remote_id);

/* The connection of the peer's ID. A lookup of a service (SIDR) has a GUID of 0. */
struct rn_cm_conn *rn_cm_find_peer(struct rn_cm *cm, const struct rn_gid *addr,
				   uint64_t guid, uint32_t remote_id);

/* The connection of the peer's QP. */
struct rn_cm_conn *rn_cm_find_qpn(struct rn_cm *cm, const struct rn_gid *addr,
				  uint64_t guid, uint32_t qpn);

/* ---- cm.c: what all exchanges share ---- */

/* @conn->out becomes this message, and is sent. */
void rn_cm_say(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_msg *msg,
	       uint64_t tid, uint32_t attr_mod);

/* The same, but not sent before rn_cm_say_again(). */
void rn_cm_prepare(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_msg *msg,
		   uint64_t tid, uint32_t attr_mod);
void rn_cm_say_again(struct rn_cm *cm, struct rn_cm_conn *conn);

/* An answer that belongs to no connection, to who sent @in. */
void rn_cm_reply(struct rn_cm *cm, const struct rn_cm_in *in,
		 const struct rn_cm_msg *msg);

/* Send what was said again until told otherwise, max_retries times, and give up after so
 * many and one @interval. The first third of them comes early, as what was lost costs
 * little to repeat, and the others are spread over what remains.
 */
void rn_cm_insist(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn, rn_ns interval);
void rn_cm_calm(struct rn_cm *cm, struct rn_cm_conn *conn);

/* To one who asks again while the program thinks: what it waits for takes long. Silence
 * while it need not expect an answer yet: who repeats early would be told to wait long.
 */
void rn_cm_ask_patience(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

void rn_cm_raise(struct rn_cm *cm, struct rn_cm_conn *conn, enum rn_cm_event_type type,
		 int status);

/* Forget the peer. */
void rn_cm_to_idle(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_to_timewait(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

uint64_t rn_cm_new_tid(struct rn_cm *cm, const struct rn_cm_conn *conn);

/* Into a field of @room bytes, padded with zeros. */
void rn_cm_put_data(uint8_t *field, uint32_t room, const uint8_t *data, uint32_t len);

/* Take a private data field of a message into one of the connection. */
void rn_cm_keep(uint8_t *field, const uint8_t *data, uint32_t len);

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

/* True if all values fit their fields, and @room bytes the private data. */
bool rn_cm_offer_is_good(const struct rn_cm_offer *offer, uint32_t room);

/* True for a route that a request can be sent along. */
bool rn_cm_route_is_good(const struct rn_cm_route *route);
void rn_cm_path_of_route(struct rn_cm_path_rec *path, const struct rn_cm_route *route,
			 uint8_t ack_timeout);

/* DREQ on an established connection. */
void rn_cm_send_dreq(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		     const uint8_t *data, uint32_t data_len);
void rn_cm_send_rej(struct rn_cm *cm, struct rn_cm_conn *conn, const struct rn_cm_no *no);
void rn_cm_send_sidr_rep(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status,
			 const struct rn_cm_offer *offer);

/* Listener of a request: the best that matches, or NULL. *@known: one listens for the
 * service, whether it matches or not.
 */
struct rn_cm_listener *rn_cm_match(struct rn_cm *cm, const struct rn_cm_in *in,
				   uint64_t service_id, const uint8_t *data, bool *known);

/* A connection, or a SIDR request, for a request that is new: it waits in @l's backlog
 * for its answer. NULL: no room, which is counted. Silence is right then: the peer asks
 * again, and there may be room.
 */
struct rn_cm_conn *rn_cm_conn_wanted(struct rn_cm *cm, struct rn_cm_listener *l);

#endif /* RN_CM_PRIVATE_H */
