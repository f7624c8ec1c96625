"""The operator sweep and the whole-model check on a device with wrong kernels."""

from __future__ import annotations

import importlib
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.opmap.correctness import sweep_of, workload_correctness
from ciwm.opmap.observe import Observed, observe
from ciwm.opmap.subjects import INTERPRETER
from ciwm.records.opmap_correctness import FAILED
from ciwm.report.map_device_words import planted_words
from ciwm.worker.opmap import whole_model
from ciwm.worker.opmap.planted import DEFECTS
from ciwm.worker.opmap.subject import Built
from tests.integration.on_device.models import FLEX, OWN_KERNELS, STEP, WRITER
from tests.toy_backend.site import OPTIONS, cpu_site, lines, subject, toy_site, toy_variables

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.records.opmap_correctness import Sweep

PROTOTYPE = (  # the six that a forward check on plain samples mostly misses
    "gelu_tanh",
    "sum_tail",
    "softmax_unshifted",
    "mm_low_accumulate",
    "gelu_backward",
    "index_select_empty",
)


def swept(site: Any, **options: Any) -> Sweep:
    observed = observe("sweep", INTERPRETER, site, options)
    assert observed.problem is None, observed.problem
    found = sweep_of(observed)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """A part of the sweep on a correct CPU, with everything that is planted."""
    site = cpu_site(tmp_path_factory.mktemp("cpu"))
    operators = ["sin", "bernoulli", "empty", "linalg.qr", "argmax", "nn.functional.*norm"]
    spoilt = {operator for defect in DEFECTS.values() for operator in defect.operators}
    return swept(site, device="cpu", operators=[*operators, *sorted(spoilt)])


def test_every_planted_defect_is_caught_and_nothing_is_cried_without_one(on_cpu: Sweep) -> None:
    planted = {one.defect: one for one in on_cpu.planted}
    assert set(PROTOTYPE) <= set(planted)
    assert {name for name, one in planted.items() if name and not one.caught} == set()
    assert planted[""].alarms == ()


def test_what_catches_a_defect_is_named(on_cpu: Sweep) -> None:
    alarms = {one.defect: one.alarms for one in on_cpu.planted}
    assert {alarm.split()[0] for alarm in alarms["sum_tail"]} == {"edge"}
    assert {alarm.split()[1] for alarm in alarms["gelu_backward"]} == {"backward"}
    assert {alarm.split()[2] for alarm in alarms["mm_low_accumulate"]} == {"bfloat16"}


def test_a_correct_cpu_is_not_called_wrong_and_what_cannot_be_judged_says_why(
    on_cpu: Sweep,
) -> None:
    assert not set(on_cpu.cases) & set(FAILED)
    assert on_cpu.verdicts["sin float32 backward"] == "strict"
    why = {check.operator: check.detail for check in on_cpu.checks}
    assert "random" in why["bernoulli"]
    assert "uninitialised" in why["empty"]
    assert "not unique" in why["linalg.qr"]


def test_float8_is_checked_against_the_definition_of_its_bits(on_cpu: Sweep) -> None:
    casts = [name for name in on_cpu.verdicts if name.startswith("float8 cast")]
    assert len(casts) == 4
    assert {on_cpu.verdicts[name] for name in casts} == {"strict"}
    assert "float8 _scaled_mm float8_e4m3fn forward" in on_cpu.verdicts


@pytest.fixture(scope="module")
def on_toy(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """The toy device with six wrong kernels and one that kills the process."""
    defects = "gelu_tanh,sum_tail,softmax_unshifted,mm_bf16_accumulate,index_select_empty,crash"
    site = toy_site(tmp_path_factory.mktemp("toy"), toy_variables(TOY_DEFECTS=defects))
    operators = ["nn.functional.gelu", "sum", "softmax", "mm", "index_select", "exp2", "mul"]
    return swept(site, **OPTIONS, operators=operators, planted=False, fp8=False, children=2)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("nn.functional.gelu float32 forward", "WRONG"),
        ("sum float32 forward", "WRONG"),
        ("softmax float32 forward", "WRONG"),
        ("mm bfloat16 forward", "WRONG"),
        ("mm float32 forward", "strict"),
        ("index_select float32 forward", "error"),
        ("mul float32 forward", "strict"),
    ],
)
def test_a_wrong_kernel_of_a_device_is_called_so_and_a_right_one_not(
    on_toy: Sweep, name: str, verdict: str
) -> None:
    found = on_toy.verdicts[name]
    assert found == verdict or (verdict == "strict" and found == "drift")


