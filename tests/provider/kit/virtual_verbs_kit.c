/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_verbs_kit.c - verbs on two engines in virtual time. */
#include "virtual_verbs_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "transport/io/udp/net_udp.h"

struct kit_end vverbs_ends[2];
struct vverbs_device vverbs_devices[2];
struct vverbs_parts vverbs_parts;
struct vverbs_host vverbs_host;

/* -------------------------------------------------------- resources that the test may
 * withhold
 */
int __real_rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn);
int __wrap_rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn);
int __wrap_rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn)
{
	return vverbs_parts.no_numbers ? -ENOMEM : __real_rnp_engine_new_qpn(e, qpn);
}

int __real_rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind);
int __wrap_rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind);
int __wrap_rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind)
{
	int rc = vverbs_parts.no_object ? -ENOMEM : __real_rnp_hca_add(hca, kind);

	vverbs_parts.objects[kind] += !rc;
	return rc;
}

void __real_rnp_hca_remove(struct rnp_hca *hca, enum rnp_hca_kind kind);
void __wrap_rnp_hca_remove(struct rnp_hca *hca, enum rnp_hca_kind kind);
void __wrap_rnp_hca_remove(struct rnp_hca *hca, enum rnp_hca_kind kind)
{
	__real_rnp_hca_remove(hca, kind);
	vverbs_parts.objects[kind]--;
}

int __wrap_rnp_raw_get(struct rnp_raw_link *l);
int __wrap_rnp_raw_get(struct rnp_raw_link *l)
{
	(void)l;
	vverbs_parts.raw_gets++;
	return 0;
}

void __wrap_rnp_raw_put(struct rnp_raw_link *l);
void __wrap_rnp_raw_put(struct rnp_raw_link *l)
{
	(void)l;
	assert_true(vverbs_parts.raw_gets > 0);
	vverbs_parts.raw_gets--;
}

int __wrap_rn_group_open(const struct rn_gid *mgid, uint32_t ifindex);
int __wrap_rn_group_open(const struct rn_gid *mgid, uint32_t ifindex)
{
	(void)mgid;
	(void)ifindex;
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

void __wrap_rn_group_close(int sock, const struct rn_gid *mgid, uint32_t ifindex);
void __wrap_rn_group_close(int sock, const struct rn_gid *mgid, uint32_t ifindex)
{
	(void)mgid;
	(void)ifindex;
	if (sock >= 0)
		close(sock);
}

static int group_sock = -1; /* the socket for groups that the engine has registered */

int __wrap_rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock);
int __wrap_rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock)
{
	(void)e;
	(void)mgid;
	if (vverbs_parts.no_groups)
		return -ENOBUFS;
	group_sock = sock;
	return 0;
}

int __wrap_rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid);
int __wrap_rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid)
{
	(void)e;
	(void)mgid;
	return group_sock;
}

bool __wrap_rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
			     const struct rn_av *av, uint32_t path_mtu);
bool __wrap_rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
			     const struct rn_av *av, uint32_t path_mtu)
{
	(void)p;
	(void)dev;
	assert_int_equal(path_mtu, 1024);
	return !vverbs_parts.is_narrow ||
	       memcmp(&av->dgid, &vverbs_parts.narrow, sizeof(av->dgid)) != 0;
}

/* Simulates a local wire whose ring is full: urgent packets are sent by UDP. */
void __wrap_rn_local_hurry(struct rn_local *l, bool hurry);
void __wrap_rn_local_hurry(struct rn_local *l, bool hurry)
{
	(void)l;
	virtual_end(&vverbs_ends[1])->is_full = !hurry;
}

void __wrap_rn_local_look_everywhere(struct rn_local *l);
void __wrap_rn_local_look_everywhere(struct rn_local *l)
{
	(void)l;
}

rn_ns __wrap_rn_local_trim_due(const struct rn_local *l);
rn_ns __wrap_rn_local_trim_due(const struct rn_local *l)
{
	(void)l;
	return RN_NEVER;
}

/* ---------------------------------------------------------------------------- fixture */
struct ibv_qp *vverbs_new_qp(struct vverbs_device *d, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = { .send_cq = d->cq,
					 .recv_cq = d->cq,
					 .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = type,
					 .sq_sig_all = 1 };

	return rnp_create_qp(d->pd, &attr);
}

/* Creates a CQ, and initialises the members that libibverbs would initialise. */
struct ibv_cq *vverbs_new_cq(struct vverbs_device *d)
{
	struct ibv_cq *cq = rnp_create_cq(&d->ctx.base, VVERBS_CQES, &d->channel, 0);

	if (!cq)
		return NULL;
	cq->context = &d->ctx.base;
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
	return cq;
}

void vverbs_open(struct vverbs_device *d, unsigned n)
{
	static const struct rnp_library none;
	char name[16], err[300] = "";

	memset(d, 0, sizeof(*d));
	d->ctx.library = &none;
	pthread_mutex_init(&d->ctx.channel_lock, NULL);
	(void)snprintf(name, sizeof(name), "rocin%u", n);
	d->ctx.hca =
		rnp_hca_open(name, &rnp_hooks, &d->ctx, &d->ctx.engine, err, sizeof(err));
	if (!d->ctx.hca)
		fail_msg("%s", err);
	assert_ptr_equal(d->ctx.engine, vverbs_ends[n].e);
	d->channel.context = &d->ctx.base;
	d->channel.fd = rnp_event_fd_new();
	assert_true(d->channel.fd >= 0);
	d->pd = rnp_alloc_pd(&d->ctx.base);
	assert_non_null(d->pd);
	d->cq = vverbs_new_cq(d);
	assert_non_null(d->cq);
	d->qp = vverbs_new_qp(d, IBV_QPT_RC);
	assert_non_null(d->qp);
}

