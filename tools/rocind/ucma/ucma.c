/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ucma.c - channels with their rdma_cm ids, multicast groups and events; the publication
 * of ids on the board, from which programs read them; and the execution of the commands
 * that programs write to a channel. The functions for commands about addresses,
 * connections and queries are in the other files of this folder.
 */
#include "ucma.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "id.h"

/* ---- The event queue of a channel ---- */

struct rnd_event *rnd_event_queue(struct rnd_id *id, enum rnd_event_type type, int status)
{
	struct rnd_ucma_channel *ch = id->ch;
	/* An rdma_cm id that was made for a connection request has no uid until the
	 * program accepts it. Until then the program does not know the id, so it gets no
	 * events about it.
	 */
	struct rnd_event *ev = id->uid ? calloc(1, sizeof(*ev)) : NULL;

	if (!ev)
		return NULL;
	ev->id = id;
	ev->resp.uid = id->uid;
	ev->resp.id = id->number;
	ev->resp.event = type;
	ev->resp.status = (uint32_t)status;
	rn_list_init(&ev->link);
	rn_list_init(&ev->changed);
	ev->order = ++ch->ucma->last_order;
	rnd_event_touch(ch->ucma, ev);
	rnd_id_touch(id);
	rn_list_push_back(&ch->events, &ev->link);
	ch->event_count++;
	ch->ucma->cfg.ops->ready(ch->ucma->cfg.ctx, ch->user);
	return ev;
}

static void event_free(struct rnd_event *ev)
{
	ev->id->ch->event_count--;
	rnd_ucma_forget(ev->id->ch->ucma, RND_UCMA_EVENT, ev->order);
	rn_list_remove(&ev->changed);
	rn_list_remove(&ev->link);
	free(ev);
}

/* ---- Publishing answers on the board ---- */

/* Publishes on the board (memory that programs can read, cm_board.h) the answers that
 * QUERY_ROUTE and INIT_QP_ATTR would give about each rdma_cm id.
 */

static_assert(offsetof(struct rdma_ucm_query_route_resp, ibdev_index) ==
		      RN_CMBOARD_ROUTE_LEN,
	      "as <rdma/rdma_user_cm.h> has it");
static_assert(sizeof(struct ib_uverbs_qp_attr) == RN_CMBOARD_QP_LEN,
	      "as <rdma/rdma_user_cm.h> has it");

static void show_life(const struct rnd_id *id)
{
	const struct rnd_ucma_cfg *cfg = &id->ch->ucma->cfg;
	struct rn_cm_life life = { .uid = id->uid,
				   .events_reported = id->events_reported,
				   .has_device = id->dev != NULL };

	if (cfg->ops->show_life)
		cfg->ops->show_life(cfg->ctx, id->ch->user, RN_CM_KIND_ID, id->number,
				    &life);
}

void rnd_id_show(struct rnd_id *id)
{
	const struct rnd_ucma_cfg *cfg = &id->ch->ucma->cfg;
	struct rdma_ucm_query_route_resp route = { 0 };
	struct rn_cm_answers answers = { 0 };

	/* As long as a connection request was not reported, the program does not know the
	 * rdma_cm id that was made for it.
	 */
	if (!cfg->ops->show || id->asked_for)
		return;
	answers.serial = id->serial;
	answers.has_conn = id->conn != NULL;
	rnd_answer_route(id, &route);
	memcpy(answers.route, &route, sizeof(answers.route));
	for (unsigned i = 0; i < RN_CMBOARD_QP_STATES; i++) {
		struct ib_uverbs_qp_attr attr;

		if (rnd_answer_qp_attr(id, IBV_QPS_INIT + i, &attr))
			continue;
		memcpy(answers.qp[i], &attr, sizeof(attr));
		answers.has_qp |= 1u << i;
	}
	cfg->ops->show(cfg->ctx, id->ch->user, id->number, &answers);
	show_life(id);
}

