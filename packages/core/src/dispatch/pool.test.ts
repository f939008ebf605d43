import { afterEach, beforeEach, expect, it } from 'vitest'
import { recordedRuntime } from '../../test/dispatch/lane-parts.ts'
import type { LookupJob, SendJob } from '../contract/outside/provider.ts'
import { uptimeMs } from './lane.ts'
import type { Performer, PerformerSettings } from './performer.ts'
import { createPool } from './pool.ts'

/** The code of a provider that answers with the id of its thread, and does what a message says. */
const CODE = `
import { threadId } from 'node:worker_threads'
const accepted = { type: 'accepted', provider_message_id: String(threadId), lookup_after_ms: null }
export default {
  [Symbol.for('svc.provider')]: true,
  name: 'a',
  traits: {},
  open: async (context, onFault) => ({
    name: 'a',
    async send(jobs) {
      for (const { content: { text } } of jobs) {
        if (text === 'fault') onFault({ provider: 'a', method: 'send' })
        if (text === 'exit') process.exit(3)
        if (text === 'die later') setTimeout(() => { throw new Error('a defect') }, 50)
        if (text === 'die') setTimeout(() => { throw new Error('a defect') })
        if (text === 'die' || text === 'wait') await new Promise(() => {})
      }
      return jobs.map(() => accepted)
    },
    lookup: async (jobs) => jobs.map(() => ({ type: 'not_found' })),
  }),
}`

const LATER_MS = 600_000

let pools: Performer[]
beforeEach(() => {
  pools = []
})
afterEach(async () => {
  for (const pool of pools) await pool.close()
})

function open({ threads = 1, isBroken = (): boolean => false, isCounted = true } = {}) {
  const { runtime, logged, fields, counts } = recordedRuntime()
  const here: string[] = []
  let copies = 0
  const settings: PerformerSettings = {
    targets: { allow_http: false, allow_nets: [] },
    providers: [
      { name: 'a', from: 'module', url: `data:text/javascript,${encodeURIComponent(CODE)}` },
    ],
    public_url: 'https://svc.example',
    // A thread gets a copy of its settings.
    get secret() {
      copies += 1
      if (isBroken()) throw new Error('no copy')
      return 'secret'
    },
  }
  const pool = createPool({
    threads,
    log: runtime.log,
    telemetry: isCounted ? runtime.telemetry : undefined,
    settings,
    here: {
      async send(provider, jobs, start_by_ms) {
        here.push(`send ${provider} ${jobs.length} ${start_by_ms}`)
        return []
      },
      async lookup(provider, jobs) {
        here.push(`lookup ${provider} ${jobs.length}`)
        return []
      },
      async deliver() {
        here.push('deliver')
        return []
      },
      async close() {
        here.push('close')
      },
    },
    isHere: (name) => name === 'here',
  })
  pools.push(pool)
  const send = (text: string, provider = 'a', start_by_ms = uptimeMs() + LATER_MS) =>
    pool.send(provider, [{ channel: 'sms', content: { text } } as SendJob], start_by_ms)
  return { pool, send, here, logged, fields, counts, copies: () => copies }
}

it('works in this thread for some providers, without other threads', async () => {
  const { pool, send, here, copies } = open()
  expect(await send('x', 'here', 5)).toEqual([])
  expect(await pool.lookup('here', [{} as LookupJob])).toEqual([])
  await pool.close()
  expect(here).toEqual(['send here 1 5', 'lookup here 1', 'close'])
  expect(copies()).toBe(0)
})

it('works in threads for the others, until a batch may not begin any more', async () => {
  const { pool, send, here, copies } = open()
  const [sent] = (await send('x')) ?? []
  expect(sent).toMatchObject({ provider_message_id: expect.stringMatching(/^[1-9]/) })
  expect(await send('x', 'a', uptimeMs() - 20)).toBeNull()
  expect(await pool.lookup('a', [{} as LookupJob])).toEqual([{ type: 'not_found' }])
  expect(await pool.deliver([], uptimeMs() - 20)).toBeNull()
  expect(await pool.deliver([], uptimeMs() + LATER_MS)).toEqual([])
  expect(here).toEqual([])
  expect(copies()).toBe(1)
  await pool.close()
  expect(here).toEqual(['close'])
})

