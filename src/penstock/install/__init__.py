"""The controllers as a guest of a cluster: the objects that run them there, put in and taken out.

`manifests` makes the objects, always the same for the same options. `install` applies them and waits; it leaves alone
what another installation manages. `uninstall` takes out what carries our label.
"""

from penstock.install.installing import Installed, OtherInstallation, install
from penstock.install.manifests import manifests
from penstock.install.options import COMPONENTS, InstallOptions, components
from penstock.install.uninstalling import Removal, uninstall

__all__ = [
    "COMPONENTS",
    "InstallOptions",
    "Installed",
    "OtherInstallation",
    "Removal",
    "components",
    "install",
    "manifests",
    "uninstall",
]
