/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* world_internal.h - what the files of sim/world share. */
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
	RN_W_LOCAL = 352, /* the first of them: for SOURCE, SINK and RECV */
	RN_W_SLOT = 8192, /* bytes */
	RN_W_WRS = 24,	  /* per queue */
	RN_W_CQES = 512,
	RN_W_OWN_CQES = 64,	    /* at most in the completion queue of one QP */
	RN_W_PACKETS = 4096,	    /* under way at once */
	RN_W_EVENTS = 12288,	    /* of ours */
	RN_W_QP_BLOCK = 128 * 1024, /* bytes for one QP */
	RN_W_MEMORY_OPS = 1024,
	RN_W_PSNS = 4096, /* last PSNs of which the payload is remembered */
	RN_W_COUNTERS = 4,
	RN_W_SRQ = 48,		/* receives of an SRQ */
	RN_W_SRQ_SEEN = 256,	/* those, and those that a queue pair took to its grave */
	RN_W_MESSAGES = 512,	/* last ones that are remembered */
	RN_W_DEPTH = 16,	/* READs and atomics under way */
	RN_W_INLINE = 64,	/* bytes */
	RN_W_DATAGRAM = 4096,	/* bytes of the longest */
	RN_W_UNANSWERED = 1000, /* gaps that a request may leave which is not answered */
};

#define RN_W_BASE UINT64_C(0x10000000)	  /* of the slots */
#define RN_W_COUNTER UINT64_C(0x20000000) /* words that atomics reach */
#define RN_W_RING UINT64_C(0x40000000)	  /* completion queue */
#define RN_W_NONE UINT32_MAX

/* What a slot of memory is open for. */
enum rn_w_use {
	RN_W_FREE,
	RN_W_SOURCE,  /* gathered from by its own device */
	RN_W_FETCHED, /* read by a peer's READ */
	RN_W_TARGET,  /* written by a peer's WRITE */
	RN_W_SINK,    /* written by the responses to its own READ or atomic */
	RN_W_RECV,    /* written by a message that comes */
	RN_W_ENDED,   /* was one of the above until its key ended */
};

struct rn_w_slot {
	enum rn_w_use use;
	uint32_t qpn;	    /* who may */
	uint32_t from, len; /* where, within the slot */
	uint64_t pattern;   /* what it holds, or is to hold; RECV: not known yet */
	uint32_t written;   /* bytes, each time they were */
	uint32_t budget;    /* bytes that may be written */
	uint32_t users;	    /* requests that will compare what it holds */
};

/* A work request as its poster remembers it. */
struct rn_w_wr {
	uint64_t id;
	enum rn_wr_opcode opcode;
	bool signaled;
	bool bad; /* names a key that is not there */
	bool is_inline;
	uint32_t len;
	uint32_t imm;
	uint32_t slot;	      /* of its own device; RN_W_NONE */
	uint32_t remote_slot; /* of the peer's; or counter */
	uint64_t pattern;     /* of the bytes that move */
	uint64_t operand, compare;
	uint64_t fetched;  /* what the atomic found, once carried out */
	uint64_t index;	   /* which message, or which atomic, of the connection */
	uint32_t troubles; /* of the pair when it was posted */
	uint32_t rnrs;	   /* likewise */
	rn_ns posted;
	/* UD: to whom it goes, and with which Q_Key. */
	struct rn_gid dgid;
	uint32_t dest_qpn, qkey;
	/* By a key of its own, see window.c. */
	uint8_t key; /* enum rn_w_key_kind + 1; 0: none */
	bool ends_key, fence;
	uint32_t rkey;
	uint64_t address;
	uint32_t lkey; /* of the region that the bytes come from; 0: of their slot */
	uint64_t local_address;
};

struct rn_w_queue {
	struct rn_w_wr wr[RN_W_WRS];
	uint32_t head, tail; /* counts */
};

