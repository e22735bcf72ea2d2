/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.h - the connection manager without I/O: connections that were asked
 * for, and what was agreed.
 *
 *   Inputs   rn_cm_receive(), rn_cm_expire(), and the calls of programs
 *   Outputs  rn_cm_transmit(), rn_cm_next_event(), rn_cm_deadline()
 *
 * It keeps a table of connections, active and passive, and of service lookups (SIDR) by
 * UD programs. It knows no QP: the caller sets up the QP as rn_cm_info.qp says. One table
 * may serve all devices of a network namespace.
 *
 * After every input the caller takes all outputs: all packets, all events. A packet that
 * has not been taken is replaced by the next packet of the same connection.
 *
 * A connection belongs to the caller from the call that created it, or the event that
 * announced it, until rn_cm_close(). Messages that the protocol still needs after that
 * are sent, and the entry is reused when its time-wait is over.
 *
 * Nothing here blocks, allocates or reads a clock, and random numbers come from
 * rn_cm_cfg.seed alone: equal inputs give equal outputs.
 *
 * Threads: none of these functions locks.
 * Source: IBTA Vol 1, chapter 12; Annexes A11 (IP CM service) and A17 (RoCEv2). Where
 * these leave a choice, it does what Linux' ib_cm does.
 */
#ifndef RN_CM_H
#define RN_CM_H

#include "rocin/flow.h"
#include "rocin/gsi.h"
#include "rocin/mad.h"

struct rn_cm;
struct rn_cm_conn;

/* Codes of times: 4.096 us * 2^code. */
enum {
	RN_CM_RESP_TIMEOUT = 20,     /* default: 4.3 s */
	RN_CM_LIFETIME_DEFAULT = 18, /* packet lifetime of a RoCE path: 1.07 s */
	RN_CM_MRA_TIMEOUT = 24,	     /* service timeout that rdma_cm asks for */
	RN_CM_MAX_RETRIES = 15,
	RN_CM_ACK_DELAY_DEFAULT = 15,
};

enum rn_cm_stat {
	RN_CM_STAT_RX,	       /* messages received and understood */
	RN_CM_STAT_TX,	       /* messages handed out, including those sent again */
	RN_CM_STAT_RESENT,     /* messages sent again because no answer came in time */
	RN_CM_STAT_TIMEOUTS,   /* messages given up, after all retries */
	RN_CM_STAT_DUPLICATES, /* messages received more than once */
	RN_CM_STAT_STALE,      /* REJ sent with reason 10, stale connection */
	RN_CM_STAT_REJ_SENT,
	RN_CM_STAT_REJ_RECEIVED,
	/* MAD version not 1, class not CM version 2, or method not Send. */
	RN_CM_STAT_DROP_HEADER,
	RN_CM_STAT_DROP_ATTR,	 /* not a CM message, or with illegal fields */
	RN_CM_STAT_DROP_UNKNOWN, /* for no connection, or for one of another peer */
	RN_CM_STAT_DROP_STATE,	 /* not expected in the connection's state */
	RN_CM_STAT_DROP_FULL,	 /* table or backlog is full, or no room for an answer */
	RN_CM_STAT_COUNT
};

/* Name of a counter, such as "resent", for programs that print it. */
const char *rn_cm_stat_name(enum rn_cm_stat stat);

struct rn_cm_cfg {
	/* Connections at a time, including those in time-wait; at least 1. */
	uint32_t conn_max;
	uint64_t seed; /* for communication IDs and transaction IDs */
	/* Code of the time within which we answer, and peers have to; 0: default. */
	uint8_t resp_timeout;
	uint8_t ack_delay;   /* code of the delay of ACKs of the device; 0: default */
	uint8_t max_retries; /* how often a message is sent again; 0: default */
	/* Our timeouts are multiplied by this (0 means 1, at most 1000). The times that
	 * are told to peers do not change.
	 */
	uint32_t timeout_scale;
	uint64_t *stats; /* RN_CM_STAT_COUNT counters, or NULL */
};

