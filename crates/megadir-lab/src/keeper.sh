exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{ read -r _ <&3; kill -KILL $server; } 2>/dev/null &
reader=$!
wait $server
code=$?
kill $reader 2>/dev/null
exit $code
