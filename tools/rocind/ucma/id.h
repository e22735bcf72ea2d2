/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* id.h - rdma_cm ids, their events, and the channels to which they belong. Only files of
 * this folder include it.
 */
#ifndef RND_UCMA_ID_H
#define RND_UCMA_ID_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "ports.h"
#include "rocin/cmdev.h"
#include "rocin/netdev.h"
#include "rocin/random.h"
#include "transport/container/list.h"
#include "ucma.h"

/* States of an rdma_cm id, as in cma.c of Linux. Linux has further states between a query
 * and its result. They do not exist here, because addresses and routes are resolved at
 * once.
 */
enum rnd_id_state {
	RND_ID_IDLE,
	RND_ID_BOUND,
	RND_ID_LISTEN,
	RND_ID_ADDR_RESOLVED,
	RND_ID_ROUTE_RESOLVED,
	/* the id has requested a connection, was requested by a peer, or is connected */
	RND_ID_CONNECT,
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
	RND_EV_USER = RN_CMDEV_EVENT_USER,
	RND_EV_INTERNAL = RN_CMDEV_EVENT_INTERNAL,
};

/* Q_Key of datagram QPs (RDMA_UDP_QKEY). */
#define RND_UDP_QKEY 0x01234567u

/* A device of a program. Programs that have the same device share this structure. */
struct rnd_ucma_dev {
	struct rnd_ucma_dev *next;
	struct rn_netdev nd;
};

struct rnd_ucma_channel {
	struct rnd_ucma *ucma;
	struct rn_list link;   /* link in rnd_ucma.channels */
	struct rn_list ids;    /* list of struct rnd_id */
	struct rn_list events; /* list of struct rnd_event */
	uint32_t event_count;
	void *user;
	uint64_t number; /* number of the channel; see rnd_ucma_set_number() */
	unsigned dev_count;
	struct rnd_ucma_dev *dev[RN_NETDEV_MAX];
};

/* A multicast group that an rdma_cm id has joined. */
struct rnd_mcast {
	struct rn_list link;	/* link in rnd_id.mcasts */
	struct rn_list changed; /* link in rnd_ucma.changed_mcasts until a copy is made */
	struct rnd_id *id;
	uint32_t number;
	uint32_t events_reported;
	uint64_t uid;
};

struct rnd_id {
	uint32_t number;
	uint64_t serial;
	/* Number that the program has given to the rdma_cm id. 0: the id was made for a
	 * connection request, and the program has not accepted it (rdma_accept()) yet.
	 */
	uint64_t uid;
	struct rnd_ucma_channel *ch;
	struct rn_list link; /* link in rnd_ucma_channel.ids */
	/* link in rnd_ucma.changed until rnd_ucma_keep_changes() copies the rdma_cm id */
	struct rn_list changed;
	struct rn_list mcasts;
	uint32_t events_reported;

	enum rnd_id_state state;
	uint8_t qp_type; /* enum ibv_qp_type */
	/* addresses and ports; used even if the rdma_cm id does not hold a port */
	struct rnd_port_user port;
	/* device that the rdma_cm id is bound to, or NULL */
	const struct rnd_ucma_dev *dev;

	uint8_t tos;
	uint8_t ack_timeout;
	bool has_ack_timeout;

	struct rn_cm_listener listener;
	struct rn_cm_conn *conn; /* connection of the rdma_cm id, or NULL */
	/* If the rdma_cm id was made for a connection request: the listener that has got
	 * the request. NULL as soon as GET_EVENT has reported the request to the program.
	 */
	struct rnd_id *asked_for;
	uint32_t psn; /* first PSN that the rdma_cm id's QP is to receive */
	/* QPN that the program has passed with CONNECT or ACCEPT; 0: none yet */
	uint32_t qpn;
};

struct rnd_event {
	struct rn_list link;
	struct rn_list changed; /* link in rnd_ucma.changed_events until a copy is made */
	/* number of the event; an event that was queued later, in any channel, has a
	 * higher one
	 */
	uint64_t order;
	struct rnd_id *id;
	struct rnd_mcast *mcast; /* multicast group that the event is about, or NULL */
	/* the new rdma_cm id that a CONNECT_REQUEST event reports; else NULL */
	struct rnd_id *new_id;
	struct rdma_ucm_event_resp resp;
};

