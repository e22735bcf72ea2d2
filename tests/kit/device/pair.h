/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair.h - one or two devices on a wire in virtual time (sim/vnet).
 *
 * Make a world with pair_new(), queue pairs with pair_qp_new(), join two of them with
 * pair_connect(), post with pair_post_send() and pair_post_recv_mr(), let time pass with
 * pair_run_until_quiet(), take completions with pair_expect_wc(), end with pair_free().
 *
 * Everything that leaves a device is sealed with its ICRC, shown to the hook, recorded,
 * and delivered after cfg.link_ns. With one device the other end of the wire is the test
 * itself, see raw.h. Nothing is random unless pair_set_faults() says so.
 */
#ifndef RN_PAIR_H
#define RN_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "arena.h"
#include "rocin/cqe.h"
#include "rocin/dev_cfg.h"
#include "rocin/icrc.h"
#include "rocin/mr.h"
#include "rocin/opcode.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "rocin/wire.h"
#include "sim/vnet/vnet.h"

struct rn_srq_init;

enum {
	PAIR_OBJECTS = 64,	 /* QPs, CQs and MRs of one world, each */
	PAIR_RECORD_MAX = 65536, /* packets kept of the last ones */
	PAIR_LINK_MAX = 8192,	 /* packets on the wire at once */
	PAIR_EVENTS_MAX = 256,
	PAIR_CQ_DEFAULT = 1024,
	PAIR_WR_DEFAULT = 64,
	PAIR_SGE_DEFAULT = 4,
	PAIR_PSN_DEFAULT_A = 200, /* first PSN of the side with the smaller QPN ... */
	PAIR_PSN_DEFAULT_B = 100, /* ... and of the other */
};

/* A packet that left a device, or was injected by the test. */
struct pair_packet {
	rn_ns at;	     /* when it left */
	int from;	     /* device, or -1: injected */
	struct rn_flow flow; /* as the receiver sees it */
	struct rn_tx tx;     /* flow pointer not valid */
	unsigned copies;     /* that the wire delivers; 0: lost */
	uint32_t len;	     /* bytes, ICRC included */
	uint8_t data[RN_PACKET_MAX + RN_ICRC_LEN];
};

/* What happens to a packet on the wire. */
struct pair_fate {
	unsigned copies; /* 0: lost, 1: delivered, 2: duplicated ... */
	rn_ns extra_ns;	 /* longer way: later packets overtake it */
	bool corrupt;	 /* one bit is flipped */
	bool marked;	 /* by a switch, if the packet can be */
};

typedef struct pair_fate pair_hook(void *ctx, const struct pair_packet *pkt);

/* Random faults: so many of 10000 packets each. */
struct pair_faults {
	uint64_t seed;
	unsigned loss, duplicate, reorder, corrupt;
	unsigned mark; /* of those that can be marked (ECT) */
};

/* 0 means the default in brackets. */
struct pair_cfg {
	unsigned devices;			       /* 1 or 2 [2] */
	uint32_t mtu_max;			       /* [4096] */
	rn_ns link_ns;				       /* one-way delay [10 us] */
	uint32_t window_start, window_min, window_max; /* [128 KiB, 16 KiB, 1 MiB] */
	uint32_t read_window, read_chunk;	       /* [1 MiB, 64 KiB] */
	enum rn_cc_mode cc;			       /* [off] */
	uint32_t cc_line;			       /* [RN_CC_LINE] */
	uint32_t timeout_scale;			       /* [1] */
	void (*before_ack)(void *arena, uint32_t qpn); /* see struct rn_dev_cfg [none] */
	rn_ns mem_delay;     /* > 0: memory answers PENDING, see struct arena [0] */
	bool ipv6;	     /* addresses are link-local IPv6 instead of 127.0.0.x */
	bool credits;	     /* see struct rn_dev_cfg */
	bool lent_resources; /* of all QPs, see struct rn_qp_init */
	bool hold_acks;	     /* acknowledgements leave only when nothing else happens */
	unsigned rx_batch;   /* packets per rn_dev_receive() at most [1] */
};

struct pair;

struct pair_cq {
	struct rn_cq cq;
	struct pair *p;
	unsigned dev;
	struct rn_cqe *ring;
};

