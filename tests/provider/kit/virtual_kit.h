/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_kit.h - two engines in virtual time, in one thread.
 *
 * The engines and their core are the real ones. The machine is simulated: the clock, the
 * processor time of the program's thread, the wire between both engines, and their
 * background threads. A background thread wakes up virtual_machine.wake after its timer
 * has expired or, while it listens, after a packet has come. The test's own calls, some
 * of them in callbacks, stand for the programs of both ends. The results are the same on
 * every machine, busy or idle.
 *
 * Link with the options that tests/provider/CMakeLists.txt gives to rnp_virtual_kit.
 */
#ifndef RNP_VIRTUAL_KIT_H
#define RNP_VIRTUAL_KIT_H

#include "engine_kit.h"

/* Durations on the simulated machine, in ns. */
struct virtual_machine {
	/* time from transmit() at one end until receive() is possible at the other */
	rn_ns wire;
	rn_ns wake;  /* time from an event until the background thread runs */
	rn_ns yield; /* duration of sched_yield() */
	rn_ns late;  /* time from the end of a nap until the program runs */
	bool spins;  /* the program's thread uses processor time while it does not poll */
};

extern struct virtual_machine virtual_machine;

/* State and counts of an end since virtual_pair(). */
struct virtual_end {
	/* numbers of super-packets and packets that were sent */
	unsigned supers, packets;
	unsigned yields; /* number of yields of the background thread */
	unsigned wakes;	 /* number of wake-ups of the background thread */
	unsigned naps;	 /* number of naps of the program */
	bool listens;	 /* the background thread watches the sockets */
	bool is_stopped; /* set by the test: the background thread gets no processor */
	/* set by the test: the wire accepts no packets from this end */
	bool is_full;
	rn_ns timer;	 /* expiry of the timer; 0: not set */
	unsigned timers; /* how often the timer was set */
	/* longest time for which a packet that could be received has waited */
	rn_ns longest_wait;
};

/* Opens, attaches and connects a pair as kit_pair() does. Before, sets the durations of
 * the machine to @machine.
 */
void virtual_pair(struct kit_end k[2], uint8_t timeout);
void virtual_close_pair(struct kit_end k[2]);
struct virtual_end *virtual_end(const struct kit_end *k);

/* Returns the virtual time, which rnp_engine_now() returns, too. */
rn_ns virtual_now(void);

/* Lets time pass while only the program runs, which computes. */
void virtual_compute(rn_ns duration);

/* Lets time pass while the background threads run when they are due. */
void virtual_run(rn_ns duration);

/* Lets time pass until the next event of a background thread, and lets the thread run. If
 * there is no event before @until, lets time pass until then, and returns false.
 */
bool virtual_step(rn_ns until);

/* The program of @k polls its CQ once, which takes the time of a poll. Returns true if
 * there was a CQE.
 */
bool virtual_poll(struct kit_end *k, struct rn_cqe *cqe);

/* The program polls until a CQE comes, which must have @status; the background thread of
 * the other end runs meanwhile. Fails the test after VIRTUAL_WAIT.
 */
struct rn_cqe virtual_await(struct kit_end *k, enum rn_wc_status status);

/* The program reads byte @at of its buffer, without calls to the device, until it is
 * @value.
 */
void virtual_await_byte(struct kit_end *k, unsigned at, uint8_t value);

/* Returns the processor time that the program's thread has used. */
rn_ns virtual_cpu(void);

/* Returns the facts about the core that the engine of @k would pass to its policy. */
struct rnp_facts virtual_facts(const struct kit_end *k);

/* Return what the policy of @k would do after a poll at this time, without changing
 * anything. virtual_would_leave(): give the sockets back, because the program stops
 * polling. virtual_would_lease_early(): give the program the sockets at once, because it
 * will be noticed if the program stops.
 */
bool virtual_would_leave(const struct kit_end *k);
bool virtual_would_lease_early(const struct kit_end *k);

/* Returns the number of packets on the wire to @k that have not been received. */
unsigned virtual_waiting(const struct kit_end *k);

#define VIRTUAL_WAIT RN_MSEC(10000)
/* duration of a poll or of a read of memory, rounded up */
#define VIRTUAL_POLL RN_USEC(1)

#endif /* RNP_VIRTUAL_KIT_H */
