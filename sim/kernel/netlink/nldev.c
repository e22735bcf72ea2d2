/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nldev.c - answers requests of RDMA netlink.
 *
 * A request that fails, or that asks for an acknowledgement (NLM_F_ACK), is answered by
 * an error message. A request for all objects (NLM_F_DUMP) is answered by any number of
 * messages and NLMSG_DONE, which contains the error, if there is one.
 *
 * Objects have the numbers that `rocin stat --resources` shows. A number is unique in one
 * program and device, but several programs may use it. If a request names such a number,
 * the answer describes the object of the first of these programs.
 */
#include "nldev.h"

#include <assert.h>
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>

#include "message.h"
#include "rocin/queue_pair.h"
#include "sim/kernel/rdma_cm.h"
#include "transport/io/rocind/stats_pages.h"
#include "walk.h"

enum {
	/* flags and values in the sysfs files cap_mask, state and phys_state of a port */
	PORT_CAP_CM = 0x00010000, /* the bit IsCommunicationManagementSupported */
	PORT_DOWN = 1,
	PORT_ACTIVE = 4,
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
	NODE_CA = 1, /* RDMA_NODE_IB_CA */
	PORTS = 1,   /* number of ports of each device */
	UVERBS_ABI = 1,
	CM_ABI = 4,
	NULL_MAJOR = 1, /* device nodes are /dev/null, major number 1; see sysfs_tree.h */
	NULL_MINOR = 3,
};

/* The answer to one request, while it is being made. */
struct answer {
	const struct rnk_nl_view *view;
	struct nlmsghdr request;
	struct rnk_nl_attr attr[RDMA_NLDEV_ATTR_MAX];
	const char *reason; /* sentence for the program about the error, or NULL */
	struct rnk_nl_buf buf;
	rnk_nl_send_fn *send;
	void *ctx;
	/* error that @send has returned; once it is set, nothing more is sent */
	int send_error;
	uint32_t port_id;
};

/* A function that answers one command of RDMA netlink, for one object or for all objects
 * (NLM_F_DUMP). Returns 0 or -errno.
 */
typedef int command_fn(struct answer *a);

/* ---- Messages of an answer ---- */

static void send_datagram(struct answer *a)
{
	if (a->buf.len && !a->send_error)
		a->send_error = a->send(a->ctx, a->buf.data, a->buf.len);
	a->buf.len = 0;
}

static bool is_dump(const struct answer *a)
{
	return (a->request.nlmsg_flags & NLM_F_DUMP) != 0;
}

/* Begins a message of the answer with this command of RDMA_NL_NLDEV as its type. */
static void begin_answer(struct answer *a, unsigned command)
{
	const struct nlmsghdr hdr = {
		.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
		.nlmsg_flags = is_dump(a) ? NLM_F_MULTI : 0,
		.nlmsg_seq = a->request.nlmsg_seq,
		.nlmsg_pid = a->port_id,
	};

	rnk_nl_begin(&a->buf, &hdr);
}

/* Ends the message, which is the only one of its datagram, and sends the datagram. */
static void end_answer(struct answer *a)
{
	/* Such a message always fits into the buffer, because the numbers and names of a
	 * device have a fixed size.
	 */
	assert(!a->buf.full);
	rnk_nl_end(&a->buf);
	send_datagram(a);
}