/* Size in bytes of a table with room for @conn_max connections. */
size_t rn_cm_size(uint32_t conn_max);

/**
 * rn_cm_init() - Make an empty table
 * @block:	rn_cm_size(@cfg->conn_max) bytes, aligned to 16, whatever they contain;
 *		not touched before a connection needs them
 * @cfg:	Copied
 *
 * There is no function to end the use of a table: the block is the caller's again when it
 * makes no more calls.
 */
struct rn_cm *rn_cm_init(void *block, const struct rn_cm_cfg *cfg);

/* Connections in use, including those in time-wait. */
uint32_t rn_cm_conn_count(const struct rn_cm *cm);

/* ---- Packets ---- */

struct rn_cm_rx {
	const struct rn_flow *flow; /* as received: @src is the peer */
	uint32_t src_qpn;
	const uint8_t *mad; /* RN_MAD_LEN bytes */
};

/* A message on its way out, in the packet that will carry it. */
struct rn_cm_tx {
	struct rn_flow flow; /* @sport is 0 */
	uint32_t dest_qpn;
	/* RN_GSI_PACKET_LEN bytes of which the MAD is written, for rn_gsi_seal(). They
	 * are the table's, and valid until its next call.
	 */
	uint8_t *pkt;
};

/* A MAD has arrived at QP1 of one of our addresses. Never fails: a bad
 * MAD is counted.
 */
void rn_cm_receive(struct rn_cm *cm, rn_ns now, const struct rn_cm_rx *rx);

/* Is this a request (REQ, SIDR_REQ) for a service that nobody listens for, which would be
 * rejected now? Changes nothing.
 */
bool rn_cm_is_early(struct rn_cm *cm, const struct rn_cm_rx *rx);

/* Take the next MAD to be sent. Return: false if there is none;
 * otherwise @tx is filled in.
 */
bool rn_cm_transmit(struct rn_cm *cm, struct rn_cm_tx *tx);

/* Time at which rn_cm_expire() has to be called; RN_NEVER: no timer runs. */
rn_ns rn_cm_deadline(const struct rn_cm *cm);

/* Perform what is due at @now: retransmissions, timeouts, ends of time-wait. */
void rn_cm_expire(struct rn_cm *cm, rn_ns now);

/* ---- Events ---- */

/* Several events of one connection are delivered in the order of this enum. */
enum rn_cm_event_type {
	RN_CM_EV_REQ,	   /* passive: a connection is requested; data of the REQ */
	RN_CM_EV_SIDR_REQ, /* passive: a UD service is requested; data of the SIDR_REQ */
	RN_CM_EV_REP, /* active: accepted; call rn_cm_ready() next; data of the REP */
	RN_CM_EV_SIDR_REP, /* status: enum rn_cm_sidr_status; data of the SIDR_REP, ARI */
	RN_CM_EV_ESTABLISHED,  /* passive: the RTU has come; its data */
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
	/* Of RN_CM_EV_REQ and _SIDR_REQ; NULL: it has been removed. */
	struct rn_cm_listener *listener;
	int status; /* 0 unless the event says otherwise */
	/* Private data and additional reject information (ARI): whole fields, valid until
	 * the next call that concerns the connection. NULL if the event has none.
	 */
	const uint8_t *data;
	uint32_t data_len;
	const uint8_t *ari;
	uint32_t ari_len;
};

/* Take the next event. Return: false if there is none; otherwise @ev is filled in. */
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

/* The attributes that the QP needs. Complete on the active side with RN_CM_EV_REP, on the
 * passive side with rn_cm_accept().
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
	uint32_t qkey;			       /* from a SIDR_REP */
	struct rn_cm_path_rec path, alternate; /* as the QP sends: local is our side */
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
	uint32_t vendor_id, vendor_option; /* from the peer (ECE) */
	struct rn_flow flow;		   /* flow of our MADs: @src is our address */
	struct rn_cm_qp qp;
	void *user; /* set by the caller */
};

