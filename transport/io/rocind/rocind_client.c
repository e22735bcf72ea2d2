/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_client.c - one connection to rocind: its events, its requests and their answers.
 * See rocind_client.h; rocind_start.c opens the connection.
 */
#include "rocind_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rocin/netdev.h"
#include "rocind_conn.h"
#include "transport/io/capture/capture_ring.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"

/* ---- Events from rocind ---- */

static struct rn_rocind_ends ends_of(const struct rn_ctl_ends *ends)
{
	return (struct rn_rocind_ends){ .local = ends->local,
					.peer = ends->peer,
					.peer_slot = ends->peer_slot };
}

/* Fill in @event from a message about a local wire (shared memory). Return: false if the
 * message is not valid.
 */
static bool read_wire_event(const struct rn_ctl_packet *pkt,
			    struct rn_rocind_event *event)
{
	const struct rn_ctl_wire *up = &pkt->msg.wire;
	const struct rn_ctl_wire_down *down = &pkt->msg.wire_down;

	if (pkt->msg.hdr.type == RN_CTL_WIRE_DOWN) {
		event->kind = RN_ROCIND_WIRE_DOWN;
		event->ends = ends_of(&down->ends);
		event->err = down->err;
		return down->err >= 0;
	}
	if (pkt->fd_count != RN_CTL_WIRE_FDS || up->role > 1 ||
	    up->bit >= RN_CTL_WIRES_MAX || up->peer_bit >= RN_CTL_WIRES_MAX)
		return false;
	event->kind = RN_ROCIND_WIRE;
	event->ends = ends_of(&up->ends);
	event->wire = (struct rn_rocind_wire){
		.role = up->role,
		.bit = up->bit,
		.peer_bit = up->peer_bit,
		.no_icrc = up->no_icrc == 1,
		.rings = pkt->fd[RN_CTL_WIRE_RINGS],
		.peer_page = pkt->fd[RN_CTL_WIRE_PEER_PAGE],
		.peer_event = pkt->fd[RN_CTL_WIRE_PEER_EVENT],
		.page = pkt->fd[RN_CTL_WIRE_PAGE],
		.event = pkt->fd[RN_CTL_WIRE_EVENT],
	};
	return true;
}

/* Called when this process has no room for the descriptors of a local wire (shared
 * memory) that rocind has made: declines the wire, and turns @event into "no local
 * wire".
 */
static void decline_wire(struct rn_rocind *r, const struct rn_ctl_wire *wire,
			 struct rn_rocind_event *event)
{
	*event = (struct rn_rocind_event){ .kind = RN_ROCIND_WIRE_DOWN,
					   .gid_idx = RN_GID_MAX,
					   .sock = -1,
					   .text = -1,
					   .ends = ends_of(&wire->ends),
					   .err = EMFILE };
	/* If this message does not reach rocind, the peer will find that the ring stays
	 * full, and send by UDP.
	 */
	(void)rn_rocind_drop_wire(r, &event->ends);
}

static bool read_tap(const struct rn_ctl_packet *pkt, struct rn_rocind_tap *tap)
{
	const struct rn_ctl_tap *msg = &pkt->msg.tap;

	if (pkt->fd_count != 1 || !rn_capture_is_size(msg->size))
		return false;
	tap->id = msg->id;
	tap->qpn = msg->qpn;
	tap->snaplen = msg->snaplen;
	tap->size = msg->size;
	tap->ring = pkt->fd[0];
	return true;
}

