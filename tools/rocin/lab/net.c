/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net.c - makes the interfaces and addresses of a lab, and sets loss, delay and rate of
 * its links.
 */
#include "lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "transport/io/host/log.h"

/* ------------------------------------------------------------ messages of rtnetlink */
static void append(struct nl_msg *m, const void *bytes, size_t len)
{
	int rc = nlmsg_append(m, (void *)bytes, len, NLMSG_ALIGNTO);

	assert(rc == 0);
}

/* Returns a new netlink message. Its buffer is a page, large enough for every request.
 * Ends the program if there is no memory.
 */
static struct nl_msg *message(int type, int flags, const void *fixed, size_t len)
{
	struct nl_msg *m = nlmsg_alloc_simple(type, NLM_F_REQUEST | NLM_F_ACK | flags);

	assert(m);
	append(m, fixed, len);
	return m;
}

static void put_attribute(struct nl_msg *m, int type, const void *value, size_t len)
{
	int rc = nla_put(m, type, (int)len, value);

	assert(rc == 0);
}

static void put_u32(struct nl_msg *m, int type, uint32_t value)
{
	put_attribute(m, type, &value, sizeof(value));
}

static void put_text(struct nl_msg *m, int type, const char *text)
{
	put_attribute(m, type, text, strlen(text) + 1);
}

/* Begins a nested attribute, which nla_nest_end() ends. Replaces nla_nest_start(), which
 * sets the flag NLA_F_NESTED; ip(8) and tc(8) do not set this flag in these requests.
 */
static struct nlattr *begin_nested(struct nl_msg *m, int type)
{
	struct nlattr *at = nlmsg_tail(nlmsg_hdr(m));

	put_attribute(m, type, NULL, 0);
	return at;
}

/* Callback of libnl for an error message of the kernel: stores the kernel's error number,
 * because libnl would convert it to one of its own, smaller set.
 */
static int note_errno(struct sockaddr_nl *from, struct nlmsgerr *answer, void *error)
{
	(void)from;
	*(int *)error = answer->error;
	return NL_STOP;
}

/* Sends a message, frees it, and waits for the answer. Returns 0, or -errno from the
 * kernel.
 */
static int send_message(struct nl_sock *nl, struct nl_msg *m)
{
	int error = 0, rc;

	nl_socket_modify_err_cb(nl, NL_CB_CUSTOM, note_errno, &error);
	rc = nl_send_sync(nl, m);
	if (error)
		return error;
	return rc < 0 ? -EIO : 0;
}

int rn_lab_net_open(struct nl_sock **nl)
{
	*nl = nl_socket_alloc();
	if (!*nl)
		return -ENOMEM;
	if (nl_connect(*nl, NETLINK_ROUTE) == 0)
		return 0;
	nl_socket_free(*nl);
	*nl = NULL;
	return -EIO;
}

/* --------------------------------------------------- loss, delay and rate of a link */
/* Functions that convert the properties of a link (loss, delay, rate) to three forms:
 * options of queueing disciplines (tc-netem(8), tc-tbf(8)), rules of rocin-fault(5), and
 * text.
 */

enum {
	PPM = 1000000,
	/* Maximum number of packets in the queue: enough for 40 Gbit/s with a delay of
	 * 1 ms.
	 */
	NETEM_LIMIT = 20000,
	TBF_BURST_MIN = 16 << 10,
	/* maximum number of bytes in the queue, as in a large switch */
	TBF_QUEUE = 4 << 20,
	/* Delay in us that a link gets if it reorders packets and has no delay: netem
	 * reorders by sending some packets without the delay of the others.
	 */
	REORDER_DELAY_US = 100,
};

static struct nl_msg *qdisc_message(int index)
{
	const struct tcmsg tc = { .tcm_ifindex = index,
				  .tcm_parent = TC_H_ROOT,
				  .tcm_handle = TC_H_MAKE(1u << 16, 0) };

	return message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &tc, sizeof(tc));
}

