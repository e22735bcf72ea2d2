/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* witness.c - prints a run with late writes (hunt.h): the late writes, the event that has
 * let each of them arrive, and the sanitizer's reports with rules and machine classes.
 */
#include "witness.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "timeline.h"
#include "tools/rocin/common/files.h"

enum {
	REPORT_MAX = 1 << 20, /* maximum size of the reports in bytes */
	SHOWN = 20,	      /* maximum number of late writes that are printed */
};

/* Searches @ended, the lines "ended NAME by EVENT" of the record, for the write @name (if
 * the write has several parts, for its last one). Returns EVENT, the event that has let
 * the write arrive, or NULL if there is no such line.
 */
static const char *event_of(const struct rn_hunt_set *ended, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = ended->count; i > 0; i--)
		if (!strncmp(ended->name[i - 1], name, len) &&
		    !strncmp(ended->name[i - 1] + len, " by ", 4))
			return ended->name[i - 1] + len + 4;
	return NULL;
}

static void read_ended(const struct rn_hunt *h, struct rn_hunt_set *ended)
{
	char path[PATH_MAX];

	/* If there is no record, @ended stays empty. */
	(void)rn_hunt_read(ended, rn_hunt_path(h, "record", path), "ended");
}

/* Returns the reports of the sanitizer, to be freed; NULL if there are none. */
static char *read_report(const struct rn_hunt *h)
{
	char path[PATH_MAX], *text = NULL;

	if (rn_file_read(rn_hunt_path(h, "log", path), REPORT_MAX, &text) > 0)
		return text;
	free(text);
	return NULL;
}

static void print_write(const struct rn_hunt_set *ended, const char *name)
{
	const char *event = event_of(ended, name);

	printf("  late        %s\n", name);
	printf("  arrives     %s%s\n", event ? "by " : "",
	       event ? event : "not before the program ends");
}

void rn_hunt_print(const struct rn_hunt *h, const struct rn_hunt_set *late,
		   const struct rn_hunt_end *end)
{
	struct rn_hunt_set ended = { 0 };
	char *report = read_report(h);

	read_ended(h, &ended);
	if (late->count == 0)
		printf("The program %s although no write is late (%u runs).\n", end->how,
		       h->runs);
	else
		printf("The program %s when %zu write%s late (%u run%s):\n\n", end->how,
		       late->count, late->count == 1 ? " is" : "s are", h->runs,
		       h->runs == 1 ? "" : "s");
	for (size_t i = 0; i < late->count && i < SHOWN; i++)
		print_write(&ended, late->name[i]);
	if (late->count > SHOWN)
		printf("  and %zu more\n", late->count - SHOWN);
	if (report && end->is_wrong)
		printf("\nThe sanitizer says of this run:\n\n%s", report);
	free(report);
	rn_hunt_clear(&ended);
}

void rn_hunt_print_nothing(const struct rn_hunt *h)
{
	char *report = read_report(h);

	printf("Nothing found: the program ends well under %u schedules.\n", h->runs);
	if (report)
		printf("\nBut the sanitizer says of it:\n\n%s", report);
	free(report);
}

/* Returns the rows of the timeline as a JSON array. */
static json_t *events_of(const struct rn_hunt *h, const struct rn_hunt_set *late)
{
	struct rn_hunt_timeline t;
	json_t *events = json_array();
	char path[PATH_MAX], agent[RN_HUNT_AGENT_MAX];

	rn_hunt_timeline_read(&t, rn_hunt_path(h, "record", path), late);
	for (size_t i = 0; i < t.count; i++) {
		const struct rn_hunt_row *row = &t.row[i];
		bool is_read = row->kind == RN_HUNT_READ;
		json_t *event;

		rn_hunt_row_agent(row, agent);
		event = json_pack("{s:s, s:s}", "event", rn_hunt_row_word(row->kind),
				  "agent", agent);
		if (row->write)
			json_object_set_new(event, "write", json_string(row->write));
		if (row->text && !is_read)
			json_object_set_new(event, row->write ? "by" : "what",
					    json_string(row->text));
		if (is_read)
			json_object_set_new(event, "early", json_boolean(row->is_early));
		json_array_append_new(events, event);
	}
	rn_hunt_timeline_clear(&t);
	return events;
}

int rn_hunt_draw(const struct rn_hunt *h, const struct rn_hunt_set *late,
		 const struct rn_hunt_end *end, const char *file)
{
	struct rn_hunt_timeline t;
	char path[PATH_MAX], title[256];
	int rc;

	snprintf(title, sizeof(title), "The program %s when %zu write%s late", end->how,
		 late->count, late->count == 1 ? " is" : "s are");
	rn_hunt_timeline_read(&t, rn_hunt_path(h, "record", path), late);
	rc = rn_hunt_picture(&t, file, title);
	rn_hunt_timeline_clear(&t);
	return rc;
}

void rn_hunt_print_json(const struct rn_hunt *h, const struct rn_hunt_set *late,
			const struct rn_hunt_end *end, const char *file)
{
	struct rn_hunt_set ended = { 0 };
	json_t *writes = json_array(), *all;
	char *report = read_report(h);

	read_ended(h, &ended);
	for (size_t i = 0; i < late->count; i++)
		json_array_append_new(writes, json_pack("{s:s, s:s?}", "write",
							late->name[i], "arrives_by",
							event_of(&ended, late->name[i])));
	all = json_pack("{s:b, s:I, s:s, s:o, s:o, s:s?, s:s?}", "wrong", end->is_wrong,
			"runs", (json_int_t)h->runs, "how", end->how, "late", writes,
			"events", events_of(h, late), "schedule", file, "report", report);
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	free(report);
	rn_hunt_clear(&ended);
}