enum rn_w_key_kind {
	RN_W_MW2,
	RN_W_MW1,
	RN_W_REGION,
	RN_W_KEYS,
};

/* A key that its owner binds or registers, and ends. */
struct rn_w_key {
	struct rn_mr mr;
	enum {
		RN_W_UNBOUND,
		RN_W_CHANGING, /* a request that does it is under way */
		RN_W_BOUND,
	} state;
	/* Of what it opens or, if it is not bound, has opened last. */
	uint32_t key, slot, len;
	uint32_t old; /* key before that */
	uint64_t address;
	bool reads, zero_based;
	uint32_t uses;	/* requests of the peer under way that name it */
	uint32_t count; /* keys made */
	uint32_t fuse;	/* region: packets until it ends; 0: it stays */
};

/* A datagram that has come to a queue pair, which must deliver it at once. */
struct rn_w_due {
	bool is_due;
	bool known; /* @sent is; not if its sender is gone */
	struct rn_w_wr sent;
	struct rn_flow flow;
	uint32_t src_qpn;
};

/* Receives that queue pairs of a device share. */
struct rn_w_srq {
	struct rn_srq *srq;
	struct rn_w_wr wr[RN_W_SRQ_SEEN]; /* id 0: not posted */
	uint32_t limit;			  /* it is to tell when it holds less; 0: not */
	void *spare;			  /* ring that is not in use */
	uint8_t *block;
};

/* Rate of a queue pair's requests, and what has left at it. */
struct rn_w_pace {
	uint32_t kbps, burst; /* 0 kbps: any */
	rn_ns since;
	uint64_t bytes;
};

struct rn_w_cq {
	struct rn_cq cq;
	uint32_t seen; /* CQEs that have been judged; the program may poll later */
	rn_ns rests_until;
	bool armed, fired;
	bool overrun;
	struct rn_w_end *of; /* NULL: its device's */
	struct rn_cqe *ring;
};

/* What a requester may charge as retries, see account.c. */
struct rn_w_account {
	struct rn_psn una;	/* oldest PSN without an answer */
	struct rn_psn heard;	/* newest that an answer was for, or una */
	rn_ns since;		/* by its clock: when its timer began at the latest */
	uint32_t attempts;	/* times that una has left */
	uint32_t losses;	/* of its requests and of answers to them */
	struct rn_retries seen; /* that it had charged when we last looked */
	bool alone[RN_W_PSNS];	/* of the last PSNs: READs and atomics */
};

/* One end of a pair. */
struct rn_w_end {
	struct rn_w_end *peer;
	struct rn_w_pair *pair;
	uint32_t dev, number;
	uint32_t qpn;
	struct rn_qp *qp;
	bool alive;	 /* RTS, for all that its owner knows */
	bool bad_posted; /* a request with a wrong key, on this connection */
	bool may_flush;	 /* something has happened that moves it to ERR */
	struct rn_w_queue sq, rq;
	uint64_t messages_sent; /* that take a receive; posted */
	uint64_t messages_got;
	/* Of messages posted: what the peer's receive is to look like. */
	struct rn_w_wr expected[RN_W_MESSAGES];
	uint64_t atomics_posted, atomics_done; /* carried out at the peer */
	struct rn_w_wr atomic[2 * RN_W_WRS];
	/* What an observer on the wire knows of its requests. */
	struct rn_psn next_psn; /* first that has not been sent */
	struct rn_psn arrived;	/* next PSN that the responder can accept */
	uint32_t started;	/* messages that have begun to leave */
	struct rn_psn answered; /* newest PSN in an answer, and its MSN */
	uint32_t msn;
	/* Next PSN that the responder takes, unless it has refused one that we have not
	 * seen it refuse; whether the packet before it wants an answer; newest PSN that
	 * has been answered.
	 */
	struct rn_psn taken, told;
	bool asked;
	struct rn_w_account account;
	uint32_t rnrs;	   /* RNR NAKs that it was sent */
	rn_ns notified_at; /* when it sent its last CNP, by its clock; 0: none yet */
	bool lacked_recv;  /* a request has come for which there may be no receive */
	uint32_t payload[RN_W_PSNS];	   /* check sum by PSN, 0: none */
	uint32_t ended[RN_W_PSNS];	   /* messages that end up to this PSN */
	struct rn_psn rd_last[RN_W_DEPTH]; /* READs and atomics not answered */
	uint32_t rd_head, rd_tail;
	bool fence[2 * RN_W_WRS]; /* of the requests posted, by number */
	uint64_t requests;
	struct rn_w_key key[RN_W_KEYS];
	struct rn_w_cq own_cq; /* if the plan has one for it */
	struct rn_cqe own_ring[RN_W_OWN_CQES];
	bool fatal; /* it was told so */
	enum {
		RN_W_RUNS,
		RN_W_DRAINS,
		RN_W_DRAINED,
	} sqd;
	struct rn_w_pace pace;
	/* UD. */
	struct rn_psn first_psn;
	bool member; /* of the group */
	struct rn_mcast mcast;
	struct rn_w_due due;
	uint8_t *block;
};

