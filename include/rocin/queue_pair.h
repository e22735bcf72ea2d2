/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* queue_pair.h - the queue pairs of a device (transport.h): types, states and attributes,
 * with the numbers of verbs; what may be done with a queue pair; multicast groups.
 *
 * Threads: nothing here locks; one device belongs to one thread at a time.
 */
#ifndef RN_QUEUE_PAIR_H
#define RN_QUEUE_PAIR_H

#include "rocin/gid.h"
#include "rocin/hnode.h"
#include "rocin/types.h"
#include "rocin/work_request.h"

/* Types of queue pairs, with the numbers of enum ibv_qp_type. GSI, which verbs do not
 * have, has its number in the kernel.
 */
enum rn_qp_type {
	RN_QPT_GSI = 1,
	RN_QPT_RC = 2,
	RN_QPT_UC = 3,
	RN_QPT_UD = 4,
	RN_QPT_RAW_PACKET = 8,
	RN_QPT_XRC_SEND = 9,
	RN_QPT_XRC_RECV = 10,
	RN_QPT_COUNT,
};

/* States of a queue pair, with the numbers of enum ibv_qp_state. */
enum rn_qp_state {
	RN_QPS_RESET,
	RN_QPS_INIT,
	RN_QPS_RTR,
	RN_QPS_RTS,
	RN_QPS_SQD,
	RN_QPS_SQE,
	RN_QPS_ERR,
	RN_QPS_COUNT,
};

/* States of path migration (transport/qp/modify.c), with the numbers of enum
 * ibv_mig_state.
 */
enum rn_mig_state {
	RN_MIG_MIGRATED,
	RN_MIG_REARM,
	RN_MIG_ARMED, /* only the device sets this state; a program cannot */
};

/* Attributes that a modify call sets, with the numbers of enum ibv_qp_attr_mask. */
#define RN_ATTR_STATE (1u << 0)
#define RN_ATTR_CUR_STATE (1u << 1)
#define RN_ATTR_EN_SQD_ASYNC_NOTIFY (1u << 2)
#define RN_ATTR_ACCESS_FLAGS (1u << 3)
#define RN_ATTR_PKEY_INDEX (1u << 4)
#define RN_ATTR_PORT (1u << 5)
#define RN_ATTR_QKEY (1u << 6)
#define RN_ATTR_AV (1u << 7)
#define RN_ATTR_PATH_MTU (1u << 8)
#define RN_ATTR_TIMEOUT (1u << 9)
#define RN_ATTR_RETRY_CNT (1u << 10)
#define RN_ATTR_RNR_RETRY (1u << 11)
#define RN_ATTR_RQ_PSN (1u << 12)
#define RN_ATTR_MAX_RD_ATOMIC (1u << 13) /* IBV_QP_MAX_QP_RD_ATOMIC */
#define RN_ATTR_ALT_PATH (1u << 14)
#define RN_ATTR_MIN_RNR_TIMER (1u << 15)
#define RN_ATTR_SQ_PSN (1u << 16)
#define RN_ATTR_MAX_DEST_RD_ATOMIC (1u << 17)
#define RN_ATTR_PATH_MIG_STATE (1u << 18)
#define RN_ATTR_CAP (1u << 19)
#define RN_ATTR_DEST_QPN (1u << 20)
#define RN_ATTR_RATE_LIMIT (1u << 25)

/* Return a name for people, such as "RTS" or "RC"; "?" for a number that is not in
 * the enumeration.
 */
const char *rn_qp_state_name(enum rn_qp_state state);
const char *rn_qp_type_name(enum rn_qp_type type);

enum {
	/* Largest number of outstanding READ and atomic requests in each direction. 128
	 * is the limit of the kernel's rxe, and the largest value for which 8-bit indices
	 * suffice. NICs have 16 to 128.
	 */
	RN_RD_ATOMIC_MAX = 128,
};

/* The alternate path of a connected QP. */
struct rn_alt_path {
	struct rn_av av;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t timeout; /* local ACK timeout code; used once the QP has migrated */
};

