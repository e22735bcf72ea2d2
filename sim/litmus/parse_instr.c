/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parse_instr.c - parses instructions: a table of names, and a function for each form
 * of operands.
 */
#include <string.h>

#include "parse_internal.h"

struct cell {
	struct rn_litmus_parser *p;
	struct rn_litmus_test *t;
	const struct rn_litmus_thread *thread;
	struct rn_litmus_instr *in;
};

/* ---- Parsers of single operands ---- */

/* Parses a location that this thread can load and store: one of the same host. */
static bool own_location(struct cell *c)
{
	if (!rn_lex_location(c->p, c->t, &c->in->loc))
		return false;
	if (c->t->location[c->in->loc].node != c->thread->node)
		return rn_lex_refuse(c->p, "a location of the same host");
	return true;
}

static bool device_location(struct cell *c)
{
	if (!own_location(c))
		return false;
	return c->t->location[c->in->loc].agent != RN_AGENT_CPU ||
	       rn_lex_refuse(c->p, "a location in device memory");
}

static bool location_of(struct cell *c, uint8_t node, uint8_t *loc)
{
	if (!rn_lex_location(c->p, c->t, loc))
		return false;
	return c->t->location[*loc].node == node ||
	       rn_lex_refuse(c->p, "a location of the other end");
}

static bool qp_of_thread(struct cell *c)
{
	char name[RN_LITMUS_NAME];

	if (!rn_lex_word(c->p, "a QP", name, sizeof(name)))
		return false;
	c->in->qp = rn_litmus_find_qp(c->t, name);
	if (c->in->qp == RN_LITMUS_NONE)
		return rn_lex_fail_name(c->p, name, "no such QP");
	if (c->t->qp[c->in->qp].node != c->thread->node)
		return rn_lex_fail_name(c->p, name, "posted by another host");
	return true;
}

static const struct rn_litmus_qp *qp_in(const struct cell *c)
{
	return &c->t->qp[c->in->qp];
}

static bool is_own_cq(struct cell *c, const char *name, uint8_t cq)
{
	if (cq == RN_LITMUS_NONE)
		return rn_lex_fail_name(c->p, name, "no such QP or CQ");
	if (c->t->cq[cq].node != c->thread->node)
		return rn_lex_fail_name(c->p, name, "completions of another host");
	c->in->cq = cq;
	return true;
}

/* Parses the name of a CQ: q, q.r or that of a shared CQ. */
static bool cq_of_thread(struct cell *c, bool is_recv)
{
	char name[RN_LITMUS_NAME];
	const struct rn_litmus_qp *qp;
	uint8_t index;

	if (!rn_lex_word(c->p, "a QP or CQ", name, sizeof(name)))
		return false;
	index = rn_litmus_find_qp(c->t, name);
	if (index == RN_LITMUS_NONE)
		return is_own_cq(c, name, rn_litmus_find_cq(c->t, name));
	qp = &c->t->qp[index];
	if (rn_lex_try_text(c->p, ".r"))
		is_recv = true;
	return is_own_cq(c, name, is_recv ? qp->recv_cq : qp->send_cq);
}

static bool arrow(struct cell *c)
{
	return rn_lex_try_text(c->p, "<-") || rn_lex_fail(c->p, "'<-'");
}

/* Parses the suffixes F (fence) and U (unsignaled), in any order. */
static bool suffixes(struct cell *c)
{
	for (;;) {
		if (rn_lex_try_word(c->p, "F"))
			c->in->fence = true;
		else if (rn_lex_try_word(c->p, "U"))
			c->in->unsignaled = true;
		else
			return true;
	}
}

static bool locations(struct cell *c, uint8_t node)
{
	do {
		if (c->in->count == RN_LITMUS_ELEMENTS)
			return rn_lex_fail(c->p, "at most 8 elements");
		if (!location_of(c, node, &c->in->dst[c->in->count++]))
			return false;
	} while (rn_lex_try_char(c->p, ','));
	return true;
}

static bool source(struct cell *c, uint8_t node, bool may_inline,
		   struct rn_litmus_source *src)
{
	if (may_inline && rn_lex_try_char(c->p, '#')) {
		src->is_inline = true;
		src->loc = RN_LITMUS_NONE;
		return rn_lex_value(c->p, &src->value);
	}
	return location_of(c, node, &src->loc);
}

