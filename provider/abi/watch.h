/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.h - tells the validation layer (provider/validate) of each verbs call.
 *
 * With ROCIN_VALIDATE, contexts use other versions of the operations, which tell the
 * layer, and do the same: a program sees the same results and the same errno. Without it
 * there is no trace of them in the path of a call. The functions of the extended QPs and
 * CQs, which are pointers in these objects, are replaced when such an object is made.
 *
 * One lock of the process is held while the layer is told something, and never during the
 * call itself. It is innermost: a CQ's lock may be held.
 */
#ifndef RNP_WATCH_H
#define RNP_WATCH_H

#include "driver_abi.h"
#include "provider/validate/validate.h"

struct rnp_context;

/* Starts the layer if ROCIN_VALIDATE says so. @ops: the operations that the watching ones
 * call, later ones instead of earlier ones of the same number. Returns whether it is on.
 */
bool rnp_watch_start(void);
void rnp_watch_over(const struct rnp_abi_op *ops, unsigned count);

/* Returns the operations that tell the layer. */
const struct rnp_abi_op *rnp_watch_ops(unsigned *count);

/* A context was opened, or is about to be closed. Do nothing if the layer is off. */
void rnp_watch_opened(struct ibv_context *context);
void rnp_watch_closed(struct ibv_context *context);

/* ---- between the files watch*.c ---- */

/* The operation that does the work of a watching one. */
extern void (*rnp_watched[RNP_OP_COUNT])(void);
#define RNP_NEXT(op) ((__typeof__(&rnp_##op))rnp_watched[RNP_OP_##op])

/* Tell of a call that begins, and that it has returned. errno is kept. Behind a poll,
 * what it has returned is told first.
 */
void rnp_watch_before(struct rn_val_event *e);
/* The same of an object that is about to be destroyed, with counts of events. The call
 * would wait for other threads to acknowledge these; here this thread waits for it up to
 * some seconds, since afterwards it counts as forgotten.
 */
void rnp_watch_before_destroy(struct rn_val_event *e);
void rnp_watch_after(struct rn_val_event *e, int rc);

/* Replace the functions of extended objects. */
void rnp_watch_qp_ex(struct ibv_qp *qp);
void rnp_watch_cq_ex(struct ibv_cq_ex *cq);

/* watch_ends.c: QPs and MRs of this process are written for others that look for the
 * other end of their connections. The layer's lock is held, but at start and stop.
 */
struct rn_netdev;
void rnp_ends_start(void);
void rnp_ends_stop(void);
void rnp_ends_leave(void); /* in the child of a fork */
/* The addresses of a device, by the number of its contexts. */
void rnp_ends_device(uint32_t number, const struct rn_netdev *dev);
/* The layer was told of @e: behind a call, or before one that posts receives. */
void rnp_ends_told(const struct rn_val *v, const struct rn_val_event *e);
extern const struct rn_val_ends rnp_ends;

/* A CQ is about to be made with that channel, or NULL: it is known from now on. */
void rnp_watch_channel(const struct ibv_comp_channel *channel, uint32_t stack);

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
