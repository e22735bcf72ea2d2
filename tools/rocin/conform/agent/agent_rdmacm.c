/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_rdmacm.c - loads librdmacm. */
#include "agent_rdmacm.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Stores the address of a function of the library at @to, which is a pointer to a
 * function. Returns false if the library has no such function.
 */
static bool find(void *library, const char *name, void *to)
{
	void *at = dlsym(library, name);

	memcpy(to, &at, sizeof(at));
	return at != NULL;
}

const struct rn_agent_rdmacm *rn_agent_rdmacm(void)
{
	static struct rn_agent_rdmacm functions;
	void *library = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
	bool found = library != NULL;

#define X(name) found = found && find(library, "rdma_" #name, &functions.name);
	RN_AGENT_RDMACM(X)
#undef X
	return found ? &functions : NULL;
}
