/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* replay.c - run a fuzz target over the files of a corpus folder, without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_MAX = 1 << 17, /* the longest packet and more */
};

static int replay(const char *folder, const char *name)
{
	static uint8_t bytes[INPUT_MAX];
	char path[4096];
	uint8_t *copy;
	size_t len;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return -1;
	}
	len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);

	/* Of the exact length: ASan sees a read one past it. */
	copy = malloc(len ? len : 1);
	if (!copy)
		return -1;
	for (size_t i = 0; i < len; i++)
		copy[i] = bytes[i];
	printf("%s: %zu bytes\n", name, len);
	fflush(stdout);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
	return 0;
}

int main(int argc, char **argv)
{
	const struct dirent *entry;
	unsigned count = 0;
	DIR *dir;
	int err = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return EXIT_FAILURE;
	}
	dir = opendir(argv[1]);
	if (!dir) {
		perror(argv[1]);
		return EXIT_FAILURE;
	}
	while (!err && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		err = replay(argv[1], entry->d_name);
		count++;
	}
	closedir(dir);
	if (count == 0)
		fprintf(stderr, "%s: no inputs\n", argv[1]);
	return err || count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