/* Writes the attributes that identify a device: its number and name. */
static void put_device(struct answer *a, const struct rnk_nl_device *dev)
{
	rnk_nl_put_u32(&a->buf, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	rnk_nl_put_text(&a->buf, RDMA_NLDEV_ATTR_DEV_NAME, dev->name);
}

/* Returns the device that the request names, or NULL. */
static const struct rnk_nl_device *find_device(const struct answer *a)
{
	uint32_t index;

	if (!rnk_nl_u32(&a->attr[RDMA_NLDEV_ATTR_DEV_INDEX], &index))
		return NULL;
	for (unsigned i = 0; i < a->view->device_count; i++)
		if (a->view->device[i].index == index)
			return &a->view->device[i];
	return NULL;
}

/* Reads the port that the request names. Sets @port to its number, or to 0 if the request
 * names no port. Return: 0; -EINVAL if the port does not exist: each device has one port.
 */
static int find_port(const struct answer *a, uint32_t *port)
{
	*port = 0;
	if (!a->attr[RDMA_NLDEV_ATTR_PORT_INDEX].data)
		return 0;
	if (!rnk_nl_u32(&a->attr[RDMA_NLDEV_ATTR_PORT_INDEX], port) || *port != PORTS)
		return -EINVAL;
	return 0;
}

/* ---- Devices and ports ---- */

static void put_device_info(struct answer *a, const struct rnk_nl_device *dev)
{
	begin_answer(a, RDMA_NLDEV_CMD_GET);
	put_device(a, dev);
	rnk_nl_put_u32(&a->buf, RDMA_NLDEV_ATTR_PORT_INDEX, PORTS);
	rnk_nl_put_u64(&a->buf, RDMA_NLDEV_ATTR_CAP_FLAGS, 0);
	rnk_nl_put_text(&a->buf, RDMA_NLDEV_ATTR_FW_VERSION, ROCIN_VERSION);
	rnk_nl_put_u64(&a->buf, RDMA_NLDEV_ATTR_NODE_GUID, dev->node_guid);
	rnk_nl_put_u64(&a->buf, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, dev->node_guid);
	rnk_nl_put_u8(&a->buf, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_CA);
	rnk_nl_put_u8(&a->buf, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	rnk_nl_put_text(&a->buf, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
	end_answer(a);
}

static int get_device(struct answer *a)
{
	const struct rnk_nl_device *dev = find_device(a);

	if (!dev)
		return -EINVAL;
	put_device_info(a, dev);
	return 0;
}

static int dump_devices(struct answer *a)
{
	for (unsigned i = 0; i < a->view->device_count; i++)
		put_device_info(a, &a->view->device[i]);
	return 0;
}

static void put_port_info(struct answer *a, const struct rnk_nl_device *dev)
{
	put_device(a, dev);
	rnk_nl_put_u32(&a->buf, RDMA_NLDEV_ATTR_PORT_INDEX, PORTS);
	rnk_nl_put_u64(&a->buf, RDMA_NLDEV_ATTR_CAP_FLAGS, PORT_CAP_CM);
	rnk_nl_put_u8(&a->buf, RDMA_NLDEV_ATTR_PORT_STATE,
		      dev->up ? PORT_ACTIVE : PORT_DOWN);
	rnk_nl_put_u8(&a->buf, RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
		      dev->up ? PHYS_LINK_UP : PHYS_DISABLED);
	if (dev->ifindex && dev->ifname[0]) {
		rnk_nl_put_u32(&a->buf, RDMA_NLDEV_ATTR_NDEV_INDEX, dev->ifindex);
		rnk_nl_put_text(&a->buf, RDMA_NLDEV_ATTR_NDEV_NAME, dev->ifname);
	}
	end_answer(a);
}

static int get_port(struct answer *a)
{
	const struct rnk_nl_device *dev = find_device(a);
	uint32_t port;

	if (!dev || find_port(a, &port) || !port)
		return -EINVAL;
	/* The kernel answers this request with the message type of RDMA_NLDEV_CMD_GET. */
	begin_answer(a, RDMA_NLDEV_CMD_GET);
	put_port_info(a, dev);
	return 0;
}

static int dump_ports(struct answer *a)
{
	const struct rnk_nl_device *dev = find_device(a);

	if (!dev)
		return -EINVAL;
	begin_answer(a, RDMA_NLDEV_CMD_PORT_GET);
	put_port_info(a, dev);
	return 0;
}

/* ---- Properties of the whole system ---- */

static int get_system(struct answer *a)
{
	begin_answer(a, RDMA_NLDEV_CMD_SYS_GET);
	/* The value 1 stands for "shared": all network namespaces share the devices. This
	 * is so because all programs that use the tree see the same devices.
	 */
	rnk_nl_put_u8(&a->buf, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
	/* The value 1 means that programs need not call madvise(MADV_DONTFORK) before
	 * fork(). They need not, because the data is copied by the processor, so no
	 * hardware depends on pinned pages.
	 */
	rnk_nl_put_u8(&a->buf, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	end_answer(a);
	return 0;
}

/* Encodes a device number as the kernel does: huge_encode_dev(). */
static uint64_t encode_device(uint64_t major, uint64_t minor)
{
	return (minor & 0xff) | major << 8 | (minor & ~0xffull) << 12;
}

static void put_chardev(struct answer *a, uint64_t number, uint64_t abi, const char *name)
{
	begin_answer(a, RDMA_NLDEV_CMD_GET_CHARDEV);
	rnk_nl_put_u64(&a->buf, RDMA_NLDEV_ATTR_CHARDEV, number);
	rnk_nl_put_u64(&a->buf, RDMA_NLDEV_ATTR_CHARDEV_ABI, abi);
	rnk_nl_put_text(&a->buf, RDMA_NLDEV_ATTR_CHARDEV_NAME, name);
	end_answer(a);
}

static int get_chardev(struct answer *a)
{
	const struct rnk_nl_attr *type = &a->attr[RDMA_NLDEV_ATTR_CHARDEV_TYPE];
	const struct rnk_nl_device *dev = find_device(a);
	bool of_device = a->attr[RDMA_NLDEV_ATTR_DEV_INDEX].data != NULL;
	char name[64];

	if (!type->data || (of_device && !dev))
		return -EINVAL;
	if (dev && rnk_nl_is_text(type, "uverbs")) {
		(void)snprintf(name, sizeof(name), "uverbs_%s", dev->name);
		put_chardev(a, encode_device(NULL_MAJOR, NULL_MINOR), UVERBS_ABI, name);
		return 0;
	}
	if (!dev && rnk_nl_is_text(type, "rdma_cm")) {
		put_chardev(a, encode_device(RNK_CM_MAJOR, RNK_CM_MINOR), CM_ABI,
			    "rdma_cm");
		return 0;
	}
	return -EOPNOTSUPP;
}

/* ---- Attributes of an object ---- */

static bool has_path(const struct rn_stats_qp *qp)
{
	return qp->type == RN_QPT_RC || qp->type == RN_QPT_UC ||
	       qp->type == RN_QPT_XRC_SEND || qp->type == RN_QPT_XRC_RECV;
}

static void put_qp(struct rnk_nl_buf *b, const struct rnk_nl_item *item)
{
	const struct rn_stats_qp *qp = item->qp;

	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_LQPN, qp->qpn);
	if (qp->state != RN_QPS_RESET)
		rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	if (qp->pdn)
		rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_PDN, qp->pdn);
	if (qp->type == RN_QPT_RC || qp->type == RN_QPT_UC) {
		rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_RQPN, qp->dest_qpn);
		rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_RQ_PSN,
			       qp->rq_psn & RN_STATS_PSN_MASK);
	}
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_SQ_PSN, qp->sq_psn);
	if (has_path(qp))
		rnk_nl_put_u8(b, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, qp->mig_state);
	rnk_nl_put_u8(b, RDMA_NLDEV_ATTR_RES_TYPE, qp->type);
	rnk_nl_put_u8(b, RDMA_NLDEV_ATTR_RES_STATE, qp->state);
}

