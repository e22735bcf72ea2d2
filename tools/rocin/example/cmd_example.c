/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_example.c - `rocin example`: runs small programs that have an error, and the same
 * programs with the error corrected.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/launch.h"

/* ---- List of examples ---- */
/* The programs in tools/examples, and the texts about each. */
struct example {
	const char *name;     /* name of the program */
	const char *question; /* the question that the example answers, in one line */
	const char *knobs;    /* value of the option --pcie for the program */
	const char *expected; /* the expected behaviour of the program, in words */
	const char *why;      /* why the program is wrong, and which rule says so */
	const char *remedy;
};

/* PCIe settings with which data becomes visible only when an ordering rule forces it to
 * become visible. So the error of an example shows at the first attempt.
 */
#define WORST ",driver=adversarial,hold=inf,hold.polls=inf"

/* The table of examples; the last entry has no name. */
static const struct example examples[] = {
	{
		.name = "read-completion",
		.question = "An RDMA READ into GPU memory has completed. Is the data "
			    "there?",
		.knobs = "typical,gpu.ordering=none" WORST,
		.expected = "The completion was polled, so a kernel that the CPU then "
			    "tells sees the data.",
		.why = "The completion entry goes to host memory and the data to the "
		       "GPU, which may keep writes of peers inside before its kernels "
		       "see them (gpu.ordering=none). Reading the flag pushes the data "
		       "to the GPU, not out of its inside.",
		.remedy = "Flush the GPU after the completion and before the flag: "
			  "rn_gpu_flush(), on hardware cuFlushGPUDirectRDMAWrites().",
	},
	{
		.name = "write-immediate",
		.question = "WRITE WITH IMMEDIATE into GPU memory: may a running kernel "
			    "be told?",
		.knobs = "typical,gpu.ordering=none" WORST,
		.expected = "An immediate tells the target that the data is there.",
		.why = "It tells the CPU. Kernels that run are not part of that promise; "
		       "only work that the CPU submits afterwards is.",
		.remedy =
			"Launch the kernel after the completion. A launch is a doorbell "
			"that takes the data's last queue and empties the GPU's inside.",
	},
	{
		.name = "write-send",
		.question = "WRITE into GPU memory, then SEND on the same QP: does the "
			    "SEND's completion cover the WRITE?",
		.knobs = "typical,gpu.ordering=none" WORST,
		.expected = "Both go over one QP, so what was written is there when the "
			    "SEND has been received.",
		.why = "In order it is, at the NIC. The WRITE went to the GPU and the "
		       "SEND to host memory; no rule orders two routes.",
		.remedy = "The sender READs a byte of what it wrote before it SENDs, and "
			  "fences the SEND: a read pushes the writes before it (B2a) and "
			  "is answered from behind them.",
	},
	{
		.name = "last-byte",
		.question = "The first and the last byte of a WRITE are there. Is what "
			    "lies between?",
		.knobs = "ibta",
		.expected = "Bytes are placed in order, so the last byte comes last.",
		.why = "Within a message the order of placement is not defined. Many "
		       "NICs place upward, and programs that rely on it work until they "
		       "meet one that does not.",
		.remedy = "Poll a completion: of a WRITE WITH IMMEDIATE, or of a SEND "
			  "after the WRITE.",
	},
	{
		.name = "source-reuse",
		.question = "When may the source of a WRITE be filled again?",
		.knobs = "typical",
		.expected = "ibv_post_send() has returned, so the NIC has the data.",
		.why = "The NIC has a work request. It reads the buffer when it gets to "
		       "it, and again if a packet is lost.",
		.remedy =
			"Poll the completion first, or post with IBV_SEND_INLINE, which "
			"copies.",
	},
	{
		.name = "cpu-flag",
		.question = "Why does a flag in host memory that the GPU reads push the "
			    "NIC's writes?",
		.knobs = "typical" WORST,
		.expected = "The CPU has polled the completion; the kernel may look at "
			    "the data however it learns of that.",
		.why = "When the completion is in host memory the data has left the NIC, "
		       "but it may stand in the queue to the GPU. Nothing that goes "
		       "around this queue moves it.",
		.remedy =
			"Let the kernel read a flag in host memory: the answer takes "
			"the same queue and does not overtake the data (D2a). That needs "
			"one link for both and gpu.ordering=owner.",
	},
	{
		.name = "loopback-read",
		.question = "How is a GPU flushed whose data comes through another root "
			    "port?",
		.knobs = "typical,gpu.ordering=none,rc.p2p=split" WORST,
		.expected = "The CPU's flush call makes all writes to the GPU visible.",
		.why = "It pushes what takes the CPU's way to the GPU. NIC and GPU are "
		       "below different root ports: the data takes another.",
		.remedy =
			"READ one byte of the buffer by a QP of the same NIC that is "
			"connected to itself, and wait for its completion: it takes the "
			"data's way (B2a) and empties the GPU's inside. NCCL does so.",
	},
	{
		.name = "storage-completion",
		.question = "A file was read into GPU memory. May a running kernel be "
			    "told?",
		.knobs = "typical,gpu.ordering=none" WORST,
		.expected = "The drive has completed, so the data is in the GPU.",
		.why = "A drive is a DMA engine like a NIC: data to the GPU, completion "
		       "entry to host memory, two routes.",
		.remedy = "Order by a stream, launch the kernel afterwards, or flush.",
	},
	{
		.name = "storage-route",
		.question = "Which way does a file take to a GPU that is far from the "
			    "drive?",
		.knobs = "typical,rc.p2p=split" WORST,
		.expected = "A kernel that is launched after the completion sees the "
			    "data.",
		.why = "Drive and GPU are below different root ports. The launch takes "
		       "the CPU's way to the GPU and pushes nothing on the drive's.",
		.remedy =
			"Bounce: through a GPU below the drive's switch or through host "
			"memory. The transfer is complete when the copy is. The default "
			"policy does so by itself.",
	},
	{
		.name = "load-then-send",
		.question = "A file was read into GPU memory. May the buffer be sent on?",
		.knobs = "typical,rc.p2p=split" WORST,
		.expected = "The drive has completed, so the NIC sends what was read.",
		.why = "The NIC's read of the buffer pushes what the NIC has written, "
		       "not "
		       "what the drive has: each has its own way to the GPU.",
		.remedy =
			"Order the read by a stream, or let it bounce, before the buffer "
			"is posted.",
	},
	{ .name = NULL },
};

