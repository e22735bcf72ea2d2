/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_late.c - hold=event: what a request sends that was posted behind a READ
 * or an atomic, from the bytes that the result of this one goes to. Without a fence it
 * sends the old bytes, whenever the result arrives and whenever the NIC reads; with a
 * fence the new ones.
 */
#include <sys/mman.h>

#include "sanitize_kit.h"
#include "sim/pcie/page/page.h"
#include "transport/io/memory/mem_guard.h"

enum {
	PAGE = 4096,
	KEY = 0x500,
	REMOTE = 0x700000,
	OLD = 3,
	NEW = 5,
	WORDS = 4, /* of a source; the result goes to the second */
	RESULT = 1,
	OTHER = 100, /* a word that belongs to no result */
};

static struct kit_nic nic;
static uint64_t *words; /* a page */

/* A queue pair whose events a test plays, in the order of the letters of a text. */
struct play {
	uint32_t qpn, msg;
	struct play *other;	/* queue pair that posts 'X' and 'Y' */
	uint32_t answered;	/* number of the READ or atomic */
	const struct rn_cqe *c; /* its completion */
	uint64_t sent[WORDS];
};

static void post_answered(struct play *p, enum rn_wr_opcode opcode)
{
	p->answered = p->msg++;
	san_post(&nic, p->qpn, p->answered, opcode, &words[RESULT], 8, REMOTE, false);
}

static void post_write(struct play *p, const uint64_t *from, bool fence)
{
	san_post(&nic, p->qpn, p->msg++, RN_WR_RDMA_WRITE, from, WORDS * 8, REMOTE + 64,
		 fence);
}

/* The result arrives, and the completion behind it, which nobody has taken. */
static void answer(struct play *p)
{
	rn_guard_install(); /* cmocka has put handlers before it */
	san_data(&nic, p->qpn, p->answered, &words[RESULT], NEW, RN_MEM_RESPONSE);
	p->c = san_cqe(&nic, p->qpn, p->answered, RN_WC_RDMA_READ, RN_WC_SUCCESS);
}

/* A loop of the program has seen the result in memory. */
static void see_result(void)
{
	struct rn_host *h = rn_host_get();

	rn_host_lock(h);
	rn_san_class_seen(kit_iova(&words[RESULT]), 8);
	rn_host_unlock(h);
}

/* The NIC reads the payload of the newest request. */
static void fetch(struct play *p)
{
	struct rn_mem_attr attr = { .qpn = p->qpn, .msg = p->msg - 1 };
	enum rn_mem_result result =
		nic.api->mem->read(nic.nic, p->sent, kit_iova(words), WORDS * 8, attr, 1);

	assert_int_not_equal(result, RN_MEM_FAULT);
	nic.api->drain(nic.nic, p->qpn);
	kit_collect(&nic);
}

static void play_event(struct play *p, char event)
{
	switch (event) {
	case 'R':
		post_answered(p, RN_WR_RDMA_READ);
		break;
	case 'A':
		post_answered(p, RN_WR_ATOMIC_FETCH_AND_ADD);
		break;
	case 'W':
	case 'F':
		post_write(p, words, event == 'F');
		break;
	case 'X': /* by another queue pair, without a fence and with one */
	case 'Y':
		post_write(p->other, words, event == 'Y');
		break;
	case 'g':
		fetch(p->other);
		memcpy(p->sent, p->other->sent, sizeof(p->sent));
		break;
	case 'O': /* from other memory, with a fence */
		post_write(p, &words[OTHER], true);
		break;
	case 'a':
		answer(p);
		break;
	case 's':
		see_result();
		break;
	case 'c':
		san_take(&nic, p->c, p->qpn, false);
		break;
	case 'f':
		fetch(p);
		break;
	default:
		fail_msg("no event '%c'", event);
	}
}

/* Returns what was sent of the word that the result goes to. */
static uint64_t sent(const char *events)
{
	static uint32_t qpn = 0x100;
	struct play other = { .qpn = qpn += 0x100 };
	struct play p = { .qpn = qpn += 0x100, .other = &other };

	words[RESULT] = OLD;
	for (const char *at = events; *at; at++)
		play_event(&p, *at);
	nic.api->drain(nic.nic, p.qpn); /* forgets what is open */
	nic.api->drain(nic.nic, other.qpn);
	return p.sent[RESULT];
}

