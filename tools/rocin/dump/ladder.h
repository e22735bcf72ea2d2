/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ladder.h - draws the packets of a connection as a sequence diagram ("ladder"), with one
 * row per packet; time runs downward.
 */
#ifndef RN_DUMP_LADDER_H
#define RN_DUMP_LADDER_H

#include "dump.h"

/* Kinds of arrows. */
enum rn_ladder_look {
	RN_LADDER_REQUEST,
	RN_LADDER_AGAIN, /* a request that is sent again */
	RN_LADDER_DATA,	 /* READ responses and atomic responses */
	RN_LADDER_ACK,
	RN_LADDER_NAK,
	RN_LADDER_NOTIFY, /* a congestion notification (CNP) */
	RN_LADDER_LOOKS
};

enum {
	RN_LADDER_LABEL_MAX = 160,
	RN_LADDER_COMMENT_MAX = 240,
};

/* Where a packet was dropped, if a device has reported that. */
enum rn_ladder_drop {
	RN_LADDER_NO_DROP,
	RN_LADDER_DROP_SENDER,	 /* the packet was never on the wire */
	RN_LADDER_DROP_RECEIVER, /* the packet has arrived at the receiver */
};

/* A row of a diagram: a packet of one of the two half-connections that the diagram shows.
 */
struct rn_ladder_row {
	enum rn_ladder_drop drop;
	uint64_t number;
	rn_ns at;
	uint32_t half;
	bool is_response;
	enum rn_ladder_look look;
	uint32_t missing;
	/* text of the arrow, such as "SEND_ONLY 17 len 8" */
	char label[RN_LADDER_LABEL_MAX];
	char note[RN_DUMP_NOTE_MAX];
	/* What the devices have reported about the packet (comments in the capture). */
	char comment[RN_LADDER_COMMENT_MAX];
	unsigned findings;
	struct rn_watch_finding finding; /* the most serious finding about the packet */
};

/* Fills in the row for a packet. Returns false if it is not known to which QP the packet
 * belongs.
 */
bool rn_ladder_row(struct rn_ladder_row *row, const struct rn_dump_packet *d);
/* Adds what the receiving device has reported about the packet to the comment of its row.
 */
void rn_ladder_row_arrived(struct rn_ladder_row *row, const struct rn_dump_arrival *a);

/* Returns the number of the diagram that shows the half-connection @half: this is the
 * number of the half-connection whose requests point to the right in the diagram.
 */
uint32_t rn_ladder_of(const struct rn_watch *w, uint32_t half);

/* Writes the name of the left or right side of a diagram, such as "10.0.0.1 qp 0x11";
 * without the QP if that is not known. Returns @text.
 */
enum {
	RN_LADDER_END_MAX = 80
};
const char *rn_ladder_end(const struct rn_watch *w, uint32_t ladder, bool is_right,
			  char text[RN_LADDER_END_MAX]);

/* Returns the owner of the QP on one side as text, such as "rocin0, verify, process 7, on
 * lo, slot 1". Returns NULL if the owner is not known.
 */
const char *rn_ladder_owner(const struct rn_watch *w, uint32_t ladder, bool is_right,
			    const struct rn_dump_owners *owners);

/* ---- Output as text ---- */

enum {
	RN_LADDER_INDENT = 14, /* columns for the time, left of the diagram */
	RN_LADDER_COLUMNS_MIN = 60,
};

struct rn_ladder_text {
	FILE *to;
	bool has_colour;
	/* texts that are written before the names of the two sides; NULL: nothing is
	 * written
	 */
	const char *left, *right;
	/* Number of columns of a line, RN_LADDER_COLUMNS_MIN or more; 0: the default. */
	unsigned columns;
	/* number of the diagram of the last row that was printed; RN_WATCH_NONE: no row
	 * yet
	 */
	uint32_t ladder;
	rn_ns at;
};

/* These functions can be used as rn_dump_form.packet and rn_dump_form.arrival. They print
 * the row of a packet, or what its receiver has reported about it. @ctx: a struct
 * rn_ladder_text.
 */
bool rn_ladder_print(void *ctx, const struct rn_dump_packet *d);
void rn_ladder_print_arrival(void *ctx, const struct rn_dump_arrival *a);

/* ---- Output as a picture ---- */

enum {
	RN_LADDER_ROWS = 300 /* maximum number of rows in one picture */
};

/* What a picture shows: the first rows of one diagram. */
struct rn_ladder_picture {
	const struct rn_watch *w;
	uint32_t ladder;
	/* rows of all diagrams of the page; rows of other diagrams are skipped */
	const struct rn_ladder_row *row;
	size_t rows;
	const struct rn_dump_owners *owners; /* owners of the QPs; NULL: none are known */
};

/* Draws a diagram as an <svg> element. @is_file: the file has only this element, so a
 * style sheet is added to it.
 */
void rn_ladder_draw(FILE *to, const struct rn_ladder_picture *p, bool is_file);

/* Style sheet for the head of a page; its selectors begin with "svg ". */
extern const char rn_ladder_style[];

#endif /* RN_DUMP_LADDER_H */