static void hide_id(const struct rnd_id *id)
{
	const struct rnd_ucma_cfg *cfg = &id->ch->ucma->cfg;

	if (!cfg->ops->show)
		return;
	cfg->ops->show(cfg->ctx, id->ch->user, id->number, NULL);
	cfg->ops->show_life(cfg->ctx, id->ch->user, RN_CM_KIND_ID, id->number, NULL);
}

/* ---- Tables of objects by number ---- */

uint32_t rnd_ucma_random(struct rnd_ucma *ucma)
{
	uint64_t drawn =
		ucma->cfg.draw ? ucma->cfg.draw() : rn_random_next(&ucma->random);

	return (uint32_t)(drawn >> 32);
}

static bool grow(struct rnd_table *t)
{
	uint32_t more = t->max ? 2 * t->max : 16;
	void **at = (void **)realloc((void *)t->at, more * sizeof(*at));

	if (!at)
		return false;
	memset((void *)(at + t->max), 0, (more - t->max) * sizeof(*at));
	t->at = at;
	t->max = more;
	return true;
}

/* Adds an object under the smallest free number. Returns false if out of memory. */
static bool table_add(struct rnd_table *t, void *object, uint32_t *number)
{
	uint32_t i = 0;

	if (t->count == t->max) {
		i = t->max;
		if (!grow(t))
			return false;
	}
	while (t->at[i])
		i++;
	t->at[i] = object;
	t->count++;
	*number = i;
	return true;
}

bool rnd_table_put(struct rnd_table *t, void *object, uint32_t number)
{
	while (number >= t->max)
		if (!grow(t))
			return false;
	if (t->at[number])
		return false;
	t->at[number] = object;
	t->count++;
	return true;
}

static void table_remove(struct rnd_table *t, uint32_t number)
{
	assert(rnd_table_get(t, number));
	t->at[number] = NULL;
	t->count--;
}

void *rnd_table_get(const struct rnd_table *t, uint32_t number)
{
	return number < t->max ? t->at[number] : NULL;
}

/* ---- Multicast groups that ids have joined ---- */

static void show_group(const struct rnd_mcast *mc)
{
	const struct rnd_ucma_channel *ch = mc->id->ch;
	const struct rnd_ucma_cfg *cfg = &ch->ucma->cfg;
	struct rn_cm_life life = { .uid = mc->uid,
				   .events_reported = mc->events_reported };

	if (cfg->ops->show_life)
		cfg->ops->show_life(cfg->ctx, ch->user, RN_CM_KIND_GROUP, mc->number,
				    &life);
}

static struct rnd_mcast *new_group(struct rnd_id *id, uint64_t uid)
{
	struct rnd_mcast *mc = calloc(1, sizeof(*mc));

	if (!mc || !table_add(&id->ch->ucma->mcasts, mc, &mc->number)) {
		free(mc);
		return NULL;
	}
	mc->id = id;
	mc->uid = uid;
	rn_list_init(&mc->link);
	rn_list_init(&mc->changed);
	rn_list_push_back(&id->mcasts, &mc->link);
	show_group(mc);
	rnd_mcast_touch(mc);
	return mc;
}

static void free_group(struct rnd_mcast *mc)
{
	const struct rnd_ucma_channel *ch = mc->id->ch;
	const struct rnd_ucma_cfg *cfg = &ch->ucma->cfg;

	if (ch->ucma->reported_group == mc)
		ch->ucma->reported_group = NULL;
	if (cfg->ops->show_life)
		cfg->ops->show_life(cfg->ctx, ch->user, RN_CM_KIND_GROUP, mc->number,
				    NULL);
	rn_list_remove(&mc->changed);
	rnd_ucma_forget(ch->ucma, RND_UCMA_MCAST, mc->number);
	table_remove(&mc->id->ch->ucma->mcasts, mc->number);
	rn_list_remove(&mc->link);
	free(mc);
}

/* ---- Ids ---- */

