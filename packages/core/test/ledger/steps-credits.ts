import { UNITS_MAX, type Units } from '../../src/contract/fields/units.ts'
import { createCredits, type TermsChange } from '../../src/credits/credits.ts'

import { ENTRY_KINDS, type EntryKind } from '../../src/rows/credits.ts'
import type { Operation } from '../../src/rules/decide.ts'
import { wordFor } from '../storage/ledger-calls.ts'
import {
  accountOf,
  copyOfAccount,
  type ModelAccount,
  type ModelPosted,
  post,
  standingOf,
} from '../storage/ledger-model.ts'
import { attempt } from './attempt.ts'
import { beginLot } from './books.ts'
import type { Done, History, Step } from './history.ts'

const AMOUNTS = [1, 99_999, 1_000_000, 3_000_000, 20_000_000]
const HOUR_MS = 3_600_000

/** Sometimes more than any account has. */
function amountOf({ random }: History): number {
  return random.oneIn(20) ? random.pick([0, 2 * UNITS_MAX, -1]) : random.pick(AMOUNTS)
}

/** Any kind of entry, without its feature: right and wrong signs, a repeated fact, a repeated fact with other sums. */
export const postAny: Step = async (history) => {
  const { random, ids, make, storage, model, clock } = history
  const workspaceId = random.pick(ids)
  const kind = random.pick(ENTRY_KINDS)
  // Other steps make valid holds together with their rows; this step makes only invalid ones.
  const isWrong = kind === 'hold' || kind === 'settle' || kind === 'void' || random.oneIn(12)
  const [amount, held_delta] = movementOf(kind, amountOf(history), isWrong)
  const id = random.oneIn(2) ? clock.id() : `fact ${random.below(4)}`
  const reference = { type: 'fact', id, n: random.below(2) }
  const fields = { kind, held_delta: held_delta as Units, reference }
  const operation: Operation = make.grant(amount as Units, fields)
  const answer = await attempt(async () =>
    wordFor(await storage.write(({ credits }) => credits.post(workspaceId, operation))),
  )
  const foretold = post(model, workspaceId, operation)
  const what = `post ${kind} ${amount} ${held_delta} to ${workspaceId}`
  return done(what, answer, foretold)
}

function movementOf(kind: EntryKind, amount: number, isWrong: boolean): [number, number] {
  const size = Math.abs(amount)
  if (kind === 'hold') return [0, -size || 0]
  if (kind === 'void') return [0, size]
  if (kind === 'settle') return [size, 0]
  const spends = kind === 'send' || kind === 'expire'
  const signed = (spends ? -amount : amount) * (isWrong ? -1 : 1)
  return [signed || 0, 0]
}

/** A grant, with or without an end, some of them twice. */
export const grantSome: Step = async (history) => {
  const { random, ids, storage, clock, model } = history
  const workspaceId = random.pick(ids)
  const amount = amountOf(history)
  const id = random.oneIn(3) ? `grant ${random.below(4)}` : clock.id()
  const hours = random.oneIn(2) ? null : random.pick([-1, 0, 1, 5, 30])
  const expires_ms = hours === null ? null : clock.now().getTime() + hours * HOUR_MS
  const answer = await attempt(async () => {
    const granted = await createCredits({ storage, runtime: clock }).grant(workspaceId, {
      ...{ amount: amount as Units, id, actor: 'operator' },
      ...(expires_ms !== null && { expires_at: new Date(expires_ms) }),
    })
    return granted.repeated ? 'repeated' : 'booked'
  })
  const account = accountOf(model, workspaceId)
  const before = copyOfAccount(account)
  const operation = factOf('grant', id, amount, clock.now())
  let foretold: unknown =
    amount <= 0 || leavesNoRoom(account, operation)
      ? 'invalid amount'
      : post(model, workspaceId, operation)
  if (foretold === 'ref_conflict') foretold = 'invalid id'
  if (foretold === 'booked' && hours !== null && expires_ms !== null) {
    if (hours > 0) beginLot(history, workspaceId, expires_ms)
    else {
      Object.assign(account, before)
      foretold = 'invalid expires_at'
    }
  }
  return done(`grant ${amount} for ${hours} h to ${workspaceId}`, answer, foretold)
}

