import { setImmediate } from 'node:timers/promises'
import { cleanup, render } from 'ink-testing-library'
import { afterEach, expect, test, vi } from 'vitest'
import { type LineLogProps, type LogItem, type LogSink, lineLog } from './line-log.tsx'

afterEach(cleanup)

const item = (text: string, id?: string): LogItem => ({
  line: () => text,
  words: text,
  ...(id !== undefined && { id }),
})

/** Waits for a frame, and for the effects after it, which subscribe to keys. */
async function untilReady(check: () => void): Promise<void> {
  await vi.waitFor(check, 10_000)
  await setImmediate()
}

/** A rendered log, with its sink and its keys. */
function log(props: Partial<LineLogProps> = {}) {
  let opened: { sink: LogSink; signal: AbortSignal } | undefined
  const view = render(
    lineLog({
      title: 'http://svc.test',
      style: (_, text) => text,
      follow: (sink, signal) => {
        opened = { sink, signal }
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
      },
      ...props,
    }),
  )
  const status = () => view.lastFrame() ?? ''
  const written = () => view.frames.join('\n')
  return {
    status,
    written,
    /** The number of times a line was printed. */
    count: (text: string) => view.frames.filter((frame) => frame.startsWith(`${text}\n`)).length,
    press: (keys: string) => view.stdin.write(keys),
    until: (pattern: RegExp) => untilReady(() => expect(status()).toMatch(pattern)),
    untilWritten: (pattern: RegExp) => vi.waitFor(() => expect(written()).toMatch(pattern), 10_000),
    begun: () =>
      vi.waitFor(() => {
        if (!opened) throw new Error('not yet')
        return opened
      }),
  }
}

test('prints each line once, above a status line with the count', async () => {
  const view = log()
  const { sink } = await view.begun()
  for (const text of ['one', 'two', 'three']) sink.add(item(text))
  await view.until(/● 3 shown · http:\/\/svc\.test/)
  expect(['one', 'two', 'three'].map(view.count)).toEqual([1, 1, 1])
  expect(view.status()).not.toContain('timeline')
})

test('a filter shows new lines that contain its text', async () => {
  const view = log()
  const { sink } = await view.begun()
  view.press('/FAIL\r')
  await view.until(/filter "FAIL"/)
  sink.add(item('delivered'))
  sink.add(item('failed'))
  await view.until(/1 shown/)
  expect([view.count('delivered'), view.count('failed')]).toEqual([0, 1])
})

test('a paused log holds at most a thousand lines, and prints them afterwards', async () => {
  const view = log()
  const { sink } = await view.begun()
  view.press('p')
  await view.until(/paused, 0 held/)
  for (let i = 0; i < 1_003; i++) sink.add(item(`line ${i}.`))
  await view.until(/paused, 1000 held · 3 dropped/)
  expect(view.count('line 1002.')).toBe(0)
  view.press('p')
  await view.until(/1000 shown/)
  expect([view.count('line 2.'), view.count('line 3.'), view.count('line 1002.')]).toEqual([
    0, 1, 1,
  ])
})

test('enter opens a list of the latest messages, and prints the chosen timeline', async () => {
  const view = log({ open: async (id) => [`timeline of ${id}`] })
  const { sink } = await view.begun()
  for (let i = 0; i < 12; i++) sink.add(item(`message ${i}`, `id-${i}`))
  sink.add(item('message 5 again', 'id-5'))
  await view.until(/13 shown/)
  view.press('\r')
  await view.until(/› message 5 again\n {2}message 11\n/)
  sink.add(item('late', 'id-late'))
  expect(view.status()).not.toMatch(/^. late/m)
  view.press('jj\r')
  await view.untilWritten(/timeline of id-10/)
  await view.until(/paused/)
})

test('shows the error of a timeline that cannot be read', async () => {
  const view = log({ open: () => Promise.reject(new Error('gone\u001b[2J')) })
  const { sink } = await view.begun()
  sink.add(item('message', 'id'))
  await view.until(/1 shown/)
  view.press('\r')
  await view.until(/›/)
  view.press('\r')
  await view.untilWritten(/gone\\u001b\[2J/)
})

test('shows an outage until it ends', async () => {
  const view = log()
  const { sink } = await view.begun()
  sink.trouble('out of reach')
  await view.until(/✗ out of reach/)
  sink.trouble(null)
  await view.until(/● 0 shown/)
})

test('aborts the source when the view ends', async () => {
  const view = log()
  const { signal } = await view.begun()
  view.press('q')
  await vi.waitFor(() => expect(signal.aborted).toBe(true))
})