static void put_cm_id(struct rnk_nl_buf *b, const struct rnk_nl_item *item)
{
	const struct rnk_nl_cm_id *id = item->cm_id;

	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_CM_IDN, id->number);
	if (id->qpn) {
		rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_LQPN, id->qpn);
		rnk_nl_put_u8(b, RDMA_NLDEV_ATTR_RES_TYPE, id->qp_type);
	}
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_PS, id->port_space);
	rnk_nl_put_u8(b, RDMA_NLDEV_ATTR_RES_STATE, id->state);
	if (id->src.ss_family)
		rnk_nl_put(b, RDMA_NLDEV_ATTR_RES_SRC_ADDR, &id->src, sizeof(id->src));
	if (id->dst.ss_family)
		rnk_nl_put(b, RDMA_NLDEV_ATTR_RES_DST_ADDR, &id->dst, sizeof(id->dst));
}

static void put_cq(struct rnk_nl_buf *b, const struct rnk_nl_item *item)
{
	const struct rn_stats_object *o = item->object;

	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_CQE, o->cqe);
	rnk_nl_put_u64(b, RDMA_NLDEV_ATTR_RES_USECNT, o->users);
	rnk_nl_put_u8(b, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_CQN, o->number);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_CTXN, o->ctxn);
}

static void put_mr(struct rnk_nl_buf *b, const struct rnk_nl_item *item)
{
	const struct rn_stats_object *o = item->object;

	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_RKEY, o->key);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_LKEY, o->key);
	rnk_nl_put_u64(b, RDMA_NLDEV_ATTR_RES_MRLEN, o->length);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_MRN, o->number);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_PDN, o->pdn);
}

