/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.c - object numbers and limits of a device, which all contexts of the process
 * share, and queries of the device. Every limit that a query returns is enforced.
 */
#include "device.h"

#include "provider.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "library.h"
#include "provider/engine/engine.h"
#include "provider/engine/pcie.h"
#include "provider/persona/persona.h"
#include "provider/raw/flow.h"
#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/netdev.h"
#include "rocin/permutation.h"
#include "rocin/queue_pair.h"
#include "rocin/srq.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/host/secret.h"

/* ---------------------------------------------------------------- numbers and limits */
enum {
	/* Number of buckets of the first table that the device allocates. For fewer
	 * objects the core has a small table of its own.
	 */
	FIRST_GROWTH = 64
};

struct table {
	/* buckets of the table; NULL: the core uses its first, built-in buckets */
	void **bucket;
	uint32_t room; /* number of buckets */
};

struct rnp_hca {
	LIST_ENTRY(rnp_hca) link;
	struct rnp_engine *engine;
	unsigned refs; /* number of contexts that use this device; guarded by list_lock */
	/* Guarded by the engine lock. */
	uint32_t count[RNP_HCA_KINDS];
	struct table qps, mrs, srqs;
	struct rnp_xrc_domains xrc_domains;
	uint64_t dm_bytes;	    /* bytes of device memory in use */
	struct rn_permutation keys; /* the order in which keys are given out */
	uint32_t last_pd, last_key, last_dm, last_srqn, last_xrcd, last_cq;
};

/* guards the list @hcas, and rnp_hca.refs */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, rnp_hca) hcas = LIST_HEAD_INITIALIZER(hcas);

/* Resets the list of devices and its lock in a fork() child. Another thread of the parent
 * may have held the lock, and the records belong to engines of the parent.
 */
static void forget_in_child(void)
{
	pthread_mutex_init(&list_lock, NULL);
	LIST_INIT(&hcas);
}

static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, forget_in_child);
}

static struct rnp_hca *find_locked(const struct rnp_engine *e)
{
	struct rnp_hca *hca;

	LIST_FOREACH(hca, &hcas, link)
	if (hca->engine == e)
		return hca;
	return NULL;
}

static struct rnp_hca *share_locked(struct rnp_engine *e)
{
	struct rnp_hca *hca = find_locked(e);

	if (!hca) {
		hca = calloc(1, sizeof(*hca));
		if (!hca)
			return NULL;
		hca->engine = e;
		LIST_INIT(&hca->xrc_domains);
		hca->keys = rn_permutation_of(rn_secret(), 16);
		/* Begin with the process number, so that two processes rarely use equal
		 * SRQ numbers.
		 */
		hca->last_srqn = (uint32_t)getpid() << 8;
		LIST_INSERT_HEAD(&hcas, hca, link);
	}
	hca->refs++;
	return hca;
}

struct rnp_hca *rnp_hca_open(const char *ibdev, const struct rnp_engine_hooks *hooks,
			     void *owner, struct rnp_engine **engine, char *err,
			     size_t err_len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rnp_hca *hca = NULL;

	pthread_once(&once, watch_fork);
	pthread_mutex_lock(&list_lock);
	*engine = rnp_engine_get(ibdev, hooks, owner, err, err_len);
	if (*engine) {
		hca = share_locked(*engine);
		if (!hca) {
			rnp_engine_put(*engine, owner);
			rn_fail(err, err_len, 0, "not enough memory");
			errno = ENOMEM;
		}
	}
	pthread_mutex_unlock(&list_lock);
	return hca;
}

void rnp_hca_close(struct rnp_hca *hca, void *owner)
{
	/* In a fork() child the list is empty. The tables are not freed, since the
	 * child's copy of the core still uses them.
	 */
	if (rnp_engine_forked(hca->engine)) {
		rnp_engine_put(hca->engine, owner);
		return;
	}
	pthread_mutex_lock(&list_lock);
	rnp_engine_put(hca->engine, owner);
	if (--hca->refs == 0) {
		LIST_REMOVE(hca, link);
		free(hca->qps.bucket);
		free(hca->mrs.bucket);
		free(hca->srqs.bucket);
		free(hca);
	}
	pthread_mutex_unlock(&list_lock);
}

