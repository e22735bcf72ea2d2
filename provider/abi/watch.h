/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - tells the validation layer (provider/validate) of each verbs call.
 *
 * With ROCIN_VALIDATE, contexts use other versions of the operations, the watching ones,
 * which report the call to the layer and also perform it: a program sees the same results
 * and the same errno. Without ROCIN_VALIDATE contexts use the ordinary operations, so the
 * layer costs nothing. The functions of the extended QPs and CQs, which are pointers in
 * these objects, are replaced when such an object is made.
 *
 * One lock of the process is held while the layer is told something, and never during the
 * call itself. It is the innermost lock: it may be taken while a CQ's lock is held.
 */
#ifndef RNP_WATCH_H
#define RNP_WATCH_H

#include "driver_abi.h"
#include "provider/validate/validate.h"

struct rnp_context;

/* rnp_watch_start() starts the validation layer if ROCIN_VALIDATE says so, and returns
 * whether the layer is on. rnp_watch_over() sets the operations @ops that the watching
 * versions call; an operation that is set again replaces the earlier one.
 */
bool rnp_watch_start(void);
void rnp_watch_over(const struct rnp_abi_op *ops, unsigned count);

/* Returns the operations that tell the validation layer. */
const struct rnp_abi_op *rnp_watch_ops(unsigned *count);

/* Tell the validation layer that a context was opened, or is about to be closed. They do
 * nothing if the layer is off.
 */
void rnp_watch_opened(struct ibv_context *context);
void rnp_watch_closed(struct ibv_context *context);

/* ---- declarations shared by the files watch*.c ---- */

/* The ordinary operations, which the watching versions call between their two reports. */
extern void (*rnp_watched[RNP_OP_COUNT])(void);
#define RNP_NEXT(op) ((__typeof__(&rnp_##op))rnp_watched[RNP_OP_##op])

/* Report that a call begins, and that it has returned. They do not change errno. After a
 * poll, the completions that it has returned are reported first.
 */
void rnp_watch_before(struct rn_val_event *e);
/* Reports that an object is about to be destroyed. Destroying it would block until other
 * threads have acknowledged its events. So this function waits for them, for at most some
 * seconds; events that are unacknowledged after that count as forgotten.
 */
void rnp_watch_before_destroy(struct rn_val_event *e);
void rnp_watch_after(struct rn_val_event *e, int rc);

/* Replace the functions of an extended QP or CQ by versions that tell the validation
 * layer.
 */
void rnp_watch_qp_ex(struct ibv_qp *qp);
void rnp_watch_cq_ex(struct ibv_cq_ex *cq);

/* watch_ends.c: publishes the QPs and MRs of this process for the processes at the other
 * ends of their connections. The caller holds the validation layer's lock, except for
 * rnp_ends_start() and rnp_ends_stop().
 */
struct rn_netdev;
void rnp_ends_start(void);
void rnp_ends_stop(void);
void rnp_ends_leave(void); /* called in the child of a fork() */
/* Stores the addresses of a device. @number: the number that the contexts of the device
 * have in the validation layer.
 */
void rnp_ends_device(uint32_t number, const struct rn_netdev *dev);
/* Publishes the change that event @e has made. Called after the validation layer was told
 * of @e: after a call, or before a call that posts receives.
 */
void rnp_ends_told(const struct rn_val *v, const struct rn_val_event *e);
extern const struct rn_val_ends rnp_ends;

/* Makes a completion channel known, because a CQ is about to be created with it.
 * @channel: may be NULL.
 */
void rnp_watch_channel(const struct ibv_comp_channel *channel, uint32_t stack);

/* Called when a device is opened. Forgets which counts of RNR NAKs were reported to the
 * validation layer last: the device counts them from 0 again, and may have the address
 * and the QPNs of a device that was closed before.
 */
void rnp_watch_forget_rnr(void);

/* Operations of watch_queue.c. */
int rnp_watch_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad_wr);
int rnp_watch_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);
int rnp_watch_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr);
int rnp_watch_poll_cq(struct ibv_cq *base, int num_entries, struct ibv_wc *wc);
int rnp_watch_req_notify_cq(struct ibv_cq *base, int solicited_only);
void rnp_watch_cq_event(struct ibv_cq *base);
void rnp_watch_async_event(struct ibv_context *context, struct ibv_async_event *event);

#endif /* RNP_WATCH_H */
