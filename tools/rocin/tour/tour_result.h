/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour_result.h - what happened at a stop of `rocin tour`: packets, TLPs, completions,
 * memory.
 */
#ifndef RN_TOUR_RESULT_H
#define RN_TOUR_RESULT_H

#include "tools/dump/roce_watch.h"
#include "transport/io/capture/capture_blocks.h"

enum {
	RN_TOUR_TEXT_MAX = 48,
	RN_TOUR_SAMPLE_MAX = 64, /* hexadecimal digits, and more than are told */
	RN_TOUR_WCS_MAX = 8,
	RN_TOUR_MEMORIES_MAX = 8,
	RN_TOUR_VALUES_MAX = 24,
	RN_TOUR_RANGES_MAX = 4,
};

enum rn_tour_end {
	RN_TOUR_A,
	RN_TOUR_B
};

/* As it was sent. */
struct rn_tour_packet {
	enum rn_tour_end from;
	rn_ns at;	    /* since the stop began */
	struct rn_packet p; /* points into @frame */
	struct rn_watch_remark remark;
	char sender[RN_CAPTURE_COMMENT_MAX];   /* what the device that sent it said */
	char receiver[RN_CAPTURE_COMMENT_MAX]; /* and the other one; empty: nothing */
	bool is_received;
	uint64_t number; /* in the order of the capture */
	uint8_t *frame;	 /* with link header */
	uint32_t len;
};

/* A move of a TLP out of a queue. */
struct rn_tour_move {
	uint64_t seq;
	rn_ns at; /* since the stop began */
	char kind[16], from[16], to[16], queue[32];
	unsigned flags; /* enum rn_tlp_flag */
	uint64_t addr;
	uint32_t len;
};

struct rn_tour_wc {
	enum rn_tour_end end;
	char status[RN_TOUR_TEXT_MAX], opcode[RN_TOUR_TEXT_MAX];
	uint32_t bytes, vendor_err;
};

struct rn_tour_memory {
	char name[16], when[16]; /* "before", "after", "saw" */
	char hex[RN_TOUR_SAMPLE_MAX];
};

struct rn_tour_value {
	char name[32];
	uint64_t number;
};

struct rn_tour_range {
	char name[16];
	uint64_t addr, len;
};

struct rn_tour_result {
	uint64_t begin_real, begin_mono; /* ns */
	struct rn_tour_packet *packet;
	struct rn_tour_move *move;
	unsigned packets, moves, wcs, memories, values, ranges;
	struct rn_tour_wc wc[RN_TOUR_WCS_MAX];
	struct rn_tour_memory memory[RN_TOUR_MEMORIES_MAX];
	struct rn_tour_value value[RN_TOUR_VALUES_MAX];
	struct rn_tour_range range[RN_TOUR_RANGES_MAX];
	bool is_whole; /* the program has said all */
	struct rn_watch *watch;
};

/* What the program says: a line of tools/tour/lines.h without its newline. Return: 0;
 * -EPROTO: it is none; -ENOMEM; -ECANCELED: "error ...", whose sentence is in @err.
 */
int rn_tour_take_line(struct rn_tour_result *r, const char *line, char *err,
		      size_t err_len);

/* A packet that was captured, at either end. Return: 0 or -ENOMEM. */
int rn_tour_take_packet(struct rn_tour_result *r, enum rn_tour_end at,
			const struct rn_capture_packet *packet);

/* All is there: in the order of time, and looked at by a listener. Return: 0 or -ENOMEM.
 */
int rn_tour_finish(struct rn_tour_result *r);

void rn_tour_result_free(struct rn_tour_result *r);

/* A value, 0 if it was not told. */
uint64_t rn_tour_value(const struct rn_tour_result *r, const char *name);

#endif /* RN_TOUR_RESULT_H */
