/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tap.c - middleware that records every packet. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pcap_frame.h"
#include "rocin/icrc.h"
#include "tap_file.h"
#include "transport/io/host/sentence.h"

struct rn_tap {
	struct rn_net net;
	struct rn_net *inner;
	struct rn_tap_file *file;
	rn_ns flush_due;
	uint8_t record[65536];
};

static rn_ns monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void record(struct rn_tap *t, const struct rn_flow *flow, uint16_t ip_id,
		   const uint8_t *packet, uint32_t len)
{
	size_t hdr = rn_frame_headers(t->record, flow, ip_id, packet, len);

	if (hdr + len > sizeof(t->record))
		return;
	memcpy(t->record + hdr, packet, len);
	rn_tap_file_write(t->file, t->record, (uint32_t)(hdr + len));
}

static void after_records(struct rn_tap *t)
{
	rn_ns now = monotonic();

	if (t->flush_due == RN_NEVER)
		t->flush_due = now + RN_MSEC(1000);
	else if (now >= t->flush_due)
		rn_tap_flush(t);
}

static int tap_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_tap *t = ctx;
	bool gso = t->inner->gso;
	uint16_t i = 0;
	int err = t->inner->ops->transmit(t->inner->ctx, super);

	t->net.gso = t->inner->gso;
	if (err)
		return err;
	for (uint32_t at = 0; at < super->len; at += super->seg_len, i++) {
		uint32_t left = super->len - at;

		record(t, super->flow, rn_super_ip_id(&super->outlet, gso, i),
		       super->data + at, left < super->seg_len ? left : super->seg_len);
	}
	after_records(t);
	return 0;
}

/* The identification that the ICRC speaks of. */
static uint16_t find_ip_id(const struct rn_rx *rx)
{
	struct rn_icrc_hint hint = { 0 };

	return rn_icrc_check(&hint, rx->flow, rx->data, rx->len, rx->gro_idx, false) ==
			       RN_ICRC_BAD
		       ? 0
		       : hint.last_id;
}

static int tap_receive(void *ctx, struct rn_rx *rx)
{
	struct rn_tap *t = ctx;
	int n = t->inner->ops->receive(t->inner->ctx, rx);

	for (int i = 0; i < n; i++)
		record(t, rx[i].flow, find_ip_id(&rx[i]), rx[i].data, rx[i].len);
	if (n > 0)
		after_records(t);
	return n;
}

static struct rn_outlet tap_outlet(void *ctx, const struct rn_flow *flow,
				   uint32_t sgid_index, uint32_t dest_slot)
{
	const struct rn_tap *t = ctx;

	return rn_net_outlet(t->inner, flow, sgid_index, dest_slot);
}

static const struct rn_net_ops tap_ops = {
	.transmit = tap_transmit,
	.outlet = tap_outlet,
	.receive = tap_receive,
};

struct rn_tap *rn_tap_open(const char *path, struct rn_net *inner, char *err,
			   size_t err_len)
{
	struct rn_tap *t = calloc(1, sizeof(*t));

	if (!t) {
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for a capture");
		return NULL;
	}
	t->file = rn_tap_file_open(path, err, err_len);
	if (!t->file) {
		int saved = errno;

		free(t);
		errno = saved;
		return NULL;
	}
	t->net = (struct rn_net){ .ops = &tap_ops, .ctx = t, .gso = inner->gso };
	t->inner = inner;
	t->flush_due = RN_NEVER;
	return t;
}

void rn_tap_close(struct rn_tap *t)
{
	if (!t)
		return;
	rn_tap_file_close(t->file);
	free(t);
}

struct rn_net *rn_tap_net(struct rn_tap *t)
{
	return &t->net;
}

rn_ns rn_tap_flush_due(const struct rn_tap *t)
{
	return t->flush_due;
}

void rn_tap_flush(struct rn_tap *t)
{
	rn_tap_file_flush(t->file);
	t->flush_due = RN_NEVER;
}

const char *rn_tap_path(const struct rn_tap *t)
{
	return rn_tap_file_path(t->file);
}
