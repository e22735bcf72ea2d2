/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.h - the connection manager without I/O: who asked whom for a connection, and what
 * was agreed.
 *
 * Inputs   rn_cm_receive(), rn_cm_expire(), and the calls of programs
 * Outputs  rn_cm_transmit(), rn_cm_next_event(), rn_cm_deadline()
 *
 * A table of connections, active and passive, and of the lookups of services (SIDR) by
 * UD programs. It knows no QP: who drives it tells the QP what rn_cm_info.qp says. One
 * table may serve all devices of a network namespace.
 *
 * After every input the outputs are to be drained: all packets, all events. A packet
 * that is still there when the next for the same connection comes is replaced by it.
 *
 * A connection belongs to the driver from the call that made it, or the event that
 * announced it, until rn_cm_close(); what is left to be said on the wire after that is
 * said, and the entry is used again when its time-wait is over.
 *
 * Nothing here blocks, allocates, reads a clock or draws a random number but from
 * rn_cm_cfg.seed: equal inputs give equal outputs.
 *
 * Threads: none of these functions locks.
 * Source: IBTA Vol 1, chapter 12; Annexes A11 (IP CM service) and A17 (RoCEv2). Where
 * both allow, it does what Linux' ib_cm does.
 */
#ifndef RN_CM_H
#define RN_CM_H

#include "rocin/flow.h"
#include "rocin/mad.h"

struct rn_cm;
struct rn_cm_conn;

/* Codes of time: 4.096 us * 2^code. */
enum {
	RN_CM_RESP_TIMEOUT = 20,     /* default: 4.3 s */
	RN_CM_LIFETIME_DEFAULT = 18, /* packet lifetime of a RoCE path: 1.07 s */
	RN_CM_MRA_TIMEOUT = 24,	     /* what rdma_cm asks for */
	RN_CM_MAX_RETRIES = 15,
	RN_CM_ACK_DELAY_DEFAULT = 15,
};

enum rn_cm_stat {
	RN_CM_STAT_RX,	       /* messages understood */
	RN_CM_STAT_TX,	       /* messages handed out, resent ones too */
	RN_CM_STAT_RESENT,     /* because no answer came in time */
	RN_CM_STAT_TIMEOUTS,   /* given up */
	RN_CM_STAT_DUPLICATES, /* received again */
	RN_CM_STAT_STALE,      /* REJ 10 sent */
	RN_CM_STAT_REJ_SENT,
	RN_CM_STAT_REJ_RECEIVED,
	RN_CM_STAT_DROP_HEADER,	 /* not of version 1, class CM version 2, method Send */
	RN_CM_STAT_DROP_ATTR,	 /* no CM message, or fields that cannot be */
	RN_CM_STAT_DROP_UNKNOWN, /* about no connection, or not one of that peer */
	RN_CM_STAT_DROP_STATE,	 /* not to be expected in the connection's state */
	RN_CM_STAT_DROP_FULL,	 /* table, backlog or room for answers is full */
	RN_CM_STAT_COUNT
};

/* Word for a counter, such as "resent"; for programs that print them. */
const char *rn_cm_stat_name(enum rn_cm_stat stat);

struct rn_cm_cfg {
	uint32_t conn_max;    /* at a time, those in time-wait too; at least 1 */
	uint64_t seed;	      /* of communication IDs and transaction IDs */
	uint8_t resp_timeout; /* code; within it we answer, and others shall; 0: default
			       */
	uint8_t ack_delay;    /* code of the device's delay of ACKs; 0: default */
	uint8_t max_retries;  /* of a message; 0: default */
	/* What we wait for answers, as a multiple of what was agreed; 0: 1, at most 1000.
	 * What we promise to others does not change.
	 */
	uint32_t timeout_scale;
	uint64_t *stats; /* RN_CM_STAT_COUNT, or NULL */
};

/* Bytes of the block that holds a table of this many connections. */
size_t rn_cm_size(uint32_t conn_max);

/**
 * rn_cm_init() - Make an empty table
 * @block:	rn_cm_size(@cfg->conn_max) bytes, aligned to 16, whatever they contain;
 *		not touched before a connection needs them
 * @cfg:	Copied
 *
 * There is no counterpart: the block is the caller's again when it makes no more calls.
 */
struct rn_cm *rn_cm_init(void *block, const struct rn_cm_cfg *cfg);

/* Connections in use, those in time-wait too. */
uint32_t rn_cm_conn_count(const struct rn_cm *cm);

