/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* world_internal.h - declarations that the files of sim/world share. */
#ifndef RN_WORLD_INTERNAL_H
#define RN_WORLD_INTERNAL_H

#include "rocin/cqe.h"
#include "rocin/icrc.h"
#include "rocin/mcast.h"
#include "rocin/mem.h"
#include "rocin/mr.h"
#include "rocin/opcode.h"
#include "rocin/psn.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "rocin/wire.h"
#include "sim/vnet/vnet.h"
#include "world.h"

struct rn_event;

enum {
	RN_W_SLOTS = 512,
	/* The first of the slots are SOURCE, SINK and RECV slots; the others are for
	 * peers.
	 */
	RN_W_LOCAL = 352,
	RN_W_SLOT = 8192, /* bytes of a slot */
	RN_W_WRS = 24,	  /* work requests in a queue */
	RN_W_CQES = 512,
	RN_W_OWN_CQES = 64,	    /* most CQEs in the CQ of one QP */
	RN_W_PACKETS = 4096,	    /* packets in flight at once */
	RN_W_EVENTS = 12288,	    /* events of this program at once */
	RN_W_QP_BLOCK = 128 * 1024, /* bytes of memory for one QP */
	RN_W_MEMORY_OPS = 1024,
	RN_W_PSNS = 4096, /* PSNs whose payload checksum is remembered */
	RN_W_COUNTERS = 4,
	RN_W_SRQ = 48,	      /* receives of an SRQ */
	RN_W_SRQ_SEEN = 256,  /* these, and receives that destroyed QPs had taken */
	RN_W_MESSAGES = 512,  /* newest messages that are remembered */
	RN_W_DEPTH = 16,      /* READs and atomics in progress */
	RN_W_INLINE = 64,     /* bytes of inline data that a QP accepts */
	RN_W_DATAGRAM = 4096, /* bytes of the longest datagram */
	/* Retries allowed when a region ends while READs use it: they get no answer. */
	RN_W_UNANSWERED = 1000,
};

#define RN_W_BASE UINT64_C(0x10000000)	  /* address of the slots */
#define RN_W_COUNTER UINT64_C(0x20000000) /* address of the words that atomics access */
#define RN_W_RING UINT64_C(0x40000000)	  /* address of the completion queues */
#define RN_W_NONE UINT32_MAX

/* What a slot of memory may be used for. */
enum rn_w_use {
	RN_W_FREE,
	RN_W_SOURCE,  /* its own device gathers from it */
	RN_W_FETCHED, /* a peer's READ reads it */
	RN_W_TARGET,  /* a peer's WRITE writes it */
	RN_W_SINK,    /* the response to its own READ or atomic writes it */
	RN_W_RECV,    /* an arriving message writes it */
	RN_W_ENDED,   /* was one of these until its key was invalidated */
};

struct rn_w_slot {
	enum rn_w_use use;
	uint32_t qpn;	    /* the only QP that may access it; 0: any QP */
	uint32_t from, len; /* the open bytes within the slot */
	uint64_t pattern;   /* the content it has or will have; RECV: not known yet */
	uint32_t written;   /* bytes written, each write counted */
	uint32_t budget;    /* bytes that may still be written in all */
	uint32_t users;	    /* requests that will compare its content */
};

