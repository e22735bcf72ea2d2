/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_early.c - copies of source bytes, for hold=event. They are made when the
 * program posts a request after a READ or an atomic without waiting for that operation,
 * by a completion or a fence, and the source of the request overlaps the buffer for the
 * operation's result.
 *
 * No rule says whether the NIC reads these bytes before or after the result arrives in
 * memory. In a real run this depends on the network and on the load, so a program that
 * does not wait would be wrong from time to time. The rules allow the NIC to read as soon
 * as the request is posted. So these bytes are copied as the program sees them when it
 * posts the request, and the NIC sends the copy, whenever it reads. The other bytes of
 * the source are sent as they are when the NIC reads.
 */
#include <stdlib.h>
#include <string.h>

#include "sanitize_internal.h"

enum {
	/* Maximum number of bytes of a range that are copied. Not all bytes of a long
	 * message need to be copied: one wrong byte suffices to show the mistake.
	 */
	KEPT_MAX = 64 * 1024,
};

/* Bytes of a request's source as they were when it was posted. */
struct rn_san_early {
	struct rn_san_early *next;
	rn_iova addr;
	uint32_t len;
	uint8_t bytes[];
};

/* Copies the bytes [@from, @to), at most the first KEPT_MAX. If malloc() fails, nothing
 * is copied, and the NIC sends what memory contains when it reads.
 */
static void keep(struct rn_san_wr *wr, rn_iova from, rn_iova to, rn_san_load_fn *load)
{
	uint32_t len = to - from < KEPT_MAX ? (uint32_t)(to - from) : KEPT_MAX;
	struct rn_san_early *e = malloc(sizeof(*e) + len);

	if (!e)
		return;
	e->addr = from;
	e->len = len;
	if (!load(from, e->bytes, len)) {
		free(e);
		return;
	}
	e->next = wr->early;
	wr->early = e;
}

void rn_san_early_keep(struct rn_san_wr *wr, const struct rn_san_wr *first,
		       rn_san_load_fn *load)
{
	for (unsigned i = 0; i < wr->range_count; i++)
		for (unsigned j = 0; j < first->range_count; j++) {
			const struct rn_host_range *a = &wr->range[i];
			const struct rn_host_range *b = &first->range[j];
			rn_iova from = a->addr > b->addr ? a->addr : b->addr;
			rn_iova a_end = a->addr + a->len, b_end = b->addr + b->len;
			rn_iova to = a_end < b_end ? a_end : b_end;

			if (from < to)
				keep(wr, from, to, load);
		}
}

void rn_san_early_put(const struct rn_san_wr *wr, const struct rn_tlp *tlp,
		      uint8_t *bytes)
{
	rn_iova end = tlp->addr + tlp->len;

	for (const struct rn_san_early *e = wr->early; e; e = e->next) {
		rn_iova from = e->addr > tlp->addr ? e->addr : tlp->addr;
		rn_iova to = e->addr + e->len < end ? e->addr + e->len : end;

		if (from < to)
			memcpy(bytes + (from - tlp->addr), e->bytes + (from - e->addr),
			       to - from);
	}
}

void rn_san_early_free(struct rn_san_wr *wr)
{
	struct rn_san_early *next;

	for (; wr->early; wr->early = next) {
		next = wr->early->next;
		free(wr->early);
	}
}
