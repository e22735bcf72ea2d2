/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* context.h - opens, closes and imports contexts. */
#ifndef RNP_CONTEXT_H
#define RNP_CONTEXT_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

struct rnp_context;
struct rnp_library;

/**
 * rnp_context_open() - Connect a context to its device
 * @ctx:	Made by the library, which has filled in @ctx->base; the rest is zeroed
 * @library:	The libibverbs that has opened the context
 * @origin:	The context whose open file @ctx shares, locked by rnp_open_with(), or
 *		NULL
 * @err:	Out: error text if the call fails, or if the device works without
 *		something that the environment requests
 *
 * Return: 0, or -errno with the context unchanged.
 */
int rnp_context_open(struct rnp_context *ctx, const struct rnp_library *library,
		     const struct rnp_context *origin, char *err, size_t err_len);

/* Closes a context; frees everything but the library's part of its memory block. */
void rnp_context_close(struct rnp_context *ctx);

/* Adds a context to the list of this process. The context shares the open file of @origin
 * or, if @origin is NULL, has one of its own.
 */
void rnp_open_add(struct rnp_context *ctx, const struct rnp_context *origin);
/* Removes from the list a context that is about to be closed. If another context of
 * the process shares its open file, that other context gets the objects that may have
 * been imported.
 */
void rnp_open_remove(struct rnp_context *ctx);
/* Calls @fn with the open context whose cmd_fd and @cmd_fd refer to the same open file,
 * or with NULL if there is none. The context stays open until @fn returns. Returns what
 * @fn returns.
 */
void *rnp_open_with(int cmd_fd, void *(*fn)(struct rnp_context *origin, void *arg),
		    void *arg);

struct ibv_pd *rnp_import_pd(struct ibv_context *context, uint32_t pd_handle);
struct ibv_mr *rnp_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void rnp_unimport_mr(struct ibv_mr *base);
struct ibv_dm *rnp_import_dm(struct ibv_context *context, uint32_t dm_handle);
void rnp_unimport_dm(struct ibv_dm *base);

#endif /* RNP_CONTEXT_H */