/* A work request as the program that posted it remembers it. */
struct rn_w_wr {
	uint64_t id;
	enum rn_wr_opcode opcode;
	bool signaled;
	bool bad; /* names an invalid key */
	bool is_inline;
	uint32_t len;
	uint32_t imm;
	uint32_t slot;	      /* slot of its own device; RN_W_NONE: no slot */
	uint32_t remote_slot; /* slot of the peer's device, or the counter */
	uint64_t pattern;     /* of the bytes that are transferred */
	uint64_t operand, compare;
	uint64_t fetched;  /* what the atomic found, once it was executed */
	uint64_t index;	   /* which message, or which atomic, of the connection */
	uint32_t troubles; /* rn_w_pair.troubles when it was posted */
	uint32_t rnrs;	   /* rn_w_end.rnrs when it was posted */
	rn_ns posted;
	/* UD: where it goes, and with which Q_Key. */
	struct rn_gid dgid;
	uint32_t dest_qpn, qkey;
	/* For requests that use or change one of the keys of window.c. */
	uint8_t key; /* enum rn_w_key_kind + 1; 0: no such key */
	bool ends_key, fence;
	uint32_t rkey;
	uint64_t address;
	uint32_t lkey; /* key of the region that holds the bytes; 0: the slot's key */
	uint64_t local_address;
};

struct rn_w_queue {
	struct rn_w_wr wr[RN_W_WRS];
	uint32_t head, tail; /* number of requests completed; number posted */
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
	/* The slot that the key opens or, if it is not bound, has opened last. */
	uint32_t key, slot, len;
	uint32_t old; /* key before the last change */
	uint64_t address;
	bool reads, zero_based;
	uint32_t uses;	/* requests of the peer in progress that use the key */
	uint32_t count; /* keys that were made so far */
	uint32_t fuse;	/* region: packets until it is deregistered; 0: it stays */
};

/* A UD datagram that has arrived at a QP. The QP must deliver it at once. */
struct rn_w_due {
	bool is_due;
	bool known; /* @sent is valid; it is not if the sender is gone */
	struct rn_w_wr sent;
	struct rn_flow flow;
	uint32_t src_qpn;
};

/* An SRQ of a device, and the receives posted to it. */
struct rn_w_srq {
	struct rn_srq *srq;
	struct rn_w_wr wr[RN_W_SRQ_SEEN]; /* id 0: the entry is free */
	/* The SRQ reports when it holds fewer receives; 0: no limit. */
	uint32_t limit;
	/* Memory for another ring, for the next resize. */
	void *spare;
	uint8_t *block;
};

/* The rate limit of a QP's requests, and the bytes sent since it was set. */
struct rn_w_pace {
	uint32_t kbps, burst; /* rate and burst limits; @kbps 0: no limit */
	rn_ns since;
	uint64_t bytes;
};

struct rn_w_cq {
	struct rn_cq cq;
	uint32_t seen; /* CQEs that have been checked; the program may poll them later */
	rn_ns rests_until;
	bool armed, fired;
	bool overrun;
	/* The QP's end that owns this CQ; NULL: the device owns it. */
	struct rn_w_end *of;
	struct rn_cqe *ring;
};

/* What is needed to check how many retries a requester counts; see observe.c. */
struct rn_w_account {
	struct rn_psn una;   /* oldest PSN without an answer */
	struct rn_psn heard; /* newest PSN that an answer was for, or @una */
	/* By the host's clock: latest time at which its retransmission timer started. */
	rn_ns since;
	uint32_t attempts;	/* how often @una was sent */
	uint32_t losses;	/* packets lost of its requests and of answers to them */
	struct rn_retries seen; /* retries it had counted at the last check */
	/* For the last PSNs: the PSN belongs to a READ or atomic. */
	bool alone[RN_W_PSNS];
};