static bool read_source(const struct rn_ctl_packet *pkt, struct rn_rocind_tap *tap)
{
	const struct rn_ctl_tap_source *msg = &pkt->msg.tap_source;

	if (pkt->fd_count != (msg->has_stats ? 2 : 1) || !rn_capture_is_size(msg->size))
		return false;
	tap->id = msg->id;
	tap->pid = msg->pid;
	tap->slot = msg->slot;
	tap->size = msg->size;
	snprintf(tap->ibdev, sizeof(tap->ibdev), "%.*s", (int)sizeof(msg->ibdev) - 1,
		 msg->ibdev);
	snprintf(tap->ifname, sizeof(tap->ifname), "%.*s", (int)sizeof(msg->ifname) - 1,
		 msg->ifname);
	tap->ring = pkt->fd[0];
	tap->stats_fd = msg->has_stats ? pkt->fd[1] : -1;
	return true;
}

/* Fill in @event from a message about a capture. The event then owns the descriptors of
 * the message. Return: true; false if the message is not valid.
 */
static bool read_tap_event(const struct rn_ctl_packet *pkt, struct rn_rocind_event *event)
{
	struct rn_rocind_tap *tap = &event->tap;

	*tap = (struct rn_rocind_tap){ .ring = -1, .stats_fd = -1 };
	switch (pkt->msg.hdr.type) {
	case RN_CTL_TAP:
		event->kind = RN_ROCIND_TAP;
		return read_tap(pkt, tap);
	case RN_CTL_TAP_SOURCE:
		event->kind = RN_ROCIND_TAP_SOURCE;
		return read_source(pkt, tap);
	default:
		event->kind = RN_ROCIND_TAP_END;
		tap->id = pkt->msg.tap_end.id;
		return pkt->fd_count == 0;
	}
}

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

/* Return: true if @pkt is a second answer to an earlier request, which a successor of
 * rocind may have given. (An answer with number 0 does not say which request it answers,
 * and does not count as late.)
 */
static bool is_late(const struct rn_rocind *r, const struct rn_ctl_packet *pkt,
		    bool awaits_answer)
{
	uint32_t seq = pkt->msg.hdr.seq;

	return !is_event(pkt) && seq != 0 && (!awaits_answer || seq != r->awaited);
}