static void put_pd(struct rnk_nl_buf *b, const struct rnk_nl_item *item)
{
	const struct rn_stats_object *o = item->object;

	rnk_nl_put_u64(b, RDMA_NLDEV_ATTR_RES_USECNT, o->users);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_PDN, o->number);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_CTXN, o->ctxn);
}

static void put_ctx(struct rnk_nl_buf *b, const struct rnk_nl_item *item)
{
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_CTXN, item->number);
}

static void put_srq(struct rnk_nl_buf *b, const struct rnk_nl_item *item)
{
	const struct rn_stats_object *o = item->object;

	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_SRQN, o->number);
	rnk_nl_put_u8(b, RDMA_NLDEV_ATTR_RES_TYPE, (uint8_t)o->type);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_PDN, o->pdn);
	if (o->type == IB_UVERBS_SRQT_XRC)
		rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_CQN, o->cqn);
}

static const struct kind_rules {
	const char *name;
	uint16_t command;
	/* @table: attribute that contains the list of objects. @entry: attribute that
	 * contains one object of the list.
	 */
	uint16_t table, entry;
	uint16_t number; /* attribute that names one object */
	bool of_port;	 /* a request for one object must name a port, too */
	void (*put)(struct rnk_nl_buf *b, const struct rnk_nl_item *item);
} rules[RNK_NL_KIND_COUNT] = {
	[RNK_NL_KIND_PD] = { "pd", RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD,
			     RDMA_NLDEV_ATTR_RES_PD_ENTRY, RDMA_NLDEV_ATTR_RES_PDN, false,
			     put_pd },
	[RNK_NL_KIND_CQ] = { "cq", RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
			     RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN, false,
			     put_cq },
	[RNK_NL_KIND_QP] = { "qp", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
			     RDMA_NLDEV_ATTR_RES_QP_ENTRY, RDMA_NLDEV_ATTR_RES_LQPN, true,
			     put_qp },
	[RNK_NL_KIND_CM_ID] = { "cm_id", RDMA_NLDEV_CMD_RES_CM_ID_GET,
				RDMA_NLDEV_ATTR_RES_CM_ID,
				RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
				RDMA_NLDEV_ATTR_RES_CM_IDN, true, put_cm_id },
	[RNK_NL_KIND_MR] = { "mr", RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
			     RDMA_NLDEV_ATTR_RES_MR_ENTRY, RDMA_NLDEV_ATTR_RES_MRN, false,
			     put_mr },
	[RNK_NL_KIND_CTX] = { "ctx", RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX,
			      RDMA_NLDEV_ATTR_RES_CTX_ENTRY, RDMA_NLDEV_ATTR_RES_CTXN,
			      false, put_ctx },
	[RNK_NL_KIND_SRQ] = { "srq", RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ,
			      RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, RDMA_NLDEV_ATTR_RES_SRQN,
			      false, put_srq },
};

/* Writes the attributes of an object and the pid of its process. The name of the process
 * is left out, because rdma(8) finds it out by the pid.
 */
static void put_item(struct rnk_nl_buf *b, const struct kind_rules *r,
		     const struct rnk_nl_item *item)
{
	r->put(b, item);
	rnk_nl_put_u32(b, RDMA_NLDEV_ATTR_RES_PID, (uint32_t)item->pid);
}

/* ---- The requests ---- */

/* Returns the kind of object (such as queue pairs) that the request is about. */
static enum rnk_nl_kind kind_of(const struct answer *a)
{
	unsigned op = RDMA_NL_GET_OP(a->request.nlmsg_type);
	unsigned kind = 0;

	while (kind < RNK_NL_KIND_COUNT - 1 && rules[kind].command != op)
		kind++;
	return (enum rnk_nl_kind)kind;
}

/* Returns true if the object belongs in an answer about @port, the number of the only
 * port. Every object belongs to that port, except a queue pair in RESET. @port 0: the
 * request is about the whole device, to which all objects belong.
 */
static bool is_of_port(const struct rnk_nl_item *item, uint32_t port)
{
	return !port || !item->qp || item->qp->state != RN_QPS_RESET;
}

static int get_object(struct answer *a)
{
	struct rnk_nl_walk w = { .view = a->view,
				 .dev = find_device(a),
				 .kind = kind_of(a) };
	const struct kind_rules *r = &rules[w.kind];
	struct rnk_nl_item item;
	uint32_t port, number;

	if (!w.dev || !rnk_nl_u32(&a->attr[r->number], &number) || find_port(a, &port) ||
	    (port != 0) != r->of_port)
		return -EINVAL;
	while (rnk_nl_next(&w, &item)) {
		if (item.number != number || !is_of_port(&item, port))
			continue;
		begin_answer(a, r->command);
		put_device(a, w.dev);
		put_item(&a->buf, r, &item);
		end_answer(a);
		return 0;
	}
	return -ENOENT;
}

