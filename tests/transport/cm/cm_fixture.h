/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_fixture.h - one kit for each test of a program, and the ends of its connection. */
#ifndef CM_FIXTURE_H
#define CM_FIXTURE_H

#include "cm_kit.h"

extern struct kit kit;
extern struct rn_cm_conn *active, *passive;

int setup(void **state);
int teardown(void **state);

/* The time that a code of 5 bits stands for. */
rn_ns code(unsigned n);

#endif /* CM_FIXTURE_H */
