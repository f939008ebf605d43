import { describe, expect, test } from 'vitest'
import { svc, svcJson } from './svc.ts'

describe('svc segments', () => {
  test('shows encoding, segments, credits, the UCS-2 characters and a cheaper text', async () => {
    const { code, stdout } = await svc(['segments', 'It’s ready…'])
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      'encoding\tUCS-2',
      'characters\t11',
      'units\t11',
      'segments\t1',
      'credits\t1',
      'forced by\t’ at 2, … at 10',
      'suggestion\t"It\'s ready..." (1 segment)',
      '',
    ])
  })

  test.each([
    [160, 1],
    [161, 2],
    [306, 2],
    [307, 3],
    [320, 3],
    [459, 3],
  ])('counts %i GSM-7 characters as %i segments', async (length, segments) => {
    const found = await svcJson<object>(['segments', 'a'.repeat(length)])
    expect(found).toMatchObject({ encoding: 'GSM-7', segments, credits: segments })
  })

  test('prints one JSON document', async () => {
    expect(await svcJson(['segments', 'a’b'])).toEqual({
      encoding: 'UCS-2',
      characters: 3,
      units: 3,
      segments: 1,
      parts: [3],
      credits: 1,
      non_gsm_characters: [{ char: '’', index: 1 }],
      gsm7_suggestion: { text: "a'b", segments: 1 },
    })
  })

  test('reads the text from stdin, without its last line break', async () => {
    expect(await svcJson(['segments'], { stdin: 'hi\n' })).toMatchObject({ units: 2 })
    expect(await svcJson(['segments'], { stdin: 'hi\n\n' })).toMatchObject({ units: 3 })
  })

  test('prints aligned columns on a terminal', async () => {
    const { stdout } = await svc(['segments', 'hi'], { terminal: true })
    expect(stdout).toContain('encoding    GSM-7\n')
    expect(stdout).toContain('units       2 of 160\n')
  })

  test('shows the first of many characters, and warns of a text that is too long', async () => {
    const { stdout, stderr } = await svc(['segments', '漢'.repeat(1601)])
    expect(stdout).toMatch(/^forced by\t漢 at 0, .*漢 at 9 and 1591 more$/m)
    expect(stderr).toBe('The text is longer than 1600 characters: svc send would refuse it.\n')
  })

  test('escapes control characters', async () => {
    const { stdout } = await svc(['segments', '\u001b]0;title\u0007'], { terminal: true })
    expect(stdout).not.toContain('\u0007')
    expect(stdout).toContain('\\u0007 at 9')
  })
})
