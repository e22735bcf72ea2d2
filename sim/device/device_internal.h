/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device_internal.h - the objects behind rocin/device.h. */
#ifndef RN_DEVICE_INTERNAL_H
#define RN_DEVICE_INTERNAL_H

#include "rocin/cqe.h"
#include "rocin/device.h"
#include "rocin/mr.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "rocin/transport.h"

enum {
	RN_DEVICE_PD = 1, /* one protection domain for all */
};

/* A queue pair: the owner (rn_qp_owner()) of @qp. */
struct rn_device_queue_pair {
	struct rn_qp *qp;
	enum rn_qp_type type;
	uint32_t posted; /* requests and receives that have not completed */
	struct rn_device_queue_pair *next, **link;
};

struct rn_device_region {
	struct rn_mr mr;
	struct rn_device_region *next, **link;
};

struct rn_device {
	struct rn_dev *dev;
	rn_ns now; /* the latest time of a call */
	struct rn_gid gid;
	uint32_t mtu;
	uint32_t next_qpn, next_region;
	/* Completion ring, and number of entries that are used or that requests and
	 * receives which have not completed will need.
	 */
	struct rn_cq cq;
	struct rn_cqe *ring;
	uint32_t owed;
	struct rn_device_queue_pair *queues;
	struct rn_device_region *regions;
	uint64_t stats[RN_STAT_COUNT];
};

/* Returns @now, but no time before that of an earlier call, and drops the events that the
 * calls until now have raised, which this library does not report.
 */
static inline rn_ns rn_device_advance(struct rn_device *d, int64_t now)
{
	struct rn_event event;

	while (rn_dev_event(d->dev, &event))
		;
	if (now > d->now)
		d->now = now;
	return d->now;
}

/* Frees all queue pairs. */
void rn_device_free_queues(struct rn_device *d);

/* Are the reserved members of a structure of the caller 0? */
static inline bool rn_device_is_unused(const uint64_t reserved[4])
{
	return !(reserved[0] | reserved[1] | reserved[2] | reserved[3]);
}

/* Returns @value, or @otherwise if it is 0. */
static inline uint32_t rn_device_default(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

#endif /* RN_DEVICE_INTERNAL_H */
