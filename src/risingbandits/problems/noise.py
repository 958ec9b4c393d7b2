"""How a reward scatters around its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from risingbandits._core.errors import check_finite
from risingbandits.problems._kernels import BERNOULLI, BETA, GAUSSIAN, NO_NOISE


@dataclass(frozen=True)
class NoNoise:
    """Rewards are their means."""

    sigma: ClassVar[float] = 0.0
    mean_range: ClassVar[tuple[float, float] | None] = None
    code: ClassVar[int] = NO_NOISE
    scale: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Gaussian:
    """Normal noise of standard deviation ``sigma`` >= 0.

    Examples
    --------
    >>> Gaussian(0.1)
    Gaussian(sigma=0.1)
    """

    sigma: float

    mean_range: ClassVar[tuple[float, float] | None] = None
    code: ClassVar[int] = GAUSSIAN

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check_finite("sigma", self.sigma, minimum=0))

    @property
    def scale(self) -> float:
        """Number that the compiled draw uses."""
        return self.sigma


@dataclass(frozen=True)
class Bernoulli:
    """Rewards 0 and 1; means are clipped to [0, 1]. Sub-Gaussian with sigma 1/2, as all rewards in [0, 1]."""

    sigma: ClassVar[float] = 0.5
    mean_range: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    code: ClassVar[int] = BERNOULLI
    scale: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Beta:
    """Beta-distributed rewards in [0, 1]; means m are clipped to [0, 1], at 0 and 1 the reward is the mean.

    Parameters
    ----------
    b : float
        Beta(b m/(1 - m), b), > 0: the spread depends on the mean. The default is that of the published programs.

    Examples
    --------
    >>> Beta()
    Beta(b=2.0)
    """

    b: float = 2.0

    sigma: ClassVar[float] = 0.5
    mean_range: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    code: ClassVar[int] = BETA

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", check_finite("b", self.b, above=0))

    @property
    def scale(self) -> float:
        """Number that the compiled draw uses."""
        return self.b


Noise: TypeAlias = NoNoise | Gaussian | Bernoulli | Beta
