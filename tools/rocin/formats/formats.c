/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* formats.c - the tables of packet formats (formats.h), and their output as text. */
#include "formats.h"

#include <string.h>

/* clang-format off */
#define BTH \
	{ .name = "BTH", .bytes = 12, .is_covered = true, \
	  .remark = "opcode, queue pair, PSN", \
	  .mask = { { 32, 8, "FECN, BECN, reserved" } } }
#define REST \
	{ .name = "headers, payload", .is_covered = true, \
	  .remark = "as the opcode says, then 0 to 3 bytes of padding" }
#define ICRC { .name = "ICRC", .bytes = 4 }
#define ONES { .name = "8 x ff", .bytes = 8, .is_covered = true, .is_only_ones = true, \
	       .remark = "in the place of the LRH" }
#define ETHERNET(type) { .name = "Ethernet", .bytes = 14, .remark = "EtherType " type }
#define FCS { .name = "FCS", .bytes = 4 }
#define UDP { .name = "UDP", .bytes = 8, .is_covered = true, .remark = "to port 4791", \
	      .mask = { { 48, 16, "checksum" } } }
#define GRH_MASKS { { 4, 28, "traffic class, flow label" }, { 56, 8, "hop limit" } }

const struct rn_format rn_formats[RN_FORMAT_COUNT] = {
	{ "InfiniBand", {
		{ .name = "LRH", .bytes = 8, .is_covered = true,
		  .remark = "LIDs, lane, length", .mask = { { 0, 4, "virtual lane" } } },
		{ .name = "GRH", .bytes = 40, .is_covered = true, .is_optional = true,
		  .remark = "between subnets", .mask = GRH_MASKS },
		BTH, REST, ICRC,
		{ .name = "VCRC", .bytes = 2, .remark = "of each link" } } },
	{ "RoCE v1", {
		ETHERNET("8915"), ONES,
		{ .name = "GRH", .bytes = 40, .is_covered = true,
		  .remark = "next header 27", .mask = GRH_MASKS },
		BTH, REST, ICRC, FCS } },
	{ "RoCE v2, IPv4", {
		ETHERNET("0800"), ONES,
		{ .name = "IPv4", .bytes = 20, .is_covered = true,
		  .remark = "protocol 17, DF",
		  .mask = { { 8, 8, "type of service" }, { 64, 8, "TTL" },
			    { 80, 16, "checksum" } } },
		UDP, BTH, REST, ICRC, FCS } },
	{ "RoCE v2, IPv6", {
		ETHERNET("86dd"), ONES,
		{ .name = "IPv6", .bytes = 40, .is_covered = true,
		  .remark = "next header 17", .mask = GRH_MASKS },
		UDP, BTH, REST, ICRC, FCS } },
};

const struct rn_format_row rn_format_rows[] = {
	{ "addresses", {
		"LIDs, 16 bits, which a subnet manager gives; GIDs in a GRH",
		"MAC addresses; GIDs made of them or of IP addresses",
		"IPv4 addresses; the GID is ::ffff:a.b.c.d",
		"IPv6 addresses, which are the GIDs" } },
	{ "how far", {
		"a subnet by LIDs; further through routers by the GRH",
		"one Ethernet segment: no router knows EtherType 8915",
		"as IP: through any router",
		"as IP: through any router" } },
	{ "several ways", {
		"several LIDs of one port (LMC)",
		"none, but what switches make of MAC addresses",
		"the UDP source port, by which routers choose (ECMP)",
		"the UDP source port, and the flow label" } },
	{ "losses", {
		"none from full buffers: credits for each virtual lane",
		"switches have to pause (PFC), or it is slow",
		"pauses (PFC), congestion control, or both",
		"pauses (PFC), congestion control, or both" } },
	{ "congestion", {
		"FECN in the BTH, answered with BECN",
		"not marked",
		"ECN in the type of service, answered with a CNP",
		"ECN in the traffic class, answered with a CNP" } },
	{ "groups", {
		"a LID from 0xc000 on, and an MGID",
		"MAC addresses 33:33:..., and an MGID",
		"groups of IPv4, joined by IGMP",
		"groups of IPv6, joined by MLD" } },
	{ "UD receive", {
		"40 bytes before the data: the GRH, or nothing of use",
		"40 bytes before the data: the GRH",
		"40 bytes before the data: 20 unused, then the IPv4 header",
		"40 bytes before the data: the IPv6 header" } },
	{ "a capture", {
		"link type 247, or ERF (197) type 21: needs a tap or a card that sniffs",
		"link type Ethernet; a card bypasses the kernel's taps",
		"link type Ethernet; UDP port 4791 as a filter",
		"link type Ethernet; UDP port 4791 as a filter" } },
	{ "Rocin", {
		"reads it in captures (rocin dump)",
		"reads it in captures (rocin dump)",
		"sends and receives it",
		"sends and receives it" } },
};
const unsigned rn_format_row_count = RN_ARRAY_SIZE(rn_format_rows);

