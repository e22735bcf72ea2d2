/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.c - opens the devices that stand for the NICs of a litmus test, and creates
 * their verbs objects; also the clock, and the reporting of failures.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "rocin/host_api.h"
#include "rocin/mr.h"

int rn_live_fail(struct rn_live *l, const char *fmt, ...)
{
	struct rn_live_shared *s = l->shared;
	va_list ap;

	if (!atomic_flag_test_and_set(&s->has_failed)) {
		va_start(ap, fmt);
		vsnprintf(s->why, sizeof(s->why), fmt, ap);
		va_end(ap);
		atomic_store(&s->failed, true);
	}
	return -1;
}

uint64_t rn_live_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---------------------------------------------------------- loading librocin-gpu.so */
#define MEMBER(f) { #f, offsetof(struct rn_live_lib, f) },

static const struct {
	const char *name;
	size_t offset;
} functions[] = { RN_LIVE_LIB_FUNCTIONS(MEMBER) };

static int find_functions(struct rn_live_lib *lib, char *err, size_t err_len)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(functions); i++) {
		void *at = dlsym(lib->handle, functions[i].name);

		if (!at) {
			snprintf(err, err_len, "%s lacks %s; install Rocin again",
				 RN_HOST_LIBRARY, functions[i].name);
			return -1;
		}
		memcpy((char *)lib + functions[i].offset, &at, sizeof(at));
	}
	return 0;
}

int rn_live_lib_open(struct rn_live_lib *lib, char *err, size_t err_len)
{
	char path[PATH_MAX + sizeof(RN_HOST_LIBRARY) + 1];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	*lib = (struct rn_live_lib){ 0 };
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, sizeof(RN_HOST_LIBRARY), "%s",
		 RN_HOST_LIBRARY);
	lib->handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	return lib->handle ? find_functions(lib, err, err_len) : 0;
}

/* ------------------------------------------------ knobs of the simulated PCIe layer */
/* Sets the PCIe knobs of the test in the simulated hierarchy. Called before each run. */

int rn_live_set_layer(struct rn_live *l)
{
	struct rn_pcie_knobs knobs = l->request->setup.knobs;
	int rc;

	if (!l->lib.handle || knobs.place == RN_PLACE_NOW)
		return 0;
	/* The driver is the part of the PCIe model that chooses which TLP moves next. It
	 * does not change which outcomes are possible, but it changes how frequent they
	 * are. Odd seeds choose one driver and even seeds another, because each makes
	 * other outcomes frequent.
	 */
	knobs.driver = l->shared->seed & 1 ? RN_DRIVER_RANDOM : RN_DRIVER_ADVERSARIAL;
	knobs.seed = l->shared->seed;
	knobs.hold_ns = RN_LIVE_HOLD_NS;
	rc = l->lib.rn_pcie_set_knobs(&knobs);
	if (!rc && !l->has_trace)
		rc = l->lib.rn_pcie_trace_start(RN_LIVE_MOVES);
	l->has_trace = true;
	return rc ? rn_live_fail(l, "rn_pcie_set_knobs: %s", strerror(-rc)) : 0;
}

/* ------------------------------------------------------------------ opening devices */
enum {
	PORT = 1,
	RD_ATOMIC_MAX = 16,
	GIDS_MAX = 64, /* maximum number of GIDs that are examined */
};

/* Returns the device that stands for NIC number @nic of the test: the device of Rocin
 * with this number. With --backend=hw, the devices of the machine are used in turn.
 */
static struct ibv_device *choose(struct rn_live *l, unsigned nic)
{
	int ours = 0;

	if (l->request->is_hw)
		return l->list_len > 0 ? l->list[nic % (unsigned)l->list_len] : NULL;
	for (int i = 0; i < l->list_len; i++)
		if (!strncmp(ibv_get_device_name(l->list[i]), "rocin", 5) &&
		    ours++ == (int)nic)
			return l->list[i];
	return NULL;
}

/* Chooses the GID of a device: the first RoCEv2 GID with an IPv4 address or, if there is
 * none, the first RoCEv2 GID. Returns 0, or -1 after rn_live_fail().
 */
