"""Git repositories: from a URL, a reference and a login to the files of one commit.

`Git` is what all repositories share; `GitRemote` is one of them. Which commit is meant is asked over HTTP by our own
code, in one small request. Transfer and storage are the business of the `git` program, which runs with no
configuration but ours; files are written by us, so that no filter, hook or link ever comes into play.
"""

from penstock.sources.git.address import Address
from penstock.sources.git.client import Git
from penstock.sources.git.clouds import CloudLogin
from penstock.sources.git.credentials import Credentials, of_secret
from penstock.sources.git.githubapp import GitHubApp
from penstock.sources.git.listing import Algorithms
from penstock.sources.git.proxy import Proxy
from penstock.sources.git.references import Reference
from penstock.sources.git.remote import GitRemote
from penstock.sources.git.signatures import Verification

__all__ = [
    "Address",
    "Algorithms",
    "CloudLogin",
    "Credentials",
    "Git",
    "GitHubApp",
    "GitRemote",
    "Proxy",
    "Reference",
    "Verification",
    "of_secret",
]