const char *const rn_format_traps[] = {
	"From the BTH on all four are the same; what differs is how a packet gets there, and so "
	"what may change on the way.",
	"A GRH looks like an IPv6 header and is one field away from it: next header 27 says that a BTH follows. "
	"In RoCE v1 it stands behind EtherType 8915, and no IPv6 router looks at it.",
	"The ICRC of RoCE v2 covers addresses and the UDP source port. So NAT, and whatever else rewrites "
	"them, makes every ICRC wrong; cards drop such packets without a word.",
	"The IPv4 identification is covered, too, and fragments cannot be: DF is set.",
	"A card with both versions has two GIDs of the same bytes in its table. Both ends must choose an index of "
	"the same version: with different ones each waits for packets that the other does not send.",
	"The ICRC is sent with its lowest byte first, as the FCS of Ethernet is; all other fields have their "
	"highest first.",
	"The path MTU counts payload. RoCE v2 over IPv6 has 62 bytes before the BTH with Ethernet, InfiniBand 8: "
	"so an Ethernet MTU of 1500 leaves room for a path MTU of 1024.",
	NULL,
};
/* clang-format on */

unsigned rn_format_before_bth(const struct rn_format *f)
{
	unsigned bytes = 0;

	for (const struct rn_format_header *h = f->header; strcmp(h->name, "BTH") != 0;
	     h++)
		if (!h->is_optional && !h->is_only_ones)
			bytes += h->bytes;
	return bytes;
}

void rn_format_cover(const struct rn_format_header *h, char text[RN_FORMAT_COVER_MAX])
{
	size_t at;

	if (!h->is_covered || h->is_only_ones || !h->mask[0].width) {
		(void)snprintf(text, RN_FORMAT_COVER_MAX, "%s",
			       h->is_only_ones ? "ones, which are not sent"
			       : h->is_covered ? "all"
					       : "-");
		return;
	}
	at = (size_t)snprintf(text, RN_FORMAT_COVER_MAX, "all but ");
	for (unsigned i = 0; i < RN_FORMAT_MASKS_MAX && h->mask[i].width; i++)
		at += (size_t)snprintf(text + at, RN_FORMAT_COVER_MAX - at, "%s%s",
				       i ? ", " : "", h->mask[i].name);
}

/* ---- Text ---- */

enum {
	LABEL = 13,
	COLUMN = 25,
	CELL_MAX = 256,
	AFTER = 4, /* number of headers from the BTH on, to the end of a packet */
	WIDTH = LABEL + RN_FORMAT_COUNT * COLUMN,
};

/* Takes as many words from the beginning of @text as fit into @room characters, but at
 * least one. Returns their length, and sets *@next to the text behind them.
 */
static int take_words(const char *text, size_t room, const char **next)
{
	size_t len = 0, end;

	do {
		end = len + (len ? 1 : 0);
		end += strcspn(text + end, " ");
		if (len && end > room)
			break;
		len = end;
	} while (text[len]);
	*next = text + len + (text[len] == ' ');
	return (int)len;
}

/* Prints a line without the blanks at its end. */
static void print_line(FILE *to, const char *line)
{
	size_t len = strlen(line);

	while (len && line[len - 1] == ' ')
		len--;
	fprintf(to, "%.*s\n", (int)len, line);
}