/* A message into which a list of objects is being written. */
struct list {
	const struct kind_rules *rules;
	const struct rnk_nl_device *dev;
	uint32_t table; /* offset of the attribute that contains the list */
};

static void begin_list(struct answer *a, struct list *l)
{
	begin_answer(a, l->rules->command);
	put_device(a, l->dev);
	l->table = rnk_nl_nest(&a->buf, l->rules->table);
}

static void end_list(struct answer *a, const struct list *l)
{
	rnk_nl_unnest(&a->buf, l->table);
	end_answer(a);
}

static bool add_to_list(struct answer *a, const struct list *l,
			const struct rnk_nl_item *item)
{
	uint32_t before = a->buf.len;
	uint32_t entry = rnk_nl_nest(&a->buf, l->rules->entry);

	put_item(&a->buf, l->rules, item);
	rnk_nl_unnest(&a->buf, entry);
	if (!a->buf.full)
		return true;
	a->buf.len = before;
	a->buf.full = false;
	return false;
}

static int dump_objects(struct answer *a)
{
	struct rnk_nl_walk w = { .view = a->view,
				 .dev = find_device(a),
				 .kind = kind_of(a) };
	struct list l = { .rules = &rules[w.kind], .dev = w.dev };
	struct rnk_nl_item item;
	uint32_t port;

	if (!w.dev || find_port(a, &port))
		return -EINVAL;
	begin_list(a, &l);
	while (!a->send_error && rnk_nl_next(&w, &item)) {
		if (!is_of_port(&item, port) || add_to_list(a, &l, &item))
			continue;
		end_list(a, &l);
		begin_list(a, &l);
		(void)add_to_list(a, &l, &item);
	}
	end_list(a, &l);
	return 0;
}

static uint64_t count_items(const struct rnk_nl_view *view,
			    const struct rnk_nl_device *dev, enum rnk_nl_kind kind)
{
	struct rnk_nl_walk w = { .view = view, .dev = dev, .kind = kind };
	struct rnk_nl_item item;
	uint64_t count = 0;

	while (rnk_nl_next(&w, &item))
		count++;
	return count;
}

