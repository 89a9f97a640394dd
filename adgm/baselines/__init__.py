"""The paper's rivals, one small file each. They maximise affinities, and report energies in the user's units."""

from adgm.baselines.bcagm import BCAGM
from adgm.baselines.faq import FAQ
from adgm.baselines.ipfp import IPFP
from adgm.baselines.lap import LAP
from adgm.baselines.mpm import MPM
from adgm.baselines.pgm import PGM
from adgm.baselines.rrwhm import RRWHM
from adgm.baselines.rrwm import RRWM
from adgm.baselines.sm import SM
from adgm.baselines.smac import SMAC
from adgm.baselines.tm import TM

__all__ = ["BCAGM", "FAQ", "IPFP", "LAP", "MPM", "PGM", "RRWHM", "RRWM", "SM", "SMAC", "TM"]
