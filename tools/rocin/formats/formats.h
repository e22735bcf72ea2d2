/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* formats.h - the four formats of RDMA packets as tables: their headers, which parts of
 * these the ICRC covers, and other differences.
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

/* A field that routers and switches may change, so the ICRC is computed as if all its
 * bits were 1.
 */
struct rn_format_mask {
	/* position in the header and width, in bits; width 0: end of the list */
	uint16_t bit, width;
	const char *name;
};

struct rn_format_header {
	const char *name;
	uint16_t bytes;	  /* length of the header in bytes; 0: any multiple of 4 */
	bool is_optional; /* some packets do not have this header */
	bool is_covered;  /* the ICRC covers this header */
	/* the packet does not have this header, but the ICRC covers bits that are all 1
	 * in its place
	 */
	bool is_only_ones;
	/* what the header contains in this format; NULL: nothing special */
	const char *remark;
	struct rn_format_mask mask[RN_FORMAT_MASKS_MAX];
};

struct rn_format {
	const char *name;
	/* the last element has no name */
	struct rn_format_header header[RN_FORMAT_HEADERS_MAX];
};

/* A question about packet formats, and the answer for each format. */
struct rn_format_row {
	const char *question;
	const char *answer[RN_FORMAT_COUNT];
};

extern const struct rn_format rn_formats[RN_FORMAT_COUNT];
extern const struct rn_format_row rn_format_rows[];
extern const unsigned rn_format_row_count;
/* Mistakes that readers of these formats often make; the last element is NULL. */
extern const char *const rn_format_traps[];

/* Returns the number of bytes in a packet before its BTH, without optional headers. */
unsigned rn_format_before_bth(const struct rn_format *f);

/* Writes which part of a header the ICRC covers, such as "all but TTL, checksum". */
enum {
	RN_FORMAT_COVER_MAX = 160
};
void rn_format_cover(const struct rn_format_header *h, char text[RN_FORMAT_COVER_MAX]);

/* Write the tables: as text, as an HTML page with a picture, or as an SVG picture only.
 */
void rn_formats_print(FILE *to);
void rn_formats_page(FILE *to);
void rn_formats_picture(FILE *to);

#endif /* RN_FORMATS_H */