/* ---- Packets ---- */

struct rn_cm_rx {
	const struct rn_flow *flow; /* as received: @src is the peer */
	uint32_t src_qpn;
	const uint8_t *mad; /* RN_MAD_LEN bytes */
};

struct rn_cm_tx {
	struct rn_flow flow; /* @sport is 0 */
	uint32_t dest_qpn;
	uint8_t mad[RN_MAD_LEN];
};

/* A MAD came to QP1 of one of our addresses. Never fails: what is wrong is counted. */
void rn_cm_receive(struct rn_cm *cm, rn_ns now, const struct rn_cm_rx *rx);

/* Is this a request (REQ, SIDR_REQ) for a service that nobody listens for? It would be
 * refused now. Changes nothing.
 */
bool rn_cm_is_early(struct rn_cm *cm, const struct rn_cm_rx *rx);

/* Return: false if there is nothing to send; @tx is filled in else. */
bool rn_cm_transmit(struct rn_cm *cm, struct rn_cm_tx *tx);

/* When rn_cm_expire() must be called next; RN_NEVER: not at all. */
rn_ns rn_cm_deadline(const struct rn_cm *cm);

/* Do what is due at @now. */
void rn_cm_expire(struct rn_cm *cm, rn_ns now);

/* ---- Events ---- */

/* In the order in which those of one connection are given out. */
enum rn_cm_event_type {
	RN_CM_EV_REQ,	   /* passive: a new connection is asked for; data of the REQ */
	RN_CM_EV_SIDR_REQ, /* passive: a UD service is asked for; data of the SIDR_REQ */
	RN_CM_EV_REP,	   /* active: accepted; rn_cm_ready() is next; data of the REP */
	RN_CM_EV_SIDR_REP, /* status: enum rn_cm_sidr_status; data of the SIDR_REP, ARI */
	RN_CM_EV_ESTABLISHED,  /* passive: RTU came; its data */
	RN_CM_EV_LAP,	       /* the peer offers an alternate path; data of the LAP */
	RN_CM_EV_APR,	       /* status: enum rn_cm_ap_status, or -ETIMEDOUT; ARI */
	RN_CM_EV_REJECTED,     /* status: enum rn_cm_reason; data of the REJ, ARI */
	RN_CM_EV_UNREACHABLE,  /* no answer to REQ, REP or SIDR_REQ: status -ETIMEDOUT */
	RN_CM_EV_DISCONNECTED, /* DREQ or DREP came; or status -ETIMEDOUT */
	RN_CM_EV_TIMEWAIT_EXIT,
	RN_CM_EV_COUNT
};

const char *rn_cm_event_name(enum rn_cm_event_type type);

struct rn_cm_listener;

struct rn_cm_event {
	enum rn_cm_event_type type;
	struct rn_cm_conn *conn;
	struct rn_cm_listener *listener; /* of RN_CM_EV_REQ and _SIDR_REQ; NULL: gone */
	int status;			 /* 0 where nothing else is said */
	/* Private data and additional information: the whole fields, valid until the next
	 * call that has to do with the connection. NULL where there are none.
	 */
	const uint8_t *data;
	uint32_t data_len;
	const uint8_t *ari;
	uint32_t ari_len;
};

/* Return: false if nothing happened; @ev is filled in else. */
bool rn_cm_next_event(struct rn_cm *cm, struct rn_cm_event *ev);

/* ---- Connections ---- */

/* clang-format off */
enum rn_cm_state {
	RN_CM_IDLE,
	RN_CM_REQ_SENT, RN_CM_MRA_REQ_RCVD,		/* active */
	RN_CM_REP_RCVD, RN_CM_MRA_REP_SENT,
	RN_CM_REQ_RCVD, RN_CM_MRA_REQ_SENT,		/* passive */
	RN_CM_REP_SENT, RN_CM_MRA_REP_RCVD,
	RN_CM_ESTABLISHED,
	RN_CM_DREQ_SENT, RN_CM_DREQ_RCVD, RN_CM_TIMEWAIT,
	RN_CM_SIDR_REQ_SENT, RN_CM_SIDR_REQ_RCVD, RN_CM_SIDR_REP_SENT,
	RN_CM_STATE_COUNT
};
/* clang-format on */

const char *rn_cm_state_name(enum rn_cm_state state);

/* What a QP is to be told to be one end of the connection. Complete on the active side
 * with RN_CM_EV_REP, on the passive side with rn_cm_accept().
 */
