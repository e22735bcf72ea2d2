/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* facts.c - prints a parsed litmus test and its knobs as facts of answer-set programming,
 * for the axioms of tests/sim/axioms. One block for each set of knobs:
 *
 *	%% G2-imm-into-gpu
 *	%% typical,gpu.ordering=none
 *	knob(place,pcie). ...
 *	location("d","B",gpu(0),0). ...
 *	thread("A.cpu","A",cpu,1). instr("A.cpu",1,imm). request("A.cpu",1,0,"q"). ...
 *	observed(0,register("B.gpu0",0)). ...
 *
 * Instructions and elements count from 1, work requests from 0. The address of a location
 * is address("x"). The facts are only what the test file states; the axioms derive all
 * else.
 */
#include <inttypes.h>

#include "report.h"

static void print_agent(unsigned agent)
{
	if (agent == RN_AGENT_CPU)
		printf("cpu");
	else if (rn_agent_is_gpu(agent))
		printf("gpu(%u)", agent - RN_AGENT_GPU);
	else if (rn_agent_is_nic(agent))
		printf("nic(%u)", agent - RN_AGENT_NIC);
	else
		printf("nvme(%u)", agent - RN_AGENT_NVME);
}

static void print_value(const struct rn_litmus_test *t, const struct rn_litmus_value *v)
{
	if (v->is_reg)
		printf("reg(%u)", v->reg);
	else if (rn_litmus_is_address(v->number))
		printf("address(\"%s\")",
		       t->location[v->number - RN_LITMUS_ADDRESS].name);
	else
		printf("%" PRId64, v->number);
}

/* If @v is a constant or an address, prints it as a fact number(...). Prints nothing if
 * it is a register.
 */
static void print_number(const struct rn_litmus_test *t, const struct rn_litmus_value *v)
{
	if (v->is_reg)
		return;
	printf(" number(");
	print_value(t, v);
	printf(").");
}

/* ---- Facts about knobs, locations and QPs ---- */

static void print_knobs(const struct rn_pcie_knobs *k)
{
	static const char *const place[] = { "now", "pcie", "msg", "any" };
	static const char *const p2p[] = { "shared", "split", "deny" };
	static const char *const gpu[] = { "none", "owner", "all" };
	static const char *const cpus[] = { "tso", "sc", "pso" };

	printf("knob(place,%s). knob(p2p,%s). knob(gpu,%s). knob(link,%s).\n",
	       place[k->place], p2p[k->p2p], gpu[k->gpu_ordering],
	       k->gpu_link == RN_GPU_C2C ? "c2c" : "pcie");
	printf("knob(reads,%s). knob(queues,%s). knob(atomic,%s). knob(ack,%s).\n",
	       k->reads == RN_READS_SERIAL ? "serial" : "pipelined",
	       k->nic_queues == RN_NIC_PERQP ? "perqp" : "shared",
	       k->atomic == RN_ATOMIC_BY_PCIE ? "pcie" : "hca",
	       k->ack == RN_ACK_PLACED ? "placed" : "early");
	printf("knob(ooo,%d). knob(ido,%d). knob(granule,%u). knob(cpu,%s).\n", k->ooo,
	       k->ido, k->granule, cpus[k->cpu]);
}

static void print_locations(const struct rn_litmus_test *t,
			    const struct rn_litmus_setup *setup)
{
	enum rn_relaxed relaxed = setup->knobs.relaxed;

	for (unsigned i = 0; i < t->locations; i++) {
		const struct rn_litmus_location *l = &t->location[i];

		printf("location(\"%s\",\"%s\",", l->name, t->node[l->node]);
		print_agent(l->agent);
		printf(",%" PRId64 "). extent(\"%s\",%u,%u).", l->init, l->name, l->size,
		       l->align);
		if (relaxed == RN_RELAXED_FORCE ||
		    (relaxed == RN_RELAXED_REGISTERED && (setup->relaxed >> i & 1)))
			printf(" relaxed(\"%s\").", l->name);
		printf("\n");
	}
}

