/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* persona.h - devices of other makers whose capabilities and limits a Rocin device
 * can report.
 *
 * Programs choose their code paths by what ibv_query_device_ex() reports and by what a
 * device refuses. A persona is a table of both for one kind of device: with `rocin run
 * --as NAME' a program takes the path that it takes with such a device. What goes over
 * the wire does not change, and no limit is larger than Rocin's own.
 *
 * All functions are pure and may be called from any thread. A persona of NULL is Rocin
 * itself: nothing is changed, and nothing is refused.
 */
#ifndef RNP_PERSONA_H
#define RNP_PERSONA_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rnp_persona;

/**
 * rnp_persona_read() - Find the persona that the environment names
 * @p:		Out: the persona of ROCIN_AS; NULL if it is not set or empty
 * @err:	Out on failure: error text that names the variable and the personas
 *
 * The environment is read with secure_getenv(): in a set-user-ID program there is no
 * persona.
 *
 * Return: 0, or -EINVAL if there is no such persona.
 */
int rnp_persona_read(const struct rnp_persona **p, char *err, size_t err_len);

/**
 * rnp_persona_lacks() - Does the provider of the imitated device lack an operation?
 * @op: Name of a verb without "ibv_", as libibverbs names its operations
 *
 * libibverbs lets such a verb fail with EOPNOTSUPP.
 */
bool rnp_persona_lacks(const struct rnp_persona *p, const char *op);

/* Change the attributes of a Rocin device or port to those that the imitated device (the
 * persona @p) reports. Each limit becomes the smaller of the two.
 */
void rnp_persona_device(const struct rnp_persona *p, struct ibv_device_attr_ex *attr);
void rnp_persona_port(const struct rnp_persona *p, struct ibv_port_attr *attr);

/* Would the imitated device (the persona @p) create such a queue pair, shared receive
 * queue, completion queue or memory region? Return: 0, or the positive errno with which
 * its driver refuses.
 *
 * @send_ops: the field of struct ibv_qp_init_attr_ex; 0: the QP has no ibv_wr_*()
 * functions
 *
 * @access: IBV_ACCESS_* flags
 */
int rnp_persona_check_qp(const struct rnp_persona *p, enum ibv_qp_type type,
			 const struct ibv_qp_cap *cap, bool has_srq, uint64_t send_ops);
int rnp_persona_check_srq(const struct rnp_persona *p, enum ibv_srq_type type,
			  const struct ibv_srq_attr *attr);
int rnp_persona_check_cq(const struct rnp_persona *p, uint32_t cqe);
int rnp_persona_check_mr(const struct rnp_persona *p, unsigned access);

/* Would the imitated device (the persona @p) accept a rate limit and the numbers of
 * outstanding READs and atomics in @attr? @mask: the members of @attr that are valid, as
 * IBV_QP_* flags. Return: 0 or a positive errno.
 */
int rnp_persona_check_modify(const struct rnp_persona *p, const struct ibv_qp_attr *attr,
			     unsigned mask);

/* Returns the maximum number of bytes of inline data of a QP whose creator has asked for
 * none: @own bytes, or fewer if the imitated device (the persona @p) allows fewer.
 */
uint32_t rnp_persona_inline(const struct rnp_persona *p, uint32_t own);

#endif /* RNP_PERSONA_H */
