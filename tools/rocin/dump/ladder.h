/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ladder.h - an exchange as a sequence diagram: a row per packet, time downward. */
#ifndef RN_DUMP_LADDER_H
#define RN_DUMP_LADDER_H

#include "dump.h"

/* What a packet looks like. */
enum rn_ladder_look {
	RN_LADDER_REQUEST,
	RN_LADDER_AGAIN, /* a request sent again */
	RN_LADDER_DATA,	 /* READ responses and atomic acknowledges */
	RN_LADDER_ACK,
	RN_LADDER_NAK,
	RN_LADDER_NOTIFY, /* CNP */
	RN_LADDER_LOOKS
};

enum {
	RN_LADDER_LABEL_MAX = 160,
	RN_LADDER_COMMENT_MAX = 240,
};

/* A packet that belongs to a half. */
struct rn_ladder_row {
	uint64_t number;
	rn_ns at;
	uint32_t half;
	bool is_response;
	enum rn_ladder_look look;
	uint32_t missing;
	char label[RN_LADDER_LABEL_MAX]; /* "SEND_ONLY 17 len 8" */
	char note[RN_DUMP_NOTE_MAX];
	char comment[RN_LADDER_COMMENT_MAX]; /* what the devices thought of it */
	unsigned findings;
	struct rn_watch_finding finding; /* the worst */
};

/* Return: false if the packet belongs to nobody. */
bool rn_ladder_row(struct rn_ladder_row *row, const struct rn_dump_packet *d);
/* Append to the comment what the other end thought of the packet. */
void rn_ladder_row_arrived(struct rn_ladder_row *row, const struct rn_dump_arrival *a);

/* The half whose requests go to the right in the diagram that @half belongs to. */
uint32_t rn_ladder_of(const struct rn_watch *w, uint32_t half);

/* "10.0.0.1 qp 0x11": the left or right end; the queue pair is left out if it is not
 * known.
 */
enum {
	RN_LADDER_END_MAX = 80
};
const char *rn_ladder_end(const struct rn_watch *w, uint32_t ladder, bool is_right,
			  char text[RN_LADDER_END_MAX]);

/* Whose it is: "rocin0, verify, process 7, on lo, slot 1"; NULL: nobody has said. */
const char *rn_ladder_owner(const struct rn_watch *w, uint32_t ladder, bool is_right,
			    const struct rn_dump_owners *owners);

/* ---- In a terminal ---- */

enum {
	RN_LADDER_INDENT = 14, /* the time, before the left line */
	RN_LADDER_COLUMNS_MIN = 60,
};

struct rn_ladder_text {
	FILE *to;
	bool has_colour;
	const char *left, *right; /* names before the ends; NULL: none */
	unsigned columns; /* of a line, RN_LADDER_COLUMNS_MIN or more; 0: as ever */
	uint32_t ladder;  /* whose head was printed; RN_WATCH_NONE at first */
	rn_ns at;
};

/* A form of showing, with a struct rn_ladder_text. */
bool rn_ladder_print(void *ctx, const struct rn_dump_packet *d);
void rn_ladder_print_arrival(void *ctx, const struct rn_dump_arrival *a);

/* ---- As a picture ---- */

enum {
	RN_LADDER_ROWS = 300 /* of one picture */
};

/* Rows of one diagram, the first of them. */
struct rn_ladder_picture {
	const struct rn_watch *w;
	uint32_t ladder;
	const struct rn_ladder_row *row; /* those of other diagrams are passed over */
	size_t rows;
	const struct rn_dump_owners *owners; /* or NULL */
};

/* An <svg> element; @is_file: with its own style, as a file of its own. */
void rn_ladder_draw(FILE *to, const struct rn_ladder_picture *p, bool is_file);

/* Its style, for the head of a page: rules that begin with "svg ". */
extern const char rn_ladder_style[];

#endif /* RN_DUMP_LADDER_H */
