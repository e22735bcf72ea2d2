/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual.h - the transport itself as the device of a scenario, in virtual time.
 *
 * Nothing here waits, and nothing is random: a scenario takes microseconds and always
 * ends the same way. Time starts at one millisecond.
 */
#ifndef RN_VIRTUAL_H
#define RN_VIRTUAL_H

#include "scene.h"

struct rn_virtual;

/* @return a device for rn_virtual_ops, zeroed; NULL: no memory. */
struct rn_virtual *rn_virtual_new(void);
void rn_virtual_free(struct rn_virtual *v);

/* ctx is the struct rn_virtual; one scenario after the other. */
extern const struct rn_scene_ops rn_virtual_ops;

#endif /* RN_VIRTUAL_H */
