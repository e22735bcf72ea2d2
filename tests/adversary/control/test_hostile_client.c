/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_hostile_client.c - programs of the same user that say anything to rocind, in any
 * order, with any descriptors, and a program beside them that behaves.
 *
 * A walk over the states of a few connections, drawn from a seed: messages that are right
 * but for some fields, at the wrong moment, cut, or rubbish; up to 253 descriptors with
 * each; ends that are kept, shut, truncated, or not read. The program that behaves has
 * its answers, its slot and its packets all the time. At the end the daemon is the same
 * one, holds no descriptor more than at first, and sleeps.
 *
 * ADVERSARY_SECONDS: how long; ADVERSARY_SEED: where to begin.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "odd_descriptors.h"
#include "rocin/cmdev.h"
#include "rocin/random.h"
#include "tests/tools/rocind/kit/rocind_kit.h"
#include "transport/io/host/runtime_dir.h"
#include "transport/io/rocind/ctl_socket.h"

enum {
	PEERS = 6,
	FDS_MAX = 253, /* SCM_MAX_FD */
	GIDS = 4,
	STEPS = 500, /* of a seed */
	LOOK_EVERY = 25,
	ATTACH_EVERY = 100,
};

struct peer {
	int sock;    /* -1: not connected */
	int channel; /* of the connection manager, or -1 */
	int path;    /* own end of the last path that was handed over, or -1 */
	uint32_t slot;
	uint64_t generation; /* of the fault rules, as last heard */
};

static struct peer peers[PEERS];
static struct rn_random rng;
static struct rn_rocind *victim;
static pid_t daemon_pid;

