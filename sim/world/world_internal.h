/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* world_internal.h - declarations that the files of sim/world share. */
#ifndef RN_WORLD_INTERNAL_H
#define RN_WORLD_INTERNAL_H

#include "rocin/cqe.h"
#include "rocin/icrc.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/opcode.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "rocin/wire.h"
#include "sim/vnet/vnet.h"
#include "world.h"

struct rn_event;

enum {
	RN_W_SLOTS = 512,
	/* Number of slots for the device's own accesses (SOURCE, SINK, RECV). The slots
	 * behind them are for accesses of peers.
	 */
	RN_W_LOCAL = 352,
	RN_W_SLOT = 8192, /* size of a slot in bytes */
	RN_W_WRS = 24,	  /* number of work requests in a queue */
	RN_W_CQES = 512,
	RN_W_OWN_CQES = 64,  /* maximum number of CQEs in the CQ of one QP */
	RN_W_PACKETS = 4096, /* maximum number of packets in flight */
	/* maximum number of scheduled events that sim/world handles */
	RN_W_EVENTS = 12288,
	RN_W_QP_BLOCK = 128 * 1024, /* bytes of memory for one QP */
	RN_W_MEMORY_OPS = 1024,
	RN_W_PSNS = 4096, /* number of PSNs whose payload checksum is kept */
	RN_W_COUNTERS = 4,
	RN_W_SRQ = 48, /* number of receives of an SRQ */
	/* Number of records of receives in an SRQ, including receives that a QP had
	 * taken when it was destroyed.
	 */
	RN_W_SRQ_SEEN = 256,
	RN_W_MESSAGES = 512, /* number of messages that are kept, the newest ones */
	/* maximum number of READs and atomics of a QP in progress */
	RN_W_DEPTH = 16,
	RN_W_INLINE = 64,     /* maximum number of bytes of inline data */
	RN_W_DATAGRAM = 4096, /* maximum length of a datagram in bytes */
	/* Number of retries that a QP may count when a region is deregistered while
	 * READs use it: these READs get no answer.
	 */
	RN_W_UNANSWERED = 1000,
};

#define RN_W_BASE UINT64_C(0x10000000)	  /* address of the slots */
#define RN_W_COUNTER UINT64_C(0x20000000) /* address of the words that atomics access */
#define RN_W_RING UINT64_C(0x40000000)	  /* address of the completion queues */
#define RN_W_NONE UINT32_MAX

/* What a slot of memory may be used for. */
enum rn_w_use {
	RN_W_FREE,
	RN_W_SOURCE,  /* read by its own device, as the source of a request */
	RN_W_FETCHED, /* read by READs of a peer */
	RN_W_TARGET,  /* written by WRITEs of a peer */
	RN_W_SINK,    /* written by the response to a READ or atomic of its own device */
	RN_W_RECV,    /* written by a message that arrives */
	RN_W_ENDED,   /* was one of the above until its key was invalidated */
};

struct rn_w_slot {
	enum rn_w_use use;
	/* Number of the only QP that may access the slot; 0: any QP. */
	uint32_t qpn;
	uint32_t from, len; /* part of the slot that may be accessed */
	/* Content that the slot has or will have. Not yet known for a slot of kind
	 * RN_W_RECV.
	 */
	uint64_t pattern;
	uint32_t written; /* number of bytes written; bytes written twice count twice */
	uint32_t budget;  /* number of bytes that may be written in all */
	uint32_t users;	  /* number of requests that will still compare the content */
};

/* A posted work request, with the details that the checks need. */
struct rn_w_wr {
	uint64_t id;
	enum rn_wr_opcode opcode;
	bool signaled;
	bool bad; /* the request has an invalid key */
	bool is_inline;
	uint32_t len;
	uint32_t imm;
	uint32_t slot; /* slot at its own device; RN_W_NONE: no slot */
	/* Slot at the peer's device; for an atomic, number of the counter. */
	uint32_t remote_slot;
	uint64_t pattern; /* pattern of the bytes that are transferred */
	uint64_t operand, compare;
	uint64_t fetched; /* value that the atomic found, set when it was executed */
	/* Number of the message, or of the atomic, on the connection. */
	uint64_t index;
	uint32_t troubles; /* value of rn_w_pair.troubles when the request was posted */
	uint32_t rnrs;	   /* value of rn_w_end.rnrs when the request was posted */
	rn_ns posted;
	/* UD: destination and Q_Key. */
	struct rn_gid dgid;
	uint32_t dest_qpn, qkey;
	/* @key and @ends_key are for requests that use or change one of the keys of
	 * window.c.
	 */
	uint8_t key; /* enum rn_w_key_kind + 1; 0: none of these keys */
	bool ends_key, fence;
	uint32_t rkey;
	uint64_t address;
	/* Key of the region with the local bytes; 0: key of the whole memory. */
	uint32_t lkey;
	uint64_t local_address;
};

