/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cufile_settings.c - cufile.json, the environment, and the routes that follow. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/types.h"
#include "sim/cufile/settings/settings.h"

static struct rn_cufile_settings s;
static char told[2048];
static char path[] = "/tmp/cufile-test-XXXXXX";

static void remember(void *ctx, const char *sentence)
{
	(void)ctx;
	strncat(told, sentence, sizeof(told) - strlen(told) - 2);
	strcat(told, "\n");
}

static int read_text(const char *text, char *err, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	told[0] = '\0';
	rn_cufile_defaults(&s);
	return rn_cufile_read_json(&s, path, remember, NULL, err, len);
}

static void must_read(const char *text)
{
	char err[512] = "";

	if (read_text(text, err, sizeof(err)))
		fail_msg("%s", err);
}

static const char *policy(void)
{
	static char text[64];

	rn_cufile_policy(&s, text, sizeof(text));
	return text;
}

static void comments_and_all_keys_are_read(void **state)
{
	(void)state;
	must_read(
		"# /etc/cufile.json\n"
		"{ // a comment with \"quotes\n"
		" \"logging\": { \"dir\": \"/var/log//x\", \"level\": \"INFO\" },\n"
		" /* one { over\n lines */ \"profile\": { \"cufile_stats\": 3 },\n"
		" \"properties\": { \"max_direct_io_size_kb\": 1024,\n"
		"  \"allow_compat_mode\": false, \"io_batchsize\": 7,\n"
		"  \"rdma_dynamic_routing\": true,\n"
		"  \"rdma_dynamic_routing_order\": [\"SYS_MEM\", \"GPU_MEM_NVLINKS\"],\n"
		"  \"posix_pool_slab_size_kb\": [4, 64], \"posix_pool_slab_count\": [1, "
		"2],\n"
		"  \"rdma_dev_addr_list\": [\"10.0.0.1\"] },\n"
		" \"fs\": { \"nfs\": { \"posix_gds_min_kb\": 8, \"mount_table\": {\n"
		"   \"/mnt/a\": { \"rdma_dev_addr_list\": [\"10.1.0.1\", \"10.1.0.2\"] "
		"},\n"
		"   \"/mnt/a/b\": { \"rdma_dev_addr_list\": [\"10.2.0.1\"] } } },\n"
		"  \"lustre\": { \"rdma_dev_addr_list\": [\"10.3.0.1\"] } },\n"
		" \"denylist\": { \"mounts\": [\"/scratch\"], \"filesystems\": "
		"[\"gpfs\"] } }");
	assert_string_equal(told, "");
	assert_string_equal(s.string[CUFILE_PARAM_LOG_DIR], "/var/log//x");
	assert_string_equal(s.string[CUFILE_PARAM_LOGGING_LEVEL], "INFO");
	assert_int_equal(s.size[CUFILE_PARAM_PROFILE_STATS], 3);
	assert_int_equal(s.size[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB], 1024);
	assert_int_equal(s.size[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE], 7);
	assert_false(s.flag[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE]);
	assert_string_equal(policy(), "direct,host,nvlink");
	assert_int_equal(s.slabs, 2);
	assert_int_equal(s.slab_kb[1], 64);
	assert_int_equal(s.slab_count[1], 2);
	assert_int_equal(s.mounts, 2);
	assert_string_equal(s.file, path);
}

static void addresses_come_from_the_nearest_list(void **state)
{
	static const struct {
		const char *path;
		enum rn_cufile_fs fs;
		const char *first;
	} cases[] = {
		{ "/mnt/a/file", RN_CUFILE_NFS, "10.1.0.1" },
		{ "/mnt/a/b/file", RN_CUFILE_NFS, "10.2.0.1" },
		{ "/mnt/ab", RN_CUFILE_NFS, "10.0.0.1" },
		{ "/lustre/x", RN_CUFILE_LUSTRE, "10.3.0.1" },
		{ "/home/x", RN_CUFILE_LOCAL, "10.0.0.1" },
	};

	comments_and_all_keys_are_read(state);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++)
		assert_string_equal(rn_cufile_addresses_of(&s, cases[i].path, cases[i].fs)
					    ->address[0],
				    cases[i].first);
	assert_true(rn_cufile_is_denied(&s, "/scratch/x", RN_CUFILE_LOCAL));
	assert_false(rn_cufile_is_denied(&s, "/scratchy", RN_CUFILE_LOCAL));
	assert_true(rn_cufile_is_denied(&s, "/x", RN_CUFILE_GPFS));
	assert_int_equal(rn_cufile_fs_of(0x6969), RN_CUFILE_NFS);
	assert_int_equal(rn_cufile_fs_of(0xef53), RN_CUFILE_LOCAL);
}

