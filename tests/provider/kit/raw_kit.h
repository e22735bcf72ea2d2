/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_kit.h - raw packet queue pairs, frames and rules for tests on public verbs.
 *
 * The frames are UDP over IPv4 to a group address; their UDP destination port is what the
 * rules of the tests look at. Side 0 of the kit's buffer is for sending.
 */
#ifndef RN_RAW_KIT_H
#define RN_RAW_KIT_H

#include <stddef.h>

#include "verbs_kit.h"

enum {
	RAW_HDR = 14 + 20 + 8,
	RAW_LEN = 100,	 /* of a usual frame */
	RAW_SLOT = 4096, /* bytes of side 1 for a receive */
	RAW_END = 999,	 /* port of the frame that comes last */
};

/* May the process have them at all? Ends the test program with 77 if not. */
void raw_need_privilege(void);

/* In RTS; receives complete in kit.cq, sends in a CQ of its own. */
struct ibv_qp *raw_qp(struct kit *k);
/* The same by ibv_create_qp_ex(), in RESET; NULL with errno. */
struct ibv_qp *raw_create(struct kit *k, uint32_t create_flags, uint64_t send_ops);
void raw_to_rts(struct ibv_qp *qp);
void raw_end(struct ibv_qp *qp);

/* Write a frame of @len bytes at the start of side 0; its payload is made from @seed. */
void raw_write_frame(struct kit *k, uint16_t port, uint32_t len, uint8_t seed);

/* Send @len bytes from the start of side 0 and wait until that is complete. */
void raw_send(struct kit *k, struct ibv_qp *qp, uint32_t len);
/* A usual frame. */
void raw_send_to(struct kit *k, struct ibv_qp *qp, uint16_t port);

/* Post receive number @n (wr_id n, slot n % 8 of side 1). */
void raw_post(struct kit *k, struct ibv_qp *qp, unsigned n);

/* The next completion must be receive @n of @qp, a frame of @len bytes for @port that
 * equals side 0 if it was the one written last.
 */
struct ibv_wc raw_expect(struct kit *k, const struct ibv_qp *qp, unsigned n,
			 uint16_t port, uint32_t len);

/* A rule with its specifications, which follow without gaps. */
struct raw_rule {
	struct ibv_flow_attr attr;
	uint8_t specs[512];
	size_t len;
};

struct raw_rule raw_rule_new(enum ibv_flow_attr_type type, uint16_t priority);
void raw_rule_add(struct raw_rule *rule, const void *spec, size_t size);
void raw_rule_port(struct raw_rule *rule, uint16_t port); /* UDP, destination */

struct ibv_flow *raw_flow(struct ibv_qp *qp, struct raw_rule *rule);
/* A normal rule of priority 0 for @port. */
struct ibv_flow *raw_flow_port(struct ibv_qp *qp, uint16_t port);
void raw_flow_end(struct ibv_flow *flow);

enum {
	RAW_PLAYERS = 3
};

/* Queue pairs that receive, one that sends, and one for the frame that comes last. */
struct raw_players {
	struct kit *k;
	struct ibv_qp *sender, *qp[RAW_PLAYERS], *last;
	struct ibv_flow *end;
};

struct raw_players raw_players_new(struct kit *k);
void raw_players_end(struct raw_players *p);
/* Send the usual frame that is at the start of side 0. @who: a bit for each QP that must
 * get it, and no other; once, since the last frame comes behind it.
 */
void raw_players_expect(struct raw_players *p, unsigned who);
/* The same with a frame for @port. */
void raw_players_send(struct raw_players *p, uint16_t port, unsigned who);

/* A packet socket on the interface's peer, or on lo itself: the world outside. */
int raw_outside(void);
void raw_send_from(int fd, const struct kit *k, uint32_t len);

#endif /* RN_RAW_KIT_H */
