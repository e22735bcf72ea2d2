/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_owners.h - whose queue pairs a capture has, as its interfaces say. */
#ifndef RN_DUMP_OWNERS_H
#define RN_DUMP_OWNERS_H

#include "rocin/flow.h"

struct rn_dump_owners;

/* Return: NULL: no memory. */
struct rn_dump_owners *rn_dump_owners_new(void);
void rn_dump_owners_free(struct rn_dump_owners *o);

/* @interface, @description: copied. Return: true if this has not been said of the queue
 * pair; false also without memory, and of an interface without description.
 */
bool rn_dump_owners_add(struct rn_dump_owners *o, const struct rn_gid *gid, uint32_t qpn,
			const char *interface, const char *description);

/* Return: "rocin0, verify, process 7, on lo, slot 1", or NULL: nobody has said. @o may
 * be NULL.
 */
const char *rn_dump_owner(const struct rn_dump_owners *o, const struct rn_gid *gid,
			  uint32_t qpn);

#endif /* RN_DUMP_OWNERS_H */
