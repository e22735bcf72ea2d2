/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow_spec.h - parses the flow rules that programs pass to ibv_create_flow(). */
#ifndef RNP_FLOW_SPEC_H
#define RNP_FLOW_SPEC_H

#include <infiniband/verbs.h>

#include "flow_steer.h"

enum {
	RNP_FLOW_SPECS_MAX = 10, /* specifications per rule; the kernel's limit */
};

/**
 * rnp_flow_spec_parse() - Check a flow rule and convert it
 * @attr:	The rule, with its specifications behind it, one after the other without
 *		gaps and at any alignment
 * @rule:	Out: kind, priority, drop, dont_trap, tag, match; the rest is zeroed
 * @counters:	Out: counters object that the rule names, or NULL
 *
 * Addresses, ports, types and tags are in network order, as for any device. The VLAN tag
 * is the outermost one, the Ethernet type the one behind the tags; the IPv6 next header
 * is that of the fixed header, while TCP and UDP are found behind extension headers.
 *
 * Return: 0; -EINVAL: port not 1, an unknown type or flag, a specification of the wrong
 *	   size, two of one layer, layers or types that exclude each other, specifications
 *	   on a default or sniffer rule, too many; -EOPNOTSUPP: egress rules, inner
 *	   headers, ESP, VXLAN, GRE, MPLS, actions of ibv_create_flow_action_esp(). @rule
 *	   and @counters are undefined on failure.
 */
int rnp_flow_spec_parse(const struct ibv_flow_attr *attr, struct rnp_rule *rule,
			struct ibv_counters **counters);

#endif /* RNP_FLOW_SPEC_H */