/* Returns a probability in units of netem, in which 2^32 - 1 means always. */
static uint32_t netem_probability(uint32_t ppm)
{
	return (uint32_t)(((uint64_t)ppm * UINT32_MAX + PPM / 2) / PPM);
}

static void put_rate(struct nl_msg *m, uint64_t bytes)
{
	struct tc_netem_rate rate = { .rate = bytes < UINT32_MAX ? (uint32_t)bytes
								 : UINT32_MAX };

	if (bytes >= UINT32_MAX)
		put_attribute(m, TCA_NETEM_RATE64, &bytes, sizeof(bytes));
	put_attribute(m, TCA_NETEM_RATE, &rate, sizeof(rate));
}

struct nl_msg *rn_lab_netem_msg(int index, const struct rn_lab_link *link)
{
	const struct tc_netem_qopt opt = { .limit = NETEM_LIMIT,
					   .loss = netem_probability(link->loss),
					   .gap = link->reorder ? 1 : 0 };
	const struct tc_netem_reorder reorder = { .probability = netem_probability(
							  link->reorder) };
	int64_t delay = link->delay;
	struct nlattr *options;
	struct nl_msg *m;

	if (link->reorder && !delay)
		delay = RN_USEC(REORDER_DELAY_US);
	m = qdisc_message(index);
	put_text(m, TCA_KIND, "netem");
	options = begin_nested(m, TCA_OPTIONS);
	append(m, &opt, sizeof(opt));
	if (delay)
		put_attribute(m, TCA_NETEM_LATENCY64, &delay, sizeof(delay));
	if (link->reorder)
		put_attribute(m, TCA_NETEM_REORDER, &reorder, sizeof(reorder));
	if (link->rate)
		put_rate(m, link->rate / 8);
	nla_nest_end(m, options);
	return m;
}

struct nl_msg *rn_lab_tbf_msg(int index, const struct rn_lab_link *link)
{
	/* A burst may have as many bytes as the rate allows in a millisecond. */
	uint64_t bytes = link->rate / 8, burst = bytes / 1000;
	struct tc_tbf_qopt opt = {
		.rate = { .linklayer = TC_LINKLAYER_ETHERNET,
			  .rate = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX },
	};
	struct nlattr *options;
	struct nl_msg *m;

	if (burst < TBF_BURST_MIN)
		burst = TBF_BURST_MIN;
	if (burst < link->mtu + 64)
		burst = link->mtu + 64;
	opt.limit = (uint32_t)burst + TBF_QUEUE;
	m = qdisc_message(index);
	put_text(m, TCA_KIND, "tbf");
	options = begin_nested(m, TCA_OPTIONS);
	put_attribute(m, TCA_TBF_PARMS, &opt, sizeof(opt));
	put_u32(m, TCA_TBF_BURST, (uint32_t)burst);
	if (bytes >= UINT32_MAX)
		put_attribute(m, TCA_TBF_RATE64, &bytes, sizeof(bytes));
	nla_nest_end(m, options);
	return m;
}

/* ----------------------------------------------- fault rules and texts about a link */
struct text {
	char *at;
	size_t len, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt,
						      ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->used, t->len - t->used, fmt, ap);
	va_end(ap);
	t->used += n < 0 ? 0 : (size_t)n;
	assert(t->used < t->len);
}

int rn_lab_link_rules(const struct rn_lab_link *link, unsigned host, char *text,
		      size_t len)
{
	unsigned long long seed = link->seed * RN_LAB_HOSTS_MAX + host;
	struct text t = { .at = text, .len = len };

	text[0] = '\0';
	if (link->loss)
		add(&t, "drop tx chance=%u.%04u%%\n", link->loss / 10000,
		    link->loss % 10000);
	if (link->delay)
		add(&t, "delay=%lluus tx\n",
		    (unsigned long long)((link->delay + 999) / 1000));
	if (link->reorder)
		add(&t, "reorder tx chance=%u.%04u%%\n", link->reorder / 10000,
		    link->reorder % 10000);
	if (t.used)
		add(&t, "seed=%llu\n", seed);
	return (int)t.used;
}

