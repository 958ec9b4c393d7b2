#!/bin/sh
# Ask and tell from a shell, as from any language: two learners share a budget of pulls. Arguments: STORE [PULLS]
set -eu
store=$1
value() { # of a key of the JSON that ask prints
    printf '%s\n' "$pull" | sed -n "s/.*\"$1\": \"\{0,1\}\([^\",}]*\).*/\1/p"
}

risingbandits store create "$store" fast slow --budget "${2:-12}" --range 0,1 > /dev/null
while pull=$(risingbandits store ask "$store"); do
    case $(value arm) in
        fast) ceiling=0.5 rate=1 ;;
        slow) ceiling=0.9 rate=6 ;;
    esac
    reward=$(awk -v n="$(value n)" -v c="$ceiling" -v r="$rate" 'BEGIN { print c * n / (n + r) }')
    risingbandits store tell "$store" "$(value id)" --reward "$reward" > /dev/null
done
risingbandits store recommend "$store"