static bool sources(struct cell *c, uint8_t node, bool may_inline)
{
	for (unsigned i = 0; i < c->in->count; i++) {
		const struct rn_litmus_location *dst = &c->t->location[c->in->dst[i]];
		struct rn_litmus_source *src = &c->in->src[i];

		if (i > 0 && !rn_lex_char(c->p, ','))
			return false;
		if (!source(c, node, may_inline, src))
			return false;
		if (!src->is_inline && c->t->location[src->loc].size != dst->size)
			return rn_lex_refuse(c->p, "source and destination of one size");
	}
	return true;
}

/* ---- Parsers of the operands of each kind of instruction ---- */

static bool form_nothing(struct cell *c)
{
	(void)c;
	return true;
}

static bool form_store(struct cell *c)
{
	return own_location(c) && rn_lex_value(c->p, &c->in->value);
}

/* Parses a value, or &x: the address of a location of the same host. */
static bool value_or_address(struct cell *c)
{
	uint8_t loc;

	if (!rn_lex_try_char(c->p, '&'))
		return rn_lex_value(c->p, &c->in->value);
	if (!location_of(c, c->thread->node, &loc))
		return false;
	c->in->value = (struct rn_litmus_value){ .number = RN_LITMUS_ADDRESS + loc };
	return true;
}

static bool form_st(struct cell *c)
{
	return own_location(c) && value_or_address(c);
}

static bool form_mwr(struct cell *c)
{
	return device_location(c) && rn_lex_value(c->p, &c->in->value);
}

static bool form_load(struct cell *c)
{
	return rn_lex_register(c->p, &c->in->reg) && own_location(c);
}

static bool form_mrd(struct cell *c)
{
	return rn_lex_register(c->p, &c->in->reg) && device_location(c);
}

static bool form_wait(struct cell *c)
{
	return own_location(c) && rn_lex_char(c->p, '=') &&
	       rn_lex_value(c->p, &c->in->value);
}

static bool form_message(struct cell *c)
{
	return qp_of_thread(c) && locations(c, qp_in(c)->peer) && arrow(c) &&
	       sources(c, qp_in(c)->node, true) && suffixes(c);
}

/* Parses a SEND. Its destination is `_' if the program posts receives itself. Otherwise
 * it is the name of a buffer, for which a receive is posted before the test.
 */
static bool form_send(struct cell *c)
{
	if (!qp_of_thread(c))
		return false;
	if (!rn_lex_try_word(c->p, "_"))
		return locations(c, qp_in(c)->peer) && arrow(c) &&
		       sources(c, qp_in(c)->node, true) && suffixes(c);
	c->in->count = 1;
	c->in->dst[0] = RN_LITMUS_NONE;
	if (!arrow(c) || !source(c, qp_in(c)->node, true, &c->in->src[0]))
		return false;
	if (!c->in->src[0].is_inline && c->t->location[c->in->src[0].loc].size != 8)
		return rn_lex_refuse(c->p, "a location of 8 bytes");
	return suffixes(c);
}

/* Parses a QP that must be RC, for READ, atomics, FLUSH and ATOMIC WRITE. */
static bool rc_qp(struct cell *c)
{
	return qp_of_thread(c) && (!qp_in(c)->uc || rn_lex_refuse(c->p, "an RC QP"));
}

static bool form_read(struct cell *c)
{
	return rc_qp(c) && locations(c, qp_in(c)->node) && arrow(c) &&
	       sources(c, qp_in(c)->peer, false) && suffixes(c);
}

static bool atomic_head(struct cell *c)
{
	c->in->count = 1;
	if (!rc_qp(c))
		return false;
	if (rn_lex_try_word(c->p, "_"))
		c->in->dst[0] = RN_LITMUS_NONE;
	else if (!location_of(c, qp_in(c)->node, &c->in->dst[0]))
		return false;
	if (!arrow(c) || !location_of(c, qp_in(c)->peer, &c->in->loc))
		return false;
	return c->t->location[c->in->loc].size == 8 ||
	       rn_lex_refuse(c->p, "a location of 8 bytes");
}

static bool form_faa(struct cell *c)
{
	return atomic_head(c) && rn_lex_value(c->p, &c->in->value) && suffixes(c);
}

static bool form_cas(struct cell *c)
{
	return atomic_head(c) && rn_lex_value(c->p, &c->in->value) &&
	       rn_lex_value(c->p, &c->in->value2) && suffixes(c);
}

