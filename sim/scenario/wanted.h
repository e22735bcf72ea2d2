/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wanted.h - the packet that a line expects, and in what another differs from it. */
#ifndef RN_SCENE_WANTED_H
#define RN_SCENE_WANTED_H

#include "packet.h"

/* What a line `>` says, in numbers, implied fields included. */
struct rn_scn_line rn_scene_wanted(const struct rn_scene_names *n,
				   const struct rn_scn_line *l);

/* The first field in which a packet that came differs; NULL: there is none. */
const char *rn_scene_difference(const struct rn_scn_line *want,
				const struct rn_scn_line *came);

#endif /* RN_SCENE_WANTED_H */
