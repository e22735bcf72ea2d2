/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpu-reads.c - WRITE with immediate into GPU memory, which the CPU reads itself.
 *
 * question: The CPU has polled the completion of an immediate, and reads the data in
 *           GPU memory through the BAR. Is it there?
 * reads:    the CPU of the target, through the BAR, after the receive completion.
 * expect:   switch=right switch.none=right ports=wrong c2c=wrong relaxed=right
 * kind:     stale
 * rule:     P2: each load is a read that pushes the data, if both take one way to the
 *           GPU (P6).
 * litmus:   G11-cpu-sees-gpu-data-through-BAR
 * sibling:  gpu/cpu-reads-after-loopback
 */
#include "../kit.h"

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	vis_look(to);
	vis_poll_send(&a);
	return 0;
}
