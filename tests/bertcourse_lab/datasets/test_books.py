"""Books: from XHTML to text, fetched, checked, kept, gone on with after an interruption."""

import gzip
import hashlib
import http.server
import io
import lzma
import random
import tarfile
import threading
import zlib

import pytest

from bertcourse.datasets import data
from bertcourse_lab.datasets import books
from bertcourse_lab.datasets.ebooks import book_text

PACKAGE = b"""<package xmlns="http://www.idpf.org/2007/opf">
<manifest><item id="t" href="text/titlepage.xhtml"/><item id="b" href="text/chapter-2.xhtml"/>
<item id="a" href="text/chapter-1.xhtml"/></manifest>
<spine><itemref idref="t"/><itemref idref="a"/><itemref idref="b"/></spine></package>"""
PAGE = """<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>{}</body></html>"""
LONG = "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness"


def chapter(content: str) -> bytes:
    return PAGE.format(f'<section epub:type="chapter"><h2>I</h2>{content}<p>{LONG}</p></section>').encode()


def book(first: str = "<p>“Yes,” he said.</p>") -> dict[str, bytes]:
    return {
        "content.opf": PACKAGE,
        "text/titlepage.xhtml": chapter("<p>Title</p>"),
        "text/chapter-1.xhtml": chapter(first),
        "text/chapter-2.xhtml": chapter(""),
    }


