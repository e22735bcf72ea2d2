/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* comp_cntr.c - completion counters; see comp_cntr.h.
 *
 * The core counts where it completes a request, signaled or not. A request that fails or
 * is flushed counts as one error, also in a counter of bytes. An atomic operation and a
 * FLUSH are of none of the kinds that can be counted.
 */
#include "comp_cntr.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "provider/engine/pcie.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/provider.h"
#include "qp.h"

/* enum rn_tally_kind numbers the kinds like the bits of enum ibv_qp_attach_comp_cntr_op
 */
static const uint32_t all_ops = (1 << RN_TALLY_COUNT) - 1;

int rnp_query_comp_cntr_caps(struct ibv_context *context,
			     struct rnp_abi_comp_cntr_caps *caps, size_t caps_size)
{
	if (rnp_is_fork_child(to_rnp_context(context)))
		return EIO;
	/* The struct of a newer release may be longer. Its program has zeroed the fields
	 * that follow those known here.
	 */
	if (caps_size < sizeof(*caps))
		return EINVAL;
	*caps = (struct rnp_abi_comp_cntr_caps){
		.max_value = UINT64_MAX,
		.max_counters = RNP_COMP_CNTR_MAX,
		.supported_qp_attach_ops = all_ops,
	};
	return 0;
}

/* ------------------------------------------------------------- creating, destroying */
struct rnp_abi_comp_cntr *rnp_create_comp_cntr(struct ibv_context *context,
					       struct rnp_abi_comp_cntr_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	int err = rnp_is_fork_child(ctx) ? EIO : 0, cancel;
	struct rnp_comp_cntr *c;

	if (!err && (attr->comp_mask || attr->flags || attr->type > RNP_COMP_CNTR_BYTES))
		err = EINVAL;
	c = err ? NULL : rnp_object_new(RNP_KIND_COMP_CNTR, NULL);
	if (!c) {
		errno = err ? err : ENOMEM;
		return NULL;
	}
	c->base.context = context;
	c->tally.of_bytes = attr->type == RNP_COMP_CNTR_BYTES;
	cancel = rnp_lock_engine(ctx->engine);
	err = -rnp_hca_add(ctx->hca, RNP_HCA_COMP_CNTR);
	if (!err) {
		c->base.handle = ++ctx->last_comp_cntr;
		ctx->comp_cntrs++;
		rnp_handle_add(ctx, RNP_KIND_COMP_CNTR, c);
	}
	rnp_unlock_engine(ctx->engine, cancel);
	if (!err)
		return &c->base;
	rnp_object_free(RNP_KIND_COMP_CNTR, c);
	errno = err;
	return NULL;
}

int rnp_destroy_comp_cntr(struct rnp_abi_comp_cntr *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx), err = 0;
	struct rnp_comp_cntr *c = rnp_handle_find(ctx, RNP_KIND_COMP_CNTR, base);

	if (!c)
		err = ENOENT;
	else if (lock != RNP_NO_LOCK && c->attached > 0)
		err = EBUSY;
	else
		rnp_handle_remove(ctx, RNP_KIND_COMP_CNTR, c);
	if (!err && lock != RNP_NO_LOCK) {
		rnp_hca_remove(ctx->hca, RNP_HCA_COMP_CNTR);
		ctx->comp_cntrs--;
	}
	rnp_unlock_destroyed(ctx, lock);
	if (!err)
		rnp_object_free(RNP_KIND_COMP_CNTR, c);
	return err;
}

/* ------------------------------------------------------------------ changing, reading */
struct change {
	bool is_error; /* change the count of errors; false: the count of successes */
	bool adds;
	uint64_t by;
};

static int change(struct rnp_abi_comp_cntr *base, struct change by)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_comp_cntr *c;
	uint64_t *value;
	int cancel;

	if (rnp_is_fork_child(ctx))
		return EIO;
	cancel = rnp_lock_engine(ctx->engine);
	c = rnp_handle_find(ctx, RNP_KIND_COMP_CNTR, base);
	if (c) {
		value = by.is_error ? &c->tally.failed : &c->tally.done;
		__atomic_store_n(value, (by.adds ? *value : 0) + by.by, __ATOMIC_RELEASE);
	}
	rnp_unlock_engine(ctx->engine, cancel);
	return c ? 0 : EINVAL;
}

int rnp_set_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t value)
{
	return change(base, (struct change){ .by = value });
}

int rnp_set_err_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t value)
{
	return change(base, (struct change){ .is_error = true, .by = value });
}

int rnp_inc_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t amount)
{
	return change(base, (struct change){ .adds = true, .by = amount });
}

int rnp_inc_err_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t amount)
{
	return change(base,
		      (struct change){ .is_error = true, .adds = true, .by = amount });
}

/* Returns the sum of both counts. Each completion changes it. */
static uint64_t sum(const struct rnp_comp_cntr *c)
{
	return __atomic_load_n(&c->tally.done, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&c->tally.failed, __ATOMIC_ACQUIRE);
}

