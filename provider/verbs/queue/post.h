/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.h - send work requests in the form of the core: those of ibv_post_send(), and
 * those that an extended QP collects between ibv_wr_start() and ibv_wr_complete().
 */
#ifndef RNP_POST_H
#define RNP_POST_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/engine/lock/use_lock.h"
#include "rocin/work_request.h"

struct rnp_qp;

int rnp_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int rnp_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
int rnp_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);
/* Binds a window of type 1 by posting a request. When the call returns, @mw->rkey has the
 * new key, which is valid once the request has completed. Returns 0 or a positive errno.
 */
int rnp_bind_mw(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/* Prepares a QP for the ibv_wr_*() functions that @send_ops_flags names. Return: 0;
 * EOPNOTSUPP: a QP of this type does not have one of them; ENOMEM.
 */
int rnp_wr_init(struct rnp_qp *qp, uint64_t send_ops_flags);
/* Frees the requests that ibv_wr_*() have collected in a QP. If the program was given the
 * QP, its lock of ibv_wr_start() is not destroyed, because other threads may hold it.
 */
void rnp_wr_fini(struct rnp_qp *qp);

/**
 * rnp_send_wr_from() - Convert one work request
 * @wr:		The program's request; @wr->next is not read
 * @qp:		The QP to post to; its type tells which member of the union @wr->wr is
 *		valid
 * @out:	Out: refers to the scatter list and the address handle of @wr
 *
 * Return: 0; -EINVAL: an opcode or flag that no QP supports, or an address handle of
 *	   another protection domain. rn_qp_post_send() checks the rest.
 */
int rnp_send_wr_from(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
		     struct rn_send_wr *out);

/* Fills in the fields of @wr for a bind request, except wr_id and flags. Of @rkey only
 * the key byte is used; the index of the new key is that of the window.
 */
static inline void rnp_bind_request(const struct ibv_mw *mw, uint32_t rkey,
				    const struct ibv_mw_bind_info *info,
				    struct rn_send_wr *wr)
{
	wr->opcode = RN_WR_BIND_MW;
	wr->rkey = (mw->rkey & ~(uint32_t)UINT8_MAX) | (rkey & UINT8_MAX);
	wr->remote_addr = info->addr;
	wr->bind_length = info->length;
	wr->bind_region = info->mr ? info->mr->lkey : 0;
	wr->bind_access = info->mw_access_flags;
	wr->num_sge = 0;
}

/* A request between ibv_wr_start() and ibv_wr_complete(). */
struct rnp_wr_entry {
	struct rn_send_wr wr;
	struct rn_av av;
	/* the AH from which @av was taken; only the validation layer uses it, to check
	 * whether the AH still exists
	 */
	const struct ibv_ah *ah;
	/* index of the first of its wr.num_sge entries in rnp_wr_list.sges */
	size_t sge_at;
	/* with RN_SEND_INLINE: index of the first byte of the data in rnp_wr_list.bytes
	 */
	size_t inline_at;
	uint32_t inline_len; /* number of bytes of inline data */
};

struct rnp_wr_array {
	void *item;
	size_t count, room; /* number of items, and of items for which there is memory */
};

struct rnp_wr_list {
	/* held from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort() */
	struct rnp_use_lock lock;
	int err; /* first error since ibv_wr_start(), a positive errno; 0: none */
	struct rnp_wr_array entries; /* items: struct rnp_wr_entry */
	struct rnp_wr_array sges;    /* items: struct rn_sge */
	struct rnp_wr_array bytes;
};

/* Posts all requests that ibv_wr_*() have collected in a QP, or none if one of them is
 * refused. Returns 0 or a positive errno.
 */
int rnp_post_list(struct rnp_qp *qp);

#endif /* RNP_POST_H */
