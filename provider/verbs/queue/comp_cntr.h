/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* comp_cntr.h - completion counters, by which a program follows how many of its requests
 * have completed without a CQE for each: verbs of rdma-core 65 and later.
 */
#ifndef RNP_COMP_CNTR_H
#define RNP_COMP_CNTR_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdint.h>

#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "rocin/queue_pair.h"

struct rnp_qp;

struct rnp_comp_cntr {
	struct rnp_abi_comp_cntr base;
	struct rnp_handle handle;
	struct rn_tally tally; /* changed under the engine lock, read at any time */
	unsigned attached;     /* number of kinds of completions of QPs that it counts;
				* guarded by the engine lock
				*/
	/* Sum of both counts when the program last read the counter. Written with relaxed
	 * order, since it is only used to see whether the counter has changed.
	 */
	atomic_uint_fast64_t seen;
};

int rnp_query_comp_cntr_caps(struct ibv_context *context,
			     struct rnp_abi_comp_cntr_caps *caps, size_t caps_size);
struct rnp_abi_comp_cntr *rnp_create_comp_cntr(struct ibv_context *context,
					       struct rnp_abi_comp_cntr_attr *attr);
int rnp_destroy_comp_cntr(struct rnp_abi_comp_cntr *base);
int rnp_set_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t value);
int rnp_set_err_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t value);
int rnp_inc_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t amount);
int rnp_inc_err_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t amount);
/* Read a value. They run the engine, as a poll of a CQ does, so that a program that only
 * reads counters makes progress.
 */
int rnp_read_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t *value);
int rnp_read_err_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t *value);
int rnp_qp_attach_comp_cntr(struct ibv_qp *base, struct rnp_abi_comp_cntr *comp_cntr,
			    struct rnp_abi_comp_cntr_attach *attr);

/* Detaches all counters of a QP that is about to be destroyed. The engine lock is held.
 */
void rnp_comp_cntr_detach(struct rnp_qp *qp);

#endif /* RNP_COMP_CNTR_H */
