/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace_points.h - statically defined trace points (USDT) of the provider, for perf(1),
 * bpftrace and SystemTap; the only list of them.
 *
 * rn_trace_NAME(...) is one nop and a note in the ELF file that says where the nop and
 * the arguments are; a tracer puts a breakpoint there. The core has no trace points:
 * these show what goes into it and comes out. Where <sys/sdt.h> (systemtap-sdt-dev) was
 * missing when Rocin was built, the functions do nothing.
 *
 * Arguments are numbers: types, states, opcodes and statuses as verbs define them, bytes,
 * and nanoseconds. Scripts of users rely on names and arguments: add new ones at the end.
 *
 * Threads: any.
 */
#ifndef RN_TRACE_POINTS_H
#define RN_TRACE_POINTS_H

#include <stdint.h>

/* clang-format off */
/* The list of trace points: name; number, types and names of the arguments; and when the
 * point is passed.
 */
#define RN_TRACE_POINTS(X) \
	X(qp_create, 2, (uint32_t qpn, uint32_t type), (qpn, type), \
	  "a queue pair was made") \
	X(qp_modify, 4, (uint32_t qpn, uint32_t mask, uint32_t state, int32_t err), \
	  (qpn, mask, state, err), \
	  "ibv_modify_qp() is about to return; state is what was asked for") \
	X(qp_destroy, 1, (uint32_t qpn), (qpn), \
	  "a queue pair is about to go") \
	X(post_send, 5, (uint32_t qpn, uint64_t wr_id, uint32_t opcode, uint32_t flags, int32_t err), \
	  (qpn, wr_id, opcode, flags, err), \
	  "a request was posted, or refused") \
	X(post_recv, 3, (uint32_t qpn, uint64_t wr_id, int32_t err), (qpn, wr_id, err), \
	  "a receive was posted to a queue pair, or refused") \
	X(completion, 5, (uint32_t qpn, uint64_t wr_id, uint32_t status, uint32_t vendor_err, uint32_t bytes), \
	  (qpn, wr_id, status, vendor_err, bytes), \
	  "the program took a completion") \
	X(transmit, 4, (uint32_t slot, uint32_t packets, uint32_t bytes, int32_t err), \
	  (slot, packets, bytes, err), \
	  "packets were given to the wire, for the process of this slot") \
	X(receive, 2, (uint32_t packets, uint32_t first_bytes), (packets, first_bytes), \
	  "packets were taken from the wire") \
	X(expire, 1, (uint64_t late_ns), (late_ns), \
	  "a timer of the transport ran out so long ago") \
	X(event, 2, (uint32_t is_completion, uint32_t type), (is_completion, type), \
	  "an armed completion queue fired, or an asynchronous event of this type came")
/* clang-format on */

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define RN_HAS_TRACE_POINTS 1
#else
#define RN_HAS_TRACE_POINTS 0
#define STAP_PROBE1(provider, name, ...) rn_trace_nothing(1, __VA_ARGS__)
#define STAP_PROBE2(provider, name, ...) rn_trace_nothing(2, __VA_ARGS__)
#define STAP_PROBE3(provider, name, ...) rn_trace_nothing(3, __VA_ARGS__)
#define STAP_PROBE4(provider, name, ...) rn_trace_nothing(4, __VA_ARGS__)
#define STAP_PROBE5(provider, name, ...) rn_trace_nothing(5, __VA_ARGS__)

static inline void rn_trace_nothing(int count, ...)
{
	(void)count;
}
#endif

#define RN_TRACE_LIST(...) __VA_ARGS__
#define RN_TRACE_CALL(macro, ...) macro(__VA_ARGS__)
#define X(name, count, params, args, when)                                         \
	static inline __attribute__((always_inline)) void rn_trace_##name params   \
	{                                                                          \
		RN_TRACE_CALL(STAP_PROBE##count, rocin, name, RN_TRACE_LIST args); \
	}
RN_TRACE_POINTS(X)
#undef X

#endif /* RN_TRACE_POINTS_H */
