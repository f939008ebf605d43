import { describe, expect, it } from 'vitest'
import type {
  CallbackRequest,
  LookupJob,
  Outcome,
  SendJob,
} from '../../contract/outside/provider.ts'
import type { ProviderDefinition, ProviderFault } from './definition.ts'
import { guardProvider } from './guard.ts'

const CANARY = 'canary-4711'
const CONTEXT = { public_url: 'https://svc.test', callback_url: 'https://svc.test/c', secret: 's' }
const JOB: LookupJob & SendJob = {
  workspace_id: '11111111-1111-4111-8111-111111111111',
  message_id: '22222222-2222-4222-8222-222222222222',
  channel: 'sms',
  sender: null,
  recipient: '+14155550100',
  content: { text: CANARY },
  attempt: 1,
  created_at_ms: 0,
  max_duration_s: null,
  provider_message_id: null,
  attempted_at_ms: 0,
  now_ms: 0,
}
const ACCEPTED: Outcome = { type: 'accepted', provider_message_id: 'a1', lookup_after_ms: null }
const REQUEST: CallbackRequest = {
  method: 'POST',
  url: CONTEXT.callback_url,
  headers: {},
  body: new Uint8Array(),
}

function guarded(functions: Record<string, unknown>, { call_ms = 60_000 } = {}) {
  const faults: ProviderFault[] = []
  const send = async () => [ACCEPTED]
  const definition = { name: 'acme', traits: { channels: ['sms'] }, send, ...functions }
  const provider = guardProvider(definition as unknown as ProviderDefinition, {
    name: 'acme',
    context: CONTEXT,
    onFault: (fault) => faults.push(fault),
    call_ms,
  })
  return { provider, faults }
}

const never = new Promise<never>(() => {})
const thrower = () => {
  throw Object.assign(new TypeError(`no ${CANARY}`), { code: 'E_ACME' })
}

