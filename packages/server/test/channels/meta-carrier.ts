import type { CallbackRequest } from '@svc/core'
import {
  APP_SECRET,
  type MetaPeer,
  startMetaPeer,
  VERIFY_TOKEN,
} from '../../../core/test/providers/whatsapp-cloud/peer.ts'
import {
  notificationOf,
  signedCallback,
  statusOf,
  updatesOf,
} from '../../../core/test/providers/whatsapp-cloud/webhooks.ts'
import type { Peer } from './carriage.contract.ts'
import { newNumber } from './service.ts'

const ACCESS_TOKEN = 'EAAcanary-of-the-access-token'

/** A local Meta, as the only provider of a service. */
export async function openMeta(more: Parameters<MetaPeer['settings']>[0] = {}) {
  const meta = await startMetaPeer({ access_token: ACCESS_TOKEN })
  const settings = meta.settings(more)
  const [number] = meta.numbers
  if (!number) throw new Error('Meta has no number')

  function takenFor(to: string) {
    const one = meta.accepted.findLast((message) => message.to === to)
    if (!one) throw new Error('Meta accepted no message for this recipient')
    return one
  }

  /** A signed notification about our number. */
  const news = (updates: Parameters<typeof updatesOf>[1]): CallbackRequest =>
    signedCallback(APP_SECRET, notificationOf(updatesOf(number, updates)))

  function callback(to: string, status: 'sent' | 'delivered' | 'failed'): CallbackRequest {
    const options = status === 'failed' ? { code: 131_026 } : {}
    return news({ statuses: [statusOf(takenFor(to), status, options)] })
  }

  return {
    meta,
    settings,
    number,
    news,
    callback,
    takenFor,
    secrets: [ACCESS_TOKEN, APP_SECRET, VERIFY_TOKEN],
    recipient(refused?: 'refused') {
      const to = newNumber()
      if (refused) meta.meet(to, { type: 'error', status: 400, code: 131_026 })
      return to
    },
    taken: (to: string) => meta.accepted.filter((message) => message.to === to).length,
    async report(to, status, service) {
      const { status: code } = await service.called(callback(to, status))
      if (code !== 200) throw new Error(`the callback was answered ${code}`)
    },
    close: meta.close,
  } satisfies Peer & Record<string, unknown>
}
