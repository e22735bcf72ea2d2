/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process.h - makes this process a daemon that is independent of the process that started
 * it.
 */
#ifndef RND_PROCESS_H
#define RND_PROCESS_H

/* Redirects standard error to standard input, a pipe. Closes every descriptor above the
 * standard ones except @keep_fd (-1: none). Resets inherited signal dispositions, signal
 * mask, processor affinity and real-time class. Changes to the root directory. The log
 * file is opened before that, as its name may be relative.
 */
void rnd_process_detach(int keep_fd);

/* Needed in the foreground, too: files are private, SIGPIPE is ignored, and the limit of
 * descriptors is raised to the hard limit.
 */
void rnd_process_prepare(void);

#endif /* RND_PROCESS_H */
