/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_pcie.c - what a program observes of the PCIe model: nothing while it is off,
 * queries that agree with the knobs, and memory that is registered by descriptor.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

static const size_t PAGE = 4096;

enum {
	RETURN_CAPS = 1 << 0, /* IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS */
	ALL_CAPS = 3,
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

static const char *knobs(void)
{
	const char *text = getenv("ROCIN_PCIE");

	return text ? text : "";
}

static bool mode_is(const char *mode)
{
	return strncmp(knobs(), mode, strlen(mode)) == 0;
}

static bool is_off(void)
{
	return !*knobs() || mode_is("strict");
}

static int note_library(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	if (strstr(info->dlpi_name, "librocin-gpu"))
		*(bool *)found = true;
	return 0;
}

static void the_library_is_there_only_when_wanted(void **state)
{
	bool found = false;

	(void)state;
	dl_iterate_phdr(note_library, &found);
	assert_int_equal(found, *knobs() != '\0');
}

/* ------------------------------------------------------------------- capabilities */
static void data_is_in_order_where_the_knobs_say_so(void **state)
{
	const int in_order = is_off() || mode_is("typical");
	struct kit *k = *state;
	struct ibv_qp *qp[2], *fresh = kit_create_qp(k, IBV_QPT_RC);

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(ibv_query_qp_data_in_order(fresh, IBV_WR_RDMA_WRITE, 0), 0);
	for (int op = IBV_WR_RDMA_WRITE; op <= IBV_WR_RDMA_READ; op++) {
		int got = ibv_query_qp_data_in_order(qp[0], (enum ibv_wr_opcode)op, 0);
		int caps = ibv_query_qp_data_in_order(qp[0], (enum ibv_wr_opcode)op,
						      RETURN_CAPS);

		assert_int_equal(got, in_order);
		assert_int_equal(caps, in_order ? ALL_CAPS : 0);
	}
	assert_int_equal(ibv_query_qp_data_in_order(qp[0], IBV_WR_LOCAL_INV, 0), 0);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_qp(fresh), 0);
}

static void atomics_are_what_the_knobs_make_of_them(void **state)
{
	const bool by_pcie = strstr(knobs(), "atomic=pcie") != NULL;
	struct kit *k = *state;
	struct ibv_device_attr_ex a;
	uint16_t sizes =
		is_off() || by_pcie ? IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP : 0;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &a), 0);
	assert_int_equal(a.orig_attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(a.pci_atomic_caps.fetch_add, sizes);
	assert_int_equal(a.pci_atomic_caps.compare_swap, sizes);
	assert_int_equal(a.pci_atomic_caps.swap, 0);
}

static void relaxed_ordering_may_be_asked_for(void **state)
{
	struct kit *k = *state;
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, KIT_BUF_LEN,
				       RIGHTS | IBV_ACCESS_RELAXED_ORDERING);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* -------------------------------------------------------------------- descriptors */
static const char memfd_name[] = "rocin-test-window";

static unsigned count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned count = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, memfd_name) != NULL;
	(void)fclose(maps);
	return count;
}

static int new_memory(size_t len)
{
	int fd = memfd_create(memfd_name, MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	return fd;
}

static void write_to(struct kit *k, struct ibv_qp *qp, const struct ibv_mr *mr,
		     uint64_t addr)
{
	struct ibv_sge local = kit_sge(k, 0, 0, 3000);
	struct ibv_send_wr wr = { .wr_id = 7,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = addr, .rkey = mr->rkey } };

	for (unsigned i = 0; i < 3000; i++)
		k->buf[i] = (uint8_t)(i * 5 + 1);
	kit_post_send(qp, &wr);
	kit_expect(k->cq, 7, IBV_WC_RDMA_WRITE);
}

static void a_descriptor_is_registered_from_an_offset(void **state)
{
	const uint64_t iova = 0x700000000000 + 100;
	struct kit *k = *state;
	int fd = new_memory(4 * PAGE);
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	uint8_t got[3000];

	kit_pair(k, IBV_QPT_RC, qp);
	mr = ibv_reg_dmabuf_mr(k->pd, PAGE + 100, 2 * PAGE, iova, fd, RIGHTS);
	assert_non_null(mr);
	assert_int_equal(count_mappings(), 1);
	write_to(k, qp[0], mr, iova + 50);
	/* The completion of a WRITE does not promise that its bytes are in the memory;
	 * deregistration does.
	 */
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(count_mappings(), 0);
	assert_int_equal(pread(fd, got, sizeof(got), (off_t)PAGE + 150), sizeof(got));
	assert_memory_equal(got, k->buf, sizeof(got));
	close(fd);
	kit_destroy_pair(qp);
}

struct request {
	uint64_t offset;
	size_t len;
	uint64_t iova;
	int fd, access;
};

static void refuse(struct kit *k, int why, struct request r)
{
	errno = 0;
	assert_null(ibv_reg_dmabuf_mr(k->pd, r.offset, r.len, r.iova, r.fd, r.access));
	assert_int_equal(errno, why);
	assert_int_equal(count_mappings(), 0);
}

