/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* consumers.c - checks the properties of the device that UCX, libfabric, NCCL, Open MPI
 * and perftest examine before they use a device.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

static void read_line(const char *path, char *text, int len)
{
	FILE *f = fopen(path, "r");

	EXPECT(f && fgets(text, len, f));
	text[strcspn(text, "\n")] = '\0';
	fclose(f);
}

/* All of these programs need an active Ethernet port with GIDs. */
static void the_port_is_active(const struct loop *l)
{
	struct ibv_port_attr port;

	EXPECT(!ibv_query_port(l->ctx, 1, &port));
	EXPECT(port.state == IBV_PORT_ACTIVE &&
	       port.link_layer == IBV_LINK_LAYER_ETHERNET);
	EXPECT(port.gid_tbl_len > 0 && port.max_msg_sz >= 1u << 30);
	EXPECT(l->ctx->device->node_type == IBV_NODE_CA);
}

/* UCX opens the character device by its path before it opens the device by verbs. */
static void the_device_node_is_one(const struct loop *l)
{
	char path[PATH_MAX];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/dev/infiniband/%s",
		       l->ctx->device->dev_name);
	EXPECT(!stat(path, &st) && S_ISCHR(st.st_mode) && !access(path, R_OK | W_OK));
}

/* UCX and pyverbs read the type and the interface of each GID from files. */
static void gids_have_a_type_and_an_interface(const struct loop *l)
{
	const char *dev = ibv_get_device_name(l->ctx->device);
	char path[PATH_MAX], text[64];
	struct ibv_port_attr port;
	int seen = 0;

	EXPECT(!ibv_query_port(l->ctx, 1, &port));
	for (int i = 0; i < port.gid_tbl_len; i++) {
		union ibv_gid gid, none = { .raw = { 0 } };

		EXPECT(!ibv_query_gid(l->ctx, 1, i, &gid));
		if (!memcmp(&gid, &none, sizeof(gid)))
			continue;
		(void)snprintf(path, sizeof(path),
			       "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d", dev,
			       i);
		read_line(path, text, sizeof(text));
		EXPECT(!strcmp(text, "RoCE v2"));
		(void)snprintf(path, sizeof(path),
			       "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d", dev,
			       i);
		read_line(path, text, sizeof(text));
		EXPECT(if_nametoindex(text) > 0);
		seen++;
	}
	EXPECT(seen > 0);
}

/* UCX aborts if the attributes of a QP say that it has no scatter entries. */
static void a_qp_tells_its_real_limits(const struct loop *l)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	EXPECT(!ibv_query_qp(l->qp[0], &attr, IBV_QP_CAP, &init));
	EXPECT(attr.cap.max_send_sge == init.cap.max_send_sge &&
	       attr.cap.max_send_sge > 1);
	EXPECT(attr.cap.max_recv_sge >= 1 && attr.cap.max_send_wr >= 16);
	EXPECT(attr.cap.max_inline_data >= 32);
}

/* UCX makes the descriptors of completions and events non-blocking, and waits for them by
 * epoll.
 */
static void descriptors_can_be_nonblocking(const struct loop *l)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(l->ctx);
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *arg;

	EXPECT(channel && channel->fd > 2);
	EXPECT(!fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK));
	EXPECT(ibv_get_cq_event(channel, &cq, &arg) && errno == EAGAIN);
	EXPECT(!fcntl(l->ctx->async_fd, F_SETFL,
		      fcntl(l->ctx->async_fd, F_GETFL) | O_NONBLOCK));
	EXPECT(ibv_get_async_event(l->ctx, &event) && errno == EAGAIN);
	EXPECT(!ibv_destroy_comp_channel(channel));
}

/* UCX offers 64-bit atomics only if the device reports these attributes. */
static void atomics_are_atomic(const struct loop *l)
{
	struct ibv_device_attr attr;

	EXPECT(!ibv_query_device(l->ctx, &attr));
	/* UCX 1.13 does not use the atomics of a device that reports IBV_ATOMIC_GLOB. */
	EXPECT(attr.atomic_cap == IBV_ATOMIC_HCA);
	EXPECT(attr.max_qp_rd_atom > 0 && attr.max_qp_init_rd_atom > 0);
	EXPECT(attr.max_srq > 0 && attr.max_srq_wr > 0 && attr.max_cqe > 0);
}

