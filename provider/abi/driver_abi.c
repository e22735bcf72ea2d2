/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver_abi.c - finds out the private struct layouts of the loaded libibverbs;
 * see driver_abi.h.
 */
#include "driver_abi.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/io/host/log.h"

/* Checks sizes and offsets against the binaries of rdma-core 36 to 65 for LP64. */
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

/* Place of an operation in a public struct, in bytes from struct ibv_context, which is
 * the last member of struct verbs_context. New releases add members at the front, so
 * these offsets do not change.
 */
#define IN_EXT(field)                                 \
	((int)offsetof(struct verbs_context, field) - \
	 (int)offsetof(struct verbs_context, context))
#define IN_CONTEXT(field) ((int)offsetof(struct ibv_context, ops.field))
#define BEFORE_EXT(words) (IN_EXT(query_port) - (words) * (int)sizeof(void *))

/* How rnp_abi_learn() finds out which entry of the library's table belongs to an
 * operation. It gives the library a table of marks in place of operations, and looks
 * which mark the library uses for the operation:
 */
enum show {
	SHOWN_AT,   /* the library copies the entry to a place in a public struct */
	BY_CONTEXT, /* the entry is called by a verb whose first argument is a context */
	/* as BY_CONTEXT; the third argument of the verb is room for attributes */
	BY_PORT,
	/* the entry is called by a verb whose first argument is an object that begins
	 * with a pointer to its context
	 */
	BY_OBJECT,
	BY_OPENING, /* by opening a device, see find_create_cq_ex() */
};

/* An operation of libibverbs. @where: its place in a public struct (SHOWN_AT). @verb:
 * name of the verb. @optional: the plugin works without the operation, which some
 * releases since 36 do not have.
 */
struct op_info {
	const char *name;
	enum show show;
	int where;
	const char *verb;
	bool optional;
};

#define AT(op, place) [RNP_OP_##op] = { .name = #op, .show = SHOWN_AT, .where = (place) }
#define EXT(op) AT(op, IN_EXT(op))
#define CTX(op) AT(op, IN_CONTEXT(op))
#define OLD(op) AT(op, IN_CONTEXT(_compat_##op))
#define NEW(op, words)                                \
	[RNP_OP_##op] = { .name = #op,                \
			  .show = SHOWN_AT,           \
			  .where = BEFORE_EXT(words), \
			  .optional = true }
#define CALL(op, how, name_of_verb)                                                  \
	[RNP_OP_##op] = {                                                            \
		.name = #op, .show = (how), .verb = (name_of_verb), .optional = true \
	}
#define CON(op) CALL(op, BY_CONTEXT, "ibv_" #op)
#define OBJ(op) CALL(op, BY_OBJECT, "ibv_" #op)

/* clang-format off */
static const struct op_info op_info[RNP_OP_COUNT] = {
	[RNP_OP_create_cq_ex] = { .name = "create_cq_ex", .show = BY_OPENING },
	[RNP_OP_free_context] = { .name = "free_context", .show = BY_CONTEXT,
				  .verb = "ibv_close_device" },
	[RNP_OP_query_port] = { .name = "query_port", .show = BY_PORT,
				.verb = "ibv_query_port" },
	EXT(advise_mr),             NEW(alloc_buf, 5),
	EXT(alloc_dm),              NEW(alloc_dmah, 1),
	CTX(alloc_mw),              EXT(alloc_null_mr),
	EXT(alloc_parent_domain),   OLD(alloc_pd),
	EXT(alloc_td),              OLD(async_event),
	EXT(attach_counters_point_flow), OLD(attach_mcast),
	CTX(bind_mw),               EXT(close_xrcd),
	OLD(cq_event),              OLD(create_ah),
	CON(create_comp_cntr),      EXT(create_counters),
	OLD(create_cq),             AT(create_flow, IN_EXT(ibv_create_flow)),
	EXT(create_flow_action_esp), OLD(create_qp),
	EXT(create_qp_ex),          EXT(create_rwq_ind_table),
	OLD(create_srq),            EXT(create_srq_ex),
	EXT(create_wq),             NEW(dealloc_dmah, 2),
	CTX(dealloc_mw),            OLD(dealloc_pd),
	EXT(dealloc_td),            OLD(dereg_mr),
	OLD(destroy_ah),            OBJ(destroy_comp_cntr),
	EXT(destroy_counters),      OLD(destroy_cq),
	AT(destroy_flow, IN_EXT(ibv_destroy_flow)),
	EXT(destroy_flow_action),   OLD(destroy_qp),
	EXT(destroy_rwq_ind_table), OLD(destroy_srq),
	EXT(destroy_wq),            OLD(detach_mcast),
	NEW(dm_export_dmabuf_fd, 4), NEW(free_buf, 6),
	EXT(free_dm),               EXT(get_srq_num),
	CON(import_dm),             OBJ(import_mr),
	CON(import_pd),             OBJ(inc_comp_cntr),
	OBJ(inc_err_comp_cntr),     EXT(modify_cq),
	EXT(modify_flow_action_esp), OLD(modify_qp),
	EXT(modify_qp_rate_limit),  OLD(modify_srq),
	EXT(modify_wq),             EXT(open_qp),
	EXT(open_xrcd),             CTX(poll_cq),
	CTX(post_recv),             CTX(post_send),
	EXT(post_srq_ops),          CTX(post_srq_recv),
	OBJ(qp_attach_comp_cntr),
	CALL(query_comp_cntr_caps, BY_CONTEXT, "_ibv_query_comp_cntr_caps"),
	EXT(query_device_ex),       OBJ(query_ece),
	CON(query_port_speed),      OLD(query_qp),
	OBJ(query_qp_data_in_order), EXT(query_rt_values),
	OLD(query_srq),             OBJ(read_comp_cntr),
	EXT(read_counters),         OBJ(read_err_comp_cntr),
	EXT(reg_dm_mr),             OBJ(reg_dmabuf_mr),
	OLD(reg_mr),                NEW(reg_mr_ex, 3),
	CTX(req_notify_cq),         OLD(rereg_mr),
	OLD(resize_cq),             OBJ(set_comp_cntr),
	OBJ(set_ece),               OBJ(set_err_comp_cntr),
	OBJ(unimport_dm),           OBJ(unimport_mr),
	OBJ(unimport_pd),
};
/* clang-format on */

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

	lib->handle = handle;
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
};

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

