/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flow.c - which queue pairs get a frame: parses flow rules, applies them, and spreads
 * frames over queues (RSS).
 */
#include "flow.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* ----------------------------------------- parsing the flow rules of programs */
enum {
	FLOW_LABEL_MAX = 0xfffff,
	IP4_FLAGS = RNP_IP4_DONT_FRAG | RNP_IP4_MORE_FRAG,
	LAYERS_IP = RNP_LAYER_IP4 | RNP_LAYER_IP6,
	LAYERS_L4 = RNP_LAYER_TCP | RNP_LAYER_UDP,

	TYPE_IP4 = 0x0800,
	TYPE_IP6 = 0x86dd,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
};

/* State of parsing a rule. */
struct reading {
	struct rnp_rule *rule;
	struct ibv_counters *counters;
	bool has_tag;
};

#define COPY(to, from)                                                  \
	do {                                                            \
		static_assert(sizeof(to) == sizeof(from), "one field"); \
		memcpy(&(to), &(from), sizeof(to));                     \
	} while (0)

/* Adds the header @layer to the rule. Fails if the rule has this header already, or has
 * one of @others, headers that exclude it.
 */
static int add_layer(struct reading *r, uint32_t layer, uint32_t others)
{
	struct rnp_flow_match *m = &r->rule->match;

	if (m->layers & (layer | others))
		return -EINVAL;
	m->layers |= layer;
	return 0;
}

static void copy_eth(struct rnp_flow_fields *to, const struct ibv_flow_eth_filter *from)
{
	COPY(to->dst_mac, from->dst_mac);
	COPY(to->src_mac, from->src_mac);
	COPY(to->ether_type, from->ether_type);
	COPY(to->vlan_tag, from->vlan_tag);
}

static int read_eth(struct reading *r, const struct ibv_flow_spec *s)
{
	struct rnp_flow_match *m = &r->rule->match;
	int rc = add_layer(r, RNP_LAYER_ETH, 0);

	if (rc)
		return rc;
	copy_eth(&m->value, &s->eth.val);
	copy_eth(&m->mask, &s->eth.mask);
	if (s->eth.mask.vlan_tag)
		m->layers |= RNP_LAYER_VLAN;
	return 0;
}

static int read_ip4(struct reading *r, const struct ibv_flow_spec *s)
{
	struct rnp_flow_match *m = &r->rule->match;
	int rc = add_layer(r, RNP_LAYER_IP4, RNP_LAYER_IP6);

	if (rc)
		return rc;
	COPY(m->value.ip4_src, s->ipv4.val.src_ip);
	COPY(m->value.ip4_dst, s->ipv4.val.dst_ip);
	COPY(m->mask.ip4_src, s->ipv4.mask.src_ip);
	COPY(m->mask.ip4_dst, s->ipv4.mask.dst_ip);
	return 0;
}

static void copy_ip4_ext(struct rnp_flow_fields *to,
			 const struct ibv_flow_ipv4_ext_filter *from)
{
	COPY(to->ip4_src, from->src_ip);
	COPY(to->ip4_dst, from->dst_ip);
	to->ip4_proto[0] = from->proto;
	to->ip4_tos[0] = from->tos;
	to->ip4_ttl[0] = from->ttl;
	to->ip4_flags[0] = from->flags;
}

static int read_ip4_ext(struct reading *r, const struct ibv_flow_spec *s)
{
	struct rnp_flow_match *m = &r->rule->match;
	int rc = add_layer(r, RNP_LAYER_IP4, RNP_LAYER_IP6);

	if (rc || s->ipv4_ext.mask.flags & ~(unsigned)IP4_FLAGS)
		return -EINVAL;
	copy_ip4_ext(&m->value, &s->ipv4_ext.val);
	copy_ip4_ext(&m->mask, &s->ipv4_ext.mask);
	return 0;
}

static void copy_ip6(struct rnp_flow_fields *to, const struct ibv_flow_ipv6_filter *from)
{
	COPY(to->ip6_src, from->src_ip);
	COPY(to->ip6_dst, from->dst_ip);
	COPY(to->ip6_label, from->flow_label);
	to->ip6_next[0] = from->next_hdr;
	to->ip6_class[0] = from->traffic_class;
	to->ip6_hops[0] = from->hop_limit;
}

static int read_ip6(struct reading *r, const struct ibv_flow_spec *s)
{
	struct rnp_flow_match *m = &r->rule->match;
	int rc = add_layer(r, RNP_LAYER_IP6, RNP_LAYER_IP4);

	if (rc || ntohl(s->ipv6.mask.flow_label) > FLOW_LABEL_MAX)
		return -EINVAL;
	copy_ip6(&m->value, &s->ipv6.val);
	copy_ip6(&m->mask, &s->ipv6.mask);
	return 0;
}