/* ------------------------------------------------------ options of the command line */
enum {
	WIDTH = 78,  /* number of columns of a line */
	INDENT = 12, /* number of columns by which text is indented */
	/* Time limit of a program in seconds. Even on a busy machine, a program that
	 * takes longer must be hanging.
	 */
	SECONDS_MAX = 600,
	OUTPUT_MAX = 4096, /* maximum number of bytes of output that are stored */
};

struct example_args {
	bool list, json;
	const char *netdevs;
	char **names; /* names of the examples to run, within argv; NULL: all examples */
	unsigned name_count;
};

static const struct argp_option options[] = {
	{ "list", 'l', NULL, 0, "List the examples", 0 },
	{ "json", 'j', NULL, 0, "Print JSON, an object for each example and line", 0 },
	RN_OPTION_NETDEV(0),
	{ 0 },
};

static bool is_known(const char *name)
{
	const struct example *x = examples;

	while (x->name && strcmp(x->name, name) != 0)
		x++;
	return x->name != NULL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct example_args *args = state->input;

	switch (key) {
	case 'j':
		args->json = true;
		return 0;
	case 'l':
		args->list = true;
		return 0;
	case 'n':
		args->netdevs = arg;
		return 0;
	case ARGP_KEY_ARGS:
		args->names = state->argv + state->next;
		args->name_count = (unsigned)(state->argc - state->next);
		for (unsigned i = 0; i < args->name_count; i++)
			if (!is_known(args->names[i]))
				argp_error(state,
					   "there is no example \"%s\"; -l lists them",
					   args->names[i]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[NAME...]",
	.doc = "Run programs that show when data is visible: each as it is, which fails, "
	       "and mended, which does not.",
};

/* ------------------------------------------------------------ printing wrapped text */
/* Prints a label and a text, with line breaks between words. */
static void print_wrapped(const char *label, const char *text)
{
	int column = printf("  %-*s", INDENT - 2, label);

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > INDENT && column + 1 + len > WIDTH)
			column = printf("\n%*s", INDENT, "") - 1;
		else if (column > INDENT)
			column += printf(" ");
		column += printf("%.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* Prints an object, and frees it. */
static void print_object(json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
}

static json_t *example_json(const struct example *x)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", x->name, "question",
			 x->question, "expected", x->expected, "why", x->why, "remedy",
			 x->remedy, "knobs", x->knobs);
}

static void print_list(bool json)
{
	for (const struct example *x = examples; x->name; x++)
		if (json)
			print_object(example_json(x));
		else
			printf("%-20s%s\n", x->name, x->question);
}

/* ------------------------------------------------------------- running the examples */
static void exec_example(const struct example *x, const char *program, bool mended,
			 int out)
{
	char *argv[] = { (char *)x->name, mended ? (char *)"--mended" : NULL, NULL };

	if (dup2(out, STDOUT_FILENO) < 0 || setenv("ROCIN_PCIE", x->knobs, 1))
		_exit(RN_EXIT_CANNOT_RUN);
	alarm(SECONDS_MAX);
	execv(program, argv);
	rn_complain("%s: %s; install Rocin again", program, strerror(errno));
	_exit(RN_EXIT_CANNOT_RUN);
}

/* Runs one of the two forms of the program: the corrected one if @mended, else the faulty
 * one. Copies its output to @text. Returns its wait status, or -1 if it could not be run.
 */
static int run_program(const struct example *x, const char *program, bool mended,
		       char *text)
{
	size_t len = 0;
	ssize_t got;
	int fd[2], status;
	pid_t pid;

	text[0] = '\0';
	fflush(NULL);
	if (pipe(fd))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		exec_example(x, program, mended, fd[1]);
	}
	close(fd[1]);
	while (pid > 0 && len < OUTPUT_MAX - 1 &&
	       (got = read(fd[0], text + len, OUTPUT_MAX - 1 - len)) != 0) {
		if (got > 0)
			len += (size_t)got;
		else if (errno != EINTR)
			break;
	}
	text[len] = '\0';
	close(fd[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static void complain_of(const struct example *x, bool mended, int status)
{
	const char *form = mended ? " --mended" : "";

	if (status < 0)
		rn_complain("%s%s: cannot be run", x->name, form);
	else if (WIFEXITED(status))
		rn_complain("%s%s: ended with status %d, not %d", x->name, form,
			    WEXITSTATUS(status), mended ? 0 : 1);
	else if (WTERMSIG(status) == SIGALRM)
		rn_complain("%s%s: did not end within %d s", x->name, form, SECONDS_MAX);
	else
		rn_complain("%s%s: killed by signal %d", x->name, form, WTERMSIG(status));
}

/* Prints the output of a program line by line; the first line has a label. */
static void print_output(const char *label, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		printf("  %-*s%s\n", INDENT - 2, label, line);
		label = "";
	}
}

static bool is_as_intended(bool mended, int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == (mended ? 0 : 1);
}

/* Adds the output of a form of the example to the object @o. */
static bool add_form(json_t *o, const struct example *x, const char *program, bool mended)
{
	char text[OUTPUT_MAX];
	int status = run_program(x, program, mended, text);
	bool ok = is_as_intended(mended, status);

	json_object_set_new(o, mended ? "mended" : "as_it_is",
			    json_pack("{s:s, s:b}", "output", text, "as_intended", ok));
	if (!ok)
		complain_of(x, mended, status);
	return ok;
}

static bool show_json(const struct example *x, const char *program)
{
	json_t *o = example_json(x);
	bool ok = add_form(o, x, program, false);

	ok = add_form(o, x, program, true) && ok;
	print_object(o);
	return ok;
}

/* Runs one of the two forms of an example (the corrected one if @mended, otherwise the
 * faulty one), and prints the result. Returns true if the form has behaved as intended:
 * the faulty form must fail, the corrected one succeed.
 */
static bool show_form(const struct example *x, const char *program, bool mended)
{
	char text[OUTPUT_MAX];
	int status = run_program(x, program, mended, text);

	print_output(mended ? "mended" : "as it is", text);
	if (is_as_intended(mended, status))
		return true;
	complain_of(x, mended, status);
	return false;
}

static bool show_example(const struct example *x, const char *plugin_dir, bool json)
{
	char program[PATH_MAX + 64];
	bool ok;

	snprintf(program, sizeof(program), "%s/examples/%s", plugin_dir, x->name);
	if (json)
		return show_json(x, program);
	printf("%s\n", x->name);
	print_wrapped("question", x->question);
	print_wrapped("expected", x->expected);
	ok = show_form(x, program, false);
	print_wrapped("why", x->why);
	print_wrapped("remedy", x->remedy);
	ok = show_form(x, program, true) && ok;
	print_wrapped("knobs", x->knobs);
	return ok;
}

static bool is_chosen(const struct example_args *args, const struct example *x)
{
	for (unsigned i = 0; i < args->name_count; i++)
		if (!strcmp(args->names[i], x->name))
			return true;
	return args->name_count == 0;
}

int rn_cmd_example(int argc, char **argv)
{
	static struct rn_launch launch;
	struct example_args args = { 0 };
	bool ok = true, is_first = true;
	char err[512];

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	if (args.list) {
		print_list(args.json);
		return 0;
	}
	if (rn_launch_prepare(&launch, args.netdevs, err, sizeof(err)) ||
	    rn_launch_setenv(&launch, args.netdevs, err, sizeof(err))) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	for (const struct example *x = examples; x->name; x++) {
		if (!is_chosen(&args, x))
			continue;
		if (!is_first && !args.json)
			putchar('\n');
		is_first = false;
		ok = show_example(x, launch.plugin_dir, args.json) && ok;
	}
	return ok ? 0 : RN_EXIT_FAILURE;
}
