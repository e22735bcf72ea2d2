/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page.c - draws the packet formats of formats.h as an SVG picture, alone or in an HTML
 * page.
 */
#include <string.h>

#include "formats.h"
#include "tools/rocin/common/html.h"

enum {
	BYTE = 11,  /* width of a byte in pixels */
	LEFT = 130, /* width of the column with the names of the formats */
	ROW = 92,   /* distance of two formats, from top to top */
	BAR = 38,   /* height of the boxes of headers */
	TOP = 58,   /* y coordinate of the first format, below the legend */
	NAME = 4,   /* minimum width of a header in bytes, for its name */
	/* width in bytes of the box of a header with any length, such as the payload */
	ANY = 14,
	MARGIN = 12, /* margin at the bottom and on the right */
};

/* Style sheets of the picture: in a page, where it has the colours of the page, and in a
 * file of its own.
 */
static const char page_style[] =
	"svg .covered{fill:var(--band);stroke:var(--data)}"
	"svg .free{fill:none;stroke:var(--dim)}"
	"svg .ones{fill:none;stroke:var(--data);stroke-dasharray:3 3}"
	"svg .maybe{stroke-dasharray:8 3}"
	"svg .masked{fill:var(--bar-hit);opacity:.75}svg .small{font-size:10px}\n";
static const char file_style[] =
	"text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1c2024}"
	".covered{fill:#e3ebf8;stroke:#1d5fbf}.free{fill:none;stroke:#5b6470}"
	".ones{fill:none;stroke:#1d5fbf;stroke-dasharray:3 3}"
	".maybe{stroke-dasharray:8 3}.masked{fill:#d98a3d;opacity:.75}"
	".head{font-weight:600}.dim{fill:#5b6470}.small{font-size:10px}\n";

static unsigned width_of(const struct rn_format_header *h)
{
	const unsigned bytes = h->bytes ? h->bytes : ANY;

	return (bytes < NAME ? NAME : bytes) * BYTE;
}

/* Returns the width of all headers before the BTH, including the optional ones. */
static unsigned width_before(const struct rn_format *f)
{
	unsigned width = 0;

	for (const struct rn_format_header *h = f->header; strcmp(h->name, "BTH") != 0;
	     h++)
		width += width_of(h);
	return width;
}

static unsigned widest(void)
{
	unsigned most = 0;

	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++)
		if (width_before(&rn_formats[i]) > most)
			most = width_before(&rn_formats[i]);
	return most;
}

static const char *look_of(const struct rn_format_header *h)
{
	if (h->is_only_ones)
		return "class='ones'";
	if (h->is_optional)
		return "class='covered maybe'";
	return h->is_covered ? "class='covered'" : "class='free'";
}

/* Draws a header, and in it the fields that the ICRC covers as if their bits were 1. */
static void draw_header(FILE *to, const struct rn_format_header *h, double x, double y)
{
	char cover[RN_FORMAT_COVER_MAX], title[RN_FORMAT_COVER_MAX + 160];
	const double width = width_of(h);

	rn_format_cover(h, cover);
	(void)snprintf(title, sizeof(title), "%s%s%s; ICRC: %s", h->name,
		       h->remark ? ": " : "", h->remark ? h->remark : "", cover);
	rn_svg_rect(to, look_of(h), (struct rn_svg_box){ x, y, width, BAR }, title);
	for (unsigned i = 0; i < RN_FORMAT_MASKS_MAX && h->mask[i].width; i++)
		rn_svg_rect(to, "class='masked'",
			    (struct rn_svg_box){ x + h->mask[i].bit * BYTE / 8.0, y,
						 h->mask[i].width * BYTE / 8.0, BAR },
			    h->mask[i].name);
	rn_svg_text(to, "", x + width / 2, y + 16, "middle", "%s", h->name);
	if (h->bytes)
		rn_svg_text(to, "class='dim small'", x + width / 2, y + 30, "middle",
			    "%u", h->bytes);
	if (h->remark && width >= (double)strlen(h->remark) * 6)
		rn_svg_text(to, "class='dim small'", x + width / 2, y + BAR + 13,
			    "middle", "%s", h->remark);
}