def test_a_crash_costs_one_operator_and_names_the_call(on_toy: Sweep) -> None:
    (crash,) = [check for check in on_toy.checks if check.verdict == "crash"]
    assert crash.operator == "exp2"
    assert "SIGABRT" in crash.detail
    assert crash.call.startswith("float32[")
    assert len({name.split()[0] for name in on_toy.verdicts}) == 7


def test_a_hang_is_a_timeout_and_is_killed(tmp_path: Path) -> None:
    site = toy_site(tmp_path, toy_variables(TOY_DEFECTS="hang"))
    began = time.monotonic()
    found = swept(
        site, **OPTIONS, operators=["sinh"], operator_timeout_s=5, planted=False, fp8=False
    )
    assert time.monotonic() - began < 3600  # it sleeps for an hour
    assert found.verdicts == {"sinh float32 forward": "timeout"}


def model_checks(folder: Path, text: str, phase: str, **variables: str) -> Observed:
    site = toy_site(folder, toy_variables(**variables))
    return observe("correctness", subject(folder, text, phase), site, OPTIONS)


def test_a_wrong_gradient_shows_in_the_workloads_own_calls_and_in_the_whole_model(
    tmp_path: Path,
) -> None:
    observed = model_checks(tmp_path, STEP, "train", TOY_DEFECTS="gelu_backward")
    found = workload_correctness("w", observed)
    assert found is not None
    assert [check.operator for check in found.checks if check.verdict in FAILED] == [
        "aten.gelu_backward.default"
    ]
    assert {check.what: check.verdict for check in found.model} == {
        "outputs": "strict",
        "gradients": "WRONG",
    }


def test_calls_of_operators_of_ones_own_are_checked_too(tmp_path: Path) -> None:
    observed = model_checks(tmp_path, OWN_KERNELS, "prefill")
    own = [line for line in lines(observed, "check") if line["operator"].startswith("mine.")]
    (captured,) = lines(observed, "captured")
    assert captured["too_large"] == 1  # what adds to a tensor without data
    verdicts = {line["operator"].split(".")[1]: line["verdict"] for line in own}
    assert verdicts == {
        "right": "strict",
        "wrong": "WRONG",
        "slightly_wrong": "WRONG",  # float64 tells
        "narrow": "drift",  # the CPU computes it in float32, whatever it is given
        "senseless": "strict",  # what the CPU makes of float64 is not believed
        "whole": "WRONG",
        "wait_for_cpu": "strict",
        "sparse": "untestable",
        "deadly_on_cpu": "untestable",
        "deadly_on_device": "crash",
        "drawn": "untestable",
        "drawn_length": "untestable",
        "of_the_cpu": "strict",  # by way of the device's fallback
    }


def test_a_right_device_writes_the_same_tokens(tmp_path: Path) -> None:
    observed = model_checks(tmp_path, WRITER, "generate")
    checks = {line["what"]: line for line in lines(observed, "model")}
    assert checks["tokens"]["verdict"] == "strict"
    assert checks["tokens"]["compared"] == 14  # two rows of three given and four written
    assert checks["outputs"]["verdict"] == "strict"


def test_a_higher_order_operator_is_run_through(tmp_path: Path) -> None:
    site, options = cpu_site(tmp_path), {"device": "cpu"}
    observed = observe("correctness", subject(tmp_path, FLEX, "prefill"), site, options)
    assert observed.problem is None
    assert [line["verdict"] for line in lines(observed, "model")] == ["strict"]


