/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* client.h - the user's side of a network drive, as librocin-netdrive.so.0 exports it.
 *
 * It is a library of its own, loaded by libcufile.so.0 when a file is on a network drive,
 * so that programs with local files need no libibverbs.
 */
#ifndef RN_NETDRIVE_CLIENT_H
#define RN_NETDRIVE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "rocin/storage.h"

struct rn_netdrive_file;

struct rn_netdrive_api {
	/**
	 * open() - Open a file of a network drive
	 * @server:	"ADDRESS:PORT" or "ADDRESS", IPv4
	 * @path:	Of the file, below the folder that the server serves
	 * @address:	IPv4 address of the RDMA device of this machine; NULL: the one by
	 *		which the server is reached
	 * @err:	Out on failure: one sentence
	 *
	 * Files of one server share a connection. Return: the file, to be closed by
	 * @ops->close(); NULL on failure.
	 */
	struct rn_netdrive_file *(*open)(const char *server, const char *path,
					 const char *address, char *err, size_t err_len);
	struct rn_storage_remote ops; /* with the file as ctx */
};
extern const struct rn_netdrive_api rn_netdrive_api;

#endif /* RN_NETDRIVE_CLIENT_H */
