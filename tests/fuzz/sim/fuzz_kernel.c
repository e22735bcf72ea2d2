/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_kernel.c - the stand-in for the kernel: any request to a uverbs device, in memory
 * of the length that it claims; and any path.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/kernel/redirect.h"
#include "sim/kernel/uverbs.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	OUTPUTS_MAX = 4, /* attributes whose buffers are real */
	OUTPUT_LEN_MAX = 64,
};

/* ---- Requests ---- */

struct request {
	struct ib_uverbs_ioctl_hdr *hdr;
	unsigned attr_count; /* of those that lie in the memory of hdr */
	void *output[OUTPUTS_MAX];
	unsigned output_count;
};

/* The program's memory for an answer, as long as it says. */
static void give_output(struct request *r, struct ib_uverbs_attr *attr)
{
	if (attr->attr_id != UVERBS_ATTR_CORE_OUT || r->output_count == OUTPUTS_MAX)
		return;
	attr->len %= OUTPUT_LEN_MAX;
	r->output[r->output_count] = malloc(attr->len ? attr->len : 1);
	require(r->output[r->output_count] != NULL);
	attr->data = (uintptr_t)r->output[r->output_count++];
}

static bool take_request(struct script *s, struct request *r)
{
	struct ib_uverbs_ioctl_hdr head;

	take_bytes(s, &head, sizeof(head));
	if (head.length < sizeof(head))
		head.length =
			(uint16_t)(sizeof(head) + head.num_attrs * sizeof(head.attrs[0]));
	if (head.length < sizeof(head))
		return false;
	r->hdr = malloc(head.length);
	require(r->hdr != NULL);
	memcpy(r->hdr, &head, sizeof(head));
	take_bytes(s, r->hdr->attrs, head.length - sizeof(head));
	r->attr_count = (unsigned)((head.length - sizeof(head)) / sizeof(head.attrs[0]));
	for (unsigned i = 0; i < r->attr_count; i++)
		give_output(r, &r->hdr->attrs[i]);
	return true;
}

static void check_descriptor(int fd)
{
	require(fd > STDERR_FILENO);
	require(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
}

static void check_success(const struct request *r)
{
	struct ib_uverbs_create_comp_channel_resp resp;

	for (unsigned i = 0; i < r->attr_count; i++) {
		const struct ib_uverbs_attr *attr = &r->hdr->attrs[i];

		if (r->hdr->object_id == UVERBS_OBJECT_ASYNC_EVENT &&
		    attr->attr_id == UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE) {
			require(attr->flags & UVERBS_ATTR_F_VALID_OUTPUT);
			check_descriptor((int)attr->data_s64);
			return;
		}
		if (r->hdr->object_id == UVERBS_OBJECT_DEVICE &&
		    attr->attr_id == UVERBS_ATTR_CORE_OUT) {
			require(attr->flags & UVERBS_ATTR_F_VALID_OUTPUT);
			require(attr->len >= sizeof(resp));
			memcpy(&resp, r->output[0], sizeof(resp));
			check_descriptor((int)resp.fd);
			return;
		}
	}
	abort(); /* a descriptor that nobody learns of */
}

static void request(struct script *s)
{
	struct request r = { .output_count = 0 };
	int rc;

	if (!take_request(s, &r))
		return;
	rc = rnk_uverbs_ioctl(r.hdr);
	require(rc == 0 || rc == -EINVAL || rc == -ENOSPC || rc == -EOPNOTSUPP ||
		rc == -EPROTONOSUPPORT);
	if (rc == 0)
		check_success(&r);
	for (unsigned i = 0; i < r.output_count; i++)
		free(r.output[i]);
	free(r.hdr);
}

/* ---- Paths ---- */

static const char *const tree_parts[] = { "/sys", "/sys/class",
					  "/sys/class/infiniband_verbs" };
#define TREE_PARTS (sizeof(tree_parts) / sizeof(tree_parts[0]))

/* Only when it is chosen must a tree be there. */
static void choose_tree(void)
{
	const char *tmp = getenv("TMPDIR");
	char tree[PATH_MAX / 2], path[PATH_MAX];
	int fd;

	(void)snprintf(tree, sizeof(tree), "%s/rocin-fuzz-XXXXXX", tmp ? tmp : "/tmp");
	require(mkdtemp(tree) != NULL);
	for (unsigned i = 0; i < TREE_PARTS; i++) {
		(void)snprintf(path, sizeof(path), "%s%s", tree, tree_parts[i]);
		require(mkdir(path, 0700) == 0);
	}
	(void)snprintf(path, sizeof(path), "%s/sys/class/infiniband_verbs/abi_version",
		       tree);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	require(fd >= 0);
	close(fd);
	require(rnk_tree_set(tree));
	unlink(path);
	for (unsigned i = TREE_PARTS; i-- > 0;) {
		(void)snprintf(path, sizeof(path), "%s%s", tree, tree_parts[i]);
		rmdir(path);
	}
	rmdir(tree);
}

static bool is_under(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Where a path lies, less the tree, is a name of the same place. */
static void check_mapped(const char *path, size_t size)
{
	char *mapped = malloc(size), *again = malloc(size);
	const char *name;

	require(mapped && again);
	require(rnk_map(path, mapped, size) == mapped);
	require(strlen(mapped) + 1 == size);
	require(is_under(mapped, rnk_tree()));
	name = rnk_unmapped(mapped);
	require(name == mapped + strlen(rnk_tree()));
	require(is_under(name, "/sys/class") || is_under(name, "/sys/devices") ||
		is_under(name, "/dev/infiniband"));
	require(rnk_mapped_size(name) == size);
	require(rnk_map(name, again, size) == again);
	require(strcmp(again, mapped) == 0);
	free(again);
	free(mapped);
}

static void path(struct script *s)
{
	char *text = take_text(s), *other = take_text(s);
	size_t size = rnk_mapped_size(text);
	char *buf = malloc(size ? size : 1);

	require(buf != NULL);
	if (size)
		check_mapped(text, size);
	rnk_unmapped(text);
	/* The program may have changed the string since the size was asked. */
	if (size)
		rnk_map(other, buf, size);
	free(buf);
	free(other);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { data, data + size };
	unsigned before;

	if (!rnk_tree())
		choose_tree();
	before = open_descriptors();
	if (take8(&s) & 1)
		request(&s);
	else
		path(&s);
	require(open_descriptors() == before);
	return 0;
}
