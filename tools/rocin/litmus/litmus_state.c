/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_state.c - see litmus_state.h */
#include "litmus_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_MAX_BYTES = 2048, /* RN_LITMUS_OBSERVED numbers of 20 digits, and some */
};

struct record {
	uint64_t digest;
	uint64_t runs;
	size_t first, count; /* lines with its states */
};

struct rn_litmus_memory {
	FILE *file; /* opened to append */
	struct record *record;
	size_t records;
	char **line;
	size_t lines;
};

static void *grow(void *array, size_t count, size_t size)
{
	/* A power of two: time to make it twice as large. */
	if ((count & (count - 1)) != 0)
		return array;
	return realloc(array, (count ? 2 * count : 1) * size);
}

static int add_record(struct rn_litmus_memory *m, uint64_t digest, uint64_t runs)
{
	struct record *at = grow(m->record, m->records, sizeof(*at));

	if (!at)
		return -ENOMEM;
	m->record = at;
	m->record[m->records++] =
		(struct record){ .digest = digest, .runs = runs, .first = m->lines };
	return 0;
}

static int add_line(struct rn_litmus_memory *m, const char *text)
{
	char **at = grow(m->line, m->lines, sizeof(*at));

	if (!at)
		return -ENOMEM;
	m->line = at;
	m->line[m->lines] = strdup(text);
	if (!m->line[m->lines])
		return -ENOMEM;
	m->lines++;
	m->record[m->records - 1].count++;
	return 0;
}

/* Lines that are not understood are left out: at worst, runs are made again. */
static int read_line(struct rn_litmus_memory *m, const char *line)
{
	uint64_t digest, runs;

	if (sscanf(line, "run %" SCNx64 " %" SCNu64, &digest, &runs) == 2)
		return add_record(m, digest, runs);
	if (!strncmp(line, "state ", 6) && m->records > 0)
		return add_line(m, line + 6);
	return 0;
}

static int read_file(struct rn_litmus_memory *m, FILE *file)
{
	char line[LINE_MAX_BYTES];
	int rc = 0;

	while (rc == 0 && fgets(line, sizeof(line), file))
		rc = read_line(m, line);
	return rc;
}

struct rn_litmus_memory *rn_litmus_memory_open(const char *path)
{
	struct rn_litmus_memory *m = calloc(1, sizeof(*m));
	FILE *file = m ? fopen(path, "re") : NULL;
	int rc = 0;

	if (file) {
		rc = read_file(m, file);
		fclose(file);
	}
	if (m && rc == 0)
		m->file = fopen(path, "ae");
	if (m && m->file)
		return m;
	rc = rc ? -rc : errno;
	rn_litmus_memory_close(m);
	errno = rc;
	return NULL;
}

void rn_litmus_memory_close(struct rn_litmus_memory *m)
{
	if (!m)
		return;
	if (m->file)
		fclose(m->file);
	for (size_t i = 0; i < m->lines; i++)
		free(m->line[i]);
	free(m->line);
	free(m->record);
	free(m);
}

/* FNV-1a */
static uint64_t mix(uint64_t digest, const void *data, size_t len)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < len; i++)
		digest = (digest ^ at[i]) * 0x100000001b3u;
	return digest;
}

static uint64_t mix_text(uint64_t digest, const char *text)
{
	return mix(digest, text, strlen(text) + 1);
}

uint64_t rn_litmus_digest(const struct rn_litmus_options *o,
			  const struct rn_litmus_test *t, const struct rn_report_run *run)
{
	uint64_t d = mix(0xcbf29ce484222325u, &o->seed, sizeof(o->seed));

	d = mix_text(d, o->backend);
	d = mix_text(d, o->processes ? "processes" : "threads");
	d = mix_text(d, run->knobs);
	d = mix_text(d, t->name);
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++)
			d = mix_text(d, t->thread[i].instr[j].text);
	for (unsigned i = 0; i < t->observeds; i++)
		d = mix_text(d, t->observed[i].name);
	return d;
}

/* "COUNT SEED ABSENT VALUE..." */
static void recall_state(const char *line, const struct rn_litmus_test *t,
			 struct rn_report_run *run)
{
	struct rn_litmus_outcome out;
	struct rn_report_state *state;
	uint64_t count, seed;
	char *at;

	memset(&out, 0, sizeof(out));
	count = strtoull(line, &at, 10);
	seed = strtoull(at, &at, 10);
	out.absent = (uint32_t)strtoul(at, &at, 10);
	for (unsigned i = 0; i < t->observeds; i++)
		out.value[i] = strtoll(at, &at, 10);
	if (count == 0)
		return;
	state = rn_report_add_state(t, run, &out, seed);
	state->count += count - 1;
}

uint64_t rn_litmus_recall(const struct rn_litmus_memory *m, uint64_t digest,
			  const struct rn_litmus_test *t, struct rn_report_run *run)
{
	for (size_t i = m->records; i-- > 0;) {
		const struct record *r = &m->record[i];

		if (r->digest != digest)
			continue;
		for (size_t j = 0; j < r->count; j++)
			recall_state(m->line[r->first + j], t, run);
		return r->runs;
	}
	return 0;
}

int rn_litmus_remember(struct rn_litmus_memory *m, uint64_t digest,
		       const struct rn_litmus_test *t, const struct rn_report_run *run)
{
	fprintf(m->file, "run %" PRIx64 " %" PRIu64 " %s %s\n", digest, run->runs,
		t->name, run->knobs);
	for (size_t i = 0; i < run->state_count; i++) {
		const struct rn_report_state *s = &run->state[i];

		fprintf(m->file, "state %" PRIu64 " %" PRIu64 " %" PRIu32, s->count,
			s->seed, s->outcome.absent);
		for (unsigned j = 0; j < t->observeds; j++)
			fprintf(m->file, " %" PRId64, s->outcome.value[j]);
		fputc('\n', m->file);
	}
	return fflush(m->file) ? -errno : 0;
}
