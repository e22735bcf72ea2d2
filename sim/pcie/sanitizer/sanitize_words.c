/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_words.c - see sanitize_words.h. Rules are those of the ordering table (PCIe
 * base specification 2.4.1), of the GPU's inside (GV1) and of verbs completions (V1).
 */
#include "sanitize_words.h"

#include "rocin/transport.h"

#define NEXT "\n              "

const char *rn_san_kind_text(enum rn_san_kind kind)
{
	static const char *const text[RN_SAN_KIND_COUNT] = {
		[RN_SAN_STALE] = "stale read: bytes that a completion covers were read "
				 "while on their way",
		[RN_SAN_UNORDERED] = "unordered read: bytes were read while on their "
				     "way, and no completion covers them",
		[RN_SAN_SOURCE] = "source changed: a buffer changed between post and "
				  "completion",
		[RN_SAN_FENCE] = "missing fence: a request does not wait for a READ or "
				 "atomic that it depends on",
	};

	return text[kind];
}

const char *rn_san_wr_name(unsigned opcode)
{
	static const char *const text[] = {
#define X(symbol, number, word, name, words) [RN_WR_##symbol] = (words),
		RN_WR_OPCODES(X)
#undef X
	};

	return opcode < RN_ARRAY_SIZE(text) && text[opcode] ? text[opcode] : "request";
}

const char *rn_san_wc_name(unsigned opcode)
{
	switch (opcode) {
	case RN_WC_RECV:
		return "receive of a SEND";
	case RN_WC_RECV_RDMA_WITH_IMM:
		return "receive of an immediate";
	case RN_WC_SEND:
		return "SEND";
	case RN_WC_RDMA_WRITE:
		return "RDMA WRITE";
	case RN_WC_RDMA_READ:
		return "RDMA READ";
	case RN_WC_COMP_SWAP:
		return "compare and swap";
	case RN_WC_FETCH_ADD:
		return "fetch and add";
	case RN_WC_BIND_MW:
		return "bind";
	case RN_WC_LOCAL_INV:
		return "local invalidate";
	case RN_WC_FLUSH:
		return "FLUSH";
	case RN_WC_ATOMIC_WRITE:
		return "ATOMIC WRITE";
	default:
		return "completion";
	}
}

/* Does the CPU's way to the GPU push what waits there? */
static bool is_shared_way(const struct rn_pcie_knobs *k, const struct rn_tlp *tlp)
{
	return (k->p2p == RN_P2P_SHARED || tlp->flags & RN_TLP_NEAR) &&
	       k->gpu_link == RN_GPU_PCIE;
}

static struct rn_san_words of_kernel(const struct rn_pcie_knobs *k,
				     const struct rn_tlp *tlp)
{
	struct rn_san_words w;

	if (!is_shared_way(k, tlp)) {
		w.rule = "B2a: a read pushes writes on its own route only; this one is "
			 "shared with no CPU" NEXT
			 "access, flag or launch (another root port)";
		w.remedy = rn_agent_is_nic(tlp->requester)
				   ? "READ one byte of the buffer by a loopback QP of "
				     "the same NIC and take its" NEXT
				     "completion before the GPU is told"
				   : "let the transfer bounce (policy host or gpu), or "
				     "order it by a stream";
	} else if (tlp->state == RN_TLP_INSIDE || k->gpu_ordering == RN_GPU_ORDER_NONE) {
		w.rule = "GV1: writes of peers wait inside the GPU until a launch, a "
			 "flush or a read through" NEXT
			 "the BAR; a kernel that runs is told nothing";
		w.remedy = "rn_gpu_flush() (cuFlushGPUDirectRDMAWrites()) between the "
			   "completion and the flag, a" NEXT
			   "loopback READ, or launch the kernel after the completion";
	} else {
		w.rule = "D2a: a completion that goes to the GPU, as of a flag in host "
			 "memory, comes behind" NEXT
			 "the writes before it; nothing went that way";
		w.remedy =
			"let the kernel wait for a flag in host memory "
			"(rn_gpu_wait_host()), or launch it after" NEXT "the completion";
	}
	return w;
}

static struct rn_san_words of_other(const struct rn_pcie_knobs *k, unsigned reader,
				    const struct rn_tlp *tlp)
{
	struct rn_san_words w = {
		.rule = "B2a: a read pushes the writes before it on its own route; this "
			"one took another",
		.remedy = "READ one byte of the buffer by a loopback QP of the NIC that "
			  "wrote it, and take its" NEXT "completion before",
	};

	if (!rn_agent_is_nic(tlp->requester))
		w.remedy = "let the transfer bounce (policy host or gpu), or order what "
			   "follows by a stream";
	else if (reader == RN_AGENT_CPU && is_shared_way(k, tlp))
		w.remedy = "read it again by rn_gpu_bar_load(), or without "
			   "ROCIN_PCIE_TRAP=off";
	return w;
}

struct rn_san_words rn_san_words_of(const struct rn_pcie_knobs *k, unsigned reader,
				    const struct rn_tlp *tlp, bool is_covered)
{
	if (!is_covered)
		return (struct rn_san_words){
			.rule = "V8: bytes of a message are placed in any order; only a "
				"completion (V1) says that" NEXT "they are there",
			.remedy = "poll a completion, of a WRITE with immediate or of a "
				  "SEND after the WRITE, instead" NEXT
				  "of memory; or register without "
				  "IBV_ACCESS_RELAXED_ORDERING and ask" NEXT
				  "ibv_query_qp_data_in_order()",
		};
	if (rn_agent_is_gpu(reader) && tlp->target == reader)
		return of_kernel(k, tlp);
	return of_other(k, reader, tlp);
}
