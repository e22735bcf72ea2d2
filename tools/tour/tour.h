/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour.h - the program that `rocin tour` runs, once for each stop (step) of the tour. It
 * uses two devices in one process, with an RC QP on each, connected to each other. A is
 * the requester, B the responder.
 *
 * Each stop is a function that uses plain libibverbs. `rocin tour' shows the lines
 * between "tour: NAME" and "tour: end" to the user (excerpts.awk), so they have at most
 * 76 columns.
 *
 * Results are written to standard output, one per line; lines.h describes them.
 *
 * Threads: one.
 */
#ifndef RN_TOUR_PROGRAM_H
#define RN_TOUR_PROGRAM_H

#include <infiniband/verbs.h>
#include <rocin/gpu.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	BUFFER = 16384, /* bytes of the buffer at each end */
	REGION = 4096,	/* bytes of the buffer that the stop `register' registers */
	DATA = 4096,	/* bytes that the stop `gpu' writes to GPU memory */
	/* Value of buffer bytes that have been written; all bytes are 0 at first. */
	NEW = 0x5a,
	/* first PSN of the requests of A, easy to recognise in a list of packets */
	FIRST_PSN_A = 100,
	FIRST_PSN_B = 500,
};

struct end {
	const char *name; /* name of the end, "A" or "B" */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr; /* MR of the whole buffer */
	uint8_t *buf;	   /* buffer of BUFFER bytes */
};

struct tour {
	struct end a, b;
	/* The settings of the stop; tools/rocin/tour/stops.c describes them. */
	uint32_t size, offset, mtu, rnr_timer, rnr_retry;
	bool imm, cswap, flush;
	uint8_t timeout; /* code of the local ACK timeout */
};

/* Ends the program with a message about @what if @ok is false. */
void tour_need(bool ok, const char *what);

/* Opens both devices and connects their QPs. */
void tour_open(struct tour *t);
void tour_close(struct tour *t);

/* Writes @text to the buffer of @e. */
void tour_write_note(struct end *e, const char *text);

/* Begins the part of the run whose packets and TLPs `rocin tour' shows. */
void tour_begin(struct tour *t);

/* Ends the part of the run that is shown: prints the TLPs that were recorded. */
void tour_end(struct tour *t);

/* Returns CLOCK_REALTIME in ns, the clock of the times of captured packets. */
uint64_t tour_now(void);

/* Each of these functions prints one line of the result, in the format of lines.h. */
void tour_tell_range(const char *name, const void *addr, uint64_t len);
void tour_tell_memory(const char *name, const char *when, const void *addr);
void tour_tell_value(const char *name, uint64_t value);
void tour_tell_wc(const struct end *e, const struct ibv_wc *wc);

/* Polls until the next completion of @e, and prints it. */
void tour_poll(const struct end *e);

/* Polls the CQ of @e until it is empty. Prints the number of completions that it has
 * found, as value "END_left".
 */
void tour_look_for_none(const struct end *e);

/* Waits until `rocin tour' reports that the packet @what was seen on the wire. */
void tour_await(const char *what);

/* Functions that run the steps of the tour ("stops"), one function per step. */
void tour_register(struct tour *t);
void tour_send(struct tour *t);
void tour_write(struct tour *t);
void tour_read(struct tour *t);
void tour_atomic(struct tour *t);
void tour_rnr(struct tour *t);
void tour_lost(struct tour *t);
void tour_gpu(struct tour *t);

#endif /* RN_TOUR_PROGRAM_H */
