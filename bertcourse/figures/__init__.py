"""Figures of the lectures: some to look at, some to step through, some that move.

Everything can be reached through ``plots``, which itself draws with matplotlib. ``words`` draws texts and tags;
``schematic`` draws boxes, vectors, matrices and arrows with real numbers, all in the same ``colors``. ``interactive``
puts a picture and a script into one output and steps through a schematic: the ``lookup`` of a word's vector, an
``unrolled`` recurrent network, one query's ``attention``, a ``transformer``'s input, heads, block and stack, and
``decoders`` (three families, spans that are cut out, cross-attention). Figures that move answer one question each:
``window`` (word2vec's pairs), ``analogies`` (arrows between words), ``recurrence`` (how much gradient is left),
``plane`` (drag a word), ``scaling`` (why √d), ``mask`` (who may attend to whom), ``heads`` (all heads of a model),
``switches`` (a stack without some of its parts), ``layers`` (a word's vectors drift apart, layer by layer), ``bpe``
(merge by merge), ``tokens`` (how texts are cut), ``lattices`` (how a word is cut), ``generation`` (what the next word
is drawn from, and what a cache saves), ``writing`` (BERT fills masks in any chosen order), ``tags`` (what a wrong tag
costs, whose tag a subword has, and the best path through a table of tags), ``reading`` (the matrix of spans, a question
without one of its words, when to keep silent), ``search`` (BM25's ranking, and which token finds which), ``hover``
(points with texts), ``blanks`` (80/10/10, BERT's two heads, the snapshots of a training, how much to hide). Their
scripts are in the folder js, one file each; kit.js holds what they share.
"""
