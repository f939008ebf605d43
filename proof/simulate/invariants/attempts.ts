import type { SendJob } from '../../../packages/core/src/contract/outside/provider.ts'
import { elapsedMs } from '../clock.ts'
import { type Call, type Carried, connectionsOf, type Model, type ProviderName } from '../model.ts'
import type { Connection, World } from '../world.ts'
import { CONTENT, isFaulted, recipientsOf, type Stage } from './rows.ts'

/** A journalled attempt begins within this time, unless the process dies or the machine sleeps. */
const BEGIN_MS = 4_000

/** It waits for so long where its provider has few connections. */
const WAITS_MS = 12_000

/** An attempt that is refused without a call is stored with the outcomes of its batch. */
const REFUSED_MS = 30_000

/** Whether a mail names a domain of its sender, which may be no longer verified. */
function mayBeRefused(database: Connection, message_id: string): boolean {
  const find = database
    .prepare(`select json_extract(${CONTENT}, '$.from_address') from messages where id = ?`)
    .pluck()
  return find.get(message_id) != null
}

/** Each message has at most one attempt without an outcome, and its call begins soon. */
export function checkBegun({ world, model, database }: Stage): void {
  const now_ms = elapsedMs()
  const rows = database
    .prepare("select message_id, number, provider from message_attempts where outcome = 'started'")
    .all() as { message_id: string; number: number; provider: ProviderName }[]
  const open = new Map<string, number>()
  const messages = new Set<string>()
  for (const { message_id, number, provider } of rows) {
    const begin_ms = connectionsOf(world.seed, provider) === null ? BEGIN_MS : WAITS_MS
    const at = `attempt ${number} of ${world.nameOf('m', message_id)}`
    if (messages.has(message_id)) world.violate('at most one unanswered attempt', at)
    messages.add(message_id)
    const key = `${message_id} ${number}`
    const since_ms = model.started.get(key) ?? now_ms
    open.set(key, since_ms)
    const isCalled = model.calls.some(
      (call) => call.message_id === message_id && call.attempt === number,
    )
    const stops = [...model.deaths, ...model.sleeps]
    if (isCalled || now_ms - since_ms < begin_ms || stops.some((stop) => stop >= since_ms)) continue
    if (now_ms - since_ms < REFUSED_MS && mayBeRefused(database, message_id)) continue
    world.violate('work that was handed over begins', `${at} waits since ${since_ms}`)
  }
  model.started = open
}

/** After the clock was set, what was decided before is done for this time. */
export const DECIDED_MS = 60_000

/** The time in which the answer of a provider is stored. */
const ANSWER_STORED_MS = 1_000

/** The time between the claim of a message and its call. */
const CALL_WITHIN_MS = 3_000

/** What must hold when a provider is called. */
export function checkCall(
  { world, model, database }: Stage,
  name: ProviderName,
  { workspace_id, message_id, attempt, recipients = [] }: SendJob,
  carried: Carried,
): void {
  const at = `${name} was called for ${world.nameOf('m', message_id)}`
  if (model.pause.state === 'yes') world.violate('a pause holds', at)
  if (model.providerPauses[name].state === 'yes') {
    world.violate('a pause holds', `${name} is paused: ${at}`)
  }
  const attempts = database
    .prepare(
      'select number, outcome, provider from message_attempts where workspace_id = ? and message_id = ? order by number desc',
    )
    .all(workspace_id, message_id) as { number: number; outcome: string; provider: string }[]
  const [last] = attempts
  if (last?.outcome !== 'started' || last.provider !== name || last.number !== attempt) {
    world.violate('no call without a journalled attempt', `${at}: ${JSON.stringify(last)}`)
  }
  if (attempts.filter(({ outcome }) => outcome === 'started').length > 1) {
    world.violate('at most one unanswered attempt', `${at}: ${JSON.stringify(attempts)}`)
  }
  const calls = model.calls.filter((one) => one.message_id === message_id)
  if (calls.some((one) => one.attempt === attempt)) {
    world.violate('no call without a journalled attempt', `${at}: attempt ${attempt} again`)
  }
  const now_ms = elapsedMs()
  const stops = [...model.deaths, ...model.sleeps]
  for (const { began_ms, answer } of calls) {
    const isOpen = answer === null && now_ms - began_ms < ANSWER_MAX_MS
    if (isOpen && !stops.some((stop) => stop >= began_ms)) {
      world.violate('at most one unanswered attempt', `${at}: called ${now_ms - began_ms} ms ago`)
    }
  }
  const row = database
    .prepare(
      `select m.status, m.error_code, m.scheduled_at, m.expires_at, m.recipients, a.started_at, m.updated_at >= a.started_at as is_reported
       from messages m left join message_attempts a on a.workspace_id = m.workspace_id and a.message_id = m.id and a.number = ?
       where m.workspace_id = ? and m.id = ?`,
    )
    .get(attempt, workspace_id, message_id) as
    | (Record<'status' | 'error_code' | 'recipients', string | null> &
        Record<'scheduled_at' | 'expires_at' | 'started_at' | 'is_reported', number | null>)
    | undefined
  // A report may be stored between the claim and the call: the machine sleeps, or the call waits in a queue.
  for (const { address, is_due } of recipients) {
    const known = recipientsOf(row).find((one) => one.address === address)
    if (is_due && known?.status !== 'queued' && row?.is_reported !== 1) {
      world.violate('a recipient with a result is not sent to again', `${at} and ${address}`)
    }
  }
  if (!row || row.error_code === 'canceled') {
    world.violate('a canceled message is not sent', `${at}: ${row?.status}`)
  }
  // A fault may lose the answers of a batch before they are stored: then the service does not know that the provider asked to wait.
  const answers = calls.at(-1)?.batch.map(({ answer }) => answer?.at_ms ?? null) ?? []
  const times = answers.flatMap((at_ms) => at_ms ?? [])
  const begins = calls.at(-1)?.batch.map(({ began_ms }) => began_ms) ?? []
  const isFaultedMeanwhile = isFaulted(
    world,
    Math.min(...begins),
    Math.max(...times) + ANSWER_STORED_MS,
  )
  const isKnown = !answers.includes(null) && !isFaultedMeanwhile && !model.moved.has(message_id)
  if (isKnown && carried.not_before_ms !== null && now_ms < carried.not_before_ms) {
    world.violate('the wait of a provider is kept', `${at}: ${carried.not_before_ms - now_ms} ms`)
  }
  if (now_ms - model.clock_set_ms < DECIDED_MS) return
  if (attempt === 1 && (row?.scheduled_at ?? 0) > Date.now())
    world.violate('a schedule is kept', at)
  const expires_at = row?.expires_at ?? Number.POSITIVE_INFINITY
  if ((row?.started_at ?? 0) > expires_at) {
    world.violate('an expired message is not sent', `${at}, claimed after its time`)
  }
  if (isFaulted(world, now_ms - DECIDED_MS, now_ms)) return
  if (expires_at < Date.now() - CALL_WITHIN_MS) {
    world.violate('an expired message is not sent', at)
  }
}

