/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual.h - runs scenarios on the transport itself, in virtual time.
 *
 * Nothing sleeps and nothing is random: a scenario takes microseconds and always has the
 * same result. Time starts at one millisecond.
 */
#ifndef RN_VIRTUAL_H
#define RN_VIRTUAL_H

#include "scene.h"

struct rn_virtual;

/* Allocates a device for rn_virtual_ops, zeroed. Returns NULL if there is no memory. */
struct rn_virtual *rn_virtual_new(void);
void rn_virtual_free(struct rn_virtual *v);

/* Functions of the device. Their argument @ctx is a struct rn_virtual, which can run
 * several scenarios, one after the other.
 */
extern const struct rn_scene_ops rn_virtual_ops;

#endif /* RN_VIRTUAL_H */
