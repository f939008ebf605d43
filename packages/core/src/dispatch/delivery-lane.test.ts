import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { recordedRuntime, stopTime, turn } from '../../test/dispatch/lane-parts.ts'
import { plainSealer } from '../../test/fixtures.ts'
import type { ClaimedDelivery, ClaimOfNewDeliveries } from '../rules/deliveries.ts'
import type { DeliveryResult } from '../rules/record.ts'
import { systemRuntime } from '../runtime/runtime.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { SealedError } from '../secrets/sealer.ts'
import type { DeliveryClaim } from '../storage/ports/hot.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { DeliverAnswer, DeliverJob } from '../webhooks/deliver.ts'
import { fingerprintOf } from '../webhooks/sealed-webhook.ts'
import { deliveryLane } from './delivery-lane.ts'

const AT = new Date('2026-05-04T09:00:00Z')
const LEASE_MS = 60_000
/** The time for which results wait for others. */
const RECORD_WAIT_MS = 50

let time: ReturnType<typeof stopTime>
beforeEach(() => {
  time = stopTime()
})
afterEach(() => time.restore())

function due(fields: object = {}): ClaimedDelivery {
  return {
    delivery_id: 'd1',
    workspace_id: 'w1',
    webhook_id: 'h1',
    event_id: 'e1',
    event: 'message.sent',
    url: 'https://x.example/',
    secret: 'new',
    previous_secret: null,
    accepted_secret: null,
    headers: {},
    format: 'svc',
    message: null,
    body: '{}',
    attempt: 1,
    token: 't1',
    ...fields,
  } as ClaimedDelivery
}

function dueMany(count: number, fields: object = {}): ClaimedDelivery[] {
  return Array.from({ length: count }, (_, i) => due({ delivery_id: `d${i}`, ...fields }))
}

const ok: DeliverAnswer = {
  started_at_ms: AT.getTime(),
  duration_ms: 20,
  response_status: 200,
  response_body: 'OK',
  error: null,
  retry_after_ms: null,
  twiml: null,
  used_other_secret: false,
}
const failed: DeliverAnswer = {
  ...ok,
  response_status: null,
  response_body: null,
  error: 'connect',
}

type Options = Parameters<typeof deliveryLane>[0]

/** A lane whose requests the test answers, and whose results are kept in memory. */
function open(options: Partial<Options> = {}) {
  const recorded = recordedRuntime({ elapsed_ms: 100_000, keepsDebug: true })
  const { runtime, clock, counts, logged, fields } = recorded
  const claims: DeliveryClaim[] = []
  const queue: ClaimedDelivery[] = []
  const writes: DeliveryResult[][] = []
  const batches: {
    jobs: readonly DeliverJob[]
    start_by_ms: number
    answer(each: DeliverAnswer | readonly (DeliverAnswer | null)[] | null): Promise<void>
    fail(): Promise<void>
  }[] = []
  const storage = {
    hot: {
      async claimDeliveries(claim: DeliveryClaim) {
        claims.push(claim)
        return queue.splice(0)
      },
      async recordDeliveries(results: readonly DeliveryResult[]) {
        writes.push([...results])
        return results.map(() => true)
      },
    },
  } as unknown as Storage
  const plain = plainSealer(runtime)
  const lane = deliveryLane({
    storage,
    runtime,
    sealer: {
      ...plain,
      open(place, value) {
        if (value.startsWith('sealed')) throw new SealedError('the key is not set')
        return plain.open(place, value)
      },
    },
    performer: {
      send: async () => null,
      lookup: async () => [],
      deliver: (jobs, start_by_ms) =>
        new Promise((resolve, reject) => {
          batches.push({
            jobs,
            start_by_ms,
            answer(each) {
              resolve(Array.isArray(each) || each === null ? each : jobs.map(() => each))
              return turn()
            },
            fail() {
              reject(new Error('the thread died'))
              return turn()
            },
          })
        }),
      async close() {},
    },
    ...options,
  })
  let slots = 0
  let looks = 0
  return {
    lane,
    clock,
    claims,
    queue,
    writes,
    batches,
    counts,
    logged,
    fields,
    free: () => slots,
    looks: () => looks,
    results: () => writes.flat(),
    async run(deliveries: ClaimedDelivery[], claimed_ms = time.uptime()) {
      let isOver = false
      const done = (count: number) => {
        slots += count
      }
      const look = () => {
        looks += 1
      }
      void lane
        .run(deliveries, done, look, claimed_ms, () => {})
        .then(() => {
          isOver = true
        })
      await turn()
      return { isOver: () => isOver }
    },
  }
}

