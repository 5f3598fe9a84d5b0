"""Counts in descriptions, over a corpus of odd phrases."""

from __future__ import annotations

import pytest

from veridical.build.vprom.counts import count_in
from veridical.build.vprom.lists import read_lists

WORDS = read_lists().counts
COUNTS = {
    "five bowls of oatmeal": 5,
    "Two men talking to each other": 2,
    "two men talking on sidewalk \n": 2,
    "3 green trees line street": 3,
    "there are only two chairs in the room": 2,
    "There are two men conversing in the photo.": 2,
    "the two men are talking": 2,
    "one woman is in the photo": 1,
    "there is one person in the photo": 1,
    "a group of ten people": 10,
    "10 elephants walking": 10,
    "six sheep grazing": 6,
    "four outlets on the wall": 4,
    "seven black birds on a wire": 7,
    "A herd of 8 zebras": 8,
    "nine kites": 9,
    "these three children's toys": 3,
    "two glasses of wine": 2,
    "One dog": 1,
}
NO_COUNTS = [
    "five o'clock",
    "five o’clock shadow",
    "a 10 years old boy",
    "10 years old",
    "10 year old girls",
    "number 7",
    "size 10",
    "size 10 shoes",
    "the number 7 on jerseys",
    "7 train",
    "bus number 5",
    "player 9",
    "#7 on shirts",
    "two-drawer filing cabinet",
    "three-month calendar on wall",
    "no one is sitted at this desk",
    "wooden chairs have no one sitting on",
    "white car has been parked next to the red one",
    "one of the men",
    "one way signs",
    "two way street",
    "two story houses",
    "4 x 4 trucks",
    "5:30 on clocks",
    "$5 bills",
    "2nd floor windows",
    "3/4 sleeves",
    "2.5 gallons",
    "6 feet tall",
    "10 mph signs",
    "seven eleven signs",
    "7 hundred people",
    "two or three birds",
    "two men and three dogs",
    "12 eggs",
    "twelve eggs",
    "a dozen donuts",
    "two dozen donuts",
    "two thirds of plates",
    "at 3 pm",
    "ten percent",
    "five star hotels",
    "Gray file cabinet with two drawers",
    "Post light on sidewalk between two trees",
    "two tone cars",
    "8 ball on tables",
    "the two",
    "three",
    "chapter 3 books",
    "10 dollars",
    "three different colors",
    "two rows of seats",
    "one",
    "one dogs",
    "two dog",
    "",
    "0 birds",
    "one hundred birds",
]


@pytest.mark.parametrize(("phrase", "count"), COUNTS.items())
def test_counts(phrase: str, count: int) -> None:
    assert count_in(phrase, WORDS) == count


@pytest.mark.parametrize("phrase", NO_COUNTS)
def test_no_counts(phrase: str) -> None:
    assert count_in(phrase, WORDS) is None
