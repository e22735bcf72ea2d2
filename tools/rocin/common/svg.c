/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* svg.c - writes the elements of SVG pictures. */
#include "svg.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"

enum {
	NUMBER_MAX = 32,
	TEXT_MAX = 1024,
};

/* Formats a number with at most @digits decimals, without trailing zeros. */
static const char *number(double value, int digits, char text[NUMBER_MAX])
{
	int len = snprintf(text, NUMBER_MAX, "%.*f", digits, value);

	if (digits > 0 && len < NUMBER_MAX) {
		while (text[len - 1] == '0')
			len--;
		if (text[len - 1] == '.')
			len--;
		text[len] = '\0';
	}
	return text;
}

static void put_attribute(FILE *to, const char *name, double value)
{
	char text[NUMBER_MAX];

	fprintf(to, " %s='%s'", name, number(value, 1, text));
}

/* Writes the beginning of an element, such as "<line class='grid'". */
static void open_element(FILE *to, const char *element, const char *look)
{
	fprintf(to, "<%s%s%s", element, *look ? " " : "", look);
}

void rn_svg_begin(FILE *to, const struct rn_svg_picture *p)
{
	fprintf(to,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%u' height='%u' "
		"viewBox='0 0 %u %u' role='img'%s%s>\n",
		p->width, p->height, p->width, p->height, p->look ? " " : "",
		p->look ? p->look : "");
	if (p->title) {
		fputs("<title>", to);
		rn_html_text(to, p->title);
		fputs("</title>\n", to);
	}
	if (p->style[0]) {
		fputs("<style>", to);
		for (size_t i = 0; i < RN_ARRAY_SIZE(p->style) && p->style[i]; i++)
			fputs(p->style[i], to);
		fputs("</style>\n", to);
	}
}

void rn_svg_end(FILE *to)
{
	fputs("</svg>\n", to);
}

void rn_svg_background(FILE *to)
{
	fputs("<rect width='100%' height='100%' fill='#fff'/>\n", to);
}

void rn_svg_line(FILE *to, const char *look, double x1, double y1, double x2, double y2)
{
	open_element(to, "line", look);
	put_attribute(to, "x1", x1);
	put_attribute(to, "y1", y1);
	put_attribute(to, "x2", x2);
	put_attribute(to, "y2", y2);
	fputs("/>\n", to);
}

static void end_shape(FILE *to, const char *element, const char *title)
{
	if (!title) {
		fputs("/>\n", to);
		return;
	}
	fputs("><title>", to);
	rn_html_text(to, title);
	fprintf(to, "</title></%s>\n", element);
}

void rn_svg_rect(FILE *to, const char *look, struct rn_svg_box box, const char *title)
{
	char text[NUMBER_MAX];

	open_element(to, "rect", look);
	put_attribute(to, "x", box.x);
	put_attribute(to, "y", box.y);
	fprintf(to, " width='%s'", number(box.width, 2, text));
	put_attribute(to, "height", box.height);
	end_shape(to, "rect", title);
}

void rn_svg_circle(FILE *to, const char *look, double x, double y, double radius,
		   const char *title)
{
	open_element(to, "circle", look);
	put_attribute(to, "cx", x);
	put_attribute(to, "cy", y);
	put_attribute(to, "r", radius);
	end_shape(to, "circle", title);
}

void rn_svg_points_begin(FILE *to, const char *element, const char *look)
{
	open_element(to, element, look);
	fputs(" points='", to);
}

void rn_svg_point(FILE *to, double x, double y)
{
	char across[NUMBER_MAX], down[NUMBER_MAX];

	fprintf(to, "%s,%s ", number(x, 1, across), number(y, 1, down));
}

void rn_svg_points_end(FILE *to)
{
	fputs("'/>\n", to);
}

void rn_svg_triangle(FILE *to, const char *look, const double corner[6],
		     const char *title)
{
	rn_svg_points_begin(to, "polygon", look);
	for (unsigned i = 0; i < 6; i += 2)
		rn_svg_point(to, corner[i], corner[i + 1]);
	fputc('\'', to);
	end_shape(to, "polygon", title);
}

static void begin_text(FILE *to, const char *look, double x, double y, const char *anchor)
{
	open_element(to, "text", look);
	put_attribute(to, "x", x);
	put_attribute(to, "y", y);
	if (anchor)
		fprintf(to, " text-anchor='%s'", anchor);
	fputc('>', to);
}

void rn_svg_text(FILE *to, const char *look, double x, double y, const char *anchor,
		 const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	begin_text(to, look, x, y, anchor);
	rn_html_text(to, text);
	fputs("</text>\n", to);
}

void rn_svg_text_with_title(FILE *to, const char *look, double x, double y,
			    const char *text, const char *title)
{
	begin_text(to, look, x, y, NULL);
	fputs("<title>", to);
	rn_html_text(to, title);
	fputs("</title>", to);
	rn_html_text(to, text);
	fputs("</text>\n", to);
}

void rn_svg_text_in_two(FILE *to, const char *look, double x, double y, const char *text,
			const char *second)
{
	begin_text(to, look, x, y, NULL);
	rn_html_text(to, text);
	fputs("<tspan class='n'> ", to);
	rn_html_text(to, second);
	fputs("</tspan></text>\n", to);
}