/** Makes the receiver known, so that its answers wait for others and new deliveries are admitted. */
async function answerOnce({ run, batches }: ReturnType<typeof open>, fields: object = {}) {
  await run([due(fields)])
  await batches.at(-1)?.answer(ok)
}

describe('a claim of deliveries', () => {
  it('has a lease, a token of its own, the time, and the room of each receiver', async () => {
    const { lane, claims, run } = open()
    await run(dueMany(3))
    await lane.claim(5)
    await lane.claim(6)
    const terms = { now: AT, elapsed_ms: 100_000, lease_ms: LEASE_MS, limit_per_webhook: 8 }
    expect(claims).toMatchObject([
      { ...terms, limit: 5, room_of_webhook: new Map([['h1', 5]]) },
      { ...terms, limit: 6, requested: [] },
    ])
    expect(claims[0]?.token).not.toBe(claims[1]?.token)
    for (const claim of claims) expect(claim).not.toHaveProperty('test_deliveries_per_day')
  })

  it('has the lease and the quota of the settings', async () => {
    const quotas = { test_deliveries_per_day: 7, test_deliveries_per_second: 1 }
    const { lane, claims } = open({ lease_ms: 5_000, quotas })
    await lane.claim(1)
    expect(claims).toMatchObject([{ lease_ms: 5_000, test_deliveries_per_day: 7 }])
    expect(lane.offer(1).terms).toMatchObject({ lease_ms: 5_000, now: AT })
  })

  it('names the webhooks of requested attempts until it takes a delivery of them', async () => {
    const { lane, claims, queue } = open()
    lane.probeNow('h1')
    lane.probeNow('h2')
    queue.push(due({ webhook_id: 'h2' }))
    for (let i = 0; i < 2; i++) await lane.claim(5)
    expect(claims.map(({ requested }) => requested)).toEqual([['h1', 'h2'], ['h1']])
  })

  it('names at most 1,000 such webhooks', async () => {
    const { lane, claims } = open()
    for (let i = 0; i < 1_001; i++) lane.probeNow(`h${i}`)
    await lane.claim(5)
    expect(claims[0]?.requested).toHaveLength(1_000)
  })

  it('makes the probe of a dead receiver due when a caller requests it', async () => {
    const { lane, run, batches, claims } = open()
    await run(dueMany(5))
    await batches[0]?.answer(failed)
    await lane.claim(5)
    lane.probeNow('h1')
    await lane.claim(5)
    expect(claims.map(({ room_of_webhook }) => room_of_webhook.get('h1'))).toEqual([0, 1])
  })

  it('makes the probe due after the failure of one that was in flight at the request', async () => {
    const { lane, run, batches, claims } = open()
    await run(dueMany(5))
    await batches[0]?.answer(failed)
    lane.probeNow('h1')
    await lane.claim(5)
    await run([due({ delivery_id: 'd9' })])
    lane.probeNow('h1')
    await batches[1]?.answer(failed)
    await lane.claim(5)
    expect(claims.at(-1)?.room_of_webhook.get('h1')).toBe(1)
  })
})