static void draw_format(FILE *to, const struct rn_format *f, double y)
{
	double x = LEFT + widest() - width_before(f);

	rn_svg_text(to, "class='head'", 0, y + 16, NULL, "%s", f->name);
	rn_svg_text(to, "class='dim small'", 0, y + 31, NULL, "%u bytes before",
		    rn_format_before_bth(f));
	for (const struct rn_format_header *h = f->header; h->name; h++) {
		draw_header(to, h, x, y);
		x += width_of(h);
	}
}

static void draw_legend(FILE *to)
{
	static const struct {
		const char *look, *says;
	} row[] = {
		{ "class='covered'", "covered by the ICRC" },
		{ "class='masked'", "taken for ones: may change on the way" },
		{ "class='ones'", "ones that are not sent" },
		{ "class='covered maybe'", "not in every packet" },
		{ "class='free'", "not covered" },
	};
	double x = 0;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(row); i++) {
		rn_svg_rect(to, row[i].look, (struct rn_svg_box){ x, 8, 22, 14 }, NULL);
		rn_svg_text(to, "", x + 28, 20, NULL, "%s", row[i].says);
		x += 28 + (double)strlen(row[i].says) * 7.4 + 22;
	}
	rn_svg_text(
		to, "class='dim small'", 0, 42, NULL,
		"Widths are bytes; the BTHs stand below each other, and from there on "
		"all formats are the same.");
}

static void draw(FILE *to, bool is_file)
{
	const struct rn_svg_picture p = {
		.width = LEFT + widest() + (12 + ANY + 4 + 4) * BYTE + MARGIN,
		.height = TOP + RN_FORMAT_COUNT * ROW,
		.title = "The headers of InfiniBand, RoCE v1 and RoCE v2 side by side, "
			 "and "
			 "what of them the ICRC covers",
		.style = { is_file ? file_style : NULL },
	};

	rn_svg_begin(to, &p);
	if (is_file)
		rn_svg_background(to);
	draw_legend(to);
	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++)
		draw_format(to, &rn_formats[i], TOP + (double)i * ROW);
	rn_svg_end(to);
}

void rn_formats_picture(FILE *to)
{
	draw(to, true);
}

/* ---- HTML ---- */

static void write_cell(FILE *to, const char *element, const char *text)
{
	fprintf(to, "<%s>", element);
	rn_html_text(to, text);
	fprintf(to, "</%s>", element);
}

static void write_cover(FILE *to)
{
	fputs("<tr>", to);
	write_cell(to, "th", "ICRC covers");
	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++) {
		fputs("<td>", to);
		for (const struct rn_format_header *h = rn_formats[i].header; h->name;
		     h++) {
			char cover[RN_FORMAT_COVER_MAX];

			rn_format_cover(h, cover);
			if (!h->is_covered)
				continue;
			fputs("<b>", to);
			rn_html_text(to, h->name);
			fputs("</b>: ", to);
			rn_html_text(to, cover);
			fputs("<br/>", to);
		}
		fputs("</td>", to);
	}
	fputs("</tr>\n", to);
}

void rn_formats_page(FILE *to)
{
	const char *const styles[] = { page_style, NULL };

	rn_html_begin(to, "Four formats of one packet", styles);
	fputs("<p class='dim'>What stands before the BTH, and what of it the ICRC "
	      "covers. IBTA Vol 1, chapters 7 and 8, Annexes A16 and A17.</p>\n<div "
	      "class='scroll'>\n",
	      to);
	draw(to, false);
	fputs("</div>\n<h2>Side by side</h2>\n<div class='scroll'><table>\n<tr>", to);
	write_cell(to, "th", "");
	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++)
		write_cell(to, "th", rn_formats[i].name);
	fputs("</tr>\n", to);
	write_cover(to);
	for (unsigned i = 0; i < rn_format_row_count; i++) {
		fputs("<tr>", to);
		write_cell(to, "th", rn_format_rows[i].question);
		for (unsigned k = 0; k < RN_FORMAT_COUNT; k++)
			write_cell(to, "td", rn_format_rows[i].answer[k]);
		fputs("</tr>\n", to);
	}
	fputs("</table></div>\n<h2>What is easily taken for something else</h2>\n<ul>\n",
	      to);
	for (unsigned i = 0; rn_format_traps[i]; i++)
		write_cell(to, "li", rn_format_traps[i]);
	fputs("</ul>\n", to);
	rn_html_end(to);
}