/** An operator's correction, by force and without. */
export const adjustSome: Step = async (history) => {
  const { random, ids, storage, clock, model } = history
  const workspaceId = random.pick(ids)
  const amount = amountOf(history) * random.pick([1, -1]) || 0
  const id = random.oneIn(3) ? `adjustment ${random.below(4)}` : clock.id()
  const force = random.oneIn(3)
  const answer = await attempt(async () => {
    const credits = createCredits({ storage, runtime: clock })
    const adjustment = { amount: amount as Units, id, actor: 'operator', reason: 'a test', force }
    return (await credits.adjust(workspaceId, adjustment)).repeated ? 'repeated' : 'booked'
  })
  const account = accountOf(model, workspaceId)
  const before = copyOfAccount(account)
  const operation = factOf('adjustment', id, amount, clock.now())
  let foretold: unknown =
    amount === 0 || leavesNoRoom(account, operation)
      ? 'invalid amount'
      : post(model, workspaceId, operation)
  if (foretold === 'ref_conflict') foretold = 'invalid id'
  if (foretold === 'booked' && amount < 0 && !force && account.balance - account.held < 0) {
    Object.assign(account, before)
    foretold = 'invalid amount'
  }
  return done(`adjust ${amount} of ${workspaceId}${force ? ' by force' : ''}`, answer, foretold)
}

/** Whether a gift or correction that was not booked before ends further than half of the cap from 0. */
function leavesNoRoom(account: ModelAccount, operation: Operation): boolean {
  const after = account.balance + operation.amount
  const isFurther = Math.abs(after) > Math.abs(account.balance) || after * account.balance < 0
  return Math.abs(after) > UNITS_MAX / 2 && isFurther && !standingOf(account, operation)
}

/** Other terms: debt, a daily limit, the owner's threshold, a freeze and its end. */
export const changeTerms: Step = async (history) => {
  const { random, ids, storage, clock, model } = history
  const workspaceId = random.pick(ids)
  const limit = random.pick([0, 0, 1, 5_000_000])
  const daily = random.pick([null, null, 0, 3_000_000, 50_000_000])
  const low = random.pick([null, 0, 1_000_000, 10_000_000])
  const frozen = random.oneIn(4)
  const change: TermsChange = {
    credit_limit: limit as Units,
    daily_limit: daily as Units | null,
    low_balance: low as Units | null,
    ...(frozen ? { status: 'frozen', reason: 'a test' } : { status: 'active' }),
  }
  await createCredits({ storage, runtime: clock }).setTerms(workspaceId, change)
  const account = accountOf(model, workspaceId)
  // A balance at or above the new threshold is not low; raising a threshold notifies no owner.
  const isEnough = low === null || account.balance - account.held >= low
  if (low !== account.low_balance && isEnough) account.low_state = 'no'
  Object.assign(account, { limit, frozen, daily_limit: daily, low_balance: low })
  const what = `terms of ${workspaceId}: ${JSON.stringify(change)}`
  return { what, operations: 1, refused: false, answer: null, foretold: null }
}

/** Notifies an owner of a low balance, once for each time that it fell. */
export const notifyOwner: Step = async ({ random, ids, storage, model }) => {
  const workspaceId = random.pick(ids)
  const answer = await storage.write(({ lowBalances }) => lowBalances.claimNotice(workspaceId))
  const account = accountOf(model, workspaceId)
  const { balance, held, low_balance: threshold, low_state } = account
  const isDue = low_state === 'due'
  const notice = { workspace_id: workspaceId, available: balance - held, threshold }
  if (isDue) account.low_state = 'told'
  const foretold = isDue ? notice : null
  return { what: `notify ${workspaceId}`, operations: 1, refused: !isDue, answer, foretold }
}

/** Lets time pass: through leases, holds, days and lots. */
export const wait: Step = async ({ random, clock }) => {
  const ms = random.pick([1, 1_000, 31_000, 600_000, 4 * HOUR_MS, 13 * HOUR_MS])
  clock.advance(ms)
  return { what: `wait ${ms} ms`, operations: 0, refused: true, answer: null, foretold: null }
}

function factOf(kind: EntryKind, id: string, amount: number, at: Date): Operation {
  return { kind, amount, held_delta: 0, reference: { type: kind, id, n: 0 }, at } as Operation
}

function done(what: string, answer: unknown, foretold: unknown | ModelPosted): Done {
  const text = `${what}: ${JSON.stringify(answer)}`
  return { what: text, operations: 1, refused: foretold !== 'booked', answer, foretold }
}