static void add_rate(struct text *t, uint64_t rate)
{
	static const struct {
		uint64_t one;
		const char *unit;
	} units[] = { { 1000000000, "Gbit/s" },
		      { 1000000, "Mbit/s" },
		      { 1000, "kbit/s" },
		      { 1, "bit/s" } };
	size_t i = 0;

	while (rate < units[i].one)
		i++;
	add(t, "%.6g %s", (double)rate / (double)units[i].one, units[i].unit);
}

int rn_lab_link_text(const struct rn_lab_link *link, char *text, size_t len)
{
	struct text t = { .at = text, .len = len };

	text[0] = '\0';
	if (link->loss)
		add(&t, "%sloss %g %%", t.used ? ", " : "", link->loss / 1e4);
	if (link->delay)
		add(&t, "%sdelay %g us", t.used ? ", " : "", (double)link->delay / 1e3);
	if (link->reorder)
		add(&t, "%sreorder %g %%", t.used ? ", " : "", link->reorder / 1e4);
	if (link->rate) {
		add(&t, "%srate ", t.used ? ", " : "");
		add_rate(&t, link->rate);
	}
	return (int)t.used;
}

int rn_lab_host_number(const char *name, unsigned hosts)
{
	static const char *const prefixes[] = { "h", RN_LAB_NET4, RN_LAB_NET6 };
	static const int bases[] = { 10, 10, 16 };

	for (size_t i = 0; i < RN_ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);
		char *end;
		unsigned long n;

		if (strncmp(name, prefixes[i], len) != 0 || name[len] == '0' ||
		    !strchr("0123456789abcdef", name[len]))
			continue;
		n = strtoul(name + len, &end, bases[i]);
		if ((*end == '\0' || (i == 0 && !strcmp(end, "-v6"))) && n >= 1 &&
		    n <= hosts)
			return (int)n - 1;
	}
	return -1;
}

/* --------------------------------------------------------- interfaces and addresses */
enum {
	CARRIER_WAIT_MS = 10000,
	/* index of the loopback interface, the first one of every network namespace */
	LOOPBACK = 1,
};

#define BRIDGE "br0"

/* Writes a sysctl of this network namespace. Ignores errors, because the lab also works
 * without these settings.
 */
static void write_setting(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, value, strlen(value));
	close(fd);
}

