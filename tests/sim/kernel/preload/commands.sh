# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# commands.sh - ordinary commands see the device where the kernel would show it.
. "$(dirname "$0")/lib.sh"

c=/sys/class/infiniband
real=/sys/devices/virtual/rocin/rocin0.nic/infiniband/rocin0

is "ls lists the device" "$(hooked ls $c)" rocin0
is "ls lists the nodes" "$(hooked ls /dev/infiniband)" "$(printf "rdma_cm\nuverbs_rocin0")"
is "ls -l shows the link" "$(hooked ls -l $c/rocin0 2>&1 | sed 's/.*-> //')" \
	../../devices/virtual/rocin/rocin0.nic/infiniband/rocin0
is "cat reads a file" "$(hooked cat $c/rocin0/ports/1/gids/0)" \
	0000:0000:0000:0000:0000:ffff:7f00:0001
is "readlink -f names the place in sysfs" "$(hooked readlink -f $c/rocin0)" $real
is "readlink -f follows the parent" "$(hooked readlink -f $c/rocin0/device)" \
	/sys/devices/virtual/rocin/rocin0.nic
is "the parent has its interface" "$(hooked cat $c/rocin0/device/net/lo/ifindex)" 1
is "stat sees a character device" "$(hooked stat -L -c '%F %t:%T' /dev/infiniband/uverbs_rocin0)" \
	"character special file 1:3"
is "a shell changes into it" \
	"$(hooked sh -c "cd $c/rocin0/ports && cat 1/state && cd -P .. && pwd -P")" \
	"4: ACTIVE
$real"
is "a shell expands patterns" "$(hooked sh -c "echo $c/*/ports/*/link_layer")" \
	$c/rocin0/ports/1/link_layer
is "a shell tests files" "$(hooked sh -c "test -r $c/rocin0/node_type && test -d $c/rocin0 &&
	test -L $c/rocin0 && test -c /dev/infiniband/uverbs_rocin0 && echo yes")" yes
is "find walks it" "$(hooked find $c/ -name rocin0)" $c/rocin0
is "other commands notice nothing" "$(hooked cat /sys/class/net/lo/ifindex)" 1
is "what is not there is not there" "$(hooked ls $c/rocin1 2>&1)" \
	"ls: cannot access '$c/rocin1': No such file or directory"

for shell in bash perl python3; do
	command -v $shell >/dev/null || { echo "ok # no $shell"; continue; }
	case $shell in
	bash) got=$(hooked bash -c "cd $c; for d in *; do echo \$d; done; pwd -P" 2>&1) ;;
	perl) got=$(hooked perl -MCwd -e "opendir D, '$c'; print grep({!/^\./} readdir D), qq(\n);
		chdir '$c'; print getcwd, qq(\n)" 2>&1) ;;
	python3) got=$(hooked python3 -c "import os; print(*os.listdir('$c'))
os.chdir('$c'); print(os.getcwd())" 2>&1) ;;
	esac
	is "$shell lists it and stands in it" "$got" "rocin0
$c"
done

# Nothing without a tree, or with a bad one.
tree=
is "an empty ROCIN_TREE does nothing" "$(hooked sh -c "test -d $c/rocin0 || echo no")" no
tree=/dev
is "a directory that is no tree does nothing" "$(hooked sh -c "test -d $c/rocin0 || echo no")" no
tree=relative
is "a relative ROCIN_TREE does nothing" "$(hooked sh -c "test -d $c/rocin0 || echo no")" no
is "without ROCIN_TREE nothing happens" \
	"$(env LD_PRELOAD="$preload" sh -c "test -d $c/rocin0 || echo no")" no
finish
