/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* two_pairs.c - a program of four threads in two pairs, for `rocin hunt`: in each pair
 * one thread writes numbered messages into the memory of the other, which checks them and
 * answers by a variable that both spin on.
 *
 *	two-pairs right|wrong
 *
 * right: both pairs wait for the completion of an immediate. wrong: the second pair takes
 * the requester's completion of a WRITE for a sign that the message is there. Each pair
 * has NICs of its own, so the pairs do not order one another's data. Ends with 1 if a
 * message was not there.
 */
#include "kit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum {
	ROUNDS = 12,
	PAIRS = 2,
};

static struct pair {
	struct vis_end from, to;
	struct ibv_mr *source, *target;
	bool is_told; /* the writer tells the reader that it has its completion */
	_Atomic unsigned told, read; /* rounds */
	unsigned wrong;
} pairs[PAIRS];

static void await_round(const _Atomic unsigned *rounds, unsigned number)
{
	while (*rounds < number)
		sched_yield();
}

static void *write_messages(void *arg)
{
	struct pair *p = arg;

	for (unsigned i = 1; i <= ROUNDS; i++) {
		memset(p->source->addr, (int)i, DATA);
		if (p->is_told)
			vis_write(&p->from, p->source, p->target, 0);
		else
			vis_write_imm(&p->from, p->source, p->target, 0);
		vis_poll_send(&p->from);
		p->told = i;
		await_round(&p->read, i);
	}
	return NULL;
}

static void *read_messages(void *arg)
{
	struct pair *p = arg;

	for (unsigned i = 1; i <= ROUNDS; i++) {
		if (p->is_told)
			await_round(&p->told, i);
		else
			vis_poll_recv(&p->to);
		p->wrong += *(volatile uint8_t *)p->target->addr != i;
		if (!p->is_told && i < ROUNDS)
			vis_post_recv(&p->to, NULL);
		p->read = i;
	}
	return NULL;
}

static void make_pair(struct pair *p, unsigned number, bool is_told)
{
	struct vis_nic *from = vis_open(2 * number), *to = vis_open(2 * number + 1);

	p->is_told = is_told;
	p->source = vis_source(from);
	p->target = vis_target(to);
	vis_connect(&p->from, from, &p->to, to);
	if (!is_told)
		vis_post_recv(&p->to, NULL);
}

int main(int argc, char **argv)
{
	pthread_t writers[PAIRS], readers[PAIRS];
	unsigned wrong = 0;

	vis_need(argc == 2, "run me by: two-pairs right|wrong");
	for (unsigned i = 0; i < PAIRS; i++)
		make_pair(&pairs[i], i, i == 1 && !strcmp(argv[1], "wrong"));
	for (unsigned i = 0; i < PAIRS; i++) {
		vis_need(!pthread_create(&writers[i], NULL, write_messages, &pairs[i]),
			 "pthread_create");
		vis_need(!pthread_create(&readers[i], NULL, read_messages, &pairs[i]),
			 "pthread_create");
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		pthread_join(writers[i], NULL);
		pthread_join(readers[i], NULL);
		wrong += pairs[i].wrong;
	}
	return wrong != 0;
}
