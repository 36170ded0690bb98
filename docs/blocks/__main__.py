"""`make numbers`: write the blocks of all documents, and draw the figures that they show."""

from docs.blocks.documents import DOCUMENTS, pictures_of_records, with_blocks
from docs.blocks.figures import draw
from docs.blocks.published import ROOT


def main() -> None:
    """Write what changed, and name it."""
    for document in DOCUMENTS:
        text = document.read_text()
        written = with_blocks(text)
        if written != text:
            document.write_text(written)
            print(f"written: {document.relative_to(ROOT)}")
    shown = {picture.name for document in DOCUMENTS for picture in pictures_of_records(document)}
    for name in draw(shown):
        print(f"drawn:   runs/published/{name}")


if __name__ == "__main__":
    main()
