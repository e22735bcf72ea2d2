/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.c - sends and receives the lines of text that `rocin conform' and its agent, on
 * the host of the device under test, exchange over TCP; see wire.h.
 */
#include "wire.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "rocin/work_request.h"

const struct rn_conform_operation *rn_conform_operation(uint64_t opcode)
{
	static const struct rn_conform_operation list[RN_WR_COUNT] = {
#define X(symbol, bit, cap, ours, call, why) \
	[RN_WR_##symbol] = { 1 << (bit), UINT64_C(1) << (cap), ours, call, why },
		RN_CONFORM_OPERATIONS(X)
#undef X
	};

	return opcode < RN_WR_COUNT && list[opcode].why ? &list[opcode] : NULL;
}

int rn_conform_send(struct rn_conform_wire *w, const struct rn_conform_line *l)
{
	char text[RN_CONFORM_LINE];
	int used = snprintf(text, sizeof(text), "%s", l->word);
	size_t left;

	for (unsigned i = 0; i < l->count; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, " %" PRIx64,
				 l->n[i]);
	text[used++] = '\n';
	left = (size_t)used;
	while (left > 0) {
		ssize_t n = send(w->fd, text + used - left, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		left -= (size_t)n;
	}
	return 0;
}

static int parse_line(const char *text, struct rn_conform_line *l)
{
	size_t word = strcspn(text, " ");

	*l = (struct rn_conform_line){ 0 };
	if (word == 0 || word >= sizeof(l->word))
		return -EPROTO;
	memcpy(l->word, text, word);
	for (text += word; *text;) {
		char *end;

		if (text[0] != ' ' || !strchr("0123456789abcdef", text[1]) || !text[1] ||
		    l->count == RN_CONFORM_NUMBERS)
			return -EPROTO;
		l->n[l->count++] = strtoull(text + 1, &end, 16);
		text = end;
	}
	return 0;
}

int rn_conform_receive(struct rn_conform_wire *w, struct rn_conform_line *l,
		       int timeout_ms)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	char *newline;
	int rc;

	while (!(newline = memchr(w->buf, '\n', w->used))) {
		ssize_t n;
		int ready;

		if (w->used == sizeof(w->buf))
			return -EPROTO;
		ready = poll(&p, 1, timeout_ms);
		if (ready == 0)
			return -ETIMEDOUT;
		n = ready < 0
			    ? -1
			    : recv(w->fd, w->buf + w->used, sizeof(w->buf) - w->used, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
		w->used += (size_t)n;
	}
	*newline = '\0';
	rc = strlen(w->buf) == (size_t)(newline - w->buf) ? parse_line(w->buf, l)
							  : -EPROTO;
	w->used -= (size_t)(newline + 1 - w->buf);
	memmove(w->buf, newline + 1, w->used);
	return rc;
}
