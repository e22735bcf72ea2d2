/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* diagnostic.c - reports about single packets to a capture (rocin/diagnostic.h), such as
 * that a counter was incremented because of the packet; and the names of the counters.
 */
#include "transport/qp/responder.h"

#include "rocin/diagnostic.h"
#include "rocin/transport.h"

void rn_dev_set_diagnostic(struct rn_dev *dev, rn_diagnostic_fn *fn, void *ctx)
{
	dev->diagnostic = fn;
	dev->diagnostic_ctx = ctx;
}

static void report_diagnostic(const struct rn_dev *dev,
			      const struct rn_diagnostic *diagnostic,
			      const struct rn_rx *rx)
{
	if (dev->diagnostic)
		dev->diagnostic(dev->diagnostic_ctx, diagnostic, rx);
}

void rn_diagnostic_counted(struct rn_dev *dev, enum rn_stat stat)
{
	const struct rn_diagnostic diagnostic = { .kind = RN_DIAGNOSTIC_COUNTED,
						  .code = stat };

	if (dev->arriving)
		report_diagnostic(dev, &diagnostic, dev->arriving);
}

/* Fills in the remote memory range that the request of a diagnostic accesses. */
static void name_memory(struct rn_diagnostic *diagnostic, const struct rn_request *q)
{
	if (q->flags & RN_OP_RETH) {
		diagnostic->key = q->reth.rkey;
		diagnostic->len = q->reth.dma_len;
		diagnostic->va = q->reth.va;
	} else if (q->flags & RN_OP_ATOMIC_ETH) {
		diagnostic->key = q->atomic.rkey;
		diagnostic->len = sizeof(uint64_t);
		diagnostic->va = q->atomic.va;
	}
}

void rn_diagnostic_refused(struct rn_qp *qp, const struct rn_request *q,
			   enum rn_verdict v)
{
	static const uint8_t objection[RN_V_COUNT] = {
		[RN_V_UNSUPPORTED] = RN_OBJECTION_UNSUPPORTED,
		[RN_V_BAD_SRQ] = RN_OBJECTION_SRQ,
		[RN_V_BAD_SEQUENCE] = RN_OBJECTION_SEQUENCE,
		[RN_V_NOT_PERMITTED] = RN_OBJECTION_NOT_PERMITTED,
		[RN_V_BAD_PAYLOAD_LEN] = RN_OBJECTION_PAYLOAD_LEN,
		[RN_V_NO_RESOURCE] = RN_OBJECTION_RESOURCE,
		[RN_V_TOO_LONG] = RN_OBJECTION_TOO_LONG,
		[RN_V_BAD_KEY] = RN_OBJECTION_KEY,
		[RN_V_MISALIGNED] = RN_OBJECTION_MISALIGNED,
		[RN_V_RECV_TOO_SHORT] = RN_OBJECTION_RECV_TOO_SHORT,
		[RN_V_BAD_DMA_LEN] = RN_OBJECTION_DMA_LEN,
		[RN_V_RECV_PROT] = RN_OBJECTION_RECV_PROT,
		[RN_V_MEM_FAULT] = RN_OBJECTION_MEM_FAULT,
		[RN_V_BAD_INVALIDATE] = RN_OBJECTION_INVALIDATE,
	};
	struct rn_diagnostic diagnostic = { .kind = RN_DIAGNOSTIC_REFUSED,
					    .code = objection[v] };

	if (!qp->dev->diagnostic || !qp->dev->arriving)
		return;
	name_memory(&diagnostic, q);
	report_diagnostic(qp->dev, &diagnostic, qp->dev->arriving);
}

void rn_diagnostic_resent(struct rn_qp *qp, struct rn_psn psn)
{
	const struct rn_diagnostic diagnostic = { .kind = RN_DIAGNOSTIC_RESENT,
						  .is_sent = true,
						  .code = qp->req.back_why,
						  .dest_qpn = qp->attr.dest_qpn,
						  .psn = psn.v };

	report_diagnostic(qp->dev, &diagnostic, NULL);
}

void rn_diagnostic_nak(struct rn_qp *qp, uint8_t syndrome, struct rn_psn psn)
{
	const struct rn_diagnostic diagnostic = { .kind = RN_DIAGNOSTIC_NAK,
						  .is_sent = true,
						  .is_response = true,
						  .code = syndrome,
						  .dest_qpn = qp->attr.dest_qpn,
						  .psn = psn.v };

	if (rn_aeth_type(syndrome) != RN_AETH_ACK)
		report_diagnostic(qp->dev, &diagnostic, NULL);
}

/* clang-format off */
const char *const rn_stat_name[RN_STAT_COUNT] = {
#define X(sym, name, report, help) [RN_STAT_##sym] = (name),
	RN_STATS(X)
#undef X
};
const char *const rn_stat_help[RN_STAT_COUNT] = {
#define X(sym, name, report, help) [RN_STAT_##sym] = (help),
	RN_STATS(X)
#undef X
};
/* clang-format on */