struct rn_w_pair {
	struct rn_world *w;
	const struct rn_plan_pair *plan;
	struct rn_w_end end[2];
	uint32_t troubles; /* packets lost, late or damaged; stalls; jumps */
	uint32_t connection;
	uint32_t stale; /* packets of a former connection that may draw a NAK */
};

struct rn_w_mem_op {
	bool used;
	bool stale; /* of a queue pair that has been reset: it ends, without effect */
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
	uint32_t marked;   /* packets with CE that have come to its queue pairs */
	uint32_t notified; /* CNPs that it has sent */
	struct rn_mr mr;
	struct rn_mr counters;
	uint64_t counter[RN_W_COUNTERS];
	struct rn_w_slot slot[RN_W_SLOTS];
	struct rn_w_free free[2]; /* for the device itself; for its peers */
	struct rn_w_cq cq;
	struct rn_w_srq srq[2]; /* a basic one; one of the XRC domain */
	struct rn_w_mem_op op[RN_W_MEMORY_OPS];
	struct rn_cqe ring[RN_W_CQES];
	uint8_t memory[RN_W_SLOTS * RN_W_SLOT];
};

struct rn_world {
	struct rn_plan plan;
	struct rn_vnet *net; /* device i is its host i */
	bool calm;	     /* faults are over: what a receive has taken is replaced */
	struct rn_w_device device[RN_PLAN_DEVICES];
	struct rn_w_pair pair[RN_PLAN_PAIRS];
	uint32_t qpns;
	uint64_t ids;
	struct rn_random fault_random[RN_PLAN_FAULTS];
	struct rn_random memory_random, host_random;
	uint32_t due_less;    /* so many that share an SRQ find nothing left in it */
	uint32_t mem_waiting; /* reads and atomics that are to answer later */
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

/* What happens, besides packets that arrive. */
enum rn_w_event {
	RN_W_STEP = RN_VNET_OWN, /* arg: number in the plan */
	RN_W_MEM_DONE,		 /* arg: device << 16 | operation */
	RN_W_WAKE,		 /* arg: device that has stood still */
	RN_W_RESUME,		 /* arg: end that has drained */
};

/* ------------------------------------------------------------------ world.c */
/* What is wrong, once: what comes later follows from it. */
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
/* Let out what device @d has, and look at it. */
void rn_w_drain(struct rn_w_device *d);
static inline rn_ns rn_w_local(const struct rn_w_device *d)
{
	return rn_vnet_local(d->w->net, d->number);
}
/* The host stands still. */
static inline bool rn_w_is_stalled(const struct rn_w_device *d)
{
	return rn_vnet_is_stalled(d->w->net, d->number);
}
/* The end with this number on this device; NULL. */
struct rn_w_end *rn_w_find(struct rn_world *w, uint32_t dev, uint32_t qpn);

/* @pkt, sealed, goes to whom its flow names. */
void rn_w_leave(struct rn_w_device *d, struct rn_vnet_packet *pkt);

/* Before time goes on: nobody waits for nothing. */
void rn_w_check_rest(struct rn_world *w);

/* ---------------------------------------------------------------- observe.c */
void rn_w_observe_reset(struct rn_w_end *e, uint32_t psn);
/* A packet leaves, or reaches its device undamaged. */
void rn_w_observe_leaves(struct rn_world *w, const struct rn_vnet_packet *pkt);
void rn_w_observe_arrives(struct rn_world *w, const struct rn_vnet_packet *pkt);

void rn_w_account_reset(struct rn_w_end *e, struct rn_psn psn);
/* @count packets of @e's requests, or of answers to them, were lost or may seem so. */
void rn_w_account_lost(struct rn_w_end *e, uint32_t count);
/* @e sends a request for the PSNs [@psn, @psn + @count). @alone: READ, atomic. */
void rn_w_account_asked(struct rn_w_end *e, struct rn_psn psn, uint32_t count,
			bool alone);
/* An answer comes to @e. @is_answer: to @psn alone; @accepts: it acknowledges @psn. */
void rn_w_account_answered(struct rn_w_end *e, struct rn_psn psn, bool is_answer,
			   bool accepts);
void rn_w_account_check(struct rn_world *w, struct rn_w_end *e);
/* What it asks for has been asked for retry_cnt + 1 times. */
bool rn_w_account_is_spent(const struct rn_w_end *e);

/* ------------------------------------------------------------------ check.c */
void rn_w_check_cqe(struct rn_w_device *d, const struct rn_cqe *cqe);
void rn_w_check_event(struct rn_w_device *d, const struct rn_event *ev);
/* An atomic is carried out for the QP @qpn of @d, which found @found. */
void rn_w_check_atomic(struct rn_w_device *d, uint32_t qpn,
		       const struct rn_mem_atomic_req *req, uint64_t found);
/* In the end: everything has completed, everything has been flushed. */
void rn_w_check_done(struct rn_world *w, struct rn_w_end *e);
void rn_w_check_flushed(struct rn_world *w, struct rn_w_end *e);

void rn_w_cq_start(struct rn_w_device *d);
void rn_w_cq_start_own(struct rn_w_end *e);
struct rn_w_cq *rn_w_cq_of(struct rn_w_end *e);
/* Its completion queue has lost some: nobody knows what has completed. */
bool rn_w_cq_is_lost(const struct rn_w_end *e);
/* False: there is no place for a CQE. */
bool rn_w_cq_write(struct rn_w_device *d, rn_iova dst, const void *src, uint32_t len);
void rn_w_cq_poll(struct rn_w_device *d);
/* Arm, leave alone for a while, resize. */
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
/* A request packet of @bytes leaves. */
void rn_w_check_pace(struct rn_world *w, struct rn_w_end *e, uint32_t bytes);
void rn_w_srq_step(struct rn_world *w, struct rn_w_device *d, struct rn_random *r);
void rn_w_srq_told(struct rn_w_device *d, struct rn_w_srq *s);

size_t rn_w_srq_size(void);
void rn_w_srq_create(struct rn_w_device *d);
void rn_w_srq_destroy(struct rn_w_device *d);
/* That the receives of @e come from; NULL: it has a receive queue. */
struct rn_w_srq *rn_w_srq_of(const struct rn_w_end *e);
uint32_t rn_w_srq_posted(const struct rn_w_srq *s);
void rn_w_srq_post(struct rn_w_device *d, struct rn_w_srq *s, uint32_t count,
		   struct rn_random *r);
/* The receive @id, which has completed; NULL: there is none. */
struct rn_w_wr *rn_w_srq_take(struct rn_w_srq *s, uint64_t id);

/* ------------------------------------------------------------------- work.c */
/* Place for the next request in @q, not posted yet. */
struct rn_w_wr *rn_w_new_wr(struct rn_world *w, struct rn_w_queue *q, uint32_t dir,
			    const struct rn_w_end *e);
/* The bytes of a slot in one to three pieces. */
uint32_t rn_w_pieces(const struct rn_w_device *d, uint32_t slot, uint32_t len,
		     struct rn_sge sg[3], struct rn_random *r);
void rn_w_step(struct rn_world *w, const struct rn_plan_step *step);
void rn_w_post_recvs(struct rn_world *w, struct rn_w_end *e, uint32_t count,
		     struct rn_random *r);

/* ----------------------------------------------------------------- window.c */
void rn_w_keys_create(struct rn_w_end *e);
void rn_w_keys_destroy(struct rn_w_end *e);
/* Bind, register, invalidate, deregister: what can be done now. */
void rn_w_key_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r);
/* A packet of @e leaves or comes. */
void rn_w_key_tick(struct rn_world *w, struct rn_w_end *e);
void rn_w_key_changed(struct rn_world *w, struct rn_w_end *e, const struct rn_w_wr *wr);
/* Let @wr, not posted yet, use a key of the peer, if there is one for it. */
void rn_w_key_use(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		  struct rn_random *r);
/* Let the bytes of @wr come from the region of @e, if it has one. */
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
/* Say whom @wr is for; @av lives as long as @send does. */
void rn_w_address(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		  struct rn_send_wr *send, struct rn_av *av, struct rn_random *r);
void rn_w_datagram_leaves(struct rn_world *w, const struct rn_vnet_packet *pkt);
void rn_w_datagram_arrives(struct rn_world *w, const struct rn_vnet_packet *pkt);
/* It has been delivered by now. */
void rn_w_datagram_done(struct rn_w_device *d);
void rn_w_check_datagram(struct rn_world *w, struct rn_w_end *e,
			 const struct rn_w_wr *recv, const struct rn_cqe *cqe);

