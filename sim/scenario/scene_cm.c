/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scene_cm.c - runs the lines of a scenario that are about connections. */
#include <errno.h>
#include <string.h>

#include "describe.h"
#include "scene_internal.h"
#include "sim/pcie/model/text.h"
#include "wanted.h"

/* ------------------------------------------------------------------- messages */
/* The first thing that is not as expected, or NULL. */
static const char *wrong_about_mad(const struct rn_scene *c, const struct rn_scn_line *l,
				   const struct rn_scn_line *want,
				   const struct rn_scene_packet *p, struct rn_text *t)
{
	unsigned kind = l->opcode - RN_CM_REQ;
	struct rn_scn_line came;
	const uint8_t *mad = rn_scene_mad_decode(&c->names, p, &came);
	const char *field;

	if (!mad)
		return "it is no CM message";
	if (came.opcode != l->opcode)
		return "another message";
	field = rn_scene_difference(want, &came);
	if (field) {
		rn_text_add(t, field);
		return " is not as expected";
	}
	if (memcmp(&p->flow.dst, rn_scene_receiver(c, l), sizeof(p->flow.dst)) != 0)
		return "it went to another address";
	if (rn_scn_has(l, RN_F_AGAIN) &&
	    memcmp(mad, c->conn[l->subject].last[1][kind], RN_MAD_LEN) != 0)
		return "it is not the same message again";
	return NULL;
}

bool rn_scene_same_mad(struct rn_scene *c, const struct rn_scn_line *l,
		       const struct rn_scene_packet *p)
{
	struct rn_scn_line want = rn_scene_mad_wanted(&c->conn[l->subject], l);
	const char *wrong;
	struct rn_text t;

	rn_text_init(&t, c->r->what, sizeof(c->r->what));
	wrong = wrong_about_mad(c, l, &want, p, &t);
	if (!wrong)
		return true;
	rn_text_add(&t, wrong);
	c->r->line = l->number;
	rn_describe_mad(&want, want.given, c->r->expected, sizeof(c->r->expected));
	rn_describe_received(p, c->r->came, sizeof(c->r->came));
	return false;
}

void rn_scene_note_mad(struct rn_scene *c, const struct rn_scn_line *l,
		       const struct rn_scene_packet *p)
{
	struct rn_scn_line came;
	const uint8_t *mad = rn_scene_mad_decode(&c->names, p, &came);

	rn_scene_mad_note(&c->conn[l->subject], &came, mad);
}

/* ---------------------------------------------------------- what programs learn */
static const struct rn_scene_cm_event *next_event(const struct rn_scene *c)
{
	return c->ops->cm ? c->ops->cm->event(c->ctx) : NULL;
}

/* A new request may be of any connection that the program knows nothing of yet. */
static bool is_of(const struct rn_scene_cm_event *ev, const struct rn_scn_line *l)
{
	if (ev->type == RN_CM_EV_REQ || ev->type == RN_CM_EV_SIDR_REQ)
		return ev->remote_id == rn_scene_peer_id(l->subject);
	return ev->conn == l->subject;
}

static const char *wrong_about_event(const struct rn_scene *c,
				     const struct rn_scn_line *l,
				     const struct rn_scene_cm_event *ev)
{
	int status = rn_scn_has(l, RN_F_TIMED_OUT)
			     ? -ETIMEDOUT
			     : (int)rn_scn_get(l, RN_F_CM_STATUS, 0);
	bool has_header = (l->name == RN_CM_EV_REQ || l->name == RN_CM_EV_SIDR_REQ) &&
			  rn_cm_service_is_ip(rn_scene_service(&c->s->conn[l->subject]));
	uint32_t skip = has_header ? RN_CM_IP_HDR_LEN : 0;
	uint64_t letters =
		ev->data_len > skip + sizeof(uint64_t)
			? rn_scene_letters_of(ev->data + skip, ev->data_len - skip)
			: 0;

	if (ev->type != l->name)
		return "another event";
	if (!is_of(ev, l))
		return "an event of another connection";
	if (ev->status != status)
		return "another status";
	if (letters != rn_scn_get(l, RN_F_PRIVATE, 0))
		return "other private data";
	if (ev->ari_len != rn_scn_get(l, RN_F_ARI, ev->ari_len))
		return "more or less additional information";
	return NULL;
}