static int choose_gid(struct rn_live_device *d)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;
	bool is_found = false;

	for (uint32_t i = 0; i < GIDS_MAX; i++) {
		bool is_ipv4;

		if (ibv_query_gid_ex(d->ctx, PORT, i, &entry, 0))
			continue;
		if (d->is_ethernet && entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		is_ipv4 = !memcmp(entry.gid.raw, ipv4, sizeof(ipv4));
		if (is_found && !is_ipv4)
			continue;
		d->gid = entry.gid;
		d->gid_index = (uint8_t)i;
		is_found = true;
		if (is_ipv4)
			break;
	}
	return is_found ? 0 : -1;
}

/* value of IB_UVERBS_DEVICE_FLUSH_GLOBAL, which older headers lack */
#define CAN_FLUSH (1ULL << 38)

static unsigned flush_access(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	if (ibv_query_device_ex(ctx, NULL, &attr) ||
	    !(attr.device_cap_flags_ex & CAN_FLUSH))
		return 0;
	return RN_ACCESS_FLUSH_GLOBAL;
}

static int query(struct rn_live *l, struct rn_live_device *d)
{
	const char *name = ibv_get_device_name(d->ctx->device);
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	int atomic;

	if (ibv_query_device(d->ctx, &attr) || ibv_query_port(d->ctx, PORT, &port))
		return rn_live_fail(l, "%s cannot be queried: %s", name, strerror(errno));
	if (port.state != IBV_PORT_ACTIVE)
		return rn_live_fail(l, "%s is down", name);
	d->is_ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	d->lid = port.lid;
	d->mtu = (uint8_t)port.active_mtu;
	atomic = attr.max_qp_rd_atom < attr.max_qp_init_rd_atom
			 ? attr.max_qp_rd_atom
			 : attr.max_qp_init_rd_atom;
	d->rd_atomic = (uint8_t)(atomic < RD_ATOMIC_MAX ? atomic : RD_ATOMIC_MAX);
	d->flush_access = flush_access(d->ctx);
	if (choose_gid(d))
		return rn_live_fail(l, "%s has no address for RoCE v2", name);
	return 0;
}

static int open_device(struct rn_live *l, struct rn_live_device *d, unsigned nic)
{
	struct ibv_device *chosen;

	if (!l->list)
		l->list = ibv_get_device_list(&l->list_len);
	chosen = l->list ? choose(l, nic) : NULL;
	if (!chosen)
		return rn_live_fail(l, "there is no RDMA device number %u", nic);
	d->ctx = ibv_open_device(chosen);
	if (!d->ctx)
		return rn_live_fail(l, "%s does not open: %s",
				    ibv_get_device_name(chosen), strerror(errno));
	if (query(l, d))
		return -1;
	d->pd = ibv_alloc_pd(d->ctx);
	return d->pd ? 0 : rn_live_fail(l, "ibv_alloc_pd: %s", strerror(errno));
}

/* Returns the device that stands for NIC number @nic of the test, or NULL after a
 * failure. The device is opened when it is first asked for, and stays open.
 */
static struct rn_live_device *device_of(struct rn_live *l, unsigned nic)
{
	struct rn_live_device *d = &l->device[nic];

	if (!d->ctx && open_device(l, d, nic))
		return NULL;
	return d;
}

void rn_live_close_devices(struct rn_live *l)
{
	for (unsigned i = 0; i < RN_LIVE_NICS; i++) {
		if (l->device[i].pd)
			ibv_dealloc_pd(l->device[i].pd);
		if (l->device[i].ctx)
			ibv_close_device(l->device[i].ctx);
	}
	memset(l->device, 0, sizeof(l->device));
	if (l->list)
		ibv_free_device_list(l->list);
	l->list = NULL;
}

/* -------------------------------------------------------------------- memory on NICs */
/* Memory on NICs (ibv_alloc_dm). The CPU can only copy to it and from it. */

enum {
	DM_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
		    IBV_ACCESS_ZERO_BASED,
};

static bool device_has(struct rn_live *l, const struct rn_live_memory *m)
{
	unsigned nic = rn_live_find_nic(&l->map, m->node, m->agent);
	const struct rn_live_device *d = device_of(l, nic);
	struct ibv_device_attr_ex attr;

	return d && !ibv_query_device_ex(d->ctx, NULL, &attr) &&
	       attr.max_dm_size >= RN_LIVE_DM;
}

