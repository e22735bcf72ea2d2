/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.h - the connection manager: a protocol machine without I/O that establishes and
 * ends connections.
 *
 *   Inputs   rn_cm_receive(), rn_cm_expire(), and the calls of programs
 *   Outputs  rn_cm_transmit(), rn_cm_next_event(), rn_cm_deadline()
 *
 * It keeps a table of connections, active and passive, and of service lookups (SIDR) by
 * UD programs. It does not access QPs: the caller sets up its QP with the attributes in
 * rn_cm_info.qp. One table may serve all devices of a network namespace.
 *
 * After every input the caller fetches all outputs: all packets and all events. A packet
 * that has not been fetched is replaced by the next packet of the same connection.
 *
 * A connection belongs to the caller from the call that created it, or the event that
 * announced it, until rn_cm_close(). Messages that the protocol still requires are
 * sent after that, and the entry of the table is reused when the connection's
 * time-wait is over.
 *
 * Nothing here blocks, allocates or reads a clock, and random numbers come from
 * rn_cm_cfg.seed alone: equal inputs give equal outputs.
 *
 * Threads: none of these functions locks.
 * Source: IBTA Vol 1, chapter 12; Annexes A11 (IP CM service) and A17 (RoCEv2). Where
 * these leave a choice, this implementation follows ib_cm of Linux.
 */
#ifndef RN_CM_H
#define RN_CM_H

#include "rocin/gid.h"
#include "rocin/gsi.h"
#include "rocin/mad.h"

struct rn_cm;
struct rn_cm_conn;
struct rn_cm_info;

/* Time codes; a code stands for 4.096 us * 2^code. */
enum {
	RN_CM_RESP_TIMEOUT = 20,     /* default time to answer a message: 4.3 s */
	RN_CM_LIFETIME_DEFAULT = 18, /* packet lifetime of a RoCE path: 1.07 s */
	RN_CM_MRA_TIMEOUT = 24,	     /* service timeout in the MRAs that rdma_cm sends */
	RN_CM_MAX_RETRIES = 15,
	RN_CM_ACK_DELAY_DEFAULT = 15,
};

enum rn_cm_stat {
	RN_CM_STAT_RX, /* valid messages received */
	RN_CM_STAT_TX, /* messages sent, including retransmissions */
	/* Messages sent again because the answer did not come in time. */
	RN_CM_STAT_RESENT,
	RN_CM_STAT_TIMEOUTS,   /* messages given up after all retries */
	RN_CM_STAT_DUPLICATES, /* messages received more than once */
	RN_CM_STAT_STALE,      /* REJs sent with reason 10, stale connection */
	RN_CM_STAT_REJ_SENT,
	RN_CM_STAT_REJ_RECEIVED,
	/* Messages dropped: MAD version not 1, class not CM version 2, or method
	 * not Send.
	 */
	RN_CM_STAT_DROP_HEADER,
	RN_CM_STAT_DROP_ATTR, /* dropped: no CM message, or illegal fields */
	/* Dropped: for no connection, or for a connection to another peer. */
	RN_CM_STAT_DROP_UNKNOWN,
	/* Dropped: the message is not expected in the state of the connection. */
	RN_CM_STAT_DROP_STATE,
	/* Dropped: table or backlog full, or no room for the answer. */
	RN_CM_STAT_DROP_FULL,
	/* Messages not sent to a peer whose address may be forged: such an address gets
	 * only a limited number of messages.
	 */
	RN_CM_STAT_UNPROVEN,
	RN_CM_STAT_COUNT
};

/* Returns the name of a counter, such as "resent", for programs that print it. */
const char *rn_cm_stat_name(enum rn_cm_stat stat);

struct rn_cm_cfg {
	/* Largest number of connections at a time, including those in time-wait; at
	 * least 1.
	 */
	uint32_t conn_max;
	uint64_t seed; /* seed of the communication IDs and transaction IDs */
	/* Function that returns random numbers. NULL: the numbers come from the sequence
	 * that begins with @seed; a peer that has seen a few of these can compute the
	 * next ones.
	 */
	uint64_t (*draw)(void);
	/* Time code (IBTA) of the longest time in which this side answers a message.
	 * Peers are asked to answer in the same time. 0: the default.
	 */
	uint8_t resp_timeout;
	uint8_t ack_delay;   /* time code of the device's ACK delay; 0: default */
	uint8_t max_retries; /* number of retransmissions of a message; 0: default */
	/* Factor for the timeouts of this side; 0 means 1, at most 1000. The times that
	 * are sent to peers are not multiplied.
	 */
	uint32_t timeout_scale;
	uint64_t *stats; /* array of RN_CM_STAT_COUNT counters, or NULL */
	/* Returns true if the QP @qpn of this side, which awaits an RTU, has received a
	 * request of the peer, or the peer's answer to a request of its own. Either
	 * proves what the RTU would prove, and the RTU may be lost. The table calls this
	 * function each time before it would send a REP again or give up. The function
	 * may return false if it does not know, and must not call any function of the
	 * table. NULL: the same as always false.
	 */
	bool (*has_request)(void *ctx, const struct rn_cm_info *info, uint32_t qpn);
	void *ctx; /* first argument of has_request() */
};

