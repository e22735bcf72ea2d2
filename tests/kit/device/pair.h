/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair.h - one or two devices on a simulated wire, in virtual time (sim/vnet).
 *
 * A test creates a world by pair_new() and queue pairs by pair_qp_new(), connects two of
 * them by pair_connect(), posts by pair_post_send() and pair_post_recv_mr(), lets time
 * pass by pair_run_until_quiet(), takes completions by pair_expect_wc(), and calls
 * pair_free() at the end.
 *
 * Each packet of a device gets its ICRC, is passed to the hook and recorded, and is
 * delivered after cfg.link_ns. If there is one device, the test itself is at the other
 * end of the wire (raw.h). Nothing is random, unless the test calls pair_set_faults().
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
	/* maximum number of QPs of a world, also of CQs and of MRs */
	PAIR_OBJECTS = 64,
	PAIR_RECORD_MAX = 65536, /* number of the latest packets that are recorded */
	/* maximum number of packets that are on the wire at once */
	PAIR_LINK_MAX = 8192,
	PAIR_EVENTS_MAX = 256,
	PAIR_CQ_DEFAULT = 1024,
	PAIR_WR_DEFAULT = 64,
	PAIR_SGE_DEFAULT = 4,
	PAIR_PSN_DEFAULT_A = 200, /* first PSN of the side with the smaller QPN */
	PAIR_PSN_DEFAULT_B = 100, /* first PSN of the other side */
};

/* A packet that a device has sent, or that the test has injected. */
struct pair_packet {
	rn_ns at; /* time at which the packet was sent */
	/* number of the device that has sent it; -1: the test has injected it */
	int from;
	struct rn_flow flow; /* addresses of the packet as the receiver sees them */
	struct rn_tx tx;     /* the pointer to the flow in @tx is not valid */
	/* number of copies that are delivered; 0: the packet is lost */
	unsigned copies;
	uint32_t len; /* length in bytes, including the ICRC */
	uint8_t data[RN_PACKET_MAX + RN_ICRC_LEN];
};

/* What happens to a packet on the wire. */
struct pair_fate {
	/* number of copies that are delivered: 0 for a lost packet, 2 for a duplicated
	 * one
	 */
	unsigned copies;
	/* additional delay in ns, so that later packets may arrive first */
	rn_ns extra_ns;
	bool corrupt; /* one bit of the packet is inverted */
	/* a switch marks the packet as having met congestion (CE), if it is ECN-capable
	 */
	bool marked;
};

typedef struct pair_fate pair_hook(void *ctx, const struct pair_packet *pkt);

/* Random faults. Each member but @seed: how many of 10000 packets have this fault. */
struct pair_faults {
	uint64_t seed;
	unsigned loss, duplicate, reorder, corrupt;
	unsigned mark; /* how many of 10000 ECN-capable packets are marked */
};

/* The properties of a world. 0 means the default value in brackets. */
struct pair_cfg {
	unsigned devices; /* number of devices, 1 or 2 [2] */
	uint32_t mtu_max; /* [4096] */
	/* delay in one direction [10 us] */
	rn_ns link_ns;
	uint32_t window_start, window_min, window_max; /* [128 KiB, 16 KiB, 1 MiB] */
	uint32_t read_window, read_chunk;	       /* [1 MiB, 64 KiB] */
	enum rn_cc_mode cc;			       /* [off] */
	uint32_t cc_line;			       /* [RN_CC_LINE] */
	uint32_t timeout_scale;			       /* [1] */
	/* as in struct rn_dev_cfg [none] */
	void (*before_ack)(void *arena, uint32_t qpn);
	/* if not 0, reads and atomics are delayed, as by arena.delay [0] */
	rn_ns mem_delay;
	/* the devices have link-local IPv6 addresses instead of 127.0.0.x */
	bool ipv6;
	bool credits; /* as in struct rn_dev_cfg */
	/* all QPs are created with this member of struct rn_qp_init */
	bool lent_resources;
	/* acknowledgements are sent only when no other event is due */
	bool hold_acks;
	/* maximum number of packets per call of rn_dev_receive() [1] */
	unsigned rx_batch;
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

/* A memory region, with its block of memory. */
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
	/* CQ of an SRQ that belongs to an XRC domain; otherwise NULL */
	struct pair_cq *cq;
	void *ring;
};

struct pair {
	struct pair_cfg cfg;
	/* The virtual network, which has the clock, and a switch that connects each
	 * device with the other one and with itself.
	 */
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
	uint32_t qpns; /* number of QPNs that were assigned so far */

	/* The packets that have arrived at device @batch_to and will be passed to it in
	 * one call.
	 */
	struct rn_vnet_packet *batch;
	unsigned batched, batch_to;
	pair_hook *hook;
	void *hook_ctx;
	struct pair_faults faults;

	/* The packets that devices have sent, the oldest first. If there is one device,
	 * the test takes them from here by raw_expect().
	 */
	struct pair_packet *record[PAIR_RECORD_MAX];
	unsigned record_count;
	unsigned record_taken;
	/* packets are not recorded, to save memory in long random runs */
	bool record_off;

	struct {
		unsigned dev;
		struct rn_event ev;
	} event[PAIR_EVENTS_MAX];
	unsigned event_count, event_taken;
	bool frozen; /* the devices send nothing: rn_dev_transmit() is not called */
};

struct pair *pair_new(const struct pair_cfg *cfg);
/* Frees the world. Before that, asserts that no guard byte was overwritten. */
void pair_free(struct pair *p);

void pair_set_hook(struct pair *p, pair_hook *hook, void *ctx);
void pair_set_faults(struct pair *p, const struct pair_faults *faults);

struct pair_cq *pair_cq_new(struct pair *p, unsigned dev, uint32_t capacity);

