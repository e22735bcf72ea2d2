/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* id.h - ids, their events and the channels they belong to. Private to this folder. */
#ifndef RND_UCMA_ID_H
#define RND_UCMA_ID_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "ports.h"
#include "rocin/netdev.h"
#include "rocin/random.h"
#include "transport/container/list.h"
#include "ucma.h"

/* As cma.c has them; addresses and routes are resolved at once here. */
enum rnd_id_state {
	RND_ID_IDLE,
	RND_ID_BOUND,
	RND_ID_LISTEN,
	RND_ID_ADDR_RESOLVED,
	RND_ID_ROUTE_RESOLVED,
	RND_ID_CONNECT, /* asks, is asked, or is connected */
	RND_ID_DISCONNECT,
};

/* Numbers of enum rdma_cm_event_type, <rdma/rdma_cma.h>. */
enum rnd_event_type {
	RND_EV_ADDR_RESOLVED,
	RND_EV_ADDR_ERROR,
	RND_EV_ROUTE_RESOLVED,
	RND_EV_ROUTE_ERROR,
	RND_EV_CONNECT_REQUEST,
	RND_EV_CONNECT_RESPONSE,
	RND_EV_CONNECT_ERROR,
	RND_EV_UNREACHABLE,
	RND_EV_REJECTED,
	RND_EV_ESTABLISHED,
	RND_EV_DISCONNECTED,
	RND_EV_DEVICE_REMOVAL,
	RND_EV_MULTICAST_JOIN,
	RND_EV_MULTICAST_ERROR,
	RND_EV_ADDR_CHANGE,
	RND_EV_TIMEWAIT_EXIT,
};

/* Q_Key of datagram QPs (RDMA_UDP_QKEY). */
#define RND_UDP_QKEY 0x01234567u

/* A device as programs know it. */
struct rnd_ucma_dev {
	struct rnd_ucma_dev *next;
	struct rn_netdev nd;
};

struct rnd_ucma_channel {
	struct rnd_ucma *ucma;
	struct rn_list link;   /* rnd_ucma.channels */
	struct rn_list ids;    /* rnd_id.link */
	struct rn_list events; /* rnd_event.link */
	uint32_t event_count;
	void *user;
	unsigned dev_count;
	struct rnd_ucma_dev *dev[RN_NETDEV_MAX];
};

/* A multicast group that an id has joined. */
struct rnd_mcast {
	struct rn_list link; /* rnd_id.mcasts */
	struct rnd_id *id;
	uint32_t number;
	uint32_t events_reported;
	uint64_t uid;
};

struct rnd_id {
	uint32_t number;
	uint64_t serial;
	uint64_t uid; /* 0: asked for, and the program has not accepted yet */
	struct rnd_ucma_channel *ch;
	struct rn_list link; /* rnd_ucma_channel.ids */
	struct rn_list mcasts;
	uint32_t events_reported;

	enum rnd_id_state state;
	uint8_t qp_type;		/* enum ibv_qp_type */
	struct rnd_port_user port;	/* its ends, whether or not it has the port */
	const struct rnd_ucma_dev *dev; /* NULL: of any */

	uint8_t tos;
	uint8_t ack_timeout;
	bool has_ack_timeout;

	struct rn_cm_listener listener;
	struct rn_cm_conn *conn;  /* or NULL */
	struct rnd_id *asked_for; /* listener, until GET_EVENT takes the request */
	uint32_t psn;		  /* the first that our QP is to receive */
};

struct rnd_event {
	struct rn_list link;
	struct rnd_id *id;
	struct rnd_mcast *mcast; /* or NULL */
	struct rnd_id *new_id;	 /* of CONNECT_REQUEST */
	struct rdma_ucm_event_resp resp;
};

/* Objects by number; it grows. */
struct rnd_table {
	void **at; /* NULL: that number is free */
	uint32_t max, count;
};