/* Returns the size in bytes of a table with room for @conn_max connections. */
size_t rn_cm_size(uint32_t conn_max);

/**
 * rn_cm_init() - Make an empty table
 * @block:	rn_cm_size(@cfg->conn_max) bytes, aligned to 16, of any content. Only
 *		written when a connection needs them
 * @cfg:	Copied
 *
 * There is no function that destroys a table: the caller may free the block when it makes
 * no more calls.
 */
struct rn_cm *rn_cm_init(void *block, const struct rn_cm_cfg *cfg);

/* Returns the number of connections in use, including those in time-wait. */
uint32_t rn_cm_conn_count(const struct rn_cm *cm);

/* ---- Packets ---- */

struct rn_cm_rx {
	/* Flow of the packet: @src is the address of the peer. */
	const struct rn_flow *flow;
	uint32_t src_qpn;
	const uint8_t *mad; /* the MAD, of RN_MAD_LEN bytes */
	/* True: if the MAD is a request (REQ or SIDR_REQ) for a service that has no
	 * listener yet, it is not processed now, and the caller will pass it again later.
	 */
	bool may_wait;
};

/* A message to be sent, in the packet that carries it. */
struct rn_cm_tx {
	struct rn_flow flow; /* addresses of the packet; @sport is 0 */
	uint32_t dest_qpn;
	/* A packet of RN_GSI_PACKET_LEN bytes, of which only the MAD is filled in. The
	 * caller adds the rest by rn_gsi_seal(). The memory belongs to the table, and is
	 * valid until the next call for this table.
	 */
	uint8_t *pkt;
};

/* Processes a MAD that has arrived at QP1 of one of the local addresses. An invalid MAD
 * is counted and dropped. Returns false only if the MAD is a request that has to wait for
 * its listener (rn_cm_rx.may_wait); nothing has changed then, and the caller has to pass
 * the MAD again.
 */
bool rn_cm_receive(struct rn_cm *cm, rn_ns now, const struct rn_cm_rx *rx);

/* Fetches the next MAD to be sent. Return: true, with @tx filled in; false: there
 * is none.
 */
bool rn_cm_transmit(struct rn_cm *cm, struct rn_cm_tx *tx);

/* Returns the time at which rn_cm_expire() has to be called; RN_NEVER: no timer runs. */
rn_ns rn_cm_deadline(const struct rn_cm *cm);

enum {
	/* connections that one call of rn_cm_expire() acts on, so that a call is short */
	RN_CM_EXPIRE_MAX = 256
};

/* Performs the actions that are due at @now: retransmissions, timeouts, ends of
 * time-waits, of at most RN_CM_EXPIRE_MAX connections. If more are due, rn_cm_deadline()
 * still returns a time that has passed.
 */
void rn_cm_expire(struct rn_cm *cm, rn_ns now);

/* ---- Events ---- */

/* Types of events. If a connection has several pending events, they are delivered in the
 * order of this enum.
 */
enum rn_cm_event_type {
	/* passive: a peer requests a connection; rn_cm_event.data is from the REQ */
	RN_CM_EV_REQ,
	/* Passive: a peer requests a UD service; the data is from the SIDR_REQ. */
	RN_CM_EV_SIDR_REQ,
	/* Active: the peer has accepted; call rn_cm_ready() next. The data is from the
	 * REP.
	 */
	RN_CM_EV_REP,
	/* Active: answer to a SIDR_REQ. Status: enum rn_cm_sidr_status. The data and the
	 * ARI are from the SIDR_REP.
	 */
	RN_CM_EV_SIDR_REP,
	/* Passive side: the RTU has arrived, or the QP has received a request of the
	 * peer, which proves the same. The data is from the RTU.
	 */
	RN_CM_EV_ESTABLISHED,
	/* the peer offers an alternate path; the data is from the LAP */
	RN_CM_EV_LAP,
	/* The peer has answered a LAP with an APR. Status: enum rn_cm_ap_status, or
	 * -ETIMEDOUT if no APR came. The ARI is from the APR.
	 */
	RN_CM_EV_APR,
	/* The peer has rejected the connection. Status: enum rn_cm_reason. The data and
	 * the ARI are from the REJ.
	 */
	RN_CM_EV_REJECTED,
	/* No answer to a REQ, REP or SIDR_REQ has come. Status: -ETIMEDOUT. */
	RN_CM_EV_UNREACHABLE,
	/* The connection ends: a DREQ or a DREP has arrived, or no DREP has arrived in
	 * time. Only in the last case the status is -ETIMEDOUT.
	 */
	RN_CM_EV_DISCONNECTED,
	RN_CM_EV_TIMEWAIT_EXIT,
	RN_CM_EV_COUNT
};

