/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verify_verbs.c - see verify.h */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "verify.h"

enum {
	/* number of empty polls between two checks of the target; each poll may yield the
	 * processor
	 */
	LOOK_EVERY = 64,
};

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int read_all(int fd, void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(fd, (char *)buf + done, len - done);

		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

/* ------------------------------------------------------------------ patterns */
static uint8_t pattern(uint32_t i, uint32_t at)
{
	return (uint8_t)(mix((uint64_t)i << 32 | at / 8) >> at % 8 * 8);
}

void fill(uint8_t *p, uint32_t i, uint32_t len)
{
	for (uint32_t at = 4; at < len; at++)
		p[at] = pattern(i, at);
	memcpy(p, &i, sizeof(i));
}

uint32_t index_of(const uint8_t *p)
{
	uint32_t i;

	memcpy(&i, p, sizeof(i));
	return i;
}

void check(const uint8_t *p, uint32_t i, uint32_t len, const char *what)
{
	if (index_of(p) != i)
		die("%s: message %u holds message %u", what, i, index_of(p));
	for (uint32_t at = 4; at < len; at++)
		if (p[at] != pattern(i, at))
			die("%s: message %u of %u bytes: byte %u is 0x%02x, want 0x%02x",
			    what, i, len, at, p[at], pattern(i, at));
}

/* Checks the 40 bytes before the data of a datagram: an address handle from them must
 * lead to the peer.
 */
void check_grh(struct verify *v, const struct ibv_wc *wc, uint8_t *slot)
{
	struct ibv_ah_attr attr;

	if (!(wc->wc_flags & IBV_WC_GRH))
		die("a datagram without GRH");
	if (wc->src_qp != v->peer.qpn)
		die("source QP 0x%x, want 0x%x", wc->src_qp, v->peer.qpn);
	if (ibv_init_ah_from_wc(v->ctx, 1, (struct ibv_wc *)wc, (struct ibv_grh *)slot,
				&attr))
		die("ibv_init_ah_from_wc: %s", strerror(errno));
	if (memcmp(&attr.grh.dgid, &v->peer.gid, sizeof(attr.grh.dgid)) != 0)
		die("ibv_init_ah_from_wc: the GID is not the peer's");
}

/* ------------------------------------------------------------------- posting */
void post_recv(struct verify *v, uint64_t slot)
{
	struct ibv_sge sge = { .addr = (uintptr_t)(v->recv + slot * v->recv_len),
			       .length = (uint32_t)v->recv_len,
			       .lkey = v->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(v->qp, &wr, &bad))
		die("ibv_post_recv: %s", strerror(errno));
}

static void post(struct verify *v, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	if (v->type == IBV_QPT_UD) {
		wr->wr.ud.ah = v->ah;
		wr->wr.ud.remote_qpn = v->peer.qpn;
		wr->wr.ud.remote_qkey = v->peer.qkey;
	}
	if (ibv_post_send(v->qp, wr, &bad))
		die("ibv_post_send: %s", strerror(errno));
	v->outstanding++;
}

void post_send(struct verify *v, uint32_t i, enum ibv_wr_opcode op, uint8_t *p,
	       uint32_t len, uint64_t remote)
{
	/* Two SGEs, so that gathering is tested, too. */
	uint32_t cut = len / 3;
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)p, .length = cut, .lkey = v->mr->lkey },
		{ .addr = (uintptr_t)(p + cut),
		  .length = len - cut,
		  .lkey = v->mr->lkey },
	};
	struct ibv_send_wr wr = { .wr_id = i,
				  .sg_list = sge,
				  .num_sge = 2,
				  .opcode = op,
				  .imm_data = htonl(i),
				  .send_flags = len <= 64 && op != IBV_WR_RDMA_READ
							? IBV_SEND_INLINE
							: 0 };

	if (remote) {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = v->peer.rkey;
	}
	post(v, &wr);
}