static void assert_all(const char *const *orders, uint64_t expected)
{
	for (; *orders; orders++)
		if (sent(*orders) != expected)
			fail_msg("%s sends %s bytes", *orders,
				 expected == OLD ? "new" : "old");
}

static void test_without_a_fence_old_bytes_are_sent(void **state)
{
	static const char *const orders[] = {
		"RWfa", "RWaf", "RaWf",	 "RWacf", "RaWcf", "RWasf",  "RWascf", "AWfa",
		"AWaf", "AaWf", "AWacf", "AaWcf", "AWasf", "AWascf", NULL,
	};

	(void)state;
	assert_all(orders, OLD);
}

/* With one, the core lets the NIC read when the result is there. */
static void test_with_a_fence_new_bytes_are_sent(void **state)
{
	static const char *const orders[] = {
		"RFaf",	 "RaFf",  "RFacf", "RaFcf", "AFaf",  "AaFf",
		"AFacf", "AaFcf", "ROaWf", "RaOWf", "AOaWf", NULL,
	};

	(void)state;
	assert_all(orders, NEW);
}

/* Behind the completion, or once the bytes were seen in memory. */
static void test_who_has_waited_sends_new_bytes(void **state)
{
	static const char *const orders[] = { "RacWf", "AacWf", "RasWf", "AasWf", NULL };

	(void)state;
	assert_all(orders, NEW);
}

/* A fence brings no order between queue pairs. */
static void test_of_another_queue_pair_old_bytes_are_sent(void **state)
{
	static const char *const old[] = { "RXag", "RaXg", "RXacg", "RYag", "RaYg",
					   "AXag", "AaXg", "AXacg", "AaYg", NULL };
	static const char *const new[] = { "RacXg", "RasXg", "AacXg", "AasYg", NULL };

	(void)state;
	assert_all(old, OLD);
	assert_all(new, NEW);
}

/* Of the other bytes of the source, what is there when the NIC reads. */
static void test_only_bytes_of_the_result_are_old(void **state)
{
	struct play p = { .qpn = 0x90000 };

	(void)state;
	words[RESULT] = OLD;
	play_event(&p, 'R');
	play_event(&p, 'W');
	words[RESULT - 1] = 7;
	words[RESULT + 1] = 8;
	play_event(&p, 'a');
	play_event(&p, 'f');
	assert_int_equal(p.sent[RESULT - 1], 7);
	assert_int_equal(p.sent[RESULT], OLD);
	assert_int_equal(p.sent[RESULT + 1], 8);
}

/* Nor is a result that has been waited for, though another READ is open. */
static void test_a_result_that_was_taken_is_a_source_like_others(void **state)
{
	struct play p = { .qpn = 0xa0000 };

	(void)state;
	words[RESULT] = OLD;
	play_event(&p, 'R');
	play_event(&p, 'a');
	play_event(&p, 'c');
	san_post(&nic, p.qpn, p.msg++, RN_WR_RDMA_READ, &words[OTHER], 8, REMOTE, false);
	play_event(&p, 'W');
	words[RESULT] = 9;
	play_event(&p, 'f');
	assert_int_equal(p.sent[RESULT], 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_fence_old_bytes_are_sent),
		cmocka_unit_test(test_with_a_fence_new_bytes_are_sent),
		cmocka_unit_test(test_who_has_waited_sends_new_bytes),
		cmocka_unit_test(test_of_another_queue_pair_old_bytes_are_sent),
		cmocka_unit_test(test_only_bytes_of_the_result_are_old),
		cmocka_unit_test(test_a_result_that_was_taken_is_a_source_like_others),
	};
	int status;

	unsetenv("ROCIN_SANITIZE");
	setenv("ROCIN_PCIE", "adversarial", 1);
	rn_page_calls_link();
	kit_attach(&nic);
	words = (uint64_t *)(void *)kit_map_pages(1);
	if (nic.api->region_add(nic.nic, KEY, kit_iova(words), PAGE, 0xf))
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	nic.api->region_remove(nic.nic, KEY);
	kit_detach(&nic);
	munmap(words, PAGE);
	return status;
}