const char *rn_cm_event_name(enum rn_cm_event_type type);

struct rn_cm_listener;

struct rn_cm_event {
	enum rn_cm_event_type type;
	struct rn_cm_conn *conn;
	/* Listener to which a RN_CM_EV_REQ or _SIDR_REQ belongs; NULL: it was removed. */
	struct rn_cm_listener *listener;
	/* meaning depends on the type, see enum rn_cm_event_type; 0 if the type does not
	 * define it
	 */
	int status;
	/* Private data and additional reject information (ARI) of the message. Each is
	 * the whole field of the message, and stays valid until the next call about the
	 * connection. NULL: the message has no such field.
	 */
	const uint8_t *data;
	uint32_t data_len;
	const uint8_t *ari;
	uint32_t ari_len;
};

/* Fetches the next event. Return: true, with @ev filled in; false: there is none. */
bool rn_cm_next_event(struct rn_cm *cm, struct rn_cm_event *ev);

/* ---- Connections ---- */

/* clang-format off */
enum rn_cm_state {
	RN_CM_IDLE,
	RN_CM_REQ_SENT, RN_CM_MRA_REQ_RCVD,		/* states of the active side */
	RN_CM_REP_RCVD, RN_CM_MRA_REP_SENT,
	RN_CM_REQ_RCVD, RN_CM_MRA_REQ_SENT,		/* states of the passive side */
	RN_CM_REP_SENT, RN_CM_MRA_REP_RCVD,
	RN_CM_ESTABLISHED,
	RN_CM_DREQ_SENT, RN_CM_DREQ_RCVD, RN_CM_TIMEWAIT,
	RN_CM_SIDR_REQ_SENT, RN_CM_SIDR_REQ_RCVD, RN_CM_SIDR_REP_SENT,
	RN_CM_STATE_COUNT
};
/* clang-format on */

const char *rn_cm_state_name(enum rn_cm_state state);

/* Attributes for the caller's QP. On the active side all are known when RN_CM_EV_REP is
 * delivered, on the passive side after rn_cm_accept().
 */
struct rn_cm_qp {
	uint32_t dest_qpn;
	uint32_t rq_psn, sq_psn; /* first PSNs of the two queues; 24 bits */
	uint8_t path_mtu;	 /* path MTU, an enum ibv_mtu */
	uint8_t max_dest_rd_atomic;
	uint8_t max_rd_atomic;
	uint8_t timeout; /* local ACK timeout code of the QP */
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint16_t pkey;
	uint32_t qkey; /* UD: Q_Key that the peer's SIDR_REP contains */
	/* In both paths, the members local_* are of this side, and remote_* of the peer.
	 */
	struct rn_cm_path_rec path, alternate;
};

struct rn_cm_info {
	enum rn_cm_state state;
	bool is_active;
	uint8_t transport; /* enum rn_cm_transport */
	uint8_t ext_transport;
	bool peer_srq, peer_flow_control;
	uint32_t local_id;
	uint32_t remote_id; /* communication ID of the peer; 0: not known yet */
	uint64_t remote_guid;
	uint64_t service_id;
	/* Enhanced connection establishment (ECE): values of the peer. */
	uint32_t vendor_id, vendor_option;
	/* Addresses of this side's MADs: @src is the local address. */
	struct rn_flow flow;
	struct rn_cm_qp qp;
	void *user; /* pointer of the caller, see rn_cm_set_user() */
};

/* Returns the description of a connection; valid until rn_cm_close(). */
const struct rn_cm_info *rn_cm_conn_info(const struct rn_cm_conn *conn);
void rn_cm_set_user(struct rn_cm_conn *conn, void *user);

/* Path to the peer, which the caller has determined by routing. */
struct rn_cm_route {
	struct rn_flow flow; /* src, dst, ifindex, tclass, hop_limit (0: 64) */
	uint32_t flow_label; /* 20 bits */
	uint16_t pkey;	     /* P_Key; 0 stands for 0xffff */
	uint8_t mtu;	     /* enum ibv_mtu, 1..5 */
	uint8_t sl;	     /* 4 bits */
	uint8_t rate;	     /* enum ibv_rate; 0: rate of the port */
	uint8_t lifetime;    /* packet lifetime code, at most 31; 0: default */
};