struct rnd_id *rnd_id_new(struct rnd_ucma_channel *ch, enum rn_cm_port_space ps,
			  uint8_t qp_type)
{
	struct rnd_ucma *ucma = ch->ucma;
	struct rnd_id *id = calloc(1, sizeof(*id));

	if (!id || !table_add(&ucma->ids, id, &id->number)) {
		free(id);
		return NULL;
	}
	id->ch = ch;
	id->serial = ++ucma->last_serial;
	id->port.ps = ps;
	id->qp_type = qp_type;
	id->port.v6only = ucma->cfg.v6only;
	id->psn = rnd_ucma_random(ucma) & 0xffffff;
	rn_list_init(&id->link);
	rn_list_init(&id->mcasts);
	rn_list_init(&id->port.link);
	rn_list_init(&id->changed);
	rnd_id_touch(id);
	rn_list_push_back(&ch->ids, &id->link);
	return id;
}

int rnd_id_find(struct rnd_ucma_channel *ch, uint32_t number, struct rnd_id **id)
{
	struct rnd_id *found = rnd_table_get(&ch->ucma->ids, number);

	/* An rdma_cm id that was made for a connection request does not exist for the
	 * program before GET_EVENT has reported the request.
	 */
	if (!found || found->asked_for)
		return -ENOENT;
	if (found->ch != ch)
		return -EINVAL;
	ch->ucma->named = found;
	rnd_id_touch(found);
	*id = found;
	return 0;
}

/* Frees an rdma_cm id with its connection, port and multicast groups, but without its
 * events.
 */
static void free_id(struct rnd_id *id, rn_ns now)
{
	struct rnd_ucma *ucma = id->ch->ucma;

	if (ucma->named == id)
		ucma->named = NULL;
	if (ucma->reported == id)
		ucma->reported = NULL;
	hide_id(id);
	for (struct rn_list *l = id->mcasts.next, *next; l != &id->mcasts; l = next) {
		next = l->next;
		free_group(RN_CONTAINER_OF(l, struct rnd_mcast, link));
	}
	if (id->state == RND_ID_LISTEN)
		rn_cm_unlisten(ucma->cfg.cm, &id->listener);
	if (id->conn)
		rn_cm_close(ucma->cfg.cm, now, id->conn);
	rnd_port_release(&ucma->ports, &id->port);
	rn_list_remove(&id->link);
	rn_list_remove(&id->changed);
	rnd_ucma_forget(ucma, RND_UCMA_ID, id->number);
	table_remove(&ucma->ids, id->number);
	free(id);
}

/* Drops the events of an rdma_cm id, or only those of its multicast group @mcast. */
static void forget_events(struct rnd_id *id, const struct rnd_mcast *mcast, rn_ns now)
{
	struct rn_list *head = &id->ch->events;

	for (struct rn_list *l = head->next, *next; l != head; l = next) {
		struct rnd_event *ev = RN_CONTAINER_OF(l, struct rnd_event, link);
		struct rnd_id *asked_for = ev->new_id;

		next = l->next;
		if (ev->id != id || (mcast && ev->mcast != mcast))
			continue;
		event_free(ev);
		/* The event reports a connection request, of which the program will now
		 * never learn. So the rdma_cm id that was made for the request is freed,
		 * too. That id has no events.
		 */
		if (asked_for)
			free_id(asked_for, now);
	}
}

void rnd_id_destroy(struct rnd_id *id, rn_ns now)
{
	forget_events(id, NULL, now);
	free_id(id, now);
}

static void move_id(struct rnd_id *id, struct rnd_ucma_channel *to)
{
	rn_list_remove(&id->link);
	rn_list_push_back(&to->ids, &id->link);
	id->ch = to;
	rnd_id_touch(id);
}

/* Moves an rdma_cm id with its events to another channel. After it moves the ids that
 * were made for connection requests to it: in the list of the channel they must be behind
 * their listener, because the listener must be destroyed first.
 */
