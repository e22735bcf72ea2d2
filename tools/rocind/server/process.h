/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process.h - makes this process a daemon that is independent of the process that
 * started it.
 */
#ifndef RND_PROCESS_H
#define RND_PROCESS_H

/* Detaches the process from its terminal and its parent. Redirects standard error to
 * standard input, which is a pipe to the parent. Closes every descriptor above the
 * standard ones except @keep_fd (-1: none). Resets inherited signal dispositions, signal
 * mask, processor affinity and real-time class. Changes to the root directory. A log file
 * with a relative name must be opened earlier.
 */
void rnd_process_detach(int keep_fd);

/* Prepares a process in the background or foreground: new files are private to the user,
 * SIGPIPE is ignored, and the limit of descriptors is raised to the hard limit.
 */
void rnd_process_prepare(void);

#endif /* RND_PROCESS_H */
