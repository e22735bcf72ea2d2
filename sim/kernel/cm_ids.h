/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_ids.h - the ids of the connection manager that this process knows of.
 *
 * rocind keeps them, and it may end at any time. To a program that is the end of the
 * device: each id that was bound to one gets DEVICE_REMOVAL, and can still be destroyed
 * (drivers/infiniband/core/ucma.c). What that takes is read from the commands that
 * succeed: number, uid, whether there is a device, and how many events were reported,
 * which librdmacm waits for before it frees an id.
 *
 * A descriptor that another process shares has ids that this one has not heard of; each
 * process tells of its own. An id that is not destroyed before its descriptor is closed
 * stays known, for 64 bytes or so.
 *
 * Threads: any; a mutex, which is held over fork().
 */
#ifndef RNK_CM_IDS_H
#define RNK_CM_IDS_H

#include <stddef.h>
#include <stdint.h>

/* A command of the program and what came of it. */
struct rnk_cm_deed {
	uint64_t channel; /* the number in the descriptor's name */
	uint64_t from;	  /* of MIGRATE_ID: that of the other descriptor */
	uint32_t cmd;
	const void *in; /* behind the header, any alignment */
	size_t in_len;
	void *out; /* the program's memory for the answer, or NULL */
	size_t out_len;
	uint32_t about; /* of GET_EVENT: id that the event was reported of */
};

/* It has succeeded: the answer stands in @out. */
void rnk_cm_ids_note(const struct rnk_cm_deed *deed);

/**
 * rnk_cm_ids_obey() - Do a command in rocind's place, which has gone
 *
 * GET_EVENT gives one DEVICE_REMOVAL for each id that was bound to a device, DESTROY_ID
 * and LEAVE_MCAST work.
 *
 * Return: 0 with the answer in @out, -ENOSPC (no room for it), -EIO (the id's device is
 *	   gone, as the kernel has it), -ENODEV (anything else).
 */
int rnk_cm_ids_obey(const struct rnk_cm_deed *deed);

#endif /* RNK_CM_IDS_H */