/* Attributes that one side sends in a REQ, REP or SIDR_REP. */
struct rn_cm_offer {
	uint64_t ca_guid;
	uint32_t qpn;	   /* 24 bits */
	uint32_t psn;	   /* 24 bits: first PSN that this side wants to receive */
	uint32_t qkey;	   /* datagram services only */
	uint8_t transport; /* enum rn_cm_transport; in a REQ only */
	uint8_t ext_transport;
	/* READs and atomics that the QP can answer at once (max_dest_rd_atomic) */
	uint8_t resp_res;
	/* READs and atomics that the QP may have outstanding (max_rd_atomic) */
	uint8_t init_depth;
	/* retry_count only in a REQ; both have 3 bits */
	uint8_t retry_count, rnr_retry_count;
	bool flow_control;
	bool srq;
	uint32_t vendor_id, vendor_option; /* ECE; 24 and 32 bits */
	const uint8_t *data;		   /* private data */
	uint32_t data_len;
};

/**
 * rn_cm_connect() - Request a connection: send a REQ
 * @service_id: Service ID of the listener. For an IP service (rn_cm_service_is_ip()) the
 *		private data must begin with an IP CM header
 * @out:	Out: the connection, in state REQ_SENT
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

/* Accepts a connection with a REP: passive side, after RN_CM_EV_REQ. The next event is
 * RN_CM_EV_ESTABLISHED, _REJECTED or _UNREACHABLE. Return: 0, -EINVAL (private data too
 * long, a value that does not fit its field, wrong state).
 */
int rn_cm_accept(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		 const struct rn_cm_offer *offer);

/* Sends an RTU: active side, after RN_CM_EV_REP, when the caller's QP is in RTS. Return:
 * the same values as rn_cm_accept().
 */
int rn_cm_ready(struct rn_cm *cm, struct rn_cm_conn *conn, const uint8_t *data,
		uint32_t data_len);

/**
 * rn_cm_reject() - Send a REJ, from either side, before the connection is established
 * @reason:	enum rn_cm_reason
 * @ari:	Additional information of @ari_len bytes, or NULL
 *
 * Afterwards the connection is idle or, if a REP had been sent, in time-wait.
 *
 * Return: the same values as rn_cm_accept().
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

/* For the passive side: tells the connection manager that data has arrived at the QP
 * before the RTU, so the peer is ready. RN_CM_EV_ESTABLISHED follows. Return: 0, -EISCONN
 * (it is established already), -EINVAL (wrong state).
 */
int rn_cm_established(struct rn_cm *cm, struct rn_cm_conn *conn);

/* Ends an established connection with a DREQ, or answers the peer's DREQ with a DREP
 * after RN_CM_EV_DISCONNECTED. Return: the same values as rn_cm_accept().
 */
int rn_cm_disconnect(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
		     const uint8_t *data, uint32_t data_len);

/* Offers the peer of an established connection an alternate path with a LAP. RN_CM_EV_APR
 * follows. Return: 0, -EINVAL (for the reasons that rn_cm_connect() has, or the
 * connection is in a wrong state), -EALREADY (an earlier LAP has not been answered).
 */
int rn_cm_load_alternate(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn,
			 const struct rn_cm_route *route);

/* Answers a LAP (RN_CM_EV_LAP) with an APR. @status: enum rn_cm_ap_status; with
 * RN_CM_APR_SUCCESS the path that the LAP offered becomes rn_cm_qp.alternate. Return: 0,
 * -EINVAL (there is no LAP to answer).
 */
int rn_cm_answer_alternate(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status);

/* Requests a UD service with a SIDR_REQ. RN_CM_EV_SIDR_REP or _UNREACHABLE follows.
 * Arguments and return values are those of rn_cm_connect(); only the private data of
 * @offer is used.
 */
int rn_cm_sidr_request(struct rn_cm *cm, rn_ns now, uint64_t service_id,
		       const struct rn_cm_route *route, const struct rn_cm_offer *offer,
		       struct rn_cm_conn **out);

/* Answers a request for a UD service (RN_CM_EV_SIDR_REQ). @status: enum
 * rn_cm_sidr_status. If it is RN_CM_SIDR_SUCCESS, QPN, Q_Key, ECE and private data of
 * @offer are sent; otherwise @offer is not used. Return: the same values as
 * rn_cm_accept().
 */
