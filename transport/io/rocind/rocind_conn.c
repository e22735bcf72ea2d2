/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_conn.c - requests, answers and events of one connection. See rocind_conn.h. */
#include "rocind_conn.h"
#include "transport/io/host/own_fd.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/io/host/sentence.h"

/* ---- Events ---- */

static void close_event(const struct rn_rocind_event *event)
{
	if (event->sock >= 0)
		close(event->sock);
	if (event->text >= 0)
		close(event->text);
	if (event->kind == RN_ROCIND_WIRE)
		rn_rocind_close_wire(&event->wire);
	if (event->kind == RN_ROCIND_TAP || event->kind == RN_ROCIND_TAP_SOURCE)
		rn_rocind_close_tap(&event->tap);
}

static void push_event(struct rn_rocind *r, const struct rn_rocind_event *event)
{
	if (r->event_count == RN_ROCIND_EVENT_MAX) {
		close_event(event);
		r->gone = true;
		return;
	}
	r->event[(r->event_head + r->event_count++) % RN_ROCIND_EVENT_MAX] = *event;
}

static bool is_event(const struct rn_ctl_packet *pkt)
{
	return pkt->msg.hdr.type >= RN_CTL_GID_CHANGE;
}

/* Takes the descriptors of @pkt. Return: 0 or -EBADMSG. */
static int accept_event(struct rn_rocind *r, struct rn_ctl_packet *pkt)
{
	struct rn_rocind_event event = { .gid_idx = RN_GID_MAX, .sock = -1, .text = -1 };
	unsigned fds_wanted = 0;

	if (rn_ctl_check(pkt))
		goto bad;
	if (pkt->msg.hdr.type == RN_CTL_GOING_DOWN) {
		r->gone = true;
	} else if (pkt->msg.hdr.type == RN_CTL_PORT) {
		event.kind = pkt->msg.port.up ? RN_ROCIND_PORT_UP : RN_ROCIND_PORT_DOWN;
	} else if (pkt->msg.hdr.type == RN_CTL_FAULTS) {
		event.kind = RN_ROCIND_FAULTS;
		event.generation = pkt->msg.faults.generation;
		fds_wanted = pkt->msg.faults.has_text ? 1 : 0;
	} else if (pkt->msg.hdr.type == RN_CTL_WIRE ||
		   pkt->msg.hdr.type == RN_CTL_WIRE_DOWN) {
		fds_wanted = pkt->msg.hdr.type == RN_CTL_WIRE ? RN_CTL_WIRE_FDS : 0;
		if (!rn_rocind_wire_event(pkt, &event))
			goto bad;
	} else if (pkt->msg.hdr.type >= RN_CTL_TAP &&
		   pkt->msg.hdr.type <= RN_CTL_TAP_END) {
		if (!rn_rocind_tap_event(pkt, &event))
			goto bad;
		fds_wanted = pkt->fd_count;
	} else {
		const struct rn_ctl_gid_change *change = &pkt->msg.gid_change;

		event.kind = change->added ? RN_ROCIND_GID_ADDED : RN_ROCIND_GID_REMOVED;
		event.gid_idx = change->gid_idx;
		event.gid = change->gid;
		fds_wanted = change->added ? 1 : 0;
		if (change->gid_idx >= RN_GID_MAX)
			goto bad;
	}
	if (pkt->fd_count != fds_wanted)
		goto bad;
	if (fds_wanted && event.kind == RN_ROCIND_FAULTS)
		event.text = pkt->fd[0];
	else if (fds_wanted && event.kind == RN_ROCIND_GID_ADDED)
		event.sock = pkt->fd[0];
	if (!r->gone)
		push_event(r, &event);
	return 0;

bad:
	rn_ctl_close_fds(pkt);
	return -EBADMSG;
}

/* The descriptors of a message found no room. A wire or a capture is something that one
 * can do without. Return: 0 or -EMFILE.
 */
static int do_without(struct rn_rocind *r, const struct rn_ctl_packet *pkt)
{
	struct rn_rocind_event event;

	if (rn_ctl_check(pkt))
		return -EBADMSG;
	if (pkt->msg.hdr.type == RN_CTL_TAP)
		return 0;
	if (pkt->msg.hdr.type != RN_CTL_WIRE)
		return -EMFILE;
	rn_rocind_decline_wire(r, &pkt->msg.wire, &event);
	push_event(r, &event);
	return 0;
}

/* ---- One request, one answer ---- */

int rn_rocind_lose(struct rn_rocind *r, int rc, const struct rn_complaint *c)
{
	r->gone = true;
	if (rc == -ETIMEDOUT)
		return rn_fail(c->err, c->err_len, rc,
			       "rocind did not answer within %d ms",
			       rn_rocind_timeout_ms());
	if (rc == -EBADMSG)
		return rn_fail(c->err, c->err_len, rc,
			       "rocind sent something that is not understood");
	if (rc == -EMFILE)
		return rn_fail(c->err, c->err_len, rc,
			       "this process may have no more open files; ulimit -n "
			       "shows how many, and close() or a higher limit helps");
	return rn_fail(c->err, c->err_len, -ECONNRESET, "rocind has ended");
}

