/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* end.c - functions for one of the two processes (sender and receiver) of a measurement:
 * synchronisation with the other one, reports of failures, measuring of time, QPs.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "rocin/crc32.h"

/* A measurement that has lasted this much longer than its slice is stuck. It does not
 * count how long the process was ready to run while others had the processor.
 */
static const uint64_t patience_ns = 10 * 1000000000ull;

int rn_bench_fail(struct rn_bench_end *end, const char *fmt, ...)
{
	/* Threads of one process may fail at the same time. */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char *to = end->shared->sentence[end->role];
	va_list ap;

	pthread_mutex_lock(&lock);
	if (!*to) {
		size_t len = sizeof(end->shared->sentence[0]);
		char cell[RN_BENCH_CELL_TEXT];
		int n = 0;

		if (end->cell) {
			rn_bench_cell_write(end->cell, cell);
			n = snprintf(to, len, "%s: ", cell);
		}
		va_start(ap, fmt);
		vsnprintf(to + n, len - (size_t)n, fmt, ap);
		va_end(ap);
	}
	pthread_mutex_unlock(&lock);
	atomic_store(&end->shared->failed, true);
	return -1;
}

/* ------------------------------------------------------------------ processors */
/* Binds this thread to @count of the processors that the process may use, from number
 * @first of them on. Return: false if there are not so many.
 */
static bool bind_to(unsigned first, unsigned count)
{
	cpu_set_t allowed, mine;
	unsigned seen = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) ||
	    (unsigned)CPU_COUNT(&allowed) < first + count)
		return false;
	CPU_ZERO(&mine);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		if (seen >= first && seen < first + count)
			CPU_SET(cpu, &mine);
		seen++;
	}
	return sched_setaffinity(0, sizeof(mine), &mine) == 0;
}

static unsigned processors(void)
{
	cpu_set_t allowed;

	return sched_getaffinity(0, sizeof(allowed), &allowed)
		       ? 0
		       : (unsigned)CPU_COUNT(&allowed);
}

bool rn_bench_pin(unsigned place, unsigned places)
{
	return processors() >= places && bind_to(place, 1);
}

bool rn_bench_pin_packed(void)
{
	return bind_to(0, 2);
}

/* Called when the other process of the pair has ended. That process has stored the
 * reason, unless it was killed. Returns -1.
 */
static int fail_peer_gone(struct rn_bench_end *end)
{
	atomic_store(&end->shared->failed, true);
	return -1;
}

int rn_bench_exchange(struct rn_bench_end *end, const void *mine, void *theirs,
		      size_t len)
{
	ssize_t n;

	/* One send() and one recv() suffice: all bytes fit into the socket buffer, and
	 * with MSG_WAITALL recv() waits for all of them.
	 */
	do
		n = send(end->meet_fd, mine, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)len)
		return fail_peer_gone(end);
	do
		n = recv(end->meet_fd, theirs, len, MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : fail_peer_gone(end);
}

int rn_bench_meet(struct rn_bench_end *end)
{
	char mine = 'm', theirs;

	return rn_bench_exchange(end, &mine, &theirs, 1);
}

bool rn_bench_stopped(const struct rn_bench_end *end)
{
	return atomic_load_explicit(&end->shared->stop, memory_order_acquire) ||
	       atomic_load_explicit(&end->shared->failed, memory_order_relaxed);
}