int rn_cm_sidr_reply(struct rn_cm *cm, struct rn_cm_conn *conn, uint8_t status,
		     const struct rn_cm_offer *offer);

/* Ends the caller's use of a connection, in any state. A connection that is being
 * established is rejected (with reason "timeout" if nothing was received from the peer),
 * an established connection is disconnected. No more events follow.
 */
void rn_cm_close(struct rn_cm *cm, rn_ns now, struct rn_cm_conn *conn);

/* ---- Listeners ---- */

enum {
	RN_CM_COMPARE_LEN =
		64 /* longest prefix of the private data that a listener may compare */
};

/* A listener for requests. The caller owns the memory, and must not move it while the
 * listener is in use. If several listeners match a request, the one that compares the
 * most bits (of service ID, address and private data) gets it.
 */
struct rn_cm_listener {
	uint64_t service_id;
	/* Bits of the service ID that are compared; all ones: a single service. */
	uint64_t service_mask;
	uint8_t compare[RN_CM_COMPARE_LEN];
	uint8_t compare_mask[RN_CM_COMPARE_LEN];
	uint32_t ifindex; /* interface at which requests must arrive; 0: any */
	/* Largest number of requests that wait for the program's answer; 0: no limit. */
	uint32_t backlog;
	void *user;

	/* The fields below belong to the connection manager. */
	struct rn_cm_listener *next;
	struct rn_cm_conn *pending;
	uint32_t pending_count;
	uint32_t bits; /* number of service ID, address and data bits that are compared */
};

/* Fills in a listener for a port of an IP service at @addr, or at all addresses of both
 * families (NULL). The caller sets the other members.
 */
void rn_cm_listener_ip(struct rn_cm_listener *l, enum rn_cm_port_space ps, uint16_t port,
		       const struct rn_gid *addr);

/* Starts listening. Return: 0, or -EADDRINUSE if there is a listener for exactly the
 * same requests.
 */
int rn_cm_listen(struct rn_cm *cm, struct rn_cm_listener *l);

/* Stops listening. Requests that wait for an answer are kept, without a listener. */
void rn_cm_unlisten(struct rn_cm *cm, struct rn_cm_listener *l);

/* The caller reports that the program has seen a request, so the request no longer counts
 * against the backlog of its listener. rn_cm_accept(), rn_cm_reject() and rn_cm_close()
 * imply this.
 */
void rn_cm_taken(struct rn_cm_conn *conn);

/* ---- Handing a table over to another process ---- */

/* Functions by which a process that may be killed hands its table over to a successor.
 * The process copies each connection that has changed, and the numbers of the table
 * (struct rn_cm_numbers), to a place that outlives the process. The successor makes an
 * empty table of the same size, and puts the copies into it: first the numbers, then
 * listeners and connections. Copies are only for processes of the same build.
 */

struct rn_cm_numbers {
	uint64_t random, secret, tid_count;
};
struct rn_cm_numbers rn_cm_numbers(const struct rn_cm *cm);
void rn_cm_set_numbers(struct rn_cm *cm, const struct rn_cm_numbers *numbers);

/* Gets the index of the next connection that may have changed since this function
 * returned that index last. Returns false if there is none.
 */
bool rn_cm_next_changed(struct rn_cm *cm, uint32_t *index);

/* Lets rn_cm_next_changed() report the connection, or all of them. */
void rn_cm_mark_changed(struct rn_cm *cm, struct rn_cm_conn *conn);
void rn_cm_mark_all_changed(struct rn_cm *cm);

/* Returns the connection with this index; NULL if there is none. */
struct rn_cm_conn *rn_cm_conn_at(struct rn_cm *cm, uint32_t index);
uint32_t rn_cm_conn_index(const struct rn_cm *cm, const struct rn_cm_conn *conn);

/* Returns the listener in whose backlog the connection is, or NULL. */
struct rn_cm_listener *rn_cm_conn_listener(const struct rn_cm_conn *conn);

/* Returns the number of bytes of a copy. */
size_t rn_cm_saved_len(void);

/* Copies the connection to @out, without its listener and user. */
void rn_cm_conn_save(const struct rn_cm_conn *conn, void *out);

/* Puts a copy of a connection into the table at @index, which must not be in use.
 * @listener (NULL: none) and @user become those of the connection. A message that the
 * connection still had to send will be sent. Returns the connection, or NULL if the copy
 * is not valid.
 */
struct rn_cm_conn *rn_cm_conn_restore(struct rn_cm *cm, uint32_t index, const void *saved,
				      size_t len, struct rn_cm_listener *listener,
				      void *user);

#endif /* RN_CM_H */