void vverbs_close(struct vverbs_device *d)
{
	if (d->qp)
		assert_int_equal(rnp_destroy_qp(d->qp), 0);
	if (d->cq)
		assert_int_equal(rnp_destroy_cq(d->cq), 0);
	assert_int_equal(rnp_dealloc_pd(d->pd), 0);
	rnp_hca_close(d->ctx.hca, &d->ctx);
	pthread_mutex_destroy(&d->ctx.channel_lock);
	close(d->channel.fd);
}

int vverbs_setup(void **state)
{
	(void)state;
	memset(&vverbs_parts, 0, sizeof(vverbs_parts));
	virtual_pair(vverbs_ends, VVERBS_TIMEOUT);
	for (unsigned i = 0; i < 2; i++)
		vverbs_open(&vverbs_devices[i], i);
	return 0;
}

int vverbs_teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++)
		vverbs_close(&vverbs_devices[i]);
	virtual_close_pair(vverbs_ends);
	return 0;
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	assert_int_equal(rnp_modify_qp(qp, attr, mask | IBV_QP_STATE), 0);
}

void vverbs_to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	modify(qp, &attr, 0);
}

void vverbs_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

struct ibv_ah_attr vverbs_address(const struct rn_gid *gid)
{
	struct ibv_ah_attr ah = { .is_global = 1,
				  .port_num = 1,
				  .grh = { .hop_limit = 64 } };

	memcpy(&ah.grh.dgid, gid, sizeof(*gid));
	return ah;
}

/* Returns attributes for RTR and RTS that lead to the other device. */
struct ibv_qp_attr vverbs_towards(unsigned other)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = vverbs_devices[other].qp->qp_num,
		.ah_attr = vverbs_address(&vverbs_ends[other].gid),
		.min_rnr_timer = 1,
		.timeout = VVERBS_TIMEOUT,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
}

void vverbs_connect(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = vverbs_towards(!i);

		vverbs_to_init(vverbs_devices[i].qp);
		modify(vverbs_devices[i].qp, &attr, VVERBS_TO_RTR);
		attr.qp_state = IBV_QPS_RTS;
		modify(vverbs_devices[i].qp, &attr, VVERBS_TO_RTS);
	}
}

/* Of no bytes, which take no region. */

/* ------------------------------------------------------------------------------- PCIe */
static const struct rn_pcie_knobs *knobs_in_force(void)
{
	return &vverbs_host.knobs;
}

static int no_dm(struct rn_host_nic *nic, rn_iova addr, uint64_t len)
{
	(void)nic;
	(void)addr;
	(void)len;
	return -ENOMEM;
}

static void look_at_region(struct rn_host_nic *nic, uint32_t qpn)
{
	const struct rn_mr *mr = rn_dev_find_mr(vverbs_host.drained->dev,
						vverbs_host.key >> RN_KEY_INDEX_SHIFT);

	(void)nic;
	(void)qpn;
	vverbs_host.was_open = mr && mr->valid;
}

static unsigned
nothing_ended(struct rn_host_nic *nic,
	      void (*done)(void *arg, uint64_t tag, enum rn_mem_result result), void *arg)
{
	(void)nic;
	(void)done;
	(void)arg;
	return 0;
}

static int add_real(rn_iova addr, uint64_t len, rn_iova *alias)
{
	(void)addr, (void)len, (void)alias;
	return 0;
}

static int add_region(struct rn_host_nic *nic, uint32_t key, rn_iova addr, uint64_t len,
		      uint32_t access)
{
	(void)nic;
	(void)key;
	(void)addr;
	(void)len;
	(void)access;
	if (vverbs_host.refusals == 0)
		return 0;
	vverbs_host.refusals--;
	return -ENOMEM;
}

static void remove_region(struct rn_host_nic *nic, uint32_t key)
{
	(void)nic;
	(void)key;
}

static void hear_doorbell(struct rn_host_nic *nic)
{
	(void)nic;
}

static void keep_bell(struct rn_host_nic *nic, const struct rn_host_bell *bell)
{
	(void)nic;
	vverbs_host.bell = *bell;
}

static const struct rn_host_api host = { .knobs = knobs_in_force,
					 .doorbell = hear_doorbell,
					 .ring = keep_bell,
					 .dm_add = no_dm,
					 .drain = look_at_region,
					 .collect = nothing_ended,
					 .real_add = add_real,
					 .region_add = add_region,
					 .region_remove = remove_region };

/* Returns false if the PCIe layer was not built. */
bool vverbs_put_below_pcie(struct vverbs_device *d)
{
	static char nic;

	d->ctx.engine->pcie =
		(struct rnp_pcie){ .api = &host, .nic = (struct rn_host_nic *)&nic };
	return rnp_pcie_is_on(&d->ctx.engine->pcie);
}