describe('the claim of new deliveries', () => {
  const admits = (terms: ClaimOfNewDeliveries, webhook_id = 'h1') =>
    terms.admits({ webhook_id, workspace_id: 'w1' })

  it('admits those to known receivers, each in a slot until the transaction ends', async () => {
    const opened = open()
    await answerOnce(opened)
    const { lane } = opened
    await lane.claim(5)
    const first = lane.offer(1)
    const room = Array.from({ length: 20 }, () => admits(first.terms)).filter(Boolean).length
    expect(room).toBeGreaterThanOrEqual(8)
    expect(room).toBeLessThan(20)
    first.end()
    // A refused one waits in the queue, and none overtakes it.
    expect(admits(lane.offer(1).terms)).toBe(false)
    await lane.claim(5)
    const second = lane.offer(1)
    expect(Array.from({ length: room }, () => admits(second.terms))).not.toContain(false)
    expect(admits(second.terms, 'unknown')).toBe(false)
    expect(second.terms.token).not.toBe(first.terms.token)
  })

  it('holds the slots of what it admitted, also when another one ends that got none', async () => {
    const opened = open()
    await answerOnce(opened)
    const { lane } = opened
    await lane.claim(5)
    const first = lane.offer(30)
    const room = Array.from({ length: 30 }, () => admits(first.terms)).filter(Boolean).length
    const second = lane.offer(1)
    expect(admits(second.terms)).toBe(false)
    second.end()
    await lane.claim(5)
    expect(admits(lane.offer(1).terms)).toBe(false)
    first.end()
    await lane.claim(5)
    const third = lane.offer(30)
    expect(Array.from({ length: 30 }, () => admits(third.terms)).filter(Boolean)).toHaveLength(room)
  })

  it('admits none behind those that wait in the queue', async () => {
    const opened = open()
    await answerOnce(opened)
    await opened.lane.claim(5)
    opened.lane.queued([{ webhook_id: 'h1', workspace_id: 'w1' }])
    expect(admits(opened.lane.offer(1).terms)).toBe(false)
  })
})