/* Gives the core a larger hash table if @count objects need one, so that there is at
 * least one bucket per object. @hand_over passes the table to the core, and returns the
 * one that the core used before. Returns 0 or -ENOMEM.
 */
static int grow(struct rnp_hca *hca, struct table *t, uint32_t count,
		void **(*hand_over)(struct rn_dev *dev, void **bucket, uint32_t count))
{
	uint32_t room = t->room ? 2 * t->room : FIRST_GROWTH;
	void **bucket;

	if (count <= t->room || (!t->room && count <= FIRST_GROWTH / 4))
		return 0;
	bucket = malloc(room * sizeof(*bucket));
	if (!bucket)
		return -ENOMEM;
	free(hand_over(rnp_engine_dev(hca->engine), bucket, room));
	t->bucket = bucket;
	t->room = room;
	return 0;
}

int rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind)
{
	static const uint32_t limit[RNP_HCA_KINDS] = {
		[RNP_HCA_AH] = RNP_AH_MAX,
		[RNP_HCA_QP] = RNP_QP_MAX,
		[RNP_HCA_CQ] = RNP_CQ_MAX,
		[RNP_HCA_PD] = RNP_PD_MAX,
		[RNP_HCA_MR] = RNP_MR_MAX,
		[RNP_HCA_MCAST_GRP] = RNP_MCAST_GRP_MAX,
		[RNP_HCA_MW] = RNP_MW_MAX,
		[RNP_HCA_SRQ] = RNP_SRQ_MAX,
		[RNP_HCA_WQ] = RNP_WQ_MAX,
		[RNP_HCA_RWQ_TABLE] = RNP_RWQ_TABLE_MAX,
		[RNP_HCA_COMP_CNTR] = RNP_COMP_CNTR_MAX,
	};
	uint32_t count = hca->count[kind] + 1;
	int rc = 0;

	if (count > limit[kind])
		return -ENOMEM;
	if (kind == RNP_HCA_QP ||
	    kind == RNP_HCA_WQ) /* QPs and WQs share one table of numbers */
		rc = grow(hca, &hca->qps,
			  hca->count[RNP_HCA_QP] + hca->count[RNP_HCA_WQ] + 1,
			  rn_dev_grow_qp_table);
	else if (kind == RNP_HCA_MR ||
		 kind == RNP_HCA_MW) /* regions and windows share one table of keys */
		rc = grow(hca, &hca->mrs,
			  hca->count[RNP_HCA_MR] + hca->count[RNP_HCA_MW] + 1,
			  rn_dev_grow_mr_table);
	else if (kind == RNP_HCA_SRQ)
		rc = grow(hca, &hca->srqs, count, rn_dev_grow_srq_table);
	if (!rc)
		hca->count[kind] = count;
	return rc;
}

void rnp_hca_remove(struct rnp_hca *hca, enum rnp_hca_kind kind)
{
	assert(hca->count[kind] > 0);
	hca->count[kind]--;
}

int rnp_hca_take_dm(struct rnp_hca *hca, uint64_t bytes)
{
	if (bytes > RNP_DM_BYTES - hca->dm_bytes)
		return -ENOMEM;
	hca->dm_bytes += bytes;
	return 0;
}

void rnp_hca_give_dm(struct rnp_hca *hca, uint64_t bytes)
{
	assert(hca->dm_bytes >= bytes);
	hca->dm_bytes -= bytes;
}

uint32_t rnp_hca_new_dm(struct rnp_hca *hca)
{
	return ++hca->last_dm; /* wraps, as PD numbers do */
}

uint32_t rnp_hca_new_pd(struct rnp_hca *hca)
{
	/* The number wraps after 2^32 PDs. By then the PDs with the first numbers have
	 * long been deallocated.
	 */
	return ++hca->last_pd;
}

uint32_t rnp_hca_new_cq(struct rnp_hca *hca)
{
	return ++hca->last_cq; /* wraps, as PD numbers do */
}