/* Posts an atomic. The counter is the last 8 bytes of the peer's buffer. */
void post_atomic(struct verify *v, uint32_t i, enum operation op)
{
	struct ibv_sge sge = { .addr = (uintptr_t)(v->check +
						   (size_t)(i % BATCH) * v->max),
			       .length = 8,
			       .lkey = v->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	uint64_t next = mix(i);

	wr.wr.atomic.remote_addr = v->peer.addr + (uint64_t)(BATCH + 1) * v->max;
	wr.wr.atomic.rkey = v->peer.rkey;
	v->expected[i % BATCH] = v->counter;
	if (op == OP_FETCH_ADD) {
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.compare_add = next;
		v->counter += next;
	} else {
		wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
		wr.wr.atomic.compare_add = i % 2 ? v->counter : ~v->counter;
		wr.wr.atomic.swap = next;
		if (i % 2)
			v->counter = next;
	}
	post(v, &wr);
}

/* --------------------------------------------------------------- completions */
static void sleep_for_event(struct verify *v)
{
	struct pollfd p = { .fd = v->channel->fd, .events = POLLIN };
	struct ibv_cq *got;
	void *ctx;

	/* The wait has a limit, because messages of unreliable services may be lost. */
	if (poll(&p, 1, 10) != 1)
		return;
	if (ibv_get_cq_event(v->channel, &got, &ctx))
		die("ibv_get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(got, 1);
	if (ibv_req_notify_cq(got, 0))
		die("ibv_req_notify_cq: %s", strerror(errno));
}

static bool take(struct verify *v, struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(cq, 1, wc);

	if (n == 0 && v->events) {
		sleep_for_event(v);
		n = ibv_poll_cq(cq, 1, wc);
	}
	if (n < 0)
		die("ibv_poll_cq failed");
	if (n == 1 && wc->status != IBV_WC_SUCCESS)
		die("work request %llu: %s", (unsigned long long)wc->wr_id,
		    ibv_wc_status_str(wc->status));
	return n == 1;
}

/* Ends this process if the target has ended, because it has found a mistake. Otherwise
 * the requester would end about 35 s later, after all retries.
 */
static void check_target(const struct verify *v)
{
	struct pollfd p = { .fd = v->sock, .events = POLLRDHUP };

	if (poll(&p, 1, 0) == 1 && p.revents & (POLLRDHUP | POLLHUP | POLLERR))
		die("the target is gone");
}

void take_send_completion(struct verify *v)
{
	static unsigned empty;
	struct ibv_wc wc;

	if (take(v, v->send_cq, &wc))
		v->outstanding--;
	else if (++empty % LOOK_EVERY == 0)
		check_target(v);
}

bool take_recv_completion(struct verify *v, struct ibv_wc *wc)
{
	return take(v, v->recv_cq, wc);
}

/* -------------------------------------------------------------------- set-up */
union meeting_place {
	struct sockaddr sa;
	struct sockaddr_un un;
	struct sockaddr_in in;
};

/* Parses the address at which both sides connect: ADDRESS:PORT, or the path of a UNIX
 * socket. Returns the length of the address.
 */
static socklen_t read_place(const char *path, union meeting_place *at)
{
	const char *colon = strchr(path, ':');
	char address[INET_ADDRSTRLEN];

	memset(at, 0, sizeof(*at));
	if (!colon) {
		at->un.sun_family = AF_UNIX;
		snprintf(at->un.sun_path, sizeof(at->un.sun_path), "%s", path);
		return sizeof(at->un);
	}
	snprintf(address, sizeof(address), "%.*s", (int)(colon - path), path);
	at->in.sin_family = AF_INET;
	at->in.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, address, &at->in.sin_addr) != 1)
		die("%s: not ADDRESS:PORT", path);
	return sizeof(at->in);
}

static void meet(struct verify *v)
{
	union meeting_place at;
	socklen_t len = read_place(v->path, &at);
	int s = socket(at.sa.sa_family, SOCK_STREAM, 0), on = 1;
	int64_t give_up = now_ms() + 300000;

	if (v->requester) {
		while (connect(s, &at.sa, len)) {
			if (now_ms() > give_up)
				die("nobody at %s", v->path);
			poll(NULL, 0, 5);
			close(s);
			s = socket(at.sa.sa_family, SOCK_STREAM, 0);
		}
		v->sock = s;
		return;
	}
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s, &at.sa, len) || listen(s, 1) || (v->sock = accept(s, NULL, NULL)) < 0)
		die("%s: %s", v->path, strerror(errno));
	close(s);
}

/* Opens a Rocin device or, if there is none, the first device: that of another
 * implementation.
 */
static void open_device(struct verify *v)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (unsigned i = 0; list && list[i] && !v->ctx; i++)
		if (!strncmp(ibv_get_device_name(list[i]), "rocin", 5))
			v->ctx = ibv_open_device(list[i]);
	if (list && list[0] && !v->ctx)
		v->ctx = ibv_open_device(list[0]);
	if (!v->ctx)
		die("no device");
	ibv_free_device_list(list);
}

