/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ucp_data.c - moves data between two processes over UCP and checks each byte.
 *
 * usage: ucp_data a|b SOCKET
 *
 * a and b exchange worker addresses and keys over a UNIX socket. For each size, they
 * exchange tagged messages in both directions, and then use put and get; at the end,
 * atomics. The bytes of a message follow from its number, so that lost and mixed-up
 * messages are noticed.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "tests/e2e/kit/expect.h"

#define REGION_LEN (2u << 20)
#define ATOMICS 100

static const uint32_t sizes[] = { 0,	1,    7,     8,	    63,	   256,	   1023,    1024,
				  4096, 8191, 12345, 32768, 65537, 300000, 1u << 20 };

struct side {
	int meet;
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_ep_h ep;
	ucp_mem_h mem;
	uint8_t *region; /* memory that the peer writes by put and reads by get */
	uint8_t *buf;	 /* REGION_LEN bytes, which only this side uses */
	ucp_rkey_h rkey; /* key of the peer's region */
	uint64_t remote; /* address of the peer's region */
};

/* ------------------------------------------------------------------ the UNIX socket */
static int meet(const char *path, bool listens)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), conn;

	EXPECT(fd >= 0 && strlen(path) < sizeof(name.sun_path));
	strcpy(name.sun_path, path);
	if (!listens) {
		while (connect(fd, (struct sockaddr *)&name, sizeof(name)))
			EXPECT(errno == ENOENT || errno == ECONNREFUSED);
		return fd;
	}
	EXPECT(!bind(fd, (struct sockaddr *)&name, sizeof(name)) && !listen(fd, 1));
	conn = accept(fd, NULL, NULL);
	EXPECT(conn >= 0);
	close(fd);
	return conn;
}

static void tell(const struct side *s, const void *p, size_t len)
{
	uint64_t head = len;

	EXPECT(write(s->meet, &head, sizeof(head)) == sizeof(head));
	EXPECT(write(s->meet, p, len) == (ssize_t)len);
}

/* Receives bytes from the socket. While it waits for them, it processes requests of the
 * peer.
 */
static void hear_bytes(const struct side *s, void *p, size_t len)
{
	struct pollfd fd = { .fd = s->meet, .events = POLLIN };
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		while (!poll(&fd, 1, 0))
			ucp_worker_progress(s->worker);
		n = read(s->meet, (uint8_t *)p + got, len - got);
		EXPECT(n > 0);
		got += (size_t)n;
	}
}

static void *hear(const struct side *s, size_t *len)
{
	uint64_t head;
	void *p;

	hear_bytes(s, &head, sizeof(head));
	EXPECT(head <= REGION_LEN);
	p = malloc(head + 1);
	EXPECT(p);
	hear_bytes(s, p, head);
	*len = head;
	return p;
}

static void in_step(const struct side *s)
{
	size_t len;
	char *word;

	tell(s, "step", 4);
	word = hear(s, &len);
	EXPECT(len == 4 && !memcmp(word, "step", 4));
	free(word);
}

/* ------------------------------------------------------------------------ the bytes */
static uint8_t byte_of(uint32_t message, uint32_t i)
{
	return (uint8_t)((message * 2654435761u + i * 40503u) >> 7);
}

static void fill(uint8_t *p, uint32_t message, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = byte_of(message, i);
}

static void check(const uint8_t *p, uint32_t message, uint32_t len, const char *what)
{
	for (uint32_t i = 0; i < len; i++) {
		if (p[i] == byte_of(message, i))
			continue;
		fprintf(stderr, "%s of %u bytes: byte %u is %#x, expected %#x\n", what,
			len, i, p[i], byte_of(message, i));
		exit(1);
	}
}

/* ----------------------------------------------------------------------------- UCP */
static void finish(const struct side *s, ucs_status_ptr_t request)
{
	ucs_status_t status = UCS_PTR_STATUS(request);

	if (UCS_PTR_IS_PTR(request)) {
		while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
			ucp_worker_progress(s->worker);
		ucp_request_free(request);
	}
	if (status != UCS_OK) {
		fprintf(stderr, "%s\n", ucs_status_string(status));
		exit(1);
	}
}

static const ucp_request_param_t plain;

static void send_message(const struct side *s, uint32_t message, uint32_t len)
{
	fill(s->buf, message, len);
	finish(s, ucp_tag_send_nbx(s->ep, s->buf, len, message, &plain));
}

static void receive_message(const struct side *s, uint32_t message, uint32_t len)
{
	memset(s->buf, 0xee, len + 1);
	finish(s, ucp_tag_recv_nbx(s->worker, s->buf, len + 1, message, ~0ull, &plain));
	check(s->buf, message, len, "tagged message");
	EXPECT(s->buf[len] == 0xee);
}

static void flush(const struct side *s)
{
	finish(s, ucp_ep_flush_nbx(s->ep, &plain));
}

