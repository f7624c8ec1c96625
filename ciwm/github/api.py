"""One connection to GitHub, and what ciwm asks of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ciwm.errors import UsageError
from ciwm.github.download import download
from ciwm.github.failures import NotFoundError, asking
from ciwm.github.graph import GraphAnswer, graph_answer
from ciwm.github.payloads import batches, check_run_of, comment_of, described, output
from ciwm.github.retry import Patience, retry_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    import github
    import github.Repository
    from typing_extensions import Self

    from ciwm.github.values import Check, CheckRun, Comment, Status

API_URL = "https://api.github.com"
_VIEWER = "query { viewer { login } }"
_COMMENTS = "pull-requests: write"
_CHECKS = "checks: write"
_STATUSES = "statuses: write"


def connect(
    token: str | None,
    api_url: str = API_URL,
    *,
    graphql_url: str | None = None,
    patience: Patience | None = None,
) -> GitHub:
    """A connection; nothing is asked yet. Raises UsageError for an address or token that cannot be.

    `graphql_url` defaults to the one beside `api_url`, GitHub Enterprise Server's included.
    """
    for url in (api_url, graphql_url or api_url):
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise UsageError(f"not the address of a GitHub API: {url!r}", f"such as {API_URL}")
    token = (token or "").strip() or None
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError(
            "the token holds characters that no token has", "set CIWM_TOKEN to it alone"
        )
    return GitHub(token, api_url.rstrip("/"), graphql_url, patience or Patience())


def connect_from(variables: Mapping[str, str], patience: Patience | None = None) -> GitHub | None:
    """A connection as the environment states it; None without CIWM_TOKEN and GITHUB_TOKEN."""
    given = (variables.get(name, "").strip() for name in ("CIWM_TOKEN", "GITHUB_TOKEN"))
    token = next(filter(None, given), None)
    if token is None:
        return None
    return connect(
        token,
        variables.get("GITHUB_API_URL") or API_URL,
        graphql_url=variables.get("GITHUB_GRAPHQL_URL") or None,
        patience=patience,
    )


class GitHub:
    """Comments, checks and statuses; every failure is a GitHubError with one line and its mend."""

    def __init__(
        self, token: str | None, api_url: str, graphql_url: str | None, patience: Patience
    ) -> None:
        self._token = token
        self.api_url = api_url
        self.graphql_url = graphql_url
        self.patience = patience

    def __repr__(self) -> str:
        return f"GitHub({self.api_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        if "_client" in vars(self):
            self._client.close()

    @cached_property
    def _client(self) -> github.Github:
        from github import Auth, Github

        return Github(
            auth=Auth.Token(self._token) if self._token else None,
            base_url=self.api_url,
            timeout=self.patience.timeout_s,
            per_page=100,
            retry=retry_policy(self.patience),
            seconds_between_requests=None,
            seconds_between_writes=None,
            user_agent="ciwm",
            lazy=True,  # nothing is asked but what is needed
        )

    def _repository(self, name: str) -> github.Repository.Repository:
        return self._client.get_repo(name)

    def viewer_login(self) -> str:
        """The login whose token this is, asked once, by GraphQL.

        GitHub refuses `GET /user` to a job's own token.
        """
        return self._viewer

    @cached_property
    def _viewer(self) -> str:
        with asking("learn whose token this is", token=self._token):
            login: str = self._ask(_VIEWER, {}).data["viewer"]["login"]
            return login

    def query(self, what: str, text: str, variables: Mapping[str, Any]) -> GraphAnswer:
        """The answer to a GraphQL query that only reads; `what` it is for goes into errors.

        Where it asks whose token this is, that is remembered.
        """
        with asking(what, token=self._token):
            answer = self._ask(text, variables)
            if "viewer" in answer.data:
                vars(self)["_viewer"] = answer.data["viewer"]["login"]
            return answer

    def get(self, what: str, path: str, needs: str = "") -> Any:
        """The JSON answer to a GET of a path of the API."""
        with asking(what, token=self._token, needs=needs):
            return self._client.requester.requestJsonAndCheck("GET", path)[1]

    def send(self, what: str, method: str, path: str, body: dict[str, Any], needs: str) -> Any:
        """The JSON answer to a request that changes something."""
        with asking(what, token=self._token, needs=needs):
            return self._client.requester.requestJsonAndCheck(method, path, input=body)[1]

    def download(self, what: str, path: str, limit_bytes: int) -> bytes:
        """A file to which a path of the API redirects; raises GitHubError when it is larger."""
        with asking(what, token=self._token, needs="actions: read"):
            return download(self.api_url + path, self._token, limit_bytes, self.patience)

    def _ask(self, text: str, variables: Mapping[str, Any]) -> GraphAnswer:
        requester = self._client.requester
        url = self.graphql_url or requester.graphql_url
        sent = {"query": text, **({"variables": dict(variables)} if variables else {})}
        return graph_answer(
            lambda: requester.requestJsonAndCheck("POST", url, input=sent),
            self.patience.total_wait_s,
        )

    def is_ours(self, comment: Comment) -> bool:
        """Whether the owner of this token wrote a comment; GraphQL may leave out an app's [bot]."""
        return self.wrote(comment.author, by_app=comment.by_app)

    def wrote(self, author: str, *, by_app: bool) -> bool:
        """Whether an author is the owner of this token."""
        return author == self._viewer or (by_app and author == f"{self._viewer}[bot]")

    def comments(self, repository: str, number: int) -> tuple[Comment, ...]:
        """All comments of a pull request or issue, oldest first, from all pages."""
        with asking(f"read the comments of {repository}#{number}", token=self._token):
            issue = self._repository(repository).get_issue(number)
            return tuple(comment_of(found) for found in issue.get_comments())

    def create_comment(self, repository: str, number: int, body: str) -> Comment:
        """A new comment; raises UnreachableError when it is unknown whether it was made."""
        with asking(f"comment on {repository}#{number}", token=self._token, needs=_COMMENTS):
            issue = self._repository(repository).get_issue(number)
            return comment_of(issue.create_comment(body))

    def edit_comment(self, repository: str, number: int, comment: int, body: str) -> None:
        """Replace the text of a comment on issue `number`."""
        with asking(
            f"edit comment {comment} of {repository}#{number}", token=self._token, needs=_COMMENTS
        ):
            self._repository(repository).get_issue(number).get_comment(comment).edit(body)

    def delete_comment(self, repository: str, number: int, comment: int) -> None:
        """Remove a comment; one that is gone already is no error."""
        try:
            with asking(
                f"delete comment {comment} of {repository}#{number}",
                token=self._token,
                needs=_COMMENTS,
            ):
                self._repository(repository).get_issue(number).get_comment(comment).delete()
        except NotFoundError:
            return

    def check_runs(self, repository: str, sha: str, name: str = "") -> tuple[CheckRun, ...]:
        """All check runs on a commit, or those of a name, newest first."""
        from github.GithubObject import NotSet

        with asking(f"read the checks of {sha[:12]}", token=self._token, needs="checks: read"):
            commit = self._repository(repository).get_commit(sha)
            # the latest alone would hide ours behind a job of that name that started later
            runs = commit.get_check_runs(check_name=name or NotSet, filter="all")
            return tuple(sorted(map(check_run_of, runs), key=lambda run: run.id, reverse=True))

    def create_check(self, repository: str, check: Check) -> CheckRun:
        """A new completed check run; annotations beyond 50 are added by further requests."""
        first, rest = batches(check.annotations)
        with asking(f"post the check on {check.sha[:12]}", token=self._token, needs=_CHECKS):
            run = self._repository(repository).create_check_run(
                head_sha=check.sha, **described(check, first)
            )
            for more in rest:
                run.edit(output=output(check, more))
            return check_run_of(run)

    def edit_check(self, repository: str, run: int, check: Check) -> CheckRun:
        """Replace what a check run says; annotations are added to those it has."""
        first, rest = batches(check.annotations)
        with asking(f"edit the check on {check.sha[:12]}", token=self._token, needs=_CHECKS):
            found = self._repository(repository).get_check_run(run)
            found.edit(**described(check, first))
            for more in rest:
                found.edit(output=output(check, more))
            return check_run_of(found)

    def create_status(self, repository: str, status: Status) -> None:
        """A commit status; the description is cut to GitHub's 140 characters."""
        from github.GithubObject import NotSet

        text = status.description
        with asking(f"post the status of {status.sha[:12]}", token=self._token, needs=_STATUSES):
            self._repository(repository).get_commit(status.sha).create_status(
                status.state,
                target_url=status.url or NotSet,
                description=text if len(text) <= 140 else text[:139] + "…",  # noqa: PLR2004
                context=status.context,
            )

    def head_sha(self, repository: str, number: int) -> str:
        """The commit at the tip of a pull request."""
        with asking(f"read pull request {repository}#{number}", token=self._token):
            sha: str = self._repository(repository).get_pull(number).head.sha
            return sha
