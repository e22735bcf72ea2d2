/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr.h - what the files behind ibv_wr_*() share.
 *
 * Requests that a release of libibverbs may not have stand in wr_place.c.
 */
#ifndef RNP_WR_H
#define RNP_WR_H

#include "provider.h"

/* --------------------------------------------------------------------- wr_batch.c */
struct rnp_wr_entry {
	struct rn_send_wr wr;
	struct rn_av av;
	size_t sge_at;	     /* first of wr.num_sge in list.sges */
	size_t inline_at;    /* with RN_SEND_INLINE: first byte in list.bytes */
	uint32_t inline_len; /* bytes */
};

struct rnp_wr_array {
	void *item;
	size_t count, room; /* items */
};

struct rnp_wr_list {
	pthread_mutex_t
		lock; /* guards all; taken by start, released by complete, abort */
	int err;      /* the first thing that went wrong since start; positive */
	struct rnp_wr_array entries; /* struct rnp_wr_entry */
	struct rnp_wr_array sges;    /* struct rn_sge */
	struct rnp_wr_array bytes;
};

static inline struct rnp_wr_list *rnp_wr_list_of(struct ibv_qp_ex *ex)
{
	return to_rnp_qp(&ex->qp_base)->wr;
}

/* Room for @n more items; NULL if out of memory. */
void *rnp_wr_append(struct rnp_wr_array *a, size_t item_size, size_t n);
/* The request in the making; NULL once something has gone wrong. */
struct rnp_wr_entry *rnp_wr_last(struct rnp_wr_list *list);

/* Behind ibv_wr_start(), ibv_wr_complete(), ibv_wr_abort(). */
void rnp_wr_start(struct ibv_qp_ex *ex);
int rnp_wr_complete(struct ibv_qp_ex *ex);
void rnp_wr_abort(struct ibv_qp_ex *ex);

/* An empty batch; rnp_wr_fini() frees it. A positive errno. */
int rnp_wr_batch_new(struct rnp_qp *qp);

/* ----------------------------------------------------------------- wr.c, wr_place.c */
/* Begin a request towards remote memory; NULL once something has gone wrong. Valid until
 * the next request begins.
 */
struct rn_send_wr *rnp_wr_begin(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode,
				uint32_t rkey, uint64_t remote_addr);
/* Bytes of the request that was begun; copied. */
void rnp_wr_inline(struct ibv_qp_ex *ex, const void *data, size_t len);
/* The batch cannot be posted: ibv_wr_complete() will say @err. */
void rnp_wr_fail(struct ibv_qp_ex *ex, int err);

/* Bits of send_ops_flags for ATOMIC WRITE and FLUSH that this library has a place for. */
uint64_t rnp_wr_place_ops(const struct rnp_library *library);
/* Fill in those places. */
void rnp_wr_init_place(union rnp_abi_qp *qp, uint64_t ops);

#endif /* RNP_WR_H */
