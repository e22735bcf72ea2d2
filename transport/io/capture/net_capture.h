/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_capture.h - middleware that shows every packet of a device to those who capture.
 *
 * Stands next to the wire and hands on what it is given, unchanged. For each capture
 * there is a ring (capture_ring.h); a reader that is slow misses packets, the device
 * never waits for it. The process itself may keep a log (capture_log.h).
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_CAPTURE_H
#define RN_NET_CAPTURE_H

#include "rocin/diagnostic.h"
#include "rocin/net.h"

enum {
	RN_CAPTURES_MAX = 4, /* at the same time */
};

/* What a capture asks for. */
struct rn_capture_filter {
	uint32_t qpn;	  /* of either end; 0: any */
	uint32_t snaplen; /* bytes of a packet, BTH first; 0: all */
};

/* The device that the packets belong to. Called under its lock. */
struct rn_capture_host {
	/* Local QP that sends to @dest_qpn by @flow, or 0. Only of connected QPs. */
	uint32_t (*sender)(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn);
	/* QP that local @qpn is connected to, or 0. */
	uint32_t (*peer)(void *ctx, uint32_t qpn);
};

struct rn_capture;
struct rn_capture_log;

/* @inner must outlive the result. Return: NULL with errno ENOMEM. */
struct rn_capture *rn_capture_new(struct rn_net *inner,
				  const struct rn_capture_host *host, void *host_ctx);

/* Ends all captures. NULL is ignored. */
void rn_capture_free(struct rn_capture *c);

struct rn_net *rn_capture_net(struct rn_capture *c);

/**
 * rn_capture_add() - Begin to write to a ring
 * @id:		Of the capture
 * @fd:		Memory of the ring; stays the caller's
 * @size:	Bytes of its data
 *
 * Return: 0, -EPROTO (no ring), -EMFILE (RN_CAPTURES_MAX are there), or why it cannot be
 *	   mapped.
 */
int rn_capture_add(struct rn_capture *c, uint64_t id, int fd, uint32_t size,
		   const struct rn_capture_filter *filter);

/* End one. Unknown ids are ignored. */
void rn_capture_remove(struct rn_capture *c, uint64_t id);

/* From now on all packets are in @log, too, which belongs to the middleware. */
void rn_capture_set_log(struct rn_capture *c, struct rn_capture_log *log);

/* There is none, and no log: it can be taken away. */
bool rn_capture_is_idle(const struct rn_capture *c);

/**
 * rn_capture_diagnostic() - Say what the device thinks
 * @diagnostic:	Of a packet that is about to be transmitted (is_sent), or of one that the
 *		last receive() gave
 * @rx:		The latter, as receive() gave it or copied
 *
 * About a packet that is not captured: nothing.
 */
void rn_capture_diagnostic(struct rn_capture *c, const struct rn_diagnostic *diagnostic,
			   const struct rn_rx *rx);

/* Is the packet, a BTH at least, an answer? struct rn_diagnostic says so of one sent. */
bool rn_capture_is_response(const uint8_t *packet);

/* All has been said about what was received: let those who capture see all that there is.
 * Happens by itself with the next receive().
 */
void rn_capture_flush(struct rn_capture *c);

/**
 * rn_capture_unsent() - Show a packet that the wire never carries
 * @what:	A diagnostic of RN_DIAGNOSTIC_FAULT: is_sent: dropped by a rule on its way
 *out; else made up by one, and given to the device
 */
void rn_capture_unsent(struct rn_capture *c, const struct rn_diagnostic *what,
		       const struct rn_flow *flow, const uint8_t *packet, uint32_t len);

#endif /* RN_NET_CAPTURE_H */
