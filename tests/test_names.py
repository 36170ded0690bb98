"""What may be the name of a file or of a folder: one rule for all who ask."""

import pytest

from lra.base.files import MOST_NAME_BYTES, checked_name
from lra.types import UserError


@pytest.mark.parametrize("name", ["mine", "2024", "Überblick 1", "a.b", "x" * MOST_NAME_BYTES])
@pytest.mark.parametrize("nested", [False, True])
def test_a_word_is_given_back(name, nested):
    assert checked_name(name, "name=", example="mine", nested=nested) == name


@pytest.mark.parametrize("name", ["", ".hidden", "..", "../x", "/x", "x/", "a//b", "a/.b", "a\\b", "a\nb"])
@pytest.mark.parametrize("nested", [False, True])
def test_what_leads_elsewhere_is_refused(name, nested):
    with pytest.raises(UserError) as refused:
        checked_name(name, "name=", example="mine", nested=nested)
    assert (refused.value.kind, refused.value.key, refused.value.value) == ("bad_name", "name", name)


def test_a_folder_in_a_folder_is_a_name_where_that_is_meant():
    assert checked_name("mine/first", "run_group=", example="mine", nested=True) == "mine/first"
    with pytest.raises(UserError, match="name=mine/first "):
        checked_name("mine/first", "name=", example="mine")


def test_of_a_long_one_the_beginning_is_shown():
    with pytest.raises(UserError, match=rf"^name={'x' * 40}… .*{MOST_NAME_BYTES}"):
        checked_name("x" * (MOST_NAME_BYTES + 1), "name=", example="mine")
