/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_output.h - what programs on hosts say, by lines, each with the host's name. */
#ifndef RN_LAB_OUTPUT_H
#define RN_LAB_OUTPUT_H

#include "rocin/types.h"

enum {
	RN_LAB_LINE_MAX = 16384, /* a longer line becomes several */
};

struct rn_lab_stream {
	int from; /* does not block; -1: at its end */
	int to;
	char prefix[16]; /* of each line */
	size_t used;	 /* of @line: the beginning of one that has no end yet */
	char line[RN_LAB_LINE_MAX];
};

/* @from belongs to the stream. */
void rn_lab_stream_open(struct rn_lab_stream *s, int from, int to, const char *prefix);

/* Hand on what is there, but for a line that has not ended. Return: 0; -EPIPE or another
 * -errno of writing.
 */
int rn_lab_stream_read(struct rn_lab_stream *s);

/* The same, and nothing more will come. */
int rn_lab_stream_end(struct rn_lab_stream *s);

#endif /* RN_LAB_OUTPUT_H */
