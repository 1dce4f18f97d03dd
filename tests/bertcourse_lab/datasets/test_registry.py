"""Public data: taken from this disk, else fetched; checked, kept whole, made from what others publish."""

import hashlib
import http.server
import io
import json
import lzma
import tarfile
import threading
import zipfile

import pytest

from bertcourse_lab import cli
from bertcourse_lab.datasets import blimp, books, registry, wordnet
from bertcourse_lab.datasets.blimp import blimp_pairs
from bertcourse_lab.datasets.makers import ar_members, make_blimp, make_wordnet
from bertcourse_lab.datasets.registry import PublicFile, content_sha256
from bertcourse_lab.datasets.semcor import framework_files, make_semcor
from bertcourse_lab.datasets.wordnet import LEXNAMES, unpack_wordnet, wordnet_folder


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def world(monkeypatch, tmp_path):
    """A registry of one set of two files on a local server: (cache, what the server has, what was asked of it)."""
    served, asked = {"/a.txt": b"alpha", "/b.txt": b"beta"}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200 if self.path in served else 404)
            self.send_header("Content-Length", str(len(served.get(self.path, b""))))
            self.end_headers()
            self.wfile.write(served.get(self.path, b""))

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        files = [
            PublicFile("letters", "greek/first.txt", sha256(b"alpha"), "", f"{url}/a.txt", "CC0", "Homer"),
            PublicFile("letters", "greek/second.txt", sha256(b"beta"), "", f"{url}/b.txt", "CC0", "Homer"),
        ]
        monkeypatch.setattr(registry, "read_registry", lambda: {"letters": files})
        monkeypatch.setattr(registry, "BOOK_SETS", {})
        monkeypatch.setattr(registry.pooch, "os_cache", lambda name: tmp_path / "cache")
        monkeypatch.delenv("BERTCOURSE_DATA", raising=False)
        yield tmp_path / "cache", served, asked
        server.shutdown()


def test_files_are_fetched_once(world):
    cache, _, asked = world
    paths = registry.fetch("letters")
    assert [path.read_bytes() for path in paths] == [b"alpha", b"beta"]
    assert sorted(path.relative_to(cache).as_posix() for path in cache.rglob("*.txt")) == [
        "greek/first.txt",
        "greek/second.txt",
    ]
    assert registry.fetch("letters") == paths and asked == ["/a.txt", "/b.txt"]


def test_a_hash_that_differs_is_refused_and_nothing_is_kept(world):
    cache, served, _ = world
    served["/b.txt"] = b"gamma"
    with pytest.raises(
        ValueError, match=f"second.txt must have the SHA-256 {sha256(b'beta')}; got {sha256(b'gamma')}.*fetch it again"
    ):
        registry.fetch("letters")
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_a_damaged_file_in_the_cache_is_fetched_again(world):
    cache, _, asked = world
    first, _ = registry.fetch("letters")
    first.write_bytes(b"alp")
    assert registry.fetch("letters")[0].read_bytes() == b"alpha" and len(asked) == 4


@pytest.mark.parametrize("layout", ["greek", "."])
def test_the_data_folder_comes_first_and_is_checked(world, monkeypatch, tmp_path, layout):
    _, _, asked = world
    (tmp_path / "data" / layout).mkdir(parents=True)
    for name, content in (("first.txt", b"alpha"), ("second.txt", b"beta")):
        (tmp_path / "data" / layout / name).write_bytes(content)
    monkeypatch.setenv("BERTCOURSE_DATA", str(tmp_path / "data"))
    assert registry.fetch("letters")[1] == tmp_path / "data" / layout / "second.txt" and asked == []
    (tmp_path / "data" / layout / "second.txt").write_bytes(b"bet")
    with pytest.raises(ValueError, match="second.txt must have the SHA-256"):
        registry.fetch("letters")
    assert asked == []


