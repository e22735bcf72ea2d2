/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* repeats.h - requests that a device sends once more, in real time.
 *
 * A requester may send what is not acknowledged again whenever it likes, and one that
 * watches for losses does, if the tester takes milliseconds to answer; of a READ it asks
 * for what has not come yet. In virtual time nobody is late, and such a packet is an
 * error.
 */
#ifndef RN_SCENE_REPEATS_H
#define RN_SCENE_REPEATS_H

#include "rocin/wire.h"
#include "scene.h"

enum {
	RN_REPEATS_MAX = 16
};

/* The last requests that lines have taken. */
struct rn_repeats {
	unsigned count;
	struct {
		uint8_t bth[RN_BTH_LEN];
		uint32_t len;
		uint64_t va, end; /* of a READ */
	} taken[RN_REPEATS_MAX];
};

/* A line has taken @p. */
void rn_repeats_note(struct rn_repeats *r, const struct rn_scene_packet *p);

/* Is @p a request that was taken before, or the rest of such a READ? Whether an
 * acknowledgement is asked for does not count.
 */
bool rn_repeats_has(const struct rn_repeats *r, const struct rn_scene_packet *p);

/* Drop repeats, in real time. Return: the first packet that is none, or NULL. */
const struct rn_scene_packet *rn_repeats_skip(const struct rn_repeats *r,
					      const struct rn_scene_ops *ops, void *ctx);

#endif /* RN_SCENE_REPEATS_H */