/* Queue the event that @pkt reports. The event then owns the descriptors of @pkt. Return:
 * 0; -EBADMSG if the message is not valid.
 */
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
		if (!read_wire_event(pkt, &event))
			goto bad;
	} else if (pkt->msg.hdr.type >= RN_CTL_TAP &&
		   pkt->msg.hdr.type <= RN_CTL_TAP_END) {
		if (!read_tap_event(pkt, &event))
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

/* Handle a message whose descriptors were closed, because this process may have no more
 * descriptors. If it offers a local wire (shared memory), declines that. If it asks for
 * packets to be captured, ignores it. Return: 0; -EMFILE for any other message.
 */
static int go_without_fds(struct rn_rocind *r, const struct rn_ctl_packet *pkt)
{
	struct rn_rocind_event event;

	if (rn_ctl_check(pkt))
		return -EBADMSG;
	if (pkt->msg.hdr.type == RN_CTL_TAP)
		return 0;
	if (pkt->msg.hdr.type != RN_CTL_WIRE)
		return -EMFILE;
	decline_wire(r, &pkt->msg.wire, &event);
	push_event(r, &event);
	return 0;
}

/* ---- Sending requests and awaiting answers ---- */

/* Called when the connection has failed with @rc: stops using it, and writes an error
 * text. Return: @rc if it is -ETIMEDOUT, -EBADMSG or -EMFILE; otherwise rocind has
 * ended, and this returns -ECONNRESET.
 */
static int lose_connection(struct rn_rocind *r, int rc, const struct rn_complaint *c)
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

/* Receive the next message, waiting until @deadline. */
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

static int read_refusal(const struct rn_ctl_packet *pkt, const struct rn_complaint *c)
{
	const struct rn_ctl_refused *refused = &pkt->msg.refused;

	if (pkt->msg.hdr.len != sizeof(*refused) || refused->err <= 0)
		return -EBADMSG;
	return rn_fail(c->err, c->err_len, -refused->err, "%.*s",
		       (int)strnlen(refused->text, sizeof(refused->text)), refused->text);
}

/* Receive messages until the answer to the request comes: a message of type @want or
 * @other. Return: 0 with the answer in @pkt, whose descriptors the caller owns; or
 * -errno, with an error text.
 */
static int await_answer(struct rn_rocind *r, struct rn_ctl_packet *pkt,
			enum rn_ctl_type want, enum rn_ctl_type other,
			const struct rn_complaint *c)
{
	rn_ns deadline = rn_rocind_now() + RN_MSEC((rn_ns)rn_rocind_timeout_ms());
	int rc;

	for (;;) {
		rc = receive_until(r, pkt, deadline);
		if (rc == -EMFILE && go_without_fds(r, pkt) == 0)
			continue;
		if (rc)
			return lose_connection(r, rc, c);
		if (is_late(r, pkt, true)) {
			rn_ctl_close_fds(pkt);
			continue;
		}
		/* The layout of a refusal is the same in every version. */
		if (pkt->msg.hdr.type == RN_CTL_REFUSED) {
			rn_ctl_close_fds(pkt);
			rc = read_refusal(pkt, c);
			return rc == -EBADMSG ? lose_connection(r, rc, c) : rc;
		}
		if (!is_event(pkt))
			break;
		rc = accept_event(r, pkt);
		if (rc || r->gone)
			return lose_connection(r, rc ? rc : -ECONNRESET, c);
	}
	if (rn_ctl_check(pkt) == 0 &&
	    (pkt->msg.hdr.type == want || pkt->msg.hdr.type == other))
		return 0;
	rn_ctl_close_fds(pkt);
	return lose_connection(r, -EBADMSG, c);
}

/* Return: the number of the next request, which is never 0. */
static uint32_t next_seq(struct rn_rocind *r)
{
	if (++r->seq == 0)
		r->seq = 1;
	return r->seq;
}

int rn_rocind_request(struct rn_rocind *r, const void *msg, int fd,
		      struct rn_ctl_packet *pkt, enum rn_ctl_type want,
		      const struct rn_complaint *c)
{
	const enum rn_ctl_type other = want == RN_CTL_CLIENT ? RN_CTL_LIST_END : want;
	union rn_ctl_msg numbered;
	int rc;

	if (r->gone)
		return lose_connection(r, -ECONNRESET, c);
	memcpy(&numbered, msg, ((const struct rn_ctl_hdr *)msg)->len);
	r->awaited = numbered.hdr.seq = next_seq(r);
	rc = rn_ctl_send(r->sock, &numbered, &fd, fd >= 0 ? 1 : 0);
	if (rc == -EAGAIN)
		return lose_connection(r, -ETIMEDOUT, c);
	if (rc == -EPIPE || rc == -ECONNRESET)
		return lose_connection(r, rc, c);
	if (rc)
		return rn_fail(c->err, c->err_len, rc,
			       "the message to rocind cannot be sent: %m");
	return await_answer(r, pkt, want, other, c);
}

/* ---- Reading events, and closing the connection ---- */

int rn_rocind_fd(const struct rn_rocind *r)
{
	return r->sock;
}

int rn_rocind_event(struct rn_rocind *r, struct rn_rocind_event *out)
{
	int before = rn_rocind_cancel_off();

	while (!r->gone && r->event_count == 0) {
		struct rn_ctl_packet pkt = { .fd_count = 0 };
		int rc = rn_ctl_receive(r->sock, &pkt);

		if (rc == -EAGAIN)
			break;
		if (rc == -EINTR || (rc == -EMFILE && go_without_fds(r, &pkt) == 0))
			continue;
		if (rc == 0 && is_late(r, &pkt, false)) {
			rn_ctl_close_fds(&pkt);
			continue;
		}
		/* No request waits for an answer now, so only events are valid. */
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
	/* For rocind the connection continues when the child closes its copy of the
	 * socket: it ends when the parent closes its own.
	 */
	rn_rocind_close(r);
}

/* ---- Requests about devices, ids and rocind itself ---- */

static int request_attach(struct rn_rocind *r, const struct rn_netdev *dev, int stats_fd,
			  struct rn_attach *out, const struct rn_complaint *c)
{
	struct rn_ctl_attach msg = { .hdr = rn_ctl_hdr(RN_CTL_ATTACH),
				     .ifindex = dev->ifindex,
				     .gid_count = dev->gid_count,
				     .up = dev->up,
				     .all_addresses = dev->all_addresses,
				     .wires = r->takes_wires,
				     .no_icrc = r->takes_no_icrc };
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	const struct rn_ctl_attached *answer = &pkt.msg.attached;
	int rc;

	if (dev->gid_count == 0 || dev->gid_count > RN_GID_MAX)
		return rn_fail(c->err, c->err_len, -EINVAL,
			       "a device needs 1 to %d addresses", RN_GID_MAX);
	snprintf(msg.ibdev, sizeof(msg.ibdev), "%s", dev->ibdev);
	snprintf(msg.ifname, sizeof(msg.ifname), "%s", dev->ifname);
	memcpy(msg.gid, dev->gid, dev->gid_count * sizeof(msg.gid[0]));
	rc = rn_rocind_request(r, &msg, stats_fd, &pkt, RN_CTL_ATTACHED, c);
	if (rc)
		return rc;
	if (answer->slot < 1 || answer->slot > RN_CTL_SLOT_MAX ||
	    answer->qpn_counter < 1 || answer->qpn_counter > UINT16_MAX ||
	    answer->own_port > UINT16_MAX || answer->sock_count != dev->gid_count ||
	    pkt.fd_count != dev->gid_count) {
		rn_ctl_close_fds(&pkt);
		return lose_connection(r, -EBADMSG, c);
	}
	*out = (struct rn_attach){ .slot = answer->slot,
				   .qpn_counter = answer->qpn_counter,
				   .qpn_secret = answer->qpn_secret,
				   .own_port = (uint16_t)answer->own_port,
				   .sock_count = pkt.fd_count };
	memcpy(out->sock, pkt.fd, pkt.fd_count * sizeof(out->sock[0]));
	return 0;
}

int rn_rocind_attach(struct rn_rocind *r, const struct rn_netdev *dev, int stats_fd,
		     struct rn_attach *out, char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	int before = rn_rocind_cancel_off();
	int rc = request_attach(r, dev, stats_fd, out, &c);

	rn_rocind_cancel_restore(before);
	return rc;
}

/* Send a request that is no more than a header, and wait for an answer of type @want
 * that is no more than a header. Return: 0 or -errno.
 */
static int plain_request(struct rn_rocind *r, enum rn_ctl_type type,
			 enum rn_ctl_type want, const struct rn_complaint *c)
{
	const struct rn_ctl_hdr msg = rn_ctl_hdr(type);
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	int before = rn_rocind_cancel_off();
	int rc = rn_rocind_request(r, &msg, -1, &pkt, want, c);

	if (rc == 0)
		rn_ctl_close_fds(&pkt);
	rn_rocind_cancel_restore(before);
	return rc;
}

int rn_rocind_open_cm(struct rn_rocind *r, const char *netdevs, int *board, char *err,
		      size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	struct rn_ctl_cm_open msg = { .hdr = rn_ctl_hdr(RN_CTL_CM_OPEN) };
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	int rc, before;

	*board = -1;
	if (strlen(netdevs) >= sizeof(msg.netdevs))
		return rn_fail(err, err_len, -EINVAL, "too long a list of devices");
	memcpy(msg.netdevs, netdevs, strlen(netdevs));
	before = rn_rocind_cancel_off();
	rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_CM_OPENED, &c);
	if (rc == 0 && (pkt.fd_count < 1 || pkt.fd_count > 2)) {
		rn_ctl_close_fds(&pkt);
		rc = lose_connection(r, -EBADMSG, &c);
	} else if (rc == 0) {
		rc = rn_fd_raise(pkt.fd[0]);
		if (pkt.fd_count == 2)
			*board = pkt.fd[1];
	}
	rn_rocind_cancel_restore(before);
	return rc;
}

/* Reads the ids in a file. Ignores an incomplete one at its end. */
static int read_cm_ids(int fd, struct rn_ctl_cm_id **ids, size_t *count)
{
	struct rn_ctl_cm_id *read;
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) < 0)
		return -errno;
	read = malloc((size_t)st.st_size + 1);
	if (!read)
		return -ENOMEM;
	len = pread(fd, read, (size_t)st.st_size, 0);
	*count = len > 0 ? (size_t)len / sizeof(*read) : 0;
	*ids = read;
	for (size_t i = 0; i < *count; i++)
		read[i].ibdev[sizeof(read[i].ibdev) - 1] = '\0';
	return 0;
}

