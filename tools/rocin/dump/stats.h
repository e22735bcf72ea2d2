/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.h - what a capture holds, queue pair by queue pair. */
#ifndef RN_DUMP_STATS_H
#define RN_DUMP_STATS_H

#include "dump.h"

/* Payload that arrived, in Gbit/s of the time from the first packet to the last; 0 if
 * that is no time.
 */
double rn_dump_goodput(const struct rn_watch_half *h);

/* Is there something to tell of a half: requests? */
bool rn_dump_is_told(const struct rn_watch_half *h);

/* "RC", "XRC", ... */
const char *rn_dump_class(const struct rn_watch_half *h);

/* "10.0.0.1 qp 0x11 > 10.0.0.2 qp 0x22" */
enum {
	RN_DUMP_NAME_MAX = 128
};
const char *rn_dump_name(const struct rn_watch_half *h, char text[RN_DUMP_NAME_MAX]);

/* The end of a form of showing: a paragraph for each half. @ctx: FILE. */
int rn_dump_stats_print(void *ctx, const struct rn_watch *w);

/* Goodput, window and round trips of a half over time, as an <svg> element. */
void rn_dump_plot(FILE *to, const struct rn_watch_half *h);
extern const char rn_dump_plot_style[]; /* for the head of the page */

/* ---- JSON ---- */

/* One object per packet and line. @ctx: FILE. */
bool rn_dump_json_packet(void *ctx, const struct rn_dump_packet *d);
void rn_dump_json_arrival(void *ctx, const struct rn_dump_arrival *a);

/* One object of all halves. @ctx: FILE. */
int rn_dump_json_stats(void *ctx, const struct rn_watch *w);

/* ---- A page ---- */

struct rn_dump_page;

/* Return: NULL without memory. @file: the name of the capture, borrowed. */
struct rn_dump_page *rn_dump_page_open(const char *file);
void rn_dump_page_close(struct rn_dump_page *page);

/* A form of showing, with a struct rn_dump_page: remembers the first packets of each
 * diagram and the first findings.
 */
bool rn_dump_page_packet(void *ctx, const struct rn_dump_packet *d);
void rn_dump_page_arrival(void *ctx, const struct rn_dump_arrival *a);

/* Write it at the end, while the watch lives: as a page, or only the diagram with the
 * most packets. Return: 0 or -errno, of opening and writing @path; -ENODATA: there is no
 * diagram.
 */
int rn_dump_page_write(struct rn_dump_page *page, const struct rn_watch *w,
		       const char *path);
int rn_dump_page_write_ladder(struct rn_dump_page *page, const struct rn_watch *w,
			      const char *path);

#endif /* RN_DUMP_STATS_H */
