/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver_abi.c - finds out the private struct layouts of the loaded libibverbs;
 * see driver_abi.h.
 */
#include "driver_abi.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/io/host/log.h"

/* Checks sizes and offsets against the binaries of rdma-core 36 to 64 for LP64. */
static_assert(offsetof(struct rnp_abi_sysfs_dev, ibdev_name) == 112, "verbs_sysfs_dev");
static_assert(offsetof(struct rnp_abi_sysfs_dev, ibdev_path) == 176, "verbs_sysfs_dev");
static_assert(offsetof(struct rnp_abi_sysfs_dev, abi_ver) == 968, "verbs_sysfs_dev");
static_assert(sizeof(struct rnp_abi_sysfs_dev) == 992, "verbs_sysfs_dev");
static_assert(offsetof(struct rnp_abi_device, refcount) == 672, "verbs_device");
static_assert(offsetof(struct rnp_abi_device, sysfs) == 696, "verbs_device");
static_assert(sizeof(struct rnp_abi_device) == 712, "verbs_device");
static_assert(sizeof(struct rnp_abi_device_ops) == 72, "verbs_device_ops");
static_assert(offsetof(struct rnp_abi_mr, mr_type) == 48, "verbs_mr");
static_assert(sizeof(struct rnp_abi_mr) == 56, "verbs_mr");
#ifdef __x86_64__ /* on other processors pthread_mutex_t is larger */
static_assert(sizeof(struct ibv_context) == 328, "ibv_context");
#endif

enum {
	HIDDEN = INT_MIN
}; /* value of op_info.where: the operation is in no public struct */

/* Place of an operation in a public struct, in bytes from struct ibv_context, which is
 * the last member of struct verbs_context. New releases add members at the front, so
 * these offsets do not change.
 */
#define IN_EXT(field)                                 \
	((int)offsetof(struct verbs_context, field) - \
	 (int)offsetof(struct verbs_context, context))
#define IN_CONTEXT(field) ((int)offsetof(struct ibv_context, ops.field))
#define BEFORE_EXT(words) (IN_EXT(query_port) - (words) * (int)sizeof(void *))

/* An operation of libibverbs. @since: number of entries of the shortest table of
 * operations that has it (the tables of releases 36 to 58 have 76 entries, those of 59 to
 * 61 have 79, of 62 and 63 have 81, of 64 have 83). @where: its place in a public struct,
 * or HIDDEN.
 */
struct op_info {
	const char *name;
	unsigned since;
	int where;
};

#define OP(op, len, place) \
	[RNP_OP_##op] = { .name = #op, .since = (len), .where = (place) }
#define EXT(op) OP(op, 76, IN_EXT(op))
#define CTX(op) OP(op, 76, IN_CONTEXT(op))
#define OLD(op) OP(op, 76, IN_CONTEXT(_compat_##op))
#define HID(op) OP(op, 76, HIDDEN)

/* clang-format off */
static const struct op_info op_info[RNP_OP_COUNT] = {
	EXT(advise_mr),             OP(alloc_buf, 83, BEFORE_EXT(5)),
	EXT(alloc_dm),              OP(alloc_dmah, 79, BEFORE_EXT(1)),
	CTX(alloc_mw),              EXT(alloc_null_mr),
	EXT(alloc_parent_domain),   OLD(alloc_pd),
	EXT(alloc_td),              OLD(async_event),
	EXT(attach_counters_point_flow), OLD(attach_mcast),
	CTX(bind_mw),               EXT(close_xrcd),
	OLD(cq_event),              OLD(create_ah),
	EXT(create_counters),       OLD(create_cq),
	HID(create_cq_ex),          OP(create_flow, 76, IN_EXT(ibv_create_flow)),
	EXT(create_flow_action_esp), OLD(create_qp),
	EXT(create_qp_ex),          EXT(create_rwq_ind_table),
	OLD(create_srq),            EXT(create_srq_ex),
	EXT(create_wq),             OP(dealloc_dmah, 79, BEFORE_EXT(2)),
	CTX(dealloc_mw),            OLD(dealloc_pd),
	EXT(dealloc_td),            OLD(dereg_mr),
	OLD(destroy_ah),            EXT(destroy_counters),
	OLD(destroy_cq),            OP(destroy_flow, 76, IN_EXT(ibv_destroy_flow)),
	EXT(destroy_flow_action),   OLD(destroy_qp),
	EXT(destroy_rwq_ind_table), OLD(destroy_srq),
	EXT(destroy_wq),            OLD(detach_mcast),
	OP(dm_export_dmabuf_fd, 81, BEFORE_EXT(4)), OP(free_buf, 83, BEFORE_EXT(6)),
	HID(free_context),          EXT(free_dm),
	EXT(get_srq_num),           HID(import_dm),
	HID(import_mr),             HID(import_pd),
	EXT(modify_cq),             EXT(modify_flow_action_esp),
	OLD(modify_qp),             EXT(modify_qp_rate_limit),
	OLD(modify_srq),            EXT(modify_wq),
	EXT(open_qp),               EXT(open_xrcd),
	CTX(poll_cq),               CTX(post_recv),
	CTX(post_send),             EXT(post_srq_ops),
	CTX(post_srq_recv),         EXT(query_device_ex),
	HID(query_ece),             HID(query_port),
	OP(query_port_speed, 81, HIDDEN), OLD(query_qp),
	HID(query_qp_data_in_order), EXT(query_rt_values),
	OLD(query_srq),             EXT(read_counters),
	EXT(reg_dm_mr),             HID(reg_dmabuf_mr),
	OLD(reg_mr),                OP(reg_mr_ex, 79, BEFORE_EXT(3)),
	CTX(req_notify_cq),         OLD(rereg_mr),
	OLD(resize_cq),             HID(set_ece),
	HID(unimport_dm),           HID(unimport_mr),
	HID(unimport_pd),
};
/* clang-format on */

static const unsigned known_op_counts[] = { 76, 79, 81, 83 };

const char *rnp_abi_op_name(enum rnp_op op)
{
	return op_info[op].name;
}

int rnp_abi_find_lib(struct rnp_abi_lib *lib, void *handle, unsigned version, char *err,
		     size_t err_len)
{
	char name[64];
	/* POSIX lets dlsym() results be stored this way; ISO C has no cast for it. */
	const struct {
		const char *name;
		void **fn;
	} wanted[] = {
		{ name, (void **)&lib->register_driver },
		{ "_verbs_init_and_alloc_context",
		  (void **)&lib->init_and_alloc_context },
		{ "verbs_set_ops", (void **)&lib->set_ops },
		{ "verbs_uninit_context", (void **)&lib->uninit_context },
		{ "ibv_qp_to_qp_ex", (void **)&lib->qp_to_qp_ex },
	};

	(void)snprintf(name, sizeof(name), "verbs_register_driver_%u", version);
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		*wanted[i].fn = dlsym(handle, wanted[i].name);
		if (!*wanted[i].fn)
			return rn_fail(err, err_len, -ENOSYS, "libibverbs has no %s",
				       wanted[i].name);
	}
	return 0;
}