int rn_rocind_list_cm_ids(struct rn_rocind *r, struct rn_ctl_cm_id **ids, size_t *count,
			  char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	const struct rn_ctl_hdr msg = rn_ctl_hdr(RN_CTL_CM_LIST);
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	int before = rn_rocind_cancel_off();
	int rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_CM_LISTED, &c);

	if (rc == 0) {
		rc = pkt.fd_count == 1 ? read_cm_ids(pkt.fd[0], ids, count)
				       : lose_connection(r, -EBADMSG, &c);
		rn_ctl_close_fds(&pkt);
	}
	rn_rocind_cancel_restore(before);
	return rc;
}

int rn_rocind_detach(struct rn_rocind *r, char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };

	return plain_request(r, RN_CTL_DETACH, RN_CTL_DETACHED, &c);
}

int rn_rocind_shutdown(struct rn_rocind *r, char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	int rc = plain_request(r, RN_CTL_SHUTDOWN, RN_CTL_STOPPING, &c);

	if (rc == 0)
		r->gone = true;
	return rc;
}

int rn_rocind_replace(struct rn_rocind *r, uint32_t records, int end, char *err,
		      size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	const struct rn_ctl_replace msg = { .hdr = rn_ctl_hdr(RN_CTL_REPLACE),
					    .records = records,
					    .version = ROCIN_VERSION };
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	int before = rn_rocind_cancel_off();
	int rc = rn_rocind_request(r, &msg, end, &pkt, RN_CTL_REPLACING, &c);

	if (rc == 0)
		rn_ctl_close_fds(&pkt);
	/* An older rocind does not know this request. */
	if (rc == -EBADMSG)
		rc = rn_fail(err, err_len, -EPROTO,
			     "the rocind that runs is too old to hand over; it goes on "
			     "until its programs have ended, or until rocin stop");
	rn_rocind_cancel_restore(before);
	return rc;
}

