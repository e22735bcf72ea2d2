/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sim_incast.c - `rocin sim --incast`: senders at one link, without and with congestion
 * control.
 */
#include "sim_incast.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rocin/common/cmd.h"

enum {
	MODES = 2
};

static const struct {
	enum rn_cc_mode cc;
	const char *name, *title;
} modes[MODES] = {
	{ RN_CC_OFF, "off", "without congestion control" },
	{ RN_CC_ON, "on", "DCQCN" },
};

static void print(const struct rn_incast_result *r)
{
	const struct rn_incast_cfg *c = &r->cfg;

	printf("%u senders begin every %lld ms at a link of %.3g Gbit/s; %lld ms in all, "
	       "shares of the last quarter\n\n%-4s %8s %7s %10s %8s %8s %8s %8s\n",
	       c->senders, (long long)(c->apart / RN_MSEC(1)), (double)c->link.rate / 1e9,
	       (long long)(c->end / RN_MSEC(1)), "CC", "FAIRNESS", "USED", "QUEUE",
	       "DROPPED", "RESENT", "MARKED", "CNPS");
	for (unsigned i = 0; i < MODES; i++)
		printf("%-4s %8.3f %5.1f %% %7.1f kB %8" PRIu64 " %8" PRIu64 " %8" PRIu64
		       " %8" PRIu64 "\n",
		       modes[i].name, r[i].fairness / 1e6, r[i].used / 1e4,
		       r[i].queue_last / 1e3, r[i].dropped, r[i].retransmitted,
		       r[i].marked, r[i].cnps);
}

static json_t *run_json(const struct rn_incast_result *r, const char *name)
{
	json_t *shares = json_array(), *samples = json_array();

	for (uint32_t i = 0; i < r->cfg.senders; i++)
		json_array_append_new(shares, json_integer(r->share[i]));
	for (uint32_t k = 0; k < r->samples; k++) {
		json_t *rates = json_array();

		for (uint32_t i = 0; i < r->cfg.senders; i++)
			json_array_append_new(rates, json_integer(r->sample[k].kbps[i]));
		json_array_append_new(samples,
				      json_pack("{s:o, s:I}", "kbps", rates, "queue",
						(json_int_t)r->sample[k].queue));
	}
	return json_pack("{s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, "
			 "s:o}",
			 "cc", name, "fairness", r->fairness / 1e6, "used", r->used / 1e6,
			 "queue_last", (json_int_t)r->queue_last, "queue_max",
			 (json_int_t)r->queue_max, "dropped", (json_int_t)r->dropped,
			 "retransmitted", (json_int_t)r->retransmitted, "marked",
			 (json_int_t)r->marked, "cnps", (json_int_t)r->cnps, "failed",
			 (json_int_t)r->failed, "share_kbps", shares, "sample_ns",
			 (json_int_t)r->cfg.sample, "samples", samples);
}

static int print_json(const struct rn_incast_result *r)
{
	json_t *runs = json_array();
	json_t *all = json_pack("{s:i, s:I, s:o}", "senders", (int)r->cfg.senders,
				"link_bps", (json_int_t)r->cfg.link.rate, "runs", runs);
	int rc;

	for (unsigned i = 0; i < MODES; i++)
		json_array_append_new(runs, run_json(&r[i], modes[i].name));
	rc = json_dumpf(all, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(all);
	return rc;
}

static int draw(const char *file, const struct rn_incast_result *r)
{
	struct rn_incast_picture p[MODES];
	FILE *to = fopen(file, "we");
	bool ok;

	for (unsigned i = 0; i < MODES; i++)
		p[i] = (struct rn_incast_picture){ modes[i].title, &r[i] };
	if (to)
		rn_incast_draw(to, p, MODES);
	ok = to && !ferror(to);
	if (to && fclose(to))
		ok = false;
	if (!ok)
		rn_complain("%s: %s", file, strerror(errno));
	return ok ? 0 : -1;
}

int rn_sim_incast(const struct rn_sim_incast *args)
{
	struct rn_incast_result *r = calloc(MODES, sizeof(*r));
	struct rn_incast_cfg cfg;
	int rc = r ? 0 : -ENOMEM;

	rn_incast_defaults(&cfg, args->senders);
	cfg.seed = args->seed;
	for (unsigned i = 0; i < MODES && !rc; i++) {
		cfg.cc = modes[i].cc;
		rc = rn_incast_run(&cfg, &r[i]);
	}
	if (rc) {
		rn_complain("%s", strerror(-rc));
	} else {
		if (args->plot)
			rc = draw(args->plot, r);
		if (args->json)
			rc |= print_json(r);
		else
			print(r);
	}
	free(r);
	return rc ? RN_EXIT_FAILURE : 0;
}
