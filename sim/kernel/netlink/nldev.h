/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nldev.h - answers requests of RDMA netlink (NETLINK_RDMA), without I/O.
 *
 * iproute2's rdma(8), libibverbs and librdmacm ask a kernel about its RDMA devices by
 * such requests. The caller passes requests, and gets the datagrams of the answers.
 * Commands, attributes and errors are those of drivers/infiniband/core/nldev.c and
 * netlink.c; numbers are in <rdma/rdma_netlink.h>. Requests that would change a device
 * are refused, because the devices of Rocin are those of ROCIN_NETDEVS.
 *
 * Each request is checked as the kernel checks it, because programs may send anything.
 * The answers are made from a list of devices and from copies of the statistics pages of
 * programs, which are not trusted either.
 */
#ifndef RNK_NETLINK_NLDEV_H
#define RNK_NETLINK_NLDEV_H

#include <sys/socket.h>

#include "rocin/stats.h"

struct rn_stats_list;

/* A device as it is shown in sysfs. */
struct rnk_nl_device {
	uint32_t index; /* unique number of the device */
	char name[32];
	char ifname[16]; /* "": unknown */
	uint32_t ifindex;
	uint64_t node_guid; /* in host order */
	bool up;
	/* sums of the counters of programs that used the device and have ended, or NULL
	 */
	const uint64_t *ended;
};

/* An id of rdma_cm. */
struct rnk_nl_cm_id {
	/* device that the id is bound to; "": it listens on all devices */
	char ibdev[32];
	int32_t pid;
	uint32_t number;
	uint32_t port_space;		  /* enum rdma_ucm_port_space */
	uint32_t qpn;			  /* number of the QP; 0: the id has none yet */
	uint8_t qp_type;		  /* enum ibv_qp_type */
	uint8_t state;			  /* enum rdma_cm_state of the kernel */
	struct sockaddr_storage src, dst; /* family 0: no address */
};

/* The data from which answers are made. */
struct rnk_nl_view {
	const struct rnk_nl_device *device;
	unsigned device_count;
	/* copies of the statistics pages of programs; NULL: there are no programs */
	const struct rn_stats_list *programs;
	const struct rnk_nl_cm_id *cm_id;
	size_t cm_id_count;
};

/* The program that has sent the request: port of its socket, and options of the socket.
 */
struct rnk_nl_asker {
	/* port of the socket; answers have it in nlmsg_pid as their destination */
	uint32_t port_id;
	/* NETLINK_CAP_ACK is set: error messages must not repeat the request */
	bool wants_capped;
	/* NETLINK_EXT_ACK is set: error messages may contain a sentence with the reason
	 */
	bool wants_reasons;
};

/* Called with each datagram of an answer. @data is valid during the call only. Returns 0,
 * or -errno to stop the answer.
 */
typedef int rnk_nl_send_fn(void *ctx, const void *data, size_t len);

/* Data that the answer to a request may need, besides the list of devices. */
enum {
	RNK_NL_PROGRAMS = 1, /* rnk_nl_view.programs */
	RNK_NL_CM_IDS = 2,   /* rnk_nl_view.cm_id */
};

/* Returns the data that the answers to the requests in this datagram need: RNK_NL_* bits.
 */
unsigned rnk_nldev_needs(const void *data, size_t len);

/**
 * rnk_nldev_answer() - Answer a datagram of requests
 * @data:	The datagram; @len bytes, of any alignment
 * @send:	Called with each datagram of the answers, at most RNK_NL_DATAGRAM bytes
 *
 * Return: 0, or what @send has returned if not 0.
 */
int rnk_nldev_answer(const struct rnk_nl_view *view, const struct rnk_nl_asker *asker,
		     const void *data, size_t len, rnk_nl_send_fn *send, void *ctx);

/* Returns a counter of a device, summed over the running programs @programs and those
 * that have ended. @ended: the sums over the latter.
 */
uint64_t rnk_nl_counter(const struct rn_stats_list *programs, const char *ibdev,
			const uint64_t *ended, enum rn_stat stat);

#endif /* RNK_NETLINK_NLDEV_H */
