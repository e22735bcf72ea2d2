/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_text.c - what people, files and other processes give the tools and the provider:
 * fault lists, device lists, settings, captured packets, statistics pages.
 *
 * The environment and the interfaces are made up (-Wl,--wrap).
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider/settings/settings.h"
#include "rocin/netdev.h"
#include "rocin/queue_pair.h"
#include "tests/fuzz/script.h"
#include "tools/dump/packet.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/rocind/stats_pages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
char *__wrap_secure_getenv(const char *name);

enum {
	SENTENCE_MAX = 400,
	STATS_GROWTH = 64, /* bytes that a page's file may be longer than the script */
};

/* ---- Faults ---- */

static void print_percent(char *text, size_t len, const char *name, uint32_t ppm)
{
	size_t used = strlen(text);

	snprintf(text + used, len - used, "%s=%u.%04u%%,", name, ppm / 10000,
		 ppm % 10000);
}

/* What was read, written out in full, must be read the same. */
static void check_fault(const struct rn_fault_spec *spec)
{
	struct rn_fault_spec again = { 0 };
	char text[200] = "";
	size_t used;

	require(spec->drop <= 1000000 && spec->dup <= 1000000);
	require(spec->reorder <= 1000000 && spec->corrupt <= 1000000);
	print_percent(text, sizeof(text), "drop", spec->drop);
	print_percent(text, sizeof(text), "dup", spec->dup);
	print_percent(text, sizeof(text), "reorder", spec->reorder);
	print_percent(text, sizeof(text), "corrupt", spec->corrupt);
	used = strlen(text);
	snprintf(text + used, sizeof(text) - used, "seed=%llu",
		 (unsigned long long)spec->seed);
	require(rn_fault_parse(text, &again, NULL, 0) == 0);
	require(again.drop == spec->drop && again.dup == spec->dup);
	require(again.reorder == spec->reorder && again.corrupt == spec->corrupt);
	require(again.seed == spec->seed);
}

static void check_named_once(const char *text)
{
	static const char *const names[] = { "drop=", "dup=", "reorder=", "corrupt=",
					     "seed=" };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(names); i++) {
		const char *first = strstr(text, names[i]);

		require(!first || !strstr(first + 1, names[i]));
	}
}

static void fault(struct script *s)
{
	struct rn_fault_spec spec = { .seed = 0x5eed };
	char why[SENTENCE_MAX] = "";
	char *text = take_text(s);
	int rc = rn_fault_parse(text, &spec, why, sizeof(why));

	require(rc == 0 || rc == -EINVAL);
	require((rc == 0) == (why[0] == '\0'));
	if (rc == 0) {
		check_fault(&spec);
		check_named_once(text);
	} else {
		require(spec.seed == 0x5eed && spec.drop == 0);
	}
	free(text);
}

/* ---- Devices ---- */

static bool is_documented(int rc)
{
	return rc == -EINVAL || rc == -ENODEV || rc == -EADDRNOTAVAIL || rc == -ENOSPC;
}

static void check_device(const struct rn_netdev *dev, unsigned number)
{
	char name[32];

	snprintf(name, sizeof(name), "rocin%u", number);
	require(strcmp(dev->ibdev, name) == 0);
	require(strnlen(dev->ifname, sizeof(dev->ifname)) < sizeof(dev->ifname));
	require(dev->ifindex != 0);
	require(dev->gid_count >= 1 && dev->gid_count <= RN_GID_MAX);
	for (uint32_t i = 0; i < dev->gid_count; i++)
		for (uint32_t k = 0; k < i; k++)
			require(memcmp(&dev->gid[i], &dev->gid[k], 16) != 0);
}

static void netdevs(struct script *s)
{
	unsigned max = take8(s) % RN_NETDEV_MAX + 1;
	struct rn_netdev *devs = calloc(max, sizeof(*devs));
	char why[SENTENCE_MAX] = "";
	char *text = take_text(s);
	int rc = rn_netdev_discover(text, devs, max, why, sizeof(why));

	require(rc > 0 ? why[0] == '\0' : is_documented(rc) && why[0] != '\0');
	require(rc <= (int)max);
	for (int i = 0; i < rc; i++)
		check_device(&devs[i], (unsigned)i);
	free(text);
	free(devs);
}

/* ---- Settings ---- */

static const char *const variables[] = {
	"ROCIN_CC",	 "ROCIN_LOCAL", "ROCIN_WINDOW",	 "ROCIN_LINGER_US", "ROCIN_FAULT",
	"ROCIN_GSO",	 "ROCIN_ICRC",	"ROCIN_CREDITS", "ROCIN_IO",	    "ROCIN_PCAP",
	"ROCIN_NETDEVS", "ROCIN_PIN",	"ROCIN_CPU",
};
static char *values[RN_ARRAY_SIZE(variables)];

