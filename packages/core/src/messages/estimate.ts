import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Data } from '../contract/endpoints/endpoint.ts'
import { type Units, units } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Channel, SmsContent } from '../contract/resources/content.ts'
import type { EstimatedMessage, estimate as endpoint } from '../contract/resources/estimate.ts'
import type { NamedRecipient } from '../contract/resources/mail-recipients.ts'
import type { SendRequest } from '../contract/resources/send-request.ts'
import { type Account, availableOf, mayNotSpend } from '../rules/decide.ts'
import { suppressedAddress } from '../rules/recipients.ts'
import { addTestUse } from '../rules/test-usage.ts'
import { inTurns } from '../runtime/in-turns.ts'
import { gsm7Suggestion, nonGsmCharacters, segments } from '../sms/index.ts'
import { spendingOf } from './acceptance.ts'
import type { BulkParts } from './bulk-accept.ts'
import type { RecipientDraft, Recipients } from './bulk-recipients.ts'
import { testUseOf } from './test-usage.ts'

type Estimate = Data<typeof endpoint>
type NonGsmCharacters = EstimatedMessage['non_gsm_characters']

/** The price of a send or a bulk, and the recipients that would get no message. Stores nothing. */
export async function estimateOf(
  { storage, quotas }: Pick<BulkParts, 'storage' | 'quotas'>,
  identity: KeyIdentity,
  {
    channel,
    found,
    isStrict,
    isOneMessage = false,
    at,
  }: {
    channel: Channel
    found: Recipients
    isStrict: boolean
    isOneMessage?: boolean
    at: Date
  },
): Promise<Estimate> {
  const { workspace_id, mode } = identity
  const isTest = mode === 'test'
  const spending = spendingOf(identity, at)
  const addresses = found.drafts.map(({ to }) => suppressedAddress({ channel, recipient: to }))
  const [account, suppressions, spent, usage] = await Promise.all([
    storage.read.credits.account(workspace_id),
    isTest ? [] : storage.read.suppressions.of(workspace_id, addresses),
    spending ? storage.read.apiKeys.spentOn(workspace_id, spending) : units(0),
    mode === 'test' ? storage.read.apiKeys.testUsage(workspace_id) : null,
  ])
  if (!account) throw new Error(`workspace ${workspace_id} has no credit account`)
  const suppressed = new Set(
    suppressions.filter((row) => row.channel === channel).map(({ address }) => address),
  )
  let remaining: number = LIMITS.estimate_characters_of_all
  const drafts = await inTurns(found.drafts, (one, i) => ({
    ...estimateDraft(channel, one, isTest, (characters) => {
      const listed = characters.slice(0, Math.min(LIMITS.estimate_characters, remaining))
      remaining -= listed.length
      return listed
    }),
    block_reason: suppressed.has(addresses[i] as string) ? ('suppressed' as const) : null,
  }))
  const messages = [
    ...drafts,
    ...found.rejected.map(({ index, to, error }) => blocked(index, to, error)),
    ...found.duplicates.map(({ index, to }) => blocked(index, to, 'duplicate')),
  ].toSorted((a, b) => a.index - b.index)
  const sendable = messages.filter(({ block_reason }) => block_reason === null)
  const needed = units(sendable.reduce((sum, { credits }) => sum + credits, 0))
  const isFaulty = messages.some(
    ({ block_reason }) => block_reason !== null && block_reason !== 'duplicate',
  )
  const sending = drafts.flatMap(({ block_reason }, i) =>
    block_reason === null ? [found.drafts[i] as RecipientDraft] : [],
  )
  // An e-mail to several recipients is one message.
  const use = await testUseOf(identity, isOneMessage ? sending.slice(0, 1) : sending, {
    quotas,
    at,
    rejected: found.rejected,
  })
  const exceeds = use !== null && 'outcome' in addTestUse(workspace_id, usage ?? undefined, use)
  const block_reason = exceeds
    ? 'daily_limit'
    : blockOf(needed, account, { at, key: spending && { limit: spending.limit, spent } })
  return {
    can_send: sendable.length > 0 && block_reason === null && !(isStrict && isFaulty),
    block_reason,
    recipients: messages.length,
    sendable: sendable.length,
    blocked: messages.length - sendable.length,
    credits_needed: needed,
    credits_balance: availableOf(account),
    messages,
  }
}

/** The reason why the debit would be refused; null if it would be accepted or nothing is charged. */
function blockOf(
  needed: Units,
  account: Account,
  { at, key }: { at: Date; key: { limit: Units; spent: Units } | null },
): Estimate['block_reason'] {
  if (needed === 0) return null
  const refusal = mayNotSpend(account, needed, at)
  if (refusal) return refusal.reason
  return key && key.spent + needed > key.limit ? 'daily_limit' : null
}

/** The recipients of a single send; several for an e-mail to several. */
export function recipientsOfSend(
  request: SendRequest,
  recipients: readonly NamedRecipient[],
  { priceOf, countryFault }: Pick<BulkParts, 'priceOf' | 'countryFault'>,
): Recipients {
  const { channel, content, metadata = {} } = request
  const [{ address: to } = { address: '' }] = recipients
  const message = countryFault?.(channel, to)
  if (message) {
    const fault = { index: 0, field: 'to', to, error: 'country_not_allowed', message } as const
    return { drafts: [], rejected: [fault], duplicates: [] }
  }
  const price = priceOf(channel, content)(to)
  const drafts = recipients.map(({ address: to }, index) => ({
    index,
    to,
    content,
    price,
    metadata,
  }))
  return { drafts, rejected: [], duplicates: [] }
}

function estimateDraft(
  channel: Channel,
  { index, to, content, price }: RecipientDraft,
  isFree: boolean,
  listed: (characters: NonGsmCharacters) => NonGsmCharacters,
): Omit<EstimatedMessage, 'block_reason'> {
  const credits = isFree ? units(0) : price.credits
  if (channel !== 'sms') return { ...NO_SMS, index, to, credits }
  const { text } = content as SmsContent
  const { encoding, characters, units: length, segments: count } = segments(text)
  return {
    index,
    to,
    encoding,
    characters,
    units: length,
    segments: count,
    credits,
    non_gsm_characters: encoding === 'GSM-7' ? [] : listed(nonGsmCharacters(text)),
    gsm7_suggestion: gsm7Suggestion(text),
  }
}

const NO_SMS = {
  encoding: null,
  characters: null,
  units: null,
  segments: null,
  non_gsm_characters: [],
  gsm7_suggestion: null,
}

function blocked(
  index: number,
  to: string | null,
  block_reason: NonNullable<EstimatedMessage['block_reason']>,
): EstimatedMessage {
  return { ...NO_SMS, index, to, credits: 0 as Units, block_reason }
}