bool rn_bench_has_more(const struct rn_bench_end *end, uint64_t received)
{
	return !rn_bench_stopped(end) || (!atomic_load(&end->shared->failed) &&
					  received != atomic_load(&end->shared->sent));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t rn_bench_run_delay_ns(void)
{
	unsigned long long ran, waited = 0;
	FILE *from = fopen("/proc/thread-self/schedstat", "re");

	if (!from)
		return 0;
	if (fscanf(from, "%llu %llu", &ran, &waited) != 2)
		waited = 0;
	fclose(from);
	return waited;
}

static int patience_at(struct rn_bench_meter *m, uint64_t now)
{
	uint64_t delay;

	if (atomic_load_explicit(&m->end->shared->failed, memory_order_relaxed))
		return -1;
	if (now < m->give_up_ns)
		return 0;
	/* The limit is extended by the run delay since the last call, in which the
	 * process could not work.
	 */
	delay = rn_bench_run_delay_ns();
	m->give_up_ns += delay - m->delay_ns;
	m->delay_ns = delay;
	if (now < m->give_up_ns)
		return 0;
	return rn_bench_fail(m->end, "nothing has moved for ten seconds");
}

int rn_bench_meter_patience(struct rn_bench_meter *m)
{
	return patience_at(m, now_ns());
}

void rn_bench_meter_start(struct rn_bench_meter *m, struct rn_bench_end *end)
{
	uint64_t now = now_ns();

	*m = (struct rn_bench_meter){
		.end = end,
		.warm_ns = now + end->slice_ns / 5,
		.end_ns = now + end->slice_ns / 5 + end->slice_ns,
		.give_up_ns = now + 2 * end->slice_ns + patience_ns,
		.delay_ns = rn_bench_run_delay_ns(),
	};
}

void rn_bench_meter_start_trips(struct rn_bench_meter *m, struct rn_bench_end *end)
{
	rn_bench_meter_start(m, end);
	m->times = true;
}

bool rn_bench_meter_runs(struct rn_bench_meter *m, uint64_t done)
{
	uint64_t now = now_ns();

	if (!m->start_ns && now >= m->warm_ns) {
		m->start_ns = now;
		m->start_at = done;
		m->end_ns = now + m->end->slice_ns;
	} else if (m->times && m->start_ns) {
		rn_bench_times_add(&m->end->shared->times, now - m->last_ns);
	}
	m->last_ns = now;
	/* On a slow machine the slice continues until at least one unit is counted. */
	if (now < m->end_ns || done == m->start_at)
		return patience_at(m, now) == 0;
	m->stop_ns = now;
	m->stop_at = done;
	return false;
}

int rn_bench_await_arrival(struct rn_bench_end *end, struct rn_bench_meter *m,
			   uint64_t sent)
{
	atomic_store(&end->shared->sent, sent);
	atomic_store(&end->shared->stop, true);
	while (atomic_load(&end->shared->received) != sent) {
		if (rn_bench_meter_patience(m))
			return -1;
		sched_yield();
	}
	return 0;
}

double rn_bench_meter_per_ns(const struct rn_bench_meter *m)
{
	return (double)(m->stop_at - m->start_at) / (double)(m->stop_ns - m->start_ns);
}

double rn_bench_meter_us_each(const struct rn_bench_meter *m)
{
	return 1e-3 / rn_bench_meter_per_ns(m);
}

uint32_t rn_bench_copy_and_sum(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	static const uint64_t head[RN_CRC32_HEAD / 8];
	struct rn_crc32_part part;

	if (!rn_crc32_can_copy(len)) {
		memcpy(dst, src, len);
		return rn_crc32(head, dst, len);
	}
	rn_crc32_copy(dst, src, len, &part);
	return rn_crc32_with(head, NULL, 0, &part);
}

/* -------------------------------------------- opening the device and connecting QPs */
enum {
	PORT = 1,
	RD_ATOMIC_MAX = 16,
	ACK_TIMEOUT_CODE = 14, /* code for 67 ms */
	RNR_TIMER_CODE = 12,   /* code for 0.64 ms */
	/* number of QP addresses in one message to the other process */
	ADDRESSES = 32
};

/* The device that this process has opened; all its links (struct rn_bench_link) use it.
 */
static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
	uint8_t gid_index;
	uint16_t lid;
	bool is_global; /* the port is a RoCE port, so packets carry GIDs */
	enum ibv_mtu mtu;
	uint8_t rd_atomic;
	unsigned links;
} device;

/* What a process tells the other one of its pair about itself. */
struct address {
	union ibv_gid gid;
	uint64_t va;
	uint32_t rkey;
	uint16_t lid;
};
struct qp_address {
	uint32_t qpn, psn;
};

static bool is_rocin(struct ibv_device *dev)
{
	return strncmp(ibv_get_device_name(dev), "rocin", 5) == 0;
}

static bool is_wanted(struct ibv_device *dev, const char *name)
{
	return name ? strcmp(ibv_get_device_name(dev), name) == 0 : is_rocin(dev);
}