bool rn_live_has_dm(struct rn_live *l)
{
	bool ok = true;

	for (unsigned i = 0; i < l->map.memories && !l->request->processes; i++)
		if (rn_agent_is_nic(l->map.memory[i].agent))
			ok = ok && device_has(l, &l->map.memory[i]);
	return ok;
}

/* Allocates device memory on NIC number @nic for memory number @memory of the test, and
 * registers it. Returns 0, or -1 after rn_live_fail().
 */
static int take_dm(struct rn_live *l, unsigned nic, unsigned memory)
{
	/* The memory is aligned to its size, so that the low bits of an address in a
	 * trace of TLPs are the offset from the beginning of the memory.
	 */
	struct ibv_alloc_dm_attr attr = { .length = RN_LIVE_DM,
					  .log_align_req = RN_LIVE_DM_LOG };

	l->dm[memory] = ibv_alloc_dm(l->device[nic].ctx, &attr);
	if (!l->dm[memory])
		return rn_live_fail(l, "ibv_alloc_dm: %s", strerror(errno));
	/* 0, because addresses in work requests are offsets in the MR
	 * (IBV_ACCESS_ZERO_BASED)
	 */
	l->shared->address[memory] = 0;
	for (unsigned relaxed = 0; relaxed < 2; relaxed++) {
		unsigned more = (relaxed ? IBV_ACCESS_RELAXED_ORDERING : 0) |
				l->device[nic].flush_access;
		struct ibv_mr *mr = ibv_reg_dm_mr(l->device[nic].pd, l->dm[memory], 0,
						  RN_LIVE_DM, DM_ACCESS | more);

		if (!mr)
			return rn_live_fail(l, "ibv_reg_dm_mr: %s", strerror(errno));
		l->mr[nic][memory][relaxed] = mr;
		l->shared->rkey[nic][memory][relaxed] = mr->rkey;
	}
	return 0;
}

/* Frees the device memory on NICs. Must be called after its MRs were deregistered. */
static void free_dm(struct rn_live *l)
{
	for (unsigned i = 0; i < RN_LIVE_MEMORIES; i++)
		if (l->dm[i])
			ibv_free_dm(l->dm[i]);
	memset(l->dm, 0, sizeof(l->dm));
}

bool rn_live_is_dm(const struct rn_live *l, unsigned loc)
{
	return rn_agent_is_nic(l->map.memory[l->map.place[loc].memory].agent);
}

static struct ibv_dm *dm_of(const struct rn_live *l, unsigned loc)
{
	return l->dm[l->map.place[loc].memory];
}

int64_t rn_live_dm_load(struct rn_live *l, unsigned loc)
{
	const struct rn_live_place *p = &l->map.place[loc];
	int64_t word[RN_LIVE_PAGE / sizeof(int64_t)] = { 0 };

	if (ibv_memcpy_from_dm(word, dm_of(l, loc), p->offset, p->bytes)) {
		rn_live_fail(l, "ibv_memcpy_from_dm: %s", strerror(errno));
		return RN_LIVE_TORN;
	}
	for (uint32_t i = 1; i < p->bytes / sizeof(*word); i++)
		if (word[i] != word[0])
			return RN_LIVE_TORN;
	return word[0];
}

void rn_live_dm_store(struct rn_live *l, unsigned loc, int64_t value)
{
	if (ibv_memcpy_to_dm(dm_of(l, loc), l->map.place[loc].offset, &value,
			     sizeof(value)))
		rn_live_fail(l, "ibv_memcpy_to_dm: %s", strerror(errno));
}

