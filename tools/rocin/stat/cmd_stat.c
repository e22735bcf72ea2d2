/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_stat.c - `rocin stat`: counters, queue pairs and other objects of running programs.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prometheus.h"
#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	OPT_PROMETHEUS = 0x100,
	WATCH_MAX = 86400, /* maximum of --watch in seconds */
	NS_PER_S = 1000000000,
};

/* ------------------------------------------------------------- objects of a program */
/* Objects are listed as `rdma resource show' does: a line for each object, with the field
 * names of rdma(8) in the same order. There are two differences. L_Keys and R_Keys are
 * shown, because nobody but the user of the program can read its stats page. Memory
 * windows, which rdma(8) does not list, are shown, too. They are shown without R_Key,
 * because it changes with each bind, and the stats page does not contain it.
 */
/* Kinds of objects: those of enum rn_stats_kind, and queue pairs. A set of kinds is a bit
 * set in which the bit 1u << KIND stands for a kind.
 */
enum {
	RESOURCE_QP = RN_STATS_KIND_COUNT,
	RESOURCE_ALL = (2u << RESOURCE_QP) - 2,
};

static const char *const kind_name[] = {
	[RN_STATS_PD] = "pd",	[RN_STATS_CQ] = "cq", [RN_STATS_MR] = "mr",
	[RN_STATS_SRQ] = "srq", [RN_STATS_MW] = "mw", [RESOURCE_QP] = "qp",
};

/* Returns the set that has only the kind named @word, such as "mr"; 0 if there is no such
 * kind.
 */
static unsigned resource_kind(const char *word)
{
	for (unsigned i = RN_STATS_PD; i < RN_ARRAY_SIZE(kind_name); i++)
		if (strcmp(word, kind_name[i]) == 0)
			return 1u << i;
	return 0;
}

/* Returns true if this version knows the kind of the object. An object of an unknown kind
 * is ignored: a later version of Rocin has written it, or a program has overwritten its
 * stats page.
 */
static bool is_known(const struct rn_stats_object *o)
{
	return o->kind < RN_STATS_KIND_COUNT;
}

static void count_kinds(const struct rn_stats_copy *copy, uint32_t count[RESOURCE_QP + 1])
{
	memset(count, 0, (RESOURCE_QP + 1) * sizeof(*count));
	count[RESOURCE_QP] = copy->qp_count;
	for (uint32_t i = 0; i < copy->object_count; i++)
		if (is_known(&copy->object[i]))
			count[copy->object[i].kind]++;
}

/* Prints how many objects of each kind a program has. */
static void print_resource_counts(const struct rn_stats_copy *copy)
{
	uint32_t count[RESOURCE_QP + 1];

	count_kinds(copy, count);
	for (unsigned i = RN_STATS_PD; i < RN_ARRAY_SIZE(kind_name); i++)
		printf("  %s %" PRIu32, kind_name[i], count[i]);
	if (copy->page.unrecorded)
		printf("  unrecorded %" PRIu32, copy->page.unrecorded);
	putchar('\n');
}

static const char *srq_type(const struct rn_stats_object *o)
{
	return o->type == 0 ? "BASIC" : o->type == 1 ? "XRC" : "UNKNOWN";
}

static void print_object(const struct rn_stats_object *o)
{
	switch (o->kind) {
	case RN_STATS_PD:
		printf("pdn %" PRIu32 " users %" PRIu32 " ctxn %" PRIu32, o->number,
		       o->users, o->ctxn);
		break;
	case RN_STATS_CQ:
		printf("cqn %" PRIu32 " cqe %" PRIu32 " users %" PRIu32
		       " adaptive-moderation off ctxn %" PRIu32,
		       o->number, o->cqe, o->users, o->ctxn);
		break;
	case RN_STATS_MR:
		printf("mrn %" PRIu32 " rkey 0x%" PRIx32 " lkey 0x%" PRIx32
		       " iova 0x%" PRIx64 " mrlen %" PRIu64 " pdn %" PRIu32,
		       o->number, o->key, o->key, o->iova, o->length, o->pdn);
		break;
	case RN_STATS_SRQ:
		printf("srqn %" PRIu32 " type %s users %" PRIu32 " pdn %" PRIu32,
		       o->number, srq_type(o), o->users, o->pdn);
		if (o->cqn)
			printf(" cqn %" PRIu32, o->cqn);
		break;
	case RN_STATS_MW:
		printf("mwn %" PRIu32 " type %" PRIu32 " pdn %" PRIu32, o->number,
		       o->type, o->pdn);
		break;
	default:
		break;
	}
}