struct pair_qp {
	struct rn_qp *qp;
	struct pair *p;
	unsigned dev;
	uint32_t qpn;
	enum rn_qp_type type;
	struct pair_cq *scq, *rcq;
	struct rn_stats_qp stats;
	void *block;
	size_t size;
};

/* A block of memory with a key. */
struct pair_mr {
	struct rn_mr mr;
	struct pair *p;
	unsigned dev;
	uint8_t *data;
	uint32_t len;
};

struct pair_srq {
	struct rn_srq *srq;
	struct pair *p;
	unsigned dev;
	uint32_t srqn;
	struct pair_cq *cq; /* of an XRC domain */
	void *ring;
};

struct pair {
	struct pair_cfg cfg;
	/* The clock, and a switch through which the devices reach each other
	 * and themselves. */
	struct rn_vnet *net;
	struct rn_dev *dev[2];
	uint64_t stats[2][RN_STAT_COUNT];
	struct arena arena[2];
	struct rn_gid gid[2];

	struct pair_qp *qp[PAIR_OBJECTS];
	struct pair_cq *cq[PAIR_OBJECTS];
	struct pair_mr *mr[PAIR_OBJECTS];
	struct pair_srq *srq[PAIR_OBJECTS];
	unsigned qp_count, cq_count, mr_count, srq_count;
	uint32_t qpns; /* given out so far */

	/* With rx_batch: what has come to a device and is given to it together. */
	struct rn_vnet_packet *batch;
	unsigned batched, batch_to;
	pair_hook *hook;
	void *hook_ctx;
	struct pair_faults faults;

	/* Everything that left a device, oldest first. With one device the test takes
	 * them from here: raw_expect().
	 */
	struct pair_packet *record[PAIR_RECORD_MAX];
	unsigned record_count;
	unsigned record_taken;
	bool record_off; /* long random runs: keep nothing */

	struct {
		unsigned dev;
		struct rn_event ev;
	} event[PAIR_EVENTS_MAX];
	unsigned event_count, event_taken;
	bool frozen; /* rn_dev_transmit() is not called: D's transmitter is blocked */
};

struct pair *pair_new(const struct pair_cfg *cfg);
/* Also asserts that no guard byte was overwritten. */
void pair_free(struct pair *p);

void pair_set_hook(struct pair *p, pair_hook *hook, void *ctx);
void pair_set_faults(struct pair *p, const struct pair_faults *faults);

struct pair_cq *pair_cq_new(struct pair *p, unsigned dev, uint32_t capacity);

/* A QP in RESET with the PAIR_*_DEFAULT capabilities and its own CQs. QPNs are
 * 0x11, 0x12, ... in the order of creation.
 */
struct pair_qp *pair_qp_new(struct pair *p, unsigned dev, enum rn_qp_type type);

/* The same, with fields of @init other than 0 taken over (qpn too). */
struct pair_qp *pair_qp_new_with(struct pair *p, unsigned dev,
				 const struct rn_qp_init *init);
void pair_qp_destroy(struct pair_qp *q);

/* An SRQ in PD 1, PAIR_SGE_DEFAULT SGEs; numbers are 0x81, 0x82, ... With @xrcd it is of
 * that XRC domain and has a CQ of its own. Fields of @init other than 0 are taken over.
 */
struct pair_srq *pair_srq_new(struct pair *p, unsigned dev, uint32_t max_wr,
			      uint32_t xrcd);
struct pair_srq *pair_srq_new_with(struct pair *p, unsigned dev,
				   const struct rn_srq_init *init);
void pair_srq_destroy(struct pair_srq *s);
int pair_post_srq_mr(struct pair_srq *s, uint64_t wr_id, const struct pair_mr *mr,
		     uint32_t offset, uint32_t len);
/* Take an event, assert that it is SRQ_LIMIT_REACHED of @s. */
void pair_expect_limit(struct pair_srq *s);

/* Attributes that lead to RTS, towards @dest_qpn on device @dev (with one device: the
 * address of the absent one): path MTU mtu_max, PSNs PAIR_PSN_DEFAULT_*, RD depths 4,
 * RNR code 12, timeout 14, retry_cnt 7, rnr_retry 7, all remote rights, Q_Key 0x1ee7.
 */
