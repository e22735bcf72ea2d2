/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_kit.h - raw packet queue pairs, frames and flow rules, for tests that use only
 * public verbs.
 *
 * The frames are UDP packets over IPv4 to a multicast address. The rules of the tests
 * select them by their UDP destination port. Side 0 of the kit's buffer is for sending.
 */
#ifndef RN_RAW_KIT_H
#define RN_RAW_KIT_H

#include <stddef.h>

#include "verbs_kit.h"

enum {
	RAW_HDR = 14 + 20 + 8,
	RAW_LEN = 100,	 /* length of a usual frame */
	RAW_SLOT = 4096, /* number of bytes in side 1 for a receive */
	RAW_END = 999,	 /* port of the last frame */
};

/* Ends the test program with status 77 if the process may not use raw packet queue pairs.
 */
void raw_need_privilege(void);

/* Creates a QP and brings it to RTS. Its receives complete in kit.cq, its sends in
 * another CQ.
 */
struct ibv_qp *raw_qp(struct kit *k);
/* Creates a QP in state RESET by ibv_create_qp_ex(). Returns NULL with errno on failure.
 */
struct ibv_qp *raw_create(struct kit *k, uint32_t create_flags, uint64_t send_ops);
void raw_to_rts(struct ibv_qp *qp);
void raw_end(struct ibv_qp *qp);

/* Writes a frame of @len bytes to the start of side 0. Its payload follows from @seed. */
void raw_write_frame(struct kit *k, uint16_t port, uint32_t len, uint8_t seed);

/* Sends @len bytes from the start of side 0, and waits for the completion. */
void raw_send(struct kit *k, struct ibv_qp *qp, uint32_t len);
/* Sends a usual frame. */
void raw_send_to(struct kit *k, struct ibv_qp *qp, uint16_t port);

/* Posts receive number @n, with wr_id @n and slot @n % 8 of side 1. */
void raw_post(struct kit *k, struct ibv_qp *qp, unsigned n);

/* Waits for the next completion, which must be that of receive @n of @qp: a frame of @len
 * bytes for @port. If it is the frame that was written last, it must equal side 0.
 */
struct ibv_wc raw_expect(struct kit *k, const struct ibv_qp *qp, unsigned n,
			 uint16_t port, uint32_t len);

/* A flow rule with its specifications, which must follow without gaps. */
struct raw_rule {
	struct ibv_flow_attr attr;
	uint8_t specs[512];
	size_t len;
};

struct raw_rule raw_rule_new(enum ibv_flow_attr_type type, uint16_t priority);
void raw_rule_add(struct raw_rule *rule, const void *spec, size_t size);
/* adds a specification of the UDP destination port */
void raw_rule_port(struct raw_rule *rule, uint16_t port);

struct ibv_flow *raw_flow(struct ibv_qp *qp, struct raw_rule *rule);
/* Creates a normal flow rule of priority 0 for @port. */
struct ibv_flow *raw_flow_port(struct ibv_qp *qp, uint16_t port);
void raw_flow_end(struct ibv_flow *flow);

enum {
	RAW_PLAYERS = 3
};

/* Queue pairs that receive frames, one that sends them, and one for the last frame. */
struct raw_players {
	struct kit *k;
	struct ibv_qp *sender, *qp[RAW_PLAYERS], *last;
	struct ibv_flow *end;
};

struct raw_players raw_players_new(struct kit *k);
void raw_players_end(struct raw_players *p);
/* Sends the usual frame at the start of side 0. @who has a bit for each QP that must get
 * it exactly once; the other QPs must not get it. A last frame shows when all frames have
 * come.
 */
void raw_players_expect(struct raw_players *p, unsigned who);
/* The same with a frame for @port. */
void raw_players_send(struct raw_players *p, uint16_t port, unsigned who);

/* Opens a packet socket on the peer of the interface, or on lo itself, which stands for
 * other hosts.
 */
int raw_outside(void);
void raw_send_from(int fd, const struct kit *k, uint32_t len);

#endif /* RN_RAW_KIT_H */
