/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_host_threads.c - devices in several threads on one hierarchy. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "host_kit.h"
#include "sim/pcie/host/host_internal.h"

enum {
	THREADS = 2,
	ROUNDS = 1500,
	WORDS = 64,
};

static uint64_t sum __attribute__((aligned(64)));

struct worker {
	pthread_t thread;
	unsigned number;
	struct kit_nic *nic;
	uint64_t mine[WORDS] __attribute__((aligned(64)));
	_Atomic unsigned ended;
	unsigned started;
	const char *error;
};

static struct worker workers[THREADS];

static void count_end(void *arg, uint64_t tag, enum rn_mem_result result)
{
	struct worker *w = &workers[tag];

	(void)arg;
	if (result != RN_MEM_DONE)
		w->error = "fault";
	atomic_fetch_add(&w->ended, 1);
}

static void note(struct worker *w, enum rn_mem_result result)
{
	if (result == RN_MEM_PENDING)
		w->started++;
	else if (result != RN_MEM_DONE)
		w->error = "refused";
}

/* Results of one NIC may be fetched by either thread. */
static void wait_for_all(struct worker *w)
{
	while (atomic_load(&w->ended) < w->started) {
		w->nic->api->polled_empty(w->nic->nic, 0);
		w->nic->api->collect(w->nic->nic, count_end, NULL);
		sched_yield();
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct rn_host_api *api = w->nic->api;
	uint32_t qpn = KIT_QP + w->number;
	uint64_t tag = w->number, found, value, back;

	for (unsigned i = 0; i < ROUNDS && !w->error; i++) {
		struct rn_mem_attr attr = { .qpn = qpn, .msg = i };
		struct rn_mem_atomic_req req = { .op = RN_MEM_FETCH_ADD,
						 .dst = kit_iova(&sum),
						 .operand = 1 };
		rn_iova at = kit_iova(&w->mine[i % WORDS]);

		value = i + 1;
		if (api->mem->write(w->nic->nic, at, &value, 8, attr) != RN_MEM_DONE)
			w->error = "write";
		/* A read of one's own bytes pushes the write. */
		note(w, api->mem->read(w->nic->nic, &back, at, 8, attr, tag));
		note(w, api->mem->atomic(w->nic->nic, &req, &found, attr, tag));
		wait_for_all(w);
		if (back != value)
			w->error = "read an old value";
		if (i % 64 == 0)
			api->drain(w->nic->nic, qpn);
	}
	return NULL;
}

static void hammer(const char *knobs, bool one_nic)
{
	struct worker *w = workers;
	struct kit_nic nic[THREADS];

	kit_host_knobs(knobs);
	sum = 0;
	for (unsigned i = 0; i < THREADS; i++)
		kit_attach(&nic[i]);
	memset(workers, 0, sizeof(workers));
	for (unsigned i = 0; i < THREADS; i++) {
		w[i].number = i;
		w[i].nic = &nic[one_nic ? 0 : i];
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		assert_ptr_equal(w[i].error, NULL);
	}
	for (unsigned i = 0; i < THREADS; i++)
		kit_detach(&nic[i]);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned k = 0; k < WORDS; k++)
			assert_true(w[i].mine[k] > ROUNDS - WORDS);
	assert_int_equal(sum, THREADS * ROUNDS);
}

static void two_nics(void **state)
{
	(void)state;
	hammer("typical,atomic=pcie", false);
	hammer("adversarial,atomic=pcie", false);
}

static void one_nic(void **state)
{
	(void)state;
	hammer("typical", true);
	hammer("ibta,granule=8", true);
	hammer("adversarial", true);
}

/* A NIC that goes while it is being told. */
static void coming_and_going(void **state)
{
	struct kit_nic n;
	uint64_t got;

	(void)state;
	kit_host_knobs("typical");
	for (unsigned i = 0; i < 200; i++) {
		kit_attach(&n);
		(void)kit_read(&n, KIT_QP, &got, &sum, 8, 1);
		if (i % 2)
			sched_yield();
		kit_detach(&n);
	}
	assert_int_equal(rn_pcie_pending(NULL, SIZE_MAX), 0);
}

static _Atomic bool has_device_ended;

static void *use_device(void *arg)
{
	struct kit_nic *n = arg;
	static uint64_t back; /* reads may end when this thread has */
	uint64_t word = 1;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct rn_mem_attr attr = { .qpn = KIT_QP, .msg = i };

		(void)n->api->mem->write(n->nic, kit_iova(&sum), &word, 8, attr);
		n->api->settle_acked(n->nic, KIT_QP);
		(void)kit_read(n, KIT_QP, &back, &sum, 8, i);
		n->count = 0;
		(void)kit_collect(n);
	}
	has_device_ended = true;
	return NULL;
}

/* A device need not be idle when the program sets other knobs. That no two threads race
 * there is for ThreadSanitizer to see.
 */
static void other_knobs_for_a_busy_device(void **state)
{
	static const char *const knobs[] = { "typical,mtt.cache=4", "typical,ackearly=0",
					     "adversarial" };
	pthread_t thread;
	struct kit_nic n;
	unsigned changes = 0;

	(void)state;
	kit_host_knobs("typical");
	sum = 0;
	has_device_ended = false;
	kit_attach(&n);
	assert_int_equal(pthread_create(&thread, NULL, use_device, &n), 0);
	while (!has_device_ended || changes < RN_ARRAY_SIZE(knobs))
		kit_host_knobs(knobs[changes++ % RN_ARRAY_SIZE(knobs)]);
	pthread_join(thread, NULL);
	kit_detach(&n);
	assert_int_equal(kit_load(&sum), 1);
}

/* Nothing on its way: the thread waits for no time. */
static void an_idle_hierarchy_wakes_nobody(void **state)
{
	struct rn_host *h = rn_host_get();
	rn_ns end = rn_host_now() + RN_MSEC(300000);
	uint64_t got = 0, word = 1;
	bool idle = false;
	struct kit_nic n;

	(void)state;
	kit_host_knobs("typical");
	kit_attach(&n);
	kit_write64(&n, KIT_QP, &got, word, 0);
	while (!idle && rn_host_now() < end) {
		rn_host_lock(h);
		idle = h->bus_is_asleep && h->bus_sleeps_until == RN_NEVER &&
		       rn_fabric_count(h->fabric) == 0;
		rn_host_unlock(h);
		sched_yield();
	}
	assert_true(idle);
	assert_int_equal(kit_load(&got), 1);
	kit_detach(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_nics),
		cmocka_unit_test(one_nic),
		cmocka_unit_test(coming_and_going),
		cmocka_unit_test(other_knobs_for_a_busy_device),
		cmocka_unit_test(an_idle_hierarchy_wakes_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
