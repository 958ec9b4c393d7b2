# One pull of an arm that is a command: sh command.sh ARM N ATTEMPT PREVIOUS CHECKPOINT. See `Learner` in
# tests/helpers/fault_worker.py. It starts no other program, so that all its calls are its own.
set -eu
read -r drawn < /proc/sys/kernel/random/uuid
drawn=$((0x${drawn%%-*}))
past=
[ ! -e "$4" ] || read -r past < "$4"
echo "$past $2:${5##*-}:$3:$drawn" > "$5"
printf '0.%02d%010d\n' $(((7 * $2 + 3 * ${1#a}) % 11)) "$drawn"
