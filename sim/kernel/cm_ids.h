/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_ids.h - the rdma_cm ids as this process sees them, also after rocind has ended.
 *
 * rocind keeps the ids, and shows them on its board, memory that it shares for reading
 * (cm_board.h). rocind may end at any time. The program then sees what it sees when a
 * device is removed: each id that is bound to a device gets DEVICE_REMOVAL, and can still
 * be destroyed (drivers/infiniband/core/ucma.c). The board stays mapped and has what is
 * needed for that: number and uid of the id, whether the id is bound to a device, and how
 * many of its events were reported. librdmacm frees an id only when it has acknowledged
 * as many events. This file remembers only which ids got DEVICE_REMOVAL and which were
 * destroyed since rocind ended. If several processes share the descriptor of a channel,
 * each of them remembers this by itself.
 *
 * Threads: any; a mutex, which is held over fork().
 */
#ifndef RNK_CM_IDS_H
#define RNK_CM_IDS_H

#include <stddef.h>

#include "transport/io/rocind/cm_board.h"

/* Maps a board, memory in which rocind shows its ids. Its descriptor @fd has come from
 * rocind; the caller closes @fd. Earlier boards stay mapped, because channels whose ids
 * they show may still be open.
 */
void rnk_cm_ids_take_board(int fd);

/* Read what rocind shows on its board about id @number of @channel. Return: false if it
 * shows nothing.
 */
bool rnk_cm_ids_read(uint64_t channel, uint32_t number, struct rn_cm_answers *out);
bool rnk_cm_ids_read_life(enum rn_cm_kind kind, uint64_t channel, uint32_t number,
			  struct rn_cm_life *out);

/* ---- Answers in place of rocind, after it has ended ---- */

/**
 * rnk_cm_ids_get_event() - Report one DEVICE_REMOVAL for each id bound to a device
 * @out:	Out: struct rdma_ucm_event_resp; @out_len bytes
 *
 * Return: 0, -ENOSPC (@out_len is too small), -ENODEV (all were reported).
 */
int rnk_cm_ids_get_event(uint64_t channel, void *out, size_t out_len);

/**
 * rnk_cm_ids_end() - Destroy an id, or leave a group, after rocind has ended
 * @life:	What the board showed about the id before the command was sent to
 *		rocind, which may have executed it before it ended; NULL: nothing
 * @out:	Out: struct rdma_ucm_destroy_id_resp; @out_len bytes
 *
 * Return: 0, -ENOSPC (@out_len is too small), -ENODEV (there is no such id or group).
 */
int rnk_cm_ids_end(enum rn_cm_kind kind, uint64_t channel, uint32_t number,
		   const struct rn_cm_life *life, void *out, size_t out_len);

#endif /* RNK_CM_IDS_H */