/* A table of objects by number, in an array that grows. */
struct rnd_table {
	void **at; /* the objects, by number; NULL: the number is free */
	uint32_t max, count;
};

struct rnd_ucma {
	struct rnd_ucma_cfg cfg;
	struct rn_list channels;
	struct rnd_ports ports;
	struct rnd_ucma_dev *devs;
	struct rnd_table ids;	 /* all rdma_cm ids (struct rnd_id) */
	struct rnd_table mcasts; /* all multicast groups (struct rnd_mcast) */
	/* rdma_cm id that the present command is about, or NULL. After the command, the
	 * answers to queries about this id are published on the board again (cm_board.h).
	 */
	struct rnd_id *named;
	/* The rdma_cm id or multicast group that the last GET_EVENT command has reported;
	 * else NULL.
	 */
	struct rnd_id *reported;
	struct rnd_mcast *reported_group;
	struct rn_random random;
	uint64_t last_serial;
	uint64_t last_order; /* rnd_event.order of the newest event */
	struct rn_list changed, changed_events, changed_mcasts;
	/* buffer for the copy of a connection that rocind's successor gets, or NULL */
	uint8_t *conn_copy;
};

/* ---- Ids (ucma.c) ---- */

struct rnd_id *rnd_id_new(struct rnd_ucma_channel *ch, enum rn_cm_port_space ps,
			  uint8_t qp_type);

/* Finds the rdma_cm id with the number @number in channel @ch. Returns 0; -ENOENT if it
 * does not exist; or -EINVAL if it belongs to another channel.
 */
int rnd_id_find(struct rnd_ucma_channel *ch, uint32_t number, struct rnd_id **id);

/* Destroys an rdma_cm id with its connection, port, multicast groups and events. */
void rnd_id_destroy(struct rnd_id *id, rn_ns now);

uint32_t rnd_ucma_random(struct rnd_ucma *ucma);

/* ---- Noting changes for handover.c ---- */

/* Called before an object changes, and after it was made. Puts it into the list of
 * objects that rnd_ucma_keep_changes() copies for a successor of this rocind.
 */
static inline void rnd_id_touch(struct rnd_id *id)
{
	if (!rn_list_is_linked(&id->changed))
		rn_list_push_back(&id->ch->ucma->changed, &id->changed);
}

static inline void rnd_event_touch(struct rnd_ucma *ucma, struct rnd_event *ev)
{
	if (!rn_list_is_linked(&ev->changed))
		rn_list_push_back(&ucma->changed_events, &ev->changed);
}

static inline void rnd_mcast_touch(struct rnd_mcast *mc)
{
	if (!rn_list_is_linked(&mc->changed))
		rn_list_push_back(&mc->id->ch->ucma->changed_mcasts, &mc->changed);
}

/* Called when the object with this number no longer exists. Removes the copy of it that
 * was made for a successor of this rocind.
 */
static inline void rnd_ucma_forget(const struct rnd_ucma *ucma, enum rnd_ucma_kind kind,
				   uint64_t number)
{
	if (ucma->cfg.ops->forget)
		ucma->cfg.ops->forget(ucma->cfg.ctx, kind, number);
}

/* Enters an object in the table under the number @number. Returns false if there is no
 * memory, or if another object has the number.
 */
bool rnd_table_put(struct rnd_table *t, void *object, uint32_t number);
/* Returns the entry of the device @nd, which is made if there is none (ucma.c). */
struct rnd_ucma_dev *rnd_know_dev(struct rnd_ucma *ucma, const struct rn_netdev *nd);

/* Returns the object with the number @number, or NULL. */
void *rnd_table_get(const struct rnd_table *t, uint32_t number);

/* ---- Events ---- */

/* Queues an event for the program. Returns the event, whose parameters the caller must
 * fill in. Returns NULL if there is no memory, or if the program does not know the
 * rdma_cm id yet: it was made for a connection request that the program has not accepted
 * (rdma_accept()).
 */
