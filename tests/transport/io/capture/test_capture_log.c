/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_capture_log.c - the file that a process writes of its own packets, block by block.
 */
#include "tests/transport/io/pair_kit.h"
#include "transport/io/capture/capture_log.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_kit.h"
#include "rocin/icrc.h"
#include "rocin/stats.h"
#include "transport/io/fault/net_fault.h"

enum {
	PACKET = 101, /* odd: there is padding */
	BLOCKS_MAX = 64,
	SECTION = 0x0a0d0d0a,
	INTERFACE = 1,
	STATISTICS = 5,
	A_PACKET = 6,
	OPT_COMMENT = 1,
	OPT_DESCRIPTION = 3,
	OPT_FLAGS = 2,
	OPT_QUEUE = 6,
	OPT_RECEIVED = 4,
	INBOUND = 1,
	OUTBOUND = 2,
	CHILD_PATH = 80,
	FILE_LIMIT = 5000, /* bytes */
};

static const struct rn_capture_origin origin = {
	.ibdev = "rocin0",
	.ifname = "lo",
	.program = "a\tb",
	.pid = 77,
	.slot = 3,
};

struct rig {
	char dir[32], path[64];
	struct rn_pair *pair;
	struct rn_capture *c;
	struct rn_capture_log *log;
	struct rn_net *net, *far;
	uint8_t *file;
	size_t size;
	unsigned blocks;
	const uint8_t *block[BLOCKS_MAX];
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	snprintf(rig->dir, sizeof(rig->dir), "/tmp/rocin-log-XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	snprintf(rig->path, sizeof(rig->path), "%s/x.pcapng", rig->dir);
	rig->pair = rn_pair_new();
	rig->c = rn_capture_new(rn_pair_net(rig->pair, 0), &host, NULL);
	rig->log = rn_capture_log_open(rig->path, &origin, NULL, 0);
	assert_non_null(rig->log);
	rn_capture_set_log(rig->c, rig->log);
	rig->net = rn_capture_net(rig->c);
	rig->far = rn_pair_net(rig->pair, 1);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	rn_capture_free(rig->c);
	rn_pair_free(rig->pair);
	unlink(rig->path);
	rmdir(rig->dir);
	free(rig->file);
	free(rig);
	return 0;
}

/* ------------------------------------------------------------------------ packets */
static void send_packets(const struct rn_net *net, uint32_t dest, uint32_t psn,
			 uint32_t count)
{
	uint8_t data[RN_SUPER_SEGMENTS * PACKET];

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p = data + i * PACKET;

		make_packet(p, PACKET, 0x0a, dest, psn + i);
		rn_icrc_seal(&flow, net->gso ? (uint16_t)i : 0, p, PACKET - RN_ICRC_LEN);
	}
	send_super(net, data, PACKET, count);
}

