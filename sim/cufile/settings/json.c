/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* json.c - reads a cufile.json.
 *
 * JSON has no comments, but the cufile.json that is installed with cuFile is full of
 * them: they are replaced by spaces before the text is parsed, so lines and columns of
 * messages stay right.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rocin/types.h"
#include "settings.h"

enum {
	FILE_MAX = 1 << 20, /* bytes of a cufile.json; the one of cuFile 1.16 has 6000 */
	NAME_MAX_LEN = 128,
};

struct reader {
	struct rn_cufile_settings *s;
	rn_cufile_remark_fn *remark;
	void *ctx;
};

__attribute__((format(printf, 2, 3))) static void remark(const struct reader *r,
							 const char *fmt, ...)
{
	char sentence[RN_CUFILE_TEXT * 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	r->remark(r->ctx, sentence);
}

/* Replaces comments by spaces: from two slashes, or from # at the start of a line, up to
 * the end of the line, and between slash-star and star-slash. Strings stay as they are.
 */
static void blank_comments(char *text)
{
	bool in_string = false, at_start = true;

	for (char *p = text; *p != '\0'; p++) {
		if (in_string) {
			if (*p == '\\' && p[1] != '\0')
				p++;
			else if (*p == '"')
				in_string = false;
			continue;
		}
		if (*p == '"') {
			in_string = true;
		} else if ((*p == '/' && p[1] == '/') || (*p == '#' && at_start)) {
			while (*p != '\0' && *p != '\n')
				*p++ = ' ';
			if (*p == '\0')
				return;
		} else if (*p == '/' && p[1] == '*') {
			while (*p != '\0' && !(*p == '*' && p[1] == '/')) {
				if (*p != '\n')
					*p = ' ';
				p++;
			}
			if (*p == '\0')
				return;
			*p++ = ' ';
			*p = ' ';
		}
		at_start = *p == '\n' || (at_start && (*p == ' ' || *p == '\t'));
	}
}

/* Returns the contents of a regular file, to be freed, or NULL with errno. */
static char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text;
	size_t at = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
		close(fd);
		errno = EFBIG;
		return NULL;
	}
	text = calloc(1, (size_t)st.st_size + 1);
	while (text && at < (size_t)st.st_size) {
		ssize_t got = read(fd, text + at, (size_t)st.st_size - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		at += (size_t)got;
	}
	close(fd);
	return text;
}

/* Returns the value at "section.key" or "section.part.key"; NULL if there is none. */
static json_t *value_at(json_t *root, const char *section, const char *key)
{
	char first[NAME_MAX_LEN];
	const char *dot = strchr(section, '.');
	json_t *at;

	if (!dot)
		return json_object_get(json_object_get(root, section), key);
	snprintf(first, sizeof(first), "%.*s", (int)(dot - section), section);
	at = json_object_get(json_object_get(root, first), dot + 1);
	return json_object_get(at, key);
}

static void read_sizes(const struct reader *r, json_t *root)
{
	for (unsigned i = 0; i < RN_CUFILE_SIZES; i++) {
		const struct rn_cufile_size_row *row = rn_cufile_size_row(i);
		json_t *v = value_at(root, row->section, row->key);

		if (!v)
			continue;
		if (!json_is_integer(v) || json_integer_value(v) < 0 ||
		    !rn_cufile_size_is_valid(i, (size_t)json_integer_value(v)))
			remark(r,
			       "%s.%s is no multiple of %zu from %zu to %zu; %zu is used "
			       "instead",
			       row->section, row->key, row->multiple, row->min, row->max,
			       row->initial);
		else
			r->s->size[i] = (size_t)json_integer_value(v);
	}
}

static void read_flags(const struct reader *r, json_t *root)
{
	for (unsigned i = 0; i < RN_CUFILE_FLAGS; i++) {
		const char *section = rn_cufile_flag_section(i);
		const char *key = rn_cufile_flag_key(i);
		json_t *v = value_at(root, section, key);

		if (v && !json_is_boolean(v))
			remark(r, "%s.%s is neither true nor false; %s is used instead",
			       section, key, r->s->flag[i] ? "true" : "false");
		else if (v)
			r->s->flag[i] = json_is_true(v);
	}
}

