/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.c - collects the results of litmus tests: final states and verdicts. Reads and
 * writes the state file, which has results of earlier calls. Has the table of rules that
 * tests may name.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/hash.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"

static void *realloc_or_exit(void *old, size_t count, size_t size)
{
	void *new = realloc(old, count * size);

	if (!new) {
		rn_complain("out of memory");
		exit(RN_EXIT_FAILURE);
	}
	return new;
}

struct rn_report_state *rn_report_add_state(const struct rn_litmus_test *t,
					    struct rn_report_run *run,
					    const struct rn_litmus_outcome *outcome,
					    uint64_t seed)
{
	struct rn_report_state *state;

	for (size_t i = 0; i < run->state_count; i++) {
		state = &run->state[i];
		if (rn_litmus_same_outcome(t, &state->outcome, outcome)) {
			state->count++;
			return state;
		}
	}
	run->state =
		realloc_or_exit(run->state, run->state_count + 1, sizeof(run->state[0]));
	state = &run->state[run->state_count++];
	*state = (struct rn_report_state){
		.outcome = *outcome,
		.count = 1,
		.seed = seed,
	};
	return state;
}

void rn_report_set_steps(struct rn_report_state *state,
			 const struct rn_litmus_step *steps, size_t count)
{
	state->steps = realloc_or_exit(state->steps, count + 1, sizeof(steps[0]));
	memcpy(state->steps, steps, count * sizeof(steps[0]));
	state->step_count = count;
}

/* Returns true if the final state @s counts for verdict @v: the condition of the verdict
 * holds in it or, for a verdict `forall', does not hold in it.
 */
static bool is_about(const struct rn_litmus_verdict *v, const struct rn_report_state *s)
{
	return rn_litmus_holds(v, &s->outcome) != (v->expect == RN_LITMUS_ALWAYS);
}

static enum rn_report_status status_of(const struct rn_report_run *run,
				       const struct rn_report_verdict *v)
{
	bool is_explored = run->runs == 0, is_seen = v->state != SIZE_MAX;

	if (v->verdict->expect == RN_LITMUS_ALLOWED) {
		if (is_seen)
			return RN_REPORT_OK;
		if (!is_explored)
			return RN_REPORT_UNSEEN;
		return run->complete ? RN_REPORT_UNREACHABLE : RN_REPORT_CUT;
	}
	if (is_seen)
		return RN_REPORT_FORBIDDEN_SEEN;
	return is_explored && !run->complete ? RN_REPORT_CUT : RN_REPORT_OK;
}

void rn_report_judge(struct rn_report_run *run, const char *why)
{
	if (why)
		snprintf(run->why, sizeof(run->why), "%s", why);
	for (size_t i = 0; i < run->verdict_count; i++) {
		struct rn_report_verdict *v = &run->verdict[i];

		v->seen = 0;
		v->state = SIZE_MAX;
		for (size_t k = run->state_count; k-- > 0;) {
			if (!is_about(v->verdict, &run->state[k]))
				continue;
			v->seen += run->state[k].count;
			v->state = k;
		}
		v->status = why ? RN_REPORT_SKIPPED : status_of(run, v);
	}
}

const char *rn_report_status_name(enum rn_report_status status)
{
	static const char *const names[RN_REPORT_STATUS_COUNT] = {
		[RN_REPORT_OK] = "ok",
		[RN_REPORT_FORBIDDEN_SEEN] = "FORBIDDEN",
		[RN_REPORT_UNREACHABLE] = "UNREACHABLE",
		[RN_REPORT_UNSEEN] = "not seen",
		[RN_REPORT_CUT] = "cut",
		[RN_REPORT_SKIPPED] = "skipped",
	};

	assert((unsigned)status < RN_REPORT_STATUS_COUNT);
	return names[status];
}

bool rn_report_is_failure(enum rn_report_status status)
{
	return status == RN_REPORT_FORBIDDEN_SEEN || status == RN_REPORT_UNREACHABLE;
}

/* -------------------------------------------------------------------- the state file */
struct record {
	uint64_t digest;
	uint64_t runs;
	/* The final states that the state file has for the test: @count lines, from index
	 * @first of rn_litmus_memory.line on.
	 */
	size_t first, count;
};

struct rn_litmus_memory {
	FILE *file; /* the state file, opened for appending */
	struct record *record;
	size_t records;
	char **line;
	size_t lines;
};

static void *grow_records(void *array, size_t count, size_t size)
{
	/* The array has room for a number of elements that is a power of two. When it is
	 * full, its size is doubled.
	 */
	if ((count & (count - 1)) != 0)
		return array;
	return realloc(array, (count ? 2 * count : 1) * size);
}

static int add_record(struct rn_litmus_memory *m, uint64_t digest, uint64_t runs)
{
	struct record *at = grow_records(m->record, m->records, sizeof(*at));

	if (!at)
		return -ENOMEM;
	m->record = at;
	m->record[m->records++] =
		(struct record){ .digest = digest, .runs = runs, .first = m->lines };
	return 0;
}

