/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* names.c - names of objects, states and steps in the texts of findings. */
#include <stdio.h>
#include <string.h>

#include "model/model.h"

static const char *const kinds[] = {
#define X(symbol, name) name,
	RN_VAL_KINDS(X)
#undef X
};

const char *rn_val_kind_name(enum rn_val_kind kind)
{
	return kinds[kind];
}

const char *rn_val_name(const struct rn_val_object *o, struct rn_val_text *t)
{
	if (!o)
		return "nothing";
	if (o->process)
		(void)snprintf(t->text, sizeof(t->text), "%s %#x of process %u",
			       o->kind == RN_VAL_QP ? "QP" : "the MR with rkey",
			       o->number, o->process);
	else if (o->kind == RN_VAL_QP)
		(void)snprintf(t->text, sizeof(t->text), "QP %#x", o->number);
	else if (o->kind == RN_VAL_MR)
		(void)snprintf(t->text, sizeof(t->text), "the MR with lkey %#x",
			       o->mr.lkey);
	else
		(void)snprintf(t->text, sizeof(t->text), "%s %p", kinds[o->kind],
			       o->handle);
	return t->text;
}

const char *rn_val_state_name(enum ibv_qp_state state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS",
					     "SQD",   "SQE",  "ERR" };

	return (unsigned)state < sizeof(names) / sizeof(*names) ? names[state]
								: "unknown";
}

const char *rn_val_opcode_name(enum ibv_wr_opcode opcode)
{
	static const char *const names[] = {
#define X(symbol, number, operands, word, name, words) [RN_WR_##symbol] = (words),
		RN_WR_OPCODES(X)
#undef X
	};

	return (unsigned)opcode < sizeof(names) / sizeof(*names) && names[opcode]
		       ? names[opcode]
		       : "request";
}

const char *rn_val_step_text(const struct rn_val_step *s, struct rn_val_text *t)
{
	char what[48] = "made", more[32] = "";

	if (s->what == RN_VAL_STEP_STATE)
		(void)snprintf(what, sizeof(what), "%s -> %s",
			       rn_val_state_name((enum ibv_qp_state)s->a),
			       rn_val_state_name((enum ibv_qp_state)s->b));
	else if (s->what == RN_VAL_STEP_SEND && s->a == 1)
		(void)snprintf(what, sizeof(what), "%s posted",
			       rn_val_opcode_name((enum ibv_wr_opcode)s->b));
	else if (s->what == RN_VAL_STEP_SEND)
		(void)snprintf(what, sizeof(what), "%d requests posted, a %s first", s->a,
			       rn_val_opcode_name((enum ibv_wr_opcode)s->b));
	else if (s->what == RN_VAL_STEP_RECV)
		(void)snprintf(what, sizeof(what), "%d receive%s posted", s->a,
			       s->a == 1 ? "" : "s");
	else if (s->what == RN_VAL_STEP_ERROR)
		(void)snprintf(what, sizeof(what), "completion with status %d", s->a);
	if (s->again)
		(void)snprintf(more, sizeof(more), ", %u times", s->again + 1);
	(void)snprintf(t->text, sizeof(t->text), "%s%s%s%s", what, more,
		       s->rc ? ": " : "", s->rc ? strerrordesc_np(s->rc) : "");
	return t->text;
}