static int read_ports(struct reading *r, const struct ibv_flow_spec *s, uint32_t layer)
{
	struct rnp_flow_match *m = &r->rule->match;
	int rc = add_layer(r, layer, LAYERS_L4);

	if (rc)
		return rc;
	COPY(m->value.src_port, s->tcp_udp.val.src_port);
	COPY(m->value.dst_port, s->tcp_udp.val.dst_port);
	COPY(m->mask.src_port, s->tcp_udp.mask.src_port);
	COPY(m->mask.dst_port, s->tcp_udp.mask.dst_port);
	return 0;
}

static int read_tcp(struct reading *r, const struct ibv_flow_spec *s)
{
	return read_ports(r, s, RNP_LAYER_TCP);
}

static int read_udp(struct reading *r, const struct ibv_flow_spec *s)
{
	return read_ports(r, s, RNP_LAYER_UDP);
}

static int read_tag(struct reading *r, const struct ibv_flow_spec *s)
{
	if (r->has_tag)
		return -EINVAL;
	r->has_tag = true;
	r->rule->tag = s->flow_tag.tag_id;
	return 0;
}

static int read_drop(struct reading *r, const struct ibv_flow_spec *s)
{
	(void)s;
	if (r->rule->drop)
		return -EINVAL;
	r->rule->drop = true;
	return 0;
}

static int read_count(struct reading *r, const struct ibv_flow_spec *s)
{
	if (r->counters || !s->flow_count.counters)
		return -EINVAL;
	r->counters = s->flow_count.counters;
	return 0;
}

static const struct spec_rule {
	enum ibv_flow_spec_type type;
	size_t size;
	int (*read)(struct reading *r, const struct ibv_flow_spec *s);
} spec_rules[] = {
	{ IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth), read_eth },
	{ IBV_FLOW_SPEC_IPV4, sizeof(struct ibv_flow_spec_ipv4), read_ip4 },
	{ IBV_FLOW_SPEC_IPV4_EXT, sizeof(struct ibv_flow_spec_ipv4_ext), read_ip4_ext },
	{ IBV_FLOW_SPEC_IPV6, sizeof(struct ibv_flow_spec_ipv6), read_ip6 },
	{ IBV_FLOW_SPEC_TCP, sizeof(struct ibv_flow_spec_tcp_udp), read_tcp },
	{ IBV_FLOW_SPEC_UDP, sizeof(struct ibv_flow_spec_tcp_udp), read_udp },
	{ IBV_FLOW_SPEC_ACTION_TAG, sizeof(struct ibv_flow_spec_action_tag), read_tag },
	{ IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ibv_flow_spec_action_drop),
	  read_drop },
	{ IBV_FLOW_SPEC_ACTION_COUNT, sizeof(struct ibv_flow_spec_counter_action),
	  read_count },
};

static bool exists_elsewhere(unsigned type)
{
	return type & IBV_FLOW_SPEC_INNER || type == IBV_FLOW_SPEC_ESP ||
	       type == IBV_FLOW_SPEC_VXLAN_TUNNEL || type == IBV_FLOW_SPEC_GRE ||
	       type == IBV_FLOW_SPEC_MPLS || type == IBV_FLOW_SPEC_ACTION_HANDLE;
}

/* Parses the specification at @at. Return: its length in bytes, or -errno. */
static int read_spec(struct reading *r, const uint8_t *at)
{
	struct ibv_flow_spec s = { 0 };

	memcpy(&s.hdr, at, sizeof(s.hdr));
	if (exists_elsewhere(s.hdr.type))
		return -EOPNOTSUPP;
	for (size_t i = 0; i < sizeof(spec_rules) / sizeof(spec_rules[0]); i++) {
		int rc;

		if (spec_rules[i].type != s.hdr.type)
			continue;
		if (spec_rules[i].size != s.hdr.size)
			return -EINVAL;
		memcpy(&s, at, spec_rules[i].size);
		rc = spec_rules[i].read(r, &s);
		return rc ? rc : (int)spec_rules[i].size;
	}
	return -EINVAL;
}

static unsigned be16_of(const uint8_t p[2])
{
	return (unsigned)p[0] << 8 | p[1];
}

/* Can any frame match the rule? If not, the rule is a mistake of the program. */
static bool is_possible(const struct rnp_flow_match *m)
{
	bool tcp = m->layers & RNP_LAYER_TCP, udp = m->layers & RNP_LAYER_UDP;
	unsigned type = be16_of(m->value.ether_type);
	uint8_t next = 0;

	if (be16_of(m->mask.ether_type) == 0xffff &&
	    ((m->layers & RNP_LAYER_IP4 && type != TYPE_IP4) ||
	     (m->layers & RNP_LAYER_IP6 && type != TYPE_IP6)))
		return false;
	/* Behind IPv6 there may be extension headers, so only IPv4 tells the protocol. */
	if (m->mask.ip4_proto[0] == 0xff)
		next = m->value.ip4_proto[0];
	else
		return true;
	return !(tcp && next != PROTO_TCP) && !(udp && next != PROTO_UDP);
}

