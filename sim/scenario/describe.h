/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* describe.h - writes lines of a scenario, and the packets of the device, as text for
 * error messages.
 */
#ifndef RN_DESCRIBE_H
#define RN_DESCRIBE_H

#include "scene.h"

/* Writes the fields of @l that are in @fields as text, such as "RC_ACK psn 100 nak
 * psn_seq msn 0".
 */
void rn_describe_packet(const struct rn_scn_line *l, rn_scn_set fields, char *buf,
			size_t size);

/* Writes a CM message, as rn_describe_packet() writes a packet. */
void rn_describe_mad(const struct rn_scn_line *l, rn_scn_set fields, char *buf,
		     size_t size);

/* Writes any packet that was received, including what is wrong with it. */
void rn_describe_received(const struct rn_scene_packet *p, char *buf, size_t size);

void rn_describe_wc(const struct rn_scene_wc *wc, char *buf, size_t size);
void rn_describe_cm_event(const struct rn_scene_cm_event *ev, char *buf, size_t size);
void rn_describe_time(rn_ns t, char *buf, size_t size);

#endif /* RN_DESCRIBE_H */