int rn_rocind_status(struct rn_rocind *r, struct rn_rocind_status *out, char *err,
		     size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	const struct rn_ctl_hdr msg = rn_ctl_hdr(RN_CTL_STATUS);
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	const struct rn_ctl_status_reply *answer = &pkt.msg.status;
	int before = rn_rocind_cancel_off();
	int rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_STATUS_REPLY, &c);

	static_assert((int)RN_ROCIND_DROP_COUNT <= (int)RN_CTL_DROP_MAX, "drops fit");
	if (rc == 0) {
		rn_ctl_close_fds(&pkt);
		*out = (struct rn_rocind_status){ .pid = answer->pid,
						  .since_s = answer->since_s,
						  .idle_ms = answer->idle_ms,
						  .clients = answer->clients,
						  .attached = answer->attached,
						  .groups = answer->groups,
						  .cm_channels = answer->cm_channels,
						  .cm_ids = answer->cm_ids,
						  .cm_ports = answer->cm_ports,
						  .cm_connections =
							  answer->cm_connections };
		snprintf(out->version, sizeof(out->version), "%.*s",
			 (int)sizeof(answer->version) - 1, answer->version);
		memcpy(out->drops, answer->drops, sizeof(out->drops));
	}
	rn_rocind_cancel_restore(before);
	return rc;
}