static bool form_flush(struct cell *c)
{
	return rc_qp(c) && locations(c, qp_in(c)->peer) && suffixes(c);
}

static bool form_word(struct cell *c)
{
	if (!rc_qp(c) || !locations(c, qp_in(c)->peer))
		return false;
	if (c->in->count != 1 || c->t->location[c->in->dst[0]].size != 8)
		return rn_lex_refuse(c->p, "one location of 8 bytes");
	return arrow(c) && sources(c, qp_in(c)->node, true) && suffixes(c);
}

/* Parses the operands that both doorbells (bell, blue) begin with: the QP and one remote
 * location.
 */
static bool bell_head(struct cell *c)
{
	if (!qp_of_thread(c) || !location_of(c, qp_in(c)->peer, &c->in->dst[0]))
		return false;
	c->in->count = 1;
	c->in->src[0].loc = RN_LITMUS_NONE;
	return arrow(c);
}

static bool form_bell(struct cell *c)
{
	return bell_head(c) && own_location(c) && suffixes(c);
}

static bool form_blue(struct cell *c)
{
	return bell_head(c) && value_or_address(c) && suffixes(c);
}

static bool is_uc_fed(const struct cell *c)
{
	for (unsigned i = 0; i < c->t->qps; i++)
		if (c->t->qp[i].recv_queue == c->in->rq && c->t->qp[i].uc)
			return true;
	return false;
}

/* Parses the operands of the doorbell of a receive queue: name of the queue, and location
 * of the WQE.
 */
static bool form_recv(struct cell *c)
{
	char name[RN_LITMUS_NAME];
	uint8_t qp;

	if (!rn_lex_word(c->p, "a QP or SRQ", name, sizeof(name)))
		return false;
	c->in->rq = rn_litmus_find_rq(c->t, name);
	if (c->in->rq == RN_LITMUS_NONE)
		return rn_lex_fail_name(c->p, name, "no such QP or SRQ");
	qp = rn_litmus_find_qp(c->t, name);
	if (qp != RN_LITMUS_NONE && c->t->qp[qp].recv_queue != c->in->rq)
		return rn_lex_fail_name(c->p, name, "has an SRQ");
	if (c->t->rq[c->in->rq].node != c->thread->node)
		return rn_lex_fail_name(c->p, name, "receives on another host");
	if (is_uc_fed(c))
		return rn_lex_refuse(c->p, "an RC QP");
	c->t->rq[c->in->rq].is_rung = true;
	if (c->t->receives == RN_LITMUS_RECVS)
		return rn_lex_fail(c->p, "at most 8 receives");
	c->in->receive = c->t->receives++;
	return own_location(c);
}

static bool form_poll(struct cell *c)
{
	return cq_of_thread(c, false);
}

static bool form_pollr(struct cell *c)
{
	return cq_of_thread(c, true);
}

static bool form_tryp(struct cell *c)
{
	return rn_lex_register(c->p, &c->in->reg) && cq_of_thread(c, false);
}

static bool form_launch(struct cell *c)
{
	char name[RN_LITMUS_NAME];
	struct rn_litmus_thread *thread;

	if (!rn_lex_thread_name(c->p, name, sizeof(name)))
		return false;
	c->in->thread = rn_litmus_find_thread(c->t, name);
	if (c->in->thread == RN_LITMUS_NONE)
		return rn_lex_fail_name(c->p, name, "no such thread");
	thread = &c->t->thread[c->in->thread];
	if (!rn_agent_is_gpu(thread->agent) || thread->node != c->thread->node)
		return rn_lex_fail_name(c->p, name, "not a GPU thread of this host");
	thread->is_launched = true;
	return true;
}

static bool form_dmacqe(struct cell *c)
{
	int64_t number;

	if (!rn_lex_number(c->p, &number))
		return false;
	return number == 0 || rn_lex_refuse(c->p, "0");
}

static bool form_pollc(struct cell *c)
{
	return rn_lex_try_word(c->p, "dma") || rn_lex_fail(c->p, "dma");
}

enum {
	ON_CPU = 1,
	ON_GPU = 2,
	ON_NVME = 4,
};