struct rn_w_queue {
	struct rn_w_wr wr[RN_W_WRS];
	/* Number of requests that have completed, and number that were posted. */
	uint32_t head, tail;
};

enum rn_w_key_kind {
	RN_W_MW2,
	RN_W_MW1,
	RN_W_REGION,
	RN_W_KEYS,
};

/* A memory window or region: the key, and the slot that it opens to the peer. */
struct rn_w_key {
	struct rn_mr mr;
	enum {
		RN_W_UNBOUND,
		RN_W_CHANGING, /* a bind or invalidate request is in progress */
		RN_W_BOUND,
	} state;
	/* @key: the present key. @slot: the slot that the key opens or, if the key is
	 * not bound, that it opened last.
	 */
	uint32_t key, slot, len;
	uint32_t old; /* the key before its last change */
	uint64_t address;
	bool reads, zero_based;
	uint32_t uses;	/* number of the peer's requests in progress that use the key */
	uint32_t count; /* number of keys that were made so far */
	/* For a region that is to be deregistered: number of further packets until then.
	 * 0: the region stays.
	 */
	uint32_t fuse;
};

/* A UD datagram that has arrived at a QP. The QP must deliver it at once. */
struct rn_w_due {
	bool is_due;
	bool known; /* @sent is valid; false if the sender's QP was destroyed */
	struct rn_w_wr sent;
	struct rn_flow flow;
	uint32_t src_qpn;
};

/* An SRQ of a device, and the receives posted to it. */
struct rn_w_srq {
	struct rn_srq *srq;
	struct rn_w_wr wr[RN_W_SRQ_SEEN]; /* id 0: the entry is free */
	/* Limit of the SRQ, below which it raises an event; 0: no limit. */
	uint32_t limit;
	/* Memory for the ring of the next resize. */
	void *spare;
	uint8_t *block;
};

/* Rate limit of a QP's requests, and the bytes sent since the limit was set. */
struct rn_w_pace {
	uint32_t kbps, burst; /* rate and burst limits; @kbps 0: no limit */
	rn_ns since;
	uint64_t bytes;
};

struct rn_w_cq {
	struct rn_cq cq;
	/* Number of CQEs that the checks have seen. The program may poll them later. */
	uint32_t seen;
	rn_ns rests_until;
	bool armed, fired;
	bool overrun;
	/* End whose QP uses the CQ; NULL: it is the CQ that QPs of the device share. */
	struct rn_w_end *of;
	struct rn_cqe *ring;
};

/* What the check knows of a requester whose count of retries it verifies; see observe.c.
 */
struct rn_w_account {
	struct rn_psn una; /* oldest PSN that is not answered */
	/* newest PSN that was answered; @una if none beyond it was */
	struct rn_psn heard;
	/* Latest time at which the retransmission timer was started, by the host's clock.
	 */
	rn_ns since;
	uint32_t attempts; /* number of times that the PSN @una was sent */
	/* Number of lost packets of requests and of answers to them. */
	uint32_t losses;
	struct rn_retries seen; /* retries that the QP had counted at the last check */
	/* For the latest PSNs: true if the PSN belongs to a READ or atomic. */
	bool alone[RN_W_PSNS];
};

