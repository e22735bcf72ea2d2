/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* html.h - parts of the HTML report of `rocin litmus`.
 *
 * The page is also well-formed XML. It needs no script and nothing from outside.
 */
#ifndef RN_LITMUS_HTML_H
#define RN_LITMUS_HTML_H

#include "report.h"

/* Text with &, <, >, " and ' replaced; bytes that are no characters become '?'. */
void rn_html_text(FILE *to, const char *text);

/* Style sheet of page and pictures. */
void rn_html_style(FILE *to);

/* A stale look: an instruction that read bytes of which newer ones were on their way. */
struct rn_html_stale {
	size_t step;	/* the load */
	uint16_t tlp;	/* the write that it came too early for */
	uint16_t where; /* queue that the write was in; RN_LIST_COUNT: none yet */
};

/* Find the first one. A load of a value that the condition of @v asks for comes first.
 */
bool rn_html_find_stale(const struct rn_litmus_test *t, const struct rn_report_state *s,
			struct rn_html_stale *stale);

/* The picture of a witness: lanes for agents and queues, time downward. @s->steps must be
 * there.
 */
void rn_html_picture(FILE *to, const struct rn_litmus_test *t,
		     const struct rn_report_state *s);

#endif /* RN_LITMUS_HTML_H */
