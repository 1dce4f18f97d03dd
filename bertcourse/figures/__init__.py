"""Figures of the lectures: what is only read, what is stepped through, and what moves.

Everything is reached through ``plots``, which itself draws with matplotlib. ``words`` draws texts and tags,
``schematic`` boxes, vectors, matrices and arrows with real numbers, all in the same ``colors``. ``interactive`` puts a
picture and a script into one output and steps through a schematic: of the ``lookup`` of a word's vector, of an
``unrolled`` recurrent network, of one query's ``attention``, of a ``transformer``'s input, heads, block and stack, and
of ``decoders`` (three families, spans that are cut out, cross-attention). Figures that move, one question each:
``window`` (word2vec's pairs), ``analogies`` (arrows between words), ``recurrence`` (the gradient that is left),
``plane`` (drag a word), ``scaling`` (why √d), ``mask`` (who may attend to whom), ``heads`` (all heads of a model),
``switches`` (a stack without some of its parts), ``layers`` (a word's vectors part, layer by layer), ``bpe`` (merge by
merge), ``tokens`` (texts as they are cut), ``lattices`` (how a word is cut), ``generation`` (what the next word is
drawn from, and what a cache saves), ``writing`` (BERT fills masks, in an order that one chooses), ``hover`` (points
with texts). Their scripts lie in the folder js, a file each; kit.js is what they share.
"""