static int read_kind(const struct ibv_flow_attr *attr, struct rnp_rule *rule)
{
	switch (attr->type) {
	case IBV_FLOW_ATTR_NORMAL:
		rule->kind = RNP_RULE_NORMAL;
		return 0;
	case IBV_FLOW_ATTR_ALL_DEFAULT:
		rule->kind = RNP_RULE_ALL_DEFAULT;
		break;
	case IBV_FLOW_ATTR_MC_DEFAULT:
		rule->kind = RNP_RULE_MC_DEFAULT;
		break;
	case IBV_FLOW_ATTR_SNIFFER:
		rule->kind = RNP_RULE_SNIFFER;
		break;
	default:
		return -EINVAL;
	}
	/* DONT_TRAP makes no sense: no rule comes after a default rule, and a sniffer
	 * rule lets every frame go on to other rules anyway.
	 */
	return attr->num_of_specs || rule->dont_trap ? -EINVAL : 0;
}

static int read_attr(const struct ibv_flow_attr *attr, struct rnp_rule *rule)
{
	const uint32_t known = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;

	if (attr->comp_mask || attr->port != 1 || attr->flags & ~known ||
	    attr->num_of_specs > RNP_FLOW_SPECS_MAX)
		return -EINVAL;
	if (attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS)
		return -EOPNOTSUPP;
	*rule = (struct rnp_rule){
		.priority = attr->priority,
		.dont_trap = attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP,
	};
	return read_kind(attr, rule);
}

int rnp_flow_spec_parse(const struct ibv_flow_attr *attr, struct rnp_rule *rule,
			struct ibv_counters **counters)
{
	const uint8_t *at = (const uint8_t *)(attr + 1);
	struct reading r = { .rule = rule };
	int rc = read_attr(attr, rule);

	if (rc)
		return rc;
	for (unsigned i = 0; i < attr->num_of_specs; i++) {
		rc = read_spec(&r, at);
		if (rc < 0)
			return rc;
		at += rc;
	}
	if (!is_possible(&rule->match) || (rule->drop && rule->dont_trap))
		return -EINVAL;
	*counters = r.counters;
	return 0;
}

/* ------------------------------------------------------- receive side scaling */

uint32_t rnp_toeplitz(const uint8_t key[RNP_TOEPLITZ_KEY_LEN], const uint8_t *data,
		      size_t len)
{
	/* @window has 32 bits of the key, beginning at the position of the current
	 * input bit.
	 */
	uint32_t window = (uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 |
			  (uint32_t)key[2] << 8 | key[3];
	uint32_t hash = 0;

	assert(len <= RNP_TOEPLITZ_INPUT_MAX);
	for (size_t i = 0; i < len; i++) {
		for (int bit = 7; bit >= 0; bit--) {
			if (data[i] >> bit & 1)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> bit & 1);
		}
	}
	return hash;
}

struct input {
	uint8_t byte[RNP_TOEPLITZ_INPUT_MAX];
	size_t len;
};

static void append(struct input *in, bool wanted, const uint8_t *field, size_t len)
{
	if (!wanted)
		return;
	assert(in->len + len <= sizeof(in->byte));
	memcpy(in->byte + in->len, field, len);
	in->len += len;
}

uint32_t rnp_rss_hash(const struct rnp_rss *rss, const struct rnp_frame_view *view)
{
	const struct rnp_flow_fields *f = &view->field;
	uint32_t fields = 0;
	struct input in = { .len = 0 };

	if (view->layers & RNP_LAYER_IP4)
		fields |= RNP_RSS_IP4;
	if (view->layers & RNP_LAYER_IP6)
		fields |= RNP_RSS_IP6;
	if (view->layers & RNP_LAYER_TCP && !(view->layers & RNP_LAYER_FRAGMENT))
		fields |= RNP_RSS_TCP;
	if (view->layers & RNP_LAYER_UDP && !(view->layers & RNP_LAYER_FRAGMENT))
		fields |= RNP_RSS_UDP;
	fields &= rss->fields;
	append(&in, fields & RNP_RSS_SRC_IP4, f->ip4_src, sizeof(f->ip4_src));
	append(&in, fields & RNP_RSS_DST_IP4, f->ip4_dst, sizeof(f->ip4_dst));
	append(&in, fields & RNP_RSS_SRC_IP6, f->ip6_src, sizeof(f->ip6_src));
	append(&in, fields & RNP_RSS_DST_IP6, f->ip6_dst, sizeof(f->ip6_dst));
	append(&in, fields & (RNP_RSS_SRC_PORT_TCP | RNP_RSS_SRC_PORT_UDP), f->src_port,
	       sizeof(f->src_port));
	append(&in, fields & (RNP_RSS_DST_PORT_TCP | RNP_RSS_DST_PORT_UDP), f->dst_port,
	       sizeof(f->dst_port));
	return rnp_toeplitz(rss->key, in.byte, in.len);
}