uint32_t rnp_hca_new_xrcd(struct rnp_hca *hca)
{
	return ++hca->last_xrcd; /* wraps, as PD numbers do */
}

struct rnp_xrc_domains *rnp_hca_xrc_domains(struct rnp_hca *hca)
{
	return &hca->xrc_domains;
}

uint32_t rnp_hca_new_srqn(struct rnp_hca *hca)
{
	uint32_t srqn;

	do {
		srqn = ++hca->last_srqn & RN_SRQN_MAX;
	} while (srqn == 0 || rn_dev_has_srqn(rnp_engine_dev(hca->engine), srqn));
	return srqn;
}

/* Allocates a key. All 32 bits, index and key byte, come from a secret order: somebody
 * who has seen other keys cannot guess it. A key that was released is not used again for
 * the next four billion registrations.
 */
uint32_t rnp_hca_new_key(struct rnp_hca *hca)
{
	uint32_t key, index;

	do {
		key = rn_permute(&hca->keys, hca->last_key++);
		index = key >> RN_KEY_INDEX_SHIFT;
	} while (index == 0 || rn_dev_has_mr_index(rnp_engine_dev(hca->engine), index));
	return key;
}

/* -------------------------------------------------------- queries of device and port */
enum {
	VENDOR_PART_ID = 1,
	/* 4.096 us * 2^12 = 16.8 ms. If a program stops polling, its sockets are
	 * read after 5 ms at the latest (policy.h); the rest allows for delays by
	 * the scheduler.
	 */
	CA_ACK_DELAY_CODE = 12,
	CLOCK_KHZ = 1000000, /* 1 GHz: CQE timestamps are in nanoseconds */

	/* Values of port attributes as the kernel reports them, IBTA Vol 1 PortInfo. */
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
	WIDTH_4X = 2,
	SPEED_EDR = 32,
	MAX_VL_ONE = 1,
};

static void fill_limits(struct ibv_device_attr *a)
{
	a->max_mr_size = UINT64_MAX;
	a->max_qp = RNP_QP_MAX;
	a->device_cap_flags |= IBV_DEVICE_MANAGED_FLOW_STEERING | IBV_DEVICE_RAW_IP_CSUM;
	a->max_raw_ethy_qp = RNP_QP_MAX;
	a->max_qp_wr = RN_WR_MAX;
	a->max_sge = RN_SGE_MAX;
	a->max_sge_rd = RN_SGE_MAX;
	a->max_srq = RNP_SRQ_MAX;
	a->max_srq_wr = RN_WR_MAX;
	a->max_srq_sge = RN_SGE_MAX;
	a->max_cq = RNP_CQ_MAX;
	a->max_cqe = RN_CQE_MAX;
	a->max_mr = RNP_MR_MAX;
	a->max_mw = RNP_MW_MAX;
	a->max_pd = RNP_PD_MAX;
	a->max_ah = RNP_AH_MAX;
	a->max_qp_rd_atom = RN_RD_ATOMIC_MAX;
	a->max_qp_init_rd_atom = RN_RD_ATOMIC_MAX;
	a->max_res_rd_atom = RN_RD_ATOMIC_MAX * RNP_QP_MAX;
	a->max_mcast_grp = RNP_MCAST_GRP_MAX;
	a->max_mcast_qp_attach = RNP_MCAST_QP_MAX;
	a->max_total_mcast_qp_attach = RNP_MCAST_GRP_MAX * RNP_MCAST_QP_MAX;
	a->max_pkeys = 1;
}

/* Flags of ibv_device_attr_ex.device_cap_flags_ex that verbs.h of release 44 does not
 * name: IB_UVERBS_DEVICE_* of the kernel.
 */
#define CAP_FLUSH_GLOBAL (1ULL << 38)
#define CAP_FLUSH_PERSISTENT (1ULL << 39)
#define CAP_ATOMIC_WRITE (1ULL << 40)