struct rn_qp_attr pair_attr(const struct pair_qp *q, unsigned dev, uint32_t dest_qpn);

/* RESET -> INIT -> RTR -> RTS, stopping at @until. */
void pair_modify_until(struct pair_qp *q, const struct rn_qp_attr *attr,
		       enum rn_qp_state until);
void pair_connect(struct pair_qp *a, struct pair_qp *b);
void pair_connect_with(struct pair_qp *a, struct pair_qp *b,
		       void (*change)(struct rn_qp_attr *));
int pair_modify_state(struct pair_qp *q, enum rn_qp_state state);

/* Memory region over a new block, in PD 1 (that of all QPs made here). */
struct pair_mr *pair_mr_new(struct pair *p, unsigned dev, uint32_t len, uint32_t access);
struct pair_mr *pair_mr_new_in(struct pair *p, unsigned dev, uint32_t pd, uint32_t len,
			       uint32_t access);
void pair_mr_remove(struct pair_mr *mr);

/* SGE of bytes [offset, offset + len) of a region. */
struct rn_sge pair_sge(const struct pair_mr *mr, uint32_t offset, uint32_t len);

/* Post and let what can leave at once leave. */
int pair_post_send(struct pair_qp *q, const struct rn_send_wr *wr);
int pair_post_recv(struct pair_qp *q, const struct rn_recv_wr *wr);
int pair_post_recv_mr(struct pair_qp *q, uint64_t wr_id, const struct pair_mr *mr,
		      uint32_t offset, uint32_t len);

/* What leaves now leaves; time stands still. */
void pair_flush(struct pair *p);

/* Let time pass until nothing is on its way and no timer runs, or until @limit
 * (absolute). Returns true if quiet was reached.
 */
bool pair_run_until(struct pair *p, rn_ns limit);
/* One hour of virtual time at most; asserts that quiet was reached. */
void pair_run_until_quiet(struct pair *p);
/* Let exactly @ns pass. */
void pair_run_for(struct pair *p, rn_ns ns);
/* Until nothing is on the wire and memory is idle; timers may still run. */
void pair_run_wire(struct pair *p);

/* Print the last @count packets that were recorded, a line each. */
void pair_print_tail(const struct pair *p, unsigned count);

/* Take the oldest CQE. False if there is none. */
bool pair_poll(struct pair_cq *cq, struct rn_cqe *cqe);
static inline enum rn_wc_status pair_cqe_status(const struct rn_cqe *cqe)
{
	return (enum rn_wc_status)(cqe->ctl & 0xff);
}
static inline enum rn_wc_opcode pair_cqe_opcode(const struct rn_cqe *cqe)
{
	return (enum rn_wc_opcode)(cqe->ctl >> 8 & 0xff);
}
static inline uint16_t pair_cqe_flags(const struct rn_cqe *cqe)
{
	return (uint16_t)(cqe->ctl >> 16);
}

/* Take the oldest CQE and assert wr_id and status; returns it. */
#define pair_expect_wc(cq, wr_id, status) \
	pair_expect_wc_at((cq), (wr_id), (status), __FILE__, __LINE__)
struct rn_cqe pair_expect_wc_at(struct pair_cq *cq, uint64_t wr_id,
				enum rn_wc_status status, const char *file, int line);
#define pair_expect_no_wc(cq) pair_expect_no_wc_at((cq), __FILE__, __LINE__)
void pair_expect_no_wc_at(struct pair_cq *cq, const char *file, int line);

/* Take the oldest event that no test has taken yet (they are collected after each step).
 */
bool pair_next_event(struct pair *p, struct rn_event *ev);
/* Take one, assert that it is @async of @q. */
#define pair_expect_async(q, async) pair_expect_async_at((q), (async), __FILE__, __LINE__)
void pair_expect_async_at(struct pair_qp *q, enum rn_async_event async, const char *file,
			  int line);

uint64_t pair_stat(const struct pair *p, unsigned dev, enum rn_stat stat);

/* Put a packet on the wire towards device @dev as if @flow had brought it; ICRC included
 * in @len. Used by raw.h.
 */
void pair_inject(struct pair *p, unsigned dev, const struct rn_flow *flow,
		 const uint8_t *data, uint32_t len);

#endif /* RN_PAIR_H */