/* Prints cells of a table side by side, each in as many lines as it needs. */
static void print_cells(FILE *to, const char *label, const char *cell[RN_FORMAT_COUNT])
{
	char line[WIDTH + CELL_MAX];
	bool more;

	do {
		int at = snprintf(line, sizeof(line), "%-*s", LABEL, label);

		more = false;
		for (unsigned i = 0; i < RN_FORMAT_COUNT; i++) {
			const char *text = cell[i];
			int len = take_words(text, COLUMN - 2, &cell[i]);

			at += snprintf(line + at, sizeof(line) - (size_t)at, "%.*s%*s",
				       len, text, COLUMN - len, "");
			more |= cell[i][0] != '\0';
		}
		print_line(to, line);
		label = "";
	} while (more);
}

static void describe_header(const struct rn_format_header *h, char text[CELL_MAX])
{
	char bytes[24] = "";

	if (h->bytes)
		(void)snprintf(bytes, sizeof(bytes), " %u", h->bytes);
	(void)snprintf(text, CELL_MAX, "%s%s%s%s%s", h->is_optional ? "(" : "", h->name,
		       bytes, h->is_optional ? ")" : "", h->is_only_ones ? " *" : "");
}

static void describe_cover(const struct rn_format_header *h, char text[CELL_MAX])
{
	char cover[RN_FORMAT_COVER_MAX];

	text[0] = '\0';
	if (!h->is_covered)
		return;
	rn_format_cover(h, cover);
	(void)snprintf(text, CELL_MAX, "%s: %s", h->name, cover);
}

/* Prints a row for each header of a packet. The headers of the formats are aligned so
 * that all BTHs are in one row. @describe: writes the text of a cell; a row whose cells
 * are all empty is left out.
 */
static void print_places(FILE *to, const char *label,
			 void (*describe)(const struct rn_format_header *h, char *text))
{
	const struct rn_format_header *at[RN_FORMAT_COUNT];
	unsigned before[RN_FORMAT_COUNT], most = 0;

	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++) {
		at[i] = rn_formats[i].header;
		for (before[i] = 0; strcmp(at[i][before[i]].name, "BTH") != 0;)
			before[i]++;
		most = before[i] > most ? before[i] : most;
	}
	for (unsigned row = 0; row < most + AFTER; row++) {
		char text[RN_FORMAT_COUNT][CELL_MAX];
		const char *cell[RN_FORMAT_COUNT];
		bool any = false;

		for (unsigned i = 0; i < RN_FORMAT_COUNT; i++) {
			text[i][0] = '\0';
			cell[i] = text[i];
			if (row + before[i] >= most && at[i]->name)
				describe(at[i]++, text[i]);
			any |= text[i][0] != '\0';
		}
		if (!any)
			continue;
		print_cells(to, label, cell);
		label = "";
	}
}

static void print_trap(FILE *to, const char *text)
{
	const char *mark = "- ";

	while (*text) {
		const char *next;
		int len = take_words(text, WIDTH - 4, &next);

		fprintf(to, "%s%.*s\n", mark, len, text);
		mark = "  ";
		text = next;
	}
}

void rn_formats_print(FILE *to)
{
	const char *name[RN_FORMAT_COUNT];

	for (unsigned i = 0; i < RN_FORMAT_COUNT; i++)
		name[i] = rn_formats[i].name;
	print_cells(to, "", name);
	for (unsigned i = 0; i < WIDTH - 2; i++)
		fputc('-', to);
	fputc('\n', to);
	print_places(to, "headers", describe_header);
	fputs("\nNumbers are bytes; (in brackets): not in every packet; *: not on the "
	      "wire, "
	      "the ICRC covers ones there.\n\n",
	      to);
	print_places(to, "ICRC covers", describe_cover);
	for (unsigned i = 0; i < rn_format_row_count; i++) {
		const char *cell[RN_FORMAT_COUNT];

		memcpy(cell, rn_format_rows[i].answer, sizeof(cell));
		fputc('\n', to);
		print_cells(to, rn_format_rows[i].question, cell);
	}
	fputs("\nWhat is easily taken for something else\n", to);
	for (unsigned i = 0; rn_format_traps[i]; i++)
		print_trap(to, rn_format_traps[i]);
}