/* One end of a pair: its QP, and the state that the checks keep about it. */
struct rn_w_end {
	struct rn_w_end *peer;
	struct rn_w_pair *pair;
	uint32_t dev, number;
	uint32_t qpn;
	struct rn_qp *qp;
	bool alive;	 /* the QP is in RTS as far as its program knows */
	bool bad_posted; /* a request with an invalid key was posted on this connection */
	bool may_flush;	 /* an event has occurred that moves the QP to ERR */
	struct rn_w_queue sq, rq;
	/* Number of messages posted that use a receive of the peer, and number of those
	 * that the peer has completed.
	 */
	uint64_t messages_sent;
	uint64_t messages_got;
	/* The latest of these messages. The peer's receives are compared with them. */
	struct rn_w_wr expected[RN_W_MESSAGES];
	/* Number of atomics posted, and number executed at the peer. */
	uint64_t atomics_posted, atomics_done;
	struct rn_w_wr atomic[2 * RN_W_WRS];
	/* This member and the next ones say how far the requests of this QP have come.
	 * They are learned from packets alone.
	 */
	struct rn_psn next_psn; /* first PSN that has not been sent */
	struct rn_psn arrived;	/* next PSN that the responder can accept */
	uint32_t started;	/* number of messages whose first packet was sent */
	/* Newest PSN in an answer; @msn is the MSN of that answer. */
	struct rn_psn answered;
	uint32_t msn;
	/* @taken: the next PSN that the responder accepts (unless it has refused a packet
	 * by a NAK that the checks have not seen yet). @told: the newest PSN that the
	 * responder has acknowledged. @asked: the packet before @taken asks for an
	 * acknowledgement.
	 */
	struct rn_psn taken, told;
	bool asked;
	struct rn_w_account account;
	uint32_t rnrs; /* number of RNR NAKs that the QP has received */
	/* When the QP sent its last CNP, by the host's clock; 0: no CNP yet. */
	rn_ns notified_at;
	/* A request has arrived at a time when perhaps no receive was posted for it. */
	bool lacked_recv;
	uint32_t payload[RN_W_PSNS]; /* checksum of the payload of each PSN; 0: none */
	/* Number of messages that end at or before each PSN. */
	uint32_t ended[RN_W_PSNS];
	/* For each READ and atomic without an answer: its last PSN. */
	struct rn_psn rd_last[RN_W_DEPTH];
	uint32_t rd_head, rd_tail;
	bool fence[2 * RN_W_WRS]; /* for each posted request by number: it has a fence */
	uint64_t requests;
	struct rn_w_key key[RN_W_KEYS];
	struct rn_w_cq own_cq; /* used if the plan gives each QP its own CQ */
	struct rn_cqe own_ring[RN_W_OWN_CQES];
	bool fatal; /* the event RN_EVENT_QP_FATAL has been reported */
	enum {
		RN_W_RUNS,
		RN_W_DRAINS,
		RN_W_DRAINED,
	} sqd;
	struct rn_w_pace pace;
	/* The fields from here on are used by UD. */
	struct rn_psn first_psn;
	bool member; /* the QP has joined the multicast group */
	struct rn_mcast mcast;
	struct rn_w_due due;
	uint8_t *block;
};

struct rn_w_pair {
	struct rn_world *w;
	const struct rn_plan_pair *plan;
	struct rn_w_end end[2];
	/* Number of events so far that may explain a retry: packets that were lost, late
	 * or damaged; stalls of hosts; jumps of clocks.
	 */
	uint32_t troubles;
	uint32_t connection;
	/* Number of packets in flight that belong to earlier connections. They may cause
	 * a NAK.
	 */
	uint32_t stale;
};

struct rn_w_mem_op {
	bool used;
	bool stale; /* the QP has been reset, so the operation must have no effect */
	bool is_atomic;
	void *dst;
	rn_iova src;
	uint32_t len;
	uint32_t qpn;
	struct rn_mem_atomic_req atomic;
	uint64_t tag;
};

struct rn_w_free {
	uint32_t slot[RN_W_SLOTS], head, tail;
};

struct rn_w_device {
	struct rn_world *w;
	uint32_t number;
	struct rn_dev *dev;
	uint64_t stats[RN_STAT_COUNT];
	bool dead;
	/* Number of packets with CE that have arrived for QPs of this device. */
	uint32_t marked;
	uint32_t notified; /* number of CNPs that the device has sent */
	struct rn_mr mr;
	struct rn_mr counters;
	uint64_t counter[RN_W_COUNTERS];
	struct rn_w_slot slot[RN_W_SLOTS];
	/* Free slots: [0] for accesses of the device itself, [1] for those of peers. */
	struct rn_w_free free[2];
	struct rn_w_cq cq;
	struct rn_w_srq srq[2]; /* SRQ of ordinary QPs, and SRQ of the XRC domain */
	struct rn_w_mem_op op[RN_W_MEMORY_OPS];
	struct rn_cqe ring[RN_W_CQES];
	uint8_t memory[RN_W_SLOTS * RN_W_SLOT];
};

