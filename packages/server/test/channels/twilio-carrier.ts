import type { CallbackRequest } from '@svc/core'
import { signedForm } from '../../../core/test/providers/twilio/callbacks.ts'
import {
  errorBody,
  startTwilioPeer,
  type TwilioPeer,
} from '../../../core/test/providers/twilio/peer.ts'
import { BEGINNING_MS } from '../world.ts'
import type { Peer } from './carriage.contract.ts'
import { newNumber, PUBLIC_URL } from './service.ts'

const NEWS = {
  delivered: { status: 'delivered' },
  failed: { status: 'undelivered', code: 30_005 },
  sent: { status: 'sent' },
} as const

type Settings = Parameters<TwilioPeer['settings']>[0]

/** A local Twilio, as the only provider of a service. */
export async function openTwilio(
  more: Settings = {},
  clock: { ms: number } = { ms: BEGINNING_MS },
) {
  const twilio = await startTwilioPeer({ now: () => new Date(clock.ms) })
  const settings = twilio.settings(more)
  const { account } = twilio

  function takenFor(to: string) {
    const all = twilio.taken().filter(({ form }) => form.get('To')?.endsWith(to))
    const one = all.at(-1)
    if (!one) throw new Error('Twilio took nothing for this recipient')
    return one
  }

  /** The request that reports the status of the last message to a recipient. */
  function callback(to: string, status: keyof typeof NEWS): CallbackRequest {
    const request = twilio.advance(takenFor(to), NEWS[status])
    if (!request) throw new Error('the message has no address for callbacks')
    return request
  }

  return {
    twilio,
    settings,
    account,
    takenFor,
    callback,
    /** Any form, signed for any URL. */
    signed: (fields: Record<string, string>, url = `${PUBLIC_URL}/callbacks/${settings.name}`) =>
      signedForm(account.auth_token, url, fields),
    secrets: [account.auth_token, Buffer.from(account.auth_token).toString('base64')],
    recipient(refused?: 'refused') {
      const to = newNumber()
      const body = errorBody({ status: 400, code: 21_211, message: `The 'To' number ${to}` })
      if (refused) twilio.plays(to, { type: 'answer', status: 400, body })
      return to
    },
    taken: (to: string) =>
      twilio.taken().filter(({ form }) => form.get('To')?.endsWith(to) ?? false).length,
    async report(to, status, service) {
      const { status: code } = await service.called(callback(to, status))
      if (code !== 200) throw new Error(`the callback was answered ${code}`)
    },
    close: twilio.close,
  } satisfies Peer & Record<string, unknown>
}