def test_no_server_and_no_page_say_what_to_do(world, monkeypatch):
    _, served, _ = world
    del served["/b.txt"]
    with pytest.raises(
        ConnectionError, match="cannot fetch .*b.txt .*set BERTCOURSE_DATA to a folder that has greek/first.txt and"
    ):
        registry.fetch("letters")
    gone = [file._replace(url="http://127.0.0.1:9/a.txt") for file in registry.read_registry()["letters"]]
    monkeypatch.setattr(registry, "read_registry", lambda: {"letters": gone})
    with pytest.raises(ConnectionError, match="cannot fetch http://127.0.0.1:9/a.txt"):
        registry.fetch("letters")


def test_an_unknown_set_is_named():
    with pytest.raises(ValueError, match="a data set must be one of semcor, ALL, .*; got 'semkor'"):
        registry.fetch("semkor")


def test_the_table_is_complete():
    sets = registry.read_registry()
    files = [file for each in sets.values() for file in each]
    assert set(sets) >= {
        "semcor",
        "ALL",
        "senseval2",
        "senseval3",
        "semeval2007",
        "semeval2013",
        "semeval2015",
        "wordnet",
        "simlex999",
    }
    assert all(
        len(file.sha256) == 64 and file.url.startswith("https://") and file.licence and file.citation for file in files
    )
    assert all(len(file.content_sha256) == 64 for name in registry.MAKERS for file in sets[name])
    assert len({file.file for file in files}) == len(files)


def test_a_name_that_two_sets_share_is_found_by_its_path_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTCOURSE_DATA", str(tmp_path))
    (rte, *_), (sst2, *_), (squad,) = (registry.find_set(name) for name in ("rte", "sst2", "squad"))
    (tmp_path / "sst2").mkdir()
    for path in ("train.tsv", "sst2/train.tsv", "dev-v1.1.json.zip"):
        (tmp_path / path).write_text("x", encoding="utf-8")
    found = [registry.find_copy(file) for file in (rte, sst2, squad)]
    assert found == [None, tmp_path / "sst2/train.tsv", tmp_path / "dev-v1.1.json.zip"]


