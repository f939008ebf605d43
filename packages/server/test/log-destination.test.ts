import { expect, it } from 'vitest'
import { createLogDestination } from '../src/logging/log-destination.ts'

type Refusal = 'ENOSPC' | 'EAGAIN' | 'EIO' | 'EPIPE'

/** A destination on a file with limited room. Beyond it, the file refuses writes as the system does: in part, then with an error. */
function disk(refusal: Refusal, room = Number.POSITIVE_INFINITY) {
  let content = ''
  const file = {
    room,
    content: () => content,
    lines: () => content.split('\n').filter((line) => line !== ''),
  }
  const put = (bytes: Buffer) => {
    const fits = Math.min(bytes.length, file.room)
    if (fits === 0) throw Object.assign(new Error(refusal), { code: refusal })
    file.room -= fits
    content += bytes.subarray(0, fits).toString()
    return fits
  }
  const log = createLogDestination(
    {
      writeSync: put,
      write(bytes, done) {
        setImmediate(() => {
          let written: number
          try {
            written = put(bytes)
          } catch (error) {
            return done(error as NodeJS.ErrnoException, 0)
          }
          done(null, written)
        })
      },
    },
    { now: () => new Date('2026-05-04T09:00:00Z') },
  )
  return { file, log }
}

const REPORT = (lost: number) =>
  `{"level":40,"time":"2026-05-04T09:00:00.000Z","lost":${lost},"since":"2026-05-04T09:00:00.000Z","msg":"log lines were lost"}`

it('writes lines in their order', async () => {
  const { file, log } = disk('ENOSPC')
  const lines = Array.from(
    { length: 5_000 },
    (_, i) => `{"n":${i},"text":"${'x'.repeat(i % 100)}"}`,
  )
  for (const line of lines) log.write(`${line}\n`)
  await log.drained(10_000)
  expect(file.lines()).toStrictEqual(lines)
  expect(log.dropped).toBe(0)
})

it.each<Refusal>(['ENOSPC', 'EIO', 'EPIPE'])(
  'drops and counts lines after %s, and reports them',
  async (refusal) => {
    const { file, log } = disk(refusal, 12)
    log.write('{"n":0}\n')
    log.write('{"n":1}\n')
    log.write('{"n":2}\n')
    await log.drained(10_000)
    expect(file.content()).toBe('{"n":0}\n{"n"')
    expect(log.dropped).toBe(2)
    file.room = Number.POSITIVE_INFINITY
    log.write('{"n":3}\n')
    await log.drained(10_000)
    // The cut line ends with a newline, so that the next one can be read.
    expect(file.content()).toBe(`{"n":0}\n{"n"\n${REPORT(2)}\n{"n":3}\n`)
    expect(log.dropped).toBe(2)
  },
)

it('reports the time of the first loss during an earlier report', async () => {
  let hour = 9
  const written: string[] = []
  let fails = true
  const log = createLogDestination(
    {
      writeSync: (bytes) => bytes.length,
      write(bytes, done) {
        setImmediate(() => {
          if (fails) return done(Object.assign(new Error('EIO'), { code: 'EIO' }), 0)
          const isFirst = written.push(...bytes.toString().trim().split('\n')) === 1
          if (isFirst) {
            hour = 11
            log.write('x'.repeat(2 * 1024 * 1024))
            hour = 12
          }
          done(null, bytes.length)
        })
      },
    },
    { now: () => new Date(Date.UTC(2026, 4, 4, hour)) },
  )
  log.write('{"n":0}\n')
  await log.drained(10_000)
  fails = false
  hour = 10
  await expect.poll(() => written.length, { timeout: 10_000 }).toBe(2)
  expect(written.map((line) => JSON.parse(line))).toMatchObject([
    { lost: 1, since: '2026-05-04T09:00:00.000Z' },
    { lost: 1, since: '2026-05-04T11:00:00.000Z' },
  ])
})

it('counts a line as lost that was written in part when the process may end', async () => {
  const { file, log } = disk('ENOSPC', 4)
  log.write('{"n":0}\n')
  log.write('{"n":1}\n')
  log.flushSync()
  expect(file.content()).toBe('{"n"')
  expect(log.dropped).toBe(1)
  file.room = Number.POSITIVE_INFINITY
  await expect.poll(() => file.lines().at(-1), { timeout: 10_000 }).toBe(REPORT(1))
})

it('reports the loss without another line', async () => {
  const { file, log } = disk('ENOSPC', 0)
  log.write('{"n":0}\n')
  await log.drained(10_000)
  file.room = Number.POSITIVE_INFINITY
  await expect.poll(file.content, { timeout: 10_000 }).toBe(`${REPORT(1)}\n`)
})

it('keeps a limited amount for a stalled reader, completes the cut line, and drops the rest', async () => {
  const { file, log } = disk('EAGAIN', 5)
  const line = `{"text":"${'x'.repeat(1_000)}"}\n`
  const lines = 5_000
  for (let i = 0; i < lines; i++) log.write(line)
  await log.drained(10)
  expect(file.content()).toBe('{"tex')
  const kept = Math.floor((1024 * 1024) / line.length)
  expect(log.dropped).toBe(lines - kept)
  file.room = Number.POSITIVE_INFINITY
  await log.drained(10_000)
  const read = file.lines()
  expect(read).toHaveLength(kept + 1)
  expect(read.filter((text) => text !== line.trim())).toStrictEqual([REPORT(lines - kept)])
})

it('writes the waiting lines in one attempt when the process may end, and does not throw', () => {
  const { file, log } = disk('ENOSPC', 20)
  log.write('{"n":0}\n')
  log.write('{"n":1}\n')
  log.flushSync()
  expect(file.content()).toContain('{"n":1}\n')
  log.write('{"n":2}\n')
  log.flushSync()
})
