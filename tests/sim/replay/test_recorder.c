/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_recorder.c - the file of a recording: longer than its window, limited, and of
 * processes that fork; and accesses to memory whose queue pair goes.
 */
#include "replay_kit.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "rocin/cqe.h"
#include "rocin/gid.h"
#include "rocin/rx_tx.h"
#include "rocin/stats.h"
#include "rocin/transport.h"
#include "sim/replay/hook.h"
#include "sim/replay/player.h"

enum {
	LONG = 700001, /* bytes; many of these do not fit into one window */
	LONG_COUNT = 26,
	SHORT = 1000,
	PD = 1,
	KEY = 0x100,
	QPN = 0x110,
	BASE = 0x10000,
	PAYLOAD = 16,
};

static char directory[] = "/tmp/test_recorder.XXXXXX";
static char pattern[sizeof(directory) + 8];
static struct rn_rec_room room;
static struct rn_hook_sink *sink; /* the recorder */
static struct rn_hook_dev device; /* one that says nothing itself */

/* What a child of a child tells us, and where a child says what is for people. */
static struct {
	pid_t grandchild;
	int stderr_fd;
} * told;

static int begin(void **state)
{
	(void)state;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED || !mkdtemp(directory))
		return -1;
	snprintf(pattern, sizeof(pattern), "%s/%%p", directory);
	sink = rn_hook_set(NULL);
	rn_hook_set(sink);
	return 0;
}

static int end(void **state)
{
	(void)state;
	munmap(told, sizeof(*told));
	return rmdir(directory);
}

/* ------------------------------------------------------------- what is recorded */
static uint8_t byte_of(uint32_t number, uint32_t i)
{
	return (uint8_t)(number * 41 + i + (i >> 8));
}

/* A record that says which it is. */
static void put(uint32_t number, uint32_t len)
{
	static uint8_t bytes[LONG];
	const struct rn_rec rec = {
		.kind = RN_REC_READ,
		.dev = RN_REC_NO_DEV,
		.u.access = { .number = number, .data = bytes, .data_len = len }
	};

	for (uint32_t i = 0; i < len; i++)
		bytes[i] = byte_of(number, i);
	sink->put(sink, &rec);
}

/* In a child, which need not clean up. */
static bool start(const char *limit)
{
	setenv("ROCIN_RECORD", pattern, 1);
	setenv("ROCIN_RECORD_LIMIT", limit, 1);
	return sink->open(sink, &device) == 0;
}

/* ------------------------------------------------------------------ what is there */
static struct kit_file file_of(pid_t pid)
{
	char path[sizeof(directory) + 16];
	struct kit_file file;

	snprintf(path, sizeof(path), "%s/%d", directory, (int)pid);
	file = kit_load(path);
	assert_return_code(unlink(path), 0);
	return file;
}

/* The records @number[] are the whole file of @pid, but that it may have come to its
 * limit; true if it has.
 */
static bool has_all(pid_t pid, const uint32_t *number, unsigned count, uint32_t len)
{
	struct kit_file file = file_of(pid);
	struct rn_rec_header h;
	ssize_t n = rn_rec_get_header(file.data, file.len, &h);
	size_t at = (size_t)n;
	struct rn_rec rec;

	assert_true(n > 0);
	assert_int_equal(h.pid, pid);
	for (unsigned i = 0; i < count; i++, at += (size_t)n) {
		n = rn_rec_get(file.data + at, file.len - at, &rec, &room);
		assert_true(n > 0);
		assert_int_equal(rec.kind, RN_REC_READ);
		assert_int_equal(rec.u.access.number, number[i]);
		assert_int_equal(rec.u.access.data_len, len);
		for (uint32_t k = 0; k < len; k++)
			if (rec.u.access.data[k] != byte_of(number[i], k))
				fail_msg("byte %u of record %u", k, i);
	}
	n = rn_rec_get(file.data + at, file.len - at, &rec, &room);
	assert_true(n >= 0);
	assert_int_equal(at + (size_t)n, file.len);
	if (n)
		assert_int_equal(rec.kind, RN_REC_LIMIT);
	free(file.data);
	return n;
}

static const uint32_t numbers[LONG_COUNT] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,
					      9,  10, 11, 12, 13, 14, 15, 16, 17,
					      18, 19, 20, 21, 22, 23, 24, 25 };

/* ------------------------------------------------------------------------ the file */
static int write_much(void)
{
	if (!start("1000000000"))
		return 1;
	for (uint32_t i = 0; i < LONG_COUNT; i++)
		put(i, LONG);
	return 0;
}