static int add_line(struct rn_litmus_memory *m, const char *text)
{
	char **at = grow_records(m->line, m->lines, sizeof(*at));

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

/* Reads a line of the state file. Skips a line whose format is wrong: the results in it
 * are lost, so some runs are repeated.
 */
static int read_line(void *memory, char *line, unsigned number)
{
	struct rn_litmus_memory *m = memory;
	uint64_t digest, runs;

	(void)number;
	if (sscanf(line, "run %" SCNx64 " %" SCNu64, &digest, &runs) == 2)
		return add_record(m, digest, runs);
	if (!strncmp(line, "state ", 6) && m->records > 0)
		return add_line(m, line + 6);
	return 0;
}

struct rn_litmus_memory *rn_litmus_memory_open(const char *path)
{
	struct rn_litmus_memory *m = calloc(1, sizeof(*m));
	int rc = m ? rn_file_lines(path, read_line, m) : -ENOMEM;

	/* Other errors are ignored: the file need not exist. */
	if (rc != -ENOMEM) {
		m->file = fopen(path, "ae");
		if (m->file)
			return m;
		rc = -errno;
	}
	rn_litmus_memory_close(m);
	errno = -rc;
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

static uint64_t mix_text(uint64_t digest, const char *text)
{
	return rn_hash_bytes(digest, text, strlen(text) + 1);
}

uint64_t rn_litmus_digest(const struct rn_litmus_options *o,
			  const struct rn_litmus_test *t, const struct rn_report_run *run)
{
	uint64_t d = rn_hash_bytes(RN_HASH_BEGIN, &o->seed, sizeof(o->seed));

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

/* Adds a final state to @run, from a line of the state file: "COUNT SEED ABSENT
 * VALUE...".
 */
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

/* ---------------------------------------------------- the rules that tests may name */
/* The rules of memory ordering that tests may name; each has a remedy. */

static const struct rn_litmus_rule rules[] = {
	{ "P1", "a write without RO does not overtake writes on its route (PCIe A2a)",
	  "keep relaxed ordering off flags; put flag and data behind one route" },
	{ "P2", "a read pushes the writes before it on its route (PCIe B2a)",
	  "read back from the target, through the NIC and the route that wrote" },
	{ "P3", "an AtomicOp pushes like a read unless it carries RO (PCIe C2a, C2b)",
	  "register the flag of an atomic without relaxed ordering" },
	{ "P4", "a completion pushes writes that travel the same way (PCIe D2a)",
	  "let the reader's answer come on the route of the data, or flush" },
	{ "P5", "reads overtake reads, and their answers each other (PCIe B3, D5a)",
	  "await the first READ before posting the second, or set a fence" },
	{ "P6", "different routes have no order",
	  "read back through the route of the data, or complete on that route" },
	{ "P7", "what becomes visible at once is a granule, not a message",
	  "await a completion instead of looking at bytes" },
	{ "V1", "data is there only once a completing event has been seen",
	  "poll the completion before touching the buffer" },
	{ "V2", "a source buffer belongs to the NIC until the completion is polled",
	  "poll the completion before reusing the buffer, or send inline" },
	{ "V3", "inline data is copied while posting", "nothing: the buffer is free" },
	{ "V4", "completions of one send queue come in posting order, of others in any",
	  "poll each queue for its own completions" },
	{ "V5", "operations of one QP keep the order that the IBTA table marks '#'",
	  "post both to one QP" },
	{ "V6", "after a READ or atomic the table keeps order only with a fence",
	  "set IBV_SEND_FENCE on the later work request, or await the first" },
	{ "V7", "a fence waits for all READs and atomics before it",
	  "set IBV_SEND_FENCE; it is no barrier for WRITEs to other memory" },
	{ "V8", "inside one message the bytes are placed in any order",
	  "never poll the last byte: use a SEND, an immediate or a second WRITE" },
	{ "V9", "an atomic of the NIC is atomic only among atomics of that NIC",
	  "let everybody use atomics of one NIC, or look for pci_atomic_caps" },
	{ "V10", "a polled WRITE need not be visible at the target yet",
	  "follow it with a READ of the same QP, FLUSH, or a message to the reader" },
	{ "V11", "different QPs have no order",
	  "use one QP, or await the first before posting to the other" },
	{ "V12", "relaxed ordering gives up the order of writes",
	  "register the flag without IBV_ACCESS_RELAXED_ORDERING" },
	{ "V13", "FLUSH answers when earlier data is visible; ATOMIC WRITE waits for it",
	  "post FLUSH, then the flag as ATOMIC WRITE" },
	{ "V14", "a UC completion says only that the message has left",
	  "let the receiver answer, or use RC" },
	{ "GV1", "what has reached a GPU's BAR is not yet visible to a running kernel",
	  "flush: READ through a loopback QP, the driver's flush, or a new launch" },
	{ "GV2", "a read through the BAR makes what is inside the GPU visible",
	  "READ one byte of the buffer through a loopback QP of the same NIC" },
	{ "N1", "a NIC fetches a WQE at any time after its doorbell has arrived",
	  "poll the completion before writing into the slot again" },
	{ "N2", "a NIC reads the SGE list and the payload after the WQE that names them",
	  "poll the completion before changing what a WQE names" },
	{ "N3", "a BlueFlame doorbell carries the WQE, so no WQE is fetched",
	  "nothing: the slot is free; what an address in the WQE names is not" },
	{ "N4", "a verbs call copies the SGE list and inline data into the WQE",
	  "nothing: list and inline data are free when the call returns" },
	{ "N5",
	  "a NIC reads a receive WQE some time after the doorbell of its queue, and in "
	  "the "
	  "order of the doorbells",
	  "poll the completion before changing a receive WQE" },
	{ "N6",
	  "a SEND or immediate takes the next receive of its queue and waits for it, and "
	  "all "
	  "behind it waits too",
	  "post receives before the other end sends" },
	{ "T1", "a CPU's store may wait while its later loads run",
	  "put a full fence between store and load" },
	{ "T2", "a post is behind the CPU's earlier stores", "nothing: it is ordered" },
	{ "T3",
	  "stores to different places may leave the CPU in any order (cpu=pso), and "
	  "BlueFlame's always may",
	  "put a store fence between the store and the doorbell" },
};

const struct rn_litmus_rule *rn_litmus_find_rule(const char *name, size_t len)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(rules); i++)
		if (strlen(rules[i].name) == len && !memcmp(rules[i].name, name, len))
			return &rules[i];
	return NULL;
}
