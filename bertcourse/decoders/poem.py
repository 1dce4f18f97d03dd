"""Chapter 12: a text so short that a causal language model learns it by heart: Li Bai's poem, in words.

静夜思, from the eighth century: 床前明月光, 疑是地上霜. 举头望明月, 低头思故乡. The English is the course's own.
Its words recur ("my bed", "my head" and "my head" again), so that the last word alone does not say what comes next.
"""

POEM = (
    "Before my bed the moonlight is so clear ,",
    "I think that frost is lying on the floor .",
    "I lift my head and see the moon is near ,",
    "I bow my head and think of home once more .",
)
