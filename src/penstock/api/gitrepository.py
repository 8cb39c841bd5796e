"""GitRepository: one commit of a Git repository as an artifact."""

from typing import Annotated, ClassVar, Literal

from penstock.api.durations import Duration, Timeout
from penstock.api.meta import Artifact, ObjectMeta, SourceStatus
from penstock.api.references import AccessFrom, LocalReference
from penstock.api.wire import DEFAULTED, Rule, Wire, about


class GitReference(Wire, frozen=True, kw_only=True):
    """Which commit to take; of several, the first in the order commit, name, tag, semver, branch counts."""

    branch: Annotated[str, about("Branch to follow; `master` when nothing is given.")] = ""
    tag: Annotated[str, about("Tag to take.")] = ""
    semver: Annotated[str, about("Range of versions; the highest matching tag is taken.")] = ""
    name: Annotated[str, about("Full name of a reference, such as `refs/pull/420/head`.")] = ""
    commit: Annotated[str, about("Hash of a commit.")] = ""


class GitVerification(Wire, frozen=True, kw_only=True):
    """Whose signature a commit or tag must carry."""

    mode: Annotated[
        Literal["head", "HEAD", "Tag", "TagAndHEAD"],
        about("What must be signed; `head` is an old word for `HEAD`."),
        DEFAULTED,
    ] = "HEAD"
    secret_ref: Annotated[LocalReference, about("Secret with the public keys of trusted authors.")]


class GitInclude(Wire, frozen=True, kw_only=True):
    """Files of another GitRepository that are put into this one."""

    repository: Annotated[LocalReference, about("The other GitRepository, in the same namespace.")]
    from_path: Annotated[str, about("Directory there; by default the whole content.")] = ""
    to_path: Annotated[str, about("Directory here; by default the name of the other GitRepository.")] = ""

    @property
    def destination(self) -> str:
        return self.to_path or self.repository.name


class GitRepositorySpec(Wire, frozen=True, kw_only=True):
    """Which repository, which commit, and how often to look."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.serviceAccountName) || (has(self.provider) && "
            "(self.provider == 'azure' || self.provider == 'aws'))",
            "serviceAccountName can only be set when provider is 'azure' or 'aws'",
        ),
    )

    url: Annotated[str, about("Address of the repository, over HTTP, HTTPS or SSH.", pattern="^(http|https|ssh)://.*$")]
    interval: Annotated[Duration, about("Time between two looks at the repository.")]
    timeout: Annotated[Timeout, about("Longest time for one remote operation.", also={"default": "60s"})] = (
        Timeout.parse("60s")
    )
    suspend: Annotated[bool, about("Stop looking until this is false again.")] = False
    ref: Annotated[GitReference | None, about("Which commit to take; by default the branch `master`.")] = None

    secret_ref: Annotated[LocalReference | None, about("Secret with the credentials.")] = None
    provider: Annotated[
        Literal["generic", "aws", "azure", "github"],
        about("How to log in: with the Secret (`generic`, also when left out), or at a cloud service."),
    ] = "generic"
    service_account_name: Annotated[str, about("Service account to log in with; for the providers azure and aws.")] = ""
    proxy_secret_ref: Annotated[LocalReference | None, about("Secret with address and login of a proxy.")] = None
    verify: Annotated[GitVerification | None, about("Whose signature is required.")] = None

    ignore: Annotated[str, about("Files to leave out, in the syntax of .gitignore.")] = ""
    recurse_submodules: Annotated[bool, about("Fetch submodules too, with the same credentials.")] = False
    sparse_checkout: Annotated[tuple[str, ...], about("Directories to fetch; by default all.")] = ()
    include: Annotated[tuple[GitInclude, ...], about("Other GitRepositories whose files are added.")] = ()


class GitRepositorySpecV1beta2(GitRepositorySpec, frozen=True, kw_only=True):
    """What old manifests may say besides; none of it has an effect."""

    access_from: Annotated[AccessFrom | None, about("Accepted for old manifests, never enforced.")] = None
    git_implementation: Annotated[
        Literal["go-git", "libgit2"], about("Accepted for old manifests; there is only one way.")
    ] = "go-git"


class GitRepositoryStatus(SourceStatus, frozen=True, kw_only=True):
    """What was fetched, and with which settings."""

    included_artifacts: Annotated[
        tuple[Artifact, ...], about("Artifacts of the included repositories, in the order of the spec.")
    ] = ()
    observed_ignore: Annotated[str | None, about("`ignore` of the current artifact.")] = None
    observed_include: Annotated[tuple[GitInclude, ...], about("`include` of the current artifact.")] = ()
    observed_recurse_submodules: Annotated[bool, about("`recurseSubmodules` of the current artifact.")] = False
    observed_sparse_checkout: Annotated[tuple[str, ...], about("`sparseCheckout` of the current artifact.")] = ()
    source_verification_mode: Annotated[str | None, about("What was checked the last time: `verify.mode`.")] = None


class GitRepository(Wire, frozen=True, kw_only=True):
    """One commit of a Git repository as an artifact."""

    metadata: ObjectMeta
    spec: GitRepositorySpec
    status: GitRepositoryStatus = GitRepositoryStatus(observed_generation=-1)
