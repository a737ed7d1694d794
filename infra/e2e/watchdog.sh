# Kills the process group $1 when the process that holds the other end of
# standard input is gone, however it went.
trap '' HUP INT TERM
read -r _
kill -KILL -- -"$1"