static void routes_follow_from_modes(void **state)
{
	static const struct {
		const char *json, *policy;
	} cases[] = {
		{ "{}", "direct,p2p,host" },
		{ "{\"properties\":{\"allow_compat_mode\":false}}", "direct,p2p" },
		{ "{\"properties\":{\"force_compat_mode\":true}}", "host" },
		{ "{\"properties\":{\"rdma_dynamic_routing\":true}}",
		  "direct,nvlink,gpu,host,p2p" },
		{ "{\"properties\":{\"rdma_dynamic_routing\":true,"
		  "\"rdma_dynamic_routing_order\":[\"P2P\"]}}",
		  "direct,p2p,host" },
		{ "{\"properties\":{\"rdma_dynamic_routing\":true,"
		  "\"allow_compat_mode\":false,"
		  "\"rdma_dynamic_routing_order\":[\"GPU_MEM\"]}}",
		  "direct,gpu" },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		must_read(cases[i].json);
		assert_string_equal(policy(), cases[i].policy);
	}
}

static void keys_make_transfers_posix(void **state)
{
	struct rn_cufile_transfer t = { .fs = RN_CUFILE_LUSTRE,
					.is_write = true,
					.size = 8192 };

	(void)state;
	must_read("{\"fs\":{\"lustre\":{\"posix_gds_min_kb\":8},"
		  "\"generic\":{\"posix_unaligned_writes\":true}}}");
	assert_string_equal(rn_cufile_posix_key(&s, &t), "posix_gds_min_kb");
	t.size = 12288;
	assert_null(rn_cufile_posix_key(&s, &t));
	t.file_offset = 5;
	assert_string_equal(rn_cufile_posix_key(&s, &t),
			    "fs.generic.posix_unaligned_writes");
	t.is_write = false;
	assert_null(rn_cufile_posix_key(&s, &t));
	t.is_denied = true;
	assert_string_equal(rn_cufile_posix_key(&s, &t), "denylist");
	must_read("{\"properties\":{\"gds_rdma_write_support\":false}}");
	t = (struct rn_cufile_transfer){ .fs = RN_CUFILE_NFS, .is_write = true };
	assert_non_null(rn_cufile_posix_key(&s, &t));
	t.fs = RN_CUFILE_LOCAL;
	assert_null(rn_cufile_posix_key(&s, &t));
	must_read("{}");
	t.fs = RN_CUFILE_WEKA;
	assert_string_equal(rn_cufile_posix_key(&s, &t), "fs.weka.rdma_write_support");
}

static void wrong_values_are_told_and_left_out(void **state)
{
	static const struct {
		const char *json, *word;
	} wrong[] = {
		{ "{\"properties\":{\"max_direct_io_size_kb\":5}}",
		  "max_direct_io_size_kb" },
		{ "{\"properties\":{\"io_batchsize\":-1}}", "io_batchsize" },
		{ "{\"properties\":{\"io_batchsize\":\"7\"}}", "io_batchsize" },
		{ "{\"properties\":{\"allow_compat_mode\":1}}", "allow_compat_mode" },
		{ "{\"properties\":{\"rdma_dynamic_routing_order\":[\"GPU\"]}}",
		  "\"GPU\"" },
		{ "{\"properties\":{\"rdma_dynamic_routing_order\":[\"P2P\",\"P2P\"]}}",
		  "twice" },
		{ "{\"properties\":{\"rdma_dev_addr_list\":[\"10.0.0\"]}}", "IPv4" },
		{ "{\"properties\":{\"rdma_dev_addr_list\":\"10.0.0.1\"}}", "no list" },
		{ "{\"properties\":{\"posix_pool_slab_size_kb\":[4]}}", "same length" },
		{ "{\"fs\":{\"nfs\":{\"mount_table\":{\"mnt\":{}}}}}", "\"mnt\"" },
		{ "{\"fs\":{\"nfs\":{\"posix_gds_min_kb\":-4}}}", "posix_gds_min_kb" },
		{ "{\"fs\":{\"nfs\":{\"rdma_dev_addr_list\":[\"1.2.3.4\"],"
		  "\"mount_table\":{\"/m\":{}}}}}",
		  "only one" },
		{ "{\"logging\":{\"dir\":7}}", "logging.dir" },
		{ "{\"denylist\":{\"mounts\":[7]}}", "denylist.mounts" },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		must_read(wrong[i].json);
		if (!strstr(told, wrong[i].word))
			fail_msg("%s: \"%s\"", wrong[i].json, told);
	}
	assert_int_equal(s.size[CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE], 128);
}