static const struct form {
	const char *name;
	enum rn_litmus_op op;
	unsigned on;
	bool (*parse)(struct cell *c);
} forms[] = {
	{ "st", RN_LITMUS_ST, ON_CPU | ON_GPU, form_st },
	{ "ld", RN_LITMUS_LD, ON_CPU | ON_GPU, form_load },
	{ "mfence", RN_LITMUS_MFENCE, ON_CPU | ON_GPU, form_nothing },
	{ "sfence", RN_LITMUS_SFENCE, ON_CPU, form_nothing },
	{ "wait", RN_LITMUS_WAIT, ON_CPU | ON_GPU, form_wait },
	{ "mrd", RN_LITMUS_MRD, ON_CPU, form_mrd },
	{ "mwr", RN_LITMUS_MWR, ON_CPU, form_mwr },
#define X(symbol, word, form, request) { word, RN_LITMUS_##symbol, ON_CPU, form_##form },
	RN_LITMUS_REQUESTS(X)
#undef X
		{ "bell", RN_LITMUS_BELL, ON_CPU, form_bell },
	{ "blue", RN_LITMUS_BLUE, ON_CPU, form_blue },
	{ "recv", RN_LITMUS_RECV, ON_CPU, form_recv },
	{ "poll", RN_LITMUS_POLL, ON_CPU, form_poll },
	{ "pollr", RN_LITMUS_POLL, ON_CPU, form_pollr },
	{ "tryp", RN_LITMUS_TRYP, ON_CPU, form_tryp },
	{ "launch", RN_LITMUS_LAUNCH, ON_CPU, form_launch },
	{ "dma", RN_LITMUS_DMA, ON_NVME, form_store },
	{ "dmacqe", RN_LITMUS_DMACQE, ON_NVME, form_dmacqe },
	{ "pollc", RN_LITMUS_POLLC, ON_CPU, form_pollc },
};

static unsigned place_of(const struct rn_litmus_thread *thread)
{
	if (thread->agent == RN_AGENT_CPU)
		return ON_CPU;
	return rn_agent_is_gpu(thread->agent) ? ON_GPU : ON_NVME;
}

static const struct form *find_form(const char *name)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(forms); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	return NULL;
}

/* Notes in struct rn_litmus_qp how the program gives this work request to the NIC: by a
 * verbs call, or by a doorbell that it rings itself. If a test does both on one QP, that
 * is an error, because the verbs call and the program would write to the same send queue.
 */
static bool note_way(struct cell *c)
{
	struct rn_litmus_qp *qp = &c->t->qp[c->in->qp];

	if (rn_litmus_is_rung(c->in->op))
		qp->is_rung = true;
	else
		qp->is_called = true;
	return !(qp->is_rung && qp->is_called) ||
	       rn_lex_fail_name(c->p, qp->name,
				"has doorbells (bell, blue) or verbs calls, not both");
}

static bool number_work(struct cell *c)
{
	c->in->work = RN_LITMUS_NONE;
	if (!rn_litmus_is_work(c->in->op))
		return true;
	if (c->t->works == RN_LITMUS_OPS)
		return rn_lex_fail(c->p, "at most 16 work requests");
	c->in->work = c->t->works++;
	return note_way(c);
}

bool rn_litmus_parse_instr(struct rn_litmus_parser *p, struct rn_litmus_test *t,
			   unsigned thread)
{
	struct rn_litmus_thread *th = &t->thread[thread];
	struct rn_litmus_instr *in = &th->instr[th->count];
	struct cell c = { p, t, th, in };
	char name[RN_LITMUS_NAME];
	const struct form *form;
	const char *from;

	if (th->count == RN_LITMUS_INSTRS)
		return rn_lex_fail(p, "at most 24 instructions of a thread");
	rn_lex_blank(p);
	from = p->at;
	*in = (struct rn_litmus_instr){ .line = p->line };
	if (!rn_lex_word(p, "an instruction", name, sizeof(name)))
		return false;
	form = find_form(name);
	if (!form)
		return rn_lex_fail_name(p, name, "no such instruction");
	if (!(form->on & place_of(th)))
		return rn_lex_fail_name(p, name, "not an instruction of this agent");
	in->op = (uint8_t)form->op;
	if (!form->parse(&c) || !number_work(&c))
		return false;
	if (!rn_lex_is_short(p, "this instruction",
			     rn_lex_fold(from, p->at, in->text, sizeof(in->text)),
			     sizeof(in->text)))
		return false;
	th->count++;
	return true;
}
