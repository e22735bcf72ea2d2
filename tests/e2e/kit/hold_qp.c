/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hold_qp.c - make a queue pair, create the file READY, hold until the file DONE is
 * there.
 *
 * usage: hold_qp READY DONE
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "loop.h"

int main(int argc, char **argv)
{
	struct loop l;

	EXPECT(argc == 3);
	loop_open(&l);
	close(open(argv[1], O_CREAT | O_WRONLY, 0600));
	for (unsigned i = 0; i < 3000 && access(argv[2], F_OK); i++)
		poll(NULL, 0, 10);
	loop_close(&l);
	return 0;
}