static void read_string(const struct reader *r, json_t *root, const char *section,
			const char *key, char *to)
{
	json_t *v = value_at(root, section, key);

	if (v && (!json_is_string(v) || json_string_length(v) >= RN_CUFILE_TEXT))
		remark(r, "%s.%s is no text of less than %d bytes; it is not used",
		       section, key, RN_CUFILE_TEXT);
	else if (v)
		snprintf(to, RN_CUFILE_TEXT, "%s", json_string_value(v));
}

/* ----------------------------------------------------------------- routing, NICs */
static bool is_address(const char *text)
{
	unsigned part[4];
	char rest;

	if (sscanf(text, "%3u.%3u.%3u.%3u%c", &part[0], &part[1], &part[2], &part[3],
		   &rest) != 4)
		return false;
	return part[0] < 256 && part[1] < 256 && part[2] < 256 && part[3] < 256;
}

static void read_addresses(const struct reader *r, json_t *list, const char *name,
			   struct rn_cufile_addresses *to)
{
	json_t *entry;
	size_t i;

	if (!list)
		return;
	if (!json_is_array(list)) {
		remark(r, "%s is no list of addresses; it is not used", name);
		return;
	}
	to->count = 0;
	json_array_foreach(list, i, entry)
	{
		const char *text = json_string_value(entry);

		if (!text || strlen(text) > 15 || !is_address(text))
			remark(r,
			       "%s has an entry that is no IPv4 address; it is left out",
			       name);
		else if (to->count == RN_CUFILE_ADDRESSES)
			remark(r, "%s has more than %d addresses; \"%s\" is left out",
			       name, RN_CUFILE_ADDRESSES, text);
		else
			snprintf(to->address[to->count++], sizeof(to->address[0]), "%s",
				 text);
	}
}

static void read_order(const struct reader *r, json_t *list)
{
	struct rn_cufile_settings *s = r->s;
	json_t *entry;
	size_t i;

	if (!list)
		return;
	s->routings = 0;
	json_array_foreach(list, i, entry)
	{
		const char *text = json_string_value(entry);
		int routing = text ? rn_cufile_routing_find(text) : -1;
		bool is_there = false;

		for (unsigned k = 0; k < s->routings; k++)
			is_there = is_there || s->routing[k] == routing;
		if (routing < 0 || is_there)
			remark(r,
			       "properties.rdma_dynamic_routing_order: \"%s\" is %s; it "
			       "is left out",
			       text ? text : "?",
			       is_there ? "there twice"
					: "none of GPU_MEM_NVLINKS, GPU_MEM, SYS_MEM, "
					  "P2P");
		else
			s->routing[s->routings++] = (uint8_t)routing;
	}
}

static void read_mounts(const struct reader *r, enum rn_cufile_fs fs, json_t *table)
{
	struct rn_cufile_settings *s = r->s;
	const char *path;
	json_t *entry;

	json_object_foreach(table, path, entry)
	{
		struct rn_cufile_mount *m = &s->mount[s->mounts];
		char name[RN_CUFILE_TEXT * 2];

		if (path[0] != '/' || strlen(path) >= RN_CUFILE_TEXT ||
		    s->mounts == RN_CUFILE_MOUNTS) {
			remark(r,
			       "fs.%s.mount_table: \"%s\" is no absolute path, or one of "
			       "more than %d; it is left out",
			       rn_cufile_fs_name(fs), path, RN_CUFILE_MOUNTS);
			continue;
		}
		m->fs = fs;
		snprintf(m->path, sizeof(m->path), "%s", path);
		snprintf(name, sizeof(name), "fs.%s.mount_table \"%s\"",
			 rn_cufile_fs_name(fs), path);
		m->addresses.count = 0;
		read_addresses(r, json_object_get(entry, "rdma_dev_addr_list"), name,
			       &m->addresses);
		s->mounts++;
	}
}