/* One QP of a pair, with what the checks know of it. */
struct rn_w_end {
	struct rn_w_end *peer;
	struct rn_w_pair *pair;
	uint32_t dev, number;
	uint32_t qpn;
	struct rn_qp *qp;
	bool alive;	 /* in RTS, as far as its program knows */
	bool bad_posted; /* a request with an invalid key was posted on this connection */
	bool may_flush;	 /* an event has occurred that moves the QP to ERR */
	struct rn_w_queue sq, rq;
	uint64_t messages_sent; /* messages posted that consume a receive at the peer */
	uint64_t messages_got;
	/* The messages posted: what the peer's receives must look like. */
	struct rn_w_wr expected[RN_W_MESSAGES];
	uint64_t atomics_posted, atomics_done; /* atomics executed at the peer */
	struct rn_w_wr atomic[2 * RN_W_WRS];
	/* What an observer of the wire knows of this QP's requests. */
	struct rn_psn next_psn; /* first PSN that has not been sent */
	struct rn_psn arrived;	/* next PSN that the responder can accept */
	uint32_t started;	/* messages whose first packet was sent */
	struct rn_psn answered; /* newest PSN in an answer; @msn is that answer's MSN */
	uint32_t msn;
	/* @taken is the next PSN that the responder accepts, unless it has refused a
	 * packet by a NAK that has not been seen yet; @asked says whether the packet
	 * before it asks for an acknowledgement; @told is the newest PSN that has been
	 * acknowledged.
	 */
	struct rn_psn taken, told;
	bool asked;
	struct rn_w_account account;
	uint32_t rnrs;	   /* RNR NAKs that it has received */
	rn_ns notified_at; /* by its clock, when it sent its last CNP; 0: none yet */
	bool lacked_recv;  /* a request has arrived for which there may be no receive */
	uint32_t payload[RN_W_PSNS]; /* payload checksum by PSN; 0: none */
	uint32_t ended[RN_W_PSNS];   /* messages that end at or before this PSN */
	/* Last PSN of each READ and atomic without an answer. */
	struct rn_psn rd_last[RN_W_DEPTH];
	uint32_t rd_head, rd_tail;
	bool fence[2 * RN_W_WRS]; /* of the posted requests, by number */
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
	/* These fields are for UD. */
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
	/* Events that may explain a retry: lost, late and damaged packets, host stalls,
	 * clock jumps.
	 */
	uint32_t troubles;
	uint32_t connection;
	/* Packets of a former connection in flight, which may cause a NAK. */
	uint32_t stale;
};

struct rn_w_mem_op {
	bool used;
	bool stale; /* its QP has been reset: it ends without an effect */
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
	uint32_t marked;   /* packets with CE that have arrived for its QPs */
	uint32_t notified; /* CNPs that it has sent */
	struct rn_mr mr;
	struct rn_mr counters;
	uint64_t counter[RN_W_COUNTERS];
	struct rn_w_slot slot[RN_W_SLOTS];
	struct rn_w_free free[2]; /* free slots: for the device itself; for its peers */
	struct rn_w_cq cq;
	struct rn_w_srq srq[2]; /* of ordinary QPs; of the XRC domain */
	struct rn_w_mem_op op[RN_W_MEMORY_OPS];
	struct rn_cqe ring[RN_W_CQES];
	uint8_t memory[RN_W_SLOTS * RN_W_SLOT];
};