/** A result is stored within this time. After a fault, the service waits before it writes the result again, and longer each time. */
const STORED_MS = 2_000
const REPEATED_MS = [100, 500, 2_000, 5_000, 10_000] as const

/** The longest sleep of a machine, and the time after it in which a result is stored. */
const SLEEP_MS = 195_000

/** The time by which a result is stored, if the process lives on. */
function storedBy({ faulted }: World, { sleeps }: Model, at_ms: number): number {
  let by_ms = at_ms + STORED_MS
  let writes = 0
  for (const fault_ms of faulted) {
    if (fault_ms < at_ms || fault_ms > by_ms) continue
    by_ms = Math.max(by_ms, fault_ms + (REPEATED_MS[writes] ?? 10_000) + STORED_MS)
    writes += 1
  }
  return sleeps.some((at) => at >= at_ms - STORED_MS && at <= by_ms) ? at_ms + SLEEP_MS : by_ms
}

/** A provider that answers later, by the time of the machine, has not answered. */
const ANSWER_MAX_MS = 24_500

/** The answer of a provider is stored, unless the process died first. */
export function checkOutcomes({ world, model, database }: Stage): void {
  const find = database
    .prepare('select outcome from message_attempts where message_id = ? and number = ?')
    .pluck()
  for (const call of model.calls) {
    const { message_id, attempt, answer } = call
    if (answer === null || isLost(world, model, call)) continue
    const outcome = find.get(message_id, attempt)
    // A late refusal may be stored before the unknown outcome, whose write is repeated after a fault.
    if (outcome === 'rejected' && model.refusedLate.has(message_id)) continue
    if (outcome !== answer.type) {
      const at = `attempt ${attempt} of ${world.nameOf('m', message_id)}`
      world.violate('an answer of a provider counts', `${at} was ${answer.type}, and is ${outcome}`)
    }
  }
}

/** Whether the answer of a call may be lost. */
export function isLost(
  world: World,
  model: Model,
  { began_ms, answer, batch, due }: Call,
): boolean {
  const { deaths, sleeps } = model
  if (batch.some((one) => one.answer === null)) return true
  const at_ms = Math.max(...batch.map((one) => one.answer?.at_ms ?? 0))
  if (at_ms - began_ms > ANSWER_MAX_MS) return true
  const until_ms = storedBy(world, model, at_ms)
  if (deaths.some((at) => at >= began_ms && at <= until_ms)) return true
  // A lease that ended meanwhile is lost. What certainly happened counts without it; of several recipients, only an acceptance.
  const isCertain = answer?.type === 'accepted' || (answer?.type === 'retry' && due.length === 0)
  return !isCertain && sleeps.some((at) => at >= began_ms - STORED_MS && at <= until_ms)
}