static void print_owner(const struct rn_stats_client *client)
{
	printf(" pid %d comm %s\n", (int)client->id.pid, client->copy.page.comm);
}

static void print_qp_lines(const struct rn_stats_client *client)
{
	for (uint32_t i = 0; i < client->copy.qp_count; i++) {
		const struct rn_stats_qp *qp = &client->copy.qp[i];

		printf("link %s/1 lqpn %" PRIu32, client->id.ibdev, qp->qpn);
		if (qp->dest_qpn)
			printf(" rqpn %" PRIu32, qp->dest_qpn);
		printf(" type %s state %s", rn_qp_type_name(qp->type),
		       rn_qp_state_name(qp->state));
		if (qp->pdn)
			printf(" pdn %" PRIu32, qp->pdn);
		print_owner(client);
	}
}

static void print_kind(const struct rn_stats_client *client, unsigned kind)
{
	for (uint32_t i = 0; i < client->copy.object_count; i++) {
		if (client->copy.object[i].kind != kind)
			continue;
		printf("dev %s ", client->id.ibdev);
		print_object(&client->copy.object[i]);
		print_owner(client);
	}
}

/* Prints the objects of a program, of all kinds that are in the set @kinds. */
static void print_resources(const struct rn_stats_client *client, unsigned kinds)
{
	for (unsigned kind = RN_STATS_PD; kind < RN_STATS_KIND_COUNT; kind++)
		if (kinds & 1u << kind)
			print_kind(client, kind);
	if (kinds & 1u << RESOURCE_QP)
		print_qp_lines(client);
}

static json_t *resource_counts_json(const struct rn_stats_copy *copy)
{
	uint32_t count[RESOURCE_QP + 1];
	json_t *o = json_object();

	count_kinds(copy, count);
	for (unsigned i = RN_STATS_PD; i < RN_ARRAY_SIZE(kind_name); i++)
		json_object_set_new(o, kind_name[i], json_integer(count[i]));
	json_object_set_new(o, "unrecorded", json_integer(copy->page.unrecorded));
	return o;
}

static void set_number(json_t *o, const char *name, uint64_t value)
{
	json_object_set_new(o, name, json_integer((json_int_t)value));
}

static void set_hex(json_t *o, const char *name, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_object_set_new(o, name, json_string(text));
}

static json_t *object_json(const struct rn_stats_object *o)
{
	static const char *const number_name[] = {
		[RN_STATS_PD] = "pdn",	 [RN_STATS_CQ] = "cqn", [RN_STATS_MR] = "mrn",
		[RN_STATS_SRQ] = "srqn", [RN_STATS_MW] = "mwn",
	};
	json_t *json = json_object();

	set_number(json, number_name[o->kind], o->number);
	if (o->kind == RN_STATS_CQ)
		set_number(json, "cqe", o->cqe);
	if (o->kind == RN_STATS_SRQ)
		json_object_set_new(json, "type", json_string(srq_type(o)));
	if (o->kind == RN_STATS_MW)
		set_number(json, "type", o->type);
	if (o->kind == RN_STATS_MR) {
		set_hex(json, "rkey", o->key);
		set_hex(json, "lkey", o->key);
		set_hex(json, "iova", o->iova);
		set_number(json, "mrlen", o->length);
		set_hex(json, "access", o->access);
	} else if (o->kind != RN_STATS_MW) {
		set_number(json, "users", o->users);
	}
	if (o->kind != RN_STATS_PD && o->kind != RN_STATS_CQ)
		set_number(json, "pdn", o->pdn);
	if (o->kind == RN_STATS_SRQ && o->cqn)
		set_number(json, "cqn", o->cqn);
	set_number(json, "ctxn", o->ctxn);
	return json;
}

/* Adds an array of objects for each kind in the set @kinds to the JSON object of a
 * program. Queue pairs are left out, because the object has them already.
 */