/* Creates a QP in state RESET with the capabilities PAIR_*_DEFAULT and CQs of its own.
 * The QPNs are 0x11, 0x12, ... in the order of creation.
 */
struct pair_qp *pair_qp_new(struct pair *p, unsigned dev, enum rn_qp_type type);

/* The same, but the members of @init that are not 0 replace the default values (also the
 * QPN).
 */
struct pair_qp *pair_qp_new_with(struct pair *p, unsigned dev,
				 const struct rn_qp_init *init);
void pair_qp_destroy(struct pair_qp *q);

/* Creates an SRQ in PD 1 with PAIR_SGE_DEFAULT SGEs. Its numbers are 0x81, 0x82, ... If
 * @xrcd is not 0, the SRQ belongs to this XRC domain and has a CQ of its own.
 * pair_srq_new_with(): members of @init that are not 0 replace the default values.
 */
struct pair_srq *pair_srq_new(struct pair *p, unsigned dev, uint32_t max_wr,
			      uint32_t xrcd);
struct pair_srq *pair_srq_new_with(struct pair *p, unsigned dev,
				   const struct rn_srq_init *init);
void pair_srq_destroy(struct pair_srq *s);
int pair_post_srq_mr(struct pair_srq *s, uint64_t wr_id, const struct pair_mr *mr,
		     uint32_t offset, uint32_t len);
/* Takes an event, and asserts that it is SRQ_LIMIT_REACHED of @s. */
void pair_expect_limit(struct pair_srq *s);

/* Returns attributes with which a QP can be brought to RTS, connected to @dest_qpn on
 * device @dev (if there is one device: at the address that the test uses): path MTU
 * mtu_max, PSNs PAIR_PSN_DEFAULT_*, RD depths 4, RNR code 12, timeout 14, retry_cnt 7,
 * rnr_retry 7, all remote rights, Q_Key 0x1ee7.
 */
struct rn_qp_attr pair_attr(const struct pair_qp *q, unsigned dev, uint32_t dest_qpn);

/* Modifies the QP from RESET over INIT and RTR to RTS, but not further than @until. */
void pair_modify_until(struct pair_qp *q, const struct rn_qp_attr *attr,
		       enum rn_qp_state until);
void pair_connect(struct pair_qp *a, struct pair_qp *b);
void pair_connect_with(struct pair_qp *a, struct pair_qp *b,
		       void (*change)(struct rn_qp_attr *));
int pair_modify_state(struct pair_qp *q, enum rn_qp_state state);

/* Creates a memory region with a new block, in PD 1, to which all QPs of this file
 * belong.
 */
struct pair_mr *pair_mr_new(struct pair *p, unsigned dev, uint32_t len, uint32_t access);
struct pair_mr *pair_mr_new_in(struct pair *p, unsigned dev, uint32_t pd, uint32_t len,
			       uint32_t access);
void pair_mr_remove(struct pair_mr *mr);

/* Returns the SGE of the bytes [offset, offset + len) of a region. */
struct rn_sge pair_sge(const struct pair_mr *mr, uint32_t offset, uint32_t len);

/* Posts a request, and sends the packets that can be sent now. */
int pair_post_send(struct pair_qp *q, const struct rn_send_wr *wr);
int pair_post_recv(struct pair_qp *q, const struct rn_recv_wr *wr);
int pair_post_recv_mr(struct pair_qp *q, uint64_t wr_id, const struct pair_mr *mr,
		      uint32_t offset, uint32_t len);

/* Sends the packets that can be sent now. No time passes. */
void pair_flush(struct pair *p);

/* Lets time pass until no packet is on the wire, no memory operation is pending and no
 * timer runs, or until the time @limit. Returns false if @limit was reached.
 */
bool pair_run_until(struct pair *p, rn_ns limit);
/* The same with a limit of one hour from now; asserts that it was not reached. */
void pair_run_until_quiet(struct pair *p);
/* Lets exactly @ns nanoseconds pass. */
void pair_run_for(struct pair *p, rn_ns ns);
/* Lets time pass until no packet is on the wire and no memory operation is pending.
 * Timers may still run.
 */
void pair_run_wire(struct pair *p);

/* Prints the last @count recorded packets, one per line. */
void pair_print_tail(const struct pair *p, unsigned count);

/* Takes the oldest CQE. Returns false if there is none. */
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

/* Takes the oldest CQE, asserts its wr_id and status, and returns it. */
#define pair_expect_wc(cq, wr_id, status) \
	pair_expect_wc_at((cq), (wr_id), (status), __FILE__, __LINE__)
struct rn_cqe pair_expect_wc_at(struct pair_cq *cq, uint64_t wr_id,
				enum rn_wc_status status, const char *file, int line);
#define pair_expect_no_wc(cq) pair_expect_no_wc_at((cq), __FILE__, __LINE__)
void pair_expect_no_wc_at(struct pair_cq *cq, const char *file, int line);

/* Takes the oldest event. Events are collected from the devices after each step. Returns
 * false if there is none.
 */
bool pair_next_event(struct pair *p, struct rn_event *ev);
/* Takes the oldest event, and asserts that it is @async of QP @q. */
#define pair_expect_async(q, async) pair_expect_async_at((q), (async), __FILE__, __LINE__)
void pair_expect_async_at(struct pair_qp *q, enum rn_async_event async, const char *file,
			  int line);

uint64_t pair_stat(const struct pair *p, unsigned dev, enum rn_stat stat);

/* Delivers a packet to device @dev at once, with @flow as its addresses. @len includes
 * the ICRC. raw.h uses this function.
 */
void pair_inject(struct pair *p, unsigned dev, const struct rn_flow *flow,
		 const uint8_t *data, uint32_t len);

#endif /* RN_PAIR_H */
