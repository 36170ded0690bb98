"""Tests of the contracts of attentions and mixers, also of your own: `lra check attention=NAME`.

In pytest::

    from functools import partial
    from lra.tools.testing.contract import Promise, promises
    from lra.tools.testing.subjects import AttentionSubject

    @pytest.mark.parametrize("promise", promises(AttentionSubject(partial(Mine, radius=4))), ids=str)
    def test_contract(promise: Promise):
        promise.check()
"""
