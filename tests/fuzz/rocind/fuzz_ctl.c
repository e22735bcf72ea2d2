/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_ctl.c - any messages on the control socket, to rocind or to its client: each
 * request has one answer, answers are well-formed, slots have one owner, no descriptor
 * is lost.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl_sides.h"
#include "tests/adversary/control/odd_descriptors.h"
#include "transport/io/rocind/ctl_socket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	FD_MAX = 20, /* more than a receiver has room for */
	BODY_MAX = sizeof(union rn_ctl_msg) + 64,

	/* Bits of a message's first byte; its upper four are the number of descriptors.
	 */
	RAW = 1,
	OTHER_VERSION = 2,
	WRONG_LENGTH = 4,
	ODD_FDS = 8, /* of any kind, the first named by a byte, and changed after that */
};

struct message {
	union {
		struct rn_ctl_hdr hdr;
		uint8_t bytes[BODY_MAX];
	};
	size_t len;
};

static void compose(struct script *s, uint8_t shape, struct message *m)
{
	uint8_t type = take8(s);
	size_t body;

	if (shape & RAW) {
		m->len = take16(s) % (BODY_MAX + 1);
		take_bytes(s, m->bytes, m->len);
		return;
	}
	m->hdr = rn_ctl_hdr((enum rn_ctl_type)type);
	m->len = m->hdr.len ? m->hdr.len : sizeof(m->hdr);
	body = take16(s) % (m->len - sizeof(m->hdr) + 1);
	take_bytes(s, m->bytes + sizeof(m->hdr), body);
	if (shape & OTHER_VERSION)
		m->hdr.version = take8(s);
	if (shape & WRONG_LENGTH)
		m->len = take16(s) % (BODY_MAX + 1);
	m->hdr.len = (uint32_t)m->len;
}

static int null_fd(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	require(fd >= 0);
	return fd;
}

/* What stands for a page of statistics. */
static int page_fd(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("page", MFD_CLOEXEC);
	require(fd >= 0);
	return fd;
}

/* Return: how many descriptors there are; each is to be closed. */
static unsigned open_odd(unsigned kind, unsigned count, int sock, int fds[FD_MAX])
{
	unsigned have = 0;

	for (unsigned i = 0; i < count; i++) {
		int fd = odd_open((enum odd)((kind + i) % ODD_COUNT), sock);

		if (fd >= 0)
			fds[have++] = fd;
	}
	return have;
}

static int verdict(const struct message *m, unsigned fd_count)
{
	bool good = m->len >= sizeof(m->hdr) && m->hdr.magic == RN_CTL_MAGIC &&
		    m->hdr.version == RN_CTL_VERSION && m->hdr.len == m->len &&
		    m->len == rn_ctl_len(m->hdr.type) && fd_count <= RN_CTL_FD_MAX;

	return good ? m->hdr.type : CTL_BAD;
}

int ctl_speak(struct script *s, int sock)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FD_MAX * sizeof(int))];
	} control = { 0 };
	uint8_t shape = take8(s);
	unsigned fd_count = shape >> 4 == 15 ? FD_MAX : shape >> 4;
	struct message m = { .len = 0 };
	struct iovec iov = { .iov_base = m.bytes };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	unsigned odd_count = 0;
	int fds[FD_MAX];
	bool is_sent;

	if (shape & ODD_FDS)
		fd_count = odd_count = open_odd(take8(s), fd_count, sock, fds);
	compose(s, shape, &m);
	iov.iov_len = m.len;
	if (fd_count) {
		struct cmsghdr *c;

		mh.msg_control = control.bytes;
		mh.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		for (unsigned i = 0; i < fd_count; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int),
			       i < odd_count ? &fds[i]
					     : &(int){ i ? null_fd() : page_fd() },
			       sizeof(int));
	}
	is_sent = sendmsg(sock, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
	while (odd_count)
		close(fds[--odd_count]);
	if (shape & ODD_FDS)
		odd_change(take8(s));
	return is_sent ? verdict(&m, fd_count) : CTL_UNSENT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { data, data + size };
	unsigned before;

	signal(SIGPIPE, SIG_IGN); /* of odd_change() */
	null_fd();
	page_fd();
	before = open_descriptors();
	if (take8(&s) & 1)
		ctl_client_side(&s);
	else
		ctl_daemon_side(&s);
	odd_forget();
	require(open_descriptors() == before);
	return 0;
}