static void add_resources_json(json_t *to, const struct rn_stats_copy *copy,
			       unsigned kinds)
{
	static const char *const array_name[] = {
		[RN_STATS_PD] = "pds",	 [RN_STATS_CQ] = "cqs", [RN_STATS_MR] = "mrs",
		[RN_STATS_SRQ] = "srqs", [RN_STATS_MW] = "mws",
	};

	for (unsigned kind = RN_STATS_PD; kind < RN_STATS_KIND_COUNT; kind++)
		if (kinds & 1u << kind)
			json_object_set_new(to, array_name[kind], json_array());
	for (uint32_t i = 0; i < copy->object_count; i++) {
		const struct rn_stats_object *o = &copy->object[i];

		if (is_known(o) && kinds & 1u << o->kind)
			json_array_append_new(json_object_get(to, array_name[o->kind]),
					      object_json(o));
	}
}

/* ----------------------------------------- options, and reports of counters and QPs */
struct stat_args {
	bool json, all, counters_only, qps_only, daemon, prometheus;
	/* kinds of RDMA objects to be listed instead of counters and QPs */
	unsigned resources;
	double watch;	/* seconds between reports; 0: one report */
	unsigned count; /* number of reports; 0: no limit */
};

static const struct argp_option options[] = {
	RN_OPTION_JSON(0),
	{ "all", 'a', NULL, 0, "Show counters that are 0 too", 0 },
	{ "counters", 'c', NULL, 0, "Show counters only", 0 },
	{ "qps", 'q', NULL, 0, "Show queue pairs only", 0 },
	{ "resources", 'r', "KIND", OPTION_ARG_OPTIONAL,
	  "List objects as rdma resource show does, of one KIND: pd, cq, qp, mr, srq, mw "
	  "[all]",
	  0 },
	{ "daemon", 'd', NULL, 0, "Show rocind instead of its clients", 0 },
	{ "watch", 'w', "SECONDS", OPTION_ARG_OPTIONAL,
	  "Show it again every SECONDS [1], with what each counter grew by per second",
	  0 },
	{ "count", 'n', "N", 0, "End after N reports; every second without --watch", 0 },
	{ "prometheus", OPT_PROMETHEUS, NULL, 0,
	  "Print all counters, queue pairs and rocind in Prometheus' text format", 0 },
	{ 0 },
};

/* Ends the program with a usage error if the user has given options that exclude each
 * other.
 */
