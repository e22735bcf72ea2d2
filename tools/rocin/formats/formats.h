/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* formats.h - the four formats in which a packet of RDMA travels, as tables: its headers,
 * what of them the ICRC covers, and in what else they differ.
 *
 * Source: IBTA Vol 1, chapters 7 and 8, Annexes A16 (RoCE v1) and A17 (RoCEv2).
 */
#ifndef RN_FORMATS_H
#define RN_FORMATS_H

#include <stdio.h>

#include "rocin/types.h"

enum {
	RN_FORMAT_COUNT = 4,
	RN_FORMAT_HEADERS_MAX = 9,
	RN_FORMAT_MASKS_MAX = 4,
};

/* A field that may change on the way, so the ICRC takes it for ones. */
struct rn_format_mask {
	uint16_t bit, width; /* place in the header; width 0: no more fields */
	const char *name;
};

struct rn_format_header {
	const char *name;
	uint16_t bytes;	    /* 0: any number, multiples of 4 */
	bool is_optional;   /* not every packet has it */
	bool is_covered;    /* by the ICRC */
	bool is_only_ones;  /* not on the wire: the ICRC covers ones in its place */
	const char *remark; /* what it says in this format; NULL: nothing else */
	struct rn_format_mask mask[RN_FORMAT_MASKS_MAX];
};

struct rn_format {
	const char *name;
	struct rn_format_header header[RN_FORMAT_HEADERS_MAX]; /* ends with no name */
};

/* A question, and the answer for each format. */
struct rn_format_row {
	const char *question;
	const char *answer[RN_FORMAT_COUNT];
};

extern const struct rn_format rn_formats[RN_FORMAT_COUNT];
extern const struct rn_format_row rn_format_rows[];
extern const unsigned rn_format_row_count;
/* What is easily taken for something else; the last one is NULL. */
extern const char *const rn_format_traps[];

/* Returns the number of bytes of a packet before its BTH, without optional headers. */
unsigned rn_format_before_bth(const struct rn_format *f);

/* Writes what the ICRC covers of a header, such as "all but TTL, checksum". */
enum {
	RN_FORMAT_COVER_MAX = 160
};
void rn_format_cover(const struct rn_format_header *h, char text[RN_FORMAT_COVER_MAX]);

/* Write the tables as text, as an HTML page with the picture, and as a picture (SVG). */
void rn_formats_print(FILE *to);
void rn_formats_page(FILE *to);
void rn_formats_picture(FILE *to);

#endif /* RN_FORMATS_H */
