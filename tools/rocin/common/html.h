/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* html.h - writes HTML pages that need no scripts and no other files, and SVG pictures;
 * escapes text for HTML, SVG and XML.
 */
#ifndef RN_HTML_H
#define RN_HTML_H

#include <stdio.h>

#include "rocin/types.h"

/* Writes the head of a page, with the common style and the title, which is also the
 * headline. @styles: array of further style sheets, which ends with NULL. @styles itself
 * may be NULL. The head is well-formed XML.
 */
void rn_html_begin(FILE *to, const char *title, const char *const *styles);
void rn_html_end(FILE *to);

/* Writes text, with &, <, >, " and ' escaped. Bytes that are not printable ASCII become
 * '?', because text from a file of unknown origin could break the encoding.
 */
void rn_html_text(FILE *to, const char *text);

/* Writes text that this program has made, as XML text or as the value of an attribute in
 * double quotes. UTF-8 is kept, control characters are left out.
 */
void rn_xml_text(FILE *to, const char *text);

/* ---- SVG pictures, as elements of an HTML page or as files ---- */

/* Arguments of the functions below. @look: attributes that say how an element looks, such
 * as "class='grid'"; none, one or several. @title: text that is shown while the mouse
 * points at the element; NULL: none. Coordinates are in pixels from the upper left
 * corner, and are written with one decimal. Texts are escaped.
 */

struct rn_svg_picture {
	unsigned width, height;
	const char *look; /* attributes of the element; NULL: none */
	/* Text alternative, for people who cannot see the picture; NULL: none. */
	const char *title;
	/* Style sheets of a picture that is a file of its own; the last element is NULL.
	 * A picture in an HTML page has no style sheets, because the head of the page has
	 * them.
	 */
	const char *style[3];
};

/* Upper left corner and size of a rectangle. */
struct rn_svg_box {
	double x, y, width, height;
};

void rn_svg_begin(FILE *to, const struct rn_svg_picture *p);
void rn_svg_end(FILE *to);

/* Fills the background with white, for pictures that are not part of a page. */
void rn_svg_background(FILE *to);

void rn_svg_line(FILE *to, const char *look, double x1, double y1, double x2, double y2);
void rn_svg_rect(FILE *to, const char *look, struct rn_svg_box box, const char *title);
void rn_svg_circle(FILE *to, const char *look, double x, double y, double radius,
		   const char *title);

/* Draws a triangle. @corner: x and y of each of the three corners. */
void rn_svg_triangle(FILE *to, const char *look, const double corner[6],
		     const char *title);

/* rn_svg_points_begin(), a call of rn_svg_point() for each corner, and
 * rn_svg_points_end() draw a shape with any number of corners. @element: "polyline" or
 * "polygon".
 */
void rn_svg_points_begin(FILE *to, const char *element, const char *look);
void rn_svg_point(FILE *to, double x, double y);
void rn_svg_points_end(FILE *to);

/* Writes text at (x, y). @anchor says which part of the text is at this point: "start",
 * "middle" or "end"; NULL: "start".
 */
void rn_svg_text(FILE *to, const char *look, double x, double y, const char *anchor,
		 const char *fmt, ...) __attribute__((format(printf, 6, 7)));

void rn_svg_text_with_title(FILE *to, const char *look, double x, double y,
			    const char *text, const char *title);

/* Writes a text in two parts: @text, and behind it @second in the style of notes (class
 * 'n').
 */
void rn_svg_text_in_two(FILE *to, const char *look, double x, double y, const char *text,
			const char *second);

#endif /* RN_HTML_H */
