/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory on a NIC: what is done at once, what crosses, what pushes what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_kit.h"

static uint64_t memory[64] __attribute__((aligned(64))); /* on the NIC */
static volatile uint64_t data __attribute__((aligned(64)));

/* Nothing moves unless it must. */
static void freeze(const char *knobs)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "%s,hold=inf,hold.polls=inf,driver=replay,replay=/dev/null", knobs);
	kit_host_knobs(text);
	memset(memory, 0, sizeof(memory));
	data = 0;
}

static void begin(struct kit_nic *n)
{
	kit_attach(n);
	assert_int_equal(n->api->dm_add(n->nic, kit_iova(memory), sizeof(memory)), 0);
}

static void finish(struct kit_nic *n)
{
	n->api->dm_remove(n->nic, kit_iova(memory));
	kit_detach(n);
}

static uint64_t look(struct kit_nic *n, unsigned word)
{
	uint64_t value = 77;

	assert_int_equal(
		n->api->dm_read(n->nic, &value, kit_iova(&memory[word]), sizeof(value)),
		0);
	return value;
}

static void put(struct kit_nic *n, unsigned word, uint64_t value)
{
	assert_int_equal(
		n->api->dm_write(n->nic, kit_iova(&memory[word]), &value, sizeof(value)),
		0);
}

static void test_own_accesses_cross_nothing(void **state)
{
	struct kit_nic n;
	uint64_t got = 0;

	(void)state;
	freeze("typical");
	begin(&n);
	kit_write64(&n, KIT_QP, &memory[1], 5, 0);
	assert_int_equal(kit_load(&memory[1]), 5);
	assert_int_equal(kit_read(&n, KIT_QP, &got, &memory[1], 8, 1), RN_MEM_DONE);
	assert_int_equal(got, 5);
	assert_int_equal(kit_add(&n, KIT_QP, &memory[1], 2, &got, 2), RN_MEM_DONE);
	assert_int_equal(got, 5);
	assert_int_equal(kit_load(&memory[1]), 7);
	assert_int_equal(rn_pcie_pending(memory, sizeof(memory)), 0);
	finish(&n);
}

static void test_a_read_pushes_what_the_nic_wrote(void **state)
{
	struct kit_nic n;

	(void)state;
	freeze("typical");
	begin(&n);
	kit_write64(&n, KIT_QP, &data, 1, 0);
	kit_write64(&n, KIT_QP, &memory[0], 1, 0);
	assert_int_equal(kit_load(&data), 0);
	assert_int_equal(look(&n, 0), 1);
	assert_int_equal(kit_load(&data), 1);
	finish(&n);
}

static void test_a_read_passes_data_in_another_queue(void **state)
{
	struct kit_nic n;

	(void)state;
	freeze("typical,nic.queues=perqp");
	begin(&n);
	kit_write64(&n, KIT_QP, &data, 1, 0);
	kit_write64(&n, KIT_QP, &memory[0], 1, 0);
	assert_int_equal(look(&n, 0), 1);
	assert_int_equal(kit_load(&data), 0);
	finish(&n);
	assert_int_equal(kit_load(&data), 1);
}

static void test_copies_are_posted(void **state)
{
	struct kit_nic n;

	(void)state;
	freeze("typical");
	begin(&n);
	put(&n, 3, 9);
	assert_int_equal(kit_load(&memory[3]), 0);
	assert_int_equal(look(&n, 3), 9); /* comes behind it */
	put(&n, 4, 8);
	kit_write64(&n, KIT_QP, &data, 1, 0);
	assert_int_equal(kit_load(&memory[4]), 0);
	n.api->doorbell(n.nic);
	assert_int_equal(kit_load(&memory[4]), 8);
	assert_int_equal(kit_load(&data), 0); /* another way */
	put(&n, 5, 7);
	finish(&n);
	assert_int_equal(kit_load(&memory[5]), 7);
}

static void test_long_copies(void **state)
{
	uint8_t from[500], to[500];
	struct kit_nic n;

	(void)state;
	freeze("adversarial");
	begin(&n);
	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 3 + 1);
	assert_int_equal(n.api->dm_write(n.nic, kit_iova(memory) + 4, from, sizeof(from)),
			 0);
	assert_int_equal(rn_pcie_pending(memory, sizeof(memory)), 500);
	assert_int_equal(n.api->dm_read(n.nic, to, kit_iova(memory) + 4, sizeof(to)), 0);
	assert_memory_equal(from, to, sizeof(to));
	finish(&n);
}

static void test_without_the_layer(void **state)
{
	struct kit_nic n;

	(void)state;
	kit_host_knobs("strict");
	memset(memory, 0, sizeof(memory));
	begin(&n);
	put(&n, 0, 4);
	assert_int_equal(kit_load(&memory[0]), 4);
	assert_int_equal(look(&n, 0), 4);
	n.api->doorbell(n.nic);
	finish(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_accesses_cross_nothing),
		cmocka_unit_test(test_a_read_pushes_what_the_nic_wrote),
		cmocka_unit_test(test_a_read_passes_data_in_another_queue),
		cmocka_unit_test(test_copies_are_posted),
		cmocka_unit_test(test_long_copies),
		cmocka_unit_test(test_without_the_layer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