/* Valid until rn_cm_close(). */
const struct rn_cm_info *rn_cm_conn_info(const struct rn_cm_conn *conn);
void rn_cm_set_user(struct rn_cm_conn *conn, void *user);

/* Where a connection goes; found by routing. */
struct rn_cm_route {
	struct rn_flow flow; /* src, dst, ifindex, tclass, hop_limit (0: 64) */
	uint32_t flow_label; /* 20 bits */
	uint16_t pkey;	     /* 0: 0xffff */
	uint8_t mtu;	     /* enum ibv_mtu, 1..5 */
	uint8_t sl;	     /* 4 bits */
	uint8_t rate;	     /* enum ibv_rate; 0: the port's */
	uint8_t lifetime;    /* packet lifetime code, at most 31; 0: default */
};

/* What one end offers in a REQ, REP or SIDR_REP. */
struct rn_cm_offer {
	uint64_t ca_guid;
	uint32_t qpn;	   /* 24 bits */
	uint32_t psn;	   /* 24 bits: first PSN that it wants to receive */
	uint32_t qkey;	   /* datagram services only */
	uint8_t transport; /* enum rn_cm_transport; in a REQ only */
	uint8_t ext_transport;
	uint8_t resp_res;		      /* goes into max_dest_rd_atomic */
	uint8_t init_depth;		      /* goes into max_rd_atomic */
	uint8_t retry_count, rnr_retry_count; /* 3 bits; retry_count in a REQ only */
	bool flow_control;
	bool srq;
	uint32_t vendor_id, vendor_option; /* ECE; 24 and 32 bits */
	const uint8_t *data;		   /* private data */
	uint32_t data_len;
};

/**
 * rn_cm_connect() - Request a connection: send a REQ
 * @service_id:	The listener's; for an IP service (rn_cm_service_is_ip()) the private data
 *		must begin with an IP CM header
 * @out:	The connection, in REQ_SENT
 *
 * The next event is RN_CM_EV_REP, _REJECTED or _UNREACHABLE.
 *
 * Return: 0, -EINVAL (private data too long, a value that does not fit its field, an
 *	   invalid MTU, addresses missing or of two families), -ENOMEM (the table is
 *	   full).
 */
int rn_cm_connect(struct rn_cm *cm, rn_ns now, uint64_t service_id,
		  const struct rn_cm_route *route, const struct rn_cm_offer *offer,
		  struct rn_cm_conn **out);

/* Passive, after RN_CM_EV_REQ: accept with a REP. The next event is RN_CM_EV_ESTABLISHED,
 * _REJECTED or _UNREACHABLE.
 * Return: 0, -EINVAL (private data too long, a value that does not fit
 * its field, wrong state).
 */
int rn_cm_accept(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		 const struct rn_cm_offer *offer);

/* Active, after RN_CM_EV_REP: the QP is in RTS, so send an RTU.
 * Return: as rn_cm_accept().
 */
int rn_cm_ready(struct rn_cm *cm, struct rn_cm_conn *conn, const uint8_t *data,
		uint32_t data_len);

/**
 * rn_cm_reject() - Send a REJ, from either side, before the connection is established
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
 * rn_cm_mra() - Send an MRA: ask the peer to wait longer for the program's answer
 * @timeout:	Code of the additional time
 * @delayed:	Send the MRA only when the peer repeats its message
 *
 * Allowed in REQ_RCVD, REP_RCVD, or ESTABLISHED after RN_CM_EV_LAP.
 *
 * Return: 0, -EINVAL (a code above 31, another state).
 */
int rn_cm_mra(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t timeout, bool delayed);

/* Passive: data arrived before the RTU did, so the peer is ready.
 * RN_CM_EV_ESTABLISHED follows.
 * Return: 0, -EISCONN, -EINVAL (wrong state).
 */
