/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture.h - captures of one device that come and go while it is in use.
 *
 * Threads: engine lock held.
 */
#ifndef RNP_CAPTURE_H
#define RNP_CAPTURE_H

#include <stddef.h>

struct rn_fault_news;
struct rnp_engine;
struct rn_rocind_tap;

/* Begin the log that ROCIN_PCAP asks for, if it does; see rn_capture_log_open(). Return:
 * 0 or -errno with a sentence.
 */
int rnp_capture_start(struct rnp_engine *e, unsigned slot, char *err, size_t err_len);

/* Somebody captures; the descriptor of @tap is closed. What stands in the way is logged.
 */
void rnp_capture_begin(struct rnp_engine *e, const struct rn_rocind_tap *tap);

void rnp_capture_end(struct rnp_engine *e, const struct rn_rocind_tap *tap);

/* Faults have met a packet; @ctx is the engine. */
void rnp_capture_tell(void *ctx, const struct rn_fault_news *news);

#endif /* RNP_CAPTURE_H */