def test_without_a_kernel_and_without_a_fallback_the_device_is_in_error(tmp_path: Path) -> None:
    observed = model_checks(tmp_path, WRITER, "generate", TOY_REFUSE="aten::cumsum.out")
    verdicts = {line["what"]: line["verdict"] for line in lines(observed, "model")}
    assert verdicts == {"outputs": "error", "tokens": "error"}
    (check,) = [line for line in lines(observed, "check") if line["verdict"] in FAILED]
    assert "no kernel and no fallback for aten::cumsum" in check["detail"]


def test_whole_numbers_are_checked_forward_and_have_no_gradient(tmp_path: Path) -> None:
    options = {"dtypes": ["int64"], "operators": ["add", "mul"], "planted": False, "fp8": False}
    found = swept(cpu_site(tmp_path), device="cpu", **options)
    assert found.verdicts == {"add int64 forward": "strict", "mul int64 forward": "strict"}


def test_an_operator_that_nobody_has_heard_of_is_a_problem(tmp_path: Path) -> None:
    observed = observe(
        "sweep", INTERPRETER, cpu_site(tmp_path), {"device": "cpu", "operators": ["no.such"]}
    )
    assert observed.problem is not None
    assert observed.problem.detail == "no operator is called no.such"


@pytest.mark.heavy
@pytest.mark.parametrize("part", [0, 1])
def test_no_operator_of_a_correct_cpu_is_called_wrong(tmp_path: Path, part: int) -> None:
    found = swept(cpu_site(tmp_path, timeout_s=600), device="cpu", part=[part, 2])
    assert found.operators == 351
    assert not set(found.cases) & set(FAILED), found.checks[:3]


@pytest.mark.heavy
def test_on_a_device_only_what_is_wrong_by_hand_is_called_wrong(tmp_path: Path) -> None:
    """All operators on the toy device, which computes on the CPU and so is right by intention.

    What is wrong of it is PyTorch's: `_linalg_det` keeps the factors of the transpose of contiguous
    input, its gradient asks the input's strides, and the CPU fallback hands the kernel a contiguous
    copy of what has gaps. By hand (det(A) times the inverse's transpose) the gradients are off by
    their own size.
    """
    site = toy_site(tmp_path, toy_variables(), timeout_s=1500)
    found = swept(site, **OPTIONS, children=2, planted=False)
    assert found.operators == 702
    wrong = {(one.operator, one.direction) for one in found.checks if one.verdict == "WRONG"}
    assert wrong == {(name, "backward") for name in ("linalg.det", "linalg.slogdet", "logdet")}
    assert {one.source for one in found.checks if one.verdict == "WRONG"} == {"noncontiguous"}
    assert len(found.kernels) > 400


def test_a_plan_catches_no_defect_of_an_operator_that_it_leaves_out(tmp_path: Path) -> None:
    found = swept(cpu_site(tmp_path), device="cpu", operators=["nn.functional.relu"], fp8=False)
    assert {one.defect for one in found.planted if one.caught} == {"nan_dropped"}
    assert len(found.planted) == len(DEFECTS) + 1
    assert f"catches 1 of {len(DEFECTS)} planted defects (not " in planted_words(found)


def test_a_wrong_kernel_for_whole_numbers_is_called_so(tmp_path: Path) -> None:
    site = toy_site(tmp_path, toy_variables(TOY_DEFECTS="abs_of_integers"))
    plan: dict[str, Any] = {"dtypes": ["int64", "float32"], "operators": ["abs", "equal"]}
    found = swept(site, **OPTIONS, **plan, planted=False, fp8=False)
    assert found.verdicts["abs int64 forward"] == "WRONG"
    assert found.verdicts["abs float32 forward"] == "strict"
    assert found.verdicts["equal int64 forward"] == "strict"  # a truth value and no tensor


def test_wrong_places_are_called_so_where_no_two_elements_are_equal(tmp_path: Path) -> None:
    defects = "argmax_first,topk_indices"
    site = toy_site(tmp_path, toy_variables(TOY_DEFECTS=defects))
    plan: dict[str, Any] = {"operators": ["argmax", "argmin", "topk"], "dtypes": ["float32"]}
    found = swept(site, **OPTIONS, **plan, planted=False, fp8=False)
    assert found.verdicts["argmax float32 forward"] == "WRONG"
    assert found.verdicts["topk float32 forward"] == "WRONG"
    assert found.verdicts["argmin float32 forward"] == "strict"


