/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver_abi.h - the private interface between libibverbs and its drivers, and the
 * plugin's side of it: operations, and answers to ioctls.
 *
 * libibverbs has no public header for drivers, and its private one changes between
 * releases. This file and library.h are the only places that know the private layouts.
 * Layouts that have not changed since release 36 are structs. Three things do change: the
 * size of struct verbs_context, the place of each operation in the table, and the length
 * of struct ibv_qp_ex. rnp_abi_learn() finds them out from the library itself when the
 * plugin is loaded, so a release with more operations needs no change here.
 *
 * All layouts hold for the x86-64 and aarch64 binaries of rdma-core 36 to 65.
 */
#ifndef RNP_DRIVER_ABI_H
#define RNP_DRIVER_ABI_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "provider/verbs/object/library.h"

/* Operations of libibverbs, in alphabetical order. These numbers are private to the
 * plugin; rnp_abi.slot has the position in the table of the library that is loaded.
 */
/* clang-format off */
#define RNP_OPS(X) \
	X(advise_mr) X(alloc_buf) X(alloc_dm) X(alloc_dmah) X(alloc_mw) X(alloc_null_mr) \
	X(alloc_parent_domain) X(alloc_pd) X(alloc_td) X(async_event) \
	X(attach_counters_point_flow) X(attach_mcast) X(bind_mw) X(close_xrcd) X(cq_event) \
	X(create_ah) X(create_comp_cntr) X(create_counters) X(create_cq) X(create_cq_ex) X(create_flow) \
	X(create_flow_action_esp) X(create_qp) X(create_qp_ex) X(create_rwq_ind_table) \
	X(create_srq) X(create_srq_ex) X(create_wq) X(dealloc_dmah) X(dealloc_mw) \
	X(dealloc_pd) X(dealloc_td) X(dereg_mr) X(destroy_ah) X(destroy_comp_cntr) X(destroy_counters) \
	X(destroy_cq) X(destroy_flow) X(destroy_flow_action) X(destroy_qp) \
	X(destroy_rwq_ind_table) X(destroy_srq) X(destroy_wq) X(detach_mcast) \
	X(dm_export_dmabuf_fd) X(free_buf) X(free_context) X(free_dm) X(get_srq_num) \
	X(import_dm) X(import_mr) X(import_pd) X(inc_comp_cntr) X(inc_err_comp_cntr) \
	X(modify_cq) X(modify_flow_action_esp) \
	X(modify_qp) X(modify_qp_rate_limit) X(modify_srq) X(modify_wq) X(open_qp) \
	X(open_xrcd) X(poll_cq) X(post_recv) X(post_send) X(post_srq_ops) X(post_srq_recv) \
	X(qp_attach_comp_cntr) X(query_comp_cntr_caps) X(query_device_ex) X(query_ece) X(query_port) X(query_port_speed) X(query_qp) \
	X(query_qp_data_in_order) X(query_rt_values) X(query_srq) X(read_comp_cntr) \
	X(read_counters) X(read_err_comp_cntr) \
	X(reg_dm_mr) X(reg_dmabuf_mr) X(reg_mr) X(reg_mr_ex) X(req_notify_cq) X(rereg_mr) \
	X(resize_cq) X(set_comp_cntr) X(set_ece) X(set_err_comp_cntr) X(unimport_dm) X(unimport_mr) X(unimport_pd)

enum rnp_op {
#define X(name) RNP_OP_##name,
	RNP_OPS(X)
#undef X
	RNP_OP_COUNT
};
/* clang-format on */

enum {
	/* Entries of a table that is given to the library. A library whose own table may
	 * be longer, so that it would read past the end, is refused; that of release 65
	 * has 93.
	 */
	RNP_ABI_SLOTS = 255,
	RNP_ABI_NO_SLOT = 0xff,
};

/* ------------------------------------------------------- layouts that do not change */
struct rnp_abi_list_node {
	struct rnp_abi_list_node *next, *prev;
};

/* A device that the library has found in sysfs; the library's private struct. */
struct rnp_abi_sysfs_dev {
	struct rnp_abi_list_node entry;
	void *provider_data;
	const void *match;
	unsigned int flags;
	char sysfs_name[64];
	dev_t sysfs_cdev;
	char ibdev_name[64];
	char ibdev_path[256];
	char modalias[512];
	uint64_t node_guid;
	uint32_t driver_id;
	int node_type;
	int ibdev_idx;
	uint32_t num_ports;
	uint32_t abi_ver;
	struct timespec time_created;
};

/* First member of a driver's device struct. The driver zeroes it; the library fills
 * it in.
 */
struct rnp_abi_device {
	struct ibv_device device;
	const void *ops;
	int refcount; /* changed atomically, by the library only */
	struct rnp_abi_list_node entry;
	struct rnp_abi_sysfs_dev *sysfs;
	uint64_t core_support; /* bit set; the only bit is RNP_ABI_OPTIONAL_MR_ACCESS */
};

enum {
	/* The driver understands optional access flags, so the library need not
	 * remove them.
	 */
	RNP_ABI_OPTIONAL_MR_ACCESS = 1 << 0,
};

/* Table of functions that a driver registers. */
struct rnp_abi_device_ops {
	const char *name;
	uint32_t match_min_abi_version, match_max_abi_version;
	const void *match_table;
	const void *static_providers;
	bool (*match_device)(struct rnp_abi_sysfs_dev *sysfs_dev);
	/* Opens a device; owns @cmd_fd, also on failure. */
	struct verbs_context *(*alloc_context)(struct ibv_device *device, int cmd_fd,
					       void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device, int cmd_fd);
	struct rnp_abi_device *(*alloc_device)(struct rnp_abi_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct rnp_abi_device *device);
};