/* -------------------------------------------------------------------- what is there */
static uint32_t word(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* The blocks of the file as it is now, each whole. */
static void load(struct rig *rig)
{
	FILE *f = fopen(rig->path, "re");
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	rig->size = (size_t)st.st_size;
	free(rig->file);
	rig->file = malloc(rig->size + 1);
	assert_int_equal(fread(rig->file, 1, rig->size, f), rig->size);
	(void)fclose(f);
	rig->blocks = 0;
	for (size_t at = 0; at < rig->size;) {
		uint32_t len;

		assert_in_range(at, 0, rig->size - 12);
		len = word(rig->file + at + 4);
		assert_in_range(len, 12, rig->size - at);
		assert_int_equal(word(rig->file + at + len - 4), len);
		assert_true(rig->blocks < BLOCKS_MAX);
		rig->block[rig->blocks++] = rig->file + at;
		at += len;
	}
}

static const uint8_t *options(const uint8_t *block)
{
	switch (word(block)) {
	case INTERFACE:
		return block + 16;
	case STATISTICS:
		return block + 20;
	default:
		return block + 28 + (word(block + 20) + 3) / 4 * 4;
	}
}

/* Of block @i; its length in @len; NULL: it has none. */
static const uint8_t *option(const struct rig *rig, unsigned i, uint16_t code,
			     uint16_t *len)
{
	const uint8_t *block = rig->block[i];
	const uint8_t *end = block + word(block + 4) - 4;
	uint16_t head[2];

	for (const uint8_t *p = options(block); p < end; p += 4 + (head[1] + 3) / 4 * 4) {
		memcpy(head, p, sizeof(head));
		*len = head[1];
		if (head[0] == code)
			return p + 4;
	}
	return NULL;
}

static void expect_text(const struct rig *rig, unsigned i, uint16_t code,
			const char *want)
{
	uint16_t len;
	const uint8_t *text = option(rig, i, code, &len);

	if (!want) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(text, want, len);
}

/* Block @i is the packet with @psn. */
static void expect(const struct rig *rig, unsigned i, uint32_t way, uint32_t psn,
		   const char *comment)
{
	const uint8_t *ip = rig->block[i] + 28 + RN_CAPTURE_LINK_HDR;
	const uint8_t *flags, *queue;
	uint16_t len;

	assert_int_equal(word(rig->block[i]), A_PACKET);
	assert_int_equal(word(rig->block[i] + 20), RN_CAPTURE_LINK_HDR + 28 + PACKET);
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(rn_get_be24(ip + 28 + 9), psn);
	flags = option(rig, i, OPT_FLAGS, &len);
	assert_non_null(flags);
	assert_int_equal(word(flags), way);
	queue = option(rig, i, OPT_QUEUE, &len);
	assert_non_null(queue);
	assert_int_equal(word(queue), LOCAL);
	expect_text(rig, i, OPT_COMMENT, comment);
}

static void expect_count(const struct rig *rig, unsigned i, uint64_t packets)
{
	uint64_t count;
	uint16_t len;

	assert_int_equal(word(rig->block[i]), STATISTICS);
	memcpy(&count, option(rig, i, OPT_RECEIVED, &len), sizeof(count));
	assert_int_equal(count, packets);
}

/* --------------------------------------------------------------------------- tests */
static void a_new_file_is_an_empty_capture(void **state)
{
	struct rig *rig = *state;

	load(rig);
	assert_int_equal(rig->blocks, 2);
	assert_int_equal(word(rig->block[0]), SECTION);
	assert_int_equal(word(rig->block[1]), INTERFACE);
	expect_text(rig, 1, 2, "rocin0");
	expect_text(rig, 1, OPT_DESCRIPTION, "a?b, process 77, on lo, slot 3");
	assert_true(rn_capture_log_flush_due(rig->log) == RN_NEVER);
	assert_false(rn_capture_is_idle(rig->c));
}

static void packets_have_direction_queue_pair_and_comment(void **state)
{
	const struct rn_diagnostic resent = { .kind = RN_DIAGNOSTIC_RESENT,
					      .is_sent = true,
					      .dest_qpn = REMOTE,
					      .psn = 11,
					      .code = RN_STAT_PACKET_SEQ_ERR };
	const struct rn_diagnostic duplicate = { .kind = RN_DIAGNOSTIC_COUNTED,
						 .code = RN_STAT_DUPLICATE_REQUEST };
	struct rig *rig = *state;
	struct rn_rx rx[RN_RX_BATCH];

	rn_capture_diagnostic(rig->c, &resent, NULL);
	send_packets(rig->net, REMOTE, 10, 2);
	send_packets(rig->far, LOCAL, 20, 2);
	assert_int_equal(rig->net->ops->receive(rig->net->ctx, rx), 2);
	rn_capture_diagnostic(rig->c, &duplicate, &rx[1]);
	rn_capture_flush(rig->c);
	assert_true(rn_capture_log_flush_due(rig->log) != RN_NEVER);
	rn_capture_log_flush(rig->log);
	assert_true(rn_capture_log_flush_due(rig->log) == RN_NEVER);
	load(rig);
	assert_int_equal(rig->blocks, 6);
	expect(rig, 2, OUTBOUND, 10, NULL);
	expect(rig, 3, OUTBOUND, 11, "sent again: NAK, PSN sequence error");
	expect(rig, 4, INBOUND, 20, NULL);
	expect(rig, 5, INBOUND, 21, "duplicate, acknowledged or answered again");
}

/* As rules about faults do, which look at a batch before the device does. */
static void what_is_shown_meanwhile_does_not_end_the_diagnostics(void **state)
{
	uint8_t copy[PACKET];
	const struct rn_fault_news injected = { .what = { .kind = RN_DIAGNOSTIC_FAULT,
							  .code = RN_DIAGNOSTIC_INJECTED,
							  .key = 2 },
						.flow = &flow,
						.packet = copy,
						.len = sizeof(copy),
						.is_unsent = true };
	const struct rn_diagnostic beyond = { .kind = RN_DIAGNOSTIC_COUNTED,
					      .code = RN_STAT_OUT_OF_SEQUENCE };
	struct rig *rig = *state;
	struct rn_rx rx[RN_RX_BATCH];

	send_packets(rig->far, LOCAL, 20, 2);
	assert_int_equal(rig->net->ops->receive(rig->net->ctx, rx), 2);
	memcpy(copy, rx[0].data, sizeof(copy));
	rn_capture_fault(rig->c, &injected);
	send_packets(rig->net, REMOTE, 10, 1);
	rn_capture_diagnostic(rig->c, &beyond, &rx[1]);
	while (rig->net->ops->receive(rig->net->ctx, rx) > 0)
		;
	rn_capture_log_flush(rig->log);
	load(rig);
	assert_int_equal(rig->blocks, 6);
	expect(rig, 2, INBOUND, 20, NULL);
	expect(rig, 3, INBOUND, 21, "beyond the expected PSN: dropped");
	expect(rig, 4, INBOUND, 20, "injected on purpose by rule 2 about faults");
	expect(rig, 5, OUTBOUND, 10, NULL);
}

static void the_end_says_how_many_there_were(void **state)
{
	struct rig *rig = *state;

	send_packets(rig->net, REMOTE, 10, 2);
	rn_capture_log_finish(rig->log);
	load(rig);
	assert_int_equal(rig->blocks, 5);
	expect_count(rig, 4, 2);
	/* The program went on all the same. */
	send_packets(rig->net, REMOTE, 12, 1);
	rn_capture_free(rig->c);
	rig->c = NULL;
	load(rig);
	assert_int_equal(rig->blocks, 7);
	expect(rig, 5, OUTBOUND, 12, NULL);
	expect_count(rig, 6, 3);
}

static void a_fork_child_does_not_write_the_buffer_again(void **state)
{
	struct rig *rig = *state;
	struct stat before, after;
	pid_t pid;

	send_packets(rig->net, REMOTE, 10, 3);
	assert_int_equal(stat(rig->path, &before), 0);
	pid = fork();
	if (pid == 0) {
		rn_capture_log_flush(rig->log);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(stat(rig->path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	rn_capture_log_flush(rig->log);
	load(rig);
	assert_int_equal(rig->blocks, 5);
	expect(rig, 4, OUTBOUND, 12, NULL);
}

/* A process that captures into a file of its own, @path, which may have up to @limit
 * bytes, until it ends in @run. Return: how it ended.
 */
static int capture_in_child(const struct rig *rig, char path[CHILD_PATH], rlim_t limit,
			    void (*run)(struct rn_capture *c, struct rn_capture_log *log))
{
	int status;
	pid_t pid;

	snprintf(path, CHILD_PATH, "%s.2", rig->path);
	pid = fork();
	if (pid == 0) {
		const struct rlimit most = { limit, limit };
		struct rn_capture *c =
			rn_capture_new(rn_pair_net(rig->pair, 0), &host, NULL);
		struct rn_capture_log *log;

		setrlimit(RLIMIT_FSIZE, &most);
		log = rn_capture_log_open(path, &origin, NULL, 0);
		rn_capture_set_log(c, log);
		run(c, log);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void flush_and_die(struct rn_capture *c, struct rn_capture_log *log)
{
	send_packets(rn_capture_net(c), REMOTE, 10, 2);
	rn_capture_log_flush(log);
	send_packets(rn_capture_net(c), REMOTE, 12, 1);
	raise(SIGKILL);
}

static void what_was_flushed_outlives_a_kill(void **state)
{
	struct rig *rig = *state;
	char path[CHILD_PATH];
	int status = capture_in_child(rig, path, RLIM_INFINITY, flush_and_die);

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(rename(path, rig->path), 0);
	load(rig);
	assert_int_equal(rig->blocks, 4);
	expect(rig, 3, OUTBOUND, 11, NULL);
}

/* Beyond it the kernel ends a program with SIGXFSZ. */
static void reach_the_limit(struct rn_capture *c, struct rn_capture_log *log)
{
	(void)log;
	for (uint32_t i = 0; i < 4; i++)
		send_packets(rn_capture_net(c), REMOTE, 10, 15);
	rn_capture_free(c);
}

static void a_limit_on_file_sizes_ends_the_file_alone(void **state)
{
	struct rig *rig = *state;
	char path[CHILD_PATH];
	int status = capture_in_child(rig, path, FILE_LIMIT, reach_the_limit);
	struct stat st;

	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, FILE_LIMIT);
	unlink(path);
}

static void a_file_that_cannot_be_written_is_a_sentence(void **state)
{
	char err[200] = "";

	(void)state;
	assert_null(
		rn_capture_log_open("/nosuchdir/x.pcapng", &origin, err, sizeof(err)));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(err, "/nosuchdir/x.pcapng"));
	assert_true(rn_capture_log_is_name("/a/b.pcapng"));
	assert_false(rn_capture_log_is_name("/a/b.pcap"));
	assert_false(rn_capture_log_is_name("pcapng"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_is_an_empty_capture),
		TEST(packets_have_direction_queue_pair_and_comment),
		TEST(what_is_shown_meanwhile_does_not_end_the_diagnostics),
		TEST(the_end_says_how_many_there_were),
		TEST(a_fork_child_does_not_write_the_buffer_again),
		TEST(what_was_flushed_outlives_a_kill),
		TEST(a_limit_on_file_sizes_ends_the_file_alone),
		TEST(a_file_that_cannot_be_written_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
