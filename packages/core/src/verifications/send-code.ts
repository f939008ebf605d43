import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { units } from '../contract/fields/units.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { SendRequest } from '../contract/resources/send-request.ts'
import { verifications as endpoints } from '../contract/resources/verifications.ts'
import {
  acceptedOf,
  debitFor,
  faultOf,
  type IdempotentResult,
  idempotencyRecord,
  newMessage,
  recipientsOfOne,
  spendingOf,
  storedResponse,
  watchAccepts,
} from '../messages/acceptance.ts'
import type { BulkParts } from '../messages/bulk-accept.ts'
import { testUseOf } from '../messages/test-usage.ts'
import type { VerificationRow } from '../rows/rows.ts'
import type { CodeSource } from '../rows/verifications.ts'
import { SUPPRESSED_TEXT } from '../rules/recipients.ts'
import { codeWindows, NO_COUNTRY, sourceOf, type Tally } from '../rules/verify.ts'
import { codeOf, withCode } from '../secrets/codes.ts'
import type { CodeKey } from '../secrets/secrets.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { codeMessage } from './code-message.ts'
import { announce, cancelMessages } from './ends.ts'
import { type Started, startedOf } from './records.ts'
import { refusedCode } from './refusals.ts'

export type CodeParts = BulkParts & { key: CodeKey; onQueued: () => void }

/** What a message with a code needs. */
export interface Asked {
  /** The next channel of a verification, as its row names it. */
  is_fallback?: boolean
  channel: Channel
  recipient: string
  row: VerificationRow
  resends: string | null
  /** The code of another service. */
  source?: CodeSource
}

/** The key of a request, and the request that another one with the same key must equal. */
export interface SendOptions {
  idempotency_key?: string | undefined
  compared: unknown
  route: 'verifications.start' | 'verifications.resend'
}

const NO_KEY: SendOptions = { compared: null, route: 'verifications.start' }

/** A changed name counts after this time. */
const BRAND_MS = 1_000
const BRANDS_MAX = 10_000

/** Sends a message with a code. @throws SvcError as `Verifications.start` does. */
export type SendCode = (
  identity: KeyIdentity,
  asked: Asked,
  options?: SendOptions,
) => Promise<IdempotentResult<Started>>