static void migrate_id(struct rnd_id *id, struct rnd_ucma_channel *to)
{
	struct rnd_ucma_channel *from = id->ch;

	move_id(id, to);
	for (struct rn_list *l = id->mcasts.next; l != &id->mcasts; l = l->next)
		show_group(RN_CONTAINER_OF(l, struct rnd_mcast, link));
	for (struct rn_list *l = from->events.next, *next; l != &from->events; l = next) {
		struct rnd_event *ev = RN_CONTAINER_OF(l, struct rnd_event, link);

		next = l->next;
		if (ev->id != id)
			continue;
		if (ev->new_id)
			move_id(ev->new_id, to);
		rn_list_remove(l);
		from->event_count--;
		rn_list_push_back(&to->events, l);
		to->event_count++;
		/* The event is now the newest one of all channels, so it gets a new order
		 * number. The copy of it for a successor of rocind is made again, under
		 * the new number.
		 */
		rnd_ucma_forget(to->ucma, RND_UCMA_EVENT, ev->order);
		ev->order = ++to->ucma->last_order;
		rnd_event_touch(to->ucma, ev);
		to->ucma->cfg.ops->ready(to->ucma->cfg.ctx, to->user);
	}
}

/* ---- Creating and freeing the ucma, packets, and counts ---- */

struct rnd_ucma *rnd_ucma_new(const struct rnd_ucma_cfg *cfg)
{
	struct rnd_ucma *ucma = calloc(1, sizeof(*ucma));

	if (!ucma)
		return NULL;
	ucma->cfg = *cfg;
	ucma->random.state = ~cfg->seed;
	rn_list_init(&ucma->channels);
	rn_list_init(&ucma->changed);
	rn_list_init(&ucma->changed_events);
	rn_list_init(&ucma->changed_mcasts);
	rnd_ports_init(&ucma->ports, cfg->port_first, cfg->port_last, cfg->port_free);
	return ucma;
}

void rnd_ucma_free(struct rnd_ucma *ucma)
{
	if (!ucma)
		return;
	assert(rn_list_is_empty(&ucma->channels));
	while (ucma->devs) {
		struct rnd_ucma_dev *dev = ucma->devs;

		ucma->devs = dev->next;
		free(dev);
	}
	free((void *)ucma->ids.at);
	free((void *)ucma->mcasts.at);
	free(ucma->conn_copy);
	free(ucma);
}

void rnd_ucma_expire(struct rnd_ucma *ucma, rn_ns now)
{
	rn_cm_expire(ucma->cfg.cm, now);
	rnd_take_cm_events(ucma, now);
}

bool rnd_ucma_packet(struct rnd_ucma *ucma, rn_ns now, const struct rn_cm_rx *rx)
{
	bool is_done = rn_cm_receive(ucma->cfg.cm, now, rx);

	rnd_take_cm_events(ucma, now);
	return is_done;
}

void rnd_ucma_count(const struct rnd_ucma *ucma, struct rnd_ucma_counts *out)
{
	*out = (struct rnd_ucma_counts){ .ids = ucma->ids.count,
					 .ports = ucma->ports.count,
					 .connections = rn_cm_conn_count(ucma->cfg.cm) };
	for (const struct rn_list *l = ucma->channels.next; l != &ucma->channels;
	     l = l->next)
		out->channels++;
}

/* Returns the number that enum rdma_cm_state of the kernel has for this state. */
static uint8_t kernel_state(enum rnd_id_state state)
{
	static const uint8_t numbers[] = {
		[RND_ID_IDLE] = 0,	     [RND_ID_BOUND] = 7,
		[RND_ID_LISTEN] = 8,	     [RND_ID_ADDR_RESOLVED] = 2,
		[RND_ID_ROUTE_RESOLVED] = 4, [RND_ID_CONNECT] = 5,
		[RND_ID_DISCONNECT] = 6,
	};

	return numbers[state];
}

void rnd_ucma_describe(const struct rnd_ucma_channel *ch,
		       void (*visit)(void *ctx, const struct rn_ctl_cm_id *id), void *ctx)
{
	for (struct rn_list *l = ch->ids.next; l != &ch->ids; l = l->next) {
		const struct rnd_id *id = RN_CONTAINER_OF(l, struct rnd_id, link);
		struct rn_ctl_cm_id out = { .number = id->number,
					    .port_space = id->port.ps,
					    .qpn = id->qpn,
					    .qp_type = id->qp_type,
					    .state = kernel_state(id->state) };

		if (!id->dev && id->state != RND_ID_LISTEN)
			continue;
		if (id->dev)
			memcpy(out.ibdev, id->dev->nd.ibdev, sizeof(out.ibdev));
		rnd_address_write(&id->port.src, out.src);
		rnd_address_write(&id->port.dst, out.dst);
		visit(ctx, &out);
	}
}