struct rn_world {
	struct rn_plan plan;
	struct rn_vnet *net; /* device i is host i of the network */
	/* The time of faults is over. From now on, a receive is posted for each one that
	 * was used.
	 */
	bool calm;
	struct rn_w_device device[RN_PLAN_DEVICES];
	struct rn_w_pair pair[RN_PLAN_PAIRS];
	uint32_t qpns;
	uint64_t ids;
	struct rn_random fault_random[RN_PLAN_FAULTS];
	struct rn_random memory_random, host_random;
	/* Number of QPs that are to drop the datagram that has arrived, because their SRQ
	 * has no receive left for it.
	 */
	uint32_t due_less;
	uint32_t mem_waiting; /* number of memory reads and atomics in progress */
	uint8_t *blocks;
	rn_world_trace *trace;
	void *trace_ctx;
	struct rn_world_result *result;
};

static inline enum rn_qp_type rn_w_type(const struct rn_w_end *e)
{
	enum rn_qp_type type = e->pair->plan->type;

	return type == RN_QPT_XRC_SEND && e->number == 1 ? RN_QPT_XRC_RECV : type;
}

static inline bool rn_w_is_reliable(const struct rn_w_end *e)
{
	return e->pair->plan->type == RN_QPT_RC || e->pair->plan->type == RN_QPT_XRC_SEND;
}

/* Events of a world. Arrivals of packets are events of the network (vnet.h). */
enum rn_w_event {
	RN_W_STEP = RN_VNET_OWN, /* arg: number of the step in the plan */
	RN_W_MEM_DONE,		 /* arg: device << 16 | memory operation */
	RN_W_WAKE,		 /* arg: device whose stall is over */
	RN_W_RESUME,		 /* arg: number of the end whose QP has drained */
};

/* ------------------------------------------------------------------ world.c */
/* Makes the run fail with this reason. Only the first failure counts, because later ones
 * follow from it.
 */
