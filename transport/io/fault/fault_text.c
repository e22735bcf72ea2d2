/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_text.c - reads rules: an action, then conditions, each a word or NAME=VALUE. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fault_grammar.h"
#include "fault_words.h"
#include "rocin/opcode.h"
#include "transport/io/host/sentence.h"

enum {
	WORD_SHOWN = 60, /* bytes of a wrong word in an error */
};

/* Where the reader is. */
struct cursor {
	const char *name; /* of the text */
	unsigned line;
	const char *at, *end; /* of the rule */
	char *err;
	size_t err_len;
	uint64_t seen; /* words of the rule, by their place in rn_fault_words */
	bool has_icrc;
};

static int wrong(const struct cursor *c, const struct rn_fault_piece *p,
		 const char *expected)
{
	size_t len = p->name_len + (p->value ? p->value_len + 1 : 0);

	return rn_fail(c->err, c->err_len, -EINVAL, "%s:%u: \"%.*s\": expected %s",
		       c->name, c->line, (int)(len > WORD_SHOWN ? WORD_SHOWN : len),
		       p->name, expected);
}

static int wrong_rule(const struct cursor *c, const char *sentence)
{
	return rn_fail(c->err, c->err_len, -EINVAL, "%s:%u: %s", c->name, c->line,
		       sentence);
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\r';
}

static bool next_piece(struct cursor *c, struct rn_fault_piece *p)
{
	const char *s, *eq;

	while (c->at < c->end && is_blank(*c->at))
		c->at++;
	if (c->at == c->end)
		return false;
	for (s = c->at; c->at < c->end && !is_blank(*c->at);)
		c->at++;
	eq = memchr(s, '=', (size_t)(c->at - s));
	*p = (struct rn_fault_piece){ .name = s,
				      .name_len = (size_t)((eq ? eq : c->at) - s) };
	if (eq) {
		p->value = eq + 1;
		p->value_len = (size_t)(c->at - eq - 1);
	}
	return true;
}

static bool is_named(const struct rn_fault_piece *p, const char *name)
{
	return strlen(name) == p->name_len && memcmp(p->name, name, p->name_len) == 0;
}

#define ACTIONS                                                                    \
	"drop, duplicate, delay, reorder, corrupt, mark, set, nak, norecv, kill, " \
	"overrun, cut, fail or seed"

/* ----------------------------------------------------------------------- one rule */
static void keep_ops(struct rn_fault_rule *r, uint32_t flags, bool connected)
{
	for (unsigned i = 0; i < RN_FAULT_OPS; i++) {
		enum rn_opcode_class class = rn_opcode_class((uint8_t)i);

		if ((rn_opcode_info[i].flags & flags) != flags ||
		    (connected && class != RN_CLASS_RC && class != RN_CLASS_XRC))
			r->ops[i / 64] &= ~(1ull << i % 64);
	}
}

static bool is_any_op_left(const struct rn_fault_rule *r)
{
	return (r->ops[0] | r->ops[1] | r->ops[2] | r->ops[3]) != 0;
}

/* "bth.psn=7" */
static int read_change(const struct cursor *c, struct rn_fault_rule *r,
		       const struct rn_fault_piece *p)
{
	struct rn_fault_change *change = &r->change[r->changes];
	const struct rn_fault_field *f = rn_fault_fields;

	while (f->name && !is_named(p, f->name))
		f++;
	if (!f->name)
		return wrong(c, p,
			     "a header field, such as bth.psn; rocin-fault(5) lists "
			     "them");
	if (r->act != RN_FAULT_SET || r->changes == RN_FAULT_SETS_MAX)
		return wrong(c, p, "fields after set only, and at most four");
	if (!p->value || !rn_fault_number(p->value, p->value_len, &change->value) ||
	    (f->bits < 64 && change->value >> f->bits))
		return wrong(c, p, "a number that the field can hold");
	change->field = f;
	r->changes++;
	keep_ops(r, f->header, false);
	return 0;
}

static int read_word(struct cursor *c, struct rn_fault_rule *r,
		     const struct rn_fault_piece *p)
{
	unsigned i = 0;

	if (memchr(p->name, '.', p->name_len))
		return read_change(c, r, p);
	while (i < rn_fault_word_count && !is_named(p, rn_fault_words[i].name))
		i++;
	if (i == rn_fault_word_count)
		return wrong(c, p,
			     "tx, rx, dev=, program=, pid=, qpn=, qp=, op=, mad=, psn=, "
			     "nth=, every=, chance= or count=");
	if (!(rn_fault_words[i].acts >> r->act & 1))
		return wrong(c, p, "a word that goes with the action");
	if (c->seen >> i & 1)
		return wrong(c, p, "each word once");
	c->seen |= 1ull << i;
	if (!rn_fault_words[i].expected == !!p->value)
		return wrong(c, p,
			     rn_fault_words[i].expected ? rn_fault_words[i].expected
							: "no value");
	return rn_fault_words[i].read(r, p) ? 0 : wrong(c, p, rn_fault_words[i].expected);
}

