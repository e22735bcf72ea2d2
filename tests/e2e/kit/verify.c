/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verify.c - sends messages between two processes by plain verbs, and checks each byte.
 *
 * Role a is the requester, role b the target. They exchange addresses over a UNIX socket,
 * which also works between network namespaces. Messages are sent in batches of BATCH,
 * which are all in flight at once. After each batch, b reports over the socket how many
 * messages it has verified. The bytes of message i follow from i, so lost, duplicated,
 * mixed-up and late messages are noticed.
 *
 * RC: SEND, WRITE with immediate, WRITE that is read back by READ, READ, and both
 * atomics; no message may be lost. UC: SEND, and WRITE with immediate. UD: SEND. On UC
 * and UD, SENDs are with and without immediate; the messages that arrive must be
 * unchanged and in order. Without --lossy, all of them must arrive: UC and UD have no
 * flow control, so only as many bytes are in flight as buffers can hold (UNREAD_MAX).
 * With --lossy, a mark follows each batch, and is repeated until one arrives. UC and UD
 * keep the order, so messages that have not arrived before the mark are lost.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "verify.h"

static const struct argp_option options[] = {
	{ "role", 'r', "a|b", 0, "Requester or target", 0 },
	{ "socket", 's', "PATH|ADDRESS:PORT", 0, "Where the two meet", 0 },
	{ "type", 't', "rc|uc|ud", 0, "Transport", 0 },
	{ "gid", 'g', "N", 0, "GID index", 0 },
	{ "count", 'n', "N", 0, "Messages", 0 },
	{ "max", 'm', "BYTES", 0, "Longest message", 0 },
	{ "mtu", 'u', "BYTES", 0, "Path MTU", 0 },
	{ "timeout", 'T', "CODE", 0,
	  "Local ACK timeout (default 13: 34 ms, if nothing may get lost 18: 1 s)", 0 },
	{ "lossy", 'l', NULL, 0, "Packets may get lost", 0 },
	{ "events", 'e', NULL, 0, "Sleep on completion events", 0 },
	{ "seed", 'x', "N", 0, "Choice of operations and sizes", 0 },
	{ "stream", 'S', NULL, 0,
	  "All messages are WRITEs with immediate of the longest size", 0 },
	{ "wait", 'w', "PATH", 0,
	  "After a tenth of the messages wait until there is such a file", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct verify *v = state->input;

	switch (key) {
	case 'r':
		v->requester = *arg == 'a';
		break;
	case 's':
		v->path = arg;
		break;
	case 't':
		v->type = arg[0] == 'r'	  ? IBV_QPT_RC
			  : arg[1] == 'c' ? IBV_QPT_UC
					  : IBV_QPT_UD;
		break;
	case 'g':
		v->gid_index = (uint8_t)atoi(arg);
		break;
	case 'n':
		v->count = (uint32_t)atoi(arg);
		break;
	case 'm':
		v->max = (uint32_t)atoi(arg);
		break;
	case 'u':
		v->mtu = (uint32_t)atoi(arg);
		break;
	case 'T':
		v->timeout = (uint8_t)atoi(arg);
		break;
	case 'l':
		v->lossy = true;
		break;
	case 'e':
		v->events = true;
		break;
	case 'S':
		v->stream = true;
		break;
	case 'w':
		v->wait = arg;
		break;
	case 'x':
		v->seed = (uint64_t)atoll(arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = { .options = options, .parser = parse };

/* The kind and length of message i, which both sides compute from i. */
struct message {
	enum operation op;
	uint32_t len;
};

static struct message message_of(const struct verify *v, uint32_t i)
{
	static const enum operation rc[] = { OP_SEND,	    OP_SEND_IMM, OP_WRITE_IMM,
					     OP_WRITE_READ, OP_READ,	 OP_FETCH_ADD,
					     OP_CMP_SWAP };
	static const enum operation uc[] = { OP_SEND, OP_SEND_IMM, OP_WRITE_IMM };
	uint64_t h = mix(v->seed ^ (uint64_t)i << 20);
	struct message m;

	if (v->stream)
		return (struct message){ OP_WRITE_IMM, v->max };
	if (v->type == IBV_QPT_RC)
		m.op = rc[h % (sizeof(rc) / sizeof(rc[0]))];
	else
		m.op = uc[h % (v->type == IBV_QPT_UC ? 3 : 2)];
	m.len = 8 + (uint32_t)(mix(h) % (v->max - 7));
	return m;
}

static bool takes_receive(enum operation op)
{
	return op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM;
}

/* ------------------------------------------------------------------ requester */
static void post_message(struct verify *v, uint32_t i)
{
	struct message m = message_of(v, i);
	uint8_t *slot = v->buf + (size_t)(i % BATCH) * v->max;
	uint64_t remote = v->peer.addr + (uint64_t)(i % BATCH) * v->max;

	fill(slot, i, m.len);
	switch (m.op) {
	case OP_SEND:
		post_send(v, i, IBV_WR_SEND, slot, m.len, 0);
		break;
	case OP_SEND_IMM:
		post_send(v, i, IBV_WR_SEND_WITH_IMM, slot, m.len, 0);
		break;
	case OP_WRITE_IMM:
		post_send(v, i, IBV_WR_RDMA_WRITE_WITH_IMM, slot, m.len, remote);
		break;
	case OP_WRITE_READ:
		post_send(v, i, IBV_WR_RDMA_WRITE, slot, m.len, remote);
		post_send(v, i, IBV_WR_RDMA_READ, v->check + (slot - v->buf), m.len,
			  remote);
		break;
	case OP_READ:
		/* Behind the slots, b has a region that contains message READ_INDEX. */
		post_send(v, i, IBV_WR_RDMA_READ, v->check + (slot - v->buf), m.len,
			  v->peer.addr + (uint64_t)BATCH * v->max);
		break;
	case OP_FETCH_ADD:
	case OP_CMP_SWAP:
		post_atomic(v, i, m.op);
		break;
	}
}

/* Called when message i has completed at the requester: checks the data that was
 * returned.
 */
static void check_result(struct verify *v, uint32_t i)
{
	struct message m = message_of(v, i);
	uint8_t *back = v->check + (size_t)(i % BATCH) * v->max;
	uint64_t value;

	switch (m.op) {
	case OP_WRITE_READ:
		check(back, i, m.len, "WRITE read back");
		break;
	case OP_READ:
		check(back, READ_INDEX, m.len, "READ");
		break;
	case OP_FETCH_ADD:
	case OP_CMP_SWAP:
		memcpy(&value, back, sizeof(value));
		if (value != v->expected[i % BATCH])
			die("message %u: atomic returned %llu, want %llu", i,
			    (unsigned long long)value,
			    (unsigned long long)v->expected[i % BATCH]);
		break;
	case OP_SEND:
	case OP_SEND_IMM:
	case OP_WRITE_IMM:
		break;
	}
	v->bytes += m.len;
}

static bool marks_batches(const struct verify *v)
{
	return v->lossy && v->type != IBV_QPT_RC;
}

static void send_mark(struct verify *v, uint32_t end)
{
	/* only READs would need these bytes, and there are none */
	fill(v->check, MARK | end, 8);
	post_send(v, end, IBV_WR_SEND, v->check, 8, 0);
	while (v->outstanding > 0)
		take_send_completion(v);
}

/* Returns true if messages can be dropped because the target does not receive them in
 * time, and are not repeated.
 */
static bool is_dropped_if_unread(const struct verify *v)
{
	return !v->lossy && v->type != IBV_QPT_RC;
}

static uint32_t end_of_batch(const struct verify *v, uint32_t first)
{
	uint32_t end = first, len = 0;

	while (end < v->count && end - first < BATCH) {
		len += message_of(v, end).len;
		if (is_dropped_if_unread(v) && end > first && len > UNREAD_MAX)
			break;
		end++;
	}
	return end;
}

static void request(struct verify *v)
{
	uint32_t lost, end;

	for (uint32_t i = 0; i < v->count; i = end) {
		while (v->wait && i >= v->count / 10 && access(v->wait, F_OK))
			poll(NULL, 0, 5);
		end = end_of_batch(v, i);
		for (uint32_t k = i; k < end; k++)
			post_message(v, k);
		while (v->outstanding > 0)
			take_send_completion(v);
		for (uint32_t k = i; k < end; k++)
			check_result(v, k);
		if (write(v->sock, &end, sizeof(end)) != (ssize_t)sizeof(end))
			die("the target is gone");
		do {
			if (marks_batches(v))
				send_mark(v, end);
			if (read_all(v->sock, &lost, sizeof(lost)))
				die("the target is gone");
		} while (lost == MARK);
		v->lost += lost;
	}
}

/* --------------------------------------------------------------------- target */
/* Called when a receive has completed: finds out which message it is, and checks its
 * bytes.
 */
static void check_receive(struct verify *v, const struct ibv_wc *wc)
{
	uint8_t *slot = v->recv + (size_t)wc->wr_id * v->recv_len;
	bool write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	uint8_t *data = slot + (v->type == IBV_QPT_UD ? 40 : 0);
	uint32_t len = wc->byte_len - (v->type == IBV_QPT_UD ? 40 : 0), i;
	struct message m;

	if (write) {
		i = ntohl(wc->imm_data);
		data = v->buf + (size_t)(i % BATCH) * v->max;
	} else {
		i = index_of(data);
	}
	if (i & MARK && marks_batches(v)) {
		v->marked = i & ~MARK;
		post_recv(v, wc->wr_id);
		return;
	}
	if (i < v->next || i >= v->count)
		die("message %u arrived out of order or twice: want %u or later", i,
		    v->next);
	m = message_of(v, i);
	if (len != m.len)
		die("message %u: %u bytes, want %u", i, len, m.len);
	if (((wc->wc_flags & IBV_WC_WITH_IMM) != 0) != (m.op != OP_SEND))
		die("message %u: immediate data missing or unexpected", i);
	if (m.op != OP_SEND && ntohl(wc->imm_data) != i)
		die("message %u: immediate %u", i, ntohl(wc->imm_data));
	check(data, i, len, write ? "WRITE with immediate" : "SEND");
	if (v->type == IBV_QPT_UD)
		check_grh(v, wc, slot);
	v->next = i + 1;
	v->received++;
	v->bytes += len;
	post_recv(v, wc->wr_id);
}

static uint32_t receives_until(const struct verify *v, uint32_t first, uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t i = first; i < end; i++)
		n += takes_receive(message_of(v, i).op);
	return n;
}

/* Called when all messages of a batch have been sent: receives those that have arrived.
 * After lost messages, waits for a mark, and requests another one by MARK if none comes.
 */
static uint32_t finish_batch(struct verify *v, uint32_t first, uint32_t end)
{
	uint32_t want = receives_until(v, first, end), again = MARK;
	int64_t give_up = now_ms() + 300000, ask = now_ms() + 20;
	struct ibv_wc wc;

	while (v->received - v->received_before < want && v->marked != end) {
		if (take_recv_completion(v, &wc)) {
			check_receive(v, &wc);
			give_up = now_ms() + 300000;
		} else if (now_ms() >= give_up) {
			die("messages %u to %u: %u of %u arrived%s", first, end,
			    v->received - v->received_before, want,
			    marks_batches(v) ? ", and no mark" : "");
		} else if (marks_batches(v) && now_ms() >= ask) {
			if (write(v->sock, &again, sizeof(again)) !=
			    (ssize_t)sizeof(again))
				die("the requester is gone");
			ask = now_ms() + 20;
		}
	}
	want -= v->received - v->received_before;
	v->received_before = v->received;
	return want;
}

static void serve(struct verify *v)
{
	struct pollfd p = { .fd = v->sock, .events = POLLIN };
	uint32_t first = 0, end = 0, missing;
	struct ibv_wc wc;

	while (end < v->count) {
		/* On RC, the target must post new receives while the batch runs. */
		while (poll(&p, 1, 0) == 0)
			if (take_recv_completion(v, &wc))
				check_receive(v, &wc);
		if (read_all(v->sock, &end, sizeof(end)))
			die("the requester is gone");
		missing = finish_batch(v, first, end);
		v->lost += missing;
		if (write(v->sock, &missing, sizeof(missing)) != (ssize_t)sizeof(missing))
			die("the requester is gone");
		first = end;
		v->next = end;
	}
}

int main(int argc, char **argv)
{
	struct verify v = {
		.type = IBV_QPT_RC, .count = 1000, .max = 20000, .mtu = 1024, .seed = 1
	};

	argp_parse(&argp, argc, argv, 0, NULL, &v);
	if (!v.path || v.max < 16 || v.count == 0)
		die("--socket, --max (16 or more) and --count are needed");
	/* The timeout is long, because the peer may get no processor for some time. */
	if (!v.timeout)
		v.timeout = v.lossy ? 13 : 18;
	if (v.type == IBV_QPT_UD && v.max > v.mtu)
		v.max = v.mtu;
	if (is_dropped_if_unread(&v) && v.max > UNREAD_MAX)
		v.max = UNREAD_MAX;
	v.max &= ~7u; /* so that the atomic counter behind the slots is aligned */
	verify_open(&v);
	if (v.requester)
		request(&v);
	else
		serve(&v);
	printf("%s %s: %u messages, %llu bytes verified, %u lost\n",
	       v.requester ? "a" : "b",
	       v.type == IBV_QPT_RC   ? "rc"
	       : v.type == IBV_QPT_UC ? "uc"
				      : "ud",
	       v.count, (unsigned long long)v.bytes, v.lost);
	verify_close(&v);
	return 0;
}
