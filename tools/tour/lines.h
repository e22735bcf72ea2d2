/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lines.h - the lines by which rocin-tour reports to `rocin tour' what happens at a stop
 * (a step of the tour), and the excerpt of the stop's C source that the tour shows.
 *
 * Words of a line are separated by single spaces:
 *
 *	begin REALTIME MONOTONIC	both clocks at the same instant, in ns
 *	range NAME ADDRESS BYTES	what lies at an address
 *	memory NAME WHEN HEX		RN_TOUR_SAMPLE bytes; WHEN: before, after, or saw
 *					if a kernel read them
 *	wc END STATUS OPCODE BYTES VENDOR_ERR
 *	value NAME NUMBER
 *	tlp SEQ WHEN KIND FLAGS REQUESTER TARGET ADDRESS BYTES QUEUE
 *	await WHAT			the program waits for a line on standard input,
 *					until WHAT was seen on the wire
 *	end				nothing more follows
 *
 * Numbers are decimal; names contain no spaces. After a line "error SENTENCE" the
 * program ends.
 */
#ifndef RN_TOUR_LINES_H
#define RN_TOUR_LINES_H

enum {
	RN_TOUR_SAMPLE = 24,
	RN_TOUR_LINE_MAX = 256,
	RN_TOUR_MOVES_MAX = 4096, /* maximum number of lines "tlp" */
};

/* Returns the excerpt of C that the tour shows for a stop, as lines, each with a newline;
 * NULL if there is no such stop. excerpts.awk generates the file that defines this
 * function.
 */
const char *rn_tour_code(const char *stop);

#endif /* RN_TOUR_LINES_H */