/* Fills in the atomic capabilities. Atomics by a lock of the NIC are atomic only among
 * themselves. An AtomicOp TLP, and the CPU's own instruction where no PCIe is simulated,
 * are atomic also with respect to the program's instructions; as with mlx5,
 * pci_atomic_caps says so. IBV_ATOMIC_GLOB is not reported: rxe and mlx5 never do, and
 * UCX 1.13 then uses no atomics at all.
 */
static void fill_atomics(const struct rn_pcie_knobs *k, struct ibv_device_attr_ex *a)
{
	const uint16_t size = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP;

	a->orig_attr.atomic_cap = IBV_ATOMIC_HCA;
	if (!k || k->atomic != RN_ATOMIC_BY_NIC)
		a->pci_atomic_caps = (struct ibv_pci_atomic_caps){ .fetch_add = size,
								   .compare_swap = size };
}

static void fill_attr(const struct rn_netdev *dev, struct ibv_device_attr *a)
{
	(void)snprintf(a->fw_ver, sizeof(a->fw_ver), "%s", ROCIN_VERSION);
	a->node_guid = htobe64(dev->node_guid);
	a->sys_image_guid = htobe64(dev->node_guid);
	a->page_size_cap = ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	a->vendor_id = RNP_VENDOR_ID;
	a->vendor_part_id = VENDOR_PART_ID;
	a->device_cap_flags =
		IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
		IBV_DEVICE_UD_AV_PORT_ENFORCE | IBV_DEVICE_CURR_QP_STATE_MOD |
		IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
		IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |
		IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |
		IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC | IBV_DEVICE_AUTO_PATH_MIG;
	a->local_ca_ack_delay = CA_ACK_DELAY_CODE;
	a->phys_port_cnt = 1;
	fill_limits(a);
}

int rnp_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size)
{
	const struct rnp_context *ctx = to_rnp_context(context);
	const uint32_t any =
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t rc = any | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
			    IBV_ODP_SUPPORT_ATOMIC;
	struct ibv_device_attr_ex a = {
		/* Memory is accessed through the program's own page table, so paging on
		 * demand works.
		 */
		.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
		.odp_caps.per_transport_caps = {
			.rc_odp_caps = rc | RNP_ODP_FLUSH | RNP_ODP_ATOMIC_WRITE,
			.uc_odp_caps = any | IBV_ODP_SUPPORT_WRITE,
			.ud_odp_caps = any,
		},
		.xrc_odp_caps = rc,
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = CLOCK_KHZ,
		.phys_port_cnt_ex = 1,
		.raw_packet_caps = IBV_RAW_PACKET_CAP_IP_CSUM,
		.packet_pacing_caps = { .qp_rate_limit_min = RNP_RATE_MIN,
					.qp_rate_limit_max = RNP_RATE_MAX,
					.supported_qpts = 1u << IBV_QPT_RC |
							  1u << IBV_QPT_UC |
							  1u << IBV_QPT_UD },
		.max_wq_type_rq = RNP_WQ_MAX,
		.rss_caps = {
			.supported_qpts = 1 << IBV_QPT_RAW_PACKET,
			.max_rwq_indirection_tables = RNP_RWQ_TABLE_MAX,
			.max_rwq_indirection_table_size = 1 << RNP_RWQ_TABLE_LOG_MAX,
			.rx_hash_fields_mask = RNP_RSS_FIELDS,
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
		},
		.cq_mod_caps = { .max_cq_count = RNP_CQ_MOD_MAX,
				 .max_cq_period = RNP_CQ_MOD_MAX },
		.max_dm_size = RNP_DM_BYTES,
	};

	/* Works in a fork() child, too, because nothing that is reported here changes. */
	if (input && input->comp_mask)
		return EINVAL;
	if (ctx->is_closed)
		return EIO;
	fill_attr(rnp_engine_netdev(ctx->engine), &a.orig_attr);
	fill_atomics(rnp_pcie_knobs(rnp_engine_pcie(ctx->engine)), &a);
	a.device_cap_flags_ex = a.orig_attr.device_cap_flags | CAP_FLUSH_GLOBAL |
				CAP_FLUSH_PERSISTENT | CAP_ATOMIC_WRITE;
	rnp_persona_device(rnp_engine_persona(ctx->engine), &a);
	/* @attr_size is the size of the struct that the caller was compiled with. */
	memset(attr, 0, attr_size);
	memcpy(attr, &a, attr_size < sizeof(a) ? attr_size : sizeof(a));
	return 0;
}