/* What the rule as a whole must be. */
static int finish(const struct cursor *c, struct rn_fault_rule *r, bool is_norecv)
{
	bool bare = true;

	for (unsigned i = 0; i < rn_fault_word_count; i++)
		if (rn_fault_words[i].of_packet && c->seen >> i & 1)
			bare = false;
	r->is_bare = bare;
	if (r->every > 1 && r->nth == r->nth_last)
		r->nth_last = 0; /* the nth, and each every-th after it */
	if (r->act == RN_FAULT_SET && r->changes == 0)
		return wrong_rule(c, "set without a field, such as bth.psn=7");
	if (r->act == RN_FAULT_FAIL && r->call == UINT32_MAX)
		return wrong_rule(c, "fail without a call, such as call=create_qp");
	if (is_norecv) {
		if (r->in_dir[RN_FAULT_TX])
			return wrong_rule(c, "norecv is about packets received: rx");
		keep_ops(r, RN_OP_RECV_WQE_TAKEN, false);
		r->in_dir[RN_FAULT_RX] = true;
		r->syndrome = 0x21; /* RNR NAK, 10 us */
	} else if (r->act == RN_FAULT_NAK) {
		keep_ops(r, RN_OP_REQUEST, true);
	}
	if (!is_any_op_left(r))
		return wrong_rule(c, "no packet can be meant by this rule");
	if (!r->in_dir[RN_FAULT_TX] && !r->in_dir[RN_FAULT_RX])
		r->in_dir[RN_FAULT_TX] = true;
	return 0;
}

/* Words apart by one blank: how they are written does not matter. FNV-1a. */
static uint64_t identify(const char *s, const char *end)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	bool gap = false;

	for (; s < end; s++) {
		if (is_blank(*s)) {
			gap = true;
			continue;
		}
		if (gap)
			hash = (hash ^ ' ') * 0x100000001b3ull;
		gap = false;
		hash = (hash ^ (uint8_t)*s) * 0x100000001b3ull;
	}
	return hash;
}

static int read_rule(struct cursor *c, struct rn_fault_rule *r,
		     const struct rn_fault_piece *first)
{
	struct rn_fault_piece p;
	unsigned i = 0;
	int rc = 0;

	while (i < rn_fault_action_count && !is_named(first, rn_fault_actions[i].name))
		i++;
	if (i == rn_fault_action_count)
		return wrong(c, first, ACTIONS);
	*r = (struct rn_fault_rule){ .act = rn_fault_actions[i].act,
				     .ops = { ~0ull, ~0ull, ~0ull, ~0ull },
				     .call = UINT32_MAX,
				     .nth = 1,
				     .every = 1,
				     .chance = 1000000,
				     .good_icrc = rn_fault_actions[i].act == RN_FAULT_SET,
				     .id = identify(first->name, c->end) };
	if (!rn_fault_actions[i].read(r, first))
		return wrong(c, first, rn_fault_actions[i].expected);
	c->seen = 0;
	while (!rc && next_piece(c, &p))
		rc = read_word(c, r, &p);
	return rc ? rc : finish(c, r, is_named(first, "norecv"));
}

/* "seed=7" */
static int read_seed(struct cursor *c, const struct rn_fault_piece *p, uint64_t *seed)
{
	struct rn_fault_piece more;

	if (!p->value || !rn_fault_decimal(p->value, p->value_len, seed))
		return wrong(c, p, "a decimal number, such as seed=7");
	return next_piece(c, &more) ? wrong(c, &more, "nothing after the seed") : 0;
}

/* ------------------------------------------------------------------------ the text */
static int read_statement(struct cursor *c, struct rn_fault_rules *rules)
{
	struct rn_fault_piece p;

	if (!next_piece(c, &p))
		return 0;
	if (is_named(&p, "seed"))
		return read_seed(c, &p, &rules->seed);
	if (rules->count == RN_FAULT_RULES_MAX)
		return wrong(c, &p, "at most 64 rules");
	rules->rule[rules->count].number = rules->count;
	if (read_rule(c, &rules->rule[rules->count], &p))
		return -EINVAL;
	rules->rule[rules->count].number = rules->count;
	rules->count++;
	return 0;
}

/* One line without its comment. */
static int read_line(struct cursor *c, const char *line, size_t len,
		     struct rn_fault_rules *rules)
{
	int rc = 0;

	for (const char *end = line + len; !rc && line <= end;) {
		const char *semi = memchr(line, ';', (size_t)(end - line));

		c->at = line;
		c->end = semi ? semi : end;
		line = c->end + 1;
		rc = read_statement(c, rules);
	}
	return rc;
}

int rn_fault_rules_parse(const char *text, const char *name, struct rn_fault_rules *rules,
			 char *err, size_t err_len)
{
	struct cursor c = { .name = name, .err = err, .err_len = err_len };
	struct rn_fault_rules *out = calloc(2, sizeof(*out));
	int rc = 0;

	if (!out)
		return rn_fail(err, err_len, -ENOMEM, "%s: no memory for the rules",
			       name);
	out[0].seed = 1;
	for (const char *line = text; !rc; line++) {
		size_t len = strcspn(line, "\n"), shown = strcspn(line, "#\n");

		c.line++;
		rc = read_line(&c, line, shown, &out[0]);
		line += len;
		if (*line == '\0')
			break;
	}
	if (!rc) {
		out[1].seed = out[0].seed;
		rn_fault_rules_append(&out[1], &out[0]);
		*rules = out[1];
	}
	free(out);
	return rc;
}