static bool has_changed(void *arg)
{
	const struct rnp_comp_cntr *c = arg;

	return sum(c) != atomic_load_explicit(&c->seen, memory_order_relaxed);
}

/* Lets the engine make progress. If the counter has not changed since the program last
 * read it, gives the processor to other threads first, as a poll of an empty CQ does.
 */
static void make_progress(struct rnp_context *ctx, struct rnp_comp_cntr *c)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!has_changed(c))
		rnp_engine_pause(ctx->engine, has_changed, c);
	(void)rnp_engine_poll(ctx->engine);
	pthread_setcancelstate(cancel, NULL);
}

static int read_count(struct rnp_abi_comp_cntr *base, bool of_errors, uint64_t *value)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_comp_cntr *c;
	int cancel;

	if (rnp_is_fork_child(ctx))
		return EIO;
	cancel = rnp_lock_engine(ctx->engine);
	c = rnp_handle_find(ctx, RNP_KIND_COMP_CNTR, base);
	rnp_unlock_engine(ctx->engine, cancel);
	if (!c)
		return EINVAL;
	make_progress(ctx, c);
	cancel = rnp_lock_engine(ctx->engine);
	atomic_store_explicit(&c->seen, sum(c), memory_order_relaxed);
	*value = of_errors ? c->tally.failed : c->tally.done;
	/* A read of the device pushes what the device has written before: data that was
	 * counted is in memory when the program knows of it.
	 */
	if (rnp_pcie_is_on(rnp_engine_pcie(ctx->engine)) &&
	    rnp_engine_settle(ctx->engine, 0))
		rnp_engine_kick(ctx->engine);
	rnp_unlock_engine(ctx->engine, cancel);
	return 0;
}

int rnp_read_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t *value)
{
	return read_count(base, false, value);
}

int rnp_read_err_comp_cntr(struct rnp_abi_comp_cntr *base, uint64_t *value)
{
	return read_count(base, true, value);
}

/* ------------------------------------------------------------------------- attaching */
/* Returns, of the handles on the QP, the one that has the memory of the QP. That handle
 * also has the QP's completion counters.
 */
static struct rnp_qp *owner_of(struct rnp_qp *qp)
{
	struct rnp_qp *h = qp;

	while (!h->block.addr && h->next_handle != qp)
		h = h->next_handle;
	return h;
}

static int check_attach(const struct rnp_qp *qp, const struct rnp_comp_cntr *c,
			uint32_t ops)
{
	enum rn_qp_state state;

	if (!qp || !c || !qp->core || ops == 0)
		return EINVAL;
	state = rn_qp_state(qp->core);
	if (state != RN_QPS_RESET && state != RN_QPS_INIT)
		return EINVAL;
	for (unsigned i = 0; qp->counting && i < RN_TALLY_COUNT; i++)
		if (ops >> i & 1 && qp->counting->by[i])
			return EBUSY;
	return 0;
}

/* Attaches a counter. The engine lock is held. Returns 0 or a positive errno. */
static int attach(struct rnp_qp *qp, struct rnp_comp_cntr *c, uint32_t ops)
{
	int err = check_attach(qp, c, ops);

	if (err)
		return err;
	if (!qp->counting)
		qp->counting = calloc(1, sizeof(*qp->counting));
	if (!qp->counting)
		return ENOMEM;
	for (unsigned i = 0; i < RN_TALLY_COUNT; i++) {
		if (!(ops >> i & 1))
			continue;
		qp->counting->by[i] = &c->tally;
		c->attached++;
	}
	rn_qp_set_tallies(qp->core, qp->counting);
	return 0;
}

int rnp_qp_attach_comp_cntr(struct ibv_qp *base, struct rnp_abi_comp_cntr *comp_cntr,
			    struct rnp_abi_comp_cntr_attach *attr)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_qp *qp;
	int cancel, err;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (attr->comp_mask)
		return EINVAL;
	if (attr->op_mask & ~all_ops)
		return EOPNOTSUPP;
	cancel = rnp_lock_engine(ctx->engine);
	qp = rnp_qp_find(ctx, base);
	err = attach(qp ? owner_of(qp) : NULL,
		     rnp_handle_find(ctx, RNP_KIND_COMP_CNTR, comp_cntr), attr->op_mask);
	rnp_unlock_engine(ctx->engine, cancel);
	return err;
}

/* Returns the completion counter that @tally is part of. */
static struct rnp_comp_cntr *counter_of(struct rn_tally *tally)
{
	return (struct rnp_comp_cntr *)((char *)tally -
					offsetof(struct rnp_comp_cntr, tally));
}

void rnp_comp_cntr_detach(struct rnp_qp *qp)
{
	if (!qp->counting)
		return;
	rn_qp_set_tallies(qp->core, NULL);
	for (unsigned i = 0; i < RN_TALLY_COUNT; i++)
		if (qp->counting->by[i])
			counter_of(qp->counting->by[i])->attached--;
	free(qp->counting);
	qp->counting = NULL;
}
