/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour_stops.c - the stops of `rocin tour`: words and settings, no machinery.
 *
 * Words of the specification, for readers who know sockets. What a word says of a run
 * holds for every value of the settings; what holds for some is a claim (tour_checks.c).
 */
#include <string.h>

#include "tour.h"

/* TLPs as large as many servers have them. */
#define SERVER "typical,granule=256"
/* Data waits until a rule forces it: what may go wrong goes wrong at the first try. */
#define WORST SERVER ",driver=adversarial,hold=inf,hold.polls=inf"

/* clang-format off */
#define SIZE(preset_) { .key = "size", .preset = (preset_), .min = 1, .max = 16384, \
			.help = "bytes of the message" }
#define MTU { .key = "mtu", .preset = "1024", .words = "256|512|1024|2048|4096", \
	      .help = "path MTU: bytes of the message in one packet" }
/* clang-format on */

static void lose(const struct rn_tour_values *v, char *rule, size_t len)
{
	const char *lost = rn_tour_word(v, "lost");

	if (!strcmp(lost, "ack"))
		snprintf(rule, len, "drop rx dev=rocin0 op=ACK nth=1");
	else
		snprintf(rule, len, "drop rx dev=rocin1 op=%s nth=1",
			 !strcmp(lost, "last") ? "SEND_LAST" : "SEND_MIDDLE");
}

