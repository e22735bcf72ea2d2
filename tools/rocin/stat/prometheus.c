/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* prometheus.c - prints the counters of all devices in the text format of Prometheus. */
#include "prometheus.h"

#include <inttypes.h>
#include <string.h>

#include "rocin/queue_pair.h"
#include "rocin/stats.h"
#include "transport/io/host/gid_sockaddr.h"

static void print_label(FILE *to, const char *name, const char *value)
{
	fprintf(to, "%s=\"", name);
	for (const char *c = value; *c; c++) {
		if (*c == '\n')
			fputs("\\n", to);
		else if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else if ((unsigned char)*c < 0x80)
			fputc(*c, to);
		else
			fputc('?',
			      /* Prometheus expects UTF-8 in labels, but the name of a
			       * program may contain any bytes, so other characters are
			       * replaced.
			       */
			      to);
	}
	fputc('"', to);
}

static void print_labels(FILE *to, const struct rn_stats_client *c)
{
	print_label(to, "device", c->id.ibdev);
	fputc(',', to);
	print_label(to, "interface", c->id.ifname);
	fprintf(to, ",pid=\"%d\",", c->id.pid);
	print_label(to, "program", c->copy.page.comm);
}

static void begin_family(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP rocin_%s %s\n# TYPE rocin_%s %s\n", name, help, name, type);
}

/* -------------------------------------------------------------- metrics of counters */
/* Converts the name of a counter in hw_counters to the name of a metric of Prometheus:
 * "_pkts" at the end becomes "_packets", and "_total" is appended.
 */
static void counter_name(char *name, size_t len, const char *stat)
{
	static const char short_unit[] = "_pkts";
	size_t stem = strlen(stat), unit = sizeof(short_unit) - 1;

	if (stem > unit && strcmp(stat + stem - unit, short_unit) == 0)
		snprintf(name, len, "%.*s_packets_total", (int)(stem - unit), stat);
	else
		snprintf(name, len, "%s_total", stat);
}

static void print_counters(FILE *to, const struct rn_stats_list *list)
{
	char name[80];

	for (unsigned i = 0; i < RN_STAT_COUNT; i++) {
		counter_name(name, sizeof(name), rn_stat_name[i]);
		begin_family(to, name, "counter", rn_stat_help[i]);
		for (size_t k = 0; k < list->count; k++) {
			const struct rn_stats_client *c = &list->client[k];

			if (i >= c->copy.counter_count)
				/* an older version of Rocin, which the program uses,
				 * lacks this counter
				 */
				continue;
			fprintf(to, "rocin_%s{", name);
			print_labels(to, c);
			fprintf(to, "} %" PRIu64 "\n", c->copy.page.counter[i]);
		}
	}
}

/* ----------------------------------------------------------- metrics of queue pairs */
static uint64_t sq_depth(const struct rn_stats_qp *qp)
{
	return qp->sq_depth;
}

static uint64_t rq_depth(const struct rn_stats_qp *qp)
{
	return qp->rq_depth;
}

static uint64_t sent(const struct rn_stats_qp *qp)
{
	return qp->tx_packets;
}

static uint64_t received(const struct rn_stats_qp *qp)
{
	return qp->rx_packets;
}

static uint64_t resent(const struct rn_stats_qp *qp)
{
	return qp->retransmitted;
}

/* Returns the rate limit of the QP in bytes per second, because Prometheus prefers base
 * units. The stats page has it in kbit/s.
 */
static uint64_t rate(const struct rn_stats_qp *qp)
{
	return (uint64_t)qp->cc_rate * 1000 / 8;
}

static const struct qp_family {
	const char *name, *type, *help;
	uint64_t (*value)(const struct rn_stats_qp *qp);
} qp_families[] = {
	{ "qp_send_queue_requests", "gauge", "send work requests not completed",
	  sq_depth },
	{ "qp_receive_queue_requests", "gauge", "receives posted and not consumed",
	  rq_depth },
	{ "qp_sent_packets_total", "counter", "packets sent by a queue pair", sent },
	{ "qp_rcvd_packets_total", "counter", "packets received by a queue pair",
	  received },
	{ "qp_retransmitted_packets_total", "counter",
	  "packets sent again by a queue pair", resent },
	{ "qp_rate_limit_bytes_per_second", "gauge",
	  "what congestion control allows; 0: no limit", rate },
};