static void open_side(struct side *s)
{
	ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES,
				.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA |
					    UCP_FEATURE_AMO64 };
	ucp_worker_params_t worker = { .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
				       .thread_mode = UCS_THREAD_MODE_SINGLE };
	ucp_mem_map_params_t map = { .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
						   UCP_MEM_MAP_PARAM_FIELD_LENGTH,
				     .length = REGION_LEN };

	EXPECT(ucp_init(&params, NULL, &s->context) == UCS_OK);
	EXPECT(ucp_worker_create(s->context, &worker, &s->worker) == UCS_OK);
	s->region = aligned_alloc(4096, REGION_LEN);
	s->buf = malloc(REGION_LEN);
	EXPECT(s->region && s->buf);
	map.address = s->region;
	EXPECT(ucp_mem_map(s->context, &map, &s->mem) == UCS_OK);
}

static void connect_sides(struct side *s)
{
	ucp_ep_params_t ep = { .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS };
	ucp_address_t *address;
	size_t len, key_len, n;
	void *key, *its_address, *its_key, *its_base;

	EXPECT(ucp_worker_get_address(s->worker, &address, &len) == UCS_OK);
	EXPECT(ucp_rkey_pack(s->context, s->mem, &key, &key_len) == UCS_OK);
	tell(s, address, len);
	tell(s, key, key_len);
	tell(s, &s->region, sizeof(s->region));
	ucp_rkey_buffer_release(key);
	ucp_worker_release_address(s->worker, address);

	its_address = hear(s, &n);
	its_key = hear(s, &n);
	its_base = hear(s, &n);
	EXPECT(n == sizeof(s->remote));
	memcpy(&s->remote, its_base, sizeof(s->remote));
	ep.address = its_address;
	EXPECT(ucp_ep_create(s->worker, &ep, &s->ep) == UCS_OK);
	EXPECT(ucp_ep_rkey_unpack(s->ep, its_key, &s->rkey) == UCS_OK);
	free(its_address);
	free(its_key);
	free(its_base);
}

static void close_side(struct side *s)
{
	const ucp_request_param_t how = { .op_attr_mask = 0 };

	flush(s);
	in_step(s);
	ucp_rkey_destroy(s->rkey);
	finish(s, ucp_ep_close_nbx(s->ep, &how));
	in_step(s);
	EXPECT(ucp_mem_unmap(s->context, s->mem) == UCS_OK);
	ucp_worker_destroy(s->worker);
	ucp_cleanup(s->context);
	free(s->region);
	free(s->buf);
	close(s->meet);
}

/* ------------------------------------------------------------------------ the tests */
static void exchange(const struct side *s, bool active, uint32_t message, uint32_t len)
{
	if (active) {
		send_message(s, message, len);
		receive_message(s, message + 1, len);
		fill(s->buf, message + 2, len);
		finish(s,
		       ucp_put_nbx(s->ep, s->buf, len, s->remote + 64, s->rkey, &plain));
		flush(s);
		in_step(s);
		/* b has checked the message and has left message + 3 in its region */
		in_step(s);
		memset(s->buf, 0, len);
		finish(s,
		       ucp_get_nbx(s->ep, s->buf, len, s->remote + 64, s->rkey, &plain));
		check(s->buf, message + 3, len, "get");
		return;
	}
	receive_message(s, message, len);
	send_message(s, message + 1, len);
	in_step(s);
	check(s->region + 64, message + 2, len, "put");
	fill(s->region + 64, message + 3, len);
	in_step(s);
}

static uint64_t atomic(const struct side *s, ucp_atomic_op_t op, uint64_t operand,
		       uint64_t reply)
{
	const ucp_request_param_t p = { .op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
							UCP_OP_ATTR_FIELD_REPLY_BUFFER,
					.datatype = ucp_dt_make_contig(8),
					.reply_buffer = &reply };

	finish(s, ucp_atomic_op_nbx(s->ep, op, &operand, 1, s->remote, s->rkey, &p));
	return reply;
}

static void count_together(const struct side *s, bool active)
{
	uint64_t word = 1000;

	if (!active)
		memcpy(s->region, &word, sizeof(word));
	in_step(s);
	if (active) {
		for (uint64_t i = 0; i < ATOMICS; i++)
			EXPECT(atomic(s, UCP_ATOMIC_OP_ADD, 3, 0) == 1000 + 3 * i);
		/* The operand is the expected value of the word, the reply buffer has the
		 * new value.
		 */
		word = 1000 + 3 * ATOMICS;
		EXPECT(atomic(s, UCP_ATOMIC_OP_CSWAP, word, 77) == word);
		EXPECT(atomic(s, UCP_ATOMIC_OP_CSWAP, word, 88) == 77);
		EXPECT(atomic(s, UCP_ATOMIC_OP_SWAP, 99, 0) == 77);
		flush(s);
	}
	in_step(s);
	if (!active) {
		memcpy(&word, s->region, sizeof(word));
		EXPECT(word == 99);
	}
}

int main(int argc, char **argv)
{
	struct side s = { 0 };
	bool active = argc == 3 && argv[1][0] == 'a';
	uint32_t message = 1;

	EXPECT(argc == 3);
	s.meet = meet(argv[2], !active);
	open_side(&s);
	connect_sides(&s);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			exchange(&s, active, message, sizes[i]);
			message += 4;
		}
	}
	count_together(&s, active);
	close_side(&s);
	printf("%u messages and %u atomics are right\n", message - 1, ATOMICS + 3);
	return 0;
}