void rn_w_fail(struct rn_world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rn_w_say(struct rn_world *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rn_w_hash(struct rn_world *w, uint64_t a, uint64_t b);
static inline void rn_w_put(struct rn_world *w, rn_ns at, enum rn_w_event what,
			    uint32_t arg)
{
	rn_vnet_put(w->net, at, what, arg);
}
/* Sends the packets that device @d has, and checks its completions and events. */
void rn_w_drain(struct rn_w_device *d);
static inline rn_ns rn_w_local(const struct rn_w_device *d)
{
	return rn_vnet_local(d->w->net, d->number);
}
/* Returns true if the host of @d is stalled. */
static inline bool rn_w_is_stalled(const struct rn_w_device *d)
{
	return rn_vnet_is_stalled(d->w->net, d->number);
}
/* Finds the end with QPN @qpn on device @dev; NULL if there is none. */
struct rn_w_end *rn_w_find(struct rn_world *w, uint32_t dev, uint32_t qpn);

/* Sends @pkt, which has its ICRC, to the devices that its flow addresses. */
void rn_w_leave(struct rn_w_device *d, struct rn_vnet_packet *pkt);

/* Checks that no QP is forgotten: each QP with a packet to send has a timer that runs,
 * or is in one of the device's lists of QPs with packets to send. Called before time
 * advances.
 */
void rn_w_check_rest(struct rn_world *w);

/* ---------------------------------------------------------------- observe.c */
void rn_w_observe_reset(struct rn_w_end *e, uint32_t psn);
/* Check a packet that leaves its device, or that reaches its device undamaged. */
void rn_w_observe_leaves(struct rn_world *w, const struct rn_vnet_packet *pkt);
void rn_w_observe_arrives(struct rn_world *w, const struct rn_vnet_packet *pkt);

void rn_w_account_reset(struct rn_w_end *e, struct rn_psn psn);
/* Notes that @count packets were lost, or may look lost to @e: requests of @e or answers
 * to them.
 */
void rn_w_account_lost(struct rn_w_end *e, uint32_t count);
/* Notes that @e sends a request that takes the PSNs [@psn, @psn + @count). @alone: the
 * request is a READ or atomic.
 */
void rn_w_account_asked(struct rn_w_end *e, struct rn_psn psn, uint32_t count,
			bool alone);
/* Notes that an answer reaches @e. @is_answer: it is the response to the READ or atomic
 * at @psn. @accepts: it is an ACK, not a NAK.
 */
void rn_w_account_answered(struct rn_w_end *e, struct rn_psn psn, bool is_answer,
			   bool accepts);
void rn_w_account_check(struct rn_world *w, struct rn_w_end *e);
/* Returns true if @e has sent its oldest unanswered PSN at least retry_cnt + 1 times. */
bool rn_w_account_is_spent(const struct rn_w_end *e);

/* ------------------------------------------------------------------ check.c */
void rn_w_check_cqe(struct rn_w_device *d, const struct rn_cqe *cqe);
void rn_w_check_event(struct rn_w_device *d, const struct rn_event *ev);
/* Checks an atomic that device @d executes for QP @qpn. @found: the value that was in
 * memory.
 */
void rn_w_check_atomic(struct rn_w_device *d, uint32_t qpn,
		       const struct rn_mem_atomic_req *req, uint64_t found);
/* Check at the end of a run that every request has completed or was flushed. */
void rn_w_check_done(struct rn_world *w, struct rn_w_end *e);
void rn_w_check_flushed(struct rn_world *w, struct rn_w_end *e);

void rn_w_cq_start(struct rn_w_device *d);
void rn_w_cq_start_own(struct rn_w_end *e);
struct rn_w_cq *rn_w_cq_of(struct rn_w_end *e);
/* Returns true if the CQ of @e has lost CQEs. The program then does not know which
 * requests have completed.
 */
bool rn_w_cq_is_lost(const struct rn_w_end *e);
/* Writes a CQE to its place @dst in a CQ. Returns false if the CQ has no room. */
bool rn_w_cq_write(struct rn_w_device *d, rn_iova dst, const void *src, uint32_t len);
void rn_w_cq_poll(struct rn_w_device *d);
/* Performs a step POLL: arms the CQ of @e, stops polling it for a while, or resizes it.
 */
void rn_w_cq_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r);

/* ---------------------------------------------------------------- objects.c */
bool rn_w_make_pair(struct rn_world *w, uint32_t i);
void rn_w_reconnect(struct rn_world *w, struct rn_w_pair *p, struct rn_random *r);
void rn_w_to_error(struct rn_world *w, struct rn_w_end *e);
void rn_w_close(struct rn_world *w, struct rn_w_end *e);

void rn_w_drain_step(struct rn_world *w, struct rn_w_end *e);
void rn_w_drained(struct rn_world *w, struct rn_w_end *e);
void rn_w_resume(struct rn_world *w, struct rn_w_end *e);
void rn_w_pace_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r);
/* Checks the rate limit when @e sends a request packet of @bytes. */
void rn_w_check_pace(struct rn_world *w, struct rn_w_end *e, uint32_t bytes);
void rn_w_srq_step(struct rn_world *w, struct rn_w_device *d, struct rn_random *r);
void rn_w_srq_told(struct rn_w_device *d, struct rn_w_srq *s);

size_t rn_w_srq_size(void);
void rn_w_srq_create(struct rn_w_device *d);
void rn_w_srq_destroy(struct rn_w_device *d);
/* Returns the SRQ from which @e takes receives; NULL if the QP has a receive queue. */
struct rn_w_srq *rn_w_srq_of(const struct rn_w_end *e);
uint32_t rn_w_srq_posted(const struct rn_w_srq *s);
void rn_w_srq_post(struct rn_w_device *d, struct rn_w_srq *s, uint32_t count,
		   struct rn_random *r);
/* Called when receive @id has completed: removes its record from @s and returns it.
 * Returns NULL if no such receive was posted.
 */
struct rn_w_wr *rn_w_srq_take(struct rn_w_srq *s, uint64_t id);

/* ------------------------------------------------------------------- work.c */
/* Returns the entry of @q for a request that the caller is about to post. */
struct rn_w_wr *rn_w_new_wr(struct rn_world *w, struct rn_w_queue *q, uint32_t dir,
			    const struct rn_w_end *e);
/* Divides the @len bytes of a slot into one to three SGEs. Returns their number. */
uint32_t rn_w_pieces(const struct rn_w_device *d, uint32_t slot, uint32_t len,
		     struct rn_sge sg[3], struct rn_random *r);
void rn_w_step(struct rn_world *w, const struct rn_plan_step *step);
void rn_w_post_recvs(struct rn_world *w, struct rn_w_end *e, uint32_t count,
		     struct rn_random *r);

