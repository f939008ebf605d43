import { identityOfKeyId } from '../api-keys/identity-of-key.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { Channel } from '../contract/resources/content.ts'
import type { VerificationRow } from '../rows/rows.ts'
import { endWhenResent, isPending, isSameStep, withoutStep } from '../rules/verify.ts'
import type { FallBack } from './fallbacks.ts'
import { addressFor, findVerification } from './records.ts'
import { NOT_FOUND } from './refusals.ts'
import {
  type Asked,
  type CodeParts,
  countryOf,
  firstAnswer,
  type SendCode,
  withTestCode,
} from './send-code.ts'
import type { Verifications } from './verifications.ts'

/** What sends a further message of a verification: a request, or its next channel. */
export function createFurther(parts: CodeParts, sendCode: SendCode) {
  const { storage, runtime } = parts

  /** A further message of a verification; the next channel does not extend its life. @throws SvcError if it has no address for the channel. */
  async function askedAgain(
    row: VerificationRow,
    channel: Channel,
    more: { is_fallback?: boolean } = {},
  ): Promise<Asked> {
    const isMail = channel === 'email'
    const address = addressFor(row, channel)
    if (!address) {
      throw invalid(
        'channel',
        'A code for a number is sent by sms, whatsapp or voice, and one for an e-mail address by email',
      )
    }
    const country = isMail ? null : (row.country ?? (await countryOf(address)))
    const at = runtime.now()
    const expires_at = more.is_fallback ? row.expires_at : endWhenResent(row, row.expires_in, at)
    return {
      ...more,
      channel,
      recipient: isMail ? (row.options.to ?? address) : address,
      row: { ...row, country, created_at: at, expires_at },
      resends: row.id,
    }
  }

  /** Changes the channels that are tried next, unless they have changed since `seen` was read. */
  async function changeFallback(
    seen: VerificationRow,
    change: Pick<VerificationRow, 'fallback' | 'fallback_at'>,
  ): Promise<void> {
    await storage.write(async ({ verifications }) => {
      const row = await verifications.lock(seen.workspace_id, seen.id)
      if (!row || !isSameStep(row, seen)) return
      await verifications.changeFallback({ ...row, ...change })
    })
  }

  const fallBack: FallBack = async (row, status) => {
    const at = runtime.now()
    const { workspace_id, id, api_key_id, livemode, fallback } = row
    const [channel] = fallback ?? []
    if (!channel || !isPending(row, at) || status === 'delivered' || status === 'read') {
      return changeFallback(row, { fallback, fallback_at: null })
    }
    const identity =
      api_key_id === null
        ? null
        : await identityOfKeyId({ storage, runtime }, workspace_id, api_key_id)
    if (identity === null || (identity.mode === 'live') !== livemode) {
      return changeFallback(row, { fallback: null, fallback_at: null })
    }
    try {
      await sendCode(identity, await askedAgain(row, channel, { is_fallback: true }))
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      const { code, message } = error
      const about = { workspace_id, verification_id: id, channel, code, reason: message }
      runtime.log.info(about, 'a channel of a code was skipped')
      const rest = withoutStep(row).fallback
      await changeFallback(row, { fallback: rest, fallback_at: rest === null ? null : at })
    }
  }

  const resend: Verifications<'decoded'>['resend'] = async (
    identity,
    id,
    request,
    { idempotency_key } = {},
  ) => {
    const row = await findVerification(storage, identity, id)
    // A live key sends no code of a test.
    if (row.livemode !== (identity.mode === 'live')) throw new SvcError('not_found', NOT_FOUND)
    const compared = { id, ...request }
    const options = { idempotency_key, compared, route: 'verifications.resend' } as const
    // The verification may have ended since the first request, or its last channel may be another one.
    const answer =
      (await firstAnswer(storage, identity, options, row.recipient)) ??
      (await sendCode(identity, await askedAgain(row, request.channel ?? row.channel), options))
    return withTestCode(parts, identity, answer)
  }

  return { resend, fallBack }
}
