"""Section A: operating-system state that workers share across fork."""

from tests.conformance.hazard import Case, Hazard

FOLDER = ("folder={folder}",)
FRESH = ("num_workers=2",)
BOTH_PASS = ("passed", "passed")

SWAPPED = (
    "label_mismatch+shared_file_offset or "
    "content_mismatch+label_mismatch+shared_file_offset"
)
"""Records of other examples, read through one offset. Content is compared where the
label agrees: it differs there where parts of two records were read."""

BY_LUCK = f"shared_file_offset or {SWAPPED}"
"""The same where no pause provokes it: the offset moves in any case."""

BROKEN = f"worker_exception or {SWAPPED}"
"""The same where what is read elsewhere may be no record at all."""

HANGS = ("--hang-after", "6s")

HAZARDS = [
    Hazard(
        id="raw-fd-shared-offset",
        kind="A",
        cases=(
            Case(
                dataset="handles.py:SharesDescriptor",
                arguments=FOLDER,
                says=(SWAPPED, SWAPPED),
                cautions=frozenset(),
                words=(r"records-64\.bin",),
            ),
            Case(
                dataset="handles.py:SharesDescriptor",
                arguments=(*FOLDER, "pause_s=0"),
                says=(BY_LUCK, BY_LUCK),
            ),
            Case(
                # the number means nothing in a new process, or another file
                dataset="handles.py:SharesDescriptor",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("worker_exception",),
            ),
            Case(
                dataset="handles.py:ReadsAtOffset",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=frozenset(),
            ),
            Case(
                # a socket has no offset, but answers to one worker reach another
                dataset="handles.py:SharesConnection",
                says=("label_mismatch", "label_mismatch"),
            ),
            Case(
                # multiprocessing sends sockets on: spawned workers share it as well
                dataset="handles.py:SharesConnection",
                start_method="spawn",
                configs=FRESH,
                says=("label_mismatch",),
            ),
        ),
    ),
    Hazard(
        id="buffered-file-seek-read",
        kind="A",
        cases=(
            Case(
                dataset="handles.py:SharesFile",
                arguments=FOLDER,
                says=(SWAPPED, SWAPPED),
                cautions=frozenset(),
                words=(r"records-8192\.bin",),
            ),
            Case(
                dataset="handles.py:SharesFile",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("cannot_pickle",),
                words=(r"dataset\.file \(BufferedReader\)",),
            ),
            Case(
                dataset="handles.py:SharesFileOfArrays",
                arguments=FOLDER,
                says=(SWAPPED, SWAPPED),
            ),
            Case(
                dataset="handles.py:SharesFsspecFile",
                arguments=FOLDER,
                says=(SWAPPED, SWAPPED),
            ),
            Case(
                # it opens anew where it is unpickled
                dataset="handles.py:SharesFsspecFile",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("passed",),
                cautions=frozenset(),
            ),
            Case(
                dataset="handles.py:OpensInLen",
                arguments=FOLDER,
                says=(SWAPPED, SWAPPED),
            ),
            Case(
                dataset="handles.py:OpensOnFirstUse",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=frozenset(),
            ),
            Case(
                dataset="handles.py:OpensOnFirstUse",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("passed",),
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="h5py-handle-in-init",
        kind="A",
        cases=(
            Case(
                # as a file of a remote store is opened: h5py.File(fs.open(...))
                dataset="archives.py:SharesHdf5",
                arguments=(*FOLDER, "driver=python"),
                says=(BROKEN, BROKEN),
                words=(r"dataset\.file", r"records\.h5"),
            ),
            Case(
                dataset="archives.py:SharesHdf5",
                arguments=(*FOLDER, "driver=stdio"),
                says=(f"worker_exception or {BY_LUCK}",) * 2,
            ),
            Case(
                # HDF5 reads with pread by now (2.0.0 in h5py 3.16.0), and what it
                # caches is each worker's own after the fork: a read-only file is safe
                dataset="archives.py:SharesHdf5",
                arguments=FOLDER,
                says=BOTH_PASS,
            ),
            Case(
                dataset="archives.py:OpensHdf5",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="h5py-cannot-pickle",
        kind="A",
        cases=(
            Case(
                dataset="archives.py:SharesHdf5",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("cannot_pickle",),
                words=(r"dataset\.file \(File\)",),
            ),
            Case(
                dataset="archives.py:SharesHdf5",
                arguments=FOLDER,
                start_method="forkserver",
                configs=FRESH,
                says=("cannot_pickle",),
                words=(r"dataset\.file \(File\)",),
            ),
            Case(
                dataset="archives.py:OpensHdf5",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("passed",),
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="lmdb-env-in-init",
        kind="A",
        cases=(
            Case(
                # py-lmdb 3.0.0 reads through what it inherits, as long as nobody writes
                dataset="databases.py:SharesLmdb",
                arguments=FOLDER,
                says=BOTH_PASS,
            ),
            Case(
                dataset="databases.py:OpensLmdbTwice",
                arguments=FOLDER,
                says=("worker_exception", "worker_exception"),
                words=(r"already open in this process",),
            ),
            Case(
                dataset="databases.py:OpensLmdb",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="lmdb-env-pickle",
        kind="A",
        cases=(
            Case(
                dataset="databases.py:SharesLmdb",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("cannot_pickle",),
                words=(r"dataset\.environment \(Environment\)",),
            ),
            Case(
                dataset="databases.py:OpensLmdb",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("passed",),
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="zip-handle-crc",
        kind="A",
        cases=(
            Case(
                dataset="archives.py:SharesZip",
                arguments=FOLDER,
                says=("worker_exception", "worker_exception"),
                words=(r"BadZipFile", r"dataset\.archive", r"records\.zip"),
            ),
            Case(
                dataset="archives.py:SharesZip",
                arguments=(*FOLDER, "is_slow=false"),
                says=("worker_exception or shared_file_offset",) * 2,
            ),
            Case(
                dataset="archives.py:SharesZip",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("cannot_pickle",),
                words=(r"dataset\.archive\.fp \(SlowFile\)",),
            ),
            Case(
                dataset="archives.py:OpensZip",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="zip-header-read-no-crc",
        kind="A",
        cases=(
            Case(
                # the head of the member itself may be another's, which zipfile refuses
                dataset="archives.py:SharesZipHeads",
                arguments=FOLDER,
                says=(BROKEN, BROKEN),
            ),
            Case(
                dataset="archives.py:SharesZipHeads",
                arguments=(*FOLDER, "is_slow=false"),
                says=(f"worker_exception or {BY_LUCK}",) * 2,
            ),
        ),
    ),
    Hazard(
        id="tar-handle",
        kind="A",
        cases=(
            Case(
                dataset="archives.py:SharesTar",
                arguments=FOLDER,
                says=(SWAPPED, SWAPPED),
                words=(r"records\.tar",),
            ),
            Case(
                dataset="archives.py:SharesTar",
                arguments=(*FOLDER, "is_slow=false"),
                says=(BY_LUCK, BY_LUCK),
            ),
            Case(
                dataset="archives.py:SharesTar",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("cannot_pickle",),
                words=(r"dataset\.archive\.fileobj \(SlowFile\)",),
            ),
        ),
    ),
    Hazard(
        id="sqlite-connection-fork",
        kind="A",
        cases=(
            Case(
                # SQLite reads with pread here, and nobody writes; other builds fail
                dataset="databases.py:SharesSqlite",
                arguments=FOLDER,
                says=BOTH_PASS,
            ),
            Case(
                dataset="databases.py:SharesSqlite",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("cannot_pickle",),
                words=(r"dataset\.connection \(Connection\)",),
            ),
            Case(
                dataset="databases.py:OpensSqlite",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=frozenset(),
            ),
        ),
    ),
    Hazard(
        id="decoder-handle-cached",
        kind="A",
        cases=(
            Case(
                dataset="decoders.py:SharesDecordReader",
                arguments=FOLDER,
                configs=FRESH,
                flags=HANGS,
                says=("hung",),
                words=(r"decoders\.py|decord", r"decord", r"thread"),
            ),
            Case(
                dataset="decoders.py:SharesDecordReader",
                arguments=FOLDER,
                start_method="spawn",
                configs=FRESH,
                says=("cannot_pickle",),
                words=(r"dataset\.reader",),
            ),
            Case(
                dataset="decoders.py:OpensDecordReader",
                arguments=FOLDER,
                says=BOTH_PASS,
                cautions=frozenset(),
            ),
            Case(
                dataset="decoders.py:SharesCapture",
                arguments=FOLDER,
                configs=FRESH,
                flags=HANGS,
                says=("hung",),
                words=(r"decoders\.py|cv2", r"cv2", r"thread"),
            ),
            Case(
                dataset="decoders.py:SharesContainer",
                arguments=FOLDER,
                says=(BROKEN, BROKEN),
                words=(r"dataset\.container", r"records\.avi"),
            ),
        ),
    ),
    Hazard(
        id="cache-poisoned-by-killed-trial",
        kind="A",
        cases=(
            Case(
                dataset="handles.py:PoisonsCache",
                arguments=FOLDER,
                says=("crashed", "worker_exception"),
                words=(r"SIGKILL", r"EOFError|UnpicklingError|RuntimeError"),
            ),
            Case(
                dataset="handles.py:PoisonsCache",
                arguments=(*FOLDER, "is_silent=true"),
                says=("crashed", "content_mismatch"),
                ids={"content_mismatch": (33,)},
            ),
            Case(
                # a temporary folder of its own keeps each trial from the last one's
                dataset="handles.py:PoisonsCache",
                arguments=(*FOLDER, "follows_tmpdir=true"),
                says=("crashed", "passed"),
            ),
        ),
    ),
]
