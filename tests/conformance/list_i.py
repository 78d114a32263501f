"""Start method, and pickling to the worker."""

from tests.conformance.hazard import Case, Hazard

TWO = ("num_workers=2",)
KEPT = ("num_workers=2,persistent_workers=yes",)
PASSED = ("passed", "passed")

UNPICKLABLE = {
    "HoldsLambda": r"dataset\.steps\['train'\]\[0\] \(",
    "HoldsLock": r"dataset\.lock \(lock",
    "HoldsOpenFile": r"dataset\.reader\.file \(BufferedReader",
    "HoldsGenerator": r"dataset\.names \(.*genexpr",
    "collates_by_lambda": r"collate_fn \(.*lambda",
    "begins_by_local_function": r"worker_init_fn \(.*begin",
    "of_local_class": r"dataset \(.*InFunction",
}
"""Datasets that no pickle carries, and how the part at fault is named."""

HAZARDS = [
    Hazard(
        id="spawn-lambda-or-local",
        kind="I",
        cases=(
            *(
                Case(
                    dataset=f"pickling.py:{name}",
                    says=("cannot_pickle",),
                    configs=TWO,
                    start_method="spawn",
                    batch_size=None,
                    arguments=("folder={folder}",) if "File" in name else (),
                    words=(words,),
                )
                for name, words in UNPICKLABLE.items()
            ),
            *(
                Case(
                    dataset=f"pickling.py:{name}",
                    says=PASSED,
                    start_method="fork",
                    batch_size=None,
                    arguments=("folder={folder}",) if "File" in name else (),
                    cautions=frozenset(),
                )
                for name in ("HoldsLambda", "HoldsOpenFile", "collates_by_lambda")
            ),
        ),
    ),
    Hazard(
        id="py314-forkserver-default",
        kind="I",
        cases=(
            Case(
                dataset="pickling.py:of_local_class",
                says=("cannot_pickle",),
                configs=TWO,
                start_method="forkserver",
                words=(r"dataset \(.*InFunction", r"--start-method fork"),
            ),
            Case(
                dataset="pickling.py:SetsGlobal",
                says=("label_mismatch",),
                configs=TWO,
                start_method="forkserver",
            ),
            Case(
                dataset="pickling.py:NamesItsDtype",
                says=("passed",),
                configs=KEPT,
                start_method="forkserver",
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="spawn-main-not-importable",
        kind="I",
        cases=(
            Case(
                dataset="pickling.py:of_made_up_module",
                says=("crashed",),
                configs=TWO,
                start_method="spawn",
                words=(r"No module named 'made_up_in_a_notebook'",),
            ),
            Case(
                dataset="pickling.py:of_made_up_module",
                says=("cannot_pickle",),
                configs=TWO,
                start_method="spawn",
                arguments=("registered=false",),
                words=(r"dataset \(.*MadeUp",),
            ),
            Case(
                dataset="pickling.py:of_made_up_module",
                says=PASSED,
                start_method="fork",
            ),
        ),
    ),
    Hazard(
        id="spawn-no-main-guard",
        kind="I",
        cases=(
            Case(
                dataset="unguarded.py:dataset",
                says=("usage",),
                start_method="spawn",
                words=(r"unguarded\.py iterates a DataLoader", r"if __name__ =="),
            ),
            Case(
                dataset="guarded.py:dataset",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
            ),
        ),
    ),
    Hazard(
        id="spawn-default-dtype-lost",
        kind="I",
        cases=(
            Case(
                dataset="pickling.py:SetsDefaultDtype",
                says=("dtype_mismatch",),
                configs=TWO,
                start_method="spawn",
                words=(r"float32",),
            ),
            Case(
                dataset="pickling.py:SetsDefaultDtype", says=PASSED, start_method="fork"
            ),
            Case(
                dataset="pickling.py:NamesItsDtype",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
            ),
        ),
    ),
    Hazard(
        id="spawn-module-global-lost",
        kind="I",
        cases=(
            Case(
                dataset="pickling.py:SetsGlobal",
                says=("label_mismatch",),
                configs=TWO,
                start_method="spawn",
            ),
            Case(dataset="pickling.py:SetsGlobal", says=PASSED, start_method="fork"),
            Case(
                dataset="pickling.py:SetsVariable",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
            ),
        ),
    ),
    Hazard(
        id="resplit-on-unpickle",
        kind="I",
        cases=(
            Case(
                dataset="pickling.py:SplitsAnew",
                says=("label_mismatch",),
                configs=TWO,
                start_method="spawn",
            ),
            Case(dataset="pickling.py:SplitsAnew", says=PASSED, start_method="fork"),
            Case(
                dataset="pickling.py:SplitsBySeed",
                says=("passed",),
                configs=KEPT,
                start_method="spawn",
            ),
        ),
    ),
    Hazard(
        id="memmap-pickles-whole",
        kind="I",
        # slow to start and large, and not wrong
        cases=tuple(
            Case(
                dataset="pickling.py:ReadsMap",
                says=("passed",),
                configs=KEPT,
                start_method=method,
                arguments=("folder={folder}",),
                cautions=frozenset(),
            )
            for method in ("fork", "spawn")
        ),
        elsewhere=(
            "tests/measure/test_throughput.py"
            "::test_the_first_batch_waits_for_the_start_of_the_workers"
        ),
    ),
    Hazard(
        id="init-fn-only-with-workers",
        kind="I",
        cases=(
            # the reference is read as the only worker would read it
            Case(
                dataset="pickling.py:handle_of_workers_only",
                says=PASSED,
                batch_size=None,
                cautions=frozenset(),
            ),
            Case(
                dataset="pickling.py:handle_of_workers_only",
                says=("worker_exception",),
                configs=("num_workers=0",),
                batch_size=None,
                words=(r"TypeError: 'NoneType' object is not subscriptable",),
            ),
            Case(
                dataset="pickling.py:handle_of_each_worker",
                says=("label_mismatch", "label_mismatch"),
                batch_size=None,
            ),
            Case(
                dataset="pickling.py:handle_everywhere",
                says=PASSED,
                batch_size=None,
                cautions=frozenset(),
            ),
        ),
    ),
]
"""All hazards of this section."""
