import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { CLIENT_BITS, networkOf } from '../contract/fields/client-network.ts'
import { units } from '../contract/fields/units.ts'
import type { VerificationRequest } from '../contract/resources/verifications.ts'
import type { VerificationRow } from '../rows/rows.ts'
import { ended } from '../rules/verify.ts'
import { digestUnder, sourceOfGiven } from '../secrets/codes.ts'
import { pinnedTemplate } from './code-message.ts'
import { storedAddress } from './records.ts'
import { type CodeParts, countryOf, firstAnswer, type SendCode, withTestCode } from './send-code.ts'
import type { Verifications } from './verifications.ts'

/** What begins verifications. */
export function createStarts(
  parts: CodeParts,
  sendCode: SendCode,
): Pick<Verifications<'decoded'>, 'start' | 'deliver' | 'hookSecret'> {
  const { storage, runtime } = parts

  async function newRow(
    identity: KeyIdentity,
    request: VerificationRequest,
    recipient: string,
  ): Promise<VerificationRow> {
    const { workspace_id, api_key_id, mode } = identity
    const { channel, locale, code_length, expires_in, client_ip, metadata = {} } = request
    const { from, template, domain, app_hash, fallback = [], fallback_after } = request
    const other = fallback.find(({ to }) => to !== undefined)?.to ?? null
    const mail = channel === 'email' ? request.to : other
    const at = runtime.now()
    return {
      workspace_id,
      id: runtime.id(),
      api_key_id,
      livemode: mode === 'live',
      channel,
      recipient,
      locale: locale ?? 'en',
      options: {
        ...(mail?.includes('@') && { to: mail }),
        ...(from !== undefined && { from, from_channel: channel }),
        ...{ locale, template, domain, app_hash },
        ...(fallback.length > 0 && { fallback_after }),
      },
      status: 'pending',
      seed: runtime.bytes(16).toString('base64url'),
      code_length,
      attempts: 0,
      sent_at: [],
      message_id: '',
      credits_used: units(0),
      country: channel === 'email' ? null : await countryOf(recipient),
      client_network: client_ip === undefined ? null : networkOf(client_ip, CLIENT_BITS),
      metadata,
      expires_in,
      created_at: at,
      updated_at: at,
      expires_at: new Date(at.getTime() + expires_in * 1000),
      ended_at: null,
      fallback: fallback.length > 0 ? fallback.map(({ channel }) => channel) : null,
      fallback_at: null,
      other_recipient: other === null ? null : storedAddress(other),
      messages: [],
      code_removed: false,
    }
  }

  return {
    async start(identity, request, { idempotency_key } = {}) {
      const { channel, template } = request
      const recipient = storedAddress(request.to)
      const options = { idempotency_key, compared: request, route: 'verifications.start' } as const
      // A repeated request gets its first answer, whatever became of the template.
      const known =
        typeof template === 'object'
          ? await firstAnswer(storage, identity, options, recipient)
          : null
      if (known) return withTestCode(parts, identity, known)
      const row = await newRow(identity, request, recipient)
      row.options.template = await pinnedTemplate(storage.read, row)
      const to = channel === 'email' ? request.to : recipient
      const asked = { channel, recipient: to, row, resends: null }
      return withTestCode(parts, identity, await sendCode(identity, asked, options))
    },
    async deliver(identity, { to, code }) {
      const key = await parts.key.get()
      const message = { channel: 'sms', expires_in: 600, fallback_after: 60 } as const
      const asked = { ...message, to, code_length: code.length }
      const at = runtime.now()
      const row = ended({ ...(await newRow(identity, asked, to)), country: null }, 'external', at)
      // A digest without the key would tell the code.
      const digest = digestUnder(key, `external\n${identity.workspace_id}\n${to}\n${code}`)
      const seed = runtime.bytes(16).toString('base64url')
      const source = sourceOfGiven(code, key, seed)
      return sendCode(
        identity,
        { channel: 'sms', recipient: to, row, resends: null, source },
        {
          idempotency_key: `external-${digest.toString('hex')}`,
          compared: { to },
          route: 'verifications.start',
        },
      )
    },
    async hookSecret({ workspace_id, api_key_id }) {
      const digest = digestUnder(await parts.key.get(), `hook\n${workspace_id}\n${api_key_id}`)
      return `whsec_${digest.toString('base64')}`
    },
  }
}
