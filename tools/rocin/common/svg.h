/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* svg.h - pictures, as elements of a page or as files of their own.
 *
 * @look is the attributes that say how an element looks, as "class='grid'"; none ("") or
 * more than one will do. @title is shown when it is pointed at; NULL: nothing. Places are
 * in pixels from the upper left corner and are written to a tenth. Texts are escaped.
 */
#ifndef RN_SVG_H
#define RN_SVG_H

#include <stdio.h>

#include "rocin/types.h"

struct rn_svg_picture {
	unsigned width, height;
	const char *look;  /* NULL: nothing in particular */
	const char *title; /* for who cannot see it; NULL: none */
	/* Style sheets of a file of its own, up to the first NULL; in a page they belong
	 * into its head.
	 */
	const char *style[3];
};

/* Its upper left corner and its size. */
struct rn_svg_box {
	double x, y, width, height;
};

void rn_svg_begin(FILE *to, const struct rn_svg_picture *p);
void rn_svg_end(FILE *to);

/* White, for pictures that are not on a page. */
void rn_svg_background(FILE *to);

void rn_svg_line(FILE *to, const char *look, double x1, double y1, double x2, double y2);
void rn_svg_rect(FILE *to, const char *look, struct rn_svg_box box, const char *title);
void rn_svg_circle(FILE *to, const char *look, double x, double y, double radius,
		   const char *title);

/* @corner: x, y of each. */
void rn_svg_triangle(FILE *to, const char *look, const double corner[6],
		     const char *title);

/* Shapes whose corners come one by one: "polyline", "polygon". */
void rn_svg_points_begin(FILE *to, const char *element, const char *look);
void rn_svg_point(FILE *to, double x, double y);
void rn_svg_points_end(FILE *to);

/* @anchor: which part of the text is at the place: "start", "middle", "end"; NULL: its
 * start.
 */
void rn_svg_text(FILE *to, const char *look, double x, double y, const char *anchor,
		 const char *fmt, ...) __attribute__((format(printf, 6, 7)));

void rn_svg_text_with_title(FILE *to, const char *look, double x, double y,
			    const char *text, const char *title);

/* The second part in the look of notes (class 'n'). */
void rn_svg_text_in_two(FILE *to, const char *look, double x, double y, const char *text,
			const char *second);

#endif /* RN_SVG_H */
