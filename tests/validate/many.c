/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* many.c - registers, uses and deregisters an MR among many objects, all told to the
 * validation layer alone, so that many.sh can count what that costs.
 *
 * usage: many COUNT (of other MRs, and of QPs with a request each)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "provider/validate/validate.h"

enum {
	COUNT_MAX = 10000,
	ROUNDS = 100,
	LEN = 4096,
	FIRST_QPN = 100000,
};

/* Addresses of objects. */
static char pd, cq, mr, mrs[COUNT_MAX], qps[COUNT_MAX];
static unsigned long long findings;

static bool sink(void *arg, const struct rn_val_finding *f)
{
	(void)arg;
	fprintf(stderr, "%s\n", f->what);
	findings++;
	return true;
}

static void make(struct rn_val *v, const void *handle, struct rn_val_make m)
{
	struct rn_val_event e = { .kind = RN_VAL_MAKE,
				  .is_done = true,
				  .verb = "make",
				  .handle = handle,
				  .make = m };

	rn_val_event(v, &e);
}

static void make_mr(struct rn_val *v, const void *handle, uint32_t key)
{
	make(v, handle,
	     (struct rn_val_make){ .kind = RN_VAL_MR,
				   .number = key,
				   .parent = { &pd },
				   .mr = { .addr = (uint64_t)key * LEN,
					   .iova = (uint64_t)key * LEN,
					   .len = LEN,
					   .access = IBV_ACCESS_LOCAL_WRITE,
					   .lkey = key,
					   .rkey = key,
					   .has_memory = true } });
}

static void make_qp(struct rn_val *v, const void *handle, uint32_t qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct rn_val_event e = { .kind = RN_VAL_MODIFY,
				  .is_done = true,
				  .verb = "modify",
				  .handle = handle,
				  .modify = { .attr = &attr, .mask = IBV_QP_STATE } };

	make(v, handle,
	     (struct rn_val_make){ .kind = RN_VAL_QP,
				   .number = qpn,
				   .parent = { &pd, &cq },
				   .qp = { .type = IBV_QPT_RC,
					   .asked = { .max_recv_wr = 1 },
					   .cap = { .max_recv_wr = 1, .max_recv_sge = 1 },
					   .send_cq = &cq,
					   .recv_cq = &cq } });
	rn_val_event(v, &e);
}

static void receive(struct rn_val *v, const void *qp, uint32_t key)
{
	struct ibv_sge sge = { .addr = (uint64_t)key * LEN, .length = LEN, .lkey = key };
	struct rn_val_request r = { .sge_count = 1, .sge = &sge };
	struct rn_val_event e = { .kind = RN_VAL_POST_RECV,
				  .verb = "post",
				  .handle = qp,
				  .post = { .count = 1, .request = &r, .accepted = 1 } };

	rn_val_event(v, &e);
	e.is_done = true;
	rn_val_event(v, &e);
}

static void complete(struct rn_val *v, uint32_t qpn)
{
	struct ibv_wc wc = { .qp_num = qpn, .opcode = IBV_WC_RECV };
	struct rn_val_event e = { .kind = RN_VAL_COMPLETION,
				  .is_done = true,
				  .verb = "poll",
				  .handle = &cq,
				  .completion = { .wc = &wc, .is_recv = true } };

	rn_val_event(v, &e);
}

static void destroy(struct rn_val *v, const void *handle, int rc)
{
	struct rn_val_event e = { .kind = RN_VAL_DESTROY,
				  .verb = "destroy",
				  .handle = handle };

	rn_val_event(v, &e);
	e.is_done = true;
	e.rc = rc;
	rn_val_event(v, &e);
}

/* What is counted. The queue of the first QP has room: its request has completed. */
void many_rounds(struct rn_val *v);
__attribute__((noinline)) void many_rounds(struct rn_val *v)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		make_mr(v, &mr, COUNT_MAX + 1);
		receive(v, &qps[0], COUNT_MAX + 1);
		complete(v, FIRST_QPN);
		destroy(v, &mr, 0);
	}
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct rn_val *v =
		rn_val_new(1U << RN_VAL_ERROR | 1U << RN_VAL_PERFORMANCE, sink, NULL);

	if (!v || !count || count > COUNT_MAX)
		return 2;
	make(v, &pd, (struct rn_val_make){ .kind = RN_VAL_PD, .number = 1 });
	make(v, &cq, (struct rn_val_make){ .kind = RN_VAL_CQ, .cq.size = COUNT_MAX });
	for (uint32_t i = 0; i < count; i++) {
		make_mr(v, &mrs[i], 1 + i);
		make_qp(v, &qps[i], FIRST_QPN + i);
		receive(v, &qps[i], 1 + i);
	}
	complete(v, FIRST_QPN);
	many_rounds(v);
	if (findings)
		return 1;
	/* The layer knows all of them: these are misuse. */
	destroy(v, &mrs[count - 1], 0);
	destroy(v, &pd, EBUSY);
	rn_val_free(v);
	return findings != 2;
}