/* Nothing but what the script says, so that inputs mean the same everywhere. */
char *__wrap_secure_getenv(const char *name)
{
	for (unsigned i = 0; i < RN_ARRAY_SIZE(variables); i++)
		if (strcmp(name, variables[i]) == 0)
			return values[i];
	return NULL;
}

static void check_budget(const struct rnp_settings *set, uint32_t rcvbuf, uint32_t mtu)
{
	struct rnp_budget b = rnp_settings_budget(set, rcvbuf, mtu);

	require(b.window_min >= mtu && b.window_min <= b.window_start);
	require(b.window_start <= b.window_max);
	require(b.read_chunk >= mtu && b.read_chunk % mtu == 0);
	require(b.read_chunk <= b.read_window);
}

static void check_settings(const struct rnp_settings *set)
{
	const char *window = values[0];

	require(set->window_min > 0 && set->window_min <= set->window_start);
	require(set->window_start <= set->window_max);
	require(set->window_max <= 1u << 30);
	require(set->linger_ns >= 0 && set->linger_ns <= RN_MSEC(1));
	if (window && *window)
		require(window[strlen(window) - 1] != ':');
}

static void settings(struct script *s)
{
	uint32_t mtu = 256u << take8(s) % 5, rcvbuf = (uint32_t)take16(s)
						      << take8(s) % 17;
	struct rnp_settings set;
	char why[SENTENCE_MAX] = "";
	int rc;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(values) && !script_is_over(s); i++) {
		values[i] = take_text(s);
		/* Not from files, as ROCIN_FAULT can be: they are no part of the script.
		 */
		if (values[i][0] == '@')
			values[i][0] = '#';
	}
	rc = rnp_settings_read(&set, why, sizeof(why));
	require(rc == 0 ? why[0] == '\0' : rc == -EINVAL && why[0] != '\0');
	if (rc == 0) {
		check_settings(&set);
		check_budget(&set, rcvbuf, mtu);
	}
	for (unsigned i = 0; i < RN_ARRAY_SIZE(values); i++) {
		free(values[i]);
		values[i] = NULL;
	}
}

/* ---- Captured packets ---- */

static void packet(struct script *s)
{
	size_t text_len = take8(s) + 1u, len = script_left(s);
	uint8_t *ip = malloc(len ? len : 1);
	char *text = malloc(text_len);

	require(ip && text);
	take_bytes(s, ip, len);
	memset(text, 'x', text_len);
	if (rn_packet_text(ip, len, text, text_len))
		require(memchr(text, '\0', text_len) && !memchr(text, '\n', text_len));
	else
		require(text[0] == 'x' && text[text_len - 1] == 'x');
	free(text);
	free(ip);
}

/* ---- Statistics pages ---- */

static void check_page(const struct rn_stats_copy *copy, size_t size)
{
	const struct rn_stats_page *page = &copy->page;

	require(memchr(page->ibdev, '\0', sizeof(page->ibdev)) != NULL);
	require(memchr(page->comm, '\0', sizeof(page->comm)) != NULL);
	require(copy->counter_count <= RN_STAT_COUNT);
	require(copy->qp_count <= page->qp_capacity);
	require(copy->qp_count * sizeof(*copy->qp) + RN_STATS_QP_OFFSET <= size ||
		copy->qp_count == 0);
	for (uint32_t i = 0; i < copy->qp_count; i++) {
		require(copy->qp[i].qpn != 0);
		require(rn_qp_type_name(copy->qp[i].type) != NULL);
		require(rn_qp_state_name(copy->qp[i].state) != NULL);
	}
}

/* The page begins as a good one; the script goes over it. */
static void stats(struct script *s)
{
	static int fd = -1;
	struct rn_stats_page good = { .magic = RN_STATS_PAGE_MAGIC,
				      .version = RN_STATS_PAGE_VERSION };
	size_t keep = take8(s) % (sizeof(good) + 1), growth = take8(s) % STATS_GROWTH;
	size_t left = script_left(s), size = keep + left + growth;
	struct rn_stats_copy copy;
	int rc;

	if (fd < 0)
		fd = memfd_create("page", MFD_CLOEXEC);
	require(fd >= 0 && ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)size) == 0);
	require(pwrite(fd, &good, keep, 0) == (ssize_t)keep);
	require(pwrite(fd, s->at, left, (off_t)keep) == (ssize_t)left);
	rc = rn_stats_read(fd, &copy);
	require(rc == 0 || rc == -EPROTO);
	if (rc == 0)
		check_page(&copy, size);
	rn_stats_free(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parser[])(struct script *) = { fault, netdevs, settings,
							   packet, stats };
	struct script s = { data, data + size };

	parser[take8(&s) % RN_ARRAY_SIZE(parser)](&s);
	return 0;
}
