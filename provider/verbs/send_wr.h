/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send_wr.h - a send work request of verbs in the form of the core. */
#ifndef RNP_SEND_WR_H
#define RNP_SEND_WR_H

#include <infiniband/verbs.h>

#include "rocin/transport.h"

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

/* Fill in what BIND_MW needs besides wr_id and flags. Of @rkey only the key byte counts:
 * the index is the window's.
 */
void rnp_send_wr_bind(const struct ibv_mw *mw, uint32_t rkey,
		      const struct ibv_mw_bind_info *info, struct rn_send_wr *wr);

#endif /* RNP_SEND_WR_H */
