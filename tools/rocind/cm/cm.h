/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm.h - the connection manager that all programs share. It connects ucma.h, which does
 * no I/O, to sockets and a timer.
 *
 * Packets of QP1 are received and sent by the sockets of slot 0, which belong to rocind
 * itself (group.h). Programs send commands over channels (cmdev.h).
 */
#ifndef RND_CM_H
#define RND_CM_H

#include "tools/rocind/server/server.h"

struct rn_flow;
struct rn_gid;
struct rnd_cm;

/* Returns a new connection manager, or NULL if there is no memory. It is started when the
 * first channel is opened or the first packet comes.
 */
struct rnd_cm *rnd_cm_new(struct rnd_server *server);
/* Closes all channels and frees @cm. Each peer gets a DREQ, unless the group (the sockets
 * of this host's address) is closed already.
 */
void rnd_cm_free(struct rnd_cm *cm);

/**
 * rnd_cm_open() - Open a channel for a program
 * @netdevs:	The program's devices, in the syntax of ROCIN_NETDEVS
 * @fd:	Out: the end of the channel that is for the program
 *
 * Return: 0, or -errno with an error text in @err.
 */
int rnd_cm_open(struct rnd_cm *cm, const char *netdevs, int *fd, char *err,
		size_t err_len);

/* Returns the descriptor of the board, the memory in which rdma_cm ids are published
 * (cm_board.h). The caller may pass it to a program that has a channel, but must not
 * close it. Returns -1 if there is no such memory.
 */
int rnd_cm_board_fd(const struct rnd_cm *cm);

/* Returns true if any channel is open. As long as one is, rocind must not end. */
bool rnd_cm_is_open(const struct rnd_cm *cm);

/* Returns true if any program with a channel has a device with this address. Returns
 * false if @cm is NULL.
 */
bool rnd_cm_wants(const struct rnd_cm *cm, const struct rn_gid *gid, uint32_t scope);

/* Notifies the rdma_cm ids on this interface that its link address has changed. */
void rnd_cm_addresses_changed(struct rnd_cm *cm, uint32_t ifindex);

/* Counts the objects of the connection manager for a report. If @cm is NULL, all counts
 * are 0.
 */
struct rnd_ucma_counts;
void rnd_cm_count(const struct rnd_cm *cm, struct rnd_ucma_counts *out);

/* Writes the rdma_cm ids of all programs into a file, each as a struct rn_ctl_cm_id. If
 * @cm is NULL, there are none. Returns the descriptor of the file, which the caller must
 * close, or -errno.
 */
int rnd_cm_list_ids(const struct rnd_cm *cm);

/* Processes a packet to QP1. @pkt begins with the BTH. Returns false if the packet is
 * dropped.
 */
bool rnd_cm_packet(struct rnd_cm *cm, const struct rn_flow *flow, const uint8_t *pkt,
		   size_t len);

/* Passes all packets of QP1 to a capture, as rn_capture_add() does. Returns its result,
 * or -ENOMEM.
 */
struct rn_capture_filter;
int rnd_cm_capture(struct rnd_cm *cm, uint64_t id, int ring, uint32_t size,
		   const struct rn_capture_filter *filter);
/* Ends the capture @id; does nothing if there is none, or if @cm is NULL. */
void rnd_cm_end_capture(struct rnd_cm *cm, uint64_t id);

/* Replaces the fault rules by those in @text; NULL: no rules. */
void rnd_cm_set_faults(struct rnd_cm *cm, const char *text);

/* For each fault rule (i is its number in the text of the rules), adds to seen[i] how
 * many packets of QP1 the rule has seen in this process, and to hits[i] to how many it
 * was applied.
 */
void rnd_cm_count_faults(const struct rnd_cm *cm, uint64_t *seen, uint64_t *hits);

/* ---- Handing over to a successor ---- */

/* Makes the board (memory in which programs read about their rdma_cm ids, cm_board.h)
 * unless there is one. Must be called before the keeper is started: a successor of this
 * rocind is a fork of the keeper, so it only has mappings that existed when the keeper
 * was started. Returns the descriptor of the board, or -1.
 */
int rnd_cm_make_board(struct rnd_cm *cm);

/* rnd_cm_keep() sends the keeper everything that has changed since its last call.
 * rnd_cm_keep_all() sends it everything. The keeper is the process that starts a
 * successor if rocind dies.
 */
void rnd_cm_keep(struct rnd_cm *cm);
void rnd_cm_keep_all(struct rnd_cm *cm);

/* Called when this process will not write to the board any more (memory in which programs
 * read about their rdma_cm ids, cm_board.h). Removes the answers to queries from the
 * board, so that a program that still reads this board asks rocind instead. The list of
 * existing ids stays on the board.
 */
void rnd_cm_hide_answers(struct rnd_cm *cm);

/* Restores, in a successor of rocind, the rdma_cm id, event or group that record @r
 * describes. @old: the connection manager of the first rocind, which the successor has
 * inherited by fork(); its board stays in use. NULL: rnd_cm_make_board() will make a new
 * board.
 */
void rnd_cm_restore(struct rnd_cm *cm, struct rnd_cm *old, struct rnd_record *r);

/* Called after the last rnd_cm_restore(): publishes the rdma_cm ids, announces events,
 * and restarts the timers.
 */
void rnd_cm_restored(struct rnd_cm *cm);

#endif /* RND_CM_H */
