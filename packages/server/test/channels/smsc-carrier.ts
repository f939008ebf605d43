import { readProvider } from '@svc/core/operate'
import { expect, vi } from 'vitest'
import { startSmsc } from '../../../core/test/providers/smpp/smsc.ts'
import type { Peer } from './carriage.contract.ts'
import { newNumber, type Service } from './service.ts'

const PASSWORD = 'canary7'
export const SHORT_CODE = '12345'

/** A local SMSC, as the only provider of a service. */
export async function openSmsc(more: object = {}) {
  const smsc = await startSmsc({ password: PASSWORD })
  const settings = readProvider({
    type: 'smpp',
    name: 'carrier',
    binds: [{ host: '127.0.0.1', port: smsc.port, system_id: 'svc', password: PASSWORD }],
    senders: [SHORT_CODE],
    ...more,
  })

  const acceptedFor = (to: string) => smsc.accepted.filter(({ dest }) => `+${dest}` === to)

  return {
    smsc,
    settings,
    acceptedFor,
    secrets: [PASSWORD],
    recipient(refused?: 'refused') {
      // Invalid destination address, for the next submit_sm, which is to this recipient.
      if (refused) smsc.next({ type: 'reject', code: 0x0b })
      return newNumber()
    },
    taken: (to: string) => acceptedFor(to).length,
    async report(to, status) {
      const one = acceptedFor(to).at(-1)
      if (!one) throw new Error('the SMSC took nothing for this recipient')
      const answers = await smsc.receipt(one.id, status === 'delivered' ? 'DELIVRD' : 'UNDELIV')
      expect(answers).toEqual([0])
    },
    ready: async ({ core }: Service) => {
      await vi.waitFor(async () => {
        const [status] = await core.providers.status()
        expect(status?.connections).toMatchObject([{ state: 'up' }])
      })
    },
    close: smsc.close,
  } satisfies Peer & Record<string, unknown>
}