/* ----------------------------------------------------------------- memory.c */
extern const struct rn_mem_ops rn_w_mem_now, rn_w_mem_later;
void rn_w_mem_init(struct rn_w_device *d);
/* Take a slot for @len bytes, open for @qpn or, if that is 0, for any; RN_W_NONE if there
 * is none.
 */
uint32_t rn_w_slot_take(struct rn_w_device *d, enum rn_w_use use, uint32_t qpn,
			uint32_t len, uint64_t pattern);
void rn_w_slot_close(struct rn_w_device *d, uint32_t slot);
/* @count users less: close it if it has ended and has none. */
void rn_w_slot_release(struct rn_w_device *d, uint32_t slot, uint32_t count);
/* Close all that are open for @qpn. */
void rn_w_slot_close_all(struct rn_w_device *d, uint32_t qpn);
rn_iova rn_w_slot_address(const struct rn_w_device *d, uint32_t slot);
/* Are the first @len bytes those of @pattern? */
bool rn_w_slot_holds(const struct rn_w_device *d, uint32_t slot, uint32_t len,
		     uint64_t pattern);
uint64_t rn_w_slot_word(const struct rn_w_device *d, uint32_t slot);
const uint8_t *rn_w_slot_bytes(const struct rn_w_device *d, uint32_t slot);
/* The first @len bytes of @pattern. */
void rn_w_fill(uint8_t *to, uint64_t pattern, uint32_t len);
bool rn_w_matches(const uint8_t *bytes, uint64_t pattern, uint32_t len);
void rn_w_mem_forget(struct rn_w_device *d, uint32_t qpn, bool destroyed);
void rn_w_mem_done(struct rn_w_device *d, uint32_t op);

#endif /* RN_WORLD_INTERNAL_H */