struct rnd_event *rnd_event_queue(struct rnd_id *id, enum rnd_event_type type,
				  int status);

/* ---- Commands ---- */

/* A command, in the layout of <rdma/rdma_user_cm.h>. If the program has written fewer
 * bytes than the struct has, the remaining bytes are zero.
 */
union rnd_command {
	struct rdma_ucm_create_id create_id;
	struct rdma_ucm_destroy_id destroy_id;
	struct rdma_ucm_bind_ip bind_ip;
	struct rdma_ucm_resolve_ip resolve_ip;
	struct rdma_ucm_resolve_route resolve_route;
	struct rdma_ucm_query query;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_listen listen;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_reject reject;
	struct rdma_ucm_disconnect disconnect;
	struct rdma_ucm_init_qp_attr init_qp_attr;
	struct rdma_ucm_set_option set_option;
	struct rdma_ucm_notify notify;
	struct rdma_ucm_join_ip_mcast join_ip_mcast;
	struct rdma_ucm_migrate_id migrate_id;
	struct rdma_ucm_bind bind;
	struct rdma_ucm_resolve_addr resolve_addr;
	struct rdma_ucm_join_mcast join_mcast;
	struct rn_cmdev_write_cm_event write_cm_event;
};

int rnd_call_answer(struct rnd_call *c, const void *data, size_t len);

typedef int rnd_call_fn(struct rnd_call *c, const union rnd_command *in);
/* Commands about addresses and routes, in resolve.c. */
rnd_call_fn rnd_cmd_bind_ip, rnd_cmd_bind, rnd_cmd_resolve_ip, rnd_cmd_resolve_addr,
	rnd_cmd_resolve_route;
/* Commands about connections, in connect.c. */
rnd_call_fn rnd_cmd_connect, rnd_cmd_listen, rnd_cmd_accept, rnd_cmd_reject,
	rnd_cmd_disconnect, rnd_cmd_notify;
/* The command SET_OPTION, in option.c. */
rnd_call_fn rnd_cmd_set_option;
/* Commands that only query, in query.c. */
rnd_call_fn rnd_cmd_query_route, rnd_cmd_query, rnd_cmd_init_qp_attr;

/* ---- Functions shared by these files ---- */

/* Finds the device of this channel that has the address; NULL: none has. */
struct rnd_ucma_dev *rnd_find_dev(const struct rnd_ucma_channel *ch,
				  const struct rnd_address *addr);
/* Returns the index of @gid in the GID table of the device. Returns 0 if the table does
 * not contain it.
 */
uint8_t rnd_gid_index(const struct rnd_ucma_dev *dev, const struct rn_gid *gid);
int rnd_id_bind(struct rnd_id *id, const struct rnd_address *wanted);
void rnd_id_route(const struct rnd_id *id, struct rn_cm_route *route);
void rnd_ah_attr(const struct rnd_id *id, struct ib_uverbs_ah_attr *ah);
/* Fills in the answer to QUERY_ROUTE about the rdma_cm id. Used when the program sends
 * the command, and when the answer is published on the board (memory that programs read,
 * cm_board.h).
 */
void rnd_answer_route(const struct rnd_id *id, struct rdma_ucm_query_route_resp *resp);
/* Fills in the answer to INIT_QP_ATTR about the rdma_cm id, for QP state @state. Used
 * when the program sends the command, and when the answer is published on the board.
 * Returns 0 or -EINVAL.
 */
int rnd_answer_qp_attr(const struct rnd_id *id, uint32_t state,
		       struct ib_uverbs_qp_attr *attr);
/* Publishes the answers to queries about the rdma_cm id on the board, memory that
 * programs read (ucma.c).
 */
void rnd_id_show(struct rnd_id *id);
/* Makes events of rdma_cm ids from the events that the connection manager has queued
 * (connect.c).
 */
void rnd_take_cm_events(struct rnd_ucma *ucma, rn_ns now);

#endif /* RND_UCMA_ID_H */