struct rn_cm_qp {
	uint32_t dest_qpn;
	uint32_t rq_psn, sq_psn; /* 24 bits */
	uint8_t path_mtu;	 /* enum ibv_mtu */
	uint8_t max_dest_rd_atomic;
	uint8_t max_rd_atomic;
	uint8_t timeout; /* local ACK timeout code */
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint16_t pkey;
	uint32_t qkey;			       /* of a SIDR_REP */
	struct rn_cm_path_rec path, alternate; /* as the QP sends: local is ours */
};

struct rn_cm_info {
	enum rn_cm_state state;
	bool is_active;
	uint8_t transport; /* enum rn_cm_transport */
	uint8_t ext_transport;
	bool peer_srq, peer_flow_control;
	uint32_t local_id;
	uint32_t remote_id; /* 0: not known yet */
	uint64_t remote_guid;
	uint64_t service_id;
	uint32_t vendor_id, vendor_option; /* the peer's (ECE) */
	struct rn_flow flow;		   /* of our MADs: @src is ours */
	struct rn_cm_qp qp;
	void *user; /* the driver's */
};

/* Valid until rn_cm_close(). */
const struct rn_cm_info *rn_cm_conn_info(const struct rn_cm_conn *conn);
void rn_cm_set_user(struct rn_cm_conn *conn, void *user);

/* Where to, from the route. */
struct rn_cm_route {
	struct rn_flow flow; /* src, dst, ifindex, tclass, hop_limit (0: 64) */
	uint32_t flow_label; /* 20 bits */
	uint16_t pkey;	     /* 0: 0xffff */
	uint8_t mtu;	     /* enum ibv_mtu, 1..5 */
	uint8_t sl;	     /* 4 bits */
	uint8_t rate;	     /* enum ibv_rate; 0: the port's */
	uint8_t lifetime;    /* packet lifetime code, at most 31; 0: default */
};

/* What one end offers. */
struct rn_cm_offer {
	uint64_t ca_guid;
	uint32_t qpn;	   /* 24 bits */
	uint32_t psn;	   /* 24 bits: the first that it wants to receive */
	uint32_t qkey;	   /* of datagram services */
	uint8_t transport; /* enum rn_cm_transport; of a REQ */
	uint8_t ext_transport;
	uint8_t resp_res;		      /* max_dest_rd_atomic */
	uint8_t init_depth;		      /* max_rd_atomic */
	uint8_t retry_count, rnr_retry_count; /* 3 bits; retry_count of a REQ */
	bool flow_control;
	bool srq;
	uint32_t vendor_id, vendor_option; /* ECE; 24 and 32 bits */
	const uint8_t *data;		   /* private data */
	uint32_t data_len;
};

/**
 * rn_cm_connect() - Ask for a connection: send a REQ
 * @service_id:	Of the listener; to an IP service (rn_cm_service_is_ip()) the private data
 *		must begin with an IP CM header
 * @out:	The connection, in REQ_SENT
 *
 * It ends with RN_CM_EV_REP, _REJECTED or _UNREACHABLE.
 *
 * Return: 0, -EINVAL (private data too long, a value that does not fit its field, an
 *	   MTU that is none, addresses of two families or none), -ENOMEM (the table is
 *full).
 */
int rn_cm_connect(struct rn_cm *cm, rn_ns now, uint64_t service_id,
		  const struct rn_cm_route *route, const struct rn_cm_offer *offer,
		  struct rn_cm_conn **out);

/* Passive, after RN_CM_EV_REQ: say yes with a REP. It ends with RN_CM_EV_ESTABLISHED,
 * _REJECTED or _UNREACHABLE.
 * Return: 0, -EINVAL (private data too long, a value that does not fit its field,
 *	   another state).
 */
int rn_cm_accept(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		 const struct rn_cm_offer *offer);

/* Active, after RN_CM_EV_REP: the QP is ready, say so with an RTU.
 * Return: as rn_cm_accept().
 */
int rn_cm_ready(struct rn_cm *cm, struct rn_cm_conn *conn, const uint8_t *data,
		uint32_t data_len);

/**
 * rn_cm_reject() - Say no, from either side, before the connection is established
 * @reason:	enum rn_cm_reason
 * @ari:	Additional information of @ari_len bytes, or NULL
 *
 * The connection is idle afterwards, or in time-wait if a REP had been sent.
 *
 * Return: as rn_cm_accept().
 */