/* ------------------------------------------ temporary context that shows the layouts */
enum {
	/* Size in bytes of the memory block, enough for struct verbs_context, which has
	 * 648 to 696 bytes.
	 */
	SCRATCH_LEN = 8192
};

struct scratch {
	struct rnp_abi_device device;
	char *block; /* allocated by the library; begins with a struct verbs_context */
	struct ibv_context *context;
	void *marks[RNP_ABI_SLOTS];
};

/* Distinct addresses, none of which is the address of a function. rnp_abi_learn() passes
 * them to the library in place of operations, to see where the library stores each
 * operation.
 */
static char mark_bytes[RNP_ABI_SLOTS];

static int find_context(struct rnp_abi *abi, struct scratch *s, char *err, size_t err_len)
{
	/* The library has written sizeof(struct verbs_context) into the word that
	 * precedes struct ibv_context, and &s->device into the first word of
	 * struct ibv_context.
	 */
	for (size_t size = sizeof(struct ibv_context) + sizeof(size_t);
	     size <= SCRATCH_LEN; size += sizeof(void *)) {
		char *context = s->block + size - sizeof(struct ibv_context);
		size_t written;

		memcpy(&written, context - sizeof(size_t), sizeof(written));
		if (written != size)
			continue;
		s->context = (struct ibv_context *)context;
		if (s->context->device != &s->device.device || s->context->cmd_fd != -1)
			continue;
		abi->context_size = size;
		return 0;
	}
	return rn_fail(err, err_len, -EPROTO,
		       "this libibverbs has a struct verbs_context that is not known");
}

/* Returns the pointer that is stored @where bytes behind the start of struct ibv_context;
 * NULL if the library's struct is too short to have it there.
 */
static void *shown_at(const struct rnp_abi *abi, const struct scratch *s, int where)
{
	void *word;

	if (where < 0 && (size_t)-where > abi->context_size - sizeof(struct ibv_context))
		return NULL;
	memcpy(&word, (char *)s->context + where, sizeof(word));
	return word;
}

/* Counts the entries of the library's table of operations. libibverbs copies all
 * operations into memory of its own (@copy), so there are as many marks in a row there as
 * the table has entries.
 */
static unsigned count_marks(void *copy)
{
	size_t words = malloc_usable_size(copy) / sizeof(void *);
	void **word = copy;
	size_t first = 0;
	unsigned count = 0;

	while (first < words && word[first] != &mark_bytes[0])
		first++;
	while (count < RNP_ABI_SLOTS && first + count < words &&
	       word[first + count] == &mark_bytes[count])
		count++;
	return count;
}

static bool is_known_count(unsigned count)
{
	for (unsigned i = 0; i < sizeof(known_op_counts) / sizeof(known_op_counts[0]);
	     i++)
		if (known_op_counts[i] == count)
			return true;
	return false;
}

