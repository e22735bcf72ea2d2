/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_ids.h - the ids of the connection manager as this process sees them.
 *
 * rocind keeps them, and shows them on its board (cm_board.h). It may end at any time. To
 * a program that is the end of the device: each id that was bound to one gets
 * DEVICE_REMOVAL, and can still be destroyed (drivers/infiniband/core/ucma.c). What that
 * takes is on the board, which stays: number, uid, whether there is a device, and how
 * many events were reported, which librdmacm waits for before it frees an id. Only what
 * has been told and ended since is remembered here; that is this process's own, as is
 * that of another one which shares the descriptor.
 *
 * Threads: any; a mutex, which is held over fork().
 */
#ifndef RNK_CM_IDS_H
#define RNK_CM_IDS_H

#include <stddef.h>

#include "transport/io/rocind/cm_board.h"

/* A board that came from rocind; the caller closes @fd. Those of earlier ones stay:
 * channels that they served may be open yet.
 */
void rnk_cm_ids_take_board(int fd);

/* What is shown of the id of this number in this channel. Return: false if that is
 * nothing. */
bool rnk_cm_ids_read(uint64_t channel, uint32_t number, struct rn_cm_answers *out);
bool rnk_cm_ids_read_life(enum rn_cm_kind kind, uint64_t channel, uint32_t number,
			  struct rn_cm_life *out);

/* ---- In rocind's place, when it has gone ---- */

/**
 * rnk_cm_ids_get_event() - Report one DEVICE_REMOVAL for each id that was bound to a
 * device
 * @out:	Of @out_len bytes, for struct rdma_ucm_event_resp
 *
 * Return: 0, -ENOSPC (no room for it), -ENODEV (all have been told).
 */
int rnk_cm_ids_get_event(uint64_t channel, void *out, size_t out_len);

/**
 * rnk_cm_ids_end() - Destroy an id, or leave a group
 * @life:	What was shown of it before rocind was asked to do so, which it may have
 * done; NULL: nothing
 * @out:	Of @out_len bytes, for struct rdma_ucm_destroy_id_resp
 *
 * Return: 0, -ENOSPC, -ENODEV (there is none).
 */
int rnk_cm_ids_end(enum rn_cm_kind kind, uint64_t channel, uint32_t number,
		   const struct rn_cm_life *life, void *out, size_t out_len);

#endif /* RNK_CM_IDS_H */
