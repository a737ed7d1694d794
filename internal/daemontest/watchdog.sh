# Runs a server for as long as standard input stays open. The other end of that pipe is held by the process that wants the
# server, so it closes whatever happens to that process; then the server gets the last signal, which
# stops it at once, and its directory is removed.
#
# usage: sh -c <this> name <directory> <last signal> <server command...>
# standard input: lines with a signal to pass on (TERM, INT, QUIT, KILL), or "keep": leave the directory when it is over
# descriptor 3: inherited by the server and its children alone, so that its closing tells that they are gone
directory=$1 last=$2
shift 2
keep=
"$@" </dev/null &
server=$!
exec 3>&-
while read -r order; do
	case $order in
	keep) keep=yes ;;
	*) kill -s "$order" "$server" ;;
	esac
done
kill -s "$last" "$server" 2>/dev/null
kill -s CONT "$server" 2>/dev/null # a test may have stopped it
wait "$server"
[ -n "$keep" ] || rm -rf "$directory"
