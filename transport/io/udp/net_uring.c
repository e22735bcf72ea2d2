/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_uring.c - see net_uring.h. */
#include "net_uring.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "transport/io/host/sentence.h"
#include "transport/io/host/uring.h"

enum {
	AHEAD = 4, /* datagrams of one call: more of this size leave the cache */
	BUF = 65536,
	CONTROL = 256,
};

struct slot {
	struct msghdr msg;
	struct iovec iov;
	struct sockaddr_storage from;
	_Alignas(struct cmsghdr) uint8_t control[CONTROL];
	int len; /* or -errno */
};

struct rn_net_uring {
	struct rn_uring *uring;
	unsigned ahead;	      /* to ask for: more when all that were asked for came */
	unsigned next, count; /* slots not handed out yet */
	struct slot slot[AHEAD];
	uint8_t buf[AHEAD][BUF];
};

struct rn_net_uring *rn_net_uring_new(char *err, size_t err_len)
{
	struct rn_net_uring *n = malloc(sizeof(*n));

	if (!n) {
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for io_uring");
		return NULL;
	}
	n->ahead = 1;
	n->next = n->count = 0;
	n->uring = rn_uring_open(RN_URING_AT_ONCE, AHEAD, err, err_len);
	if (n->uring)
		return n;
	free(n);
	return NULL;
}

void rn_net_uring_free(struct rn_net_uring *n)
{
	if (!n)
		return;
	rn_uring_close(n->uring);
	free(n);
}

/* Hand over @count requests, tagged from 0 on. All must have ended: their memory is ours
 * again.
 */
static int perform(struct rn_net_uring *n, unsigned count, int *result)
{
	int rc = rn_uring_submit(n->uring, 0), one;
	uint64_t tag;

	if (rc)
		return rc;
	for (unsigned i = 0; i < count; i++) {
		if (!rn_uring_next(n->uring, &tag, &one))
			return -EIO;
		assert(tag < count);
		result[tag] = one;
	}
	return 0;
}

/* ------------------------------------------------------------------- receive */
static void prepare(struct rn_net_uring *n, unsigned idx, int fd)
{
	struct slot *s = &n->slot[idx];

	s->iov = (struct iovec){ n->buf[idx], BUF };
	s->msg = (struct msghdr){
		.msg_name = &s->from,
		.msg_namelen = sizeof(s->from),
		.msg_iov = &s->iov,
		.msg_iovlen = 1,
		.msg_control = s->control,
		.msg_controllen = sizeof(s->control),
	};
	if (!rn_uring_recv(n->uring, fd, &s->msg, idx))
		assert(!"room for AHEAD requests");
}

bool rn_net_uring_holds(const struct rn_net_uring *n)
{
	for (unsigned i = n->next; i < n->count; i++)
		if (n->slot[i].len >= 0)
			return true;
	return false;
}

void rn_net_uring_forget(struct rn_net_uring *n)
{
	n->next = n->count = 0;
}

bool rn_net_uring_next(struct rn_net_uring *n, struct rn_net_datagram *d)
{
	while (n->next < n->count) {
		unsigned idx = n->next++;
		struct slot *s = &n->slot[idx];

		if (s->len < 0)
			continue;
		*d = (struct rn_net_datagram){ .msg = &s->msg,
					       .data = n->buf[idx],
					       .len = (uint32_t)s->len };
		return true;
	}
	return false;
}

int rn_net_uring_receive(struct rn_net_uring *n, int fd, bool *found)
{
	int result[AHEAD], rc;
	unsigned got = 0;

	assert(!rn_net_uring_holds(n));
	n->next = n->count = 0;
	for (unsigned i = 0; i < n->ahead; i++)
		prepare(n, i, fd);
	rc = perform(n, n->ahead, result);
	if (rc)
		return rc;
	n->count = n->ahead;
	for (unsigned i = 0; i < n->count; i++) {
		n->slot[i].len = result[i];
		got += result[i] >= 0;
	}
	if (got < n->ahead)
		n->ahead = 1;
	else if (n->ahead < AHEAD)
		n->ahead *= 2;
	*found = got > 0;
	return 0;
}

/* ---------------------------------------------------------------------- send */
int rn_net_uring_send(struct rn_net_uring *n, int fd, const struct msghdr *msg,
		      int *result)
{
	int sent = 0, rc;

	if (!rn_uring_send(n->uring, fd, msg, 0))
		assert(!"room for a request");
	rc = perform(n, 1, &sent);
	*result = sent < 0 ? sent : 0;
	return rc;
}