/* ------------------------------------------ layouts that differ between releases */
/* The private functions of the library, found by dlsym(). */
struct rnp_abi_lib {
	void *handle; /* handle of the library, from dlopen() */
	void (*register_driver)(const struct rnp_abi_device_ops *ops);
	void *(*init_and_alloc_context)(struct ibv_device *device, int cmd_fd,
					size_t alloc_size, void *context_offset,
					uint32_t driver_id);
	void (*set_ops)(void *verbs_context, void *const *table);
	void (*uninit_context)(void *verbs_context);
	struct ibv_qp_ex *(*qp_to_qp_ex)(struct ibv_qp *qp);
};

struct rnp_abi {
	struct rnp_abi_lib lib;
	/* bytes of struct verbs_context, which ends with struct ibv_context */
	size_t context_size;
	/* bytes of struct ibv_qp_ex; the word behind it has flags, see
	 * rnp_abi_mark_qp_ex()
	 */
	unsigned qp_ex_len;
	uint8_t slot[RNP_OP_COUNT]; /* place in the table, or RNP_ABI_NO_SLOT */
};

/**
 * rnp_abi_find_lib() - Find the private functions of a loaded libibverbs
 * @handle: Handle of the library, from dlopen()
 * @version: Private ABI version, part of a symbol's name: 34, 57, 59, 64, 65 ...
 * @err: Out on failure: error text
 *
 * Return: 0 or -ENOSYS.
 */
int rnp_abi_find_lib(struct rnp_abi_lib *lib, void *handle, unsigned version, char *err,
		     size_t err_len);

/**
 * rnp_abi_learn() - Find out the layouts of the loaded library
 * @abi:	Out; @abi->lib is filled in by the caller
 * @err:	Out on failure: error text that says which layout is not known
 *
 * Makes a temporary context, gives it tables of marks (functions that say which one was
 * called) in place of operations, and finds out which mark the library uses for which
 * operation. About 65 operations are also in public structs; for each of the others, a
 * verb is called that calls this operation. Nothing is assumed about the order or the
 * length of the table. An operation that the library does not have gets no slot. The
 * function fails if an operation is not found that each release since 36 has in a public
 * struct, or without which no device can work.
 *
 * Return: 0; -ENOMEM; -EPROTO if the library does not behave as the known releases do.
 */
int rnp_abi_learn(struct rnp_abi *abi, char *err, size_t err_len);

/* Does to the context at @block what the library's verbs_uninit_context() does, but
 * leaves it a copy of its operations, so that the library can still call them on the
 * closed context. If there is no memory for the copy, the operations are lost.
 * rnp_abi_free_ops() frees the copy.
 */
void rnp_abi_uninit_but_ops(const struct rnp_abi *abi, void *block);
void rnp_abi_free_ops(const struct rnp_abi *abi, void *block);

/* An operation of libibverbs and the function of the plugin that performs it. */
struct rnp_abi_op {
	enum rnp_op op;
	void (*fn)(void);
};

/* Puts @count operations into @table, which has RNP_ABI_SLOTS entries and is meant for
 * rnp_abi_lib.set_ops(). Entries without an operation stay NULL, which set_ops() ignores.
 * Operations that the loaded library does not know are left out.
 */
void rnp_abi_fill_table(const struct rnp_abi *abi, const struct rnp_abi_op *ops,
			unsigned count, void **table);

/* Sets the flag by which the library's ibv_qp_to_qp_ex() accepts the QP. The flag lies
 * behind struct ibv_qp_ex, in memory that the caller has zeroed.
 */
void rnp_abi_mark_qp_ex(const struct rnp_abi *abi, union rnp_abi_qp *qp);

/* Returns the name of an operation, such as "poll_cq", for messages and tests. */
const char *rnp_abi_op_name(enum rnp_op op);

/* ---- The verbs operations of the plugin ---- */

/* While there are fault rules about verbs calls, the contexts of the device use a second
 * set of operations. Each operation of that set first asks the rules whether it must
 * fail, and otherwise does the same as its ordinary version.
 */

/* Returns the table of all operations but free_context(). @count: out: entries. */
const struct rnp_abi_op *rnp_ops(unsigned *count);

/* Returns the operations that ask the fault rules first. @count: out: number of entries.
 */
const struct rnp_abi_op *rnp_fault_ops(unsigned *count);

/* ---- Answers to the ioctls that libibverbs sends to the kernel ---- */

/* The preloaded library of `rocin run` answers these ioctls. If that library is not
 * loaded, or libibverbs was loaded in a way that bypasses it, an ioctl would go to
 * /dev/null, and libibverbs would use an uninitialised number as completion channel. So
 * whenever a device is opened, the plugin checks that ioctls are answered; if they are
 * not, it answers them itself.
 */

/**
 * rnp_cmd_ensure() - Make sure that requests on @cmd_fd are answered
 * @verbs:	Handle of the loaded libibverbs
 * @err:	Out on failure: error text
 *
 * Sends a request through the reference to ioctl() that libibverbs uses. If there is no
 * answer, redirects that reference to the plugin, once per process.
 *
 * Return: 0, or -ENOSYS if the requests would stay unanswered.
 */
int rnp_cmd_ensure(void *verbs, int cmd_fd, char *err, size_t err_len);

/**
 * rnp_got_find() - Find the slot of the GOT through which a library calls a function
 * @handle:	Handle of the calling library, from dlopen()
 * @symbol:	Name of the function
 *
 * Return: address of the slot, which holds the address of the function (or of the code
 *	   that binds it at the first call); NULL if the library does not import it or the
 *	   processor is neither x86-64 nor aarch64.
 */
void **rnp_got_find(void *handle, const char *symbol);

#endif /* RNP_DRIVER_ABI_H */
