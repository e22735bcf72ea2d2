/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.h - statistics of a capture for each half-connection, and the output as JSON or
 * as a page.
 */
#ifndef RN_DUMP_STATS_H
#define RN_DUMP_STATS_H

#include "dump.h"

/* Returns the delivered payload in Gbit/s over the time from the first to the last
 * packet; 0 if that time is 0.
 */
double rn_dump_goodput(const struct rn_watch_half *h);

/* Has the half any requests? Others are not reported. */
bool rn_dump_is_told(const struct rn_watch_half *h);

/* Returns the name of the transport service, such as "RC" or "XRC". */
const char *rn_dump_class(const struct rn_watch_half *h);

/* Writes the name of a half-connection, such as "10.0.0.1 qp 0x11 > 10.0.0.2 qp 0x22". */
enum {
	RN_DUMP_NAME_MAX = 128
};
const char *rn_dump_name(const struct rn_watch_half *h, char text[RN_DUMP_NAME_MAX]);

/* Prints a paragraph for each half-connection, as the function .end of a form of output.
 * @ctx: FILE.
 */
int rn_dump_stats_print(void *ctx, const struct rn_watch *w);

/* Draws goodput, unacknowledged PSNs and round trip times of a half-connection over time,
 * as an <svg> element.
 */
void rn_dump_plot(FILE *to, const struct rn_watch_half *h);
extern const char rn_dump_plot_style[]; /* style sheet for the head of the page */

/* ---- JSON ---- */

/* Print one JSON object for a packet, in one line. @ctx: FILE. */
bool rn_dump_json_packet(void *ctx, const struct rn_dump_packet *d);
void rn_dump_json_arrival(void *ctx, const struct rn_dump_arrival *a);

/* Prints one JSON object with all half-connections. @ctx: FILE. */
int rn_dump_json_stats(void *ctx, const struct rn_watch *w);

/* ---- HTML page ---- */

struct rn_dump_page;

/* Returns a new page, or NULL if there is no memory. @file: name of the capture; must
 * stay valid.
 */
struct rn_dump_page *rn_dump_page_open(const char *file);
void rn_dump_page_close(struct rn_dump_page *page);

/* Store a packet, or its arrival, as functions of a form of output (struct rn_dump_form).
 * @ctx: a struct rn_dump_page, which stores the first packets of each diagram and the
 * first findings.
 */
bool rn_dump_page_packet(void *ctx, const struct rn_dump_packet *d);
void rn_dump_page_arrival(void *ctx, const struct rn_dump_arrival *a);

/* Write a file, while @w still exists: the whole page, or only the diagram with the most
 * packets. Return 0 or -errno of the file; -ENODATA if there is no diagram.
 */
int rn_dump_page_write(struct rn_dump_page *page, const struct rn_watch *w,
		       const char *path);
int rn_dump_page_write_ladder(struct rn_dump_page *page, const struct rn_watch *w,
			      const char *path);

#endif /* RN_DUMP_STATS_H */
