/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* receives.c - reports messages for which the other end had no receive, by the RNR NAKs
 * that devices count. Finds them at the end that sends the messages and at the end that
 * lacks receives; the other end may be in another process or on another host. If both
 * ends belong to one process, posts alone show the mistake, and earlier (queues.c).
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "model/model.h"

enum {
	NS_PER_US = 1000,
	NS_PER_MS = 1000000,
	IPV4_AT = 12, /* offset of the IPv4 address in a GID ::ffff:a.b.c.d */
};

/* -------------------------------------------------------------------------- the peer */
static const char *address_text(const union ibv_gid *gid, char *buf, socklen_t len)
{
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)gid))
		return inet_ntop(AF_INET, gid->raw + IPV4_AT, buf, len);
	return inet_ntop(AF_INET6, gid, buf, len);
}

const char *rn_val_receives_text(const struct rn_val *v, const struct rn_val_object *o,
				 struct rn_val_long_text *t)
{
	const struct rn_val_object *own = rn_val_own_target_of(v, o), *far = o->qp.remote;
	uint32_t qpn = o->qp.attr.dest_qp_num;
	char address[INET6_ADDRSTRLEN];

	if (own && !rn_val_has_srq(own))
		(void)snprintf(t->text, sizeof(t->text),
			       "QP %#x of this process, which has posted %llu receives "
			       "so far, of which %u have not been polled",
			       qpn, (unsigned long long)own->qp.recv.posted,
			       own->qp.recv.count);
	else if (own || (far && far->qp.has_remote_srq))
		(void)snprintf(t->text, sizeof(t->text),
			       "QP %#x of %s process, which takes its receives from an "
			       "SRQ",
			       qpn, own ? "this" : "another");
	else if (far)
		(void)snprintf(t->text, sizeof(t->text),
			       "QP %#x of process %u, which has posted %llu receives so "
			       "far",
			       qpn, far->process,
			       (unsigned long long)far->qp.told_receives);
	else
		(void)snprintf(t->text, sizeof(t->text),
			       "QP %#x of %s, on another host or without --validate, of "
			       "which nothing else is known",
			       qpn,
			       address_text(&o->qp.attr.ah_attr.grh.dgid, address,
					    sizeof(address)));
	return t->text;
}

/* ------------------------------------------------------------------------ this end */
/* Finds the oldest message that waited when the newest RNR NAK came, and counts the
 * messages that waited then. Returns NULL if the request that got the NAK is not in the
 * model any more, because its completion was polled.
 */
static const struct rn_val_wr *first_waiting(const struct rn_val_event *e,
					     uint32_t *messages)
{
	const struct rn_val_queue *q = &e->object->qp.send;
	const struct rn_val_wr *first = NULL;
	uint32_t at = 0;

	while (at < q->count && rn_val_queued(q, at)->wr_id != e->rnr.wr_id)
		at++;
	*messages = 0;
	for (uint32_t i = 0; i < e->rnr.waiting && at + i < q->count; i++) {
		const struct rn_val_wr *wr = rn_val_queued(q, at + i);

		if (!rn_val_takes_receive(wr->opcode))
			continue;
		first = first ? first : wr;
		++*messages;
	}
	return first;
}

/* Checks the RNR NAKs that a QP has received. The finding shows the stack of the post,
 * because the stack of the poll, which has noticed the NAKs, would not help.
 */
static void check_received(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;
	struct rn_val_event of_post = *e;
	struct rn_val_long_text peer;
	struct rn_val_text name;
	const struct rn_val_wr *wr;
	uint32_t messages;

	wr = first_waiting(e, &messages);
	if (!wr)
		return;
	of_post.stack = wr->stack;
	rn_val_find2(
		v, &of_post, RN_VAL_QUEUES_RECEIVES_EXHAUSTED, o, rn_val_peer_of(v, o),
		"request %#llx of %s got %u RNR NAK%s, the newest %llu.%03llu ms "
		"before a poll told of it, when %u message%s waited and as many "
		"receives were missing (%u were carried out) at %s",
		(unsigned long long)wr->wr_id, rn_val_name(o, &name),
		e->rnr.received - o->qp.tally.rnr_received,
		e->rnr.received - o->qp.tally.rnr_received == 1 ? "" : "s",
		(unsigned long long)e->rnr.received_ago / NS_PER_MS,
		(unsigned long long)e->rnr.received_ago / NS_PER_US % 1000, messages,
		messages == 1 ? "" : "s", e->rnr.msn, rn_val_receives_text(v, o, &peer));
}

static void check_sent(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;
	const struct rn_val_queue *q = rn_val_receives_of(o);
	bool has_srq = rn_val_has_srq(o);
	struct rn_val_text name, srq, unpolled = { "" };

	if (o->qp.type == IBV_QPT_XRC_RECV) {
		rn_val_find(v, e, RN_VAL_QUEUES_RECEIVES_EXHAUSTED, o,
			    "%s has sent %u RNR NAKs to QP %#x: the SRQ that a message "
			    "was for had no receive",
			    rn_val_name(o, &name), e->rnr.sent - o->qp.tally.rnr_sent,
			    o->qp.attr.dest_qp_num);
		return;
	}

	if (!has_srq)
		(void)snprintf(unpolled.text, sizeof(unpolled.text),
			       ", %u of them by messages that were not polled", q->count);
	rn_val_find2(
		v, e, RN_VAL_QUEUES_RECEIVES_EXHAUSTED, o, o->qp.srq,
		"%s has sent %u RNR NAK%s to QP %#x, the newest %llu.%03llu ms before "
		"%s(): it had no receive for a message. The %llu receives posted to "
		"%s were taken%s",
		rn_val_name(o, &name), e->rnr.sent - o->qp.tally.rnr_sent,
		e->rnr.sent - o->qp.tally.rnr_sent == 1 ? "" : "s",
		o->qp.attr.dest_qp_num, (unsigned long long)e->rnr.sent_ago / NS_PER_MS,
		(unsigned long long)e->rnr.sent_ago / NS_PER_US % 1000, e->verb,
		(unsigned long long)q->posted,
		has_srq ? rn_val_name(o->qp.srq, &srq) : "it", unpolled.text);
}

void rn_val_check_rnr(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_object *o = e->object;
	bool is_inside = rn_val_own_peer_of(v, o) != NULL;

	if (e->rnr.received > o->qp.tally.rnr_received && !o->qp.tally.was_exhausted)
		check_received(v, e);
	if (e->rnr.sent > o->qp.tally.rnr_sent && !is_inside)
		check_sent(v, e);
	o->qp.tally.rnr_received = e->rnr.received;
	o->qp.tally.rnr_sent = e->rnr.sent;
}
