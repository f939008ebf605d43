import { ask, type Stage, untilAnswered } from './client.ts'
import { later } from './clock.ts'
import { spendingOf } from './invariants/credits.ts'
import type { ProviderName } from './model.ts'
import { UNREACHABLE } from './payments.ts'
import { sendersOf } from './providers.ts'
import type { Doing } from './script.ts'

// What operators do with credits, payments and pauses.

export function grant(stage: Stage, step: Doing<'grant'>): void {
  const { model } = stage
  const place = model.places[step.workspace]
  if (!place) return
  const id = `01940000-0000-7000-8000-${String(model.grants.length).padStart(12, '0')}`
  const one = { place: step.workspace, id, credits: step.credits, isAnswered: false }
  model.grants.push(one)
  // Kept scripts are older than this field.
  const { expires_s = 0 } = step
  const expires_at = expires_s > 0 && { expires_at: new Date(Date.now() + expires_s * 1000) }
  const give = async (): Promise<void> => {
    const answer = await untilAnswered(stage, `grant ${step.credits}`, (core) =>
      core.credits.grant(place.id, {
        amount: (step.credits * 1_000_000) as never,
        id,
        actor: 'operator',
        ...expires_at,
      }),
    )
    if ('value' in answer) one.isAnswered = true
  }
  void give()
  for (let copy = 1; copy < step.copies; copy++) later(() => void give(), copy * GRANT_AGAIN_MS)
}

/** What a workspace has at this moment, in micro-credits. */
function availableOf({ database }: Stage, workspace_id: string): number {
  const find = database()
    .prepare('select balance - held from credit_accounts where workspace_id = ?')
    .pluck()
  return find.get(workspace_id) as number
}

/** An operator corrects a balance, and repeats it. */
export function adjust(
  stage: Stage,
  { workspace, credits, copies, isRest }: Doing<'adjust'>,
): void {
  const { model } = stage
  const place = model.places[workspace]
  if (!place) return
  const rest = Math.max(credits, 0) * 1_000_000
  const amount = (
    isRest ? Math.min(0, rest - availableOf(stage, place.id)) : credits * 1_000_000
  ) as never
  if (amount === 0) return
  model.adjusted += 1
  const id = `01940000-0000-7000-8001-${String(model.adjusted).padStart(12, '0')}`
  const give = () =>
    untilAnswered(stage, `adjust ${credits}`, (core) =>
      core.credits.adjust(place.id, { amount, id, actor: 'operator', reason: 'simulated' }),
    )
  for (let copy = 0; copy < copies; copy++) later(() => void give(), copy * GRANT_AGAIN_MS)
}

/** An operator repeats a grant after this time. */
const GRANT_AGAIN_MS = 333

/** An operator refunds a payment, or compares it with its provider. */
export async function checkPayment(
  stage: Stage,
  step: Doing<'refund'> | Doing<'compare'>,
): Promise<void> {
  const { world, model } = stage
  const sold = [...model.sold.values()]
  const one = sold[step.which % sold.length]
  if (!one) return
  const { workspace_id, purchase_id } = one
  const what = `${step.do} ${world.nameOf('p', one.session_id)}`
  const answer = await ask(stage, what, (core) =>
    (step.do === 'refund'
      ? core.billing.refund(workspace_id, purchase_id)
      : core.billing.check(workspace_id, purchase_id)
    ).catch((error: Error) => {
      if (error.message === UNREACHABLE) return null
      throw error
    }),
  )
  if (answer && 'value' in answer) world.trace(`${what}: ${answer.value?.status ?? 'unreachable'}`)
}

/** The micro-credits that a workspace may still spend on the day on which it gets a daily limit. */
const ROOM = { limit: 20_000_000, tight: 2_300_000 } as const

export async function terms(stage: Stage, { workspace, change }: Doing<'terms'>): Promise<void> {
  const { world, model, database } = stage
  const place = model.places[workspace]
  if (!place) return
  const spent = () => spendingOf(database(), place.id).spent
  const daily_limit = spent() + ROOM[change === 'tight' ? change : 'limit']
  const changes = {
    freeze: { status: 'frozen', reason: 'simulated' },
    unfreeze: { status: 'active' },
    limit: { daily_limit },
    tight: { daily_limit },
    free: { daily_limit: null },
    low: { low_balance: 50_000_000 },
  } as const
  const isLimit = change === 'limit' || change === 'tight'
  const isOn = change === 'freeze' || isLimit
  const isOther = change === 'low'
  const toggle = change === 'freeze' || change === 'unfreeze' ? place.frozen : place.limit
  if (!isOther) toggle.begin()
  const answer = await untilAnswered(stage, change, (core) =>
    core.credits.setTerms(place.id, changes[change] as never),
  )
  // What was spent before the limit counts too.
  if (isLimit) place.spent_max = Math.max(daily_limit, spent())
  if (!isOther) toggle.end('code' in answer ? 'unknown' : isOn ? 'yes' : 'no')
  world.trace(`${change} of ${workspace}`)
}

export async function pauseAll(stage: Stage, isPaused: boolean): Promise<void> {
  const { world, model } = stage
  model.pause.begin()
  const answer = await untilAnswered(stage, isPaused ? 'pause' : 'resume', async (core) => {
    if (isPaused) await core.dispatch.stop({ reason: 'simulated' })
    else await core.dispatch.resume()
  })
  world.trace(isPaused ? 'paused' : 'resumed')
  model.pause.end('code' in answer ? 'unknown' : isPaused ? 'yes' : 'no')
}

export async function pauseOne(stage: Stage, name: ProviderName, isPaused: boolean): Promise<void> {
  const { world, model } = stage
  const toggle = model.providerPauses[name]
  toggle.begin()
  const what = `${isPaused ? 'pause' : 'resume'} ${name}`
  const answer = await untilAnswered(stage, what, async (core) => {
    if (isPaused) await core.providers.pause(name, { reason: 'simulated' })
    else {
      await core.providers.resume(name)
      // It may have paused its sender on its own.
      for (const sender of sendersOf(name)) await core.providers.resume(name, { sender })
    }
  })
  world.trace(`${name} ${isPaused ? 'paused' : 'resumed'}`)
  toggle.end('code' in answer ? 'unknown' : isPaused ? 'yes' : 'no')
}
