/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_forge_cm.c - another user of this host sends messages of the connection manager
 * into connections of rdma_cm, with all their numbers, which this program reads from the
 * packets as somebody on path would. With ROCIN_NEIGHBOURS=all they do what they say;
 * otherwise nothing of it counts.
 *
 * Whether a message has been dropped shows without waiting: an exchange that comes after
 * it goes through the same socket of rocind.
 */
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <unistd.h>

#include "forge_mad.h"
#include "tests/provider/kit/verbs_kit.h"

enum {
	ACTIVE_QPN = 0x12300, /* of queue pairs that are made elsewhere */
	PASSIVE_QPN = 0x45600,
	ATTACKER_QPN = 0x66600,
	ATTACKER_ID = 0x7a7a7a7a,
	RESOLVE_MS = 60000,
	WAIT_MS = 300000, /* longer than on any machine */
	QUIET_MS = 1500,  /* in which three copies of a message would have been sent */
};

static bool succeeds;
static struct sockaddr_in address; /* of the device, and the port of the listener */
static struct rn_gid gid;
static union ibv_gid device;
static struct rdma_event_channel *asker, *asked;
static struct rdma_cm_id *listener;

/* ---- Events of programs ---- */

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel, int ms)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev = NULL;

	if (poll(&p, 1, ms) != 1)
		return NULL;
	assert_int_equal(rdma_get_cm_event(channel, &ev), 0);
	return ev;
}

/* Return: the id of the event; *@qpn, unless NULL: the queue pair that it names. */
static struct rdma_cm_id *expect(struct rdma_event_channel *channel,
				 enum rdma_cm_event_type type, uint32_t *qpn)
{
	struct rdma_cm_event *ev = next_event(channel, WAIT_MS);
	struct rdma_cm_id *id;

	if (!ev)
		fail_msg("no event, and not %s", rdma_event_str(type));
	if (ev->event != type)
		fail_msg("%s, and not %s", rdma_event_str(ev->event),
			 rdma_event_str(type));
	id = ev->id;
	if (qpn)
		*qpn = id->ps == RDMA_PS_UDP ? ev->param.ud.qp_num
					     : ev->param.conn.qp_num;
	rdma_ack_cm_event(ev);
	return id;
}

static void expect_none(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *ev = next_event(channel, 0);

	if (ev)
		fail_msg("%s, and nothing was to happen", rdma_event_str(ev->event));
}

/* ---- Connections ---- */

static struct rdma_cm_id *listen_at(enum rdma_port_space ps)
{
	struct sockaddr_in at = address;
	struct rdma_cm_id *id = NULL;

	at.sin_port = 0;
	assert_int_equal(rdma_create_id(asked, &id, NULL, ps), 0);
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&at), 0);
	assert_int_equal(rdma_listen(id, 8), 0);
	return id;
}

static struct rdma_cm_id *ask_at(const struct rdma_cm_id *to, uint32_t qpn)
{
	struct rdma_conn_param param = { .retry_count = 7, .qp_num = qpn };
	struct sockaddr_in at = address;
	struct rdma_cm_id *id = NULL;