/* Attributes for modify and query. */
struct rn_qp_attr {
	enum rn_qp_state state, cur_state;
	uint32_t path_mtu; /* path MTU in bytes */
	uint32_t qkey;
	uint32_t rq_psn, sq_psn;
	uint32_t dest_qpn;
	uint32_t access; /* access rights, RN_ACCESS_* */
	struct rn_av av;
	struct rn_alt_path alt; /* the alternate path; valid with RN_ATTR_ALT_PATH */
	enum rn_mig_state mig_state;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer; /* RNR timer code, IBTA Vol 1 table 45 */
	uint8_t timeout;       /* local ACK timeout code */
	uint8_t retry_cnt, rnr_retry;
	bool en_sqd_async_notify;
	bool sq_draining; /* SQ_DRAINING of verbs; set by rn_qp_query() only */
};

/* ---- Functions on the queue pairs of a device (transport.h) ---- */

struct rn_cq;
struct rn_dev;
struct rn_qp;
struct rn_srq;
struct rn_stats_qp;

struct rn_qp_init {
	enum rn_qp_type type;
	uint32_t qpn; /* number of the QP, chosen by the caller; no other QP has it */
	uint32_t pd;  /* number of the protection domain; not used by XRC_RECV */
	/* CQs; NULL where the type has no such queue: XRC_SEND (receive),
	 * XRC_RECV (both).
	 */
	struct rn_cq *send_cq, *recv_cq;
	/* SRQ that replaces the receive queue (then max_recv_* are 0), or NULL. */
	struct rn_srq *srq;
	uint32_t xrcd;			   /* XRC_RECV: number of the XRC domain */
	uint32_t max_send_wr, max_recv_wr; /* maximum number of WQEs, 0 .. RN_WR_MAX */
	/* maximum number of SGEs of a WQE, 0 .. RN_SGE_MAX */
	uint32_t max_send_sge, max_recv_sge;
	/* Maximum bytes of inline data, 0 .. RN_INLINE_MAX. */
	uint32_t max_inline;
	bool sq_sig_all;
	/* The memory block of the QP contains no rings for READ and atomic requests,
	 * neither for those of the peer nor for its own. rn_qp_lend_resources() and
	 * rn_qp_lend_reads() supply them when needed.
	 */
	bool lent_resources;
	/* Statistics record that is kept up to date; may be NULL. */
	struct rn_stats_qp *stats;
	void *owner;
};

/* Returns the size in bytes of the memory block of a QP with these capabilities; 0 if a
 * member of @init is out of range.
 */
size_t rn_qp_size(const struct rn_dev *dev, const struct rn_qp_init *init);

/* Makes a QP in state RESET in the block @mem. The block has rn_qp_size() bytes, is
 * 64-byte aligned, and may have any content. Returns the QP, which is at the start of
 * @mem.
 */
struct rn_qp *rn_qp_create(struct rn_dev *dev, void *mem, const struct rn_qp_init *init);

/* Supplies memory for @count READ and atomic requests of the peer (responder resources).
 * Each of them takes 48 bytes and is kept until it is too old to be repeated. @mem:
 * rn_qp_resources_size(@count) bytes, 8-byte aligned, with any content; the caller must
 * not free it while the QP exists. @count: more than before, at most RN_RD_ATOMIC_MAX.
 *
 * Return: the memory used until now, which the caller may free; NULL if there was none.
 */
void *rn_qp_lend_resources(struct rn_qp *qp, void *mem, uint32_t count);
size_t rn_qp_resources_size(uint32_t count);
/* Returns the number of responder resources that there is room for. */
uint32_t rn_qp_resources(const struct rn_qp *qp);

/* Supplies memory as rn_qp_lend_resources() does, but for the READ and atomic requests
 * that this QP itself may have outstanding (max_rd_atomic). Each takes 8 bytes.
 */
void *rn_qp_lend_reads(struct rn_qp *qp, void *mem, uint32_t count);
size_t rn_qp_reads_size(uint32_t count);
uint32_t rn_qp_reads(const struct rn_qp *qp);