def test_a_backward_pass_that_fails_leaves_the_forward_verdict(tmp_path: Path) -> None:
    site = toy_site(tmp_path, toy_variables(TOY_REFUSE="aten::gelu_backward.grad_input"))
    plan: dict[str, Any] = {"operators": ["nn.functional.gelu"], "dtypes": ["float32"]}
    found = swept(site, **OPTIONS, **plan, planted=False, fp8=False)
    assert found.verdicts == {
        "nn.functional.gelu float32 forward": "strict",
        "nn.functional.gelu float32 backward": "error",
    }


def test_a_step_of_many_tensors_at_once_is_checked_by_what_it_writes(tmp_path: Path) -> None:
    many = "lambda ps: torch.optim.AdamW(ps, foreach=True)"
    text = STEP.replace('"loss":', f'"optimizer": {many}, "loss":')
    observed = model_checks(tmp_path, text, "train", TOY_DEFECTS="addcdiv")
    found = workload_correctness("w", observed)
    assert found is not None
    failing = {check.operator for check in found.checks if check.verdict in FAILED}
    assert failing == {"aten._foreach_addcdiv_.ScalarList"}


def test_a_device_that_is_not_there_is_one_problem_and_not_an_error_of_every_operator(
    tmp_path: Path,
) -> None:
    site = toy_site(tmp_path, toy_variables(TOY_REFUSE="aten::_copy_from"))
    text = "import toy_device\ndef no(*_): raise RuntimeError('no card')\n"
    (tmp_path / "plugin" / "no_card.py").write_text(
        text + "toy_device.torch.Tensor.to = no\n", encoding="utf-8"
    )
    observed = observe("sweep", INTERPRETER, site, {"device": "toy", "imports": ["no_card"]})
    assert observed.problem is not None
    assert observed.problem.detail == "the device toy cannot be used: RuntimeError: no card"
    assert sweep_of(observed) is None


def test_a_dtype_that_nobody_has_heard_of_is_a_problem(tmp_path: Path) -> None:
    options = {"device": "cpu", "dtypes": ["float32", "float31"]}
    observed = observe("sweep", INTERPRETER, cpu_site(tmp_path), options)
    assert observed.problem is not None
    assert observed.problem.detail == "this PyTorch knows no dtype 'float31'"


def test_tokens_that_come_wrapped_are_compared(tmp_path: Path) -> None:
    text = WRITER.replace("        return input_ids\n", "        return Wrapped(input_ids)\n", 1)
    text += "\nclass Wrapped:\n    def __init__(self, ids):\n        self.sequences = ids\n"
    observed = observe(
        "correctness", subject(tmp_path, text, "generate"), cpu_site(tmp_path), {"device": "cpu"}
    )
    checks = {line["what"]: line for line in lines(observed, "model")}
    assert (checks["tokens"]["verdict"], checks["tokens"]["compared"]) == ("strict", 14)


@pytest.mark.parametrize("verdict", ["drift", "WRONG"])
def test_outputs_that_are_wrong_excuse_no_other_tokens(verdict: str) -> None:
    """The CPU's logits of the two tokens are 1 apart, and the outputs are off by as much."""
    torch: Any = importlib.import_module("torch")

    class Writer:
        def __init__(self, token: int) -> None:
            self.token = token

        def generate(self, input_ids: Any, **_: Any) -> Any:
            return torch.cat([input_ids, torch.tensor([[self.token]])], 1)

        def __call__(self, input_ids: Any) -> Any:
            return SimpleNamespace(logits=torch.eye(4)[:1].expand(1, input_ids.shape[1], 4))

    def built(token: int) -> Built:
        ids = torch.zeros(1, 2, dtype=torch.int64)
        return Built(Writer(token), (), {"input_ids": ids}, None, None, None)

    copies = whole_model._Copies(built(0), built(0), built(1))
    line = whole_model._tokens(copies, {"verdict": verdict, "error_device": 1.0})
    assert line["verdict"] == verdict
    assert line["differing"] == 1