export function createSendCode(parts: CodeParts): SendCode {
  const { storage, runtime, quotas, priceOf, sequences } = parts
  const { telemetry } = runtime
  const brands = new Map<string, { brand: string; read_ms: number }>()
  const watched = watchAccepts(telemetry, parts.tracing)

  /** The name of a workspace in its texts. Each read takes as long as an accept, so names are kept for a short time. */
  async function brandOf(workspaceId: string): Promise<string> {
    const now_ms = runtime.elapsed()
    const known = brands.get(workspaceId)
    if (known && now_ms - known.read_ms < BRAND_MS) return known.brand
    const workspace = await storage.read.workspaces.byId(workspaceId)
    const brand = workspace?.sender_name ?? workspace?.name ?? ''
    if (brands.size >= BRANDS_MAX) brands.clear()
    brands.set(workspaceId, { brand, read_ms: now_ms })
    return brand
  }

  async function send(
    identity: KeyIdentity,
    { channel, recipient: to, row, resends, is_fallback, source }: Asked,
    options: SendOptions,
  ): Promise<IdempotentResult<Started> & { is_sent?: boolean }> {
    const at = row.created_at
    const { idempotency_key: key, compared, route } = options
    const from = senderFor(row, channel)
    const brand = await brandOf(identity.workspace_id)
    // Another channel may have had no text in the requested language.
    const requested = { ...row, locale: row.options.locale ?? row.locale }
    const { content, locale, template } = await codeMessage(storage.read, requested, {
      channel,
      brand,
      has_validity: !source,
    })
    const request = { to, channel, content, ...(from !== undefined && { from }) } as SendRequest
    const fault = await faultOf(parts, identity, request, recipientsOfOne(request))
    if (fault !== null || sequences) {
      const known = await firstAnswer(storage, identity, options, row.recipient)
      if (known) return known
    }
    if (fault !== null) throw invalid(fault.path, fault.message)
    await sequences?.check(identity, channel, [to])
    const price = priceOf(channel, withCode(content, '0'.repeat(row.code_length), channel))(to)
    const message = newMessage(
      identity,
      {
        channel,
        sender: from ?? (channel === 'email' ? brand : null),
        recipient: to,
        content,
        metadata: row.metadata,
        bulk_id: null,
        template,
      },
      {
        price,
        // A code that is not valid any more is not sent.
        schedule: {
          scheduled_at: null,
          expires_at: row.expires_at,
          // Quiet hours do not defer codes.
          deferred_until: null,
        },
        id: runtime.id(),
        at,
      },
    )
    const verification = { ...row, channel, locale }
    const [result] = await storage.hot.accept([
      {
        workspace_id: identity.workspace_id,
        debit: debitFor([message], [price], {
          id: runtime.id(),
          reference: { type: 'message', id: message.id },
        }),
        messages: [message],
        bulk: null,
        rejections: [],
        spending: spendingOf(identity, at),
        test_use: await testUseOf(identity, [message], { quotas, at }),
        idempotency: idempotencyRecord(identity, key, {
          route,
          request: compared,
          response: () => '',
        }),
        code: {
          ...(source && { country: await countryOf(to) }),
          verification,
          resends,
          ...(is_fallback && { is_fallback }),
          source,
          response: ({ verification, message }) => {
            const answer = startedOf(verification, message?.credits_used ?? units(0))
            // The answers of idempotency name no address, so that an erasure finds nothing in them.
            return JSON.stringify(endpoints.start.data.encode({ ...answer, to: '' }))
          },
        },
      },
    ])
    if (
      result &&
      'verification' in result &&
      result.verification &&
      result.outcome !== 'code_over'
    ) {
      const isSent = result.outcome === 'accepted'
      if (result.outcome === 'accepted' && result.canceled) {
        await cancelMessages(parts, result.canceled)
      }
      const credits_used = isSent ? message.credits_used : units(0)
      return {
        data: startedOf(result.verification, credits_used),
        replayed: false,
        is_sent: isSent,
      }
    }
    if (result?.outcome === 'country_paused') await pause(identity, result, at)
    const { outcome, ...settled } = acceptedOf(refusedCode(result), at)
    if (outcome === 'replayed')
      return replay((settled as { response: string }).response, row.recipient)
    throw invalid('to', SUPPRESSED_TEXT)
  }

  /** Pauses a country whose codes are not approved, with an event, once. */
  async function pause(
    { workspace_id }: KeyIdentity,
    { country, counts, ends_at }: { country: string; counts: Tally | null; ends_at: Date },
    at: Date,
  ): Promise<void> {
    if (counts === null) return
    const isNoted = await storage.write(async (stores) => {
      const row = { workspace_id, country, paused_at: at, ...counts, allowed_until: null }
      if (!(await stores.verifications.notePause(row, codeWindows(at).recent))) return false
      await announce(stores, runtime.id, {
        event: 'verification.paused',
        workspace_id,
        data: { country, ...counts, ends_at, livemode: true, occurred_at: at },
      })
      return true
    })
    if (!isNoted) return
    runtime.log.warn({ workspace_id, country, ...counts }, 'codes to a country are paused')
    parts.onQueued()
  }

  return async (identity, asked, options = NO_KEY) => {
    let isSent = false
    try {
      return await watched(
        asked.channel,
        async () => {
          const { is_sent = false, ...result } = await send(identity, asked, options)
          isSent = is_sent
          if (asked.resends === null && !result.replayed) {
            telemetry?.codeStarted(asked.channel, identity.mode)
          }
          return result
        },
        ({ message_id }) => ({ message_ids: isSent ? [message_id] : [], bulk_id: null }),
      )
    } catch (error) {
      const reason = error instanceof SvcError ? error.reason : undefined
      if (reason) telemetry?.codeRefused(reason, identity.mode)
      throw error
    }
  }
}

/** The answer to an earlier request with the same key; null: there is none. */
export async function firstAnswer(
  storage: Pick<Storage, 'read'>,
  identity: KeyIdentity,
  { idempotency_key, compared, route }: SendOptions,
  to: string,
): Promise<IdempotentResult<Started> | null> {
  const record = { route, request: compared }
  const response = await storedResponse(storage, identity, idempotency_key, record)
  return response === null ? null : replay(response, to)
}

/**
 * A test key gets the code too. The key of codes is made after the request was accepted, so that a refusal changes nothing.
 * @throws Error, never a refusal: the request had its effect.
 */
export async function withTestCode(
  { storage, key }: { storage: Pick<Storage, 'read'>; key: CodeKey },
  { workspace_id, mode }: KeyIdentity,
  answer: IdempotentResult<Started>,
): Promise<IdempotentResult<Started>> {
  if (mode === 'live') return answer
  try {
    const row = await storage.read.verifications.byId(workspace_id, answer.data.verification_id)
    if (!row?.seed) return answer
    const test_code = codeOf(await key.get(), sourceOf(row))
    return { ...answer, data: { ...answer.data, test_code } }
  } catch (cause) {
    throw new Error('the code was accepted, but it cannot be read', { cause })
  }
}

/** The sender of a message; the given one is that of the channel of the start. */
function senderFor(
  { options, channel: last, messages }: VerificationRow,
  channel: Channel,
): string | undefined {
  const its = options.from_channel ?? messages?.[0]?.channel ?? last
  return channel === its ? options.from : undefined
}

function replay(response: string, to: string): IdempotentResult<Started> {
  return { data: { ...endpoints.start.data.decode(JSON.parse(response)), to }, replayed: true }
}

// The metadata of numbers is large, so it is loaded for the first code. Each `import` takes 30 µs.
let loadedNumbers: Promise<typeof import('../prices/country-of.ts')> | null = null

export async function countryOf(number: string): Promise<string> {
  loadedNumbers ??= import('../prices/country-of.ts')
  const { countryOf } = await loadedNumbers
  return countryOf(number) ?? NO_COUNTRY
}
