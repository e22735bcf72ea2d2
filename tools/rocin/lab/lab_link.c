/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_link.c - what a cable does to packets, in the words of the kernel's queueing
 * disciplines (tc-netem(8), tc-tbf(8)), of rocin-fault(5), and of people; and what leads
 * to which host.
 */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_net.h"

enum {
	PPM = 1000000,
	NETEM_LIMIT = 20000, /* packets on their way: 40 Gbit/s with a delay of 1 ms */
	TBF_BURST_MIN = 16 << 10,
	TBF_QUEUE = 4 << 20, /* bytes that wait, as in a switch of the larger kind */
	/* With netem a packet overtakes by not being delayed, so that there must be a
	 * delay.
	 */
	REORDER_DELAY_US = 100,
};

static void begin(struct rn_nl_msg *m, int index)
{
	const struct tcmsg tc = { .tcm_ifindex = index,
				  .tcm_parent = TC_H_ROOT,
				  .tcm_handle = TC_H_MAKE(1u << 16, 0) };

	rn_nl_begin(m, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &tc, sizeof(tc));
}

/* A probability as netem has it: 2^32 - 1 is certain. */
static uint32_t chance(uint32_t ppm)
{
	return (uint32_t)(((uint64_t)ppm * UINT32_MAX + PPM / 2) / PPM);
}

static void put_rate(struct rn_nl_msg *m, uint64_t bytes)
{
	struct tc_netem_rate rate = { .rate = bytes < UINT32_MAX ? (uint32_t)bytes
								 : UINT32_MAX };

	if (bytes >= UINT32_MAX)
		rn_nl_put(m, TCA_NETEM_RATE64, &bytes, sizeof(bytes));
	rn_nl_put(m, TCA_NETEM_RATE, &rate, sizeof(rate));
}

void rn_lab_netem_msg(struct rn_nl_msg *m, int index, const struct rn_lab_link *link)
{
	const struct tc_netem_qopt opt = { .limit = NETEM_LIMIT,
					   .loss = chance(link->loss),
					   .gap = link->reorder ? 1 : 0 };
	const struct tc_netem_reorder reorder = { .probability = chance(link->reorder) };
	int64_t delay = link->delay;
	size_t options;

	if (link->reorder && !delay)
		delay = RN_USEC(REORDER_DELAY_US);
	begin(m, index);
	rn_nl_put_text(m, TCA_KIND, "netem");
	options = rn_nl_nest(m, TCA_OPTIONS);
	rn_nl_put_raw(m, &opt, sizeof(opt));
	if (delay)
		rn_nl_put(m, TCA_NETEM_LATENCY64, &delay, sizeof(delay));
	if (link->reorder)
		rn_nl_put(m, TCA_NETEM_REORDER, &reorder, sizeof(reorder));
	if (link->rate)
		put_rate(m, link->rate / 8);
	rn_nl_nest_end(m, options);
}

void rn_lab_tbf_msg(struct rn_nl_msg *m, int index, const struct rn_lab_link *link)
{
	uint64_t bytes = link->rate / 8, burst = bytes / 1000; /* of a millisecond */
	struct tc_tbf_qopt opt = {
		.rate = { .linklayer = TC_LINKLAYER_ETHERNET,
			  .rate = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX },
	};
	size_t options;

	if (burst < TBF_BURST_MIN)
		burst = TBF_BURST_MIN;
	if (burst < link->mtu + 64)
		burst = link->mtu + 64;
	opt.limit = (uint32_t)burst + TBF_QUEUE;
	begin(m, index);
	rn_nl_put_text(m, TCA_KIND, "tbf");
	options = rn_nl_nest(m, TCA_OPTIONS);
	rn_nl_put(m, TCA_TBF_PARMS, &opt, sizeof(opt));
	rn_nl_put_u32(m, TCA_TBF_BURST, (uint32_t)burst);
	if (bytes >= UINT32_MAX)
		rn_nl_put(m, TCA_TBF_RATE64, &bytes, sizeof(bytes));
	rn_nl_nest_end(m, options);
}

/* ------------------------------------------------------------------------- as text */
struct text {
	char *at;
	size_t len, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt,
						      ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->used, t->len - t->used, fmt, ap);
	va_end(ap);
	t->used += n < 0 ? 0 : (size_t)n;
	assert(t->used < t->len);
}

int rn_lab_link_rules(const struct rn_lab_link *link, unsigned host, char *text,
		      size_t len)
{
	unsigned long long seed = link->seed * RN_LAB_HOSTS_MAX + host;
	struct text t = { .at = text, .len = len };

	text[0] = '\0';
	if (link->loss)
		add(&t, "drop tx chance=%u.%04u%%\n", link->loss / 10000,
		    link->loss % 10000);
	if (link->delay)
		add(&t, "delay=%lluus tx\n",
		    (unsigned long long)((link->delay + 999) / 1000));
	if (link->reorder)
		add(&t, "reorder tx chance=%u.%04u%%\n", link->reorder / 10000,
		    link->reorder % 10000);
	if (t.used)
		add(&t, "seed=%llu\n", seed);
	return (int)t.used;
}

static void add_rate(struct text *t, uint64_t rate)
{
	static const struct {
		uint64_t one;
		const char *unit;
	} units[] = { { 1000000000, "Gbit/s" },
		      { 1000000, "Mbit/s" },
		      { 1000, "kbit/s" },
		      { 1, "bit/s" } };
	size_t i = 0;

	while (rate < units[i].one)
		i++;
	add(t, "%.6g %s", (double)rate / (double)units[i].one, units[i].unit);
}

int rn_lab_link_text(const struct rn_lab_link *link, char *text, size_t len)
{
	struct text t = { .at = text, .len = len };

	text[0] = '\0';
	if (link->loss)
		add(&t, "%sloss %g %%", t.used ? ", " : "", link->loss / 1e4);
	if (link->delay)
		add(&t, "%sdelay %g us", t.used ? ", " : "", (double)link->delay / 1e3);
	if (link->reorder)
		add(&t, "%sreorder %g %%", t.used ? ", " : "", link->reorder / 1e4);
	if (link->rate) {
		add(&t, "%srate ", t.used ? ", " : "");
		add_rate(&t, link->rate);
	}
	return (int)t.used;
}

int rn_lab_host_number(const char *name, unsigned hosts)
{
	static const char *const prefixes[] = { "h", RN_LAB_NET4, RN_LAB_NET6 };
	static const int bases[] = { 10, 10, 16 };

	for (size_t i = 0; i < RN_ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);
		char *end;
		unsigned long n;

		if (strncmp(name, prefixes[i], len) != 0 || name[len] == '0' ||
		    !strchr("0123456789abcdef", name[len]))
			continue;
		n = strtoul(name + len, &end, bases[i]);
		if ((*end == '\0' || (i == 0 && !strcmp(end, "-v6"))) && n >= 1 &&
		    n <= hosts)
			return (int)n - 1;
	}
	return -1;
}
