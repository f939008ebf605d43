import { describe, expect, it } from 'vitest'
import { findWords } from '../scripts/check-words/words.ts'

/** The rejected words of a text, each with its line. */
const found = (text: string) => findWords(text).map(({ line, words }) => [line, words])

describe('the word check', () => {
  it('accepts plain sentences', () => {
    expect(found('// The caller retries.\n// No worker holds the row.\n')).toEqual([])
  })

  it('finds whole words in any case, with their lines', () => {
    expect(found('Nobody waits.\n\n* Tell whoever asks.')).toEqual([
      [1, 'Nobody'],
      [3, 'whoever'],
    ])
  })

  it.each(['marshall', 'shallow', 'wholesome', 'someone_id'])('ignores %s', (word) => {
    expect(found(word)).toEqual([])
  })

  it('ignores addresses', () => {
    expect(found("'nobody@example.com'")).toEqual([])
  })

  it.each([
    ['a comment of lines', '// 5 s unless\n// told'],
    ['a docstring', ' * 5 s unless\n   * told'],
    ['a page', '5 s unless\ntold'],
    ['a shell comment', '# 5 s unless\n# told'],
  ])('finds a phrase across two lines of %s', (_, text) => {
    expect(found(text)).toEqual([[1, 'unless told']])
  })

  it.each(['underWay', 'createUnderWay', 'hearOut'])('finds %s in code', (name) => {
    expect(findWords(`const ${name} = 1`)).toHaveLength(1)
  })

  it('names what to write instead for each word', () => {
    const text = 'whom unless told heard out is told told of under way at the most shall UnderWay'
    const all = findWords(text)
    expect(all).toHaveLength(9)
    expect(all.filter(({ write }) => write === '')).toEqual([])
  })
})