def archive(files: dict[str, bytes]) -> bytes:
    """A repository's archive, as GitHub serves it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path, content in [("images/a.svg", b"<svg/>"), *((f"src/epub/{path}", files[path]) for path in files)]:
            member = tarfile.TarInfo(f"name-commit/{path}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content, paragraph",
    [
        ("<p>“It’s—well…”</p>", '"It\'s--well..."'),
        ("<p>A note.<a epub:type='noteref'>1</a> <i>So</i><br/>there</p>", "A note. So there"),
        ("<p xml:lang='fr'>Oui.</p><p>Yes.</p>", "Yes."),
        ("<table><tr><td epub:type='z3998:persona'>Ann.</td><td>Hello!</td></tr></table>", "Ann: Hello!"),
        ("<table><tr><td>1,024</td></tr></table><p>3½ miles</p>", "3 1/2 miles"),
        ("<dl><dt>Cat</dt><dd>A noun.</dd></dl>", "Cat: A noun."),
        (
            "<p>In the margin:<span class='timeline'>AD 98</span> nothing</p><figure><img/></figure>",
            "In the margin: nothing",
        ),
        ("<section epub:type='z3998:letter'><header><p>Dear Ann,</p></header></section>", "Dear Ann,"),
        ("<header><p>dropped</p></header><blockquote><p>Kept</p></blockquote>", "Kept"),
    ],
)
def test_running_text_is_kept_and_made_plain(content, paragraph):
    assert book_text(book(content)) == f"{paragraph}\n{LONG}\n\n{LONG}\n"


def test_several_divisions_are_several_documents():
    division = f"<section epub:type='z3998:scene'><p>{LONG}</p></section>"
    text = book_text({**book(), "text/chapter-1.xhtml": PAGE.format(f"<p>{LONG}, loose</p>{division * 2}").encode()})
    assert text.split("\n\n") == [f"{LONG}, loose", LONG, LONG, f"{LONG}\n"]


def test_parts_of_a_book():
    assert book_text(book(), {"chapter-2"}) == f"{LONG}\n"


@pytest.fixture
def library(monkeypatch, tmp_path):
    """Three books on a local server: (its address, the folder to keep texts in, what was asked of it, what it has)."""
    contents = {name: book(f"<p>{name}</p>") for name in ("one", "two", "three")}
    served = {f"/{name}/tar.gz/c0ffee": archive(files) for name, files in contents.items()}
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200 if self.path in served else 404)
            self.end_headers()
            self.wfile.write(served.get(self.path, b""))

        def log_message(self, *_):
            pass

    registry = [
        books.Book(name, "c0ffee", hashlib.sha256(book_text(files).encode()).hexdigest(), frozenset())
        for name, files in contents.items()
    ]
    monkeypatch.setattr(books, "read_books", lambda name: registry)
    monkeypatch.setattr(books.pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.delenv("BERTCOURSE_DATA", raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", tmp_path, asked, served
        server.shutdown()


def test_books_are_fetched_once(library):
    url, folder, asked, _ = library
    text = books.standard_ebooks(url, folder)
    assert [document.split("\n")[0] for document in text.split("\n\n")][::2] == ["one", "two", "three"]
    assert len(asked) == 3
    assert books.standard_ebooks(url, folder) == text
    assert len(asked) == 3
    assert sorted(path.name for path in folder.iterdir()) == ["one.txt", "three.txt", "two.txt"]


def test_an_interrupted_fetch_goes_on(library):
    url, folder, asked, served = library
    kept_back = served.pop("/two/tar.gz/c0ffee")
    with pytest.raises(ConnectionError, match="two/tar.gz/c0ffee.*books that have come are kept"):
        books.standard_ebooks(url, folder)
    served["/two/tar.gz/c0ffee"] = kept_back
    books.standard_ebooks(url, folder)
    assert [path.split("/")[1] for path in asked] == ["one", "two", "two", "three"]


def test_a_damaged_copy_is_fetched_again(library):
    url, folder, asked, _ = library
    text = books.standard_ebooks(url, folder)
    (folder / "one.txt").write_bytes(b"\xff")
    assert books.standard_ebooks(url, folder) == text
    assert len(asked) == 4


def test_another_text_is_refused_and_not_kept(library):
    url, folder, _, served = library
    served["/one/tar.gz/c0ffee"] = archive(book("<p>Not the one we know.</p>"))
    with pytest.raises(ValueError, match="must have the SHA-256"):
        books.standard_ebooks(url, folder)
    assert list(folder.iterdir()) == []


NO_PARTS = b'<package xmlns="http://www.idpf.org/2007/opf">%s</package>'


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"not an archive",
        "cut",
        archive({"content.opf": b"<"}),
        archive({}),
        archive({"content.opf": NO_PARTS % b""}),
        archive({"content.opf": NO_PARTS % b"<manifest/>"}),
        archive({**book(), "text/chapter-1.xhtml": b"<html/>"}),
    ],
)
def test_a_damaged_archive_is_refused(library, damage):
    url, folder, _, served = library
    path = "/one/tar.gz/c0ffee"
    served[path] = served[path][:-200] if damage == "cut" else damage
    with pytest.raises(ValueError, match="it is damaged"):
        books.standard_ebooks(url, folder)
    assert list(folder.iterdir()) == []


def one_byte_wrong(content: bytes, count: int):
    """Copies of something, each with one bit of one byte turned over."""
    generator = random.Random(0)
    for _ in range(count):
        place, bit = generator.randrange(len(content)), generator.randrange(8)
        yield content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


@pytest.mark.parametrize("packed", [True, False])
def test_one_wrong_byte_is_refused_or_changes_nothing(packed, monkeypatch, tmp_path):
    known = book_text(book())
    entry = books.Book("one", "c0ffee", hashlib.sha256(known.encode()).hexdigest(), frozenset())
    content = archive(book()) if packed else gzip.decompress(archive(book()))[:6000]  # beyond that, empty blocks
    refused = 0
    for damaged in one_byte_wrong(content, 400):
        served = damaged if packed else gzip.compress(damaged + bytes(10240 - len(damaged)), 1)
        monkeypatch.setattr(
            books.pooch, "HTTPDownloader", lambda **_: lambda url, path, _: open(path, "wb").write(served)
        )
        try:
            assert books.fetch_book(entry, "https://example.org", tmp_path) == known
            (tmp_path / "one.txt").unlink()
        except ValueError as error:
            assert "it is damaged" in str(error) or "must have the SHA-256" in str(error)
            refused += 1
        assert list(tmp_path.iterdir()) == []
    assert refused > 200


def test_an_error_in_the_packing_is_damage(library, monkeypatch):
    def read_archive(_):
        raise zlib.error("Error -3 while decompressing data")

    monkeypatch.setattr(books, "read_archive", read_archive)
    with pytest.raises(ValueError, match="it is damaged .Error -3"):
        books.standard_ebooks(*library[:2])


def test_one_wrong_byte_in_the_data_folder_is_refused(monkeypatch, tmp_path):
    path = copy_in_the_data_folder("books", monkeypatch, tmp_path)
    for damaged in one_byte_wrong(lzma.compress(b"A text.\n" * 9), 100):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="standardebooks.txt.xz .*damaged"):
            books.standard_ebooks()


def test_no_server_is_said(library, tmp_path):
    with pytest.raises(ConnectionError, match="set BERTCOURSE_DATA"):
        books.standard_ebooks("http://127.0.0.1:9", tmp_path)


@pytest.mark.parametrize("name", books.BOOK_SETS)
def test_copy_in_the_data_folder_comes_first_and_is_read_book_by_book(library, monkeypatch, tmp_path, name):
    url, folder, asked, _ = library
    fetched = list(books.book_texts(name, url, folder))
    path = copy_in_the_data_folder(name, monkeypatch, tmp_path)
    path.write_bytes(lzma.compress("\n".join(text for _, text in fetched).encode()))
    assert list(books.book_texts(name, url, folder)) == fetched and len(asked) == 3
    assert books.fetch_books(name) == [path] and books.has_books(name)


@pytest.mark.parametrize("change", [lambda text: f"{text}\nMore.\n", lambda text: text[:-3], lambda text: text[3:]])
def test_another_copy_in_the_data_folder_is_refused(library, monkeypatch, tmp_path, change):
    text = books.standard_ebooks(*library[:2])
    path = copy_in_the_data_folder("books", monkeypatch, tmp_path)
    path.write_bytes(lzma.compress(change(text).encode()))
    for read in (books.standard_ebooks, lambda: books.has_books("books")):
        with pytest.raises(ValueError, match=r"standardebooks.txt.xz must"):
            read()


def copy_in_the_data_folder(name, monkeypatch, tmp_path):
    """Where a set of books is looked for first."""
    path = tmp_path / books.BOOK_SETS[name]
    path.parent.mkdir()
    monkeypatch.setenv("BERTCOURSE_DATA", str(tmp_path))
    return path


def test_a_set_of_books_is_here_once_all_of_it_is(library):
    url, _, _, served = library
    kept_back = served.pop("/three/tar.gz/c0ffee")
    with pytest.raises(ConnectionError):
        books.fetch_books("more-books", url)
    assert not books.has_books("more-books")
    served["/three/tar.gz/c0ffee"] = kept_back
    paths = books.fetch_books("more-books", url)
    assert [path.name for path in paths] == ["one.txt", "two.txt", "three.txt"] and books.has_books("more-books")
    paths[1].write_text("two\n", encoding="utf-8")
    with pytest.raises(ValueError, match="two.txt must have the SHA-256 .* bertcourse data get more-books"):
        books.has_books("more-books")


def test_registry_has_three_sets_of_books_at_known_commits():
    sets = {name: books.read_books(name) for name in books.BOOK_SETS}
    assert {name: len(known) for name, known in sets.items()} == {"books": 93, "more-books": 266, "measuring-books": 8}
    known = [book for each in sets.values() for book in each]
    assert len({book.name for book in known}) == len({book.sha256 for book in known}) == 367
    assert all(len(book.commit) == 40 and len(book.sha256) == 64 for book in known)
    assert [book.name for book in known if book.parts] == ["plato_dialogues_benjamin-jowett"]
    assert all(book.set == name for name, each in sets.items() for book in each)
    with pytest.raises(ValueError, match="one of books, more-books, measuring-books; got 'novels'"):
        books.read_books("novels")


def test_book_words_are_counts_of_two_disjoint_texts():
    books, moby_dick = data.book_words()
    assert (books.total(), moby_dick.total()) == (17_912_427, 259_398)
    assert len(books | moby_dick) == 107_619
    assert "Queequeg" not in books and moby_dick["Queequeg"] == 251
    assert list(books.values()) == sorted(books.values(), reverse=True)


def test_parallel_sentences_say_the_same_number_of_things():
    sentences = data.parallel_sentences()
    assert list(sentences) == ["en", "de", "es", "fi", "tr", "el"]
    for lines in sentences.values():
        assert len(lines) == len(set(lines)) == 24
        assert all(line == line.strip() and line.endswith(".") for line in lines)


def test_course_data_that_are_not_there_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(data, "COURSE_DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"words.tsv.xz; there is no such file.*install the course again"):
        data.book_words()