describe('claimed deliveries', () => {
  it('are stored without telemetry, too', async () => {
    const { runtime } = recordedRuntime({ elapsed_ms: 100_000 })
    const { lane, run, batches, results } = open({
      runtime: { ...runtime, telemetry: undefined } as never,
    })
    expect(lane.name).toBe('deliveries')
    const running = await run([due()])
    await batches[0]?.answer(ok)
    expect(results()).toHaveLength(1)
    expect(running.isOver()).toBe(true)
  })

  it('go out in batches of at most 32 of one webhook, which free their slots alone', async () => {
    const { run, batches, free } = open()
    const running = await run([...dueMany(33), due({ webhook_id: 'h2', delivery_id: 'x' })])
    expect(batches.map(({ jobs }) => jobs.map(({ url }) => url).length)).toEqual([32, 1, 1])
    expect(batches[2]?.jobs[0]).toMatchObject({ delivery_id: 'x', secret: 'new', headers: {} })
    await batches[2]?.answer(ok)
    expect([free(), running.isOver()]).toEqual([1, false])
    await batches[0]?.answer(ok)
    await batches[1]?.answer(ok)
    await time.pass(RECORD_WAIT_MS)
    expect([free(), running.isOver()]).toEqual([34, true])
  })

  it.each([
    [undefined, 30_000],
    [10_000, 5_000],
  ])('with a lease of %s ms may be sent for %d ms', async (lease_ms, ms) => {
    const { run, batches } = open({ lease_ms })
    await run([due()], 1_000)
    expect(batches[0]?.start_by_ms).toBe(1_000 + ms)
  })

  it('are stored with the answer', async () => {
    const { run, batches, results, counts, logged, fields } = open()
    await run([due({ gate_host: 'x.example' })])
    await batches[0]?.answer({ ...ok, address: '192.0.2.1', retry_after_ms: 5 })
    expect(results()).toEqual([
      {
        workspace_id: 'w1',
        webhook_id: 'h1',
        delivery_id: 'd1',
        token: 't1',
        started_at: AT,
        duration_ms: 20,
        response_status: 200,
        response_body: 'OK',
        error: null,
        retry_after_ms: 5,
        signed_with: null,
        is_probe: false,
        gate_host: 'x.example',
        is_unknown: false,
        receiver_waits_until: null,
        address: '192.0.2.1',
      },
    ])
    expect(counts).toEqual({ 'deliveryAttempted 2xx': 1 })
    expect(logged).toEqual(['delivery.attempted'])
    expect(fields).toEqual([
      {
        workspace_id: 'w1',
        webhook_id: 'h1',
        delivery_id: 'd1',
        duration_ms: 20,
        response_status: 200,
        error: null,
      },
    ])
  })

  it('of a webhook that opened its gate let the others be claimed', async () => {
    const { run, batches, looks, lane } = open()
    await run([due({ gate_host: 'x.example' }), due({ delivery_id: 'd2' })])
    const before = looks()
    await batches[0]?.answer(ok)
    expect(looks()).toBe(before + 2)
    // They wait in the queue, so no new one overtakes them.
    expect(lane.offer(1).terms.admits({ webhook_id: 'h1', workspace_id: 'w1' })).toBe(false)
  })

  it('of a receiver that answers are stored together, without a claim', async () => {
    const opened = open()
    await answerOnce(opened)
    const { run, batches, writes, looks, lane } = opened
    await lane.claim(5)
    await run([due({ delivery_id: 'd1' })])
    await run([due({ delivery_id: 'd2' })])
    const [before, stored] = [looks(), writes.length]
    await batches[1]?.answer(ok)
    await batches[2]?.answer(ok)
    await time.pass(RECORD_WAIT_MS - 1)
    expect(writes).toHaveLength(stored)
    await time.pass(1)
    expect(writes.slice(stored).map((each) => each.map(({ delivery_id }) => delivery_id))).toEqual([
      ['d1', 'd2'],
    ])
    expect(looks()).toBe(before)
  })

  it('of a receiver with others in the queue are stored at once, and the others claimed', async () => {
    const opened = open()
    await answerOnce(opened)
    const { run, batches, writes, looks, lane } = opened
    await lane.claim(5)
    await run([due()])
    lane.queued([{ webhook_id: 'h1', workspace_id: 'w1' }])
    const [before, stored] = [looks(), writes.length]
    await batches[1]?.answer(ok)
    expect(writes).toHaveLength(stored + 1)
    expect(looks()).toBe(before + 1)
  })

  it('of a receiver that has just answered for the first time let others be claimed', async () => {
    const { run, batches, looks } = open()
    await run([due()])
    await batches[0]?.answer(ok)
    expect(looks()).toBe(1)
  })

  it('say until when their receiver gets nothing', async () => {
    const { run, batches, results } = open()
    await run(dueMany(2))
    await batches[0]?.answer({ ...ok, response_status: 429, retry_after_ms: 60_000 })
    const until = new Date(AT.getTime() + 60_000)
    expect(results().map((one) => one.receiver_waits_until)).toEqual([until, until])
  })

  it('say nothing of a wait that is over', async () => {
    const opened = open()
    const { run, batches, results, clock } = opened
    await run([due()])
    await batches[0]?.answer({ ...ok, response_status: 429, retry_after_ms: 60_000 })
    clock.elapsed_ms += 60_000
    await run([due({ delivery_id: 'd2' })])
    await batches[1]?.answer(ok)
    await time.pass(RECORD_WAIT_MS)
    expect(results()[1]).toMatchObject({ delivery_id: 'd2', receiver_waits_until: null })
  })

  it('to a dead receiver are probes', async () => {
    const { run, batches, results, clock } = open()
    await run(dueMany(5))
    await batches[0]?.answer(failed)
    clock.elapsed_ms += 30_000
    await run([due({ delivery_id: 'probe' })])
    await batches[1]?.answer(failed)
    expect(results().map(({ is_probe }) => is_probe)).toEqual([...Array(5).fill(false), true])
  })

  it('are traced', async () => {
    const traced: number[] = []
    const tracing = {
      delivered: (results: unknown[]) => void traced.push(results.length),
    } as unknown as Tracing
    const { run, batches } = open({ tracing })
    await run(dueMany(2))
    await batches[0]?.answer(ok)
    expect(traced).toEqual([2])
  })
})

