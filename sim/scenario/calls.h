/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calls.h - fills in the arguments of verbs for those lines of a scenario that stand for
 * calls of the program.
 */
#ifndef RN_SCENE_CALLS_H
#define RN_SCENE_CALLS_H

#include "packet.h"
#include "rocin/queue_pair.h"

/* A work request together with the SGE and the address vector that it points to. */
struct rn_scene_send {
	struct rn_send_wr wr;
	struct rn_sge sge;
	struct rn_av av;
};

/* Returns the ACK timeout code (5 bits) that line @l gives for a queue pair, plus
 * @n->slower. Code 0 means that there is no timeout, and stays 0.
 */
uint8_t rn_scene_timeout(const struct rn_scene_names *n, const struct rn_scn_line *l);

/* Returns the attributes that the declaration of a queue pair, or a line `modify', gives.
 * Attributes that the line does not give have their usual values.
 */
struct rn_qp_attr rn_scene_attr(const struct rn_scene_names *n,
				const struct rn_scn_line *l);

/* Returns RN_ATTR_* flags for the attributes that the line gives. */
uint32_t rn_scene_attr_mask(const struct rn_scn_line *l);

/**
 * rn_scene_bring_up() - Bring a queue pair from RESET to @attr.state by way of INIT, RTR
 * and RTS
 * @modify:	Function that modifies queue pair @qp, as ibv_modify_qp() does
 *
 * Return: 0, or the first error that @modify returned.
 */
int rn_scene_bring_up(enum rn_qp_type type, struct rn_qp_attr attr, unsigned qp,
		      int (*modify)(void *ctx, unsigned qp, const struct rn_qp_attr *attr,
				    uint32_t mask),
		      void *ctx);

/* Returns the declaration of a queue pair, in which the fields that @l, a line `revive',
 * gives replace those of the declaration.
 */
struct rn_scn_line rn_scene_revived(const struct rn_scn_object *o,
				    const struct rn_scn_line *l);

/* Fills in @out for a line `post`. The pointers of @out->wr point into @out. */
void rn_scene_send_wr(const struct rn_scenario *s, const struct rn_scene_names *n,
		      const struct rn_scn_line *l, struct rn_scene_send *out);

/* Returns the SGE of the memory that a line `recv` posts. */
struct rn_sge rn_scene_recv_sge(const struct rn_scene_names *n,
				const struct rn_scn_line *l);

#endif /* RN_SCENE_CALLS_H */
