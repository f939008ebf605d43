import { describe, expect, it } from 'vitest'
import { LargeFile } from '../contract/fields/large-file.ts'
import { readJsonWithFiles } from './read-with-files.ts'

const LARGE = 'A'.repeat(100_000)

const read = (text: string) => readJsonWithFiles(Buffer.from(text))
const request = (attachments: unknown, more: object = {}) => ({
  to: 'a@b.example',
  content: { subject: 'content', text: 'x', attachments, ...more },
})

describe('readJsonWithFiles', () => {
  it('reads JSON as it stands, with LargeFiles for long contents of attachments', async () => {
    const given = request([
      { filename: 'a', content: LARGE },
      { content: 'AAAA', filename: '"content":"' },
      { content: `${LARGE}BBBB`, note: '\\"' },
    ])
    const value = (await read(JSON.stringify(given, null, 2))) as typeof given
    const files = (value.content.attachments as { content: unknown }[]).map((one) => one.content)
    expect(files).toEqual([expect.any(LargeFile), 'AAAA', expect.any(LargeFile)])
    expect((files[2] as LargeFile).size_bytes).toBe(75_003)
    expect((value.content.attachments as object[])[0]).toMatchObject({ filename: 'a' })
    expect(value.content.subject).toBe('content')
  })

  it('reads the attachments of the outermost object too', async () => {
    const value = await read(JSON.stringify({ attachments: [{ content: LARGE }] }))
    const { attachments } = value as { attachments: { content: unknown }[] }
    expect(attachments[0]?.content).toBeInstanceOf(LargeFile)
  })

  it('keeps other long texts', async () => {
    const html = `${'ü"\\'.repeat(30_000)}`
    const given = request([], { html, text: LARGE })
    expect(await read(JSON.stringify(given))).toEqual(given)
  })

  it.each([
    ['a long content in another place', JSON.stringify({ content: LARGE })],
    ['a long content in a list of lists', JSON.stringify({ attachments: [[{ content: LARGE }]] })],
    ['a cut body', JSON.stringify(request([{ content: LARGE }])).slice(0, -20)],
    ['a body cut in a file', JSON.stringify(request([{ content: LARGE }])).slice(0, 90_000)],
    ['no JSON', `{"content": "${LARGE}" "attachments": []}`],
  ])('refuses %s', async (_, text) => {
    await expect(read(text)).rejects.toMatchObject({ code: 'validation_error' })
  })

  it('refuses a body whose other parts are too large', async () => {
    const given = request([{ content: LARGE }], { html: 'x'.repeat(4 * 2 ** 20) })
    await expect(read(JSON.stringify(given))).rejects.toThrow('Request body is too large')
  })
})
