#!/bin/sh
# Runs a command on a host "head" that reaches three others, node1 to node3, through a switch: network namespaces of this machine with a
# name each, gone when the command ends. The command finds $WEFT_LAUNCH_AGENT, which starts programs on them as rsh would.
#
#     unshare -rnmu --propagation slave sh network_hosts.sh COMMAND...
#
# Needs ip (Debian: iproute2) and the right to make namespaces; no root.
if [ "$1" = --on ]; then # as an agent: [OPTIONS] HOST COMMAND...
  shift
  while :; do
    case $1 in
      -*) shift ;;
      *) break ;;
    esac
  done
  host=$1
  shift
  exec nsenter --net=/run/netns/"$host" --uts=/run/uts-"$host" sh -c "$*"
fi
set -e
mount -t tmpfs none /run
mkdir /run/netns
ip link set lo up
ip link add hub type bridge
ip addr add 10.9.0.254/24 dev hub
ip link set hub up
for i in 1 2 3; do
  node=node$i
  ip netns add $node
  ip link add port$i type veth peer name eth0 netns $node
  ip link set port$i master hub up
  ip -n $node addr add 10.9.0.$i/24 dev eth0
  ip -n $node link set eth0 up
  ip -n $node link set lo up
  : >/run/uts-$node
  unshare --uts=/run/uts-$node hostname $node
done
hostname head
WEFT_LAUNCH_AGENT=/run/agent
printf '#!/bin/sh\nexec sh "%s" --on "$@"\n' "$0" >$WEFT_LAUNCH_AGENT
chmod +x $WEFT_LAUNCH_AGENT
export WEFT_LAUNCH_AGENT
exec "$@"
