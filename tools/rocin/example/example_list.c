/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* example_list.c - see example_list.h */
#include <stddef.h>

#include "example_list.h"

/* Data waits until a rule forces it: what may go wrong goes wrong at the first try. */
#define WORST ",driver=adversarial,hold=inf,hold.polls=inf"

const struct rn_example rn_examples[] = {
	{
		.name = "read-completion",
		.question = "An RDMA READ into GPU memory has completed. Is the data "
			    "there?",
		.knobs = "typical,gpu.ordering=none" WORST,
		.expected = "The completion was polled, so a kernel that the CPU then "
			    "tells sees the data.",
		.why = "The completion entry goes to host memory and the data to the "
		       "GPU, which may keep writes of peers inside before its kernels "
		       "see them (gpu.ordering=none). Reading the flag pushes the data "
		       "to the GPU, not out of its inside.",
		.remedy = "Flush the GPU after the completion and before the flag: "
			  "rn_gpu_flush(), on hardware cuFlushGPUDirectRDMAWrites().",
	},
	{
		.name = "write-immediate",
		.question = "WRITE WITH IMMEDIATE into GPU memory: may a running kernel "
			    "be told?",
		.knobs = "typical,gpu.ordering=none" WORST,
		.expected = "An immediate tells the target that the data is there.",
		.why = "It tells the CPU. Kernels that run are not part of that promise; "
		       "only work that the CPU submits afterwards is.",
		.remedy =
			"Launch the kernel after the completion. A launch is a doorbell "
			"that takes the data's last queue and empties the GPU's inside.",
	},
	{
		.name = "write-send",
		.question = "WRITE into GPU memory, then SEND on the same QP: does the "
			    "SEND's completion cover the WRITE?",
		.knobs = "typical,gpu.ordering=none" WORST,
		.expected = "Both go over one QP, so what was written is there when the "
			    "SEND has been received.",
		.why = "In order it is, at the NIC. The WRITE went to the GPU and the "
		       "SEND to host memory; no rule orders two routes.",
		.remedy = "The sender READs a byte of what it wrote before it SENDs, and "
			  "fences the SEND: a read pushes the writes before it (B2a) and "
			  "is answered from behind them.",
	},
	{
		.name = "last-byte",
		.question = "The first and the last byte of a WRITE are there. Is what "
			    "lies between?",
		.knobs = "ibta",
		.expected = "Bytes are placed in order, so the last byte comes last.",
		.why = "Within a message the order of placement is not defined. Many "
		       "NICs place upward, and programs that rely on it work until they "
		       "meet one that does not.",
		.remedy = "Poll a completion: of a WRITE WITH IMMEDIATE, or of a SEND "
			  "after the WRITE.",
	},
	{
		.name = "source-reuse",
		.question = "When may the source of a WRITE be filled again?",
		.knobs = "typical",
		.expected = "ibv_post_send() has returned, so the NIC has the data.",
		.why = "The NIC has a work request. It reads the buffer when it gets to "
		       "it, and again if a packet is lost.",
		.remedy =
			"Poll the completion first, or post with IBV_SEND_INLINE, which "
			"copies.",
	},
	{
		.name = "cpu-flag",
		.question = "Why does a flag in host memory that the GPU reads push the "
			    "NIC's writes?",
		.knobs = "typical" WORST,
		.expected = "The CPU has polled the completion; the kernel may look at "
			    "the data however it learns of that.",
		.why = "When the completion is in host memory the data has left the NIC, "
		       "but it may stand in the queue to the GPU. Nothing that goes "
		       "around this queue moves it.",
		.remedy =
			"Let the kernel read a flag in host memory: the answer takes "
			"the same queue and does not overtake the data (D2a). That needs "
			"one link for both and gpu.ordering=owner.",
	},
	{
		.name = "loopback-read",
		.question = "How is a GPU flushed whose data comes through another root "
			    "port?",
		.knobs = "typical,gpu.ordering=none,rc.p2p=split" WORST,
		.expected = "The CPU's flush call makes all writes to the GPU visible.",
		.why = "It pushes what takes the CPU's way to the GPU. NIC and GPU are "
		       "below different root ports: the data takes another.",
		.remedy =
			"READ one byte of the buffer by a QP of the same NIC that is "
			"connected to itself, and wait for its completion: it takes the "
			"data's way (B2a) and empties the GPU's inside. NCCL does so.",
	},
	{
		.name = "storage-completion",
		.question = "A file was read into GPU memory. May a running kernel be "
			    "told?",
		.knobs = "typical,gpu.ordering=none" WORST,
		.expected = "The drive has completed, so the data is in the GPU.",
		.why = "A drive is a DMA engine like a NIC: data to the GPU, completion "
		       "entry to host memory, two routes.",
		.remedy = "Order by a stream, launch the kernel afterwards, or flush.",
	},
	{
		.name = "storage-route",
		.question = "Which way does a file take to a GPU that is far from the "
			    "drive?",
		.knobs = "typical,rc.p2p=split" WORST,
		.expected = "A kernel that is launched after the completion sees the "
			    "data.",
		.why = "Drive and GPU are below different root ports. The launch takes "
		       "the CPU's way to the GPU and pushes nothing on the drive's.",
		.remedy =
			"Bounce: through a GPU below the drive's switch or through host "
			"memory. The transfer is complete when the copy is. The default "
			"policy does so by itself.",
	},
	{
		.name = "load-then-send",
		.question = "A file was read into GPU memory. May the buffer be sent on?",
		.knobs = "typical,rc.p2p=split" WORST,
		.expected = "The drive has completed, so the NIC sends what was read.",
		.why = "The NIC's read of the buffer pushes what the NIC has written, "
		       "not "
		       "what the drive has: each has its own way to the GPU.",
		.remedy =
			"Order the read by a stream, or let it bounce, before the buffer "
			"is posted.",
	},
	{ .name = NULL },
};
