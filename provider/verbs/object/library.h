/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* library.h - what the verbs objects need of libibverbs beyond the public header that
 * Rocin is built with: its private structs, and constants of newer releases.
 *
 * Layouts that have not changed since release 36 are structs here, because objects of the
 * plugin begin with them. Layouts that change between releases are described by struct
 * rnp_library, which plugin.c fills in: the verbs objects call no function of
 * provider/abi by name.
 */
#ifndef RNP_LIBRARY_H
#define RNP_LIBRARY_H

#include <assert.h>
#include <infiniband/verbs.h>
#include <stdbool.h>

/* Checks that a constant of the core equals that of verbs, so that no table is needed
 * to translate.
 */
#define RNP_SAME(ours, theirs) \
	static_assert((int)(ours) == (int)(theirs), "verbs numbers")

struct rnp_context;

enum rnp_abi_mr_type {
	RNP_ABI_MR = 0,
	RNP_ABI_NULL_MR = 1,
	RNP_ABI_IMPORTED_MR = 2,
	RNP_ABI_DMABUF_MR = 3,
};

struct rnp_abi_mr {
	struct ibv_mr ibv_mr;
	int mr_type; /* enum rnp_abi_mr_type */
	int access;  /* access flags, as registered */
};

/* struct ibv_qp_ex ends with function pointers: 20 in release 36 of rdma-core, 21 since
 * 44 and 22 since 45. The memory behind the end of the loaded release's struct is used by
 * libibverbs, see rnp_library.mark_qp_ex().
 */
union rnp_abi_qp {
	struct ibv_qp qp;
	struct ibv_qp_ex qp_ex;
	unsigned char room[384];
};

union rnp_abi_cq {
	struct ibv_cq cq;
	struct ibv_cq_ex cq_ex;
};

/* The libibverbs that has opened a context; does not change. */
struct rnp_library {
	unsigned qp_ex_len; /* bytes of its struct ibv_qp_ex */

	/* Sets the flag by which the library's ibv_qp_to_qp_ex() accepts the QP. The flag
	 * lies behind struct ibv_qp_ex, in memory that the caller has zeroed.
	 */
	void (*mark_qp_ex)(union rnp_abi_qp *qp);

	/* Sets whether each verbs call of the context first asks rnp_engine_call_error()
	 * whether it must fail. The engine lock is held.
	 */
	void (*set_call_faults)(struct rnp_context *ctx, bool asking);
};

/* ibv_alloc_dmah(), release 59 and later: hints by which the device accesses memory. */
struct rnp_abi_dmah {
	struct ibv_context *context;
};

enum {
	/* bits of rnp_abi_dmah_attr.comp_mask: which fields are valid */
	RNP_DMAH_CPU_ID = 1 << 0,
	RNP_DMAH_PH = 1 << 1,
	RNP_DMAH_MEM_TYPE = 1 << 2,
};

struct rnp_abi_dmah_attr {
	uint32_t comp_mask;
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type; /* 0: volatile memory, 1: persistent memory */
};

/* ibv_reg_mr_ex(), release 59 and later. */
enum {
	/* bits of rnp_abi_mr_attr.comp_mask: which fields are valid */
	RNP_REG_MR_IOVA = 1 << 0,
	RNP_REG_MR_ADDR = 1 << 1,
	RNP_REG_MR_FD = 1 << 2,
	RNP_REG_MR_FD_OFFSET = 1 << 3,
	RNP_REG_MR_DMAH = 1 << 4,
};

struct rnp_abi_mr_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct rnp_abi_dmah *dmah;
};

static_assert(sizeof(struct rnp_abi_mr_attr) == 64, "ibv_mr_init_attr");

/* Completion counters, release 65 and later. */
struct rnp_abi_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
};

struct rnp_abi_comp_cntr_caps {
	uint64_t max_value;
	uint32_t max_counters;
	uint32_t supported_qp_attach_ops; /* 1 << enum rn_tally_kind */
};

enum {
	RNP_COMP_CNTR_WRS = 0, /* counts work requests */
	RNP_COMP_CNTR_BYTES = 1,
};

struct rnp_abi_comp_cntr_attr {
	uint32_t comp_mask;
	uint32_t type;
	uint32_t flags;
};

struct rnp_abi_comp_cntr_attach {
	uint32_t comp_mask;
	uint32_t op_mask; /* 1 << enum rn_tally_kind */
};

/* Flag of parent domains, release 64 and later
 * (IBV_PARENT_DOMAIN_..._ALLOW_CC_UNPROTECTED_ALLOC). In a guest with confidential
 * computing it allows the provider to allocate memory that the guest shares with
 * its host.
 */
enum {
	RNP_PARENT_DOMAIN_CC_UNPROTECTED = 1 << 2,
};

/* Constants of FLUSH that <infiniband/verbs.h> of release 44 does not have yet.
 *
 * A program with such a header can use FLUSH all the same: ibv_post_send() accepts the
 * opcode RNP_WR_FLUSH, with the start of the range in wr.rdma.remote_addr, its key in
 * wr.rdma.rkey, its length as the sum of the lengths in sg_list (whose addresses and keys
 * do not matter), and the placement and level in imm_data: htonl(placement | level << 8).
 */
enum {
	RNP_WR_FLUSH = 14,
	RNP_WC_FLUSH = 8,
	RNP_ACCESS_FLUSH_GLOBAL = 1 << 8,     /* IBV_ACCESS_FLUSH_GLOBAL */
	RNP_ACCESS_FLUSH_PERSISTENT = 1 << 9, /* IBV_ACCESS_FLUSH_PERSISTENT */
	RNP_QP_EX_WITH_FLUSH = 1 << 11,	      /* IBV_QP_EX_WITH_FLUSH */
	/* bits of enum ibv_odp_transport_cap_bits that later releases have */
	RNP_ODP_FLUSH = 1 << 6,
	RNP_ODP_ATOMIC_WRITE = 1 << 7,
};
#define IBV_WR_FLUSH RNP_WR_FLUSH
#define IBV_WC_FLUSH RNP_WC_FLUSH

#endif /* RNP_LIBRARY_H */