describe('send', () => {
  it('returns the outcomes of the code, whether the list or its items are promises', async () => {
    const rejected = { type: 'rejected', error_code: 'gone', error_message: 'Gone' } as const
    for (const send of [
      async () => [ACCEPTED, rejected],
      () => [Promise.resolve(ACCEPTED), rejected],
      () => [ACCEPTED, rejected],
    ]) {
      const { provider, faults } = guarded({ send })
      expect(await provider.send([JOB, JOB])).toEqual([ACCEPTED, rejected])
      expect(faults).toEqual([])
    }
  })

  it('passes the context, and a copy of the jobs', async () => {
    const seen: unknown[] = []
    const send = (jobs: SendJob[], context: unknown) => {
      seen.push(context, jobs[0]?.recipient)
      for (const job of jobs) Object.assign(job.content, { text: 'changed' })
      return jobs.splice(0).map(() => ACCEPTED)
    }
    const { provider } = guarded({ send })
    expect(await provider.send([JOB, JOB])).toEqual([ACCEPTED, ACCEPTED])
    expect(seen).toEqual([CONTEXT, JOB.recipient])
    expect(JOB.content).toEqual({ text: CANARY })
  })

  it('calls the code with its own `this`, and not for an empty batch', async () => {
    const definition = {
      calls: 0,
      async send() {
        this.calls += 1
        return [{ ...ACCEPTED, provider_message_id: `call-${this.calls}` }]
      },
    }
    const { provider } = guarded(definition)
    expect(await provider.send([])).toEqual([])
    expect(await provider.send([JOB])).toMatchObject([{ provider_message_id: 'call-1' }])
  })

  it.each<[string, (jobs: SendJob[]) => unknown, string]>([
    ['throws', thrower, 'TypeError E_ACME'],
    ['rejects', async () => thrower(), 'TypeError E_ACME'],
    ['throws no error', () => Promise.reject(CANARY), 'threw a value of type string'],
    [
      'throws an error that cannot be read',
      () => Promise.reject(new Proxy(new Error(), { get: thrower, getPrototypeOf: thrower })),
      'threw a value that cannot be read',
    ],
    ['returns nothing', () => undefined, 'no list, but a value of type undefined'],
    ['returns an object', async () => ({ length: 2 }), 'no list, but a value of type object'],
    ['returns too few', () => [ACCEPTED], '1 results for 2 jobs'],
    [
      'returns too many',
      () => [ACCEPTED, ACCEPTED, Promise.reject(new Error())],
      '3 results for 2 jobs',
    ],
    ['returns null', () => [null, null], 'result 0: must be an object'],
    [
      'returns an unknown type',
      () => [{ type: CANARY }, { type: '' }],
      'result 0.type: is not valid',
    ],
    [
      'returns an outcome without a code',
      () => [{ type: 'rejected' }, { type: 'rejected' }],
      'result 0.error_code: is missing',
    ],
    [
      'returns no valid id',
      (jobs) => jobs.map(() => ({ ...ACCEPTED, provider_message_id: `a ${CANARY}` })),
      'result 0.provider_message_id: must be 1 to 256 visible ASCII',
    ],
    [
      'returns no number',
      (jobs) => jobs.map(() => ({ ...ACCEPTED, lookup_after_ms: Number.NaN })),
      'result 0.lookup_after_ms: must be a number',
    ],
    [
      'returns what throws when it is read',
      (jobs) => jobs.map(() => Object.defineProperty({}, 'type', { get: thrower })),
      'TypeError E_ACME',
    ],
  ])('is ambiguous for every job if the code %s', async (_, send, fault) => {
    const { provider, faults } = guarded({ send })
    const outcome = { type: 'ambiguous', error_code: 'provider_fault' }
    expect(await provider.send([JOB, JOB])).toMatchObject([outcome, outcome])
    expect(faults).toMatchObject([{ provider: 'acme', call: 'send', fault, jobs: 2 }])
    expect(JSON.stringify(faults)).not.toContain(CANARY)
  })

  it('is ambiguous only for the jobs that fail', async () => {
    const send = () => [ACCEPTED, Promise.reject(new Error(CANARY)), never, ACCEPTED]
    const { provider, faults } = guarded({ send }, { call_ms: 50 })
    expect(await provider.send([JOB, JOB, JOB, JOB])).toMatchObject([
      ACCEPTED,
      { type: 'ambiguous', error_code: 'provider_fault' },
      { type: 'ambiguous', error_code: 'no_answer' },
      ACCEPTED,
    ])
    expect(faults).toMatchObject([{ fault: 'Error', jobs: 2 }])
  })

  it.each([
    ['the list', () => never],
    ['each job', () => [never]],
  ])('is ambiguous if the code never answers: %s', async (_, send) => {
    const { provider, faults } = guarded({ send }, { call_ms: 20 })
    expect(await provider.send([JOB])).toMatchObject([
      { type: 'ambiguous', error_code: 'no_answer' },
    ])
    expect(faults).toMatchObject([{ fault: expect.stringMatching(/^no result within \d+ ms$/) }])
  })

  it('has no code that says that a request canceled the message', async () => {
    const rejected = { type: 'rejected', error_code: 'canceled', error_message: 'No' } as const
    const { provider } = guarded({ send: () => [rejected] })
    expect(await provider.send([JOB])).toMatchObject([{ error_code: 'carrier_canceled' }])
  })

  it('makes texts fit, and drops what the service does not know', async () => {
    const send = () => [
      {
        type: 'retry',
        error_code: `${'é\n'.repeat(90)}`,
        error_message: `a\u0000b\r\nc${'x'.repeat(1_000_000)}`,
        delay_ms: 1e15,
        surprise: () => {},
        misconfigured: undefined,
      },
    ]
    const { provider, faults } = guarded({ send })
    const [outcome] = await provider.send([JOB])
    expect(outcome).toMatchObject({ type: 'retry', delay_ms: 86_400_000 })
    if (outcome?.type !== 'retry') return
    expect(outcome.error_code).toMatch(/^[\x21-\x7e]{100}$/)
    expect(outcome.error_message).toMatch(/^a b cx{494,}$/)
    expect(outcome.error_message).toHaveLength(500)
    expect(outcome).not.toHaveProperty('surprise')
    expect(faults).toEqual([])
  })

  it('names the places of an exception, not lines of its message that look like places', async () => {
    const send = () => {
      throw new Error(`x\n    at ${CANARY} (file:///secret.js:1:1)`)
    }
    const { provider, faults } = guarded({ send })
    await provider.send([JOB])
    expect(faults[0]?.at[0]).toMatch(/guard\.test\.ts:\d+:\d+/)
    expect(JSON.stringify(faults)).not.toContain(CANARY)
  })

  it('has its outcomes also if the faults cannot be reported', async () => {
    const definition = { name: 'acme', traits: { channels: ['sms'] }, send: thrower } as const
    const options = { name: 'acme', context: CONTEXT, onFault: thrower }
    const { send } = guardProvider(definition as unknown as ProviderDefinition, options)
    expect(await send([JOB])).toMatchObject([{ type: 'ambiguous' }])
  })
})

describe('lookup', () => {
  it('returns the results of the code', async () => {
    const { provider } = guarded({ lookup: () => [{ type: 'not_found', certain: true }] })
    expect(await provider.lookup?.([JOB])).toEqual([{ type: 'not_found', certain: true }])
  })

  it.each([
    ['throws', thrower],
    ['answers never', () => never],
    ['returns no result', () => []],
    ['returns an unknown result', () => [{ type: 'lost' }]],
    [
      'returns a wrong receipt',
      () => [
        { type: 'found', receipts: [{ status: 'queued' }], replies: [], lookup_after_ms: null },
      ],
    ],
  ])('is unavailable if the code %s', async (_, lookup) => {
    const { provider, faults } = guarded({ lookup }, { call_ms: 50 })
    expect(await provider.lookup?.([JOB])).toEqual([{ type: 'unavailable' }])
    expect(faults).toMatchObject([{ call: 'lookup', jobs: 1 }])
  })

  it('is absent if the code has none', () => {
    const { lookup, readCallback, check, listen } = guarded({}).provider
    expect([lookup, readCallback, check, listen]).toEqual(Array(4).fill(undefined))
  })
})

