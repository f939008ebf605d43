import { type Units, units } from '../contract/fields/units.ts'
import type { VoiceContent } from '../contract/resources/content.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import { decide, type Operation } from './decide.ts'
import { type HoldEnd, planHoldSettle, planHoldVoid, resolutionOperation } from './holds.ts'
import { refundOfRejected } from './recipients.ts'
import type { Step } from './settlement.ts'

/** Refunds a message that no provider accepted, at most once; for a call, releases its hold. */
export function giveBack(step: Step): void {
  const { message } = step
  if (message.channel === 'voice') endHold(step, planHoldVoid, units(0))
  else refund(step, units(message.credits_used - message.credits_refunded), reasonOf(step))
}

/**
 * Refunds the shares of the recipients that no provider accepted. Called once, when the last recipient has a result, so that
 * a message has one refund.
 */
export function giveBackShares(step: Step, recipients: readonly StoredRecipient[]): void {
  const { credits_used, credits_refunded } = step.message
  const amount = units(refundOfRejected(recipients, credits_used) - credits_refunded)
  const isWhole = amount === credits_used
  refund(step, amount, isWhole ? reasonOf(step) : 'Recipients that no provider accepted')
}

/** Not by the error code of the message: a provider may reject a message with the code `canceled`. */
function reasonOf({ settlement }: Step): string {
  return settlement.result.task === 'cancel'
    ? 'Canceled before it was sent'
    : 'Failed before any provider accepted it'
}

function refund(step: Step, amount: Units, description: string): void {
  const { message, settlement } = step
  if (amount <= 0) return
  book(step, {
    id: step.context.newId(),
    kind: 'refund',
    amount,
    held_delta: units(0),
    counter_account: `revenue:${message.channel}`,
    reference: { type: 'message', id: message.id, n: 0 },
    channel: message.channel,
    quantity: null,
    unit_price: null,
    resolves: null,
    actor: null,
    description,
    at: settlement.at,
  })
  message.credits_refunded = units(message.credits_refunded + amount)
}

/**
 * Charges a call once for its started minutes, and releases the rest of the hold. The charge never exceeds the hold,
 * although a provider may count a second more than the call's limit.
 */
export function chargeCall(step: Step, duration_s: number): void {
  const hold = step.state.entries_about.get(step.message.id)?.find(({ kind }) => kind === 'hold')
  if (!hold) return
  const spoken = startedMinutes(duration_s) * (hold.unit_price ?? 0)
  const cost = units(Math.min(spoken, hold.held_delta))
  if (cost === 0) endHold(step, planHoldVoid, cost)
  else endHold(step, (about) => planHoldSettle(about, cost), cost)
}

function endHold(
  step: Step,
  plan: (about: Parameters<typeof planHoldVoid>[0]) => HoldEnd,
  cost: Units,
): void {
  const { message, settlement, state, context } = step
  const about = state.entries_about.get(message.id) ?? []
  const end = plan(about)
  // The hold has ended, for example because it expired. A later report moves no credits.
  if (end.outcome === 'repeated') {
    message.credits_used = units(end.entries.reduce((sum, { amount }) => sum - amount, 0))
  }
  if (end.outcome !== 'post') return
  for (const resolution of end.resolutions) {
    const base = { id: context.newId(), actor: null, at: settlement.at, message_id: message.id }
    about.push(book(step, resolutionOperation(resolution, base)))
    if (resolution.resolves === null) continue
    step.plan.ended_holds.push({ workspace_id: message.workspace_id, id: resolution.resolves })
  }
  message.credits_used = cost
}

function book({ message, state, accounts, plan }: Step, operation: Operation) {
  const { workspace_id } = message
  const account = accounts.get(workspace_id) ?? state.accounts.get(workspace_id)
  if (!account) throw new Error(`workspace ${workspace_id} has no credit account`)
  const decision = decide(account, operation)
  if (!decision.ok) throw new Error(`a ${operation.kind} was refused: ${decision.reason}`)
  accounts.set(workspace_id, decision.account)
  plan.entries.push(decision.entry)
  return decision.entry
}

/** The speed of speech: about 150 words a minute; 4 characters a second if a character is a syllable or a word. */
const LETTERS_PER_S = 14
const SYLLABLES_PER_S = 4
const SYLLABLE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

/** The time until the called person listens. */
const GREETING_S = 5

/** The duration with the slowest voice, as a factor of the average duration. */
const SLOWEST = 1.25

/** The held minutes of a recording, whose length is unknown. */
const RECORDING_MINUTES = 3

/**
 * The minutes that a call's hold covers. They are also the call's maximum length, so that its price never exceeds the
 * hold. Source: channels study, section 4.
 */
export function heldMinutes({ text }: VoiceContent): number {
  if (text === undefined) return RECORDING_MINUTES
  const syllables = text.match(SYLLABLE)?.length ?? 0
  const spoken_s = syllables / SYLLABLES_PER_S + (text.length - syllables) / LETTERS_PER_S
  return Math.max(1, Math.ceil(((GREETING_S + spoken_s) * SLOWEST) / 60))
}

/** The minutes that a call is charged for. Source: interface, Credit costs. */
function startedMinutes(duration_s: number): number {
  return Math.ceil(Math.max(0, duration_s) / 60)
}
