"""What is known about arms before they are pulled: their configs, and what earlier runs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from risingbandits._core.errors import RisingBanditsError, shown
from risingbandits._core.types import Floats


class Knowledge(NamedTuple):
    """What is known about each arm, in the order of their numbers; None: nothing.

    >>> Knowledge([{"lr": 0.1}, {"lr": 0.1}]).tells, Knowledge([{"lr": 0.1}, {"lr": 1.0}]).tells
    (False, True)
    """

    configs: Sequence[Mapping[str, Any]] | None = None  #: hyperparameters, an empty mapping where they are not known
    means: Floats | None = None  #: by earlier runs, of normal scores: 0 is an average arm, 1 a deviation better
    deviations: Floats | None = None  #: of these
    max_pulls: int | None = None  #: after which arms end

    @property
    def tells(self) -> bool:
        """Whether it tells arms apart."""
        if self.means is not None and any(mean != 0.0 for mean in self.means):
            return True
        known = [config for config in self.configs or () if config]
        return any(config != known[0] for config in known)

    def checked(self, n_arms: int | None = None) -> Knowledge:
        """The same with arrays, if it is about so many arms, or about any number of them."""
        if n_arms is None:
            n_arms = max((len(given) for given in self[:3] if given is not None), default=0)
        if self.configs is not None and (
            len(self.configs) != n_arms or not all(isinstance(config, Mapping) for config in self.configs)
        ):
            raise RisingBanditsError(f"configs must be {n_arms} mappings, one per arm, got {shown(self.configs)}.")
        numbers: dict[str, Any] = {}
        for name in ("means", "deviations"):
            if (given := getattr(self, name)) is not None:
                numbers[name] = np.asarray(given, dtype=np.float64)
                if numbers[name].shape != (n_arms,) or not np.isfinite(numbers[name]).all():
                    raise RisingBanditsError(f"{name} must be {n_arms} finite numbers, got {shown(given)}.")
        if not (numbers.get("deviations", np.ones(1)) > 0.0).all():
            raise RisingBanditsError(f"deviations must be above 0, got {shown(self.deviations)}.")
        return self._replace(**numbers)