static void what_is_no_json_is_an_error_with_its_line(void **state)
{
	static const char *const wrong[] = { "",   "{",
					     "[]", "{\n\"a\":}",
					     "7",  "\"",
					     "/*", "{\"a\":1,\"a\":2}",
					     "//", "{\"a\":\"\\" };
	char err[512];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++)
		if (read_text(wrong[i], err, sizeof(err)) != -EINVAL)
			fail_msg("\"%s\" was taken", wrong[i]);
	assert_int_equal(read_text("{\n\"a\":}", err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "line 2"));
	assert_int_equal(
		rn_cufile_read_json(&s, "/nonexistent", remember, NULL, err, sizeof(err)),
		-ENOENT);
	assert_int_equal(
		rn_cufile_read_json(&s, "/dev/zero", remember, NULL, err, sizeof(err)),
		-EFBIG);
}

static void the_environment_comes_before_the_file(void **state)
{
	char err[512];

	(void)state;
	must_read("{\"properties\":{\"allow_compat_mode\":true},"
		  "\"logging\":{\"level\":\"ERROR\"}}");
	setenv("CUFILE_ENV_PATH_JSON", path, 1);
	setenv("CUFILE_ALLOW_COMPAT_MODE", "off", 1);
	setenv("CUFILE_FORCE_COMPAT_MODE", "perhaps", 1);
	setenv("CUFILE_LOGGING_LEVEL", "TRACE", 1);
	setenv("CUFILE_LOGFILE_PATH", "/tmp/l", 1);
	told[0] = '\0';
	assert_int_equal(rn_cufile_load(&s, remember, NULL, err, sizeof(err)), 0);
	assert_false(s.flag[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE]);
	assert_string_equal(s.string[CUFILE_PARAM_LOGGING_LEVEL], "TRACE");
	assert_string_equal(s.string[CUFILE_PARAM_ENV_LOGFILE_PATH], "/tmp/l");
	assert_non_null(strstr(told, "CUFILE_FORCE_COMPAT_MODE is \"perhaps\""));
	setenv("CUFILE_ENV_PATH_JSON", "/nonexistent", 1);
	assert_int_equal(rn_cufile_load(&s, remember, NULL, err, sizeof(err)), 0);
	assert_non_null(strstr(told, "/nonexistent"));
	assert_string_equal(s.file, "");
	unsetenv("CUFILE_ENV_PATH_JSON");
	unsetenv("CUFILE_ALLOW_COMPAT_MODE");
	unsetenv("CUFILE_FORCE_COMPAT_MODE");
	unsetenv("CUFILE_LOGGING_LEVEL");
	unsetenv("CUFILE_LOGFILE_PATH");
}

static void every_error_has_a_text_of_its_own(void **state)
{
	(void)state;
	for (int e = CUFILEOP_BASE_ERR + 1; e < CU_FILE_IO_MAX_ERROR; e++)
		for (int o = CUFILEOP_BASE_ERR + 1; o < e; o++)
			if (e != 5021 && e != 5032 && o != 5021 && o != 5032)
				assert_string_not_equal(
					cufileop_status_error((CUfileOpError)e),
					cufileop_status_error((CUfileOpError)o));
	assert_string_equal(CUFILE_ERRSTR(-5017), "an access beyond what is mapped");
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	return fd < 0;
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comments_and_all_keys_are_read),
		cmocka_unit_test(addresses_come_from_the_nearest_list),
		cmocka_unit_test(routes_follow_from_modes),
		cmocka_unit_test(keys_make_transfers_posix),
		cmocka_unit_test(wrong_values_are_told_and_left_out),
		cmocka_unit_test(what_is_no_json_is_an_error_with_its_line),
		cmocka_unit_test(the_environment_comes_before_the_file),
		cmocka_unit_test(every_error_has_a_text_of_its_own),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