static void create_objects(struct verify *v)
{
	struct ibv_qp_init_attr init = { .qp_type = v->type,
					 .cap = { .max_send_wr = 4 * BATCH,
						  .max_recv_wr = RECV_DEPTH,
						  .max_send_sge = 2,
						  .max_recv_sge = 1,
						  .max_inline_data = 64 } };
	size_t slots = (size_t)BATCH * v->max;

	v->recv_len = (size_t)v->max + 40;
	v->block_len = slots + v->max + 8 + slots + RECV_DEPTH * v->recv_len;
	v->block = aligned_alloc(4096, (v->block_len + 4095) & ~(size_t)4095);
	if (!v->block)
		die("no memory");
	memset(v->block, 0, v->block_len);
	v->buf = v->block;
	fill(v->buf + slots, READ_INDEX, v->max);
	v->check = v->buf + slots + v->max + 8;
	v->recv = v->check + slots;
	v->pd = ibv_alloc_pd(v->ctx);
	v->mr = ibv_reg_mr(v->pd, v->block, v->block_len,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	v->channel = v->events ? ibv_create_comp_channel(v->ctx) : NULL;
	v->send_cq = ibv_create_cq(v->ctx, 4 * BATCH, NULL, v->channel, 0);
	v->recv_cq = ibv_create_cq(v->ctx, RECV_DEPTH, NULL, v->channel, 0);
	if (!v->pd || !v->mr || !v->send_cq || !v->recv_cq || (v->events && !v->channel))
		die("cannot create verbs objects: %s", strerror(errno));
	init.send_cq = v->send_cq;
	init.recv_cq = v->recv_cq;
	v->qp = ibv_create_qp(v->pd, &init);
	if (!v->qp)
		die("ibv_create_qp: %s", strerror(errno));
	if (v->events &&
	    (ibv_req_notify_cq(v->send_cq, 0) || ibv_req_notify_cq(v->recv_cq, 0)))
		die("ibv_req_notify_cq: %s", strerror(errno));
}

static void modify(struct verify *v, struct ibv_qp_attr *attr, int mask, const char *to)
{
	if (ibv_modify_qp(v->qp, attr, mask))
		die("ibv_modify_qp to %s: %s", to, strerror(errno));
}

static enum ibv_mtu mtu_code(uint32_t mtu)
{
	return mtu >= 4096   ? IBV_MTU_4096
	       : mtu >= 2048 ? IBV_MTU_2048
	       : mtu >= 1024 ? IBV_MTU_1024
	       : mtu >= 512  ? IBV_MTU_512
			     : IBV_MTU_256;
}

static void to_init(struct verify *v)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = v->self.qkey,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	if (v->type == IBV_QPT_RC)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	modify(v, &attr,
	       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (v->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
	       "INIT");
	for (uint64_t slot = 0; slot < RECV_DEPTH; slot++)
		post_recv(v, slot);
}

static void to_rts(struct verify *v)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = mtu_code(v->mtu),
				    .dest_qp_num = v->peer.qpn,
				    .rq_psn = v->peer.psn,
				    .max_dest_rd_atomic = 8,
				    .min_rnr_timer = 12 };
	bool rc = v->type == IBV_QPT_RC;

	attr.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1 };
	attr.ah_attr.grh.dgid = v->peer.gid;
	attr.ah_attr.grh.sgid_index = v->gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	modify(v, &attr,
	       IBV_QP_STATE |
		       (v->type == IBV_QPT_UD ? 0
					      : IBV_QP_AV | IBV_QP_PATH_MTU |
							IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
		       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0),
	       "RTR");
	if (v->type == IBV_QPT_UD) {
		v->ah = ibv_create_ah(v->pd, &attr.ah_attr);
		if (!v->ah)
			die("ibv_create_ah: %s", strerror(errno));
	}
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = v->self.psn,
				     .timeout = v->timeout,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 8 };
	modify(v, &attr,
	       IBV_QP_STATE | IBV_QP_SQ_PSN |
		       (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					IBV_QP_MAX_QP_RD_ATOMIC
			   : 0),
	       "RTS");
}

/* Sends data of this side, and receives that of the peer. */
static void exchange(struct verify *v, void *ours, void *theirs, size_t len)
{
	if (write(v->sock, ours, len) != (ssize_t)len || read_all(v->sock, theirs, len))
		die("the peer is gone");
}

void verify_open(struct verify *v)
{
	struct peer_info ours;
	char ready = 0;

	meet(v);
	open_device(v);
	create_objects(v);
	v->self = (struct peer_info){ .qpn = v->qp->qp_num,
				      .psn = (uint32_t)mix(v->seed + v->requester) &
					     0xffffff,
				      .rkey = v->mr->rkey,
				      .qkey = 0x1234567,
				      .addr = (uintptr_t)v->buf };
	if (ibv_query_gid(v->ctx, 1, v->gid_index, &v->self.gid))
		die("ibv_query_gid: %s", strerror(errno));
	to_init(v);
	ours = v->self;
	exchange(v, &ours, &v->peer, sizeof(ours));
	to_rts(v);
	/* Waits until the peer is ready, too: before that, it could not receive a
	 * message.
	 */
	exchange(v, &ready, &ready, sizeof(ready));
}

void verify_close(struct verify *v)
{
	if (ibv_destroy_qp(v->qp) || (v->ah && ibv_destroy_ah(v->ah)) ||
	    ibv_destroy_cq(v->send_cq) || ibv_destroy_cq(v->recv_cq) ||
	    (v->channel && ibv_destroy_comp_channel(v->channel)) || ibv_dereg_mr(v->mr) ||
	    ibv_dealloc_pd(v->pd) || ibv_close_device(v->ctx))
		die("an object could not be destroyed: %s", strerror(errno));
	free(v->block);
	close(v->sock);
}