/* The two marks are functions that stand for the bit values 0 and 1. rnp_abi_learn()
 * fills a table of operations with marks once for each bit of an index: entry i gets the
 * mark of that bit of i. So the marks that the library uses for one operation are the
 * bits of the index of its entry.
 */
enum mark {
	NO_MARK = -1,
};

static int marked; /* the mark that was called last; written under the loader's lock */

static void *mark_0(void)
{
	marked = 0;
	return NULL;
}

static void *mark_1(void)
{
	marked = 1;
	return NULL;
}

enum {
	INDEX_BITS = 8, /* number of bits of the index of a slot */
};

static_assert(RNP_ABI_SLOTS < 1 << INDEX_BITS, "an index is found bit by bit");

static void set_marks(const struct rnp_abi *abi, const struct scratch *s, unsigned bit)
{
	void *(*const marks[])(void) = { mark_0, mark_1 };
	void *table[RNP_ABI_SLOTS];

	for (unsigned i = 0; i < RNP_ABI_SLOTS; i++)
		memcpy(&table[i], &marks[i >> bit & 1], sizeof(table[i]));
	abi->lib.set_ops(s->block, table);
}

/* The type by which a verb is called to find out which mark it calls as its operation.
 * Whatever the real type of the verb is, its first three arguments, which are integers or
 * pointers, are passed in the same registers as those of this type. A mark takes no
 * arguments, so it may be called in place of any operation.
 */
typedef void *(*any_verb)(void *first, void *second, uintptr_t third);

/* Calls a verb. Returns the mark that the verb has called as its operation, or NO_MARK.
 */
static int call_verb(any_verb verb, enum show how, struct ibv_context *context)
{
	/* Arguments that some verbs examine before they call the operation: attributes,
	 * which must not all be zero, and flags in the third argument. On processors
	 * other than x86-64, ibv_query_qp_data_in_order() calls the operation only for
	 * flag 2.
	 */
	static const uintptr_t flags[] = { 0, 2 };
	struct ibv_context *object[64] = { context };
	void *first = how == BY_OBJECT ? (void *)object : (void *)context;
	uint64_t attr[64], room[64];

	marked = NO_MARK;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(flags) && marked == NO_MARK; i++) {
		memset(attr, 0, sizeof(attr));
		attr[0] = 1;
		(void)verb(first, attr, how == BY_PORT ? (uintptr_t)room : flags[i]);
	}
	return marked;
}

static int mark_at(const struct rnp_abi *abi, const struct scratch *s, int where)
{
	void *(*const marks[])(void) = { mark_0, mark_1 };
	void *shown = shown_at(abi, s, where);

	for (int i = 0; i < 2; i++)
		if (!memcmp(&shown, &marks[i], sizeof(shown)))
			return i;
	return NO_MARK;
}

/* Returns the mark that the library uses for an operation; NO_MARK if the library
 * does not have the operation, or if the operation is found only by opening a
 * device (BY_OPENING).
 */
static int mark_of(const struct rnp_abi *abi, const struct scratch *s,
		   const struct op_info *info)
{
	any_verb verb = NULL;
	void *found;

	if (info->show == SHOWN_AT)
		return mark_at(abi, s, info->where);
	found = info->show == BY_OPENING ? NULL : dlsym(abi->lib.handle, info->verb);
	if (!found)
		return NO_MARK;
	memcpy(&verb, &found, sizeof(verb));
	return call_verb(verb, info->show, s->context);
}

