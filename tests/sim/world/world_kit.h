/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* world_kit.h - a world that stands still, for what its checkers say of a lie.
 *
 * A plan of one RC pair in which nothing is posted and nothing goes wrong is run up to
 * the end of its faults. There a test puts requests into the book of an end, tells of
 * packets, accesses and completions, and asks what the world has found wrong. The run is
 * over then.
 */
#ifndef RN_TESTS_WORLD_KIT_H
#define RN_TESTS_WORLD_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/world/world_internal.h"

enum {
	KIT_RETRY = 3,	   /* of both kinds of retries */
	KIT_TIMEOUT = 10,  /* exponent of the ACK timeout */
	KIT_PSN = 100,	   /* first of end 0; end 1 begins with twice that */
	KIT_RECEIVES = 4,  /* posted at each end */
	KIT_PATTERN = 777, /* of bytes, unlike those of a fresh slot */
};

static inline struct rn_plan kit_plan(void)
{
	return (struct rn_plan){
		.seed = 1,
		.devices = 2,
		.pairs = 1,
		.window_max = 65536,
		.read_window = 65536,
		.link = { .rate = 1000000000, .delay = 1000 },
		.pair = { { .dev = { 0, 1 },
			    .type = RN_QPT_RC,
			    .psn = { KIT_PSN, 2 * KIT_PSN },
			    .mtu = 1024,
			    .timeout = KIT_TIMEOUT,
			    .retry = KIT_RETRY,
			    .rnr_retry = KIT_RETRY,
			    .rnr_timer = 1,
			    .depth = 4,
			    .recvs = KIT_RECEIVES } },
		.end = RN_USEC(10),
	};
}

typedef void kit_body(struct rn_world *w);

struct kit_visit {
	struct rn_world *w;
	kit_body *body;
	bool began, ended;
};

static inline void kit_visit(void *ctx, rn_ns at, const char *line)
{
	struct kit_visit *v = ctx;

	(void)at;
	if (v->began || strcmp(line, "faults end") != 0)
		return;
	v->began = true;
	v->body(v->w);
	v->ended = true;
	rn_w_fail(v->w, "the rest does not matter");
}

static inline void kit_in_world(const struct rn_plan *plan, kit_body *body)
{
	struct kit_visit v = { .w = rn_world_new(), .body = body };
	struct rn_world_result r;

	assert_non_null(v.w);
	rn_world_run(v.w, plan, kit_visit, &v, &r);
	assert_true(v.ended);
	rn_world_free(v.w);
}

/* In the world of kit_plan(). */
static inline void kit_in_plain_world(kit_body *body)
{
	const struct rn_plan plan = kit_plan();

	kit_in_world(&plan, body);
}

static inline struct rn_w_end *kit_end(struct rn_world *w, unsigned number)
{
	return &w->pair[0].end[number];
}

/* What was found wrong since the last time has @text in it; "": nothing was. */
static inline void kit_assert_says(struct rn_world *w, const char *text)
{
	struct rn_world_result *r = w->result;

	if (r->failed != (text[0] != '\0') || (r->failed && !strstr(r->why, text)))
		fail_msg("'%s', not '%s'", r->failed ? r->why : "", text);
	r->failed = false;
}

/* The device of @e writes @len bytes of @pattern, from byte @from of it on, to @to. */
static inline void kit_write(struct rn_world *w, const struct rn_w_end *e, rn_iova to,
			     uint32_t from, uint32_t len)
{
	const struct rn_mem_attr attr = { .qpn = e->qpn };
	uint8_t bytes[256];

	assert_true(from + len <= sizeof(bytes));
	rn_w_fill(bytes, KIT_PATTERN, sizeof(bytes));
	rn_w_mem_now.write(&w->device[e->dev], to, bytes + from, len, attr);
}

#endif /* RN_TESTS_WORLD_KIT_H */