static void read_file_systems(const struct reader *r, json_t *root)
{
	json_t *systems = json_object_get(root, "fs");

	for (unsigned fs = 0; fs < RN_CUFILE_FS_COUNT; fs++) {
		const char *name = rn_cufile_fs_name((enum rn_cufile_fs)fs);
		json_t *section = json_object_get(systems, name);
		json_t *kb = json_object_get(section, "posix_gds_min_kb");
		json_t *table = json_object_get(section, "mount_table");
		char key[NAME_MAX_LEN];

		snprintf(key, sizeof(key), "fs.%s.rdma_dev_addr_list", name);
		read_addresses(r, json_object_get(section, "rdma_dev_addr_list"), key,
			       &r->s->fs_addresses[fs]);
		if (kb && (!json_is_integer(kb) || json_integer_value(kb) < 0))
			remark(r, "fs.%s.posix_gds_min_kb is no number; 0 is used", name);
		else if (kb)
			r->s->posix_kb[fs] = (size_t)json_integer_value(kb);
		if (table && r->s->fs_addresses[fs].count > 0)
			remark(r,
			       "fs.%s has a rdma_dev_addr_list and a mount_table; only "
			       "one of them may be there, and the mount_table is used",
			       name);
		read_mounts(r, (enum rn_cufile_fs)fs, table);
	}
}

static void read_denied(const struct reader *r, json_t *root)
{
	static const char *const kinds[] = { "drivers", "devices", "mounts",
					     "filesystems" };
	json_t *lists = json_object_get(root, "denylist");
	struct rn_cufile_settings *s = r->s;
	json_t *entry;
	size_t i;

	for (unsigned k = 0; k < RN_ARRAY_SIZE(kinds); k++) {
		json_array_foreach(json_object_get(lists, kinds[k]), i, entry)
		{
			struct rn_cufile_denied *d = &s->deny[s->denied];
			const char *text = json_string_value(entry);

			if (!text || strlen(text) >= RN_CUFILE_TEXT ||
			    s->denied == RN_CUFILE_DENIED) {
				remark(r,
				       "denylist.%s has an entry that is no text, or one "
				       "of more than %d; it is left out",
				       kinds[k], RN_CUFILE_DENIED);
				continue;
			}
			snprintf(d->kind, sizeof(d->kind), "%s", kinds[k]);
			snprintf(d->name, sizeof(d->name), "%s", text);
			s->denied++;
		}
	}
}

static void read_slabs(const struct reader *r, json_t *root)
{
	json_t *kb = value_at(root, "properties", "posix_pool_slab_size_kb");
	json_t *count = value_at(root, "properties", "posix_pool_slab_count");
	size_t n = json_array_size(kb);

	if (!kb && !count)
		return;
	if (n == 0 || n != json_array_size(count) || n > RN_CUFILE_SLABS) {
		remark(r,
		       "properties.posix_pool_slab_size_kb and posix_pool_slab_count are "
		       "no lists of the same length, 1 to %d; the defaults are used",
		       RN_CUFILE_SLABS);
		return;
	}
	r->s->slabs = (unsigned)n;
	for (size_t i = 0; i < n; i++) {
		r->s->slab_kb[i] = (size_t)json_integer_value(json_array_get(kb, i));
		r->s->slab_count[i] =
			(size_t)json_integer_value(json_array_get(count, i));
	}
}

int rn_cufile_read_json(struct rn_cufile_settings *s, const char *path,
			rn_cufile_remark_fn *remark_fn, void *ctx, char *err,
			size_t err_len)
{
	const struct reader r = { s, remark_fn, ctx };
	char *text = read_file(path);
	json_error_t where;
	json_t *root;

	if (!text) {
		int error = errno;

		snprintf(err, err_len, "%s: %s", path, strerror(error));
		return -error;
	}
	blank_comments(text);
	root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
	free(text);
	if (!root || !json_is_object(root)) {
		snprintf(err, err_len, "%s, line %d, column %d: %s", path,
			 root ? 1 : where.line, root ? 1 : where.column,
			 root ? "an object is expected" : where.text);
		json_decref(root);
		return -EINVAL;
	}
	snprintf(s->file, sizeof(s->file), "%s", path);
	read_sizes(&r, root);
	read_flags(&r, root);
	read_string(&r, root, "logging", "level", s->string[CUFILE_PARAM_LOGGING_LEVEL]);
	read_string(&r, root, "logging", "dir", s->string[CUFILE_PARAM_LOG_DIR]);
	read_order(&r, value_at(root, "properties", "rdma_dynamic_routing_order"));
	read_addresses(&r, value_at(root, "properties", "rdma_dev_addr_list"),
		       "properties.rdma_dev_addr_list", &s->addresses);
	read_slabs(&r, root);
	read_file_systems(&r, root);
	read_denied(&r, root);
	json_decref(root);
	return 0;
}