struct rn_world {
	struct rn_plan plan;
	struct rn_vnet *net; /* device i is host i of the network */
	bool calm;	     /* faults are over: each consumed receive is replaced */
	struct rn_w_device device[RN_PLAN_DEVICES];
	struct rn_w_pair pair[RN_PLAN_PAIRS];
	uint32_t qpns;
	uint64_t ids;
	struct rn_random fault_random[RN_PLAN_FAULTS];
	struct rn_random memory_random, host_random;
	/* QPs of an SRQ that will find no receive left for the datagram. */
	uint32_t due_less;
	uint32_t mem_waiting; /* memory reads and atomics that will end later */
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

/* Events of a world. The arrival of packets is an event of the network (vnet.h). */
enum rn_w_event {
	RN_W_STEP = RN_VNET_OWN, /* arg: number of the step in the plan */
	RN_W_MEM_DONE,		 /* arg: device << 16 | memory operation */
	RN_W_WAKE,		 /* arg: device whose stall is over */
	RN_W_RESUME,		 /* arg: number of the end that has drained */
};

/* ------------------------------------------------------------------ world.c */
/* Reports the first failure; later failures follow from it and are ignored. */
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
/* The host of @d is stalled. */
static inline bool rn_w_is_stalled(const struct rn_w_device *d)
{
	return rn_vnet_is_stalled(d->w->net, d->number);
}
/* The end with QP number @qpn on device @dev, or NULL. */
struct rn_w_end *rn_w_find(struct rn_world *w, uint32_t dev, uint32_t qpn);

/* Sends @pkt, which has its ICRC, to the devices that its flow addresses. */
void rn_w_leave(struct rn_w_device *d, struct rn_vnet_packet *pkt);

/* Checks, before time advances, that no QP has something to send that would never leave.
 */
void rn_w_check_rest(struct rn_world *w);

/* ---------------------------------------------------------------- observe.c */
void rn_w_observe_reset(struct rn_w_end *e, uint32_t psn);
/* A packet leaves, or reaches its device undamaged. */
void rn_w_observe_leaves(struct rn_world *w, const struct rn_vnet_packet *pkt);
void rn_w_observe_arrives(struct rn_world *w, const struct rn_vnet_packet *pkt);

void rn_w_account_reset(struct rn_w_end *e, struct rn_psn psn);
/* @count packets of @e's requests, or of answers to them, were lost or may appear so to
 * @e.
 */
void rn_w_account_lost(struct rn_w_end *e, uint32_t count);
/* @e sends a request for the PSNs [@psn, @psn + @count). @alone: a READ or an atomic. */
void rn_w_account_asked(struct rn_w_end *e, struct rn_psn psn, uint32_t count,
			bool alone);
/* An answer reaches @e. @is_answer: it is the answer to the READ or atomic at @psn;
 * @accepts: it acknowledges @psn.
 */
void rn_w_account_answered(struct rn_w_end *e, struct rn_psn psn, bool is_answer,
			   bool accepts);
void rn_w_account_check(struct rn_world *w, struct rn_w_end *e);
/* Whether @e has sent its oldest unanswered PSN retry_cnt + 1 times. */
bool rn_w_account_is_spent(const struct rn_w_end *e);

/* ------------------------------------------------------------------ check.c */
void rn_w_check_cqe(struct rn_w_device *d, const struct rn_cqe *cqe);
void rn_w_check_event(struct rn_w_device *d, const struct rn_event *ev);
/* QP @qpn of @d executes an atomic, which found the value @found. */
void rn_w_check_atomic(struct rn_w_device *d, uint32_t qpn,
		       const struct rn_mem_atomic_req *req, uint64_t found);
/* Final checks: every request has completed; every request has been flushed. */
void rn_w_check_done(struct rn_world *w, struct rn_w_end *e);
void rn_w_check_flushed(struct rn_world *w, struct rn_w_end *e);

void rn_w_cq_start(struct rn_w_device *d);
void rn_w_cq_start_own(struct rn_w_end *e);
struct rn_w_cq *rn_w_cq_of(struct rn_w_end *e);
/* Whether the CQ of @e has lost completions, so that the program cannot know what has
 * completed.
 */
bool rn_w_cq_is_lost(const struct rn_w_end *e);
/* Returns false if the CQ at @dst has no room for the CQE. */
bool rn_w_cq_write(struct rn_w_device *d, rn_iova dst, const void *src, uint32_t len);
void rn_w_cq_poll(struct rn_w_device *d);
/* Takes a POLL step: arm the CQ, do not poll it for a while, or resize it. */
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
/* Checks the rate limit: @e sends a request packet of @bytes. */
void rn_w_check_pace(struct rn_world *w, struct rn_w_end *e, uint32_t bytes);
void rn_w_srq_step(struct rn_world *w, struct rn_w_device *d, struct rn_random *r);
void rn_w_srq_told(struct rn_w_device *d, struct rn_w_srq *s);

size_t rn_w_srq_size(void);
void rn_w_srq_create(struct rn_w_device *d);
void rn_w_srq_destroy(struct rn_w_device *d);
/* The SRQ that the receives of @e come from; NULL: the QP has a receive queue. */
struct rn_w_srq *rn_w_srq_of(const struct rn_w_end *e);
uint32_t rn_w_srq_posted(const struct rn_w_srq *s);
void rn_w_srq_post(struct rn_w_device *d, struct rn_w_srq *s, uint32_t count,
		   struct rn_random *r);
/* The receive with the id @id, which has completed; NULL: no such receive was posted. */
struct rn_w_wr *rn_w_srq_take(struct rn_w_srq *s, uint64_t id);

/* ------------------------------------------------------------------- work.c */
/* The entry for the next request in @q; the request is not posted yet. */
struct rn_w_wr *rn_w_new_wr(struct rn_world *w, struct rn_w_queue *q, uint32_t dir,
			    const struct rn_w_end *e);
/* Divides the @len bytes of a slot into one to three SGEs. Return: their number. */
uint32_t rn_w_pieces(const struct rn_w_device *d, uint32_t slot, uint32_t len,
		     struct rn_sge sg[3], struct rn_random *r);
void rn_w_step(struct rn_world *w, const struct rn_plan_step *step);
void rn_w_post_recvs(struct rn_world *w, struct rn_w_end *e, uint32_t count,
		     struct rn_random *r);

/* ----------------------------------------------------------------- window.c */
void rn_w_keys_create(struct rn_w_end *e);
void rn_w_keys_destroy(struct rn_w_end *e);
/* Takes a KEY step: bind, register, invalidate or deregister, whichever is possible now.
 */
void rn_w_key_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r);
/* Counts a packet that @e sends or receives; a region may be deregistered after a number
 * of packets.
 */
