"""The parts of the documents that hold numbers: `make renew` writes them from records, configurations and commands.

A block stands between `<!-- numbers: NAME -->` and `<!-- end -->`, in any document; `documents.BLOCKS` has the function
that writes it. What a number means is said outside the blocks, in words that another record does not make wrong.
"""
