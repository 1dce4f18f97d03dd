"""Where Hugging Face's ``tokenizers`` do not go by today's Unicode: BERT's normalizer, and at the end GPT-2's words.

BERT's rules speak of categories: nonspacing marks (Mn) are dropped, punctuation (P) stands alone. Python answers from
the Unicode version that it was built with; ``tokenizers`` from tables of Unicode 8 (categories), 12 (decomposition and
canonical order) and 17 (lower case). Ids are only equal if both mean the same, so the differences are listed here. They
were found by asking ``tokenizers`` 0.23.3 about each of the 1,112,064 code points, and Unicode 14 and 18 beside it,
so that the list holds for every Python from 3.11 on. Code points are hexadecimal, a range includes both its ends.
"""


def code_points(ranges: str) -> frozenset[str]:
    """The characters of a list of hexadecimal code points and ranges.

    >>> sorted(code_points("61-63 65"))
    ['a', 'b', 'c', 'e']
    """
    ends = ([int(end, 16) for end in item.split("-")] for item in ranges.split())
    return frozenset(chr(code) for first, *last in ends for code in range(first, (last or [first])[0] + 1))


# Marks, punctuation, format characters and letters with a decomposition that came after the reference's tables were
# made. It takes them for unassigned, and keeps them as they are.
UNKNOWN = code_points("""
5C8-5C9 61D 7FD 890-891 897-89F 8CA-8E2 9FD-9FE A76 AFA-AFF B53-B55 C04 C3C C77 C84 D00 D3B-D3C D81 EBA ECE 180F
1885-1886
1ABF-1AF0 1B4E-1B4F 1B7D-1B7F 1DF6-1DFB 2E43-2E4F 2E52-2E5D 2E60-2E63 A82C A8C5 A8FF A9BD 105C9 105E4 10D24-10D27
10D69-10D6E 10EAB-10EAD 10ECB-10ED0 10EF0-10EFF 10F46-10F50 10F55-10F59 10F82-10F89 11070 11073-11074 110C2 110CD 111CF
1123E 11241 1133B 11383 11385 1138E 11391 113BB-113C0 113C5 113C7-113C8 113CE 113D0 113D2 113D4-113D5 113D7-113D8
113E1-113E2 11438-1143F 11442-11444 11446 1144B-1144F 1145A-1145B 1145D-1145E 11660-1166C 116B9 1182F-11837 11839-1183B
11938 1193B-1193C 1193E 11943-11946 119D4-119D7 119DA-119DB 119E0 119E2 11A01-11A0A 11A33-11A38 11A3B-11A47 11A51-11A56
11A59-11A5B 11A8A-11A96 11A98-11A9C 11A9E-11AA2 11B00-11B09 11B60 11B62-11B64 11B66 11BE1 11C30-11C36 11C38-11C3D 11C3F
11C41-11C45 11C70-11C71 11C92-11CA7 11CAA-11CB0 11CB2-11CB3 11CB5-11CB6 11D31-11D36 11D3A 11D3C-11D3D 11D3F-11D45 11D47
11D90-11D91 11D95 11D97 11DF0 11EF3-11EF4 11EF7-11EF8 11F00-11F01 11F36-11F3A 11F40 11F42-11F4F 11F5A 11FFF 12FF1-12FF2
13430-13440 13447-13455 1611E-16129 1612D-1612F 16D68-16D6A 16D6D-16D6F 16E97-16E9A 16F4F 16FE2 16FE4 1CF00-1CF2D
1CF30-1CF46 1D127-1D128 1D25B-1D25C 1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E08F 1E130-1E136 1E2AE
1E2EC-1E2EF 1E4EC-1E4EF 1E5EE-1E5EF 1E5FF 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5 1E944-1E94A 1E95E-1E95F
""")

# Categories that have changed since.
FORMER_CATEGORIES = {"\u166d": "Po", "\u1734": "Mn", "\U0001171e": "Mn", "\U000111c9": "Po"}

# Marks that are kept (spacing ones, and those of UNKNOWN that its table of decompositions is new enough to know),
# and yet take part in canonical order; with the musical notes that decompose into such.
FLOATING_MARKS = code_points("""
8D4-8E1 1B44 1BAA 1BF2-1BF3 1DFB 302E-302F A953 A9C0 111C0 11235 1134D 11442 11446 116B6 11C3F 1D165-1D166 1D16D-1D172
1E000-1E006 1E008-1E018 1E01B-1E021 1E023-1E024 1E026-1E02A 1E944-1E94A 1D15E-1D164 1D1BB-1D1C0
""")

# Lower case that Unicode 14 (Python 3.11) does not have yet.
LATER_LOWER_CASE = {
    "\ua7cb": "\u0264",
    "\ua7dc": "\u019b",
    **{chr(code): chr(code + 1) for code in (0x1C89, 0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA)},
    **{chr(code): chr(code + 0x20) for code in range(0x10D50, 0x10D66)},
    **{chr(code): chr(code + 0x1B) for code in range(0x16EA0, 0x16EB9)},
}

# The blocks that BERT calls Chinese characters. Extension E (2B820-2CEAF) begins 256 characters late, at 2B920: a
# slip of ``tokenizers`` that the ids of every model trained with it depend on.
CJK_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)

# GPT-2's words are cut by category: a run of letters (L), of numbers (N), or of anything else. ``tokenizers`` answers
# from Unicode 16, the package ``regex`` from the version that was current at its release: these letters and numbers,
# which came with Unicode 17 and 18, are anything else to the one and letters and numbers to the other.
AFTER_UNICODE_16 = """
558 58B-58C 88F C5C CDC 208F 209D-209F A7CE-A7CF A7D2 A7D4 A7DD A7E2 A7F1 AB6C-AB6D 107BB-107BF 10940-10959 10EC5-10EC7
10ED9-10EEE 11B0A 11DB0-11DDB 11DE0-11DE9 11DF1 1246F 12475-1247F 12550-12686 16EA0-16EB8 16EBB-16ED3 16FF2-16FF6
187F8-187FF 18CD6-18CDA 18D09-18D20 18D80-18DF2 18E00-19191 191A0-191D2 1B123-1B128 1B168 1D6A6 1DF1F-1DF24
1DF2B-1DF81 1DF90-1DF96 1DFCD-1DFFF 1E6C0-1E6DE 1E6E0-1E6E2 1E6E4-1E6E5 1E6E7-1E6ED 1E6F0-1E6F4 1E6FE-1E6FF
2B73A-2B73F 2B81E 2CEA2-2CEAD 323B0-33479 3D000-3FC3F
"""


def character_class(ranges: str) -> str:
    """What stands between the brackets of a regular expression's class, for hexadecimal code points and ranges.

    >>> character_class("61-63 65")
    'a-ce'
    """
    return "".join("-".join(chr(int(end, 16)) for end in item.split("-")) for item in ranges.split())