/* ---- Channels ---- */

/* Returns the entry of a device, which is made if there is none. Devices with the same
 * name and interface have one entry, even if several programs have them. Returns NULL if
 * there is no memory.
 */
struct rnd_ucma_dev *rnd_know_dev(struct rnd_ucma *ucma, const struct rn_netdev *nd)
{
	struct rnd_ucma_dev *dev;

	for (dev = ucma->devs; dev; dev = dev->next)
		if (dev->nd.node_guid == nd->node_guid &&
		    dev->nd.ifindex == nd->ifindex &&
		    strcmp(dev->nd.ibdev, nd->ibdev) == 0 &&
		    dev->nd.gid_count == nd->gid_count &&
		    memcmp(dev->nd.gid, nd->gid, nd->gid_count * sizeof(nd->gid[0])) == 0)
			return dev;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	dev->nd = *nd;
	dev->next = ucma->devs;
	ucma->devs = dev;
	return dev;
}

struct rnd_ucma_channel *rnd_ucma_open(struct rnd_ucma *ucma,
				       const struct rn_netdev *devs, unsigned count,
				       void *user)
{
	struct rnd_ucma_channel *ch = calloc(1, sizeof(*ch));

	assert(count <= RN_NETDEV_MAX);
	if (!ch)
		return NULL;
	*ch = (struct rnd_ucma_channel){ .ucma = ucma, .user = user, .dev_count = count };
	for (unsigned i = 0; i < count; i++) {
		ch->dev[i] = rnd_know_dev(ucma, &devs[i]);
		if (!ch->dev[i]) {
			free(ch);
			return NULL;
		}
	}
	rn_list_init(&ch->link);
	rn_list_init(&ch->ids);
	rn_list_init(&ch->events);
	rn_list_push_back(&ucma->channels, &ch->link);
	return ch;
}

void rnd_ucma_close(struct rnd_ucma_channel *ch, rn_ns now)
{
	/* When a listener is destroyed, the rdma_cm ids of its unreported requests are
	 * destroyed, too, so the list is read anew each time.
	 */
	while (!rn_list_is_empty(&ch->ids)) {
		struct rn_list *first = ch->ids.next;

		rnd_id_destroy(RN_CONTAINER_OF(first, struct rnd_id, link), now);
		assert(ch->ids.next != first);
	}
	assert(rn_list_is_empty(&ch->events));
	rn_list_remove(&ch->link);
	free(ch);
}

uint32_t rnd_ucma_event_count(const struct rnd_ucma_channel *ch)
{
	return ch->event_count;
}

static bool has_gid(const struct rn_netdev *nd, const struct rn_gid *gid, uint32_t scope)
{
	if (scope && scope != nd->ifindex)
		return false;
	for (uint32_t i = 0; i < nd->gid_count; i++)
		if (memcmp(&nd->gid[i], gid, sizeof(*gid)) == 0)
			return true;
	return false;
}

bool rnd_ucma_wants(const struct rnd_ucma *ucma, const struct rn_gid *gid, uint32_t scope)
{
	const struct rn_list *l;

	for (l = ucma->channels.next; l != &ucma->channels; l = l->next) {
		const struct rnd_ucma_channel *ch =
			RN_CONTAINER_OF(l, const struct rnd_ucma_channel, link);

		for (unsigned i = 0; i < ch->dev_count; i++)
			if (has_gid(&ch->dev[i]->nd, gid, scope))
				return true;
	}
	return false;
}

