/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire_memory.h - how the memory of a local wire is laid out: the ring of role 0, which
 * process 0 sends by, then that of role 1.
 */
#ifndef RN_WIRE_MEMORY_H
#define RN_WIRE_MEMORY_H

#include "transport/io/shm/ring.h"

enum {
	/* Half of a usual L2 cache: with more, what the producer writes has left it
	 * before the consumer reads it.
	 */
	RN_WIRE_CAPACITY = 256 << 10,
	RN_WIRE_RING_BYTES = RN_RING_CONTROL + RN_WIRE_CAPACITY,
	RN_WIRE_BYTES = 2 * RN_WIRE_RING_BYTES,
};

#endif /* RN_WIRE_MEMORY_H */