/* Destroys the QP without CQEs. Before the call, the caller must have detached the QP
 * from its multicast groups. After it, the caller must remove the QP's CQEs from the
 * rings, and may then free its block, but not too early: memory reads and atomics that
 * returned RN_MEM_PENDING may still write into the block, until the memory back end has
 * ended those of this QP (rn_mem_attr.qpn).
 */
void rn_qp_destroy(struct rn_dev *dev, struct rn_qp *qp);

/* Makes @stats the statistics record of the QP. The caller must call this when it has
 * enlarged the page that contains the record, and the page has moved.
 */
void rn_qp_set_stats(struct rn_qp *qp, struct rn_stats_qp *stats);

/**
 * rn_qp_modify() - Change attributes and state
 * @attr:	Values; only those of the attributes in @mask are used
 * @mask:	RN_ATTR_*; without RN_ATTR_STATE the state does not change
 *
 * Return: 0, or with nothing changed
 *	   -ENOMEM: max_dest_rd_atomic or max_rd_atomic is more than there is room for
 *	   (rn_qp_lend_resources(), rn_qp_lend_reads());
 *	   -EINVAL: the table of states does not allow it, cur_state is wrong, or a value
 *	   is out of range: port not 1, pkey_index not 0, sgid_index unused, path MTU over
 *	   the port's, timeout over 31, retry counts over 7, RNR code over 31, READ depths
 *	   over RN_RD_ATOMIC_MAX, 24-bit fields; of the alternate path likewise;
 *	   RN_MIG_ARMED is asked for, RN_MIG_REARM outside RTS, in ARMED or without an
 *	   alternate path loaded since the last migration, or RN_MIG_MIGRATED in REARM.
 */
int rn_qp_modify(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		 const struct rn_qp_attr *attr, uint32_t mask);

/* Returns the attributes (RN_ATTR_*, including RN_ATTR_STATE) that must be given when a
 * QP of @type goes to @to, which is INIT, RTR or RTS, from the preceding state.
 */
uint32_t rn_qp_required(enum rn_qp_type type, enum rn_qp_state to);

void rn_qp_query(const struct rn_qp *qp, struct rn_qp_attr *attr);

/* Returns the number of the peer's messages that have been completed here, modulo 2^24.
 * An acknowledgement that is sent now has this MSN.
 */
uint32_t rn_qp_msn(const struct rn_qp *qp);

/* Returns the first PSN of the requests of this QP (sq_psn), or of its peer (rq_psn), as
 * set last.
 */
uint32_t rn_qp_first_psn(const struct rn_qp *qp, bool of_peer);

/* Returns the MSN of a NAK by which the peer would refuse the request packet @psn of this
 * QP: the number of messages before the message of that packet. Only for RC and XRC_SEND.
 */
uint32_t rn_qp_peer_msn(const struct rn_qp *qp, struct rn_psn psn);

/* Limits the rate of requests, including retransmissions. @kbps: rate of the packets in
 * kbit/s, 0: no limit. @burst: bytes that may be sent at once after a pause, 0: as many
 * as the rate gives in a millisecond. RESET removes the limit.
 */
void rn_qp_pace(struct rn_qp *qp, rn_ns now, uint32_t kbps, uint32_t burst);
/* Returns the rate limit in kbit/s; 0: none. */
uint32_t rn_qp_rate(const struct rn_qp *qp);

/* Number of retries since RTS, by reason, including the one that failed the QP: expiries
 * of the local ACK timer, PSN sequence NAKs, and implied NAKs (a response arrived
 * although an earlier one is missing).
 */
struct rn_retries {
	uint32_t timeouts, naks, implied;
};
void rn_qp_retries(const struct rn_qp *qp, struct rn_retries *retries);

/* RNR NAKs of an RC or XRC QP since RESET: number of those that it has received for its
 * own requests, and number of those that it has sent. The times are those of the newest
 * RNR NAK received and of the newest one sent.
 */