/* Ask for the next client of the list. Return: 0 with the client in @out and @cursor
 * advanced; 1 at the end of the list; or -errno.
 */
static int next_client(struct rn_rocind *r, struct rn_ctl_list *cursor,
		       struct rn_rocind_client *out, const struct rn_complaint *c)
{
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	const struct rn_ctl_client *answer = &pkt.msg.client;
	int rc = rn_rocind_request(r, cursor, -1, &pkt, RN_CTL_CLIENT, c);

	if (rc)
		return rc;
	if (pkt.msg.hdr.type == RN_CTL_LIST_END) {
		rn_ctl_close_fds(&pkt);
		return 1;
	}
	if (answer->id <= cursor->after || answer->gid_count > RN_GID_MAX ||
	    pkt.fd_count != (answer->has_stats ? 1 : 0)) {
		rn_ctl_close_fds(&pkt);
		return lose_connection(r, -EBADMSG, c);
	}
	cursor->after = answer->id;
	*out = (struct rn_rocind_client){ .pid = answer->pid,
					  .slot = answer->slot,
					  .gid_count = answer->gid_count,
					  .stats_fd = pkt.fd_count ? pkt.fd[0] : -1 };
	memcpy(out->gid, answer->gid, sizeof(out->gid));
	snprintf(out->ibdev, sizeof(out->ibdev), "%.*s", (int)sizeof(answer->ibdev) - 1,
		 answer->ibdev);
	snprintf(out->ifname, sizeof(out->ifname), "%.*s",
		 (int)sizeof(answer->ifname) - 1, answer->ifname);
	return 0;
}

int rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
		   char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	struct rn_ctl_list cursor = { .hdr = rn_ctl_hdr(RN_CTL_LIST) };

	for (;;) {
		struct rn_rocind_client client;
		int before = rn_rocind_cancel_off();
		int rc = next_client(r, &cursor, &client, &c);

		rn_rocind_cancel_restore(before);
		if (rc)
			return rc > 0 ? 0 : rc;
		rc = on_client(ctx, &client);
		if (rc)
			return rc;
	}
}

/* ---- Requests about local wires ---- */

static_assert((int)RN_ROCIND_WIRES_MAX == (int)RN_CTL_WIRES_MAX, "same wires");

void rn_rocind_take_wires(struct rn_rocind *r, bool no_icrc)
{
	r->takes_wires = true;
	r->takes_no_icrc = no_icrc;
}

static int send_about_wire(struct rn_rocind *r, enum rn_ctl_type type,
			   const struct rn_rocind_ends *ends, bool lost)
{
	struct rn_ctl_wire_ask msg = { .hdr = rn_ctl_hdr(type),
				       .ends = { .local = ends->local,
						 .peer = ends->peer,
						 .peer_slot = ends->peer_slot,
						 .lost = lost } };
	int before, rc;

	if (r->gone)
		return -ECONNRESET;
	msg.hdr.seq = next_seq(r);
	before = rn_rocind_cancel_off();
	rc = rn_ctl_send(r->sock, &msg, NULL, 0);
	rn_rocind_cancel_restore(before);
	return rc == 0 || rc == -EAGAIN ? rc : -ECONNRESET;
}

int rn_rocind_ask_wire(struct rn_rocind *r, const struct rn_rocind_ends *ends, bool lost)
{
	return send_about_wire(r, RN_CTL_WIRE_ASK, ends, lost);
}

int rn_rocind_drop_wire(struct rn_rocind *r, const struct rn_rocind_ends *ends)
{
	return send_about_wire(r, RN_CTL_WIRE_DROP, ends, false);
}