describe('readCallback', () => {
  it.each([
    ['at once', () => ({ type: 'forged' })],
    ['later', async () => ({ type: 'forged' })],
  ])('returns the reading of the code: %s', async (_, readCallback) => {
    const { provider } = guarded({ readCallback })
    expect(await provider.readCallback?.(REQUEST)).toEqual({ type: 'forged' })
  })

  it.each([
    ['throws', thrower],
    ['answers never', () => never],
    ['returns nothing', () => undefined],
    [
      'returns reports of a wrong shape',
      () => ({ type: 'read', reports: [{ type: 'receipt', about: { workspace_id: CANARY } }] }),
    ],
    [
      'returns too many reports',
      () => ({ type: 'read', reports: Array(2_001).fill({ type: 'suppress' }) }),
    ],
    [
      'would write a header of its own',
      () => ({ type: 'read', reports: [], answer: { content_type: 'a\r\nb: c', body: '' } }),
    ],
  ])('is unreadable if the code %s', async (_, readCallback) => {
    const { provider, faults } = guarded({ readCallback }, { call_ms: 50 })
    expect(await provider.readCallback?.(REQUEST)).toEqual({
      type: 'unreadable',
      reason: 'the provider failed to read it',
    })
    expect(faults).toMatchObject([{ call: 'readCallback' }])
    expect(JSON.stringify(faults)).not.toContain(CANARY)
  })
})

describe('check and close', () => {
  it('return the fault of the code', async () => {
    const { provider } = guarded({ check: () => 'Wrong key', close: () => {} })
    expect(await provider.check?.()).toBe('Wrong key')
    await provider.close?.()
    expect(await guarded({ check: () => undefined }).provider.check?.()).toBeNull()
  })

  it('end if the code throws or never ends', async () => {
    const { provider, faults } = guarded({ check: thrower, close: thrower })
    expect(await provider.check?.()).toMatch(/^The check failed: TypeError E_ACME at /)
    await provider.close?.()
    expect(faults.map(({ call }) => call)).toEqual(['check', 'close'])
    const hanging = guarded({ check: () => never }, { call_ms: 20 })
    expect(await hanging.provider.check?.()).toMatch(/^The check failed: no result within/)
  })
})

describe('listen', () => {
  const sink = { receive: async () => {}, note() {} }

  it('refuses reports and notes of a wrong shape, and passes others', async () => {
    const received: unknown[] = []
    const notes: unknown[] = []
    let given: typeof sink | undefined
    const { provider, faults } = guarded({
      listen(own: typeof sink) {
        given = own
        return { states: () => [{ name: 'a', state: 'up', detail: '' }], close: thrower }
      },
    })
    const listening = await provider.listen?.({
      receive: async (reports) => void received.push(...reports),
      note: (...line) => void notes.push(line),
    })
    const own = given as unknown as {
      receive(reports: unknown): Promise<void>
      note(...line: unknown[]): void
    }
    const about = { workspace_id: JOB.workspace_id, message_id: JOB.message_id }
    const report = { type: 'suppress', about, reason: 'complaint' }
    await own.receive([report])
    await expect(own.receive([{ type: CANARY }])).rejects.toThrow(TypeError)
    own.note('info', 'connected\n', { port: 1 })
    own.note('loud', 'connected', {})
    expect([received, notes]).toEqual([[report], [['info', 'connected ', { port: 1 }]]])
    expect(listening?.states()).toEqual([{ name: 'a', state: 'up', detail: '' }])
    await listening?.close(0)
    expect(faults).toHaveLength(3)
    expect(JSON.stringify(faults)).not.toContain(CANARY)
  })

  it('has no states if the code fails to name them', async () => {
    for (const states of [thrower, () => null, () => [{ state: 'sideways' }]]) {
      const { provider, faults } = guarded({ listen: () => ({ states, close() {} }) })
      expect((await provider.listen?.(sink))?.states()).toEqual([])
      expect(faults).toMatchObject([{ call: 'listen' }])
    }
  })

  it.each([
    ['throws', thrower, 'provider acme cannot listen: TypeError E_ACME at '],
    ['never ends', () => never, 'provider acme cannot listen: no result within 20 ms'],
    [
      'returns nothing',
      () => null,
      'provider acme cannot listen: result: must be { states, close }',
    ],
  ])('throws an error without contents if the code %s', async (_, listen, text) => {
    const { provider } = guarded({ listen }, { call_ms: 20 })
    const error = await provider.listen?.(sink).catch((caught: Error) => caught)
    expect((error as Error).message.slice(0, text.length)).toBe(text)
  })
})
