/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scene_internal.h - what the parts of the runner share: lines (scene.c), connections
 * (scene_cm.c), time and results (scene_result.c).
 */
#ifndef RN_SCENE_INTERNAL_H
#define RN_SCENE_INTERNAL_H

#include "calls.h"
#include "mads.h"
#include "repeats.h"
#include "scene.h"

struct rn_scene {
	const struct rn_scenario *s;
	const struct rn_scene_ops *ops;
	void *ctx;
	struct rn_scene_names names;
	struct rn_scene_result *r;
	rn_ns at; /* time of the line before */
	struct rn_repeats repeats;
	struct rn_scene_conn conn[RN_SCN_CONNS];
};

/* ---- scene_result.c; all that return bool and take a sentence return false ---- */
bool rn_scene_fail(struct rn_scene *c, const struct rn_scn_line *l, const char *what);
bool rn_scene_fail_number(struct rn_scene *c, const struct rn_scn_line *l,
			  const char *what, uint64_t number);
void rn_scene_fail_time(struct rn_scene *c, const char *what, rn_ns from, rn_ns at);
void rn_scene_say(char *buf, size_t size, const char *text);

/* When something shall come by @t of a line, and how long to wait for it. */
rn_ns rn_scene_time_of(const struct rn_scene *c, const struct rn_scn_line *l,
		       const struct rn_scn_time *t);
rn_ns rn_scene_patience(const struct rn_scene *c, rn_ns until);

/* What a line expects came at @at; true: that is its time, and the next line's begins. */
bool rn_scene_in_time(struct rn_scene *c, const struct rn_scn_line *l, rn_ns at);

/* ---- scene.c ---- */
/* Whom a line says that a packet goes to. */
const struct rn_gid *rn_scene_receiver(const struct rn_scene *c,
				       const struct rn_scn_line *l);

/* ---- scene_cm.c ---- */
bool rn_scene_same_mad(struct rn_scene *c, const struct rn_scn_line *l,
		       const struct rn_scene_packet *p);
void rn_scene_note_mad(struct rn_scene *c, const struct rn_scn_line *l,
		       const struct rn_scene_packet *p);
bool rn_scene_expect_cm_event(struct rn_scene *c, const struct rn_scn_line *l);
bool rn_scene_no_cm_event(struct rn_scene *c, const struct rn_scn_line *l);
bool rn_scene_check_cm(struct rn_scene *c, const struct rn_scn_line *l);

#endif /* RN_SCENE_INTERNAL_H */