/* libfabric doubles the requested size of inline data until ibv_create_qp() fails. */
static void too_much_inline_data_is_refused(const struct loop *l)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .send_cq = l->cq,
					 .recv_cq = l->cq,
					 .cap = { 1, 1, 1, 1, 32 } };
	struct ibv_qp *qp;

	while ((qp = ibv_create_qp(l->pd, &attr))) {
		EXPECT(attr.cap.max_inline_data <= 1u << 20);
		EXPECT(!ibv_destroy_qp(qp));
		attr.cap.max_inline_data *= 2;
	}
	EXPECT(errno == EINVAL && attr.cap.max_inline_data > 32);
}

/* NCCL opens libibverbs by dlopen(), and finds its functions by dlvsym(). */
static void verbs_are_found_by_version(const struct loop *l)
{
	static const char *const names[] = {
		"ibv_get_device_list", "ibv_free_device_list", "ibv_get_device_name",
		"ibv_open_device",     "ibv_close_device",     "ibv_get_async_event",
		"ibv_ack_async_event", "ibv_query_device",     "ibv_query_gid",
		"ibv_query_qp",	       "ibv_alloc_pd",	       "ibv_dealloc_pd",
		"ibv_reg_mr",	       "ibv_dereg_mr",	       "ibv_create_cq",
		"ibv_destroy_cq",      "ibv_create_qp",	       "ibv_modify_qp",
		"ibv_destroy_qp",      "ibv_fork_init",	       "ibv_event_type_str",
	};
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW);
	int (*query_port)(struct ibv_context *, uint8_t, void *);
	/* larger than the structure that the function of this version writes */
	struct ibv_port_attr port;

	EXPECT(lib);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!dlvsym(lib, names[i], "IBVERBS_1.1"))
			EXPECT(!names[i]);
	*(void **)&query_port = dlvsym(lib, "ibv_query_port", "IBVERBS_1.1");
	EXPECT(query_port && !query_port(l->ctx, 1, &port) &&
	       port.state == IBV_PORT_ACTIVE);
	EXPECT(dlvsym(lib, "ibv_reg_mr_iova2", "IBVERBS_1.8"));
	dlclose(lib);
}

/* NCCL resolves this link to find the nearest GPU, and changes the text that it gets. */
static void the_parent_device_has_a_path(const struct loop *l)
{
	char path[PATH_MAX], real[PATH_MAX];

	(void)snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device",
		       ibv_get_device_name(l->ctx->device));
	EXPECT(realpath(path, real) && strlen(real) > 4);
}

/* NCCL registers descriptor -1 to find out whether GPU memory can be registered as a
 * DMA-BUF. Memory of real GPUs cannot be registered with this device.
 */
static void dma_bufs_of_real_gpus_are_not_supported(const struct loop *l)
{
	errno = 0;
	EXPECT(!ibv_reg_dmabuf_mr(l->pd, 0, 0, 0, -1, 0));
	EXPECT(errno == EOPNOTSUPP);
}

/* librdmacm stores these numbers in one byte. */
static void outstanding_reads_fit_in_a_byte(const struct loop *l)
{
	struct ibv_device_attr attr;

	EXPECT(!ibv_query_device(l->ctx, &attr));
	EXPECT(attr.max_qp_rd_atom <= 255 && attr.max_qp_init_rd_atom <= 255);
}

int main(void)
{
	static const struct {
		void (*check)(const struct loop *l);
		const char *name;
	} gate[] = {
		{ the_port_is_active, "all: the port is active" },
		{ the_device_node_is_one, "UCX: the device node is one" },
		{ gids_have_a_type_and_an_interface,
		  "UCX: GIDs have a type and an interface" },
		{ a_qp_tells_its_real_limits, "UCX: a QP tells its real limits" },
		{ descriptors_can_be_nonblocking, "UCX: descriptors can be nonblocking" },
		{ atomics_are_atomic, "UCX: atomics are" },
		{ too_much_inline_data_is_refused,
		  "libfabric: too much inline data is refused" },
		{ verbs_are_found_by_version, "NCCL: verbs are found by version" },
		{ the_parent_device_has_a_path, "NCCL: the parent device has a path" },
		{ dma_bufs_of_real_gpus_are_not_supported,
		  "NCCL: dma-bufs of real GPUs are not supported" },
		{ outstanding_reads_fit_in_a_byte,
		  "librdmacm: outstanding READs fit in a byte" },
	};
	struct loop l;

	loop_open(&l);
	for (unsigned i = 0; i < sizeof(gate) / sizeof(gate[0]); i++) {
		gate[i].check(&l);
		printf("ok: %s\n", gate[i].name);
	}
	loop_close(&l);
	return 0;
}
