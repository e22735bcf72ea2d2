/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fabric_kit.h - a fabric on its own, with a log of what happened in it.
 *
 * TLPs are known by their tag. The log is text: "1 2 2c" says that 1 and 2 were performed
 * and 2 was completed.
 */
#ifndef FABRIC_KIT_H
#define FABRIC_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/pcie/model/fabric.h"

enum {
	CPU = RN_AGENT_CPU,
	GPU0 = RN_AGENT_GPU,
	GPU1 = RN_AGENT_GPU + 1,
	NIC0 = RN_AGENT_NIC,
	NIC1 = RN_AGENT_NIC + 1,
	NVME0 = RN_AGENT_NVME,

	WORLD_TLPS = 4096,
};

struct world {
	struct rn_fabric *f;
	struct rn_tlp reply; /* len > 0: issued when @reply_to is performed */
	uint64_t reply_to;
	unsigned performed, completed, moved;
	size_t used;
	char log[64 * 1024];
};

static inline void world_note(struct world *w, uint64_t tag, const char *mark)
{
	w->used +=
		(size_t)snprintf(w->log + w->used, sizeof(w->log) - w->used, "%s%llu%s",
				 w->used ? " " : "", (unsigned long long)tag, mark);
	assert_true(w->used < sizeof(w->log));
}

static const struct rn_fabric_ops world_ops;

static inline void world_perform(void *ctx, const struct rn_tlp *tlp)
{
	struct world *w = ctx;

	assert_int_not_equal(tlp->kind, RN_TLP_COMPLETION);
	world_note(w, tlp->tag, "");
	w->performed++;
	if (w->reply.len && w->reply_to == tlp->tag) {
		const struct rn_tlp reply = w->reply;

		w->reply.len = 0;
		assert_true(rn_fabric_issue(w->f, &world_ops, w, &reply) >= 0);
	}
}

static inline void world_complete(void *ctx, const struct rn_tlp *tlp)
{
	struct world *w = ctx;

	assert_int_equal(tlp->kind, RN_TLP_COMPLETION);
	world_note(w, tlp->tag, "c");
	w->completed++;
}

static inline void world_moving(void *ctx, const struct rn_tlp *tlp, unsigned queue)
{
	struct world *w = ctx;

	if (tlp->state == RN_TLP_INSIDE)
		assert_int_equal(queue, RN_QUEUE_COUNT);
	else
		assert_int_equal(queue, tlp->route.queue[tlp->hop]);
	w->moved++;
}

static const struct rn_fabric_ops world_ops = { world_perform, world_complete,
						world_moving };

/* @w->f lies in memory that the next world of the same size takes over. */
static inline void world_init_knobs(struct world *w, const struct rn_pcie_knobs *k,
				    unsigned tlps)
{
	static uint64_t mem[(WORLD_TLPS + 64) * sizeof(struct rn_tlp) / 8];

	assert_true(rn_fabric_size(tlps) <= sizeof(mem));
	memset(mem, 0xee, rn_fabric_size(tlps));
	memset(w, 0, sizeof(*w));
	w->f = rn_fabric_init(mem, tlps, k);
}

static inline void world_init(struct world *w, const char *knobs)
{
	struct rn_pcie_knobs k;
	char err[200];

	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	if (rn_pcie_parse(&k, knobs, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	world_init_knobs(w, &k, WORLD_TLPS);
}

/* Issue; a TLP that is on its way after it. */
static inline unsigned world_send(struct world *w, struct rn_tlp tlp)
{
	int index = rn_fabric_issue(w->f, &world_ops, w, &tlp);

	assert_true(index >= 0 && index < RN_TLPS_MAX);
	return (unsigned)index;
}

/* 64 bytes from NIC 0 for granule @tag of @target. */
static inline struct rn_tlp a_write(unsigned target, uint64_t tag)
{
	return (struct rn_tlp){ .kind = RN_TLP_WRITE,
				.requester = NIC0,
				.target = (uint8_t)target,
				.stream = 1,
				.len = 64,
				.addr = tag * 64,
				.tag = tag };
}

static inline struct rn_tlp a_read(unsigned target, uint64_t tag)
{
	struct rn_tlp t = a_write(target, tag);

	t.kind = RN_TLP_READ;
	t.txn = (uint32_t)tag;
	return t;
}

static inline struct rn_tlp from(unsigned requester, struct rn_tlp t)
{
	t.requester = (uint8_t)requester;
	t.stream = 0;
	return t;
}

static inline struct rn_tlp with(uint8_t flags, struct rn_tlp t)
{
	t.flags |= flags;
	return t;
}

static inline void world_move(struct world *w, unsigned index)
{
	rn_fabric_move(w->f, &world_ops, w, index);
}

static inline void world_force(struct world *w, unsigned index)
{
	rn_fabric_force(w->f, &world_ops, w, index);
}

static inline bool world_any(const struct rn_tlp *tlp, const void *arg)
{
	(void)tlp;
	(void)arg;
	return true;
}

static inline void world_force_all(struct world *w)
{
	rn_fabric_force_if(w->f, &world_ops, w, world_any, NULL);
}

/* Compares, then begins a new log. */
#define assert_log(w, text)                          \
	do {                                         \
		assert_string_equal((w)->log, text); \
		(w)->used = 0;                       \
		(w)->log[0] = '\0';                  \
	} while (0)

#endif /* FABRIC_KIT_H */
