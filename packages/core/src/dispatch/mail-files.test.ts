import { expect, it } from 'vitest'
import type { ClaimedMessage } from '../rules/claim.ts'
import { createByteBudget } from '../runtime/byte-budget.ts'
import { createMailFiles, memoryOf, withTexts } from './mail-files.ts'

const MINUTE_MS = 60_000

/** A message with one file of 6 bytes in two chunks, of which `stored` are stored. */
function opened(stored: readonly string[] = ['AAAA', 'BBBB']) {
  const row = { message_id: 'm1', number: 1, sha256: 'x', size_bytes: 6, chunks: 2 }
  const files = createMailFiles(
    {
      files: {
        ofMessages: async () => [row],
        chunk: async (_workspace, _sha256, number) => stored[number] ?? null,
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
