/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_ioctl.h - answers to the ioctls that libibverbs sends to the kernel.
 *
 * Under `rocin run` the preloaded library answers them. Where that library is not loaded,
 * or libibverbs was loaded in a way that bypasses it, the ioctl would go to /dev/null,
 * and libibverbs would use an uninitialised number as completion channel. So each opening
 * of a device checks that ioctls are answered, and if they are not, the plugin answers
 * them itself.
 */
#ifndef RNP_CMD_IOCTL_H
#define RNP_CMD_IOCTL_H

#include <stddef.h>

/**
 * rnp_cmd_ensure() - Make sure that requests on @cmd_fd are answered
 * @verbs:	Handle of the loaded libibverbs
 * @err:	Out on failure: error text
 *
 * Sends a probe through the reference to ioctl() that libibverbs uses. If there is no
 * answer, that reference is redirected to the plugin, once per process.
 *
 * Return: 0, or -ENOSYS if the requests would stay unanswered.
 */
int rnp_cmd_ensure(void *verbs, int cmd_fd, char *err, size_t err_len);

/**
 * rnp_got_find() - Find the slot of the GOT through which a library calls a function
 * @handle:	Handle of the calling library, from dlopen()
 * @symbol:	Name of the function
 *
 * Return: address of the slot, which holds the address of the function (or of the code
 *	   that binds it at the first call); NULL if the library does not import it or the
 *	   processor is neither x86-64 nor aarch64.
 */
void **rnp_got_find(void *handle, const char *symbol);

#endif /* RNP_CMD_IOCTL_H */
