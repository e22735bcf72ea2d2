/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_probe.c - `rocin probe`, which `rocin doctor` starts in the environment of
 * programs. Finds out whether libibverbs lists our devices, whether they open, and
 * whether a QP can be created.
 *
 * Prints one result per line on standard output: "FACT TEXT". libibverbs is loaded at run
 * time, not linked, so that `rocin doctor` can report that it is missing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "tools/rocin/common/cmd.h"

static struct {
	struct ibv_device **(*get_device_list)(int *count);
	void (*free_device_list)(struct ibv_device **list);
	const char *(*get_device_name)(struct ibv_device *dev);
	struct ibv_context *(*open_device)(struct ibv_device *dev);
	int (*close_device)(struct ibv_context *ctx);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *ctx);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_cq *(*create_cq)(struct ibv_context *ctx, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector);
	int (*destroy_cq)(struct ibv_cq *cq);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
	int (*destroy_qp)(struct ibv_qp *qp);
} verbs;

/* Stores a function of libibverbs in the struct @verbs. Writes the pointer as if the
 * member were a void *, because ISO C does not allow converting the result of dlsym() to
 * a function pointer. POSIX guarantees that this works.
 */
#define LOAD(lib, name) (*(void **)&verbs.name = dlsym(lib, "ibv_" #name))

static bool load_libibverbs(void)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW);

	if (!lib) {
		printf("no-libibverbs %s\n", dlerror());
		return false;
	}
	LOAD(lib, get_device_list);
	LOAD(lib, free_device_list);
	LOAD(lib, get_device_name);
	LOAD(lib, open_device);
	LOAD(lib, close_device);
	LOAD(lib, alloc_pd);
	LOAD(lib, dealloc_pd);
	LOAD(lib, create_cq);
	LOAD(lib, destroy_cq);
	LOAD(lib, create_qp);
	LOAD(lib, destroy_qp);
	if (verbs.get_device_list && verbs.create_qp && verbs.create_cq && verbs.alloc_pd)
		return true;
	puts("no-libibverbs libibverbs.so.1 lacks functions of IBVERBS_1.1");
	return false;
}

/* Tries to create a QP, for which the device needs rocind and UDP port 4791. Returns
 * NULL, or the reason why that failed.
 */
static const char *try_qp(struct ibv_context *ctx)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	const char *failed = NULL;
	struct ibv_pd *pd = verbs.alloc_pd(ctx);
	struct ibv_cq *cq = verbs.create_cq(ctx, 2, NULL, NULL, 0);
	struct ibv_qp *qp = NULL;

	if (pd && cq) {
		attr.send_cq = attr.recv_cq = cq;
		qp = verbs.create_qp(pd, &attr);
	}
	if (!qp)
		failed = strerror(errno);
	if (qp)
		verbs.destroy_qp(qp);
	if (cq)
		verbs.destroy_cq(cq);
	if (pd)
		verbs.dealloc_pd(pd);
	return failed;
}

static void probe_device(struct ibv_device *dev)
{
	const char *name = verbs.get_device_name(dev), *failed;
	struct ibv_context *ctx;

	if (strncmp(name, "rocin", 5) != 0) {
		printf("other-device %s\n", name);
		return;
	}
	ctx = verbs.open_device(dev);
	if (!ctx) {
		printf("no-open %s %s\n", name, strerror(errno));
		return;
	}
	failed = try_qp(ctx);
	if (failed)
		printf("no-qp %s %s\n", name, failed);
	else
		printf("device %s\n", name);
	verbs.close_device(ctx);
}

int rn_cmd_probe(int argc, char **argv)
{
	struct ibv_device **list;
	int count = 0;

	(void)argc;
	(void)argv;
	if (!load_libibverbs())
		return RN_EXIT_FAILURE;
	list = verbs.get_device_list(&count);
	if (!list) {
		printf("no-list %s\n", strerror(errno));
		return RN_EXIT_FAILURE;
	}
	for (int i = 0; i < count; i++)
		probe_device(list[i]);
	verbs.free_device_list(list);
	return 0;
}