static enum ibv_mtu active_mtu_code(uint32_t bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && (128u << (code + 1)) <= bytes)
		code++;
	return code;
}

/* Is the link up now? If that cannot be found out, returns whether it was up when the
 * device was opened.
 */
static bool link_is_up(const struct rn_netdev *dev)
{
	struct ifreq req = { 0 };
	bool up = dev->up;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return up;
	memcpy(req.ifr_name, dev->ifname, sizeof(req.ifr_name));
	if (ioctl(fd, SIOCGIFFLAGS, &req) == 0)
		up = (req.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
	rn_fd_close(fd);
	return up;
}

int rnp_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *attr)
{
	const struct rnp_context *ctx = to_rnp_context(context);
	const struct rn_netdev *dev;
	int cancel;
	bool up;

	if (rnp_is_fork_child(ctx))
		return EIO;
	if (port_num != 1)
		return EINVAL;
	dev = rnp_engine_netdev(ctx->engine);
	cancel = rnp_lock_engine(ctx->engine);
	up = link_is_up(dev) && !rnp_engine_dead(ctx->engine);
	rnp_unlock_engine(ctx->engine, cancel);
	*attr = (struct ibv_port_attr){
		.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = active_mtu_code(rnp_port_mtu(dev)),
		.gid_tbl_len = RN_GID_MAX,
		.port_cap_flags = IBV_PORT_CM_SUP,
		.max_msg_sz = (uint32_t)RN_MSG_MAX,
		.pkey_tbl_len = 1,
		.max_vl_num = MAX_VL_ONE,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_EDR,
		.phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	rnp_persona_port(rnp_engine_persona(ctx->engine), attr);
	return 0;
}

/* Speed of a lane in units of 100 Mb/s, as Linux reckons the codes of IBTA volume 1,
 * PortInfo; 0: an unknown code.
 */
static unsigned lane_speed(uint8_t code)
{
	static const struct {
		uint8_t code;
		unsigned speed;
	} lanes[] = {
		{ 1, 25 },     /* SDR */
		{ 2, 50 },     /* DDR */
		{ 4, 100 },    /* QDR */
		{ 8, 100 },    /* FDR10 */
		{ 16, 140 },   /* FDR */
		{ 32, 250 },   /* EDR */
		{ 64, 500 },   /* HDR */
		{ 128, 1000 }, /* NDR */
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(lanes); i++)
		if (lanes[i].code == code)
			return lanes[i].speed;
	return 0;
}

static unsigned lanes_of(uint8_t width)
{
	switch (width) {
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 1;
	}
}

int rnp_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *speed)
{
	struct ibv_port_attr attr;
	int err = port_num == 1 ? rnp_query_port(context, 1, &attr) : EINVAL;

	if (!err)
		*speed = (uint64_t)lanes_of(attr.active_width) *
			 lane_speed(attr.active_speed);
	return err;
}

int rnp_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t wanted = values->comp_mask;

	(void)context;
	values->comp_mask = 0;
	if (wanted & IBV_VALUES_MASK_RAW_CLOCK) {
		/* The time is a number of ticks of hca_core_clock, all in tv_nsec, as
		 * from hardware.
		 */
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = (long)rnp_engine_now();
		values->comp_mask |= IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}

/* --------------------------------------------------------------- messages to the user */
void rnp_tell_user(const char *fmt, ...)
{
	char line[512] = "rocin: ";
	size_t len = strlen(line);
	int saved_errno = errno;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);
	va_end(args);
	len = strlen(line);
	line[len] = '\n';
	if (syscall(SYS_write, STDERR_FILENO, line, len + 1) < 0)
		errno = saved_errno; /* standard error is closed */
	errno = saved_errno;
}