void rn_live_dm_reset(struct rn_live *l, unsigned loc)
{
	const struct rn_live_place *p = &l->map.place[loc];
	uint32_t bytes = p->bytes < l->map.element ? l->map.element : p->bytes;
	int64_t word[RN_LIVE_PAGE / sizeof(int64_t)];

	for (uint32_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = l->test->location[loc].init;
	if (ibv_memcpy_to_dm(dm_of(l, loc), p->offset, word, bytes))
		rn_live_fail(l, "ibv_memcpy_to_dm: %s", strerror(errno));
	/* The copy is a posted write; this load returns after it has arrived. */
	(void)rn_live_dm_load(l, loc);
}

/* ------------------------------------------------- memory and queue pairs of a test */
/* Memory, CQs and connected QPs of a test. */

enum {
	/* Code of the ACK timeout: 0.5 s. With 8 transmissions the peer has 4 s to
	 * respond. The usual code 14 (67 ms) is too short: no packets are lost, but on a
	 * busy machine the process of the peer may have to wait longer for a processor.
	 */
	ACK_TIMEOUT_CODE = 17,
	/* code for 8 ms, which is used when packets are lost on purpose */
	ACK_TIMEOUT_CODE_LOSSY = 11,
	RNR_TIMER_CODE = 12, /* code for 0.64 ms */
	INLINE_WANTED = 64,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

/* ---- Registering memory ---- */

bool rn_live_is_relaxed(const struct rn_live *l, unsigned loc)
{
	return l->test->location[loc].relaxed ||
	       (l->request->setup.relaxed >> loc & 1) != 0;
}

uint8_t *rn_live_address(const struct rn_live *l, unsigned loc)
{
	const struct rn_live_place *p = &l->map.place[loc];

	return l->memory[p->memory] + p->offset;
}

uint64_t rn_live_name(const struct rn_live *l, unsigned loc)
{
	const struct rn_live_place *p = &l->map.place[loc];

	return l->shared->address[p->memory] + p->offset;
}

struct ibv_mr *rn_live_mr(const struct rn_live *l, unsigned nic, unsigned loc)
{
	return l->mr[nic][l->map.place[loc].memory][rn_live_is_relaxed(l, loc)];
}

static int take_gpu_memory(struct rn_live *l, unsigned memory)
{
	unsigned number = l->map.memory[memory].gpu;
	struct rn_gpu_buffer *buf = &l->gpu_memory[number];
	struct rn_gpu *gpu = l->lib.rn_gpu_open((int)number);

	if (!gpu)
		return rn_live_fail(l, "GPU %u: %s", number, l->lib.rn_gpu_last_error());
	if (!buf->bar && l->lib.rn_gpu_alloc(gpu, RN_LIVE_ARENA, 0, buf))
		return rn_live_fail(l, "memory of GPU %u: %s", number,
				    l->lib.rn_gpu_last_error());
	l->memory[memory] = buf->bar;
	l->device_memory[memory] = buf->dev;
	return 0;
}

static int take_memory(struct rn_live *l)
{
	for (unsigned i = 0; i < l->map.memories; i++) {
		const struct rn_live_memory *m = &l->map.memory[i];

		l->memory[i] = l->device_memory[i] = NULL;
		if (!rn_live_plays(l, m->node))
			continue;
		if (m->agent == RN_AGENT_CPU)
			l->memory[i] = l->device_memory[i] = l->shared->host[m->node];
		else if (rn_agent_is_gpu(m->agent) && take_gpu_memory(l, i))
			return -1;
		l->shared->address[i] = (uintptr_t)l->memory[i];
	}
	return 0;
}

static int register_memory(struct rn_live *l, unsigned nic, unsigned memory)
{
	unsigned agent = l->map.memory[memory].agent;
	struct ibv_pd *pd = l->device[nic].pd;
	unsigned access = ACCESS | l->device[nic].flush_access;
	void *at = l->memory[memory];

	/* Other NICs of the node cannot access this device memory. */
	if (rn_agent_is_nic(agent))
		return agent == l->map.nic[nic].agent ? take_dm(l, nic, memory) : 0;
	for (unsigned relaxed = 0; relaxed < 2; relaxed++) {
		struct ibv_mr *mr =
			relaxed ? ibv_reg_mr(pd, at, RN_LIVE_ARENA,
					     access | IBV_ACCESS_RELAXED_ORDERING)
				: ibv_reg_mr(pd, at, RN_LIVE_ARENA, access);

		if (!mr)
			return rn_live_fail(l, "ibv_reg_mr: %s", strerror(errno));
		l->mr[nic][memory][relaxed] = mr;
		l->shared->rkey[nic][memory][relaxed] = mr->rkey;
	}
	return 0;
}

/* Registers the memories of each node that this worker (process) plays with each NIC of
 * the node. Returns 0, or -1 after rn_live_fail().
 */
static int register_all(struct rn_live *l)
{
	const struct rn_live_map *map = &l->map;

	for (unsigned i = 0; i < map->nics; i++) {
		if (!rn_live_plays(l, map->nic[i].node))
			continue;
		if (!device_of(l, i))
			return -1;
		for (unsigned j = 0; j < map->memories; j++)
			if (map->memory[j].node == map->nic[i].node &&
			    register_memory(l, i, j))
				return -1;
	}
	return 0;
}

/* ---- CQs, SRQs and QPs ---- */

static int create_cqs(struct rn_live *l)
{
	const struct rn_litmus_test *t = l->test;

	for (unsigned i = 0; i < t->cqs; i++) {
		unsigned nic = rn_live_find_nic(&l->map, t->cq[i].node, t->cq[i].nic);

		if (!rn_live_plays(l, t->cq[i].node))
			continue;
		l->cq[i] =
			ibv_create_cq(l->device[nic].ctx,
				      2 * RN_LIVE_DEPTH * RN_LITMUS_QPS, NULL, NULL, 0);
		if (!l->cq[i])
			return rn_live_fail(l, "ibv_create_cq: %s", strerror(errno));
	}
	return 0;
}

static int create_srqs(struct rn_live *l)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = RN_LIVE_DEPTH, .max_sge = 1 },
	};

	for (unsigned i = 0; i < l->test->rqs; i++) {
		const struct rn_litmus_rq *rq = &l->test->rq[i];
		unsigned nic = rn_live_find_nic(&l->map, rq->node, rq->nic);

		if (!rq->is_shared || !rq->is_rung || !rn_live_plays(l, rq->node))
			continue;
		l->srq[i] = ibv_create_srq(l->device[nic].pd, &init);
		if (!l->srq[i])
			return rn_live_fail(l, "ibv_create_srq: %s", strerror(errno));
	}
	return 0;
}