static struct ibv_context *open_by_name(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (unsigned i = 0; list && list[i] && !ctx; i++)
		if (is_wanted(list[i], name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

/* Chooses the GID that QPs use: returns the index of the first RoCEv2 GID of the device
 * or, if there is none, of its first GID.
 */
static int choose_gid(const struct ibv_port_attr *port)
{
	static const union ibv_gid none;
	struct ibv_gid_entry entry;

	device.lid = port->lid;
	device.is_global = port->link_layer == IBV_LINK_LAYER_ETHERNET;
	for (int i = 0; i < port->gid_tbl_len && i < UINT8_MAX; i++) {
		if (ibv_query_gid_ex(device.ctx, PORT, (uint32_t)i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    memcmp(&entry.gid, &none, sizeof(none)) == 0)
			continue;
		device.gid = entry.gid;
		device.gid_index = (uint8_t)i;
		return 0;
	}
	device.gid_index = 0;
	return ibv_query_gid(device.ctx, PORT, 0, &device.gid);
}

static int query_device(struct rn_bench_end *end)
{
	const char *name = ibv_get_device_name(device.ctx->device);
	struct ibv_port_attr port;
	struct ibv_device_attr attr;

	if (ibv_query_device(device.ctx, &attr) ||
	    ibv_query_port(device.ctx, PORT, &port) || choose_gid(&port))
		return rn_bench_fail(end, "%s cannot be queried: %s", name,
				     strerror(errno));
	if (port.state != IBV_PORT_ACTIVE)
		return rn_bench_fail(end, "%s is down", name);
	device.mtu = port.active_mtu;
	device.rd_atomic =
		(uint8_t)(attr.max_qp_rd_atom < RD_ATOMIC_MAX ? attr.max_qp_rd_atom
							      : RD_ATOMIC_MAX);
	return 0;
}

static int open_device(struct rn_bench_end *end)
{
	device.links++;
	if (device.links > 1)
		return 0;
	device.ctx = open_by_name(end->device);
	if (!device.ctx && end->device)
		return rn_bench_fail(end, "libibverbs opens no device %s", end->device);
	if (!device.ctx)
		return rn_bench_fail(end, "libibverbs opens no Rocin device; "
					  "`rocin doctor` says why");
	if (query_device(end))
		return -1;
	device.pd = ibv_alloc_pd(device.ctx);
	if (!device.pd)
		return rn_bench_fail(end, "ibv_alloc_pd: %s", strerror(errno));
	return 0;
}

static void close_device(void)
{
	if (--device.links > 0)
		return;
	if (device.pd)
		ibv_dealloc_pd(device.pd);
	if (device.ctx)
		ibv_close_device(device.ctx);
	device.pd = NULL;
	device.ctx = NULL;
}

static int create_memory(struct rn_bench_end *end, const struct rn_bench_link_cfg *cfg,
			 struct rn_bench_link *link)
{
	link->buf = aligned_alloc(4096, (cfg->buf_len + 4095) & ~(size_t)4095);
	link->qp = calloc(cfg->qps, sizeof(struct ibv_qp *));
	if (!link->buf || !link->qp)
		return rn_bench_fail(end, "no memory");
	memset(link->buf, 0, cfg->buf_len);
	link->mr = ibv_reg_mr(device.pd, link->buf, cfg->buf_len,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!link->mr)
		return rn_bench_fail(end, "ibv_reg_mr: %s", strerror(errno));
	return 0;
}

static int create_domain(struct rn_bench_end *end, struct rn_bench_link *link)
{
	struct ibv_td_init_attr td = { 0 };
	struct ibv_parent_domain_init_attr parent = { .pd = device.pd };

	link->td = parent.td = ibv_alloc_td(device.ctx, &td);
	if (!link->td)
		return rn_bench_fail(end, "ibv_alloc_td: %s", strerror(errno));
	link->parent = ibv_alloc_parent_domain(device.ctx, &parent);
	if (!link->parent)
		return rn_bench_fail(end, "ibv_alloc_parent_domain: %s", strerror(errno));
	return 0;
}

static struct ibv_cq *create_cq(const struct rn_bench_link_cfg *cfg,
				const struct rn_bench_link *link)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = cfg->cq_depth,
					    .channel = link->channel,
					    .wc_flags = IBV_WC_STANDARD_FLAGS,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					    .parent_domain = link->parent };
	struct ibv_cq_ex *cq;

	if (!link->parent)
		return ibv_create_cq(device.ctx, (int)cfg->cq_depth, NULL, link->channel,
				     0);
	cq = ibv_create_cq_ex(device.ctx, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static int create_queues(struct rn_bench_end *end, const struct rn_bench_link_cfg *cfg,
			 struct rn_bench_link *link)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = cfg->tx_depth,
			 .max_recv_wr = cfg->rx_depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = cfg->inline_len },
	};

	if (cfg->has_td && create_domain(end, link))
		return -1;
	if (cfg->events) {
		link->channel = ibv_create_comp_channel(device.ctx);
		if (!link->channel)
			return rn_bench_fail(end, "ibv_create_comp_channel: %s",
					     strerror(errno));
	}
	link->shares_cq = cfg->cq != NULL;
	link->cq = cfg->cq ? cfg->cq : create_cq(cfg, link);
	if (!link->cq)
		return rn_bench_fail(end, "ibv_create_cq: %s", strerror(errno));
	init.send_cq = init.recv_cq = link->cq;
	for (; link->qps < cfg->qps; link->qps++) {
		struct ibv_qp *qp =
			ibv_create_qp(link->parent ? link->parent : device.pd, &init);

		if (!qp && init.cap.max_inline_data) {
			init.cap.max_inline_data = 0;
			qp = ibv_create_qp(link->parent ? link->parent : device.pd,
					   &init);
		}
		if (!qp)
			return rn_bench_fail(end, "ibv_create_qp: %s", strerror(errno));
		link->qp[link->qps] = qp;
	}
	link->has_inline = cfg->inline_len && init.cap.max_inline_data;
	return 0;
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = PORT,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct ibv_qp *qp, const struct address *peer,
		  const struct qp_address *peer_qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = device.mtu,
				    .dest_qp_num = peer_qp->qpn,
				    .rq_psn = peer_qp->psn,
				    .max_dest_rd_atomic = device.rd_atomic,
				    .min_rnr_timer = RNR_TIMER_CODE };

	attr.ah_attr.is_global = device.is_global;
	attr.ah_attr.dlid = peer->lid;
	attr.ah_attr.port_num = PORT;
	attr.ah_attr.grh.dgid = peer->gid;
	attr.ah_attr.grh.sgid_index = device.gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp, uint32_t psn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = psn,
				    .timeout = ACK_TIMEOUT_CODE,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = device.rd_atomic };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

