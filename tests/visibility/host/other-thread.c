/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other-thread.c - a thread polls the completion, another one reads.
 *
 * question: One thread polls the completion of an immediate and tells another thread of
 *           it by a semaphore. May that one look?
 * reads:    another thread of the target, after the semaphore.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     V1: a completion covers the data for the whole process; the semaphore
 *           orders the threads as it does for any other memory.
 * litmus:   M3-write+imm
 * sibling:  host/write-requester-poll
 */
#include "../kit.h"
#include <pthread.h>
#include <semaphore.h>

struct reader {
	const struct ibv_mr *to;
	sem_t is_there;
};

static void *read_when_told(void *arg)
{
	struct reader *reader = arg;

	while (sem_wait(&reader->is_there))
		;
	vis_look(reader->to);
	return NULL;
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct ibv_mr *from = vis_source(here), *to = vis_target(there);
	struct reader reader = { .to = to };
	pthread_t thread;
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	sem_init(&reader.is_there, 0, 0);
	vis_need(!pthread_create(&thread, NULL, read_when_told, &reader), "a thread");
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	sem_post(&reader.is_there);
	pthread_join(thread, NULL);
	vis_poll_send(&a);
	return 0;
}