static void put_summary(struct answer *a, const struct rnk_nl_device *dev)
{
	uint32_t table, entry;

	begin_answer(a, RDMA_NLDEV_CMD_RES_GET);
	put_device(a, dev);
	table = rnk_nl_nest(&a->buf, RDMA_NLDEV_ATTR_RES_SUMMARY);
	for (unsigned kind = 0; kind < RNK_NL_KIND_COUNT; kind++) {
		entry = rnk_nl_nest(&a->buf, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
		rnk_nl_put_text(&a->buf, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME,
				rules[kind].name);
		rnk_nl_put_u64(&a->buf, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
			       count_items(a->view, dev, (enum rnk_nl_kind)kind));
		rnk_nl_unnest(&a->buf, entry);
	}
	rnk_nl_unnest(&a->buf, table);
	end_answer(a);
}

static int get_summary(struct answer *a)
{
	const struct rnk_nl_device *dev = find_device(a);

	if (!dev)
		return -EINVAL;
	put_summary(a, dev);
	return 0;
}

static int dump_summaries(struct answer *a)
{
	for (unsigned i = 0; i < a->view->device_count; i++)
		put_summary(a, &a->view->device[i]);
	return 0;
}

/* ---- Counters of devices ---- */

static const char *const counter_name[] = {
#define X(sym, name, report, help) [RN_STAT_##sym] = (name),
	RN_STATS(X)
#undef X
};

uint64_t rnk_nl_counter(const struct rn_stats_list *programs, const char *ibdev,
			const uint64_t *ended, enum rn_stat stat)
{
	uint64_t sum = ended ? ended[stat] : 0;

	for (size_t i = 0; programs && i < programs->count; i++) {
		const struct rn_stats_client *c = &programs->client[i];

		if (strncmp(c->id.ibdev, ibdev, sizeof(c->id.ibdev)) == 0 &&
		    (uint32_t)stat < c->copy.counter_count)
			sum += c->copy.page.counter[stat];
	}
	return sum;
}

static const struct rnk_nl_device *device_and_port(const struct answer *a)
{
	const struct rnk_nl_device *dev = find_device(a);
	uint32_t port;

	return dev && !find_port(a, &port) && port ? dev : NULL;
}

static void begin_counters(struct answer *a, const struct rnk_nl_device *dev,
			   unsigned command)
{
	begin_answer(a, command);
	put_device(a, dev);
	rnk_nl_put_u32(&a->buf, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
}

/* Writes all counters of a device: names and values, or only the names. */
static void put_counters(struct answer *a, const struct rnk_nl_device *dev,
			 bool with_values)
{
	uint32_t table = rnk_nl_nest(&a->buf, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);

	for (unsigned i = 0; i < RN_STAT_COUNT; i++) {
		uint32_t entry =
			rnk_nl_nest(&a->buf, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);

		rnk_nl_put_text(&a->buf, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME,
				counter_name[i]);
		if (with_values)
			rnk_nl_put_u64(&a->buf,
				       RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
				       rnk_nl_counter(a->view->programs, dev->name,
						      dev->ended, (enum rn_stat)i));
		else
			rnk_nl_put_u32(&a->buf, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, i);
		rnk_nl_unnest(&a->buf, entry);
	}
	rnk_nl_unnest(&a->buf, table);
}

/* Answers a request about counters that are bound to queue pairs. Rocin binds no
 * counters. So the answer contains the mode RDMA_COUNTER_MODE_NONE, and a request that
 * names a counter is refused, because there is none.
 */
static int get_binding(struct answer *a, const struct rnk_nl_device *dev)
{
	if (a->attr[RDMA_NLDEV_ATTR_STAT_COUNTER_ID].data)
		return -ENOENT;
	begin_counters(a, dev, RDMA_NLDEV_CMD_STAT_GET);
	rnk_nl_put_u32(&a->buf, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_NONE);
	end_answer(a);
	return 0;
}

static int get_counters(struct answer *a)
{
	const struct rnk_nl_device *dev = device_and_port(a);
	const struct rnk_nl_attr *of = &a->attr[RDMA_NLDEV_ATTR_STAT_RES];
	uint32_t what;

	if (!dev)
		return -EINVAL;
	if (of->data)
		return rnk_nl_u32(of, &what) && what == RDMA_NLDEV_ATTR_RES_QP
			       ? get_binding(a, dev)
			       : -EINVAL;
	begin_counters(a, dev, RDMA_NLDEV_CMD_STAT_GET);
	put_counters(a, dev, true);
	end_answer(a);
	return 0;
}

/* Answers a request for all counters that are bound to queue pairs or memory regions. The
 * list is always empty.
 */
static int dump_bound_counters(struct answer *a)
{
	const struct rnk_nl_device *dev = find_device(a);
	uint32_t what;

	if (!rnk_nl_u32(&a->attr[RDMA_NLDEV_ATTR_STAT_RES], &what) || !dev ||
	    (what != RDMA_NLDEV_ATTR_RES_QP && what != RDMA_NLDEV_ATTR_RES_MR))
		return -EINVAL;
	begin_answer(a, RDMA_NLDEV_CMD_STAT_GET);
	put_device(a, dev);
	rnk_nl_put(&a->buf, RDMA_NLDEV_ATTR_STAT_COUNTER | NLA_F_NESTED, "", 0);
	end_answer(a);
	return 0;
}

static int get_counter_names(struct answer *a)
{
	const struct rnk_nl_device *dev = device_and_port(a);

	if (!dev)
		return -EINVAL;
	begin_counters(a, dev, RDMA_NLDEV_CMD_STAT_GET_STATUS);
	put_counters(a, dev, false);
	end_answer(a);
	return 0;
}

/* ---- Requests that are refused ---- */

static int refuse_change(struct answer *a)
{
	a->reason = "devices of Rocin are made by rocin run --netdev and are not changed";
	return -EOPNOTSUPP;
}

static int refuse_counter(struct answer *a)
{
	a->reason = "Rocin counts for each device and queue pair, and nothing is bound";
	return -EOPNOTSUPP;
}

static int refuse_raw(struct answer *a)
{
	a->reason = "Rocin has no objects in a format of its hardware";
	return -EOPNOTSUPP;
}

/* ---- Table of commands ---- */

static const struct command {
	/* functions that answer a request for one object, and for all objects; NULL: the
	 * command has no such request
	 */
	command_fn *get, *dump;
	unsigned needs;
} commands[] = {
	[RDMA_NLDEV_CMD_GET] = { get_device, dump_devices, 0 },
	[RDMA_NLDEV_CMD_SET] = { refuse_change, NULL, 0 },
	[RDMA_NLDEV_CMD_NEWLINK] = { refuse_change, NULL, 0 },
	[RDMA_NLDEV_CMD_DELLINK] = { refuse_change, NULL, 0 },
	[RDMA_NLDEV_CMD_PORT_GET] = { get_port, dump_ports, 0 },
	[RDMA_NLDEV_CMD_SYS_GET] = { get_system, NULL, 0 },
	[RDMA_NLDEV_CMD_SYS_SET] = { refuse_change, NULL, 0 },
	[RDMA_NLDEV_CMD_RES_GET] = { get_summary, dump_summaries,
				     RNK_NL_PROGRAMS | RNK_NL_CM_IDS },
	[RDMA_NLDEV_CMD_RES_QP_GET] = { get_object, dump_objects, RNK_NL_PROGRAMS },
	[RDMA_NLDEV_CMD_RES_CM_ID_GET] = { get_object, dump_objects, RNK_NL_CM_IDS },
	[RDMA_NLDEV_CMD_RES_CQ_GET] = { get_object, dump_objects, RNK_NL_PROGRAMS },
	[RDMA_NLDEV_CMD_RES_MR_GET] = { get_object, dump_objects, RNK_NL_PROGRAMS },
	[RDMA_NLDEV_CMD_RES_PD_GET] = { get_object, dump_objects, RNK_NL_PROGRAMS },
	[RDMA_NLDEV_CMD_GET_CHARDEV] = { get_chardev, NULL, 0 },
	[RDMA_NLDEV_CMD_STAT_SET] = { refuse_counter, NULL, 0 },
	[RDMA_NLDEV_CMD_STAT_GET] = { get_counters, dump_bound_counters,
				      RNK_NL_PROGRAMS },
	[RDMA_NLDEV_CMD_STAT_DEL] = { refuse_counter, NULL, 0 },
	[RDMA_NLDEV_CMD_RES_QP_GET_RAW] = { refuse_raw, refuse_raw, 0 },
	[RDMA_NLDEV_CMD_RES_CQ_GET_RAW] = { refuse_raw, refuse_raw, 0 },
	[RDMA_NLDEV_CMD_RES_MR_GET_RAW] = { refuse_raw, refuse_raw, 0 },
	[RDMA_NLDEV_CMD_RES_CTX_GET] = { get_object, dump_objects, RNK_NL_PROGRAMS },
	[RDMA_NLDEV_CMD_RES_SRQ_GET] = { get_object, dump_objects, RNK_NL_PROGRAMS },
	[RDMA_NLDEV_CMD_STAT_GET_STATUS] = { get_counter_names, NULL, 0 },
};

/* Returns the command of a message type, or NULL if there is none. */
static const struct command *find_command(uint16_t type)
{
	unsigned op = RDMA_NL_GET_OP(type);

	if (RDMA_NL_GET_CLIENT(type) != RDMA_NL_NLDEV || op >= RN_ARRAY_SIZE(commands) ||
	    (!commands[op].get && !commands[op].dump))
		return NULL;
	return &commands[op];
}

/* Calls @visit with each request of a datagram, until @visit returns something other than
 * 0. Returns the last result of @visit.
 */
static int for_each_request(const uint8_t *data, size_t len,
			    int (*visit)(void *ctx, const struct nlmsghdr *hdr,
					 const uint8_t *message),
			    void *ctx)
{
	struct nlmsghdr hdr;
	int rc = 0;

	while (!rc && len >= sizeof(hdr)) {
		size_t step;

		memcpy(&hdr, data, sizeof(hdr));
		if (hdr.nlmsg_len < sizeof(hdr) || hdr.nlmsg_len > len)
			return 0;
		rc = visit(ctx, &hdr, data);
		step = rnk_nl_padded(hdr.nlmsg_len);
		if (step > len)
			step = len;
		data += step;
		len -= step;
	}
	return rc;
}

static int add_needs(void *ctx, const struct nlmsghdr *hdr, const uint8_t *message)
{
	const struct command *c = find_command(hdr->nlmsg_type);
	unsigned *needs = ctx;

	(void)message;
	if (c)
		*needs |= c->needs;
	return 0;
}

unsigned rnk_nldev_needs(const void *data, size_t len)
{
	unsigned needs = 0;

	(void)for_each_request(data, len, add_needs, &needs);
	return needs;
}

/* ---- Acknowledgements and ends of answers ---- */

static void put_reason(struct answer *a)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)(a->buf.data + a->buf.msg);

	h->nlmsg_flags |= NLM_F_ACK_TLVS;
	rnk_nl_put_text(&a->buf, NLMSGERR_ATTR_MSG, a->reason);
}

