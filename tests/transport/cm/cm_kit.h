/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_kit.h - two connection managers and what goes between them, one message at a time.
 */
#ifndef RN_TEST_CM_KIT_H
#define RN_TEST_CM_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/cm.h"

enum {
	KIT_CONNS = 16,
	KIT_TAKEN = 32,
	KIT_PORT = 7174,
};

struct end {
	struct rn_cm *cm;
	void *block;
	struct rn_gid gid;
	uint64_t guid;
	uint64_t stats[RN_CM_STAT_COUNT];
	/* the QP that has received a request of its peer; 0: none */
	uint32_t qpn_with_request;
	unsigned asked; /* how often the CM has asked whether a QP has */
	/* answers in place of @qpn_with_request, if not NULL */
	bool (*sees)(const struct rn_cm_info *info, uint32_t qpn);
};

/* "a" asks, "b" is asked. */
struct kit {
	rn_ns now;
	struct end a, b;
	struct rn_cm_listener listener; /* of b: port KIT_PORT of RDMA_PS_TCP */
};

void kit_open(struct kit *k, uint32_t conns);
void kit_close(struct kit *k);

struct rn_gid kit_ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d);

/* From @from to @to, with what the other defaults are. */
struct rn_cm_route kit_route(const struct end *from, const struct end *to);
struct rn_cm_offer kit_offer(const struct end *e, uint32_t qpn);

/* Private data of a REQ from a to b: IP CM header, then 'a', 'b', 'c' ... */
void kit_ip_data(const struct kit *k, uint8_t data[RN_CM_REQ_DATA]);

/* A message that the test has taken: a copy, which stays as it is. */
struct kit_message {
	struct rn_flow flow;
	uint32_t dest_qpn;
	uint8_t mad[RN_MAD_LEN];
};

/* What @e has to send next. Return: false if that is nothing. */
bool kit_transmit(struct end *e, struct kit_message *m);

/* The next message of @e, which must be of this kind, as bytes and parsed. @msg->data
 * stays for KIT_TAKEN more.
 */
struct kit_message kit_take(struct end *e, enum rn_cm_attr attr, struct rn_cm_msg *msg);

/* @e has nothing to send. */
void kit_quiet(struct end *e);

/* Hand a message over. */
void kit_give(struct kit *k, struct end *to, const struct kit_message *tx);

/* Take the next message of @from, of this kind, and hand it over. */
struct rn_cm_msg kit_pass(struct kit *k, struct end *from, struct end *to,
			  enum rn_cm_attr attr);

/* The next event of @e, which must be of this type. */
struct rn_cm_event kit_event(struct end *e, enum rn_cm_event_type type);
void kit_no_event(struct end *e);

/* Let time go on to the next deadline of @e, and let it do what is due. */
void kit_next_deadline(struct kit *k, struct end *e);

/* a asks for a connection to the listener. */
struct rn_cm_conn *kit_connect(struct kit *k);

/* The same, heard by b. */
struct rn_cm_conn *kit_request(struct kit *k, struct rn_cm_conn **active);

/* The same, accepted, confirmed. */
void kit_establish(struct kit *k, struct rn_cm_conn **active,
		   struct rn_cm_conn **passive);

enum rn_cm_state kit_state(const struct rn_cm_conn *conn);

/* Make a message of @from of its own, as a peer that is not a state machine would. */
struct kit_message kit_compose(const struct end *from, const struct end *to,
			       const struct rn_cm_msg *msg, uint64_t tid);

#endif /* RN_TEST_CM_KIT_H */
