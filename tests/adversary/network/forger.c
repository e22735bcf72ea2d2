/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* forger.c - see forger.h. */
#include "forger.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rocin/icrc.h"
#include "rocin/wire.h"

enum {
	BATCH = 32 /* packets of one system call */
};

struct order {
	struct forgery f;
	bool is_sweep;
};

/* In memory that both processes have. */
static struct {
	_Atomic bool stop;
	_Atomic unsigned rounds;
	_Atomic uint64_t packets;
} * shared;
static int line = -1; /* to the attacker */
static pid_t attacker;

/* ---- The attacker ---- */

/* A socket at an address that no device has. */
static int open_socket(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT),
				  .sin_addr.s_addr = htonl(0x7f4d0000 |
							   (uint32_t)getpid() % 65534) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), discover = IP_PMTUDISC_DO;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)))
		return -1;
	return fd;
}

struct batch {
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	uint8_t pkt[BATCH][FORGER_PACKET_MAX];
	struct sockaddr_in to;
	union {
		char buf[CMSG_SPACE(sizeof(struct in_pktinfo))];
		struct cmsghdr align;
	} control;
};

static void open_batch(struct batch *b, const struct forgery *f)
{
	struct in_pktinfo info = { 0 };
	struct cmsghdr *c = &b->control.align;

	memset(b, 0, sizeof(*b));
	b->to = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_port = htons(RN_ROCE_PORT) };
	memcpy(&b->to.sin_addr, f->dst.raw + 12, 4);
	memcpy(&info.ipi_spec_dst, f->src.raw + 12, 4);
	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	for (unsigned i = 0; i < BATCH; i++) {
		memcpy(b->pkt[i], f->pkt, f->len);
		b->iov[i] = (struct iovec){ b->pkt[i], f->len };
		b->msg[i].msg_hdr =
			(struct msghdr){ .msg_name = &b->to,
					 .msg_namelen = sizeof(b->to),
					 .msg_iov = &b->iov[i],
					 .msg_iovlen = 1,
					 .msg_control = &b->control,
					 .msg_controllen = sizeof(b->control.buf) };
	}
}

static void put_guess(const struct forgery *f, uint8_t *pkt, uint32_t guess)
{
	const uint32_t unknown = (uint32_t)(((UINT64_C(1) << f->bits) - 1) << f->low);
	uint32_t number = 0;

	for (unsigned i = 0; i < f->bytes; i++)
		number = number << 8 | pkt[f->at + i];
	number = (number & ~unknown) | (guess << f->low & unknown);
	for (unsigned i = f->bytes; i-- > 0; number >>= 8)
		pkt[f->at + i] = (uint8_t)number;
}

static void seal(const struct forgery *f, uint8_t *pkt)
{
	const struct rn_flow flow = { .src = f->src,
				      .dst = f->dst,
				      .sport = RN_ROCE_PORT };

	rn_icrc_seal(&flow, 0, pkt, f->len - RN_ICRC_LEN);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Packets that do not fit a receive buffer are lost, which sendmmsg() does not tell. */
static void send_batch(int fd, struct batch *b, unsigned count)
{
	unsigned sent = 0;

	while (sent < count && !shared->stop) {
		int n = sendmmsg(fd, b->msg + sent, count - sent, 0);

		if (n > 0)
			sent += (unsigned)n;
		else if (errno != EAGAIN && errno != ENOBUFS && errno != ECONNREFUSED)
			_exit(4);
	}
}

static uint64_t sweep(int fd, const struct forgery *f)
{
	const uint64_t space = UINT64_C(1) << f->bits;
	static struct batch b;
	uint32_t guess = 0;
	uint64_t tried = 0;

	if (getrandom(&guess, sizeof(guess), 0) != sizeof(guess))
		_exit(5);
	open_batch(&b, f);
	while (!shared->stop) {
		unsigned n = space - tried < BATCH ? (unsigned)(space - tried) : BATCH;

		for (unsigned i = 0; i < n; i++, guess += f->step ? f->step : 1) {
			put_guess(f, b.pkt[i], guess);
			seal(f, b.pkt[i]);
		}
		send_batch(fd, &b, n);
		shared->packets += n;
		tried += n;
		if (tried == space) {
			tried = 0;
			shared->rounds++;
		}
		sched_yield(); /* so that the victim keeps up on one processor */
	}
	return shared->packets;
}

static void obey(int fd, struct order *o, struct forger_work *work)
{
	static struct batch b;
	uint64_t before = now_ns();

	work->packets = 1;
	if (o->is_sweep) {
		work->packets = sweep(fd, &o->f);
	} else {
		open_batch(&b, &o->f);
		seal(&o->f, b.pkt[0]);
		send_batch(fd, &b, 1);
	}
	work->ns = now_ns() - before;
}

static _Noreturn void be_attacker(int sock, pid_t parent)
{
	static struct order o;
	struct forger_work work;
	int fd;

	/* setuid() forgets what ends it with its parent, so that comes second. */
	if (setgid(FORGER_UID) || setuid(FORGER_UID) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(3);
	fd = open_socket();
	if (fd < 0 || write(sock, "r", 1) != 1)
		_exit(2);
	while (recv(sock, &o, sizeof(o), 0) == sizeof(o)) {
		obey(fd, &o, &work);
		if (send(sock, &work, sizeof(work), MSG_NOSIGNAL) != sizeof(work))
			break;
	}
	_exit(0);
}

/* ---- Who gives it orders ---- */

static void give_up(const char *why)
{
	fprintf(stderr, "the attacker: %s\n", why);
	abort();
}

int forger_start(void)
{
	const pid_t parent = getpid();
	int pair[2];
	char byte;

	if (geteuid())
		return -EPERM;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	attacker = fork();
	if (attacker < 0)
		return -errno;
	if (attacker == 0) {
		close(pair[0]);
		be_attacker(pair[1], parent);
	}
	close(pair[1]);
	line = pair[0];
	return recv(line, &byte, 1, 0) == 1 ? 0 : -EPERM;
}

void forger_stop(void)
{
	shared->stop = true;
	close(line);
	waitpid(attacker, NULL, 0);
	munmap(shared, sizeof(*shared));
}

static void give_order(const struct forgery *f, bool is_sweep)
{
	static struct order o;

	o = (struct order){ .f = *f, .is_sweep = is_sweep };
	shared->stop = false;
	shared->rounds = 0;
	shared->packets = 0;
	if (send(line, &o, sizeof(o), MSG_NOSIGNAL) != sizeof(o))
		give_up("it has gone");
}

static struct forger_work await(void)
{
	struct forger_work work;

	if (recv(line, &work, sizeof(work), 0) != sizeof(work))
		give_up("it cannot send");
	return work;
}

void forger_send(const struct forgery *f)
{
	give_order(f, false);
	await();
}

void forger_begin(const struct forgery *f)
{
	give_order(f, true);
}

unsigned forger_rounds(void)
{
	return shared->rounds;
}

uint64_t forger_packets(void)
{
	return shared->packets;
}

struct forger_work forger_end(void)
{
	shared->stop = true;
	return await();
}