it('moves the files of mails to the thread, without a copy', async () => {
  const { pool } = open()
  const content = new Uint8Array(Buffer.from('QUJD'))
  const jobs = [{ channel: 'email', content: { attachments: [{ content }] } } as never as SendJob]
  expect(await pool.send('a', jobs, uptimeMs() + LATER_MS)).toHaveLength(1)
  expect(content.byteLength).toBe(0)
})

it('gives one thread many batches at once, and has no more threads than it may', async () => {
  const { send, copies } = open({ threads: 2 })
  const batches = await Promise.all(Array.from({ length: 200 }, () => send('x')))
  expect(batches.flat().map((outcome) => outcome?.type)).toEqual(Array(200).fill('accepted'))
  expect(copies()).toBeLessThanOrEqual(2)
})

it('logs the faults of providers in threads', async () => {
  const { send, logged, fields } = open()
  await send('fault')
  await expect.poll(() => logged).toEqual(['the code of a provider failed'])
  expect(fields).toEqual([{ provider: 'a', method: 'send' }])
})

it.each([
  ['fails', 'die', 'a defect', { threadDied: 1 }],
  ['ends', 'exit', 'worker exited with code: 3', { threadDied: 1 }],
  ['ends without telemetry', 'exit', 'worker exited with code: 3', {}],
])(
  'counts and replaces a thread that %s, whose batches have no answer',
  async (_, text, reason, counted: Record<string, number>) => {
    const isCounted = 'threadDied' in counted
    const { pool, send, logged, counts } = open({ isCounted })
    const before = (await send('x'))?.[0]
    const lost = await Promise.allSettled([send(text), send('wait'), send('wait')])
    expect(lost).toMatchObject(Array(3).fill({ status: 'rejected', reason: { message: reason } }))
    expect(logged).toEqual(['a worker thread died'])
    expect(counts).toEqual(counted)
    const after = (await send('x'))?.[0]
    expect(after).toMatchObject({ type: 'accepted' })
    expect(after).not.toEqual(before)
    await pool.close()
    expect(counts).toEqual(counted)
  },
)

it('logs why a thread died that had no batch', async () => {
  const { send, logged, fields, counts } = open()
  await send('die later')
  await expect.poll(() => logged).toEqual(['a worker thread died', 'a worker thread failed'])
  expect(fields).toMatchObject([{ threads: 1 }, { err: { message: 'a defect' } }])
  expect(counts).toEqual({ threadDied: 1 })
  expect(await send('x')).toHaveLength(1)
})

it('calls nothing if its threads cannot be started, and tries it again with the next batch', async () => {
  let isBroken = true
  const { pool, send, here, logged, fields, copies } = open({ isBroken: () => isBroken })
  expect(await send('x')).toBeNull()
  expect(await pool.deliver([], uptimeMs() + LATER_MS)).toBeNull()
  expect(logged).toEqual(Array(2).fill('the worker threads could not be started'))
  expect(fields).toMatchObject(Array(2).fill({ err: { message: 'no copy' } }))
  expect(copies()).toBe(2)
  isBroken = false
  expect(await send('x')).toHaveLength(1)
  isBroken = true
  expect(await send('x')).toHaveLength(1)
  expect(copies()).toBe(3)
  expect(here).toEqual([])
})

it('that could not be started closes what works in this thread', async () => {
  const { pool, send, here } = open({ isBroken: () => true })
  await send('x')
  await pool.close()
  expect(here).toEqual(['close'])
})

it('closes while its thread loads, and ends its batches', async () => {
  const { pool, send, here } = open()
  const sent = send('x').catch((error) => error)
  await pool.close()
  expect(here).toEqual(['close'])
  expect(await sent).toBeDefined()
})
