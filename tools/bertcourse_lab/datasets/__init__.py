"""Public data, fetched once and checked.

``registry`` fetches public sets, ``makers`` and ``semcor`` make some of them from what others publish;
``books`` fetches Standard Ebooks, which ``ebooks`` turns into text. What is in them:
``classification``, ``entities``, ``questions`` and ``collections`` (to search) for chapters 7 to 10, ``words`` and
``judged_pairs`` for chapters 0 and 6, ``sense_corpora``, ``dictionary`` and ``wordnet`` for chapter 5, ``blimp``.
"""
