/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent.h - rocin-conform-agent: executes the requests of a tester on a device, by verbs
 * calls. It runs one scenario at a time.
 */
#ifndef RN_AGENT_H
#define RN_AGENT_H

#include <infiniband/verbs.h>

#include "agent_rdmacm.h"
#include "sim/scenario/scenario.h"
#include "tools/rocin/conform/wire.h"

enum {
	RN_AGENT_PDS = 4,
	RN_AGENT_XRCDS = 8,
	RN_AGENT_MR_MAX = 1 << 24, /* maximum size of a memory region in bytes */
	RN_AGENT_GID_NONE = -1,
	/* maximum number of connection requests that the tester has not taken yet */
	RN_AGENT_REQUESTS = 16,
};

/* A memory region with its memory, or a memory window. */
struct rn_agent_mr {
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint8_t *buf;
	uint64_t len, va;
	bool unmapped; /* the memory was unmapped and must not be accessed */
};

struct rn_agent_qp {
	struct ibv_qp *qp;
	unsigned pd;
	bool joined;
};

struct rn_agent_srq {
	struct ibv_srq *srq;
	uint32_t number; /* for an XRC SRQ: its number in packets; otherwise not used */
};

/* Address handles of one PD: to the tester, and to the multicast group. */
struct rn_agent_ah {
	struct ibv_ah *ah[2];
};

/* A connection of the scenario, or a lookup of a datagram service. */
struct rn_agent_conn {
	/* id of librdmacm; NULL: there is no connection with this index */
	struct rdma_cm_id *id;
	/* event channel of an id that connects; otherwise NULL */
	struct rdma_event_channel *channel;
	uint32_t qpn, qkey; /* QPN and Q_Key of the datagram service that was looked up */
};

struct rn_agent_cm {
	/* functions of librdmacm; NULL: no connections can be made */
	const struct rn_agent_rdmacm *lib;
	/* event channel of listeners and connection requests */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener[RN_SCN_CONNS];
	struct rn_agent_conn conn[RN_SCN_CONNS];
	/* ids of connection requests that the tester has not taken, the oldest first */
	struct rdma_cm_id *request[RN_AGENT_REQUESTS];
	unsigned requests;
};

struct rn_agent {
	struct ibv_context *ctx;
	/* GID table indices for IPv4 and IPv6; RN_AGENT_GID_NONE: no GID */
	int gid_index[2];
	/* the GIDs with these indices; all bytes are 0 if there is none */
	union ibv_gid gid[2];
	/* bit set of enum rn_conform_can: abilities of the device */
	uint32_t can;

	union ibv_gid tester, other, group;
	/* Completion channels for sends and for receives. */
	struct ibv_comp_channel *channel[2];
	struct ibv_cq *cq[2];
	struct ibv_pd *pd[RN_AGENT_PDS];
	struct rn_agent_ah ah[RN_AGENT_PDS];
	struct ibv_xrcd *xrcd[RN_AGENT_XRCDS];
	struct rn_agent_mr mr[RN_SCN_MRS];
	struct rn_agent_srq srq[RN_SCN_SRQS];
	struct rn_agent_qp qp[RN_SCN_QPS];
	unsigned mrs, srqs, qps;
	struct rn_agent_cm cm;
};

/* Opens device @name (NULL: the first one). Uses the GID at @gid_index for its address
 * family, and for the other family the first RoCEv2 GID that is not link-local. Returns
 * 0, or -errno after an error message on standard error.
 */
int rn_agent_open(struct rn_agent *a, const char *name, uint8_t gid_index);

/* Closes the device. */
void rn_agent_close(struct rn_agent *a);

/* Tests which of the abilities @claimed the device really has, and returns these: drivers
 * and the kernel refuse some operations that are in the capability flags of the device.
 * Adds the abilities that depend on the limits of the device.
 */
uint32_t rn_agent_try(struct rn_agent *a, uint32_t claimed);

/* Executes the request in @l, and replaces @l by the answer. Whatever the request
 * contains, this function accesses only objects of the scenario.
 */
void rn_agent_answer(struct rn_agent *a, struct rn_conform_line *l);

/* Destroys all objects that were created for the current scenario. */
void rn_agent_clear(struct rn_agent *a);

/* Execute the requests of wire.h that create or change objects. They return 0 or an errno
 * value, and write the answer to @l.
 */
int rn_agent_add_mr(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_add_mw(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_add_srq(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_add_qp(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_dereg(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_unmap(struct rn_agent *a, struct rn_conform_line *l);

/* Loads librdmacm, and tests whether it can make connections with this device. Returns
 * false if it cannot.
 */
bool rn_agent_cm_open(struct rn_agent *a);

/* Closes all connections and listeners of the current scenario. */
void rn_agent_cm_clear(struct rn_agent *a);
void rn_agent_cm_close(struct rn_agent *a);

/* Writes the next event of a connection to @l. Returns false if there is none. */
bool rn_agent_cm_poll(struct rn_agent *a, struct rn_conform_line *l);

/* A request of wire.h. @run executes the request, writes the answer to @l, and returns 0
 * or an errno value.
 */
struct rn_agent_word {
	const char *word;
	int (*run)(struct rn_agent *a, struct rn_conform_line *l);
};

/* The table of the requests about connections; its last row is empty. */
extern const struct rn_agent_word rn_agent_cm_words[];

/* Returns the index in gid_index for the address family of @gid. */
static inline unsigned rn_agent_family_of(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return __builtin_memcmp(gid->raw, prefix, sizeof(prefix)) ? 1 : 0;
}

/* Returns the index in gid_index for the address family of the tester. */
static inline unsigned rn_agent_family(const struct rn_agent *a)
{
	return rn_agent_family_of(&a->tester);
}

#endif /* RN_AGENT_H */
