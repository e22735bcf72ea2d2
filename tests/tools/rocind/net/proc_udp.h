/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* proc_udp.h - the kernel's tables of UDP sockets as a test wants them: for one program,
 * linked with --wrap=fopen.
 */
#ifndef RN_TEST_PROC_UDP_H
#define RN_TEST_PROC_UDP_H

#include <stdio.h>
#include <string.h>

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

/* Texts of /proc/net/udp and /proc/net/udp6; NULL: there is none. */
static const char *udp, *udp6;

#define HEAD                                                                             \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   " \
	"uid\n"
/* @address and @port in hexadecimal */
#define LINE(address, port, uid, inode)                                 \
	"  7: " address ":" port                                        \
	" 00000000:0000 07 00000000:00000000 00:00000000 00000000 " uid \
	"        0 " inode " 2 0000000000000000 0\n"

FILE *__wrap_fopen(const char *path, const char *mode)
{
	const char *text = NULL;

	if (strcmp(path, "/proc/net/udp") == 0)
		text = udp;
	else if (strcmp(path, "/proc/net/udp6") == 0)
		text = udp6;
	else
		return __real_fopen(path, mode);
	return text ? fmemopen((void *)text, strlen(text), "r") : NULL;
}

#endif /* RN_TEST_PROC_UDP_H */
