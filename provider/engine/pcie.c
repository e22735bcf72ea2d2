/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcie.c - finds the library of the simulated PCIe hierarchy; see pcie.h. */
#include "pcie.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "rocin/transport.h"
#include "transport/io/host/log.h"

static void close_cuda(struct rnp_pcie *p)
{
	if (p->cuda)
		rn_cuda_detach(p->cuda);
	p->cuda = NULL;
}

#ifdef RN_NO_PCIE

int rnp_pcie_open(struct rnp_pcie *p, const char *knobs,
		  const struct rn_host_nic_cfg *cfg, char *err, size_t err_len)
{
	(void)cfg;
	*p = (struct rnp_pcie){ 0 };
	if (!knobs)
		return 0;
	return rn_fail(err, err_len, -EINVAL,
		       "ROCIN_PCIE is set, but this Rocin was built without the PCIe "
		       "layer");
}

void rnp_pcie_close(struct rnp_pcie *p)
{
	close_cuda(p);
}

int rnp_pcie_dmabuf(int fd, uint64_t offset, uint64_t len, rn_iova *addr)
{
	(void)fd, (void)offset, (void)len, (void)addr;
	return -ENOENT;
}

rnp_before_ack_fn *rnp_pcie_before_ack(const struct rnp_pcie *p)
{
	(void)p;
	return NULL;
}

#else

/* Functions of the library, one table per process; set when the library is found. */
static _Atomic(const struct rn_host_api *) host;
static atomic_bool was_on;

/* Loads the library from the folder of the plugin. Never unloads it, because the library
 * has threads.
 */
static void *load_beside_plugin(char *err, size_t err_len)
{
	static const char here;
	char path[PATH_MAX];
	Dl_info self = { 0 };
	const char *slash;
	void *lib;

	if (!dladdr(&here, &self) || !self.dli_fname ||
	    !(slash = strrchr(self.dli_fname, '/'))) {
		rn_fail(err, err_len, 0, "the plugin cannot find its own folder");
		return NULL;
	}
	(void)snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname),
		       self.dli_fname, RN_HOST_LIBRARY);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!lib)
		rn_fail(err, err_len, 0, "ROCIN_PCIE is set, but its library fails: %s",
			dlerror());
	return lib;
}

/* Finds the table of functions of the PCIe library. If the library is not in the process
 * yet, it is loaded if @wanted is true. Return: 0, with *@api NULL if the library is not
 * there and @wanted is false; or -errno.
 */
static int find(bool wanted, const struct rn_host_api **api, char *err, size_t err_len)
{
	rn_host_api_fn *get;
	void *symbol, *lib;

	*api = atomic_load(&host);
	if (*api)
		return 0;
	lib = dlopen(RN_HOST_LIBRARY, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
	if (!lib && wanted)
		lib = load_beside_plugin(err, err_len);
	if (!lib)
		return wanted ? -EINVAL : 0;
	symbol = dlsym(lib, RN_HOST_API_SYMBOL);
	if (!symbol)
		return rn_fail(err, err_len, -EINVAL,
			       RN_HOST_LIBRARY " is not the one of this Rocin");
	memcpy(&get, &symbol, sizeof(get));
	*api = get(RN_HOST_API_VERSION, err, err_len);
	if (!*api)
		return -EINVAL;
	atomic_store(&host, *api);
	return 0;
}

int rnp_pcie_open(struct rnp_pcie *p, const char *knobs,
		  const struct rn_host_nic_cfg *cfg, char *err, size_t err_len)
{
	int rc;

	*p = (struct rnp_pcie){ 0 };
	rc = find(knobs != NULL, &p->api, err, err_len);
	if (rc || !p->api)
		return rc;
	if (!p->api->knobs() && atomic_load(&was_on))
		return rn_fail(
			err, err_len, 0,
			"the PCIe layer is off in a child of fork(); it is on again "
			"after exec()");
	if (!p->api->knobs())
		return 0;
	atomic_store(&was_on, true);
	p->nic = p->api->attach(cfg);
	if (!p->nic)
		return rn_fail(err, err_len, -errno,
			       "%s cannot join the PCIe hierarchy: %m", cfg->name);
	return 0;
}

void rnp_pcie_close(struct rnp_pcie *p)
{
	if (p->nic)
		p->api->detach(p->nic);
	p->nic = NULL;
	close_cuda(p);
}

int rnp_pcie_dmabuf(int fd, uint64_t offset, uint64_t len, rn_iova *addr)
{
	const struct rn_host_api *api;

	if (find(false, &api, NULL, 0) || !api)
		return -ENOENT;
	return api->dmabuf(fd, offset, len, addr);
}

static void settle_acked(void *nic, uint32_t qpn)
{
	atomic_load(&host)->settle_acked(nic, qpn);
}

rnp_before_ack_fn *rnp_pcie_before_ack(const struct rnp_pcie *p)
{
	if (!p->nic || p->api->knobs()->ack != RN_ACK_PLACED)
		return NULL;
	return settle_acked;
}

#endif /* RN_NO_PCIE */

/* ----------------------------------------------------------------------- real GPUs */
void rnp_pcie_open_cuda(struct rnp_pcie *p, void (*wake)(void *arg), void *arg)
{
	if (!rnp_pcie_is_on(p) && rn_cuda_is_loaded())
		p->cuda = rn_cuda_attach(wake, arg);
}

int rnp_pcie_join_cuda(struct rnp_pcie *p, struct rn_dev *dev, void (*wake)(void *arg),
		       void *arg)
{
	int rc;

	if (p->cuda || rnp_pcie_is_on(p))
		return 0;
	p->cuda = rn_cuda_attach(wake, arg);
	if (!p->cuda)
		return -ENOMEM;
	rc = rn_dev_set_memory(dev, &rn_cuda_waiting_ops, p->cuda, rn_cuda_settle);
	if (rc)
		close_cuda(p);
	return rc;
}
