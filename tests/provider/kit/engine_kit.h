/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine_kit.h - creates queue pairs directly on engines, without verbs.
 *
 * A device of the kit has an address that no other test uses. The test creates the
 * sockets of its engine by kit_attach_alone(), or rocind does so by rnp_engine_attach().
 * The functions take the locks as the verbs do, and fail the test on errors.
 */
#ifndef RNP_ENGINE_KIT_H
#define RNP_ENGINE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "provider/engine/engine.h"
#include "provider/engine/engine_internal.h"
#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/work_request.h"

enum {
	KIT_DEVICES = 2, /* number of devices, "rocin0" and "rocin1" */
	KIT_CQES = 256,
	KIT_WRS = 128,
	KIT_BUF = 1 << 16,
	KIT_KEY = 0x123401,
	KIT_WAIT_MS = 300000, /* time limit in ms, longer than any wait of a test */
};

/* One side of a connection: an engine with a CQ, a QP and a buffer that is registered
 * with all rights.
 */
struct kit_end {
	struct rnp_engine *e;
	struct rn_gid gid;
	struct rn_cq cq;
	struct rn_cqe *ring;
	uint32_t taken; /* number of CQEs that kit_poll() has taken */
	struct rn_qp *qp;
	struct rn_stats_qp *stats;
	void *qp_mem;
	uint32_t qpn;
	struct rn_mr mr;
	uint8_t *buf; /* buffer of KIT_BUF bytes */
	bool is_armed;

	/* The hooks write these members, under the engine's lock. */
	int event_fd; /* counts completion events */
	/* events of the device, as bits 1 << enum ibv_event_type */
	_Atomic uint32_t async;
	/* events of the QP, as bits 1 << enum rn_async_event */
	_Atomic uint32_t qp_async;
};

/* Sets ROCIN_NETDEVS for KIT_DEVICES devices. Their addresses are numbers @base and @base
 * + 1 of this test.
 */
void kit_environment(unsigned base);

/* Opens the engine of device @n, without attaching it. */
void kit_open(struct kit_end *k, unsigned n);

/* Attaches the engine without rocind, with sockets of its own and slot 1. */
void kit_attach_alone(struct kit_end *k);

/* Creates the CQ, the buffer and the RC queue pair. The engine must be attached. */
void kit_make_qp(struct kit_end *k);

/* Connects the QP to @peer_qpn at @peer_gid, and brings it to RTS, with ACK timeout
 * 2^@timeout * 4 us and 7 retries.
 */
void kit_connect(struct kit_end *k, const struct rn_gid *peer_gid, uint32_t peer_qpn,
		 uint8_t timeout);

/* Opens both ends in this process, attaches them without rocind, and creates and connects
 * their QPs.
 */
void kit_pair(struct kit_end k[2], uint8_t timeout);

/* Destroys the QP, its CQ and its region. The engine stays open. */
void kit_destroy_qp(struct kit_end *k);

/* Destroys all objects and closes the engine. */
void kit_close(struct kit_end *k);
void kit_close_pair(struct kit_end k[2]);

/* Posts a request for the first @len bytes of the buffer. @opcode: SEND, or WRITE or READ
 * at address @remote_addr of the peer.
 */
void kit_post_send(struct kit_end *k, enum rn_wr_opcode opcode, uint32_t len,
		   uint64_t remote_addr);
void kit_post_send_locked(struct kit_end *k, enum rn_wr_opcode opcode, uint32_t len,
			  uint64_t remote_addr);
void kit_post_recv(struct kit_end *k);

/* Polls once, as ibv_poll_cq() does. Returns true if there was a CQE. */
bool kit_poll(struct kit_end *k, struct rn_cqe *cqe);

/* Returns true if the CQ contains a CQE. Does not call the engine. */
bool kit_has_entry(void *k);

/* Polls until a CQE comes, whose status must be @status. */
struct rn_cqe kit_await(struct kit_end *k, enum rn_wc_status status);

/* Polls both ends until one CQE has come to @at. */
void kit_await_both(struct kit_end *at, struct kit_end *other);

/* Requests an event as ibv_req_notify_cq() does, and polls once. Returns true if this
 * poll has found a CQE.
 */
bool kit_arm(struct kit_end *k);

/* Sleeps until on_event() reports an event. */
void kit_await_event(struct kit_end *k);

/* Fails the test if the time @since (rnp_engine_now()) is too long ago. */
void kit_not_forever(rn_ns since);

#endif /* RNP_ENGINE_KIT_H */
