/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cases.h - programs of public verbs that break a rule of the validation layer, and that
 * keep it.
 *
 * Each rule has a case in the file of its category: the function `breach' must make the
 * layer find just that rule (others may be found, too), the function `keep' does the same
 * work without, and then the layer finds neither the rule nor anything of severity error.
 */
#ifndef RN_VALIDATE_CASES_H
#define RN_VALIDATE_CASES_H

#include "tests/provider/kit/verbs_kit.h"

struct val_case {
	const char *rule;
	/* NULL: there is nothing to break. What @k has been given is destroyed behind
	 * `keep', not behind `breach'. */
	void (*breach)(struct kit *k);
	void (*keep)(struct kit *k);
	/* The rule is judged when the program ends: each function has a process of its
	 * own. */
	bool is_at_exit;
};

struct val_cases {
	const struct val_case *item;
	size_t count;
};

#define VAL_CASES(array)                                  \
	{                                                 \
		(array), sizeof(array) / sizeof(*(array)) \
	}

extern const struct val_cases life_cases, state_cases, queues_cases, memory_cases,
	addressing_cases, portability_cases, performance_cases, extended_cases,
	ends_cases, legal_cases, legal_queues_cases, legal_memory_cases,
	legal_windows_cases, legal_xrc_cases, legal_threads_cases;

/* ---- what cases have in common; kit.c ---- */

/* A QP in RESET on @cq with these capacities, and no inline data. */
struct ibv_qp *val_create_qp(struct kit *k, struct ibv_cq *cq, uint32_t send_wr,
			     uint32_t recv_wr);

/* Two RC QPs in RTS that are connected to each other. */
struct val_pair {
	struct ibv_qp *qp[2];
};
struct val_pair val_pair(struct kit *k);
/* Two RC QPs in INIT that take their receives from an SRQ, with room for @send_wr
 * requests; and their way from there to RTS, connected to each other.
 */
struct val_pair val_pair_of_srq(struct kit *k, struct ibv_srq *srq, uint32_t send_wr);
void val_connect_pair(struct kit *k, const struct val_pair *p);
void val_destroy_pair(struct val_pair *p);

/* Posts @count RDMA WRITEs of 8 bytes from side 0 to side 1 of the buffer, one at a time.
 * Returns the errno of the first one that is refused, or 0.
 */
int val_write(struct kit *k, struct ibv_qp *qp, unsigned flags, unsigned count);

/* Posts a message of @len bytes from side 0 of the buffer. Returns its errno. */
int val_send(struct kit *k, struct ibv_qp *qp, unsigned flags, uint32_t len);

/* Attributes of a connected QP. */
struct val_end {
	uint32_t rq_psn, sq_psn;
	enum ibv_mtu mtu;
	uint8_t rd_atomic, dest_rd_atomic, timeout, retry_cnt, rnr_retry, rnr_timer;
	unsigned access;
};
/* Usual ones, the same for both ends. */
struct val_end val_end(const struct kit *k);
/* Brings an RC or UC QP from RESET to RTS. */
void val_connect(struct kit *k, struct ibv_qp *qp, uint32_t dest_qpn,
		 const struct val_end *end);
/* Two RC QPs with such ends; they complete to these CQs. */
struct val_pair val_pair_of(struct kit *k, const struct val_end end[2],
			    struct ibv_cq *const cq[2]);

/* Two of which the first gives up after one retry, since the other will be gone. */
struct val_pair val_impatient_pair(struct kit *k);

/* Has the layer, in any process, written that text since the running function began? */
bool val_found(const char *text);

/* The other process of the cases of ends.c. */
int val_peer_main(void);

/* Makes a call fail as it does with a wrong argument: ends the test if it succeeds. */
void val_refused(int rc);

#endif /* RN_VALIDATE_CASES_H */
