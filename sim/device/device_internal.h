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
	RN_DEVICE_PD = 1, /* protection domain of all queue pairs and regions */
};

/* A queue pair of this library. rn_qp_owner() of @qp, the queue pair of the transport
 * core, points to this struct.
 */
struct rn_device_queue_pair {
	struct rn_qp *qp;
	enum rn_qp_type type;
	uint32_t posted; /* number of requests and receives that have not completed */
	struct rn_device_queue_pair *next, **link;
};

struct rn_device_region {
	struct rn_mr mr;
	struct rn_device_region *next, **link;
};

struct rn_device {
	struct rn_dev *dev;
	rn_ns now; /* latest time that the caller has passed to any function */
	struct rn_gid gid;
	uint32_t mtu;
	uint32_t next_qpn, next_region;
	/* Completion ring. @owed: number of its entries that are used, or that posted
	 * requests and receives will need when they complete.
	 */
	struct rn_cq cq;
	struct rn_cqe *ring;
	uint32_t owed;
	struct rn_device_queue_pair *queues;
	struct rn_device_region *regions;
	uint64_t stats[RN_STAT_COUNT];
};

/* Advances the time of the device to @now and returns it. If an earlier call has passed a
 * later time, that one is kept and returned. Also discards the events that the core has
 * raised so far, because this library does not report events.
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

/* Returns true if the reserved members of a structure that the caller has passed are all
 * 0, as they must be.
 */
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
