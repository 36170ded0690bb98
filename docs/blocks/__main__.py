"""`make renew`: draw the figures that the documents show, and write the blocks of all documents."""

from docs.blocks.documents import DOCUMENTS, pictures_of_records, with_blocks
from docs.blocks.figures import draw
from docs.blocks.published import ROOT


def main() -> None:
    """Draw and write what changed, and name it; figures come first, because they hold their captions."""
    shown = {picture.name for document in DOCUMENTS for picture in pictures_of_records(document)}
    for name in draw(shown):
        print(f"drawn:   runs/published/{name}")
    for document in DOCUMENTS:
        text = document.read_text()
        written = with_blocks(text)
        if written != text:
            document.write_text(written)
            print(f"written: {document.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