static void print_qps(const struct rn_litmus_test *t)
{
	for (unsigned i = 0; i < t->qps; i++) {
		const struct rn_litmus_qp *qp = &t->qp[i];

		printf("qp(\"%s\",%s). end(\"%s\",send,\"%s\",", qp->name,
		       qp->uc ? "uc" : "rc", qp->name, t->node[qp->node]);
		print_agent(qp->nic);
		printf(",\"%s\"). end(\"%s\",recv,\"%s\",", t->cq[qp->send_cq].name,
		       qp->name, t->node[qp->peer]);
		print_agent(qp->peer_nic);
		printf(",\"%s\"). receives(\"%s\",\"%s\").\n", t->cq[qp->recv_cq].name,
		       qp->name, t->rq[qp->recv_queue].name);
	}
	for (unsigned i = 0; i < t->rqs; i++) {
		if (!t->rq[i].is_rung)
			continue;
		printf("queue(\"%s\",\"%s\",", t->rq[i].name, t->node[t->rq[i].node]);
		print_agent(t->rq[i].nic);
		printf("). fed(\"%s\").\n", t->rq[i].name);
	}
}

/* ---- Facts about instructions ---- */

static const char *const op_names[RN_LITMUS_OP_COUNT] = {
	[RN_LITMUS_ST] = "st",
	[RN_LITMUS_LD] = "ld",
	[RN_LITMUS_MFENCE] = "mfence",
	[RN_LITMUS_WAIT] = "wait",
	[RN_LITMUS_MRD] = "mrd",
	[RN_LITMUS_MWR] = "mwr",
#define X(symbol, word, form, request) [RN_LITMUS_##symbol] = (word),
	RN_LITMUS_REQUESTS(X)
#undef X
		[RN_LITMUS_BELL] = "bell",
	[RN_LITMUS_BLUE] = "blue",
	[RN_LITMUS_SFENCE] = "sfence",
	[RN_LITMUS_RECV] = "recv",
	[RN_LITMUS_POLL] = "poll",
	[RN_LITMUS_TRYP] = "tryp",
	[RN_LITMUS_LAUNCH] = "launch",
	[RN_LITMUS_DMA] = "dma",
	[RN_LITMUS_DMACQE] = "dmacqe",
	[RN_LITMUS_POLLC] = "pollc",
};

static void print_location_name(const struct rn_litmus_test *t, unsigned loc)
{
	if (loc == RN_LITMUS_NONE)
		printf("none");
	else
		printf("\"%s\"", t->location[loc].name);
}

/* Prints the elements of a WRITE, SEND, READ or FLUSH: for each, the location at the
 * responder, and the source or destination at the requester.
 */
static void print_elements(const struct rn_litmus_test *t,
			   const struct rn_litmus_instr *in)
{
	bool is_read = in->op == RN_LITMUS_READ;

	for (unsigned i = 0; i < in->count; i++) {
		const struct rn_litmus_source *src = &in->src[i];

		printf(" element(%u,%u,", in->work, i + 1);
		print_location_name(t, is_read ? src->loc : in->dst[i]);
		printf(",");
		if (is_read)
			print_location_name(t, in->dst[i]);
		else if (in->op == RN_LITMUS_FLUSH)
			printf("none");
		else if (src->is_inline)
			print_value(t, &src->value);
		else
			print_location_name(t, src->loc);
		printf(").");
		if (!is_read && src->is_inline)
			print_number(t, &src->value);
	}
}

static void print_atomic(const struct rn_litmus_test *t, const struct rn_litmus_instr *in)
{
	printf(" element(%u,1,\"%s\",", in->work, t->location[in->loc].name);
	print_location_name(t, in->dst[0]);
	printf(").");
	if (in->op == RN_LITMUS_FAA)
		printf(" add(%u,%" PRId64 ").", in->work, in->value.number);
	else
		printf(" swap(%u,%" PRId64 ",%" PRId64 "). number(%" PRId64 ").",
		       in->work, in->value.number, in->value2.number, in->value2.number);
}

/* Prints what a doorbell of the test contains: the location of the WQE to which it
 * points, or the contents of the WQE that it carries.
 */
static void print_wqe(const struct rn_litmus_test *t, const char *thread, unsigned number,
		      const struct rn_litmus_instr *in)
{
	if (in->op == RN_LITMUS_BELL) {
		printf(" wqe(%u,\"%s\").", in->work, t->location[in->loc].name);
		return;
	}
	printf(" operand(\"%s\",%u,", thread, number);
	print_value(t, &in->value);
	printf(").");
	print_number(t, &in->value);
}