void rn_lab_net_prepare(bool has_ipv6)
{
	const char *const off = has_ipv6 ? "0" : "1";

	write_setting("/proc/sys/net/ipv6/conf/all/disable_ipv6", off);
	write_setting("/proc/sys/net/ipv6/conf/default/disable_ipv6", off);
	/* These settings turn off all automatic addresses, and duplicate address
	 * detection, so that addresses can be used at once.
	 */
	write_setting("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
	write_setting("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
	write_setting("/proc/sys/net/ipv6/conf/default/router_solicitations", "0");
}

static int set_up(struct nl_sock *nl, int index)
{
	const struct ifinfomsg link = { .ifi_index = index,
					.ifi_flags = IFF_UP,
					.ifi_change = IFF_UP };
	struct nl_msg *m;

	m = message(RTM_NEWLINK, 0, &link, sizeof(link));
	return send_message(nl, m);
}

static int make_bridge(struct nl_sock *nl, uint32_t mtu)
{
	const struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
	struct nlattr *info, *data;
	struct nl_msg *m;

	m = message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	put_text(m, IFLA_IFNAME, BRIDGE);
	put_u32(m, IFLA_MTU, mtu);
	info = begin_nested(m, IFLA_LINKINFO);
	put_text(m, IFLA_INFO_KIND, "bridge");
	data = begin_nested(m, IFLA_INFO_DATA);
	put_u32(m, IFLA_BR_FORWARD_DELAY, 0);
	/* Turns multicast snooping off, so that all ports get all multicast packets:
	 * snooping needs a querier, and this network has none.
	 */
	put_attribute(m, IFLA_BR_MCAST_SNOOPING, "", 1);
	nla_nest_end(m, data);
	nla_nest_end(m, info);
	return send_message(nl, m);
}

int rn_lab_switch_make(struct nl_sock *nl, const struct rn_lab_link *link, char *err,
		       size_t err_len)
{
	int rc = make_bridge(nl, link->mtu);

	if (rc == -EOPNOTSUPP)
		return rn_fail(err, err_len, rc,
			       "this kernel has no bridges; as root: modprobe bridge");
	if (!rc)
		rc = set_up(nl, (int)if_nametoindex(BRIDGE));
	if (rc)
		return rn_fail(err, err_len, rc, "the switch cannot be made: %m");
	return 0;
}

static int make_veth(struct nl_sock *nl, uint32_t mtu, unsigned host, pid_t keeper)
{
	const struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
	/* A locally administered MAC address. Its last byte is the number of the host, as
	 * in the IP addresses.
	 */
	const uint8_t mac[] = { 0x02, 0x52, 0x4e, 0, 0, (uint8_t)(host + 1) };
	struct nlattr *info, *data, *peer;
	struct nl_msg *m;
	char name[IFNAMSIZ];

	snprintf(name, sizeof(name), "h%u", host + 1);
	m = message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	put_text(m, IFLA_IFNAME, name);
	put_u32(m, IFLA_MTU, mtu);
	put_u32(m, IFLA_MASTER, if_nametoindex(BRIDGE));
	info = begin_nested(m, IFLA_LINKINFO);
	put_text(m, IFLA_INFO_KIND, "veth");
	data = begin_nested(m, IFLA_INFO_DATA);
	peer = begin_nested(m, VETH_INFO_PEER);
	append(m, &link, sizeof(link));
	put_text(m, IFLA_IFNAME, RN_LAB_INTERFACE);
	put_u32(m, IFLA_MTU, mtu);
	put_attribute(m, IFLA_ADDRESS, mac, sizeof(mac));
	put_u32(m, IFLA_NET_NS_PID, (uint32_t)keeper);
	nla_nest_end(m, peer);
	nla_nest_end(m, data);
	nla_nest_end(m, info);
	return send_message(nl, m);
}

int rn_lab_cable_make(struct nl_sock *nl, const struct rn_lab_link *link, unsigned host,
		      pid_t keeper, char *err, size_t err_len)
{
	char name[IFNAMSIZ];
	int rc = make_veth(nl, link->mtu, host, keeper);

	if (rc == -EOPNOTSUPP)
		return rn_fail(
			err, err_len, rc,
			"this kernel has no pairs of interfaces; as root: modprobe veth");
	snprintf(name, sizeof(name), "h%u", host + 1);
	if (!rc)
		rc = set_up(nl, (int)if_nametoindex(name));
	if (rc)
		return rn_fail(err, err_len, rc, "the cable of h%u cannot be made: %m",
			       host + 1);
	return 0;
}

static int add_address(struct nl_sock *nl, int index, int family, const void *address,
		       uint8_t prefix)
{
	const struct ifaddrmsg fixed = { .ifa_family = (uint8_t)family,
					 .ifa_prefixlen = prefix,
					 .ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD,
					 .ifa_index = (unsigned)index };
	size_t len = family == AF_INET ? 4 : 16;
	struct nl_msg *m;

	m = message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &fixed, sizeof(fixed));
	put_attribute(m, IFA_LOCAL, address, len);
	put_attribute(m, IFA_ADDRESS, address, len);
	return send_message(nl, m);
}

/* Adds a route for multicast packets: programs that join a group rarely name an
 * interface, and the route chooses it.
 */
static int add_group_route(struct nl_sock *nl, int index)
{
	const struct rtmsg route = { .rtm_family = AF_INET,
				     .rtm_dst_len = 4,
				     .rtm_table = RT_TABLE_MAIN,
				     .rtm_protocol = RTPROT_BOOT,
				     .rtm_scope = RT_SCOPE_LINK,
				     .rtm_type = RTN_UNICAST };
	const struct in_addr groups = { htonl(0xe0000000) };
	struct nl_msg *m;

	m = message(RTM_NEWROUTE, NLM_F_CREATE, &route, sizeof(route));
	put_attribute(m, RTA_DST, &groups, sizeof(groups));
	put_u32(m, RTA_OIF, (uint32_t)index);
	return send_message(nl, m);
}

static int add_addresses(struct nl_sock *nl, int index, unsigned host)
{
	const struct in_addr v4 = { htonl(0x0a560001 + host) };
	struct in6_addr v6 = { .s6_addr = { 0xfd, 0x86, [15] = (uint8_t)(host + 1) } };
	struct in6_addr local = { .s6_addr = { 0xfe, 0x80, [15] = (uint8_t)(host + 1) } };
	int rc = add_address(nl, index, AF_INET, &v4, 24);

	if (!rc)
		rc = add_address(nl, index, AF_INET6, &v6, 64);
	if (!rc)
		rc = add_address(nl, index, AF_INET6, &local, 64);
	/* These errors mean that the machine has no IPv6, or that IPv6 is not permitted.
	 */
	return rc == -EAFNOSUPPORT || rc == -EOPNOTSUPP || rc == -EACCES ? 0 : rc;
}

/* Waits until the kernel reports a carrier; before, no packet can pass. */
static int await_carrier(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct ifreq req = { .ifr_name = RN_LAB_INTERFACE };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = -ETIMEDOUT;

	if (fd < 0)
		return -errno;
	for (unsigned ms = 0; ms < CARRIER_WAIT_MS && rc == -ETIMEDOUT; ms++) {
		if (ioctl(fd, SIOCGIFFLAGS, &req))
			rc = -errno;
		else if (req.ifr_flags & IFF_RUNNING)
			rc = 0;
		else
			nanosleep(&pause, NULL);
	}
	close(fd);
	return rc;
}

/* Installs the queueing discipline of a link. netem implements all properties of the
 * link. If the kernel has no netem, tbf limits the rate, and fault rules in the RDMA
 * devices do the rest. Sets *@by to what is used (RN_LAB_BY_...).
 */
static int set_queueing(struct nl_sock *nl, int index, const struct rn_lab_link *link,
			unsigned *by, char *err, size_t err_len)
{
	int rc;

	*by = 0;
	if (!link->loss && !link->reorder && !link->delay && !link->rate)
		return 0;
	rc = send_message(nl, rn_lab_netem_msg(index, link));
	if (rc == 0) {
		*by = RN_LAB_BY_NETEM;
		return 0;
	}
	if (rc != -ENOENT && rc != -EOPNOTSUPP)
		return rn_fail(err, err_len, rc, "netem cannot be set up: %m");
	if (link->rate) {
		rc = send_message(nl, rn_lab_tbf_msg(index, link));
		if (rc)
			return rn_fail(
				err, err_len, rc,
				"this kernel can limit no rates; leave --rate out, "
				"or as root: modprobe sch_netem");
		*by |= RN_LAB_BY_TBF;
	}
	if (link->loss || link->reorder || link->delay)
		*by |= RN_LAB_BY_RULES;
	return 0;
}

int rn_lab_host_connect(const struct rn_lab_link *link, unsigned host, unsigned *by,
			char *err, size_t err_len)
{
	int index = (int)if_nametoindex(RN_LAB_INTERFACE);
	struct nl_sock *nl;
	int rc = rn_lab_net_open(&nl);

	if (!rc)
		rc = set_up(nl, LOOPBACK);
	if (!rc)
		rc = set_up(nl, index);
	if (!rc)
		rc = add_addresses(nl, index, host);
	if (!rc)
		rc = add_group_route(nl, index);
	if (!rc)
		rc = await_carrier();
	if (rc)
		(void)rn_fail(err, err_len, rc, "h%u cannot be connected: %m", host + 1);
	else
		rc = set_queueing(nl, index, link, by, err, err_len);
	nl_socket_free(nl);
	return rc;
}
