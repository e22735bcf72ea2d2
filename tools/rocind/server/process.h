/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process.h - make this process a daemon that owes nothing to the one that started it. */
#ifndef RND_PROCESS_H
#define RND_PROCESS_H

/* Standard error becomes what standard input is. Close every descriptor above the
 * standard ones but @keep_fd (-1: none), forget signal dispositions, mask, processor
 * affinity and real-time class that were inherited, move to the root directory. The log's
 * file is opened before that, as its name may be relative.
 */
void rnd_process_detach(int keep_fd);

/* For every way of running: private files, no SIGPIPE, as many descriptors as the hard
 * limit allows.
 */
void rnd_process_prepare(void);

#endif /* RND_PROCESS_H */
