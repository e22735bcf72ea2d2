/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doctor.h - declarations shared by the checks of `rocin doctor'. */
#ifndef ROCIN_DOCTOR_H
#define ROCIN_DOCTOR_H

#include "tools/rocin/common/launch.h"

struct doctor {
	const char *netdevs;
	const char *program; /* program that is to be checked; NULL: none was given */
	/* address of a peer that is to be checked; NULL: none was given */
	const char *peer;
	struct rn_launch launch;
	bool speed; /* the speed of the machine is to be measured */
	bool prepared;
	bool is_partly_reached; /* LD_PRELOAD affects only a part of the program */
	unsigned faults;
	/* all findings, if they are to be printed as JSON at the end; NULL: each finding
	 * is printed at once
	 */
	struct json_t *json;
};

enum finding {
	GOOD,
	NOTE,
	FAULT
};

/* Prints the result of a check. With --json, stores it instead, until all are printed. */
void rn_doctor_find(struct doctor *d, enum finding f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Asks the peer at @d->peer (peer.c). Does nothing if @d->peer is NULL. */
void rn_doctor_check_peer(struct doctor *d);

#endif /* ROCIN_DOCTOR_H */
