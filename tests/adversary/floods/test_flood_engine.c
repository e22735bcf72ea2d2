/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_flood_engine.c - rocind says something as fast as an engine listens: a client that
 * changes the fault rules again and again makes it do so. The engine comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "provider/engine/engine_internal.h"
#include "tests/kit/work.h"
#include "transport/io/rocind/rocind_conn.h"

int __wrap_rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *out);

enum {
	FOR_EVER = 100000 /* events in one call: it does not end by itself */
};

static unsigned events;

int __wrap_rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *out)
{
	(void)r;
	*out = (struct rn_rocind_event){ .kind = RN_ROCIND_TAP_SOURCE,
					 .sock = -1,
					 .text = -1,
					 .tap = { .ring = -1, .stats_fd = -1 } };
	return ++events < FOR_EVER ? 0 : -EAGAIN;
}

/* But takes all that a request may have left in the queue, of which no descriptor tells.
 */
static void events_without_end_are_taken_in_pieces(void **state)
{
	struct rnp_engine *e = calloc(1, sizeof(*e));
	struct rn_rocind *r = calloc(1, sizeof(*r));

	(void)state;
	assert_true(e && r);
	e->rocind = r;
	for (unsigned i = 0; i < 10; i++) {
		events = 0;
		work_begin();
		rnp_rocind_events(e);
		assert_work_of(events, WORK_PACKET);
		assert_in_range(events, RN_ROCIND_EVENT_MAX, 1000);
	}
	free(r);
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_without_end_are_taken_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