void rnd_ucma_addresses_changed(struct rnd_ucma *ucma, uint32_t ifindex)
{
	for (uint32_t i = 0; i < ucma->ids.max; i++) {
		struct rnd_id *id = rnd_table_get(&ucma->ids, i);

		if (id && id->dev && id->dev->nd.ifindex == ifindex)
			rnd_event_queue(id, RND_EV_ADDR_CHANGE, 0);
	}
}

/* ---- Commands about ids and events ---- */

int rnd_call_answer(struct rnd_call *c, const void *data, size_t len)
{
	assert(len <= sizeof(c->answer));
	memcpy(c->answer, data, len);
	c->answer_len = len;
	return 0;
}

static int cmd_create_id(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_create_id *cmd = &in->create_id;
	struct rdma_ucm_create_id_resp resp = { 0 };
	struct rnd_id *id;
	uint8_t qp_type;

	if (cmd->ps == RDMA_PS_TCP)
		qp_type = IBV_QPT_RC;
	else if (cmd->ps == RDMA_PS_UDP || cmd->ps == RDMA_PS_IPOIB)
		qp_type = IBV_QPT_UD;
	else if (cmd->ps == RDMA_PS_IB)
		qp_type = cmd->qp_type;
	else
		return -EINVAL;
	id = rnd_id_new(c->ch, (enum rn_cm_port_space)cmd->ps, qp_type);
	if (!id)
		return -ENOMEM;
	id->uid = cmd->uid;
	c->ch->ucma->named = id;
	resp.id = id->number;
	return rnd_call_answer(c, &resp, sizeof(resp));
}

static int cmd_destroy_id(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_destroy_id *cmd = &in->destroy_id;
	struct rdma_ucm_destroy_id_resp resp;
	struct rnd_id *id;
	int rc = rnd_id_find(c->ch, cmd->id, &id);

	if (rc)
		return rc;
	resp.events_reported = id->events_reported;
	rnd_id_destroy(id, c->now);
	return rnd_call_answer(c, &resp, sizeof(resp));
}

static int cmd_migrate_id(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_migrate_id *cmd = &in->migrate_id;
	struct rdma_ucm_migrate_resp resp;
	struct rnd_id *id;
	int rc;

	if (!c->from)
		return -ENOENT;
	rc = rnd_id_find(c->from, cmd->id, &id);
	if (rc)
		return rc;
	if (id->ch != c->ch)
		migrate_id(id, c->ch);
	resp.events_reported = id->events_reported;
	return rnd_call_answer(c, &resp, sizeof(resp));
}

static int cmd_get_event(struct rnd_call *c, const union rnd_command *in)
{
	struct rn_list *first = rn_list_first(&c->ch->events);
	struct rnd_event *ev;

	(void)in;
	if (!first)
		return -EAGAIN;
	ev = RN_CONTAINER_OF(first, struct rnd_event, link);
	rnd_id_touch(ev->id);
	ev->id->events_reported++;
	c->ch->ucma->reported = ev->id;
	if (ev->mcast) {
		ev->mcast->events_reported++;
		rnd_mcast_touch(ev->mcast);
	}
	c->ch->ucma->reported_group = ev->mcast;
	if (ev->new_id) {
		rnd_id_touch(ev->new_id);
		ev->new_id->asked_for = NULL;
		c->ch->ucma->named = ev->new_id;
		rn_cm_mark_changed(c->ch->ucma->cfg.cm, ev->new_id->conn);
		rn_cm_taken(ev->new_id->conn);
	}
	rnd_call_answer(c, &ev->resp, sizeof(ev->resp));
	event_free(ev);
	return 0;
}

/* Queues an event that the program itself has written. The program gets it like any other
 * event.
 */
static int cmd_write_cm_event(struct rnd_call *c, const union rnd_command *in)
{
	const struct rn_cmdev_write_cm_event *cmd = &in->write_cm_event;
	struct rnd_event *ev;
	struct rnd_id *id;
	int rc;

	if (cmd->event != RND_EV_USER && cmd->event != RND_EV_INTERNAL)
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd->id, &id);
	if (rc)
		return rc;
	ev = rnd_event_queue(id, (enum rnd_event_type)cmd->event, (int)cmd->status);
	if (!ev)
		return -ENOMEM;
	memcpy(&ev->resp.param, cmd->arg, sizeof(cmd->arg));
	return 0;
}