def test_the_command_lists_gets_and_checks(world, capsys):
    cache, _, _ = world
    assert cli.main(["data", "list"]) == 0
    assert capsys.readouterr().out.split() == ["letters", "not", "here", "CC0.", "Homer"]
    assert cli.main(["data", "check"]) == 0 and "letters: absent" in capsys.readouterr().out
    assert cli.main(["data", "check", "letters"]) == 1
    assert cli.main(["data", "get", "all"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(cache / "greek" / "second.txt")
    assert cli.main(["data", "check", "letters"]) == 0 and "letters: ok" in capsys.readouterr().out
    assert cli.main(["data", "get", "numbers"]) == 1
    assert "bertcourse data: a data set must be one of letters; got 'numbers'" in capsys.readouterr().err


def test_the_command_knows_books(world, monkeypatch, tmp_path, capsys):
    text = "It was the best of times.\n"
    book = books.Book("two-cities", "c0ffee", sha256(text.encode()), frozenset(), "more-books")
    monkeypatch.setattr(books, "read_books", lambda name: [book])
    monkeypatch.setattr(registry, "read_books", lambda name: [book])
    monkeypatch.setattr(registry, "BOOK_SETS", {"more-books": books.BOOK_SETS["more-books"]})
    assert cli.main(["data", "check"]) == 0 and "more-books: absent" in capsys.readouterr().out
    path = tmp_path / books.BOOK_SETS["more-books"]
    path.parent.mkdir()
    path.write_bytes(lzma.compress(text.encode()))
    monkeypatch.setenv("BERTCOURSE_DATA", str(tmp_path))
    assert cli.main(["data", "list"]) == 0
    assert f"more-books  {path.parent}\n" in (out := capsys.readouterr().out) and "1 books of standardebooks" in out
    assert cli.main(["data", "get", "more-books"]) == 0 and capsys.readouterr().out == f"{path}\n"
    assert cli.main(["data", "check", "more-books"]) == 0 and "more-books: ok" in capsys.readouterr().out
    path.write_bytes(lzma.compress(b"It was the worst of times.\n"))
    assert cli.main(["data", "check"]) == 1
    assert "more-books: " in (out := capsys.readouterr().out) and "two-cities is not there" in out


def test_the_command_names_a_file_that_differs(world, monkeypatch, tmp_path, capsys):
    (tmp_path / "first.txt").write_bytes(b"omega")
    monkeypatch.setenv("BERTCOURSE_DATA", str(tmp_path))
    assert cli.main(["data", "check"]) == 1
    assert f"letters: {tmp_path / 'first.txt'} must have the SHA-256" in capsys.readouterr().out


def test_the_command_names_a_damaged_file_in_the_cache(world, capsys):
    first, _ = registry.fetch("letters")
    first.write_bytes(b"alp")
    assert cli.main(["data", "check"]) == 1
    assert f"letters: {first} must have the SHA-256" in capsys.readouterr().out


def test_packers_do_not_matter(tmp_path):
    one, two = tmp_path / "one.txt.xz", tmp_path / "two.txt.xz"
    one.write_bytes(lzma.compress(b"text", preset=1))
    two.write_bytes(lzma.compress(b"text", check=lzma.CHECK_CRC32))
    assert one.read_bytes() != two.read_bytes() and content_sha256(one) == content_sha256(two) == sha256(b"text")
    two.write_bytes(two.read_bytes()[:-9])
    assert content_sha256(two) == "damaged"


def tag_file(name: str) -> str:
    return (
        f"<contextfile><context filename={name}>\n<s snum=1>\n<wf cmd=ignore pos=DT>The</wf>\n"
        "<wf cmd=done rdf=group pos=NP lemma=group wnsn=1 lexsn=1:03:00:: pn=group>Fulton_County</wf>\n"
        "<wf cmd=done pos=RB lemma=further wnsn=2;3 lexsn=4:02:02::;4:02:00::>further</wf>\n"
        "<wf cmd=done pos=VB lemma=be wnsn=0 lexsn=2:42:09::>'s</wf>\n<punc>&amp;</punc>\n</s>\n<s "
        f"snum=2>\n</s>\n</context>\n"
    )


def test_semcors_tag_files_become_the_frameworks():
    xml, keys = framework_files({f"{part}/tagfiles/br-a01": tag_file("br-a01") for part in ("brownv", "brown1")})
    assert xml.splitlines()[2:10] == [
        '<text id="d000" source="brown1/br-a01">',
        '<sentence id="d000.s000">',
        '<wf lemma="the" pos="DT">The</wf>',
        '<instance id="d000.s000.t000" lemma="group" pos="NOUN">Fulton County</instance>',
        '<instance id="d000.s000.t001" lemma="further" pos="ADV">further</instance>',
        """<wf lemma="be" pos="VB">'s</wf>""",
        '<wf lemma="&amp;" pos=".">&amp;</wf>',
        "</sentence>",
    ]
    assert keys.splitlines()[1:3] == [
        "d000.s000.t001 further%4:02:02:: further%4:02:00::",
        "d001.s000.t000 group%1:03:00::",
    ]


def pack(files: dict[str, bytes], mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_semcor_is_made_from_its_repository(tmp_path):
    content = {f"semcor-d2ff/data/semcor3.0/brown1/tagfiles/br-a0{i}": tag_file("x").encode("latin-1") for i in (2, 1)}
    (tmp_path / "c0ffee").write_bytes(pack({**content, "semcor-d2ff/README": b""}, "w:gz"))
    make_semcor(tmp_path / "c0ffee", tmp_path)
    xml, keys = framework_files({f"brown1/tagfiles/br-a0{i}": tag_file("x") for i in (1, 2)})
    assert lzma.decompress((tmp_path / "semcor.data.xml.xz").read_bytes()).decode() == xml
    assert lzma.decompress((tmp_path / "semcor.gold.key.txt.xz").read_bytes()).decode() == keys
    (tmp_path / "c0ffee").write_bytes(b"cut")
    with pytest.raises(ValueError, match="c0ffee .*damaged"):
        make_semcor(tmp_path / "c0ffee", tmp_path)


def test_wordnet_is_made_from_a_debian_package(tmp_path):
    files = {"./usr/share/wordnet/index.noun": b"bank", "./usr/share/doc/README": b"no"}

    def member(name: str, content: bytes) -> bytes:
        return (
            f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
            + content
            + b"\n" * (len(content) % 2)
        )

    package = b"!<arch>\n" + member("debian-binary", b"2.0") + member("data.tar.xz", pack(files, "w:xz"))
    (tmp_path / "a.deb").write_bytes(package)
    make_wordnet(tmp_path / "a.deb", tmp_path)
    with tarfile.open(tmp_path / "wordnet-dict.tar.xz") as tar:
        assert tar.getnames() == ["index.noun"]
    assert content_sha256(tmp_path / "wordnet-dict.tar.xz") == sha256(b"index.noun 4\nbank")
    for damaged in (b"no package", package[:60], b"!<arch>\n"):
        (tmp_path / "a.deb").write_bytes(damaged)
        with pytest.raises(ValueError, match="a.deb .*damaged"):
            make_wordnet(tmp_path / "a.deb", tmp_path)
    assert ar_members(package)["debian-binary"] == b"2.0"


def test_blimp_is_made_from_its_zip_and_read(tmp_path, monkeypatch):
    rows = [{"sentence_good": f"{word} is.", "sentence_bad": f"{word} are.", "pairID": "0"} for word in "ab"]
    with zipfile.ZipFile(tmp_path / "BLiMP.zip", "w") as file:
        file.writestr("data/wh_island.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        file.writestr("data/passive_1.jsonl", json.dumps(rows[1]) + "\n")
        file.writestr("__MACOSX/data/._passive_1.jsonl", b"resource fork")
    make_blimp(tmp_path / "BLiMP.zip", tmp_path)
    monkeypatch.setattr(blimp, "fetch", lambda name: [tmp_path / f"{name}.tar.xz"])
    assert blimp_pairs() == {
        "passive_1": [("b is.", "b are.")],
        "wh_island": [("a is.", "a are."), ("b is.", "b are.")],
    }
    (tmp_path / "BLiMP.zip").write_bytes(b"cut")
    with pytest.raises(ValueError, match="BLiMP.zip .*damaged"):
        make_blimp(tmp_path / "BLiMP.zip", tmp_path)


def test_wordnet_is_unpacked_once_and_with_what_nltk_wants(monkeypatch, tmp_path):
    archive = tmp_path / "wordnet-dict.tar.xz"
    archive.write_bytes(pack({"./index.noun": b"bank"}, "w:xz"))
    fetched = []
    monkeypatch.setattr(wordnet, "fetch", lambda name: fetched.append(name) or [archive])
    monkeypatch.setattr(wordnet, "cache_folder", lambda: tmp_path / "cache")
    for _ in range(2):
        assert sorted(path.name for path in wordnet_folder().iterdir()) == ["index.noun", "lexnames"]
    assert fetched == ["wordnet"]


def test_a_damaged_wordnet_leaves_nothing(tmp_path):
    archive = tmp_path / "wordnet-dict.tar.xz"
    archive.write_bytes(pack({"./index.noun": b"bank" * 99}, "w:xz")[:100])
    with pytest.raises((tarfile.TarError, EOFError)):
        unpack_wordnet(archive, tmp_path / "files")
    assert list(tmp_path.iterdir()) == [archive]


def test_lexicographer_files_are_wordnets():
    lines = LEXNAMES.splitlines()
    assert len(lines) == 45
    assert {"00\tadj.all\t3", "02\tadv.all\t4", "14\tnoun.group\t1", "38\tverb.motion\t2"} <= set(lines)
    assert lines[44] == "44\tadj.ppl\t3"


def test_sets_that_are_made_are_kept_under_their_own_names(world, monkeypatch):
    cache, served, asked = world
    file = registry.read_registry()["letters"][0]._replace(
        file="greek/x.txt.xz", sha256="0" * 64, content_sha256=sha256(b"ALPHA")
    )
    monkeypatch.setattr(registry, "read_registry", lambda: {"letters": [file]})
    monkeypatch.setitem(
        registry.MAKERS,
        "letters",
        lambda source, folder: (folder / "x.txt.xz").write_bytes(lzma.compress(source.read_bytes().upper())),
    )
    assert lzma.decompress(registry.fetch("letters")[0].read_bytes()) == b"ALPHA"
    assert registry.fetch("letters") == [cache / "greek" / "x.txt.xz"] and asked == ["/a.txt"]