bool rn_scene_expect_cm_event(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = rn_scene_patience(c, rn_scene_time_of(c, l, &l->to));
	const struct rn_scene_cm_event *ev;
	const char *wrong;

	while (!(ev = next_event(c)) && c->ops->now(c->ctx) < until)
		c->ops->run(c->ctx, until);
	if (!ev)
		return rn_scene_fail(c, l, "the program learns of nothing");
	wrong = wrong_about_event(c, l, ev);
	if (wrong) {
		rn_describe_cm_event(ev, c->r->came, sizeof(c->r->came));
		return rn_scene_fail(c, l, wrong);
	}
	if (!rn_scene_in_time(c, l, ev->at))
		return false;
	c->ops->cm->take_event(c->ctx, l->subject);
	return true;
}

bool rn_scene_no_cm_event(struct rn_scene *c, const struct rn_scn_line *l)
{
	const struct rn_scene_cm_event *ev = next_event(c);

	if (!ev)
		return true;
	rn_scene_fail(c, l, "");
	rn_scene_fail_time(c, "the program learns what no line expects, ", c->at, ev->at);
	rn_describe_cm_event(ev, c->r->came, sizeof(c->r->came));
	return false;
}

/* -------------------------------------------------------------- looking at them */
static bool check_state(struct rn_scene *c, const struct rn_scn_line *l,
			const struct rn_cm_info *info)
{
	if (info->state == l->name)
		return true;
	rn_scene_say(c->r->came, sizeof(c->r->came),
		     rn_scn_word_of(rn_scn_cm_states, info->state));
	return rn_scene_fail(c, l, "another state");
}

static bool check_info(struct rn_scene *c, const struct rn_scn_line *l,
		       const struct rn_cm_info *info)
{
	const struct rn_cm_qp *qp = &info->qp;
	const struct {
		enum rn_scn_field field;
		uint64_t value;
	} values[] = {
		{ RN_F_DEST, qp->dest_qpn },
		{ RN_F_EPSN, qp->rq_psn },
		{ RN_F_PSN, qp->sq_psn },
		{ RN_F_MTU, qp->path_mtu },
		{ RN_F_RD, qp->max_rd_atomic },
		{ RN_F_DEST_RD, qp->max_dest_rd_atomic },
		{ RN_F_TIMEOUT, qp->timeout },
		{ RN_F_RETRY, qp->retry_cnt },
		{ RN_F_RNR_RETRY, qp->rnr_retry },
		{ RN_F_QKEY, qp->qkey },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(values); i++) {
		if (values[i].value == rn_scn_get(l, values[i].field, values[i].value))
			continue;
		rn_scene_say(c->r->came, sizeof(c->r->came),
			     rn_scn_fields[values[i].field].name);
		return rn_scene_fail_number(c, l, "the queue pair is told ",
					    values[i].value);
	}
	return true;
}

bool rn_scene_check_cm(struct rn_scene *c, const struct rn_scn_line *l)
{
	const struct rn_cm_info *info;
	uint64_t value;

	if (l->verb == RN_SCN_CM_COUNT) {
		if (!c->ops->cm ||
		    !c->ops->cm->counter(c->ctx, (enum rn_cm_stat)l->name, &value) ||
		    value == rn_scn_get(l, RN_F_BY, 1))
			return true;
		return rn_scene_fail_number(c, l, "the counter is ", value);
	}
	info = c->ops->cm->info(c->ctx, l->subject);
	if (!info)
		return rn_scene_fail(c, l, "there is no such connection");
	return l->verb == RN_SCN_CM_STATE ? check_state(c, l, info)
					  : check_info(c, l, info);
}