void rn_rocind_close_wire(const struct rn_rocind_wire *wire)
{
	close(wire->rings);
	close(wire->peer_page);
	close(wire->peer_event);
	close(wire->page);
	close(wire->event);
}

/* ---- Requests about captures ---- */

static_assert((int)RN_CTL_CAPTURES_MAX == (int)RN_CAPTURES_MAX, "as many for a device");

int rn_rocind_capture(struct rn_rocind *r, const struct rn_rocind_capture *what,
		      char *err, size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	struct rn_ctl_capture msg = { .hdr = rn_ctl_hdr(RN_CTL_CAPTURE),
				      .pid = what->pid,
				      .qpn = what->qpn,
				      .snaplen = what->snaplen,
				      .size = what->size };
	const char *ibdev = what->ibdev ? what->ibdev : "";
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	int before, rc;

	if (strlen(ibdev) >= sizeof(msg.ibdev))
		return rn_fail(err, err_len, -EINVAL, "no device has the name %s", ibdev);
	memcpy(msg.ibdev, ibdev, strlen(ibdev));
	before = rn_rocind_cancel_off();
	rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_CAPTURING, &c);
	if (rc == 0)
		/* this answer has no descriptors; closes any that came nevertheless */
		rn_ctl_close_fds(&pkt);
	rn_rocind_cancel_restore(before);
	return rc;
}

void rn_rocind_close_tap(const struct rn_rocind_tap *tap)
{
	if (tap->ring >= 0)
		close(tap->ring);
	if (tap->stats_fd >= 0)
		close(tap->stats_fd);
}

/* ---- Requests about fault rules ---- */

/* Fill in @out from the answer. @out then owns the descriptor of the answer. Return: 0
 * or -errno.
 */
static int take_faults(struct rn_rocind *r, struct rn_ctl_packet *pkt,
		       struct rn_rocind_faults *out, const struct rn_complaint *c)
{
	const struct rn_ctl_faults_reply *answer = &pkt->msg.faults_reply;

	if (pkt->fd_count != (answer->has_text ? 1 : 0)) {
		rn_ctl_close_fds(pkt);
		return lose_connection(r, -EBADMSG, c);
	}
	*out = (struct rn_rocind_faults){ .generation = answer->generation,
					  .fd = pkt->fd_count ? pkt->fd[0] : -1 };
	memcpy(out->seen, answer->seen, sizeof(out->seen));
	memcpy(out->hits, answer->hits, sizeof(out->hits));
	return 0;
}

int rn_rocind_faults(struct rn_rocind *r, struct rn_rocind_faults *out, char *err,
		     size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	const struct rn_ctl_hdr msg = rn_ctl_hdr(RN_CTL_FAULTS_GET);
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	int before = rn_rocind_cancel_off();
	int rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_FAULTS_REPLY, &c);

	if (rc == 0)
		rc = take_faults(r, &pkt, out, &c);
	rn_rocind_cancel_restore(before);
	return rc;
}

int rn_rocind_set_faults(struct rn_rocind *r, struct rn_rocind_faults *now, int fd,
			 const uint8_t from[RN_ROCIND_RULES_MAX], char *err,
			 size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	struct rn_ctl_faults_set msg = { .hdr = rn_ctl_hdr(RN_CTL_FAULTS_SET),
					 .generation = now->generation };
	struct rn_ctl_packet pkt = { .fd_count = 0 };
	int before = rn_rocind_cancel_off();
	int rc;

	static_assert((int)RN_ROCIND_RULES_MAX == (int)RN_CTL_RULES_MAX, "same rules");
	memcpy(msg.from, from, sizeof(msg.from));
	rc = rn_rocind_request(r, &msg, fd, &pkt, RN_CTL_FAULTS_REPLY, &c);
	if (rc == 0)
		rc = take_faults(r, &pkt, now, &c);
	rn_rocind_cancel_restore(before);
	return rc;
}