static void what_cannot_be_registered_is_refused(void **state)
{
	struct kit *k = *state;
	int fd = new_memory(2 * PAGE), ends[2], closed = dup(fd);

	assert_int_equal(pipe(ends), 0);
	close(closed);
	refuse(k, EOPNOTSUPP, (struct request){ 0, PAGE, 0, -1, RIGHTS });
	refuse(k, EBADF, (struct request){ 0, PAGE, 0, closed, RIGHTS });
	refuse(k, EINVAL, (struct request){ 0, PAGE, 0, ends[0], RIGHTS });
	refuse(k, EINVAL, (struct request){ 0, 0, 0, fd, RIGHTS });
	refuse(k, EINVAL, (struct request){ 0, 2 * PAGE + 1, 0, fd, RIGHTS });
	refuse(k, EINVAL, (struct request){ PAGE + 1, PAGE, 1, fd, RIGHTS });
	refuse(k, EINVAL,
	       (struct request){ UINT64_MAX - PAGE + 1, 2 * PAGE, 0, fd, RIGHTS });
	/* The address and the offset in the file differ in their offset in the page. */
	refuse(k, EINVAL, (struct request){ 100, 10, 101, fd, RIGHTS });
	refuse(k, EINVAL,
	       (struct request){ 0, PAGE, 0, fd, RIGHTS | IBV_ACCESS_MW_BIND });
	refuse(k, EINVAL,
	       (struct request){ 0, PAGE, 0, fd, RIGHTS | IBV_ACCESS_ON_DEMAND });
	refuse(k, EINVAL, (struct request){ 0, PAGE, 0, fd, IBV_ACCESS_REMOTE_WRITE });
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

static void a_descriptor_that_may_only_be_read_gives_no_right_to_write(void **state)
{
	struct kit *k = *state;
	int fd = new_memory(PAGE), reader;
	char path[64];
	struct ibv_mr *mr;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reader = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(reader >= 0);
	refuse(k, EACCES, (struct request){ 0, PAGE, 0, reader, RIGHTS });
	mr = ibv_reg_dmabuf_mr(k->pd, 0, PAGE, 0, reader, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	close(reader);
	close(fd);
}

/* --------------------------------------- objects destroyed while they have work */
static void send_and_receive(struct kit *k, struct ibv_qp *qp[2])
{
	struct ibv_sge local = kit_sge(k, 0, 0, 5000);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	kit_post_recv(k, qp[1], 2, kit_sge(k, 1, 0, 5000));
	kit_post_send(qp[0], &wr);
}

/* Polls an empty CQ, so that the device makes progress but no completion is taken. */
static void drive(struct ibv_cq *empty, unsigned polls)
{
	struct ibv_wc wc;

	while (polls--)
		assert_int_equal(ibv_poll_cq(empty, 1, &wc), 0);
}

static void resizing_loses_no_completion_on_its_way(void **state)
{
	enum {
		ROUNDS = 300
	};
	struct kit *k = *state;
	struct ibv_cq *empty = ibv_create_cq(k->ctx, 1, NULL, NULL, 0);
	struct ibv_qp *qp[2];

	assert_non_null(empty);
	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < ROUNDS; i++) {
		send_and_receive(k, qp);
		drive(empty, i % 10);
		assert_int_equal(ibv_resize_cq(k->cq, i % 2 ? 256 : 512), 0);
		assert_int_equal(kit_wait(k->cq).wr_id + kit_wait(k->cq).wr_id, 3);
	}
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_cq(empty), 0);
}

static void nothing_comes_of_a_qp_that_was_reset_or_destroyed(void **state)
{
	enum {
		ROUNDS = 200
	};
	struct kit *k = *state;
	struct ibv_cq *empty = ibv_create_cq(k->ctx, 1, NULL, NULL, 0);
	struct ibv_qp *qp[2];

	assert_non_null(empty);
	for (unsigned i = 0; i < ROUNDS; i++) {
		kit_pair(k, IBV_QPT_RC, qp);
		send_and_receive(k, qp);
		drive(empty, i % 10);
		if (i % 2) {
			kit_to_state(qp[0], IBV_QPS_RESET);
			kit_to_state(qp[1], IBV_QPS_RESET);
			drive(k->cq, 100);
		}
		kit_destroy_pair(qp);
		drive(k->cq, 20);
	}
	assert_int_equal(ibv_destroy_cq(empty), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_library_is_there_only_when_wanted),
		cmocka_unit_test(data_is_in_order_where_the_knobs_say_so),
		cmocka_unit_test(atomics_are_what_the_knobs_make_of_them),
		cmocka_unit_test(relaxed_ordering_may_be_asked_for),
		cmocka_unit_test(resizing_loses_no_completion_on_its_way),
		cmocka_unit_test(nothing_comes_of_a_qp_that_was_reset_or_destroyed),
		cmocka_unit_test(a_descriptor_is_registered_from_an_offset),
		cmocka_unit_test(what_cannot_be_registered_is_refused),
		cmocka_unit_test(
			a_descriptor_that_may_only_be_read_gives_no_right_to_write),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
