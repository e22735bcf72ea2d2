/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* option.c - the command that sets an option of an rdma_cm id. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "id.h"

static int set_reuse(struct rnd_id *id, bool on)
{
	if (id->state == RND_ID_IDLE || (on && id->state != RND_ID_LISTEN)) {
		id->port.reuse = on;
		return 0;
	}
	return -EINVAL;
}

static int set_v6only(struct rnd_id *id, bool on)
{
	if (id->state != RND_ID_IDLE && id->state != RND_ID_BOUND)
		return -EINVAL;
	id->port.v6only = on;
	return 0;
}

static int set_ack_timeout(struct rnd_id *id, uint8_t timeout)
{
	bool is_reliable = id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND;

	/* The ACK timeout of a QP has five bits. Linux does not check this here. */
	if (!is_reliable || timeout > 31)
		return -EINVAL;
	id->ack_timeout = timeout;
	id->has_ack_timeout = true;
	return 0;
}

static int set_of_id(struct rnd_id *id, uint32_t name, const void *value, size_t len)
{
	bool is_byte = name == RDMA_OPTION_ID_TOS || name == RDMA_OPTION_ID_ACK_TIMEOUT;
	uint8_t byte = 0;
	int number = 0;

	if (name > RDMA_OPTION_ID_ACK_TIMEOUT)
		return -ENOSYS;
	if (len != (is_byte ? sizeof(byte) : sizeof(number)))
		return -EINVAL;
	memcpy(is_byte ? (void *)&byte : (void *)&number, value, len);
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		id->tos = byte;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		return set_reuse(id, number != 0);
	case RDMA_OPTION_ID_AFONLY:
		return set_v6only(id, number != 0);
	default:
		return set_ack_timeout(id, byte);
	}
}

/* Checks the path record that a program sets. The record is not used: on RoCE the path is
 * determined by the route. Returns 0 or -EINVAL.
 */
static int set_path(struct rnd_id *id, const void *paths, size_t len)
{
	const uint32_t whole = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	struct ib_path_rec_data path = { 0 };

	if (len % sizeof(path))
		return -EINVAL;
	for (size_t at = 0; at < len && path.flags != whole; at += sizeof(path))
		memcpy(&path, (const char *)paths + at, sizeof(path));
	if (path.flags != whole)
		return -EINVAL;
	if (id->state != RND_ID_ADDR_RESOLVED)
		return -EINVAL;
	id->state = RND_ID_ROUTE_RESOLVED;
	rnd_event_queue(id, RND_EV_ROUTE_RESOLVED, 0);
	return 0;
}

int rnd_cmd_set_option(struct rnd_call *c, const union rnd_command *in)
{
	const struct rdma_ucm_set_option *cmd = &in->set_option;
	struct rnd_id *id;
	int rc;

	if (cmd->optlen > RN_CMDEV_OPTION_MAX || cmd->optlen != c->head->option_len)
		return -EINVAL;
	rc = rnd_id_find(c->ch, cmd->id, &id);
	if (rc)
		return rc;
	if (cmd->level == RDMA_OPTION_ID)
		return set_of_id(id, cmd->optname, c->option, cmd->optlen);
	if (cmd->level == RDMA_OPTION_IB && cmd->optname == RDMA_OPTION_IB_PATH)
		return set_path(id, c->option, cmd->optlen);
	return -ENOSYS;
}
