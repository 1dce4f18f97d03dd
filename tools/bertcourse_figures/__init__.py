"""Figures of the lectures: some to look at, some to step through, some that move.

Everything can be reached through ``plots``, which itself draws with matplotlib. All figures have the same ``colors``.
``words`` draws texts and tags, ``hover`` points with texts; ``schematic`` draws boxes, vectors, matrices and arrows
with real numbers; ``interactive`` puts a picture and a script into one output, and steps through a schematic. The
scripts are in the folder js, one file for each figure that moves; kit.js has what they share.

The other modules, by lecture:

0.  ``lookup`` (a word's row), ``window`` (word2vec's pairs), ``analogies`` (arrows between words), ``unrolled`` (a
    recurrent network), ``recurrence`` (how much gradient is left).
1.  ``attention`` (one query), ``plane`` (drag a word), ``scaling`` (why √d), ``mask`` (who may attend to whom).
2.  ``transformer`` (input, heads, block and stack), ``heads`` (all heads of a model).
3.  ``bpe`` (merge by merge), ``tokens`` (how texts are cut), ``lattices`` (how a word is cut).
4.  ``blanks`` (80/10/10, BERT's two heads, the snapshots of a training, how much to hide).
5.  ``layers`` (a word's vectors drift apart), ``senses`` (one word in two sentences, the nearest sense, and where the
    borders between senses lie).
6.  ``space`` (where the origin lies, what a cosine adds up from, neighbours before and after a repair).
7.  ``adapting`` (a body and its head, a pair in one row, what labels are worth, how many layers learn).
8.  ``tags`` (what a wrong tag costs, whose tag a subword has, the best path through a table of tags).
9.  ``reading`` (the matrix of spans, a question without one of its words, when to keep silent).
10. ``search`` (BM25's ranking, and which token finds which).
11. ``objectives`` (what four models ask about a sentence), ``rotary`` (positions that turn queries and keys), ``sight``
    (how far local attention sees).
12. ``decoders`` (three families, spans that are cut out, cross-attention), ``generation`` (what the next word is drawn
    from, and what a cache saves), ``writing`` (BERT fills masks in any chosen order).
"""
