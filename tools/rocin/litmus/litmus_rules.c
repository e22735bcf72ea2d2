/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_rules.c - the rules that tests name: what each says, and what helps. */
#include <string.h>

#include "litmus_report.h"

static const struct rn_litmus_rule rules[] = {
	{ "P1", "a write without RO does not overtake writes on its route (PCIe A2a)",
	  "keep relaxed ordering off flags; put flag and data behind one route" },
	{ "P2", "a read pushes the writes before it on its route (PCIe B2a)",
	  "read back from the target, through the NIC and the route that wrote" },
	{ "P3", "an AtomicOp pushes like a read unless it carries RO (PCIe C2a, C2b)",
	  "register the flag of an atomic without relaxed ordering" },
	{ "P4", "a completion pushes writes that travel the same way (PCIe D2a)",
	  "let the reader's answer come on the route of the data, or flush" },
	{ "P5", "reads overtake reads, and their answers each other (PCIe B3, D5a)",
	  "await the first READ before posting the second, or set a fence" },
	{ "P6", "different routes have no order",
	  "read back through the route of the data, or complete on that route" },
	{ "P7", "what becomes visible at once is a granule, not a message",
	  "await a completion instead of looking at bytes" },
	{ "V1", "data is there only once a completing event has been seen",
	  "poll the completion before touching the buffer" },
	{ "V2", "a source buffer belongs to the NIC until the completion is polled",
	  "poll the completion before reusing the buffer, or send inline" },
	{ "V3", "inline data is copied while posting", "nothing: the buffer is free" },
	{ "V4", "completions of one send queue come in posting order, of others in any",
	  "poll each queue for its own completions" },
	{ "V5", "operations of one QP keep the order that the IBTA table marks '#'",
	  "post both to one QP" },
	{ "V6", "after a READ or atomic the table keeps order only with a fence",
	  "set IBV_SEND_FENCE on the later work request, or await the first" },
	{ "V7", "a fence waits for all READs and atomics before it",
	  "set IBV_SEND_FENCE; it is no barrier for WRITEs to other memory" },
	{ "V8", "inside one message the bytes are placed in any order",
	  "never poll the last byte: use a SEND, an immediate or a second WRITE" },
	{ "V9", "an atomic of the NIC is atomic only among atomics of that NIC",
	  "let everybody use atomics of one NIC, or look for pci_atomic_caps" },
	{ "V10", "a polled WRITE need not be visible at the target yet",
	  "follow it with a READ of the same QP, FLUSH, or a message to the reader" },
	{ "V11", "different QPs have no order",
	  "use one QP, or await the first before posting to the other" },
	{ "V12", "relaxed ordering gives up the order of writes",
	  "register the flag without IBV_ACCESS_RELAXED_ORDERING" },
	{ "V13", "FLUSH answers when earlier data is visible; ATOMIC WRITE waits for it",
	  "post FLUSH, then the flag as ATOMIC WRITE" },
	{ "V14", "a UC completion says only that the message has left",
	  "let the receiver answer, or use RC" },
	{ "GV1", "what has reached a GPU's BAR is not yet visible to a running kernel",
	  "flush: READ through a loopback QP, the driver's flush, or a new launch" },
	{ "GV2", "a read through the BAR makes what is inside the GPU visible",
	  "READ one byte of the buffer through a loopback QP of the same NIC" },
	{ "T1", "a CPU's store may wait while its later loads run",
	  "put a full fence between store and load" },
	{ "T2", "a post is behind the CPU's earlier stores", "nothing: it is ordered" },
};

const struct rn_litmus_rule *rn_litmus_find_rule(const char *name, size_t len)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(rules); i++)
		if (strlen(rules[i].name) == len && !memcmp(rules[i].name, name, len))
			return &rules[i];
	return NULL;
}