const struct rn_tour_stop rn_tour_stops[RN_TOUR_STOPS] = {
	{
		.name = "register",
		.title = "Memory registration: who may touch what",
		.what = "A socket copies what arrives into the buffer of your call. An "
			"RDMA device reads and writes your memory by itself, at any "
			"time, so you say first which memory: ibv_reg_mr() makes a "
			"memory region (MR) with two keys. Your own requests name it "
			"by the L_Key. Requests of a peer reach it by the R_Key, as "
			"far as the region's access rights go, and not a byte beyond "
			"its bounds.",
		.calls = "B registers 4096 bytes and lets others write them. A then "
			 "tries to write 64 bytes there; of such WRITEs stop 3 has "
			 "more.",
		.wire = "A asks, B answers. Registering sends nothing. A WRITE that "
			"leaves the region is refused by B's device, with a negative "
			"acknowledgement (NAK); B's program never hears of it.",
		.pcie = "Registering moves nothing either. TLPs are the packets of "
			"PCIe: MRd is a read, CplD the data that comes back, MWr a "
			"write; A's NIC is A's device. A device tells its program that "
			"work is done by writing a completion queue entry (CQE).",
		.memory = "B's memory at that offset",
		.knobs = SERVER,
		.setting = { { .key = "offset",
			       .preset = "4064",
			       .max = 8192,
			       .help = "bytes into the region" } },
		.attempt = { { .words = "offset=4032",
			       .see = "the last 64 bytes of the region: an ACK, and "
				      "the bytes are there" } },
		.check = rn_tour_check_register,
	},
	{
		.name = "send",
		.title = "SEND: a message into a buffer that waits for it",
		.what = "A queue pair (QP) is what a socket is elsewhere: a send queue "
			"and a receive queue. Those of type RC, reliable connection, "
			"deliver messages whole, once and in order. A message goes "
			"into the oldest receive that the other end has posted. "
			"Posting hands a work request to the device and returns. A "
			"completion in the completion queue (CQ) says that it is done.",
		.calls = "An ibv_sge is address, length and L_Key of a piece of "
			 "memory. No call waits, and none copies.",
		.wire = "psn numbers packets. ackreq asks for an acknowledgement; the "
			"ACK names the last PSN that has arrived, and in msn how many "
			"messages are complete.",
		.pcie = "Each device reads and writes the memory of its own program; "
			"no processor copies a byte. A write does not overtake a write "
			"to the same memory, so who finds the CQE finds the data.",
		.memory = "The first bytes of both buffers",
		.knobs = SERVER,
		.setting = { SIZE("64"), MTU },
		.attempt = { { .words = "size=5000",
			       .see = "five packets: FIRST, MIDDLE, LAST. Who posts "
				      "sees one message all the same" },
			     { .words = "size=5000 mtu=4096",
			       .see = "two packets, one message" } },
		.check = rn_tour_check_send,
	},
	{
		.name = "write",
		.title = "RDMA WRITE: into memory of the peer, past its program",
		.what = "A names an address of B and the R_Key for it, and B's device "
			"places the bytes there. B posts nothing, does nothing, and "
			"is told nothing.",
		.calls = "A needs B's address and R_Key. Programs exchange them before, "
			 "by a SEND or over TCP.",
		.wire = "The first packet carries the address, the R_Key and the length "
			"(dmalen).",
		.pcie = "B's device writes the data, and no CQE for B, unless an "
			"immediate comes with it. B's program can look at the memory, "
			"but when it is complete it has to learn from somebody.",
		.memory = "The first bytes of both buffers",
		.knobs = SERVER,
		.setting = { SIZE("64"),
			     MTU,
			     { .key = "imm",
			       .preset = "no",
			       .words = "no|yes",
			       .help = "with immediate data" } },
		.attempt = { { .words = "imm=yes",
			       .see = "WRITE WITH IMMEDIATE takes a receive of B, and "
				      "B gets a completion" },
			     { .words = "size=3000",
			       .see = "one address, three packets" } },
		.check = rn_tour_check_write,
	},
	{
		.name = "read",
		.title = "RDMA READ: out of memory of the peer, past its program",
		.what = "The other way round: A names an address of B and the R_Key, "
			"and B's device sends what is there. The completion is A's. "
			"B's program is not asked.",
		.calls = "The ibv_sge says where the answer goes.",
		.wire = "One request; the responses bring the data, and acknowledge it. "
			"Each response has a PSN of its own, so the request takes as "
			"many of A's PSNs as its answer has packets.",
		.pcie = "B's device reads, A's device writes, and then A's CQE.",
		.memory = "The first bytes of both buffers",
		.knobs = SERVER,
		.setting = { SIZE("3000"), MTU },
		.attempt = { { .words = "mtu=4096", .see = "one response, ONLY" },
			     { .words = "size=64", .see = "and so here" } },
		.check = rn_tour_check_read,
	},
	{
		.name = "atomic",
		.title = "Atomics: read and change in one step",
		.what = "FETCH AND ADD adds to eight bytes of B, COMPARE AND SWAP "
			"replaces them if they are what A expects; both bring back "
			"what was there. However many ask at a time, each gets its "
			"turn. Locks and counters without a server are made of this.",
		.calls = "The address is a multiple of eight.",
		.wire = "The answer, an atomic acknowledge, carries the original value.",
		.pcie = "Most devices read and write, and let no other atomic of "
			"theirs in between. The CPU and other devices are not kept "
			"out (IBV_ATOMIC_HCA).",
		.memory = "The first eight bytes of both buffers, the lowest digits "
			  "first: 29 is 41",
		.knobs = SERVER,
		.setting = { { .key = "cswap",
			       .preset = "no",
			       .words = "no|yes",
			       .help = "COMPARE AND SWAP instead" },
			     { .key = "by",
			       .preset = "hca",
			       .words = "hca|pcie",
			       .knob = "atomic",
			       .help = "what makes it one step" } },
		.attempt = { { .words = "cswap=yes",
			       .see = "41 is expected and there: it becomes 1000" },
			     { .words = "by=pcie",
			       .see = "one AtomicOp, which the memory carries out: "
				      "atomic for everybody (pci_atomic_caps)" } },
		.check = rn_tour_check_atomic,
	},
	{
		.name = "rnr",
		.title = "RNR: the receiver is not ready",
		.what = "A SEND comes, and B has posted no receive. A socket would "
			"buffer it. An RDMA device has no place for it: it answers "
			"with an RNR NAK that says how long to wait "
			"(min_rnr_timer), and the sender's device sends it again "
			"then, rnr_retry times; 7 means for ever.",
		.calls = "The programs notice nothing but the delay, if it ends well.",
		.wire = "The NAK is drawn with ~, what is sent again with =.",
		.pcie = "A's device reads the message once for each try. B's writes "
			"only once there is a receive.",
		.knobs = SERVER,
		.setting = { SIZE("64"),
			     { .key = "rnr_timer",
			       .preset = "20",
			       .min = 1,
			       .max = 31,
			       .help = "code of B's timer; 20 is 10.24 ms" },
			     { .key = "rnr_retry",
			       .preset = "7",
			       .words = "0|7",
			       .help = "how often A tries again" } },
		.attempt = { { .words = "rnr_timer=26", .see = "82 ms instead of 10" },
			     { .words = "rnr_retry=0",
			       .see = "no second try: the work request fails" } },
		.check = rn_tour_check_rnr,
	},
	{
		.name = "lost",
		.title = "A lost packet: go-back-N",
		.what = "UDP loses packets, and RC has to deliver all the same. B's "
			"device takes packets in the order of their PSNs only. One "
			"that is ahead of its turn means that another is missing: a "
			"NAK names it, and A's device goes back and sends everything "
			"from there again. If nothing comes to notice it by, a timer "
			"of A's does (local ACK timeout, timeout and retry_cnt of the "
			"QP).",
		.calls = "The programs do what they always do. Here a rule loses the "
			 "packet; see rocin-fault(5).",
		.wire = "Lines without an arrow are what a device said of the packet "
			"above them.",
		.pcie = "What is sent again is read again from memory: the buffer "
			"belongs to the device until the completion.",
		.knobs = SERVER,
		.setting = { { .key = "size",
			       .preset = "3000",
			       .min = 2049,
			       .max = 16384,
			       .help = "bytes of the message" },
			     { .key = "lost",
			       .preset = "middle",
			       .words = "middle|last|ack",
			       .help = "which packet" } },
		.attempt = { { .words = "lost=last",
			       .see = "nothing comes after it, so the timer has to "
				      "notice: slow" },
			     { .words = "lost=ack",
			       .see = "B has everything; it is sent again, and taken "
				      "once" } },
		.fault = lose,
		.check = rn_tour_check_lost,
	},
	{
		.name = "gpu",
		.title = "A stale GPU buffer: complete, and not there",
		.what = "A READs into the memory of a GPU. The completion goes to host "
			"memory, the data to the GPU: two ways, and nothing orders "
			"them. So a program can have the completion while the data is "
			"still on its way, and a kernel that runs on the GPU reads "
			"what was there before. On hardware that happens once a "
			"month; here each time.",
		.calls = "A flush makes it right: cuFlushGPUDirectRDMAWrites() on "
			 "hardware.",
		.wire = "The wire knows nothing of it.",
		.pcie = "Of a write the time says when the GPU's kernels can see it. "
			"The CQE is earlier.",
		.memory = "The buffer, as each of the two kernels read it",
		.knobs = WORST,
		.setting = { { .key = "flush",
			       .preset = "no",
			       .words = "no|yes",
			       .help = "flush before the first kernel is told" },
			     { .key = "ordering",
			       .preset = "none",
			       .words = "none|owner|all",
			       .knob = "gpu.ordering",
			       .help = "what the GPU itself promises" } },
		.attempt = { { .words = "flush=yes",
			       .see = "the first kernel has all of the data" },
			     { .words = "ordering=owner",
			       .see = "a GPU that orders what peers write: the kernel's "
				      "read of the flag pushes the data" },
			     { .command = "example read-completion",
			       .see = "this as a program of one page; there are nine "
				      "more" } },
		.check = rn_tour_check_gpu,
	},
};
