/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour.h - the program that `rocin tour` runs, once for each stop: two devices in one
 * process, an RC queue pair on each, connected to each other. A asks, B answers.
 *
 * Each stop is a function of plain libibverbs. What stands between "tour: NAME" and
 * "tour: end" is shown to the reader as it is (excerpts.awk), so these lines are
 * written to be read: at most 76 columns.
 *
 * What happened is told on standard output, a line each; lines.h has them.
 *
 * Threads: the calling one alone.
 */
#ifndef RN_TOUR_PROGRAM_H
#define RN_TOUR_PROGRAM_H

#include <infiniband/verbs.h>
#include <rocin/gpu.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	BUFFER = 16384,	   /* bytes at each end */
	REGION = 4096,	   /* of those, what the stop `register' registers */
	DATA = 4096,	   /* bytes for the GPU */
	NEW = 0x5a,	   /* what they are; before, 0 */
	FIRST_PSN_A = 100, /* easily told apart */
	FIRST_PSN_B = 500,
};

struct end {
	const char *name; /* "A" */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr; /* of all of buf */
	uint8_t *buf;	   /* BUFFER bytes */
};

struct tour {
	struct end a, b;
	/* Settings, see tour_settings.h. */
	uint32_t size, offset, mtu, rnr_timer, rnr_retry;
	bool imm, cswap, flush;
	uint8_t timeout; /* code of the local ACK timeout */
};

/* End the program unless @ok, naming what failed. */
void tour_need(bool ok, const char *what);

/* Open both devices, connect the queue pairs. */
void tour_open(struct tour *t);
void tour_close(struct tour *t);

/* A note in the buffer of an end. */
void tour_write_note(struct end *e, const char *text);

/* From here on packets and TLPs count: they belong to what the stop shows. */
void tour_begin(struct tour *t);

/* Tell what is behind PCIe, and end the count. */
void tour_end(struct tour *t);

/* CLOCK_REALTIME in ns, as packets have it. */
uint64_t tour_now(void);

/* Lines for the reader of standard output. */
void tour_tell_range(const char *name, const void *addr, uint64_t len);
void tour_tell_memory(const char *name, const char *when, const void *addr);
void tour_tell_value(const char *name, uint64_t value);
void tour_tell_wc(const struct end *e, const struct ibv_wc *wc);

/* Poll until the next completion of @e is there, and tell it. */
void tour_poll(const struct end *e);

/* Tell how many completions of @e are there (value "END_left"), which takes them. */
void tour_look_for_none(const struct end *e);

/* Wait until whoever reads our output has seen what @what names on the wire. */
void tour_await(const char *what);

/* The stops. */
void tour_register(struct tour *t);
void tour_send(struct tour *t);
void tour_write(struct tour *t);
void tour_read(struct tour *t);
void tour_atomic(struct tour *t);
void tour_rnr(struct tour *t);
void tour_lost(struct tour *t);
void tour_gpu(struct tour *t);

#endif /* RN_TOUR_PROGRAM_H */
