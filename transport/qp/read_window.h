/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read_window.h - the room for responses that all QPs of a device share: READs and
 * atomics ask for no more bytes than our own sockets hold (cfg.read_window).
 */
#ifndef RN_READ_WINDOW_H
#define RN_READ_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "rocin/types.h"

struct rn_dev;
struct rn_qp;

/* May @qp ask for @bytes? False: it stands in line and is scheduled when it is its turn.
 */
bool rn_read_window_open(struct rn_qp *qp, rn_ns now, uint32_t bytes);

/* It has asked for them. */
void rn_read_window_charge(struct rn_qp *qp, uint32_t bytes);
/* They have come, or will not. */
void rn_read_window_credit(struct rn_dev *dev, uint32_t bytes);

/* It does not use its turn now, if this is its turn. */
void rn_read_window_yield(struct rn_qp *qp);
/* It does not want to ask any more. */
void rn_read_window_withdraw(struct rn_qp *qp);

#endif /* RN_READ_WINDOW_H */