int rn_cm_established(struct rn_cm *cm, struct rn_cm_conn *conn);

/* End an established connection with a DREQ or, after RN_CM_EV_DISCONNECTED, answer the
 * peer's DREQ with a DREP.
 * Return: as rn_cm_accept().
 */
int rn_cm_disconnect(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		     const uint8_t *data, uint32_t data_len);

/* Established: offer the peer an alternate path with a LAP. RN_CM_EV_APR follows.
 * Return: 0, -EINVAL (as rn_cm_connect(); wrong state), -EALREADY (a LAP is outstanding).
 */
int rn_cm_load_alternate(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
			 const struct rn_cm_route *route);

/* Answer a LAP (RN_CM_EV_LAP) with an APR. @status: enum rn_cm_ap_status; with
 * RN_CM_APR_SUCCESS the path becomes rn_cm_qp.alternate.
 * Return: 0, -EINVAL (there is no LAP to answer).
 */
int rn_cm_answer_alternate(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status);

/* Ask for a datagram service with a SIDR_REQ, as UD programs do to connect.
 * RN_CM_EV_SIDR_REP or _UNREACHABLE follows. As rn_cm_connect(); of @offer only
 * the private data is used.
 */
int rn_cm_sidr_request(struct rn_cm *cm, rn_ns now, uint64_t service_id,
		       const struct rn_cm_route *route, const struct rn_cm_offer *offer,
		       struct rn_cm_conn **out);

/* Answer RN_CM_EV_SIDR_REQ. @status: enum rn_cm_sidr_status. Of @offer, QPN, Q_Key, ECE
 * and private data are used, and only with RN_CM_SIDR_SUCCESS.
 * Return: as rn_cm_accept().
 */
int rn_cm_sidr_reply(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status,
		     const struct rn_cm_offer *offer);

/* The caller does not use the connection any more, in whatever state it is. A connection
 * being established is rejected (with reason timeout if nothing was heard of the peer),
 * an established one is disconnected. No more events follow.
 */
void rn_cm_close(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

/* ---- Listeners ---- */

enum {
	RN_CM_COMPARE_LEN =
		64 /* leading bytes of the private data that a listener may compare */
};

/* A listener lies in the caller's memory, at the same address as long as it listens. Of
 * several that match a request, the one that compares the most bits gets it.
 */
struct rn_cm_listener {
	uint64_t service_id;
	uint64_t service_mask; /* bits that are compared; all ones: one service */
	uint8_t compare[RN_CM_COMPARE_LEN];
	uint8_t compare_mask[RN_CM_COMPARE_LEN];
	uint32_t ifindex; /* only requests that arrived by this interface; 0: any */
	/* Requests that may wait for the program's answer; 0: no limit. */
	uint32_t backlog;
	void *user;

	/* The fields below belong to the connection manager. */
	struct rn_cm_listener *next;
	struct rn_cm_conn *pending;
	uint32_t pending_count;
	uint32_t bits; /* number of bits that are compared */
};

/* Fill in a listener for a port of an IP service: at @addr, or at all addresses of both
 * families (NULL). The caller sets the other fields.
 */
void rn_cm_listener_ip(struct rn_cm_listener *l, enum rn_cm_port_space ps, uint16_t port,
		       const struct rn_gid *addr);

/* Return: 0, or -EADDRINUSE if a listener for exactly the same requests exists. */
int rn_cm_listen(struct rn_cm *cm, struct rn_cm_listener *l);

/* Requests that wait for an answer stay, but without a listener. */
void rn_cm_unlisten(struct rn_cm *cm, struct rn_cm_listener *l);

/* The program has seen a request, so it no longer counts against the backlog of its
 * listener. rn_cm_accept(), rn_cm_reject() and rn_cm_close() imply this.
 */
void rn_cm_taken(struct rn_cm_conn *conn);

#endif /* RN_CM_H */