describe('the secret of a delivery', () => {
  const rotated = { previous_secret: 'old', accepted_secret: null }

  it.each([
    [false, 'old'],
    [true, 'new'],
  ])(
    'during a rotation is stored as the fingerprint that signed (the other: %s)',
    async (used_other_secret, secret) => {
      const { run, batches, results } = open()
      await run([due(rotated)])
      expect(batches[0]?.jobs[0]).toMatchObject({ secret: 'old', other_secret: 'new' })
      await batches[0]?.answer({ ...ok, used_other_secret })
      expect(results()[0]?.signed_with).toBe(fingerprintOf(secret))
    },
  )

  it('that has no other is never stored as one that signed', async () => {
    const { run, batches, results } = open()
    await run([due()])
    await batches[0]?.answer({ ...ok, used_other_secret: true })
    expect(results()[0]?.signed_with).toBeNull()
  })

  it('of each delivery of a webhook is its own', async () => {
    const { run, batches } = open()
    await run([
      due(),
      due({ delivery_id: 'd2' }),
      due({ delivery_id: 'd3', secret: 'other', headers: { a: 'b' } }),
    ])
    expect(batches[0]?.jobs.map(({ secret, headers }) => [secret, headers])).toEqual([
      ['new', {}],
      ['new', {}],
      ['other', { a: 'b' }],
    ])
  })

  it('that cannot be read makes its delivery wait, uncounted, and no other', async () => {
    const { run, batches, results, free, logged } = open()
    const running = await run([
      due({ delivery_id: 'd1', secret: 'sealed', gate_host: 'x.example' }),
      due({ delivery_id: 'd2' }),
      due({ delivery_id: 'd3', secret: 'sealed' }),
    ])
    expect(batches.map(({ jobs }) => jobs.map(({ delivery_id }) => delivery_id))).toEqual([['d2']])
    expect(free()).toBe(2)
    expect(results()).toEqual([
      {
        workspace_id: 'w1',
        webhook_id: 'h1',
        delivery_id: 'd1',
        token: 't1',
        gate_host: 'x.example',
        started_at: AT,
        duration_ms: 0,
        response_status: null,
        response_body: null,
        error: 'unreadable_secret',
        retry_after_ms: null,
        is_probe: false,
        is_unknown: true,
      },
      expect.objectContaining({ delivery_id: 'd3', is_unknown: true }),
    ])
    expect(logged).toEqual(['deliveries wait: a secret cannot be decrypted'])
    await batches[0]?.answer(ok)
    await time.pass(RECORD_WAIT_MS)
    expect(running.isOver()).toBe(true)
  })

  it('that cannot be read is logged with its reason', async () => {
    const { run, logged, fields } = open()
    await run([due({ secret: 'sealed' })])
    expect(logged[0]).toBe('deliveries wait: a secret cannot be decrypted')
    expect(fields[0]).toEqual({ err: new SealedError('the key is not set') })
  })

  it('of a receiver with only unreadable ones counts as a failure of the receiver', async () => {
    const { run, batches, lane, claims } = open()
    await run(dueMany(5, { secret: 'sealed' }))
    expect(batches).toEqual([])
    await lane.claim(1)
    expect(claims[0]?.room_of_webhook.get('h1')).toBe(0)
  })

  it('hides no other fault', async () => {
    const opened = open({
      sealer: {
        ...plainSealer(systemRuntime()),
        open() {
          throw new RangeError('a defect')
        },
      },
    })
    await expect(
      opened.lane.run(
        [due()],
        () => {},
        () => {},
        0,
        () => {},
      ),
    ).rejects.toThrow('a defect')
  })
})

