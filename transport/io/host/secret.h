/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* secret.h - numbers that other users cannot guess.
 *
 * Threads: any; no state.
 */
#ifndef RN_SECRET_H
#define RN_SECRET_H

#include "rocin/types.h"

/* Returns 64 bits from the kernel: from getrandom() or, where that is denied or not ready
 * yet, from /dev/urandom; and if that cannot be read either, from the random bytes that
 * the kernel gave to the program when it was started.
 */
uint64_t rn_secret(void);

#endif /* RN_SECRET_H */
