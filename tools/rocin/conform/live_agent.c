/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_agent.c - asks the agent of a live target, and writes the trace of a scenario. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "conform.h"

rn_ns rn_conform_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (rn_ns)t.tv_sec * 1000000000 + (rn_ns)t.tv_nsec;
}

/* ------------------------------------------------------------ requests to the agent */
/* Notes that the agent was lost: it has sent no answer to the request @word, or an
 * invalid one.
 */
static void lose_agent(struct rn_live_target *t, const char *word, int rc)
{
	/* what the agent was doing, which the word of the request tells (except for
	 * "begin")
	 */
	const char *doing = strcmp(word, "begin") == 0 ? "destroying the objects" : word;

	t->is_lost = true;
	if (rc == -ETIMEDOUT)
		snprintf(t->lost, sizeof(t->lost), "a call did not return: %s", doing);
	else if (rc == -EPROTO)
		snprintf(t->lost, sizeof(t->lost), "the agent answered nonsense: %s",
			 doing);
	else
		snprintf(t->lost, sizeof(t->lost), "the agent died: %s", doing);
}

int rn_live_ask(struct rn_live_target *t, struct rn_conform_line *l)
{
	char word[sizeof(l->word)];
	int rc;

	memcpy(word, l->word, sizeof(word));
	if (t->is_lost)
		return -EPIPE;
	rc = rn_conform_send(&t->wire, l);
	if (!rc)
		rc = rn_conform_receive(&t->wire, l, (int)t->options.call_ms);
	if (!rc && !strcmp(l->word, "no") && l->count == 1 && l->n[0] & 0xfff)
		return -(int)(l->n[0] & 0xfff);
	if (!rc && strcmp(l->word, "ok") != 0)
		rc = -EPROTO;
	if (rc)
		lose_agent(t, word, rc);
	return rc;
}

/* -------------------------------------------------------------- trace of a scenario */
void rn_live_trace_add(struct rn_live_target *t, const char *arrow, const char *what)
{
	struct rn_live_trace *trace = &t->trace;
	size_t left = sizeof(trace->text) - trace->used;
	int n = snprintf(trace->text + trace->used, left, "%8.3f ms  %s %s\n",
			 (double)(rn_conform_now() - trace->began) / 1e6, arrow, what);

	if (n > 0 && (size_t)n < left)
		trace->used += (size_t)n;
	trace->text[trace->used] = '\0';
}

const char *rn_live_target_trace(const struct rn_live_target *t)
{
	return t->trace.text;
}
