/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_kit.h - a device and queue pairs, for tests that use only public verbs.
 *
 * If a verb fails, each of these functions fails the test with a message.
 */
#ifndef RN_VERBS_KIT_H
#define RN_VERBS_KIT_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	KIT_BUF_LEN = 1 << 16, /* bytes of the buffer, of which each side has one half */
	KIT_HALF = KIT_BUF_LEN / 2,
	KIT_WR = 64,
	KIT_SGE = 4,
	KIT_INLINE = 128,
	KIT_QKEY = 0x11111111,
};

/* A context with a PD, a completion channel, a CQ and a registered buffer. */
struct kit {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr; /* has all remote rights */
	uint8_t *buf;
	union ibv_gid gid;
	struct ibv_port_attr port;
};

struct ibv_context *kit_open_device(void);
int kit_setup(void **state); /* fixtures of cmocka; *state is a struct kit */
int kit_teardown(void **state);

/* Creates a QP in state RESET, with kit.cq. */
struct ibv_qp *kit_create_qp(struct kit *k, enum ibv_qp_type type);
void kit_to_init(struct ibv_qp *qp);
void kit_to_rtr(struct kit *k, struct ibv_qp *qp, uint32_t dest_qpn);
/* Brings a QP from INIT to RTS. @dest_qpn is ignored for UD. */
void kit_to_rts(struct kit *k, struct ibv_qp *qp, uint32_t dest_qpn);
void kit_to_state(struct ibv_qp *qp, enum ibv_qp_state state);
/* Creates two QPs, connects them to each other and brings them to RTS. */
void kit_pair(struct kit *k, enum ibv_qp_type type, struct ibv_qp *qp[2]);
void kit_destroy_pair(struct ibv_qp *qp[2]);

struct ibv_ah_attr kit_address(const struct kit *k); /* the address of this device */

/* Returns MGID number @n of this process, which no other process uses. */
union ibv_gid kit_group(unsigned n);

/* Returns an SGE in the half of side 0 or 1. */
struct ibv_sge kit_sge(const struct kit *k, unsigned side, uint32_t offset, uint32_t len);

void kit_post_recv(struct kit *k, struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge sge);
void kit_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr);

/* Waits for the next completion. Fails the test if none comes for a long time. */
struct ibv_wc kit_wait(struct ibv_cq *cq);
/* The same; the completion must be this one, with success. */
struct ibv_wc kit_expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_opcode opcode);
void kit_expect_none(struct ibv_cq *cq);

#endif /* RN_VERBS_KIT_H */
