/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.h - send work requests in the form of the core: one of ibv_post_send(), and those
 * that gather between ibv_wr_start() and ibv_wr_complete().
 */
#ifndef RNP_POST_H
#define RNP_POST_H

#include <infiniband/verbs.h>

#include "provider.h"
#include "rocin/work_request.h"

/**
 * rnp_send_wr_from() - Convert one work request
 * @wr:		Of the program; @wr->next is not looked at
 * @qp:		For which it is: says how @wr->wr is to be read
 * @out:	Out: refers to the scatter list and the address handle of @wr
 *
 * Return: 0; -EINVAL: an opcode or flag that no QP of ours has, or an address handle of
 *	   another protection domain. rn_qp_post_send() judges the rest.
 */
int rnp_send_wr_from(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
		     struct rn_send_wr *out);

/* A request between ibv_wr_start() and ibv_wr_complete(). */
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

#endif /* RNP_POST_H */
