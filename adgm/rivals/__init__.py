"""The paper's rivals, one small file each. They maximise affinities, and report energies in the user's units."""

from adgm.rivals.bcagm import BCAGM
from adgm.rivals.faq import FAQ
from adgm.rivals.ipfp import IPFP
from adgm.rivals.lap import LAP
from adgm.rivals.mpm import MPM
from adgm.rivals.pgm import PGM
from adgm.rivals.rrwhm import RRWHM
from adgm.rivals.rrwm import RRWM
from adgm.rivals.sm import SM
from adgm.rivals.smac import SMAC
from adgm.rivals.tm import TM

__all__ = ["BCAGM", "FAQ", "IPFP", "LAP", "MPM", "PGM", "RRWHM", "RRWM", "SM", "SMAC", "TM"]
