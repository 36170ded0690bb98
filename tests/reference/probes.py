"""Slow twins of the probes' generators: one example at a time, as words, and the label of an example from its words."""

import itertools
import random
from collections import Counter

Example = tuple[list[str], int]


def recall(rng: random.Random, *, length: int, training: bool, pairs: int, keys: int, values: int) -> Example:
    chosen = rng.sample(range(keys), rng.randint(1, pairs) if training else pairs)
    value_of = {key: rng.randrange(values) for key in chosen}
    asked = rng.choice(chosen)
    words = [f"k{key}={value_of[key]}" for key in chosen]
    return words + [f"k{asked}?"] * (length - len(words)), value_of[asked]


def noisy_recall(
    rng: random.Random,
    *,
    length: int,
    training: bool,
    pairs: int,
    keys: int,
    values: int,
    noise: int,
    queries: int,
) -> Example:
    chosen = rng.sample(range(keys), rng.randint(1, pairs) if training else pairs)
    value_of = {key: rng.randrange(values) for key in chosen}
    asked = rng.choice(chosen)
    words = [f"~{rng.randrange(noise)}" for _ in range(length - queries)]
    for key, place in zip(chosen, rng.sample(range(length - queries), len(chosen)), strict=True):
        words[place] = f"k{key}={value_of[key]}"
    return words + [f"k{asked}?"] * queries, value_of[asked]


def selective_copy(
    rng: random.Random, *, length: int, training: bool, marked: int, values: int, noise: int, queries: int
) -> Example:
    places = sorted(rng.sample(range(length - queries), rng.randint(1, marked) if training else marked))
    words = [f"~{rng.randrange(noise)}" for _ in range(length - queries)]
    copied = [rng.randrange(values) for _ in places]
    for place, value in zip(places, copied, strict=True):
        words[place] = f"*{value}"
    asked = rng.randrange(len(places))
    return words + [f"{1 + asked}?"] * queries, copied[asked]


def lag(
    rng: random.Random, *, length: int, training: bool, distance: int, marks: int, values: int, noise: float
) -> Example:
    label = rng.randrange(values)
    others = [value for value in range(values) if value != label]
    marked = rng.sample(range(distance, length), marks)
    asked = {place - distance for place in marked if rng.random() >= noise}
    value_at = []
    for place in range(length):
        others_may_be_marked = length - distance - (place >= distance)  # of the places where marks can stand
        marks_elsewhere = marks - (place in marked)
        can_be_asked = distance > 0 and place + distance < length
        asked_chance = (1 - noise) * marks_elsewhere / others_may_be_marked if can_be_asked else 0
        share = (1 / values - asked_chance) / (1 - asked_chance)  # so that the place has the label's value evenly
        has_label = place in asked or rng.random() < share
        value_at.append(label if has_label else rng.choice(others))
    return [f"{value}!" if place in marked else f"{value}" for place, value in enumerate(value_at)], label


def most_frequent(rng: random.Random, *, length: int, training: bool, values: int) -> Example:
    while True:
        drawn = [rng.randrange(values) for _ in range(length)]
        (label, most), *others = Counter(drawn).most_common()
        if not others or others[0][1] < most:
            return [*map(str, drawn)], label


def words(rng: random.Random, *, length: int, training: bool, group: str, word: int, blanks: float) -> Example:
    elements = elements_of(group)
    drawn = [elements[0]] * word
    for place in rng.sample(range(word), rng.randint(1, word) if training else word):
        drawn[place] = rng.choice(elements)
    product = elements[0]
    for element in drawn:
        product = multiplied(product, element, group)
    shown = [
        "_" if place and rng.random() < blanks else str(elements.index(element))
        for element in drawn
        for place in range(length // word)
    ]
    return shown, elements.index(product)


def elements_of(group: str) -> list[tuple[object, ...]]:
    """The elements of a product of groups, each a tuple with a number of Zn, or a permutation, for each factor."""
    return [*itertools.product(*(_elements(factor) for factor in group.split("x")))]


def _elements(factor: str) -> list[object]:
    kind, number = factor[0], int(factor[1:])
    if kind == "Z":
        return [*range(number)]
    return [each for each in itertools.permutations(range(number)) if kind == "S" or _is_even(each)]


def _is_even(permutation: tuple[int, ...]) -> bool:
    """Whether it is a product of an even number of exchanges: sort it by exchanges, and count them."""
    left, exchanges = [*permutation], 0
    for place in range(len(left)):
        while left[place] != place:
            other = left[place]
            left[place], left[other] = left[other], left[place]
            exchanges += 1
    return exchanges % 2 == 0


def multiplied(first: tuple, second: tuple, group: str) -> tuple:
    """The product of two elements; of permutations, the second acts first."""
    return tuple(
        (a + b) % int(factor[1:]) if factor[0] == "Z" else tuple(a[b[i]] for i in range(len(b)))
        for a, b, factor in zip(first, second, group.split("x"), strict=True)
    )


def label_of(task: str, words: list[str], settings: dict[str, object]) -> int:
    """Compute the label of an example from its words."""
    if task in ("recall", "noisy_recall"):
        key = words[-1].removesuffix("?")
        (found,) = {int(word.partition("=")[2]) for word in words if word.partition("=")[0] == key and "=" in word}
        return found
    if task == "selective_copy":
        return [int(word[1:]) for word in words if word[0] == "*"][int(words[-1][:-1]) - 1]
    if task == "lag":
        asked = [words[place - int(settings["distance"])] for place, word in enumerate(words) if word[-1] == "!"]
        (label,) = {word.removesuffix("!") for word in asked}
        return int(label)
    if task == "most_frequent":
        return int(max(set(words), key=words.count))
    elements = elements_of(str(settings["group"]))
    product = elements[0]
    for word in words[:: len(words) // int(settings["word"])]:
        product = multiplied(product, elements[int(word)], str(settings["group"]))
    return elements.index(product)