static uint32_t draw(uint32_t below)
{
	return rn_random_below(&rng, below);
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void draw_bytes(void *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = (uint8_t)draw(256);
}

/* ---- Messages ---- */

static struct rn_gid draw_gid(void)
{
	struct rn_gid gid = kit_gid(draw(GIDS));

	if (draw(20) == 0)
		draw_bytes(gid.raw, sizeof(gid.raw));
	return gid;
}

static void fill_ends(struct rn_ctl_ends *ends)
{
	ends->local = draw_gid();
	ends->peer = draw_gid();
	ends->peer_slot = draw(8) ? peers[draw(PEERS)].slot : draw(300);
	ends->lost = draw(2);
}

static void fill_attach(struct rn_ctl_attach *m)
{
	snprintf(m->ibdev, sizeof(m->ibdev), "rocin%u", draw(3));
	snprintf(m->ifname, sizeof(m->ifname), "lo");
	m->ifindex = draw(8) ? 1 : draw(UINT32_MAX);
	m->gid_count = draw(8) ? 1 + draw(GIDS) : draw(40);
	m->up = draw(2);
	m->all_addresses = draw(2);
	m->wires = draw(4) != 0;
	m->no_icrc = draw(2);
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		m->gid[i] = draw(8) ? kit_gid(i % 8) : draw_gid();
}

static void fill(union rn_ctl_msg *m, const struct peer *p)
{
	switch (m->hdr.type) {
	case RN_CTL_ATTACH:
		fill_attach(&m->attach);
		break;
	case RN_CTL_LIST:
		m->list.after = draw(20);
		break;
	case RN_CTL_FAULTS_SET:
		m->faults_set.generation = p->generation + (draw(4) == 0);
		draw_bytes(m->faults_set.from, sizeof(m->faults_set.from));
		break;
	case RN_CTL_CM_OPEN:
		snprintf(m->cm_open.netdevs, sizeof(m->cm_open.netdevs), "lo:127.0.0.%u",
			 1 + draw(3));
		break;
	case RN_CTL_WIRE_ASK:
	case RN_CTL_WIRE_DROP:
		fill_ends(&m->wire_ask.ends);
		break;
	case RN_CTL_CAPTURE:
		m->capture.size = draw(8) ? 256 << 10 : draw(UINT32_MAX);
		m->capture.qpn = draw(3);
		m->capture.snaplen = draw(100);
		m->capture.pid = draw(4) ? 0 : (int32_t)draw(UINT32_MAX);
		break;
	default:
		break;
	}
}

/* SHUTDOWN would be obeyed. */
static uint16_t draw_type(void)
{
	uint16_t type = (uint16_t)(draw(16) ? 1 + draw(RN_CTL_CAPTURE) : draw(200));

	return type == RN_CTL_SHUTDOWN ? RN_CTL_STATUS : type;
}

/* Return: the length of the message. */
static size_t compose(union rn_ctl_msg *m, const struct peer *p)
{
	size_t len;

	memset(m, 0, sizeof(*m));
	m->hdr = rn_ctl_hdr((enum rn_ctl_type)draw_type());
	len = m->hdr.len ? m->hdr.len : sizeof(m->hdr);
	fill(m, p);
	for (unsigned n = draw(4) ? 0 : 1 + draw(4); n > 0; n--)
		((uint8_t *)m)[sizeof(m->hdr) + draw((uint32_t)(sizeof(*m) - 16))] =
			(uint8_t)draw(256);
	if (draw(12) == 0)
		m->hdr.version = (uint16_t)draw(20);
	if (draw(12) == 0)
		m->hdr.len = (uint32_t)(len = draw(sizeof(*m)));
	if (draw(12) == 0)
		len = draw(sizeof(*m));
	return len;
}

static unsigned draw_fds(int fds[FDS_MAX], int control)
{
	unsigned count = draw(3) ? draw(2) : draw(6), have = 0;

	if (draw(40) == 0)
		count = FDS_MAX;
	for (unsigned i = 0; i < count; i++) {
		int fd = odd_open((enum odd)draw(ODD_COUNT), control);

		if (fd >= 0)
			fds[have++] = fd;
	}
	return have;
}

static void send_with(int sock, const void *data, size_t len, const int *fds,
		      unsigned count)
{
	static union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { (void *)data, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (count) {
		control.align =
			(struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS };
		mh.msg_control = &control;
		mh.msg_controllen = CMSG_SPACE(count * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, count * sizeof(int));
	}
	(void)!sendmsg(sock, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_odd(int sock, const void *data, size_t len)
{
	int fds[FDS_MAX];
	unsigned count = draw_fds(fds, sock);

	send_with(sock, data, len, fds, count);
	while (count)
		close(fds[--count]);
}

/* ---- What a hostile program does ---- */

static void connect_peer(struct peer *p)
{
	struct sockaddr_un addr;
	char dir[256], name[64], why[256];
	int dir_fd;

	shut(&p->sock);
	p->slot = 0;
	rn_runtime_name(name, sizeof(name), "rocind", ".sock");
	if (rn_runtime_dir(dir, sizeof(dir), why, sizeof(why)) ||
	    rn_ctl_address(&addr, dir, name, &dir_fd))
		fail_msg("%s", why);
	p->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(p->sock >= 0);
	if (connect(p->sock, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		shut(&p->sock);
	if (dir_fd >= 0)
		close(dir_fd);
	if (p->sock >= 0 && draw(6)) {
		const struct rn_ctl_hello hello = { .hdr = rn_ctl_hdr(RN_CTL_HELLO) };

		rn_ctl_send(p->sock, &hello, NULL, 0);
	}
}

static void talk(struct peer *p)
{
	union rn_ctl_msg m;
	size_t len = compose(&m, p);

	send_odd(p->sock, &m, len);
}

static void hear(struct peer *p, const struct rn_ctl_packet *pkt)
{
	if (pkt->msg.hdr.type == RN_CTL_ATTACHED)
		p->slot = pkt->msg.attached.slot;
	else if (pkt->msg.hdr.type == RN_CTL_FAULTS)
		p->generation = pkt->msg.faults.generation;
	else if (pkt->msg.hdr.type == RN_CTL_FAULTS_REPLY)
		p->generation = pkt->msg.faults_reply.generation;
	else if (pkt->msg.hdr.type == RN_CTL_CM_OPENED && pkt->fd_count) {
		shut(&p->channel);
		p->channel = fcntl(pkt->fd[0], F_DUPFD_CLOEXEC, 0);
	}
}

static void listen_to_all(struct peer *p)
{
	struct rn_ctl_packet pkt;
	int rc;

	while ((rc = rn_ctl_receive(p->sock, &pkt)) == 0) {
		hear(p, &pkt);
		rn_ctl_close_fds(&pkt);
	}
	if (rc != -EAGAIN)
		shut(&p->sock);
}

/* A command by the path of a thread, or what is none. */
static void command(struct peer *p)
{
	struct {
		struct rn_cmdev_call call;
		uint8_t in[RN_CMDEV_IN_MAX];
	} m = { .call = { .cmd = draw(12) ? draw(RDMA_USER_CM_CMD_JOIN_MCAST + 2)
					  : RN_CMDEV_END,
			  .in_len = draw(4) ? 8 * draw(40) : draw(UINT32_MAX),
			  .out_len = draw(600),
			  .option_len = draw(6) ? 0 : draw(600),
			  .one_way = draw(4) == 0 } };
	size_t len = sizeof(m.call) + m.call.in_len + m.call.option_len;

	for (unsigned n = draw(20); n > 0; n--)
		m.in[draw(64)] = (uint8_t)draw(16);
	if (len > sizeof(m) || draw(10) == 0)
		len = draw(sizeof(m));
	send_odd(p->path, &m, len);
}

static void use_channel(struct peer *p)
{
	int fds[2];

	switch (draw(5)) {
	case 0:
		send_odd(p->channel, "x", 1);
		break;
	case 1:
		shut(&p->channel);
		break;
	case 2:
		if (p->path >= 0)
			shutdown(p->path, (int)draw(3));
		break;
	default:
		shut(&p->path);
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
			break;
		send_with(p->channel, "x", 1, &fds[0], 1);
		close(fds[0]);
		p->path = fds[1];
		break;
	}
}

static void step(void)
{
	struct peer *p = &peers[draw(PEERS)];
	uint32_t what = draw(32);

	if (what == 0 || p->sock < 0)
		connect_peer(p);
	else if (what == 1)
		shut(&p->sock);
	else if (what == 2)
		shutdown(p->sock, (int)draw(3));
	else if (what < 5)
		odd_change(draw(UINT32_MAX));
	else if (what < 12 && p->channel >= 0)
		use_channel(p);
	else if (what < 20 && p->path >= 0)
		command(p);
	else if (what < 24)
		listen_to_all(p);
	else
		talk(p);
}

/* ---- What the program that behaves has ---- */

static void look(void)
{
	struct rn_rocind_status status;
	char why[RN_CTL_TEXT_LEN] = "";

	if (rn_rocind_status(victim, &status, why, sizeof(why)))
		fail_msg("no status: %s", why);
	assert_int_equal(status.pid, daemon_pid);
}

/* Rules of a hostile program are for programs that apply them; this one does not. */
static void attach_and_receive(void)
{
	const struct rn_netdev dev = kit_device(GIDS);
	const struct rn_gid gid = kit_gid(0);
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);

	assert_int_equal(a.sock_count, GIDS);
	kit_send(&gid, 0x1000 | a.slot, 12);
	while (kit_receive(a.sock[0]) != (0x1000 | a.slot))
		;
	kit_close_socks(&a);
	rn_rocind_close(r);
}

static unsigned descriptors_of(pid_t pid)
{
	unsigned count = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* Ticks of processor time that it has used. */
static unsigned long ticks_of(pid_t pid)
{
	unsigned long user = 0, kernel = 0;
	char path[64], line[512] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f) && strrchr(line, ')'))
		sscanf(strrchr(line, ')') + 2,
		       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		       &kernel);
	if (f)
		fclose(f);
	return user + kernel;
}

static void wait_ms(int ms)
{
	poll(NULL, 0, ms);
}

static void clear_rules(void)
{
	static const uint8_t from[RN_ROCIND_RULES_MAX];
	struct rn_rocind_faults now;
	char why[RN_CTL_TEXT_LEN];

	assert_int_equal(rn_rocind_faults(victim, &now, why, sizeof(why)), 0);
	if (now.fd < 0)
		return;
	close(now.fd);
	if (rn_rocind_set_faults(victim, &now, -1, from, why, sizeof(why)))
		fail_msg("%s", why);
}

static void assert_nothing_is_left(unsigned before)
{
	unsigned long ticks;

	for (unsigned i = 0; descriptors_of(daemon_pid) > before; i++) {
		if (i == KIT_WAIT_MS / 50)
			fail_msg("%u descriptors instead of %u",
				 descriptors_of(daemon_pid), before);
		wait_ms(50);
		look();
	}
	ticks = ticks_of(daemon_pid);
	wait_ms(400);
	assert_in_range(ticks_of(daemon_pid) - ticks, 0, sysconf(_SC_CLK_TCK) / 5);
}

/* ---- The walk ---- */

static void end_peers(void)
{
	for (unsigned i = 0; i < PEERS; i++) {
		shut(&peers[i].sock);
		shut(&peers[i].channel);
		shut(&peers[i].path);
		peers[i] = (struct peer){ .sock = -1, .channel = -1, .path = -1 };
	}
	odd_forget();
}

static void walk(uint64_t seed)
{
	rng = rn_random_of(seed, 0);
	for (unsigned i = 1; i <= STEPS; i++) {
		step();
		if (i % LOOK_EVERY == 0)
			look();
		if (i % ATTACH_EVERY == 0)
			attach_and_receive();
	}
	end_peers();
}

/* What the first channel makes stays for good. */
static void open_channel_once(void)
{
	char why[RN_CTL_TEXT_LEN];
	int board = -1;
	int fd = rn_rocind_open_cm(victim, "lo:127.0.0.1", &board, why, sizeof(why));

	if (fd < 0)
		fail_msg("%s", why);
	close(fd);
	shut(&board);
	look();
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void programs_that_say_anything_harm_nobody(void **state)
{
	uint64_t seed = setting("ADVERSARY_SEED", (uint64_t)getpid());
	time_t end;
	unsigned before, seeds = 0;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	setenv("ROCIN_IDLE_MS", "1000", 1);
	memset(peers, 0xff, sizeof(peers));
	end_peers();
	victim = kit_connect();
	daemon_pid = kit_daemon(victim);
	open_channel_once();
	clear_rules();
	before = descriptors_of(daemon_pid);
	print_message("the first seed is %llu\n", (unsigned long long)seed);
	end = time(NULL) + (time_t)setting("ADVERSARY_SECONDS", 3);
	do
		walk(seed + seeds++);
	while (time(NULL) < end);
	print_message("%u seeds of %d steps\n", seeds, STEPS);
	clear_rules();
	assert_nothing_is_left(before);
	rn_rocind_close(victim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(programs_that_say_anything_harm_nobody,
						kit_setup, kit_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