static void a_recording_goes_on_from_window_to_window(void **state)
{
	(void)state;
	assert_false(has_all(kit_in_child(write_much), numbers, LONG_COUNT, LONG));
}

static int write_by_a_bad_limit(void)
{
	if (!start("1K"))
		return 1;
	for (uint32_t i = 0; i < 10; i++)
		put(i, SHORT);
	return 0;
}

static void a_limit_that_is_no_number_is_none(void **state)
{
	(void)state;
	assert_false(has_all(kit_in_child(write_by_a_bad_limit), numbers, 10, SHORT));
}

enum {
	ROOM = 1 << 20, /* bytes that a file may have */
};

static int write_beyond_the_room(void)
{
	const struct rlimit room_for = { ROOM, ROOM };

	if (dup2(told->stderr_fd, STDERR_FILENO) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &room_for))
		return 1;
	if (!start("1000000000"))
		return 1;
	for (uint32_t i = 0; i < 3; i++)
		put(i, LONG);
	return 0;
}

/* What fits is there, and the program is told once. */
static void a_recording_that_finds_no_room_says_so(void **state)
{
	static const char sentence[] = "rocin: the recording ends: File too large\n";
	char text[2 * sizeof(sentence)] = "";
	pid_t child;

	(void)state;
	told->stderr_fd = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(told->stderr_fd >= 0);
	child = kit_in_child(write_beyond_the_room);
	assert_false(has_all(child, numbers, 1, LONG));
	assert_true(pread(told->stderr_fd, text, sizeof(text) - 1, 0) >= 0);
	assert_string_equal(text, sentence);
	close(told->stderr_fd);
}

/* ------------------------------------------------------------------------- forks */
static int write_until_the_limit_and_fork(void)
{
	pid_t child;
	int status;

	if (!start("3000"))
		return 1;
	for (uint32_t i = 0; i < 10; i++)
		put(i, SHORT);
	child = fork();
	if (child == 0) {
		bool opened = start("100000");

		put(7, SHORT);
		exit(opened ? 0 : 1);
	}
	told->grandchild = child;
	return waitpid(child, &status, 0) == child ? status : 1;
}

static void the_child_of_a_process_that_reached_its_limit_records(void **state)
{
	pid_t child = kit_in_child(write_until_the_limit_and_fork);
	const uint32_t number = 7;

	(void)state;
	assert_true(has_all(child, numbers, 3, SHORT));
	assert_false(has_all(told->grandchild, &number, 1, SHORT));
}

static int write_and_fork(void)
{
	pid_t child;
	int status;

	if (!start("100000"))
		return 1;
	put(0, SHORT);
	child = fork();
	if (child == 0) {
		bool opened = start("100000");

		put(7, SHORT);
		exit(opened ? 0 : 1);
	}
	told->grandchild = child;
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	put(1, SHORT);
	return 0;
}

static void parent_and_child_have_a_file_each(void **state)
{
	pid_t child = kit_in_child(write_and_fork);
	const uint32_t number = 7;

	(void)state;
	assert_false(has_all(child, numbers, 2, SHORT));
	assert_false(has_all(told->grandchild, &number, 1, SHORT));
}

/* ------------------------------------------------- an access that outlives its QP */
static uint64_t pending_tag;

static enum rn_mem_result mem_write(void *ctx, rn_iova dst, const void *src, uint32_t len,
				    struct rn_mem_attr attr)
{
	(void)ctx;
	(void)dst;
	(void)src;
	(void)len;
	(void)attr;
	return RN_MEM_DONE;
}

static enum rn_mem_result mem_read(void *ctx, void *dst, rn_iova src, uint32_t len,
				   struct rn_mem_attr attr, uint64_t tag)
{
	(void)ctx;
	(void)dst;
	(void)src;
	(void)len;
	(void)attr;
	pending_tag = tag;
	return RN_MEM_PENDING;
}

static enum rn_mem_result mem_atomic(void *ctx, const struct rn_mem_atomic_req *req,
				     uint64_t *orig, struct rn_mem_attr attr,
				     uint64_t tag)
{
	(void)ctx;
	(void)req;
	(void)orig;
	(void)attr;
	(void)tag;
	return RN_MEM_FAULT;
}

static const struct rn_mem_ops ops = { .write = mem_write,
				       .read = mem_read,
				       .atomic = mem_atomic };
