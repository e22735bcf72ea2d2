/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_watch_captures.c - Linux rxe keeps the rules in each capture that we have of it.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tools/rocin/kit/capture.h"
#include "tools/dump/watch.h"

/* Feeds all packets; @each may be NULL. */
static struct rn_watch *listen_to(const char *name)
{
	struct rn_watch *w = rn_watch_open(false);
	pcap_t *pcap = open_capture(name);
	const uint8_t *data;
	rn_ns now = 0;
	size_t len = 0;

	assert_non_null(w);
	assert_non_null(pcap);
	while ((data = next_packet(pcap, &len))) {
		struct rn_watch_verdict verdict;
		struct rn_packet p;

		now += RN_MSEC(100); /* longer than each RNR timer in them */
		if (!rn_packet_parse(&p, data, len))
			continue;
		assert_int_equal(p.form, RN_PACKET_WHOLE);
		rn_watch_packet(w, now, &p, &verdict);
		for (unsigned i = 0; i < verdict.findings; i++)
			print_error("%s: %s: %s\n", name,
				    rn_watch_rule_info[verdict.finding[i].rule].name,
				    verdict.finding[i].detail);
		assert_int_equal(verdict.findings, 0);
	}
	pcap_close(pcap);
	return w;
}

static void rxe_breaks_no_rule(void **state)
{
	DIR *dir = opendir(RN_CAPTURES);
	const struct dirent *e;
	unsigned count = 0;

	(void)state;
	assert_non_null(dir);
	while ((e = readdir(dir))) {
		char name[64];
		size_t len = strlen(e->d_name);

		if (len < 5 || len >= sizeof(name) + 5 ||
		    strcmp(e->d_name + len - 5, ".pcap"))
			continue;
		memcpy(name, e->d_name, len - 5);
		name[len - 5] = '\0';
		rn_watch_close(listen_to(name));
		count++;
	}
	closedir(dir);
	assert_true(count >= 15);
}

static const struct rn_watch_counts *counts(const struct rn_watch *w, uint32_t qpn)
{
	for (uint32_t i = 0; i < rn_watch_halves(w); i++)
		if (rn_watch_half(w, i)->qpn == qpn && rn_watch_half(w, i)->n.requests)
			return &rn_watch_half(w, i)->n;
	fail_msg("no requests to 0x%x", qpn);
	return NULL;
}

/* As tests/captures/README.md says. */
static void counts_are_those_that_were_posted(void **state)
{
	struct rn_watch *w = listen_to("rxe-rc-send-multi");
	const struct rn_watch_counts *n;

	(void)state;
	n = counts(w, 0x12);
	assert_int_equal(n->messages, 4);
	assert_int_equal(n->done_bytes, 1024 + 1025 + 2048 + 5001);
	assert_int_equal(n->acks, 4);
	assert_int_equal(n->resent, 0);
	rn_watch_close(w);

	w = listen_to("rxe-rc-read");
	n = counts(w, rn_watch_half(w, 0)->qpn);
	assert_int_equal(n->messages, 6);
	assert_int_equal(n->done_bytes, 0 + 1 + 64 + 1024 + 2048 + 5001);
	rn_watch_close(w);

	w = listen_to("rxe-rc-rnr-fail");
	n = counts(w, 0x1b);
	assert_int_equal(n->messages, 1);
	assert_int_equal(n->rnr_naks, 3);
	assert_int_equal(n->resends[RN_CAUSE_RNR], 2);
	rn_watch_close(w);

	w = listen_to("rxe-rc-read-req-lost");
	n = counts(w, 0x22);
	assert_int_equal(n->resends[RN_CAUSE_TIMEOUT], 1);
	rn_watch_close(w);
}

static void connections_by_the_connection_manager(void **state)
{
	struct rn_watch *w = listen_to("rxe-cm-rping");
	const struct rn_watch_counts *n = counts(w, 0x38);
	unsigned paired = 0;

	(void)state;
	assert_true(n->messages > 3);
	for (uint32_t i = 0; i < rn_watch_halves(w); i++)
		paired += rn_watch_half(w, i)->is_paired;
	assert_int_equal(paired, 2);
	rn_watch_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rxe_breaks_no_rule),
		cmocka_unit_test(counts_are_those_that_were_posted),
		cmocka_unit_test(connections_by_the_connection_manager),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
