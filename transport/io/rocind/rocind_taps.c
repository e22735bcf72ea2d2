/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_taps.c - what a client says and hears about captures. See rocind_client.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rocind_conn.h"
#include "transport/io/capture/capture_ring.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/host/sentence.h"

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
	struct rn_ctl_packet pkt;
	int before, rc;

	if (strlen(ibdev) >= sizeof(msg.ibdev))
		return rn_fail(err, err_len, -EINVAL, "no device has the name %s", ibdev);
	memcpy(msg.ibdev, ibdev, strlen(ibdev));
	before = rn_rocind_cancel_off();
	rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_CAPTURING, &c);
	if (rc == 0)
		rn_ctl_close_fds(&pkt); /* there ought to be none */
	rn_rocind_cancel_restore(before);
	return rc;
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

bool rn_rocind_tap_event(const struct rn_ctl_packet *pkt, struct rn_rocind_event *event)
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

void rn_rocind_close_tap(const struct rn_rocind_tap *tap)
{
	if (tap->ring >= 0)
		close(tap->ring);
	if (tap->stats_fd >= 0)
		close(tap->stats_fd);
}