/* ----------------------------------------------------------------- window.c */
void rn_w_keys_create(struct rn_w_end *e);
void rn_w_keys_destroy(struct rn_w_end *e);
/* Performs a step KEY: binds, registers, invalidates or deregisters one of the windows
 * or regions of @e. Which of these depends on what is possible now.
 */
void rn_w_key_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r);
/* Called for each packet that @e sends or receives. If a region of @e is to be
 * deregistered at this packet (rn_w_key.fuse), deregisters it.
 */
void rn_w_key_tick(struct rn_world *w, struct rn_w_end *e);
void rn_w_key_changed(struct rn_world *w, struct rn_w_end *e, const struct rn_w_wr *wr);
/* Called when @wr is about to be posted. If a key of the peer is for an operation like
 * @wr, changes @wr so that it uses that key.
 */
void rn_w_key_use(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		  struct rn_random *r);
/* If @e has a region, changes @wr so that its local bytes lie in the region and are named
 * by the region's key.
 */
void rn_w_key_gather(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		     struct rn_random *r);
bool rn_w_key_is_gone_here(const struct rn_w_end *e, const struct rn_w_wr *wr);
void rn_w_key_used(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr);
void rn_w_key_done(struct rn_world *w, struct rn_w_end *e, const struct rn_w_wr *wr);
bool rn_w_key_is_gone(const struct rn_w_end *e, const struct rn_w_wr *wr);
void rn_w_key_invalidated(struct rn_world *w, struct rn_w_end *e,
			  const struct rn_w_wr *sent, const struct rn_cqe *cqe);

/* --------------------------------------------------------------------- ud.c */
uint32_t rn_w_qkey(const struct rn_w_end *e);
const struct rn_gid *rn_w_group(const struct rn_world *w);
void rn_w_join_or_leave(struct rn_world *w, struct rn_w_end *e);
/* Chooses the destination of @wr. @av must live as long as @send. */
void rn_w_address(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		  struct rn_send_wr *send, struct rn_av *av, struct rn_random *r);
void rn_w_datagram_leaves(struct rn_world *w, const struct rn_vnet_packet *pkt);
void rn_w_datagram_arrives(struct rn_world *w, const struct rn_vnet_packet *pkt);
/* Checks that all datagrams that have arrived at @d have been delivered. */
void rn_w_datagram_done(struct rn_w_device *d);
void rn_w_check_datagram(struct rn_world *w, struct rn_w_end *e,
			 const struct rn_w_wr *recv, const struct rn_cqe *cqe);

/* ----------------------------------------------------------------- memory.c */
extern const struct rn_mem_ops rn_w_mem_now, rn_w_mem_later;
void rn_w_mem_init(struct rn_w_device *d);
/* Takes a free slot for @len bytes. Only QP @qpn may access it; 0: any QP may. Returns
 * its number, or RN_W_NONE if no slot is free.
 */
uint32_t rn_w_slot_take(struct rn_w_device *d, enum rn_w_use use, uint32_t qpn,
			uint32_t len, uint64_t pattern);
void rn_w_slot_close(struct rn_w_device *d, uint32_t slot);
/* Removes @count users from a slot. If no user is left and the key of the slot is
 * invalid, closes the slot to all accesses.
 */
void rn_w_slot_release(struct rn_w_device *d, uint32_t slot, uint32_t count);
/* Closes all slots that only @qpn may access. */
void rn_w_slot_close_all(struct rn_w_device *d, uint32_t qpn);
rn_iova rn_w_slot_address(const struct rn_w_device *d, uint32_t slot);
/* Returns true if the first @len bytes of the slot are those of @pattern. */
bool rn_w_slot_holds(const struct rn_w_device *d, uint32_t slot, uint32_t len,
		     uint64_t pattern);
uint64_t rn_w_slot_word(const struct rn_w_device *d, uint32_t slot);
const uint8_t *rn_w_slot_bytes(const struct rn_w_device *d, uint32_t slot);
/* Writes the first @len bytes of the content that @pattern stands for. */
void rn_w_fill(uint8_t *to, uint64_t pattern, uint32_t len);
bool rn_w_matches(const uint8_t *bytes, uint64_t pattern, uint32_t len);
void rn_w_mem_forget(struct rn_w_device *d, uint32_t qpn, bool destroyed);
void rn_w_mem_done(struct rn_w_device *d, uint32_t op);

#endif /* RN_WORLD_INTERNAL_H */
