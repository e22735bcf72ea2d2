/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* html.c - writes the head and the text of HTML pages, and the elements of SVG pictures.
 */
#include "html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
	":root{--bg:#fff;--fg:#1c2024;--dim:#5b6470;--line:#d5dae0;--band:#f4f6f8;"
	"--ok:#1a7f37;--bad:#b42318;--bad-bg:#fde8e6;--warn:#8a5a00;--data:#1d5fbf;"
	"--cqe:#1a7f37;--read:#9a4d00;--bar:#9db8dc;--bar-hit:#d98a3d}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14181d;--fg:#e6e9ec;--dim:#9aa4b0;"
	"--line:#39424d;--band:#1c2229;--ok:#5cc27a;--bad:#ff8a7d;--bad-bg:#4a1f1b;"
	"--warn:#e0b050;--data:#7db0ff;--cqe:#5cc27a;--read:#f0a860;--bar:#3f5f8a;"
	"--bar-hit:#a8662a}}\n"
	"body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;"
	"margin:0 auto;max-width:84rem;padding:1.5rem}\n"
	"h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.2rem;margin:2.5rem 0 .2rem;"
	"border-top:1px solid var(--line);padding-top:1.2rem}"
	"h3{font-size:1rem;margin:1.4rem 0 .4rem}\n"
	"p{margin:.4rem 0;max-width:60rem}.dim{color:var(--dim)}a{color:var(--data)}\n"
	"code,pre,td.code{font:.87em/1.45 ui-monospace,Menlo,Consolas,monospace}\n"
	"table{border-collapse:collapse;margin:.6rem 0}.scroll{overflow-x:auto}\n"
	"th,td{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;"
	"vertical-align:top}th{background:var(--band);font-weight:600}\n"
	"table.bars td,table.bars th{border:0;border-bottom:1px solid var(--line)}"
	"td.number{text-align:right;font-variant-numeric:tabular-nums}\n"
	"td.bar{width:14rem}td.bar div{height:.9rem;background:var(--bar)}"
	"td.bar div.hit{background:var(--bar-hit)}\n"
	".ok{color:var(--ok)}.bad{color:var(--bad);font-weight:700}.warn{color:"
	"var(--warn)}.box{background:var(--band);border-left:4px solid var(--data);"
	"padding:.5rem .9rem;margin:.7rem 0;max-width:60rem}"
	".box.alarm{background:var(--bad-bg);border-color:var(--bad)}\n"
	"details{margin:.4rem 0}summary{cursor:pointer}\n"
	".cards{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}.cards "
	"div{border:1px "
	"solid var(--line);border-radius:6px;padding:.5rem 1rem;min-width:7rem}"
	".cards b{display:block;font-size:1.4rem}\n"
	"svg{display:block;max-width:100%;height:auto;font:12px "
	"ui-monospace,Menlo,Consolas,monospace}"
	"svg "
	"text{fill:var(--fg);stroke:var(--band);stroke-width:3px;paint-order:stroke}svg "
	".dim{fill:var(--dim)}svg .head{font-weight:600}"
	"svg .band{fill:var(--band)}svg .lane{stroke:var(--line)}"
	"svg .row{stroke:var(--line);stroke-dasharray:1 5}"
	"svg .data{stroke:var(--data)}svg .cqe{stroke:var(--cqe)}"
	"svg .read{stroke:var(--read)}svg .wait{stroke-width:4;opacity:.55}"
	"svg polyline,svg line{fill:none}svg .answer{stroke-dasharray:5 3}"
	"svg .seen{stroke:var(--cqe);stroke-dasharray:2 3}"
	"svg circle.data{fill:var(--data)}svg circle.cqe{fill:var(--cqe)}"
	"svg circle.read{fill:var(--read)}svg "
	"text.data{fill:var(--data);stroke:var(--band)}"
	"svg text.cqe{fill:var(--cqe);stroke:var(--band)}"
	"svg text.read{fill:var(--read);stroke:var(--band)}"
	"svg .rule{fill:var(--warn)}svg .stale{fill:var(--bad);font-weight:700}"
	"svg .mark{fill:var(--bad-bg);stroke:var(--bad)}\n"
	"@media print{body{max-width:none;padding:0;font-size:11px}.scroll{overflow:"
	"visible}svg,table.bars,.box{break-inside:avoid}h2,h3{break-after:avoid}"
	"svg{min-width:0 !important;max-width:100%;height:auto}a{color:inherit}}\n";

/* Writes the entity for @c. Returns false if @c needs none. */
static bool put_entity(FILE *to, char c)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = { { '&', "&amp;" },
			 { '<', "&lt;" },
			 { '>', "&gt;" },
			 { '"', "&quot;" },
			 { '\'', "&#39;" } };

	for (size_t i = 0; i < RN_ARRAY_SIZE(entities); i++)
		if (c == entities[i].c)
			return fputs(entities[i].entity, to) != EOF;
	return false;
}

void rn_html_text(FILE *to, const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			fputc('?', to);
		else if (!put_entity(to, *text))
			fputc(*text, to);
}

void rn_xml_text(FILE *to, const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text >= ' ' &&
		    (*text == '\'' || !put_entity(to, *text)))
			fputc(*text, to);
}

void rn_html_begin(FILE *to, const char *title, const char *const *styles)
{
	fputs("<!DOCTYPE html>\n<html lang='en' xmlns='http://www.w3.org/1999/xhtml'>"
	      "<head><meta charset='utf-8'/><meta name='viewport' "
	      "content='width=device-width'/><title>",
	      to);
	rn_html_text(to, title);
	fputs("</title>\n<style>", to);
	fputs(style, to);
	for (; styles && *styles; styles++)
		fputs(*styles, to);
	fputs("</style></head>\n<body><h1>", to);
	rn_html_text(to, title);
	fputs("</h1>", to);
}

void rn_html_end(FILE *to)
{
	fputs("</body></html>\n", to);
}

/* ---- Elements of SVG pictures ---- */

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