/* Sends NLMSG_ERROR; @error is 0 or -errno. If @error is not 0, the message repeats the
 * request, unless the program has set NETLINK_CAP_ACK or the request is too long.
 */
static void send_ack(struct answer *a, const struct rnk_nl_asker *asker, int error,
		     const uint8_t *request)
{
	size_t payload = a->request.nlmsg_len - sizeof(a->request);
	bool repeats = error && !asker->wants_capped && payload <= RNK_NL_DATAGRAM / 2;
	const struct nlmsghdr hdr = {
		.nlmsg_type = NLMSG_ERROR,
		.nlmsg_flags = repeats ? 0 : NLM_F_CAPPED,
		.nlmsg_seq = a->request.nlmsg_seq,
		.nlmsg_pid = a->port_id,
	};
	struct nlmsgerr *e;

	rnk_nl_begin(&a->buf, &hdr);
	e = rnk_nl_reserve(&a->buf, sizeof(*e) + (repeats ? payload : 0));
	/* e is not NULL, because the buffer is empty and larger than the message */
	assert(e);
	e->error = error;
	e->msg = a->request;
	if (repeats)
		memcpy(e + 1, request + sizeof(a->request), payload);
	if (error && a->reason && asker->wants_reasons)
		put_reason(a);
	end_answer(a);
}