/* ---- Commands about multicast groups ---- */

/* On RoCE a multicast group is an IP multicast group, so joining it requires only an
 * address. The network learns of the membership when the program attaches its QP to the
 * group.
 */

enum {
	MULTICAST_QPN = 0xffffff
};

static void fill_event(const struct rnd_id *id, const struct rnd_address *group,
		       struct rnd_event *out)
{
	struct rdma_ucm_ud_param *ud = &out->resp.param.ud;

	ud->qp_num = MULTICAST_QPN;
	ud->qkey = RND_UDP_QKEY;
	ud->ah_attr = (struct ib_uverbs_ah_attr){
		.grh = { .sgid_index = rnd_gid_index(id->dev, &id->port.src.gid),
			 .hop_limit = 1,
			 .traffic_class = id->tos },
		.is_global = 1,
		.port_num = 1,
	};
	memcpy(ud->ah_attr.grh.dgid, group->gid.raw, sizeof(ud->ah_attr.grh.dgid));
}

static int join(struct rnd_call *c, const struct rdma_ucm_join_mcast *cmd)
{
	struct rdma_ucm_create_id_resp resp = { 0 };
	struct rnd_address group;
	struct rnd_event *out;
	struct rnd_mcast *mc;
	struct rnd_id *id;
	int rc;

	if (cmd->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	if (rnd_address_read(&group, &cmd->addr, cmd->addr_size))
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd->id, &id);
	if (rc)
		return rc;
	/* A wildcard instead of a group address is refused. On InfiniBand the subnet
	 * manager would choose an address; on RoCE there is nobody who could.
	 */
	if (!id->dev || id->qp_type != IBV_QPT_UD ||
	    (id->state != RND_ID_BOUND && id->state != RND_ID_ADDR_RESOLVED) ||
	    !rn_gid_is_multicast(&group.gid) || group.family != id->port.src.family)
		return -EINVAL;
	mc = new_group(id, cmd->uid);
	if (!mc)
		return -ENOMEM;
	out = rnd_event_queue(id, RND_EV_MULTICAST_JOIN, 0);
	if (!out) {
		free_group(mc);
		return -ENOMEM;
	}
	out->mcast = mc;
	out->resp.uid = mc->uid;
	out->resp.id = mc->number;
	fill_event(id, &group, out);
	resp.id = mc->number;
	return rnd_call_answer(c, &resp, sizeof(resp));
}

static int cmd_join_ip_mcast(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_join_ip_mcast *cmd = &in->join_ip_mcast;
	struct rdma_ucm_join_mcast join_cmd = { 0 };

	join_cmd.uid = cmd->uid;
	join_cmd.id = cmd->id;
	join_cmd.addr_size = sizeof(cmd->addr);
	join_cmd.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	memcpy(&join_cmd.addr, &cmd->addr, sizeof(cmd->addr));
	return join(c, &join_cmd);
}

static int cmd_join_mcast(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_join_mcast *cmd = &in->join_mcast;

	if (!cmd->addr_size || cmd->addr_size > sizeof(cmd->addr))
		return -EINVAL;
	return join(c, cmd);
}

static int cmd_leave_mcast(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_destroy_id *cmd = &in->destroy_id;
	struct rdma_ucm_destroy_id_resp resp;
	struct rnd_mcast *mc;

	mc = rnd_table_get(&c->ch->ucma->mcasts, cmd->id);
	if (!mc)
		return -ENOENT;
	if (mc->id->ch != c->ch)
		return -EINVAL;
	forget_events(mc->id, mc, c->now);
	resp.events_reported = mc->events_reported;
	free_group(mc);
	return rnd_call_answer(c, &resp, sizeof(resp));
}

/* ---- Table of commands ---- */

