# A learner in a few lines: its skill comes closer to its ceiling with every pull and is all that it remembers.
# CEILING and RATE come from the plan; the other variables from risingbandits.
set -eu

skill=0
if [ -e "$RISINGBANDITS_PREVIOUS" ]; then
    skill=$(cat "$RISINGBANDITS_PREVIOUS")
fi
skill=$(awk -v skill="$skill" -v ceiling="$CEILING" -v rate="$RATE" \
    'BEGIN { printf "%.6f", skill + rate * (ceiling - skill) }')
echo "$skill" > "$RISINGBANDITS_CHECKPOINT"

echo "pull $RISINGBANDITS_PULL of $RISINGBANDITS_ARM"  # this is for the log
echo "$skill"                                         # the last line is the reward
