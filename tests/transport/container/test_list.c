/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_list.c - the intrusive list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/container/list.h"

struct item {
	int value;
	struct rn_list link;
};

static int value_of(struct rn_list *node)
{
	return RN_CONTAINER_OF(node, struct item, link)->value;
}

/* The list holds exactly these values, and holds them backwards too. */
static void check_list(struct rn_list *head, const int *want, int count)
{
	struct rn_list *node;
	int i = 0;

	rn_list_for_each (node, head) {
		assert_in_range(i, 0, count - 1);
		assert_int_equal(value_of(node), want[i++]);
		assert_ptr_equal(node->next->prev, node);
		assert_ptr_equal(node->prev->next, node);
	}
	assert_int_equal(i, count);
}

static struct rn_list head;
static struct item items[4];

static int set_up(void **state)
{
	(void)state;
	rn_list_init(&head);
	for (int i = 0; i < 4; i++) {
		items[i].value = i;
		rn_list_init(&items[i].link);
	}
	return 0;
}

static void nodes_come_in_the_order_of_their_insertion(void **state)
{
	(void)state;
	assert_true(rn_list_is_empty(&head));
	rn_list_push_back(&head, &items[1].link);
	rn_list_push_back(&head, &items[2].link);
	rn_list_push_front(&head, &items[0].link);
	rn_list_insert_before(&items[2].link, &items[3].link);
	check_list(&head, (int[]){ 0, 1, 3, 2 }, 4);
	assert_false(rn_list_is_empty(&head));
	assert_int_equal(value_of(rn_list_first(&head)), 0);
	assert_int_equal(value_of(rn_list_last(&head)), 2);
}

static void a_removed_node_is_on_no_list_and_may_be_removed_again(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		rn_list_push_back(&head, &items[i].link);
	rn_list_remove(&items[1].link);
	rn_list_remove(&items[1].link);
	assert_false(rn_list_is_linked(&items[1].link));
	assert_true(rn_list_is_linked(&items[0].link));
	check_list(&head, (int[]){ 0, 2 }, 2);
}

static void pop_empties_the_list_from_the_front(void **state)
{
	(void)state;
	rn_list_push_back(&head, &items[0].link);
	rn_list_push_back(&head, &items[1].link);
	assert_int_equal(value_of(rn_list_pop_front(&head)), 0);
	assert_int_equal(value_of(rn_list_pop_front(&head)), 1);
	assert_null(rn_list_pop_front(&head));
	assert_null(rn_list_first(&head));
	assert_null(rn_list_last(&head));
	assert_false(rn_list_is_linked(&items[0].link));
}

static void splice_moves_all_nodes_behind_the_others(void **state)
{
	struct rn_list other;

	(void)state;
	rn_list_init(&other);
	rn_list_push_back(&head, &items[0].link);
	rn_list_splice_back(&head, &other);
	check_list(&head, (int[]){ 0 }, 1);

	rn_list_push_back(&other, &items[1].link);
	rn_list_push_back(&other, &items[2].link);
	rn_list_splice_back(&head, &other);
	check_list(&head, (int[]){ 0, 1, 2 }, 3);
	assert_true(rn_list_is_empty(&other));

	rn_list_splice_back(&other, &head);
	check_list(&other, (int[]){ 0, 1, 2 }, 3);
	assert_true(rn_list_is_empty(&head));
}

static void nodes_may_be_removed_during_a_safe_walk(void **state)
{
	struct rn_list *node, *tmp;

	(void)state;
	for (int i = 0; i < 4; i++)
		rn_list_push_back(&head, &items[i].link);
	rn_list_for_each_safe (node, tmp, &head) {
		if (value_of(node) % 2 == 0)
			rn_list_remove(node);
	}
	check_list(&head, (int[]){ 1, 3 }, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nodes_come_in_the_order_of_their_insertion,
				       set_up),
		cmocka_unit_test_setup(
			a_removed_node_is_on_no_list_and_may_be_removed_again, set_up),
		cmocka_unit_test_setup(pop_empties_the_list_from_the_front, set_up),
		cmocka_unit_test_setup(splice_moves_all_nodes_behind_the_others, set_up),
		cmocka_unit_test_setup(nodes_may_be_removed_during_a_safe_walk, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