void *rnp_rss_choose(const struct rnp_rss *rss, const struct rnp_frame_view *view)
{
	return rss->table[rnp_rss_hash(rss, view) & (rss->size - 1)];
}

/* ------------------------------------------- finding the QPs that get a frame */

struct visit {
	struct rnp_steer *steer;
	struct rnp_frame_view view;
	size_t len;
	rnp_deliver_fn *deliver;
	void *arg;
	unsigned delivered;
};

void rnp_steer_init(struct rnp_steer *s)
{
	TAILQ_INIT(&s->rules);
	s->frames = 0;
}

static uint32_t stage_of(const struct rnp_rule *rule)
{
	uint32_t within = rule->kind == RNP_RULE_NORMAL ? rule->priority : 0;

	return (uint32_t)rule->kind << 16 | within;
}

void rnp_steer_add(struct rnp_steer *s, struct rnp_rule *rule)
{
	struct rnp_rule *other;

	rule->served = 0;
	TAILQ_FOREACH(other, &s->rules, link)
	{
		if (stage_of(other) <= stage_of(rule))
			continue;
		TAILQ_INSERT_BEFORE(other, rule, link);
		return;
	}
	TAILQ_INSERT_TAIL(&s->rules, rule, link);
}

void rnp_steer_remove(struct rnp_steer *s, struct rnp_rule *rule)
{
	TAILQ_REMOVE(&s->rules, rule, link);
}

bool rnp_steer_is_empty(const struct rnp_steer *s)
{
	return TAILQ_EMPTY(&s->rules);
}

static bool applies(const struct rnp_rule *rule, const struct rnp_frame_view *view)
{
	switch (rule->kind) {
	case RNP_RULE_NORMAL:
		return rnp_flow_matches(&rule->match, view);
	case RNP_RULE_MC_DEFAULT:
		return rnp_frame_is_multicast(view);
	case RNP_RULE_SNIFFER:
	case RNP_RULE_ALL_DEFAULT:
		break;
	}
	return true;
}

/* Has another rule already given this frame to the QP @qp? */
static bool is_served(const struct rnp_steer *s, const void *qp)
{
	const struct rnp_rule *rule;

	TAILQ_FOREACH(rule, &s->rules, link)
	if (rule->qp == qp && rule->served == s->frames)
		return true;
	return false;
}

static void serve(struct visit *v, struct rnp_rule *rule)
{
	void *qp = rule->qp;

	if (is_served(v->steer, rule->qp))
		return;
	rule->served = v->steer->frames;
	v->delivered++;
	if (rule->rss)
		qp = rnp_rss_choose(rule->rss, &v->view);
	v->deliver(v->arg, qp, rule->tag);
}

static void count_match(const struct visit *v, const struct rnp_rule *rule)
{
	if (!rule->tally)
		return;
	rule->tally->frames++;
	rule->tally->bytes += v->len;
}

static bool ends_here(const struct rnp_rule *rule)
{
	return rule->kind != RNP_RULE_SNIFFER && !rule->dont_trap;
}

/* Applies the rules of the stage that begins with @first (flow.h describes stages).
 * Return: the first rule of the next stage; NULL if there is none or the frame is not
 * passed to further stages.
 */
static struct rnp_rule *pass_stage(struct visit *v, struct rnp_rule *first)
{
	struct rnp_rule *rule, *end = first;
	bool dropped = false, ended = false;

	for (; end && stage_of(end) == stage_of(first); end = TAILQ_NEXT(end, link)) {
		if (!applies(end, &v->view))
			continue;
		count_match(v, end);
		dropped |= end->drop;
		ended |= ends_here(end);
	}
	for (rule = first; rule != end && !dropped; rule = TAILQ_NEXT(rule, link))
		if (applies(rule, &v->view))
			serve(v, rule);
	return dropped || ended ? NULL : end;
}

unsigned rnp_steer_frame(struct rnp_steer *s, const uint8_t *frame, size_t len,
			 rnp_deliver_fn *deliver, void *arg)
{
	struct visit v = { .steer = s, .len = len, .deliver = deliver, .arg = arg };
	struct rnp_rule *rule = TAILQ_FIRST(&s->rules);

	s->frames++;
	rnp_frame_parse(&v.view, frame, len);
	while (rule)
		rule = pass_stage(&v, rule);
	return v.delivered;
}