describe('a delivery without a known answer', () => {
  it('that was not begun is repeated and not counted, as often as it happens', async () => {
    const { run, batches, results, free } = open()
    for (let i = 0; i < 4; i++) {
      await run([due()])
      await batches[i]?.answer(null)
      await time.pass(RECORD_WAIT_MS)
    }
    expect(results().map(({ is_unknown }) => is_unknown)).toEqual([true, true, true, true])
    expect(results()[0]).toMatchObject({ error: 'interrupted', started_at: AT, duration_ms: 0 })
    expect(free()).toBe(4)
  })

  it('is stored with the secret that its request had, and the reason is logged', async () => {
    const { run, batches, results, logged, fields } = open()
    await run([due({ previous_secret: 'old' })])
    await batches[0]?.fail()
    expect(batches[0]?.jobs[0]).toMatchObject({ secret: 'old' })
    expect(results()[0]?.signed_with).toBe(fingerprintOf('old'))
    expect(logged[0]).toBe('a batch of deliveries was lost')
    expect(fields[0]).toEqual({ err: new Error('the thread died') })
  })

  it('in a batch with answers leaves these', async () => {
    const { run, batches, results } = open()
    await run(dueMany(3))
    await batches[0]?.answer([ok, null, failed])
    expect(results().map(({ is_unknown, error }) => [is_unknown, error])).toEqual([
      [false, null],
      [true, 'interrupted'],
      [false, 'connect'],
    ])
  })

  async function loseThread({ run, batches }: ReturnType<typeof open>, times: number, id = 'd1') {
    for (let i = 0; i < times; i++) {
      await run([due({ delivery_id: id })])
      await batches.at(-1)?.fail()
      await time.pass(RECORD_WAIT_MS)
    }
  }

  it('counts as failed when its thread has died three times in a row, and then anew', async () => {
    const opened = open()
    await loseThread(opened, 6)
    const unknown = opened.results().map(({ is_unknown }) => is_unknown)
    expect(unknown).toEqual([true, true, false, true, true, false])
    expect(opened.logged).toContain('a batch of deliveries was lost')
  })

  it('is excused again after an answer, and each delivery alone', async () => {
    const opened = open()
    await loseThread(opened, 2)
    await loseThread(opened, 2, 'd2')
    await answerOnce(opened)
    await time.pass(RECORD_WAIT_MS)
    await loseThread(opened, 2)
    await loseThread(opened, 1, 'd2')
    const unknown = opened.results().map(({ is_unknown }) => is_unknown)
    expect(unknown).toEqual([true, true, true, true, false, true, true, false])
  })

  it('is remembered among at most as many as the lane has slots', async () => {
    const opened = open()
    const { lane, run, batches } = opened
    await loseThread(opened, 2)
    await loseThread(opened, 2, 'second')
    // With these two one more than the slots.
    await run(
      dueMany(lane.slots - 1).map((one) => ({ ...one, delivery_id: `x${one.delivery_id}` })),
    )
    await Promise.all(batches.slice(4).map((batch) => batch.fail()))
    await time.pass(RECORD_WAIT_MS)
    opened.writes.splice(0)
    await loseThread(opened, 1, 'second')
    await loseThread(opened, 1)
    expect(opened.results().map(({ is_unknown }) => is_unknown)).toEqual([false, true])
  })
})

describe('an answer with replies', () => {
  const twiml: DeliverAnswer = { ...ok, twiml: 'whole', response_body: '<Response/>' }

  it('is stored after its replies were sent, with their fault', async () => {
    const sent: unknown[] = []
    const opened = open({
      async sendReplies(answered) {
        sent.push([answered, opened.results().length])
        return 'twiml_invalid'
      },
    })
    await opened.run([due({ body: '{"event":1}' })])
    await opened.batches[0]?.answer(twiml)
    const answered = {
      workspace_id: 'w1',
      delivery_id: 'd1',
      secret: 'new',
      body: '{"event":1}',
      twiml: '<Response/>',
    }
    expect(sent).toEqual([[answered, 0]])
    expect(opened.results()[0]).toMatchObject({ response_status: 200, error: 'twiml_invalid' })
    expect(opened.results()[0]).not.toHaveProperty('twiml')
  })

  it('whose replies could not be stored counts as failed', async () => {
    const opened = open({ sendReplies: () => Promise.reject(new Error('the database is away')) })
    await opened.run([due()])
    await opened.batches[0]?.answer(twiml)
    expect(opened.results()[0]).toMatchObject({ response_status: null, error: 'reply_failed' })
    const err = new Error('the database is away')
    expect(opened.logged[0]).toBe('a reply was not sent')
    expect(opened.fields[0]).toEqual({ err, workspace_id: 'w1', delivery_id: 'd1' })
  })

  it('without a body has empty replies', async () => {
    const sendReplies = vi.fn(async () => null)
    const { run, batches } = open({ sendReplies })
    await run([due()])
    await batches[0]?.answer({ ...twiml, response_body: null })
    expect(sendReplies).toHaveBeenCalledWith(expect.objectContaining({ twiml: '' }))
  })

  it('that is too long sends none', async () => {
    const sendReplies = vi.fn(async () => null)
    const { run, batches, results } = open({ sendReplies })
    await run(dueMany(2))
    await batches[0]?.answer([{ ...twiml, twiml: 'too_long' }, ok])
    expect(results().map(({ error }) => error)).toEqual(['twiml_too_long', null])
    expect(sendReplies).not.toHaveBeenCalled()
  })

  it('sends none where nothing sends replies', async () => {
    const { run, batches, results } = open()
    await run([due()])
    await batches[0]?.answer(twiml)
    expect(results()[0]).toMatchObject({ response_status: 200, error: null })
  })
})
