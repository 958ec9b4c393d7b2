"""How a reward scatters around its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from risingbandits._core.errors import RisingBanditsError, check_finite
from risingbandits.problems._kernels import BERNOULLI, BETA_CONCENTRATION, BETA_SECOND, GAUSSIAN, NO_NOISE


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


@dataclass(frozen=True, repr=False)
class Beta:
    """Beta-distributed rewards in [0, 1]; means m are clipped to [0, 1], at 0 and 1 the reward is the mean.

    Parameters
    ----------
    b : float, optional
        Beta(b m/(1 - m), b), > 0: the spread depends on the mean. The default, 2, is that of the published programs.
    concentration : float, optional
        Beta(c m, c (1 - m)), > 0: variance m (1 - m)/(c + 1). Given instead of ``b``.

    Examples
    --------
    >>> Beta(), Beta(concentration=20)
    (Beta(b=2.0), Beta(concentration=20.0))
    """

    b: float | None = None
    concentration: float | None = None

    sigma: ClassVar[float] = 0.5
    mean_range: ClassVar[tuple[float, float] | None] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.b is not None and self.concentration is not None:
            raise RisingBanditsError(
                f"only one of b and concentration may be given, got {self.b!r} and {self.concentration!r}."
            )
        if self.concentration is not None:
            object.__setattr__(self, "concentration", check_finite("concentration", self.concentration, above=0))
        else:
            object.__setattr__(self, "b", 2.0 if self.b is None else check_finite("b", self.b, above=0))

    @property
    def code(self) -> int:
        """Which of the two forms the compiled draw takes."""
        return BETA_SECOND if self.concentration is None else BETA_CONCENTRATION

    @property
    def scale(self) -> float:
        """Number that the compiled draw uses."""
        scale = self.b if self.concentration is None else self.concentration
        assert scale is not None
        return scale

    def __repr__(self) -> str:
        return f"Beta(b={self.b})" if self.concentration is None else f"Beta(concentration={self.concentration})"


Noise: TypeAlias = NoNoise | Gaussian | Bernoulli | Beta
