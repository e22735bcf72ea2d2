/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr_place.c - ibv_wr_atomic_write() and ibv_wr_flush().
 *
 * struct ibv_qp_ex has the first since release 44 and the second since 45; behind its end
 * stands what is the library's.
 */
#include <string.h>

#include "place.h"
#include "wr.h"

typedef void flush_fn(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
		      size_t len, uint8_t type, uint8_t level);

enum {
	ATOMIC_WRITE_AT = offsetof(struct ibv_qp_ex, wr_atomic_write),
	FLUSH_AT = ATOMIC_WRITE_AT + sizeof(void *),
	WORD = 8,
};

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	if (rnp_wr_begin(ex, RN_WR_ATOMIC_WRITE, rkey, remote_addr))
		rnp_wr_inline(ex, atomic_wr, WORD);
}

// NOLINTNEXTLINE(readability-function-size): as the library calls it
static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
		     size_t len, uint8_t type, uint8_t level)
{
	struct rn_send_wr *wr = rnp_wr_begin(ex, RN_WR_FLUSH, rkey, remote_addr);

	if (!wr)
		return;
	if (len > UINT32_MAX)
		rnp_wr_fail(ex, EINVAL);
	wr->flush_length = (uint32_t)len;
	wr->flush_placement = type;
	wr->flush_selectivity = level;
}

uint64_t rnp_wr_place_ops(const struct rnp_library *library)
{
	uint64_t ops = 0;

	if (library->qp_ex_len >= ATOMIC_WRITE_AT + sizeof(void *))
		ops |= IBV_QP_EX_WITH_ATOMIC_WRITE;
	if (library->qp_ex_len >= FLUSH_AT + sizeof(void *))
		ops |= RNP_QP_EX_WITH_FLUSH;
	return ops;
}

void rnp_wr_init_place(union rnp_abi_qp *qp, uint64_t ops)
{
	flush_fn *const flush = wr_flush;

	if (ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		qp->qp_ex.wr_atomic_write = wr_atomic_write;
	if (ops & RNP_QP_EX_WITH_FLUSH)
		memcpy(qp->room + FLUSH_AT, &flush, sizeof(flush));
}
