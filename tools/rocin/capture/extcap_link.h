/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* extcap_link.h - the link to this program in a user's extcap directory, which is how
 * Wireshark comes to know of it.
 *
 * Where that is Wireshark or tshark itself is asked: it depends on version and settings.
 */
#ifndef RN_EXTCAP_LINK_H
#define RN_EXTCAP_LINK_H

#include <stddef.h>

/* Make the link, or remove it. @text: out, one sentence about what was done, or why it
 * was not. Return: 0 or -errno.
 */
int rn_extcap_install(char *text, size_t len);
int rn_extcap_remove(char *text, size_t len);

#endif /* RN_EXTCAP_LINK_H */
