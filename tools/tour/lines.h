/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lines.h - what the program of a stop tells `rocin tour', a line each, words separated
 * by single spaces:
 *
 *	begin REALTIME MONOTONIC	both clocks at the same instant, in ns
 *	range NAME ADDRESS BYTES	what lies at an address
 *	memory NAME WHEN HEX		RN_TOUR_SAMPLE bytes: before, after, or as NAME
 *saw them wc END STATUS OPCODE BYTES VENDOR_ERR value NAME NUMBER tlp SEQ WHEN KIND FLAGS
 *REQUESTER TARGET ADDRESS BYTES QUEUE
 *	await WHAT			a line is wanted on standard input, once WHAT was
 *					seen on the wire
 *	end				all of the above is said
 *
 * Numbers are decimal; names have no spaces. A line "error SENTENCE" ends all.
 */
#ifndef RN_TOUR_LINES_H
#define RN_TOUR_LINES_H

enum {
	RN_TOUR_SAMPLE = 24,
	RN_TOUR_LINE_MAX = 256,
	RN_TOUR_MOVES_MAX = 4096, /* of TLPs */
};

#endif /* RN_TOUR_LINES_H */