static unsigned nic_of(const struct rn_live *l, unsigned qp, unsigned side)
{
	const struct rn_litmus_qp *q = &l->test->qp[qp];

	return side ? rn_live_find_nic(&l->map, q->peer, q->peer_nic)
		    : rn_live_find_nic(&l->map, q->node, q->nic);
}

/* Creates the QP of side @side (0: requester, 1: responder) of connection @qp of the
 * test. Both sides get a send and a receive queue, although one side only sends and the
 * other only receives.
 */
static int create_end(struct rn_live *l, unsigned qp, unsigned side)
{
	const struct rn_litmus_qp *q = &l->test->qp[qp];
	struct rn_live_device *d = &l->device[nic_of(l, qp, side)];
	struct ibv_cq *cq = l->cq[side ? q->recv_cq : q->send_cq];
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = side ? l->srq[q->recv_queue] : NULL,
		.qp_type = q->uc ? IBV_QPT_UC : IBV_QPT_RC,
		.cap = { .max_send_wr = RN_LIVE_DEPTH,
			 .max_recv_wr = RN_LIVE_DEPTH,
			 .max_send_sge = RN_LITMUS_ELEMENTS,
			 .max_recv_sge = RN_LITMUS_ELEMENTS,
			 .max_inline_data = INLINE_WANTED },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = PORT,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC |
						       d->flush_access };
	struct ibv_qp *created = ibv_create_qp(d->pd, &init);

	if (!created) {
		init.cap.max_inline_data = 0;
		created = ibv_create_qp(d->pd, &init);
	}
	if (!created)
		return rn_live_fail(l, "ibv_create_qp: %s", strerror(errno));
	l->qp[qp].side[side] = created;
	d->max_inline = init.cap.max_inline_data;
	l->shared->end[qp][side] = (struct rn_live_end){
		.gid = d->gid,
		.lid = d->lid,
		.qpn = created->qp_num,
		.psn = (created->qp_num * 0x9e3779u) & 0xffffff,
		.mtu = d->mtu,
	};
	if (q->uc)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	errno = ibv_modify_qp(created, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS);
	return errno ? rn_live_fail(l, "ibv_modify_qp to INIT: %s", strerror(errno)) : 0;
}