static void check_args(const struct stat_args *args, struct argp_state *state)
{
	if (args->prometheus &&
	    (args->json || args->watch > 0 || args->daemon || args->counters_only ||
	     args->qps_only || args->resources))
		argp_error(state, "--prometheus prints all there is, once, and takes no "
				  "other option");
	if (args->resources && (args->daemon || args->counters_only || args->qps_only))
		argp_error(state, "--resources lists objects, and nothing else");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct stat_args *args = state->input;
	uint64_t count = 0;

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
	case 'r':
		args->resources = arg ? resource_kind(arg) : (unsigned)RESOURCE_ALL;
		if (!args->resources)
			argp_error(state, "\"%s\" is none of pd, cq, qp, mr, srq, mw",
				   arg);
		return 0;
	case 'd':
		args->daemon = true;
		return 0;
	case 'w':
		args->watch = 1;
		if (arg && !rn_read_seconds(arg, 0.01, WATCH_MAX, &args->watch))
			argp_error(state, "\"%s\" is not a number of seconds, 0.01 to %d",
				   arg, WATCH_MAX);
		return 0;
	case 'n':
		if (!rn_read_number(arg, 1, UINT32_MAX, &count))
			argp_error(state, "\"%s\" is not a number of reports", arg);
		args->count = (unsigned)count;
		if (args->watch == 0)
			args->watch = 1;
		return 0;
	case OPT_PROMETHEUS:
		args->prometheus = true;
		return 0;
	case ARGP_KEY_END:
		check_args(args, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Show the counters, queue pairs and other objects of every program of "
	       "this user and "
	       "network "
	       "namespace that has a queue pair on a Rocin device.",
};

/* What the reports contain. @now has the values of the current report. @before has those
 * of the report before it, which are needed to compute rates.
 */
struct report {
	const struct stat_args *args;
	json_t *clients;
	unsigned count;
	struct rn_stats_list now, before;
	double seconds; /* time from @before to @now; 0: this is the first report */
};

static void print_counters(const struct report *r, const struct rn_stats_client *c)
{
	const struct rn_stats_client *old = rn_stats_find(&r->before, c);

	for (uint32_t i = 0; i < c->copy.counter_count; i++) {
		uint64_t value = c->copy.page.counter[i];

		if (!value && !r->args->all)
			continue;
		printf("  %-28s %12" PRIu64, rn_stat_name[i], value);
		/* If the counter is smaller than in the report before, it belongs to a
		 * new process that has the same process id.
		 */
		if (r->args->watch > 0 && old && r->seconds > 0 &&
		    value >= old->copy.page.counter[i])
			printf(" %12.0f/s",
			       (double)(value - old->copy.page.counter[i]) / r->seconds);
		else if (r->args->watch > 0)
			printf(" %14s", "-");
		printf("  %s\n", rn_stat_help[i]);
	}
}

static const char *const cc_phase[] = { "none", "recovery", "additive", "hyper" };

static const char *cc_phase_name(const struct rn_stats_qp *qp)
{
	return qp->cc_phase < RN_ARRAY_SIZE(cc_phase) ? cc_phase[qp->cc_phase] : "?";
}

/* Prints the rate to which congestion control limits the QP, and its phase; "-" if it
 * sets no limit.
 */
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

static void print_realtime(const struct rn_stats_copy *copy)
{
	uint32_t priority = copy->page.realtime;

	if (priority == RN_STATS_REALTIME_REFUSED)
		printf("  realtime-refused");
	else if (priority)
		printf("  realtime %u", priority);
}

/* Returns the real-time priority of the background thread of the program's device; -1 if
 * the kernel has refused one.
 */
static int realtime_of(const struct rn_stats_copy *copy)
{
	uint32_t priority = copy->page.realtime;

	return priority == RN_STATS_REALTIME_REFUSED ? -1 : (int)priority;
}

static void print_client(const struct report *r, const struct rn_stats_client *c)
{
	const struct rn_rocind_client *id = &c->id;
	char text[RN_GID_TEXT_MAX];

	printf("%s%s  %s  %s  pid %d (%s)  slot %u", r->count ? "\n" : "", id->ibdev,
	       id->ifname, id->gid_count ? rn_gid_text(&id->gid[0], text) : "-", id->pid,
	       c->copy.page.comm, id->slot);
	if (c->copy.page.io != RN_STATS_IO_PLAIN)
		printf("  %s", io_name(&c->copy));
	print_realtime(&c->copy);
	putchar('\n');
	if (!r->args->qps_only && !r->args->counters_only)
		print_resource_counts(&c->copy);
	if (!r->args->qps_only)
		print_counters(r, c);
	if (!r->args->counters_only)
		print_qps(&c->copy);
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
	json_t *counters = json_object(), *qps = json_array(), *client;

	for (uint32_t i = 0; i < copy->counter_count; i++)
		json_object_set_new(counters, rn_stat_name[i],
				    json_integer((json_int_t)copy->page.counter[i]));
	for (uint32_t i = 0; i < copy->qp_count; i++)
		json_array_append_new(qps, qp_json(&copy->qp[i]));
	client = json_pack("{s:s, s:s, s:i, s:s, s:i, s:s, s:i, s:o, s:o, s:o}", "device",
			   c->ibdev, "interface", c->ifname, "pid", c->pid, "program",
			   copy->page.comm, "slot", (int)c->slot, "io", io_name(copy),
			   "realtime", realtime_of(copy), "hw_counters", counters, "qps",
			   qps, "resources", resource_counts_json(copy));
	add_resources_json(client, copy, r->args->resources);
	json_array_append_new(r->clients, client);
}

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
				printf("  dropped_%-20s %12" PRIu64 "\n", rn_drop_name[i],
				       s.drops[i]);
		return 0;
	}
	drops = json_object();
	for (unsigned i = 0; i < RN_ROCIND_DROP_COUNT; i++)
		json_object_set_new(drops, rn_drop_name[i],
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

static int show_clients(struct report *r, struct rn_rocind *daemon, char *err,
			size_t err_len)
{
	int rc = rn_stats_gather(daemon, &r->now, err, err_len);

	for (size_t i = 0; rc == 0 && i < r->now.count; i++) {
		const struct rn_stats_client *c = &r->now.client[i];

		if (r->args->json)
			add_json(r, &c->id, &c->copy);
		else if (r->args->resources)
			print_resources(c, r->args->resources);
		else
			print_client(r, c);
		r->count++;
	}
	return rc;
}

static int show_prometheus(struct report *r, struct rn_rocind *daemon, char *err,
			   size_t err_len)
{
	struct rn_rocind_status status;
	int rc = rn_stats_gather(daemon, &r->now, err, err_len);

	if (!rc)
		rc = rn_rocind_status(daemon, &status, err, err_len);
	if (!rc)
		rn_prometheus_print(stdout, &r->now, &status);
	return rc;
}

static int show_report(struct report *r)
{
	char err[512];
	struct rn_rocind *daemon = rn_rocind_connect_running(err, sizeof(err));
	int rc;

	/* Without a rocind, no program has a device. */
	if (!daemon && errno == ENOENT) {
		if (r->args->prometheus)
			rn_prometheus_print(stdout, &r->now, NULL);
		return 0;
	}
	if (!daemon) {
		rn_complain("%s", err);
		return -1;
	}
	if (r->args->prometheus)
		rc = show_prometheus(r, daemon, err, sizeof(err));
	else if (r->args->daemon)
		rc = show_daemon(r, daemon, err, sizeof(err));
	else
		rc = show_clients(r, daemon, err, sizeof(err));
	rn_rocind_close(daemon);
	if (rc)
		rn_complain("%s", err);
	return rc;
}

/* Prints a report. Before the call, r->now has the values of the report before; after the
 * call, it has those of this report.
 */
static int print_report(struct report *r)
{
	const struct stat_args *args = r->args;
	int rc;

	r->count = 0;
	r->clients = json_array();
	if (args->watch > 0 && !args->json && isatty(STDOUT_FILENO))
		/* Escape sequences that move the cursor to the upper left and erase
		 * the rest.
		 */
		fputs("\033[H\033[J", stdout);
	rc = show_report(r);
	if (rc == 0 && args->json) {
		/* With --watch each report is one line of JSON, so that a reader can
		 * parse line by line.
		 */
		rc = json_dumpf(r->clients, stdout,
				args->watch > 0 ? JSON_COMPACT : JSON_INDENT(2));
		putchar('\n');
	} else if (rc == 0 && r->count == 0 && !args->prometheus) {
		puts(args->daemon ? "rocind is not running"
				  : "no program has a queue pair on a Rocin device");
	}
	json_decref(r->clients);
	rn_stats_list_free(&r->before);
	r->before = r->now;
	r->now = (struct rn_stats_list){ 0 };
	return rc;
}

static void advance(struct timespec *t, double seconds)
{
	uint64_t ns = (uint64_t)t->tv_nsec + (uint64_t)(seconds * NS_PER_S);

	t->tv_sec += (time_t)(ns / NS_PER_S);
	t->tv_nsec = (long)(ns % NS_PER_S);
}

/* Prints reports until the requested number is reached, or until standard output is
 * closed.
 */
static int watch(struct report *r)
{
	struct timespec due;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &due);
	for (unsigned n = 1;; n++) {
		rc = print_report(r);
		if (fflush(stdout) || ferror(stdout) || rc || n == r->args->count)
			break;
		r->seconds = r->args->watch;
		advance(&due, r->args->watch);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) ==
		       EINTR)
			;
		if (!r->args->json && !isatty(STDOUT_FILENO))
			putchar('\n');
	}
	return rc;
}

int rn_cmd_stat(int argc, char **argv)
{
	struct stat_args args = { 0 };
	struct report r = { .args = &args };
	int rc;

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	rc = args.watch > 0 ? watch(&r) : print_report(&r);
	rn_stats_list_free(&r.before);
	return rc ? RN_EXIT_FAILURE : 0;
}
