/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* netns.h - a network namespace of one's own, without privilege where allowed. */
#ifndef NETNS_H
#define NETNS_H

#include <stdbool.h>

/* Move this process into a new network namespace with lo up. False: not possible here. */
bool netns_enter(void);

/* Run "ip ARGS..." there (printf style). False if it failed. */
bool netns_ip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* NETNS_H */
