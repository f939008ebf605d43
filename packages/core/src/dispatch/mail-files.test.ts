import { expect, it } from 'vitest'
import type { ClaimedMessage } from '../rules/claim.ts'
import { createByteBudget } from '../runtime/byte-budget.ts'
import { createMailFiles, memoryOf, storedLength, withTexts } from './mail-files.ts'

const MINUTE_MS = 60_000

/** A message with one file of 6 bytes in two chunks, of which `stored` are stored. */
function opened(stored: readonly string[] = ['AAAA', 'BBBB']) {
  const row = { message_id: 'm1', number: 1, sha256: 'x', size_bytes: 6, chunks: 2 }
  const files = createMailFiles(
    {
      files: {
        ofMessages: async (workspace, messages) =>
          workspace === 'w' && messages.join() === 'm1'
            ? [{ ...row, number: 0, sha256: 'y' }, row]
            : [],
        chunk: async (_workspace, sha256, number) => (sha256 === 'x' && stored[number]) || null,
      },
    },
    createByteBudget(8),
  )
  const attachments = [
    { filename: 'a', content: 'CCCC' },
    { filename: 'b', size_bytes: 6 },
  ]
  const content = { subject: 'x', attachments }
  return {
    files,
    message: { workspace_id: 'w', message_id: 'm1', content } as never as ClaimedMessage,
  }
}

it('a file is loaded into memory that can be moved, and a provider gets it as text', async () => {
  const { files, message } = opened()
  const content = await files.load(message)
  if (!content) throw new Error('the file is missing')
  const moved = structuredClone({ content }, { transfer: memoryOf([{ content }]) })
  expect(withTexts(moved).content).toEqual({
    subject: 'x',
    attachments: [
      { filename: 'a', content: 'CCCC' },
      { filename: 'b', content: 'AAAABBBB' },
    ],
  })
})

it('the memory of loaded files is all that is moved, and a job without them stays as it is', async () => {
  const { files, message } = opened()
  const content = await files.load(message)
  if (!content) throw new Error('the file is missing')
  const memory = memoryOf([{ content: { text: 'x' } }, { content }])
  expect(memory.map((one) => Buffer.from(one).toString())).toEqual(['AAAABBBB'])
  for (const content of [{ text: 'x' }, { attachments: [{ filename: 'a', content: 'CCCC' }] }]) {
    const job = { content } as never as { content: typeof message.content }
    expect(withTexts(job)).toBe(job)
  }
})

it('a file counts as many bytes as its base64 has', () => {
  const of = (...sizes: (number | undefined)[]) =>
    storedLength({
      attachments: sizes.map((size_bytes) => (size_bytes === undefined ? {} : { size_bytes })),
    } as never)
  expect([of(0), of(1), of(3), of(4), of(undefined), of(3, undefined, 4)]).toEqual([
    0, 4, 4, 8, 0, 12,
  ])
})

it('files of 32 MiB are in memory at once', async () => {
  const files = createMailFiles({ files: {} } as never)
  const mail = (mib: number) =>
    ({
      content: { attachments: [{ size_bytes: (mib * 3 * 2 ** 20) / 4 }] },
    }) as never as ClaimedMessage
  const first = await files.reserve(mail(31), MINUTE_MS)
  const second = await files.reserve(mail(1), MINUTE_MS)
  expect([first, second]).toEqual([expect.any(Function), expect.any(Function)])
  expect(await files.reserve(mail(1), 0)).toBeNull()
  first?.()
  expect(await files.reserve(mail(1), -5)).not.toBeNull()
})

it('a message whose file is missing has no content', async () => {
  const { files, message } = opened(['AAAA'])
  expect(await files.load(message)).toBeNull()
})

it('a message waits until the files of others are sent, for a time, and not while the service stops', async () => {
  const { files, message } = opened()
  const first = await files.reserve(message, MINUTE_MS)
  expect(await files.reserve(message, 1)).toBeNull()
  const second = files.reserve(message, MINUTE_MS)
  first?.()
  expect(await second).not.toBeNull()
  const third = files.reserve(message, MINUTE_MS)
  files.stop()
  expect(await third).toBeNull()
  expect(await files.reserve(message, MINUTE_MS)).toBeNull()
})

it('a message waits a part of a millisecond less, because timers take whole ones', async () => {
  const { files, message } = opened()
  expect(await files.reserve(message, 29_990.000000003725)).not.toBeNull()
  expect(await files.reserve(message, 0.5)).toBeNull()
})