void rn_w_key_tick(struct rn_world *w, struct rn_w_end *e);
void rn_w_key_changed(struct rn_world *w, struct rn_w_end *e, const struct rn_w_wr *wr);
/* Lets @wr, not posted yet, use a key of the peer, if a key fits. */
void rn_w_key_use(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		  struct rn_random *r);
/* Lets the bytes of @wr come from the region of @e, if it has one. */
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
/* Chooses the destination of @wr; @av must live as long as @send. */
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
/* Takes a slot for @len bytes, which QP @qpn may access or, if @qpn is 0, any QP.
 * RN_W_NONE: no slot is free.
 */
uint32_t rn_w_slot_take(struct rn_w_device *d, enum rn_w_use use, uint32_t qpn,
			uint32_t len, uint64_t pattern);
void rn_w_slot_close(struct rn_w_device *d, uint32_t slot);
/* Removes @count users from a slot, and closes it if it has no users left and its key is
 * invalid.
 */
void rn_w_slot_release(struct rn_w_device *d, uint32_t slot, uint32_t count);
/* Closes all slots that are open for @qpn. */
void rn_w_slot_close_all(struct rn_w_device *d, uint32_t qpn);
rn_iova rn_w_slot_address(const struct rn_w_device *d, uint32_t slot);
/* Whether the first @len bytes of the slot are those of @pattern. */
bool rn_w_slot_holds(const struct rn_w_device *d, uint32_t slot, uint32_t len,
		     uint64_t pattern);
uint64_t rn_w_slot_word(const struct rn_w_device *d, uint32_t slot);
const uint8_t *rn_w_slot_bytes(const struct rn_w_device *d, uint32_t slot);
/* Writes the first @len bytes of @pattern. */
void rn_w_fill(uint8_t *to, uint64_t pattern, uint32_t len);
bool rn_w_matches(const uint8_t *bytes, uint64_t pattern, uint32_t len);
void rn_w_mem_forget(struct rn_w_device *d, uint32_t qpn, bool destroyed);
void rn_w_mem_done(struct rn_w_device *d, uint32_t op);

#endif /* RN_WORLD_INTERNAL_H */