/* Next message, waiting until @deadline. */
static int receive_until(struct rn_rocind *r, struct rn_ctl_packet *pkt, rn_ns deadline)
{
	struct pollfd pfd = { .fd = r->sock, .events = POLLIN };

	for (;;) {
		int rc = rn_ctl_receive(r->sock, pkt);

		if (rc != -EAGAIN && rc != -EINTR)
			return rc;
		if (rn_rocind_ms_until(deadline) == 0)
			return -ETIMEDOUT;
		poll(&pfd, 1, rn_rocind_ms_until(deadline));
	}
}

static int refusal(const struct rn_ctl_packet *pkt, const struct rn_complaint *c)
{
	const struct rn_ctl_refused *refused = &pkt->msg.refused;

	if (pkt->msg.hdr.len != sizeof(*refused) || refused->err <= 0)
		return -EBADMSG;
	return rn_fail(c->err, c->err_len, -refused->err, "%.*s",
		       (int)strnlen(refused->text, sizeof(refused->text)), refused->text);
}

/* Return: 0 with an answer of type @want (or @other) in @pkt, whose descriptors are the
 * caller's, or a negative errno with the sentence written.
 */
static int await_answer(struct rn_rocind *r, struct rn_ctl_packet *pkt,
			enum rn_ctl_type want, enum rn_ctl_type other,
			const struct rn_complaint *c)
{
	rn_ns deadline = rn_rocind_now() + RN_MSEC((rn_ns)rn_rocind_timeout_ms());
	int rc;

	for (;;) {
		rc = receive_until(r, pkt, deadline);
		if (rc == -EMFILE && do_without(r, pkt) == 0)
			continue;
		if (rc)
			return rn_rocind_lose(r, rc, c);
		/* A refusal is the same in every version. */
		if (pkt->msg.hdr.type == RN_CTL_REFUSED) {
			rn_ctl_close_fds(pkt);
			rc = refusal(pkt, c);
			return rc == -EBADMSG ? rn_rocind_lose(r, rc, c) : rc;
		}
		if (!is_event(pkt))
			break;
		rc = accept_event(r, pkt);
		if (rc || r->gone)
			return rn_rocind_lose(r, rc ? rc : -ECONNRESET, c);
	}
	if (rn_ctl_check(pkt) == 0 &&
	    (pkt->msg.hdr.type == want || pkt->msg.hdr.type == other))
		return 0;
	rn_ctl_close_fds(pkt);
	return rn_rocind_lose(r, -EBADMSG, c);
}

/* Sends @msg with at most one descriptor and waits for the answer, as await_answer(). */
int rn_rocind_request(struct rn_rocind *r, const void *msg, int fd,
		      struct rn_ctl_packet *pkt, enum rn_ctl_type want,
		      const struct rn_complaint *c)
{
	const enum rn_ctl_type other = want == RN_CTL_CLIENT ? RN_CTL_LIST_END : want;
	int rc;

	if (r->gone)
		return rn_rocind_lose(r, -ECONNRESET, c);
	rc = rn_ctl_send(r->sock, msg, &fd, fd >= 0 ? 1 : 0);
	if (rc == -EAGAIN)
		return rn_rocind_lose(r, -ETIMEDOUT, c);
	if (rc == -EPIPE || rc == -ECONNRESET)
		return rn_rocind_lose(r, rc, c);
	if (rc)
		return rn_fail(c->err, c->err_len, rc,
			       "the message to rocind cannot be sent: %m");
	return await_answer(r, pkt, want, other, c);
}

/* ---- Watching and closing ---- */

int rn_rocind_fd(const struct rn_rocind *r)
{
	return r->sock;
}

int rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *out)
{
	int before = rn_rocind_cancel_off();

	while (!r->gone && r->event_count == 0) {
		struct rn_ctl_packet pkt;
		int rc = rn_ctl_receive(r->sock, &pkt);

		if (rc == -EAGAIN)
			break;
		if (rc == -EINTR || (rc == -EMFILE && do_without(r, &pkt) == 0))
			continue;
		/* Without a request under way nothing but events may come. */
		if (rc == 0 && !is_event(&pkt)) {
			rn_ctl_close_fds(&pkt);
			rc = -EBADMSG;
		}
		if (rc || accept_event(r, &pkt))
			r->gone = true;
	}
	rn_rocind_cancel_restore(before);
	if (r->event_count) {
		*out = r->event[r->event_head];
		r->event_head = (r->event_head + 1) % RN_ROCIND_EVENT_MAX;
		r->event_count--;
		return 0;
	}
	if (!r->gone)
		return -EAGAIN;
	*out = (struct rn_rocind_event){
		.kind = RN_ROCIND_GONE, .gid_idx = RN_GID_MAX, .sock = -1, .text = -1
	};
	return 0;
}

void rn_rocind_close(struct rn_rocind *r)
{
	int before = rn_rocind_cancel_off();

	if (r) {
		for (; r->event_count; r->event_count--) {
			close_event(&r->event[r->event_head]);
			r->event_head = (r->event_head + 1) % RN_ROCIND_EVENT_MAX;
		}
		rn_fd_close(r->sock);
		free(r);
	}
	rn_rocind_cancel_restore(before);
}

void rn_rocind_abandon(struct rn_rocind *r)
{
	/* The daemon sees an end of file only when the parent's copy is closed too. */
	rn_rocind_close(r);
}
