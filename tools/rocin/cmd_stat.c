/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_stat.c - `rocin stat`: counters and queue pairs of the programs that are running.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd.h"
#include "gid_text.h"
#include "rocin/qp_types.h"
#include "rocind_client.h"
#include "stats_read.h"

struct stat_args {
	bool json, all, counters_only, qps_only, daemon;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "all", 'a', NULL, 0, "Show counters that are 0 too", 0 },
	{ "counters", 'c', NULL, 0, "Show counters only", 0 },
	{ "qps", 'q', NULL, 0, "Show queue pairs only", 0 },
	{ "daemon", 'd', NULL, 0, "Show rocind instead of its clients", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_args *args = state->input;

	(void)arg;
	switch (key) {
	case 'j':
		args->json = true;
		return 0;
	case 'a':
		args->all = true;
		return 0;
	case 'c':
		args->counters_only = true;
		return 0;
	case 'q':
		args->qps_only = true;
		return 0;
	case 'd':
		args->daemon = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show the counters and queue pairs of every program of this user and "
	       "network "
	       "namespace that has a queue pair on a Rocin device.",
};

/* What is gathered while the list of clients runs. */
struct report {
	const struct stat_args *args;
	json_t *clients;
	unsigned count;
};

static void print_counters(const struct stat_args *args, const struct rn_stats_copy *copy)
{
	for (uint32_t i = 0; i < copy->counter_count; i++)
		if (copy->page.counter[i] || args->all)
			printf("  %-28s %12" PRIu64 "  %s\n", rn_stat_name[i],
			       copy->page.counter[i], rn_stat_help[i]);
}

static const char *const cc_phase[] = { "none", "recovery", "additive", "hyper" };

static const char *cc_phase_name(const struct rn_stats_qp *qp)
{
	return qp->cc_phase < RN_ARRAY_SIZE(cc_phase) ? cc_phase[qp->cc_phase] : "?";
}

/* What congestion control allows and how it goes on from there, if anything is said. */
static void print_rate(const struct rn_stats_qp *qp)
{
	if (!qp->cc_rate)
		printf(" %10s %-8s", "-", "-");
	else if (qp->cc_rate < 1000000)
		printf(" %7.1fM/s %-8s", qp->cc_rate / 1e3, cc_phase_name(qp));
	else
		printf(" %7.2fG/s %-8s", qp->cc_rate / 1e6, cc_phase_name(qp));
}

static void print_qps(const struct rn_stats_copy *copy)
{
	char text[RN_GID_TEXT_MAX];

	if (copy->qp_count == 0)
		return;
	printf("  %-8s %-10s %-5s %5s %5s %10s %10s %7s %10s %-8s  %s\n", "QPN", "TYPE",
	       "STATE", "SQ", "RQ", "SENT", "RECEIVED", "RESENT", "RATE", "CC", "PEER");
	for (uint32_t i = 0; i < copy->qp_count; i++) {
		const struct rn_stats_qp *qp = &copy->qp[i];

		printf("  0x%06" PRIx32 " %-10s %-5s %5" PRIu32 " %5" PRIu32 " %10" PRIu64
		       " %10" PRIu64 " %7" PRIu32,
		       qp->qpn, rn_qp_type_name(qp->type), rn_qp_state_name(qp->state),
		       qp->sq_depth, qp->rq_depth, qp->tx_packets, qp->rx_packets,
		       qp->retransmitted);
		print_rate(qp);
		if (qp->dest_qpn)
			printf("  %s 0x%06" PRIx32, rn_gid_text(&qp->dest_gid, text),
			       qp->dest_qpn);
		putchar('\n');
	}
}

static const char *io_name(const struct rn_stats_copy *copy)
{
	static const char *const names[] = {
		[RN_STATS_IO_PLAIN] = "epoll",
		[RN_STATS_IO_URING] = "uring",
		[RN_STATS_IO_REFUSED] = "uring-refused",
	};

	return copy->page.io < RN_ARRAY_SIZE(names) ? names[copy->page.io] : "?";
}

static void print_client(const struct report *r, const struct rn_rocind_client *c,
			 const struct rn_stats_copy *copy)
{
	char text[RN_GID_TEXT_MAX];

	printf("%s%s  %s  %s  pid %d (%s)  slot %u", r->count ? "\n" : "", c->ibdev,
	       c->ifname, c->gid_count ? rn_gid_text(&c->gid[0], text) : "-", c->pid,
	       copy->page.comm, c->slot);
	if (copy->page.io != RN_STATS_IO_PLAIN)
		printf("  %s", io_name(copy));
	putchar('\n');
	if (!r->args->qps_only)
		print_counters(r->args, copy);
	if (!r->args->counters_only)
		print_qps(copy);
}

static json_t *qp_json(const struct rn_stats_qp *qp)
{
	char text[RN_GID_TEXT_MAX];
	json_t *o = json_pack(
		"{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "qpn", (json_int_t)qp->qpn,
		"type", rn_qp_type_name(qp->type), "state", rn_qp_state_name(qp->state),
		"sq_depth", (json_int_t)qp->sq_depth, "rq_depth",
		(json_int_t)qp->rq_depth, "sent_pkts", (json_int_t)qp->tx_packets,
		"rcvd_pkts", (json_int_t)qp->rx_packets, "retransmitted_pkts",
		(json_int_t)qp->retransmitted);

	json_object_set_new(o, "cc_rate_kbps", json_integer(qp->cc_rate));
	json_object_set_new(o, "cc_phase", json_string(cc_phase_name(qp)));
	if (qp->dest_qpn) {
		json_object_set_new(o, "dest_qpn", json_integer(qp->dest_qpn));
		json_object_set_new(o, "dest_gid",
				    json_string(rn_gid_text(&qp->dest_gid, text)));
	}
	return o;
}

static void add_json(struct report *r, const struct rn_rocind_client *c,
		     const struct rn_stats_copy *copy)
{
	json_t *counters = json_object(), *qps = json_array();

	for (uint32_t i = 0; i < copy->counter_count; i++)
		json_object_set_new(counters, rn_stat_name[i],
				    json_integer((json_int_t)copy->page.counter[i]));
	for (uint32_t i = 0; i < copy->qp_count; i++)
		json_array_append_new(qps, qp_json(&copy->qp[i]));
	json_array_append_new(r->clients,
			      json_pack("{s:s, s:s, s:i, s:s, s:i, s:s, s:o, s:o}",
					"device", c->ibdev, "interface", c->ifname, "pid",
					c->pid, "program", copy->page.comm, "slot",
					(int)c->slot, "io", io_name(copy), "hw_counters",
					counters, "qps", qps));
}

static int on_client(void *ctx, const struct rn_rocind_client *c)
{
	struct report *r = ctx;
	struct rn_stats_copy copy = { 0 };

	/* A client without a readable page is shown all the same: it holds a slot. */
	if (c->stats_fd >= 0) {
		if (rn_stats_read(c->stats_fd, &copy))
			rn_stats_free(&copy);
		close(c->stats_fd);
	}
	if (r->args->json)
		add_json(r, c, &copy);
	else
		print_client(r, c, &copy);
	r->count++;
	rn_stats_free(&copy);
	return 0;
}

static const char *const drop_name[RN_ROCIND_DROP_COUNT] = {
	[RN_ROCIND_DROP_SHORT] = "short",
	[RN_ROCIND_DROP_QP0] = "qp0",
	[RN_ROCIND_DROP_QP1] = "qp1",
	[RN_ROCIND_DROP_RESERVED] = "reserved_qp",
	[RN_ROCIND_DROP_MULTICAST] = "multicast",
	[RN_ROCIND_DROP_UNKNOWN_SLOT] = "unknown_slot",
};

static int show_daemon(struct report *r, struct rn_rocind *daemon, char *err,
		       size_t err_len)
{
	struct rn_rocind_status s;
	json_t *drops, *cm;
	int rc = rn_rocind_status(daemon, &s, err, err_len);

	if (rc)
		return rc;
	r->count++;
	if (!r->args->json) {
		printf("rocind %s  pid %d  %u clients, %u with a slot, %u addresses\n",
		       s.version, s.pid, s.clients - 1, s.attached, s.groups);
		if (s.cm_channels || s.cm_connections || r->args->all)
			printf("  rdma_cm: %u channels, %u ids, %u ports, %u "
			       "connections\n",
			       s.cm_channels, s.cm_ids, s.cm_ports, s.cm_connections);
		for (unsigned i = 0; i < RN_ROCIND_DROP_COUNT; i++)
			if (s.drops[i] || r->args->all)
				printf("  dropped_%-20s %12" PRIu64 "\n", drop_name[i],
				       s.drops[i]);
		return 0;
	}
	drops = json_object();
	for (unsigned i = 0; i < RN_ROCIND_DROP_COUNT; i++)
		json_object_set_new(drops, drop_name[i],
				    json_integer((json_int_t)s.drops[i]));
	cm = json_pack("{s:i, s:i, s:i, s:i}", "channels", (int)s.cm_channels, "ids",
		       (int)s.cm_ids, "ports", (int)s.cm_ports, "connections",
		       (int)s.cm_connections);
	json_array_append_new(
		r->clients,
		json_pack("{s:i, s:s, s:I, s:i, s:i, s:i, s:o, s:o}", "pid", s.pid,
			  "version", s.version, "since", (json_int_t)s.since_s, "clients",
			  (int)s.clients - 1, "attached", (int)s.attached, "addresses",
			  (int)s.groups, "rdma_cm", cm, "dropped", drops));
	return 0;
}

static int show(struct report *r)
{
	char err[512];
	struct rn_rocind *daemon = rn_rocind_connect_running(err, sizeof(err));
	int rc;

	if (!daemon && errno == ENOENT)
		return 0; /* no rocind: nothing is running */
	if (!daemon) {
		rn_complain("%s", err);
		return -1;
	}
	rc = r->args->daemon ? show_daemon(r, daemon, err, sizeof(err))
			     : rn_rocind_list(daemon, on_client, r, err, sizeof(err));
	rn_rocind_close(daemon);
	if (rc)
		rn_complain("%s", err);
	return rc;
}

int rn_cmd_stat(int argc, char **argv)
{
	struct stat_args args = { 0 };
	struct report r = { .args = &args };
	int rc;

	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
		return RN_EXIT_USAGE;
	r.clients = json_array();
	rc = show(&r);
	if (rc == 0 && args.json) {
		rc = json_dumpf(r.clients, stdout, JSON_INDENT(2));
		putchar('\n');
	} else if (rc == 0 && r.count == 0) {
		puts(args.daemon ? "rocind is not running"
				 : "no program has a queue pair on a Rocin device");
	}
	json_decref(r.clients);
	return rc ? RN_EXIT_FAILURE : 0;
}