struct rn_rnr {
	uint32_t received, sent;
	rn_ns received_at, sent_at;
	/* From the newest RNR NAK received: the number of messages that the peer had
	 * executed (its MSN), and the code of the RNR timer that it asks for.
	 */
	uint32_t msn;
	uint8_t timer;
	/* Number of requests that were in the send queue when the newest RNR NAK came,
	 * and wr_id of the first of them.
	 */
	uint32_t waiting;
	uint64_t wr_id;
};
void rn_qp_rnr(const struct rn_qp *qp, struct rn_rnr *rnr);

/* Returns true if the peer of an RC or XRC QP has acknowledged any request, or sent an
 * RNR NAK, since the QP came to RTS.
 */
bool rn_qp_was_answered(const struct rn_qp *qp);

/* Kinds of completions that can be counted: those of the QP's own requests and receives,
 * and those of requests of its peer. The number of a kind is that of its bit in the mask
 * by which verbs attach a completion counter to a QP.
 */
enum rn_tally_kind {
	RN_TALLY_SEND,
	RN_TALLY_RECV,
	RN_TALLY_READ,
	RN_TALLY_REMOTE_READ,
	RN_TALLY_WRITE,
	RN_TALLY_REMOTE_WRITE,
	RN_TALLY_COUNT,
};

/* A count of completions. The device changes it by atomic stores (release), and other
 * threads may read it at any time by atomic loads (acquire). A thread that has read a
 * count also sees the data of the operations that are counted.
 */
struct rn_tally {
	uint64_t done;	 /* successful completions, or their bytes */
	uint64_t failed; /* completions with an error, those of flushed requests too */
	bool of_bytes;
};

/* For each kind of completion, the tally that counts it; NULL: it is not counted. Several
 * QPs may share a tally.
 */
struct rn_tallies {
	struct rn_tally *by[RN_TALLY_COUNT];
};

/* Sets the tallies that count the QP's completions from now on. The caller owns @tallies,
 * and must keep it until the QP is destroyed or this function is called again. NULL: no
 * completion is counted.
 */
void rn_qp_set_tallies(struct rn_qp *qp, const struct rn_tallies *tallies);

enum rn_qp_state rn_qp_state(const struct rn_qp *qp);
void *rn_qp_owner(const struct rn_qp *qp);
void rn_qp_set_owner(struct rn_qp *qp, void *owner);
uint32_t rn_qp_qpn(const struct rn_qp *qp);

/* Returns true if no request of the send queue is unacknowledged or still to be sent. */
bool rn_qp_sq_idle(const struct rn_qp *qp);

/* Returns true if request packets of an RC QP have been sent and not been acknowledged;
 * always false for UC and UD. If true, a request that is posted now may wait a little, to
 * be sent together with others.
 */
bool rn_qp_unacked(const struct rn_qp *qp);

/* Returns true if some request of the send queue has not been sent completely. */
bool rn_qp_unsent(const struct rn_qp *qp);

/* Posts a send request. Return: 0; -EINVAL (state, opcode not of this QP type, too many
 * SGEs, too much inline data, atomic not of 8 bytes, message too long, READ with
 * max_rd_atomic 0); -ENOMEM (the queue is full). In ERR (and SQE) the request is accepted
 * and flushed.
 */
int rn_qp_post_send(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_send_wr *wr);

/* Returns what rn_qp_post_send() would return for @wr, except -ENOMEM. rn_qp_sq_room()
 * returns how many more requests fit into the send queue. For callers that post either
 * all of several requests or none.
 */
int rn_qp_check_send(const struct rn_qp *qp, const struct rn_send_wr *wr);
uint32_t rn_qp_sq_room(const struct rn_qp *qp);

/* Returns the number of the next work request of the send queue, see rn_mem_attr.msg. */
uint32_t rn_qp_sq_next(const struct rn_qp *qp);

/* Finds the WQE of a work request that was posted and is not complete, for tools that
 * read send queues. @number counts the work requests of the send queue, 0 for the first
 * after RESET. *@at: out, the WQE. Returns the number of bytes in use there, with inline
 * data.
 */
