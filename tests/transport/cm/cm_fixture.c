/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_fixture.c - see cm_fixture.h. */
#include "cm_fixture.h"

struct kit kit;
struct rn_cm_conn *active, *passive;

int setup(void **state)
{
	(void)state;
	kit_open(&kit, KIT_CONNS);
	active = passive = NULL;
	return 0;
}

int teardown(void **state)
{
	(void)state;
	kit_close(&kit);
	return 0;
}

rn_ns code(unsigned n)
{
	return (rn_ns)4096 << n;
}
