"""The rows of a leaderboard, in both databases: races for a pseudonym, and changes from outside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from grader.faults import LabFault, MachineFault
from grader.gradebook.board import Marks
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.database import connect
from grader.gradebook.ledger import Student

WHO = [f"s{k}" for k in range(6)]


def with_students(url: str) -> Gradebook:
    book = open_gradebook(url)
    book.enroll([Student(who) for who in WHO], "test")
    return book


def test_of_many_who_want_a_pseudonym_at_once_one_gets_it(url: str) -> None:
    book = with_students(url)

    def join(who: str) -> bool:
        try:
            book.board.join("tiled", who, "Fast Fox", who)
        except LabFault as fault:
            assert "taken" in fault.what
            return False
        return True

    with ThreadPoolExecutor(len(WHO)) as threads:
        assert sum(threads.map(join, WHO)) == 1
    assert [one.pseudonym for one in book.board.members("tiled").values()] == ["Fast Fox"]
    assert book.board.join("other", WHO[0], "Fast Fox", "test"), "each lab has its own"
    assert book.verify().problems == ()
    book.close()


def test_changes_of_one_entry_at_once_do_not_wait_for_each_other(url: str) -> None:
    book = with_students(url)
    board = book.board
    board.join("tiled", "s0", "Fox", "test")

    def change(k: int) -> None:
        try:
            (
                lambda: board.join("tiled", "s0", f"Fox {k}", "s0"),
                lambda: board.leave("tiled", "s0", "s0"),
                lambda: board.hide("tiled", "s0", "ta", "rude"),
                lambda: board.show("tiled", "s0", "ta", "polite"),
            )[k % 4]()
        except LabFault as fault:
            assert "taken" not in fault.what

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(change, range(24)))
    assert book.verify().problems == ()
    book.close()


def test_a_row_cannot_be_deleted_and_a_change_is_found(url: str) -> None:
    book = with_students(url)
    book.board.join("tiled", "s0", "Fox", "test")
    book.board.join("tiled", "s1", "Owl", "test")
    book.board.set_marks("tiled", Marks("0" * 64, {"backend": "sim"}))
    database = connect(url)
    with pytest.raises(MachineFault), database.writing() as connection:
        connection.execute(text("DELETE FROM board_entry WHERE student = 's0'"))
    assert set(book.board.members("tiled")) == {"s0", "s1"}
    with database.writing() as connection:
        connection.execute(text("UPDATE board_entry SET hidden = true WHERE student = 's1'"))
    (problem,) = book.verify().problems
    assert "board_entry" in problem
    database.close()
    book.close()


@pytest.mark.parametrize("who", ["nobody", "", "s0\0", "' OR 1=1 --"])
def test_only_students_of_the_roster_take_part(url: str, who: str) -> None:
    book = with_students(url)
    with pytest.raises(LabFault, match="no student"):
        book.board.join("tiled", who, "Fox", "test")
    book.enroll([Student(one) for one in WHO[1:]], "test")
    with pytest.raises(LabFault, match="no student"):
        book.board.join("tiled", "s0", "Fox", "test")
    assert book.board.members("tiled") == {}
    book.close()