static const struct {
	rnd_call_fn *call;
	/* size that the buffer for the answer must have at least; otherwise ENOSPC */
	size_t out;
} commands[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = { cmd_create_id,
					 sizeof(struct rdma_ucm_create_id_resp) },
	[RDMA_USER_CM_CMD_DESTROY_ID] = { cmd_destroy_id,
					  sizeof(struct rdma_ucm_destroy_id_resp) },
	[RDMA_USER_CM_CMD_BIND_IP] = { rnd_cmd_bind_ip, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_IP] = { rnd_cmd_resolve_ip, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = { rnd_cmd_resolve_route, 0 },
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = { rnd_cmd_query_route,
					   offsetof(struct rdma_ucm_query_route_resp,
						    ibdev_index) },
	[RDMA_USER_CM_CMD_CONNECT] = { rnd_cmd_connect, 0 },
	[RDMA_USER_CM_CMD_LISTEN] = { rnd_cmd_listen, 0 },
	[RDMA_USER_CM_CMD_ACCEPT] = { rnd_cmd_accept, 0 },
	[RDMA_USER_CM_CMD_REJECT] = { rnd_cmd_reject, 0 },
	[RDMA_USER_CM_CMD_DISCONNECT] = { rnd_cmd_disconnect, 0 },
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = { rnd_cmd_init_qp_attr,
					    sizeof(struct ib_uverbs_qp_attr) },
	[RDMA_USER_CM_CMD_GET_EVENT] = { cmd_get_event,
					 offsetof(struct rdma_ucm_event_resp, reserved) },
	[RDMA_USER_CM_CMD_GET_OPTION] = { NULL, 0 },
	[RDMA_USER_CM_CMD_SET_OPTION] = { rnd_cmd_set_option, 0 },
	[RDMA_USER_CM_CMD_NOTIFY] = { rnd_cmd_notify, 0 },
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = { cmd_join_ip_mcast,
					     sizeof(struct rdma_ucm_create_id_resp) },
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = { cmd_leave_mcast,
					   sizeof(struct rdma_ucm_destroy_id_resp) },
	[RDMA_USER_CM_CMD_MIGRATE_ID] = { cmd_migrate_id,
					  sizeof(struct rdma_ucm_migrate_resp) },
	[RDMA_USER_CM_CMD_QUERY] = { rnd_cmd_query, 0 },
	[RDMA_USER_CM_CMD_BIND] = { rnd_cmd_bind, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = { rnd_cmd_resolve_addr, 0 },
	[RDMA_USER_CM_CMD_JOIN_MCAST] = { cmd_join_mcast,
					  sizeof(struct rdma_ucm_create_id_resp) },
	/* RESOLVE_IB_SERVICE, the command with the number before this one, is not
	 * offered: it asks an SA, which RoCE does not have.
	 */
	[RN_CMDEV_WRITE_CM_EVENT] = { cmd_write_cm_event, 0 },
};

int rnd_ucma_command(struct rnd_call *c)
{
	struct rnd_ucma *ucma = c->ch->ucma;
	uint32_t cmd = c->head->cmd;
	union rnd_command in;
	int rc;

	c->answer_len = 0;
	if (cmd >= RN_ARRAY_SIZE(commands))
		return -EINVAL;
	if (!commands[cmd].call)
		return -ENOSYS;
	if (c->head->out_len < commands[cmd].out)
		return -ENOSPC;
	ucma->named = NULL;
	ucma->reported = NULL;
	ucma->reported_group = NULL;
	memset(&in, 0, sizeof(in));
	memcpy(&in, c->in, c->head->in_len < sizeof(in) ? c->head->in_len : sizeof(in));
	rc = commands[cmd].call(c, &in);
	if (ucma->named)
		rnd_id_show(ucma->named);
	rnd_take_cm_events(ucma, c->now);
	return rc;
}

void rnd_ucma_answered(struct rnd_ucma *ucma)
{
	if (ucma->reported)
		show_life(ucma->reported);
	if (ucma->reported_group)
		show_group(ucma->reported_group);
	ucma->reported = NULL;
	ucma->reported_group = NULL;
}