static int to_rtr(struct rn_live *l, unsigned qp, unsigned side)
{
	const struct rn_live_device *d = &l->device[nic_of(l, qp, side)];
	const struct rn_live_end *peer = &l->shared->end[qp][!side];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = d->mtu < peer->mtu ? d->mtu : peer->mtu,
				    .dest_qp_num = peer->qpn,
				    .rq_psn = peer->psn,
				    .max_dest_rd_atomic = d->rd_atomic,
				    .min_rnr_timer = RNR_TIMER_CODE };
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		   IBV_QP_RQ_PSN;

	attr.ah_attr.port_num = PORT;
	attr.ah_attr.dlid = peer->lid;
	attr.ah_attr.is_global = d->is_ethernet;
	attr.ah_attr.grh.dgid = peer->gid;
	attr.ah_attr.grh.sgid_index = d->gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	if (!l->test->qp[qp].uc)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(l->qp[qp].side[side], &attr, mask);
}

static int to_rts(struct rn_live *l, unsigned qp, unsigned side)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = l->shared->end[qp][side].psn,
				    .timeout = l->request->is_lossy
						       ? ACK_TIMEOUT_CODE_LOSSY
						       : ACK_TIMEOUT_CODE,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic =
					    l->device[nic_of(l, qp, side)].rd_atomic };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (!l->test->qp[qp].uc)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(l->qp[qp].side[side], &attr, mask);
}

static unsigned node_of(const struct rn_live *l, unsigned qp, unsigned side)
{
	return side ? l->test->qp[qp].peer : l->test->qp[qp].node;
}

static int create_ends(struct rn_live *l)
{
	for (unsigned i = 0; i < l->test->qps; i++)
		for (unsigned side = 0; side < 2; side++)
			if (rn_live_plays(l, node_of(l, i, side)) &&
			    create_end(l, i, side))
				return -1;
	return 0;
}

static int connect_ends(struct rn_live *l)
{
	for (unsigned i = 0; i < l->test->qps; i++)
		for (unsigned side = 0; side < 2; side++) {
			if (!l->qp[i].side[side])
				continue;
			errno = to_rtr(l, i, side);
			if (!errno)
				errno = to_rts(l, i, side);
			if (errno)
				return rn_live_fail(l, "ibv_modify_qp: %s",
						    strerror(errno));
		}
	return 0;
}

/* Sets, for each QP, the number of receives that are posted for a run. One of them is for
 * the SEND that ends the run.
 */
static void count_receives(struct rn_live *l)
{
	const struct rn_litmus_test *t = l->test;

	for (unsigned i = 0; i < t->qps; i++)
		l->qp[i].recvs = 1;
	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++) {
			const struct rn_litmus_instr *in = &t->thread[i].instr[j];

			if (in->op == RN_LITMUS_SEND || in->op == RN_LITMUS_IMM)
				l->qp[in->qp].recvs++;
		}
}

int rn_live_connect(struct rn_live *l)
{
	count_receives(l);
	if (take_memory(l) || register_all(l) || create_cqs(l) || create_srqs(l) ||
	    create_ends(l))
		return -1;
	pthread_barrier_wait(&l->shared->workers);
	if (connect_ends(l))
		return -1;
	pthread_barrier_wait(&l->shared->workers);
	return 0;
}

void rn_live_disconnect(struct rn_live *l)
{
	for (unsigned i = 0; i < RN_LITMUS_QPS; i++)
		for (unsigned side = 0; side < 2; side++)
			if (l->qp[i].side[side])
				ibv_destroy_qp(l->qp[i].side[side]);
	for (unsigned i = 0; i < RN_LITMUS_RQS; i++)
		if (l->srq[i])
			ibv_destroy_srq(l->srq[i]);
	for (unsigned i = 0; i < RN_LITMUS_CQS; i++)
		if (l->cq[i])
			ibv_destroy_cq(l->cq[i]);
	for (unsigned i = 0; i < RN_LIVE_NICS; i++)
		for (unsigned j = 0; j < RN_LIVE_MEMORIES; j++)
			for (unsigned k = 0; k < 2; k++)
				if (l->mr[i][j][k])
					ibv_dereg_mr(l->mr[i][j][k]);
	free_dm(l);
	memset(l->qp, 0, sizeof(l->qp));
	memset(l->cq, 0, sizeof(l->cq));
	memset(l->srq, 0, sizeof(l->srq));
	memset(l->mr, 0, sizeof(l->mr));
}
