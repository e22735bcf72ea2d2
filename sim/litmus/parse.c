/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse.c - a litmus file, test by test: header, setup, program, verdicts. */
#include <errno.h>
#include <string.h>

#include "parse_internal.h"

void rn_litmus_parser_init(struct rn_litmus_parser *p, const char *text, size_t len)
{
	*p = (struct rn_litmus_parser){
		.text = text,
		.at = text,
		.word = text,
		.word_line = 1,
		.end = text + len,
		.line = 1,
	};
}

/* RDMA NAME, to the end of the line; "one sentence" */
static bool parse_header(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	static const struct rn_lex_text name = { "the name of this test", "\n" };
	static const struct rn_lex_text about = { "the sentence about this test", "\"" };

	if (!rn_lex_try_word(p, "RDMA"))
		return rn_lex_fail(p, "RDMA and the name of a test");
	t->line = p->line;
	if (!rn_lex_raw(p, &name, t->name, sizeof(t->name)))
		return false;
	if (!t->name[0])
		return rn_lex_fail(p, "the name of the test");
	if (!rn_lex_try_char(p, '"'))
		return true;
	return rn_lex_raw(p, &about, t->about, sizeof(t->about)) && rn_lex_char(p, '"');
}

static bool add_thread(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	struct rn_litmus_thread *th = &t->thread[t->threads];
	struct rn_litmus_parser before;
	char agent[RN_LITMUS_NAME];

	if (t->threads == RN_LITMUS_THREADS)
		return rn_lex_fail(p, "at most 8 threads");
	rn_lex_blank(p);
	before = *p;
	if (!rn_lex_thread_name(p, th->name, sizeof(th->name)))
		return false;
	if (rn_litmus_find_thread(t, th->name) != RN_LITMUS_NONE)
		return rn_lex_fail_name(p, th->name, "the name is taken");
	*p = before;
	if (!rn_lex_place(p, t, &th->node, agent, sizeof(agent)))
		return false;
	th->agent = rn_litmus_find_agent(agent);
	if (th->agent == RN_LITMUS_NONE || rn_agent_is_nic(th->agent))
		return rn_lex_refuse(p, "a thread: A.cpu, A.gpu0, A.nvme0");
	*p = before;
	t->threads++;
	return rn_lex_thread_name(p, th->name, sizeof(th->name));
}

static bool parse_threads(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	do {
		if (!add_thread(p, t))
			return false;
	} while (rn_lex_try_char(p, '|'));
	return rn_lex_char(p, ';');
}

/* One row: a cell per thread, each with an instruction or nothing. Cells that are empty
 * at the end of the row may be left out.
 */
static bool parse_row(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	for (unsigned i = 0; i < t->threads; i++) {
		char c = rn_lex_peek(p);

		if (c != '|' && c != ';' && !rn_litmus_parse_instr(p, t, i))
			return false;
		if (rn_lex_try_char(p, ';'))
			return true;
		if (i + 1 < t->threads && !rn_lex_char(p, '|'))
			return false;
	}
	return rn_lex_char(p, ';');
}

static bool parse_test(struct rn_litmus_parser *p, struct rn_litmus_test *t)
{
	if (!parse_header(p, t) || !rn_litmus_parse_setup(p, t) || !parse_threads(p, t))
		return false;
	while (!rn_litmus_at_verdict(p))
		if (!parse_row(p, t))
			return false;
	return rn_litmus_parse_verdicts(p, t);
}

int rn_litmus_parse(struct rn_litmus_parser *p, struct rn_litmus_test *test)
{
	memset(test, 0, sizeof(*test));
	if (rn_lex_peek(p) == '\0' && p->at == p->end)
		return 0;
	return parse_test(p, test) ? 1 : -EINVAL;
}