/* Checks that the library's table of operations has at most RNP_ABI_SLOTS entries. The
 * library keeps its copy of the table in a block of memory of its own, so the table is no
 * longer than that block.
 */
static int check_length(const struct rnp_abi *abi, const struct scratch *s, char *err,
			size_t err_len)
{
	void *copy = shown_at(abi, s, IN_EXT(priv));

	if (!copy)
		return rn_fail(
			err, err_len, -EPROTO,
			"this libibverbs keeps its operations at an unknown place");
	if (malloc_usable_size(copy) > RNP_ABI_SLOTS * sizeof(void *))
		return rn_fail(err, err_len, -EPROTO,
			       "this libibverbs has room for more than %d operations",
			       RNP_ABI_SLOTS);
	return 0;
}

/* Reads one bit of the slot of each operation. An operation without a mark in the first
 * round, or in any later one, gets no slot.
 */
static void learn_bit(struct rnp_abi *abi, const struct scratch *s, unsigned bit)
{
	for (unsigned op = 0; op < RNP_OP_COUNT; op++) {
		int mark = abi->slot[op] == RNP_ABI_NO_SLOT
				   ? NO_MARK
				   : mark_of(abi, s, &op_info[op]);

		if (mark == NO_MARK)
			abi->slot[op] = RNP_ABI_NO_SLOT;
		else
			abi->slot[op] |= (uint8_t)(mark << bit);
	}
}

/* Checks that no operation is missing that must be there, and that no two share a slot.
 */
static int check_slots(const struct rnp_abi *abi, char *err, size_t err_len)
{
	const char *taken[RNP_ABI_SLOTS] = { NULL };

	for (unsigned op = 0; op < RNP_OP_COUNT; op++) {
		const char *name = op_info[op].name;
		uint8_t slot = abi->slot[op];

		if (slot == RNP_ABI_NO_SLOT && op_info[op].optional)
			continue;
		if (slot == RNP_ABI_NO_SLOT)
			return rn_fail(err, err_len, -EPROTO,
				       "this libibverbs does not show its operation %s",
				       name);
		if (taken[slot])
			return rn_fail(err, err_len, -EPROTO,
				       "this libibverbs has the operations %s and %s in "
				       "one place",
				       taken[slot], name);
		taken[slot] = name;
	}
	return 0;
}

static struct verbs_context *alloc_opened(struct ibv_device *device, int cmd_fd,
					  void *private_data)
{
	(void)device;
	(void)cmd_fd;
	return private_data;
}

/* Finds the slot of create_cq_ex by opening the temporary device: the library puts the
 * function that calls this operation into the public struct only when it opens a
 * device. From release 37 on, the library opens no file for that, because the device is
 * not in sysfs.
 */
static int find_by_opening(struct rnp_abi *abi, struct scratch *s)
{
	static const struct rnp_abi_device_ops ops = { .alloc_context = alloc_opened };
	const size_t before = offsetof(struct verbs_context, context);
	struct ibv_context *(*open)(struct ibv_device * device, void *private_data);
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct verbs_context *context;
	void *found = dlsym(abi->lib.handle, "verbs_open_device");
	uint8_t slot = 0;

	if (!found)
		return RNP_ABI_NO_SLOT;
	memcpy(&open, &found, sizeof(open));
	s->device.ops = &ops;
	if (open(&s->device.device, s->block) != s->context)
		return RNP_ABI_NO_SLOT;
	context = (struct verbs_context *)(void *)((char *)s->context - before);
	for (unsigned bit = 0; bit < INDEX_BITS; bit++) {
		set_marks(abi, s, bit);
		marked = NO_MARK;
		(void)context->create_cq_ex(s->context, &attr);
		if (marked == NO_MARK)
			return RNP_ABI_NO_SLOT;
		slot |= (uint8_t)(marked << bit);
	}
	return slot;
}

/* Finds the slot of create_cq_ex. The table of each known release is alphabetical, and
 * has just that operation between create_cq and create_flow. If another release has more
 * of them there, opening a device tells which it is.
 */
static void find_create_cq_ex(struct rnp_abi *abi, struct scratch *s)
{
	unsigned before = abi->slot[RNP_OP_create_cq],
		 after = abi->slot[RNP_OP_create_flow];

	if (before == RNP_ABI_NO_SLOT || after == RNP_ABI_NO_SLOT)
		return;
	abi->slot[RNP_OP_create_cq_ex] = after == before + 2
						 ? (uint8_t)(before + 1)
						 : (uint8_t)find_by_opening(abi, s);
}

static int learn_ops(struct rnp_abi *abi, struct scratch *s, char *err, size_t err_len)
{
	int rc = check_length(abi, s, err, err_len);

	if (rc)
		return rc;
	memset(abi->slot, 0, sizeof(abi->slot));
	for (unsigned bit = 0; bit < INDEX_BITS; bit++) {
		set_marks(abi, s, bit);
		learn_bit(abi, s, bit);
	}
	find_create_cq_ex(abi, s);
	return check_slots(abi, err, err_len);
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
