/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host.c - a drive reads a file into host memory.
 *
 * question: A drive has read a file into host memory and reported completion. May the
 *           CPU look?
 * reads:    the CPU, after the completion of the drive.
 * expect:   switch=right switch.none=right ports=right c2c=right relaxed=right
 * kind:     none
 * rule:     P1: data and completion entry take one way to host memory, in order.
 * litmus:   VD5-host
 * sibling:  storage/launch
 */
#include "../kit.h"

int main(void)
{
	static _Alignas(4096) uint8_t data[DATA];
	struct rn_storage_file *file = vis_file();

	vis_storage_buffer(data);
	vis_load(file, data);
	vis_look_at(data, DATA);
	return 0;
}