uint32_t rn_qp_sq_wqe(const struct rn_qp *qp, uint32_t number, const void **at);

/* rn_qp_rq_next() returns the number that the next receive of the QP's own receive queue
 * will have. rn_qp_rq_wqe() finds the WQE of the receive with a given number, as
 * rn_qp_sq_wqe() does for requests.
 */
uint32_t rn_qp_rq_next(const struct rn_qp *qp);
uint32_t rn_qp_rq_wqe(const struct rn_qp *qp, uint32_t number, const void **at);

/* Sets *@addr to the device address of an SGE. For tools that examine requests. Returns
 * false if the L_Key of the SGE does not allow the access.
 */
bool rn_qp_sge_address(const struct rn_qp *qp, const struct rn_sge *sge, rn_iova *addr);

/* Posts a receive. Return: 0; -EINVAL (state RESET, too many SGEs, no receive queue of
 * its own); -ENOMEM (the queue is full).
 */
int rn_qp_post_recv(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		    const struct rn_recv_wr *wr);

/* Moves the table of QP numbers to a larger array, in the same way as
 * rn_dev_grow_mr_table() moves the key table.
 */
void **rn_dev_grow_qp_table(struct rn_dev *dev, void **bucket, uint32_t count);
bool rn_dev_has_qpn(const struct rn_dev *dev, uint32_t qpn);
struct rn_qp *rn_dev_find_qp(const struct rn_dev *dev, uint32_t qpn);

/* ---- Multicast groups ---- */

/* Members of multicast groups: UD queue pairs that receive a copy of each
 * packet to a group.
 *
 * A group is named by its MGID: ::ffff:a.b.c.d for an IPv4 group, the address itself for
 * an IPv6 group (IBTA Annex A17). A packet to QPN 0xffffff and a group goes to every QP
 * that is attached to the group and whose P_Key and Q_Key checks it passes, and takes a
 * receive WQE of each of these QPs (IBTA Vol 1, 10.5.2). The caller has to join the group
 * on the network, so that its packets reach this host.
 */

/* The membership of one QP in one group. The caller allocates it. While the QP is
 * attached to the group, only the device may access its members.
 */
struct rn_mcast {
	struct rn_hnode node; /* key: hash of @mgid */
	struct rn_gid mgid;
	struct rn_qp *qp;
};

/* Attaches @qp to the group. @qp must be a UD QP, in any state, that is not a member yet.
 * It stays a member until rn_mcast_detach(), also through RESET, and must be detached
 * before it is destroyed.
 */
void rn_mcast_attach(struct rn_dev *dev, struct rn_mcast *m, struct rn_qp *qp,
		     const struct rn_gid *mgid);

/* Detaches the QP. Afterwards the caller may free @m. */
void rn_mcast_detach(struct rn_dev *dev, struct rn_mcast *m);

/* Returns the membership of @qp in the group; NULL if it is not a member. */
struct rn_mcast *rn_mcast_find(const struct rn_dev *dev, const struct rn_qp *qp,
			       const struct rn_gid *mgid);

/* Returns the number of QPs in the group. */
uint32_t rn_mcast_members(const struct rn_dev *dev, const struct rn_gid *mgid);

/* ---- Simulated errors of a device, to test how programs handle them ---- */

/* Makes the QP fail as if the device had an error: the QP goes to ERR, as by
 * rn_qp_modify(), and the event QP_FATAL is raised. Does nothing if the QP is in RESET or
 * ERR.
 */
void rn_qp_fail(struct rn_dev *dev, struct rn_qp *qp, rn_ns now);

/* Makes the CQ of the QP's send queue (@of_send_cq) or receive queue lose a completion as
 * if it were full: the CQ raises CQ_ERR, and every QP that completes to it goes to ERR.
 * Does nothing if the QP has no such CQ.
 */
void rn_qp_overrun(struct rn_dev *dev, struct rn_qp *qp, rn_ns now, bool of_send_cq);

#endif /* RN_QUEUE_PAIR_H */
