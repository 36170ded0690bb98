"""What a file is, by its first bytes, whatever its name: archives that are read, and other forms for a true refusal."""

import tarfile
from dataclasses import dataclass

from lra.types import UserError

HEAD_BYTES = 512  # a tar's first header; all other forms are told by fewer
NPZ_NAME = slice(30, 512)  # of the first file in a zip
UNPACK = "unpack it, and name its folder"
NOT_THE_FILE = "fetch it again"


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form of file.

    Attributes:
        name: its name in short, such as `pickle`.
        says: what it is, in words for an error.
        remedy: what to do with it in place of an archive; empty where the form says enough.
        archive: whether it is a tar, or a compression of one, that is read.
    """

    name: str
    says: str
    remedy: str = ""
    archive: bool = False


TAR = Form(name="tar", says="a tar archive", archive=True)
EMPTY = Form(name="empty", says="an empty file", remedy=NOT_THE_FILE)
TEXT = Form(name="text", says="a text")
UNKNOWN = Form(name="unknown", says="a file of no form that is known here", remedy=NOT_THE_FILE)
NPZ = Form(name="npz", says="an NPZ file of numpy")
ZIP = Form(name="zip", says="a zip", remedy=UNPACK)
PICKLE = Form(name="pickle", says="a pickle")
BEGINNINGS = {
    b"\x1f\x8b": Form(name="gzip", says="a file that gzip has compressed", archive=True),
    b"BZh": Form(name="bzip2", says="a file that bzip2 has compressed", archive=True),
    b"\xfd7zXZ\x00": Form(name="xz", says="a file that xz has compressed", archive=True),
    b"\x5d\x00\x00": Form(name="lzma", says="a file that lzma has compressed", archive=True),
    b"PK\x03\x04": ZIP,
    b"PK\x05\x06": ZIP,
    b"7z\xbc\xaf\x27\x1c": Form(name="7z", says="a 7z archive", remedy=UNPACK),
    b"Rar!\x1a\x07": Form(name="rar", says="a rar archive", remedy=UNPACK),
    b"\x28\xb5\x2f\xfd": Form(name="zstd", says="a file that zstd has compressed", remedy=UNPACK),
    b"\x04\x22\x4d\x18": Form(name="lz4", says="a file that lz4 has compressed", remedy=UNPACK),
    b"LZIP": Form(name="lzip", says="a file that lzip has compressed", remedy=UNPACK),
    b"\x1f\x9d": Form(name="compress", says="a file that compress has compressed", remedy=UNPACK),
    b"PAR1": Form(name="parquet", says="a parquet file"),
    b"ARROW1": Form(name="arrow", says="an Arrow file"),
    b"\x93NUMPY": Form(name="npy", says="an NPY file of numpy"),
    b"\x89HDF\r\n\x1a\n": Form(name="hdf5", says="an HDF5 file"),
    b"SQLite format 3\x00": Form(name="sqlite", says="an SQLite database"),
    b"\x89PNG\r\n\x1a\n": Form(name="png", says="a PNG image"),
    b"\xff\xd8\xff": Form(name="jpeg", says="a JPEG image"),
    b"GIF8": Form(name="gif", says="a GIF image"),
    b"%PDF-": Form(name="pdf", says="a PDF document"),
    b"version https://git-lfs": Form(name="lfs", says="a pointer of Git LFS", remedy="type: git lfs pull"),
    **{bytes([0x80, protocol]): PICKLE for protocol in range(2, 6)},
    **{beginning: PICKLE for beginning in (b"(dp", b"(lp", b"}q", b"]q")},  # protocols 0 and 1
}
WEB_PAGE = Form(name="html", says="a web page, such as of an error or a login", remedy=NOT_THE_FILE)


def form_of(head: bytes) -> Form:
    """Tell a file's form by its first 512 bytes, or by all of it if it has fewer."""
    if not head:
        return EMPTY
    if is_tar(head):
        return TAR
    found = next((form for beginning, form in BEGINNINGS.items() if head.startswith(beginning)), None)
    if found is ZIP and b".npy" in head[NPZ_NAME]:
        return NPZ
    if found is not None:
        return found
    if head.lstrip()[:9].lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        return WEB_PAGE
    return TEXT if _is_text(head) else UNKNOWN


def is_tar(head: bytes) -> bool:
    """Tell whether these are the first bytes of a tar: a header, perhaps a damaged one, or an archive of nothing."""
    head = head[:HEAD_BYTES]
    if len(head) < HEAD_BYTES:
        return False
    if head[257:262] == b"ustar" or head == bytes(HEAD_BYTES):
        return True
    try:
        tarfile.TarInfo.frombuf(head, tarfile.ENCODING, "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def refuse_form(where: str, form: Form, wanted: str) -> UserError:
    """Make the error for a file of another form; `where` names the file, `wanted` is what should be there."""
    remedy = f"; {form.remedy}" if form.remedy else ""
    return UserError(f"{where} is {form.says}, not {wanted}{remedy}", kind="wrong_form", key=where, value=form.name)


def _is_text(head: bytes) -> bool:
    """Tell whether bytes are UTF-8 without control characters; the last character may be cut."""
    text = head.decode("utf-8", "ignore")
    whole = len(head) - len(text.encode()) < 4
    return whole and all(letter.isprintable() or letter in "\t\r\n\f\ufeff" for letter in text)