struct rnd_ucma {
	struct rnd_ucma_cfg cfg;
	struct rn_cm *cm;
	struct rn_list channels;
	struct rnd_ports ports;
	struct rnd_ucma_dev *devs;
	struct rnd_table ids;	 /* struct rnd_id */
	struct rnd_table mcasts; /* struct rnd_mcast */
	struct rnd_id *named;	 /* by the command that is under way, or NULL */
	/* By the last command, in an event; or NULL. */
	struct rnd_id *reported;
	struct rnd_mcast *reported_group;
	struct rn_random random;
	uint64_t last_serial;
};

/* ---- Ids (ucma.c) ---- */

struct rnd_id *rnd_id_new(struct rnd_ucma_channel *ch, enum rn_cm_port_space ps,
			  uint8_t qp_type);

/* The id of this number in this channel. Return: 0, -ENOENT, -EINVAL (another's). */
int rnd_id_find(struct rnd_ucma_channel *ch, uint32_t number, struct rnd_id **id);

/* Everything that hangs on it goes: connection, port, groups, events. */
void rnd_id_destroy(struct rnd_id *id, rn_ns now);

uint32_t rnd_ucma_random(struct rnd_ucma *ucma);

/* NULL if there is none of this number. */
void *rnd_table_get(const struct rnd_table *t, uint32_t number);

/* ---- Events ---- */

/* Queue an event. Return: the event, whose parameters the caller fills in; NULL if out of
 * memory, or if the program does not know the id yet.
 */
struct rnd_event *rnd_event_queue(struct rnd_id *id, enum rnd_event_type type,
				  int status);

/* ---- commands ---- */

struct rnd_call {
	struct rnd_ucma_channel *ch;
	rn_ns now;
	const struct rnd_ucma_request *rq;
	struct rnd_ucma_reply *reply;
};

/* Copy @len bytes of the command to @cmd; what is not there is zero. */
void rnd_call_take(const struct rnd_call *c, void *cmd, size_t len);
int rnd_call_answer(const struct rnd_call *c, const void *data, size_t len);

typedef int rnd_call_fn(const struct rnd_call *c);
/* address */
rnd_call_fn rnd_cmd_bind_ip, rnd_cmd_bind, rnd_cmd_resolve_ip, rnd_cmd_resolve_addr,
	rnd_cmd_resolve_route;
/* connect */
rnd_call_fn rnd_cmd_connect, rnd_cmd_listen, rnd_cmd_accept, rnd_cmd_reject,
	rnd_cmd_disconnect, rnd_cmd_notify;
/* query */
rnd_call_fn rnd_cmd_query_route, rnd_cmd_query, rnd_cmd_init_qp_attr;

/* ---- shared between them ---- */

/* The device of this channel that has the address. */
struct rnd_ucma_dev *rnd_find_dev(const struct rnd_ucma_channel *ch,
				  const struct rnd_address *addr);
/* Index in the device's table of GIDs. */
uint8_t rnd_gid_index(const struct rnd_ucma_dev *dev, const struct rn_gid *gid);
int rnd_id_bind(struct rnd_id *id, const struct rnd_address *wanted);
void rnd_id_route(const struct rnd_id *id, struct rn_cm_route *route);
void rnd_ah_attr(const struct rnd_id *id, struct ib_uverbs_ah_attr *ah);
/* What programs may ask, for a copy of it to be shown (query.c). */
void rnd_answer_route(const struct rnd_id *id, struct rdma_ucm_query_route_resp *resp);
/* Return: 0 or -EINVAL. */
int rnd_answer_qp_attr(const struct rnd_id *id, uint32_t state,
		       struct ib_uverbs_qp_attr *attr);
/* ... and showing it. */
void rnd_id_show(struct rnd_id *id);
/* What the CM tells. */
void rnd_take_cm_events(struct rnd_ucma *ucma, rn_ns now);

#endif /* RND_UCMA_ID_H */
