# Kills the emulator ($1) and the bootstrap when the process that holds the
# other end of standard input is gone, however it went. Killing the emulator
# alone would leave a busy bootstrap behind, which has a process group of its
# own. The emulator is stopped first, so that it starts no other.
trap '' HUP INT TERM
read -r _
kill -STOP "$1"
for pid in $(cat /proc/"$1"/task/*/children 2>/dev/null || pgrep -P "$1"); do
	kill -KILL "$pid"
done
kill -KILL "$1"