struct rn_cm_no {
	uint16_t reason;
	const uint8_t *ari;
	uint32_t ari_len;
	const uint8_t *data;
	uint32_t data_len;
};
int rn_cm_reject(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		 const struct rn_cm_no *no);

/**
 * rn_cm_mra() - Ask the peer for patience while the program thinks
 * @timeout:	Code of how long it shall wait more
 * @delayed:	Only if the peer asks again
 *
 * In REQ_RCVD, REP_RCVD, or ESTABLISHED after RN_CM_EV_LAP.
 *
 * Return: 0, -EINVAL (a code above 31, another state).
 */
int rn_cm_mra(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t timeout, bool delayed);

/* Passive: data came before the RTU did, so the peer is ready. RN_CM_EV_ESTABLISHED
 * follows.
 * Return: 0, -EISCONN, -EINVAL (another state).
 */
int rn_cm_established(struct rn_cm *cm, struct rn_cm_conn *conn);

/* End an established connection with a DREQ, or agree to that of the peer, after
 * RN_CM_EV_DISCONNECTED, with a DREP.
 * Return: as rn_cm_accept().
 */
int rn_cm_disconnect(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		     const uint8_t *data, uint32_t data_len);

/* Established: offer the peer another path (LAP). RN_CM_EV_APR follows.
 * Return: 0, -EINVAL (as rn_cm_connect(); another state), -EALREADY (one is offered).
 */
int rn_cm_load_alternate(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
			 const struct rn_cm_route *route);

/* Answer a LAP (RN_CM_EV_LAP) with an APR: @status is enum rn_cm_ap_status. With
 * RN_CM_APR_SUCCESS the path is rn_cm_qp.alternate from now on.
 * Return: 0, -EINVAL (there was none).
 */
int rn_cm_answer_alternate(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status);

/* Ask for a datagram service (SIDR_REQ): UD programs connect so. RN_CM_EV_SIDR_REP or
 * _UNREACHABLE follows. As rn_cm_connect(); of @offer only the private data counts.
 */
int rn_cm_sidr_request(struct rn_cm *cm, rn_ns now, uint64_t service_id,
		       const struct rn_cm_route *route, const struct rn_cm_offer *offer,
		       struct rn_cm_conn **out);

/* After RN_CM_EV_SIDR_REQ: answer. @status is enum rn_cm_sidr_status; of @offer QPN,
 * Q_Key, ECE and private data count, and they do only with RN_CM_SIDR_SUCCESS. Return: as
 * rn_cm_accept().
 */
int rn_cm_sidr_reply(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status,
		     const struct rn_cm_offer *offer);

/* The driver has no more use for the connection, in whatever state: what is being made is
 * rejected (timed out, if nothing was heard of the peer), what is established is
 * disconnected. No more events.
 */
void rn_cm_close(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

/* ---- Listeners ---- */

enum {
	RN_CM_COMPARE_LEN =
		64 /* leading bytes of private data that a listener may match */
};

/* The caller's memory; it stays where it is while it listens. Of several that match a
 * request, the one that asks for the most bits gets it.
 */
struct rn_cm_listener {
	uint64_t service_id;
	uint64_t service_mask; /* bits that must agree; all ones: one service */
	uint8_t compare[RN_CM_COMPARE_LEN];
	uint8_t compare_mask[RN_CM_COMPARE_LEN];
	uint32_t ifindex; /* only requests that came by this interface; 0: any */
	uint32_t backlog; /* requests that may wait for an answer; 0: no limit */
	void *user;

	/* The CM's. */
	struct rn_cm_listener *next;
	struct rn_cm_conn *pending;
	uint32_t pending_count;
	uint32_t bits; /* that must agree */
};

/* Fill in a listener for a port of an IP service: of @addr, or of all addresses of both
 * families (NULL). The rest is the caller's to set.
 */
void rn_cm_listener_ip(struct rn_cm_listener *l, enum rn_cm_port_space ps, uint16_t port,
		       const struct rn_gid *addr);

/* Return: 0, or -EADDRINUSE if one listens for exactly the same. */
int rn_cm_listen(struct rn_cm *cm, struct rn_cm_listener *l);

/* Requests that wait for an answer stay; they have no listener any more. */
void rn_cm_unlisten(struct rn_cm *cm, struct rn_cm_listener *l);

/* A request no longer counts against the backlog of its listener: the program has seen
 * it. Accepting, rejecting and closing imply it.
 */
void rn_cm_taken(struct rn_cm_conn *conn);

#endif /* RN_CM_H */