/* Sends the message NLMSG_DONE, which ends an answer of several messages. */
static void send_done(struct answer *a, int error)
{
	const struct nlmsghdr hdr = {
		.nlmsg_type = NLMSG_DONE,
		.nlmsg_flags = NLM_F_MULTI,
		.nlmsg_seq = a->request.nlmsg_seq,
		.nlmsg_pid = a->port_id,
	};

	int32_t *status;

	rnk_nl_begin(&a->buf, &hdr);
	status = rnk_nl_reserve(&a->buf, sizeof(*status));
	assert(status); /* not NULL, because the buffer is empty */
	*status = error;
	end_answer(a);
}

/* ---- Execution of requests ---- */

struct visit {
	struct answer answer;
	const struct rnk_nl_asker *asker;
};

/* Executes a request that is not a netlink control message. Return: 0 or -errno, which
 * the caller must send in an acknowledgement. -EINTR: this function has sent NLMSG_DONE,
 * so the caller must send no acknowledgement.
 */
static int carry_out(struct answer *a)
{
	const struct command *c = find_command(a->request.nlmsg_type);

	if (!c)
		return -EINVAL;
	if (!is_dump(a))
		return c->get(a);
	if (!c->dump)
		return -EINVAL;
	send_done(a, c->dump(a));
	return -EINTR;
}

static int answer_one(void *ctx, const struct nlmsghdr *hdr, const uint8_t *message)
{
	struct visit *v = ctx;
	struct answer *a = &v->answer;
	int rc = 0;

	a->request = *hdr;
	a->reason = NULL;
	rnk_nl_parse(message + sizeof(*hdr), hdr->nlmsg_len - sizeof(*hdr), a->attr,
		     RN_ARRAY_SIZE(a->attr));
	if ((hdr->nlmsg_flags & NLM_F_REQUEST) && hdr->nlmsg_type >= NLMSG_MIN_TYPE)
		rc = carry_out(a);
	if (rc != -EINTR && (rc || (hdr->nlmsg_flags & NLM_F_ACK)))
		send_ack(a, v->asker, rc, message);
	return a->send_error;
}

int rnk_nldev_answer(const struct rnk_nl_view *view, const struct rnk_nl_asker *asker,
		     const void *data, size_t len, rnk_nl_send_fn *send, void *ctx)
{
	struct visit v = { .asker = asker };

	v.answer.view = view;
	v.answer.port_id = asker->port_id;
	v.answer.send = send;
	v.answer.ctx = ctx;
	return for_each_request(data, len, answer_one, &v);
}
