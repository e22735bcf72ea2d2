/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* port_counters.h - the counters of a port in sysfs, and how they are computed.
 *
 * ports/1/hw_counters has a file for each counter of Rocin (rocin/stats.h). The names in
 * ports/1/counters are those of the kernel (drivers/infiniband/core/sysfs.c) and of the
 * performance management class (IBTA Vol 1, 16.1.3.5); amounts of data are in words of
 * four bytes.
 */
#ifndef RNK_PORT_COUNTERS_H
#define RNK_PORT_COUNTERS_H

#include "rocin/stats.h"

/* X(NAME, DIVISOR, SUM): the counter NAME has the value SUM / DIVISOR. SUM is a sum of
 * counters, each written as C(symbol of RN_STATS).
 */
#define RNK_PORT_COUNTERS(X)                                              \
	X(port_xmit_data, 4, C(TX_BYTES))                                 \
	X(port_rcv_data, 4, C(RX_BYTES))                                  \
	X(port_xmit_packets, 1, C(TX_PACKETS))                            \
	X(port_rcv_packets, 1, C(RX_PACKETS))                             \
	X(unicast_xmit_packets, 1, C(TX_PACKETS) - C(TX_MULTICAST))       \
	X(unicast_rcv_packets, 1, C(RX_PACKETS) - C(RX_MULTICAST))        \
	X(multicast_xmit_packets, 1, C(TX_MULTICAST))                     \
	X(multicast_rcv_packets, 1, C(RX_MULTICAST))                      \
	X(port_rcv_errors, 1,                                             \
	  C(RX_ICRC) + C(RX_SHORT) + C(RX_BAD_TVER) + C(RX_BAD_OPCODE))   \
	X(port_rcv_constraint_errors, 1, C(RX_BAD_PKEY) + C(RX_BAD_QKEY)) \
	X(port_rcv_remote_physical_errors, 1, 0)                          \
	X(port_rcv_switch_relay_errors, 1, 0)                             \
	X(port_xmit_constraint_errors, 1, 0)                              \
	X(port_xmit_discards, 1, C(TX_DROPPED) + C(TX_TOO_LONG))          \
	X(port_xmit_wait, 1, 0)                                           \
	X(excessive_buffer_overrun_errors, 1, C(SOCK_OVERFLOW))           \
	X(link_downed, 1, 0)                                              \
	X(link_error_recovery, 1, 0)                                      \
	X(local_link_integrity_errors, 1, 0)                              \
	X(symbol_error, 1, 0)                                             \
	X(VL15_dropped, 1, 0)

#endif /* RNK_PORT_COUNTERS_H */
