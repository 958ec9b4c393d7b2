"""Decisions beside those of other libraries, on the same rewards: ``make test-peers``.

In every round our policy is asked, the other library computes its indexes from its own memory, and our arm must have
the highest of them. Then both are told the reward of this arm from one table. No code of theirs is here.

Documented differences, which the comparisons take out and nothing else:

- ties: SMPyBandits draws among the highest indexes, ours is the lowest number; so any of the highest counts as equal;
- time: SMPyBandits has the plays made so far in all indexes. UCB1 is so defined; KL-UCB, SW-UCB and GLR-klUCB have the
  round being decided, one more, which is what their comparison sets;
- exploration constants: KL-UCB with c = 3, SW-UCB with xi = 0.6 and tau = 200, MABWiser's UCB1 with alpha = 1 and its
  epsilon-greedy with epsilon = 0, its greedy part;
- rounding: bounds by bisection may differ by 1e-9;
- GLR-klUCB: SMPyBandits keeps the last reward or those after a located change, ours none, as the paper says; its index
  has c log t without log log t, which with c = 1 is ours with c = 0; its exploration starts anew at each restart and
  ours goes by the round, as the paper says. Compared are the indexes and every change that is found.

What cannot be compared:

- Thompson sampling, Exp3, Exp3.S, epsilon-greedy's other part, CUSUM-UCB, CORRAL: they draw random numbers, in another
  order;
- FEWA, RAW-UCB and wSWA: the repository of SMPyBandits has them, its last release, 0.9.7, does not;
- AdSwitch: the release tests at every 50th round and 20th split, and adds other checks than the paper;
- R-ed-UCB and R-less-UCB: neither library has them; they are compared with the published program in tests/lab/paper;
- all others: neither library has them.
"""
