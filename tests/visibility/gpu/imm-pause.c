/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* imm-pause.c - WRITE with immediate into GPU memory, and a kernel that reads no flag.
 *
 * question: A running kernel learns of the completion without a load over PCIe: it
 *           pauses for a time that was always long enough, the end of which the CPU
 *           tells it. Does it see the data?
 * reads:    a kernel that has been running, after a pause that ends when the CPU has
 *           the completion.
 * expect:   switch=wrong switch.none=wrong ports=wrong c2c=wrong relaxed=wrong
 * kind:     stale
 * rule:     P6: when the completion entry is in host memory the data has left the NIC,
 *           and may stand in the queue to the GPU. Only what takes this queue moves it.
 * litmus:   G3-core
 * sibling:  gpu/imm-launch
 * example:  cpu-flag
 */
#include "../kit.h"
#include <semaphore.h>

static sem_t pause_is_over;

static void pause_and_read(void *kernel)
{
	while (sem_wait(&pause_is_over))
		;
	vis_kernel_read(kernel);
}

int main(void)
{
	struct vis_nic *here = vis_open(0), *there = vis_open(1);
	struct rn_gpu_buffer gpu;
	struct ibv_mr *from = vis_source(here), *to = vis_gpu_memory(&gpu, there, 0);
	struct vis_kernel kernel = { .data = gpu.dev };
	struct vis_end a, b;

	vis_connect(&a, here, &b, there);
	sem_init(&pause_is_over, 0, 0);
	vis_launch(&gpu, pause_and_read, &kernel);
	vis_post_recv(&b, NULL);
	vis_write_imm(&a, from, to, 0);
	vis_poll_recv(&b);
	sem_post(&pause_is_over);
	vis_synchronize(&gpu);
	vis_poll_send(&a);
	return 0;
}
