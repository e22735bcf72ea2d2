/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calls.h - a program's calls of a scenario: from the fields of a line to verbs. */
#ifndef RN_SCENE_CALLS_H
#define RN_SCENE_CALLS_H

#include "packet.h"
#include "rocin/qp_attr.h"

/* A work request with what it points to. */
struct rn_scene_send {
	struct rn_send_wr wr;
	struct rn_sge sge;
	struct rn_av av;
};

/* The ACK timeout of a queue pair, a code of 5 bits; 0, which is none, stays. */
uint8_t rn_scene_timeout(const struct rn_scene_names *n, const struct rn_scn_line *l);

/* Attributes of a queue pair as a declaration or `modify` gives them; what it does not
 * say has the value that a connected QP would have.
 */
struct rn_qp_attr rn_scene_attr(const struct rn_scene_names *n,
				const struct rn_scn_line *l);

/* RN_ATTR_* of what a line says. */
uint32_t rn_scene_attr_mask(const struct rn_scn_line *l);

/**
 * rn_scene_bring_up() - From RESET up to @attr.state: INIT, RTR, RTS, whatever it is
 * @modify:	As ibv_modify_qp(), of queue pair @qp
 *
 * Return: 0 or what @modify returned first.
 */
int rn_scene_bring_up(enum rn_qp_type type, struct rn_qp_attr attr, unsigned qp,
		      int (*modify)(void *ctx, unsigned qp, const struct rn_qp_attr *attr,
				    uint32_t mask),
		      void *ctx);

/* The declaration of a queue pair with what a line `revive` says instead. */
struct rn_scn_line rn_scene_revived(const struct rn_scn_object *o,
				    const struct rn_scn_line *l);

/* The work request of a line `post`; @out->wr points into @out. */
void rn_scene_send_wr(const struct rn_scenario *s, const struct rn_scene_names *n,
		      const struct rn_scn_line *l, struct rn_scene_send *out);

/* Where the message of a line `recv` goes. */
struct rn_sge rn_scene_recv_sge(const struct rn_scene_names *n,
				const struct rn_scn_line *l);

#endif /* RN_SCENE_CALLS_H */
