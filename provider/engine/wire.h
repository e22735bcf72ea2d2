/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.h - puts the parts together: which memory and which network a device gets, and the
 * captures that come and go while it is in use.
 *
 *	core -> [faults] -> [capture] -> [tap] -> [local wires] -> UDP sockets
 *
 * Tap and capture stand next to the wire: they show what really leaves. Faults and
 * captures come and go while the rest stays.
 */
#ifndef RNP_WIRE_H
#define RNP_WIRE_H

#include <stddef.h>

#include "rocin/net.h"
#include "settings.h"
#include "transport/io/shm/net_local.h"
#include "transport/io/udp/net_udp.h"

struct rn_tap;
struct rn_capture;
struct rn_capture_host;
struct rn_capture_log;
struct rn_fault_host;
struct rn_fault_news;
struct rn_rocind_tap;
struct rnp_engine;

struct rnp_wire {
	/* What the engine uses; NULL before opening and after closing. */
	struct rn_net *net;
	struct rn_udp *udp;
	struct rn_local *local;	    /* or NULL: all by UDP */
	struct rn_tap *tap;	    /* or NULL */
	struct rn_capture *capture; /* or NULL: nobody captures */
	struct rn_capture_log *log; /* of capture, which owns it; or NULL */
	struct rn_fault *fault;	    /* or NULL: nothing is to happen */
};

/**
 * rnp_wire_open() - Build the chain on sockets
 * @w:		Out
 * @cfg:	Sockets; owned from now on, also on failure
 * @local:	Local wires, but for the field @udp; NULL: none
 * @set:	Capture, if it is a classic one
 *
 * Return: 0 or -errno with a sentence.
 */
int rnp_wire_open(struct rnp_wire *w, const struct rn_udp_cfg *cfg,
		  const struct rn_local_cfg *local, const struct rnp_settings *set,
		  char *err, size_t err_len);

/* Put faults in front, which are not there yet; see rn_fault_new(). Return: 0 or -ENOMEM.
 */
int rnp_wire_add_fault(struct rnp_wire *w, bool has_begun, uint64_t *stats,
		       const struct rn_fault_host *host, void *host_ctx);

/* Take them away if they are idle. */
void rnp_wire_remove_fault(struct rnp_wire *w);

/* The same for captures: see rn_capture_new(). */
int rnp_wire_add_capture(struct rnp_wire *w, const struct rn_capture_host *host,
			 void *host_ctx);
void rnp_wire_remove_capture(struct rnp_wire *w);

/* When rnp_wire_flush() should be called, for the captures of this process; RN_NEVER if
 * nothing is buffered.
 */
rn_ns rnp_wire_flush_due(const struct rnp_wire *w);
void rnp_wire_flush(struct rnp_wire *w);

/* The same, and as if no packet came any more: the program may end. */
void rnp_wire_say_last(struct rnp_wire *w);

/* Closes the sockets and ends the capture. Harmless if nothing is open. */
void rnp_wire_close(struct rnp_wire *w);

/* Memory of a device: what and how; see struct rn_dev_cfg. */
struct rn_dev_cfg;
struct rnp_pcie;
void rnp_compose_memory(struct rn_dev_cfg *cfg, const struct rnp_pcie *pcie);

/* ------------------------------------------------------ captures; engine lock held */
/* Begin the log that ROCIN_PCAP asks for, if it does; see rn_capture_log_open(). Return:
 * 0 or -errno with a sentence.
 */
int rnp_capture_start(struct rnp_engine *e, unsigned slot, char *err, size_t err_len);

/* Somebody captures; the descriptor of @tap is closed. What stands in the way is logged.
 */
void rnp_capture_begin(struct rnp_engine *e, const struct rn_rocind_tap *tap);

void rnp_capture_end(struct rnp_engine *e, const struct rn_rocind_tap *tap);

/* Faults have met a packet; @ctx is the engine. */
void rnp_capture_tell(void *ctx, const struct rn_fault_news *news);

#endif /* RNP_WIRE_H */
