/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_kit.h - two engines in virtual time, in one thread.
 *
 * The engines are the real ones with their core; what the machine adds is simulated: the
 * clock, the CPU time of the program's thread, the wire between the two, and a background
 * thread each, which wakes up VM_WAKE after its timer ran out or, while it listens, after
 * a packet came. Programs of the two ends are the test's own calls, in between or as
 * callbacks. What happens is the same on every machine, busy or idle.
 *
 * Link with the options that tests/provider/CMakeLists.txt gives to rnp_virtual_kit.
 */
#ifndef RNP_VIRTUAL_KIT_H
#define RNP_VIRTUAL_KIT_H

#include "engine_kit.h"

/* Durations of the simulated machine, ns. */
struct virtual_machine {
	rn_ns wire;  /* from transmit() at one end to receive() at the other */
	rn_ns wake;  /* from an event to the first instruction of a background thread */
	rn_ns yield; /* that sched_yield() takes */
	rn_ns late;  /* from the end of a nap to the program's first instruction */
	bool spins;  /* the program's thread uses CPU time while it does not poll */
};

extern struct virtual_machine virtual_machine;

/* One end since virtual_pair(). */
struct virtual_end {
	unsigned supers, packets; /* transmitted */
	unsigned yields;	  /* of the background thread */
	unsigned wakes;		  /* of the background thread */
	unsigned naps;		  /* of the program */
	bool listens;		  /* the sockets are on */
	bool is_stopped;    /* set by the test: its background thread gets no processor */
	bool is_full;	    /* set by the test: the wire takes nothing from this end */
	rn_ns timer;	    /* expiry; 0: not set */
	unsigned timers;    /* how often it was set */
	rn_ns longest_wait; /* of a packet that could be received */
};

/* Open, attach and connect a pair as kit_pair() does. @machine becomes the machine. */
void virtual_pair(struct kit_end k[2], uint8_t timeout);
void virtual_close_pair(struct kit_end k[2]);
struct virtual_end *virtual_end(const struct kit_end *k);

/* Virtual time. It is what rnp_engine_now() returns. */
rn_ns virtual_now(void);

/* Time passes, and nobody runs but the program, which computes. */
void virtual_compute(rn_ns duration);

/* Time passes, and the background threads run when it is their turn. */
void virtual_run(rn_ns duration);

/* The next event of a background thread, if there is one before @until: time goes on to
 * it, and the thread runs. Return: false if there is none; it is @until then.
 */
bool virtual_step(rn_ns until);

/* The program of @k polls its CQ once, and time goes on by the cost of a poll. True if
 * there was a CQE.
 */
bool virtual_poll(struct kit_end *k, struct rn_cqe *cqe);

/* It polls until a CQE comes, which must have @status; the other end's background thread
 * runs meanwhile. Fails the test when VIRTUAL_WAIT has passed.
 */
struct rn_cqe virtual_await(struct kit_end *k, enum rn_wc_status status);

/* It looks at byte @at of its buffer until that is @value, and makes no calls. */
void virtual_await_byte(struct kit_end *k, unsigned at, uint8_t value);

/* CPU time that the program's thread has used. */
rn_ns virtual_cpu(void);

/* What the engine of @k would tell its policy of the core. */
struct rnp_facts virtual_facts(const struct kit_end *k);

/* What the policy of @k would do after a poll now: give the sockets back, as the program
 * leaves; take them at once, as it will be seen to leave. Nothing changes.
 */
bool virtual_would_leave(const struct kit_end *k);
bool virtual_would_lease_early(const struct kit_end *k);

/* Packets on the wire to @k, which have not been received. */
unsigned virtual_waiting(const struct kit_end *k);

#define VIRTUAL_WAIT RN_MSEC(10000)
#define VIRTUAL_POLL RN_USEC(1) /* cost of a poll or of a look at memory, rounded up */

#endif /* RNP_VIRTUAL_KIT_H */