static uint64_t stats[RN_STAT_COUNT];
static const struct rn_gid address = {
	{ [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 }
};

static struct rn_dev *make_device(void)
{
	const struct rn_dev_cfg cfg = {
		.gid = { address },
		.gid_count = 1,
		.ifindex = 7,
		.mtu_max = RN_MTU_MAX,
		.window_start = 65536,
		.window_min = 16384,
		.window_max = 65536,
		.read_window = 65536,
		.read_chunk = 65536,
		.mem = &ops,
		.stats = stats,
	};
	struct rn_dev *dev = aligned_alloc(64, (rn_dev_size() + 63) & ~(size_t)63);

	return dev && rn_dev_init(dev, &cfg) == 0 ? dev : NULL;
}

static struct rn_qp *make_qp(struct rn_dev *dev, struct rn_cq *cq)
{
	static const struct {
		enum rn_qp_state to;
		uint32_t mask;
	} steps[] = {
		{ RN_QPS_INIT, RN_ATTR_PKEY_INDEX | RN_ATTR_PORT | RN_ATTR_QKEY },
		{ RN_QPS_RTR, 0 },
		{ RN_QPS_RTS, RN_ATTR_SQ_PSN },
	};
	const struct rn_qp_init init = { .type = RN_QPT_UD,
					 .qpn = QPN,
					 .pd = PD,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .max_send_wr = 1,
					 .max_recv_wr = 1,
					 .max_send_sge = 1,
					 .max_recv_sge = 1 };
	size_t size = (rn_qp_size(dev, &init) + 63) & ~(size_t)63;
	struct rn_qp *qp = rn_qp_create(dev, aligned_alloc(64, size), &init);
	struct rn_qp_attr attr = { .port_num = 1, .qkey = 1 };

	for (size_t i = 0; i < RN_ARRAY_SIZE(steps); i++) {
		attr.state = steps[i].to;
		if (rn_qp_modify(dev, qp, 1000, &attr, RN_ATTR_STATE | steps[i].mask))
			return NULL;
	}
	return qp;
}

static int post(struct rn_dev *dev, struct rn_qp *qp, uint32_t num_sge)
{
	const struct rn_av av = { .dgid = address, .hop_limit = 64 };
	const struct rn_sge sge = { BASE, PAYLOAD, KEY };
	const struct rn_send_wr send = { .opcode = RN_WR_SEND,
					 .av = &av,
					 .remote_qpn = QPN,
					 .remote_qkey = 1,
					 .sg = &sge,
					 .num_sge = num_sge };

	return rn_qp_post_send(dev, qp, 2000, &send);
}

/* A queue pair is destroyed while a read of its payload is under way; then the read ends.
 */
static int destroy_while_reading(void)
{
	static uint8_t packet[RN_PACKET_MAX];
	const struct rn_mr_attr region = {
		.key = KEY, .pd = PD, .va = BASE, .length = 4096, .iova_base = BASE
	};
	struct rn_dev *dev;
	struct rn_qp *qp;
	struct rn_cq cq;
	struct rn_mr mr;
	struct rn_tx tx;

	setenv("ROCIN_RECORD", pattern, 1);
	dev = make_device();
	if (!dev || rn_mr_init(&mr, &region))
		return 1;
	rn_dev_add_mr(dev, &mr);
	rn_cq_init(&cq, BASE, 16, NULL);
	qp = make_qp(dev, &cq);
	if (!qp || post(dev, qp, 1))
		return 2;
	if (rn_dev_transmit(dev, 3000, RN_TX_ALL, packet, sizeof(packet), &tx) ||
	    !pending_tag)
		return 3;
	rn_qp_destroy(dev, qp);
	free(qp);
	rn_dev_mem_done(dev, 4000, pending_tag, RN_MEM_DONE);
	rn_cq_fini(dev, &cq);
	rn_dev_remove_mr(dev, &mr);
	rn_dev_fini(dev);
	free(dev);
	return 0;
}

/* The record of an access that ends; there is one. */
static struct rn_rec_mem_done find_end(const struct kit_file *file)
{
	struct rn_rec_mem_done found = { 0 };
	struct rn_rec_header h;
	struct rn_rec rec;
	unsigned count = 0;
	ssize_t n = rn_rec_get_header(file->data, file->len, &h);

	for (size_t at = (size_t)n;
	     (n = rn_rec_get(file->data + at, file->len - at, &rec, &room)) > 0;
	     at += (size_t)n) {
		if (rec.kind != RN_CALL_MEM_DONE)
			continue;
		found = rec.u.mem_done;
		count++;
	}
	assert_int_equal(n, 0);
	assert_int_equal(count, 1);
	return found;
}

static void an_access_that_outlives_its_queue_pair_brings_nothing(void **state)
{
	const struct rn_replay_cfg cfg = { 0 };
	struct kit_file file = file_of(kit_in_child(destroy_while_reading));
	struct rn_rec_mem_done done = find_end(&file);
	struct rn_replay_result r;

	(void)state;
	assert_int_equal(done.number, 0);
	assert_int_equal(done.len, 0);
	rn_replay(file.data, file.len, &cfg, &r);
	assert_string_equal(r.why, "");
	assert_int_equal(r.end, RN_REPLAY_SAME);
	free(file.data);
}

/* Between two calls that find nothing to send the program raises the rate of the queue
 * pair, so that the next one finds a packet.
 */
static int pace_while_waiting(void)
{
	static uint8_t packet[RN_PACKET_MAX];
	struct rn_dev *dev;
	struct rn_qp *qp;
	struct rn_cq cq;
	struct rn_tx tx;

	setenv("ROCIN_RECORD", pattern, 1);
	dev = make_device();
	if (!dev)
		return 1;
	rn_cq_init(&cq, BASE, 16, NULL);
	qp = make_qp(dev, &cq);
	if (!qp)
		return 2;
	rn_qp_pace(qp, 1000, 1, 0);
	if (post(dev, qp, 0) ||
	    !rn_dev_transmit(dev, 2000, RN_TX_ALL, packet, sizeof(packet), &tx))
		return 3;
	if (post(dev, qp, 0) ||
	    rn_dev_transmit(dev, 2000, RN_TX_ALL, packet, sizeof(packet), &tx) ||
	    rn_dev_transmit(dev, 2001, RN_TX_ALL, packet, sizeof(packet), &tx))
		return 4;
	rn_qp_pace(qp, 3000, 0, 0);
	if (!rn_dev_transmit(dev, 3000, RN_TX_ALL, packet, sizeof(packet), &tx))
		return 5;
	rn_qp_destroy(dev, qp);
	free(qp);
	rn_cq_fini(dev, &cq);
	rn_dev_fini(dev);
	free(dev);
	return 0;
}

static void what_a_new_rate_lets_go_is_recorded(void **state)
{
	const struct rn_replay_cfg cfg = { 0 };
	struct kit_file file = file_of(kit_in_child(pace_while_waiting));
	struct rn_replay_result r;

	(void)state;
	rn_replay(file.data, file.len, &cfg, &r);
	assert_string_equal(r.why, "");
	assert_int_equal(r.end, RN_REPLAY_SAME);
	assert_int_equal(r.packets_out, 2);
	/* One for the device, two for the CQ, five for the queue pair, two rates, two
	 * requests, and of four calls to send three: one finds nothing again.
	 */
	assert_int_equal(r.calls, 1 + 2 + 5 + 2 + 2 + 3 + 1);
	free(file.data);
}

/* More packets in one call than a record has room for. */
static int receive_many(void)
{
	static const uint8_t packet[64];
	const struct rn_flow flow = { .src = address, .dst = address };
	struct rn_rx rx[RN_REC_RX_MAX + 6];
	struct rn_dev *dev;

	setenv("ROCIN_RECORD", pattern, 1);
	dev = make_device();
	if (!dev)
		return 1;
	for (size_t i = 0; i < RN_ARRAY_SIZE(rx); i++)
		rx[i] = (struct rn_rx){ .flow = &flow,
					.data = packet,
					.len = sizeof(packet) };
	rn_dev_receive(dev, 1000, rx, RN_ARRAY_SIZE(rx));
	rn_dev_fini(dev);
	free(dev);
	return 0;
}

static void packets_that_come_at_once_have_as_many_records_as_they_need(void **state)
{
	const struct rn_replay_cfg cfg = { 0 };
	struct kit_file file = file_of(kit_in_child(receive_many));
	struct rn_replay_result r;

	(void)state;
	rn_replay(file.data, file.len, &cfg, &r);
	assert_string_equal(r.why, "");
	assert_int_equal(r.packets_in, RN_REC_RX_MAX + 6);
	assert_int_equal(r.calls, 1 + 2 + 1);
	free(file.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_goes_on_from_window_to_window),
		cmocka_unit_test(a_limit_that_is_no_number_is_none),
		cmocka_unit_test(a_recording_that_finds_no_room_says_so),
		cmocka_unit_test(the_child_of_a_process_that_reached_its_limit_records),
		cmocka_unit_test(parent_and_child_have_a_file_each),
		cmocka_unit_test(an_access_that_outlives_its_queue_pair_brings_nothing),
		cmocka_unit_test(what_a_new_rate_lets_go_is_recorded),
		cmocka_unit_test(
			packets_that_come_at_once_have_as_many_records_as_they_need),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