/* Prints the properties of a QP that are not numbers, such as its state. They are labels
 * of a metric family of their own, so that a change of state does not begin a new series
 * in the other families.
 */
static void print_qp_info(FILE *to, const struct rn_stats_client *c,
			  const struct rn_stats_qp *qp)
{
	char text[RN_GID_TEXT_MAX];

	fputs("rocin_qp_info{", to);
	print_labels(to, c);
	fprintf(to, ",qpn=\"0x%06" PRIx32 "\",type=\"%s\",state=\"%s\"", qp->qpn,
		rn_qp_type_name(qp->type), rn_qp_state_name(qp->state));
	if (qp->dest_qpn)
		fprintf(to, ",dest_gid=\"%s\",dest_qpn=\"0x%06" PRIx32 "\"",
			rn_gid_text(&qp->dest_gid, text), qp->dest_qpn);
	fputs("} 1\n", to);
}

static void print_qps(FILE *to, const struct rn_stats_list *list)
{
	begin_family(to, "qp_info", "gauge",
		     "a queue pair: type, state, and peer if connected");
	for (size_t k = 0; k < list->count; k++)
		for (uint32_t q = 0; q < list->client[k].copy.qp_count; q++)
			print_qp_info(to, &list->client[k], &list->client[k].copy.qp[q]);
	for (size_t i = 0; i < RN_ARRAY_SIZE(qp_families); i++) {
		const struct qp_family *f = &qp_families[i];

		begin_family(to, f->name, f->type, f->help);
		for (size_t k = 0; k < list->count; k++) {
			const struct rn_stats_client *c = &list->client[k];

			for (uint32_t q = 0; q < c->copy.qp_count; q++) {
				fprintf(to, "rocin_%s{", f->name);
				print_labels(to, c);
				fprintf(to, ",qpn=\"0x%06" PRIx32 "\"} %" PRIu64 "\n",
					c->copy.qp[q].qpn, f->value(&c->copy.qp[q]));
			}
		}
	}
}

/* ---------------------------------------------------------------- metrics of rocind */
static void print_gauge(FILE *to, const char *name, const char *help, uint64_t value)
{
	begin_family(to, name, "gauge", help);
	fprintf(to, "rocin_%s %" PRIu64 "\n", name, value);
}

static void print_daemon(FILE *to, const struct rn_rocind_status *s)
{
	begin_family(to, "rocind_info", "gauge", "rocind: its version and process");
	fputs("rocin_rocind_info{", to);
	print_label(to, "version", s->version);
	fprintf(to, ",pid=\"%d\"} 1\n", s->pid);
	print_gauge(to, "rocind_start_time_seconds", "when rocind started, Unix time",
		    (uint64_t)s->since_s);
	print_gauge(to, "rocind_clients", "programs connected to rocind", s->clients - 1);
	print_gauge(to, "rocind_attached", "of them, those with a queue pair",
		    s->attached);
	print_gauge(to, "rocind_addresses", "device addresses whose port is held",
		    s->groups);
	print_gauge(to, "rocind_cm_channels", "open rdma_cm devices", s->cm_channels);
	print_gauge(to, "rocind_cm_ids", "ids of the connection manager", s->cm_ids);
	print_gauge(to, "rocind_cm_ports", "ports that are taken", s->cm_ports);
	print_gauge(to, "rocind_cm_connections", "connections, those in time-wait too",
		    s->cm_connections);
	begin_family(to, "rocind_dropped_packets_total", "counter",
		     "packets dropped by rocind, by why they are no program's");
	for (unsigned i = 0; i < RN_ROCIND_DROP_COUNT; i++)
		fprintf(to,
			"rocin_rocind_dropped_packets_total{reason=\"%s\"} %" PRIu64 "\n",
			rn_drop_name[i], s->drops[i]);
}

void rn_prometheus_print(FILE *to, const struct rn_stats_list *list,
			 const struct rn_rocind_status *daemon)
{
	print_counters(to, list);
	print_qps(to, list);
	print_gauge(to, "rocind_up", "1 if rocind runs", daemon != NULL);
	if (daemon)
		print_daemon(to, daemon);
}
