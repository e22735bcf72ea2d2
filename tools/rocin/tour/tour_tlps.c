/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour_tlps.c - what PCIe did at a stop: each TLP as it was done, those alike together.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/pcie/model/tlp.h"
#include "tour.h"

static const char *name_requester(const char *agent)
{
	return !strcmp(agent, "nic0")	? "A's NIC"
	       : !strcmp(agent, "nic1") ? "B's NIC"
	       : !strcmp(agent, "gpu0") ? "GPU"
					: "CPU";
}

/* The memory of an agent; the CPU's is host memory. */
static const char *name_target(const char *agent)
{
	return !strcmp(agent, "cpu") ? "memory" : name_requester(agent);
}

static const char *what_lies_at(const struct rn_tour_result *r,
				const struct rn_tour_move *m)
{
	if (m->flags & RN_TLP_CQE)
		return !strcmp(m->from, "nic0") ? "CQE of A" : "CQE of B";
	for (unsigned i = 0; i < r->ranges; i++) {
		const struct rn_tour_range *x = &r->range[i];

		if (m->addr < x->addr || m->addr >= x->addr + x->len)
			continue;
		return !strcmp(x->name, "A")   ? "A's buffer"
		       : !strcmp(x->name, "B") ? "B's buffer"
					       : "GPU memory";
	}
	return strstr(m->from, "gpu") || strstr(m->to, "gpu") ? "the kernels' flags"
							      : "other memory";
}

/* Is this the last that is told of the TLP? A read is one TLP, its completion another. */
static bool is_done(const struct rn_tour_result *r, unsigned i)
{
	for (unsigned k = i + 1; k < r->moves; k++)
		if (r->move[k].seq == r->move[i].seq &&
		    !strcmp(r->move[k].kind, r->move[i].kind))
			return false;
	return true;
}

static struct rn_tour_row describe(const struct rn_tour_result *r,
				   const struct rn_tour_move *m)
{
	bool is_answer = !strcmp(m->kind, "CplD");

	return (struct rn_tour_row){
		.kind = m->kind,
		.from = is_answer ? name_target(m->from) : name_requester(m->from),
		.to = is_answer ? name_requester(m->to) : name_target(m->to),
		.what = m->flags & RN_TLP_FLUSH ? "a read that flushes"
						: what_lies_at(r, m),
		.first = m->at,
	};
}

static bool is_alike(const struct rn_tour_row *a, const struct rn_tour_row *b)
{
	return !strcmp(a->kind, b->kind) && !strcmp(a->from, b->from) &&
	       !strcmp(a->to, b->to) && !strcmp(a->what, b->what);
}

static int by_last(const void *a, const void *b)
{
	const struct rn_tour_row *x = a, *y = b;

	return x->last == y->last ? 0 : x->last > y->last ? 1 : -1;
}

unsigned rn_tour_rows(const struct rn_tour_result *r,
		      struct rn_tour_row row[RN_TOUR_ROWS_MAX])
{
	unsigned rows = 0;

	for (unsigned i = 0; i < r->moves; i++) {
		struct rn_tour_row now;
		unsigned k = 0;

		if (!is_done(r, i))
			continue;
		now = describe(r, &r->move[i]);
		while (k < rows && !is_alike(&row[k], &now))
			k++;
		if (k == RN_TOUR_ROWS_MAX)
			continue;
		if (k == rows)
			row[rows++] = now;
		row[k].bytes += r->move[i].len;
		row[k].tlps++;
		row[k].last = r->move[i].at;
	}
	qsort(row, rows, sizeof(*row), by_last);
	return rows;
}