static int connect_qp(struct rn_bench_end *end, struct ibv_qp *qp,
		      const struct address *peer, const struct qp_address *mine,
		      const struct qp_address *theirs)
{
	int rc = to_init(qp);

	if (!rc)
		rc = to_rtr(qp, peer, theirs);
	if (!rc)
		rc = to_rts(qp, mine->psn);
	return rc ? rn_bench_fail(end, "ibv_modify_qp: %s", strerror(rc)) : 0;
}

static int connect_qps(struct rn_bench_end *end, struct rn_bench_link *link,
		       const struct address *peer)
{
	for (uint32_t first = 0; first < link->qps; first += ADDRESSES) {
		struct qp_address mine[ADDRESSES] = { 0 }, theirs[ADDRESSES];

		for (uint32_t i = 0; i < ADDRESSES && first + i < link->qps; i++) {
			uint32_t qpn = link->qp[first + i]->qp_num;

			mine[i].qpn = qpn;
			if (getrandom(&mine[i].psn, sizeof(mine[i].psn), 0) < 0)
				mine[i].psn = qpn * 0x9e3779u + (uint32_t)getpid();
			mine[i].psn &= 0xffffff;
		}
		if (rn_bench_exchange(end, mine, theirs, sizeof(mine)))
			return -1;
		for (uint32_t i = 0; i < ADDRESSES && first + i < link->qps; i++)
			if (connect_qp(end, link->qp[first + i], peer, &mine[i],
				       &theirs[i]))
				return -1;
	}
	return 0;
}

int rn_bench_link_open(struct rn_bench_end *end, const struct rn_bench_link_cfg *cfg,
		       struct rn_bench_link *link)
{
	struct address mine = { 0 }, peer;

	*link = (struct rn_bench_link){ .counted = true };
	if (open_device(end) || create_memory(end, cfg, link) ||
	    create_queues(end, cfg, link))
		return -1;
	end->path_mtu = 128u << device.mtu;
	mine.gid = device.gid;
	mine.lid = device.lid;
	mine.va = (uintptr_t)link->buf;
	mine.rkey = link->mr->rkey;
	if (rn_bench_exchange(end, &mine, &peer, sizeof(mine)))
		return -1;
	link->remote_va = peer.va;
	link->remote_rkey = peer.rkey;
	if (connect_qps(end, link, &peer))
		return -1;
	return rn_bench_meet(end);
}

void rn_bench_link_close(struct rn_bench_link *link)
{
	for (uint32_t i = 0; i < link->qps; i++)
		ibv_destroy_qp(link->qp[i]);
	if (link->cq && !link->shares_cq)
		ibv_destroy_cq(link->cq);
	if (link->parent)
		ibv_dealloc_pd(link->parent);
	if (link->td)
		ibv_dealloc_td(link->td);
	if (link->channel)
		ibv_destroy_comp_channel(link->channel);
	if (link->mr)
		ibv_dereg_mr(link->mr);
	free(link->buf);
	free(link->qp);
	if (link->counted)
		close_device();
	*link = (struct rn_bench_link){ 0 };
}

/* ---- Device that Rocin's is compared with ---- */

/* Finds the device @wish (NULL: the first one that is not Rocin's), and writes its name
 * to the descriptor @fd. Runs in a forked process.
 */
static void look_for(const char *wish, int fd)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (unsigned i = 0; list && list[i]; i++) {
		const char *name = ibv_get_device_name(list[i]);

		if (wish ? strcmp(name, wish) == 0 : !is_rocin(list[i])) {
			if (write(fd, name, strlen(name)) < 0)
				_exit(EXIT_FAILURE);
			break;
		}
	}
	_exit(EXIT_SUCCESS);
}

bool rn_bench_find_beside(const char *wish, char *name, size_t len)
{
	ssize_t n = 0;
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return false;
	pid = fork();
	if (pid == 0)
		look_for(wish, fd[1]);
	close(fd[1]);
	if (pid > 0) {
		n = read(fd[0], name, len - 1);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(fd[0]);
	name[n > 0 ? n : 0] = '\0';
	return n > 0;
}