	at.sin_port = rdma_get_src_port((struct rdma_cm_id *)to);
	assert_int_equal(rdma_create_id(asker, &id, NULL, to->ps), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, RESOLVE_MS),
			 0);
	expect(asker, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	assert_int_equal(rdma_resolve_route(id, RESOLVE_MS), 0);
	expect(asker, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	assert_int_equal(rdma_connect(id, &param), 0);
	return id;
}

/* The two ends of a connection, and the messages by which it has been set up. */
static struct {
	struct rdma_cm_id *active, *passive;
	struct rn_cm_msg req, rep;
} c;

static void ask(void)
{
	c.active = ask_at(listener, ACTIVE_QPN);
	c.passive = expect(asked, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	c.req = sniff_mad(RN_CM_REQ);
}

static void accept_it(void)
{
	struct rdma_conn_param param = { .qp_num = PASSIVE_QPN };

	assert_int_equal(rdma_accept(c.passive, &param), 0);
	c.rep = sniff_mad(RN_CM_REP);
}

static void confirm(void)
{
	uint32_t qpn = 0;

	expect(asker, RDMA_CM_EVENT_CONNECT_RESPONSE, &qpn);
	assert_int_equal(qpn, PASSIVE_QPN);
	assert_int_equal(rdma_establish(c.active), 0);
	expect(asked, RDMA_CM_EVENT_ESTABLISHED, NULL);
}

static void establish(void)
{
	ask();
	accept_it();
	confirm();
}

static void destroy(void)
{
	rdma_destroy_id(c.active);
	rdma_destroy_id(c.passive);
}

/* Ends an established connection as programs do. */
static void end_well(void)
{
	assert_int_equal(rdma_disconnect(c.active), 0);
	expect(asked, RDMA_CM_EVENT_DISCONNECTED, NULL);
	assert_int_equal(rdma_disconnect(c.passive), 0);
	expect(asker, RDMA_CM_EVENT_DISCONNECTED, NULL);
	destroy();
}

/* Behind what was sent before, both ways. */
static void exchange(void)
{
	struct rdma_cm_id *id = ask_at(listener, ACTIVE_QPN + 1);
	struct rdma_cm_id *request;
	struct rdma_cm_event *ev;

	for (;;) { /* what the attack brought stays to be looked at */
		ev = next_event(asked, WAIT_MS);
		assert_non_null(ev);
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
		    ev->param.conn.qp_num == ACTIVE_QPN + 1)
			break;
		fail_msg("%s, and nothing was to happen", rdma_event_str(ev->event));
	}
	request = ev->id;
	rdma_ack_cm_event(ev);
	assert_int_equal(rdma_reject(request, NULL, 0), 0);
	expect(asker, RDMA_CM_EVENT_REJECTED, NULL);
	rdma_destroy_id(request);
	rdma_destroy_id(id);
}

/* ---- Forged messages ---- */

static void forge(const struct rn_cm_msg *msg)
{
	struct forgery f;

	forge_mad(&f, msg);
	forger_send(&f);
}

/* What the attack is meant to bring, where it brings anything. */
static bool brings(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
		   uint32_t *qpn)
{
	if (succeeds) {
		expect(channel, type, qpn);
		return true;
	}
	exchange();
	expect_none(asker);
	expect_none(asked);
	return false;
}

static void a_dreq_ends_a_connection(void **state)
{
	(void)state;
	establish();
	forge(&(struct rn_cm_msg){ .attr = RN_CM_DREQ,
				   .dreq = { .local_id = c.rep.rep.remote_id,
					     .remote_id = c.rep.rep.local_id,
					     .remote_qpn = PASSIVE_QPN } });
	if (brings(asked, RDMA_CM_EVENT_DISCONNECTED, NULL))
		destroy();
	else
		end_well();
}

/* As of a peer that has forgotten the connection of its queue pair. */
static void a_req_ends_the_connection_of_its_queue_pair(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	establish();
	msg = c.req;
	msg.req.local_id = ATTACKER_ID;
	forge(&msg);
	if (brings(asker, RDMA_CM_EVENT_DISCONNECTED, NULL)) {
		rdma_disconnect(c.active);
		expect(asked, RDMA_CM_EVENT_DISCONNECTED, NULL);
		destroy();
	} else {
		end_well();
	}
}

static struct rn_cm_msg refusal(uint32_t local_id, uint32_t remote_id)
{
	return (struct rn_cm_msg){ .attr = RN_CM_REJ,
				   .rej = { .local_id = local_id,
					    .remote_id = remote_id,
					    .reason = RN_CM_REJ_CONSUMER } };
}

static void a_rej_refuses_for_the_listener(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	ask();
	msg = refusal(0, c.req.req.local_id);
	forge(&msg);
	if (!brings(asker, RDMA_CM_EVENT_REJECTED, NULL)) {
		accept_it();
		confirm();
		end_well();
		return;
	}
	destroy();
}

static void a_rej_ends_a_connection(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	establish();
	msg = refusal(c.rep.rep.local_id, c.rep.rep.remote_id);
	forge(&msg);
	if (brings(asker, RDMA_CM_EVENT_REJECTED, NULL))
		destroy();
	else
		end_well();
}

static void a_rep_names_another_queue_pair(void **state)
{
	uint32_t qpn = 0;

	(void)state;
	ask();
	forge(&(struct rn_cm_msg){ .attr = RN_CM_REP,
				   .rep = { .local_id = ATTACKER_ID,
					    .remote_id = c.req.req.local_id,
					    .qpn = ATTACKER_QPN } });
	if (brings(asker, RDMA_CM_EVENT_CONNECT_RESPONSE, &qpn)) {
		assert_int_equal(qpn, ATTACKER_QPN);
		destroy();
		return;
	}
	accept_it();
	confirm();
	end_well();
}

static void an_rtu_confirms_for_the_client(void **state)
{
	(void)state;
	ask();
	accept_it();
	forge(&(struct rn_cm_msg){ .attr = RN_CM_RTU,
				   .rtu = { .local_id = c.rep.rep.remote_id,
					    .remote_id = c.rep.rep.local_id } });
	if (succeeds) {
		expect(asked, RDMA_CM_EVENT_ESTABLISHED, NULL);
		expect(asker, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
		destroy();
		return;
	}
	/* The exchange is in the order of the sockets, so its events come last. */
	expect(asker, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL);
	exchange();
	expect_none(asked);
	assert_int_equal(rdma_establish(c.active), 0);
	expect(asked, RDMA_CM_EVENT_ESTABLISHED, NULL);
	end_well();
}

static void a_drep_ends_the_wait_of_who_disconnects(void **state)
{
	(void)state;
	establish();
	assert_int_equal(rdma_disconnect(c.active), 0);
	expect(asked, RDMA_CM_EVENT_DISCONNECTED, NULL);
	forge(&(struct rn_cm_msg){ .attr = RN_CM_DREP,
				   .drep = { .local_id = c.rep.rep.local_id,
					     .remote_id = c.rep.rep.remote_id } });
	if (!brings(asker, RDMA_CM_EVENT_DISCONNECTED, NULL)) {
		assert_int_equal(rdma_disconnect(c.passive), 0);
		expect(asker, RDMA_CM_EVENT_DISCONNECTED, NULL);
	}
	destroy();
}

/* Who asks for time on behalf of the listener makes the client repeat its REQ in half a
 * minute instead of soon: one that has been lost then costs that long.
 */
static void an_mra_keeps_a_client_waiting(void **state)
{
	struct rn_cm_msg msg;

	(void)state;
	ask();
	forge(&(struct rn_cm_msg){ .attr = RN_CM_MRA,
				   .mra = { .local_id = ATTACKER_ID,
					    .remote_id = c.req.req.local_id,
					    .about = RN_CM_ABOUT_REQ,
					    .service_timeout = 24 } });
	if (succeeds) {
		exchange();
		sniff_mad(RN_CM_REJ); /* copies of before are behind us */
		/* One may have left while the MRA was on its way. */
		if (see_mad(RN_CM_REQ, &msg, QUIET_MS))
			assert_false(see_mad(RN_CM_REQ, &msg, QUIET_MS));
	} else {
		msg = sniff_mad(RN_CM_REQ);
		assert_int_equal(msg.req.local_id, c.req.req.local_id);
	}
	rdma_reject(c.passive, NULL, 0);
	expect(asker, RDMA_CM_EVENT_REJECTED, NULL);
	destroy();
}

/* rdma_cm has no way to answer a LAP, and ignores it: whoever sends it. */
static void a_lap_changes_nothing(void **state)
{
	(void)state;
	establish();
	forge(&(struct rn_cm_msg){
		.attr = RN_CM_LAP,
		.lap = { .local_id = c.rep.rep.remote_id,
			 .remote_id = c.rep.rep.local_id,
			 .remote_qpn = PASSIVE_QPN,
			 .alternate = { .local_gid = gid, .remote_gid = gid } } });
	exchange();
	expect_none(asker);
	expect_none(asked);
	end_well();
}

static void a_lookup_is_answered_by_another(void **state)
{
	struct rdma_cm_id *service = listen_at(RDMA_PS_UDP), *id, *request;
	struct rn_cm_msg lookup;
	uint32_t qpn = 0;

	(void)state;
	id = ask_at(service, ACTIVE_QPN);
	request = expect(asked, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	lookup = sniff_mad(RN_CM_SIDR_REQ);
	forge(&(struct rn_cm_msg){
		.attr = RN_CM_SIDR_REP,
		.sidr_rep = { .request_id = lookup.sidr_req.request_id,
			      .status = RN_CM_SIDR_SUCCESS,
			      .qpn = ATTACKER_QPN,
			      .service_id = lookup.sidr_req.service_id } });
	if (!brings(asker, RDMA_CM_EVENT_ESTABLISHED, &qpn)) {
		struct rdma_conn_param param = { .qp_num = PASSIVE_QPN };

		assert_int_equal(rdma_accept(request, &param), 0);
		expect(asker, RDMA_CM_EVENT_ESTABLISHED, &qpn);
	}
	assert_int_equal(qpn, succeeds ? ATTACKER_QPN : PASSIVE_QPN);
	rdma_destroy_id(request);
	rdma_destroy_id(id);
	rdma_destroy_id(service);
}

/* Nothing has to be known for this. */
static void a_listener_is_asked_in_the_name_of_another(void **state)
{
	struct rdma_cm_id *service = listen_at(RDMA_PS_UDP), *request;
	uint8_t data[RN_CM_IP_HDR_LEN];
	const struct rn_cm_ip_hdr hdr = { .src_port = 1, .src = gid, .dst = gid };

	(void)state;
	rn_cm_ip_hdr_emit(data, &hdr);
	forge(&(struct rn_cm_msg){
		.attr = RN_CM_SIDR_REQ,
		.data = data,
		.data_len = sizeof(data),
		.sidr_req = {
			.request_id = ATTACKER_ID,
			.service_id = rn_cm_service_id(
				RN_CM_PS_UDP, ntohs(rdma_get_src_port(service))) } });
	if (succeeds) {
		request = expect(asked, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
		rdma_destroy_id(request);
	} else {
		exchange();
	}
	expect_none(asked);
	rdma_destroy_id(service);
}

/* ---- Start ---- */

static int begin(void **state)
{
	(void)state;
	asker = rdma_create_event_channel();
	asked = rdma_create_event_channel();
	if (!asker || !asked)
		return -1;
	listener = listen_at(RDMA_PS_TCP);
	return sniffer_start(&device);
}

static int end(void **state)
{
	(void)state;
	sniffer_stop();
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(asker);
	rdma_destroy_event_channel(asked);
	return 0;
}

static void find_address(void)
{
	struct ibv_context *ctx = kit_open_device();

	assert_int_equal(ibv_query_gid(ctx, 1, 0, &device), 0);
	memcpy(gid.raw, device.raw, sizeof(gid.raw));
	address = (struct sockaddr_in){ .sin_family = AF_INET };
	memcpy(&address.sin_addr, gid.raw + 12, 4);
	ibv_close_device(ctx);
}

int main(void)
{
#define ONE(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		ONE(a_dreq_ends_a_connection),
		ONE(a_req_ends_the_connection_of_its_queue_pair),
		ONE(a_rej_refuses_for_the_listener),
		ONE(a_rej_ends_a_connection),
		ONE(a_rep_names_another_queue_pair),
		ONE(an_rtu_confirms_for_the_client),
		ONE(a_drep_ends_the_wait_of_who_disconnects),
		ONE(an_mra_keeps_a_client_waiting),
		ONE(a_lap_changes_nothing),
		ONE(a_lookup_is_answered_by_another),
		ONE(a_listener_is_asked_in_the_name_of_another),
	};
	const char *who = getenv("ROCIN_NEIGHBOURS");
	int failed;

	if (forger_start()) {
		printf("skipped: becoming another user needs root\n");
		return 77;
	}
	succeeds = who && strcmp(who, "all") == 0;
	find_address();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	forger_stop();
	return failed;
}