static void print_request(const struct rn_litmus_test *t, const char *thread,
			  unsigned number, const struct rn_litmus_instr *in)
{
	printf(" request(\"%s\",%u,%u,\"%s\").", thread, number, in->work,
	       t->qp[in->qp].name);
	if (in->fence)
		printf(" fenced(%u).", in->work);
	if (in->unsignaled)
		printf(" unsignaled(%u).", in->work);
	if (rn_litmus_is_atomic(in->op))
		print_atomic(t, in);
	else
		print_elements(t, in);
	if (rn_litmus_is_rung(in->op))
		print_wqe(t, thread, number, in);
}

/* Prints the operands of an instruction that is no work request. */
static void print_operands(const struct rn_litmus_test *t, const char *thread,
			   unsigned number, const struct rn_litmus_instr *in)
{
	switch (in->op) {
	case RN_LITMUS_LD:
	case RN_LITMUS_MRD:
		printf(" at(\"%s\",%u,\"%s\"). sets(\"%s\",%u,%u).", thread, number,
		       t->location[in->loc].name, thread, number, in->reg);
		break;
	case RN_LITMUS_ST:
	case RN_LITMUS_MWR:
	case RN_LITMUS_DMA:
	case RN_LITMUS_WAIT:
		printf(" at(\"%s\",%u,\"%s\"). operand(\"%s\",%u,", thread, number,
		       t->location[in->loc].name, thread, number);
		print_value(t, &in->value);
		printf(").");
		print_number(t, &in->value);
		break;
	case RN_LITMUS_TRYP:
	case RN_LITMUS_POLL:
		if (in->op == RN_LITMUS_TRYP)
			printf(" sets(\"%s\",%u,%u).", thread, number, in->reg);
		printf(" polls(\"%s\",%u,\"%s\").", thread, number, t->cq[in->cq].name);
		break;
	case RN_LITMUS_RECV:
		printf(" receive(\"%s\",%u,%u,\"%s\",\"%s\").", thread, number,
		       in->receive, t->rq[in->rq].name, t->location[in->loc].name);
		break;
	case RN_LITMUS_LAUNCH:
		printf(" starts(\"%s\",%u,\"%s\").", thread, number,
		       t->thread[in->thread].name);
		break;
	default:
		break;
	}
}

static void print_thread(const struct rn_litmus_test *t,
			 const struct rn_litmus_thread *thread)
{
	printf("thread(\"%s\",\"%s\",", thread->name, t->node[thread->node]);
	print_agent(thread->agent);
	printf(",%u).", thread->count);
	if (thread->is_launched)
		printf(" launched(\"%s\").", thread->name);
	printf("\n");
	for (unsigned i = 0; i < thread->count; i++) {
		const struct rn_litmus_instr *in = &thread->instr[i];

		printf("instr(\"%s\",%u,%s).", thread->name, i + 1, op_names[in->op]);
		if (rn_litmus_is_work(in->op))
			print_request(t, thread->name, i + 1, in);
		else
			print_operands(t, thread->name, i + 1, in);
		printf(" %% %s\n", in->text);
	}
}

/* ---- The locations and registers whose values make up an outcome ---- */

static void print_observed(const struct rn_litmus_test *t)
{
	for (unsigned i = 0; i < t->observeds; i++) {
		const struct rn_litmus_observed *o = &t->observed[i];

		printf("observed(%u,", i);
		if (o->what == RN_LITMUS_MEMORY)
			printf("memory(\"%s\")", t->location[o->loc].name);
		else if (o->what == RN_LITMUS_DONE)
			printf("done(\"%s\")", t->thread[o->thread].name);
		else
			printf("register(\"%s\",%u)", t->thread[o->thread].name, o->reg);
		printf("). %% %s\n", o->name);
	}
}

int rn_litmus_facts_run(const struct rn_litmus_options *o,
			const struct rn_report_test *test, struct rn_report_run *run)
{
	const struct rn_litmus_test *t = &test->test;

	(void)o;
	printf("%%%% %s\n%%%% %s\n", t->name, run->knobs);
	print_knobs(&run->setup.knobs);
	print_locations(t, &run->setup);
	print_qps(t);
	for (unsigned i = 0; i < t->threads; i++)
		print_thread(t, &t->thread[i]);
	print_observed(t);
	return 0;
}
