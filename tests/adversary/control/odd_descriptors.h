/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* odd_descriptors.h - descriptors of every kind that a hostile client may pass. */
#ifndef ODD_DESCRIPTORS_H
#define ODD_DESCRIPTORS_H

enum odd {
	ODD_SEQPACKET, /* an end of a pair whose other end is kept */
	ODD_SHUT_DATAGRAM,
	ODD_STREAM,
	ODD_LISTENER,
	ODD_UNIX_DATAGRAM,
	ODD_UDP,
	ODD_NETLINK,
	ODD_FIFO,
	ODD_FULL_PIPE,
	ODD_EPOLL,
	ODD_EPOLL_OF_ITSELF, /* an epoll set with the control connection in it */
	ODD_EVENT,
	ODD_TIMER,
	ODD_SIGNAL,
	ODD_INOTIFY,
	ODD_PIDFD,
	ODD_NULL,
	ODD_DIRECTORY,
	ODD_PATH, /* O_PATH */
	ODD_FILE,
	ODD_EMPTY_MEMORY,
	ODD_MEMORY, /* a memfd that this process truncates later */
	ODD_LARGE_MEMORY,
	ODD_SEALED_MEMORY,
	ODD_SEALED_RULES, /* what rocind takes as fault rules */
	ODD_HUGE_SEALED,
	ODD_CONTROL, /* the connection itself */
	ODD_COUNT
};

/* Make one; @control is the connection that it may refer to. What keeps its other end
 * open, and what changes it later, stays in this file until odd_forget(). Return: the
 * descriptor, or -1 where there is none of the kind.
 */
int odd_open(enum odd kind, int control);

/* Change one of those that were passed: truncate memory, write to a pipe, close an end.
 */
void odd_change(unsigned which);

/* Close all that is kept. */
void odd_forget(void);

#endif /* ODD_DESCRIPTORS_H */
