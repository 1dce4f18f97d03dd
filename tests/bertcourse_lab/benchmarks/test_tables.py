"""The tables that are stored in data/results are those that the benchmarks write."""

import pytest

from bertcourse.datasets import course_file
from bertcourse.files import read_json
from bertcourse_lab.benchmarks.fine_tuning import run_table
from bertcourse_lab.benchmarks.retrieval import search_table
from bertcourse_lab.benchmarks.word_senses import system_table


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("wsd_course", system_table),
        ("wsd_minilm", system_table),
        ("retrieval_reading_course", search_table),
        ("retrieval_cranfield_minilm", search_table),
        ("finetune_sst2_minilm", run_table),
    ],
)
def test_a_stored_table_is_what_the_benchmark_writes(name, table):
    stored = course_file(f"results/{name}.md").read_text(encoding="utf-8")
    assert table(read_json(course_file(f"results/{name}.json"))) == stored
