import { expect } from 'vitest'
import type { z } from 'zod'
import type {
  Listening,
  Outcome,
  Provider,
  Report,
  SendJob,
} from '../../../src/contract/outside/provider.ts'
import { settings, type Timing } from '../../../src/providers/smpp/settings.ts'
import { createSmpp } from '../../../src/providers/smpp/smpp.ts'
import { type Smsc, type SmscOptions, startSmsc } from './smsc.ts'

export type SettingsInput = z.input<typeof settings>

/**
 * Short waits of the client, and no jitter. The timeouts of the SMSC's answers are long, so that no answer is late because
 * the machine is busy.
 */
export const QUICK: Timing = {
  connect_ms: 15_000,
  response_ms: 10_000,
  idle_ms: 60_000,
  throttle_ms: 60,
  send_ms: 20_000,
  reconnect: { base_ms: 20, cap_ms: 40, refused_ms: 40, stable_ms: 60_000 },
  random: () => 0.5,
}

/** For an SMSC that never answers. */
export const BRIEF = { response_ms: 1_500, send_ms: 3_000 } satisfies Partial<Timing>

export const WORKSPACE = '0197a0f0-0000-7000-8000-000000000001'

let jobs = 0

/** A job for a new message. */
export function jobOf(text: string, more: Partial<SendJob> = {}): SendJob {
  jobs += 1
  return {
    workspace_id: WORKSPACE,
    message_id: `0197a0f0-0000-7000-8000-${String(jobs).padStart(12, '0')}`,
    channel: 'sms',
    sender: '12345',
    recipient: '+14155550100',
    content: { text },
    attempt: 1,
    created_at_ms: 1_750_000_000_000,
    max_duration_s: null,
    ...more,
  }
}

/** Sends one job and returns its outcome. */
export async function sendOne(provider: Provider, job: SendJob): Promise<Outcome> {
  const [outcome] = await provider.send([job])
  if (!outcome) throw new Error('no outcome')
  return outcome
}

export interface Note {
  level: string
  text: string
  fields: object
}

/** A provider that listens, and everything that it reported. */
export interface Client {
  provider: Provider
  listening: Listening
  /** The stored reports in order, and in their batches. */
  reports: Report[]
  batches: Report[][]
  notes: Note[]
  /** Replaces the store of reports, which stores at once by default. */
  storing(how: (reports: readonly Report[]) => Promise<void>): void
  send(text: string, more?: Partial<SendJob>): Promise<Outcome>
  /** Resolves when all its binds are up. */
  up(): Promise<void>
  close(): Promise<void>
}

export async function openClient(
  more: Omit<SettingsInput, 'type' | 'name'>,
  timing: Partial<Timing> = {},
  may_start?: () => boolean,
): Promise<Client> {
  const own = settings.parse({ type: 'smpp', name: 'carrier', ...more })
  const provider = createSmpp(own, { timing: { ...QUICK, ...timing }, may_start })
  const reports: Report[] = []
  const batches: Report[][] = []
  const notes: Note[] = []
  let store: (reports: readonly Report[]) => Promise<void> = async () => {}
  const listening = await provider.listen?.({
    async receive(all) {
      await store(all)
      reports.push(...all)
      batches.push([...all])
    },
    note: (level, text, fields) => void notes.push({ level, text, fields }),
  })
  if (!listening) throw new Error('the provider does not listen')
  return {
    provider,
    listening,
    reports,
    batches,
    notes,
    storing(how) {
      store = how
    },
    send: (text, job) => sendOne(provider, jobOf(text, job)),
    up: () =>
      expect
        .poll(() => listening.states().every(({ state }) => state === 'up'), {
          interval: 5,
          timeout: 10_000,
        })
        .toBe(true),
    close: () => listening.close(200),
  }
}

export interface Bench extends Client {
  smsc: Smsc
}

/** An SMSC and a client that is bound to it. */
export async function openBench({
  smsc: options = {},
  settings: more = {},
  timing = {},
}: {
  smsc?: SmscOptions
  settings?: Partial<SettingsInput>
  timing?: Partial<Timing>
} = {}): Promise<Bench> {
  const smsc = await startSmsc(options)
  const client = await openClient({ binds: [bindTo(smsc)], ...more }, timing)
  await client.up()
  return {
    ...client,
    smsc,
    async close() {
      await client.close()
      await smsc.close()
    },
  }
}

export function bindTo({ port }: { port: number }): SettingsInput['binds'][number] {
  return { host: '127.0.0.1', port, system_id: 'svc', password: 'secret' }
}

/** Resolves when `holds` does. */
export function until(holds: () => boolean): Promise<void> {
  return expect.poll(holds, { interval: 5, timeout: 10_000 }).toBe(true)
}
