/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_capture.h - a layer in front of the back end, which copies every packet of a device
 * to its captures.
 *
 * The layer passes packets on unchanged. Each capture has a ring (capture_ring.h). If
 * its reader is slow, packets are missing in the capture; the device never waits. The
 * process itself may also keep a log (capture_log.h).
 *
 * Threads: all calls are made under the lock of the engine that owns the layer.
 */
#ifndef RN_NET_CAPTURE_H
#define RN_NET_CAPTURE_H

#include "rocin/diagnostic.h"
#include "rocin/net.h"

enum {
	/* maximum number of captures of one device at the same time */
	RN_CAPTURES_MAX = 4,
};

/* Which packets a capture records, and how much of each. */
struct rn_capture_filter {
	/* Only packets that this queue pair sends or receives are recorded; 0: the
	 * packets of all queue pairs.
	 */
	uint32_t qpn;
	/* number of bytes of a packet that are recorded, from the BTH on; 0: all */
	uint32_t snaplen;
};

/* Functions of the device. Called with the lock of the engine held. */
struct rn_capture_host {
	/* Return: the number of the local QP that is connected to @dest_qpn and sends to
	 * it with the flow @flow; 0 if there is none.
	 */
	uint32_t (*sender)(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn);
	/* Return: number of the QP that the local QP @qpn is connected to, or 0. */
	uint32_t (*peer)(void *ctx, uint32_t qpn);
};

struct rn_capture;
struct rn_capture_log;
struct rn_fault_news;

/* Create the capture layer in front of the back end @inner, which must exist longer than
 * the layer. Return: the layer; or NULL with errno ENOMEM.
 */
struct rn_capture *rn_capture_new(struct rn_net *inner,
				  const struct rn_capture_host *host, void *host_ctx);

/* End all captures and free the layer. NULL is ignored. */
void rn_capture_free(struct rn_capture *c);

struct rn_net *rn_capture_net(struct rn_capture *c);

/**
 * rn_capture_add() - Begin to write to the ring of a capture
 * @id:		Identifies the capture
 * @fd:		Memory of the ring; stays the caller's
 * @size:	Number of data bytes of the ring
 *
 * Return: 0, -EPROTO (@fd is not a ring), -EMFILE (there are RN_CAPTURES_MAX captures
 *	   already), or why the memory cannot be mapped.
 */
int rn_capture_add(struct rn_capture *c, uint64_t id, int fd, uint32_t size,
		   const struct rn_capture_filter *filter);

/* End a capture. Unknown ids are ignored. */
void rn_capture_remove(struct rn_capture *c, uint64_t id);

/* From now on also record all packets in @log, which this layer then owns. */
void rn_capture_set_log(struct rn_capture *c, struct rn_capture_log *log);

/* Return: true if there is neither a capture nor a log, so that the layer can be
 * removed.
 */
bool rn_capture_is_idle(const struct rn_capture *c);

/**
 * rn_capture_diagnostic() - Add a diagnostic of the device to a packet
 * @diagnostic:	About a packet that is about to be transmitted (is_sent), or about one
 *		that the last receive() returned
 * @rx:		The received packet, or a copy of it
 *
 * Does nothing if the packet is not captured.
 */
void rn_capture_diagnostic(struct rn_capture *c, const struct rn_diagnostic *diagnostic,
			   const struct rn_rx *rx);

/* Make all records visible to the readers of captures. Called when no more diagnostics
 * about the packets received last will come. The next receive() does the same.
 */
void rn_capture_flush(struct rn_capture *c);

/* Show in captures what a fault rule has done to a packet: as a diagnostic of the packet
 * or, if the packet never gets to the wire (is_unsent), by recording it. Called by
 * rn_fault_host.tell of a fault layer in front of this one. Does nothing if @c is NULL.
 */
void rn_capture_fault(struct rn_capture *c, const struct rn_fault_news *news);

#endif /* RN_NET_CAPTURE_H */