static int assign_slots(struct rnp_abi *abi, const struct scratch *s, char *err,
			size_t err_len)
{
	uint8_t next = 0;

	for (unsigned op = 0; op < RNP_OP_COUNT; op++) {
		const struct op_info *info = &op_info[op];

		abi->slot[op] = RNP_ABI_NO_SLOT;
		if (info->since > abi->op_count)
			continue;
		if (info->where != HIDDEN &&
		    shown_at(abi, s, info->where) != &mark_bytes[next])
			return rn_fail(
				err, err_len, -EPROTO,
				"this libibverbs has %s at an unknown place among its "
				"%u operations",
				info->name, abi->op_count);
		abi->slot[op] = next++;
	}
	assert(next == abi->op_count);
	return 0;
}

static int learn_ops(struct rnp_abi *abi, struct scratch *s, char *err, size_t err_len)
{
	void *copy;

	for (unsigned i = 0; i < RNP_ABI_SLOTS; i++)
		s->marks[i] = &mark_bytes[i];
	abi->lib.set_ops(s->block, s->marks);

	copy = shown_at(abi, s, IN_EXT(priv));
	if (!copy)
		return rn_fail(
			err, err_len, -EPROTO,
			"this libibverbs keeps its operations at an unknown place");
	abi->op_count = count_marks(copy);
	if (!is_known_count(abi->op_count))
		return rn_fail(err, err_len, -EPROTO,
			       "this libibverbs has %u operations for drivers; known are "
			       "tables of 76, 79, 81 and 83",
			       abi->op_count);
	return assign_slots(abi, s, err, err_len);
}

/* Flag that makes libibverbs treat a struct ibv_qp as a struct ibv_qp_ex. */
static const uint32_t qp_ex_flag = 1 << 1;

/* Finds the word behind struct ibv_qp in which libibverbs looks for qp_ex_flag. Sets the
 * flag in one word after the other until the library accepts the QP as an extended one.
 */
static int learn_qp(struct rnp_abi *abi, char *err, size_t err_len)
{
	size_t at = sizeof(struct ibv_qp);
	union rnp_abi_qp qp;

	for (; at + 2 * sizeof(void *) <= sizeof(qp); at += sizeof(void *)) {
		memset(&qp, 0, sizeof(qp));
		memcpy(qp.room + at, &qp_ex_flag, sizeof(qp_ex_flag));
		if (!abi->lib.qp_to_qp_ex(&qp.qp))
			continue;
		abi->qp_ex_len = (unsigned)at;
		return 0;
	}
	return rn_fail(err, err_len, -EPROTO,
		       "this libibverbs has a struct verbs_qp that is not known");
}

void rnp_abi_mark_qp_ex(const struct rnp_abi *abi, union rnp_abi_qp *qp)
{
	memcpy(qp->room + abi->qp_ex_len, &qp_ex_flag, sizeof(qp_ex_flag));
}

int rnp_abi_learn(struct rnp_abi *abi, char *err, size_t err_len)
{
	struct scratch s = { .device.refcount = 1 };
	int rc;

	/* The library also sends a command to descriptor -1, which fails and does no
	 * harm.
	 */
	s.block = abi->lib.init_and_alloc_context(&s.device.device, -1, SCRATCH_LEN, NULL,
						  0);
	if (!s.block)
		return rn_fail(err, err_len, -ENOMEM, "not enough memory");

	rc = find_context(abi, &s, err, err_len);
	if (rc) {
		/* The layout of the struct is unknown, so nothing that the library has
		 * put into it can be released safely.
		 */
		free(s.block);
		return rc;
	}
	if (s.device.refcount != 2)
		rc = rn_fail(
			err, err_len, -EPROTO,
			"this libibverbs has a struct verbs_device that is not known");
	else
		rc = learn_ops(abi, &s, err, err_len);
	if (!rc)
		rc = learn_qp(abi, err, err_len);
	abi->lib.uninit_context(s.block);
	free(s.block);
	return rc;
}

/* Returns the place in a context, which begins at @block, of the pointer to the library's
 * private part of that context. The private part has the operations.
 */
static char *private_of(const struct rnp_abi *abi, void *block)
{
	return (char *)block + abi->context_size - sizeof(struct ibv_context) +
	       IN_EXT(priv);
}

void rnp_abi_uninit_but_ops(const struct rnp_abi *abi, void *block)
{
	char *at = private_of(abi, block);
	void *private, *copy;
	size_t len;

	memcpy(&private, at, sizeof(private));
	len = malloc_usable_size(private);
	copy = malloc(len);
	if (copy)
		memcpy(copy, private, len);
	abi->lib.uninit_context(block);
	memcpy(at, &copy, sizeof(copy));
}

void rnp_abi_free_ops(const struct rnp_abi *abi, void *block)
{
	void *copy;

	memcpy(&copy, private_of(abi, block), sizeof(copy));
	free(copy);
}

void rnp_abi_fill_table(const struct rnp_abi *abi, const struct rnp_abi_op *ops,
			unsigned count, void **table)
{
	for (unsigned i = 0; i < count; i++) {
		uint8_t slot = abi->slot[ops[i].op];

		if (slot != RNP_ABI_NO_SLOT)
			memcpy(&table[slot], &ops[i].fn, sizeof(table[slot]));
	}
}
